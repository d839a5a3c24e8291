//! Slows down clients that guess passwords (Z39.50-2003 §3.2.1.1.2, §3.2.5). Answers to wrong passwords are delayed. The delays
//! for one address add up, so that a client cannot make more guesses by opening further connections.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

use crate::backend::network;
use crate::diagnostic::{Condition, Diagnostic, diagnostic};
use crate::limits::Limits;
use crate::lock::lock;

/// The addresses that have sent wrong passwords.
#[derive(Default)]
pub(crate) struct Guesses {
    guessers: Mutex<HashMap<Option<IpAddr>, Guesser>>,
}

struct Guesser {
    /// The number of wrong passwords since the last correct one.
    refusals: u32,
    /// The time at which the last withheld answer to the address will be sent.
    silent_until: Instant,
}

/// The consequences of an attempt to authenticate, in addition to its result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Penalty {
    /// The time for which the answer is withheld.
    pub(crate) delay: Duration,
    /// Whether to end the connection. True only if there were too many guesses and the password was not checked.
    pub(crate) hang_up: bool,
}

/// The maximum factor by which the delay grows, relative to the first delay.
const LONGEST: u32 = 32;
/// The time for which an address is remembered after its last answer.
const QUIET: Duration = Duration::from_secs(600);

impl Guesses {
    /// Checks credentials with `prove`, unless too many answers to the same address are already withheld. The answer to a correct
    /// password is also withheld until the earlier answers are sent. Otherwise, a client could recognize a wrong password by the
    /// delay, without waiting for the answer.
    ///
    /// # Errors
    /// Fails with the error from `prove`, or with condition 1018 for credentials that were not checked.
    pub(crate) fn check<T>(
        &self,
        address: Option<IpAddr>,
        limits: &Limits,
        prove: impl FnOnce() -> Result<T, Diagnostic>,
    ) -> (Result<T, Diagnostic>, Penalty) {
        let first = limits.refusal_delay;
        if first.is_zero() {
            return (prove(), Penalty::default());
        }
        let (address, now) = (address.map(network), Instant::now());
        let longest = first.saturating_mul(LONGEST);
        if self.silence(address, now) > longest {
            let words = "too many wrong passwords from this address";
            let refused = diagnostic(Condition::TEMPORARILY_OUT_OF_RESOURCES, words);
            let penalty = Penalty {
                delay: Duration::ZERO,
                hang_up: true,
            };
            return (Err(refused), penalty);
        }
        let proved = prove();
        let delay = match proved {
            Ok(_) => self.succeeded(address, now),
            Err(_) => self.refused(address, now, limits, longest),
        };
        let hang_up = false;
        (proved, Penalty { delay, hang_up })
    }

    /// Returns whether passwords from an address are not checked at present, because too many answers to this address are being
    /// withheld.
    pub(crate) fn is_silenced(&self, address: Option<IpAddr>, refusal_delay: Duration) -> bool {
        let longest = refusal_delay.saturating_mul(LONGEST);
        !longest.is_zero() && self.silence(address.map(network), Instant::now()) > longest
    }

    /// Returns the time until the last answer to an address is sent.
    fn silence(&self, address: Option<IpAddr>, now: Instant) -> Duration {
        let guessers = lock(&self.guessers);
        let guesser = guessers.get(&address);
        guesser.map_or(Duration::ZERO, |guesser| guesser.silence(now))
    }

    fn succeeded(&self, address: Option<IpAddr>, now: Instant) -> Duration {
        let mut guessers = lock(&self.guessers);
        let Some(guesser) = guessers.get_mut(&address) else {
            return Duration::ZERO;
        };
        guesser.refusals = 0;
        let silence = guesser.silence(now);
        if silence.is_zero() {
            guessers.remove(&address);
        }
        silence
    }

    fn refused(
        &self,
        address: Option<IpAddr>,
        now: Instant,
        limits: &Limits,
        longest: Duration,
    ) -> Duration {
        let mut guessers = lock(&self.guessers);
        if !guessers.contains_key(&address) && guessers.len() >= limits.refused_addresses {
            guessers.retain(|_, guesser| !guesser.is_forgotten(now));
            let oldest = guessers
                .iter()
                .min_by_key(|(_, one)| one.silent_until)
                .map(|(address, _)| *address);
            if let Some(oldest) = oldest.filter(|_| guessers.len() >= limits.refused_addresses) {
                guessers.remove(&oldest);
            }
        }
        let guesser = guessers.entry(address).or_insert(Guesser {
            refusals: 0,
            silent_until: now,
        });
        if guesser.is_forgotten(now) {
            guesser.refusals = 0;
        }
        let doubled = 1_u32.checked_shl(guesser.refusals).unwrap_or(LONGEST);
        let delay = limits.refusal_delay.saturating_mul(doubled).min(longest);
        guesser.refusals = guesser.refusals.saturating_add(1);
        let from = guesser.silent_until.max(now);
        guesser.silent_until = from.checked_add(delay).unwrap_or(from);
        guesser.silence(now)
    }
}

impl Guesser {
    fn silence(&self, now: Instant) -> Duration {
        self.silent_until.saturating_duration_since(now)
    }

    fn is_forgotten(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.silent_until) >= QUIET
    }
}

#[cfg(test)]
mod tests;

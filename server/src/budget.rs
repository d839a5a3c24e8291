//! Limits the memory that the server uses for its clients: each session has an account, and all accounts share the server's
//! budget. A request that exceeds either limit is refused with condition 31, which names the limit.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use crate::diagnostic::{Condition, Diagnostic, diagnostic};
use crate::headroom::{self, HeadroomProbe};
use crate::limits::Limits;

/// The total number of octets charged to all accounts of a server, and its limit.
pub(crate) struct Budget {
    most: usize,
    used: AtomicUsize,
    /// The function that measures the remaining memory, if one is set.
    probe: OnceLock<HeadroomProbe>,
}

/// The remaining memory is measured whenever the number of octets in use passes a multiple of this number.
const PROBED: usize = 1 << 20;

/// An account updates the server's counter only when its octets pass a multiple of this number, so that small requests do not
/// contend for the counter.
const GRAIN: usize = 8192;

/// The maximum number of octets of memory for each octet of an encoded APDU. Queries with many short terms need the most.
pub(crate) const DECODED: usize = 16;

/// The memory that a server uses for its clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeptOctets {
    /// The number of octets in use for all sessions and tasks. Each session is counted in steps of 8 KiB.
    pub kept: usize,
    /// The limit on [`Self::kept`]: [`Limits::server_octets`].
    pub limit: usize,
}

impl Budget {
    pub(crate) fn new(limits: &Limits) -> Arc<Self> {
        Arc::new(Self {
            most: limits.most_octets(),
            used: AtomicUsize::new(0),
            probe: OnceLock::new(),
        })
    }

    pub(crate) fn octets(&self) -> KeptOctets {
        KeptOctets {
            kept: self.used.load(Ordering::Relaxed),
            limit: self.most,
        }
    }

    /// Starts watching the remaining memory: requests are refused when only half of the reserve (see [`Headroom::reserve`])
    /// remains. Updates are already refused when they would use the reserve, so that sessions can use the rest of it.
    ///
    /// [`Headroom::reserve`]: crate::headroom::Headroom::reserve
    pub(crate) fn watch(&self, probe: HeadroomProbe) {
        // Only the first probe is used; later calls change nothing.
        let _ = self.probe.set(probe);
    }

    /// Adds octets to the total.
    ///
    /// # Errors
    /// Fails with condition 31 if the server's limit would be exceeded.
    fn add(&self, octets: usize) -> Result<(), Diagnostic> {
        let before = add(&self.used, octets, self.most)
            .ok_or_else(|| exhausted("all sessions keep", "server-octets", self.most))?;
        let is_probed = (before + octets) / PROBED > before / PROBED;
        let probe = self.probe.get().filter(|_| is_probed);
        match headroom::now(probe.copied()) {
            Some(headroom) if headroom.left < headroom.reserve() / 2 => {
                self.used.fetch_sub(octets, Ordering::Relaxed);
                let words = format!("the server is short of memory: {headroom}");
                Err(diagnostic(Condition::RESOURCES_EXHAUSTED, words))
            }
            _ => Ok(()),
        }
    }

    /// Creates the account for a session with these limits.
    pub(crate) fn account(self: &Arc<Self>, limits: &Limits) -> Arc<Account> {
        self.account_of("a session keeps", "session-octets", limits.session_octets)
    }

    /// Creates an account for data shared by all sessions, which may outlive them. It is limited to half of the budget.
    pub(crate) fn common_account(self: &Arc<Self>) -> Arc<Account> {
        self.account_of("all sessions share", "half of server-octets", self.most / 2)
    }

    fn account_of(
        self: &Arc<Self>,
        who: &'static str,
        limit: &'static str,
        most: usize,
    ) -> Arc<Account> {
        Arc::new(Account {
            budget: Arc::clone(self),
            who,
            limit,
            most,
            used: AtomicUsize::new(0),
        })
    }
}

/// The memory used for a session, or for data shared by all sessions.
pub(crate) struct Account {
    budget: Arc<Budget>,
    /// The owner of the memory, as named in diagnostics.
    who: &'static str,
    limit: &'static str,
    most: usize,
    used: AtomicUsize,
}

impl Account {
    fn add(&self, octets: usize) -> Result<(), Diagnostic> {
        let before = add(&self.used, octets, self.most)
            .ok_or_else(|| exhausted(self.who, self.limit, self.most))?;
        let grains = grains(before + octets) - grains(before);
        if grains > 0
            && let Err(why) = self.budget.add(grains)
        {
            self.used.fetch_sub(octets, Ordering::Relaxed);
            return Err(why);
        }
        Ok(())
    }

    fn subtract(&self, octets: usize) {
        let before = self.used.fetch_sub(octets, Ordering::Relaxed);
        let grains = grains(before) - grains(before.saturating_sub(octets));
        if grains > 0 {
            self.budget.used.fetch_sub(grains, Ordering::Relaxed);
        }
    }
}

/// Rounds the number of octets in an account down to a multiple of [`GRAIN`]. The budget counts the rounded number.
fn grains(octets: usize) -> usize {
    octets / GRAIN * GRAIN
}

/// Adds to a counter and returns its previous value; returns `None` if the sum would exceed `most`.
fn add(counter: &AtomicUsize, octets: usize, most: usize) -> Option<usize> {
    let more = |used: usize| used.checked_add(octets).filter(|used| *used <= most);
    let added = counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
    added.ok()
}

fn exhausted(who: &str, limit: &str, most: usize) -> Diagnostic {
    let words = format!("{who} at most {most} octets ({limit})");
    diagnostic(Condition::RESOURCES_EXHAUSTED, words)
}

/// A number of octets charged to an account until the value is dropped. The default value has no account and does not count
/// anything.
#[derive(Default)]
pub(crate) struct Charge {
    account: Option<Arc<Account>>,
    octets: usize,
}

impl Charge {
    /// Creates a charge of zero octets to an account.
    pub(crate) fn to(account: &Arc<Account>) -> Self {
        Self {
            account: Some(Arc::clone(account)),
            octets: 0,
        }
    }

    pub(crate) fn octets(&self) -> usize {
        self.octets
    }

    /// Changes the number of octets. Lowering it always succeeds.
    ///
    /// # Errors
    /// Fails with condition 31 if a limit would be exceeded; the number is then unchanged.
    pub(crate) fn set(&mut self, octets: usize) -> Result<(), Diagnostic> {
        if let Some(account) = &self.account {
            match octets.checked_sub(self.octets) {
                Some(more) => account.add(more)?,
                None => account.subtract(self.octets - octets),
            }
        }
        self.octets = octets;
        Ok(())
    }

    /// Raises the number of octets to `octets`, if it is lower.
    ///
    /// # Errors
    /// Fails like [`Charge::set`].
    pub(crate) fn cover(&mut self, octets: usize) -> Result<(), Diagnostic> {
        self.set(octets.max(self.octets))
    }
}

impl std::fmt::Debug for Charge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} octets", self.octets)
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        // Reducing a charge is never refused, so there is no error.
        let _ = self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headroom::Headroom;

    fn limits(session_octets: usize, all: usize) -> Limits {
        Limits {
            session_octets,
            server_octets: Some(all),
            ..Limits::default()
        }
    }

    fn set(charge: &mut Charge, octets: usize) -> Result<(), String> {
        let set = charge.set(octets);
        set.map_err(|why| format!("{} {}", why.condition, why.addinfo.to_string_lossy()))
    }

    #[test]
    fn limits_hold_at_and_past_them() {
        let limits = limits(3 * GRAIN, 5 * GRAIN);
        let budget = Budget::new(&limits);
        let [one, other] = [budget.account(&limits), budget.account(&limits)];
        let [mut first, mut second] = [Charge::to(&one), Charge::to(&one)];
        let mut third = Charge::to(&other);
        assert_eq!(set(&mut first, 3 * GRAIN), Ok(()));
        let of_session = "31 a session keeps at most 24576 octets (session-octets)";
        assert_eq!(set(&mut second, 1), Err(of_session.to_owned()));
        assert_eq!(set(&mut first, 3 * GRAIN - 1), Ok(()));
        assert_eq!(set(&mut second, 1), Ok(()));
        assert_eq!(set(&mut third, 2 * GRAIN), Ok(()));
        let octets = budget.octets();
        assert_eq!((octets.kept, octets.limit), (5 * GRAIN, 5 * GRAIN));
        let of_server = "31 all sessions keep at most 40960 octets (server-octets)";
        assert_eq!(set(&mut third, 3 * GRAIN), Err(of_server.to_owned()));
        assert_eq!(third.octets(), 2 * GRAIN);
        assert!(third.cover(1).is_ok() && third.octets() == 2 * GRAIN);
        drop((first, second));
        assert_eq!(set(&mut third, 3 * GRAIN), Ok(()));
        assert!(set(&mut third, usize::MAX).is_err());
        drop(third);
        for counter in [&one.used, &other.used, &budget.used] {
            assert_eq!(counter.load(Ordering::Relaxed), 0);
        }
        let mut free = Charge::default();
        assert_eq!(set(&mut free, usize::MAX), Ok(()));
    }

    #[test]
    fn octets_are_refused_when_half_of_the_reserve_of_memory_is_left() {
        fn left(left: u64) -> Option<Headroom> {
            let limit = 1 << 30;
            Some(Headroom { left, limit })
        }
        let least = 32 << 20;
        let probes: [(HeadroomProbe, bool); 3] = [
            (|| left(32 << 20), true),
            (|| left((32 << 20) - 1), false),
            (|| None, true),
        ];
        for (probe, is_room) in probes {
            let limits = limits(least, least);
            let budget = Budget::new(&limits);
            budget.watch(probe);
            let mut charge = Charge::to(&budget.account(&limits));
            assert_eq!(set(&mut charge, PROBED - 1), Ok(()));
            let words =
                "31 the server is short of memory: 33 MB are left under the limit of 1073 MB";
            let expected = is_room.then_some(()).ok_or(words.to_owned());
            assert_eq!(set(&mut charge, PROBED), expected);
            drop(charge);
            assert_eq!(budget.used.load(Ordering::Relaxed), 0);
        }
    }

    #[test]
    fn common_things_leave_half_of_the_budget() {
        let common = Budget::new(&limits(1, 4 * GRAIN)).common_account();
        let mut charge = Charge::to(&common);
        assert_eq!(set(&mut charge, 2 * GRAIN), Ok(()));
        assert!(set(&mut charge, 2 * GRAIN + 1).is_err());
    }
}

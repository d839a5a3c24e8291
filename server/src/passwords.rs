//! Hashed passwords (Argon2id, RFC 9106, in the PHC string format), and their verification. A verification takes tens of
//! milliseconds and tens of megabytes, so it runs on a thread for blocking work, and only a few run at the same time.
//!
//! The result of a verification is remembered for a few minutes, because SRU clients send the password with every request. Only a
//! fingerprint computed with a random key is stored, not the password.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::limits::Limits;
use crate::lock::lock;

/// A hashed password: `$argon2id$v=19$m=19456,t=2,p=1$SALT$HASH`, with salt and hash in Base64.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PasswordHash(Arc<str>);

/// The reason why a password cannot be hashed, or why text is not a password hash.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PasswordHashError {
    /// The text is not in the PHC string format, or the hash was not made by Argon2id.
    #[error("not an Argon2id hash, such as $argon2id$v=19$m=19456,t=2,p=1$… with salt and hash")]
    Malformed,
    /// The verification would take too much memory or time.
    #[error(
        "an Argon2id hash with m={memory},t={passes}: m may be {MAX_MEMORY}, and m times t {MAX_WORK}"
    )]
    TooCostly {
        /// The memory that the hash requires, in KiB.
        memory: u32,
        /// The number of passes over the memory.
        passes: u32,
    },
    /// No random number generator is available, or there is not enough memory.
    #[error("cannot hash a password: {0}")]
    Unavailable(String),
}

/// The maximum memory for verifying a password, in KiB.
const MAX_MEMORY: u32 = 256 << 10;
/// The maximum product of the memory and the number of passes over it, in KiB; this corresponds to about a second of processor
/// time.
const MAX_WORK: u32 = 1 << 20;

#[cfg(feature = "passwords")]
impl PasswordHash {
    /// Parses a hashed password in the PHC string format.
    ///
    /// # Errors
    /// Fails if the text is not an Argon2id hash of version 19 with a salt, or if its verification would take more than 256 MiB
    /// of memory, or more than four passes over that much memory.
    pub fn parse(text: &str) -> Result<Self, PasswordHashError> {
        let malformed = |_| PasswordHashError::Malformed;
        let hash = argon2::PasswordHash::new(text)
            .map_err(|_| PasswordHashError::Malformed)
            .and_then(|hash| Self::complete(hash).ok_or(PasswordHashError::Malformed))?;
        let params = argon2::Params::try_from(&hash).map_err(malformed)?;
        let (memory, passes) = (params.m_cost(), params.t_cost());
        if memory > MAX_MEMORY || memory.saturating_mul(passes) > MAX_WORK {
            return Err(PasswordHashError::TooCostly { memory, passes });
        }
        Ok(Self(text.into()))
    }

    /// Returns the hash if it contains everything that is needed to verify a password; otherwise, `None`.
    fn complete(hash: argon2::PasswordHash) -> Option<argon2::PasswordHash> {
        let is_argon2id = hash.algorithm == argon2::ARGON2ID_IDENT
            && hash.version == Some(argon2::Version::V0x13.into());
        let has_salt = hash.salt.as_ref()?.len() >= argon2::MIN_SALT_LEN;
        (is_argon2id && has_salt && hash.hash.is_some()).then_some(hash)
    }

    /// Hashes a password with Argon2id, a random salt, 19 MiB of memory and two passes over it.
    ///
    /// # Errors
    /// Fails if no random number generator is available, or if there is not enough memory.
    pub fn of(password: &[u8]) -> Result<Self, PasswordHashError> {
        use argon2::PasswordHasher;
        let hashed = argon2::Argon2::default()
            .hash_password(password)
            .map_err(|error| PasswordHashError::Unavailable(error.to_string()))?;
        Ok(Self(hashed.to_string().into()))
    }

    /// Hashes a password with the lowest costs.
    #[cfg(test)]
    pub(crate) fn with_low_costs(password: &[u8]) -> Self {
        use argon2::PasswordHasher;
        let params = argon2::Params::new(argon2::Params::MIN_M_COST, 1, 1, None);
        let argon2 = argon2::Argon2::from(params.expect("valid"));
        let hashed = argon2.hash_password(password).expect("hashed");
        Self(hashed.to_string().into())
    }

    /// Returns whether this is the hash of a password. The comparison takes constant time.
    fn matches(&self, password: &[u8]) -> bool {
        use argon2::PasswordVerifier;
        let argon2 = argon2::Argon2::default();
        argon2.verify_password(password, self.as_str()).is_ok()
    }
}

impl PasswordHash {
    /// Returns the hash as text in the PHC string format.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Always returns false, because passwords cannot be hashed without the feature `passwords`.
    #[cfg(not(feature = "passwords"))]
    fn matches(&self, _: &[u8]) -> bool {
        false
    }
}

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordHash(<redacted>)")
    }
}

/// The time for which a correct password is remembered.
const REMEMBERED: Duration = Duration::from_secs(300);
/// The time for which a wrong password is remembered, long enough for the session to refuse it.
const REMEMBERED_WRONG: Duration = Duration::from_secs(10);
/// The maximum number of passwords that are remembered.
const MAX_REMEMBERED: usize = 4_096;

/// The recently verified passwords, and the semaphore that limits concurrent verifications.
pub(crate) struct PasswordChecks {
    keys: [RandomState; 2],
    known: Mutex<HashMap<Fingerprint, Known>>,
    /// The semaphore that limits concurrent verifications. A verification keeps its permit even if the client has disconnected.
    permits: Arc<Semaphore>,
}

/// The fingerprint of a hash and a password.
type Fingerprint = [u64; 2];

/// The result of verifying a password.
#[derive(Clone, Copy)]
struct Known {
    is_right: bool,
    until: Instant,
}

impl PasswordChecks {
    pub(crate) fn new(limits: &Limits) -> Self {
        let permits = limits.password_checks.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            keys: Default::default(),
            known: Mutex::default(),
            permits: Arc::new(Semaphore::new(permits)),
        }
    }

    /// Returns whether a password was verified recently and is correct.
    pub(crate) fn is_right(&self, hash: &PasswordHash, password: &[u8]) -> bool {
        self.recall(hash, password) == Some(true)
    }

    /// Returns whether a password is correct; `None` if it was not verified recently.
    fn recall(&self, hash: &PasswordHash, password: &[u8]) -> Option<bool> {
        let fingerprint = self.fingerprint(hash, password);
        let known = lock(&self.known);
        let known = known.get(&fingerprint)?;
        (Instant::now() < known.until).then_some(known.is_right)
    }

    /// Remembers whether a password is correct. If too many passwords are remembered, removes the one that would expire first.
    fn remember(&self, hash: &PasswordHash, password: &[u8], is_right: bool) {
        let fingerprint = self.fingerprint(hash, password);
        let now = Instant::now();
        let time = if is_right {
            REMEMBERED
        } else {
            REMEMBERED_WRONG
        };
        let mut known = lock(&self.known);
        if known.len() >= MAX_REMEMBERED {
            known.retain(|_, known| now < known.until);
        }
        if known.len() >= MAX_REMEMBERED {
            let first = known
                .iter()
                .min_by_key(|(_, known)| known.until)
                .map(|(fingerprint, _)| *fingerprint);
            first.map(|first| known.remove(&first));
        }
        let until = now.checked_add(time).unwrap_or(now);
        known.insert(fingerprint, Known { is_right, until });
    }

    fn fingerprint(&self, hash: &PasswordHash, password: &[u8]) -> Fingerprint {
        let keys = self.keys.each_ref();
        keys.map(|key| key.hash_one((hash, password)))
    }

    /// Verifies a password on a thread for blocking work, and remembers the result, unless it was verified recently.
    pub(crate) async fn verify(&self, hash: &PasswordHash, password: &[u8]) {
        if self.recall(hash, password).is_some() {
            return;
        }
        let Ok(permit) = Arc::clone(&self.permits).acquire_owned().await else {
            return;
        };
        let (verified, given) = (hash.clone(), password.to_vec());
        let verifying = tokio::task::spawn_blocking(move || {
            let is_right = verified.matches(&given);
            drop(permit);
            is_right
        });
        // A panic in the thread counts as a wrong password.
        let is_right = verifying.await.unwrap_or(false);
        self.remember(hash, password, is_right);
    }
}

#[cfg(test)]
mod tests;

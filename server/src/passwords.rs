//! Hashed passwords (PHC string format, Argon2 of RFC 9106), and their verification beside the runtime: on threads for blocking
//! work, a few at a time, and one at a time for each address.
//!
//! A password that was right is remembered for some minutes by a fingerprint with a random key, so that clients of SRU, which send it
//! with every request, are not slowed down.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher, Hash, RandomState};
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::access::{Access, Credentials, User};
use crate::backend::network;
use crate::guesses::Guesses;
use crate::limits::Limits;
use crate::lock::lock;

/// A hashed password: `$argon2id$v=19$m=19456,t=2,p=1$…`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PasswordHash(Arc<str>);

/// The reason why text is not a hashed password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PasswordHashError {
    /// The text is not in the PHC string format, or is of another function.
    #[error("not a hash of argon2id, argon2i or argon2d, such as z3950d --hash-password prints")]
    Form,
    /// Its verification would take too much memory or time.
    #[error("m is more than {MAX_MEMORY} KiB, or t more than {MAX_PASSES}")]
    Costs,
    /// The machine cannot make a hash.
    #[error("cannot hash a password: {0}")]
    Machine(String),
}

/// The maximum of the memory that the verification of a password may take, in KiB.
const MAX_MEMORY: u32 = 1 << 20;
/// The maximum number of passes over this memory.
const MAX_PASSES: u32 = 100;

impl PasswordHash {
    /// Reads a hashed password.
    ///
    /// # Errors
    /// Other text, and hashes whose verification would take more than 1 GiB of memory or 100 passes over it.
    #[cfg(feature = "passwords")]
    pub fn parse(text: &str) -> Result<Self, PasswordHashError> {
        use argon2::password_hash::phc;
        let form = |_| PasswordHashError::Form;
        let hash = phc::PasswordHash::new(text).map_err(form)?;
        argon2::Algorithm::try_from(hash.algorithm.as_str())
            .map_err(|_| PasswordHashError::Form)?;
        let params = argon2::Params::try_from(&hash).map_err(|_| PasswordHashError::Form)?;
        if hash.salt.is_none() || hash.hash.is_none() {
            return Err(PasswordHashError::Form);
        }
        if params.m_cost() > MAX_MEMORY || params.t_cost() > MAX_PASSES {
            return Err(PasswordHashError::Costs);
        }
        Ok(Self(text.into()))
    }

    /// Hashes a password with Argon2id, a random salt and the usual costs (19 MiB, two passes).
    ///
    /// # Errors
    /// [`PasswordHashError::Machine`] if there is no random number generator or no memory.
    #[cfg(feature = "passwords")]
    pub fn of(password: &[u8]) -> Result<Self, PasswordHashError> {
        use argon2::password_hash::PasswordHasher;
        let hashed = argon2::Argon2::default().hash_password(password);
        let hashed = hashed.map_err(|error| PasswordHashError::Machine(error.to_string()))?;
        Ok(Self(hashed.to_string().into()))
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether this is the hash of a password. It takes tens of milliseconds; the comparison takes the same time wherever
    /// the two differ.
    fn verify(&self, password: &[u8]) -> bool {
        #[cfg(feature = "passwords")]
        {
            use argon2::password_hash::PasswordVerifier;
            let argon2 = argon2::Argon2::default();
            argon2.verify_password(password, self.as_str()).is_ok()
        }
        #[cfg(not(feature = "passwords"))]
        {
            let _ = password;
            false
        }
    }
}

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordHash(<redacted>)")
    }
}

/// The time for which a right password is remembered.
const REMEMBERED: Duration = Duration::from_secs(300);
/// The time for which a wrong one is remembered: until the session has looked it up.
const REMEMBERED_WRONG: Duration = Duration::from_secs(10);
/// The maximum number of passwords that are remembered.
const MAX_REMEMBERED: usize = 4_096;

/// Passwords that have been verified, and the turns of those that have not.
pub(crate) struct Proofs {
    keys: [RandomState; 2],
    known: Mutex<HashMap<Fingerprint, (bool, Instant)>>,
    /// The permits for verification, over all addresses. A thread keeps its permit even if nobody waits for it any more.
    permits: Arc<Semaphore>,
    /// The permit of each address that has something to verify.
    turns: Mutex<HashMap<Option<IpAddr>, Arc<Semaphore>>>,
}

/// The fingerprint of a hash and a password.
type Fingerprint = [u64; 2];

/// Credentials that must be verified before a session can compare them.
pub(crate) struct Proof {
    proofs: Arc<Proofs>,
    guesses: Arc<Guesses>,
    limits: Limits,
    peer: Option<IpAddr>,
    /// The hashes that the password may have, which are several if users share a name.
    hashes: Vec<PasswordHash>,
    password: Vec<u8>,
}

impl Proofs {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            keys: Default::default(),
            known: Mutex::default(),
            permits: Arc::new(Semaphore::new(
                limits.password_checks.clamp(1, Semaphore::MAX_PERMITS),
            )),
            turns: Mutex::default(),
        }
    }

    fn fingerprint(&self, hash: &PasswordHash, password: &[u8]) -> Fingerprint {
        self.keys
            .each_ref()
            .map(|key| key.hash_one((hash, password)))
    }

    /// Returns whether a password is known to be right; `None` if it has not been verified lately.
    fn recall(&self, hash: &PasswordHash, password: &[u8]) -> Option<bool> {
        let fingerprint = self.fingerprint(hash, password);
        let known = lock(&self.known);
        let (is_right, until) = known.get(&fingerprint)?;
        (Instant::now() < *until).then_some(*is_right)
    }

    /// Returns whether a password has been verified and is right.
    pub(crate) fn is_right(&self, hash: &PasswordHash, password: &[u8]) -> bool {
        self.recall(hash, password) == Some(true)
    }

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
            known.retain(|_, (_, until)| now < *until);
        }
        if known.len() >= MAX_REMEMBERED {
            let first = known.iter().min_by_key(|(_, (_, until))| *until);
            let first = first.map(|(fingerprint, _)| *fingerprint);
            first.map(|first| known.remove(&first));
        }
        known.insert(
            fingerprint,
            (is_right, now.checked_add(time).unwrap_or(now)),
        );
    }

    /// Returns the permit of an address, which is made for its first password and dropped after its last.
    fn turn(&self, address: Option<IpAddr>) -> Arc<Semaphore> {
        let mut turns = lock(&self.turns);
        turns.retain(|_, turn| Arc::strong_count(turn) > 1);
        let turn = turns
            .entry(address)
            .or_insert_with(|| Arc::new(Semaphore::new(1)));
        Arc::clone(turn)
    }
}

impl Proof {
    /// Returns the verification that these credentials need; `None` if they are compared at once.
    ///
    /// If the user has no hashed password but others do, one of theirs is compared, so that the time does not tell which users there
    /// are.
    pub(crate) fn of(
        access: &Access,
        proofs: &Arc<Proofs>,
        guesses: &Arc<Guesses>,
        limits: &Limits,
        peer: Option<IpAddr>,
        given: Credentials<'_>,
    ) -> Option<Self> {
        let Credentials { user, password, .. } = given;
        let hash = |user: &User| {
            let hash = user.password_hash.clone();
            hash.filter(|_| user.refusal.is_none())
        };
        let is_named = |known: &&User| known.name.as_bytes() == user;
        let named = access.users.iter().filter(is_named);
        let mut hashes: Vec<PasswordHash> = named.filter_map(hash).collect();
        if hashes.is_empty() {
            hashes.extend(access.users.iter().find_map(hash));
        }
        hashes.retain(|hash| proofs.recall(hash, password).is_none());
        (!hashes.is_empty()).then(|| Self {
            proofs: Arc::clone(proofs),
            guesses: Arc::clone(guesses),
            limits: limits.clone(),
            peer,
            hashes,
            password: password.to_vec(),
        })
    }

    /// Verifies the password on a thread for blocking work, and remembers the result. Nothing is verified for an address that has
    /// guessed too often, whose session then ends.
    pub(crate) async fn carry_out(self) {
        let turn = self.proofs.turn(self.peer.map(network));
        let Ok(_turn) = turn.acquire().await else {
            return;
        };
        if self.guesses.is_silenced(self.peer, &self.limits) {
            return;
        }
        for hash in self.hashes {
            if self.proofs.recall(&hash, &self.password).is_some() {
                continue;
            }
            let Ok(permit) = Arc::clone(&self.proofs.permits).acquire_owned().await else {
                return;
            };
            let (verified, password) = (hash.clone(), self.password.clone());
            let verifying = tokio::task::spawn_blocking(move || {
                let is_right = verified.verify(&password);
                drop(permit);
                is_right
            });
            // A panic of the thread is a wrong password.
            let is_right = verifying.await.unwrap_or(false);
            self.proofs.remember(&hash, &self.password, is_right);
        }
    }
}

#[cfg(all(test, feature = "passwords"))]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::diagnostic::{Condition, diagnostic};

    fn user(name: &str, hash: Option<&PasswordHash>) -> User {
        let mut user = User::default();
        user.name = name.to_owned();
        user.password_hash = hash.cloned();
        user
    }

    /// Returns whether credentials need a proof.
    fn needs_proof(access: &Access, proofs: &Arc<Proofs>, user: &str, password: &str) -> bool {
        proof(access, proofs, user, password).is_some()
    }

    fn proof(access: &Access, proofs: &Arc<Proofs>, user: &str, password: &str) -> Option<Proof> {
        let given = Credentials {
            group: None,
            user: user.as_bytes(),
            password: password.as_bytes(),
        };
        Proof::of(access, proofs, &Arc::default(), &Limits::default(), None, given)
    }

    #[test]
    fn r_f15_only_hashes_that_can_be_verified_are_taken() {
        let hash = PasswordHash::of(b"secret").expect("hashed");
        assert!(hash.as_str().starts_with("$argon2id$v=19$m=19456,t=2,p=1$"));
        assert_eq!(PasswordHash::parse(hash.as_str()), Ok(hash.clone()));
        assert_ne!(PasswordHash::of(b"secret"), Ok(hash.clone()), "each has a salt of its own");
        assert!(hash.verify(b"secret") && !hash.verify(b"secre") && !hash.verify(b""));
        assert!(!format!("{hash:?} {:?}", user("ann", Some(&hash))).contains("argon2id"));
        let text = |costs: &str| {
            format!("$argon2id$v=19${costs}$MDEyMzQ1Njc4OWFiY2RlZg$WmZlnVrMFBXKkPGmpuu1o4nSE0X0Cqg0OCeyr7P4Vug")
        };
        assert!(PasswordHash::parse(&text("m=1048576,t=100,p=1")).is_ok());
        for (text, expected) in [
            (text("m=1048577,t=2,p=1"), PasswordHashError::Costs),
            (text("m=19456,t=101,p=1"), PasswordHashError::Costs),
            (text("m=1,t=2,p=1"), PasswordHashError::Form),
            (text("m=19456,t=2"). replace("argon2id", "scrypt"), PasswordHashError::Form),
            ("secret".to_owned(), PasswordHashError::Form),
            (String::new(), PasswordHashError::Form),
            ("$argon2id$v=19$m=19456,t=2,p=1$MDEyMzQ1Njc4OWFiY2RlZg".to_owned(), PasswordHashError::Form),
            ("$2b$12$R9h/cIPz0gi.URNNX3kh2OPST9/PgBkqquzi.Ss7KIUgO2t0jWMUW".to_owned(), PasswordHashError::Form),
        ] {
            assert_eq!(PasswordHash::parse(&text), Err(expected), "{text}");
        }
    }

    #[tokio::test]
    async fn r_f15_a_password_is_verified_once_and_remembered() {
        let hash = PasswordHash::of(b"secret").expect("hashed");
        let mut access = Access::default();
        let proofs = Arc::new(Proofs::new(&Limits::default()));
        assert!(!needs_proof(&access, &proofs, "ann", "secret"), "nobody has a hash");
        let mut plain = user("bob", None);
        plain.password = Some("plain".to_owned());
        access.users = vec![user("ann", Some(&hash)), plain];
        for (name, password) in [("ann", "secret"), ("ann", "wrong"), ("nobody", "guess"), ("bob", "plain")] {
            // The time of an answer does not tell which users there are, nor whose password is hashed.
            assert!(needs_proof(&access, &proofs, name, password), "{name}");
            assert!(!proofs.is_right(&hash, password.as_bytes()));
            let proof = proof(&access, &proofs, name, password).expect("needed");
            proof.carry_out().await;
            assert_eq!(proofs.is_right(&hash, password.as_bytes()), password == "secret");
            assert!(!needs_proof(&access, &proofs, name, password), "{name}");
        }
        let given = |user: &'static str, password: &'static str| Credentials {
            group: None,
            user: user.as_bytes(),
            password: password.as_bytes(),
        };
        for (name, password, is_admitted) in [
            ("ann", "secret", true),
            ("ann", "wrong", false),
            ("bob", "plain", true),
            ("bob", "secret", false),
            ("nobody", "secret", false),
        ] {
            let proved = access.prove(given(name, password), &proofs);
            assert_eq!(proved.is_ok(), is_admitted, "{name} {password}");
        }
        // Another hash of the same password is another secret.
        let other = PasswordHash::of(b"secret").expect("hashed");
        assert!(!proofs.is_right(&other, b"secret"));
    }

    #[tokio::test(start_paused = true)]
    async fn r_f15_what_is_remembered_is_forgotten_in_time_and_bounded() {
        let hash = PasswordHash::of(b"secret").expect("hashed");
        let proofs = Proofs::new(&Limits::default());
        proofs.remember(&hash, b"secret", true);
        proofs.remember(&hash, b"wrong", false);
        tokio::time::advance(REMEMBERED_WRONG).await;
        assert_eq!(proofs.recall(&hash, b"secret"), Some(true));
        assert_eq!(proofs.recall(&hash, b"wrong"), None);
        for number in 0..2 * MAX_REMEMBERED {
            proofs.remember(&hash, &number.to_be_bytes(), false);
        }
        assert_eq!(lock(&proofs.known).len(), MAX_REMEMBERED);
        assert_eq!(proofs.recall(&hash, b"secret"), Some(true), "guesses do not drive it out");
        tokio::time::advance(REMEMBERED).await;
        assert_eq!(proofs.recall(&hash, b"secret"), None);
    }

    /// Verifications of one address take turns, and those of all addresses have no more than the permits.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn r_f15_verifications_are_bounded() {
        let mut limits = Limits::default();
        limits.password_checks = 1;
        let proofs = Arc::new(Proofs::new(&limits));
        let running = Arc::new(AtomicUsize::new(0));
        let mut checks = tokio::task::JoinSet::new();
        for number in 0..20_u8 {
            let (proofs, running) = (Arc::clone(&proofs), Arc::clone(&running));
            checks.spawn(async move {
                let address = IpAddr::from([127, 0, 0, number % 4]);
                let turn = proofs.turn(Some(network(address)));
                let _turn = turn.acquire().await.expect("never closed");
                let _permit = proofs.permits.acquire().await.expect("never closed");
                assert_eq!(running.fetch_add(1, Ordering::SeqCst), 0);
                tokio::task::yield_now().await;
                running.fetch_sub(1, Ordering::SeqCst);
            });
        }
        while let Some(ended) = checks.join_next().await {
            ended.expect("no panic");
        }
        drop(proofs.turn(None));
        assert!(lock(&proofs.turns).len() <= 5);
        // Nothing is verified for an address that has guessed too often.
        let hash = PasswordHash::of(b"secret").expect("hashed");
        let mut access = Access::default();
        access.users = vec![user("ann", Some(&hash))];
        let guesses = Arc::new(Guesses::default());
        let refuse = || Err::<(), _>(diagnostic(Condition::BAD_USER_ID_OR_PASSWORD, ""));
        for _ in 0..8 {
            let _ = guesses.check(None, &limits, refuse);
        }
        let given = Credentials {
            group: None,
            user: b"ann",
            password: b"secret",
        };
        let proof = Proof::of(&access, &proofs, &guesses, &limits, None, given);
        proof.expect("needed").carry_out().await;
        assert_eq!(proofs.recall(&hash, b"secret"), None);
    }
}

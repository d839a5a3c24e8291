//! The recently admitted users, identified by fingerprints of their logins, which are computed with random keys.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;

use crate::access::User;
use crate::lock::lock;

#[derive(Default)]
pub(crate) struct AdmittedUsers {
    keys: [RandomState; 2],
    users: Mutex<HashMap<Fingerprint, Admitted>>,
}

/// The fingerprint of a login.
type Fingerprint = [u64; 2];

struct Admitted {
    user: Arc<User>,
    until: Instant,
}

/// The time for which a user is remembered.
const REMEMBERED: Duration = Duration::from_secs(300);
/// The maximum number of users that are remembered.
const MAX_REMEMBERED: usize = 4_096;

impl AdmittedUsers {
    /// Returns the user with a login, if it was admitted recently.
    pub(crate) fn find(&self, user: &str, password: &str) -> Option<Arc<User>> {
        let fingerprint = self.fingerprint((user.as_bytes(), password.as_bytes()));
        let users = lock(&self.users);
        let known = users.get(&fingerprint)?;
        (Instant::now() < known.until).then(|| Arc::clone(&known.user))
    }

    /// Remembers a user. If there are too many, the user who would be forgotten first is removed.
    pub(super) fn remember(&self, login: (&[u8], &[u8]), user: &Arc<User>) {
        let fingerprint = self.fingerprint(login);
        let now = Instant::now();
        let mut users = lock(&self.users);
        if users.len() >= MAX_REMEMBERED {
            users.retain(|_, known| now < known.until);
        }
        if users.len() >= MAX_REMEMBERED {
            let first = users
                .iter()
                .min_by_key(|(_, known)| known.until)
                .map(|(fingerprint, _)| *fingerprint);
            first.map(|first| users.remove(&first));
        }
        let until = now.checked_add(REMEMBERED).unwrap_or(now);
        let user = Arc::clone(user);
        users.insert(fingerprint, Admitted { user, until });
    }

    fn fingerprint(&self, login: (&[u8], &[u8])) -> Fingerprint {
        self.keys.each_ref().map(|key| key.hash_one(login))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn audit_r_l10_admitted_users_are_remembered_for_some_time() {
        let admitted = AdmittedUsers::default();
        let user = Arc::new(User::new("ann"));
        admitted.remember((b"ann", b"secret"), &user);
        let name = |user, password| Some(admitted.find(user, password)?.name.clone());
        assert_eq!(name("ann", "secret").as_deref(), Some("ann"));
        assert_eq!(name("ann", "other"), None);
        assert_eq!(name("annsecret", ""), None);
        for number in 0..2 * MAX_REMEMBERED {
            admitted.remember((b"many", &number.to_be_bytes()), &user);
        }
        assert_eq!(lock(&admitted.users).len(), MAX_REMEMBERED);
        tokio::time::advance(REMEMBERED).await;
        admitted.remember((b"ben", b"secret"), &user);
        assert_eq!(lock(&admitted.users).len(), 1);
        assert_eq!(name("ann", "secret"), None);
    }
}

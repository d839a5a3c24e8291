//! Checks the logins in requests before these requests begin (Z39.50-2003 §3.2.1.1.2, §3.2.5), one at a time for each
//! address, and within a limited time.

#[cfg(feature = "sru")]
mod admitted;

use std::collections::HashMap;
use std::future::poll_fn;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::timeout;
use tracing::{error, warn};

#[cfg(feature = "sru")]
use self::admitted::AdmittedUsers;
use crate::access::{Authenticate, Credentials, Login, User};
use crate::backend::network;
use crate::caught::{Panics, caught};
use crate::diagnostic::{Condition, Diagnostic, diagnostic};
use crate::guesses::{Guesses, Penalty};
use crate::limits::Limits;
use crate::lock::lock;

/// The login checks of a server.
#[derive(Default)]
pub(crate) struct Logins {
    /// The addresses that have sent wrong logins.
    pub(crate) guesses: Guesses,
    /// The semaphore of each address that has logins to check. It makes the checks for one address take turns.
    turns: Mutex<HashMap<Option<IpAddr>, Arc<Semaphore>>>,
    /// Recently admitted users, whose logins need not be checked again to find out what their clients may do.
    #[cfg(feature = "sru")]
    pub(crate) admitted: AdmittedUsers,
}

/// The result of a check, for the request that contained the login.
#[derive(Debug, Default)]
pub(crate) enum Proof {
    /// There was no login to check, or logins from this address are no longer checked.
    #[default]
    Unchecked,
    /// The user with the login, or the reason why the login is wrong.
    Checked(Result<Arc<User>, Diagnostic>),
    /// The login could not be checked.
    Failed(Diagnostic),
}

/// A login that is to be checked.
pub(crate) struct LoginCheck {
    logins: Arc<Logins>,
    panics: Arc<Panics>,
    authenticate: Arc<dyn Authenticate>,
    login_time: Duration,
    refusal_delay: Duration,
    peer: Option<IpAddr>,
    group: Option<Vec<u8>>,
    user: Vec<u8>,
    password: Vec<u8>,
}

impl LoginCheck {
    pub(crate) fn new(
        logins: &Arc<Logins>,
        panics: &Arc<Panics>,
        authenticate: Arc<dyn Authenticate>,
        limits: &Limits,
        peer: Option<IpAddr>,
        given: Credentials<'_>,
    ) -> Self {
        Self {
            logins: Arc::clone(logins),
            panics: Arc::clone(panics),
            authenticate,
            login_time: limits.login_time,
            refusal_delay: limits.refusal_delay,
            peer,
            group: given.group.map(<[u8]>::to_vec),
            user: given.user.to_vec(),
            password: given.password.to_vec(),
        }
    }

    /// Checks the login. No login is checked for an address with too many wrong guesses; the session refuses such a
    /// login without a check.
    pub(crate) async fn run(self) -> Proof {
        let mut checked = Box::pin(self.checked());
        // Most checks end immediately, and do not need a timer.
        if let Poll::Ready(proof) =
            poll_fn(|context| Poll::Ready(checked.as_mut().poll(context))).await
        {
            return proof;
        }
        timeout(self.login_time, checked)
            .await
            .unwrap_or_else(|_| {
                warn!(user = ?self.shown_user(), "the login is refused, because its check takes too long");
                Proof::Failed(unavailable())
            })
    }

    async fn checked(&self) -> Proof {
        let turn = self.logins.turn(self.peer.map(network));
        let Ok(_turn) = turn.acquire().await else {
            return Proof::Unchecked;
        };
        if self
            .logins
            .guesses
            .is_silenced(self.peer, self.refusal_delay)
        {
            return Proof::Unchecked;
        }
        let Ok(user) = std::str::from_utf8(&self.user) else {
            let wrong = diagnostic(Condition::BAD_USER_ID_OR_PASSWORD, &*self.user);
            return Proof::Checked(Err(wrong));
        };
        let group = self.group.as_deref();
        let login = Login {
            group: group.and_then(|group| std::str::from_utf8(group).ok()),
            address: self.peer,
            ..Login::new(user, &self.password)
        };
        match caught(async { self.authenticate.authenticate(login).await }).await {
            Ok(Ok(user)) => {
                let user = Arc::new(user);
                #[cfg(feature = "sru")]
                self.logins
                    .admitted
                    .remember((&self.user, &self.password), &user);
                Proof::Checked(Ok(user))
            }
            Ok(Err(why)) if is_trouble(&why) => Proof::Failed(why),
            Ok(Err(why)) => Proof::Checked(Err(why)),
            Err(panic) => {
                error!(panic, user = ?self.shown_user(), "the check of a login panicked");
                self.panics.count(panic);
                Proof::Failed(unavailable())
            }
        }
    }

    fn shown_user(&self) -> String {
        String::from_utf8_lossy(&self.user)
            .chars()
            .take(MAX_SHOWN)
            .collect()
    }
}

/// The maximum number of characters in a user name in the log.
const MAX_SHOWN: usize = 64;

/// Returns whether a login was refused because of a problem at the server, so that the login itself may be correct.
fn is_trouble(why: &Diagnostic) -> bool {
    let troubles = [
        Condition::PERMANENT_SYSTEM_ERROR,
        Condition::TEMPORARY_SYSTEM_ERROR,
        Condition::AUTHENTICATION_SYSTEM,
        Condition::TEMPORARILY_OUT_OF_RESOURCES,
    ];
    troubles.iter().any(|trouble| trouble.0 == why.condition)
}

/// Returns the diagnostic for a login that cannot be checked.
fn unavailable() -> Diagnostic {
    let words = "the login cannot be checked now";
    diagnostic(Condition::TEMPORARILY_OUT_OF_RESOURCES, words)
}

impl Logins {
    /// Returns the user for a login that was checked, and the consequences if it is wrong.
    pub(crate) fn judge(
        &self,
        address: Option<IpAddr>,
        limits: &Limits,
        proof: Proof,
    ) -> (Result<Arc<User>, Diagnostic>, Penalty) {
        let wrong = || diagnostic(Condition::BAD_USER_ID_OR_PASSWORD, "");
        match proof {
            Proof::Checked(proved) => self.guesses.check(address, limits, || proved),
            Proof::Unchecked => self.guesses.check(address, limits, || Err(wrong())),
            Proof::Failed(why) => (Err(why), Penalty::default()),
        }
    }

    /// Returns the semaphore of an address, which exists while the address has logins to check.
    fn turn(&self, address: Option<IpAddr>) -> Arc<Semaphore> {
        let mut turns = lock(&self.turns);
        turns.retain(|_, turn| Arc::strong_count(turn) > 1);
        let turn = turns.entry(address);
        Arc::clone(turn.or_insert_with(|| Arc::new(Semaphore::new(1))))
    }
}

#[cfg(test)]
mod tests;

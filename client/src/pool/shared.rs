//! Sessions whose operations go side by side (concurrentOperations, Z39.50-2003 §3.5): as many users at once as the server
//! serves, each with a result set of its own.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};

use tokio::sync::Notify;
use z3950_asn1::apdu::Options;
use z3950_asn1::types::InternationalString;

use super::{Key, Lease, Pool, Server, lock};
use crate::error::{Error, Phase};
use crate::protocol::service::DEFAULT_RESULT_SET;
use crate::protocol::session::{Reconnect, Repeat, Session, SessionOptions};
use crate::target::Endpoint;
use crate::target::profile::TargetLimits;
use crate::transport::connect::BoxFuture;

/// The sessions with a server that others may join.
#[derive(Default)]
pub(super) struct SharedSessions {
    list: Mutex<Vec<Weak<SharedSession>>>,
    /// Notified when a place becomes free.
    freed: Notify,
}

/// A session with several users.
struct SharedSession {
    key: Key,
    server: Arc<Server>,
    current: tokio::sync::Mutex<CurrentSession>,
    /// The names of the result sets that nobody uses: a free place each.
    free: Mutex<Vec<InternationalString>>,
}

/// The session in use.
struct CurrentSession {
    lease: Lease,
    /// Whether it has answered a user, so that a loss may be the end of its time.
    has_answered: Arc<AtomicBool>,
}

/// How often a request is made again on another session, if the first had answered others.
const MAX_REPEATS: usize = 4;

/// A place in a session, which others may use at the same time. When the last user drops its place, the session goes back to the
/// pool like a [`Lease`].
pub struct SharedLease {
    session: Arc<SharedSession>,
    result_set: InternationalString,
}

impl Pool {
    /// See [`Client::share`](crate::Client::share).
    pub(crate) async fn share(
        self: &Arc<Self>,
        endpoint: &Endpoint,
        proxy: Option<&str>,
        options: &SessionOptions,
        limits: &TargetLimits,
    ) -> Result<SharedLease, Error> {
        let server = self.server(endpoint);
        let key = Key::new(endpoint, proxy, options);
        let place = async {
            tokio::select! {
                biased;
                permit = server.enter(limits.sessions) => Ok(permit),
                joined = server.join(&key) => Err(joined),
            }
        };
        let limit = options.timeouts.to_deadline();
        match limit.hold(Phase::Connect, place).await? {
            Ok(permit) => {
                let lease = self.lease_with(permit, endpoint, proxy, options, limits);
                Ok(share(server, key, lease.await?, options.max_operations))
            }
            Err(joined) => Ok(joined),
        }
    }
}

/// Lets others join a session if its server carries out operations side by side, on result sets with names.
fn share(server: Arc<Server>, key: Key, lease: Lease, max_operations: usize) -> SharedLease {
    let needed = Options::CONCURRENT_OPERATIONS | Options::NAMED_RESULT_SETS;
    let is_shared = lease.server_info().options.contains(needed);
    let others = match is_shared {
        true => 1..max_operations,
        false => 0..0,
    };
    let free = others
        .rev()
        .map(|number| number.to_string().as_str().into());
    let session = Arc::new(SharedSession {
        key,
        server,
        current: tokio::sync::Mutex::new(CurrentSession {
            has_answered: Arc::new(AtomicBool::new(lease.is_reused())),
            lease,
        }),
        free: Mutex::new(free.collect()),
    });
    if is_shared {
        let shared = &session.server.shared;
        lock(&shared.list).push(Arc::downgrade(&session));
        shared.freed.notify_waiters();
    }
    SharedLease {
        session,
        result_set: DEFAULT_RESULT_SET.into(),
    }
}

impl Server {
    /// Waits for a free place in a session.
    async fn join(&self, key: &Key) -> SharedLease {
        loop {
            let freed = self.shared.freed.notified();
            if let Some(lease) = self.shared.free_place(key) {
                return lease;
            }
            freed.await;
        }
    }
}

impl SharedSessions {
    fn free_place(&self, key: &Key) -> Option<SharedLease> {
        let mut list = lock(&self.list);
        list.retain(|session| session.strong_count() > 0);
        let mut sessions = list.iter().filter_map(Weak::upgrade);
        sessions.find_map(|session| {
            let result_set = match session.key == *key {
                true => lock(&session.free).pop()?,
                false => return None,
            };
            Some(SharedLease {
                session,
                result_set,
            })
        })
    }
}

impl SharedLease {
    /// The name of the result set that belongs to this place.
    pub fn result_set(&self) -> &InternationalString {
        &self.result_set
    }

    /// Makes a request that changes nothing outside of the own result set: see [`Lease::read`].
    ///
    /// # Errors
    /// Those of [`Lease::run`].
    pub async fn read<T, F>(&self, request: impl Fn(Session) -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let mut repeats = 0;
        let (mut session, mut has_answered) = self.session.now().await;
        loop {
            let result = request(session.clone()).await;
            let error = match result {
                Ok(found) => {
                    has_answered.store(true, Ordering::Release);
                    return Ok(found);
                }
                Err(error) => error,
            };
            let repeat = match repeats > 0 || has_answered.load(Ordering::Acquire) {
                true => Repeat::IfLost,
                false => Repeat::IfUnsent,
            };
            // A request of another user may have ended the session.
            let is_over = matches!(error, Error::Ended { .. }) || repeat.allows(&error);
            if repeats == MAX_REPEATS || !is_over {
                return Err(error);
            }
            repeats += 1;
            tracing::info!(%error, "session lost, opening another");
            (session, has_answered) = self.session.other_than(&session).await?;
        }
    }

    /// Returns the session that replaces a lost one, for all its users: see
    /// [`PagerOptions::reconnect`](crate::pager::PagerOptions::reconnect).
    pub fn reconnect(&self) -> Arc<dyn Reconnect> {
        Arc::clone(&self.session) as Arc<dyn Reconnect>
    }
}

impl SharedSession {
    async fn now(&self) -> (Session, Arc<AtomicBool>) {
        let current = self.current.lock().await;
        current.handle()
    }

    /// The session in place of a lost one; opens it unless another user has.
    async fn other_than(&self, lost: &Session) -> Result<(Session, Arc<AtomicBool>), Error> {
        let mut current = self.current.lock().await;
        if current.lease.is_same(lost) {
            current.lease.renew().await?;
            current.has_answered = Arc::default();
        }
        Ok(current.handle())
    }
}

impl CurrentSession {
    fn handle(&self) -> (Session, Arc<AtomicBool>) {
        (Session::clone(&self.lease), Arc::clone(&self.has_answered))
    }
}

impl Reconnect for SharedSession {
    fn reconnect(&self) -> BoxFuture<'_, Result<Session, Error>> {
        Box::pin(async move {
            let (now, _) = self.now().await;
            match now.is_open() {
                true => Ok(now),
                false => Ok(self.other_than(&now).await?.0),
            }
        })
    }
}

impl Drop for SharedLease {
    fn drop(&mut self) {
        let name = std::mem::take(&mut self.result_set);
        lock(&self.session.free).push(name);
        self.session.server.shared.freed.notify_waiters();
    }
}

impl fmt::Debug for SharedLease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedLease")
            .field("endpoint", &self.session.key.endpoint)
            .field("result_set", &self.result_set)
            .finish_non_exhaustive()
    }
}

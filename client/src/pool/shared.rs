//! Sessions whose operations go side by side (concurrentOperations, Z39.50-2003 §3.5): as many users at once as the server
//! serves, each with a result set of its own.

use std::fmt;
use std::sync::{Arc, Mutex, Weak};

use tokio::sync::Notify;
use z3950_asn1::apdu::Options;
use z3950_asn1::types::InternationalString;

use super::{Key, Lease, Pool, Server, lock};
use crate::error::{Error, Phase};
use crate::protocol::service::DEFAULT_RESULT_SET;
use crate::protocol::session::{Reconnect, Session, SessionOptions};
use crate::target::Endpoint;
use crate::target::profile::TargetLimits;

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
    lease: tokio::sync::Mutex<Lease>,
    reconnect: Arc<dyn Reconnect>,
    /// The names of the result sets that nobody uses: a free place each.
    free: Mutex<Vec<InternationalString>>,
}

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
        reconnect: lease.reconnect(),
        lease: tokio::sync::Mutex::new(lease),
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
        let (session, repeat) = {
            let lease = self.session.lease.lock().await;
            (Session::clone(&lease), lease.repeat())
        };
        match request(session.clone()).await {
            Err(error) if repeat.allows(&error) => {
                let renewed = {
                    let mut lease = self.session.lease.lock().await;
                    // Another user may have renewed it.
                    if lease.is_same(&session) {
                        tracing::info!(%error, "session lost, opening another");
                        lease.renew().await?;
                    }
                    Session::clone(&lease)
                };
                request(renewed).await
            }
            result => result,
        }
    }

    /// Opens sessions like this one when it is lost: see [`Lease::reconnect`].
    pub fn reconnect(&self) -> Arc<dyn Reconnect> {
        Arc::clone(&self.session.reconnect)
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

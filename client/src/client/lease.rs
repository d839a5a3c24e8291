//! Sessions lent out one user at a time, within what a server is asked to bear; they come back to the pool by themselves.
//! RFC 2056 §3 and §4 allow to use a session again for the same host and port.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use futures_util::future::join_all;

use super::{Client, Shared};
use crate::error::{Error, Phase};
use crate::pace::Pace;
use crate::pool::{Key, Place, Server, TargetLimits};
use crate::session::{Reconnect, Repeat, Session, SessionOptions};
use crate::target::Endpoint;
use crate::transport::BoxFuture;

/// A session for one user alone. Dropped, it goes back to the pool, unless it has ended, somebody holds another handle on
/// it, or a request in it was left without an answer; then it is closed.
pub struct Lease {
    session: Session,
    /// Whether others used it before.
    is_reused: bool,
    way: Arc<Way>,
    _place: Place,
}

/// How to open a session like it.
struct Way {
    shared: Arc<Shared>,
    server: Arc<Server>,
    endpoint: Endpoint,
    proxy: Option<String>,
    options: SessionOptions,
    limits: TargetLimits,
    pace: Option<Pace>,
    key: Key,
}

impl Client {
    /// Lends a session with a server to the caller alone: one of the pool that was opened in the same way and with the
    /// same options, or a new one; through `proxy` if one is named for this target alone.
    ///
    /// Where `limits.sessions` are in use, waits until one comes back, first come, first served, but not beyond the
    /// deadline of `options`; whoever has one of them and waits for another may wait for ever. Requests keep `limits.pause` apart from each other over all sessions with the server.
    ///
    /// # Errors
    /// Those of [`Client::connect`]; in phase Connect also the deadline.
    pub async fn lease(
        &self,
        endpoint: &Endpoint,
        proxy: Option<&str>,
        options: &SessionOptions,
        limits: &TargetLimits,
    ) -> Result<Lease, Error> {
        let server = self.shared.pool.server(endpoint);
        let limit = options.timeouts.to_deadline();
        let place = server.enter(limits.sessions);
        let place = limit.hold(Phase::Connect, place).await?;
        let way = Arc::new(Way {
            shared: Arc::clone(&self.shared),
            server: Arc::clone(&server),
            endpoint: endpoint.clone(),
            proxy: proxy.map(str::to_owned),
            options: options.clone(),
            limits: *limits,
            pace: Pace::new(&server.clock, limits.pause),
            key: Key::new(endpoint, proxy, options),
        });
        let kept = server.take(&way.key);
        Ok(Lease {
            is_reused: kept.is_some(),
            session: match kept {
                Some(session) => session
                    .with_timeouts(options.timeouts)
                    .with_pace(way.pace.clone()),
                None => way.open().await?,
            },
            way,
            _place: place,
        })
    }
}

impl Way {
    async fn open(&self) -> Result<Session, Error> {
        let surplus = self.server.make_room(self.limits.sessions);
        // What ended otherwise need not be closed.
        let _ = join_all(surplus.iter().map(Session::close)).await;
        if let Some(pace) = &self.pace {
            let limit = self.options.timeouts.to_deadline();
            limit.hold(Phase::Connect, pace.wait()).await?;
        }
        let proxy = self.proxy.as_deref();
        let session = self.shared.connect(&self.endpoint, proxy, &self.options);
        Ok(session.await?.with_pace(self.pace.clone()))
    }
}

impl Reconnect for Way {
    fn reconnect(&self) -> BoxFuture<'_, Result<Session, Error>> {
        Box::pin(self.open())
    }
}

impl Lease {
    /// Makes a request, and once more in a new session if this one was lost and `repeat` allows it: a server may have
    /// dropped it while nobody used it. The handle that `request` gets must not outlive the lease.
    ///
    /// # Errors
    /// Those of the last request, or of opening the session for it.
    pub async fn run<T, F>(
        &mut self,
        repeat: Repeat,
        request: impl Fn(Session) -> F,
    ) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        match request(self.session.clone()).await {
            Err(error) if repeat.allows(&error) => {
                tracing::info!(%error, "session lost, opening another");
                self.renew().await?;
                request(self.session.clone()).await
            }
            result => result,
        }
    }

    /// The same for requests that change nothing. If others used the session before, it may have been lost before the first
    /// of them, although that was sent; a new session has no such excuse.
    ///
    /// # Errors
    /// Those of [`run`](Self::run).
    pub async fn read<T, F>(&mut self, request: impl Fn(Session) -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let repeat = match self.is_reused {
            true => Repeat::IfLost,
            false => Repeat::IfUnsent,
        };
        self.run(repeat, request).await
    }

    /// Takes a new session in the place of this one, which is closed if it has not ended.
    ///
    /// # Errors
    /// Those of [`Client::connect`].
    pub async fn renew(&mut self) -> Result<(), Error> {
        self.session = self.way.open().await?;
        self.is_reused = false;
        Ok(())
    }

    /// What a result set needs that goes on in a session like this one when this one is lost, in the same place: see
    /// [`PagerOptions::reconnect`](crate::pager::PagerOptions::reconnect).
    pub fn reconnect(&self) -> Arc<dyn Reconnect> {
        Arc::clone(&self.way) as Arc<dyn Reconnect>
    }

    /// Whether the session was used before, so that the server may have dropped it meanwhile.
    pub fn is_reused(&self) -> bool {
        self.is_reused
    }

    /// Closes the session instead of keeping it.
    pub async fn close(self) {
        // What ended otherwise need not be closed.
        let _ = self.session.close().await;
    }

    /// Whether the session can be lent to somebody else after this.
    pub(crate) fn is_fit(&self) -> bool {
        self.session.is_at_rest()
    }
}

impl Deref for Lease {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.session
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if self.is_fit() {
            let key = self.way.key.clone();
            let limit = self.way.limits.sessions;
            self.way.server.put(key, self.session.clone(), limit);
        }
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease")
            .field("endpoint", &self.way.endpoint)
            .field("is_reused", &self.is_reused)
            .finish_non_exhaustive()
    }
}

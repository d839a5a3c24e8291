//! The client: URLs in, records and sessions out (RFC 2056 §3, §4). Holds what outlives a URL: options, the way
//! to connect, and sessions kept open.

use std::io;
use std::sync::Arc;

use futures_util::future::join_all;

use crate::error::{Cause, Error, Phase};
use crate::open::{self, OpenError, Opened};
use crate::plan::{self, Plan, PlanError, PlanOptions};
use crate::pool::{Key, Pool};
use crate::retrieve::{self, Outcome, Retrieval};
use crate::session::{Session, SessionOptions};
use crate::target::Endpoint;
use crate::transport::{Connect, Resolve, RouteError, Routes, Timeouts};
use crate::url::Z3950Url;

/// How a client works.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ClientOptions {
    /// What is sent for a URL.
    pub plan: PlanOptions,
    /// How long to wait.
    pub timeouts: Timeouts,
    /// Whether sessions of retrievals stay open for the next one, until [`Client::close_all`].
    pub keep_open: bool,
}

/// Follows URLs. Cloning it gives another handle on the same sessions.
///
/// All a URL can make it send are Init, Search, Present and Close, beside answers to requests of the server
/// (RFC 2056 §6).
#[derive(Clone)]
pub struct Client {
    options: ClientOptions,
    routes: Routes,
    pool: Arc<Pool>,
}

impl Client {
    /// A client that connects by TCP and asks the operating system for addresses.
    pub fn new(options: ClientOptions) -> Self {
        Self::with_routes(options, Routes::default())
    }

    /// A client that connects by TCP to the addresses that `resolver` finds.
    pub fn with_resolver(options: ClientOptions, resolver: impl Resolve + 'static) -> Self {
        Self::with_routes(options, Routes::with_resolver(resolver))
    }

    /// A client that connects in whatever way `connector` does.
    pub fn with_connector(options: ClientOptions, connector: impl Connect + 'static) -> Self {
        Self::with_routes(options, Routes::fixed(connector))
    }

    /// A client that goes these ways: through a proxy, with TLS options of one's own.
    pub fn with_routes(options: ClientOptions, routes: Routes) -> Self {
        Self {
            options,
            routes,
            pool: Arc::default(),
        }
    }

    /// The options.
    pub fn options(&self) -> &ClientOptions {
        &self.options
    }

    /// A client with other options and the same sessions.
    pub fn with_options(&self, options: ClientOptions) -> Self {
        Self {
            options,
            ..self.clone()
        }
    }

    /// What would be sent for `url`.
    ///
    /// # Errors
    /// See [`PlanError`].
    pub fn plan(&self, url: &Z3950Url) -> Result<Plan, PlanError> {
        plan::plan(url, &self.options.plan)
    }

    /// Fetches the one record that `url` names, and closes the session or keeps it for the next retrieval.
    ///
    /// # Errors
    /// Only where there is nothing to send; all else is an [`Outcome`].
    pub async fn retrieve(&self, url: &Z3950Url) -> Result<Retrieval, PlanError> {
        self.retrieve_plan(&self.plan(url)?).await
    }

    /// The same for a URL already planned.
    ///
    /// # Errors
    /// [`PlanError::NoDocid`].
    pub async fn retrieve_plan(&self, plan: &Plan) -> Result<Retrieval, PlanError> {
        if plan.docid().is_none() {
            return Err(PlanError::NoDocid);
        }
        if let Some(port) = plan.refused_port() {
            return Ok(Outcome::PortRefused { port }.into());
        }
        let key = Key::of(plan);
        // A session that ended in the pool says so before anything is sent on it, and the next one is tried.
        while let Some(session) = self.pool.take(&key) {
            let session = session.with_timeouts(self.options.timeouts);
            match retrieve::attempt(&session, plan).await {
                Err(Error::Ended { .. }) => continue,
                Err(error) => return Ok(Outcome::from(error).into()),
                Ok(retrieval) => {
                    self.settle(key, session, &retrieval.outcome).await;
                    return Ok(retrieval);
                }
            }
        }
        let session = match self.session(plan).await {
            Ok(session) => session,
            Err(error) => return Ok(Outcome::from(error).into()),
        };
        let retrieval = retrieve::retrieve(&session, plan).await;
        self.settle(key, session, &retrieval.outcome).await;
        Ok(retrieval)
    }

    /// Opens the session that `url` names, or finds it open, and searches if there is a docid.
    ///
    /// Only sessions that this client opened for session URLs are found, never those kept for retrievals.
    ///
    /// # Errors
    /// See [`OpenError`]. A search that fails is none: see [`Opened::found`].
    pub async fn open(&self, url: &Z3950Url) -> Result<Opened, OpenError> {
        self.open_plan(&self.plan(url)?).await
    }

    /// The same for a URL already planned, a retrieval URL too.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub async fn open_plan(&self, plan: &Plan) -> Result<Opened, OpenError> {
        if let Some(port) = plan.refused_port() {
            return Err(OpenError::PortRefused(port));
        }
        let key = Key::of(plan);
        let opened = |session, reused, found| Opened {
            session,
            reused,
            defaults: plan.defaults().clone(),
            found,
        };
        if let Some(session) = self.pool.opened(&key) {
            let session = session.with_timeouts(self.options.timeouts);
            match open::process(&session, plan).await {
                Err(Error::Ended { .. }) => {}
                found => return Ok(opened(session, true, found?)),
            }
        }
        let session = self.session(plan).await?;
        self.pool.remember(key, &session);
        let found = open::process(&session, plan).await?;
        Ok(opened(session, false, found))
    }

    /// Opens a session at an endpoint, without a URL, which the caller alone uses; through `proxy` if one is named for
    /// this target alone. `options` are what the caller wants of it: neither those of [`ClientOptions`] nor the pool count.
    ///
    /// # Errors
    /// Those of [`Session::connect`]; in phase Connect also a way that cannot be gone, such as TLS without a certificate
    /// that is there.
    pub async fn connect(
        &self,
        endpoint: &Endpoint,
        proxy: Option<&str>,
        options: &SessionOptions,
    ) -> Result<Session, Error> {
        let connector = self.routes.to(endpoint, proxy).map_err(no_way)?;
        Session::connect(&endpoint.host(), endpoint.port(), &*connector, options).await
    }

    /// Closes all sessions kept for retrievals or opened for session URLs; takes [`Timeouts::close`] at most.
    pub async fn close_all(&self) {
        let sessions = self.pool.drain();
        // What ended otherwise need not be closed.
        let _ = join_all(sessions.iter().map(Session::close)).await;
    }

    async fn session(&self, plan: &Plan) -> Result<Session, Error> {
        let init = plan.init_options().clone();
        let options = SessionOptions {
            init,
            timeouts: self.options.timeouts,
            ..SessionOptions::default()
        };
        let endpoint = Endpoint::Tcp(plan.host().clone(), plan.port());
        self.connect(&endpoint, None, &options).await
    }

    /// Keeps or closes the session of a retrieval that is over.
    async fn settle(&self, key: Key, session: Session, outcome: &Outcome) {
        // A server that wants credentials may still be at the operation.
        let is_useful = session.is_open() && !matches!(outcome, Outcome::AccessRefused { .. });
        let leftover = match self.options.keep_open && is_useful {
            true => self.pool.put(key, session),
            false => Some(session),
        };
        if let Some(session) = leftover {
            let _ = session.close().await;
        }
    }
}

/// A way that cannot be gone is no connection.
fn no_way(error: RouteError) -> Error {
    Error::Unavailable {
        phase: Phase::Connect,
        cause: Cause::Other(Arc::new(io::Error::other(error))),
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("options", &self.options)
            .field("pool", &self.pool)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;

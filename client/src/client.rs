//! The client: URLs in, records and sessions out (RFC 2056 §3, §4). Holds what outlives a URL: options, the way
//! to connect, and sessions kept open.

mod lease;

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_util::future::join_all;
use tokio::task::spawn_blocking;
use tokio::time::Instant;
use z3950_asn1::apdu::IdAuthentication;

pub use self::lease::Lease;
use crate::connection::Connection;
use crate::error::{Cause, Error, Phase};
use crate::open::{self, OpenError, Opened};
use crate::pace::Pace;
use crate::plan::{self, Plan, PlanError, PlanOptions};
use crate::pool::{Key, Pool, TargetLimits};
use crate::profile::{Credentials, CredentialsError, Profile, ProfileError, Profiles, Resolved};
use crate::record::Record;
use crate::retrieve::{self, Outcome, Retrieval};
use crate::service::init::InitOptions;
use crate::session::{Repeat, Session, SessionOptions};
use crate::target::Endpoint;
#[cfg(feature = "proxy")]
use crate::transport::Proxy;
use crate::transport::{Connect, Resolve, RouteError, Routes, Timeouts};
use crate::url::{Mode, Z3950Url};

/// How a client works.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct ClientOptions {
    /// What is sent for a URL.
    pub plan: PlanOptions,
    /// How long to wait.
    pub timeouts: Timeouts,
    /// Whether sessions of retrievals stay open for the next one, until [`Client::close_all`].
    pub keep_open: bool,
}

impl ClientOptions {
    /// The same, but this is sent for a URL.
    #[must_use]
    pub fn with_plan(mut self, plan: PlanOptions) -> Self {
        self.plan = plan;
        self
    }

    /// The same with other limits to waiting.
    #[must_use]
    pub fn with_timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    /// The same, but sessions of retrievals stay open for the next one, or do not.
    #[must_use]
    pub fn with_keep_open(mut self, keep_open: bool) -> Self {
        self.keep_open = keep_open;
        self
    }
}

/// Follows URLs. Cloning it gives another handle on the same sessions.
///
/// All a URL can make it send are Init, Search, Present and Close, beside answers to requests of the server
/// (RFC 2056 §6).
#[derive(Clone)]
pub struct Client {
    options: Arc<ClientOptions>,
    profiles: Arc<Profiles>,
    shared: Arc<Shared>,
}

/// What all handles of a client share.
struct Shared {
    routes: Routes,
    pool: Pool,
    secrets: Mutex<HashMap<Credentials, IdAuthentication>>,
}

impl Client {
    /// A client that connects by TCP and knows nothing but what it is told: it reads no file and no variable of the
    /// environment, and runs no command.
    pub fn new() -> Self {
        Self::with(ClientOptions::default())
    }

    /// A client as its user has set it up: with the targets that come with this library and those of the user's
    /// `targets.toml`, by name; with the proxy that the environment names, where this is built with `proxy`. Passwords come
    /// from where `targets.toml` says, when a target needs them.
    ///
    /// # Errors
    /// [`Error::Target`] for a file that is not a list of targets, [`Error::Route`] for a proxy that is none.
    pub fn from_user_config() -> Result<Self, Error> {
        let built_in = Profiles::built_in();
        let profiles = match Profiles::user_file().filter(|path| path.exists()) {
            Some(path) => built_in.with_file(&path).map_err(of_target)?,
            None => built_in,
        };
        let routes = Routes::default();
        #[cfg(feature = "proxy")]
        let routes = match Proxy::from_environment(|name| std::env::var(name).ok()) {
            Ok((Some(proxy), exempt)) => routes.proxy(proxy, exempt),
            Ok((None, _)) => routes,
            Err(error) => return Err(Error::Route(error.to_string())),
        };
        Ok(Self::with_routes(ClientOptions::default(), routes).with_profiles(profiles))
    }

    /// The same as [`new`](Self::new) with options.
    pub fn with(options: ClientOptions) -> Self {
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
            options: Arc::new(options),
            profiles: Arc::default(),
            shared: Arc::new(Shared {
                routes,
                pool: Pool::default(),
                secrets: Mutex::default(),
            }),
        }
    }

    /// The options.
    pub fn options(&self) -> &ClientOptions {
        &self.options
    }

    /// A client with other options and the same sessions.
    pub fn with_options(&self, options: ClientOptions) -> Self {
        Self {
            options: Arc::new(options),
            ..self.clone()
        }
    }

    /// A client that knows these servers, with the same options and sessions.
    pub fn with_profiles(&self, profiles: impl Into<Arc<Profiles>>) -> Self {
        Self {
            profiles: profiles.into(),
            ..self.clone()
        }
    }

    /// The servers that the client knows by name or address.
    pub fn profiles(&self) -> &Profiles {
        &self.profiles
    }

    /// What to send at Init for these credentials. The environment is read, or the command run and waited for, once for
    /// all handles of the client, and again after a server has refused a session; at the deadline of the client's options
    /// the command is killed.
    ///
    /// # Errors
    /// See [`CredentialsError`].
    pub async fn authentication(
        &self,
        credentials: &Credentials,
    ) -> Result<IdAuthentication, CredentialsError> {
        if let Some(known) = self.shared.secrets().get(credentials) {
            return Ok(known.clone());
        }
        let found = match credentials.password_command {
            None => credentials.authentication()?,
            // A command may take as long as a person takes to type.
            Some(_) => {
                let asked = credentials.clone();
                let deadline = self.options.timeouts.deadline.map(Instant::into_std);
                let found = spawn_blocking(move || asked.authentication_by(deadline)).await;
                found.map_err(|error| CredentialsError::Command(io::Error::other(error)))??
            }
        };
        let mut secrets = self.shared.secrets();
        secrets.insert(credentials.clone(), found.clone());
        Ok(found)
    }

    /// What would be sent for `url`, what the profile of its server knows included: see [`Plan::with_profile`]. The
    /// credentials of the profile are used where neither the options nor the URL say who to be; a command that gives the
    /// password is run, once.
    ///
    /// # Errors
    /// See [`PlanError`].
    pub async fn plan(&self, url: &Z3950Url) -> Result<Plan, PlanError> {
        let plan = plan::plan(url, &self.options.plan)?;
        if let Some((_, entry)) = self.profiles.of_url(url) {
            return self.known(plan, url, &entry.profile).await;
        }
        Ok(plan)
    }

    /// Fetches the one record that `url` names, and closes the session or keeps it for the next retrieval.
    ///
    /// # Errors
    /// Only where there is nothing to send; all else is an [`Outcome`].
    pub async fn retrieve(&self, url: &Z3950Url) -> Result<Retrieval, PlanError> {
        self.retrieve_plan(&self.plan(url).await?).await
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
        let options = self.session_options(plan);
        let lease = self
            .lease(&plan.endpoint(), None, &options, &plan.limits())
            .await;
        let mut lease = match lease {
            Ok(lease) => lease,
            Err(error) => return Ok(Outcome::from(error).into()),
        };
        let attempt = lease.read(|session| async move { retrieve::attempt(&session, plan).await });
        let retrieval = match attempt.await {
            Ok(retrieval) => retrieval,
            Err(error) => Outcome::from(error).into(),
        };
        if !(self.options.keep_open && lease.is_fit()) {
            lease.close().await;
        }
        Ok(retrieval)
    }

    /// Opens the session that `url` names, or finds it open, and searches if there is a docid.
    ///
    /// Only sessions that this client opened for session URLs are found, never those kept for retrievals.
    ///
    /// # Errors
    /// See [`OpenError`]. A search that fails is none: see [`Opened::found`].
    pub async fn open(&self, url: &Z3950Url) -> Result<Opened, OpenError> {
        self.open_plan(&self.plan(url).await?).await
    }

    /// The same for a URL already planned, a retrieval URL too.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub async fn open_plan(&self, plan: &Plan) -> Result<Opened, OpenError> {
        if let Some(port) = plan.refused_port() {
            return Err(OpenError::PortRefused(port));
        }
        let endpoint = plan.endpoint();
        let options = self.session_options(plan);
        let key = Key::new(&endpoint, None, &options);
        let server = self.shared.pool.server(&endpoint);
        let pace = Pace::new(&server.clock, plan.limits().pause);
        let opened = |session, reused, found| Opened {
            session,
            reused,
            defaults: plan.defaults().clone(),
            found,
        };
        if let Some(session) = self.shared.pool.opened(&key) {
            let session = session
                .with_timeouts(self.options.timeouts)
                .with_pace(pace.clone());
            match open::process(&session, plan).await {
                Ok(found) => return Ok(opened(session, true, found)),
                Err(error) if is_over(&error) => {
                    tracing::info!(%error, "session lost, opening another");
                }
                Err(error) => return Ok(opened(session, true, Some(Err(error)))),
            }
        }
        let session = self.session(&endpoint, None, &options).await?;
        let session = session.with_pace(pace);
        self.shared.pool.remember(key, &session);
        let found = match open::process(&session, plan).await {
            Ok(found) => found,
            Err(error @ Error::Ended { .. }) => return Err(error.into()),
            Err(error) => Some(Err(error)),
        };
        Ok(opened(session, false, found))
    }

    /// Opens a session with a target: `host:port/database+database`, `ssl:…`, `unix:…`, `connect:proxy,…`, a `z39.50s:` URL,
    /// or the name of a profile. What the profile of the server says holds for all that is asked there.
    ///
    /// Where as many sessions are open as the profile allows, it waits for one to come back.
    ///
    /// # Errors
    /// [`Error::Target`], [`Error::Credentials`]; that the server cannot be reached, or refuses the session.
    pub async fn connect(&self, target: impl AsRef<str>) -> Result<Connection, Error> {
        let target = self.profiles.resolve(target.as_ref()).map_err(of_target)?;
        let lease = self
            .lease_at(&target, self.options.plan.init.clone())
            .await?;
        Ok(Connection::new(self.clone(), target, lease))
    }

    /// The record that a retrieval URL names, `z39.50r://host/database?docid` (RFC 2056 §4).
    /// [`retrieve`](Self::retrieve) tells more of how it went.
    ///
    /// # Errors
    /// [`Error::Url`] and [`Error::Plan`] for a URL that cannot be followed; [`Error::NoMatch`], [`Error::Ambiguous`],
    /// [`Error::Refused`], or what came in the way of an answer.
    pub async fn get(&self, url: impl AsRef<str>) -> Result<Record, Error> {
        let url = Z3950Url::parse(url.as_ref(), Mode::Lenient)?;
        let charset = self.profiles.of_url(&url);
        let charset = charset.and_then(|(_, entry)| entry.profile.record_charset);
        let record = self.retrieve(&url).await?.into_record()?;
        Ok(record.with_charset(charset))
    }

    /// Lends a session with a target, within what its profile allows. `init` says who to be, else the profile does.
    ///
    /// # Errors
    /// [`Error::Credentials`]; those of [`lease`](Self::lease).
    pub async fn lease_at(&self, target: &Resolved, init: InitOptions) -> Result<Lease, Error> {
        let options = self.options_at(target, init).await?;
        let limits = TargetLimits::from(&target.profile);
        let proxy = target.proxy.as_deref();
        self.lease(&target.endpoint, proxy, &options, &limits).await
    }

    /// How to open a session with a target. `init` says who to be, else the profile does.
    ///
    /// # Errors
    /// [`Error::Credentials`].
    pub async fn options_at(
        &self,
        target: &Resolved,
        mut init: InitOptions,
    ) -> Result<SessionOptions, Error> {
        if let (None, Some(credentials)) = (&init.authentication, &target.profile.credentials) {
            let authentication = self.authentication(credentials).await;
            init.authentication = Some(authentication.map_err(of_credentials)?);
        }
        Ok(SessionOptions {
            init,
            timeouts: self.options.timeouts,
            ..SessionOptions::default()
        })
    }

    /// Opens a session at an endpoint, without a URL, which the caller alone uses; through `proxy` if one is named for
    /// this target alone. `options` are what the caller wants of it: neither those of [`ClientOptions`] nor the pool count.
    ///
    /// # Errors
    /// Those of [`Session::connect`]; in phase Connect also a way that cannot be gone, such as TLS without a certificate
    /// that is there.
    pub async fn session(
        &self,
        endpoint: &Endpoint,
        proxy: Option<&str>,
        options: &SessionOptions,
    ) -> Result<Session, Error> {
        self.shared.connect(endpoint, proxy, options).await
    }

    /// Closes all sessions of the pool that nobody uses and those opened for session URLs; takes [`Timeouts::close`] at most.
    pub async fn close_all(&self) {
        let sessions = self.shared.pool.drain();
        // What ended otherwise need not be closed.
        let _ = join_all(sessions.iter().map(Session::close)).await;
    }

    /// The plan with what the profile of the server knows.
    async fn known(
        &self,
        plan: Plan,
        url: &Z3950Url,
        profile: &Profile,
    ) -> Result<Plan, PlanError> {
        let plan = plan.with_profile(profile);
        let is_open = plan.init_options().authentication.is_none() && url.userinfo().is_none();
        match profile.credentials.as_ref().filter(|_| is_open) {
            None => Ok(plan),
            Some(credentials) => match self.authentication(credentials).await {
                Ok(authentication) => Ok(plan.with_authentication(authentication)),
                Err(error) => Err(PlanError::Credentials(error.to_string())),
            },
        }
    }

    /// How to open the session of a plan.
    fn session_options(&self, plan: &Plan) -> SessionOptions {
        SessionOptions {
            init: plan.init_options().clone(),
            timeouts: self.options.timeouts,
            ..SessionOptions::default()
        }
    }
}

impl Shared {
    /// See [`Client::connect`].
    async fn connect(
        &self,
        endpoint: &Endpoint,
        proxy: Option<&str>,
        options: &SessionOptions,
    ) -> Result<Session, Error> {
        let connector = self.routes.to(endpoint, proxy).map_err(no_way)?;
        let (host, port) = (endpoint.host(), endpoint.port());
        let session = Session::connect(&host, port, &*connector, options).await;
        if let (Err(Error::InitRejected(_)), Some(refused)) =
            (&session, &options.init.authentication)
        {
            // A password that was mistyped can be given again.
            self.secrets().retain(|_, known| known != refused);
        }
        session
    }

    fn secrets(&self) -> MutexGuard<'_, HashMap<Credentials, IdAuthentication>> {
        self.secrets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn of_target(error: ProfileError) -> Error {
    Error::Target(Arc::new(error))
}

fn of_credentials(error: CredentialsError) -> Error {
    Error::Credentials(Arc::new(error))
}

/// Whether a session found open was none any more.
fn is_over(error: &Error) -> bool {
    matches!(error, Error::Ended { .. }) || Repeat::IfLost.allows(error)
}

/// A way that cannot be gone is no connection.
fn no_way(error: RouteError) -> Error {
    Error::Unavailable {
        phase: Phase::Connect,
        cause: Cause::Other(Arc::new(io::Error::other(error))),
    }
}

impl Default for Client {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("options", &self.options)
            .field("pool", &self.shared.pool)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;

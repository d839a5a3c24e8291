//! The client, which takes URLs and targets, and returns records, sessions and connections (RFC 2056 §3, §4). It
//! contains the state that all requests share: options, profiles, and the pool of sessions.

mod builder;
mod gopher;
mod sessions;

use std::sync::Arc;
use std::time::Duration;

use z3950_asn1::apdu::{IdAuthentication, InitializeRequest};
use z3950_asn1::via::Via;

pub use self::builder::{ClientBuilder, ConnectOptions};
use crate::connection::Connection;
use crate::error::{Error, Phase};
#[cfg(feature = "sru")]
use crate::gateway::{Gateway, GatewayClient};
use crate::open::{self, Opened};
use crate::pace::Pace;
use crate::plan::{self, Caution, Hints, Plan, PlanError, PlanOptions};
use crate::pool::{Key, Pool, Sharing};
use crate::protocol::session::{Repeat, SessionOptions};
use crate::record::Record;
use crate::retrieve::{self, NextSteps, Outcome, Retrieval};
use crate::target::adapt::RecordForm;
use crate::target::profile::{
    Credentials, CredentialsError, Profile, ProfileError, Profiles, Resolved, TargetLimits,
};
use crate::target::{TargetError, redacted};
#[cfg(all(feature = "profiles", feature = "proxy"))]
use crate::transport::Proxy;
use crate::transport::timeouts::Limit;
use crate::transport::{Resolve, Routes, Timeouts};
use crate::url::{Kind, Mode, Z3950Url};

/// The options of a [`Client`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ClientOptions {
    /// The options that determine the requests for a URL.
    pub plan: PlanOptions,
    /// The time limits for connections and responses.
    pub timeouts: Timeouts,
    /// Whether sessions opened for retrievals stay open for further retrievals, until [`Client::close_all`] is called.
    pub keep_open: bool,
    /// How long unused sessions stay open, for example after their connection was dropped. With `None`, they stay open
    /// until the server ends them or [`Client::close_all`] is called.
    pub idle_time: Option<Duration>,
    /// The maximum number of sessions that are in use at the same time with each server whose profile sets no maximum.
    /// If this is `None`, the maximum is 16.
    pub max_sessions: Option<usize>,
    /// Whether retrievals and [`Client::close_all`] wait for the server's response to Close, which costs a round trip.
    pub awaits_close: bool,
    /// Whether dropping the future of an operation cancels the operation, if the server grants triggerResourceCtrl. See
    /// [`SessionOptions::cancels_dropped`].
    pub cancels_dropped: bool,
    /// The maximum number of times that a request is sent again after its session was lost. The default is 1. A request
    /// is sent again only if the server had answered other requests in the lost session. See
    /// [`SessionOptions::max_repeats`].
    pub max_repeats: usize,
    /// The servers through which the requests passed before they reached this client; empty if the client works
    /// directly for a user. They are sent at the end of implementationVersion, or in the header Via, so that servers
    /// can detect loops.
    pub via: Via,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            plan: PlanOptions::default(),
            timeouts: Timeouts::default(),
            keep_open: false,
            idle_time: None,
            max_sessions: None,
            awaits_close: false,
            cancels_dropped: false,
            max_repeats: 1,
            via: Via::default(),
        }
    }
}

impl ClientOptions {
    /// Sets the time limits for connections and responses.
    #[must_use]
    pub fn with_timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }
}

/// Retrieves URLs and connects to targets. Cloning a client creates another handle to the same sessions.
///
/// For a URL, the client sends only Init, Search, Present and Close, and responses to requests from the server (RFC
/// 2056 §6).
#[derive(Clone)]
pub struct Client {
    options: Arc<ClientOptions>,
    profiles: Arc<Profiles>,
    pool: Arc<Pool>,
    #[cfg(feature = "sru")]
    gateway: Option<Arc<GatewayClient>>,
}

impl Client {
    /// Creates a client that does not depend on its environment: it connects by TCP, reads no file and no environment
    /// variable, and runs no command.
    pub fn new() -> Self {
        Self::with(ClientOptions::default())
    }

    /// Creates a builder for a client with credentials, profiles, certificates or limits. Such a client does not
    /// depend on its environment either.
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }

    /// Creates a client with the user's configuration: it accepts the names of built-in targets and of targets in the
    /// user's `targets.toml`, and with the feature `proxy` it uses the proxy set in the environment. If a target needs
    /// a password, the client obtains it from the source named in `targets.toml`.
    ///
    /// # Errors
    /// [`Error::Target`] for an invalid `targets.toml`, [`Error::Route`] for an invalid proxy.
    #[cfg(feature = "profiles")]
    pub fn from_user_config() -> Result<Self, Error> {
        let built_in = Profiles::built_in();
        let profiles = match Profiles::user_file().filter(|path| path.exists()) {
            Some(path) => built_in.with_file(&path).map_err(target_error)?,
            None => built_in,
        };
        let routes = Routes::default();
        #[cfg(feature = "proxy")]
        let routes = match Proxy::from_environment(|name| std::env::var(name).ok()) {
            Ok((Some(proxy), exempt)) => routes.proxy(proxy, exempt),
            Ok((None, _)) => routes,
            Err(error) => return Err(Error::Route(Arc::new(error.into()))),
        };
        Ok(Self::with_routes(ClientOptions::default(), routes).with_profiles(profiles))
    }

    /// Creates a client like [`new`](Self::new), with options.
    pub fn with(options: ClientOptions) -> Self {
        Self::with_routes(options, Routes::default())
    }

    /// Creates a client that resolves host names with `resolver` and connects by TCP.
    pub fn with_resolver(options: ClientOptions, resolver: impl Resolve + 'static) -> Self {
        Self::with_routes(options, Routes::with_resolver(resolver))
    }

    /// Creates a client that reaches servers by different routes: through a proxy, with TLS options, or with your own
    /// connector.
    pub fn with_routes(options: ClientOptions, routes: Routes) -> Self {
        Self {
            options: Arc::new(options),
            profiles: Arc::default(),
            pool: Arc::new(Pool::new(routes)),
            #[cfg(feature = "sru")]
            gateway: None,
        }
    }

    /// Returns the options of the client.
    pub fn options(&self) -> &ClientOptions {
        &self.options
    }

    /// Returns a client with different options and the same sessions.
    pub fn with_options(&self, options: ClientOptions) -> Self {
        Self {
            options: Arc::new(options),
            ..self.clone()
        }
    }

    /// Returns a client with the same sessions whose calls take at most `limit` each, from the connection to the last
    /// response. The limit also applies to calls on its connections and their result sets. In [`find`](Self::find), it
    /// applies to each session and each search.
    ///
    /// ```no_run
    /// # async fn example(client: z3950::Client) -> Result<(), z3950::Error> {
    /// let within = std::time::Duration::from_secs(5);
    /// let record = client.within(within).get("z39.50r://lib.example/cat?id7").await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// A call that takes longer fails with [`Error::Unavailable`] in the phase [`Phase::Call`].
    #[must_use]
    pub fn within(&self, limit: Duration) -> Self {
        let mut options = (*self.options).clone();
        options.timeouts.call = Some(limit);
        self.with_options(options)
    }

    /// Runs a call within the limit set by [`within`](Self::within). The call is boxed, because the limit would
    /// otherwise enlarge every future.
    pub(crate) async fn in_time<T>(
        &self,
        call: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let limit = self.options.timeouts.to_call();
        limit.hold(Phase::Call, Box::pin(call)).await?
    }

    /// Returns a client with different profiles and the same options and sessions.
    pub fn with_profiles(&self, profiles: impl Into<Arc<Profiles>>) -> Self {
        Self {
            profiles: profiles.into(),
            ..self.clone()
        }
    }

    /// Returns a client that retrieves URLs through a gateway (RFC 1738 §3), with the same options, profiles and
    /// sessions.
    ///
    /// [`get`](Self::get), [`retrieve`](Self::retrieve) and [`retrieve_plan`](Self::retrieve_plan) then connect only to
    /// the gateway, with the routes and within the timeouts of the client. No credentials are sent except those in the
    /// gateway's own address. The gateway decides whether a port is allowed.
    #[cfg(feature = "sru")]
    pub fn with_gateway(&self, gateway: Gateway) -> Self {
        let routes = self.pool.routes().clone();
        Self {
            gateway: Some(Arc::new(GatewayClient::new(gateway, routes))),
            ..self.clone()
        }
    }

    /// Returns whether retrievals go through a gateway.
    fn has_gateway(&self) -> bool {
        #[cfg(feature = "sru")]
        return self.gateway.is_some();
        #[cfg(not(feature = "sru"))]
        false
    }

    /// Returns the target profiles of the client.
    pub fn profiles(&self) -> &Profiles {
        &self.profiles
    }

    /// Returns the credentials in the form of Init's idAuthentication. If the password comes from an environment
    /// variable or a command, the variable is read, or the command is run, only once for all handles of the client;
    /// this is repeated only after a server has rejected Init. A command that is still running at the deadline in the
    /// client's options is killed.
    ///
    /// # Errors
    /// See [`CredentialsError`].
    pub async fn authentication(
        &self,
        credentials: &Credentials,
    ) -> Result<IdAuthentication, CredentialsError> {
        if let Some(known) = self.pool.secret(credentials) {
            return Ok(known);
        }
        let deadline = self.options.timeouts.deadline;
        let found = credentials.authentication(deadline).await?;
        self.pool.keep_secret(credentials, &found);
        Ok(found)
    }

    /// Plans the requests for `url`, with the profile of its server applied (see [`Plan::with_profile`]). The
    /// credentials of the profile are used if neither the options nor the URL contain any. A password command is run
    /// only once.
    ///
    /// # Errors
    /// See [`PlanError`].
    pub async fn plan(&self, url: &Z3950Url) -> Result<Plan, PlanError> {
        let mut plan = plan::plan(url, &self.options.plan)?;
        let mut credentials = self.profiles.login(url.host(), url.port());
        if let Some((_, entry)) = self.profiles.of_url(url) {
            plan = plan.with_profile(&entry.profile);
            credentials = credentials.or(entry.profile.credentials.as_ref());
        }
        let is_anonymous =
            plan.options.init.id_authentication.is_none() && url.userinfo().is_none();
        match credentials {
            Some(credentials) if is_anonymous && !self.has_gateway() => {
                match self.authentication(credentials).await {
                    Ok(authentication) => Ok(plan.with_authentication(authentication)),
                    Err(error) => Err(PlanError::Credentials(Arc::new(error))),
                }
            }
            _ => Ok(plan),
        }
    }

    /// Retrieves the record named by `url`, and closes the session or keeps it for the next retrieval.
    ///
    /// # Errors
    /// [`PlanError`] if no request can be sent, or if the URL has credentials that must not be sent
    /// ([`PlanOptions::allow_url_credentials`]). All later errors are part of the [`Outcome`].
    pub async fn retrieve(&self, url: &Z3950Url) -> Result<Retrieval, PlanError> {
        let limit = self.options.timeouts.to_call();
        let plan = limit.hold(Phase::Call, Box::pin(self.plan_whole(url)));
        match plan.await {
            Ok(plan) => self.retrieve_until(&limit, &plan?, None).await,
            Err(error) => Ok(Outcome::from(error).into()),
        }
    }

    /// Plans the requests for a URL, and reports an error if a part of the URL would have no effect.
    ///
    /// # Errors
    /// See [`PlanError`].
    async fn plan_whole(&self, url: &Z3950Url) -> Result<Plan, PlanError> {
        let plan = self.plan(url).await?;
        let is_not_sent = |caution: &Caution| *caution == Caution::Credentials { sent: false };
        if !self.has_gateway() && plan.cautions.iter().any(is_not_sent) {
            return Err(PlanError::CredentialsNotSent);
        }
        Ok(plan)
    }

    /// Retrieves the record for a plan.
    ///
    /// # Errors
    /// [`PlanError::NoDocid`], if the plan is not for a retrieval.
    pub async fn retrieve_plan(&self, plan: &Plan) -> Result<Retrieval, PlanError> {
        let limit = self.options.timeouts.to_call();
        self.retrieve_until(&limit, plan, None).await
    }

    /// Retrieves the record for a plan, and reports each request to `next_steps` before it is sent to the server.
    ///
    /// # Errors
    /// The errors of [`retrieve_plan`](Self::retrieve_plan).
    pub(crate) async fn retrieve_reporting(
        &self,
        plan: &Plan,
        next_steps: &NextSteps,
    ) -> Result<Retrieval, PlanError> {
        let limit = self.options.timeouts.to_call();
        self.retrieve_until(&limit, plan, Some(next_steps)).await
    }

    async fn retrieve_until(
        &self,
        limit: &Limit,
        plan: &Plan,
        next_steps: Option<&NextSteps>,
    ) -> Result<Retrieval, PlanError> {
        let retrieval = limit.hold(Phase::Call, Box::pin(self.carry_out(plan, next_steps)));
        let retrieval = retrieval.await;
        retrieval.unwrap_or_else(|error| Ok(Outcome::from(error).into()))
    }

    async fn carry_out(
        &self,
        plan: &Plan,
        next_steps: Option<&NextSteps>,
    ) -> Result<Retrieval, PlanError> {
        if plan.docid.is_none() {
            return Err(PlanError::NoDocid);
        }
        #[cfg(feature = "sru")]
        if let Some(gateway) = &self.gateway {
            return Ok(gateway.retrieve(plan, &self.options.timeouts).await.into());
        }
        if let Some(port) = plan.refused_port() {
            return Ok(Outcome::Failed(Error::PortRefused(port)).into());
        }
        let options = self.options_of(plan);
        let (endpoint, limits) = (plan.endpoint(), self.limits(plan.profile()));
        let sharing = if self.options.keep_open {
            Sharing::WithOthers
        } else {
            Sharing::Alone
        };
        let lease = self.pool.lend(&endpoint, None, options, &limits, sharing);
        let retrieval = match lease.await {
            Ok(lease) if sharing == Sharing::WithOthers => {
                let set = lease.result_set();
                let request = |session| async move {
                    retrieve::attempt(&session, plan, Some(set), next_steps).await
                };
                let is_foreign = |found: &Retrieval| found.lacks(plan);
                lease.read_own(true, is_foreign, request).await
            }
            Ok(lease) => {
                let request = |session| async move {
                    retrieve::attempt(&session, plan, None, next_steps).await
                };
                let retrieval = lease.read(request).await;
                self.close(&lease.session()).await;
                retrieval
            }
            Err(error) => Err(error),
        };
        Ok(retrieval.unwrap_or_else(|error| Outcome::from(error).into()))
    }

    /// Opens the session named by `url`, or reuses it if it is open, and searches if the URL has a docid.
    ///
    /// Only sessions that this client opened for session URLs are reused, not those kept for retrievals.
    ///
    /// # Errors
    /// [`Error::Plan`], [`Error::PortRefused`], or the error that prevented the session from being opened. A failed search is not
    /// an error: see [`Opened::found`].
    pub async fn open(&self, url: &Z3950Url) -> Result<Opened, Error> {
        let opened = async { self.open_now(&self.plan_whole(url).await?).await };
        self.in_time(opened).await
    }

    /// Opens the session for a plan, which may also be the plan for a retrieval URL.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    pub async fn open_plan(&self, plan: &Plan) -> Result<Opened, Error> {
        self.in_time(self.open_now(plan)).await
    }

    async fn open_now(&self, plan: &Plan) -> Result<Opened, Error> {
        if let Some(port) = plan.refused_port() {
            return Err(Error::PortRefused(port));
        }
        let endpoint = plan.endpoint();
        let options = self.options_of(plan);
        let key = Key::new(&endpoint, None, &options);
        let server = self.pool.server(&endpoint);
        let pace = Pace::new(&server.clock, plan.limits().pause);
        let mut known = self.pool.opened(&key);
        loop {
            let reused = known.is_some();
            let session = match known.take() {
                Some(session) => session.with_timeouts(self.options.timeouts),
                None => {
                    let session = self.session(&endpoint, None, &options).await?;
                    self.pool.remember(key.clone(), &session);
                    session
                }
            };
            let session = session.with_pace(pace.clone());
            let found = match open::process(&session, plan).await {
                Ok(found) => found,
                Err(error) if reused && is_over(&error) => {
                    tracing::info!(%error, "session lost, opening another");
                    continue;
                }
                Err(error @ Error::Ended { .. }) => return Err(error),
                Err(error) => Some(Err(error)),
            };
            return Ok(Opened {
                session,
                reused,
                defaults: plan.defaults.clone(),
                found,
            });
        }
    }

    /// Connects to a target, which is given as `host:port/database+database`, `ssl:…`, `unix:…`, `connect:proxy,…`, a
    /// `z39.50s:` URL, with the feature `sru` the `http:` or `https:` URL of an SRU server, or the name of a profile.
    /// The profile of the server applies to all requests.
    ///
    /// The user name and password in a URL replace those in the profile, and are sent only with
    /// [`PlanOptions::allow_url_credentials`]. The element set and the record syntax in a URL apply to all requests on
    /// the connection (RFC 2056 §3). The profile limits the number of sessions in use, to 16 by default. If this
    /// maximum is reached, the method waits for up to [`Timeouts::session`] until another user returns a session.
    ///
    /// # Errors
    /// [`Error::Target`] if the target is malformed, if it is a URL with a docid, for which [`get`](Self::get) and
    /// [`open`](Self::open) exist, or if it is a URL with credentials that may not be sent; [`Error::Credentials`]; or
    /// another error if the server cannot be reached or refuses the session.
    pub async fn connect(&self, target: impl AsRef<str>) -> Result<Connection, Error> {
        self.connect_with(target, ConnectOptions::default()).await
    }

    /// Connects to a target with credentials or time limits that apply only to this connection.
    ///
    /// # Errors
    /// The errors of [`connect`](Self::connect).
    pub async fn connect_with(
        &self,
        target: impl AsRef<str>,
        options: ConnectOptions,
    ) -> Result<Connection, Error> {
        let client = match options.timeouts {
            Some(timeouts) => self.with_options((*self.options).clone().with_timeouts(timeouts)),
            None => self.clone(),
        };
        let (target, init) = match options.credentials {
            None => self.resolve(target.as_ref())?,
            Some(credentials) => {
                let mut target = self.server(target.as_ref())?;
                target.profile.credentials = Some(credentials);
                let mut init = self.options.plan.init.clone();
                init.id_authentication = None;
                (target, init)
            }
        };
        let plan = client.options.plan.clone();
        let form = target
            .url
            .as_ref()
            .map(|url| form_of(url, &plan))
            .transpose()?
            .unwrap_or_default();
        let lease = client.lease(&target, init).await?;
        let limit = client.options.timeouts.call;
        Ok(Connection::new(plan, target, lease, limit).with_form(form))
    }

    /// Resolves a target, and returns it with an Init request that contains the credentials in its URL.
    ///
    /// # Errors
    /// [`Error::Target`] for text that is not a target, or for a target with a part that would have no effect.
    pub(crate) fn resolve(&self, text: &str) -> Result<(Resolved, InitializeRequest), Error> {
        let target = self.server(text)?;
        let mut init = self.options.plan.init.clone();
        if let Some(authentication) = self.url_credentials(&target)? {
            init.id_authentication = Some(authentication);
        }
        Ok((target, init))
    }

    /// Resolves a target that names a server but not a record.
    fn server(&self, text: &str) -> Result<Resolved, Error> {
        let target = self.profiles.resolve(text).map_err(target_error)?;
        if target.url.as_ref().is_some_and(|url| url.docid().is_some()) {
            return Err(target_error(TargetError::Record(redacted(text)).into()));
        }
        Ok(target)
    }

    /// Returns the record named by a retrieval URL, such as `z39.50r://host/database?docid` (RFC 2056 §4).
    /// [`retrieve`](Self::retrieve) also returns the steps of the retrieval.
    ///
    /// # Errors
    /// [`Error::Url`] and [`Error::Plan`] for a URL that cannot be followed; [`Error::NoMatch`], [`Error::Ambiguous`],
    /// [`Error::Refused`], or another error if the connection failed.
    pub async fn get(&self, url: impl AsRef<str>) -> Result<Record, Error> {
        let url = Z3950Url::parse(url.as_ref(), Mode::Lenient)?;
        let charset = self
            .profiles
            .of_url(&url)
            .and_then(|(_, entry)| entry.profile.record_charset);
        let record = self.retrieve(&url).await?.into_record()?;
        Ok(record.with_charset(charset))
    }

    /// Returns the session limits for a server: the limits in its profile, or the defaults in the client's options.
    fn limits(&self, profile: Option<&Profile>) -> TargetLimits {
        let mut limits = profile.map_or_else(TargetLimits::default, TargetLimits::from);
        let has_own = profile.is_some_and(|profile| profile.sessions.is_some());
        if let Some(most) = self.options.max_sessions.filter(|_| !has_own) {
            limits.sessions = most;
        }
        limits
    }

    fn session_options(
        &self,
        mut init: InitializeRequest,
        profile: Option<&Profile>,
    ) -> SessionOptions {
        init.implementation_version = self.options.via.after(init.implementation_version);
        let default = SessionOptions::default();
        let pipelined = profile.and_then(|profile| profile.pipelined);
        SessionOptions {
            init,
            timeouts: self.options.timeouts,
            cancels_dropped: self.options.cancels_dropped,
            idle_time: self.options.idle_time,
            max_repeats: self.options.max_repeats,
            max_pipelined: pipelined.unwrap_or(default.max_pipelined),
            sru: profile
                .and_then(|profile| profile.sru.clone())
                .unwrap_or_default(),
            ..default
        }
    }

    fn options_of(&self, plan: &Plan) -> SessionOptions {
        self.session_options(plan.options.init.clone(), plan.profile())
    }
}

/// Returns the record form that a session URL requests.
fn form_of(url: &Z3950Url, options: &PlanOptions) -> Result<RecordForm, PlanError> {
    if url.kind() != Kind::Session {
        return Ok(RecordForm::default());
    }
    let defaults = plan::plan(url, options)?.defaults;
    let syntax = defaults.record_syntax;
    let element_set = defaults.element_set.map(|name| name.to_string());
    let names_syntax = !url.record_syntaxes().is_empty() && options.hints != Hints::Ignore;
    Ok(RecordForm::new(
        syntax.filter(|_| names_syntax),
        element_set,
    ))
}

fn target_error(error: ProfileError) -> Error {
    Error::Target(Arc::new(error))
}

/// Returns whether the error shows that a reused session has ended, so that another session must be opened.
fn is_over(error: &Error) -> bool {
    matches!(error, Error::Ended { .. }) || Repeat::IfLost.allows(error)
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
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;

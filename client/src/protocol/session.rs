//! A session with a server. [`Session`] is a handle, cheap to clone, to the task that owns the stream. Opening a
//! session sends Init (Z39.50-2003 §3.2.1), and dropping the last handle closes the session. The files in `service` add
//! a method for each service.

mod handle;
pub(crate) mod options;
mod repeat;

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime;
#[cfg(feature = "sru")]
use tokio::sync::mpsc;
use tokio::sync::oneshot;
use tracing::{Instrument, Span, field, info_span};
use z3950_asn1::apdu::{
    Apdu, Close, InitializeRequest, Options, ReferenceId, ResourceReportRequest,
    ResourceReportResponse, SortKeySpec, TriggerResourceControlRequest,
};

use self::handle::Handle;
pub use self::options::SessionOptions;
pub use self::repeat::{Reconnect, Repeat};
use crate::error::{Error, Phase, ProtocolFault};
use crate::pace::Pace;
pub use crate::protocol::driver::End;
use crate::protocol::driver::task::{CloseMode, Driver};
use crate::protocol::driver::{State, Trigger};
use crate::protocol::service::init::ServerInfo;
#[cfg(feature = "sru")]
use crate::sru::SruDescription;
#[cfg(feature = "sru")]
use crate::sru::task::{DescriptionRequest, SruTask};
#[cfg(feature = "sru")]
use crate::target::Endpoint;
#[cfg(feature = "sru")]
use crate::transport::Routes;
use crate::transport::connect::Connect;
use crate::transport::timeouts::Timeouts;
use crate::url::Host;

/// An open session. Cloning it creates another handle to the same session.
///
/// Concurrent requests are sent in the order in which they were made. They are sent one at a time unless the server
/// grants concurrentOperations. Dropping the future of a request does not disturb other requests in the session, unless
/// the answer does not arrive within [`Timeouts::abandoned`] and another request has to wait for it.
///
/// The session ends with the tokio runtime in which it was opened. Other runtimes can use it while that runtime runs.
#[derive(Debug, Clone)]
pub struct Session {
    handle: Arc<Handle>,
    server: Arc<ServerInfo>,
    timeouts: Timeouts,
    reference_id: Option<ReferenceId>,
    pace: Option<Pace>,
}

impl Session {
    /// Connects to `host` and `port` and opens a session.
    ///
    /// # Errors
    /// The errors of [`Connect::connect`] and [`Session::over`].
    pub async fn connect(
        host: &Host,
        port: u16,
        connector: &dyn Connect,
        options: &SessionOptions,
    ) -> Result<Self, Error> {
        let stream = connector.connect(host, port, &options.timeouts).await?;
        Self::open(stream, options, info_span!("connection", %host, port)).await
    }

    /// Opens a session on any stream of octets. This must be called within a tokio runtime, which runs the session's
    /// task.
    ///
    /// # Errors
    /// In phase Init: [`Error::InitRejected`], [`Error::Unavailable`], [`Error::ProtocolError`],
    /// [`Error::ProtocolClosed`], [`Error::AccessRefused`]. The stream is then closed.
    pub async fn over<S>(stream: S, options: &SessionOptions) -> Result<Self, Error>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let span = info_span!("connection", host = field::Empty);
        Self::open(stream, options, span).await
    }

    async fn open<S>(stream: S, options: &SessionOptions, span: Span) -> Result<Self, Error>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let (handle, inbox, state) = Handle::new(options);
        let driver = Driver::new(stream, options, inbox, state);
        // The future is boxed, so that the runtime moves only a pointer.
        tokio::spawn(Box::pin(driver.run()).instrument(span));
        Self::begin(handle, options).await
    }

    /// Opens a session with an SRU server, whose task performs Z39.50 requests by sending SRU requests. This function
    /// only makes the connection. Nothing is sent before the first search.
    ///
    /// # Errors
    /// The errors of [`Connect::connect`], or an error if the route cannot be used.
    #[cfg(feature = "sru")]
    pub(crate) async fn over_sru(
        endpoint: &Endpoint,
        proxy: Option<&str>,
        routes: &Routes,
        options: &SessionOptions,
    ) -> Result<Self, Error> {
        let (mut handle, inbox, state) = Handle::new(options);
        let (descriptions, requests) = mpsc::channel(1);
        handle.descriptions = Some(descriptions);
        let span = info_span!("connection", host = %endpoint.host(), port = endpoint.port());
        let task = SruTask::new(endpoint, proxy, routes, options, inbox, requests, state);
        tokio::spawn(Box::pin(task.run()).instrument(span));
        Self::begin(handle, options).await
    }

    async fn begin(handle: Handle, options: &SessionOptions) -> Result<Self, Error> {
        let handle = Arc::new(handle);
        let timeouts = options.timeouts;
        let server = handle.init(&options.init, timeouts).await;
        let server = server.map_err(|error| match error {
            // The server may close the connection before Init is sent, so the error is reported as an error during
            // Init.
            Error::Ended { cause: Some(cause) } => (*cause).clone().in_phase(Phase::Init),
            error => error,
        });
        Ok(Self {
            server: server?,
            handle,
            timeouts,
            reference_id: None,
            pace: None,
        })
    }

    /// Sends Init again on the same connection, after all earlier requests have been answered. This can authenticate a
    /// different user or negotiate different options. The standard does not define the effect (Z39.50-2003 §3.2.1).
    /// Servers delete the result sets, and some close the connection.
    ///
    /// The returned handle has the new options. Older handles keep their options, and are closed together with the new
    /// handle. The maximum size of APDUs that was set by the first Init does not change.
    ///
    /// # Errors
    /// The errors of [`Session::over`], which all end the session.
    pub async fn init(&self, init: &InitializeRequest) -> Result<Self, Error> {
        // This handle's view of the session is outdated from now on, so the session cannot go back to a pool.
        self.handle.unanswered.fetch_add(1, Ordering::AcqRel);
        Ok(Self {
            server: self.handle.init(init, self.timeouts).await?,
            ..self.clone()
        })
    }

    /// Returns the server's description of itself, and the options in effect.
    pub fn server_info(&self) -> &ServerInfo {
        &self.server
    }

    /// Returns the maximum number of operations that can be in progress at the same time. It is more than one if the
    /// server grants concurrentOperations, or if [`SessionOptions::max_pipelined`] is more than one.
    pub fn max_in_progress(&self) -> usize {
        let (concurrent, pipelined) = self.handle.in_progress;
        if self.server.options.contains(Options::CONCURRENT_OPERATIONS) {
            concurrent
        } else {
            pipelined
        }
    }

    /// Returns whether [`SearchOptions::sort`] sorts the result as part of the search, which only SRU servers do. Other servers
    /// sort a result set in a separate request.
    ///
    /// [`SearchOptions::sort`]: crate::service::search::SearchOptions::sort
    pub fn sorts_searches(&self) -> bool {
        #[cfg(feature = "sru")]
        return self.handle.descriptions.is_some();
        #[cfg(not(feature = "sru"))]
        false
    }

    /// Requests an SRU server's description of a database, whose name is the path of its URL.
    ///
    /// # Errors
    /// [`ProtocolFault::NotGranted`] if the server is a Z39.50 server, [`Error::Refused`] if it has no description, or another error
    /// if the connection failed.
    #[cfg(feature = "sru")]
    pub async fn describe(&self, database: &str) -> Result<SruDescription, Error> {
        let Some(descriptions) = &self.handle.descriptions else {
            let fault = ProtocolFault::NotGranted("descriptions of databases");
            return Err(Error::fault(Phase::Explain, fault));
        };
        let (reply, answer) = oneshot::channel();
        let request = DescriptionRequest {
            database: database.to_owned(),
            timeouts: self.timeouts,
            reply,
        };
        match descriptions.send(request).await {
            Ok(()) => answer.await.map_err(|_| self.handle.too_late())?,
            Err(_) => Err(self.handle.too_late()),
        }
    }

    /// Requests the cost of an operation or the session (Z39.50-2003 §3.2.6.3). A failure status is not returned as an
    /// error, because it shows which kind of report is not available.
    ///
    /// # Errors
    /// [`ProtocolFault::NotGranted`] if the server does not offer the service. Other errors end the session.
    pub async fn resource_report(
        &self,
        request: ResourceReportRequest,
    ) -> Result<ResourceReportResponse, Error> {
        self.require(Phase::ResourceReport, Options::RESOURCE_REPORT)?;
        self.ask(request).await
    }

    /// Asks the server to report on, ask about, or cancel every operation in progress in this session, and returns the
    /// number of these operations. The effect is visible in the answers to the operations. Reports are passed to
    /// [`SessionOptions::resource_control`].
    ///
    /// # Errors
    /// [`ProtocolFault::NotGranted`] if the server does not offer the service. Other errors end the session.
    pub async fn trigger_resource_control(
        &self,
        request: TriggerResourceControlRequest,
    ) -> Result<usize, Error> {
        let option = Options::TRIGGER_RESOURCE_CONTROL;
        self.require_granted(Phase::ResourceReport, option)?;
        let handle = &self.handle;
        let (reply, count) = oneshot::channel();
        match handle.triggers.send(Trigger { request, reply }).await {
            Ok(()) => count.await.map_err(|_| handle.too_late()),
            Err(_) => Err(handle.too_late()),
        }
    }

    /// Returns true the first time that it is called in this session, so that a server's wrong count is logged only
    /// once.
    pub(crate) fn is_first_miscount(&self) -> bool {
        !self
            .handle
            .has_logged_miscount
            .swap(true, Ordering::Relaxed)
    }

    /// Closes the session, including operations in progress. Returns after the connection is closed, which takes at
    /// most [`Timeouts::close`]. The session has then ended for all handles. Closing a session twice is not an error.
    ///
    /// # Errors
    /// [`Error::Ended`] with the cause, if the session had already ended in another way.
    pub async fn close(&self) -> Result<(), Error> {
        self.handle.closing.cancel();
        let mut state = self.handle.state.clone();
        tokio::select! {
            biased;
            gone = state.wait_for(|state| matches!(state, State::Gone(_))) => {
                match gone.as_deref() {
                    Ok(State::Gone(end @ End::Failed(_))) => Err(end.error()),
                    _ => Ok(()),
                }
            }
            () = self.handle.stopped() => Err(self.handle.too_late()),
        }
    }

    /// Closes the session by sending this Close in place of the default one. In version 2, which does not define Close,
    /// nothing is sent.
    ///
    /// # Errors
    /// The errors of [`close`](Self::close).
    pub async fn close_with(&self, close: Close) -> Result<(), Error> {
        let close_mode = CloseMode {
            close,
            ..CloseMode::default()
        };
        // An error means that a Close has already been set, and that Close is sent instead.
        let _ = self.handle.close_mode.set(close_mode);
        self.close().await
    }

    /// Closes the session like [`close`](Self::close), but without waiting for the server's Close, which saves a round
    /// trip. If operations are in progress, the server's Close is still awaited.
    ///
    /// # Errors
    /// The errors of [`close`](Self::close).
    pub async fn close_now(&self) -> Result<(), Error> {
        let close_mode = CloseMode {
            awaits_answer: false,
            ..CloseMode::default()
        };
        // An error means that a Close has already been set, and that Close is sent instead.
        let _ = self.handle.close_mode.set(close_mode);
        self.close().await
    }

    /// Returns whether the session accepts requests. The server may end the session at any moment.
    pub fn is_open(&self) -> bool {
        let is_ended = self.handle.state.borrow().end().is_some();
        !is_ended && !self.handle.closing.is_cancelled()
    }

    /// Waits until the session has ended, and returns how it ended.
    pub async fn ended(&self) -> End {
        let mut state = self.handle.state.clone();
        let ended = state.wait_for(|state| state.end().is_some()).await;
        ended
            .ok()
            .and_then(|state| state.end().cloned())
            .unwrap_or(End::Closed)
    }

    /// Returns the timeouts for this handle's requests.
    pub(crate) fn timeouts(&self) -> Timeouts {
        self.timeouts
    }

    /// Returns a handle to the same session with different timeouts.
    pub fn with_timeouts(&self, timeouts: Timeouts) -> Self {
        Self {
            timeouts,
            ..self.clone()
        }
    }

    /// Returns a handle to the same session whose requests have this referenceId. While another operation in progress
    /// uses it, a referenceId is generated instead.
    pub fn with_reference_id(&self, reference_id: Option<ReferenceId>) -> Self {
        Self {
            reference_id,
            ..self.clone()
        }
    }

    /// Returns whether two handles belong to the same session.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.handle, &other.handle)
    }

    /// Returns a handle to the same session whose requests have a minimum pause between them.
    pub fn with_pace(self, pace: Option<Pace>) -> Self {
        Self { pace, ..self }
    }

    /// Returns whether the server has answered any request in this session after Init.
    pub(crate) fn has_answered(&self) -> bool {
        self.handle.has_answered.load(Ordering::Acquire)
    }

    /// Returns the runtime in which the session was opened, which runs its task.
    pub(crate) fn runtime(&self) -> &runtime::Handle {
        &self.handle.runtime
    }

    /// Returns whether the caller runs in the runtime in which the session was opened, or outside of any runtime.
    pub(crate) fn is_in_runtime(&self) -> bool {
        self.handle.is_in_runtime()
    }

    /// Returns whether the session can be given to another user: it is open, this is the only handle, and every request
    /// has been answered.
    pub(crate) fn is_at_rest(&self) -> bool {
        let unanswered = self.handle.unanswered.load(Ordering::Acquire);
        self.is_open() && Arc::strong_count(&self.handle) == 1 && unanswered == 0
    }

    /// Returns a handle that does not keep the session open. After an upgrade, it has the default timeouts.
    pub(crate) fn downgrade(&self) -> WeakSession {
        WeakSession {
            handle: Arc::downgrade(&self.handle),
            server: Arc::clone(&self.server),
        }
    }

    /// Sends a request and returns its answer, after the task has checked it.
    pub(crate) async fn ask<T>(&self, request: impl Into<Apdu>) -> Result<T, Error>
    where
        T: TryFrom<Apdu, Error = Apdu>,
    {
        self.ask_sorted(request, Vec::new()).await
    }

    /// Sends a search like [`ask`](Self::ask), with sort keys that are applied if
    /// [`sorts_searches`](Self::sorts_searches) is true.
    pub(crate) async fn ask_sorted<T>(
        &self,
        request: impl Into<Apdu>,
        sort: Vec<SortKeySpec>,
    ) -> Result<T, Error>
    where
        T: TryFrom<Apdu, Error = Apdu>,
    {
        let mut request = request.into();
        if let (Some(reference_id), None) = (&self.reference_id, request.reference_id()) {
            request.set_reference_id(Some(reference_id.clone()));
        }
        if let Some(pace) = &self.pace {
            let limit = self.timeouts.to_deadline();
            limit.hold(Phase::of(&request), pace.wait()).await?;
        }
        let unanswered = &self.handle.unanswered;
        unanswered.fetch_add(1, Ordering::AcqRel);
        let answer = self.handle.ask(request, sort, self.timeouts).await;
        if let (Some(pace), Some(wait)) = (
            &self.pace,
            answer.as_ref().err().and_then(Error::retry_after),
        ) {
            pace.hold(wait);
        }
        let answer = answer?;
        self.handle.has_answered.store(true, Ordering::Release);
        unanswered.fetch_sub(1, Ordering::AcqRel);
        Ok(answer)
    }

    /// Fails if the server did not grant the option for a service. In version 2, this does not fail, because that
    /// version has no options for most features.
    pub(crate) fn require(&self, phase: Phase, option: Options) -> Result<(), Error> {
        if self.server.version < 3 {
            Ok(())
        } else {
            self.require_granted(phase, option)
        }
    }

    /// Fails if the server did not grant the option for a service, in any version, because servers that do not know the
    /// service disconnect.
    pub(crate) fn require_granted(&self, phase: Phase, option: Options) -> Result<(), Error> {
        let missing = if self.server.options.contains(option) {
            return Ok(());
        } else {
            option.names().next().unwrap_or_default()
        };
        Err(Error::fault(phase, ProtocolFault::NotGranted(missing)))
    }
}

/// A handle that does not keep the session open; see [`Session::downgrade`].
#[derive(Debug, Clone)]
pub(crate) struct WeakSession {
    handle: Weak<Handle>,
    server: Arc<ServerInfo>,
}

impl WeakSession {
    /// Returns a full handle, or `None` if the session has ended or no other full handle exists.
    pub(crate) fn upgrade(&self) -> Option<Session> {
        let session = Session {
            handle: self.handle.upgrade()?,
            server: Arc::clone(&self.server),
            timeouts: Timeouts::default(),
            reference_id: None,
            pace: None,
        };
        session.is_open().then_some(session)
    }
}

#[cfg(test)]
mod tests;

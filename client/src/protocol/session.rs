//! A session with a server: a cheap handle, a method for each service, one line into `service` each.
//! Opening it is Init (Z39.50-2003 §3.2.1); dropping the last handle closes it.

mod reconnect;

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use tokio::io::{AsyncRead, AsyncWrite};
use tracing::{Span, field, info_span};
use z3950_asn1::apdu::{
    Apdu, AttributesPlusTerm, DeleteResultSetRequest, ExtendedServicesRequest, Options,
    PresentRequest, Query, ReferenceId, ScanRequest, SearchRequest, SortKeySpec, SortRequest,
    TriggerResourceControlRequest,
};

pub use self::reconnect::{Reconnect, Repeat};
use crate::error::{Error, Phase, ProtocolFault};
use crate::pace::Pace;
use crate::pager::{Pager, PagerOptions};
pub use crate::protocol::driver::End;
use crate::protocol::driver::{self, Handle};
use crate::service::access::AccessControl;
use crate::service::close::CloseOptions;
use crate::service::delete::{self, Delete, DeleteResult};
use crate::service::duplicate::{self, DuplicateDetectionOptions, DuplicateDetectionResult};
use crate::service::explain::{self, ExplainOptions, ExplainResult};
use crate::service::extended::{self, Task, TaskOptions, TaskResult};
use crate::service::init::{self, InitOptions, ServerInfo};
use crate::service::present::{self, PresentOptions, PresentResult};
use crate::service::resource::{
    self, ResourceControl, ResourceReport, ResourceReportOptions, TriggerOptions,
};
use crate::service::scan::{self, ScanOptions, ScanResult};
use crate::service::search::{self, SearchOptions, SearchResult};
use crate::service::sort::{self, SortOptions, SortResult};
use crate::transport::{Connect, Timeouts};
use crate::url::Host;

/// How to open a session, how to work in it, and how long to wait.
#[derive(Clone)]
#[non_exhaustive]
pub struct SessionOptions {
    /// What to offer.
    pub init: InitOptions,
    /// How long to wait.
    pub timeouts: Timeouts,
    /// How many operations may be under way at once where the server grants concurrentOperations; 8. Those that change
    /// a result set are kept apart from others on it.
    pub max_operations: usize,
    /// How many requests may be sent ahead of their answers where it does not; 1, which is all the standard allows.
    /// Most servers read on and answer in turn.
    pub max_pipelined: usize,
    /// Whether the server is told when the caller of an operation goes away, if it grants triggerResourceCtrl.
    /// Otherwise, and until it answers, the operation goes on and its answer is dropped.
    pub cancels_dropped: bool,
    /// Who answers when the server wants a proof of identity; the option accessCtrl is offered with one only.
    pub access_control: Option<Arc<dyn AccessControl>>,
    /// Who decides when an operation costs something; the option resourceCtrl is offered with one only.
    pub resource_control: Option<Arc<dyn ResourceControl>>,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self {
            init: InitOptions::default(),
            timeouts: Timeouts::default(),
            max_operations: 8,
            max_pipelined: 1,
            cancels_dropped: false,
            access_control: None,
            resource_control: None,
        }
    }
}

impl SessionOptions {
    /// The same with another offer to the server.
    #[must_use]
    pub fn with_init(mut self, init: InitOptions) -> Self {
        self.init = init;
        self
    }

    /// The same with other limits to waiting.
    #[must_use]
    pub fn with_timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }
}

impl fmt::Debug for SessionOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionOptions")
            .field("init", &self.init)
            .field("timeouts", &self.timeouts)
            .field("max_operations", &self.max_operations)
            .field("max_pipelined", &self.max_pipelined)
            .field("cancels_dropped", &self.cancels_dropped)
            .field("access_control", &self.access_control.is_some())
            .field("resource_control", &self.resource_control.is_some())
            .finish()
    }
}

/// An open session. Cloning it gives another handle on the same one.
///
/// Requests made at the same time are sent in the order in which they were made, one after the other unless the server
/// grants concurrentOperations. Any future of this type may be dropped: the session stays in step.
#[derive(Debug, Clone)]
pub struct Session {
    shared: Arc<Shared>,
    timeouts: Timeouts,
    reference_id: Option<ReferenceId>,
    pace: Option<Pace>,
}

#[derive(Debug)]
struct Shared {
    handle: Arc<Handle>,
    server: ServerInfo,
    /// What is offered because there is somebody to answer the server.
    answered: Options,
    /// Requests without an answer: made now, given up, or failed.
    unanswered: AtomicUsize,
}

impl Session {
    /// Connects to `host` and `port` and opens a session there.
    ///
    /// # Errors
    /// Those of [`Connect::connect`] and [`Session::over`].
    pub async fn connect(
        host: &Host,
        port: u16,
        connector: &dyn Connect,
        options: &SessionOptions,
    ) -> Result<Self, Error> {
        let stream = connector.connect(host, port, &options.timeouts).await?;
        Self::open(stream, options, info_span!("connection", %host, port)).await
    }

    /// Opens a session on any stream of octets. Must be called within a tokio runtime, which runs its task.
    ///
    /// # Errors
    /// In phase Init: [`Error::InitRejected`], [`Error::Unavailable`], [`Error::ProtocolError`],
    /// [`Error::ProtocolClosed`], [`Error::AccessRefused`]. The stream is closed then.
    pub async fn over<S>(stream: S, options: &SessionOptions) -> Result<Self, Error>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        Self::open(
            stream,
            options,
            info_span!("connection", host = field::Empty),
        )
        .await
    }

    async fn open<S>(stream: S, options: &SessionOptions, span: Span) -> Result<Self, Error>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let mut answered = Options::default();
        for (is_there, option) in [
            (options.access_control.is_some(), Options::ACCESS_CONTROL),
            (
                options.resource_control.is_some(),
                Options::RESOURCE_CONTROL,
            ),
        ] {
            if is_there {
                answered = answered | option;
            }
        }
        let timeouts = options.timeouts;
        let handle = Arc::new(driver::spawn(stream, options, span));
        let server = init::init(&handle, &options.init, answered, timeouts).await?;
        Ok(Self {
            shared: Arc::new(Shared {
                handle,
                server,
                answered,
                unanswered: AtomicUsize::new(0),
            }),
            timeouts,
            reference_id: None,
            pace: None,
        })
    }

    /// Says Init once more on the same connection, once all requests made before have their answers: to be somebody else,
    /// or to agree on other options. Servers begin anew then, without result sets; what the standard leaves open
    /// (Z39.50-2003 §3.2.1), so that some close the connection instead.
    ///
    /// The handle returned knows what was agreed on now. Others keep what they knew of the server, and are closed with it.
    /// No longer APDUs are taken than the first Init allowed.
    ///
    /// # Errors
    /// Those of [`Session::over`]; all of them end the session.
    pub async fn init(&self, options: &InitOptions) -> Result<Self, Error> {
        let Shared {
            handle,
            answered,
            unanswered,
            ..
        } = &*self.shared;
        // What this handle knows of the session holds no longer, so nobody else may take it over.
        unanswered.fetch_add(1, Ordering::AcqRel);
        let server = init::init(handle, options, *answered, self.timeouts).await?;
        Ok(Self {
            shared: Arc::new(Shared {
                handle: Arc::clone(handle),
                server,
                answered: *answered,
                unanswered: AtomicUsize::new(0),
            }),
            timeouts: self.timeouts,
            reference_id: self.reference_id.clone(),
            pace: self.pace.clone(),
        })
    }

    /// What the server is, and what was agreed on.
    pub fn server_info(&self) -> &ServerInfo {
        &self.shared.server
    }

    /// Searches; see [`search_request`](Self::search_request).
    ///
    /// # Errors
    /// Those of [`search_request`](Self::search_request).
    pub async fn search(
        &self,
        query: Query,
        options: &SearchOptions,
    ) -> Result<SearchResult, Error> {
        search::search(self, options.request(query), options.takes_unknown_count).await
    }

    /// Sends a search of one's own making.
    ///
    /// # Errors
    /// [`Error::Refused`] when the search failed, after which the session goes on. [`Error::ProtocolError`]
    /// with [`ProtocolFault::NotGranted`] for a named result set that the server does not offer. All other
    /// errors end the session.
    pub async fn search_request(&self, request: SearchRequest) -> Result<SearchResult, Error> {
        search::search(self, request, false).await
    }

    /// Fetches `count` records of a result set from position `start` (1-based) on.
    ///
    /// # Errors
    /// [`Error::Refused`] when no record could be had, after which the session goes on; others end it.
    pub async fn present(
        &self,
        start: u64,
        count: u64,
        options: &PresentOptions,
    ) -> Result<PresentResult, Error> {
        present::present(self, options.request(start, count)).await
    }

    /// Sends a Present of one's own making.
    ///
    /// # Errors
    /// Those of [`present`](Self::present).
    pub async fn present_request(&self, request: PresentRequest) -> Result<PresentResult, Error> {
        present::present(self, request).await
    }

    /// Searches and gives the result set as records that page by themselves.
    ///
    /// # Errors
    /// Those of [`search`](Self::search).
    pub async fn pager(
        &self,
        query: Query,
        search: &SearchOptions,
        options: PagerOptions,
    ) -> Result<Pager, Error> {
        Pager::search(self, query, search, options).await
    }

    /// Browses an index around a term.
    ///
    /// # Errors
    /// Those of [`scan_request`](Self::scan_request).
    pub async fn scan(
        &self,
        start: AttributesPlusTerm,
        options: &ScanOptions,
    ) -> Result<ScanResult, Error> {
        scan::scan(self, options.request(start)).await
    }

    /// Sends a Scan of one's own making.
    ///
    /// # Errors
    /// [`Error::Refused`] when no term could be had, [`ProtocolFault::NotGranted`] if the server does not offer it, after
    /// both of which the session goes on; others end it.
    pub async fn scan_request(&self, request: ScanRequest) -> Result<ScanResult, Error> {
        scan::scan(self, request).await
    }

    /// Sorts result sets by keys, most important first.
    ///
    /// # Errors
    /// Those of [`sort_request`](Self::sort_request).
    pub async fn sort(
        &self,
        keys: Vec<SortKeySpec>,
        options: &SortOptions,
    ) -> Result<SortResult, Error> {
        sort::sort(self, options.request(keys)).await
    }

    /// Sends a Sort of one's own making.
    ///
    /// # Errors
    /// [`Error::Refused`] when nothing was sorted, [`ProtocolFault::NotGranted`] if the server does not offer it, after
    /// both of which the session goes on; others end it.
    pub async fn sort_request(&self, request: SortRequest) -> Result<SortResult, Error> {
        sort::sort(self, request).await
    }

    /// Deletes result sets.
    ///
    /// # Errors
    /// [`ProtocolFault::NotGranted`] if the server does not offer it; others end the session.
    pub async fn delete(&self, sets: Delete) -> Result<DeleteResult, Error> {
        delete::delete(self, sets.request()).await
    }

    /// Sends a DeleteResultSet of one's own making.
    ///
    /// # Errors
    /// Those of [`delete`](Self::delete).
    pub async fn delete_request(
        &self,
        request: DeleteResultSetRequest,
    ) -> Result<DeleteResult, Error> {
        delete::delete(self, request).await
    }

    /// Takes duplicates out of result sets.
    ///
    /// # Errors
    /// [`Error::Refused`] when it was not done, [`ProtocolFault::NotGranted`] if the server does not offer it, after both
    /// of which the session goes on; others end it.
    pub async fn detect_duplicates(
        &self,
        options: &DuplicateDetectionOptions,
    ) -> Result<DuplicateDetectionResult, Error> {
        duplicate::detect(self, options).await
    }

    /// Has a task done: an update, an order, whatever [`extended`] has the parameters of.
    ///
    /// # Errors
    /// Those of [`extended_services_request`](Self::extended_services_request).
    pub async fn task(&self, task: Task, options: &TaskOptions) -> Result<TaskResult, Error> {
        extended::task(self, options.request(task)).await
    }

    /// The same, where a task that failed has a result too, because its package may tell why of each record.
    ///
    /// # Errors
    /// Those of [`task`](Self::task) but for [`Error::Refused`].
    pub async fn task_outcome(
        &self,
        task: Task,
        options: &TaskOptions,
    ) -> Result<TaskResult, Error> {
        extended::outcome(self, options.request(task)).await
    }

    /// Sends an ExtendedServicesRequest of one's own making.
    ///
    /// # Errors
    /// [`Error::Refused`] when the task was not taken on, [`ProtocolFault::NotGranted`] if the server does not offer
    /// extended services, after both of which the session goes on; others end it. A request whose answer did not come
    /// may have been carried out.
    pub async fn extended_services_request(
        &self,
        request: ExtendedServicesRequest,
    ) -> Result<TaskResult, Error> {
        extended::task(self, request).await
    }

    /// Asks what the server tells of itself in its database IR-Explain-1.
    ///
    /// # Errors
    /// [`Error::Refused`] by a server without such a database; others as for [`search`](Self::search) and
    /// [`present`](Self::present).
    pub async fn explain(&self, options: &ExplainOptions) -> Result<ExplainResult, Error> {
        explain::explain(self, options).await
    }

    /// Asks what an operation or the session has cost.
    ///
    /// # Errors
    /// [`ProtocolFault::NotGranted`] if the server does not offer it; others end the session.
    pub async fn resource_report(
        &self,
        options: &ResourceReportOptions,
    ) -> Result<ResourceReport, Error> {
        resource::report(self, options).await
    }

    /// Tells the server to report on, to ask about, or to cancel every operation in progress on this session, and answers
    /// for how many. What comes of it shows in their own answers, a report in [`SessionOptions::resource_control`].
    ///
    /// # Errors
    /// [`ProtocolFault::NotGranted`] if the server does not offer it; others end the session.
    pub async fn trigger_resource_control(&self, options: &TriggerOptions) -> Result<usize, Error> {
        resource::trigger(self, options).await
    }

    /// Closes the session, an operation in progress included; returns when the connection is closed, which
    /// takes [`Timeouts::close`] at most. All handles see its end. Closing twice is no error.
    ///
    /// # Errors
    /// [`Error::Ended`] with its cause, if the session had ended otherwise before.
    pub async fn close(&self) -> Result<(), Error> {
        self.shared.handle.close(None).await
    }

    /// The same with words of one's own; in version 2 there are none.
    ///
    /// # Errors
    /// Those of [`close`](Self::close).
    pub async fn close_with(&self, options: &CloseOptions) -> Result<(), Error> {
        self.shared.handle.close(Some(options.request())).await
    }

    /// Whether requests are still taken. The server may end the session at any moment.
    pub fn is_open(&self) -> bool {
        self.shared.handle.is_open()
    }

    /// Waits for the end of the session, and says how it ended.
    pub async fn ended(&self) -> End {
        self.shared.handle.ended().await
    }

    /// The same session, waited for differently by this handle.
    pub fn with_timeouts(&self, timeouts: Timeouts) -> Self {
        Self {
            timeouts,
            ..self.clone()
        }
    }

    /// The same session, whose requests bear this referenceId when they are made by this handle. While another operation
    /// bears it, one is made up.
    pub fn with_reference_id(&self, reference_id: Option<ReferenceId>) -> Self {
        Self {
            reference_id,
            ..self.clone()
        }
    }

    /// Whether both are handles on one session.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared.handle, &other.shared.handle)
    }

    /// The same session, whose requests made by this handle keep their distance.
    pub fn with_pace(self, pace: Option<Pace>) -> Self {
        Self { pace, ..self }
    }

    /// Whether the session is open, this is the only handle on it, and every request in it has had its answer: only
    /// then may somebody else take it over.
    pub(crate) fn is_at_rest(&self) -> bool {
        let Shared {
            handle, unanswered, ..
        } = &*self.shared;
        let is_only = Arc::strong_count(&self.shared) == 1 && Arc::strong_count(handle) == 1;
        self.is_open() && is_only && unanswered.load(Ordering::Acquire) == 0
    }

    /// A handle that does not keep the session open.
    pub(crate) fn downgrade(&self) -> WeakSession {
        WeakSession(Arc::downgrade(&self.shared), self.timeouts)
    }

    /// Sends a request and waits for its answer.
    pub(crate) async fn ask(&self, mut request: Apdu) -> Result<Apdu, Error> {
        if let (Some(reference_id), None) = (&self.reference_id, request.reference_id()) {
            request.set_reference_id(Some(reference_id.clone()));
        }
        if let Some(pace) = &self.pace {
            let limit = self.timeouts.to_deadline();
            limit.hold(Phase::of(&request), pace.wait()).await?;
        }
        let unanswered = &self.shared.unanswered;
        unanswered.fetch_add(1, Ordering::AcqRel);
        let answer = self.shared.handle.ask(request, self.timeouts).await?;
        unanswered.fetch_sub(1, Ordering::AcqRel);
        Ok(answer)
    }

    /// Sends a TriggerResourceControl for each operation in progress.
    pub(crate) async fn trigger(
        &self,
        request: TriggerResourceControlRequest,
    ) -> Result<usize, Error> {
        self.shared.handle.trigger(request).await
    }

    /// Whether the server granted an option, which version 2 does not know to say of every feature.
    pub(crate) fn require(
        &self,
        phase: Phase,
        option: Options,
        name: &'static str,
    ) -> Result<(), Error> {
        let server = self.server_info();
        match server.version < 3 || server.options.contains(option) {
            true => Ok(()),
            false => Err(Error::fault(phase, ProtocolFault::NotGranted(name))),
        }
    }

    /// The same for what there must be a yes to in any version, because a server that does not know it hangs up.
    pub(crate) fn require_granted(
        &self,
        phase: Phase,
        option: Options,
        name: &'static str,
    ) -> Result<(), Error> {
        match self.server_info().options.contains(option) {
            true => Ok(()),
            false => Err(Error::fault(phase, ProtocolFault::NotGranted(name))),
        }
    }
}

/// See [`Session::downgrade`].
#[derive(Debug, Clone)]
pub(crate) struct WeakSession(Weak<Shared>, Timeouts);

impl WeakSession {
    /// The session, if it is open and somebody still has a handle on it.
    pub(crate) fn upgrade(&self) -> Option<Session> {
        let session = Session {
            shared: self.0.upgrade()?,
            timeouts: self.1,
            reference_id: None,
            pace: None,
        };
        session.is_open().then_some(session)
    }
}

#[cfg(test)]
mod mutation;
#[cfg(test)]
mod tests;

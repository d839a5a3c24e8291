//! Counts the requests and octets of a session, and logs a line for each request and the totals at the end.

use std::fmt::Display;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::SystemTime;

use tokio::sync::watch;
use tokio::time::Instant;
use tracing::{Level, debug, enabled, info, warn};
use z3950_asn1::apdu::{
    Apdu, DeleteSetStatus, DiagRec, ExtendedServicesResponse, ExternalValue, IdAuthentication,
    InitializeResponse, OperationStatus, PresentStatus, Query, Records, ScanStatus, SortStatus,
};
use z3950_asn1::format::diag1::{Diagnostic, DiagnosticFormat};
use z3950_asn1::format::user_info1::UserInfo1;
#[cfg(feature = "sru")]
use z3950_asn1::sru::{Request, Response, SruOperation};

use crate::access::Credentials;
use crate::diagnostic::Condition;
use crate::metrics::{
    LoggedRefusal, Metrics, OperationKind, OperationOutcome, OperationTimer, SessionEnd,
};
use crate::observer::{Observer, Peer, SessionTotals};
#[cfg(feature = "sru")]
use crate::sru::{SruReply, SruStatus};

/// The counters of a session. Dropping the value counts and reports the end of the session, even if its task panics or is
/// aborted.
pub(crate) struct Tally {
    session: u64,
    metrics: Arc<Metrics>,
    observer: Arc<dyn Observer>,
    begun: Instant,
    /// The totals; `None` if no observer uses them. Boxed to keep idle sessions small.
    totals: Option<Box<SessionTotals>>,
    /// The reason for the end of the session, once it is known.
    end: Option<SessionEnd>,
    /// The reason for the end of the session if its task is dropped.
    dropped: SessionEnd,
    stopping: watch::Receiver<bool>,
}

impl Tally {
    /// Starts counting a connection that was accepted.
    pub(crate) fn new(
        session: u64,
        peer: Peer,
        metrics: Arc<Metrics>,
        observer: Arc<dyn Observer>,
        stopping: watch::Receiver<bool>,
    ) -> Self {
        observer.opened(session, peer);
        Self::begin(session, peer, metrics, observer, stopping)
    }

    /// Starts counting a session that the server opens with itself.
    #[cfg(feature = "sru")]
    pub(crate) fn within(
        session: u64,
        peer: Peer,
        metrics: Arc<Metrics>,
        observer: Arc<dyn Observer>,
        stopping: watch::Receiver<bool>,
    ) -> Self {
        observer.opened_within(session, peer);
        let mut tally = Self::begin(session, peer, metrics, observer, stopping);
        tally.dropped = SessionEnd::Left;
        tally
    }

    fn begin(
        session: u64,
        peer: Peer,
        metrics: Arc<Metrics>,
        observer: Arc<dyn Observer>,
        stopping: watch::Receiver<bool>,
    ) -> Self {
        metrics.session_began();
        info!("connected");
        let is_wanted = enabled!(target: METRICS, Level::INFO) || observer.wants_totals();
        let totals = || Box::new(SessionTotals::new(session, peer, SystemTime::now()));
        Self {
            session,
            metrics,
            observer,
            begun: Instant::now(),
            totals: is_wanted.then(totals),
            end: None,
            dropped: SessionEnd::GaveWay,
            stopping,
        }
    }

    /// Counts a received APDU.
    pub(crate) fn received(&mut self, octets: usize, apdu: Option<&Apdu>) {
        self.metrics.received(octets);
        if let Some(Apdu::Close(_)) = apdu {
            self.ends(SessionEnd::Closed, None);
        }
        if let Some(totals) = &mut self.totals {
            totals.requests += 1;
            totals.octets_received += octets as u64;
        }
    }

    /// Starts a timer for a request; `None` if it is not an operation.
    pub(crate) fn timer(&self, request: &Apdu) -> Option<OperationTimer> {
        OperationTimer::of(request, &self.metrics)
    }

    /// Counts and logs the answer to a request.
    pub(crate) fn answered(
        &mut self,
        timer: Option<OperationTimer>,
        request: &Apdu,
        answer: Option<&Apdu>,
        caller: Requester<'_>,
    ) {
        let Some(timer) = timer else { return };
        let outcome = answer.map_or(OperationOutcome::Ok, outcome);
        log_access(request, answer, timer.begun);
        if let Some(answer) = answer.filter(|_| outcome == OperationOutcome::Failed) {
            self.log_refusal(request, answer, caller);
        }
        if let Some(totals) = &mut self.totals {
            totals.count(timer.kind);
            if totals.user.is_none() {
                totals.user = caller.user.map(str::to_owned);
            }
            if outcome == OperationOutcome::Failed {
                let why = answer.and_then(why).unwrap_or_default();
                let name = timer.kind.name();
                totals.failed += 1;
                totals.fail(&format_args!("{name}: {why}"));
            }
        }
        timer.answered(outcome);
    }

    /// Logs a refused Init or update.
    fn log_refusal(&self, request: &Apdu, answer: &Apdu, caller: Requester<'_>) {
        let (refusal, given) = match (request, answer) {
            (Apdu::InitializeRequest(init), _) => {
                (LoggedRefusal::Init, name(&init.id_authentication))
            }
            (_, Apdu::ExtendedServicesResponse(refused)) if is_by_leave(refused) => {
                (LoggedRefusal::Update, None)
            }
            _ => return,
        };
        if !self.metrics.may_log(refusal) {
            return;
        }
        let peer = caller.peer.map(|address| address.to_string());
        let peer = peer.as_deref().unwrap_or("unix");
        let user = given.as_deref().or(caller.user);
        let why = why(answer).unwrap_or_default();
        match refusal {
            LoggedRefusal::Init => warn!(%peer, user, why, "Init is refused"),
            _ => warn!(%peer, user, why, "an update is refused"),
        }
    }

    /// Counts octets that were sent, and the records in the APDU that they encode.
    pub(crate) fn sent(&mut self, octets: usize, apdu: Option<&Apdu>) {
        let (records, diagnostics) = match apdu {
            Some(Apdu::SearchResponse(search)) => records(&search.records),
            Some(Apdu::PresentResponse(present)) => records(&present.records),
            Some(Apdu::Segment(segment)) => (segment.segment_records.len(), 0),
            _ => (0, 0),
        };
        self.metrics.sent(octets, records);
        if let Some(totals) = &mut self.totals {
            totals.records += records as u64;
            totals.diagnostics += diagnostics;
            totals.octets_sent += octets as u64;
        }
    }

    /// Counts an HTTP request, and the octets received and sent since the previous request.
    #[cfg(feature = "sru")]
    pub(crate) fn http_received(&mut self, counts: (u64, u64)) {
        self.http_counted(counts);
        if let Some(totals) = &mut self.totals {
            totals.requests += 1;
        }
    }

    /// Counts octets received and sent.
    #[cfg(feature = "sru")]
    pub(crate) fn http_counted(&mut self, (received, sent): (u64, u64)) {
        self.metrics
            .received(usize::try_from(received).unwrap_or(usize::MAX));
        self.metrics
            .sent(usize::try_from(sent).unwrap_or(usize::MAX), 0);
        if let Some(totals) = &mut self.totals {
            totals.octets_received += received;
            totals.octets_sent += sent;
        }
    }

    /// Counts and logs the answer to an HTTP request other than SRU.
    #[cfg(feature = "sru")]
    pub(crate) fn http_answered(&mut self, timer: OperationTimer, status: u16) {
        let microseconds = timer.begun.elapsed().as_micros();
        debug!(target: ACCESS, status, microseconds, "http");
        let outcome = if status < 400 {
            OperationOutcome::Ok
        } else {
            OperationOutcome::Failed
        };
        if let Some(totals) = &mut self.totals {
            totals.count(timer.kind);
            if outcome == OperationOutcome::Failed {
                totals.failed += 1;
                totals.fail(&format_args!("http: status {status}"));
            }
        }
        timer.answered(outcome);
    }

    /// Counts and logs an SRU answer.
    #[cfg(feature = "sru")]
    pub(crate) fn sru_answered(
        &mut self,
        timer: OperationTimer,
        reply: &SruReply,
        caller: Requester<'_>,
    ) {
        let (records, hits, query) = match &reply.response {
            Response::SearchRetrieve(found) => {
                let is_logged = enabled!(target: ACCESS, Level::INFO);
                let query = found.echo.as_deref().filter(|_| is_logged).and_then(query);
                (found.records.len(), found.number_of_records, query)
            }
            _ => (0, None, None),
        };
        let failure = reply.response.diagnostics().first();
        let microseconds = timer.begun.elapsed().as_micros();
        let kind = timer.kind.name();
        info!(
            target: ACCESS,
            kind,
            query,
            hits,
            records,
            diagnostic = failure.map(|failure| &*failure.uri),
            microseconds,
            "sru"
        );
        let outcome = match failure {
            None => OperationOutcome::Ok,
            Some(_) => OperationOutcome::Failed,
        };
        let why = failure.map(|failure| match &*failure.details {
            "" => failure.words().to_owned(),
            details => format!("{}: {details}", failure.words()),
        });
        if reply.status == SruStatus::Unauthorized && self.metrics.may_log(LoggedRefusal::Init) {
            let peer = caller.peer.map(|address| address.to_string());
            let peer = peer.as_deref().unwrap_or("unix");
            warn!(%peer, user = caller.user, why, "SRU is refused");
        }
        self.metrics.sent(0, records);
        if let Some(totals) = &mut self.totals {
            totals.count(timer.kind);
            totals.records += records as u64;
            if totals.user.is_none() {
                totals.user = caller.user.map(str::to_owned);
            }
            if let Some(why) = why {
                totals.failed += 1;
                totals.diagnostics += 1;
                totals.fail(&format_args!("{kind}: {why}"));
            }
        }
        timer.answered(outcome);
    }

    /// Records that the client has closed its side of the connection.
    pub(crate) fn client_left(&mut self) {
        if let Some(totals) = &mut self.totals {
            totals.client_left = true;
        }
    }

    /// Records that the connection failed. A client that does not read an answer in time does not count as having left.
    pub(crate) fn lost(&mut self, error: &io::Error) {
        self.ends(SessionEnd::Lost, Some(error));
        if error.kind() != io::ErrorKind::TimedOut {
            self.client_left();
        }
    }

    /// Sets the reason for the end of the session, and adds the error to the totals, if there is one. Later calls have no effect.
    pub(crate) fn ends(&mut self, end: SessionEnd, why: Option<&dyn Display>) {
        if self.end.is_none() {
            self.end = Some(end);
            if let (Some(totals), Some(why)) = (&mut self.totals, why) {
                totals.fail(why);
            }
        }
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        let end = self.end.unwrap_or_else(|| {
            if std::thread::panicking() {
                SessionEnd::Bug
            } else if *self.stopping.borrow() {
                SessionEnd::Stopped
            } else {
                self.dropped
            }
        });
        self.metrics.session_ended(end);
        info!(end = end.name(), "disconnected");
        if let Some(totals) = &mut self.totals {
            totals.duration = self.begun.elapsed();
            totals.end = end;
            log_totals(totals);
            self.observer.ended(totals);
        }
        self.observer.closed(self.session);
    }
}

/// The sender of a request.
#[derive(Clone, Copy)]
pub(crate) struct Requester<'a> {
    /// The client's address; `None` for a Unix socket.
    pub(crate) peer: Option<IpAddr>,
    /// The name of the user; `None` if the client has not authenticated.
    pub(crate) user: Option<&'a str>,
}

/// The maximum number of characters in a user name in the log.
const MAX_NAME: usize = 100;

/// Returns the user name in the credentials of a client; `None` if the credentials do not contain one.
fn name(credentials: &Option<IdAuthentication>) -> Option<String> {
    let credentials = match credentials.as_ref()? {
        IdAuthentication::Open(text) => Credentials::open(text.as_bytes()),
        IdAuthentication::IdPass(id_pass) => Credentials::from(id_pass),
        _ => return None,
    };
    let name = String::from_utf8_lossy(credentials.user);
    Some(name.chars().take(MAX_NAME).collect())
}

/// Returns the query in a searchRetrieve as text; `None` for other requests.
#[cfg(feature = "sru")]
fn query(request: &Request) -> Option<String> {
    match &request.operation {
        SruOperation::SearchRetrieve(search) => {
            Some(search.query.chars().take(MAX_QUERY).collect())
        }
        _ => None,
    }
}

/// Returns whether an extended services request was refused because the client lacks permission.
fn is_by_leave(refused: &ExtendedServicesResponse) -> bool {
    let mut diagnostics = refused.diagnostics.iter().flatten();
    diagnostics.any(|diagnostic| match diagnostic {
        DiagRec::DefaultFormat(diagnostic) => diagnostic.condition == Condition::TASK_USER.0,
        DiagRec::ExternallyDefined(_) => false,
    })
}

fn log_totals(totals: &SessionTotals) {
    info!(
        target: METRICS,
        milliseconds = totals.duration.as_millis(),
        requests = totals.requests,
        searches = totals.operations(OperationKind::Search),
        records = totals.records,
        diagnostics = totals.diagnostics,
        octets_in = totals.octets_received,
        octets_out = totals.octets_sent,
        "session over"
    );
}

/// Returns the number of records in an answer, and the number of non-surrogate diagnostics.
fn records(records: &Option<Records>) -> (usize, u64) {
    match records {
        Some(Records::ResponseRecords(records)) => (records.len(), 0),
        Some(_) => (0, 1),
        None => (0, 0),
    }
}

/// Returns the outcome of an operation as shown by its answer; a partial result counts as a success.
fn outcome(answer: &Apdu) -> OperationOutcome {
    let is_ok = match answer {
        Apdu::InitializeResponse(init) => init.result,
        Apdu::SearchResponse(search) => search.search_status,
        Apdu::PresentResponse(present) => present.present_status != PresentStatus::FAILURE,
        Apdu::ScanResponse(scan) => scan.scan_status != ScanStatus::FAILURE,
        Apdu::SortResponse(sort) => sort.sort_status != SortStatus::FAILURE,
        Apdu::DeleteResultSetResponse(delete) => {
            delete.delete_operation_status == DeleteSetStatus::SUCCESS
        }
        Apdu::ExtendedServicesResponse(extended) => {
            extended.operation_status != OperationStatus::FAILURE
        }
        Apdu::DuplicateDetectionResponse(_) => false,
        _ => true,
    };
    if is_ok {
        OperationOutcome::Ok
    } else {
        OperationOutcome::Failed
    }
}

/// Returns the diagnostic for a failed operation as text; `None` if the answer does not have one.
fn why(answer: &Apdu) -> Option<String> {
    let first = match answer {
        Apdu::InitializeResponse(init) => return why_not(init),
        Apdu::SearchResponse(search) => return in_place(&search.records),
        Apdu::PresentResponse(present) => return in_place(&present.records),
        Apdu::DeleteResultSetResponse(delete) => {
            let message = delete.delete_message.as_ref();
            return message.map(|message| message.to_string_lossy().into_owned());
        }
        Apdu::ScanResponse(scan) => &scan.entries.as_ref()?.nonsurrogate_diagnostics,
        Apdu::SortResponse(sort) => &sort.diagnostics,
        Apdu::ExtendedServicesResponse(extended) => &extended.diagnostics,
        _ => return None,
    };
    first.as_ref()?.first().map(ToString::to_string)
}

/// Returns, as text, the reason why Init was refused; `None` if the answer does not give one.
fn why_not(init: &InitializeResponse) -> Option<String> {
    let information = UserInfo1::from_external(init.user_information_field.as_ref()?).ok()?;
    let DiagnosticFormat(units) = information.0.value()?;
    match units.into_iter().next()?.diagnostic? {
        Diagnostic::DefaultDiagRec(diagnostic) => Some(diagnostic.to_string()),
        Diagnostic::ExplicitDiagnostic(_) => None,
    }
}

/// Returns, as text, the first diagnostic that was sent instead of records; `None` if there is none.
fn in_place(records: &Option<Records>) -> Option<String> {
    match records.as_ref()? {
        Records::NonSurrogateDiagnostic(diagnostic) => Some(diagnostic.to_string()),
        Records::MultipleNonSurDiagnostics(several) => several.first().map(ToString::to_string),
        Records::ResponseRecords(_) => None,
    }
}

/// Logs a request and its answer.
fn log_access(request: &Apdu, answer: Option<&Apdu>, begun: std::time::Instant) {
    if !enabled!(target: ACCESS, Level::INFO) {
        return;
    }
    let microseconds = begun.elapsed().as_micros();
    match (request, answer) {
        (Apdu::SearchRequest(search), Some(Apdu::SearchResponse(found))) => {
            let databases: Vec<_> = search
                .database_names
                .iter()
                .map(|name| name.0.to_string_lossy())
                .collect();
            info!(
                target: ACCESS,
                databases = databases.join("+"),
                query = ?shown(&search.query),
                hits = found.result_count,
                records = found.number_of_records_returned,
                diagnostic = ?diagnostic(&found.records),
                microseconds,
                "search"
            );
        }
        (Apdu::PresentRequest(present), Some(Apdu::PresentResponse(shown))) => {
            info!(
                target: ACCESS,
                set = ?present.result_set_id.0,
                start = present.result_set_start_point,
                number = present.number_of_records_requested,
                records = shown.number_of_records_returned,
                diagnostic = ?diagnostic(&shown.records),
                microseconds,
                "present"
            );
        }
        _ => {
            let answer = answer.map_or("nothing", Apdu::name);
            debug!(target: ACCESS, request = request.name(), answer, microseconds, "answered");
        }
    }
}
/// The `tracing` targets of the log events, by which the events can be filtered.
const ACCESS: &str = "z3950_server::access";
const METRICS: &str = "z3950_server::metrics";

fn diagnostic(records: &Option<Records>) -> Option<i64> {
    match records {
        Some(Records::NonSurrogateDiagnostic(diagnostic)) => Some(diagnostic.condition),
        _ => None,
    }
}

/// The maximum number of characters in a query in a log event.
const MAX_QUERY: usize = 200;

/// Formats a query for the log: an RPN query as PQF, other query types as the client sent them.
fn shown(query: &Query) -> String {
    let text = match query {
        Query::Type1(query) | Query::Type101(query) => query.to_string(),
        Query::Type2(text) | Query::Type100(text) | Query::Type102(text) => {
            String::from_utf8_lossy(text).into_owned()
        }
        other => format!("type {}", other.type_number()),
    };
    text.chars().take(MAX_QUERY).collect()
}

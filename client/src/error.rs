//! The errors of sessions, with their phases and causes. Diagnostics from the server are part of the errors. Services
//! and phases are those of Z39.50-2003 §3.2.

mod detail;
mod fault;
mod intermediary;
pub(crate) mod notice;
mod questions;
mod report;
mod route;
mod sources;
mod sru;

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use z3950_asn1::apdu::{Apdu, CloseReason, DefaultDiagFormat, DiagRec};
use z3950_asn1::query::QueryError;
use z3950_marc::charset::UnencodableText;

use crate::identifier::IdentifierError;
use crate::target::profile::{CredentialsError, ProfileError};
use crate::url::{BuildError, UrlError};
pub use detail::Detail;
pub use fault::ProtocolFault;
pub use intermediary::{GatewayError, ProxyRefusal};
use notice::PlanError;
pub use report::{Report, chain};
#[cfg(feature = "proxy")]
pub use route::ProxyError;
pub use route::RouteError;
#[cfg(feature = "tls")]
pub use route::{PemPlace, TlsError};
pub use sources::FailedSources;
pub use sru::SruFault;

/// The reason why a request failed.
///
/// `Display` describes only this level of the error; [`source`](std::error::Error::source) returns its cause. [`chain`]
/// writes an error and its causes on one line, and a `main` that returns [`Report`] prints this line. Text from the
/// server is not escaped, so escape it before it reaches a terminal.
///
/// To decide how to react, call these methods instead of matching on variants: [`is_timeout`](Self::is_timeout),
/// [`is_connect`](Self::is_connect), [`is_transient`](Self::is_transient),
/// [`is_connection_lost`](Self::is_connection_lost), [`diagnostics`](Self::diagnostics), [`code`](Self::code).
///
/// ```
/// # async fn example(catalogue: &z3950::Connection) -> Result<u64, z3950::Error> {
/// let hits = match catalogue.search(z3950::Query::title("emma")).await {
///     Err(error) if error.is_transient() => {
///         eprintln!("{}; trying once more", z3950::error::chain(&error));
///         catalogue.search(z3950::Query::title("emma")).await?
///     }
///     hits => hits?,
/// };
/// # Ok(hits.count())
/// # }
/// ```
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server cannot be reached, or the connection was lost; it may help to try again later (RFC 1736 §3).
    #[error("{}", unavailable(*phase, cause))]
    #[non_exhaustive]
    Unavailable {
        /// The phase in which the connection failed.
        phase: Phase,
        /// The cause of the failure.
        #[source]
        cause: Cause,
    },
    /// The server answered Init with `result` false (Z39.50-2003 §3.2.1.2).
    #[error(transparent)]
    InitRejected(#[from] InitRejected),
    /// The server refused a request, usually with diagnostics. The session continues.
    #[error("{phase} failed: {diagnostics}")]
    #[non_exhaustive]
    Refused {
        /// The service that was refused.
        phase: Phase,
        /// The server's diagnostics. They may be empty.
        diagnostics: Diagnostics,
    },
    /// The server or the client violated the protocol.
    #[error("protocol error during {phase}")]
    #[non_exhaustive]
    ProtocolError {
        /// The phase in which the violation occurred.
        phase: Phase,
        /// The kind of violation.
        #[source]
        fault: ProtocolFault,
    },
    /// The server sent a Close (Z39.50-2003 §3.2.11).
    #[error("{}", closed(*phase, *reason, info.as_deref()))]
    #[non_exhaustive]
    ProtocolClosed {
        /// The phase in which the server sent the Close.
        phase: Phase,
        /// The reason in the Close, which may be a value that the standard does not define.
        reason: CloseReason,
        /// The message in the Close (`diagnosticInformation`), if any.
        info: Option<String>,
    },
    /// The server challenged the client, which could not respond (Z39.50-2003 §3.2.5).
    #[error("the server asked for credentials during {phase}, but none were given")]
    #[non_exhaustive]
    AccessRefused {
        /// The phase in which the server sent the challenge.
        phase: Phase,
    },
    /// No record matches, so the locator is invalid on this server (RFC 1736 §3).
    #[error("no record matches")]
    NoMatch,
    /// No record matches in the sources of the database that answered, but other sources, which may have matching
    /// records, failed.
    #[error("no record matches, but not all sources answered: {0}")]
    Incomplete(FailedSources),
    /// The docid matches several records.
    #[error("{hits} records match, so none is delivered")]
    #[non_exhaustive]
    Ambiguous {
        /// The number of matching records.
        hits: u64,
    },
    /// The port is reserved for another protocol and is not allowed, so nothing was sent.
    #[error("port {0} is reserved for another protocol and was not connected to")]
    PortRefused(u16),
    /// The target is malformed, or the targets file cannot be read.
    #[error(transparent)]
    Target(Arc<ProfileError>),
    /// The credentials of the target's profile are not available.
    #[error(transparent)]
    Credentials(Arc<CredentialsError>),
    /// The gateway did not retrieve the URL.
    #[error(transparent)]
    Gateway(#[from] GatewayError),
    /// The URL is malformed.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// The given parts cannot be combined into a URL.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The URL cannot be followed.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The query is malformed.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// The character set of the target cannot represent a term.
    #[error("the query cannot be written in the character set of the target")]
    Term(#[source] UnencodableText),
    /// The identifier is malformed.
    #[error(transparent)]
    Identifier(#[from] IdentifierError),
    /// A value cannot be encoded, such as a field of more than 9,999 octets in ISO 2709.
    #[error("a value cannot be encoded")]
    Unwritable(#[source] Arc<dyn std::error::Error + Send + Sync>),
    /// A scan needs a query with exactly one term, but the query has none or several.
    #[error("a scan begins at one term of one index")]
    NotOneTerm,
    /// The item to be ordered is in a result set of another connection. Nothing was sent.
    #[error("the result set belongs to another connection")]
    ForeignResultSet,
    /// There is no route to the server, for example because the certificates for TLS cannot be used. Nothing was sent.
    #[error(transparent)]
    Route(Arc<RouteError>),
    /// The session had ended before the request, so nothing was sent.
    #[error("the session has ended")]
    #[non_exhaustive]
    Ended {
        /// The reason why the session ended; `None` if the client closed it.
        #[source]
        cause: Option<Arc<Error>>,
    },
}

impl Error {
    /// Creates the error that a connector returns if the server cannot be reached or the connection was lost.
    pub fn unavailable(phase: Phase, cause: Cause) -> Self {
        Self::Unavailable { phase, cause }
    }

    /// Creates the error for a request that the server refused.
    pub fn refused(phase: Phase, diagnostics: impl Into<Diagnostics>) -> Self {
        Self::Refused {
            phase,
            diagnostics: diagnostics.into(),
        }
    }

    /// Creates a protocol error in a phase.
    pub fn fault(phase: Phase, fault: impl Into<ProtocolFault>) -> Self {
        Self::ProtocolError {
            phase,
            fault: fault.into(),
        }
    }

    /// Creates the error for a challenge from the server to which the client could not respond.
    pub fn access_refused(phase: Phase) -> Self {
        Self::AccessRefused { phase }
    }

    /// Creates the error for a request to a session that the client has closed.
    pub fn ended() -> Self {
        Self::Ended { cause: None }
    }

    /// Returns the time that the server asks the client to wait before the next request.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Unavailable {
                cause: Cause::HttpStatus { retry_after, .. },
                ..
            } => *retry_after,
            _ => None,
        }
    }

    /// Returns whether the request cannot be the reason for the loss of the session: it was not sent, or the session's
    /// tokio runtime ended.
    pub(crate) fn is_not_by_request(&self) -> bool {
        let cause = match self {
            Self::Ended { .. } => return true,
            Self::Unavailable { cause, .. } => cause,
            _ => return false,
        };
        matches!(cause, Cause::RuntimeEnded)
    }

    /// Returns whether the server sent a wrong referenceId or none while several requests were in progress.
    pub(crate) fn is_of_reference_id(&self) -> bool {
        match self {
            Self::ProtocolError { fault, .. } => matches!(
                fault,
                ProtocolFault::ReferenceId | ProtocolFault::NoReferenceId
            ),
            Self::Unavailable {
                cause: Cause::AnotherAnswer(error),
                ..
            }
            | Self::Ended { cause: Some(error) } => error.is_of_reference_id(),
            _ => false,
        }
    }

    /// Returns the same error with a different phase.
    pub(crate) fn in_phase(mut self, now: Phase) -> Self {
        match &mut self {
            Self::Unavailable { phase, .. }
            | Self::ProtocolError { phase, .. }
            | Self::ProtocolClosed { phase, .. }
            | Self::AccessRefused { phase } => *phase = now,
            _ => {}
        }
        self
    }
}

/// The phase of a connection or session: a step in making the connection, or a service (Z39.50-2003 §3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// Resolving the host name.
    Resolve,
    /// Making the transport connection.
    Connect,
    /// The proxy handshake.
    Proxy,
    /// The TLS handshake.
    Tls,
    /// Opening the session with Init.
    Init,
    /// Between two requests.
    Idle,
    /// Searching.
    Search,
    /// Requesting records.
    Present,
    /// Deleting result sets.
    Delete,
    /// Requesting the cost of an operation or the session.
    ResourceReport,
    /// Sorting a result set.
    Sort,
    /// Finding duplicates in result sets.
    DuplicateDetection,
    /// Browsing a list of terms.
    Scan,
    /// Requesting the description of an SRU server.
    Explain,
    /// Requesting a task of an extended service.
    ExtendedServices,
    /// Closing the session.
    Close,
    /// The call as a whole, which has a time limit of its own ([`Timeouts::call`](crate::Timeouts::call)).
    Call,
}

impl Phase {
    /// Returns the phase in which this request is sent.
    pub(crate) fn of(request: &Apdu) -> Self {
        match request {
            Apdu::InitializeRequest(_) => Self::Init,
            Apdu::SearchRequest(_) => Self::Search,
            Apdu::PresentRequest(_) => Self::Present,
            Apdu::DeleteResultSetRequest(_) => Self::Delete,
            Apdu::ResourceReportRequest(_) => Self::ResourceReport,
            Apdu::SortRequest(_) => Self::Sort,
            Apdu::DuplicateDetectionRequest(_) => Self::DuplicateDetection,
            Apdu::ScanRequest(_) => Self::Scan,
            Apdu::ExtendedServicesRequest(_) => Self::ExtendedServices,
            Apdu::Close(_) => Self::Close,
            _ => Self::Idle,
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Resolve => "name resolution",
            Self::Connect => "connect",
            Self::Proxy => "the proxy handshake",
            Self::Tls => "the TLS handshake",
            Self::Init => "Init",
            Self::Idle => "a pause",
            Self::Search => "Search",
            Self::Present => "Present",
            Self::Delete => "Delete",
            Self::ResourceReport => "Resource Report",
            Self::Sort => "Sort",
            Self::DuplicateDetection => "Duplicate Detection",
            Self::Scan => "Scan",
            Self::Explain => "Explain",
            Self::ExtendedServices => "Extended Services",
            Self::Close => "Close",
            Self::Call => "the call",
        })
    }
}

/// The cause of a failed or lost connection.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    /// The host name has no address.
    #[error("no address for this name")]
    Dns(#[source] Arc<io::Error>),
    /// No server listens at this address and port.
    #[error("connection refused")]
    Refused(#[source] Arc<io::Error>),
    /// A step took longer than this timeout.
    #[error("no response within {} s", .0.as_secs_f64())]
    Timeout(Duration),
    /// The deadline of the operation has passed.
    #[error("the deadline passed")]
    Deadline,
    /// The wait for a session reached this limit, set by [`Timeouts::session`](crate::Timeouts::session).
    #[error("as many sessions as the target allows are in use, and none was returned within {} s", .0.as_secs_f64())]
    SessionsInUse(Duration),
    /// The server closed the connection.
    #[error("connection closed by the server")]
    Disconnected,
    /// The server closed the connection in the middle of an APDU, after this many of its octets.
    #[error("connection closed {0} octets into an APDU")]
    CutOff(usize),
    /// While several requests were in progress, the session ended because of a response that may belong to another
    /// request.
    #[error("the session ended with an answer to one of several requests")]
    AnotherAnswer(#[source] Arc<Error>),
    /// The tokio runtime in which the session was opened has ended, or is not running. The server is not at fault.
    #[error("the runtime of the session has ended")]
    RuntimeEnded,
    /// The server's certificate is not trusted.
    #[error("the server's certificate is not trusted")]
    Tls(#[source] Arc<io::Error>),
    /// The TLS handshake failed, because the server does not use TLS or rejects the client.
    #[error("the handshake failed")]
    Handshake(#[source] Arc<io::Error>),
    /// The SRU server or the gateway answered with an HTTP status that may be temporary, such as 503.
    #[error("HTTP status {status}{}", asked_to_wait(*retry_after))]
    #[non_exhaustive]
    HttpStatus {
        /// The status code with its usual reason phrase.
        status: String,
        /// The time that the server asks the client to wait (`Retry-After`, RFC 9110 §10.2.3).
        retry_after: Option<Duration>,
    },
    /// The proxy refused to connect.
    #[error("{0}")]
    Proxy(ProxyRefusal),
    /// Another transport error.
    #[error("transport failure")]
    Other(#[source] Arc<io::Error>),
}

fn asked_to_wait(wait: Option<Duration>) -> String {
    wait.map_or_else(String::new, |wait| {
        format!("; the server asks to wait {} s", wait.as_secs())
    })
}

/// The hint that is shown if a server rejects a client without giving a reason.
const REJECTION_HINT: &str = "check credentials, address allow-list or database";

fn unavailable(phase: Phase, cause: &Cause) -> String {
    match (phase, cause) {
        (Phase::Resolve, Cause::Timeout(_)) => "the host name was not resolved in time".into(),
        (Phase::Resolve, Cause::Deadline) => "the host name was not resolved".into(),
        (Phase::Resolve, _) => "the host name cannot be resolved".into(),
        (Phase::Connect, Cause::Timeout(_)) => "no connection in time".into(),
        (Phase::Connect, Cause::Deadline) => "no connection".into(),
        (Phase::Connect, _) => "cannot connect".into(),
        (Phase::Proxy, Cause::Proxy(_)) => "the proxy refused to connect".into(),
        (Phase::Proxy, Cause::Dns(_) | Cause::Refused(_)) => "the proxy cannot be reached".into(),
        (Phase::Proxy, Cause::Timeout(_)) => "no connection through the proxy in time".into(),
        (Phase::Proxy, Cause::Deadline) => "no connection through the proxy".into(),
        (Phase::Proxy, _) => "the connection failed at the proxy".into(),
        (Phase::Tls, Cause::Tls(_) | Cause::Handshake(_)) => "TLS with the server failed".into(),
        (Phase::Call, Cause::Timeout(_)) => "the call did not end in time".into(),
        (_, Cause::Timeout(_)) => format!("no answer to {phase} in time"),
        (_, Cause::Deadline) => format!("no answer to {phase}"),
        (Phase::Init, Cause::Disconnected | Cause::CutOff(_)) => {
            format!("closed during Init: {REJECTION_HINT}")
        }
        (_, Cause::Disconnected | Cause::CutOff(_)) => format!("closed during {phase}"),
        (_, Cause::HttpStatus { .. }) => format!("the server cannot answer {phase} for the moment"),
        _ => format!("the connection failed during {phase}"),
    }
}

fn closed(phase: Phase, reason: CloseReason, info: Option<&str>) -> String {
    let mut text = format!("the server closed the session during {phase}, reason {reason}");
    if let Some(info) = info {
        text = format!("{text}: {info}");
    }
    if phase == Phase::Init {
        text = format!("{text}; {REJECTION_HINT}");
    }
    text
}

/// A rejected Init, with the reasons given by the server.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct InitRejected {
    /// The messages in `userInformationField` and `otherInfo`.
    pub text: Vec<String>,
    /// The diagnostics in `userInformationField` and `otherInfo`, in user information format userInfo-1.
    pub diagnostics: Diagnostics,
}

impl fmt::Display for InitRejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the server refused the session: ")?;
        match (self.diagnostics.is_empty(), self.text.is_empty()) {
            (true, true) => write!(f, "no reason given; {REJECTION_HINT}"),
            (true, false) => f.write_str(&self.text.join("; ")),
            (false, true) => self.diagnostics.fmt(f),
            (false, false) => write!(f, "{}; {}", self.diagnostics, self.text.join("; ")),
        }
    }
}

impl std::error::Error for InitRejected {}

/// The diagnostics in a response, in order. `Display` joins them with `; `.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Diagnostics(pub Vec<DiagRec>);

impl Diagnostics {
    /// Returns whether there are no diagnostics.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the first diagnostic in the default format.
    pub fn first(&self) -> Option<&DefaultDiagFormat> {
        self.defaults().next()
    }

    /// Returns the condition of the first diagnostic in the default format.
    pub fn condition(&self) -> Option<i64> {
        self.first().map(|diagnostic| diagnostic.condition)
    }

    /// Returns the additional information (addinfo) of the first diagnostic in the default format, as text.
    pub fn addinfo(&self) -> Option<Cow<'_, str>> {
        self.first()
            .map(|diagnostic| diagnostic.addinfo.to_string_lossy())
    }

    /// Returns whether one of the diagnostics has this condition, in any diagnostic set.
    pub fn has(&self, condition: i64) -> bool {
        self.defaults()
            .any(|diagnostic| diagnostic.condition == condition)
    }

    /// Adds those diagnostics that are not in the list yet.
    pub(crate) fn extend(&mut self, others: impl IntoIterator<Item = DiagRec>) {
        for diagnostic in others {
            if !self.0.contains(&diagnostic) {
                self.0.push(diagnostic);
            }
        }
    }

    fn defaults(&self) -> impl Iterator<Item = &DefaultDiagFormat> {
        self.0.iter().filter_map(|diagnostic| match diagnostic {
            DiagRec::DefaultFormat(diagnostic) => Some(diagnostic),
            DiagRec::ExternallyDefined(_) => None,
        })
    }
}

impl From<DiagRec> for Diagnostics {
    fn from(diagnostic: DiagRec) -> Self {
        Self(vec![diagnostic])
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("the server gave no reason");
        }
        for (index, diagnostic) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("; ")?;
            }
            diagnostic.fmt(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;

//! What a session can fail of: the phase it was in, what happened there, and what the server said about it.
//! Services and phases are those of Z39.50-2003 §3.2; a diagnostic stays data down to its last octet.

mod fault;

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use z3950_asn1::apdu::{Apdu, CloseReason, DefaultDiagFormat, DiagRec};
use z3950_asn1::query::QueryError;
use z3950_marc::charset::Unwritable;

use crate::lookup::identifier::IdentifierError;
use crate::plan::notice::PlanError;
use crate::target::profile::{CredentialsError, ProfileError};
use crate::url::{BuildError, UrlError};
pub use fault::ProtocolFault;

/// Why a request to a server has no answer, or not the one asked for.
///
/// `Display` says one level in plain words; [`source`](std::error::Error::source) leads to the next one.
/// Text from the server is shown as it came: escape it before it reaches a terminal.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server cannot be reached, or is no longer there: worth trying again later (RFC 1736 §3).
    #[error("{}", unavailable(*phase, cause))]
    Unavailable {
        /// What was being done.
        phase: Phase,
        /// What came in the way.
        #[source]
        cause: Cause,
    },
    /// The server answered Init with `result` false (Z39.50-2003 §3.2.1.2).
    #[error(transparent)]
    InitRejected(#[from] InitRejected),
    /// The server said in a diagnostic that it did not do what was asked; the session goes on.
    #[error("{phase} failed: {diagnostics}")]
    Refused {
        /// The service that was refused.
        phase: Phase,
        /// What the server said; may be empty.
        diagnostics: Diagnostics,
    },
    /// One side did not keep to the protocol.
    #[error("protocol error during {phase}")]
    ProtocolError {
        /// What was being done.
        phase: Phase,
        /// What was wrong.
        #[source]
        fault: ProtocolFault,
    },
    /// The server sent a Close (Z39.50-2003 §3.2.11).
    #[error("{}", closed(*phase, *reason, info.as_deref()))]
    ProtocolClosed {
        /// What was being done.
        phase: Phase,
        /// The reason given, which may be none of the standard's.
        reason: CloseReason,
        /// `diagnosticInformation`, if any.
        info: Option<String>,
    },
    /// The server wanted a proof of identity that nobody here can give (Z39.50-2003 §3.2.5).
    #[error("the server asked for credentials during {phase}, but none were given")]
    AccessRefused {
        /// What was being done.
        phase: Phase,
    },
    /// No record matches: the locator is invalid, as far as this server goes (RFC 1736 §3).
    #[error("no record matches")]
    NoMatch,
    /// The docid does not name one record.
    #[error("{hits} records match, so none is delivered")]
    Ambiguous {
        /// How many records match.
        hits: u64,
    },
    /// The port is reserved for another protocol, and connecting to it was not allowed: nothing was sent.
    #[error("port {0} is reserved for another protocol and was not connected to")]
    PortRefused(u16),
    /// What was named is not a target, or the file of targets cannot be read.
    #[error(transparent)]
    Target(Arc<ProfileError>),
    /// The credentials of the target's profile cannot be had.
    #[error(transparent)]
    Credentials(Arc<CredentialsError>),
    /// The URL cannot be read.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// The URL cannot be made of these parts.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The URL cannot be followed.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The text of a query cannot be read.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// The character set of the target cannot write a term.
    #[error("the query cannot be written in the character set of the target")]
    Term(#[source] Unwritable),
    /// What is to be looked up is not an identifier.
    #[error(transparent)]
    Identifier(#[from] IdentifierError),
    /// A value that no record or APDU can hold, such as a field of more than 9,999 octets in ISO 2709.
    #[error("it cannot be written")]
    Unwritable(#[source] Arc<dyn std::error::Error + Send + Sync>),
    /// A scan begins at one term, and the query has several, or none.
    #[error("a scan begins at one term of one index")]
    NotOneTerm,
    /// The way to servers cannot be used, such as the proxy that the environment names.
    #[error("{0}")]
    Route(String),
    /// The session was over before the request was made: nothing of it was sent.
    #[error("the session has ended")]
    Ended {
        /// What ended it; `None` if it was closed from this side.
        #[source]
        cause: Option<Arc<Error>>,
    },
}

impl Error {
    /// A fault of the protocol in the given phase.
    pub fn fault(phase: Phase, fault: impl Into<ProtocolFault>) -> Self {
        Self::ProtocolError {
            phase,
            fault: fault.into(),
        }
    }

    /// The diagnostics in which the server explained itself; empty where it did not.
    pub fn diagnostics(&self) -> &[DiagRec] {
        match self {
            Self::Refused { diagnostics, .. } => &diagnostics.0,
            Self::InitRejected(rejected) => &rejected.diagnostics.0,
            _ => &[],
        }
    }

    /// Whether the connection was lost, or the server put an end to an idle session: worth another session.
    ///
    /// [`Error::Ended`] says beyond that that nothing of the request was sent. In all other cases the server may have
    /// carried it out, so that only a request that changes nothing may be made again.
    pub fn is_connection_lost(&self) -> bool {
        match self {
            Self::Ended { cause } => cause
                .as_ref()
                .is_some_and(|cause| cause.is_connection_lost()),
            Self::Unavailable { phase, cause } => {
                !matches!(phase, Phase::Resolve | Phase::Connect)
                    && matches!(
                        cause,
                        Cause::Disconnected | Cause::CutOff(_) | Cause::Other(_)
                    )
            }
            Self::ProtocolClosed { reason, .. } => !matches!(
                *reason,
                CloseReason::COST_LIMIT
                    | CloseReason::SECURITY_VIOLATION
                    | CloseReason::PROTOCOL_ERROR
            ),
            _ => false,
        }
    }

    /// The same, as it was met in another phase.
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

/// What a client was doing: the steps of the connection, then the services of Z39.50-2003 §3.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// Asking for the addresses of a host.
    Resolve,
    /// Opening the transport connection.
    Connect,
    /// Asking a proxy for a way to the server.
    Proxy,
    /// Agreeing on TLS with the server.
    Tls,
    /// Opening the session.
    Init,
    /// Nothing: between two requests.
    Idle,
    /// Searching.
    Search,
    /// Asking for records.
    Present,
    /// Deleting result sets.
    Delete,
    /// Asking what an operation or the session costs.
    ResourceReport,
    /// Sorting a result set.
    Sort,
    /// Finding duplicates in result sets.
    DuplicateDetection,
    /// Browsing a list of terms.
    Scan,
    /// Having a task done.
    ExtendedServices,
    /// Closing the session.
    Close,
}

impl Phase {
    /// The phase a request belongs to.
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
            Self::Proxy => "the way through a proxy",
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
            Self::ExtendedServices => "Extended Services",
            Self::Close => "Close",
        })
    }
}

/// What came in the way of an answer.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    /// The host name has no address.
    #[error("no address for this name")]
    Dns(#[source] Arc<io::Error>),
    /// Nobody listens at this address and port.
    #[error("connection refused")]
    Refused(#[source] Arc<io::Error>),
    /// Nothing came within the time allowed for this step.
    #[error("no response within {} s", .0.as_secs_f64())]
    Timeout(Duration),
    /// The deadline of the whole command passed.
    #[error("the deadline passed")]
    Deadline,
    /// The server ended the connection without a word.
    #[error("connection closed by the server")]
    Disconnected,
    /// The server ended the connection so many octets into an APDU.
    #[error("connection closed {0} octets into an APDU")]
    CutOff(usize),
    /// The server's certificate proves nothing.
    #[error("the server's certificate is not trusted")]
    Tls(#[source] Arc<io::Error>),
    /// The handshake of TLS broke off: the server speaks no TLS, or wants another client.
    #[error("the handshake failed")]
    Handshake(#[source] Arc<io::Error>),
    /// The proxy gives no way to the server, in its own words.
    #[error("{0}")]
    Proxy(String),
    /// The transport failed otherwise.
    #[error("transport failure")]
    Other(#[source] Arc<io::Error>),
}

/// What to look at when a server turns a client away without saying why.
const TURNED_AWAY: &str = "check credentials, address allow-list or database";

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
        (Phase::Proxy, Cause::Timeout(_)) => "no way through the proxy in time".into(),
        (Phase::Proxy, Cause::Deadline) => "no way through the proxy".into(),
        (Phase::Proxy, _) => "the connection failed at the proxy".into(),
        (Phase::Tls, Cause::Tls(_) | Cause::Handshake(_)) => "TLS with the server failed".into(),
        (_, Cause::Timeout(_)) => format!("no answer to {phase} in time"),
        (_, Cause::Deadline) => format!("no answer to {phase}"),
        (Phase::Init, Cause::Disconnected | Cause::CutOff(_)) => {
            format!("closed during Init: {TURNED_AWAY}")
        }
        (_, Cause::Disconnected | Cause::CutOff(_)) => format!("closed during {phase}"),
        _ => format!("the connection failed during {phase}"),
    }
}

fn closed(phase: Phase, reason: CloseReason, info: Option<&str>) -> String {
    let mut text = format!("the server closed the session during {phase}, reason {reason}");
    if let Some(info) = info {
        text = format!("{text}: {info}");
    }
    if phase == Phase::Init {
        text = format!("{text}; {TURNED_AWAY}");
    }
    text
}

/// A session that the server did not want, and all it said about why.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct InitRejected {
    /// Words without a code from `userInformationField` and `otherInfo`.
    pub text: Vec<String>,
    /// Diagnostics from the same places, where servers put them in user information format userInfo-1.
    pub diagnostics: Diagnostics,
}

impl fmt::Display for InitRejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the server refused the session: ")?;
        match (self.diagnostics.is_empty(), self.text.is_empty()) {
            (true, true) => write!(f, "no reason given; {TURNED_AWAY}"),
            (true, false) => f.write_str(&self.text.join("; ")),
            (false, true) => self.diagnostics.fmt(f),
            (false, false) => write!(f, "{}; {}", self.diagnostics, self.text.join("; ")),
        }
    }
}

impl std::error::Error for InitRejected {}

/// The diagnostics of one response, in its order. `Display` joins them with `; `.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Diagnostics(pub Vec<DiagRec>);

impl Diagnostics {
    /// True when the server said nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first diagnostic of the default format.
    pub fn first(&self) -> Option<&DefaultDiagFormat> {
        self.defaults().next()
    }

    /// The condition of the first diagnostic of the default format.
    pub fn condition(&self) -> Option<i64> {
        self.first().map(|diagnostic| diagnostic.condition)
    }

    /// What the first diagnostic of the default format is about, as text.
    pub fn addinfo(&self) -> Option<Cow<'_, str>> {
        self.first()
            .map(|diagnostic| diagnostic.addinfo.to_string_lossy())
    }

    /// Whether one of the diagnostics has this condition, in whatever set.
    pub fn has(&self, condition: i64) -> bool {
        self.defaults()
            .any(|diagnostic| diagnostic.condition == condition)
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
mod tests {
    use super::*;

    #[test]
    fn words_are_plain_and_each_level_says_its_own() {
        let chain = |error: Error| {
            let mut words = vec![error.to_string()];
            let mut level: &dyn std::error::Error = &error;
            while let Some(source) = level.source() {
                words.push(source.to_string());
                level = source;
            }
            words.join(" | ")
        };
        let closed = |phase, info: Option<&str>| Error::ProtocolClosed {
            phase,
            reason: CloseReason(42),
            info: info.map(str::to_owned),
        };
        let unavailable = |phase, cause| Error::Unavailable { phase, cause };
        for (error, words) in [
            (
                unavailable(Phase::Init, Cause::Disconnected),
                "closed during Init: check credentials, address allow-list or database | connection closed by the server",
            ),
            (
                unavailable(Phase::Search, Cause::Timeout(Duration::from_millis(1500))),
                "no answer to Search in time | no response within 1.5 s",
            ),
            (
                unavailable(
                    Phase::Connect,
                    Cause::Refused(Arc::new(io::Error::other("refused"))),
                ),
                "cannot connect | connection refused | refused",
            ),
            (
                closed(Phase::Search, Some("bye")),
                "the server closed the session during Search, reason 42: bye",
            ),
            (
                closed(Phase::Init, None),
                "the server closed the session during Init, reason 42; check credentials, address allow-list or database",
            ),
            (
                Error::Ended {
                    cause: Some(Arc::new(closed(Phase::Idle, None))),
                },
                "the session has ended | the server closed the session during a pause, reason 42",
            ),
            (
                Error::Refused {
                    phase: Phase::Search,
                    diagnostics: Diagnostics::default(),
                },
                "Search failed: the server gave no reason",
            ),
            (
                InitRejected::default().into(),
                "the server refused the session: no reason given; check credentials, address allow-list or database",
            ),
            (
                Error::fault(Phase::Present, ProtocolFault::ReferenceId),
                "protocol error during Present | a response with a referenceId that was not sent",
            ),
        ] {
            assert_eq!(chain(error), words);
        }
    }
}

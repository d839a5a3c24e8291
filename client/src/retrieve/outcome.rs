//! The outcomes of a retrieval (RFC 2056 §4). RFC 1736 §3 requires that a missing record differs from an unreachable server.

use std::fmt;
use std::io;
use std::sync::Arc;

use z3950_asn1::apdu::{CloseReason, DiagRec, External};
use z3950_asn1::oid::Oid;
use z3950_asn1::types::InternationalString;

use super::OutcomeName;
use crate::error::{Cause, Diagnostics, Error, InitRejected, Phase, ProtocolFault};
use crate::record::Record;

/// The outcome of a retrieval. `Display` describes one level; [`Outcome::source`] gives the next.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Outcome {
    /// The record.
    Delivered(Box<Delivered>),
    /// The server has no such record: the locator is invalid at this server (RFC 1736 §3).
    NoMatch,
    /// The docid matches several records.
    Ambiguous {
        /// The number of matching records.
        hits: u64,
    },
    /// The server refused the search.
    SearchFailed {
        /// Why.
        diagnostics: Diagnostics,
    },
    /// The server found the record and refused to present it.
    PresentFailed {
        /// Why.
        diagnostics: Diagnostics,
    },
    /// A diagnostic in the place of the record.
    RecordDiagnostic {
        /// Why.
        diagnostic: DiagRec,
    },
    /// See [`Error::InitRejected`].
    InitRejected(InitRejected),
    /// See [`Error::Unavailable`].
    Unavailable {
        /// The phase.
        phase: Phase,
        /// The cause.
        cause: Cause,
    },
    /// See [`Error::ProtocolError`].
    ProtocolError {
        /// The phase.
        phase: Phase,
        /// The violation.
        fault: ProtocolFault,
    },
    /// See [`Error::ProtocolClosed`].
    ProtocolClosed {
        /// The phase.
        phase: Phase,
        /// The reason.
        reason: CloseReason,
        /// The server's message.
        info: Option<String>,
    },
    /// See [`Error::AccessRefused`].
    AccessRefused {
        /// The phase.
        phase: Phase,
    },
    /// The port is reserved for another protocol and not allowed; nothing was sent.
    PortRefused {
        /// The port.
        port: u16,
    },
}

/// A record as received.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Delivered {
    /// The record; [`RetrievedRecord`](z3950_asn1::record::RetrievedRecord) sorts it by its syntax.
    pub record: External,
    /// Its database, if the server says.
    pub database: Option<InternationalString>,
    /// Its syntax, if the server says.
    pub syntax: Option<Oid>,
    /// The requested syntax.
    pub requested: Option<Oid>,
    /// Whether the record is in another than the requested syntax, which servers may do.
    pub mismatch: bool,
}

impl Outcome {
    /// The name of the outcome, such as `no match`.
    pub fn name(&self) -> OutcomeName {
        match self {
            Self::Delivered(_) => OutcomeName::Delivered,
            Self::NoMatch => OutcomeName::NoMatch,
            Self::Ambiguous { .. } => OutcomeName::Ambiguous,
            Self::SearchFailed { .. } => OutcomeName::SearchRefused,
            Self::PresentFailed { .. } => OutcomeName::PresentRefused,
            Self::RecordDiagnostic { .. } => OutcomeName::RecordRefused,
            Self::InitRejected(_) => OutcomeName::InitRejected,
            Self::Unavailable { .. } => OutcomeName::Unavailable,
            Self::ProtocolError { .. } => OutcomeName::ProtocolError,
            Self::ProtocolClosed { .. } => OutcomeName::Closed,
            Self::AccessRefused { .. } => OutcomeName::AccessRefused,
            Self::PortRefused { .. } => OutcomeName::PortRefused,
        }
    }

    /// The cause, as in [`std::error::Error::source`].
    pub fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unavailable { cause, .. } => Some(cause),
            Self::ProtocolError { fault, .. } => Some(fault),
            _ => None,
        }
    }

    /// The server's diagnostics, if any.
    pub fn diagnostics(&self) -> &[DiagRec] {
        match self {
            Self::SearchFailed { diagnostics } | Self::PresentFailed { diagnostics } => {
                &diagnostics.0
            }
            Self::RecordDiagnostic { diagnostic } => std::slice::from_ref(diagnostic),
            Self::InitRejected(rejected) => &rejected.diagnostics.0,
            _ => &[],
        }
    }

    /// The record, or why there is none.
    pub(super) fn into_record(self) -> Result<Record, Error> {
        if let Some(error) = self.error() {
            return Err(error);
        }
        Err(match self {
            Self::Delivered(delivered) => {
                return Ok(Record::new(delivered.record, None).in_database(delivered.database));
            }
            Self::Ambiguous { hits } => Error::Ambiguous { hits },
            Self::RecordDiagnostic { diagnostic } => Error::Refused {
                phase: Phase::Present,
                diagnostics: diagnostic.into(),
            },
            Self::PortRefused { port } => Error::PortRefused(port),
            _ => Error::NoMatch,
        })
    }

    /// The corresponding error of a session, if any.
    fn error(&self) -> Option<Error> {
        Some(match self.clone() {
            Self::SearchFailed { diagnostics } => Error::Refused {
                phase: Phase::Search,
                diagnostics,
            },
            Self::PresentFailed { diagnostics } => Error::Refused {
                phase: Phase::Present,
                diagnostics,
            },
            Self::InitRejected(rejected) => Error::InitRejected(rejected),
            Self::Unavailable { phase, cause } => Error::Unavailable { phase, cause },
            Self::ProtocolError { phase, fault } => Error::ProtocolError { phase, fault },
            Self::ProtocolClosed {
                phase,
                reason,
                info,
            } => Error::ProtocolClosed {
                phase,
                reason,
                info,
            },
            Self::AccessRefused { phase } => Error::AccessRefused { phase },
            _ => return None,
        })
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Delivered(_) => f.write_str("delivered"),
            Self::NoMatch => f.write_str("no record matches"),
            Self::Ambiguous { hits } => write!(f, "{hits} records match, so none is delivered"),
            Self::RecordDiagnostic { diagnostic } => write!(f, "no record but {diagnostic}"),
            Self::PortRefused { port } => {
                write!(
                    f,
                    "port {port} is reserved for another protocol and was not connected to"
                )
            }
            other => match other.error() {
                Some(error) => error.fmt(f),
                None => f.write_str(other.name().as_str()),
            },
        }
    }
}

impl From<Error> for Outcome {
    fn from(error: Error) -> Self {
        match error {
            Error::Refused {
                phase: Phase::Search,
                diagnostics,
            } => Self::SearchFailed { diagnostics },
            Error::Refused { diagnostics, .. } => Self::PresentFailed { diagnostics },
            Error::InitRejected(rejected) => Self::InitRejected(rejected),
            Error::Unavailable { phase, cause } => Self::Unavailable { phase, cause },
            Error::ProtocolError { phase, fault } => Self::ProtocolError { phase, fault },
            Error::ProtocolClosed {
                phase,
                reason,
                info,
            } => Self::ProtocolClosed {
                phase,
                reason,
                info,
            },
            Error::AccessRefused { phase } => Self::AccessRefused { phase },
            Error::Ended { cause: Some(cause) } => Self::from((*cause).clone()),
            Error::NoMatch => Self::NoMatch,
            Error::Ambiguous { hits } => Self::Ambiguous { hits },
            Error::PortRefused(port) => Self::PortRefused { port },
            Error::Ended { cause: None } => Self::Unavailable {
                phase: Phase::Close,
                cause: Cause::Disconnected,
            },
            // Errors from before the session.
            other => Self::Unavailable {
                phase: Phase::Connect,
                cause: Cause::Other(Arc::new(io::Error::other(other))),
            },
        }
    }
}

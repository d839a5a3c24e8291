//! The outcomes of a retrieval (RFC 2056 §4). RFC 1736 §3 requires that a missing record and an unreachable server can be
//! distinguished.

use std::fmt;

use z3950_asn1::apdu::{DiagRec, External};
use z3950_asn1::oid::Oid;
use z3950_asn1::types::InternationalString;

use super::OutcomeName;
use crate::error::{Cause, Error, GatewayError, Phase};
use crate::plan::PlanError;
use crate::protocol::service::{ResultRecord, SubstituteForm};
use crate::record::Record;

/// The record from a retrieval, or the reason why there is none.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Outcome {
    /// The record was retrieved.
    Delivered(Box<DeliveredRecord>),
    /// A diagnostic was returned in place of the record.
    RecordDiagnostic {
        /// The diagnostic in place of the record.
        diagnostic: DiagRec,
    },
    /// No record was retrieved, because of [`Error::NoMatch`], [`Error::Incomplete`], [`Error::Ambiguous`],
    /// [`Error::Refused`] in phase Search or Present, [`Error::PortRefused`], or an error in the session.
    Failed(Error),
}

/// A record, as received.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct DeliveredRecord {
    /// The record itself. [`RetrievedRecord`](z3950_asn1::record::RetrievedRecord) decodes it according to its syntax.
    pub record: External,
    /// The name of the record's database, or `None` if the server does not name it.
    pub database: Option<InternationalString>,
    /// The syntax of the record, if the server names it.
    pub syntax: Option<Oid>,
    /// The record syntax that was requested, or `None` if the choice was left to the server.
    pub requested: Option<Oid>,
    /// Whether the syntax of the record differs from the requested one. The standard allows servers to do this.
    pub mismatch: bool,
    /// The form in which the record was sent, if the record was too large or empty in the form that the URL names.
    pub substitute: Option<SubstituteForm>,
}

impl DeliveredRecord {
    /// Creates a delivered record, and compares its syntax with the requested one.
    pub(crate) fn new(record: External, requested: Option<Oid>) -> Self {
        let syntax = record.direct_reference;
        Self {
            mismatch: requested.is_some() && syntax != requested,
            record,
            database: None,
            syntax,
            requested,
            substitute: None,
        }
    }
}

impl From<DeliveredRecord> for ResultRecord {
    fn from(delivered: DeliveredRecord) -> Self {
        Self::Record {
            database: delivered.database,
            external: delivered.record,
            substitute: delivered.substitute.map(Box::new),
            sources: Vec::new(),
        }
    }
}

impl Outcome {
    /// Returns the name of the outcome, such as `no match`.
    pub fn name(&self) -> OutcomeName {
        match self {
            Self::Delivered(_) => OutcomeName::Delivered,
            Self::RecordDiagnostic { .. } => OutcomeName::RecordRefused,
            Self::Failed(error) => error.code(),
        }
    }

    /// Returns the server's diagnostics, if any.
    pub fn diagnostics(&self) -> &[DiagRec] {
        match self {
            Self::Delivered(_) => &[],
            Self::RecordDiagnostic { diagnostic } => std::slice::from_ref(diagnostic),
            Self::Failed(error) => error.diagnostics(),
        }
    }

    /// Returns the record, or the reason why there is none.
    pub(super) fn into_record(self) -> Result<Record, Error> {
        match self {
            Self::Delivered(delivered) => {
                Ok(Record::new(delivered.record, None).in_database(delivered.database))
            }
            Self::RecordDiagnostic { diagnostic } => Err(Error::Refused {
                phase: Phase::Present,
                diagnostics: diagnostic.into(),
            }),
            Self::Failed(error) => Err(error),
        }
    }
}

impl Error {
    /// Returns a stable name for the error, for use in programs, reports and metrics; see [`OutcomeName::as_str`].
    pub fn code(&self) -> OutcomeName {
        match self {
            Self::NoMatch => OutcomeName::NoMatch,
            Self::Incomplete(failed) if !failed.is_unavailable() => OutcomeName::SearchRefused,
            Self::Ambiguous { .. } => OutcomeName::Ambiguous,
            Self::Refused { phase, .. } => match phase {
                Phase::Search => OutcomeName::SearchRefused,
                Phase::Sort => OutcomeName::SortRefused,
                Phase::Scan => OutcomeName::ScanRefused,
                Phase::ExtendedServices => OutcomeName::TaskFailed,
                _ => OutcomeName::PresentRefused,
            },
            Self::InitRejected(_) => OutcomeName::InitRejected,
            Self::ProtocolError { .. } if self.is_not_offered() => OutcomeName::NotGranted,
            Self::ProtocolError { .. } => OutcomeName::ProtocolError,
            Self::ProtocolClosed { .. } => OutcomeName::Closed,
            Self::AccessRefused { .. } => OutcomeName::AccessRefused,
            Self::PortRefused(_) => OutcomeName::PortRefused,
            Self::Credentials(_) | Self::Plan(PlanError::Credentials(_)) => {
                OutcomeName::NoCredentials
            }
            Self::Gateway(error) => match error {
                GatewayError::Url(_) => OutcomeName::NotSent,
                GatewayError::Forbidden(_) => OutcomeName::AccessRefused,
                GatewayError::Form(_) => OutcomeName::NotWritten,
                GatewayError::Refused(_) => OutcomeName::SearchRefused,
                GatewayError::NoAnswer(_) | GatewayError::Unreachable { .. } => {
                    OutcomeName::Unavailable
                }
                GatewayError::NoGateway(_) => OutcomeName::ProtocolError,
            },
            Self::Ended { cause: Some(cause) } => cause.code(),
            Self::Unavailable { .. } | Self::Incomplete(_) | Self::Ended { cause: None } => {
                OutcomeName::Unavailable
            }
            Self::Target(_)
            | Self::Route(_)
            | Self::Url(_)
            | Self::Build(_)
            | Self::Plan(_)
            | Self::Query(_)
            | Self::Term(_)
            | Self::Identifier(_)
            | Self::Unwritable(_)
            | Self::NotOneTerm
            | Self::ForeignResultSet => OutcomeName::NotSent,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Delivered(_) => f.write_str("delivered"),
            Self::RecordDiagnostic { diagnostic } => {
                write!(f, "the server sent {diagnostic} instead of the record")
            }
            Self::Failed(error) => error.fmt(f),
        }
    }
}

impl From<Error> for Outcome {
    fn from(error: Error) -> Self {
        Self::Failed(match error {
            Error::Ended { cause: Some(cause) } => return (*cause).clone().into(),
            Error::Ended { cause: None } => Error::Unavailable {
                phase: Phase::Close,
                cause: Cause::Disconnected,
            },
            error => error,
        })
    }
}

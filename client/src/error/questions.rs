//! Methods by which a program decides how to react to an error.

use z3950_asn1::apdu::{CloseReason, DiagRec};
use z3950_asn1::bib1::diagnostics::Condition;

use super::{Cause, Diagnostics, Error, GatewayError, Phase, ProtocolFault};
use crate::target::profile::CredentialsError;

/// The Bib-1 conditions that may be temporary.
const TEMPORARY: [Condition; 4] = [
    Condition::DATABASE_UNAVAILABLE,
    Condition::TEMPORARY_SYSTEM_ERROR,
    Condition::TEMPORARILY_OUT_OF_RESOURCES,
    Condition::TOO_MANY_SESSIONS,
];

impl Error {
    /// Returns the server's diagnostics, if any.
    pub fn diagnostics(&self) -> &[DiagRec] {
        match self {
            Self::Refused { diagnostics, .. } => &diagnostics.0,
            Self::InitRejected(rejected) => &rejected.diagnostics.0,
            Self::Incomplete(failed) => &failed.diagnostics().0,
            _ => &[],
        }
    }

    /// Returns whether a time limit was reached: a timeout in [`Timeouts`](crate::Timeouts), including the timeout for
    /// the wait for a session, or a deadline. Returns false if the request was not sent because an earlier request had
    /// timed out.
    pub fn is_timeout(&self) -> bool {
        match self {
            Self::Unavailable { cause, .. } => matches!(
                cause,
                Cause::Timeout(_) | Cause::Deadline | Cause::SessionsInUse(_)
            ),
            Self::Credentials(error) => matches!(**error, CredentialsError::Deadline),
            Self::Gateway(GatewayError::Unreachable { error, .. }) => error.is_timeout(),
            _ => false,
        }
    }

    /// Returns whether no connection was made: the host has no address, no server listens, or the proxy or TLS handshake
    /// failed. Nothing was requested from the server.
    pub fn is_connect(&self) -> bool {
        match self {
            Self::Unavailable { phase, cause } => {
                let is_before = matches!(
                    phase,
                    Phase::Resolve | Phase::Connect | Phase::Proxy | Phase::Tls
                );
                is_before && !matches!(cause, Cause::SessionsInUse(_))
            }
            Self::Gateway(GatewayError::Unreachable { error, .. }) => error.is_connect(),
            _ => false,
        }
    }

    /// Returns whether the same request may succeed later without any change: the server cannot be reached, is too slow,
    /// busy or closing, or the connection was lost. This includes all errors for which
    /// [`is_connection_lost`](Self::is_connection_lost) returns true. [`retry_after`](Self::retry_after) may return how
    /// long to wait.
    ///
    /// A certificate that is not trusted, a refused password, and a deadline set by the program
    /// ([`Timeouts::deadline`](crate::Timeouts::deadline)) that has passed are not transient. The server may have
    /// performed the request, so repeat only requests that change nothing.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unavailable { cause, .. } => !matches!(
                cause,
                Cause::Deadline | Cause::Tls(_) | Cause::Handshake(_) | Cause::Proxy(_)
            ),
            Self::Refused { diagnostics, .. } => diagnostics.is_temporary(),
            Self::InitRejected(rejected) => rejected.diagnostics.is_temporary(),
            Self::Incomplete(failed) => failed.is_unavailable(),
            Self::Gateway(error) => match error {
                GatewayError::NoAnswer(_) => true,
                GatewayError::Unreachable { error, .. } => error.is_transient(),
                _ => false,
            },
            _ => self.is_connection_lost(),
        }
    }

    /// Returns whether a new session may help: the connection was lost, the server closed an idle session, or the
    /// session ended during another request, for example because its response did not arrive in time.
    ///
    /// After [`Error::Ended`], nothing was sent. After other errors, the server may have performed the request, so only
    /// a request that changes nothing may be repeated.
    pub fn is_connection_lost(&self) -> bool {
        match self {
            Self::Ended { cause } => cause.as_ref().is_some_and(|cause| match **cause {
                Self::Unavailable { .. } | Self::ProtocolError { .. } => true,
                Self::ProtocolClosed { reason, .. } => !matches!(
                    reason,
                    CloseReason::COST_LIMIT | CloseReason::SECURITY_VIOLATION
                ),
                _ => cause.is_connection_lost(),
            }),
            Self::Unavailable { phase, cause } => {
                !matches!(phase, Phase::Resolve | Phase::Connect)
                    && matches!(
                        cause,
                        Cause::Disconnected
                            | Cause::CutOff(_)
                            | Cause::AnotherAnswer(_)
                            | Cause::RuntimeEnded
                            | Cause::Other(_)
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

    /// Returns true if the server does not offer the requested service. In this case, the client has sent nothing.
    pub fn is_not_offered(&self) -> bool {
        matches!(
            self,
            Self::ProtocolError {
                fault: ProtocolFault::NotGranted(_),
                ..
            }
        )
    }
}

impl Diagnostics {
    /// Returns whether a diagnostic indicates that the server may be able to perform the same request later.
    pub(super) fn is_temporary(&self) -> bool {
        let mut temporary = TEMPORARY.into_iter();
        temporary.any(|condition| self.has(condition.0))
    }
}

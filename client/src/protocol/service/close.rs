//! Close: how a session ends, and what it tells the server (Z39.50-2003 §3.2.11). Version 2 has no Close: the connection just
//! ends.

use z3950_asn1::apdu::{Close, CloseReason, OtherInformation};
use z3950_asn1::oid::Oid;

use crate::error::{Cause, Error, Phase};

/// The Close to send. By default with the reason finished.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CloseOptions {
    /// Why the session ends.
    pub reason: CloseReason,
    /// A message for the server's log.
    pub info: Option<String>,
    /// The wanted format of a report on the cost of the session.
    pub report_format: Option<Oid>,
    /// Additional information for the server.
    pub other_info: Option<OtherInformation>,
}

impl Default for CloseOptions {
    fn default() -> Self {
        Self {
            reason: CloseReason::FINISHED,
            info: None,
            report_format: None,
            other_info: None,
        }
    }
}

impl CloseOptions {
    /// The request with these options.
    pub fn request(&self) -> Close {
        Close {
            resource_report_format: self.report_format,
            other_info: self.other_info.clone(),
            ..Close::new(self.reason, self.info.as_deref())
        }
    }
}

/// The last exchange before the connection ends.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Farewell {
    /// The Close to send.
    pub(crate) close: Close,
    /// Whether the server's own Close is waited for.
    pub(crate) is_answered: bool,
}

/// The farewell of a version 3 session. Without an error this side ends it, with `close` if there is one.
///
/// `None` where no Close can be sent: the connection is gone, or the server would not understand it.
pub(crate) fn farewell(error: Option<&Error>, close: Option<&Close>) -> Option<Farewell> {
    let (reason, text, is_answered) = match error {
        None => {
            return Some(Farewell {
                close: close.map_or_else(|| CloseOptions::default().request(), Close::clone),
                is_answered: true,
            });
        }
        Some(Error::ProtocolClosed { .. }) => (CloseReason::FINISHED, None, false),
        Some(Error::ProtocolError { fault, .. }) => {
            (CloseReason::PROTOCOL_ERROR, Some(fault.to_string()), true)
        }
        Some(Error::Unavailable {
            cause: Cause::Timeout(_) | Cause::Deadline,
            ..
        }) => (
            CloseReason::UNSPECIFIED,
            Some("no answer in time".to_owned()),
            false,
        ),
        Some(_) => return None,
    };
    Some(Farewell {
        close: Close::new(reason, text.as_deref()),
        is_answered,
    })
}

/// The error for a Close of the server.
pub(crate) fn closed_by_server(phase: Phase, close: Close) -> Error {
    let info = close
        .diagnostic_information
        .map(|text| text.to_string_lossy().into_owned());
    Error::ProtocolClosed {
        phase,
        reason: close.close_reason,
        info: info.filter(|text| !text.is_empty()),
    }
}

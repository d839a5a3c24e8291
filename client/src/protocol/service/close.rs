//! Close: how a session ends, and with which words to the other side (Z39.50-2003 §3.2.11).
//! Version 2 has no Close: there the transport connection just ends.

use z3950_asn1::apdu::{Close, CloseReason, OtherInformation};
use z3950_asn1::oid::Oid;

use crate::error::{Cause, Error, Phase};

/// What to say at the end. By default that the session is finished.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CloseOptions {
    /// Why the session ends.
    pub reason: CloseReason,
    /// A word on it for the server's log.
    pub info: Option<String>,
    /// The format in which the server may say what the session has cost.
    pub report_format: Option<Oid>,
    /// Whatever else the server is to know.
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
    /// The request that these options make.
    pub fn request(&self) -> Close {
        Close {
            resource_report_format: self.report_format,
            other_info: self.other_info.clone(),
            ..Close::new(self.reason, self.info.as_deref())
        }
    }
}

/// What is said and awaited before the connection ends.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Farewell {
    /// The Close to send.
    pub(crate) close: Close,
    /// Whether the server's own Close is waited for.
    pub(crate) is_answered: bool,
}

/// The farewell of a version 3 session: without an error it ends from this side, with these words if there are any.
///
/// `None` is the answer where nothing is said: the connection is gone, or an APDU would not be understood.
pub(crate) fn farewell(error: Option<&Error>, words: Option<&Close>) -> Option<Farewell> {
    let (reason, text, is_answered) = match error {
        None => {
            return Some(Farewell {
                close: words.map_or_else(|| CloseOptions::default().request(), Close::clone),
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

/// The error that a server's Close means; a reason outside the standard's is kept as it came.
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

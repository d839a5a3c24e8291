//! Close: how a session ends, and with which words to the other side (Z39.50-2003 §3.2.11).
//! Version 2 has no Close: there the transport connection just ends.

use z3950_asn1::apdu::{Close, CloseReason};

use crate::error::{Cause, Error, Phase};

/// What is said and awaited before the connection ends.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Farewell {
    /// The Close to send.
    pub(crate) close: Close,
    /// Whether the server's own Close is waited for.
    pub(crate) is_answered: bool,
}

/// The farewell of a version 3 session: `None` ends it from this side, an error says what ended it.
///
/// `None` is the answer where nothing is said: the connection is gone, or an APDU would not be understood.
pub(crate) fn farewell(error: Option<&Error>) -> Option<Farewell> {
    let (reason, text, is_answered) = match error {
        None => (CloseReason::FINISHED, None, true),
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

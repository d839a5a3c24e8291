//! Close `[48]`: ends a session, and may be sent by either side (Z39.50-2003 §3.2.11).

use super::{External, OtherInformation, ReferenceId};
use crate::oid::Oid;
use crate::production::productions;
use crate::types::InternationalString;

productions! {
    /// The end of a session. The other side answers with its own Close.
    #[derive(Default)]
    pub struct Close {
        reference_id: Option<ReferenceId>,
        close_reason: CloseReason,
        [3] diagnostic_information: Option<InternationalString>,
        [4] resource_report_format: Option<Oid>,
        [explicit 5] resource_report: Option<External>,
        other_info: Option<OtherInformation>,
    }

    /// The reason why a session ends.
    [211] pub integer CloseReason {
        FINISHED = 0 "finished", SHUTDOWN = 1 "shutdown", SYSTEM_PROBLEM = 2 "systemProblem",
        COST_LIMIT = 3 "costLimit", RESOURCES = 4 "resources", SECURITY_VIOLATION = 5 "securityViolation",
        PROTOCOL_ERROR = 6 "protocolError", LACK_OF_ACTIVITY = 7 "lackOfActivity",
        PEER_ABORT = 8 "peerAbort", UNSPECIFIED = 9 "unspecified",
    }
}

impl Close {
    /// Creates a Close with its reason and an optional message for the peer's log.
    pub fn new(close_reason: CloseReason, diagnostic_information: Option<&str>) -> Self {
        Self {
            close_reason,
            diagnostic_information: diagnostic_information.map(InternationalString::from),
            ..Self::default()
        }
    }
}

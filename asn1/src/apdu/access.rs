//! Access control: AccessControlRequest `[28]`, AccessControlResponse `[29]` (Z39.50-2003 §3.2.5).

use super::{DiagRec, External, OtherInformation, ReferenceId};
use crate::describe::redacted;
use crate::optional::OptionalChoice;
use crate::production::productions;
use crate::types::OctetString;

productions! {
    /// A challenge from the server.
    pub struct AccessControlRequest {
        reference_id: Option<ReferenceId>,
        security_challenge: SecurityChallenge,
        other_info: Option<OtherInformation>,
    }

    /// The challenge in an AccessControlRequest.
    pub enum SecurityChallenge {
        [37] SimpleForm(OctetString),
        [explicit 0] ExternallyDefined(External),
    }

    /// The client's answer to a challenge, or an error in its place.
    pub struct AccessControlResponse {
        reference_id: Option<ReferenceId>,
        security_challenge_response: OptionalChoice<SecurityChallengeResponse>,
        [223] diagnostic: Option<DiagRec>,
        other_info: Option<OtherInformation>,
    }
}

redacted! {
    /// The answer to the challenge, which `Debug` never shows.
    pub enum SecurityChallengeResponse {
        [38] SimpleForm(OctetString),
        [explicit 0] ExternallyDefined(External),
    }
}

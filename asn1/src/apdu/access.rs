//! Access control: AccessControlRequest `[28]`, AccessControlResponse `[29]` (Z39.50-2003 §3.2.5).

use rasn::prelude::*;

use super::{DiagRec, External, OtherInformation, ReferenceId};
use crate::describe::redacted;
use crate::optional::OptionalChoice;
use crate::types::{OctetString, production};

production! {
    /// A challenge from the server.
    pub struct AccessControlRequest {
        reference_id: Option<ReferenceId>,
        security_challenge: SecurityChallenge,
        other_info: Option<OtherInformation>,
    }
}

production! {
    /// The challenge itself.
    pub enum SecurityChallenge {
        #[rasn(tag(37))] SimpleForm(OctetString),
        #[rasn(tag(explicit(0)))] ExternallyDefined(External),
    }
}

production! {
    /// The client's answer to a challenge, or its refusal.
    pub struct AccessControlResponse {
        reference_id: Option<ReferenceId>,
        security_challenge_response: OptionalChoice<SecurityChallengeResponse>,
        #[rasn(tag(223))] diagnostic: Option<DiagRec>,
        other_info: Option<OtherInformation>,
    }
}

/// The answer; never shown by Debug.
#[derive(AsnType, Decode, Encode, Clone, PartialEq)]
#[rasn(choice)]
pub enum SecurityChallengeResponse {
    #[rasn(tag(38))]
    SimpleForm(OctetString),
    #[rasn(tag(explicit(0)))]
    ExternallyDefined(External),
}

redacted!(SecurityChallengeResponse);

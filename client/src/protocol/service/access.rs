//! Access control: the server challenges the client (Z39.50-2003 §3.2.5). The session's [`AccessControl`] handler
//! responds. Without a handler, the session refuses the challenge.

use z3950_asn1::apdu::{ExternalValue, SecurityChallenge, SecurityChallengeResponse};
use z3950_asn1::error::EncodeError;
use z3950_asn1::format::prompt1::{Answer, Prompt, PromptObject};

use super::Handler;
use crate::error::Phase;

/// A challenge from the server.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Challenge {
    /// The operation to which the challenge belongs, or [`Phase::Idle`] if it concerns the session.
    pub phase: Phase,
    /// The challenge itself: plain octets, or a format such as prompt-1.
    pub challenge: SecurityChallenge,
}

impl Challenge {
    /// Creates a challenge during the operation `phase`.
    pub fn new(phase: Phase, challenge: SecurityChallenge) -> Self {
        Self { phase, challenge }
    }

    /// Returns the prompts of a challenge in the format prompt-1, or `None` if the challenge has a different format.
    pub fn prompts(&self) -> Option<Vec<Prompt>> {
        let SecurityChallenge::ExternallyDefined(external) = &self.challenge else {
            return None;
        };
        match PromptObject::from_external(external) {
            Ok(PromptObject::Challenge(prompts)) => Some(prompts),
            _ => None,
        }
    }
}

/// Builds the response to [`Challenge::prompts`].
///
/// # Errors
/// Fails only if BER cannot encode a value.
pub fn answer_prompts(answers: Vec<Answer>) -> Result<SecurityChallengeResponse, EncodeError> {
    let external = PromptObject::Response(answers).to_external()?;
    Ok(SecurityChallengeResponse::ExternallyDefined(external))
}

/// A handler that responds to challenges; see [`SessionOptions`](crate::session::SessionOptions). If it returns `None`,
/// the client refuses the challenge, which ends the operation with
/// [`Error::AccessRefused`](crate::Error::AccessRefused). In version 2, it also ends the session.
pub type AccessControl = dyn Handler<Challenge, Option<SecurityChallengeResponse>>;

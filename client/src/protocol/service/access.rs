//! Access control: the server wants to know who is there before it goes on (Z39.50-2003 §3.2.5).
//! A session asks the [`AccessControl`] it was given; without one it refuses.

use z3950_asn1::apdu::{ExternalValue, SecurityChallenge, SecurityChallengeResponse};
use z3950_asn1::error::EncodeError;
use z3950_asn1::format::prompt1::{Answer, Prompt, PromptObject};

use crate::error::Phase;
use crate::transport::BoxFuture;

/// A challenge of the server.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Challenge {
    /// The operation it is part of; [`Phase::Idle`] if it is about the session.
    pub phase: Phase,
    /// What the server sent: plain octets, or a form such as prompt-1.
    pub challenge: SecurityChallenge,
}

impl Challenge {
    /// What the server asks in the course of the operation `phase`.
    pub fn new(phase: Phase, challenge: SecurityChallenge) -> Self {
        Self { phase, challenge }
    }

    /// The prompts, where the challenge is in the form prompt-1.
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

/// The response to [`Challenge::prompts`].
///
/// # Errors
/// Only for values that no BER can carry.
pub fn answer_prompts(answers: Vec<Answer>) -> Result<SecurityChallengeResponse, EncodeError> {
    let external = PromptObject::Response(answers).to_external()?;
    Ok(SecurityChallengeResponse::ExternallyDefined(external))
}

/// Answers challenges, given to a session in [`SessionOptions`](crate::session::SessionOptions).
///
/// A closure that takes a [`Challenge`] and returns the response is one, if it need not wait for anything.
pub trait AccessControl: Send + Sync {
    /// The response to a challenge; `None` refuses it, which ends the operation with
    /// [`Error::AccessRefused`](crate::Error::AccessRefused), in version 2 the session.
    ///
    /// The server's answer is waited for anew afterwards; only [`Timeouts::deadline`](crate::Timeouts::deadline) passes
    /// meanwhile.
    fn respond(&self, challenge: Challenge) -> BoxFuture<'_, Option<SecurityChallengeResponse>>;
}

impl<F> AccessControl for F
where
    F: Fn(Challenge) -> Option<SecurityChallengeResponse> + Send + Sync,
{
    fn respond(&self, challenge: Challenge) -> BoxFuture<'_, Option<SecurityChallengeResponse>> {
        Box::pin(std::future::ready(self(challenge)))
    }
}

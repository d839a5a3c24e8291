//! Access control (Z39.50-2003 §3.2.5): a client that sent no credentials at Init is asked for them before its first operation,
//! by a simple challenge or by prompts (prompt-1, Appendix ACC.1).

use std::net::IpAddr;

use z3950_asn1::apdu::{
    AccessControlRequest, AccessControlResponse, Apdu, ExternalValue, Options, SecurityChallenge,
    SecurityChallengeResponse,
};
use z3950_asn1::format::prompt1::{
    Answer, Prompt, PromptId, PromptObject, PromptResponse, PromptType,
};

use crate::access::{Challenge, Credentials};
use crate::association::Association;
use crate::diagnostic::{Condition, Diagnostic, diagnostic};
use crate::guesses::Penalty;
use crate::logins::Proof;
use crate::target::UserPermit;

/// Returns the request for credentials.
///
/// # Errors
/// Condition 102 if access control is not in effect.
pub(crate) fn challenge(association: &Association) -> Result<Apdu, Diagnostic> {
    let form = association.target.access.challenge.as_ref();
    let agreed = association.terms.options.contains(Options::ACCESS_CONTROL);
    let challenge = form.filter(|_| agreed).and_then(security_challenge);
    let cannot = || diagnostic(Condition::CANNOT_CHALLENGE, "");
    let challenge = AccessControlRequest {
        reference_id: None,
        security_challenge: challenge.ok_or_else(cannot)?,
        other_info: None,
    };
    Ok(challenge.into())
}

/// Checks the credentials in the client's answer, and sets the penalty for a wrong password. After valid credentials, the client
/// is not asked again.
///
/// # Errors
/// Condition 101 for missing or wrong credentials, 1015 if the user has the maximum number of sessions.
pub(crate) fn prove(
    association: &Association,
    peer: Option<IpAddr>,
    response: &AccessControlResponse,
    proof: Proof,
    penalty: &mut Penalty,
) -> Result<(), Diagnostic> {
    let refused = || diagnostic(Condition::ACCESS_CONTROL_FAILURE, "");
    let target = &association.target;
    with_credentials(response, |_| ()).ok_or_else(refused)?;
    let (proved, due) = target.logins.judge(peer, &target.limits, proof);
    *penalty = due;
    let permit = UserPermit::take(target, proved.map_err(|_| refused())?);
    let full = || diagnostic(Condition::TOO_MANY_SESSIONS, "");
    association.set_permit(permit.ok_or_else(full)?);
    Ok(())
}

/// Passes the credentials in the client's answer to a function; returns `None` if the answer has none.
pub(crate) fn with_credentials<R>(
    response: &AccessControlResponse,
    take: impl FnOnce(Credentials<'_>) -> R,
) -> Option<R> {
    match response.security_challenge_response.as_ref()? {
        SecurityChallengeResponse::SimpleForm(octets) => {
            Some(take(Credentials::open(octets.as_bytes())))
        }
        SecurityChallengeResponse::ExternallyDefined(external) => {
            let Ok(PromptObject::Response(answers)) = PromptObject::from_external(external) else {
                return None;
            };
            Some(take(Credentials {
                group: answer_to(PromptType::GROUP_ID, &answers),
                user: answer_to(PromptType::USER_ID, &answers).unwrap_or_default(),
                password: answer_to(PromptType::PASSWORD, &answers).unwrap_or_default(),
            }))
        }
    }
}

fn security_challenge(form: &Challenge) -> Option<SecurityChallenge> {
    match form {
        Challenge::Simple(words) => {
            let words = words.clone().into_bytes();
            Some(SecurityChallenge::SimpleForm(words.into()))
        }
        Challenge::Prompts => {
            let prompts = [PromptType::USER_ID, PromptType::PASSWORD];
            let prompts = prompts.map(|asked| Prompt {
                response_required: Some(()),
                ..Prompt::enumerated(asked)
            });
            let external = PromptObject::Challenge(prompts.into()).to_external();
            external.ok().map(SecurityChallenge::ExternallyDefined)
        }
    }
}

fn answer_to(asked: PromptType, answers: &[Answer]) -> Option<&[u8]> {
    let is_asked = |answer: &&Answer| matches!(&answer.prompt_id, PromptId::EnummeratedPrompt(prompt) if prompt.r#type == asked);
    match &answers.iter().find(is_asked)?.prompt_response {
        PromptResponse::String(text) => Some(text.as_bytes()),
        _ => None,
    }
}

//! Asks for credentials: access control (Z39.50-2003 §3.2.5), in the format prompt-1 (Appendix ACC.1) or as plain text.
//! Secrets are not echoed.

use z3950::error::Phase;
use z3950::service::access::{Challenge, answer_prompts};
use z3950_asn1::apdu::{SecurityChallenge, SecurityChallengeResponse};
use z3950_asn1::format::prompt1::{
    Answer, Prompt, PromptId, PromptInfo, PromptResponse, PromptType,
};

use super::Person;
use crate::render::{shown, text_of};

/// The maximum number of questions in one challenge.
const MAX_PROMPTS: usize = 32;

/// The maximum number of times that a question is repeated after an unsuitable answer.
const MAX_TRIES: usize = 3;

/// Asks the user for the answers to a challenge, and returns the response; `None` if the challenge is refused.
pub(super) fn response(
    challenge: &Challenge,
    person: &mut dyn Person,
) -> Option<SecurityChallengeResponse> {
    let operation = match challenge.phase {
        Phase::Idle => String::new(),
        phase => format!(" before it goes on with {phase}"),
    };
    person.show_message(&format!("the server asks for your credentials{operation}"));
    if let Some(prompts) = challenge.prompts() {
        if prompts.len() > MAX_PROMPTS {
            person.show_message(&format!("it asks more than {MAX_PROMPTS} questions"));
            return None;
        }
        let mut answers = Vec::new();
        for prompt in prompts {
            if let Some(prompt_response) = answer(&prompt, person)? {
                answers.push(Answer {
                    prompt_id: prompt.prompt_id,
                    prompt_response,
                });
            }
        }
        return answer_prompts(answers).ok();
    }
    let SecurityChallenge::SimpleForm(words) = &challenge.challenge else {
        person.show_message("it asks in an unknown form");
        return None;
    };
    // The answer often has the form user/password, so it is not echoed.
    let prompt = format!("{} (not shown): ", shown(words.as_bytes()));
    let text = person.answers(&prompt, true)?;
    Some(SecurityChallengeResponse::SimpleForm(text.as_str().into()))
}

/// Returns the answer to one prompt. `None` refuses the complete challenge, and `Some(None)` omits this answer.
fn answer(prompt: &Prompt, person: &mut dyn Person) -> Option<Option<PromptResponse>> {
    match &prompt.prompt_info {
        Some(PromptInfo::Encrypted(_)) => {
            person.show_message("it requires an encrypted answer, which this program cannot give");
            return None;
        }
        Some(PromptInfo::Character(text)) => person.show_message(&shown(text.as_bytes())),
        None => {}
    }
    let kind = match &prompt.prompt_id {
        PromptId::EnummeratedPrompt(prompt) => Some(prompt.r#type),
        PromptId::NonEnumeratedPrompt(_) => None,
    };
    if kind == Some(PromptType::COPYRIGHT) {
        let text = person.answers("do you accept these terms? [y/n]: ", false)?;
        let accepts = text.trim().to_ascii_lowercase().starts_with('y');
        return Some(Some(PromptResponse::Accept(accepts)));
    }
    let allowed: Vec<String> = prompt
        .allowed_values
        .iter()
        .flatten()
        .map(text_of)
        .collect();
    if !allowed.is_empty() {
        person.show_message(&format!("one of: {}", allowed.join(", ")));
    }
    let default = prompt.default_response.as_ref().map(text_of);
    let words = words_of(prompt);
    let is_secret = match kind {
        Some(kind) => matches!(kind, PromptType::PASSWORD | PromptType::NEW_PASSWORD),
        // If the prompt has no type, the words in its text decide whether the answer is secret.
        None => ["password", "passwd", "pin", "secret"]
            .iter()
            .any(|secret| words.to_lowercase().contains(secret)),
    };
    let asked = match &default {
        Some(default) if !is_secret => format!("{words} [{default}]: "),
        _ => format!("{words}: "),
    };
    for _ in 0..MAX_TRIES {
        let mut text = person.answers(&asked, is_secret)?;
        if text.is_empty() {
            match &default {
                Some(default) => text.clone_from(default),
                None if prompt.response_required.is_none() => return Some(None),
                None => {
                    person.show_message("an answer is needed; Ctrl-C gives none");
                    continue;
                }
            }
        }
        if !allowed.is_empty() && !allowed.contains(&text) {
            person.show_message("not one of the choices");
            continue;
        }
        if kind == Some(PromptType::NEW_PASSWORD)
            && person.answers(&format!("{words} once more: "), true)? != text
        {
            person.show_message("the two are not the same");
            continue;
        }
        return Some(Some(PromptResponse::String(text.as_str().into())));
    }
    None
}

/// Returns the text of a prompt, as sent by the server or defined by the standard.
fn words_of(prompt: &Prompt) -> String {
    match &prompt.prompt_id {
        PromptId::NonEnumeratedPrompt(words) => text_of(words),
        PromptId::EnummeratedPrompt(prompt) => match (&prompt.suggested_string, prompt.r#type) {
            (Some(words), _) => text_of(words),
            (None, PromptType::GROUP_ID) => "group".into(),
            (None, PromptType::USER_ID) => "user".into(),
            (None, PromptType::PASSWORD) => "password".into(),
            (None, PromptType::NEW_PASSWORD) => "new password".into(),
            (None, PromptType::SESSION_ID) => "session".into(),
            (None, other) => format!("answer to prompt {other:?}"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Scripted;
    use super::*;
    use z3950_asn1::apdu::ExternalValue;
    use z3950_asn1::format::prompt1::PromptObject;

    fn ask(challenge: SecurityChallenge, lines: &[&'static str]) -> (Option<Vec<u8>>, Vec<String>) {
        let mut person = Scripted {
            lines: lines.to_vec(),
            seen: Vec::new(),
        };
        let challenge = Challenge::new(Phase::Search, challenge);
        let response = super::response(&challenge, &mut person);
        let octets = response.map(|response| match response {
            SecurityChallengeResponse::SimpleForm(octets) => octets.as_bytes().to_vec(),
            SecurityChallengeResponse::ExternallyDefined(external) => {
                let Ok(PromptObject::Response(answers)) = PromptObject::from_external(&external)
                else {
                    panic!("answers to prompts");
                };
                let answers = answers.iter().map(|answer| match &answer.prompt_response {
                    PromptResponse::String(text) => text.to_string_lossy().into_owned(),
                    PromptResponse::Accept(accepts) => accepts.to_string(),
                    _ => "?".into(),
                });
                answers.collect::<Vec<_>>().join("|").into_bytes()
            }
        });
        (octets, person.seen)
    }

    fn prompts(prompts: Vec<Prompt>) -> SecurityChallenge {
        let external = PromptObject::Challenge(prompts).to_external();
        SecurityChallenge::ExternallyDefined(external.expect("encodes"))
    }

    #[test]
    fn plain_text_challenges_are_asked_without_echo() {
        let challenge = || SecurityChallenge::SimpleForm(b"user/pass\x1b".as_slice().into());
        let (answer, seen) = ask(challenge(), &["ada/secret"]);
        assert_eq!(answer.as_deref(), Some(&b"ada/secret"[..]));
        assert_eq!(
            seen,
            [
                "the server asks for your credentials before it goes on with Search",
                "*user/pass\\x1b (not shown): "
            ]
        );
        assert_eq!(ask(challenge(), &[]).0, None);
    }

    #[test]
    fn prompts_are_asked_one_by_one() {
        let required = |r#type| Prompt {
            response_required: Some(()),
            ..Prompt::enumerated(r#type)
        };
        let named = |words: &str| Prompt {
            prompt_id: PromptId::NonEnumeratedPrompt(words.into()),
            ..required(PromptType::USER_ID)
        };
        let with_default = Prompt {
            default_response: Some("guest".into()),
            ..required(PromptType::USER_ID)
        };
        let choice = Prompt {
            allowed_values: Some(vec!["a".into(), "b".into()]),
            ..named("branch")
        };
        let terms = Prompt {
            prompt_info: Some(PromptInfo::Character("Be nice".into())),
            ..required(PromptType::COPYRIGHT)
        };
        for (asked, lines, expected, last) in [
            (
                vec![
                    required(PromptType::USER_ID),
                    required(PromptType::PASSWORD),
                ],
                &["ada", "secret"][..],
                Some("ada|secret"),
                "*password: ",
            ),
            (
                vec![with_default.clone()],
                &[""],
                Some("guest"),
                "user [guest]: ",
            ),
            (vec![with_default], &["ada"], Some("ada"), "user [guest]: "),
            (
                vec![Prompt::enumerated(PromptType::GROUP_ID)],
                &[""],
                Some(""),
                "group: ",
            ),
            (
                vec![required(PromptType::USER_ID)],
                &["", "", ""],
                None,
                "an answer is needed; Ctrl-C gives none",
            ),
            (vec![required(PromptType::USER_ID)], &[], None, "user: "),
            (vec![choice.clone()], &["c", "b"], Some("b"), "branch: "),
            (
                vec![choice],
                &["c", "c", "c"],
                None,
                "not one of the choices",
            ),
            (vec![named("your PIN")], &["12"], Some("12"), "*your PIN: "),
            (
                vec![terms.clone()],
                &["Yes"],
                Some("true"),
                "do you accept these terms? [y/n]: ",
            ),
            (
                vec![terms],
                &[""],
                Some("false"),
                "do you accept these terms? [y/n]: ",
            ),
            (
                vec![required(PromptType::NEW_PASSWORD)],
                &["x", "y", "x", "x"],
                Some("x"),
                "*new password once more: ",
            ),
        ] {
            let (answer, seen) = ask(prompts(asked), lines);
            assert_eq!(answer.as_deref(), expected.map(str::as_bytes), "{seen:?}");
            assert_eq!(seen.last().map(String::as_str), Some(last));
        }
        let many = vec![required(PromptType::USER_ID); MAX_PROMPTS + 1];
        assert_eq!(ask(prompts(many), &["x"; 40]).0, None);
    }
}

//! What a server asks in the middle of an operation, put to the person at the terminal: who is there (Z39.50-2003 §3.2.5),
//! in the form prompt-1 (Appendix ACC.1) or in the server's own words, and whether to go on with what costs much (§3.2.6).
//! Secrets are not shown as they are typed.

use tokio::sync::{mpsc, oneshot};
use z3950_asn1::apdu::{
    PartialResultsAvailable, SecurityChallenge, SecurityChallengeResponse, StringOrNumeric,
};
use z3950_asn1::format::prompt1::{
    Answer, Prompt, PromptId, PromptInfo, PromptResponse, PromptType,
};
use z3950_asn1::format::resource_report1::{self, EstimateType};
use z3950_asn1::format::resource_report2;
use z3950_asn1::types::InternationalString;

use crate::error::Phase;
use crate::render::shown;
use crate::service::access::{AccessControl, Challenge, answer_prompts};
use crate::service::resource::{Decision, ResourceControl, ResourceQuestion};
use crate::transport::BoxFuture;

/// The most questions put for one challenge.
const MAX_PROMPTS: usize = 32;

/// How often an answer is asked for that does not fit.
const MAX_TRIES: usize = 3;

/// How many questions may wait for the person.
const MAX_WAITING: usize = 8;

/// Somebody who can be asked.
pub(super) trait Person {
    /// Tells something.
    fn hears(&mut self, words: &str);
    /// Asks for a line, shown as it is typed or not; `None` if the person gives none.
    fn answers(&mut self, prompt: &str, is_secret: bool) -> Option<String>;
}

/// A question on its way to the person, and where the answer goes.
pub(crate) enum Question {
    /// Who they are.
    Who(
        Challenge,
        oneshot::Sender<Option<SecurityChallengeResponse>>,
    ),
    /// Whether an operation is to go on, or only what it costs.
    Whether(ResourceQuestion, oneshot::Sender<Decision>),
}

/// Passes questions of sessions on to whoever reads them.
pub(crate) struct Asker(mpsc::Sender<Question>);

/// Both ends of the way that questions go.
pub(crate) fn questions() -> (Asker, mpsc::Receiver<Question>) {
    let (sender, receiver) = mpsc::channel(MAX_WAITING);
    (Asker(sender), receiver)
}

impl AccessControl for Asker {
    fn respond(&self, challenge: Challenge) -> BoxFuture<'_, Option<SecurityChallengeResponse>> {
        Box::pin(async move {
            let (reply, answer) = oneshot::channel();
            self.0.send(Question::Who(challenge, reply)).await.ok()?;
            answer.await.ok()?
        })
    }
}

impl ResourceControl for Asker {
    fn decide(&self, question: ResourceQuestion) -> BoxFuture<'_, Decision> {
        Box::pin(async move {
            let (reply, decision) = oneshot::channel();
            // Where nobody agrees to the cost, nothing goes on; the reply is lost with a question that is not put.
            let _ = self.0.send(Question::Whether(question, reply)).await;
            decision.await.unwrap_or(Decision::STOP)
        })
    }
}

impl Question {
    /// Asks, and lets the session know the answer.
    pub(super) fn put_to(self, person: &mut dyn Person) {
        // The session may have ended meanwhile.
        match self {
            Self::Who(challenge, reply) => {
                let _ = reply.send(answer(&challenge, person));
            }
            Self::Whether(question, reply) => {
                let _ = reply.send(decision(&question, person));
            }
        }
    }
}

/// Whether an operation is to go on, and if not, whether what it has found is wanted. A person who does not answer wants
/// it to end; a report that wants no answer is only told.
fn decision(question: &ResourceQuestion, person: &mut dyn Person) -> Decision {
    let operation = match question.phase {
        Phase::Idle => "the session".to_owned(),
        phase => phase.to_string(),
    };
    let report = report(question).unwrap_or_else(|| "no report in a form known here".into());
    if !question.is_answer_required {
        person.hears(&format!("the server on {operation}: {report}"));
        return Decision::GO_ON;
    }
    person.hears(&format!(
        "the server wants to know whether {operation} is to go on: {report}"
    ));
    let no = |text: &str| text.trim().to_ascii_lowercase().starts_with('n');
    match person.answers("go on? [Y/n]: ", false) {
        Some(text) if !no(&text) => return Decision::GO_ON,
        None => return Decision::STOP,
        Some(_) => {}
    }
    let has_some = question
        .partial_results_available
        .is_some_and(|available| available != PartialResultsAvailable::NONE);
    if question.phase != Phase::Search || !has_some {
        return Decision::STOP;
    }
    let kept = person.answers("keep what it has found? [Y/n]: ", false);
    Decision {
        result_set_wanted: Some(kept.is_some_and(|text| !no(&text))),
        ..Decision::STOP
    }
}

/// What a report says: the server's message, or its figures where it has none.
fn report(question: &ResourceQuestion) -> Option<String> {
    if let Some(report) = question.value::<resource_report1::ResourceReport>() {
        let figures = report.estimates.iter();
        let figures = figures.map(|one| format!("{} {}", one.r#type, one.value));
        return Some(said_or(&report.message, figures.collect()));
    }
    let report = question.value::<resource_report2::ResourceReport>()?;
    let figures = report.estimates.iter().flatten();
    let figures = figures.map(|one| {
        let kind = match &one.r#type {
            StringOrNumeric::String(name) => text_of(name),
            StringOrNumeric::Numeric(number) => EstimateType(*number).to_string(),
        };
        format!("{kind} {}", one.value.value)
    });
    Some(said_or(
        &report.message.unwrap_or_default(),
        figures.collect(),
    ))
}

fn said_or(message: &InternationalString, figures: Vec<String>) -> String {
    match (message.as_bytes(), &*figures) {
        ([], []) => "nothing".into(),
        ([], figures) => figures.join(", "),
        (message, _) => shown(message),
    }
}

/// The response to a challenge; `None` if the person gives none, or nobody could.
fn answer(challenge: &Challenge, person: &mut dyn Person) -> Option<SecurityChallengeResponse> {
    let operation = match challenge.phase {
        Phase::Idle => String::new(),
        phase => format!(" before it goes on with {phase}"),
    };
    person.hears(&format!("the server wants to know who you are{operation}"));
    if let Some(prompts) = challenge.prompts() {
        if prompts.len() > MAX_PROMPTS {
            person.hears(&format!("it asks more than {MAX_PROMPTS} questions"));
            return None;
        }
        let mut answers = Vec::new();
        for prompt in prompts {
            if let Some(prompt_response) = response(&prompt, person)? {
                answers.push(Answer {
                    prompt_id: prompt.prompt_id,
                    prompt_response,
                });
            }
        }
        return answer_prompts(answers).ok();
    }
    let SecurityChallenge::SimpleForm(words) = &challenge.challenge else {
        person.hears("it asks in a form that is not known here");
        return None;
    };
    // What is wanted may be a password, by custom user/password.
    let prompt = format!("{} (not shown): ", shown(words.as_bytes()));
    let text = person.answers(&prompt, true)?;
    Some(SecurityChallengeResponse::SimpleForm(text.as_str().into()))
}

/// The answer to one prompt: `None` to give none at all, `Some(None)` to leave this one out.
fn response(prompt: &Prompt, person: &mut dyn Person) -> Option<Option<PromptResponse>> {
    match &prompt.prompt_info {
        Some(PromptInfo::Encrypted(_)) => {
            person.hears("it wants an answer encrypted, which cannot be done here");
            return None;
        }
        Some(PromptInfo::Character(text)) => person.hears(&shown(text.as_bytes())),
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
        person.hears(&format!("one of: {}", allowed.join(", ")));
    }
    let default = prompt.default_response.as_ref().map(text_of);
    let words = words_of(prompt);
    let is_secret = match kind {
        Some(kind) => matches!(kind, PromptType::PASSWORD | PromptType::NEW_PASSWORD),
        // Rather one answer too many that is not shown.
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
                    person.hears("an answer is needed; Ctrl-C gives none");
                    continue;
                }
            }
        }
        if !allowed.is_empty() && !allowed.contains(&text) {
            person.hears("this is none of them");
            continue;
        }
        if kind == Some(PromptType::NEW_PASSWORD)
            && person.answers(&format!("{words} once more: "), true)? != text
        {
            person.hears("the two are not the same");
            continue;
        }
        return Some(Some(PromptResponse::String(text.as_str().into())));
    }
    None
}

/// What a prompt asks for, in the server's words or those of the standard.
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

fn text_of(text: &InternationalString) -> String {
    shown(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use z3950_asn1::apdu::{External, ExternalValue, IntUnit, Unit};
    use z3950_asn1::format::prompt1::PromptObject;

    /// Types prepared lines, and notes what was asked; `*` marks what is not shown.
    #[derive(Default)]
    struct Scripted {
        lines: Vec<&'static str>,
        seen: Vec<String>,
    }

    impl Person for Scripted {
        fn hears(&mut self, words: &str) {
            self.seen.push(words.to_owned());
        }

        fn answers(&mut self, prompt: &str, is_secret: bool) -> Option<String> {
            let mark = if is_secret { "*" } else { "" };
            self.seen.push(format!("{mark}{prompt}"));
            (!self.lines.is_empty()).then(|| self.lines.remove(0).to_owned())
        }
    }

    fn ask(challenge: SecurityChallenge, lines: &[&'static str]) -> (Option<Vec<u8>>, Vec<String>) {
        let mut person = Scripted {
            lines: lines.to_vec(),
            seen: Vec::new(),
        };
        let challenge = Challenge {
            phase: Phase::Search,
            challenge,
        };
        let response = answer(&challenge, &mut person);
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

    fn question(report: Option<External>, partial: PartialResultsAvailable) -> ResourceQuestion {
        ResourceQuestion {
            phase: Phase::Search,
            is_suspended: Some(true),
            report,
            partial_results_available: Some(partial),
            is_answer_required: true,
            is_triggered: None,
            other_info: None,
        }
    }

    #[test]
    fn a_person_decides_whether_an_operation_goes_on() {
        let keep = Decision {
            result_set_wanted: Some(true),
            ..Decision::STOP
        };
        let [subset, none] = [
            PartialResultsAvailable::SUBSET,
            PartialResultsAvailable::NONE,
        ];
        for (partial, lines, expected) in [
            (subset, &["y"][..], Decision::GO_ON),
            (subset, &[""], Decision::GO_ON),
            (subset, &["No", "y"], keep),
            (subset, &["n", ""], keep),
            (subset, &["n", "n"], Decision::STOP),
            (subset, &["n"], Decision::STOP),
            (none, &["n"], Decision::STOP),
            (subset, &[], Decision::STOP),
        ] {
            let mut person = Scripted {
                lines: lines.to_vec(),
                seen: Vec::new(),
            };
            let asked = question(None, partial);
            assert_eq!(decision(&asked, &mut person), expected, "{lines:?}");
            assert_eq!(
                person.seen.first().map(String::as_str),
                Some(
                    "the server wants to know whether Search is to go on: no report in a form known here"
                )
            );
            assert_eq!(person.lines, [""; 0], "all was asked: {:?}", person.seen);
        }
    }

    #[test]
    fn reports_are_told_in_the_servers_words_or_figures() {
        let first = |message: &str, estimates: &[(EstimateType, i64)]| {
            let estimate = |&(r#type, value): &(EstimateType, i64)| resource_report1::Estimate {
                r#type,
                value,
                currency_code: None,
            };
            let report = resource_report1::ResourceReport {
                estimates: estimates.iter().map(estimate).collect(),
                message: message.into(),
            };
            report.to_external().expect("encodes")
        };
        let figures = [
            (EstimateType::FINAL_SEARCH_RECORDS, 5),
            (EstimateType::PERCENT_COMPLETE, 40),
        ];
        let second = resource_report2::ResourceReport {
            estimates: Some(vec![resource_report2::Estimate {
                r#type: StringOrNumeric::Numeric(2),
                value: IntUnit {
                    value: 5,
                    unit_used: Unit::default(),
                },
            }]),
            message: None,
        };
        for (report, words) in [
            (first("5 found\x1b", &figures), "5 found\\x1b"),
            (
                first("", &figures),
                "finalSearchRecords 5, percentComplete 40",
            ),
            (first("", &[]), "nothing"),
            (
                second.to_external().expect("encodes"),
                "finalSearchRecords 5",
            ),
        ] {
            let mut person = Scripted::default();
            let told = ResourceQuestion {
                is_answer_required: false,
                ..question(Some(report), PartialResultsAvailable::NONE)
            };
            assert_eq!(decision(&told, &mut person), Decision::GO_ON);
            assert_eq!(person.seen, [format!("the server on Search: {words}")]);
        }
    }

    fn prompts(prompts: Vec<Prompt>) -> SecurityChallenge {
        let external = PromptObject::Challenge(prompts).to_external();
        SecurityChallenge::ExternallyDefined(external.expect("encodes"))
    }

    #[test]
    fn words_of_the_servers_own_are_asked_without_echo() {
        let challenge = || SecurityChallenge::SimpleForm(b"user/pass\x1b".as_slice().into());
        let (answer, seen) = ask(challenge(), &["ada/secret"]);
        assert_eq!(answer.as_deref(), Some(&b"ada/secret"[..]));
        assert_eq!(
            seen,
            [
                "the server wants to know who you are before it goes on with Search",
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
            (vec![choice], &["c", "c", "c"], None, "this is none of them"),
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

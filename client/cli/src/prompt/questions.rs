//! Questions that a server asks the user at the terminal during an operation: access control (Z39.50-2003 §3.2.5) and
//! resource control (§3.2.6).

mod access;
mod resource;

use tokio::sync::{mpsc, oneshot};
use z3950::service::Handler;
use z3950::service::access::Challenge;
use z3950::service::resource::{Decision, ResourceQuestion};
use z3950::transport::BoxFuture;
use z3950_asn1::apdu::SecurityChallengeResponse;

use crate::console::pages::{GoOn, PageReader};

/// The maximum number of questions that wait for the user.
const MAX_WAITING: usize = 8;

/// A user who can be asked questions.
pub(super) trait Person {
    /// Shows a message to the user.
    fn show_message(&mut self, words: &str);
    /// Asks the user for a line, without echo if the answer is secret. Returns `None` if the user gives no answer.
    fn answers(&mut self, prompt: &str, is_secret: bool) -> Option<String>;
    /// Asks whether to continue after a page. Any answer that is not a choice is treated as the next command.
    fn turns_page(&mut self, prompt: &str) -> GoOn;
}

/// A question for the user, with the channel for its answer.
pub(crate) enum Question {
    /// A request for credentials (access control).
    Access(
        Challenge,
        oneshot::Sender<Option<SecurityChallengeResponse>>,
    ),
    /// A report on an operation (resource control), which may ask whether to continue it.
    Resource(ResourceQuestion, oneshot::Sender<Decision>),
    /// The program's own question, which asks whether to continue after a page. The text describes the end of the page,
    /// such as `3 of 17`.
    More(String, oneshot::Sender<GoOn>),
}

/// Sends questions from sessions to the prompt.
pub(crate) struct Prompter(mpsc::Sender<Question>);

/// Creates a channel for questions.
pub(super) fn channel() -> (Prompter, mpsc::Receiver<Question>) {
    let (sender, receiver) = mpsc::channel(MAX_WAITING);
    (Prompter(sender), receiver)
}

impl Prompter {
    /// Returns the answer to a question; `None` if the question cannot be asked or the prompt has ended.
    async fn ask<T>(&self, question: impl FnOnce(oneshot::Sender<T>) -> Question) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.0.send(question(reply)).await.ok()?;
        answer.await.ok()
    }
}

impl Handler<Challenge, Option<SecurityChallengeResponse>> for Prompter {
    fn answer(&self, challenge: Challenge) -> BoxFuture<'_, Option<SecurityChallengeResponse>> {
        let response = self.ask(|reply| Question::Access(challenge, reply));
        Box::pin(async move { response.await.flatten() })
    }
}

impl Handler<ResourceQuestion, Decision> for Prompter {
    fn answer(&self, question: ResourceQuestion) -> BoxFuture<'_, Decision> {
        let decision = self.ask(|reply| Question::Resource(question, reply));
        Box::pin(async move { decision.await.unwrap_or(Decision::STOP) })
    }
}

/// Answers questions from servers in a script, where no user can be asked. Every operation is continued, and a warning
/// about this is logged.
pub(crate) struct ScriptPrompter;

impl Handler<ResourceQuestion, Decision> for ScriptPrompter {
    fn answer(&self, question: ResourceQuestion) -> BoxFuture<'_, Decision> {
        if question.request.response_required {
            let words = resource::in_words(&question);
            tracing::warn!("{words}; a script cannot be asked, so it continues");
        }
        Box::pin(std::future::ready(Decision::GO_ON))
    }
}

impl PageReader for Prompter {
    fn goes_on<'a>(&'a self, last: &'a str) -> BoxFuture<'a, GoOn> {
        let answer = self.ask(|reply| Question::More(last.to_owned(), reply));
        Box::pin(async move { answer.await.unwrap_or(GoOn::Stop) })
    }
}

impl Question {
    /// Asks the user, and sends the answer to the session.
    pub(super) fn put_to(self, person: &mut dyn Person) {
        // The result of sending is ignored, since the session may have ended.
        match self {
            Self::Access(challenge, reply) => {
                let _ = reply.send(access::response(&challenge, person));
            }
            Self::Resource(question, reply) => {
                let _ = reply.send(resource::decision(&question, person));
            }
            Self::More(last, reply) => {
                let prompt = format!("{last}; Enter shows more, a all, q stops: ");
                let _ = reply.send(person.turns_page(&prompt));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A user for tests, who answers with prepared lines and records the questions. `*` marks a question whose answer
    /// is secret.
    #[derive(Default)]
    pub(super) struct Scripted {
        pub(super) lines: Vec<&'static str>,
        pub(super) seen: Vec<String>,
    }

    impl Person for Scripted {
        fn show_message(&mut self, words: &str) {
            self.seen.push(words.to_owned());
        }

        fn answers(&mut self, prompt: &str, is_secret: bool) -> Option<String> {
            let mark = if is_secret { "*" } else { "" };
            self.seen.push(format!("{mark}{prompt}"));
            (!self.lines.is_empty()).then(|| self.lines.remove(0).to_owned())
        }

        fn turns_page(&mut self, prompt: &str) -> GoOn {
            let line = self.answers(prompt, false);
            line.and_then(|line| GoOn::by_keys(line.as_bytes()))
                .unwrap_or(GoOn::Stop)
        }
    }
}

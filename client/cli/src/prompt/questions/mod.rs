//! What a server asks in the middle of an operation, put to the person at the terminal: who is there (Z39.50-2003 §3.2.5)
//! and whether to go on with what costs much (§3.2.6).

mod whether;
mod who;

use tokio::sync::{mpsc, oneshot};
use z3950::service::access::{AccessControl, Challenge};
use z3950::service::resource::{Decision, ResourceControl, ResourceQuestion};
use z3950::transport::BoxFuture;
use z3950_asn1::apdu::SecurityChallengeResponse;
use z3950_asn1::types::InternationalString;

use crate::render::shown;

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
                let _ = reply.send(who::response(&challenge, person));
            }
            Self::Whether(question, reply) => {
                let _ = reply.send(whether::decision(&question, person));
            }
        }
    }
}

/// What a server wrote, safe to show.
fn text_of(text: &InternationalString) -> String {
    shown(text.to_string_lossy().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Types prepared lines, and notes what was asked; `*` marks what is not shown.
    #[derive(Default)]
    pub(super) struct Scripted {
        pub(super) lines: Vec<&'static str>,
        pub(super) seen: Vec<String>,
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
}

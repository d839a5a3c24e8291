//! `z3950 probe`: what a server is and does, found out by trying one thing at a time (Z39.50-2003 §3.2), slowly enough not
//! to be a burden to it, with one more connection for a line at most.

mod options;
mod perform;
mod trial;

use std::time::Duration;

use tokio::time::timeout;
use z3950::error::{Error, ProtocolFault};
use z3950::retrieve::OutcomeName;
use z3950::service::init::ServerInfo;
use z3950::session::Session;

use self::perform::{Attempts, Untold};
use self::trial::Trial;
use crate::args::Probe;
use crate::commands::target::{Reach, Unanswered};
use crate::console::envelope::Envelope;
use crate::console::exit::Exit;
use crate::console::interrupt::{Interrupt, Stopped};
use crate::console::output::{Failure, Output};
use crate::render::shown;

pub(crate) async fn run(arguments: &Probe, output: &mut Output) -> Result<Exit, Failure> {
    let reach = Reach::new(&arguments.connection).await?;
    let Some(place) = reach.place(&arguments.target, &arguments.databases, output) else {
        return Ok(Exit::Usage);
    };
    let mut probing = Probing {
        attempts: Attempts::new(arguments, &reach, &place),
        output,
    };
    match Interrupt.or(probing.all()).await {
        Ok(exit) => exit,
        Err(Stopped(exit)) => Ok(exit),
    }
}

struct Probing<'a> {
    attempts: Attempts<'a>,
    output: &'a mut Output,
}

impl Probing<'_> {
    async fn all(&mut self) -> Result<Exit, Failure> {
        let mut session = match self.attempts.session().await {
            Ok(session) => session,
            Err(failure) => return self.unreachable(&failure),
        };
        self.server(session.server_info())?;
        for trial in Trial::all() {
            self.attempts.pause().await;
            // A server that hangs up is called again once for the next thing.
            if !trial.is_apart() && !is_open(&session).await {
                session = match self.attempts.session().await {
                    Ok(session) => session,
                    Err(failure) => return self.unreachable(&failure),
                };
            }
            let told = self.attempts.perform(&session, &trial).await;
            self.line(&trial.name(), told)?;
        }
        // What ended otherwise need not be closed.
        let _ = session.close().await;
        Ok(Exit::Delivered)
    }

    fn unreachable(&mut self, failure: &Unanswered) -> Result<Exit, Failure> {
        let (exit, words) = failure.explain();
        let place = self.attempts.place;
        match self.attempts.arguments.json {
            true => self.envelope("Init").failed(failure).write(self.output)?,
            false => self.output.error(&format!("{place}: {words}")),
        }
        Ok(exit)
    }

    fn envelope(&self, tried: &str) -> Envelope {
        Envelope::of(self.attempts.place, &["tried", "detail"]).with("tried", tried)
    }

    /// What the server says of itself at Init.
    fn server(&mut self, server: &ServerInfo) -> Result<(), Failure> {
        let text = |words: &Option<String>| {
            let words = words.as_deref().unwrap_or("-");
            shown(words.as_bytes())
        };
        let versions: Vec<String> = (1..=3_u8)
            .filter(|version| server.versions.0.contains(version - 1))
            .map(|version| version.to_string())
            .collect();
        let granted: Vec<&str> = server.granted.names().collect();
        for (name, detail) in [
            (
                "Init",
                format!("version {} of {}", server.version, versions.join(" ")),
            ),
            (
                "preferredMessageSize",
                server.preferred_message_size.to_string(),
            ),
            (
                "exceptionalRecordSize",
                server.exceptional_record_size.to_string(),
            ),
            ("implementationId", text(&server.implementation_id)),
            ("implementationName", text(&server.implementation_name)),
            (
                "implementationVersion",
                text(&server.implementation_version),
            ),
            ("options", granted.join(" ")),
        ] {
            self.say(name, OutcomeName::Ok, &detail, None)?;
        }
        for words in &server.text {
            self.say("Init text", OutcomeName::Ok, &shown(words.as_bytes()), None)?;
        }
        if !server.diagnostics.is_empty() {
            let words = server.diagnostics.to_string();
            self.say("Init diagnostics", OutcomeName::Diagnostic, &words, None)?;
        }
        Ok(())
    }

    /// What came of a trial in words.
    fn line(&mut self, name: &str, told: Result<String, Untold>) -> Result<(), Failure> {
        let failure = match told {
            Ok(detail) => return self.say(name, OutcomeName::Ok, &detail, None),
            Err(Untold::NotGranted(option)) => {
                let words = format!("{option} was not granted at Init");
                return self.say(name, OutcomeName::NotGranted, &words, None);
            }
            Err(Untold::NotTried(why)) => return self.say(name, OutcomeName::NotTried, why, None),
            Err(Untold::Failed(failure)) => failure,
        };
        match &failure {
            Unanswered::Session(error @ Error::Refused { diagnostics, .. }) => self.say(
                name,
                OutcomeName::Diagnostic,
                &diagnostics.to_string(),
                Some(error),
            ),
            Unanswered::Session(
                error @ Error::ProtocolError {
                    fault: ProtocolFault::NotGranted(_),
                    ..
                },
            ) => self.say(
                name,
                OutcomeName::NotGranted,
                &failure.explain().1,
                Some(error),
            ),
            Unanswered::Session(error) => self.say(
                name,
                OutcomeName::Dropped,
                &failure.explain().1,
                Some(error),
            ),
            _ => self.say(name, OutcomeName::NotTried, &failure.explain().1, None),
        }
    }

    fn say(
        &mut self,
        name: &str,
        outcome: OutcomeName,
        detail: &str,
        error: Option<&Error>,
    ) -> Result<(), Failure> {
        if self.attempts.arguments.json {
            let diagnostics = error.map_or(&[][..], Error::diagnostics);
            return self
                .envelope(name)
                .with("outcome", outcome.as_str())
                .with("detail", detail)
                .diagnosed(diagnostics)
                .write(self.output);
        }
        self.output.line(&format!(
            "{name:<28} {outcome:<12} {}",
            shown(detail.as_bytes())
        ))
    }
}

/// Whether a session is still open, once what the server may have sent behind its last answer has been seen.
async fn is_open(session: &Session) -> bool {
    // The end of a connection is noticed by the task behind the session, which needs its turn.
    timeout(Duration::from_millis(1), session.ended())
        .await
        .is_err()
        && session.is_open()
}

//! `z3950 probe`: tries the features of a server one at a time (Z39.50-2003 §3.2). To limit the load on the server, it
//! pauses between requests, and makes at most one additional connection for each line of its output. With
//! `--conformance`, judges the server by the standards.

mod conformance;
mod options;
mod perform;

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tokio::time::timeout;
use z3950::error::{Error, ProtocolFault};
use z3950::retrieve::OutcomeName;
use z3950::service::init::ServerInfo;
use z3950::session::Session;

use self::conformance::Conformance;
use self::perform::{Attempts, NoResult, Trial};
use crate::answer::Envelope;
use crate::batch::Tally;
use crate::commands::complete;
use crate::commands::connection::ConnectionOptions;
use crate::commands::options::{Wait, seconds};
use crate::commands::target::{TARGET, TargetClient, Unanswered};
use crate::console::exit::Exit;
use crate::console::interrupt::Interrupt;
use crate::console::output::{Failure, Output};
use crate::render::{counted, shown, text_of};
use z3950_asn1::types::InternationalString;

#[derive(Debug, Args)]
#[command(after_help = TARGET)]
pub(crate) struct Probe {
    /// The target to test.
    #[arg(value_name = "TARGET", add = complete::target())]
    pub(crate) target: OsString,

    /// The database to use, instead of the target's; may be repeated.
    #[arg(long = "database", value_name = "NAME", add = complete::database())]
    pub(crate) databases: Vec<String>,

    /// A word that occurs in records of the database [default: a].
    #[arg(long, value_name = "WORD")]
    pub(crate) term: Option<String>,

    /// How long to wait between requests [default: 0.5, but 0 on this machine].
    #[arg(long, value_name = "SECONDS", value_parser = seconds, hide_short_help = true)]
    pub(crate) pause: Option<Wait>,

    /// Print one JSON object per test.
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) conformance: Conformance,

    #[command(flatten)]
    pub(crate) connection: ConnectionOptions,
}

pub(crate) async fn run(arguments: &Probe, output: &mut Output) -> Result<Exit, Failure> {
    let (target, connection) = (&arguments.target, &arguments.connection);
    let reached = TargetClient::to(target, &arguments.databases, connection, output);
    let (reach, place) = reached.await?;
    if arguments.conformance.is_asked() {
        return conformance::run(arguments, &reach, &place, output).await;
    }
    let mut attempts = Attempts {
        arguments,
        reach: &reach,
        place: &place,
        output,
        found: None,
        tally: Tally::default(),
        record_size: 0,
        server_requests: Arc::default(),
    };
    let waiting = attempts.output.waiting();
    let exit = waiting.during(Interrupt.exit(attempts.all())).await?;
    if attempts.tally.total() > 0 {
        let tests = counted(attempts.tally.total(), "test");
        attempts
            .output
            .note(&format!("{tests}: {}", attempts.tally));
    }
    Ok(exit)
}

impl Attempts<'_> {
    async fn all(&mut self) -> Result<Exit, Failure> {
        let mut session = match self.session().await {
            Ok(session) => session,
            Err(failure) => return self.unreachable(&failure),
        };
        if self.place.resolved.endpoint.is_sru() {
            self.description(&session).await?;
        } else {
            self.server(session.server_info())?;
        }
        let (trials, waiting) = (Trial::all(), self.output.waiting());
        let count = trials.len();
        for (index, trial) in trials.into_iter().enumerate() {
            let number = index + 1;
            waiting.says(Some(format!("{number} of {count}: {}", trial.title())));
            self.pause().await;
            // If the server has closed the session, a new one is opened for the next trial.
            if !trial.is_apart() && !is_open(&session).await {
                session = match self.session().await {
                    Ok(session) => session,
                    Err(failure) => return self.unreachable(&failure),
                };
            }
            let result = self.perform(&session, &trial).await;
            self.line(&trial, result)?;
        }
        // An error only means that the session has already ended.
        let _ = session.close().await;
        Ok(Exit::Delivered)
    }

    fn unreachable(&mut self, failure: &Unanswered) -> Result<Exit, Failure> {
        let (json, envelope) = (self.arguments.json, self.envelope("Init"));
        let answer = failure.answer();
        answer.report(json, envelope, self.place, self.output)
    }

    fn envelope(&self, tried: &str) -> Envelope {
        Envelope::of(self.place, &["tried", "detail"]).with("tried", tried)
    }

    /// Writes an SRU server's description of its database, because SRU has no Init.
    async fn description(&mut self, session: &Session) -> Result<(), Failure> {
        let databases = self.place.databases();
        let database = databases.first().map(String::as_str).unwrap_or_default();
        let described = session.describe(database).await.map(|description| {
            let zeerex = description.zeerex;
            format!(
                "{} {}, indexes: {}, schemas: {}",
                zeerex.server.protocol,
                zeerex.server.version,
                zeerex.indexes.len(),
                zeerex.schemas.len(),
            )
        });
        self.result("explain", "explain", described.map_err(NoResult::from))
    }

    /// Writes the information about the server from Init.
    fn server(&mut self, server: &ServerInfo) -> Result<(), Failure> {
        let response = &server.response;
        let text = |words: &Option<InternationalString>| {
            words.as_ref().map_or_else(|| "-".to_owned(), text_of)
        };
        let versions: Vec<String> = (1..=3_u8)
            .filter(|version| response.protocol_version.0.contains(version - 1))
            .map(|version| version.to_string())
            .collect();
        let granted: Vec<&str> = response.options.names().collect();
        for (name, detail) in [
            (
                "Init",
                format!("version {} of {}", server.version, versions.join(" ")),
            ),
            (
                "preferredMessageSize",
                response.preferred_message_size.to_string(),
            ),
            (
                "exceptionalRecordSize",
                response.exceptional_record_size.to_string(),
            ),
            ("implementationId", text(&response.implementation_id)),
            ("implementationName", text(&response.implementation_name)),
            (
                "implementationVersion",
                text(&response.implementation_version),
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

    /// Writes the result of a trial.
    fn line(&mut self, trial: &Trial, result: Result<String, NoResult>) -> Result<(), Failure> {
        self.result(&trial.name(), &trial.title(), result)
    }

    /// Writes a result with its name if the output is JSON, or with its title otherwise.
    fn result(
        &mut self,
        name: &str,
        title: &str,
        result: Result<String, NoResult>,
    ) -> Result<(), Failure> {
        let (outcome, words) = match &result {
            Ok(detail) => (OutcomeName::Ok, detail.clone()),
            Err(NoResult::NotGranted(option)) => (
                OutcomeName::NotGranted,
                format!("{option} was not granted at Init"),
            ),
            Err(NoResult::NotTried(why)) => (OutcomeName::NotTried, (*why).to_owned()),
            Err(NoResult::Failed(failure)) => {
                let words = failure.explain().1;
                match &failure.error {
                    _ if failure.hint.is_some() => (OutcomeName::NotTried, words),
                    Error::Refused { diagnostics, .. } => {
                        (OutcomeName::Diagnostic, diagnostics.to_string())
                    }
                    Error::ProtocolError {
                        fault: ProtocolFault::NotGranted(_),
                        ..
                    } => (OutcomeName::NotGranted, words),
                    _ => (OutcomeName::Dropped, words),
                }
            }
        };
        // The tally is ordered by exit code, so the features that work come first in the summary.
        let exit = match outcome {
            OutcomeName::Ok => Exit::Delivered,
            _ => Exit::Refused,
        };
        self.tally.add(exit, outcome);
        let error = match &result {
            Err(NoResult::Failed(failure)) if failure.hint.is_none() => Some(&failure.error),
            _ => None,
        };
        let name = if self.arguments.json { name } else { title };
        self.say(name, outcome, &words, error)
    }

    fn say(
        &mut self,
        name: &str,
        outcome: OutcomeName,
        detail: &str,
        error: Option<&Error>,
    ) -> Result<(), Failure> {
        if self.arguments.json {
            let diagnostics = error.map_or(&[][..], Error::diagnostics);
            return self
                .envelope(name)
                .with("outcome", outcome.as_str())
                .with("detail", detail)
                .diagnosed(diagnostics)
                .write(self.output);
        }
        // The column of outcomes already says `diagnostic`, so the word is not repeated.
        let detail = match outcome {
            OutcomeName::Diagnostic => detail.strip_prefix("diagnostic ").unwrap_or(detail),
            _ => detail,
        };
        self.output.line(&format!(
            "{name:<TITLE$} {outcome:<12} {}",
            shown(detail.as_bytes())
        ))
    }
}

/// The width of the column of titles.
const TITLE: usize = 46;

/// Returns whether a session is still open. Its task is first given time to read what the server has sent.
async fn is_open(session: &Session) -> bool {
    // The session's task detects the end of the connection, but needs time to run.
    timeout(Duration::from_millis(1), session.ended())
        .await
        .is_err()
        && session.is_open()
}

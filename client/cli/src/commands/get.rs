//! `z3950 get`: retrieval URLs, each from connection to record (RFC 2056 §4).

use std::ffi::OsString;

use tracing::info;
use z3950::client::{Client, ClientOptions};
use z3950::plan::Plan;
use z3950::retrieve::{Outcome, Retrieval};
use z3950::url::{GopherUrl, Kind, Mode, Z3950Url};

use crate::args::Get;
use crate::batch::{Answer, Ask, Records, Words, Work};
use crate::commands::batch::{Job, Writing, refused, run_all};
use crate::commands::connection::{Setup, plan_options};
use crate::commands::url::{mode, named, redacted};
use crate::commands::{fallback, gopher};
use crate::console::envelope::Envelope;
use crate::console::exit::Exit;
use crate::console::interrupt::Interrupt;
use crate::console::output::{Failure, Output};
use crate::console::report::explain_outcome;
use crate::render::shown;

pub(crate) async fn run(arguments: &Get, output: &mut Output) -> Result<Exit, Failure> {
    let batch = &arguments.batch;
    let writing = Writing {
        json: arguments.json,
        format: batch.format(arguments.records.format)?,
        charset: arguments.records.charset,
    };
    let setup = Setup::read(&arguments.connection).await?;
    let options = ClientOptions {
        plan: plan_options(&arguments.execution, setup.init),
        timeouts: setup.timeouts,
        keep_open: arguments.execution.keep_open || batch.is_wanted(),
    };
    let client = Client::with_routes(options, setup.routes).with_profiles(setup.profiles);
    let mut exit = Exit::Delivered;
    for urls in runs(arguments) {
        let one = match urls {
            [url] if !batch.is_wanted() && gopher::is_gopher(url) => {
                let fetched = gopher::get(url, arguments, output);
                Interrupt
                    .or(fetched)
                    .await
                    .unwrap_or_else(|stopped| Ok(stopped.0))?
            }
            urls => {
                let given = urls.iter().map(|url| url.as_encoded_bytes().to_vec());
                let job = Job {
                    given: given.collect(),
                    targets: vec![String::new()],
                    format: writing.format,
                    jobs: 1,
                    work: Retriever {
                        client: client.clone(),
                        mode: mode(arguments.execution.strict),
                        writing,
                    },
                };
                run_all(batch, job, output).await?
            }
        };
        exit = exit.and(one);
        if one.is_by_signal() {
            break;
        }
    }
    // A signal while the sessions are closed only ends them sooner.
    Interrupt.or_end(client.close_all()).await;
    Ok(exit)
}

/// The URLs; Gopher's each by itself, for they lead to no records, unless they are part of a batch, which refuses them.
fn runs(arguments: &Get) -> Vec<&[OsString]> {
    let urls = arguments.urls.as_slice();
    match arguments.batch.is_wanted() {
        true => vec![urls],
        false => urls
            .chunk_by(|one, other| !gopher::is_gopher(one) && !gopher::is_gopher(other))
            .collect(),
    }
}

/// The keys that the envelope has beside those of every command.
pub(crate) const KEYS: [&str; 2] = ["url", "docid"];

/// Carries out retrieval URLs.
struct Retriever {
    client: Client,
    mode: Mode,
    writing: Writing,
}

impl Work for Retriever {
    async fn answer(&self, ask: &Ask, records: &Records) -> Answer {
        match self.plan(&ask.input).await {
            Ok((url, plan)) => self.retrieve(ask, &url, &plan, records).await,
            Err(words) => {
                let (piece, answer) = refused(ask, words);
                records.send(piece).await;
                answer
            }
        }
    }
}

impl Retriever {
    /// Reads and plans a URL, or says why that cannot be done.
    async fn plan(&self, text: &[u8]) -> Result<(Z3950Url, Plan), String> {
        if GopherUrl::has_scheme(text) {
            let url = named(text);
            return Err(format!("{url} is not a record; use: z3950 get {url}"));
        }
        let url = Z3950Url::parse(text, self.mode)
            .map_err(|error| format!("{}: {error}", redacted(text)))?;
        if url.kind() == Kind::Session {
            return Err(format!("{url} opens a session; use: z3950 open {url}"));
        }
        match self.client.plan(&url).await {
            Ok(plan) => Ok((url, plan)),
            Err(error) => Err(format!("{url}: {error}")),
        }
    }

    async fn retrieve(&self, ask: &Ask, url: &Z3950Url, plan: &Plan, records: &Records) -> Answer {
        info!(
            host = %plan.host(),
            port = plan.port(),
            databases = %databases(plan),
            docid = %docid(plan),
            element_set = plan.element_set().map(tracing::field::display),
            record_syntax = plan.record_syntax().map(tracing::field::debug),
            "retrieving"
        );
        for warning in plan.warnings() {
            records.send(Words::Warning(warning.to_string())).await;
        }
        let retrieval = match self.client.retrieve_plan(plan).await {
            Ok(retrieval) => retrieval,
            Err(error) => {
                let (piece, answer) = refused(ask, error.to_string());
                records.send(piece).await;
                return answer;
            }
        };
        let mut words: Vec<Words> = fallback::told(
            &retrieval.steps,
            retrieval.step.as_deref(),
            retrieval.conforming,
        )
        .into_iter()
        .map(Words::Note)
        .collect();
        let envelope = envelope(url, plan, &retrieval);
        let (mut piece, answer) = match &retrieval.outcome {
            Outcome::Delivered(delivered) => {
                if delivered.mismatch
                    && let (Some(requested), Some(syntax)) = (delivered.requested, delivered.syntax)
                {
                    let note =
                        format!("the server sent {syntax:?} where {requested:?} was asked for");
                    words.push(Words::Note(note));
                }
                // Whatever the records say: the one given, else that of the profile.
                let charset = self.writing.charset.or(plan.record_charset());
                let subject = url.to_string();
                self.writing
                    .record(envelope, &delivered.record, charset, &subject)
            }
            outcome => {
                let (exit, message) = explain_outcome(outcome);
                let envelope = envelope
                    .outcome(outcome.name(), &message)
                    .diagnosed(outcome.diagnostics());
                let said = format!("{message} ({})", target(plan));
                self.writing.outcome(envelope, exit, said)
            }
        };
        piece.words.splice(..0, words);
        records.send(piece).await;
        answer
    }
}

/// What the envelope and the report say of a retrieval, but for its outcome.
fn envelope(url: &Z3950Url, plan: &Plan, retrieval: &Retrieval) -> Envelope {
    let names = plan.databases().iter();
    let names = names.map(|name| shown(name.as_bytes())).collect();
    let hits = match &retrieval.outcome {
        Outcome::Delivered(_) => Some(1),
        Outcome::NoMatch => Some(0),
        Outcome::Ambiguous { hits } => Some(*hits),
        _ => None,
    };
    Envelope::new(plan.host(), plan.port(), names, &KEYS)
        .with("url", url.to_string())
        .with("docid", docid(plan))
        .with("hits", hits)
        .with("step", retrieval.step.clone())
        .requested(plan.record_syntax())
}

/// `docid nosuch, database books, server lib.example:210`
fn target(plan: &Plan) -> String {
    format!(
        "docid {}, {}, server {}:{}",
        docid(plan),
        databases(plan),
        plan.host(),
        plan.port()
    )
}

fn docid(plan: &Plan) -> String {
    plan.docid()
        .map_or_else(String::new, |docid| shown(docid.as_bytes()))
}

fn databases(plan: &Plan) -> String {
    let names: Vec<String> = plan
        .databases()
        .iter()
        .map(|name| shown(name.as_bytes()))
        .collect();
    crate::commands::plan::listed(&names)
}

//! `z3950 get`: retrieval URLs, each from connection to record (RFC 2056 §4).

use std::ffi::OsStr;

use tracing::info;
use z3950_asn1::charset::Charset;

use super::args::{Fallback as Again, Get, Global};
use super::envelope::Envelope;
use super::exit::Exit;
use super::output::{Failure, Output};
use super::url::{mode, read};
use super::{Interrupt, client, connection, explain_outcome, gopher, plan_options, timeouts};
use crate::client::{Client, ClientOptions};
use crate::plan::{Fallback, Plan};
use crate::render::{Document, shown};
use crate::retrieve::{Asked, Outcome, Retrieval};
use crate::url::{Kind, Z3950Url};

pub(super) async fn run(
    arguments: &Get,
    global: &Global,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let fallback = Fallback {
        syntax: arguments.fallback.contains(&Again::Syntax),
        structure: arguments.fallback.contains(&Again::Structure),
    };
    let options = ClientOptions {
        plan: plan_options(
            &arguments.execution,
            fallback,
            connection::init(&global.connection)?,
        ),
        timeouts: timeouts(global),
        keep_open: arguments.execution.keep_open,
    };
    let mut command = Command {
        client: client(global, options).await?,
        json: arguments.json,
        charset: arguments.records.charset,
        document: Document::new(arguments.records.format, arguments.records.charset),
        output,
    };
    let mut exit = Exit::Delivered;
    for text in &arguments.urls {
        if gopher::is_gopher(text) {
            match Interrupt
                .or(gopher::get(text, arguments, global, command.output))
                .await
            {
                Ok(one) => exit = exit.and(one?),
                Err(_) => {
                    command.output.end(&mut command.document)?;
                    return Ok(Exit::Interrupted);
                }
            }
            continue;
        }
        let Some((url, plan)) = command.plan(text, arguments.execution.strict) else {
            exit = exit.and(Exit::Usage);
            continue;
        };
        match Interrupt.or(command.retrieve(&url, &plan)).await {
            Ok(one) => exit = exit.and(one?),
            Err(_) => {
                command.output.end(&mut command.document)?;
                return Ok(Exit::Interrupted);
            }
        }
    }
    command.output.end(&mut command.document)?;
    // Ctrl-C while the sessions are closed only ends them sooner.
    let _ = Interrupt.or(command.client.close_all()).await;
    Ok(exit)
}

struct Command<'a> {
    client: Client,
    json: bool,
    charset: Option<Charset>,
    /// What the records written make together.
    document: Document,
    output: &'a mut Output,
}

impl Command<'_> {
    /// Reads and plans a URL; says why if that cannot be done.
    fn plan(&self, text: &OsStr, strict: bool) -> Option<(Z3950Url, Plan)> {
        let url = read(text.as_encoded_bytes(), mode(strict), self.output)?;
        if url.kind() == Kind::Session {
            self.output
                .error(&format!("{url} opens a session; use: z3950 open {url}"));
            return None;
        }
        match self.client.plan(&url) {
            Ok(plan) => {
                plan.warnings()
                    .iter()
                    .for_each(|warning| self.output.warning(&warning.to_string()));
                Some((url, plan))
            }
            Err(error) => {
                self.output.error(&format!("{url}: {error}"));
                None
            }
        }
    }

    async fn retrieve(&mut self, url: &Z3950Url, plan: &Plan) -> Result<Exit, Failure> {
        info!(
            host = %plan.host(),
            port = plan.port(),
            databases = %databases(plan),
            docid = %docid(plan),
            element_set = plan.element_set().map(tracing::field::display),
            record_syntax = plan.record_syntax().map(tracing::field::debug),
            "retrieving"
        );
        let retrieval = match self.client.retrieve_plan(plan).await {
            Ok(retrieval) => retrieval,
            Err(error) => {
                self.output.error(&error.to_string());
                return Ok(Exit::Usage);
            }
        };
        for (refused, again) in retrieval.steps.iter().zip(retrieval.steps.iter().skip(1)) {
            if let Some(how) = fallback(&refused.request, &again.request) {
                self.output
                    .note(&format!("{}; asked again {how}", refused.diagnostics));
            }
        }
        if !retrieval.conforming {
            self.output
                .warning("the record was found in a way that RFC 2056 does not describe");
        }
        if self.json {
            return self.envelope(url, plan, &retrieval);
        }
        let Outcome::Delivered(delivered) = &retrieval.outcome else {
            let (exit, message) = explain_outcome(&retrieval.outcome);
            self.output.error(&format!("{message} ({})", target(plan)));
            return Ok(exit);
        };
        if delivered.mismatch
            && let (Some(requested), Some(syntax)) = (delivered.requested, delivered.syntax)
        {
            self.output.note(&format!(
                "the server sent {syntax:?} where {requested:?} was asked for"
            ));
        }
        self.output.record(&delivered.record, &mut self.document)
    }

    /// The answer to `--json`.
    fn envelope(
        &mut self,
        url: &Z3950Url,
        plan: &Plan,
        retrieval: &Retrieval,
    ) -> Result<Exit, Failure> {
        let names = plan.databases().iter();
        let names = names.map(|name| shown(name.as_bytes())).collect();
        let hits = match &retrieval.outcome {
            Outcome::Delivered(_) => Some(1),
            Outcome::NoMatch => Some(0),
            Outcome::Ambiguous { hits } => Some(*hits),
            _ => None,
        };
        let steps = retrieval.steps.iter().rev();
        let step = steps.into_iter().find_map(|step| match step.request {
            Asked::Search { structure, .. } => Some(match structure {
                true => "1=1032,4=104",
                false => "1=1032",
            }),
            Asked::Present { .. } => None,
        });
        let envelope = Envelope::new(plan.host(), plan.port(), names, &["url", "docid"])
            .with("url", url.to_string())
            .with("docid", docid(plan))
            .with("hits", hits)
            .with("step", step)
            .with(
                "requested_syntax",
                plan.record_syntax().map(|syntax| syntax.to_string()),
            );
        let (exit, message) = explain_outcome(&retrieval.outcome);
        let envelope = match &retrieval.outcome {
            Outcome::Delivered(delivered) => {
                let (envelope, notes) = envelope.record(&delivered.record, self.charset);
                notes.iter().for_each(|note| self.output.note(note));
                envelope
            }
            outcome => envelope
                .outcome(outcome.name(), &message)
                .diagnosed(outcome.diagnostics()),
        };
        envelope.write(self.output)?;
        Ok(exit)
    }
}

/// In which other way the server was asked again, if it was another one.
fn fallback(refused: &Asked, again: &Asked) -> Option<String> {
    let form = |asked: &Asked| match *asked {
        Asked::Search {
            record_syntax,
            structure,
        } => (record_syntax, Some(structure)),
        Asked::Present { record_syntax } => (record_syntax, None),
    };
    let ((before, with_structure), (after, structure)) = (form(refused), form(again));
    if with_structure == Some(true) && structure == Some(false) {
        return Some("without the Structure attribute".into());
    }
    match after {
        Some(syntax) if before != after => Some(format!("for record syntax {syntax:?}")),
        _ => None,
    }
}

/// `docid nosuch, database books, server lib.example:210`
fn target(plan: &Plan) -> String {
    format!(
        "docid {}, database {}, server {}:{}",
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
    names.join("+")
}

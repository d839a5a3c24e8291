//! `--json`: one object a line, whose keys are always there, so that programs need not guess.
//!
//! | key | holds |
//! |---|---|
//! | `v` | the version of this form: 2 |
//! | `outcome` | `delivered`, or what came of it instead: a word of [`OutcomeName`] |
//! | `message` | the outcome in plain words; null with a record |
//! | `host`, `port`, `databases` | where it was asked for |
//! | `hits` | how many records match; null if that is not known |
//! | `syntax`, `requested_syntax` | object identifiers of the record's syntax and of the one asked for |
//! | `step` | which of several ways was successful, such as `1=7`; null if there is only one |
//! | `diagnostic` | `{"set", "code", "text", "addinfo"}`, what the server said; or null |
//! | `record` | the record as `--format json` writes it; or null |
//!
//! Beside these, each command has keys of its own:
//!
//! | command | keys |
//! |---|---|
//! | `get` | `url`, `docid` |
//! | `search` | `target`, `query` in PQF, `position`; an object for each record, or one for a target without any. With `--facets` or `--parts` one before them, whose outcome is `found`: `target`, `query`, `is_estimate`, `facets` (`[{"field", "terms": [{"term", "count"}]}]`) and `parts` (`[{"part", "is_whole", "count"}]`) |
//! | `lookup` | `target`, `identifier`, `position`, `terms` that were searched for, `matched` |
//! | `scan` | `target`, `query`, `position`, `term`, `is_start`; `hits` counts the records with the term |
//! | `probe` | `target`, `tried`, `detail`; the outcomes are `ok`, `diagnostic`, `dropped`, `not granted` and `not tried` |
//! | `update` | `target`, `action`, `input` (where the record came from), `position` (its number among all), `identifier`, `status` (the standard's recordStatus), `task`; an object for each record. The outcomes are `done`, `accepted` (not done yet), `task failed`, and those of the session |
//! | `order` | `target`, `query`, `position`, `task`; outcomes as of `update` |
//! | `targets check` | `target`, `implementation` |
//!
//! A `task` is `{"status", "package"}`: operationStatus, and the task package under the standard's names, or null.
//!
//! An argument that is no URL, target or identifier has no object, only a message on standard error.

use serde_json::{Map, Value, json};
use z3950_asn1::apdu::{DiagRec, External};
use z3950_asn1::charset::Charset;

use super::exit::Exit;
use super::output::{Failure, Output};
use super::target::{Place, Unanswered};
use crate::batch::Answer;
use crate::error::{Error, Phase, ProtocolFault};
use crate::render::{Format, render};
use crate::retrieve::{Outcome, OutcomeName};
use crate::url::Host;

/// The version of the form; another one when a key changes its meaning or goes away.
pub(super) const VERSION: u8 = 2;
/// The keys of every command.
const KEYS: [&str; 11] = [
    "outcome",
    "message",
    "host",
    "port",
    "databases",
    "hits",
    "syntax",
    "requested_syntax",
    "step",
    "diagnostic",
    "record",
];

/// One object on its way to standard output.
#[derive(Clone)]
pub(super) struct Envelope(Map<String, Value>);

impl Envelope {
    /// An answer from a server, to a command with these keys of its own; all are null at first.
    pub(super) fn new(host: &Host, port: u16, databases: Vec<String>, own: &[&str]) -> Self {
        let keys = ["v"].iter().chain(own).chain(&KEYS);
        let nulls = keys.map(|key| ((*key).to_owned(), Value::Null)).collect();
        Self(nulls)
            .with("v", VERSION)
            .with("host", host.to_string())
            .with("port", port)
            .with("databases", databases)
    }

    /// An answer from a target, which has the key `target` beside those given.
    pub(super) fn of(place: &Place, own: &[&str]) -> Self {
        let endpoint = &place.resolved.endpoint;
        let own = [&["target"], own].concat();
        Self::new(&endpoint.host(), endpoint.port(), place.databases(), &own)
            .with("target", place.text.as_str())
    }

    /// The same, with another value of a key.
    pub(super) fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0.insert(key.to_owned(), value.into());
        self
    }

    /// The same, with an outcome and its words.
    pub(super) fn outcome(self, name: OutcomeName, message: &str) -> Self {
        self.with("outcome", name).with("message", message)
    }

    /// The same, with a failure as its outcome.
    pub(super) fn failed(self, failure: &Unanswered) -> Self {
        let (_, message) = failure.explain();
        match failure {
            Unanswered::Query(_) => self.outcome(OutcomeName::NotSent, &message),
            Unanswered::Credentials(_) => self.outcome(OutcomeName::NoCredentials, &message),
            Unanswered::Session(error) | Unanswered::Unresolved(error, _) => self
                .outcome(name(error), &message)
                .diagnosed(error.diagnostics()),
        }
    }

    /// The same, with the first of the diagnostics.
    pub(super) fn diagnosed(self, diagnostics: &[DiagRec]) -> Self {
        match diagnostics.first() {
            Some(first) => self.with("diagnostic", diagnostic(first)),
            None => self,
        }
    }

    /// The same, with a record, read in a character set if one is given; and what a person should know of it.
    pub(super) fn record(self, record: &External, charset: Option<Charset>) -> (Self, Vec<String>) {
        let rendered = render(record, Format::Json, charset);
        let value: Option<Value> = serde_json::from_slice(&rendered.octets).ok();
        let syntax = record.direct_reference.map(|oid| oid.to_string());
        let this = self
            .with("outcome", OutcomeName::Delivered)
            .with("syntax", syntax)
            .with("record", value.unwrap_or_default());
        (this, rendered.notes)
    }

    /// It as a line.
    pub(super) fn octets(&self) -> Vec<u8> {
        // Keys are texts, and no value fails to be written.
        let mut line = serde_json::to_vec(&self.0).unwrap_or_default();
        line.push(b'\n');
        line
    }

    /// What it says of an input that ends so.
    pub(super) fn answer(&self, exit: Exit) -> Answer {
        let value = |key: &str| self.0.get(key).filter(|value| !value.is_null());
        let text = |key: &str| value(key).and_then(Value::as_str).map(str::to_owned);
        Answer {
            outcome: text("outcome")
                .and_then(|word| word.parse().ok())
                .unwrap_or_default(),
            exit: exit as u8,
            hits: value("hits").and_then(Value::as_u64),
            step: text("step"),
            diagnostic: value("diagnostic").cloned(),
            message: text("message"),
        }
    }

    /// Writes it as a line.
    pub(super) fn write(self, output: &mut Output) -> Result<(), Failure> {
        output.line(&Value::Object(self.0).to_string())
    }
}

impl From<OutcomeName> for Value {
    fn from(name: OutcomeName) -> Self {
        name.as_str().into()
    }
}

/// The name of the outcome that an error is.
fn name(error: &Error) -> OutcomeName {
    match error {
        Error::ProtocolError {
            fault: ProtocolFault::NotGranted(_),
            ..
        } => OutcomeName::NotGranted,
        Error::Refused {
            phase: Phase::ExtendedServices,
            ..
        } => OutcomeName::TaskFailed,
        error => Outcome::from(error.clone()).name(),
    }
}

fn diagnostic(diagnostic: &DiagRec) -> Value {
    match diagnostic {
        DiagRec::DefaultFormat(diagnostic) => json!({
            "set": diagnostic.diagnostic_set_id.to_string(),
            "code": diagnostic.condition,
            "text": diagnostic.message(),
            "addinfo": diagnostic.addinfo.to_string_lossy(),
        }),
        DiagRec::ExternallyDefined(external) => json!({
            "set": external.direct_reference.map(|oid| oid.to_string()),
            "code": null,
            "text": diagnostic.to_string(),
            "addinfo": null,
        }),
    }
}

//! How answers are written: records in a format and messages, or with `--json` one object per line whose keys are always
//! there.
//!
//! `client/docs/formats.md` describes the keys of every answer of a server, which are [`KEYS`], those that each command adds,
//! and the outcomes, which are the words of [`OutcomeName`]. A test compares it with what the program writes.
//!
//! An argument that is not a target or identifier has no object, only a message on standard error.

use serde_json::{Map, Value, json};
use z3950::retrieve::OutcomeName;
use z3950::url::Host;
use z3950_asn1::apdu::{DiagRec, External};
use z3950_asn1::oid::Oid;
use z3950_marc::charset::Charset;

use super::{Answer, Piece, Words};
use crate::console::exit::Exit;
use crate::console::output::{Failure, Output};
use crate::render::{Format, render, syntax};

/// The version of the objects; it changes when a key changes its meaning or goes away.
pub(crate) const VERSION: u8 = 2;
/// The keys that every answer of a server has.
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

/// How the answers of `get`, `lookup` and `search` are written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Writing {
    /// Whether as JSON objects.
    pub(crate) json: bool,
    /// The format of records without `json`.
    pub(crate) format: Format,
    /// The character set of the records, if the command line names one.
    pub(crate) charset: Option<Charset>,
}

impl Writing {
    /// Writes a record, or why the format cannot hold it. `answer` is what is known so far, `envelope` the object of that,
    /// and `subject` begins the messages.
    pub(crate) fn record(
        self,
        answer: Answer,
        envelope: impl FnOnce() -> Envelope,
        record: &External,
        charset: Option<Charset>,
        subject: &str,
    ) -> (Piece, Answer) {
        let format = if self.json { Format::Json } else { self.format };
        let rendered = render(record, format, charset);
        // A loss is a warning, which a batch shows, too.
        let kind = match rendered.is_loss {
            true => Words::Warning,
            false => Words::Note,
        };
        let notes = rendered.notes.iter();
        let mut words: Vec<Words> = notes
            .map(|note| kind(format!("{subject}: {note}")))
            .collect();
        let mut answer = answer.ended(OutcomeName::Delivered, Exit::of_record(&rendered));
        if let Some(failure) = &rendered.failure {
            words.push(Words::Error(format!("{subject}: {failure}")));
            answer.outcome = OutcomeName::NotWritten;
            answer.message = Some(failure.clone());
        } else if rendered.is_loss {
            answer.message = Some(rendered.notes.join("; "));
        }
        let octets = match self.json {
            true => envelope()
                .answered(&answer)
                .record(record, &rendered.octets)
                .octets(),
            false => rendered.octets,
        };
        let piece = Piece {
            words,
            octets,
            is_record: !self.json,
            is_repaired: rendered.is_repaired,
        };
        (piece, answer)
    }

    /// Writes an answer without a record: its message after `subject`, or its object.
    pub(crate) fn end(
        self,
        answer: Answer,
        envelope: impl FnOnce() -> Envelope,
        subject: &str,
    ) -> (Piece, Answer) {
        let message = answer.message.as_deref().unwrap_or_default();
        let words = format!("{subject}: {message}");
        self.end_with(answer, envelope, words)
    }

    /// Like [`end`](Self::end), with a message of its own.
    pub(crate) fn end_with(
        self,
        answer: Answer,
        envelope: impl FnOnce() -> Envelope,
        words: String,
    ) -> (Piece, Answer) {
        let piece = match self.json {
            true => Piece::line(envelope().answered(&answer).octets()),
            false => Words::Error(words).into(),
        };
        (piece, answer)
    }
}

/// An object that is not an answer of a server: the version, then the keys of the command.
pub(crate) fn object<'a>(keys: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    let version = ("v".to_owned(), VERSION.into());
    let keys = keys.into_iter().map(|(key, value)| (key.to_owned(), value));
    Value::Object(std::iter::once(version).chain(keys).collect())
}

/// The object of an answer of a server.
#[derive(Clone)]
pub(crate) struct Envelope(Map<String, Value>);

impl Envelope {
    /// An answer to a command with these keys of its own; all are null at first.
    pub(crate) fn new(host: &Host, port: u16, databases: Vec<String>, own: &[&str]) -> Self {
        let keys = ["v"].iter().chain(own).chain(&KEYS);
        let nulls = keys.map(|key| ((*key).to_owned(), Value::Null)).collect();
        Self(nulls)
            .with("v", VERSION)
            .with("host", host.to_string())
            .with("port", port)
            .with("databases", databases)
    }

    /// The same object with another value of a key.
    pub(crate) fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0.insert(key.to_owned(), value.into());
        self
    }

    /// The same object with the record syntax that was requested.
    pub(crate) fn requested(self, oid: Option<Oid>) -> Self {
        self.with("requested_syntax", syntax(oid))
    }

    /// The same object with an outcome and its message.
    pub(crate) fn outcome(self, name: OutcomeName, message: &str) -> Self {
        self.with("outcome", name.as_str()).with("message", message)
    }

    /// The same object with all that an answer says.
    pub(crate) fn answered(self, answer: &Answer) -> Self {
        self.with("outcome", answer.outcome.as_str())
            .with("message", answer.message.clone())
            .with("hits", answer.hits)
            .with("step", answer.step.clone())
            .with("diagnostic", answer.diagnostic.clone())
    }

    /// The same object with the first of the diagnostics.
    pub(crate) fn diagnosed(self, diagnostics: &[DiagRec]) -> Self {
        match diagnostics.first() {
            Some(first) => self.with("diagnostic", diagnostic(first)),
            None => self,
        }
    }

    /// The same object with a record, as [`Format::Json`] writes it.
    pub(crate) fn record(self, record: &External, json: &[u8]) -> Self {
        let value: Option<Value> = serde_json::from_slice(json).ok();
        self.with("syntax", syntax(record.direct_reference))
            .with("record", value)
    }

    /// The object as a line.
    pub(crate) fn octets(&self) -> Vec<u8> {
        // Keys are texts, and no value fails to be written.
        let mut line = serde_json::to_vec(&self.0).unwrap_or_default();
        line.push(b'\n');
        line
    }

    /// Writes the object as a line.
    pub(crate) fn write(self, output: &mut Output) -> Result<(), Failure> {
        output.line(&Value::Object(self.0).to_string())
    }
}

pub(super) fn diagnostic(diagnostic: &DiagRec) -> Value {
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

//! `--json`: one object a line, whose keys are always there, so that programs need not guess.
//!
//! `client/docs/formats.md` describes them all: the keys of every answer of a server, which are [`KEYS`], those that each
//! command has beside them, and the outcomes, which are the words of [`OutcomeName`]. A test compares it with what the
//! program says.
//!
//! An argument that is not a target or identifier has no object, only a message on standard error.

use serde_json::{Map, Value, json};
use z3950::retrieve::OutcomeName;
use z3950::url::Host;
use z3950_asn1::apdu::{DiagRec, External};
use z3950_asn1::oid::Oid;
use z3950_marc::charset::Charset;

use crate::console::output::{Failure, Output};
use crate::render::{Format, Rendered, render, syntax};

/// The version of the form; another one when a key changes its meaning or goes away.
pub(crate) const VERSION: u8 = 2;
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

/// An answer that is not from a server: the version, then the keys of the command.
pub(crate) fn answer(keys: &[(&str, Value)]) -> Value {
    let version = ("v".to_owned(), VERSION.into());
    let keys = keys
        .iter()
        .map(|(key, value)| ((*key).to_owned(), value.clone()));
    Value::Object(std::iter::once(version).chain(keys).collect())
}

/// One object on its way to standard output.
#[derive(Clone)]
pub(crate) struct Envelope(Map<String, Value>);

impl Envelope {
    /// An answer from a server, to a command with these keys of its own; all are null at first.
    pub(crate) fn new(host: &Host, port: u16, databases: Vec<String>, own: &[&str]) -> Self {
        let keys = ["v"].iter().chain(own).chain(&KEYS);
        let nulls = keys.map(|key| ((*key).to_owned(), Value::Null)).collect();
        Self(nulls)
            .with("v", VERSION)
            .with("host", host.to_string())
            .with("port", port)
            .with("databases", databases)
    }

    /// The same, with another value of a key.
    pub(crate) fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0.insert(key.to_owned(), value.into());
        self
    }

    /// The same, with the record syntax that was asked for.
    pub(crate) fn requested(self, oid: Option<Oid>) -> Self {
        self.with("requested_syntax", syntax(oid))
    }

    /// The same, with an outcome and its words.
    pub(crate) fn outcome(self, name: OutcomeName, message: &str) -> Self {
        self.with("outcome", name.as_str()).with("message", message)
    }

    /// The same, with the first of the diagnostics.
    pub(crate) fn diagnosed(self, diagnostics: &[DiagRec]) -> Self {
        match diagnostics.first() {
            Some(first) => self.with("diagnostic", diagnostic(first)),
            None => self,
        }
    }

    /// The same, with a record, read in a character set if one is given, and with a message if something of it was lost;
    /// and the record as it was rendered.
    pub(crate) fn record(self, record: &External, charset: Option<Charset>) -> (Self, Rendered) {
        let rendered = render(record, Format::Json, charset);
        let value: Option<Value> = serde_json::from_slice(&rendered.octets).ok();
        let this = self
            .with("outcome", OutcomeName::Delivered.as_str())
            .with("syntax", syntax(record.direct_reference))
            .with("record", value.unwrap_or_default())
            .lost(&rendered);
        (this, rendered)
    }

    /// The same, with what was lost of a record as the message.
    pub(crate) fn lost(self, rendered: &Rendered) -> Self {
        match rendered.is_loss {
            true => self.with("message", rendered.notes.join("; ")),
            false => self,
        }
    }

    /// It as a line.
    pub(crate) fn octets(&self) -> Vec<u8> {
        // Keys are texts, and no value fails to be written.
        let mut line = serde_json::to_vec(&self.0).unwrap_or_default();
        line.push(b'\n');
        line
    }

    /// The value of a key, unless it is null.
    pub(crate) fn value(&self, key: &str) -> Option<&Value> {
        self.0.get(key).filter(|value| !value.is_null())
    }

    /// Writes it as a line.
    pub(crate) fn write(self, output: &mut Output) -> Result<(), Failure> {
        output.line(&Value::Object(self.0).to_string())
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

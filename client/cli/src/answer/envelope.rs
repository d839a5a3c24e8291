//! The JSON objects that `--json` writes, one per line. Each kind of object always has the same keys.
//!
//! `client/docs/formats.md` describes the keys of objects for servers' answers ([`KEYS`]), the additional keys of each
//! command, and the outcomes (the words of [`OutcomeName`]). A test compares that document with the output of the
//! program.
//!
//! An argument that is not a valid target or identifier causes only a message on standard error, and no object.

use std::fmt;

use serde_json::{Map, Value, json};
use z3950::retrieve::OutcomeName;
use z3950::url::Host;
use z3950_asn1::apdu::{DefaultDiagFormat, DiagRec, External};
use z3950_asn1::format::sources::SearchSources;
use z3950_asn1::oid::Oid;
use z3950_marc::table::RowOrigin;

use super::{Answer, Piece};
use crate::console::output::{Failure, Output};
use crate::render::syntax;

/// The version of the objects. It changes when a key is removed or the meaning of a key changes.
const VERSION: u8 = 2;
/// The keys that are in every answer from a server.
const KEYS: [&str; 14] = [
    "outcome",
    "message",
    "host",
    "port",
    "databases",
    "hits",
    "sources",
    "database",
    "syntax",
    "requested_syntax",
    "element_set",
    "step",
    "diagnostic",
    "record",
];

/// A JSON object whose first key is the version.
#[derive(Clone)]
pub(crate) struct Envelope {
    keys: Map<String, Value>,
    /// The target of the record, if it differs from the target that was searched.
    source: Option<String>,
}

impl Envelope {
    /// Creates an object with these keys, whose values are null until they are set.
    pub(crate) fn blank<'a>(keys: impl IntoIterator<Item = &'a &'a str>) -> Self {
        let nulls = keys.into_iter().map(|key| ((*key).to_owned(), Value::Null));
        Value::Object(nulls.collect()).into()
    }

    /// Creates the object for a server's answer, with the additional keys `own` of the command.
    pub(crate) fn new(host: &Host, port: u16, databases: Vec<String>, own: &[&str]) -> Self {
        Self::blank(own.iter().chain(&KEYS))
            .with("host", host.to_string())
            .with("port", port)
            .with("databases", databases)
    }

    /// Returns the object with a key set to the given value.
    pub(crate) fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.keys.insert(key.to_owned(), value.into());
        self
    }

    /// Returns the object with the requested record syntax.
    pub(crate) fn requested(self, oid: Option<Oid>) -> Self {
        self.with("requested_syntax", syntax(oid))
    }

    /// Returns the object with an outcome and its message.
    pub(crate) fn outcome(self, name: OutcomeName, message: &str) -> Self {
        self.with("outcome", name.as_str()).with("message", message)
    }

    /// Returns the object with the outcome and the other contents of an answer.
    pub(crate) fn answered(self, answer: &Answer) -> Self {
        let ending = &answer.ending;
        self.with("outcome", ending.outcome.as_str())
            .with("message", answer.message.clone())
            .with("hits", ending.hits)
            .with("sources", sources_object(&ending.sources))
            .with("step", ending.step.clone())
            .with("diagnostic", ending.diagnostics.0.first().map(diagnostic))
    }

    /// Returns the object with the first of these diagnostics.
    pub(crate) fn diagnosed(self, diagnostics: &[DiagRec]) -> Self {
        match diagnostics.first() {
            Some(first) => self.with("diagnostic", diagnostic(first)),
            None => self,
        }
    }

    /// Returns the object with a record, in the form written by [`Format::Json`].
    pub(crate) fn record(self, record: &External, json: &[u8]) -> Self {
        let value: Option<Value> = serde_json::from_slice(json).ok();
        self.with("syntax", syntax(record.direct_reference))
            .with("record", value)
    }

    /// Returns the object with the record's database, as named by the server. If the target combines several servers,
    /// this is the name of one part of the target's database.
    pub(crate) fn in_database(mut self, name: &str) -> Self {
        let text = |key: &str| self.keys.get(key).and_then(Value::as_str);
        let asked: Vec<&str> = self
            .keys
            .get("databases")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        if let ([asked], Some(target)) = (asked.as_slice(), text("target"))
            && is_part(name, asked)
        {
            // If the target ends with the name of the database, that name is replaced with the name of the part.
            let place = target.strip_suffix(asked);
            let place = place.filter(|place| place.ends_with('/'));
            let part = if target.contains("://") {
                name.replace('/', "%2F")
            } else {
                name.to_owned()
            };
            self.source = Some(match place {
                Some(place) => format!("{place}{part}"),
                None => format!("{target}: {name}"),
            });
        }
        self.with("database", name)
    }

    /// Returns the origin of the record: its target or URL, and the input by which it was found.
    pub(crate) fn origin(&self) -> RowOrigin<'_> {
        let text = |key: &str| self.keys.get(key)?.as_str();
        let source = self.source.as_deref();
        RowOrigin {
            source: source.or_else(|| text("target")).or_else(|| text("url")),
            input: text("input"),
            input_record: text("input_record"),
        }
    }

    /// Returns the object as a piece of an answer, on one line.
    pub(crate) fn piece(&self) -> Piece {
        Piece::line(format!("{self}\n").into_bytes())
    }

    /// Reports a failure: with `--json`, writes the object; otherwise, prints the message.
    pub(crate) fn or_error(
        &self,
        json: bool,
        words: &str,
        output: &mut Output,
    ) -> Result<(), Failure> {
        if json {
            return self.write(output);
        }
        output.error(words);
        Ok(())
    }

    /// Writes the object on one line.
    pub(crate) fn write(&self, output: &mut Output) -> Result<(), Failure> {
        output.line(&self.to_string())
    }
}

impl From<Value> for Envelope {
    /// Converts a JSON object to an envelope, whose first key is the version.
    fn from(object: Value) -> Self {
        let mut keys = Map::from_iter([("v".to_owned(), VERSION.into())]);
        if let Value::Object(more) = object {
            keys.extend(more);
        }
        Self { keys, source: None }
    }
}

impl fmt::Display for Envelope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // All keys are strings, so the object can always be written.
        f.write_str(&serde_json::to_string(&self.keys).unwrap_or_default())
    }
}

/// Returns the diagnostic as an object with the keys `set`, `code`, `text` and `addinfo`.
pub(crate) fn diagnostic(diagnostic: &DiagRec) -> Value {
    match diagnostic {
        DiagRec::DefaultFormat(diagnostic) => default_diagnostic(diagnostic),
        DiagRec::ExternallyDefined(external) => json!({
            "set": external.direct_reference.map(|oid| oid.to_string()),
            "code": null,
            "text": diagnostic.to_string(),
            "addinfo": null,
        }),
    }
}

/// Returns the member `sources` of an answer: an array of objects with the keys `name`, `hits` and `failure`. Returns `None` if
/// the records come from a single source.
fn sources_object(sources: &SearchSources) -> Option<Value> {
    let all = sources.sources.iter().map(|source| {
        json!({
            "name": source.name,
            "hits": source.records,
            "failure": source.failure.as_ref().map(default_diagnostic),
        })
    });
    (!sources.sources.is_empty()).then(|| all.collect())
}

fn default_diagnostic(diagnostic: &DefaultDiagFormat) -> Value {
    json!({
        "set": diagnostic.diagnostic_set_id.to_string(),
        "code": diagnostic.condition,
        "text": diagnostic.message(),
        "addinfo": diagnostic.addinfo.to_string_lossy(),
    })
}

/// Returns whether `name` names a part of `database`, such as `union@lib.example/cat`.
pub(crate) fn is_part(name: &str, database: &str) -> bool {
    let parts = name.split_at_checked(database.len());
    parts.is_some_and(|(begin, rest)| rest.starts_with('@') && begin.eq_ignore_ascii_case(database))
}

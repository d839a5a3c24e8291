//! `z3950 url`: URLs of every scheme as texts (RFC 2056 §5, RFC 1738).

pub(crate) mod check;
pub(crate) mod extract;
mod other;
pub(crate) mod resolve;
pub(crate) mod wrap;

use std::ffi::{OsStr, OsString};

use serde_json::{Value, json};
use z3950::target;
use z3950::url::{self, Caution, Host, Locator, Mode, Octets, UrlError, Warning, Z3950Url};
use z3950_asn1::oid::Oid;

use crate::args::{Build, Canon, Showing, Texts, Url};
use crate::console::envelope::answer;
use crate::console::exit::Exit;
use crate::console::output::{Failure, Output};
use crate::render::{shown, syntax};

pub(crate) fn run(command: &Url, output: &mut Output) -> Result<Exit, Failure> {
    match command {
        Url::Parse(texts) => each(texts, &PARTS, output, parse),
        Url::Canon(Canon { texts, showing }) => {
            each(texts, &CANONICAL, output, |locator, json, output| {
                let text = match showing.redact {
                    true => locator.canonical(),
                    false => locator.canonical_with_secrets(),
                };
                showing.caution(locator.has_password(), output);
                canonical(text, json)
            })
        }
        Url::Build(parts) => build(parts, output),
        Url::Resolve(arguments) => resolve::run(arguments, output),
        Url::Check(arguments) => check::run(arguments, output),
        Url::Extract(arguments) => extract::run(arguments, output),
        Url::Wrap(arguments) => wrap::run(arguments, output),
    }
}

/// Reads a URL that a command is to carry out; says what is wrong with it if it is none.
pub(crate) fn read(text: &[u8], mode: Mode, output: &Output) -> Option<Z3950Url> {
    Z3950Url::parse(text, mode)
        .inspect_err(|error| output.error(&format!("{}: {error}", redacted(text))))
        .ok()
}

/// A text that was to be a URL, as a message may show it.
pub(crate) fn redacted(text: &[u8]) -> String {
    target::redacted(&shown(text.trim_ascii()))
}

pub(crate) fn mode(strict: bool) -> Mode {
    if strict { Mode::Strict } else { Mode::Lenient }
}

impl Showing {
    /// Says that a URL written to standard output holds a password.
    fn caution(&self, has_password: bool, output: &Output) {
        if has_password && !self.redact {
            output.warning("the URL contains a password; --redact hides it");
        }
    }
}

/// What a person should know of a URL: the name for programs, and the words.
struct Remark {
    code: String,
    words: String,
}

impl From<&Caution> for Remark {
    fn from(caution: &Caution) -> Self {
        Self {
            code: caution.code(),
            words: caution.to_string(),
        }
    }
}

impl From<&Warning> for Remark {
    fn from(warning: &Warning) -> Self {
        Self {
            code: warning.code(),
            words: warning.to_string(),
        }
    }
}

/// The key of `url canon` and `url build`.
const CANONICAL: [&str; 1] = ["canonical"];
/// The keys of `url parse` that URLs of every scheme have.
const PARTS: [&str; 7] = [
    "scheme",
    "kind",
    "host",
    "port",
    "fragment",
    "warnings",
    "canonical",
];

fn each(
    texts: &Texts,
    keys: &[&str],
    output: &mut Output,
    show: impl Fn(&Locator, bool, &Output) -> String,
) -> Result<Exit, Failure> {
    let json = texts.reading.json;
    let mut exit = Exit::Delivered;
    for text in &texts.urls {
        match Locator::parse(text.as_encoded_bytes(), mode(texts.reading.strict)) {
            Ok(url) => {
                let shown = show(&url, json, output);
                output.line(&shown)?;
            }
            Err(error) => exit = exit.and(refuse(text, &error, json.then_some(keys), output)?),
        }
    }
    Ok(exit)
}

/// A refused URL: an object on standard output if JSON is wanted, with these keys of the command; else a message.
fn refuse(
    text: &OsStr,
    error: &UrlError,
    json: Option<&[&str]>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    match json {
        Some(keys) => output.line(&refusal(error, keys).to_string())?,
        None => output.error(&format!("{}: {error}", redacted(text.as_encoded_bytes()))),
    }
    Ok(Exit::Usage)
}

/// What follows the keys of a command on URLs where nothing is wrong.
const NO_FAULT: [(&str, Value); 3] = [
    ("error", Value::Null),
    ("offset", Value::Null),
    ("message", Value::Null),
];

/// An answer with these keys of a command.
fn answered(keys: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let keys: Vec<_> = keys.into_iter().chain(NO_FAULT).collect();
    answer(&keys)
}

/// An answer that is a refusal: the command's keys are null.
fn refusal(error: &UrlError, keys: &[&str]) -> Value {
    refused(error.kind().name(), Some(error.offset()), error, keys)
}

fn refused(name: &str, offset: Option<usize>, words: &impl ToString, keys: &[&str]) -> Value {
    let keys = keys.iter().map(|key| (*key, Value::Null));
    let fault = [
        ("error", name.into()),
        ("offset", offset.into()),
        ("message", words.to_string().into()),
    ];
    answer(&keys.chain(fault).collect::<Vec<_>>())
}

/// Gives a key of an object another value.
fn set(object: &mut Value, key: &str, value: impl Into<Value>) {
    if let Some(keys) = object.as_object_mut() {
        keys.insert(key.to_owned(), value.into());
    }
}

fn parse(locator: &Locator, json: bool, _: &Output) -> String {
    let (mut value, remarks): (_, Vec<Remark>) = match locator.url() {
        url::Url::Z3950(url) => (
            parts(url),
            url.warnings().iter().map(Remark::from).collect(),
        ),
        _ => (
            other::object(locator),
            locator.cautions().iter().map(Remark::from).collect(),
        ),
    };
    if json {
        let fields = value.as_object().into_iter().flatten();
        let fields = fields.map(|(key, value)| (key.as_str(), value.clone()));
        return answer(&fields.chain(NO_FAULT).collect::<Vec<_>>()).to_string();
    }
    let warnings = remarks.into_iter().map(|remark| remark.words);
    set(&mut value, "warnings", warnings.collect::<Vec<_>>());
    let mut lines = Vec::new();
    for (name, value) in value.as_object().into_iter().flatten() {
        let text = match value {
            Value::Null => continue,
            Value::String(text) => text.clone(),
            Value::Array(items) if items.is_empty() => continue,
            Value::Array(items) => items.iter().map(item).collect::<Vec<_>>().join(", "),
            other => other.to_string(),
        };
        lines.push(format!("{name:<16} {text}"));
    }
    lines.join("\n")
}

fn item(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        // A syntax.
        Value::Object(parts) => item(
            parts
                .get("name")
                .filter(|name| !name.is_null())
                .unwrap_or(&parts["oid"]),
        ),
        Value::Array(pair) => pair.iter().map(item).collect::<Vec<_>>().join("="),
        other => other.to_string(),
    }
}

/// The object of `url parse --json`; every key is always present.
pub(crate) fn parts(url: &Z3950Url) -> Value {
    let text = |octets: &Octets| octets.to_string();
    json!({
        "scheme": url.scheme(),
        "kind": url.kind().to_string(),
        "host": url.host().to_string(),
        "port": url.port(),
        "databases": url.databases().iter().map(text).collect::<Vec<_>>(),
        "docid": url.docid().map(text),
        "docid_hex": url.docid().map(Octets::to_hex),
        "element_set": url.element_set().map(text),
        "record_syntaxes": url.record_syntaxes().iter().map(named_syntax).collect::<Vec<_>>(),
        "extensions": url
            .extensions()
            .iter()
            .map(|extension| json!([extension.keyword(), text(extension.value())]))
            .collect::<Vec<_>>(),
        "fragment": url.fragment().map(text),
        "warnings": url.warnings().iter().map(Warning::code).collect::<Vec<_>>(),
        "canonical": url.canonical(),
    })
}

/// A syntax that a URL names; one that is not known has no identifier.
fn named_syntax(name: &Octets) -> Value {
    let name = name.to_string();
    match Oid::record_syntax_by_name(name.as_bytes()) {
        Some(oid) => syntax(Some(oid)),
        None => json!({ "name": name, "oid": null }),
    }
}

fn canonical(text: String, json: bool) -> String {
    match json {
        true => answered([("canonical", text.into())]).to_string(),
        false => text,
    }
}

fn build(parts: &Build, output: &mut Output) -> Result<Exit, Failure> {
    let json = parts.reading.json.then_some(CANONICAL.as_slice());
    let mode = mode(parts.reading.strict);
    let octets = |text: &OsString| text.as_encoded_bytes().to_vec();
    let host = match Host::parse(&parts.host, mode) {
        Ok(host) => host,
        Err(error) => return refuse(parts.host.as_ref(), &error, json, output),
    };
    let mut builder = Z3950Url::builder(parts.kind, host)
        .port(parts.port)
        .databases(parts.databases.iter().map(octets))
        .record_syntaxes(parts.record_syntaxes.iter().map(octets));
    if let Some(docid) = parts
        .docid
        .as_ref()
        .map(octets)
        .or(parts.docid_hex.as_ref().map(|hex| hex.0.clone()))
    {
        builder = builder.docid(docid);
    }
    if let Some(element_set) = &parts.element_set {
        builder = builder.element_set(octets(element_set));
    }
    for (keyword, value) in &parts.extensions {
        builder = builder.extension(keyword, value.as_bytes());
    }
    match builder.build() {
        Ok(url) => {
            output.line(&canonical(url.canonical(), json.is_some()))?;
            Ok(Exit::Delivered)
        }
        Err(error) if json.is_some() => {
            let refused = refused(error.name(), None, &error, &CANONICAL);
            output.line(&refused.to_string())?;
            Ok(Exit::Usage)
        }
        Err(error) => {
            output.error(&error.to_string());
            Ok(Exit::Usage)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::redacted;
    use crate::render::named;

    #[test]
    fn messages_never_show_credentials() {
        for (text, shown) in [
            ("z39.50r://me:pw@h/d?x", "z39.50r://<redacted>@h/d?x"),
            ("z39.50r://me:p@w@h/d?x@y", "z39.50r://<redacted>@h/d?x@y"),
            (" z39.50r://h/d?x@y\n", "z39.50r://h/d?x@y"),
            ("ftp://me:p?w;@h/d%", "ftp://<redacted>@h/d%"),
            ("no url", "no url"),
        ] {
            assert_eq!(named(text.as_bytes()), shown);
            assert_eq!(redacted(text.as_bytes()), shown);
        }
    }
}

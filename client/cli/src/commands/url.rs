//! `z3950 url`: parses, builds, compares and checks URLs of every scheme (RFC 2056 §5, RFC 1738).

mod check;
mod compare;
pub(crate) mod extract;
mod other;
pub(crate) mod resolve;

use std::ffi::{OsStr, OsString};

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use z3950::url::extract::{MAX_WRAP_WIDTH, MIN_WRAP_WIDTH, wrap};
use z3950::url::{self, Caution, Encoded, Host, Kind, Locator, Octets, UrlError, Z3950Url};

use z3950_asn1::oid::Oid;

use crate::answer::Envelope;
use crate::commands::complete;
use crate::commands::connection::mode;
use crate::commands::deferred::Deferred;
use crate::console::exit::Exit;
use crate::console::output::{Failure, Output};
use crate::render::{named, syntax};
use crate::threaded;

/// Commands that work on URLs.
#[derive(Debug, Subcommand)]
pub(crate) enum Url {
    /// Show the parts of a URL.
    Parse(Deferred<Texts>),
    /// Print the canonical form of URLs, by which they are compared.
    Canon(Deferred<Canon>),
    /// Compare two URLs by their canonical forms.
    Compare(Deferred<compare::Arguments>),
    /// Build a Z39.50 URL from its parts, escaping where needed.
    Build(Deferred<Build>),
    /// Resolve a relative URL such as ../b against a base URL.
    Resolve(Deferred<resolve::Arguments>),
    /// Check that URLs are well formed, and optionally that they lead somewhere.
    Check(Deferred<check::Arguments>),
    /// Extract the URLs from text, MARC records or an HTML page.
    Extract(Deferred<extract::Arguments>),
    /// Wrap URLs in <URL: and >, in lines short enough for e-mail.
    Wrap(Deferred<Wrap>),
}

#[derive(Debug, Args)]
pub(crate) struct Texts {
    /// URLs of any scheme.
    #[arg(required = true, value_name = "URL")]
    pub(crate) urls: Vec<OsString>,

    #[command(flatten)]
    pub(crate) reading: UrlReading,
}

#[derive(Debug, Args)]
pub(crate) struct Canon {
    #[command(flatten)]
    pub(crate) texts: Texts,

    #[command(flatten)]
    pub(crate) showing: Redaction,
}

#[derive(Debug, Args)]
pub(crate) struct Wrap {
    /// URLs of any scheme, printed in canonical form if the scheme is known.
    #[arg(required = true, value_name = "URL")]
    urls: Vec<OsString>,

    /// The maximum line length, in characters.
    #[arg(long, default_value_t = 72, value_parser = width)]
    width: usize,

    #[command(flatten)]
    reading: UrlReading,

    #[command(flatten)]
    showing: Redaction,
}

fn width(text: &str) -> Result<usize, String> {
    let width = text.parse().ok();
    width
        .filter(|width| (MIN_WRAP_WIDTH..=MAX_WRAP_WIDTH).contains(width))
        .ok_or_else(|| format!("not a number from {MIN_WRAP_WIDTH} to {MAX_WRAP_WIDTH}"))
}

/// Whether passwords are shown.
#[derive(Debug, Args)]
pub(crate) struct Redaction {
    /// Replace passwords with ***; by default, URLs are printed unchanged.
    #[arg(long)]
    pub(crate) redact: bool,
}

/// How URLs are read and results are written.
#[derive(Debug, Args)]
pub(crate) struct UrlReading {
    /// Accept only what RFC 2056 and RFC 1738 strictly allow.
    #[arg(long)]
    pub(crate) strict: bool,

    /// Print one JSON object per line.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Build {
    /// z39.50s for a session, z39.50r for a retrieval.
    #[arg(long, value_parser = kind, value_name = "session|retrieval")]
    pub(crate) kind: Kind,

    /// Host name or address.
    #[arg(long)]
    pub(crate) host: String,

    /// TCP port.
    #[arg(long, default_value_t = url::DEFAULT_PORT)]
    pub(crate) port: u16,

    /// Database; may be repeated.
    #[arg(long = "database", value_name = "NAME")]
    pub(crate) databases: Vec<OsString>,

    /// Identifier of the record.
    #[arg(long, value_name = "ID")]
    pub(crate) docid: Option<OsString>,

    /// Identifier of the record, in hexadecimal.
    #[arg(long, value_name = "HEX", conflicts_with = "docid", value_parser = hexadecimal)]
    pub(crate) docid_hex: Option<Octets>,

    /// Element set name.
    #[arg(long, value_name = "NAME")]
    pub(crate) element_set: Option<OsString>,

    /// Record syntax, by name or object identifier; may be repeated, best first.
    #[arg(long = "syntax", alias = "record-syntax", value_name = "NAME", add = complete::syntax())]
    pub(crate) record_syntaxes: Vec<OsString>,

    /// Additional parameter; may be repeated.
    #[arg(long = "extension", value_name = "KEYWORD=VALUE", value_parser = extension)]
    pub(crate) extensions: Vec<(String, String)>,

    #[command(flatten)]
    pub(crate) reading: UrlReading,
}

pub(crate) fn run(command: &Url, output: &mut Output) -> Result<Exit, Failure> {
    match command {
        Url::Parse(texts) => each(&texts.urls, &texts.reading, &PARTS, output, parse),
        Url::Canon(arguments) => {
            let Canon { texts, showing } = &**arguments;
            let show = |locator: &Locator, json, output: &Output| {
                let text = if showing.redact {
                    locator.canonical()
                } else {
                    locator.canonical_with_secrets()
                };
                showing.caution(locator.has_password(), output);
                single("canonical", text, json)
            };
            each(&texts.urls, &texts.reading, &["canonical"], output, show)
        }
        Url::Compare(arguments) => compare::run(arguments, output),
        Url::Build(parts) => build(parts, output),
        Url::Resolve(arguments) => resolve::run(arguments, output),
        Url::Check(arguments) => threaded(|runtime| check::run(arguments, runtime, output)),
        Url::Extract(arguments) => extract::run(arguments, output),
        Url::Wrap(arguments) => wrapped(arguments, output),
    }
}

impl Redaction {
    /// Warns that a URL on standard output contains a password.
    fn caution(&self, has_password: bool, output: &Output) {
        if has_password && !self.redact {
            output.warning("the URL contains a password; --redact hides it");
        }
    }
}

/// The keys in the output of `url parse --json` that are the same for URLs of every scheme.
const PARTS: [&str; 7] = [
    "scheme",
    "kind",
    "host",
    "port",
    "fragment",
    "warnings",
    "canonical",
];

/// Writes the result of `show` for each URL, and reports malformed URLs. With `--json`, `show` is called with `true`,
/// and the answer for a malformed URL has these `keys`.
fn each(
    urls: &[OsString],
    reading: &UrlReading,
    keys: &[&str],
    output: &mut Output,
    show: impl Fn(&Locator, bool, &Output) -> String,
) -> Result<Exit, Failure> {
    let json = reading.json;
    let mut exit = Exit::Delivered;
    for text in urls {
        match Locator::parse(text.as_encoded_bytes(), mode(reading.strict)) {
            Ok(url) => {
                let shown = show(&url, json, output);
                output.line(&shown)?;
            }
            Err(error) => exit = exit.and(refuse(text, &error, json.then_some(keys), output)?),
        }
    }
    Ok(exit)
}

/// Reports a malformed URL: as an object with the command's own keys if `--json` is given, and otherwise as a message.
fn refuse(
    text: &OsStr,
    error: &UrlError,
    json: Option<&[&str]>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let words = format!("{}: {error}", named(text.as_encoded_bytes()));
    refusal(error, json.unwrap_or_default()).or_error(json.is_some(), &words, output)?;
    Ok(Exit::Usage)
}

/// The keys that describe an error in a JSON answer. They follow the command's own keys.
const FAULT: [&str; 3] = ["error", "offset", "message"];

/// Creates a JSON answer with the command's own keys and those in [`FAULT`]. All values are null at first.
fn answer(keys: &[&str]) -> Envelope {
    Envelope::blank(keys.iter().chain(&FAULT))
}

/// Creates the JSON answer for a malformed URL.
fn refusal(error: &UrlError, keys: &[&str]) -> Envelope {
    answer(keys)
        .with("error", error.kind().name())
        .with("offset", error.offset())
        .with("message", error.to_string())
}

fn parse(locator: &Locator, json: bool, _: &Output) -> String {
    let (mut value, cautions) = match locator.url() {
        url::Url::Z3950(url) => (parts(url), url.warnings().to_vec()),
        _ => (other::object(locator), locator.cautions()),
    };
    if json {
        let parts = Envelope::from(value);
        let answer = FAULT
            .iter()
            .fold(parts, |parts, key| parts.with(key, Value::Null));
        return answer.to_string();
    }
    let warnings = cautions.iter().map(ToString::to_string);
    if let Some(codes) = value.get_mut("warnings") {
        *codes = warnings.collect();
    }
    let mut lines = Vec::new();
    for (name, value) in value.as_object().into_iter().flatten() {
        let text = match value {
            Value::Null => continue,
            Value::Array(items) if items.is_empty() => continue,
            Value::Array(items) => items.iter().map(item).collect::<Vec<_>>().join(", "),
            other => item(other),
        };
        lines.push(format!("{name:<16} {text}"));
    }
    lines.join("\n")
}

fn item(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        // The only objects among these values are record syntaxes.
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

/// Returns the JSON object that `url parse --json` prints for a Z39.50 URL.
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
            .map(|extension| json!([extension.keyword(), text(&extension.value())]))
            .collect::<Vec<_>>(),
        "fragment": url.fragment().map(text),
        "warnings": url.warnings().iter().map(Caution::code).collect::<Vec<_>>(),
        "canonical": url.canonical(),
    })
}

/// Returns the object for a record syntax named in a URL. Its object identifier is null if the name is unknown.
fn named_syntax(name: &Octets) -> Value {
    let name = name.to_string();
    match Oid::record_syntax_by_name(name.as_bytes()) {
        Some(oid) => syntax(Some(oid)),
        None => json!({ "name": name, "oid": null }),
    }
}

/// Returns `text` unchanged or, if `json` is set, a JSON object that contains it under `key`.
fn single(key: &str, text: String, json: bool) -> String {
    if json {
        answer(&[key]).with(key, text).to_string()
    } else {
        text
    }
}

/// Writes URLs between `<URL:` and `>`, in lines that e-mail programs do not change (RFC 1738 Appendix).
fn wrapped(arguments: &Wrap, output: &mut Output) -> Result<Exit, Failure> {
    let wrapped = |locator: &Locator, json, output: &Output| {
        let fragment = locator.fragment().map(Encoded::of_data);
        let fragment = fragment.map_or_else(String::new, |fragment| format!("#{fragment}"));
        let url = if arguments.showing.redact {
            locator.to_string()
        } else {
            locator.to_string_with_secrets()
        };
        let has_password = locator.has_password();
        arguments.showing.caution(has_password, output);
        let text = wrap(&format!("{url}{fragment}"), arguments.width);
        single("wrapped", text, json)
    };
    let Wrap { urls, reading, .. } = arguments;
    each(urls, reading, &["wrapped"], output, wrapped)
}

fn build(parts: &Build, output: &mut Output) -> Result<Exit, Failure> {
    let json = parts.reading.json.then_some(["canonical"].as_slice());
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
    let docid_hex = parts.docid_hex.as_ref().map(|hex| hex.as_bytes().to_vec());
    if let Some(docid) = parts.docid.as_ref().map(octets).or(docid_hex) {
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
            output.line(&single("canonical", url.canonical(), json.is_some()))?;
            Ok(Exit::Delivered)
        }
        Err(error) => {
            let words = error.to_string();
            let answer = answer(&["canonical"]).with("error", error.name());
            let answer = answer.with("message", words.as_str());
            answer.or_error(json.is_some(), &words, output)?;
            Ok(Exit::Usage)
        }
    }
}

fn kind(text: &str) -> Result<Kind, String> {
    match text.to_ascii_lowercase().as_str() {
        "session" | "s" | "z39.50s" => Ok(Kind::Session),
        "retrieval" | "r" | "z39.50r" => Ok(Kind::Retrieval),
        _ => Err("neither session nor retrieval".to_owned()),
    }
}

fn hexadecimal(text: &str) -> Result<Octets, String> {
    let octets = crate::console::input::hexadecimal(text.as_bytes());
    octets
        .map(Octets::from)
        .ok_or_else(|| "not pairs of hexadecimal digits".to_owned())
}

fn extension(text: &str) -> Result<(String, String), String> {
    let (keyword, value) = text
        .split_once('=')
        .ok_or("not of the form KEYWORD=VALUE")?;
    Ok((keyword.to_owned(), value.to_owned()))
}

//! `z3950 url`: URLs of every scheme as texts (RFC 2056 §5, RFC 1738).

pub(super) mod check;
pub(super) mod extract;
mod other;
pub(super) mod resolve;
pub(super) mod wrap;

use std::ffi::{OsStr, OsString};

use serde_json::{Value, json};

use super::args::{Build, Texts, Url};
use super::exit::Exit;
use super::output::{Failure, Output};
use crate::render::shown;
use crate::target;
use crate::url::{self, Host, Locator, Mode, Octets, UrlError, Z3950Url};

pub(super) fn run(command: &Url, output: &mut Output) -> Result<Exit, Failure> {
    match command {
        Url::Parse(texts) => each(texts, output, parse),
        Url::Canon(texts) => each(texts, output, canon),
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

/// A URL as a message may show it: one line, without its user and password.
pub(super) fn named(text: &[u8]) -> String {
    let shown = shown(text.trim_ascii());
    let Some((scheme, rest)) = shown.split_once("//") else {
        return shown;
    };
    let authority = rest.split('/').next().unwrap_or_default();
    match authority.rfind('@').and_then(|at| rest.get(at..)) {
        Some(behind) => format!("{scheme}//<redacted>{behind}"),
        None => shown,
    }
}

/// A text that was to be a URL, as a message may show it.
pub(super) fn redacted(text: &[u8]) -> String {
    target::redacted(&shown(text.trim_ascii()))
}

pub(super) fn mode(strict: bool) -> Mode {
    if strict { Mode::Strict } else { Mode::Lenient }
}

/// What is shown of a URL that was read: a JSON object, or lines.
type Show = fn(&Locator, json: bool) -> String;

fn each(texts: &Texts, output: &mut Output, show: Show) -> Result<Exit, Failure> {
    let mut exit = Exit::Delivered;
    for text in &texts.urls {
        match Locator::parse(text.as_encoded_bytes(), mode(texts.reading.strict)) {
            Ok(url) => output.line(&show(&url, texts.reading.json))?,
            Err(error) => exit = exit.and(refuse(text, &error, texts.reading.json, output)?),
        }
    }
    Ok(exit)
}

/// A refused URL: an object on standard output if JSON is wanted, else a message.
fn refuse(
    text: &OsStr,
    error: &UrlError,
    json: bool,
    output: &mut Output,
) -> Result<Exit, Failure> {
    if json {
        output.line(&refusal(error).to_string())?;
    } else {
        output.error(&format!("{}: {error}", redacted(text.as_encoded_bytes())));
    }
    Ok(Exit::Usage)
}

fn refusal(error: &UrlError) -> Value {
    json!({ "error": error.kind().name(), "offset": error.offset(), "message": error.to_string() })
}

fn parse(locator: &Locator, json: bool) -> String {
    let value = match locator.url() {
        url::Url::Z3950(url) => parts(url),
        _ => other::object(locator),
    };
    if json {
        return value.to_string();
    }
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
        Value::Array(pair) => pair.iter().map(item).collect::<Vec<_>>().join("="),
        other => other.to_string(),
    }
}

/// The object of `url parse --json`; every key is always present.
pub(super) fn parts(url: &Z3950Url) -> Value {
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
        "record_syntaxes": url.record_syntaxes().iter().map(text).collect::<Vec<_>>(),
        "extensions": url
            .extensions()
            .iter()
            .map(|extension| json!([extension.keyword(), text(extension.value())]))
            .collect::<Vec<_>>(),
        "fragment": url.fragment().map(text),
        "warnings": url.warnings().iter().map(ToString::to_string).collect::<Vec<_>>(),
        "canonical": url.canonical(),
    })
}

fn canon(locator: &Locator, json: bool) -> String {
    canonical(locator.canonical(), json)
}

fn canonical(text: String, json: bool) -> String {
    match json {
        true => json!({ "canonical": text }).to_string(),
        false => text,
    }
}

fn build(parts: &Build, output: &mut Output) -> Result<Exit, Failure> {
    let json = parts.reading.json;
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
            output.line(&canonical(url.canonical(), json))?;
            Ok(Exit::Delivered)
        }
        Err(error) if json => {
            output.line(
                &json!({ "error": error.name(), "offset": null, "message": error.to_string() })
                    .to_string(),
            )?;
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
    use super::{named, redacted};

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

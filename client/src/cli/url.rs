//! `z3950 url`: URLs as texts; nothing here connects (RFC 2056 §5).

use std::ffi::{OsStr, OsString};

use serde_json::{Value, json};

use super::args::{Build, Check, Texts, Url};
use super::exit::Exit;
use super::input::Lines;
use super::output::{Failure, Output};
use crate::plan::{PlanOptions, plan};
use crate::render::shown;
use crate::url::{Host, Mode, Octets, UrlError, Z3950Url};

pub(super) fn run(command: &Url, output: &mut Output) -> Result<Exit, Failure> {
    match command {
        Url::Parse(texts) => each(texts, output, parse),
        Url::Canon(texts) => each(texts, output, canon),
        Url::Build(parts) => build(parts, output),
        Url::Check(texts) => check(texts, output),
    }
}

/// Reads a URL that a command is to carry out; says what is wrong with it if it is none.
pub(crate) fn read(text: &[u8], mode: Mode, output: &Output) -> Option<Z3950Url> {
    Z3950Url::parse(text, mode)
        .inspect_err(|error| output.error(&format!("{}: {error}", named(text))))
        .ok()
}

/// A URL as a message may show it: one line, without its user and password.
fn named(text: &[u8]) -> String {
    let shown = shown(text.trim_ascii());
    let Some((scheme, rest)) = shown.split_once("//") else {
        return shown;
    };
    let authority = rest.split(['/', '?', ';', '#']).next().unwrap_or_default();
    match authority.rfind('@').and_then(|at| rest.get(at..)) {
        Some(behind) => format!("{scheme}//<redacted>{behind}"),
        None => shown,
    }
}

pub(super) fn mode(strict: bool) -> Mode {
    if strict { Mode::Strict } else { Mode::Lenient }
}

/// What is shown of a URL that was read: a JSON object, or lines.
type Show = fn(&Z3950Url, json: bool) -> String;

fn each(texts: &Texts, output: &mut Output, show: Show) -> Result<Exit, Failure> {
    let mut exit = Exit::Delivered;
    for text in &texts.urls {
        match Z3950Url::parse(text.as_encoded_bytes(), mode(texts.reading.strict)) {
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
        output.error(&format!("{}: {error}", named(text.as_encoded_bytes())));
    }
    Ok(Exit::Usage)
}

fn refusal(error: &UrlError) -> Value {
    json!({ "error": error.kind().name(), "offset": error.offset(), "message": error.to_string() })
}

fn parse(url: &Z3950Url, json: bool) -> String {
    let value = parts(url);
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

fn canon(url: &Z3950Url, json: bool) -> String {
    if json {
        json!({ "canonical": url.canonical() }).to_string()
    } else {
        url.canonical()
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
            output.line(&canon(&url, json))?;
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

/// Each URL on a line of its own: well formed or not, and what a reader should be careful about.
fn check(texts: &Check, output: &mut Output) -> Result<Exit, Failure> {
    let mut exit = Exit::Delivered;
    for text in &texts.urls {
        exit = exit.and(check_one(text.as_encoded_bytes(), texts, output)?);
    }
    if let Some(path) = &texts.input {
        let mut lines = Lines::open(path)?;
        while let Some(line) = lines.next()? {
            if !line.trim_ascii().is_empty() {
                exit = exit.and(check_one(&line, texts, output)?);
            }
        }
    }
    Ok(exit)
}

fn check_one(text: &[u8], texts: &Check, output: &mut Output) -> Result<Exit, Failure> {
    let found = Z3950Url::parse(text, mode(texts.reading.strict));
    let (exit, verdict, cautions) = match &found {
        Ok(url) => (Exit::Delivered, "ok".to_owned(), cautions(url)),
        Err(error) => (Exit::FaultsFound, error.to_string(), Vec::new()),
    };
    if texts.reading.json {
        let mut value = match &found {
            Ok(url) => json!({ "ok": true, "canonical": url.canonical(), "cautions": cautions }),
            Err(error) => {
                let mut value = refusal(error);
                value["ok"] = false.into();
                value
            }
        };
        value["url"] = named(text).into();
        output.line(&value.to_string())?;
        return Ok(exit);
    }
    let verdict = if cautions.is_empty() {
        verdict
    } else {
        format!("{verdict}, but {}", cautions.join("; "))
    };
    output.line(&format!("{}: {verdict}", named(text)))?;
    Ok(exit)
}

/// Warnings of the reader and cautions of the plan, in words; a URL that cannot be carried out says why.
fn cautions(url: &Z3950Url) -> Vec<String> {
    let mut cautions: Vec<String> = url.warnings().iter().map(ToString::to_string).collect();
    match plan(url, &PlanOptions::default()) {
        Ok(plan) => cautions.extend(plan.cautions().iter().map(ToString::to_string)),
        Err(error) => cautions.push(error.to_string()),
    }
    cautions
}

#[cfg(test)]
mod tests {
    use super::named;

    #[test]
    fn messages_never_show_credentials() {
        for (text, shown) in [
            ("z39.50r://me:pw@h/d?x", "z39.50r://<redacted>@h/d?x"),
            ("z39.50r://me:p@w@h/d?x@y", "z39.50r://<redacted>@h/d?x@y"),
            (" z39.50r://h/d?x@y\n", "z39.50r://h/d?x@y"),
            ("no url", "no url"),
        ] {
            assert_eq!(named(text.as_bytes()), shown);
        }
    }
}

//! Messages of HTTP in transcripts: as lines of JSON, and without secrets (RFC 9110 §11.6.2; `x-password` of YAZ's programs).

use std::fmt;
use std::time::SystemTime;

use bytes::Bytes;
use serde_json::Value;
use z3950_asn1::hex;

use super::{Direction, line, time_of};
use crate::observer::HttpMessage;

/// A message of HTTP in a transcript.
///
/// Its `Debug` has no secrets.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpEntry {
    /// When it was received, or about to be sent.
    pub time: SystemTime,
    /// The session, counted from 1 in the order of accepted connections.
    pub session: u64,
    /// Its direction.
    pub direction: Direction,
    /// What it says.
    pub message: HttpMessage,
}

impl HttpEntry {
    /// A message that is received or sent now.
    pub(crate) fn now(session: u64, direction: Direction, message: &HttpMessage) -> Self {
        Self {
            time: SystemTime::now(),
            session,
            direction,
            message: message.clone(),
        }
    }

    /// The entry as a JSON object, without secrets: `head`, and `body` or, if that is no UTF-8, `body-octets`.
    pub fn to_json(&self) -> Value {
        let mut object = line(self.time, self.session);
        object.insert("direction".to_owned(), self.direction.name().into());
        object.insert("head".to_owned(), redacted_head(&self.message.head).into());
        match std::str::from_utf8(&self.message.body) {
            Ok("") => {}
            Ok(text) => drop(object.insert("body".to_owned(), redacted_body(text).into())),
            Err(_) => {
                let octets = hex::digits(&self.message.body);
                object.insert("body-octets".to_owned(), octets.into());
            }
        }
        Value::Object(object)
    }

    /// The entry of a JSON object; `Ok(None)` for one that is no message of HTTP.
    pub(super) fn from_json(object: &Value) -> Result<Option<Self>, &'static str> {
        let Some(head) = object.get("head") else {
            return Ok(None);
        };
        let head = head.as_str().ok_or("head is not a text")?;
        let body = match (object.get("body"), object.get("body-octets")) {
            (Some(Value::String(text)), _) => Bytes::from(text.clone()),
            (None, Some(Value::String(digits))) => {
                let octets = hex::octets(digits);
                octets.ok_or("body-octets are not in hexadecimal")?.into()
            }
            (None, None) => Bytes::new(),
            _ => return Err("body is not a text"),
        };
        let session = object.get("session").and_then(Value::as_u64);
        Ok(Some(Self {
            time: time_of(object),
            session: session.ok_or("session is not a number")?,
            direction: Direction::of_json(object)?,
            message: HttpMessage {
                head: head.to_owned(),
                body,
            },
        }))
    }
}

impl fmt::Debug for HttpEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            session, direction, ..
        } = self;
        write!(f, "session {session} {direction:?}\n{self}")
    }
}

impl fmt::Display for HttpEntry {
    /// The head and the body, without secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let body = String::from_utf8_lossy(&self.message.body);
        let head = redacted_head(&self.message.head);
        write!(f, "{head}\n{}", redacted_body(&body))
    }
}

/// What stands for a secret.
const REDACTED: &str = "*";
/// Parameters and elements that hold secrets.
const SECRETS: [&str; 2] = ["x-password", "password"];
/// Headers that hold secrets.
const SECRET_HEADERS: [&str; 2] = ["authorization", "proxy-authorization"];

fn redacted_head(head: &str) -> String {
    let mut lines = head.lines();
    let mut redacted = String::with_capacity(head.len());
    if let Some(first) = lines.next() {
        let words = first.split(' ').map(|word| match word.split_once('?') {
            Some((path, query)) => format!("{path}?{}", redacted_pairs(query)),
            None => word.to_owned(),
        });
        redacted += &words.collect::<Vec<_>>().join(" ");
        redacted.push('\n');
    }
    for line in lines {
        let name = line.split(':').next().unwrap_or_default().trim();
        let is_secret = SECRET_HEADERS
            .iter()
            .any(|secret| name.eq_ignore_ascii_case(secret));
        match is_secret {
            true => redacted += &format!("{name}: {REDACTED}"),
            false => redacted += line,
        }
        redacted.push('\n');
    }
    redacted
}

fn redacted_body(body: &str) -> String {
    match body
        .trim_start_matches('\u{feff}')
        .trim_start()
        .starts_with('<')
    {
        true => redacted_xml(body),
        false => redacted_pairs(body),
    }
}

/// Replaces the values of secret parameters.
fn redacted_pairs(pairs: &str) -> String {
    let pairs = pairs.split('&').map(|pair| match pair.split_once('=') {
        Some((name, _)) if is_secret(&unescaped(name)) => format!("{name}={REDACTED}"),
        _ => pair.to_owned(),
    });
    pairs.collect::<Vec<_>>().join("&")
}

fn is_secret(name: &str) -> bool {
    SECRETS
        .iter()
        .any(|secret| name.eq_ignore_ascii_case(secret))
}

/// The name of a parameter without escapes of ASCII.
fn unescaped(name: &str) -> String {
    let mut parts = name.split('%');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part
            .get(..2)
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match code.filter(u8::is_ascii) {
            Some(code) => {
                text.push(char::from(code));
                text += part.get(2..).unwrap_or_default();
            }
            None => {
                text.push('%');
                text += part;
            }
        }
    }
    text
}

/// Replaces the contents of secret elements.
fn redacted_xml(xml: &str) -> String {
    let mut parts = xml.split('<');
    let mut redacted = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        redacted.push('<');
        let end =
            part.find(|character: char| character.is_whitespace() || "/>".contains(character));
        let name = part.get(..end.unwrap_or(part.len())).unwrap_or_default();
        let local = name.rsplit(':').next().unwrap_or_default();
        match part.split_once('>') {
            Some((tag, text)) if is_secret(local) && !text.is_empty() => {
                redacted += &format!("{tag}>{REDACTED}");
            }
            _ => redacted += part,
        }
    }
    redacted
}

#[cfg(test)]
mod tests;

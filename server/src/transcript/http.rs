//! HTTP messages in transcripts, as lines of JSON.

mod secrets;

use std::fmt;
use std::time::SystemTime;

use bytes::Bytes;
use serde_json::Value;
use z3950_files::hex;
use z3950_marc::text::escape_unprintable;

use self::secrets::{PlainBody, plain_body, plain_head};
use super::{Direction, line, time_of};
use crate::observer::HttpMessage;

/// An HTTP message in a transcript.
///
/// Its `Debug` form does not show secrets.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpEntry {
    /// The time at which the message was received or was about to be sent.
    pub time: SystemTime,
    /// The number of the session, from 1 in the order of accepted connections.
    pub session: u64,
    /// The direction of the message.
    pub direction: Direction,
    /// The contents of the message.
    pub message: HttpMessage,
}

impl HttpEntry {
    /// Creates an entry for a message that is received or sent now.
    pub(crate) fn now(session: u64, direction: Direction, message: &HttpMessage) -> Self {
        Self {
            time: SystemTime::now(),
            session,
            direction,
            message: message.clone(),
        }
    }

    /// Returns the entry as a JSON object, without secrets: `head`, and `body` or, if the body is not UTF-8, `body-octets`.
    pub fn to_json(&self) -> Value {
        let mut object = line(self.time, self.session);
        object.insert("direction".to_owned(), self.direction.name().into());
        object.insert("head".to_owned(), plain_head(&self.message.head).into());
        match self.body() {
            PlainBody::Text(text) if text.is_empty() => {}
            PlainBody::Text(text) => drop(object.insert("body".to_owned(), text.into())),
            PlainBody::Octets(octets) => {
                let octets = hex::digits(&octets);
                object.insert("body-octets".to_owned(), octets.into());
            }
        }
        Value::Object(object)
    }

    /// Returns the body without secrets.
    fn body(&self) -> PlainBody {
        plain_body(&self.message, self.direction == Direction::Received)
    }

    /// Parses an entry from a JSON object; returns `Ok(None)` for an object that is not an HTTP message.
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
            session: session.ok_or("session is not a number")?,
            direction: Direction::of_json(object)?,
            time: time_of(object)?,
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
    /// Writes the head and the body, without secrets, and with escapes for characters that could affect a terminal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = plain_head(&self.message.head);
        let text = match self.body() {
            PlainBody::Text(text) => format!("{head}\n{text}"),
            PlainBody::Octets(octets) => format!("{head}\n{}", String::from_utf8_lossy(&octets)),
        };
        f.write_str(&escape_unprintable(&text, |one| matches!(one, '\n' | '\t')))
    }
}

#[cfg(test)]
mod tests;

//! Recorded conversations: the APDUs of sessions, as values for tests, as lines of JSON for other programs, and in a form that
//! can be replayed.
//!
//! A line of JSON is an object with `time` (RFC 3339, UTC), `session` (from 1), `direction` (`received` or `sent`), `apdu` (the
//! standard's name for the APDU, or `malformed`), `octets` (hexadecimal) and `value` (the contents by the standard's names;
//! absent if malformed). Lines with `event` concern connections: `opened`, with the `version` of the format, and `closed`.
//! Secrets are written as `*` in octets and left out of values. Octets from a client that cannot be decoded are treated as
//! secrets too, apart from the header. Lines with `head` are HTTP messages; see [`HttpEntry`].

mod compose;
mod doubts;
mod http;
mod lines;
mod log;
mod player;
mod redact;
mod replay;
mod sameness;

use std::collections::HashSet;
use std::fmt;
use std::time::SystemTime;

use bytes::Bytes;
use serde_json::{Map, Value};
use z3950_asn1::apdu::Apdu;
use z3950_asn1::codec::dump::dump;
use z3950_asn1::codec::frame::Header;
use z3950_asn1::{codec, decoded};
use z3950_files::hex;
use z3950_files::moment::Moment;
use z3950_marc::text::escape_unprintable;

pub use self::http::HttpEntry;
use self::lines::Line;
pub use self::lines::ReplayError;
pub use self::log::{ApduLog, JsonLog, MissingLog};
pub(crate) use self::player::{Player, ReplayReply};
pub use self::redact::redacted_request;
use self::redact::{is_plain, redacted_answer};
pub use self::replay::Replay;

/// The version of the format, which is given in `opened` lines. Transcripts of other versions are refused. Adding members does
/// not change the version.
pub const FORMAT_VERSION: u64 = decoded::TRANSCRIPT_VERSION;

/// The name for the event at the beginning of a session.
const OPENED: &str = "opened";
/// The name for the event at the end of a session.
const CLOSED: &str = "closed";

/// The direction of an APDU or HTTP message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the client to the server.
    Received,
    /// From the server to the client.
    Sent,
}

impl Direction {
    const ALL: [Self; 2] = [Self::Received, Self::Sent];

    fn name(self) -> &'static str {
        match self {
            Self::Received => "received",
            Self::Sent => "sent",
        }
    }

    /// Returns the octets of this direction without credentials.
    fn redacted(self, octets: &[u8]) -> Vec<u8> {
        match self {
            Self::Received => redacted_request(octets),
            Self::Sent => redacted_answer(octets),
        }
    }

    /// Parses the direction in a line.
    fn of_json(object: &Value) -> Result<Self, &'static str> {
        let direction = object.get("direction").and_then(Value::as_str);
        let mut known = Self::ALL.into_iter();
        known
            .find(|known| direction == Some(known.name()))
            .ok_or("direction is neither received nor sent")
    }
}

/// An APDU in a transcript.
///
/// The `Debug` form of the value lists the octets without the client's credentials.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct TranscriptEntry {
    /// The time at which the APDU was received or was about to be sent.
    pub time: SystemTime,
    /// The number of the session, from 1 in the order of accepted connections.
    pub session: u64,
    /// The direction of the APDU.
    pub direction: Direction,
    /// The octets of the APDU.
    pub octets: Bytes,
    /// The decoded APDU; `None` if the octets are malformed.
    pub apdu: Option<Apdu>,
}

impl TranscriptEntry {
    /// Creates an entry for an APDU that is received or sent now.
    pub(crate) fn now(
        session: u64,
        direction: Direction,
        octets: &[u8],
        apdu: Option<&Apdu>,
    ) -> Self {
        Self {
            time: SystemTime::now(),
            session,
            direction,
            octets: Bytes::copy_from_slice(octets),
            apdu: apdu.cloned(),
        }
    }

    /// Returns the standard's name for the APDU, or `malformed`.
    pub fn name(&self) -> &'static str {
        name(self.apdu.as_ref())
    }

    /// Returns the entry as a JSON object, without secrets.
    pub fn to_json(&self) -> Value {
        let mut object = line(self.time, self.session);
        object.insert("direction".to_owned(), self.direction.name().into());
        // The value of a client's APDU is shown only if its octets are shown too, so that the value does not reveal secrets.
        let apdu = self.apdu.as_ref();
        let apdu = apdu.filter(|apdu| self.direction == Direction::Sent || is_plain(apdu));
        object.insert("apdu".to_owned(), name(apdu).into());
        let octets = hex::digits(&self.direction.redacted(&self.octets));
        object.insert("octets".to_owned(), octets.into());
        if let Some(apdu) = apdu {
            object.insert("value".to_owned(), decoded::to_json(apdu));
        }
        Value::Object(object)
    }

    /// Parses an entry from a JSON object; returns `Ok(None)` for an event without octets.
    fn from_json(object: &Value) -> Result<Option<Self>, String> {
        let Some(octets) = object.get("octets") else {
            return Ok(None);
        };
        let octets = octets
            .as_str()
            .and_then(hex::octets)
            .ok_or("octets are not in hexadecimal")?;
        let session = object.get("session").and_then(Value::as_u64);
        let entry = Self {
            session: session.ok_or("session is not a number")?,
            direction: Direction::of_json(object)?,
            time: time_of(object)?,
            apdu: codec::decode(&octets).ok(),
            octets: octets.into(),
        };
        let told = object
            .get("apdu")
            .and_then(Value::as_str)
            .ok_or("apdu is not a text")?;
        if entry.may_be(told) {
            Ok(Some(entry))
        } else {
            Err(format!(
                "apdu is {told}, and the octets are {}",
                entry.name()
            ))
        }
    }

    /// Returns whether a line may give this name to the APDU. Octets sent by a fault are called malformed even if they are an
    /// APDU. An APDU whose credentials were removed may no longer be decodable.
    fn may_be(&self, name: &str) -> bool {
        let begins_as = || {
            let header = Header::read(&self.octets).ok().flatten();
            header.and_then(|header| Apdu::name_of_tag(header.tag))
        };
        let may_hide = self.direction == Direction::Received && self.apdu.is_none();
        [MALFORMED, self.name()].contains(&name)
            || (may_hide && HIDING.contains(&name) && begins_as() == Some(name))
    }
}

/// The names of the APDUs with credentials.
const HIDING: [&str; 2] = ["initRequest", "accessControlResponse"];

impl fmt::Debug for TranscriptEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            session,
            direction,
            octets,
            ..
        } = self;
        write!(
            f,
            "session {session} {direction:?} {}\n{}",
            self.name(),
            dump(&direction.redacted(octets))
        )
    }
}

/// Formats a value as JSON on one line, and escapes characters that could affect the reader's terminal.
fn json_line(value: &Value) -> String {
    escape_unprintable(&value.to_string(), |_| false).into_owned()
}

/// The name for octets that are not an APDU.
const MALFORMED: &str = "malformed";

fn name(apdu: Option<&Apdu>) -> &'static str {
    apdu.map_or(MALFORMED, Apdu::name)
}

/// Returns the JSON members that every line begins with.
fn line(time: SystemTime, session: u64) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("time".to_owned(), format_time(time).into());
    object.insert("session".to_owned(), session.into());
    object
}

/// Parses the time in a line.
fn time_of(object: &Value) -> Result<SystemTime, &'static str> {
    let time = object.get("time").and_then(Value::as_str);
    time.and_then(parse_time)
        .ok_or("time is not one of RFC 3339 in UTC")
}

/// Adds an event and the version of the format to a line, and returns the line. The event begins a session, or continues a log in
/// another file.
fn versioned(mut line: Map<String, Value>, event: &str) -> Map<String, Value> {
    line.insert("event".to_owned(), event.into());
    line.insert("version".to_owned(), FORMAT_VERSION.into());
    line
}

/// Recorded conversations, which can be written to a file and replayed.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Recording {
    /// The APDUs. The APDUs of each session are in order.
    pub entries: Vec<TranscriptEntry>,
    /// The HTTP messages. The messages of each session are in order. They are not replayed.
    pub messages: Vec<HttpEntry>,
}

/// The reason why text is not a valid recording.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct RecordingError {
    /// The number of the line, from 1.
    pub line: usize,
    reason: String,
}

impl Recording {
    /// Parses lines of JSON. Empty lines, and events without an APDU or HTTP message, are skipped.
    ///
    /// # Errors
    /// The first line that is not a JSON object, has a different version, or lacks a required member.
    pub fn parse(text: &str) -> Result<Self, RecordingError> {
        let (mut entries, mut messages) = (Vec::new(), Vec::new());
        for (index, line) in text.lines().enumerate() {
            let refuse = |reason: String| RecordingError {
                line: index + 1,
                reason,
            };
            match Line::read(line).map_err(refuse)? {
                Line::Apdu(entry) => entries.push(entry),
                Line::Http(entry) => messages.push(entry),
                Line::Event(_) | Line::Empty => {}
            }
        }
        Ok(Self { entries, messages })
    }
}

impl fmt::Display for Recording {
    /// Writes lines of JSON: one for each APDU, and then one for each HTTP message. The first line of a session is preceded by a
    /// line for the event that opens the session.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let apdus = self
            .entries
            .iter()
            .map(|entry| (entry.session, entry.time, entry.to_json()));
        let messages = self
            .messages
            .iter()
            .map(|entry| (entry.session, entry.time, entry.to_json()));
        let mut opened = HashSet::new();
        for (session, time, entry) in apdus.chain(messages) {
            if opened.insert(session) {
                let event = versioned(line(time, session), OPENED);
                writeln!(f, "{}", json_line(&Value::Object(event)))?;
            }
            writeln!(f, "{}", json_line(&entry))?;
        }
        Ok(())
    }
}

/// Formats a time according to RFC 3339, in UTC to the microsecond: `2026-01-31T23:59:59.123456Z`. Times before 1970 are written
/// as the beginning of 1970.
pub fn format_time(time: SystemTime) -> String {
    let Moment {
        year,
        month,
        day,
        hour,
        minute,
        second,
        nanosecond,
    } = time.into();
    let micros = nanosecond / 1000;
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
}

/// Parses a time as written by [`format_time`]; returns `None` for any other text.
fn parse_time(text: &str) -> Option<SystemTime> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    if fraction.len() > 9 {
        return None;
    }
    let [year, month, day] = numbers(date.split('-'))?;
    let [hour, minute, second] = numbers(time.split(':'))?;
    let moment = Moment {
        year,
        month,
        day,
        hour,
        minute,
        second,
        nanosecond: format!("{fraction:0<9}").parse().ok()?,
    };
    moment.time()
}

fn numbers<'a>(parts: impl Iterator<Item = &'a str>) -> Option<[u64; 3]> {
    let numbers: Option<Vec<u64>> = parts.map(|part| part.parse().ok()).collect();
    numbers?.try_into().ok()
}

#[cfg(test)]
mod tests;

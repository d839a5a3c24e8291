//! Observers that write sessions while they are in progress, either as lines of JSON or as readable listings of APDUs.

use std::io::{self, Write};
use std::sync::Mutex;
use std::time::SystemTime;

use serde_json::{Map, Value};
use tracing::warn;
use z3950_asn1::apdu::Apdu;
use z3950_asn1::codec::dump::dump;
use z3950_asn1::codec::frame::StreamError;
use z3950_asn1::error::DecodeError;

use super::{CLOSED, Direction, HttpEntry, OPENED, TranscriptEntry};
use super::{format_time, json_line, line, name, versioned};
use crate::lock::lock;
use crate::observer::{HttpMessage, Observer, Peer, SessionTotals};

/// Writes a line of JSON for each APDU, HTTP message and event immediately, in the format described in the [module](super).
pub struct JsonLog<W>(Lines<W>);

/// Writes a listing of each APDU and HTTP message immediately, after a line with the time and the session.
pub struct ApduLog<W>(Lines<W>);

impl<W: Write + Send> JsonLog<W> {
    /// Creates a log that is written to a file or another writer.
    pub fn new(to: W) -> Self {
        Self(Lines::new(to))
    }

    /// Sets the name of the log in warnings, for example the path of its file. The default is `the log`.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.0.name = name.into();
        self
    }

    /// Returns the name of the log and the reason for the first failure; `None` if every line could be written, including lines
    /// to earlier writers.
    pub fn failure(&self) -> Option<String> {
        self.0.failure()
    }

    fn note(&self, session: u64, direction: Direction, octets: &[u8], apdu: Option<&Apdu>) {
        let entry = TranscriptEntry::now(session, direction, octets, apdu);
        self.0.write_json(&entry.to_json());
    }

    fn http(&self, session: u64, direction: Direction, message: &HttpMessage) {
        let entry = HttpEntry::now(session, direction, message);
        self.0.write_json(&entry.to_json());
    }

    /// Writes a line with the version of the format, saying that the log continues in this file.
    pub fn continued(&self) {
        let mut object = Map::new();
        object.insert("time".to_owned(), format_time(SystemTime::now()).into());
        self.event(versioned(object, "continued"));
    }

    fn event(&self, object: Map<String, Value>) {
        self.0.write_json(&Value::Object(object));
    }

    /// Changes the writer, for example when log files are rotated. A log that stopped because a line could not be written resumes
    /// with the new writer.
    pub fn change<T>(&self, change: impl FnOnce(&mut W) -> T) -> T {
        self.0.change(change)
    }
}

impl<W: Write + Send> ApduLog<W> {
    /// Creates a log that is written to a file or another writer.
    pub fn new(to: W) -> Self {
        Self(Lines::new(to))
    }

    /// Sets the name of the log in warnings, for example the path of its file. The default is `the log`.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.0.name = name.into();
        self
    }

    /// Returns the name of the log and the reason for the first failure; `None` if there was none. See [`JsonLog::failure`].
    pub fn failure(&self) -> Option<String> {
        self.0.failure()
    }

    fn note(&self, session: u64, direction: Direction, octets: &[u8], apdu: Option<&Apdu>) {
        let time = format_time(SystemTime::now());
        let octets = dump(&direction.redacted(octets));
        let (direction, name) = (direction.name(), name(apdu));
        self.0.write(&format!(
            "{time} session {session} {direction} {name}\n{octets}\n"
        ));
    }

    fn http(&self, session: u64, direction: Direction, message: &HttpMessage) {
        let time = format_time(SystemTime::now());
        let entry = HttpEntry::now(session, direction, message);
        let direction = direction.name();
        self.0.write(&format!(
            "{time} session {session} {direction} HTTP\n{entry}\n"
        ));
    }

    /// Changes the writer; see [`JsonLog::change`].
    pub fn change<T>(&self, change: impl FnOnce(&mut W) -> T) -> T {
        self.0.change(change)
    }
}

impl<W: Write + Send> Observer for JsonLog<W> {
    fn opened(&self, session: u64, peer: Peer) {
        let mut object = versioned(line(SystemTime::now(), session), OPENED);
        object.insert("peer".to_owned(), peer.to_string().into());
        self.event(object);
    }

    fn received(&self, session: u64, octets: &[u8], apdu: Result<&Apdu, &DecodeError>) {
        self.note(session, Direction::Received, octets, apdu.ok());
    }

    fn unreadable(&self, session: u64, octets: &[u8], _: &StreamError) {
        if !octets.is_empty() {
            self.note(session, Direction::Received, octets, None);
        }
    }

    fn discarded(&self, session: u64, octets: &[u8], apdu: Result<&Apdu, &DecodeError>) {
        self.received(session, octets, apdu);
    }

    fn sent(&self, session: u64, octets: &[u8], apdu: Option<&Apdu>) {
        self.note(session, Direction::Sent, octets, apdu);
    }

    fn wants_http(&self) -> bool {
        true
    }

    fn http_received(&self, session: u64, message: &HttpMessage) {
        self.http(session, Direction::Received, message);
    }

    fn http_sent(&self, session: u64, message: &HttpMessage) {
        self.http(session, Direction::Sent, message);
    }

    fn wants_totals(&self) -> bool {
        true
    }

    fn ended(&self, totals: &SessionTotals) {
        let mut object = line(SystemTime::now(), totals.session);
        object.insert("event".to_owned(), CLOSED.into());
        object.insert("end".to_owned(), totals.end.name().into());
        self.event(object);
    }
}

impl<W: Write + Send> Observer for ApduLog<W> {
    fn received(&self, session: u64, octets: &[u8], apdu: Result<&Apdu, &DecodeError>) {
        self.note(session, Direction::Received, octets, apdu.ok());
    }

    fn unreadable(&self, session: u64, octets: &[u8], _: &StreamError) {
        if !octets.is_empty() {
            self.note(session, Direction::Received, octets, None);
        }
    }

    fn discarded(&self, session: u64, octets: &[u8], apdu: Result<&Apdu, &DecodeError>) {
        self.received(session, octets, apdu);
    }

    fn sent(&self, session: u64, octets: &[u8], apdu: Option<&Apdu>) {
        self.note(session, Direction::Sent, octets, apdu);
    }

    fn wants_http(&self) -> bool {
        true
    }

    fn http_received(&self, session: u64, message: &HttpMessage) {
        self.http(session, Direction::Received, message);
    }

    fn http_sent(&self, session: u64, message: &HttpMessage) {
        self.http(session, Direction::Sent, message);
    }
}

/// Writes a line of JSON for each request that a replay cannot answer. It has the format of a transcript, and a member `missing`
/// that says what is missing in the recording. If a request is repeated, it is written only once.
pub struct MissingLog<W>(Lines<W>);

impl<W: Write + Send> MissingLog<W> {
    /// Creates a log that is written to a file or another writer.
    pub fn new(to: W) -> Self {
        Self(Lines::new(to))
    }

    /// Sets the name of the log in warnings, for example the path of its file. The default is `the log`.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.0.name = name.into();
        self
    }

    /// Returns the name of the log and the reason for the first failure; `None` if there was none. See [`JsonLog::failure`].
    pub fn failure(&self) -> Option<String> {
        self.0.failure()
    }
}

impl<W: Write + Send> Observer for MissingLog<W> {
    fn not_recorded(&self, session: u64, octets: &[u8], apdu: Option<&Apdu>, why: &str) {
        let entry = TranscriptEntry::now(session, Direction::Received, octets, apdu);
        let mut line = entry.to_json();
        if let Some(line) = line.as_object_mut() {
            line.insert("missing".to_owned(), why.into());
        }
        self.0.write_json(&line);
    }
}

/// A writer of lines, shared by several sessions. It stops at the first line that cannot be written.
struct Lines<W> {
    name: String,
    state: Mutex<LinesState<W>>,
}

struct LinesState<W> {
    to: W,
    /// Whether the last attempt to write failed.
    is_broken: bool,
    /// The reason for the first failure to write.
    failure: Option<String>,
}

impl<W: Write> Lines<W> {
    fn new(to: W) -> Self {
        Self {
            name: "the log".to_owned(),
            state: Mutex::new(LinesState {
                to,
                is_broken: false,
                failure: None,
            }),
        }
    }

    fn write_json(&self, value: &Value) {
        self.write(&format!("{}\n", json_line(value)));
    }

    fn write(&self, lines: &str) {
        let state = &mut *lock(&self.state);
        if !state.is_broken
            && let Err(error) = all(&mut state.to, lines)
        {
            let name = &self.name;
            warn!("{name} ends here, sessions go on without it: {error}");
            state.is_broken = true;
            state.failure.get_or_insert(error.to_string());
        }
    }

    fn failure(&self) -> Option<String> {
        let error = lock(&self.state).failure.clone()?;
        let name = &self.name;
        Some(format!("{name} is incomplete: {error}"))
    }

    fn change<T>(&self, change: impl FnOnce(&mut W) -> T) -> T {
        let state = &mut *lock(&self.state);
        state.is_broken = false;
        change(&mut state.to)
    }
}

fn all(to: &mut impl Write, lines: &str) -> io::Result<()> {
    to.write_all(lines.as_bytes())?;
    to.flush()
}

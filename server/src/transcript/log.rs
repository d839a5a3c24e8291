//! Observers that write sessions as they happen: lines of JSON, and listings of APDUs for people.

use std::io::{self, Write};
use std::sync::Mutex;
use std::time::SystemTime;

use serde_json::Value;
use tracing::warn;
use z3950_asn1::apdu::Apdu;
use z3950_asn1::codec::dump::dump;
use z3950_asn1::error::DecodeError;

use super::redact::redacted;
use super::{Direction, FORMAT_VERSION, HttpEntry, TranscriptEntry, format_time, line, name};
use crate::lock::lock;
use crate::observer::{HttpMessage, Observer, Peer};

/// Writes a line of JSON for each APDU at once, as the [module](super) describes.
pub struct JsonLog<W>(Lines<W>);

/// Writes a listing of each APDU at once, after a line with the time and session.
pub struct ApduLog<W>(Lines<W>);

impl<W: Write + Send> JsonLog<W> {
    /// Logs to a file or another writer.
    pub fn new(to: W) -> Self {
        Self(Lines::new(to))
    }

    /// How warnings name the log, such as the path of its file: `the log` unless this is called.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.0.name = name.into();
        self
    }

    fn note(&self, session: u64, direction: Direction, octets: &[u8], apdu: Option<&Apdu>) {
        let entry = TranscriptEntry::now(session, direction, octets, apdu);
        self.0.write(&format!("{}\n", entry.to_json()));
    }

    fn http(&self, session: u64, direction: Direction, message: &HttpMessage) {
        let entry = HttpEntry::now(session, direction, message);
        self.0.write(&format!("{}\n", entry.to_json()));
    }

    fn event(&self, session: u64, event: &str, peer: Option<Peer>) {
        let mut object = line(SystemTime::now(), session);
        object.insert("event".to_owned(), event.into());
        if let Some(peer) = peer {
            object.insert("peer".to_owned(), peer.to_string().into());
            object.insert("version".to_owned(), FORMAT_VERSION.into());
        }
        self.0.write(&format!("{}\n", Value::Object(object)));
    }

    /// Changes the writer, as when log files are rotated. A log that ended because it could not be written continues.
    pub fn change<T>(&self, change: impl FnOnce(&mut W) -> T) -> T {
        self.0.change(change)
    }
}

impl<W: Write + Send> ApduLog<W> {
    /// Logs to a file or another writer.
    pub fn new(to: W) -> Self {
        Self(Lines::new(to))
    }

    /// How warnings name the log, such as the path of its file: `the log` unless this is called.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.0.name = name.into();
        self
    }

    fn note(&self, session: u64, direction: Direction, octets: &[u8], apdu: Option<&Apdu>) {
        let time = format_time(SystemTime::now());
        let (direction, name, octets) = (direction.name(), name(apdu), dump(&redacted(octets)));
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

    /// [`JsonLog::change`].
    pub fn change<T>(&self, change: impl FnOnce(&mut W) -> T) -> T {
        self.0.change(change)
    }
}

impl<W: Write + Send> Observer for JsonLog<W> {
    fn opened(&self, session: u64, peer: Peer) {
        self.event(session, "opened", Some(peer));
    }

    fn received(&self, session: u64, octets: &[u8], apdu: Result<&Apdu, &DecodeError>) {
        self.note(session, Direction::Received, octets, apdu.ok());
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

    fn closed(&self, session: u64) {
        self.event(session, "closed", None);
    }
}

impl<W: Write + Send> Observer for ApduLog<W> {
    fn received(&self, session: u64, octets: &[u8], apdu: Result<&Apdu, &DecodeError>) {
        self.note(session, Direction::Received, octets, apdu.ok());
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

/// Writes a line of JSON for each request that a replay cannot answer, as in a transcript, with `missing`: what is not in the
/// recording. Equal requests are written once.
pub struct MissingLog<W>(Lines<W>);

impl<W: Write + Send> MissingLog<W> {
    /// Logs to a file or another writer.
    pub fn new(to: W) -> Self {
        Self(Lines::new(to))
    }

    /// How warnings name the log, such as the path of its file: `the log` unless this is called.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.0.name = name.into();
        self
    }
}

impl<W: Write + Send> Observer for MissingLog<W> {
    fn not_recorded(&self, session: u64, octets: &[u8], apdu: Option<&Apdu>, why: &str) {
        let entry = TranscriptEntry::now(session, Direction::Received, octets, apdu);
        let mut line = entry.to_json();
        if let Some(line) = line.as_object_mut() {
            line.insert("missing".to_owned(), why.into());
        }
        self.0.write(&format!("{line}\n"));
    }
}

/// Writes whole lines of several sessions, until one cannot be written.
struct Lines<W> {
    name: String,
    to: Mutex<(W, Health)>,
}

#[derive(PartialEq)]
enum Health {
    Sound,
    Broken,
}

impl<W: Write> Lines<W> {
    fn new(to: W) -> Self {
        Self {
            name: "the log".to_owned(),
            to: Mutex::new((to, Health::Sound)),
        }
    }

    fn write(&self, lines: &str) {
        let (to, health) = &mut *lock(&self.to);
        if *health == Health::Sound
            && let Err(error) = all(to, lines)
        {
            let name = &self.name;
            warn!("{name} ends here, sessions go on without it: {error}");
            *health = Health::Broken;
        }
    }

    fn change<T>(&self, change: impl FnOnce(&mut W) -> T) -> T {
        let (to, health) = &mut *lock(&self.to);
        *health = Health::Sound;
        change(to)
    }
}

fn all(to: &mut impl Write, lines: &str) -> io::Result<()> {
    to.write_all(lines.as_bytes())?;
    to.flush()
}

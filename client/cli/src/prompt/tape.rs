//! What went over the wire lately, for `last` and the files of `set_apdufile` and `set_berfile`: APDUs are taken off the
//! octets between session and socket. Secrets are left out wherever they are written.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use z3950::error::Error;
use z3950::service::init::{APDU_SLACK, EXCEPTIONAL_RECORD_SIZE};
use z3950::transport::{BoxFuture, BoxStream, Connect, Routes, Timeouts};
use z3950::url::Host;
use z3950_asn1::apdu::{Apdu, Query};
use z3950_asn1::codec::{self, dump, frame::Scanner};
use z3950_asn1::decoded;
use z3950_asn1::file::Growing;

use super::command::{Answer, Stop};
use super::state::State;
use crate::console::exit::Exit;
use crate::console::output::{Failure, Output};

/// How many APDUs are kept.
const MAX_KEPT: usize = 20;
/// The longest APDU kept, in octets; of a longer one it is known that it was there.
const MAX_OCTETS: usize = 256 * 1024;

/// The APDUs of all sessions, in the order in which they went. Cloning it gives another handle on the same.
#[derive(Clone, Default)]
pub(crate) struct Tape(Arc<Mutex<Kept>>);

#[derive(Default)]
struct Kept {
    apdus: VecDeque<Noted>,
    apdu_file: Option<Growing>,
    ber_file: Option<Growing>,
}

/// An APDU that went by.
#[derive(Debug, Clone)]
struct Noted {
    direction: Direction,
    /// Empty if there were too many.
    octets: Bytes,
    length: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Sent,
    Received,
}

/// Connects as `inner` does, and notes on the tape what is said then.
struct Taped {
    inner: Arc<dyn Connect>,
    tape: Tape,
}

impl Connect for Taped {
    fn connect<'a>(
        &'a self,
        host: &'a Host,
        port: u16,
        timeouts: &'a Timeouts,
    ) -> BoxFuture<'a, Result<BoxStream, Error>> {
        Box::pin(async move {
            let stream = self.inner.connect(host, port, timeouts).await?;
            let stream: BoxStream = Box::new(Stream {
                inner: stream,
                tape: self.tape.clone(),
                sent: Framer::default(),
                received: Framer::default(),
            });
            Ok(stream)
        })
    }
}

/// A stream whose octets are noted.
struct Stream {
    inner: BoxStream,
    tape: Tape,
    sent: Framer,
    received: Framer,
}

/// Finds APDUs in octets that come in pieces.
struct Framer {
    buffer: BytesMut,
    scanner: Scanner,
    /// Something was no APDU: nothing behind it is known to begin one.
    is_lost: bool,
}

impl Default for Framer {
    fn default() -> Self {
        let longest = EXCEPTIONAL_RECORD_SIZE.saturating_add(APDU_SLACK);
        Self {
            buffer: BytesMut::new(),
            scanner: Scanner::new(usize::try_from(longest).unwrap_or(usize::MAX)),
            is_lost: false,
        }
    }
}

impl Framer {
    fn take(&mut self, octets: &[u8], direction: Direction, tape: &Tape) {
        if self.is_lost {
            return;
        }
        self.buffer.extend_from_slice(octets);
        loop {
            match self.scanner.scan(&self.buffer) {
                Ok(Some(length)) => {
                    tape.note(direction, self.buffer.split_to(length).freeze());
                    self.scanner.reset();
                }
                Ok(None) => return,
                Err(_) => {
                    self.is_lost = true;
                    self.buffer = BytesMut::new();
                    return;
                }
            }
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let this = &mut *self;
        ready!(Pin::new(&mut this.inner).poll_read(context, buffer))?;
        let read = buffer.filled().get(before..).unwrap_or_default();
        this.received.take(read, Direction::Received, &this.tape);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        octets: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        let written = ready!(Pin::new(&mut this.inner).poll_write(context, octets))?;
        let sent = octets.get(..written).unwrap_or(octets);
        this.sent.take(sent, Direction::Sent, &this.tape);
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

impl Tape {
    /// The same routes, with the tape running.
    pub(crate) fn on(&self, routes: Routes) -> Routes {
        let tape = self.clone();
        routes.wrapped(move |inner| {
            let tape = tape.clone();
            Arc::new(Taped { inner, tape })
        })
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, direction: Direction, octets: Bytes) {
        let mut kept = self.kept();
        let length = octets.len();
        if kept.apdu_file.is_some() || kept.ber_file.is_some() {
            let head = format!("{}\n", head(direction, &octets));
            // A log that cannot be written must not end the session.
            if let Some(file) = &mut kept.apdu_file {
                let body = match codec::decode(&octets) {
                    Ok(apdu) => format!("{head}{}\n", decoded::to_text(&apdu)),
                    Err(error) => format!("{head}{error}\n"),
                };
                let _ = file.write_all(body.as_bytes());
            }
            if let Some(file) = &mut kept.ber_file {
                let _ = file.write_all(format!("{head}{}\n", dump::dump(&octets)).as_bytes());
            }
        }
        if kept.apdus.len() >= MAX_KEPT {
            kept.apdus.pop_front();
        }
        kept.apdus.push_back(Noted {
            direction,
            octets: match length {
                0..=MAX_OCTETS => octets,
                _ => Bytes::new(),
            },
            length,
        });
    }
}

fn head(direction: Direction, octets: &Bytes) -> String {
    let went = match direction {
        Direction::Sent => "sent",
        Direction::Received => "received",
    };
    match codec::decode(octets) {
        Ok(apdu) => format!("{went} {}", said(&apdu)),
        Err(_) => format!("{went} what does not decode"),
    }
}

/// An APDU in a few words.
fn said(apdu: &Apdu) -> String {
    let name = apdu.name();
    let words = match apdu {
        Apdu::InitializeResponse(response) => match response.result {
            true => "accepted".into(),
            false => "rejected".into(),
        },
        Apdu::SearchRequest(request) => {
            let databases = request.database_names.iter();
            let databases: Vec<_> = databases.map(|name| name.0.to_string_lossy()).collect();
            let query = match &request.query {
                Query::Type1(query) | Query::Type101(query) => query.to_string(),
                other => format!("a query of type {}", other.type_number()),
            };
            let set = request.result_set_name.to_string_lossy();
            format!("{query} in {}, into set {set}", databases.join(" "))
        }
        Apdu::SearchResponse(response) => match response.search_status {
            true => counted(response.result_count, "hit"),
            false => "failed".into(),
        },
        Apdu::PresentRequest(request) => format!(
            "{} from {} on, of set {}",
            counted(request.number_of_records_requested, "record"),
            request.result_set_start_point,
            request.result_set_id.0.to_string_lossy()
        ),
        Apdu::PresentResponse(response) => format!(
            "{}, {}",
            counted(response.number_of_records_returned, "record"),
            response.present_status
        ),
        Apdu::ScanRequest(request) => counted(request.number_of_terms_requested, "term"),
        Apdu::ScanResponse(response) => format!(
            "{}, {}",
            counted(response.number_of_entries_returned, "term"),
            response.scan_status
        ),
        Apdu::SortResponse(response) => response.sort_status.to_string(),
        Apdu::DeleteResultSetResponse(response) => response.delete_operation_status.to_string(),
        Apdu::ExtendedServicesResponse(response) => response.operation_status.to_string(),
        Apdu::Close(close) => close.close_reason.to_string(),
        _ => return name.to_owned(),
    };
    format!("{name}: {words}")
}

/// `1 hit`, `2 hits`
fn counted(count: i64, word: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {word}{ending}")
}

impl State {
    /// The last APDUs, oldest first; with `full`, their contents too.
    pub(super) fn last(&mut self, text: &str, output: &mut Output) -> Answer {
        let (text, is_full) = match text.strip_suffix("full") {
            Some(rest) => (rest.trim(), true),
            None => (text, false),
        };
        let count: usize = match text {
            "" => 2,
            number => number.parse().map_err(|_| Stop::Usage)?,
        };
        let apdus: Vec<Noted> = self.ways.tape.kept().apdus.iter().cloned().collect();
        let first = apdus.len().saturating_sub(count);
        for noted in apdus.iter().skip(first) {
            let length = noted.length;
            let head = match noted.octets.is_empty() {
                true => "an APDU too long to be kept".to_owned(),
                false => head(noted.direction, &noted.octets),
            };
            output.line(&format!("{head} ({length} octets)"))?;
            if is_full {
                let contents = match codec::decode(&noted.octets) {
                    Ok(apdu) => decoded::to_text(&apdu),
                    Err(_) => dump::dump(&noted.octets),
                };
                let mut lines = contents.lines();
                lines.try_for_each(|line| output.line(&format!("  {line}")))?;
            }
        }
        Ok(Exit::Delivered)
    }

    pub(super) fn set_apdufile(&mut self, path: &str, _: &mut Output) -> Answer {
        // The one before is given up first: it may be the same.
        self.ways.tape.kept().apdu_file = None;
        let file = log_file(path)?;
        self.ways.tape.kept().apdu_file = file;
        Ok(Exit::Delivered)
    }

    pub(super) fn set_berfile(&mut self, path: &str, _: &mut Output) -> Answer {
        self.ways.tape.kept().ber_file = None;
        let file = log_file(path)?;
        self.ways.tape.kept().ber_file = file;
        Ok(Exit::Delivered)
    }
}

/// A file to append to; `-` is standard error, nothing is none.
fn log_file(path: &str) -> Result<Option<Growing>, Stop> {
    let path = match path {
        "" => return Ok(None),
        "-" => "/dev/stderr",
        path => path,
    };
    appended(path).map(Some)
}

/// A file to go on with at its end.
pub(super) fn appended(path: &str) -> Result<Growing, Stop> {
    let file = Growing::resume(Path::new(path));
    file.map_err(|error| Stop::wrong(Failure::unopened(&error, "").to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use z3950::service::init::InitOptions;

    #[test]
    fn apdus_are_found_in_pieces_of_any_length() {
        let apdu: Apdu = InitOptions::default().request().into();
        let octets = codec::encode(&apdu).expect("encodes").repeat(3);
        for piece in [1, 7, octets.len()] {
            let (tape, mut framer) = (Tape::default(), Framer::default());
            for octets in octets.chunks(piece) {
                framer.take(octets, Direction::Sent, &tape);
            }
            let noted: Vec<String> = tape
                .kept()
                .apdus
                .iter()
                .map(|noted| head(noted.direction, &noted.octets))
                .collect();
            assert_eq!(noted, ["sent initRequest"; 3], "{piece}");
        }
    }

    #[test]
    fn what_is_no_apdu_is_let_pass_and_no_more_than_some_are_kept() {
        let (tape, mut framer) = (Tape::default(), Framer::default());
        framer.take(b"HTTP/1.1 200 OK", Direction::Received, &tape);
        assert!(framer.is_lost && tape.kept().apdus.is_empty());
        for _ in 0..100 {
            tape.note(Direction::Sent, Bytes::from_static(&[0xb4, 0]));
        }
        assert_eq!(tape.kept().apdus.len(), MAX_KEPT);
    }
}

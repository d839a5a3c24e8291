//! Records the APDUs in all sessions for the command `last` and for the log files set by `set_apdufile` and
//! `set_berfile`. The APDUs are copied from the octets that pass between the session and the socket. Secrets are
//! redacted whenever APDUs are shown or logged.

use std::collections::VecDeque;
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{Bytes, BytesMut};
use tokio_util::io::{InspectReader, InspectWriter};
use z3950::service::init::{APDU_SLACK, EXCEPTIONAL_RECORD_SIZE};
use z3950::transport::{BoxStream, Connect, Connecting, Routes, Timeouts};
use z3950::url::Host;
use z3950_asn1::apdu::Apdu;
use z3950_asn1::codec::{self, dump, frame::Scanner};
use z3950_asn1::decoded;
use z3950_files::Growing;

use crate::render::{counted, query};

/// The maximum number of recorded APDUs.
const MAX_KEPT: usize = 20;
/// The maximum size in octets of a recorded APDU. For a larger APDU, only the length is recorded.
const MAX_OCTETS: usize = 256 * 1024;

/// The recorded APDUs from all sessions, in order. All clones share the same records.
#[derive(Clone, Default)]
pub(crate) struct Tape(Arc<Mutex<Recorded>>);

#[derive(Default)]
pub(crate) struct Recorded {
    pub(crate) apdus: VecDeque<Noted>,
    pub(crate) apdu_file: Option<Growing>,
    pub(crate) ber_file: Option<Growing>,
}

/// An APDU as recorded on the tape.
#[derive(Debug, Clone)]
pub(crate) struct Noted {
    pub(crate) direction: Direction,
    /// The octets of the APDU; empty if the APDU is larger than [`MAX_OCTETS`].
    pub(crate) octets: Bytes,
    pub(crate) length: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Sent,
    Received,
}

/// A connector that connects by means of `inner`, and records the APDUs on the connection.
struct Taped {
    inner: Arc<dyn Connect>,
    tape: Tape,
}

impl Connect for Taped {
    fn connect<'a>(&'a self, host: &'a Host, port: u16, timeouts: &'a Timeouts) -> Connecting<'a> {
        Box::pin(async move {
            let stream = self.inner.connect(host, port, timeouts).await?;
            let stream = InspectReader::new(stream, self.tape.framing(Direction::Received));
            let stream = InspectWriter::new(stream, self.tape.framing(Direction::Sent));
            Ok(Box::new(stream) as BoxStream)
        })
    }
}

/// Splits a stream of octets into APDUs.
struct Framer {
    buffer: BytesMut,
    scanner: Scanner,
    /// Whether octets that are not an APDU have been found. After that, it is unknown where the next APDU begins.
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

impl Tape {
    /// Returns routes that record the APDUs on all their connections.
    pub(crate) fn on(&self, routes: Routes) -> Routes {
        let tape = self.clone();
        routes.wrapped(move |inner| {
            let tape = tape.clone();
            Arc::new(Taped { inner, tape })
        })
    }

    /// Returns a function that is called with the octets transferred in one direction, and records the APDUs in them.
    fn framing(&self, direction: Direction) -> impl FnMut(&[u8]) + Send + use<> {
        let (tape, mut framer) = (self.clone(), Framer::default());
        move |octets| framer.take(octets, direction, &tape)
    }

    /// Returns the recorded APDUs, oldest first.
    pub(crate) fn noted(&self) -> Vec<Noted> {
        self.recorded().apdus.iter().cloned().collect()
    }

    pub(crate) fn recorded(&self) -> MutexGuard<'_, Recorded> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, direction: Direction, octets: Bytes) {
        let mut recorded = self.recorded();
        let length = octets.len();
        if recorded.apdu_file.is_some() || recorded.ber_file.is_some() {
            let head = format!("{}\n", head(direction, &octets));
            // Errors are ignored, because a log that cannot be written must not end the session.
            if let Some(file) = &mut recorded.apdu_file {
                let body = match codec::decode(&octets) {
                    Ok(apdu) => format!("{head}{}\n", decoded::to_text(&apdu)),
                    Err(error) => format!("{head}{error}\n"),
                };
                let _ = file.write_all(body.as_bytes());
            }
            if let Some(file) = &mut recorded.ber_file {
                let _ = file.write_all(format!("{head}{}\n", dump::dump(&octets)).as_bytes());
            }
        }
        if recorded.apdus.len() >= MAX_KEPT {
            recorded.apdus.pop_front();
        }
        recorded.apdus.push_back(Noted {
            direction,
            octets: match length {
                0..=MAX_OCTETS => octets,
                _ => Bytes::new(),
            },
            length,
        });
    }
}

pub(crate) fn head(direction: Direction, octets: &Bytes) -> String {
    let went = match direction {
        Direction::Sent => "sent",
        Direction::Received => "received",
    };
    match codec::decode(octets) {
        Ok(apdu) => format!("{went} {}", said(&apdu)),
        Err(_) => format!("{went} octets that cannot be decoded"),
    }
}

/// Returns a summary of an APDU: its name and, for most types, its main contents.
fn said(apdu: &Apdu) -> String {
    let name = apdu.name();
    let words = match apdu {
        Apdu::InitializeResponse(response) => {
            if response.result {
                "accepted".into()
            } else {
                "rejected".into()
            }
        }
        Apdu::SearchRequest(request) => {
            let databases: Vec<_> = request
                .database_names
                .iter()
                .map(|name| name.0.to_string_lossy())
                .collect();
            let query = query(&request.query);
            let set = request.result_set_name.to_string_lossy();
            format!("{query} in {}, into set {set}", databases.join(" "))
        }
        Apdu::SearchResponse(response) => {
            if response.search_status {
                counted(response.result_count, "hit")
            } else {
                "failed".into()
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use z3950::service::init;

    #[test]
    fn apdus_are_found_in_pieces_of_any_length() {
        let apdu: Apdu = init::offer().into();
        let octets = codec::encode(&apdu).expect("encodes").repeat(3);
        for piece in [1, 7, octets.len()] {
            let (tape, mut framer) = (Tape::default(), Framer::default());
            for octets in octets.chunks(piece) {
                framer.take(octets, Direction::Sent, &tape);
            }
            let noted: Vec<String> = tape
                .recorded()
                .apdus
                .iter()
                .map(|noted| head(noted.direction, &noted.octets))
                .collect();
            assert_eq!(noted, ["sent initRequest"; 3], "{piece}");
        }
    }

    #[test]
    fn other_octets_pass_and_the_number_of_apdus_is_bounded() {
        let (tape, mut framer) = (Tape::default(), Framer::default());
        framer.take(b"HTTP/1.1 200 OK", Direction::Received, &tape);
        assert!(framer.is_lost && tape.recorded().apdus.is_empty());
        for _ in 0..100 {
            tape.note(Direction::Sent, Bytes::from_static(&[0xb4, 0]));
        }
        assert_eq!(tape.recorded().apdus.len(), MAX_KEPT);
    }
}

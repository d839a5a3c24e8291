//! A recording prepared for replay: the requests of its sessions, with the places of their answers, and the place of each record.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::path::Path;
use std::sync::Mutex;

use z3950_asn1::apdu::{Apdu, Record, Records, ReferenceId};
use z3950_asn1::codec::frame::Header;

use super::doubts::TranscriptCheck;
use super::lines::{Line, LineEvent, MAX_LINE, Place, RecordedOctets, ReplayError, read_lines};
use super::sameness::{AskedOfSets, AskedRecords, Identity, Origins};
use super::{Direction, Recording, RecordingError, TranscriptEntry};
use crate::lock::lock;

/// A recording that can be replayed. A recording opened from a file is not loaded: only the places of its APDUs and records are
/// kept in memory.
#[derive(Debug, Default)]
pub struct Replay {
    pub(super) sessions: Vec<Vec<RecordedExchange>>,
    /// For each Search, the numbers of its session and of its exchange in the session. The key is an identity that does not
    /// depend on the requested records.
    pub(super) searches: HashMap<Identity, (usize, usize)>,
    pub(super) records: RecordIndex,
    pub(super) source: RecordedOctets,
    pub(super) in_order: bool,
    remarks: Vec<String>,
    doubts: Vec<String>,
    /// The requests that have been reported as not recorded.
    reported: Mutex<HashSet<Identity>>,
}

/// A request, and the places of the APDUs that followed it.
#[derive(Debug)]
pub(super) struct RecordedExchange {
    pub(super) identity: Identity,
    /// The identity of the request's octets, for replaying in order.
    pub(super) octets: Identity,
    pub(super) reference_id: Identity,
    pub(super) tag: Option<u32>,
    pub(super) answers: Vec<Place>,
    /// Whether the server ended the session after this exchange.
    pub(super) hangs_up: bool,
}

/// The places of the records of result sets.
#[derive(Debug, Default)]
pub(super) struct RecordIndex {
    /// The places of records: for each result set and form of records, by position.
    sets: HashMap<(Identity, Identity), BTreeMap<i64, RecordPlace>>,
    /// The number of hits of each result set.
    hits: HashMap<Identity, i64>,
    /// The nextResultSetPosition that the server reports after the last record of a result set: the position after the last
    /// record, or 0.
    after_last: HashMap<Identity, i64>,
    count: usize,
}

/// The place of a record in a recorded APDU.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordPlace {
    pub(super) apdu: Place,
    pub(super) index: u32,
}

/// The maximum number of requests in a recording. A request takes about 580 octets of memory, including the places of its answers
/// and records, so the maximum takes 1.2 GB.
const MAX_EXCHANGES: usize = 2_000_000;
/// The maximum number of records whose places are remembered. Further records are only used as part of the answers in which they
/// were recorded.
const MAX_RECORDS: usize = 10_000_000;
/// The maximum number of unanswered requests that are considered when looking for the request that an answer belongs to.
const MAX_OPEN: usize = 1_000;
/// The maximum number of requests that are reported as not recorded.
const MAX_REPORTED: usize = 100_000;

impl Replay {
    /// Opens a recording in a file, and reads it line by line. The file must not be changed while it is replayed.
    ///
    /// # Errors
    /// The file cannot be read, a line is invalid, or the recording only has HTTP messages. An incomplete last line is not an
    /// error, but is left out; see [`Replay::remarks`].
    pub fn open(path: &Path) -> Result<Self, ReplayError> {
        Self::open_within(path, MAX_EXCHANGES)
    }

    /// Opens a recording like [`Replay::open`], with a different limit on the number of requests.
    pub(super) fn open_within(path: &Path, requests: usize) -> Result<Self, ReplayError> {
        let mut builder = ReplayBuilder::new(requests);
        let mut has_http = false;
        let (file, remark) = read_lines(path, MAX_LINE, |number, line, place| {
            let checked = builder.check.add(number, &line);
            checked.map_err(|reason| RecordingError {
                line: number,
                reason: reason.to_owned(),
            })?;
            match line {
                Line::Apdu(entry) => builder.add(&entry, place, number)?,
                Line::Http(_) => has_http = true,
                Line::Event(LineEvent::Closed(session, true)) => builder.hangs_up(session),
                Line::Event(_) | Line::Empty => {}
            }
            Ok(())
        })?;
        let is_empty = builder.sessions.is_empty();
        if is_empty && has_http {
            return Err(ReplayError::HttpOnly);
        }
        let mut replay = builder.build(RecordedOctets::File(Mutex::new(file)));
        replay.remarks.extend(remark);
        if is_empty {
            replay.remarks.push(NO_APDUS.to_owned());
        }
        Ok(replay)
    }

    /// Makes the replay follow the order of the recording: a request that was not recorded gets the answer to the next request of
    /// the same kind.
    pub fn in_order(mut self) -> Self {
        self.in_order = true;
        self
    }

    /// Returns remarks on parts of the recording that are left out or missing.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// Returns doubts about the recording, each with the number of its line: answers without a request, unanswered requests that
    /// are followed by other requests, answers that are not an APDU, times that go backwards, and sessions without a beginning.
    /// Only recordings in files are checked.
    pub fn doubts(&self) -> &[String] {
        &self.doubts
    }

    /// Returns whether to report a request that was not recorded, which is false if the same request has been reported before.
    pub(super) fn reports(&self, request: Identity) -> bool {
        let mut reported = lock(&self.reported);
        reported.len() < MAX_REPORTED && reported.insert(request)
    }
}

/// The remark on a recording without APDUs.
const NO_APDUS: &str = "there are no APDUs, so every request is unknown";

impl From<&Recording> for Replay {
    fn from(recording: &Recording) -> Self {
        let mut builder = ReplayBuilder::new(MAX_EXCHANGES);
        let mut octets = Vec::with_capacity(recording.entries.len());
        for entry in recording.entries.iter().take(MAX_EXCHANGES) {
            let at = octets.len() as u64;
            octets.push(entry.octets.clone());
            // There are at most as many entries as there may be exchanges, so adding an entry cannot fail.
            let _ = builder.add(entry, Place { at, length: 0 }, 0);
        }
        builder.build(RecordedOctets::Memory(octets))
    }
}

impl From<Recording> for Replay {
    fn from(recording: Recording) -> Self {
        Self::from(&recording)
    }
}

/// A builder that groups APDUs into exchanges, and finds their records.
struct ReplayBuilder {
    check: TranscriptCheck,
    sessions: BTreeMap<u64, SessionBuilder>,
    records: RecordIndex,
    exchanges: usize,
    /// The maximum number of exchanges.
    most: usize,
}

#[derive(Default)]
struct SessionBuilder {
    origins: Origins,
    exchanges: Vec<RecordedExchange>,
    /// The searches: the identity of each, and the number of its exchange.
    searches: Vec<(Identity, usize)>,
    /// The requests that have not been completely answered.
    open: VecDeque<OpenExchange>,
    /// The APDUs that the server sent before the first request.
    early: Vec<Place>,
    /// The number of the last answered request.
    answered: Option<usize>,
    /// Whether the server has asked the client a question, so that the answer to the request comes later.
    has_asked: bool,
}

/// A request that has not been completely answered.
struct OpenExchange {
    index: usize,
    /// The number of the request's line.
    line: usize,
    name: &'static str,
    tag: Option<u32>,
    reference_id: Option<ReferenceId>,
    asked: AskedOfSets,
    /// The number of records that the segments of the answer have contained so far.
    given: usize,
}

impl ReplayBuilder {
    fn new(most: usize) -> Self {
        Self {
            check: TranscriptCheck::default(),
            sessions: BTreeMap::new(),
            records: RecordIndex::default(),
            exchanges: 0,
            most,
        }
    }

    /// Adds the APDU in a line.
    fn add(
        &mut self,
        entry: &TranscriptEntry,
        place: Place,
        line: usize,
    ) -> Result<(), ReplayError> {
        if self.sessions.len() == self.most && !self.sessions.contains_key(&entry.session) {
            return Err(ReplayError::TooLarge(self.most));
        }
        let session = self.sessions.entry(entry.session).or_default();
        match entry.direction {
            Direction::Received => {
                self.exchanges += 1;
                if self.exchanges > self.most {
                    return Err(ReplayError::TooLarge(self.most));
                }
                if let Some((line, words)) = session.request(entry, line) {
                    self.check.doubt(line, &words);
                }
            }
            Direction::Sent => {
                let doubt = session.answer(entry, place, &mut self.records);
                if let Some(words) = doubt {
                    self.check.doubt(line, &words);
                }
            }
        }
        Ok(())
    }

    /// Marks a session as ended by the server.
    fn hangs_up(&mut self, session: u64) {
        let session = self.sessions.get_mut(&session);
        if let Some(last) = session.and_then(|session| session.exchanges.last_mut()) {
            last.hangs_up = true;
        }
    }

    fn build(mut self, source: RecordedOctets) -> Replay {
        let mut searches = HashMap::new();
        let mut sessions = Vec::with_capacity(self.sessions.len());
        for (number, session) in self.sessions.into_values().enumerate() {
            for (line, words) in session.unanswered() {
                self.check.doubt(line, &words);
            }
            for (search, index) in session.searches {
                searches.entry(search).or_insert((number, index));
            }
            sessions.push(session.exchanges);
        }
        Replay {
            sessions,
            searches,
            records: self.records,
            source,
            doubts: self.check.doubts(),
            ..Replay::default()
        }
    }
}

impl SessionBuilder {
    /// Adds a request. If an earlier request has not been answered and neither request has a referenceId, returns the line number
    /// of the earlier request, and the message that it has no answer.
    fn request(&mut self, entry: &TranscriptEntry, line: usize) -> Option<(usize, String)> {
        let compared = self.origins.compare(&entry.octets);
        let index = self.exchanges.len();
        if let AskedOfSets::Search(search) = &compared.asked {
            self.searches.push((search.loosely, index));
        }
        let reference_id = entry.apdu.as_ref().and_then(Apdu::reference_id);
        let tag = tag(&entry.octets);
        self.exchanges.push(RecordedExchange {
            identity: compared.identity,
            octets: Identity::of_octets(&entry.octets),
            reference_id: Identity::of_reference_id(reference_id),
            tag,
            answers: std::mem::take(&mut self.early),
            hangs_up: false,
        });
        let is_next = reference_id.is_none() && !is_silent(tag) && tag != Some(CLOSE);
        let open = self.open.iter();
        let mut open = open.filter(|open| open.reference_id.is_none() && !is_silent(open.tag));
        let left = open.next().filter(|_| is_next && !self.has_asked);
        let doubt = left.map(OpenExchange::doubt);
        if self.open.len() == MAX_OPEN {
            self.open.pop_front();
        }
        self.open.push_back(OpenExchange {
            index,
            line,
            name: entry.name(),
            tag,
            reference_id: reference_id.cloned(),
            asked: compared.asked,
            given: 0,
        });
        doubt
    }

    /// Adds an APDU that the server sent; returns a doubt about it, if any.
    fn answer(
        &mut self,
        entry: &TranscriptEntry,
        place: Place,
        records: &mut RecordIndex,
    ) -> Option<String> {
        let answer = entry.apdu.as_ref();
        let id = answer.and_then(Apdu::reference_id);
        let tag = tag(&entry.octets);
        let fits = |open: &OpenExchange| answers(tag, open.tag);
        let by_id = |open: &OpenExchange| fits(open) && open.reference_id.as_ref() == id;
        let found = self
            .open
            .iter()
            .position(by_id)
            .or_else(|| self.open.iter().position(fits));
        let index = match found.and_then(|at| self.open.get_mut(at)) {
            Some(open) => {
                if let Some(answer) = answer {
                    records.learn(open, answer, place);
                }
                self.answered = self.answered.max(Some(open.index));
                Some(open.index)
            }
            // An APDU that is not an answer belongs to the last request.
            None => self.exchanges.len().checked_sub(1),
        };
        if let Some(at) = found
            && tag != Some(SEGMENT)
        {
            self.open.remove(at);
        }
        match index.and_then(|index| self.exchanges.get_mut(index)) {
            Some(exchange) => exchange.answers.push(place),
            None => self.early.push(place),
        }
        self.has_asked |= matches!(
            answer,
            Some(Apdu::AccessControlRequest(_) | Apdu::ResourceControlRequest(_))
        );
        let is_odd = found.is_none() && !self.has_asked;
        let name = entry.name();
        match answer {
            None => Some("the answer is no APDU".to_owned()),
            // A server may end a session at any time, so a Close without a request is not doubtful.
            Some(Apdu::Close(_)) => None,
            Some(_) if is_odd => Some(format!("the {name} answers no request")),
            Some(_) => None,
        }
    }

    /// Returns, for each request that was not answered although a later request was, its line number and the message that it has
    /// no answer. Kinds of requests that are never answered are not considered.
    fn unanswered(&self) -> impl Iterator<Item = (usize, String)> {
        let open = self.open.iter();
        let open = open.filter(|open| {
            !self.has_asked && !is_silent(open.tag) && Some(open.index) < self.answered
        });
        open.map(OpenExchange::doubt)
    }
}

impl OpenExchange {
    /// Returns the line number of the request, and the message that it has no answer.
    fn doubt(&self) -> (usize, String) {
        (self.line, format!("the {} has no answer", self.name))
    }
}

impl RecordIndex {
    /// Returns the place of a record; `None` if the record was not recorded.
    pub(super) fn place(&self, asked: &AskedRecords, position: i64) -> Option<RecordPlace> {
        let set = self.sets.get(&(asked.set?, asked.form))?;
        set.get(&position).copied()
    }

    /// Returns the number of hits of a result set; `None` if the number was not recorded.
    pub(super) fn hits(&self, set: Option<Identity>) -> Option<i64> {
        self.hits.get(&set?).copied()
    }

    /// Returns the nextResultSetPosition that the recorded server would report after records up to `position`.
    pub(super) fn next(&self, set: Option<Identity>, position: i64) -> i64 {
        let is_after_last = self.hits(set).is_some_and(|hits| position > hits);
        let known = set.and_then(|set| self.after_last.get(&set));
        known.copied().filter(|_| is_after_last).unwrap_or(position)
    }

    fn note_next(&mut self, asked: &AskedRecords, given: usize, next: i64) {
        let last = given.checked_sub(1).and_then(|last| asked.position(last));
        if let Some(set) = asked.set
            && last.is_some()
            && last == self.hits(asked.set)
        {
            self.after_last.insert(set, next);
        }
    }

    /// Remembers the number of hits of a result set, or the places of its records, from an answer.
    fn learn(&mut self, open: &mut OpenExchange, answer: &Apdu, place: Place) {
        let given = &mut open.given;
        match (&open.asked, answer) {
            (AskedOfSets::Search(search), Apdu::SearchResponse(found)) if found.search_status => {
                self.hits.entry(search.set).or_insert(found.result_count);
                let asked = search.records(found.result_count);
                // The server may send records that were not requested. They are noted in the form in which they would have been
                // sent if they had been requested.
                self.note_all(&asked, given, found.records.as_ref(), place);
                self.note_next(&asked, *given, found.next_result_set_position);
            }
            (AskedOfSets::Sort(set, input), Apdu::SortResponse(_)) => {
                if let Some(hits) = self.hits(*input) {
                    self.hits.insert(*set, hits);
                }
            }
            (AskedOfSets::Present(asked), Apdu::PresentResponse(present)) => {
                self.note_all(asked, given, present.records.as_ref(), place);
                self.note_next(asked, *given, present.next_result_set_position);
            }
            (AskedOfSets::Present(asked), Apdu::Segment(segment)) => {
                let records = segment.segment_records.iter().map(|one| &one.record);
                self.note(asked, given, records, place);
            }
            _ => {}
        }
    }

    fn note_all(
        &mut self,
        asked: &AskedRecords,
        given: &mut usize,
        records: Option<&Records>,
        place: Place,
    ) {
        if let Some(Records::ResponseRecords(records)) = records {
            self.note(asked, given, records.iter().map(|one| &one.record), place);
        }
    }

    /// Remembers the places of records; `given` records precede the first one. A record in fragments only advances the position.
    fn note<'a>(
        &mut self,
        asked: &AskedRecords,
        given: &mut usize,
        records: impl Iterator<Item = &'a Record>,
        apdu: Place,
    ) {
        let Some(set) = asked.set else { return };
        let set = self.sets.entry((set, asked.form)).or_default();
        for (index, record) in (0_u32..).zip(records) {
            let is_whole = match record {
                Record::StartingFragment(_) | Record::IntermediateFragment(_) => continue,
                Record::FinalFragment(_) | Record::SurrogateDiagnostic(_) => false,
                Record::RetrievalRecord(_) => true,
            };
            if let Some(position) = asked.position(*given)
                && is_whole
                && self.count < MAX_RECORDS
            {
                self.count += 1;
                set.entry(position).or_insert(RecordPlace { apdu, index });
            }
            *given += 1;
        }
    }
}

/// The context tags of APDUs that replays depend on: Close, Segment, PresentRequest, and the requests sent by servers.
pub(super) const CLOSE: u32 = 48;
const SEGMENT: u32 = 45;
const PRESENT_REQUEST: u32 = 24;
const ACCESS_CONTROL_REQUEST: u32 = 28;
const RESOURCE_CONTROL_REQUEST: u32 = 30;
/// The APDUs from clients that do not get a separate answer: answers to questions from the server, and triggers.
const SILENT: [u32; 3] = [29, 31, 32];

pub(super) fn is_silent(tag: Option<u32>) -> bool {
    tag.is_some_and(|tag| SILENT.contains(&tag))
}

/// Returns whether an APDU from the server may answer or interrupt a request (Z39.50-2003 §4.2.1).
fn answers(answer: Option<u32>, request: Option<u32>) -> bool {
    match (answer, request) {
        (Some(CLOSE), Some(CLOSE)) => true,
        (Some(CLOSE), _) | (_, Some(CLOSE)) => false,
        (Some(SEGMENT), request) => request == Some(PRESENT_REQUEST),
        (Some(ACCESS_CONTROL_REQUEST | RESOURCE_CONTROL_REQUEST), _) => true,
        (Some(answer), Some(request)) => answer == request + 1,
        (None, None) => true,
        _ => false,
    }
}

/// Returns the tag of an APDU; `None` if its header is incomplete or malformed.
pub(super) fn tag(apdu: &[u8]) -> Option<u32> {
    let header = Header::read(apdu).ok().flatten()?;
    Some(header.tag)
}

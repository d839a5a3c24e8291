//! Answers the requests of one session from a recording.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use z3950_asn1::apdu::{Apdu, Close, CloseReason, InitializeRequest, InitializeResponse};
use z3950_asn1::codec;
use z3950_asn1::format::user_info1::UserInfo1;

use super::compose::{self, Composed};
use super::lines::Place;
use super::replay::{CLOSE, RecordPlace, RecordedExchange, Replay, is_silent, tag};
use super::sameness::{AskedOfSets, AskedRecords, AskedSearch, Identity, Origins, set_made};
use crate::diagnostic::{Condition, diagnostic};
use crate::fault::{Item, Output};
use crate::service::{fail, refuse};

/// The replay of one session.
///
/// A request gets the answer to an equal recorded request: the next one in this session that has not been replayed; if there is
/// none, the last one in this session; if there is none, one from another session. A Present that was not recorded gets its
/// records from other answers. A Search that differs from a recorded Search only in the requested records gets the recorded
/// answer with the records that it requests. Any other request that was not recorded gets a diagnostic, or Close if the service
/// does not have diagnostics.
///
/// When requests are replayed in order, their octets are compared. A request that equals no recorded request gets the answer to
/// the next recorded request of the same kind.
///
/// If the recorded server ended the session, the replay ends it at the same point. Until an Init is accepted, only requests that
/// were recorded in this session are answered. Any other request ends the session, because servers do not answer requests before
/// Init (Z39.50-2003 §3.2.1.1).
///
/// APDUs that the server sent before the first request are sent together with the first answer.
pub(crate) struct Player {
    replay: Arc<Replay>,
    session: usize,
    /// For each request of the session, whether it has been replayed.
    done: Vec<bool>,
    origins: Origins,
    /// The preferredMessageSize of the client, in octets; 0 for no limit.
    message_size: usize,
    /// Whether any request has been received.
    pub(crate) begun: bool,
    /// Whether the last Init was accepted.
    is_open: bool,
}

/// The answer to a request.
#[derive(Debug)]
pub(crate) struct ReplayReply {
    pub(crate) output: Output,
    /// The reason why the recording has no answer, if the reason is to be reported.
    pub(crate) not_recorded: Option<String>,
}

/// How to answer a request.
enum Plan {
    /// Answer with these recorded APDUs. The flags tell whether the APDUs already have the request's referenceId, and whether the
    /// session ends after them.
    Recorded {
        answers: Vec<Place>,
        is_same: bool,
        hangs_up: bool,
    },
    /// Answer with a Present response composed of these records.
    Records(Vec<RecordPlace>, AskedRecords),
    /// Answer with this recorded answer to a Search, and with the records that the request asks for.
    Found(Vec<Place>, Box<AskedSearch>),
    /// Answer with a diagnostic, because the result set does not have these records.
    OutOfRange,
    /// Answer with a diagnostic or Close, because the recording has no answer for this reason.
    Unknown(String),
}

/// A request, and how to answer it.
struct PlannedReply {
    replay: Arc<Replay>,
    request: Option<Apdu>,
    identity: Identity,
    plan: Plan,
    message_size: usize,
    /// Whether the session was open before the request.
    is_open: bool,
}

impl Player {
    /// Creates the replay of the session with this number, from 1. After the last recorded session, replay starts again with the
    /// first.
    pub(crate) fn new(replay: &Arc<Replay>, number: u64) -> Self {
        let count = u64::try_from(replay.sessions.len())
            .unwrap_or(u64::MAX)
            .max(1);
        let session = usize::try_from(number.saturating_sub(1) % count).unwrap_or_default();
        Self {
            done: vec![false; replay.sessions.get(session).map_or(0, Vec::len)],
            replay: Arc::clone(replay),
            session,
            origins: Origins::default(),
            message_size: 0,
            begun: false,
            is_open: false,
        }
    }

    /// Returns the answer to this request. If the recording is in a file, the file is read on another thread.
    pub(crate) async fn answer(&mut self, octets: &Bytes) -> ReplayReply {
        let planned = self.plan(octets);
        let request = planned.request.clone();
        let played = if self.replay.source.is_file() {
            let carried_out = tokio::task::spawn_blocking(|| planned.carry_out()).await;
            // An error means that the runtime is stopping, so the recording was not read.
            carried_out.unwrap_or_else(|error| ReplayReply {
                output: not_recorded(request.as_ref(), &error.to_string(), self.is_open),
                not_recorded: None,
            })
        } else {
            planned.carry_out()
        };
        if matches!(request, Some(Apdu::InitializeRequest(_))) {
            self.is_open = accepts(&played.output);
        }
        played
    }

    fn plan(&mut self, octets: &[u8]) -> PlannedReply {
        self.begun = true;
        let request = codec::decode(octets).ok();
        if let Some(Apdu::InitializeRequest(init)) = &request {
            self.message_size = usize::try_from(init.preferred_message_size).unwrap_or_default();
        }
        let made = request.as_ref().and_then(set_made).map(<[u8]>::to_vec);
        let before = made.as_ref().and_then(|name| self.origins.of(name));
        let deletes = matches!(request, Some(Apdu::DeleteResultSetRequest(_)));
        let sets = deletes.then(|| self.origins.clone());
        let compared = self.origins.compare(octets);
        let is_init = matches!(request, Some(Apdu::InitializeRequest(_)));
        let replay = Arc::clone(&self.replay);
        let exchange = if replay.in_order {
            self.by_order(&replay, octets)
        } else {
            self.by_identity(&replay, compared.identity, is_init || self.is_open)
        };
        let plan = match (exchange, compared.asked) {
            (Some(exchange), _) => {
                let id = request.as_ref().and_then(Apdu::reference_id);
                Plan::Recorded {
                    answers: exchange.answers.clone(),
                    is_same: Identity::of_reference_id(id) == exchange.reference_id,
                    hangs_up: self.is_over() || (exchange.answers.is_empty() && exchange.hangs_up),
                }
            }
            (None, _) if replay.in_order || !self.is_open => Plan::Unknown(UNKNOWN.to_owned()),
            (None, AskedOfSets::Present(asked)) => present(&replay, asked),
            (None, AskedOfSets::Search(search)) => match replay.searches.get(&search.loosely) {
                Some((session, index)) => {
                    let exchange = replay
                        .sessions
                        .get(*session)
                        .and_then(|session| session.get(*index));
                    let answers = exchange.map(|exchange| exchange.answers.clone());
                    Plan::Found(answers.unwrap_or_default(), search)
                }
                None => Plan::Unknown(UNKNOWN.to_owned()),
            },
            (None, _) => Plan::Unknown(UNKNOWN.to_owned()),
        };
        if let (Plan::Unknown(_), Some(name)) = (&plan, made) {
            // A failed search leaves no result set, but a failed sort keeps the previous set.
            let is_sort = matches!(request, Some(Apdu::SortRequest(_)));
            self.origins.set(name, before.filter(|_| is_sort));
        }
        if let (Plan::Unknown(_), Some(sets)) = (&plan, sets) {
            // A failed Delete does not delete any set.
            self.origins = sets;
        }
        PlannedReply {
            replay,
            request,
            identity: compared.identity,
            plan,
            message_size: self.message_size,
            is_open: self.is_open,
        }
    }

    /// Returns whether all requests of the session have been replayed and the server had ended the session after them.
    fn is_over(&self) -> bool {
        let own = self.replay.sessions.get(self.session);
        let last = own.and_then(|session| session.last());
        last.is_some_and(|last| last.hangs_up) && self.done.iter().all(|done| *done)
    }

    /// Finds an equal recorded request: the next one in this session or, if requests may be repeated, the last one in this
    /// session or the first one in another session. A request whose answer is missing in the recording is not repeated, because
    /// the client would wait forever.
    fn by_identity<'a>(
        &mut self,
        replay: &'a Replay,
        identity: Identity,
        repeats: bool,
    ) -> Option<&'a RecordedExchange> {
        let same = |exchange: &RecordedExchange| exchange.identity == identity;
        let own = replay.sessions.get(self.session)?;
        if let Some(next) = self.next(own, same) {
            return Some(next);
        }
        if !repeats {
            return None;
        }
        let ends = |exchange: &RecordedExchange| {
            exchange.hangs_up || is_silent(exchange.tag) || !exchange.answers.is_empty()
        };
        let mut all = replay.sessions.iter().flatten();
        own.iter()
            .rfind(|exchange| same(exchange) && ends(exchange))
            .or_else(|| all.find(|exchange| same(exchange) && ends(exchange)))
    }

    /// Finds the first request with the same octets that has not been replayed yet or, if there is none, the first request of the
    /// same kind that has not been replayed yet.
    fn by_order<'a>(&mut self, replay: &'a Replay, octets: &[u8]) -> Option<&'a RecordedExchange> {
        let (plain, kind) = (Identity::of_octets(octets), tag(octets));
        let own = replay.sessions.get(self.session)?;
        self.next(own, |exchange| exchange.octets == plain)
            .or_else(|| self.next(own, |exchange| exchange.tag == kind))
    }

    /// Finds the first matching request of the session that has not been replayed, and marks it as replayed.
    fn next<'a>(
        &mut self,
        own: &'a [RecordedExchange],
        fits: impl Fn(&RecordedExchange) -> bool,
    ) -> Option<&'a RecordedExchange> {
        let mut left = own.iter().zip(&mut self.done);
        let (exchange, done) = left.find(|(exchange, done)| !**done && fits(exchange))?;
        *done = true;
        Some(exchange)
    }
}

/// Returns how to answer a Present.
fn present(replay: &Replay, asked: AskedRecords) -> Plan {
    match (places(replay, &asked), replay.records.hits(asked.set)) {
        (Ok(places), _) if !places.is_empty() => Plan::Records(places, asked),
        (_, Some(hits)) if !asked.is_within(hits) => Plan::OutOfRange,
        (Err(position), Some(_)) => Plan::Unknown(missing(position)),
        _ => Plan::Unknown(UNKNOWN.to_owned()),
    }
}

/// Returns the places of the requested records.
///
/// # Errors
/// The position of the first record that was not recorded.
fn places(replay: &Replay, asked: &AskedRecords) -> Result<Vec<RecordPlace>, i64> {
    let places = asked.positions().map(|position| {
        let place = replay.records.place(asked, position);
        place.ok_or(position)
    });
    places.collect()
}

/// The message for a request that was not recorded.
const UNKNOWN: &str = "this request is not in the recording";

/// Returns the message for a record that was not recorded.
fn missing(position: i64) -> String {
    format!("record {position} is not in the recording, with this syntax and these elements")
}

impl PlannedReply {
    /// Reads the recorded parts of the answer, and returns the complete answer.
    fn carry_out(self) -> ReplayReply {
        let found = match &self.plan {
            Plan::Recorded {
                answers,
                is_same,
                hangs_up,
            } => self.recorded(answers, *is_same, *hangs_up),
            Plan::Records(places, asked) => self.records(places, asked),
            Plan::Found(places, search) => self.found(places, search),
            Plan::OutOfRange => Ok((Some(self.out_of_range()), None)),
            Plan::Unknown(why) => Ok((None, Some(why.clone()))),
        };
        let (output, why) = found.unwrap_or_else(|error| {
            let words = format!("the recording cannot be read: {error}");
            tracing::warn!(%error, "the recording cannot be read");
            (None, Some(words))
        });
        let words = why.as_deref().unwrap_or(UNKNOWN);
        let request = self.request.as_ref();
        let output = output.unwrap_or_else(|| not_recorded(request, words, self.is_open));
        // A Close is answered just as if it had been recorded.
        let is_close = matches!(request, Some(Apdu::Close(_)));
        let is_reported = why.is_some() && !is_close && self.replay.reports(self.identity);
        ReplayReply {
            output,
            not_recorded: why.filter(|_| is_reported),
        }
    }

    fn recorded(&self, places: &[Place], is_same: bool, hangs_up: bool) -> io::Result<Answered> {
        let mut output = Output {
            hang_up: hangs_up,
            ..Output::default()
        };
        for place in places {
            let octets = self.replay.source.octets(*place)?;
            output.hang_up |= tag(&octets) == Some(CLOSE);
            output.items.push(match codec::decode(&octets) {
                Ok(apdu) if !is_same => Item::Apdu(self.bearing(apdu)),
                _ => Item::Octets(octets),
            });
        }
        Ok((Some(output), None))
    }

    fn records(&self, places: &[RecordPlace], asked: &AskedRecords) -> io::Result<Answered> {
        let composed = Composed::read(&self.replay.source, places, self.message_size)?;
        let next = self.next(asked, &composed);
        let response = compose::present(composed, places.len(), next);
        let response = self.bearing(response.into());
        Ok((Some(Item::Apdu(response).into()), None))
    }

    /// Returns the answer to a Present for records that the result set does not have.
    fn out_of_range(&self) -> Output {
        let why = diagnostic(Condition::OUT_OF_RANGE, "");
        let answers = self
            .request
            .as_ref()
            .map(|request| refuse(request, why))
            .into_iter()
            .flatten();
        let items = answers.map(|answer| Item::Apdu(self.bearing(answer)));
        Output {
            items: items.collect(),
            ..Output::default()
        }
    }

    /// Returns the nextResultSetPosition to report after these records.
    fn next(&self, asked: &AskedRecords, composed: &Composed) -> i64 {
        let given = composed.0.len();
        let last = given.checked_sub(1).and_then(|last| asked.position(last));
        let next = last.unwrap_or_default().saturating_add(1);
        self.replay.records.next(asked.set, next)
    }

    fn found(&self, answers: &[Place], search: &AskedSearch) -> io::Result<Answered> {
        let mut response = None;
        for place in answers {
            if let Ok(Apdu::SearchResponse(found)) =
                codec::decode(&self.replay.source.octets(*place)?)
            {
                response = Some(found);
            }
        }
        let Some(mut response) = response else {
            return Ok((None, Some(UNKNOWN.to_owned())));
        };
        let mut why = None;
        if response.search_status {
            let asked = search.records(response.result_count);
            match places(&self.replay, &asked) {
                Ok(places) => {
                    let composed = Composed::read(&self.replay.source, &places, self.message_size)?;
                    let next = self.next(&asked, &composed);
                    compose::piggyback(&mut response, composed, places.len(), next);
                }
                Err(position) => {
                    let words = missing(position);
                    let diagnostic = diagnostic(Condition::UNSPECIFIED, &words);
                    compose::without_records(&mut response, diagnostic);
                    why = Some(words);
                }
            }
        }
        let response = self.bearing(Apdu::SearchResponse(response));
        Ok((Some(Item::Apdu(response).into()), why))
    }

    /// Sets the referenceId of an answer to the referenceId of the request, and returns the answer.
    fn bearing(&self, mut answer: Apdu) -> Apdu {
        let id = self.request.as_ref().and_then(Apdu::reference_id);
        answer.set_reference_id(id.cloned());
        answer
    }
}

/// The output, if the recording has an answer, and the reason why the answer or its records are missing, if they are.
type Answered = (Option<Output>, Option<String>);

/// Returns whether the output contains an accepted Init.
fn accepts(output: &Output) -> bool {
    let is_accepted =
        |apdu: &Apdu| matches!(apdu, Apdu::InitializeResponse(answer) if answer.result);
    let mut answers = output.items.iter().filter_map(Item::apdu);
    answers.any(|answer| is_accepted(&answer))
}

/// Returns the output for a request that was not recorded. Close is answered with Close. A request whose response cannot report a
/// failure, or that precedes an accepted Init, ends the session.
fn not_recorded(request: Option<&Apdu>, words: &str, is_open: bool) -> Output {
    let why = || diagnostic(Condition::UNSPECIFIED, words);
    let mut answers = match request {
        Some(Apdu::InitializeRequest(init)) => vec![refused(init, words).into()],
        Some(Apdu::Close(_)) => vec![Close::new(CloseReason::FINISHED, None).into()],
        Some(request) if is_open => refuse(request, why()),
        _ => Vec::new(),
    };
    // A Delete is not refused; it fails with systemProblemAtTarget and the message (Z39.50-2003 §3.2.4.1.4).
    answers.iter_mut().for_each(|answer| fail(answer, &why()));
    if answers.is_empty() {
        answers.push(Close::new(CloseReason::SYSTEM_PROBLEM, Some(words)).into());
    }
    let id = request.and_then(Apdu::reference_id);
    for answer in &mut answers {
        answer.set_reference_id(id.cloned());
    }
    Output {
        hang_up: answers
            .iter()
            .any(|answer| matches!(answer, Apdu::Close(_))),
        items: answers.into_iter().map(Item::Apdu).collect(),
        ..Output::default()
    }
}

fn refused(init: &InitializeRequest, words: &str) -> InitializeResponse {
    let why = diagnostic(Condition::UNSPECIFIED, words);
    InitializeResponse {
        protocol_version: init.protocol_version,
        options: init.options,
        preferred_message_size: init.preferred_message_size,
        exceptional_record_size: init.exceptional_record_size,
        user_information_field: UserInfo1::diagnostic(why).ok(),
        ..InitializeResponse::default()
    }
}

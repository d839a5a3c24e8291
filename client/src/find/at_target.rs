//! A course carried out at one target, in a session of the pool or in an open one.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::StreamExt;
use tokio::sync::mpsc;
use z3950_asn1::apdu::{DiagRec, Query};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::format::sources::SearchSources;
use z3950_asn1::oid::Oid;
use z3950_asn1::types::InternationalString;

use super::course::{Course, Next};
use super::event::{Event, Found};
use super::wanted::{SearchTarget, Sought, Wanted};
use crate::client::Client;
use crate::connection::inner::{Inner, Name};
use crate::error::{Error, Phase, ProtocolFault};
use crate::lookup::{Identifier, Kind, has_identifier};
use crate::pool::SharedLease;
use crate::protocol::pager::{Pager, PagerOptions};
use crate::protocol::service::ResultRecord;
use crate::protocol::service::search::{SearchOptions, SearchResult};
use crate::protocol::session::{Reconnect, Repeat, Session};

/// What is wanted of one target.
pub(crate) struct AtTarget<'a> {
    pub(super) lender: Lender<'a>,
    pub(super) wanted: &'a Wanted,
    pub(super) place: &'a SearchTarget,
    pub(super) target: usize,
    pub(super) events: &'a mpsc::Sender<Box<Event>>,
    pub(super) held: &'a HeldSet,
    /// Whether the records of an identifier are kept, and not told.
    pub(super) keeps_records: bool,
}

/// Who lends sessions.
#[derive(Clone, Copy)]
pub(crate) enum Lender<'a> {
    Client(&'a Client),
    /// Only for identifiers, whose records are read in one request.
    Connection(&'a Arc<Inner>),
}

/// What a target had.
#[derive(Default)]
pub(crate) struct TargetOutcome {
    pub(crate) found: Option<Found>,
    /// The first records, if they are kept.
    pub(crate) records: Vec<ResultRecord>,
    /// How many records came, without the diagnostics in the place of records.
    pub(super) delivered: u64,
    pub(crate) error: Option<Error>,
}

/// The session and the result set of a query, which the reader of events may let go before it reads records.
#[derive(Default)]
pub(super) struct HeldSet(Mutex<Option<Box<(FoundSet, Lent)>>>);

impl HeldSet {
    pub(super) fn let_go(&self) {
        self.lock().take();
    }

    fn lock(&self) -> MutexGuard<'_, Option<Box<(FoundSet, Lent)>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A session lent for one search at a time.
enum Lent {
    /// A place in a session of the client's pool.
    Shared(SharedLease),
    /// The session of a connection, with a name that no other result set has.
    Connection(Arc<Inner>, Name),
    /// A session that somebody else opened, and reopens.
    Open(Session, InternationalString),
}

/// A result set, with the records read so far.
struct FoundSet {
    pager: Pager,
    records: Vec<ResultRecord>,
    /// Why there are no further records.
    failure: Option<Error>,
    /// Why it is not sorted.
    unsorted: Option<Error>,
}

impl FoundSet {
    fn count(&self) -> Option<u64> {
        self.pager.found().count()
    }

    /// The diagnostic in the place of the first record.
    fn first_refused(&self) -> Option<&DiagRec> {
        match self.records.first()? {
            ResultRecord::Diagnostic { diagnostic, .. } => Some(diagnostic),
            ResultRecord::Record { .. } => None,
        }
    }
}

impl AtTarget<'_> {
    /// Searches, and tells what is found.
    pub(super) async fn carry_out(&self) -> TargetOutcome {
        let result = match self.place.course(self.wanted) {
            Ok(course) => self.search(course).await,
            Err(error) => Err(error),
        };
        let (outcome, record_syntax) = match result {
            Ok(done) => done,
            Err(error) => (
                TargetOutcome {
                    error: Some(error),
                    ..TargetOutcome::default()
                },
                None,
            ),
        };
        self.tell(Event::Done {
            target: self.target,
            record_syntax,
            delivered: outcome.delivered,
            error: outcome.error.clone(),
        })
        .await;
        outcome
    }

    /// Searches until something is found or nothing is left to try.
    async fn search(&self, mut course: Course) -> Result<(TargetOutcome, Option<Oid>), Error> {
        let lent = self.lend().await?;
        let mut empty: Option<SearchResult> = None;
        let mut sources = SearchSources::default();
        loop {
            let result = self.search_once(&lent, &course).await;
            if let Ok(set) = &result {
                sources.join(set.pager.found().sources());
            }
            let next = match &result {
                Ok(set) if set.count() == Some(0) => course.after_nothing(set.pager.found()),
                Ok(set) => match set.first_refused() {
                    Some(diagnostic) => course.after_first_refused(diagnostic),
                    None => Next::End,
                },
                Err(error) => course.after_error(error),
            };
            match (next, result) {
                (Next::Search, _) => {}
                (Next::Again(reason), result) => {
                    self.tell(self.again(&course, reason)).await;
                    empty = empty.or(result.ok().map(|set| set.pager.found().clone()));
                }
                (Next::End, Ok(set)) if set.count() == Some(0) => {
                    let Some(error) = course.end() else {
                        return Ok(self.records(&course, sources, lent, set).await);
                    };
                    return Err(error);
                }
                (Next::End, Ok(set)) => {
                    return Ok(self.records(&course, sources, lent, set).await);
                }
                (Next::End, Err(error)) => {
                    return match (course.end(), empty) {
                        (Some(of_all), _) if matches!(error, Error::Refused { .. }) => Err(of_all),
                        (None, Some(empty)) => Ok(self.nothing(empty, sources).await),
                        _ => Err(error),
                    };
                }
            }
        }
    }

    fn again(&self, course: &Course, reason: String) -> Event {
        Event::Again {
            target: self.target,
            identifier: course.attempt().map(|(identifier, _)| identifier),
            reason,
            step: course.form().unwrap_or_default(),
        }
    }

    /// Tells of a query that found nothing, although a later search failed.
    async fn nothing(
        &self,
        empty: SearchResult,
        sources: SearchSources,
    ) -> (TargetOutcome, Option<Oid>) {
        let found = Found {
            target: self.target,
            result: Arc::new(empty),
            sources,
            ..Found::default()
        };
        self.tell(Event::Found(found.clone())).await;
        let outcome = TargetOutcome {
            found: Some(found),
            ..TargetOutcome::default()
        };
        (outcome, None)
    }

    /// Tells what was found, and the records.
    async fn records(
        &self,
        course: &Course,
        sources: SearchSources,
        lent: Lent,
        set: FoundSet,
    ) -> (TargetOutcome, Option<Oid>) {
        let found = self.found(course, sources, &set);
        if found.identifier.is_some() {
            return self.records_of_identifier(found, set, lent).await;
        }
        let mut outcome = TargetOutcome::default();
        let (mut set, mut lent, mut found) = (set, lent, found);
        // The session stays lent while records are read, unless the reader lets it go.
        let (mut set, _lent) = loop {
            if let Some(error) = set.unsorted.take() {
                let target = self.target;
                self.tell(Event::Unsorted { target, error }).await;
            }
            outcome.found = Some(found.clone());
            *self.held.lock() = Some(Box::new((set, lent)));
            self.tell(Event::Found(found.clone())).await;
            // The reader has taken the event when there is room for another.
            let _ = self.events.reserve().await;
            let kept = self.held.lock().take();
            if let Some(kept) = kept {
                break *kept;
            }
            let again = match self.lend().await {
                Ok(another) => {
                    let set = self.search_once(&another, course).await;
                    set.map(|set| (set, another))
                }
                Err(error) => Err(error),
            };
            (set, lent) = match again {
                Ok(again) => again,
                Err(error) => {
                    outcome.error = Some(error);
                    return (outcome, None);
                }
            };
            found = self.found(course, found.sources, &set);
        };
        let count = self.wanted.wanted_of(set.count());
        let mut position = self.wanted.start;
        let mut records = set.pager.stream_range(position, count);
        while let Some(record) = records.next().await {
            match record {
                Ok(record) => {
                    outcome.delivered += u64::from(is_record(&record));
                    self.record(position, record).await;
                }
                Err(error) => outcome.error = Some(error),
            }
            position += 1;
        }
        drop(records);
        (outcome, set.pager.record_syntax())
    }

    async fn records_of_identifier(
        &self,
        found: Found,
        set: FoundSet,
        lent: Lent,
    ) -> (TargetOutcome, Option<Oid>) {
        let FoundSet {
            pager,
            records,
            failure,
            ..
        } = set;
        let record_syntax = pager.record_syntax();
        // All that is wanted has come, so the reader holds no session.
        drop(pager);
        drop(lent);
        self.tell(Event::Found(found.clone())).await;
        let delivered = records.iter().filter(|record| is_record(record)).count();
        let mut kept = Vec::new();
        for (position, record) in (1..).zip(records) {
            if !self.keeps_records {
                self.record(position, record).await;
                continue;
            }
            // The best record comes when it is known.
            if delivered == 0 || !is_record(&record) {
                self.record(position, record.clone()).await;
            }
            kept.push(record);
        }
        let outcome = TargetOutcome {
            found: Some(found),
            records: kept,
            delivered: u64::try_from(delivered).unwrap_or(u64::MAX),
            error: failure,
        };
        (outcome, record_syntax)
    }

    fn found(&self, course: &Course, sources: SearchSources, set: &FoundSet) -> Found {
        let attempt = course.attempt();
        let with_form = |of_attempt: Option<&String>| match (of_attempt, course.form()) {
            (Some(attempt), Some(form)) => Some(format!("{attempt};{form}")),
            (attempt, form) => attempt.cloned().or(form),
        };
        Found {
            target: self.target,
            identifier: attempt.map(|(identifier, _)| identifier),
            step: with_form(attempt.map(|(_, attempt)| &attempt.attributes)),
            step_name: attempt.and_then(|(_, attempt)| with_form(Some(&attempt.name))),
            query: attempt.map_or_else(String::new, |(_, attempt)| attempt.query.to_string()),
            terms: attempt.map_or_else(Vec::new, |(_, attempt)| attempt.terms.clone()),
            result: Arc::new(set.pager.found().clone()),
            sources,
        }
    }

    /// Makes the current search of a course, and reads records as far as the course depends on them.
    async fn search_once(&self, lent: &Lent, course: &Course) -> Result<FoundSet, Error> {
        // There is always an identifier or a query.
        let Some((query, mut search, mut options)) = course.search() else {
            return Err(Error::NoMatch);
        };
        search.result_set = lent.result_set();
        // If the connection is lost between records, a new session continues after them.
        options.reconnect = lent.reconnect();
        let target = self.target;
        self.tell(Event::Asked { target }).await;
        let minds_first = course.minds_first_record();
        let identifier = course
            .attempt()
            .and_then(|(index, _)| self.wanted.identifiers().get(index));
        let (query, search, options) = (&query, &search, &options);
        let request = |session: Session| async move {
            let set = self.found_set(session, query, search, options).await?;
            match identifier {
                Some(_) => self.with_records(set).await,
                None => self.with_first(set, minds_first).await,
            }
        };
        lent.read(identifier, request).await
    }

    /// Searches and sorts.
    async fn found_set(
        &self,
        session: Session,
        query: &Query,
        search: &SearchOptions,
        options: &PagerOptions,
    ) -> Result<FoundSet, Error> {
        let pager = session.pager(query.clone(), search, options.clone());
        let mut set = FoundSet {
            pager: pager.await?,
            records: Vec::new(),
            failure: None,
            unsorted: None,
        };
        let keys = &self.wanted.sort;
        let is_sorted = keys.is_empty() || self.place.is_sru();
        if !is_sorted
            && set.count().is_none_or(|hits| hits > 1)
            && !matches!(self.wanted.sought, Sought::Identifiers(_))
            && let Err(error) = set.pager.sort(keys.clone()).await
        {
            match error {
                Error::ProtocolError {
                    fault: ProtocolFault::NotGranted(_),
                    ..
                } => set.unsorted = Some(error),
                error => return Err(error),
            }
        }
        Ok(set)
    }

    /// Reads the records with an identifier. An error is that of the search, unless a record came before it.
    async fn with_records(&self, mut set: FoundSet) -> Result<FoundSet, Error> {
        if set.count() == Some(0) {
            return Ok(set);
        }
        let mut records = set.pager.stream_range(1, self.wanted.count);
        while let Some(record) = records.next().await {
            match record {
                Ok(record) => set.records.push(record),
                Err(error) if set.records.is_empty() => return Err(error),
                Err(error) => set.failure = Some(error),
            }
        }
        drop(records);
        Ok(set)
    }

    /// Looks whether the first record is refused because of its element set, if that matters.
    async fn with_first(&self, mut set: FoundSet, minds_first: bool) -> Result<FoundSet, Error> {
        if minds_first && set.count() != Some(0) {
            let first = set.pager.record(self.wanted.start).await;
            if let Some(refusal) = of_element_set(first) {
                return Err(refusal);
            }
        }
        Ok(set)
    }

    async fn lend(&self) -> Result<Lent, Error> {
        let place = self.place;
        if let Some((session, name)) = &place.session {
            return Ok(Lent::Open(session.clone(), name.clone()));
        }
        match self.lender {
            Lender::Client(client) => {
                let lease = client.share(&place.target, place.init.clone());
                Ok(Lent::Shared(lease.await?))
            }
            Lender::Connection(connection) => {
                let name = connection.names.take();
                Ok(Lent::Connection(Arc::clone(connection), name))
            }
        }
    }

    async fn record(&self, position: u64, record: ResultRecord) {
        self.tell(Event::Record {
            target: self.target,
            position,
            record,
        })
        .await;
    }

    async fn tell(&self, event: Event) {
        // Errors: nobody reads events any more, and this work is about to be dropped.
        let _ = self.events.send(Box::new(event)).await;
    }
}

impl Lent {
    /// The name for a result set.
    fn result_set(&self) -> InternationalString {
        match self {
            Self::Shared(lease) => lease.result_set().clone(),
            Self::Connection(_, name) => name.name(),
            Self::Open(_, name) => name.clone(),
        }
    }

    /// How to reconnect if the session is lost.
    fn reconnect(&self) -> Option<Arc<dyn Reconnect>> {
        match self {
            Self::Shared(lease) => Some(lease.reconnect()),
            Self::Connection(connection, _) => Some(Arc::clone(&connection.reconnect)),
            Self::Open(..) => None,
        }
    }

    /// Makes a request that changes nothing. If the server has dropped a session of the pool, it is repeated in a new one. A record
    /// without the identifier that is looked up may be the answer to another user's request, which a server that confuses
    /// referenceIds gives: then the request is repeated while no other user makes one.
    async fn read<F>(
        &self,
        identifier: Option<&Identifier>,
        request: impl Fn(Session) -> F,
    ) -> Result<FoundSet, Error>
    where
        F: Future<Output = Result<FoundSet, Error>>,
    {
        match (self, identifier) {
            (Self::Open(session, _), _) => request(session.clone()).await,
            (Self::Connection(connection, name), _) => {
                // A search also deletes the set of another user of this name.
                let mut turn = name.turn().await;
                turn.take();
                connection.run(Repeat::IfLost, request).await
            }
            (Self::Shared(lease), None) => lease.read(request).await,
            (Self::Shared(lease), Some(identifier)) => {
                let is_of_docid = identifier.kind == Kind::Docid;
                let is_foreign = |set: &FoundSet| {
                    let mut records = set.records.iter();
                    records.any(|record| lacks(record, identifier))
                };
                lease.read_own(is_of_docid, is_foreign, request).await
            }
        }
    }
}

fn is_record(record: &ResultRecord) -> bool {
    matches!(record, ResultRecord::Record { .. })
}

fn lacks(record: &ResultRecord, identifier: &Identifier) -> bool {
    match record {
        ResultRecord::Record { external, .. } => !has_identifier(external, identifier),
        ResultRecord::Diagnostic { .. } => false,
    }
}

/// The refusal of a record because of its element set.
fn of_element_set(first: Result<ResultRecord, Error>) -> Option<Error> {
    let diagnostics = match first {
        Ok(ResultRecord::Diagnostic { diagnostic, .. }) => diagnostic.into(),
        Err(Error::Refused { diagnostics, .. }) => diagnostics,
        _ => return None,
    };
    let conditions = [
        Condition::ELEMENT_SET_NAME,
        Condition::GENERIC_ELEMENT_SET_NAME_ONLY,
    ];
    let mut conditions = conditions.iter();
    conditions
        .any(|condition| diagnostics.has(condition.0))
        .then_some(Error::Refused {
            phase: Phase::Present,
            diagnostics,
        })
}

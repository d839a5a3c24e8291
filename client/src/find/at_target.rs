//! Performs the searches at one target, as determined by a course, in a session from the pool or in an open session.

use std::pin::pin;
use std::sync::Arc;

use futures_util::StreamExt;
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::format::sources::SearchSources;
use z3950_asn1::oid::Oid;

use super::course::{Course, Next, Round};
use super::event::{Event, Found};
use super::lending::{FoundSet, HeldRecords, LeasedSession, Lender};
use super::queue::EventSender;
use super::wanted::{SearchTarget, Subject, Wanted};
use crate::error::{Error, Phase, ProtocolFault};
use crate::lookup::Likeness;
use crate::protocol::service::ResultRecord;
use crate::protocol::service::search::SearchResult;
use crate::protocol::session::Session;

/// The work of a search at one target.
pub(crate) struct AtTarget<'a> {
    pub(super) lender: Lender<'a>,
    pub(super) wanted: &'a Wanted,
    pub(super) place: &'a SearchTarget,
    pub(super) target: usize,
    /// The queue of events; `None` if nobody reads them.
    pub(super) events: Option<&'a EventSender>,
    pub(super) held: &'a HeldRecords,
    /// Whether the records found by an identifier are returned in the outcome instead of being sent as events.
    pub(super) keeps_records: bool,
    /// The searches to make for identifiers: all, the exact ones, or the broader ones.
    pub(super) round: Round,
}

/// The result of a search at one target.
#[derive(Default)]
pub(crate) struct TargetOutcome {
    pub(crate) found: Option<Arc<Found>>,
    /// The records that were not sent as events, if any, with their 1-based positions: the first records found, or
    /// those chosen among them.
    pub(crate) records: Vec<(u64, ResultRecord)>,
    /// The number of records received, not counting diagnostics in place of records.
    pub(super) delivered: u64,
    pub(crate) error: Option<Error>,
}

impl TargetOutcome {
    /// Returns how similar the records are to the publication that is looked up; `None` if they were not found by
    /// title.
    pub(super) fn likeness(&self) -> Option<Likeness> {
        let by_title = self.found.as_ref()?.by_title.as_ref()?;
        Some(by_title.likeness)
    }

    /// Returns whether broader searches are to be made, which is the case if nothing was found or the search was
    /// refused.
    pub(super) fn needs_broader_search(&self) -> bool {
        let is_none = self.found.is_none();
        is_none
            && matches!(
                self.error,
                None | Some(Error::NoMatch | Error::Refused { .. })
            )
    }
}

impl AtTarget<'_> {
    /// Searches, and sends events about the results.
    pub(super) async fn carry_out(&self) -> TargetOutcome {
        let (outcome, record_syntax) = match self.search().await {
            Ok(done) => done,
            Err(error) => (
                TargetOutcome {
                    error: Some(error),
                    ..TargetOutcome::default()
                },
                None,
            ),
        };
        if self.round != Round::Exact || !outcome.needs_broader_search() {
            self.done(&outcome, record_syntax);
        }
        outcome
    }

    /// Makes the broader searches if the exact searches, which had the outcome `exact`, found nothing or were refused.
    /// This is called after the exact searches at all targets have ended.
    pub(super) async fn broaden(self, exact: TargetOutcome) -> TargetOutcome {
        if !exact.needs_broader_search() {
            return exact;
        }
        if !self.place.has_broader(self.wanted) {
            self.done(&exact, None);
            return exact;
        }
        let has_answered = matches!(exact.error, None | Some(Error::NoMatch));
        let round = Round::Broader { has_answered };
        Self { round, ..self }.carry_out().await
    }

    /// Sends the event that reports the end of the searches at this target.
    fn done(&self, outcome: &TargetOutcome, record_syntax: Option<Oid>) {
        self.send(Event::Done {
            target: self.target,
            record_syntax,
            delivered: outcome.delivered,
            error: outcome.error.clone(),
        });
    }

    /// Makes the searches in the course until one finds something or no search remains.
    async fn search(&self) -> Result<(TargetOutcome, Option<Oid>), Error> {
        if let Subject::Publication(publication) = &self.wanted.subject {
            return Box::pin(self.search_by_title(publication)).await;
        }
        let mut course = self.place.course(self.wanted, self.round)?;
        let leased = self.lender.lend(self.place).await?;
        let mut empty: Option<SearchResult> = None;
        let mut sources = SearchSources::default();
        let set = loop {
            let result = self.search_once(&leased, &course).await;
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
                    self.send(self.again(&course, reason));
                    empty = empty.or(result.ok().map(|set| set.pager.found().clone()));
                }
                (Next::End, Ok(set)) => {
                    if set.count() == Some(0)
                        && let Some(error) = course.end()
                    {
                        return Err(error);
                    }
                    break set;
                }
                (Next::End, Err(error)) => {
                    return match (course.end(), empty) {
                        (Some(of_all), _) if matches!(error, Error::Refused { .. }) => Err(of_all),
                        (None, Some(empty)) => Ok(self.nothing(empty, sources)),
                        _ => Err(error),
                    };
                }
            }
        };
        Ok(self.records(&course, sources, leased, set).await)
    }

    pub(super) fn again(&self, course: &Course, reason: String) -> Event {
        Event::Again {
            target: self.target,
            identifier: self.identifier(course),
            reason,
            step: course.form().unwrap_or_default(),
        }
    }

    /// Reports the empty result of an earlier search for the query, after a later search has failed.
    fn nothing(&self, empty: SearchResult, sources: SearchSources) -> (TargetOutcome, Option<Oid>) {
        let found = Arc::new(Found {
            target: self.target,
            result: empty,
            sources,
            ..Found::default()
        });
        self.send(Event::Found(Arc::clone(&found)));
        let outcome = TargetOutcome {
            found: Some(found),
            ..TargetOutcome::default()
        };
        (outcome, None)
    }

    /// Reports the result of the successful search, and sends its records.
    async fn records(
        &self,
        course: &Course,
        sources: SearchSources,
        leased: LeasedSession,
        set: FoundSet,
    ) -> (TargetOutcome, Option<Oid>) {
        let found = self.found(course, sources, &set);
        if found.identifier.is_some() {
            return self.records_of_identifier(found, set, leased);
        }
        // Without the box, the future of a lookup would also reserve space for reading the records that a query finds.
        Box::pin(self.records_of_query(course, found, set, leased)).await
    }

    fn records_of_identifier(
        &self,
        found: Arc<Found>,
        set: FoundSet,
        leased: LeasedSession,
    ) -> (TargetOutcome, Option<Oid>) {
        let FoundSet {
            pager,
            records,
            failure,
            ..
        } = set;
        let record_syntax = pager.record_syntax();
        // All wanted records have been received, so the session is released before the reader gets them.
        drop(pager);
        drop(leased);
        let records = (1..).zip(records).collect();
        (self.deliver(found, records, failure), record_syntax)
    }

    /// Sends the records from a lookup or, if `keeps_records` is set, returns them so that the best one can be chosen.
    pub(super) fn deliver(
        &self,
        found: Arc<Found>,
        mut records: Vec<(u64, ResultRecord)>,
        failure: Option<Error>,
    ) -> TargetOutcome {
        self.send(Event::Found(Arc::clone(&found)));
        let delivered = records
            .iter()
            .filter(|(_, record)| is_record(record))
            .count();
        if self.keeps_records {
            for (position, record) in &records {
                if delivered == 0 || !is_record(record) {
                    self.record(*position, record.clone());
                }
            }
        } else {
            for (position, record) in records.drain(..) {
                self.record(position, record);
            }
        }
        TargetOutcome {
            found: Some(found),
            records,
            delivered: u64::try_from(delivered).unwrap_or(u64::MAX),
            error: failure,
        }
    }

    pub(super) fn found(
        &self,
        course: &Course,
        sources: SearchSources,
        set: &FoundSet,
    ) -> Arc<Found> {
        let attempt = course.attempt();
        // Without events, only the query is reported, so the attempt that found the record is not described.
        let reported = attempt.filter(|_| self.events.is_some());
        let with_form = |of_attempt: Option<String>| match (of_attempt, course.form()) {
            (Some(attempt), Some(form)) => Some(format!("{attempt};{form}")),
            (attempt, form) => attempt.or(form),
        };
        Arc::new(Found {
            target: self.target,
            identifier: self.identifier(course),
            step: with_form(reported.map(|(_, attempt)| attempt.step())),
            step_name: reported.and_then(|(_, attempt)| with_form(Some(attempt.name()))),
            query: match attempt {
                Some((_, attempt)) => attempt.query.to_string(),
                None => course.other_query().unwrap_or_default(),
            },
            terms: reported.map_or_else(Vec::new, |(_, attempt)| attempt.terms.clone()),
            result: set.pager.found().clone(),
            sources,
            by_title: None,
        })
    }

    /// Returns the index of the identifier for which the course currently searches.
    fn identifier(&self, course: &Course) -> Option<usize> {
        let (index, _) = course.attempt()?;
        self.wanted.identifiers().get(index).map(|_| index)
    }

    /// Makes the current search of a course, and reads as many records as the course needs for its next decision.
    pub(super) async fn search_once(
        &self,
        leased: &LeasedSession,
        course: &Course,
    ) -> Result<FoundSet, Error> {
        let target = self.target;
        self.send(Event::Asked { target });
        let minds_first = course.minds_first_record();
        let identifier = course
            .attempt()
            .and_then(|(index, _)| self.wanted.identifiers().get(index));
        // Without the box, creating each enclosing future would copy thousands of octets.
        let request = |session: Session| {
            Box::pin(async move {
                let set = self.found_set(session, leased, course).await?;
                if self.wanted.is_lookup() {
                    self.with_records(set).await
                } else {
                    self.with_first(set, minds_first).await
                }
            })
        };
        let limit = self.lender.to_search();
        // The work is pinned here, because this future would reserve space for it twice if it were passed by value.
        let work = pin!(leased.read(identifier, request));
        limit.hold(Phase::Call, work).await?
    }

    /// Makes a search and sorts the result.
    async fn found_set(
        &self,
        session: Session,
        leased: &LeasedSession,
        course: &Course,
    ) -> Result<FoundSet, Error> {
        // There is always an identifier or a query, so this point is not reached.
        let Some((query, mut search, mut options)) = course.search() else {
            return Err(Error::NoMatch);
        };
        search.result_set = leased.result_set();
        // If the connection is lost between records, a new session continues after the records already read.
        options.reconnect = leased.reconnect();
        let mut set = FoundSet {
            pager: Box::new(session.pager(query, &search, options).await?),
            records: Vec::new(),
            failure: None,
            unsorted: None,
        };
        let keys = &self.wanted.sort;
        let is_sorted = keys.is_empty() || self.place.is_sru();
        if !is_sorted
            && set.count().is_none_or(|hits| hits > 1)
            && !self.wanted.is_lookup()
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

    /// Reads the records found by an identifier. The search fails on an error, unless a record was read before the
    /// error.
    async fn with_records(&self, mut set: FoundSet) -> Result<FoundSet, Error> {
        if set.count() == Some(0) {
            return Ok(set);
        }
        let mut records = set.pager.stream_range(1, self.wanted.read_count());
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

    /// Requests the first record if `minds_first` is set, to find out whether the server refuses it because of its
    /// element set.
    async fn with_first(&self, mut set: FoundSet, minds_first: bool) -> Result<FoundSet, Error> {
        if minds_first && set.count() != Some(0) {
            let first = set.pager.record(self.wanted.start).await;
            if let Some(refusal) = of_element_set(first) {
                return Err(refusal);
            }
        }
        Ok(set)
    }

    pub(super) fn record(&self, position: u64, record: ResultRecord) {
        self.send(Event::Record {
            target: self.target,
            position,
            record,
        });
    }

    /// Sends an event without waiting for the reader to take it.
    pub(super) fn send(&self, event: Event) {
        if let Some(events) = self.events {
            events.send(event);
        }
    }
}

pub(super) fn is_record(record: &ResultRecord) -> bool {
    matches!(record, ResultRecord::Record { .. })
}

/// Returns the error if it means that the server refused a record because of its element set.
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

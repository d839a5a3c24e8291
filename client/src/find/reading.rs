//! Reads the records for a query as the reader of the events requests them. If the reader does not continue, the session is given to
//! another user who is waiting for it, and the search is repeated later.

use std::sync::Arc;

use z3950_asn1::oid::Oid;

use super::at_target::{AtTarget, TargetOutcome, is_record};
use super::course::Course;
use super::event::{Event, Found};
use super::lending::{FoundSet, LeasedSession, NextRecords};
use crate::error::{Error, Phase, ProtocolFault};

impl AtTarget<'_> {
    /// Sends the result of a query, and then its records as the reader requests them.
    pub(super) async fn records_of_query(
        &self,
        course: &Course,
        mut found: Arc<Found>,
        mut set: FoundSet,
        mut leased: LeasedSession,
    ) -> (TargetOutcome, Option<Oid>) {
        let mut outcome = TargetOutcome::default();
        let mut is_sorted;
        let next = loop {
            is_sorted = set.unsorted.is_none();
            if let Some(error) = set.unsorted.take() {
                let target = self.target;
                self.send(Event::Unsorted { target, error });
            }
            outcome.found = Some(Arc::clone(&found));
            let next = self.records_from(self.wanted.start, set, leased).await;
            let record_syntax = next.record_syntax;
            let is_empty = next.is_empty();
            // The records are stored first, because the reader may give the session up as soon as it has the event.
            self.held.hold(next);
            self.send(Event::Found(Arc::clone(&found)));
            if is_empty {
                return (outcome, record_syntax);
            }
            if let Some(next) = self.when_requested().await {
                break next;
            }
            (set, leased) = match self.search_again(course).await {
                Ok(again) => again,
                Err(error) => {
                    outcome.error = Some(error);
                    return (outcome, record_syntax);
                }
            };
            // The result is reported again if the reader has given the session up itself, or if it has changed.
            let is_same =
                set.count() == found.result.count() && set.unsorted.is_none() == is_sorted;
            if !self.held.is_released() && is_same {
                break self.records_from(self.wanted.start, set, leased).await;
            }
            found = self.found(course, found.sources.clone(), &set);
        };
        self.read(course, &found, is_sorted, next, outcome).await
    }

    /// Sends records as the reader requests them, until all wanted records have been sent or no further records can be
    /// received.
    async fn read(
        &self,
        course: &Course,
        found: &Found,
        is_sorted: bool,
        mut next: NextRecords,
        mut outcome: TargetOutcome,
    ) -> (TargetOutcome, Option<Oid>) {
        let mut position = self.wanted.start;
        loop {
            for record in next.receive().await {
                outcome.delivered += u64::from(is_record(&record));
                self.record(position, record);
                position = position.saturating_add(1);
            }
            let record_syntax = next.record_syntax;
            if next.is_empty() {
                outcome.error = next.error;
                return (outcome, record_syntax);
            }
            self.held.hold(next);
            next = match self.when_requested().await {
                Some(next) => next,
                None => match self.resume(course, found, is_sorted, position).await {
                    Ok(next) => next,
                    Err(error) => {
                        outcome.error = Some(error);
                        return (outcome, record_syntax);
                    }
                },
            };
        }
    }

    /// Waits until the reader of the events requests the next one, and returns the records that follow; `None` if the session was
    /// given up meanwhile.
    async fn when_requested(&self) -> Option<NextRecords> {
        if let Some(events) = self.events {
            tokio::select! {
                biased;
                () = events.requested() => {}
                () = self.held.release_on_demand() => events.requested().await,
            }
        }
        self.held.take()
    }

    /// Repeats the search in another session, after the first session was given up between records.
    async fn resume(
        &self,
        course: &Course,
        found: &Found,
        is_sorted: bool,
        position: u64,
    ) -> Result<NextRecords, Error> {
        let (mut set, leased) = self.search_again(course).await?;
        if let Some(error) = set.unsorted.take()
            && is_sorted
        {
            return Err(error);
        }
        if set.count() != found.result.count() {
            let fault = ProtocolFault::ResultSetChanged {
                was: found.result.hits,
                is: set.pager.found().hits,
            };
            return Err(Error::fault(Phase::Search, fault));
        }
        Ok(self.records_from(position, set, leased).await)
    }

    async fn search_again(&self, course: &Course) -> Result<(FoundSet, LeasedSession), Error> {
        let leased = self.lender.lend(self.place).await?;
        let set = self.search_once(&leased, course).await?;
        Ok((set, leased))
    }

    /// Returns the wanted records of a set, beginning at a 1-based position.
    async fn records_from(
        &self,
        position: u64,
        set: FoundSet,
        leased: LeasedSession,
    ) -> NextRecords {
        let before = position.saturating_sub(self.wanted.start);
        let count = self.wanted.wanted_of(set.count()).saturating_sub(before);
        NextRecords::new(set, leased, position, count).await
    }
}

//! The records in a response, which are fetched together and converted to the requested syntax.

use std::sync::Arc;

use z3950_asn1::apdu::DatabaseName;
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_server::backend::{Hits, RecordId, Retrieve, RetrieveMany, Retrieved};
use z3950_server::{Diagnostic, diagnostic};

use super::clause::Leaf;
use super::hits::{EngineHits, MOST_KEPT};
use super::plan::{OrderBy, Page, Plan};
use super::records::HeldRecord;
use super::search::{AnswerOf, EngineDatabase};

/// The number of records that are fetched at once if the records returned with the search are short.
const SHORT_AT_ONCE: usize = 250;
/// The maximum number of octets in a short record.
const SHORT_OCTETS: usize = 16 << 10;
/// If the records in a response have more octets than this, the remaining records are fetched one by one, because few responses
/// are large enough for them.
const MOST_FETCHED: usize = 4 << 20;
/// The position up to which engines count very quickly; beyond it, each page takes longer than the previous one.
const NEAR: usize = 1_000;

/// Fetches the records in a response that are not cached.
///
/// # Errors
/// See [`Pages::at`].
pub(super) async fn fetch<D: EngineDatabase>(
    database: &D,
    wanted: RetrieveMany<'_>,
) -> Result<(), Diagnostic> {
    let pages = Pages::new(database, wanted.hits)?;
    let Pages { hits, .. } = pages;
    let cache = &database.sets().cache;
    let positions = wanted
        .records
        .iter()
        .filter_map(|record| position_of(*record));
    // If a shard did not answer the search, this request may still return the records of that shard, so they are requested too.
    let is_here = |at: &u32| hits.first(*at).is_some() || cache.has((hits.number, *at));
    let mut missing: Vec<u32> = positions.filter(|at| !is_here(at)).collect();
    missing.sort_unstable();
    missing.dedup();
    let mut octets = 0;
    let together = |one: &u32, next: &u32| hits.is_small() || one.checked_add(1) == Some(*next);
    let runs = missing.chunk_by(together);
    let is_short = hits
        .longest_first()
        .is_some_and(|octets| octets <= SHORT_OCTETS);
    let at_once = if is_short { SHORT_AT_ONCE } else { D::AT_ONCE };
    for positions in runs.flat_map(|run| run.chunks(at_once)) {
        if octets >= MOST_FETCHED {
            break;
        }
        let records = pages.at(positions).await?;
        for (position, record) in positions.iter().zip(records) {
            octets += record.as_ref().map_or(0, HeldRecord::octets);
            cache.keep((hits.number, *position), record);
        }
    }
    Ok(())
}

/// Returns a record in a response, in the syntax that the client wants.
///
/// # Errors
/// See [`Pages::at`].
pub(super) async fn retrieve<D: EngineDatabase>(
    database: &D,
    wanted: Retrieve<'_>,
) -> Result<Retrieved, Diagnostic> {
    let pages = Pages::new(database, wanted.hits)?;
    let position = position_of(wanted.record).ok_or_else(foreign)?;
    let first = pages.hits.first(position).map(Some);
    let place = (pages.hits.number, position);
    let record = match first.or_else(|| database.sets().cache.take(place)) {
        Some(record) => record,
        None => pages.at(&[position]).await?.pop().flatten(),
    };
    let vanished = || {
        let words = "the record no longer exists, or its part of the index does not answer";
        diagnostic(Condition::SYSTEM_ERROR_PRESENTING, words)
    };
    let name = &*database.options().name;
    let record = record.ok_or_else(vanished);
    let record = record.and_then(|record| record.converted(wanted.composition, name));
    Ok(Retrieved::new(DatabaseName::from(name), record).written_here())
}

/// The pages of a result set.
pub(super) struct Pages<'a, D: EngineDatabase> {
    pub(super) database: &'a D,
    pub(super) hits: &'a EngineHits<D::Leaf>,
}

impl<'a, D: EngineDatabase> Pages<'a, D> {
    /// Creates the pages of a result set.
    ///
    /// # Errors
    /// Fails with condition 14 for a result set that does not belong to this database.
    fn new(database: &'a D, hits: &'a Hits) -> Result<Self, Diagnostic> {
        let hits = database.sets().own(hits).ok_or_else(foreign)?;
        Ok(Self { database, hits })
    }

    /// Returns the records at these positions, which must be consecutive if the set is large; `None` for records that
    /// the engine does not return.
    ///
    /// # Errors
    /// Fails with condition 13 for a position that cannot be reached, with 14 if the engine does not answer, with 27 if records
    /// were added or deleted before the identifiers of a small set's records had been read, or with 109 if the answer comes
    /// from different parts of the index than the answer to the search.
    async fn at(&self, positions: &[u32]) -> Result<Vec<Option<HeldRecord>>, Diagnostic> {
        let mut page = if self.hits.is_small() {
            let ids = self.ids().await?;
            let wanted = positions
                .iter()
                .map_while(|at| ids.get(usize::try_from(*at).ok()?));
            self.by_ids(wanted.cloned().collect()).await?
        } else {
            let start = positions
                .first()
                .and_then(|at| usize::try_from(*at).ok())
                .unwrap_or_default();
            self.by_position(start, positions.len()).await?
        };
        page.resize(positions.len(), None);
        Ok(page)
    }

    /// Returns the identifiers of the records of a small set.
    async fn ids(&self) -> Result<&'a Arc<[<D::Leaf as Leaf>::Id]>, Diagnostic> {
        if let Some(known) = self.hits.known_ids() {
            return Ok(known);
        }
        let page = Page {
            rows: MOST_KEPT,
            ..Page::default()
        };
        let answer = self.again(page).await?;
        let ids = answer.hits.into_iter().map(|hit| hit.id).collect();
        self.hits.keep(answer.total, ids).ok_or_else(|| {
            let words = "records were added or deleted since the search: search again";
            diagnostic(Condition::RESULT_SET_DELETED, words)
        })
    }

    /// Returns the records with these identifiers, in this order.
    async fn by_ids(
        &self,
        ids: Arc<[<D::Leaf as Leaf>::Id]>,
    ) -> Result<Vec<Option<HeldRecord>>, Diagnostic> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let clause = self.database.identified(Arc::clone(&ids));
        let plan = Plan {
            // The page has room for one more record than was requested. It is practically impossible that two records have the
            // same identifier, but if they did, both would be found.
            page: Page::first(ids.len() + 1),
            ..Plan::count(&clause, self.database.deadline())
        };
        let mut found = self.ask(&plan).await?.hits;
        let mut take = |id: &<D::Leaf as Leaf>::Id| {
            let place = found.iter().position(|hit| hit.id == *id)?;
            found.remove(place).record
        };
        Ok(ids.iter().map(&mut take).collect())
    }

    /// Returns the records of a large set from a position onwards.
    async fn by_position(
        &self,
        start: usize,
        rows: usize,
    ) -> Result<Vec<Option<HeldRecord>>, Diagnostic> {
        let is_counted_to = start.saturating_add(rows) <= self.database.window();
        let found = if is_counted_to && !self.follows_presented(start) {
            let near = Page {
                skip: start,
                ..Page::first(rows)
            };
            self.again(near).await?.hits
        } else {
            self.check_parts().await?;
            self.far(start, rows).await?
        };
        if let Some(last) = found.last().filter(|last| !last.place.is_empty()) {
            self.hits
                .keep_place(start + found.len(), last.place.clone());
        }
        Ok(found.into_iter().map(|hit| hit.record).collect())
    }

    /// Returns whether the record before a page was presented and it is faster to read the page after that record than
    /// by its position.
    fn follows_presented(&self, start: usize) -> bool {
        let known = self.hits.place_before(start);
        start > NEAR && known.is_some_and(|(known, _)| known == start)
    }

    /// Carries out a plan in the index of the set.
    ///
    /// # Errors
    /// Fails with condition 27 if that index has been deleted, or with 14 or another condition, depending on the
    /// failure.
    async fn ask(&self, plan: &Plan<'_, D::Leaf>) -> Result<AnswerOf<D>, Diagnostic> {
        let answer = self.database.ask(plan, self.hits.index.as_deref()).await;
        answer.map_err(|error| presenting(self.database.failure(&error)))
    }

    /// Requests records from the set in this order.
    pub(super) async fn in_order(
        &self,
        order: &[OrderBy<<D::Leaf as Leaf>::SortKey>],
        page: Page<'_>,
    ) -> Result<AnswerOf<D>, Diagnostic> {
        let plan = Plan {
            order,
            page,
            ..Plan::count(&self.hits.clause, self.database.deadline())
        };
        self.ask(&plan).await
    }

    /// Requests a page of the set.
    ///
    /// # Errors
    /// Fails with condition 109 if the answer comes from different parts of the index than the answer to the search, because
    /// the positions of records then differ.
    async fn again(&self, page: Page<'_>) -> Result<AnswerOf<D>, Diagnostic> {
        let answer = self.in_order(&self.hits.order, page).await?;
        let failed = self.database.failed_source(answer.missing.as_deref())?;
        if failed.is_none() && self.hits.is_whole || answer.total == self.hits.count {
            Ok(answer)
        } else {
            Err(other_parts())
        }
    }

    /// Requests a part of the set that does not depend on positions.
    ///
    /// # Errors
    /// Fails with condition 109 if fewer parts of the index answer than answered the search.
    pub(super) async fn part(&self, page: Page<'_>) -> Result<AnswerOf<D>, Diagnostic> {
        let answer = self.in_order(&self.hits.order, page).await?;
        if self.hits.is_whole && answer.missing.is_some() {
            return Err(other_parts());
        }
        Ok(answer)
    }

    /// Checks that the parts of the index that answer are the same as during the search, if some parts were missing
    /// during the search.
    ///
    /// # Errors
    /// Fails with condition 109 if the answer comes from different parts of the index than the answer to the search.
    async fn check_parts(&self) -> Result<(), Diagnostic> {
        if !self.hits.is_whole {
            self.again(Page::default()).await?;
        }
        Ok(())
    }
}

/// Returns the position of a record, by which result sets of an engine identify it.
fn position_of(RecordId(position): RecordId) -> Option<u32> {
    u32::try_from(position).ok()
}

/// Returns the diagnostic for a result set that does not belong to this database.
fn foreign() -> Diagnostic {
    diagnostic(Condition::SYSTEM_ERROR_PRESENTING, "")
}

/// Converts the diagnostic for a failed search to a diagnostic for a failed Present.
fn presenting(why: Diagnostic) -> Diagnostic {
    if Condition(why.condition) == Condition::DATABASE_UNAVAILABLE {
        let words = why.addinfo.to_string_lossy();
        diagnostic(Condition::SYSTEM_ERROR_PRESENTING, &*words)
    } else {
        why
    }
}

/// Returns the diagnostic for a set whose records may now have different positions.
fn other_parts() -> Diagnostic {
    let words = "other parts of the index answer than answered the search: search again";
    diagnostic(Condition::DATABASE_UNAVAILABLE, words)
}

/// Returns the diagnostic for a position that is too high; `start` counts from 0.
pub(super) fn out_of_range(start: usize) -> Diagnostic {
    let position = start.saturating_add(1).to_string();
    diagnostic(Condition::OUT_OF_RANGE, position)
}

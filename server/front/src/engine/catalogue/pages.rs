//! The records of a response, fetched together and converted to the wanted syntax.

use std::collections::HashMap;
use std::sync::Arc;

use z3950_server::asn1::apdu::DatabaseName;
use z3950_server::asn1::bib1::diagnostics::Condition;
use z3950_server::backend::{Retrieve, RetrieveMany, Retrieved};
use z3950_server::{Diagnostic, diagnostic};

use super::database::CatalogueDatabase;
use super::hits::{CatalogueHits, MOST_KEPT};
use super::plan::{Answer, CatalogueHit, Plan};
use super::records::HeldRecord;
use crate::engine::cache::Held as _;
use crate::engine::plan::{Page, PageStart};
use crate::engine::retrieved::{foreign, other_parts, out_of_range, position_of, presenting};

/// The records that are fetched at once: the longest of them fit an answer.
const AT_ONCE: usize = 50;
/// The same of short records, as far as those that came with the search show.
const SHORT_AT_ONCE: usize = 250;
/// The most octets of a short record.
const SHORT_OCTETS: usize = 16 << 10;
/// Records of a response beyond these octets are fetched one by one, since few responses have room for them.
const MOST_FETCHED: usize = 4 << 20;

impl CatalogueDatabase {
    /// Fetches the records of a response that are not here.
    pub(super) async fn fetch(&self, wanted: RetrieveMany<'_>) -> Result<(), Diagnostic> {
        let hits = self.own(wanted.hits).ok_or_else(foreign)?;
        let positions = wanted.records.iter();
        let positions = positions.filter_map(|record| position_of(*record));
        // One that did not come may do so now, if its part of the index did not answer.
        let is_here = |at: &u32| hits.first(*at).is_some() || self.cache.has((hits.set, *at));
        let mut missing: Vec<u32> = positions.filter(|at| !is_here(at)).collect();
        missing.sort_unstable();
        missing.dedup();
        let mut octets = 0;
        let together = |one: &u32, next: &u32| hits.is_small() || one.checked_add(1) == Some(*next);
        let runs = missing.chunk_by(together);
        let at_once = if hits
            .longest_first()
            .is_some_and(|octets| octets <= SHORT_OCTETS)
        {
            SHORT_AT_ONCE
        } else {
            AT_ONCE
        };
        for positions in runs.flat_map(|run| run.chunks(at_once)) {
            if octets >= MOST_FETCHED {
                break;
            }
            let records = self.page(hits, positions).await?;
            for (position, record) in positions.iter().zip(records) {
                octets += record.as_ref().map_or(0, HeldRecord::octets);
                self.cache.keep((hits.set, *position), record);
            }
        }
        Ok(())
    }

    pub(super) async fn retrieve(&self, wanted: Retrieve<'_>) -> Result<Retrieved, Diagnostic> {
        let hits = self.own(wanted.hits).ok_or_else(foreign)?;
        let position = position_of(wanted.record).ok_or_else(foreign)?;
        let first = hits.first(position).map(Some);
        let record = match first.or_else(|| self.cache.take((hits.set, position))) {
            Some(record) => record,
            None => self.page(hits, &[position]).await?.pop().flatten(),
        };
        let vanished = || {
            let words = "the record no longer exists, or its part of the index does not answer";
            diagnostic(Condition::SYSTEM_ERROR_PRESENTING, words)
        };
        let name = &self.options.name;
        let record = record.ok_or_else(vanished);
        let record = record.and_then(|record| record.converted(wanted.composition, name));
        Ok(Retrieved::new(DatabaseName::from(name.as_str()), record).written_here())
    }

    /// Returns the records at these positions, which have no gaps if the set is large; `None` for those that do not come.
    async fn page(
        &self,
        hits: &CatalogueHits,
        positions: &[u32],
    ) -> Result<Vec<Option<HeldRecord>>, Diagnostic> {
        let mut page = if hits.is_small() {
            let ids = self.ids(hits).await?;
            let wanted = positions.iter();
            let wanted = wanted.map_while(|at| ids.get(usize::try_from(*at).ok()?));
            self.by_ids(hits, wanted.cloned().collect()).await?
        } else {
            let start = positions.first().and_then(|at| usize::try_from(*at).ok());
            let start = start.unwrap_or_default();
            self.by_position(hits, start, positions.len()).await?
        };
        page.resize(positions.len(), None);
        Ok(page)
    }

    /// Returns the identifiers of the records of a small set.
    ///
    /// # Errors
    /// 27 if records were added or deleted before they were known, 109 if other parts of the index answer.
    async fn ids<'h>(&self, hits: &'h CatalogueHits) -> Result<&'h [String], Diagnostic> {
        if let Some(known) = hits.ids() {
            return Ok(known);
        }
        let page = Page {
            rows: MOST_KEPT,
            ..Page::default()
        };
        let answer = self.again(hits, page).await?;
        let ids = answer.hits.into_iter().map(|hit| hit.id).collect();
        hits.keep(answer.total, ids).ok_or_else(|| {
            let words = "records were added or deleted since the search: search again";
            diagnostic(Condition::RESULT_SET_DELETED, words)
        })
    }

    /// Returns the records with these identifiers, in this order.
    async fn by_ids(
        &self,
        hits: &CatalogueHits,
        ids: Vec<String>,
    ) -> Result<Vec<Option<HeldRecord>>, Diagnostic> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let rows = ids.len();
        let ids: Arc<[String]> = ids.into();
        let clause = hits.identified(Arc::clone(&ids));
        let plan = Plan {
            page: Page {
                rows,
                with_records: true,
                ..Page::default()
            },
            ..Plan::count(&clause, self.deadline())
        };
        let offer = self.current();
        let answer = self.ask(&offer, &plan).await.map_err(presenting)?;
        let known = answer.hits.into_iter().map(|hit| (hit.id, hit.record));
        let mut known: HashMap<String, Option<HeldRecord>> = known.collect();
        Ok(ids.iter().map(|id| known.remove(id).flatten()).collect())
    }

    /// Returns the records of a large set from a position on.
    ///
    /// # Errors
    /// 13 for a position that is too far from the first and from those that were presented.
    async fn by_position(
        &self,
        hits: &CatalogueHits,
        start: usize,
        rows: usize,
    ) -> Result<Vec<Option<HeldRecord>>, Diagnostic> {
        let near = Page {
            skip: start,
            rows,
            with_records: true,
            ..Page::default()
        };
        let found = if start.saturating_add(rows) <= self.dialect.window() {
            self.again(hits, near).await?.hits
        } else {
            self.check_parts(hits).await?;
            self.far(hits, start, rows).await?
        };
        if let Some(last) = found.last().filter(|last| !last.place.is_empty()) {
            hits.keep_place(start + found.len(), last.place.clone());
        }
        Ok(found.into_iter().map(|hit| hit.record).collect())
    }

    /// Returns the records of a set, far from the first, if a record that was presented is near.
    ///
    /// # Errors
    /// 13 if there is none.
    async fn far(
        &self,
        hits: &CatalogueHits,
        start: usize,
        rows: usize,
    ) -> Result<Vec<CatalogueHit>, Diagnostic> {
        let known = hits.place_before(start);
        let (known, place) = known.ok_or_else(|| out_of_range(start))?;
        if start - known + rows > self.dialect.window() {
            return Err(out_of_range(start));
        }
        let mut after = place;
        if start > known {
            let page = Page {
                start: PageStart::After(&after),
                rows: start - known,
                ..Page::default()
            };
            let skipped = self.part(hits, page).await?.hits;
            match skipped.into_iter().next_back() {
                Some(last) => after = last.place,
                None => return Ok(Vec::new()),
            }
        }
        let page = Page {
            start: PageStart::After(&after),
            rows,
            with_records: true,
            ..Page::default()
        };
        Ok(self.part(hits, page).await?.hits)
    }

    async fn answered(&self, hits: &CatalogueHits, page: Page<'_>) -> Result<Answer, Diagnostic> {
        let plan = Plan {
            order: &hits.order,
            page,
            ..Plan::count(&hits.clause, self.deadline())
        };
        let offer = self.current();
        self.ask(&offer, &plan).await.map_err(presenting)
    }

    /// Asks for a page of a set.
    ///
    /// # Errors
    /// 109 if other parts of the index answer than answered the search, and so records have other positions.
    async fn again(&self, hits: &CatalogueHits, page: Page<'_>) -> Result<Answer, Diagnostic> {
        let answer = self.answered(hits, page).await?;
        self.compare(hits, &answer)?;
        Ok(answer)
    }

    /// Asks for a part of a set that is not told by positions.
    ///
    /// # Errors
    /// 109 if fewer parts of the index answer than answered the search.
    async fn part(&self, hits: &CatalogueHits, page: Page<'_>) -> Result<Answer, Diagnostic> {
        let answer = self.answered(hits, page).await?;
        if hits.is_whole && answer.missing.is_some() {
            return Err(other_parts());
        }
        Ok(answer)
    }

    /// # Errors
    /// 109 if other parts of the index answer than answered the search.
    async fn check_parts(&self, hits: &CatalogueHits) -> Result<(), Diagnostic> {
        if hits.is_whole {
            return Ok(());
        }
        let answer = self.answered(hits, Page::default()).await?;
        self.compare(hits, &answer)
    }

    fn compare(&self, hits: &CatalogueHits, answer: &Answer) -> Result<(), Diagnostic> {
        let is_whole = self.failed_source(answer.missing.as_deref())?.is_none();
        if is_whole && hits.is_whole || answer.total == hits.count {
            return Ok(());
        }
        Err(other_parts())
    }
}

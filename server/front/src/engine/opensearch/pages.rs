//! The records of a response, fetched together and converted to the wanted syntax.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use z3950_server::asn1::apdu::DatabaseName;
use z3950_server::asn1::bib1::diagnostics::Condition;
use z3950_server::backend::{Retrieve, RetrieveMany, Retrieved};
use z3950_server::{Diagnostic, diagnostic};

use super::database::ClusterDatabase;
use super::hits::{ClusterHits, MOST_KEPT};
use super::leaf::{Answer, Clause, IndexLeaf, Plan};
use super::request::MOST_WINDOW;
use super::response::AnswerError;
use crate::engine::answer::Hit;
use crate::engine::link::Failure;
use crate::engine::plan::{Page, PageStart};
use crate::engine::retrieved::{
    converted, foreign, other_parts, out_of_range, position_of, presenting,
};

/// The records that are fetched at once: the longest of them fit an answer.
const AT_ONCE: usize = 250;
/// Records of a response beyond these octets are fetched one by one, since few responses have room for them.
const MOST_FETCHED: usize = 4 << 20;
/// The guesses at the number of a record at a position, each of which is a request; the first is nearly always right.
const MOST_GUESSES: usize = 8;
/// The number after those of all records.
const END: u64 = 1 << 63;

impl ClusterDatabase {
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
        for positions in runs.flat_map(|run| run.chunks(AT_ONCE)) {
            if octets >= MOST_FETCHED {
                break;
            }
            let records = self.page(hits, positions).await?;
            for (position, record) in positions.iter().zip(records) {
                octets += record.as_ref().map_or(0, Bytes::len);
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
        let record = record.and_then(|octets| converted(&octets, wanted.composition, name));
        Ok(Retrieved::new(DatabaseName::from(name.as_str()), record).written_here())
    }

    /// Returns the records at these positions, which have no gaps if the set is large; `None` for those that do not come.
    async fn page(
        &self,
        hits: &ClusterHits,
        positions: &[u32],
    ) -> Result<Vec<Option<Bytes>>, Diagnostic> {
        let mut page = if hits.is_small() {
            let numbers = self.numbers(hits).await?;
            let wanted = positions.iter();
            let wanted = wanted.map_while(|at| numbers.get(usize::try_from(*at).ok()?));
            self.by_numbers(hits, wanted.copied().collect()).await?
        } else {
            let start = positions.first().and_then(|at| usize::try_from(*at).ok());
            let start = start.unwrap_or_default();
            self.by_position(hits, start, positions.len()).await?
        };
        page.resize(positions.len(), None);
        Ok(page)
    }

    /// Returns the numbers of the records of a small set.
    ///
    /// # Errors
    /// 27 if records were added or deleted before they were known, 109 if other parts of the index answer.
    async fn numbers<'h>(&self, hits: &'h ClusterHits) -> Result<&'h [u64], Diagnostic> {
        if let Some(known) = hits.numbers() {
            return Ok(known);
        }
        let page = Page {
            rows: MOST_KEPT,
            ..Page::default()
        };
        let answer = self.again(hits, page).await?;
        let numbers = answer.hits.into_iter().map(|hit| hit.number).collect();
        hits.keep(answer.total, numbers).ok_or_else(|| {
            let words = "records were added or deleted since the search: search again";
            diagnostic(Condition::RESULT_SET_DELETED, words)
        })
    }

    /// Returns the records with these numbers, in this order.
    async fn by_numbers(
        &self,
        hits: &ClusterHits,
        numbers: Vec<u64>,
    ) -> Result<Vec<Option<Bytes>>, Diagnostic> {
        if numbers.is_empty() {
            return Ok(Vec::new());
        }
        let clause = Clause::Leaf(IndexLeaf::Numbers(Arc::from(&*numbers)));
        let plan = Plan {
            page: Page {
                // Two records with the same number are as good as impossible; neither hides others.
                rows: numbers.len() + 1,
                with_records: true,
                ..Page::default()
            },
            ..Plan::count(&clause, self.deadline())
        };
        let answer = self.ask_again(hits, &plan).await?;
        let mut known: HashMap<u64, VecDeque<Bytes>> = HashMap::new();
        for hit in answer.hits {
            let records = known.entry(hit.number).or_default();
            records.extend(hit.record);
        }
        let mut take = |number| known.get_mut(number)?.pop_front();
        Ok(numbers.iter().map(&mut take).collect())
    }

    /// Returns the records of a large set from a position on.
    ///
    /// # Errors
    /// 13 for a position of a sorted set that is too far from those that were presented.
    async fn by_position(
        &self,
        hits: &ClusterHits,
        start: usize,
        rows: usize,
    ) -> Result<Vec<Option<Bytes>>, Diagnostic> {
        let near = Page {
            skip: start,
            rows,
            with_records: true,
            ..Page::default()
        };
        let found = if start.saturating_add(rows) <= MOST_WINDOW {
            self.again(hits, near).await?.hits
        } else {
            self.check_parts(hits).await?;
            if hits.order.is_empty() {
                self.far(hits, start, rows).await?
            } else {
                self.far_in_order(hits, start, rows).await?
            }
        };
        if !hits.order.is_empty()
            && let Some(last) = found.last()
        {
            hits.keep_place(start + found.len(), last.place.clone());
        }
        Ok(found.into_iter().map(|hit| hit.record).collect())
    }

    /// Returns the records of a set in the order of numbers, far from the first. Numbers are hashes, so about where one is can be told:
    /// a number that is a little too small is guessed, and how many records are before it is counted.
    async fn far(
        &self,
        hits: &ClusterHits,
        start: usize,
        rows: usize,
    ) -> Result<Vec<Hit>, Diagnostic> {
        // The numbers of positions before and after the wanted one.
        let (mut below, mut above) = ((0, 0), (END, hits.count));
        for _ in 0..MOST_GUESSES {
            if start - below.1 + rows <= MOST_WINDOW {
                break;
            }
            let number = guess(below, above, start, rows);
            let page = Page {
                start: PageStart::Number(number),
                ..Page::default()
            };
            let before = self.part(hits, page).await?.total;
            if before <= start {
                below = (number, before);
            } else {
                above = (number, before);
            }
        }
        let page = Page {
            start: PageStart::Number(below.0),
            skip: start - below.1,
            rows,
            with_records: true,
        };
        if page.skip + rows > MOST_WINDOW {
            return Err(out_of_range(start));
        }
        Ok(self.part(hits, page).await?.hits)
    }

    /// Returns the records of a sorted set, far from the first, if a record that was presented is near.
    ///
    /// # Errors
    /// 13 if there is none.
    async fn far_in_order(
        &self,
        hits: &ClusterHits,
        start: usize,
        rows: usize,
    ) -> Result<Vec<Hit>, Diagnostic> {
        let (known, place) = hits
            .place_before(start)
            .ok_or_else(|| out_of_range(start))?;
        if start - known + rows > MOST_WINDOW {
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

    fn plan<'p>(&self, hits: &'p ClusterHits, page: Page<'p>) -> Plan<'p> {
        Plan {
            order: &hits.order,
            page,
            ..Plan::count(&hits.clause, self.deadline())
        }
    }

    /// Carries out a plan in the index of a set, which may have been replaced since the search.
    ///
    /// # Errors
    /// 27 if that index has been deleted, or what the failure means.
    async fn ask_again(&self, hits: &ClusterHits, plan: &Plan<'_>) -> Result<Answer, Diagnostic> {
        let index = hits.index.as_ref().unwrap_or(&self.index);
        match self.ask_index(index, plan).await? {
            Err(AnswerError::Failed(Failure::Refused { status: 404, .. }))
                if hits.index.is_some() =>
            {
                let words = "all records were loaded anew since the search: search again";
                Err(diagnostic(Condition::RESULT_SET_DELETED, words))
            }
            answer => answer.map_err(|error| presenting(self.failure(&error))),
        }
    }

    /// Asks for a page of a set.
    ///
    /// # Errors
    /// 109 if other parts of the index answer than answered the search, and so records have other positions.
    async fn again(&self, hits: &ClusterHits, page: Page<'_>) -> Result<Answer, Diagnostic> {
        let answer = self.ask_again(hits, &self.plan(hits, page)).await?;
        self.compare(hits, &answer)?;
        Ok(answer)
    }

    /// Asks for a part of a set that is not told by positions.
    ///
    /// # Errors
    /// 109 if fewer parts of the index answer than answered the search.
    async fn part(&self, hits: &ClusterHits, page: Page<'_>) -> Result<Answer, Diagnostic> {
        let answer = self.ask_again(hits, &self.plan(hits, page)).await?;
        if hits.is_whole && answer.missing.is_some() {
            return Err(other_parts());
        }
        Ok(answer)
    }

    /// # Errors
    /// 109 if other parts of the index answer than answered the search.
    async fn check_parts(&self, hits: &ClusterHits) -> Result<(), Diagnostic> {
        if hits.is_whole {
            return Ok(());
        }
        let plan = self.plan(hits, Page::default());
        let answer = self.ask_again(hits, &plan).await?;
        self.compare(hits, &answer)
    }

    fn compare(&self, hits: &ClusterHits, answer: &Answer) -> Result<(), Diagnostic> {
        let is_whole = self.failed_source(answer.missing.as_deref())?.is_none();
        if is_whole && hits.is_whole || answer.total == hits.count {
            return Ok(());
        }
        Err(other_parts())
    }
}

/// Returns a number that is a little before that of the record at a position, as far as can be told from two numbers whose positions are
/// known.
fn guess(below: (u64, usize), above: (u64, usize), start: usize, rows: usize) -> u64 {
    let (records, numbers) = (above.1 - below.1, above.0 - below.0);
    let wanted = start - below.1;
    let share = wanted as f64 / records.max(1) as f64;
    // Three times the standard deviation of the number of records before a number, unless the page would not fit then.
    let deviation = (records as f64 * share * (1.0 - share)).max(0.0).sqrt();
    let margin = (3.0 * deviation + 1.0).min((MOST_WINDOW - rows.min(MOST_WINDOW)) as f64 * 0.9);
    let share = ((wanted as f64 - margin) / records.max(1) as f64).clamp(0.0, 1.0);
    // Within the numbers, and another one than either.
    let offset = (numbers as f64 * share) as u64;
    below.0 + offset.clamp(1, numbers.saturating_sub(1).max(1))
}

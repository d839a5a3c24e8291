//! The records of a response, fetched together and converted to the wanted syntax.

use std::collections::HashMap;

use bytes::Bytes;
use z3950_server::asn1::apdu::DatabaseName;
use z3950_server::asn1::bib1::diagnostics::Condition;
use z3950_server::backend::{Retrieve, RetrieveMany, Retrieved};
use z3950_server::{Diagnostic, diagnostic};

use super::EngineDatabase;
use super::hits::{EngineHits, MOST_KEPT};
use super::retrieved::{converted, foreign, position_of};
use super::statement::{self, Selected, by_number};

/// The last position that can be presented: the engine sorts all records before it.
pub(super) const MOST_POSITION: usize = 1_000_000;
/// Pages beyond this position are fetched as numbers first, because every node sends all rows before them.
pub(super) const NEAR: usize = 100;
/// The records that are fetched at once: the longest of them fit an answer of the engine.
const AT_ONCE: usize = 250;
/// Records of a response beyond these octets are fetched one by one, since few responses have room for them.
const MOST_FETCHED: usize = 4 << 20;
/// The octets of the records that are kept until they are retrieved.
pub(super) const CACHE_OCTETS: usize = 16 << 20;

impl EngineDatabase {
    /// Fetches the records of a response that are not here.
    pub(super) async fn fetch(&self, wanted: RetrieveMany<'_>) -> Result<(), Diagnostic> {
        let hits = self.own(wanted.hits).ok_or_else(foreign)?;
        let positions = wanted
            .records
            .iter()
            .filter_map(|record| position_of(*record));
        // One that did not come may do so now, if its node did not answer.
        let is_here = |at: &u32| hits.first(*at).is_some() || self.cache.has((hits.set, *at));
        let missing = positions.filter(|at| !is_here(at));
        let mut missing: Vec<u32> = missing.collect();
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

    /// The records at these positions, which have no gaps if the set is large; `None` for those that do not come.
    async fn page(
        &self,
        hits: &EngineHits,
        positions: &[u32],
    ) -> Result<Vec<Option<Bytes>>, Diagnostic> {
        let mut page = if hits.is_small() {
            let numbers = self.numbers(hits).await?;
            let wanted = positions.iter().map_while(|at| numbers.get(*at as usize));
            self.by_numbers(&wanted.copied().collect::<Vec<_>>())
                .await?
        } else {
            let start = positions.first().map_or(0, |first| *first as usize);
            self.by_position(hits, start, positions.len()).await?
        };
        page.resize(positions.len(), None);
        Ok(page)
    }

    /// The numbers of the records of a small set.
    ///
    /// # Errors
    /// 27 if records were added or deleted before they were known, 109 if other nodes answer.
    async fn numbers<'h>(&self, hits: &'h EngineHits) -> Result<&'h [u64], Diagnostic> {
        if let Some(known) = hits.numbers() {
            return Ok(known);
        }
        let selected = self.again(hits, "id", 0, MOST_KEPT).await?;
        let count = selected.count;
        let numbers = statement::numbers(selected.rows);
        let numbers = numbers.map_err(|error| self.failure(&error))?;
        hits.keep(count, numbers).ok_or_else(|| {
            let words = "records were added or deleted since the search: search again";
            diagnostic(Condition::RESULT_SET_DELETED, words)
        })
    }

    /// The records of a large set from a position on.
    async fn by_position(
        &self,
        hits: &EngineHits,
        start: usize,
        rows: usize,
    ) -> Result<Vec<Option<Bytes>>, Diagnostic> {
        if start.saturating_add(rows) > MOST_POSITION {
            return Err(diagnostic(
                Condition::RESOURCES_EXHAUSTED,
                format!("records up to position {MOST_POSITION} can be presented"),
            ));
        }
        if start > NEAR {
            let selected = self.again(hits, "id", start, rows).await?;
            let numbers = statement::numbers(selected.rows);
            let numbers = numbers.map_err(|error| self.failure(&error))?;
            return self.by_numbers(&numbers).await;
        }
        let selected = self.again(hits, "id, record", start, rows).await?;
        let records = statement::records(selected.rows);
        let records = records.map_err(|error| self.failure(&error))?;
        let records = records.into_iter().map(|(_, record)| Some(record));
        Ok(records.collect())
    }

    /// Rows of the query of a set.
    ///
    /// # Errors
    /// 109 if other nodes answer than answered the search, and so records have other positions.
    async fn again(
        &self,
        hits: &EngineHits,
        columns: &str,
        start: usize,
        rows: usize,
    ) -> Result<Selected, Diagnostic> {
        let selected = self.select(columns, &hits.query, &hits.order, start, rows);
        let selected = selected.await?;
        let is_whole = self.sources(&selected)?.is_empty() && hits.is_whole;
        if is_whole || selected.count == hits.count {
            return Ok(selected);
        }
        let words = "other nodes answer than answered the search: search again";
        Err(diagnostic(Condition::DATABASE_UNAVAILABLE, words))
    }

    /// The records with these numbers, in this order.
    async fn by_numbers(&self, numbers: &[u64]) -> Result<Vec<Option<Bytes>>, Diagnostic> {
        if numbers.is_empty() {
            return Ok(Vec::new());
        }
        let results = self.replicas.ask(&by_number(&self.index, numbers)).await;
        let rows = results.map(|results| results.into_iter().next().unwrap_or_default());
        let records = rows.and_then(statement::records);
        let records = records.map_err(|error| self.failure(&error))?;
        let mut known: HashMap<u64, Bytes> = records.into_iter().collect();
        Ok(numbers.iter().map(|number| known.remove(number)).collect())
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
            let words = "the record no longer exists, or its node does not answer";
            diagnostic(Condition::SYSTEM_ERROR_PRESENTING, words)
        };
        let name = &self.options.name;
        let record = record.ok_or_else(vanished);
        let record = record.and_then(|octets| converted(&octets, wanted.composition, name));
        Ok(Retrieved::new(DatabaseName::from(name.as_str()), record).written_here())
    }
}

//! Records of targets: the pages of a response fetched side by side, kept for a moment, and converted to the wanted syntax.

use std::collections::{HashMap, VecDeque};
use std::ops::RangeInclusive;
use std::sync::Mutex;

use futures_util::future::join_all;
use z3950::Record;
use z3950_server::asn1::apdu::{DatabaseName, External};
use z3950_server::asn1::bib1::diagnostics::Condition;
use z3950_server::asn1::oid::XML;
use z3950_server::asn1::record::marc_syntax;
use z3950_server::backend::{Composition, RecordId, Retrieve, RetrieveMany, Retrieved};
use z3950_server::marc::iso2709;
use z3950_server::memory::forms;
use z3950_server::{Diagnostic, diagnostic};

use super::hits::{HitsOfTarget, RemoteHits};
use super::window::{SourceRecord, one_of};
use super::{RemoteDatabase, after};
use crate::lock::lock;

impl RemoteDatabase {
    /// Fetches the records of a response that are not kept, from all their targets side by side. What fails is told when the record
    /// is retrieved.
    ///
    /// # Errors
    /// A list that is not of this database.
    pub(super) async fn fetch_all(&self, wanted: RetrieveMany<'_>) -> Result<(), Diagnostic> {
        let hits = wanted.hits.downcast::<RemoteHits>().ok_or_else(foreign)?;
        let deadline = after(self.options.total_time);
        let mut ranks: Vec<Vec<u64>> = vec![Vec::new(); hits.parts.len()];
        let records = wanted.records.iter().copied();
        let records = records.flat_map(|record| [record].into_iter().chain(hits.others(record)));
        for place in records.filter_map(|record| hits.place(record)) {
            let (number, rank) = place;
            let part = hits.parts.get(number).zip(ranks.get_mut(number));
            if let Some((part, ranks)) = part
                && !self.cache.has(part.set.number, rank)
            {
                ranks.push(rank);
            }
        }
        let parts = hits.parts.iter().zip(ranks);
        let pages = parts.map(|(part, ranks)| async move {
            for run in runs(ranks) {
                let page = part.upstream.page(&part.set, run, hits.caller, deadline);
                page.await;
            }
        });
        join_all(pages).await;
        Ok(())
    }

    /// # Errors
    /// A list that is not of this database.
    pub(super) async fn retrieve(&self, wanted: Retrieve<'_>) -> Result<Retrieved, Diagnostic> {
        let hits = wanted.hits.downcast::<RemoteHits>().ok_or_else(foreign)?;
        let (part, _) = of_record(hits, wanted.record).ok_or_else(foreign)?;
        let database = DatabaseName::from(part.upstream.name());
        let record = self.source_record(hits, wanted.record).await;
        let others: Vec<RecordId> = hits.others(wanted.record).collect();
        let record = match others.is_empty() {
            true => record.and_then(|record| converted(&record, wanted.composition)),
            false => {
                self.merged(hits, (wanted.record, record), &others, wanted.composition)
                    .await
            }
        };
        Ok(Retrieved::new(database, record))
    }

    /// One record for a hit of several sources. A source that fails is left out, unless all do.
    ///
    /// # Errors
    /// As for the first record.
    async fn merged(
        &self,
        hits: &RemoteHits,
        (id, first): (RecordId, Result<Record, Diagnostic>),
        others: &[RecordId],
        composition: &Composition,
    ) -> Result<External, Diagnostic> {
        let mut failure = None;
        let mut known = Vec::new();
        let mut sources = Vec::new();
        let mut first = Some(first);
        for id in [id].iter().chain(others) {
            let record = match first.take() {
                Some(record) => record,
                None => self.source_record(hits, *id).await,
            };
            let source = of_record(hits, *id).map(|(part, _)| part.upstream.name().to_owned());
            match record {
                Ok(record) => {
                    let marc = record.marc();
                    sources.extend(
                        source
                            .zip(marc)
                            .map(|(source, record)| SourceRecord { source, record }),
                    );
                    known.push(record);
                }
                Err(why) => failure = failure.or(Some(why)),
            }
        }
        let Some(record) = known.first() else {
            return Err(failure.unwrap_or_else(foreign));
        };
        let own = record.syntax();
        let merged = one_of(sources).and_then(|merged| {
            let octets = iso2709::encode(&merged).ok()?;
            Some((octets, marc_syntax(&merged)))
        });
        match merged {
            Some((octets, stored)) => {
                let wanted = composition.syntax.or(own).unwrap_or(stored);
                forms::record(&octets.into(), stored, &wanted, &composition.element_set)
            }
            // Too long for one record.
            None => converted(record, composition),
        }
    }

    /// # Errors
    /// Why the target does not send the record.
    async fn source_record(
        &self,
        hits: &RemoteHits,
        record: RecordId,
    ) -> Result<Record, Diagnostic> {
        let (part, rank) = of_record(hits, record).ok_or_else(foreign)?;
        match self.cache.take(part.set.number, rank) {
            Some(record) => record,
            None => {
                let deadline = after(self.options.total_time);
                let ranks = rank..=rank;
                let page = part.upstream.page(&part.set, ranks, hits.caller, deadline);
                page.await
                    .into_iter()
                    .next()
                    .unwrap_or_else(|| Err(foreign()))
            }
        }
    }
}

fn of_record(hits: &RemoteHits, record: RecordId) -> Option<(&HitsOfTarget, u64)> {
    let (number, rank) = hits.place(record)?;
    Some((hits.parts.get(number)?, rank))
}

fn foreign() -> Diagnostic {
    diagnostic(Condition::SYSTEM_ERROR_PRESENTING, "")
}

/// Ascending numbers as ranges without gaps.
pub(super) fn runs(mut ranks: Vec<u64>) -> Vec<RangeInclusive<u64>> {
    ranks.sort_unstable();
    ranks.dedup();
    let mut runs: Vec<RangeInclusive<u64>> = Vec::new();
    for rank in ranks {
        match runs.last_mut() {
            Some(run) if run.end().checked_add(1) == Some(rank) => *run = *run.start()..=rank,
            _ => runs.push(rank..=rank),
        }
    }
    runs
}

/// The record in the wanted syntax and element set. One that is in this syntax already stays as received.
///
/// # Errors
/// Condition 238 if it cannot be converted to it, 14 if it is damaged.
fn converted(record: &Record, composition: &Composition) -> Result<External, Diagnostic> {
    let own = record.syntax();
    let Some(wanted) = composition.syntax.or(own) else {
        return Ok(record.external().clone());
    };
    let element_set = &composition.element_set;
    let is_full = !["B", "dc"]
        .iter()
        .any(|set| element_set.eq_ignore_ascii_case(set));
    if own == Some(wanted) && (is_full || composition.syntax.is_none()) {
        return Ok(record.external().clone());
    }
    let not_available = || diagnostic(Condition::NOT_AVAILABLE_IN_SYNTAX, wanted.to_string());
    let Some(marc) = record.marc() else {
        // Any element set but MARCXML is as good as the target's own.
        return match own == Some(wanted) && wanted == XML {
            true => Ok(record.external().clone()),
            false => Err(not_available()),
        };
    };
    let octets = iso2709::encode(&marc).map_err(|error| {
        let words = error.to_string();
        diagnostic(Condition::SYSTEM_ERROR_PRESENTING, words)
    })?;
    forms::record(&octets.into(), marc_syntax(&marc), &wanted, element_set)
}

/// Records that were fetched, up to a number of octets; the oldest give way. Failures are kept for one retrieval.
pub(super) struct RecordCache {
    most: usize,
    kept: Mutex<KeptRecords>,
}

#[derive(Default)]
struct KeptRecords {
    /// By the number of the set and the rank; `None` for a failure that was taken.
    by_place: HashMap<(u64, u64), KeptRecord>,
    order: VecDeque<(u64, u64)>,
    octets: usize,
}

struct KeptRecord {
    record: Option<Result<Record, Diagnostic>>,
    octets: usize,
}

/// The octets of an entry without those of its record.
const ENTRY: usize = 512;

impl RecordCache {
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            kept: Mutex::default(),
        }
    }

    pub(super) fn keep(&self, set: u64, rank: u64, record: Result<Record, Diagnostic>) {
        let octets = record
            .as_ref()
            .map_or(0, |record| record.external().octets().len());
        let octets = octets.saturating_add(ENTRY);
        if octets > self.most {
            return;
        }
        let mut kept = lock(&self.kept);
        let record = Some(record);
        match kept
            .by_place
            .insert((set, rank), KeptRecord { record, octets })
        {
            Some(before) => kept.octets = kept.octets.saturating_sub(before.octets),
            None => kept.order.push_back((set, rank)),
        }
        kept.octets = kept.octets.saturating_add(octets);
        while kept.octets > self.most {
            let Some(oldest) = kept.order.pop_front() else {
                break;
            };
            if let Some(gone) = kept.by_place.remove(&oldest) {
                kept.octets = kept.octets.saturating_sub(gone.octets);
            }
        }
    }

    /// Whether the record itself is kept.
    fn has(&self, set: u64, rank: u64) -> bool {
        let kept = lock(&self.kept);
        let known = kept.by_place.get(&(set, rank));
        known.is_some_and(|known| matches!(known.record, Some(Ok(_))))
    }

    /// The record, or why there was none the last time.
    pub(super) fn take(&self, set: u64, rank: u64) -> Option<Result<Record, Diagnostic>> {
        let mut kept = lock(&self.kept);
        let known = kept.by_place.get_mut(&(set, rank))?;
        match &known.record {
            Some(Ok(record)) => Some(Ok(record.clone())),
            _ => known.record.take(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_fetched_as_ranges() {
        assert_eq!(runs(Vec::new()), []);
        assert_eq!(runs(vec![3, 1, 2, 7, 8, 3]), [1..=3, 7..=8]);
        assert_eq!(runs(vec![u64::MAX]), [u64::MAX..=u64::MAX]);
    }

    #[test]
    fn the_oldest_records_give_way() {
        let record =
            |octets: usize| Record::new(External::octet_aligned(XML, vec![b' '; octets]), None);
        let cache = RecordCache::new(2 * (ENTRY + 100));
        for rank in 1..=2 {
            cache.keep(0, rank, Ok(record(100)));
        }
        assert!(cache.has(0, 1) && cache.has(0, 2));
        cache.keep(0, 3, Ok(record(100)));
        assert!(!cache.has(0, 1) && cache.has(0, 2) && cache.has(0, 3));
        cache.keep(0, 4, Ok(record(ENTRY + 201)));
        assert!(!cache.has(0, 4), "larger than all room");
        cache.keep(0, 5, Err(foreign()));
        assert!(matches!(cache.take(0, 5), Some(Err(_))));
        assert!(cache.take(0, 5).is_none(), "failures are told once");
    }
}

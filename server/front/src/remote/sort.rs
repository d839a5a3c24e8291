//! Sorts records at their targets (Z39.50-2003 §3.2.7.1). If several targets have records, their sorted lists are merged, as
//! far as the result is read, by keys taken from the records.

use std::ops::RangeInclusive;
use std::sync::Arc;

use futures_util::future::join_all;
use tokio::time::Instant;
use z3950::Record;
use z3950_asn1::apdu::{RpnQuery, SortElement};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_server::backend::{Caller, Hits, Sort};
use z3950_server::memory::RecordOrder;
use z3950_server::{Diagnostic, diagnostic};

use super::form::SourceForm;
use super::hits::{HitsOfTarget, RemoteHits};
use super::operands::any_of;
use super::set::{RemoteSet, TargetQuery};
use super::sorted::SortedList;
use super::upstream::Upstream;
use super::{RemoteDatabase, RemoteOptions, after, failure};

/// The records that a target is to sort.
struct Unsorted {
    upstream: Arc<Upstream>,
    query: RpnQuery,
    /// The result set at the target, if all the records are in one set.
    set: Option<Arc<RemoteSet>>,
}

impl RemoteDatabase {
    /// Sorts the records of result sets at their targets.
    ///
    /// # Errors
    /// Fails with condition 30 for a set that does not belong to this database, with condition 207 for keys by which not all
    /// targets can sort, or with the diagnostics from the targets that failed, which include the names of the targets.
    pub(super) async fn sorted(&self, sort: Sort<'_>) -> Result<Hits, Diagnostic> {
        let keys = sort.keys;
        let is_specific = |element| matches!(element, &SortElement::DatabaseSpecific(_));
        if keys.iter().any(|key| is_specific(&key.sort_element)) {
            let words = "keys of particular databases";
            return Err(diagnostic(Condition::SORT_SEQUENCE, words));
        }
        let unsorted = unsorted(sort.inputs)?;
        let has_records = |part: &&Unsorted| part.set.as_ref().is_none_or(|set| set.count() > 0);
        let order = match unsorted.iter().filter(has_records).count() {
            0 | 1 => None,
            _ => Some(RecordOrder::new(keys)?),
        };
        let deadline = after(self.options.total_time);
        let caller = &sort.caller;
        let sets = unsorted.iter().map(|part| async move {
            if let Some(set) = part.set.as_ref().filter(|set| set.count() < 2) {
                return Ok(Arc::clone(set));
            }
            let query = TargetQuery {
                rpn: part.query.clone(),
                keys: keys.to_vec(),
            };
            let upstream = &part.upstream;
            let found = upstream
                .search(&query, (0, SourceForm::Plain), caller, deadline)
                .await?;
            match &part.set {
                Some(before) if !before.has_as_many(&found) => Err(failure::changed()),
                _ => Ok(found),
            }
        });
        let sets = join_all(sets).await;
        let failures = unsorted.iter().zip(&sets).filter_map(|(part, set)| {
            let failure = set.as_ref().err()?;
            Some((part.upstream.name(), failure))
        });
        if failures.clone().next().is_some() {
            return Err(failure::of_all(failures));
        }
        let parts = unsorted.into_iter().zip(sets).filter_map(|(part, set)| {
            let set = set.ok().filter(|set| set.count() > 0)?;
            let upstream = part.upstream;
            Some(HitsOfTarget { upstream, set })
        });
        let parts: Vec<HitsOfTarget> = parts.collect();
        let failed = failed(sort.inputs);
        let Some(order) = order.filter(|_| parts.len() > 1) else {
            let hits = RemoteHits::new(parts, sort.caller.clone());
            return Ok(Hits::new(hits.with_failures(failed)));
        };
        let counts = parts.iter().map(|part| part.set.count());
        let most = self
            .options
            .sorted_records
            .min(RemoteOptions::MAX_SORTED_RECORDS);
        let list = SortedList::new(order, counts, most);
        let hits = RemoteHits::sorted(parts, list, sort.caller.clone());
        let mut hits = hits.with_failures(failed);
        self.reach(&hits, (FIRST_RECORDS, SourceForm::Plain), deadline)
            .await;
        if let Some((part, why)) = hits.sorted_list().and_then(SortedList::disorder) {
            let target = hits.parts.get(part).map_or("", |part| part.upstream.name());
            return Err(failure::named(target, &why));
        }
        if self.options.merge {
            let each = self
                .options
                .merge_records
                .min(RemoteOptions::MAX_MERGE_RECORDS);
            let parts = u64::try_from(hits.parts.len()).unwrap_or(u64::MAX);
            self.reach(
                &hits,
                (each.saturating_mul(parts), SourceForm::Plain),
                deadline,
            )
            .await;
            self.merge_first(&mut hits, SourceForm::Plain, deadline)
                .await;
        }
        Ok(Hits::new(hits))
    }

    /// Extends a sorted list to this number of positions, as far as possible. The required records are read in the form `form`.
    pub(super) async fn reach(
        &self,
        hits: &RemoteHits,
        (positions, form): (u64, SourceForm),
        deadline: Instant,
    ) {
        if let Some(list) = hits.sorted_list() {
            let parts = &hits.parts;
            let read = |part: usize, ranks| async move {
                let part = parts.get(part).filter(|_| Instant::now() < deadline)?;
                Some(self.read(part, (ranks, form), &hits.caller, deadline).await)
            };
            list.reach(positions, read).await;
        }
    }

    /// Returns records from a target, starting with the first of these ranks. If this record is cached, returns it with the
    /// cached records that follow without a gap; otherwise, fetches a page.
    async fn read(
        &self,
        part: &HitsOfTarget,
        (ranks, form): (RangeInclusive<u64>, SourceForm),
        caller: &Caller,
        deadline: Instant,
    ) -> Vec<Result<Record, Diagnostic>> {
        let kept = ranks.clone().map_while(|rank| {
            let kept = self.cache.take(part.set.number, rank, form);
            kept.and_then(Result::ok)
        });
        let kept: Vec<_> = kept.map(Ok).collect();
        if kept.is_empty() {
            let page = part
                .upstream
                .page(&part.set, (ranks, form), caller, deadline);
            page.await
        } else {
            kept
        }
    }
}

/// The number of records that a Sort puts in order before it is answered, because clients usually read these records next.
const FIRST_RECORDS: u64 = 10;

/// Returns the targets that failed in any of the sets, with their diagnostics.
fn failed(inputs: &[Hits]) -> Vec<(String, Diagnostic)> {
    let lists = inputs.iter().filter_map(Hits::downcast::<RemoteHits>);
    let mut failed: Vec<(String, Diagnostic)> = Vec::new();
    for (name, why) in lists.flat_map(RemoteHits::failures) {
        if !failed.iter().any(|(known, _)| known == name) {
            failed.push((name.clone(), why.clone()));
        }
    }
    failed
}

/// Returns the records that each target has to sort: its records in all the sets.
///
/// # Errors
/// Fails with condition 30 for a set that does not belong to this database, or with condition 6 for too many sets.
fn unsorted(inputs: &[Hits]) -> Result<Vec<Unsorted>, Diagnostic> {
    let gone = || diagnostic(Condition::RESULT_SET_DOES_NOT_EXIST, "");
    let lists: Option<Vec<&RemoteHits>> = inputs.iter().map(Hits::downcast).collect();
    let lists = lists.ok_or_else(gone)?;
    let mut targets: Vec<Arc<Upstream>> = Vec::new();
    for part in lists.iter().flat_map(|list| &list.parts) {
        let name = part.upstream.name();
        if !targets.iter().any(|known| known.name() == name) {
            targets.push(Arc::clone(&part.upstream));
        }
    }
    let mut unsorted = Vec::new();
    for upstream in targets {
        let of_target = |part: &&HitsOfTarget| part.upstream.name() == upstream.name();
        let sets = lists
            .iter()
            .filter_map(|list| list.parts.iter().find(of_target));
        let sets: Vec<&Arc<RemoteSet>> = sets.map(|part| &part.set).collect();
        if let Some(query) = any_of(sets.iter().map(|set| &set.query.rpn))? {
            let set = match &*sets {
                [only] => Some(Arc::clone(only)),
                _ => None,
            };
            unsorted.push(Unsorted {
                upstream,
                query,
                set,
            });
        }
    }
    Ok(unsorted)
}

//! Reads the first records from each target during a search, and merges records of one edition into one hit.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::join_all;
use tokio::time::Instant;
use z3950::Record;
use z3950_server::backend::Caller;

use super::form::SourceForm;
use super::hits::{HitsOfTarget, MergedWindow, RemoteHits};
use super::merge::{Clustering, Edition};
use super::records::runs;
use super::{RemoteDatabase, RemoteOptions};

impl RemoteDatabase {
    /// Reads the first records from all targets at the same time, and merges records of one edition into one hit. Records that do
    /// not arrive in time remain separate hits.
    pub(super) async fn merge_first(
        &self,
        hits: &mut RemoteHits,
        form: SourceForm,
        deadline: Instant,
    ) {
        let most = self
            .options
            .merge_records
            .min(RemoteOptions::MAX_MERGE_RECORDS);
        let pages = hits
            .parts
            .iter()
            .map(|part| self.first_of(part, (most, form), &hits.caller, deadline));
        let mut pages = join_all(pages).await;
        let mut records = Vec::new();
        while let Some((part, rank)) = hits.unmerged_place(records.len())
            && rank <= most
        {
            let page = pages.get_mut(part);
            let record = page.and_then(|page| page.remove(&rank));
            records.push(record);
        }
        // Reading and comparing long records takes a while. If the time is up or the search is dropped, the remaining records are
        // not merged.
        let waiting = Arc::new(());
        let waits = Arc::downgrade(&waiting);
        let merged = tokio::task::spawn_blocking(move || {
            clustered(&records, || {
                Instant::now() >= deadline || waits.strong_count() == 0
            })
        });
        if let Ok(window) = merged.await {
            hits.merge(window);
        }
        drop(waiting);
    }

    /// Returns the first records from a target, by rank.
    async fn first_of(
        &self,
        part: &HitsOfTarget,
        (most, wanted): (u64, SourceForm),
        caller: &Caller,
        deadline: Instant,
    ) -> HashMap<u64, Record> {
        let mut records = HashMap::new();
        let mut missing = Vec::new();
        let form = part.upstream.form(wanted);
        for rank in 1..=most.min(part.set.count()) {
            match self.cache.take(part.set.number, rank, form) {
                Some(Ok(record)) => {
                    records.insert(rank, record);
                }
                Some(Err(_)) | None => missing.push(rank),
            }
        }
        for run in runs(missing) {
            let first = *run.start();
            let page = part.upstream.page(&part.set, (run, form), caller, deadline);
            for (rank, record) in (first..).zip(page.await) {
                if let Ok(record) = record {
                    records.insert(rank, record);
                }
            }
        }
        records
    }
}

/// Merges as many of the first records as can be compared before the time limit expires.
fn clustered(records: &[Option<Record>], mut is_over: impl FnMut() -> bool) -> MergedWindow {
    let mut clustering = Clustering::default();
    for record in records.iter().take_while(|_| !is_over()) {
        clustering.add(edition_of(record.as_ref()));
    }
    MergedWindow::new(clustering.clusters)
}

/// Returns the edition of a record; `None` if the record is missing or incomplete.
fn edition_of(record: Option<&Record>) -> Option<Edition> {
    let whole = record.filter(|record| record.damage().is_none());
    Edition::of(&whole?.marc()?)
}

#[cfg(test)]
mod tests {
    use z3950_asn1::apdu::External;
    use z3950_asn1::oid::USMARC;
    use z3950_marc::{Field, MarcRecord, iso2709};

    use super::*;

    #[test]
    fn records_stay_alone_that_are_not_compared_in_time() {
        let marc = MarcRecord {
            fields: vec![
                Field::data(b"020", "  ", [("a", "9780141439587")]),
                Field::data(b"245", "10", [("a", "Emma")]),
            ],
            ..MarcRecord::default()
        };
        let octets = iso2709::encode(&marc).expect("a record");
        let record = Record::new(External::octet_aligned(USMARC, octets), None);
        let records = vec![Some(record); 4];
        for (most, compared, merged) in [(9, 4, 3), (3, 3, 2), (1, 1, 0), (0, 0, 0)] {
            let mut left = most;
            let window = clustered(&records, || {
                let is_over = left == 0;
                left -= usize::from(!is_over);
                is_over
            });
            assert_eq!(
                (window.records, window.merged()),
                (compared, merged),
                "{most}"
            );
        }
    }
}

//! The first records of each target, read during the search, with those of one edition as one hit; and the record that is shown for
//! such a hit.

use std::collections::HashMap;

use bytes::Bytes;
use futures_util::future::join_all;
use tokio::time::Instant;
use z3950::Record;
use z3950_server::backend::Caller;
use z3950_server::marc::{Field, MarcRecord};

use super::hits::{HitsOfTarget, RemoteHits};
use super::merge::{Edition, clusters};
use super::records::runs;
use super::{RemoteDatabase, RemoteOptions};

/// The hits in place of the first records of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct MergedWindow {
    /// How many records they are in place of.
    pub(super) records: u32,
    /// The first record of each hit, ascending.
    firsts: Vec<u32>,
    /// The further records of a hit, by its first one.
    others: HashMap<u32, Vec<u32>>,
}

impl MergedWindow {
    /// The hits for these clusters of the first records, which are in the order of their first members.
    fn new(clusters: Vec<Vec<usize>>) -> Self {
        let mut window = Self::default();
        for cluster in clusters {
            let members = cluster.into_iter();
            let mut members = members.filter_map(|member| u32::try_from(member).ok());
            let Some(first) = members.next() else {
                continue;
            };
            let others: Vec<u32> = members.collect();
            let number = u32::try_from(others.len()).unwrap_or(u32::MAX);
            window.records = window.records.saturating_add(number).saturating_add(1);
            window.firsts.push(first);
            if !others.is_empty() {
                window.others.insert(first, others);
            }
        }
        window
    }

    /// How many records have become part of another hit.
    pub(super) fn merged(&self) -> u64 {
        let hits = u64::try_from(self.firsts.len()).unwrap_or(u64::MAX);
        u64::from(self.records).saturating_sub(hits)
    }

    /// The record that a hit begins with: its position without merging.
    pub(super) fn record(&self, position: u64) -> u64 {
        let hit = usize::try_from(position).ok();
        match hit.and_then(|hit| self.firsts.get(hit)) {
            Some(record) => u64::from(*record),
            None => position.saturating_add(self.merged()),
        }
    }

    /// The further records of the hit that begins with a record.
    pub(super) fn others(&self, first: u32) -> &[u32] {
        self.others.get(&first).map_or(&[], Vec::as_slice)
    }

    pub(super) fn octets(&self) -> usize {
        let records = usize::try_from(self.records).unwrap_or(usize::MAX);
        records.saturating_mul(4 * size_of::<u32>())
    }
}

impl RemoteDatabase {
    /// Reads the first records of each target, side by side, and makes those of one edition one hit. Records that do not arrive in
    /// time stay hits of their own.
    pub(super) async fn merge_first(&self, hits: &mut RemoteHits, deadline: Instant) {
        let most = self.options.merge_records;
        let most = most.min(RemoteOptions::MAX_MERGE_RECORDS);
        let pages = hits.parts.iter();
        let pages = pages.map(|part| self.first_of(part, most, hits.caller, deadline));
        let mut pages = join_all(pages).await;
        let mut records = Vec::new();
        while let Some((part, rank)) = hits.unmerged_place(records.len())
            && rank <= most
        {
            let page = pages.get_mut(part);
            let record = page.and_then(|page| page.remove(&rank));
            records.push(record);
        }
        // Long records take a while to read.
        let merged = tokio::task::spawn_blocking(move || {
            let editions = records.iter().map(|record| {
                let marc = record.as_ref().and_then(Record::marc)?;
                Edition::of(&marc)
            });
            MergedWindow::new(clusters(&editions.collect::<Vec<_>>()))
        });
        if let Ok(window) = merged.await {
            hits.merge(window);
        }
    }

    /// The first records of a target, by rank.
    async fn first_of(
        &self,
        part: &HitsOfTarget,
        most: u64,
        caller: Caller,
        deadline: Instant,
    ) -> HashMap<u64, Record> {
        let mut records = HashMap::new();
        let mut missing = Vec::new();
        for rank in 1..=most.min(part.set.count()) {
            match self.cache.take(part.set.number, rank) {
                Some(Ok(record)) => {
                    records.insert(rank, record);
                }
                Some(Err(_)) | None => missing.push(rank),
            }
        }
        for run in runs(missing) {
            let first = *run.start();
            let page = part.upstream.page(&part.set, run, caller, deadline);
            for (rank, record) in (first..).zip(page.await) {
                if let Ok(record) = record {
                    records.insert(rank, record);
                }
            }
        }
        records
    }
}

/// A record of a target.
pub(super) struct SourceRecord {
    /// The name of its database.
    pub(super) source: String,
    pub(super) record: MarcRecord,
}

/// One record for several of an edition: the one with the most fields, with the holdings of the others, and a field 856 for each that
/// names its database ($3) and has its control number ($w). `None` if there is none.
pub(super) fn one_of(records: Vec<SourceRecord>) -> Option<MarcRecord> {
    let most = records.iter().map(|one| one.record.fields.len()).max()?;
    let chosen = records
        .iter()
        .position(|one| one.record.fields.len() == most)?;
    let mut merged = records.get(chosen)?.record.clone();
    for field in &mut merged.fields {
        if field.tag.0 == *LOCATION
            && let Some(one) = records.get(chosen)
        {
            *field = named(field, &one.source);
        }
    }
    for (number, one) in records.iter().enumerate() {
        if number == chosen {
            continue;
        }
        let holdings = one.record.fields.iter();
        let holdings = holdings.filter(|field| HOLDINGS.contains(&&field.tag.0));
        merged
            .fields
            .extend(holdings.map(|field| match field.tag.0 == *LOCATION {
                true => named(field, &one.source),
                false => field.clone(),
            }));
        let control_number = one.record.control_number();
        let parts = [("3", Some(one.source.as_bytes())), ("w", control_number)];
        let parts = parts
            .into_iter()
            .filter_map(|(code, value)| Some((code, value?)));
        merged.fields.push(Field::data(b"856", "42", parts));
    }
    Some(merged)
}

const LOCATION: &[u8; 3] = b"852";

/// Locations, captions, enumerations and items of MARC 21 holdings.
const HOLDINGS: [&[u8; 3]; 10] = [
    LOCATION, b"853", b"854", b"855", b"863", b"864", b"865", b"866", b"876", b"877",
];

/// A location with a public note ($z) that names its database.
fn named(location: &Field, source: &str) -> Field {
    let mut body = location.body.to_vec();
    body.push(z3950_server::marc::SUBFIELD_DELIMITER);
    body.push(b'z');
    body.extend_from_slice(source.as_bytes());
    Field {
        tag: location.tag,
        body: Bytes::from(body),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_after_the_window_skip_what_was_merged() {
        let window = MergedWindow::new(vec![vec![0, 2, 3], vec![1], vec![4]]);
        assert_eq!((window.records, window.merged()), (5, 2));
        let records: Vec<u64> = (0..5).map(|position| window.record(position)).collect();
        assert_eq!(records, [0, 1, 4, 5, 6]);
        assert_eq!(window.others(0), [2, 3]);
        assert_eq!(window.others(1), [] as [u32; 0]);
    }

    #[test]
    fn the_record_with_the_most_fields_has_the_holdings_of_all() {
        let record = |docid: &'static str, notes: usize| {
            let mut fields = vec![
                Field::control(b"001", docid),
                Field::data(b"852", "  ", [("b", docid)]),
            ];
            fields.extend((0..notes).map(|_| Field::data(b"500", "  ", [("a", "Note")])));
            MarcRecord {
                fields,
                ..MarcRecord::default()
            }
        };
        let sources = [
            ("u@a", record("a1", 1)),
            ("u@b", record("b1", 3)),
            ("u@c", record("c1", 3)),
        ];
        let sources = sources.map(|(source, record)| SourceRecord {
            source: source.to_owned(),
            record,
        });
        let merged = one_of(sources.into()).expect("a record");
        assert_eq!(merged.control_number(), Some(&b"b1"[..]));
        let values = |tag: &str| -> Vec<String> {
            let fields = merged.fields_by_tag(tag);
            fields
                .map(|field| String::from_utf8_lossy(&field.body).replace('\u{1f}', "$"))
                .collect()
        };
        assert_eq!(values("852"), ["  $bb1$zu@b", "  $ba1$zu@a", "  $bc1$zu@c"]);
        assert_eq!(values("856"), ["42$3u@a$wa1", "42$3u@c$wc1"]);
        assert_eq!(one_of(Vec::new()), None);
    }
}

//! Tests of `z3950d` in front of a real node with Koha's index.

mod brute;
mod compared;
mod failures;
mod index;
mod lists;
mod records;
mod served;

use std::sync::Arc;

use bytes::Bytes;
use z3950_front::engine::catalogue::{CatalogueDatabase, CatalogueMap, CatalogueOptions};
use z3950_front::engine::opensearch::ClusterAddress;
use z3950_marc::{MarcRecord, iso2709};
use z3950_server::backend::{Backend, Composition, Hits, Retrieve, RetrieveMany};
use z3950_tests::koha::KohaIndex;

/// The most records of a page.
const PAGE: usize = 200;

/// Opens the index as the database `town`, by the map that is shipped.
fn opened(index: &KohaIndex<'_>) -> CatalogueDatabase {
    let text = CatalogueMap::shipped("koha").expect("a map");
    let map = CatalogueMap::parse(text).expect("a map");
    let address = ClusterAddress::of_catalogue(&index.address()).expect("an address");
    let options = CatalogueOptions::new("town", vec![address]);
    CatalogueDatabase::new(options, Arc::new(map)).expect("no certificates")
}

/// Returns the records of a result set, in its order.
async fn all_records(backend: &dyn Backend, hits: &Hits) -> Vec<MarcRecord> {
    let composition = Composition::full(None);
    let mut records = Vec::new();
    for start in (0..hits.len()).step_by(PAGE) {
        let ids = hits.ids(start..hits.len().min(start + PAGE));
        let wanted = RetrieveMany::new(hits, &ids, &composition);
        if let Some(prepared) = backend.prepare(wanted) {
            prepared.await.expect("prepared");
        }
        for id in ids {
            let retrieved = backend.record(Retrieve::new(hits, id, &composition)).await;
            let record = retrieved.expect("retrieved").record.expect("a record");
            let octets = Bytes::copy_from_slice(record.octets());
            records.push(iso2709::parse(&octets).expect("sound").record);
        }
    }
    records
}

/// Returns the numbers that Koha gave the records of a result set, in its order.
async fn all_numbers(backend: &dyn Backend, hits: &Hits) -> Vec<usize> {
    let records = all_records(backend, hits).await;
    records.iter().map(number).collect()
}

fn number(record: &MarcRecord) -> usize {
    let field = record.field("999").and_then(|field| field.text("c"));
    field.and_then(|text| text.parse().ok()).expect("a number")
}

//! Tests of `z3950d` in front of a real node with an index in the form that Koha uses.

mod analysis;
mod brute;
mod changes;
mod clients;
mod compared;
mod failures;
mod far;
mod hostile;
mod index;
mod lists;
mod records;
mod responder;
mod secure;
mod served;
mod tried;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use z3950_asn1::query::parse_pqf;
use z3950_front::engine::catalogue::{CatalogueDatabase, CatalogueMap, CatalogueOptions};
use z3950_front::engine::opensearch::ClusterAddress;
use z3950_marc::{MarcRecord, iso2709};
use z3950_server::backend::{
    Backend, Composition, DatabaseName, Hits, Retrieve, RetrieveMany, Search,
};
use z3950_tests::koha::{Edition, KohaIndex, index as settings};
use z3950_tests::opensearch::own_index;

/// The maximum number of records that are retrieved at once.
const PAGE: usize = 200;

/// Returns a database `town` for the index, which uses the built-in map.
fn opened(index: &KohaIndex<'_>) -> CatalogueDatabase {
    let text = CatalogueMap::shipped("koha").expect("a map");
    let map = CatalogueMap::parse(text).expect("a map");
    let address = ClusterAddress::of_catalogue(&index.address()).expect("an address");
    let mut options = CatalogueOptions::new("town", vec![address]);
    // The time limit is long enough for all shards to answer even on a busy machine.
    options.answer_time = Duration::from_secs(120);
    CatalogueDatabase::new(options, Arc::new(map)).expect("no certificates")
}

/// Returns the hits of a query, or the condition of its diagnostic.
async fn found(backend: &dyn Backend, pqf: &str) -> Result<Hits, i64> {
    let query = parse_pqf(pqf).unwrap_or_else(|error| panic!("{pqf}: {error}"));
    let names = [DatabaseName::from("town")];
    let found = backend.search(Search::new(&names, &query)).await;
    found.map(|found| found.hits).map_err(|why| why.condition)
}

/// Returns the hits of a query.
async fn hits(backend: &dyn Backend, pqf: &str) -> Hits {
    let found = found(backend, pqf).await;
    found.unwrap_or_else(|why| panic!("{pqf}: {why:?}"))
}

/// Returns the records at these positions, with the condition of the diagnostic for each record that is not available. If none
/// can be retrieved, returns the condition of the diagnostic for all of them.
async fn page(
    backend: &dyn Backend,
    hits: &Hits,
    start: usize,
    length: usize,
) -> Result<Vec<Result<MarcRecord, i64>>, i64> {
    let composition = Composition::full(None);
    let ids = hits.ids(start..start + length);
    if let Some(prepared) = backend.prepare(RetrieveMany::new(hits, &ids, &composition)) {
        prepared.await.map_err(|why| why.condition)?;
    }
    let mut records = Vec::new();
    for id in ids {
        let retrieved = backend.record(Retrieve::new(hits, id, &composition)).await;
        let record = retrieved.and_then(|retrieved| retrieved.record);
        records.push(record.map_err(|why| why.condition).map(|record| {
            let octets = Bytes::copy_from_slice(record.octets());
            iso2709::parse(&octets).expect("valid").record
        }));
    }
    Ok(records)
}

/// Creates an index with the settings and documents of another index, but without some of its fields.
fn without_fields<'c>(index: &KohaIndex<'c>, fields: &[&str]) -> KohaIndex<'c> {
    let mut body = settings(Edition::Current, 2);
    // Without this setting, documents would add the missing fields to the mapping.
    body["mappings"]["dynamic"] = json!(false);
    let properties = body["mappings"]["properties"].as_object_mut();
    let properties = properties.expect("fields");
    let is_other = |name: &str| {
        let base = name.split("__").next();
        base.is_none_or(|base| !fields.contains(&base))
    };
    properties.retain(|name, _| is_other(name));
    changed(index, &body)
}

/// Creates an index with these settings and the documents of another index.
fn changed<'c>(index: &KohaIndex<'c>, body: &Value) -> KohaIndex<'c> {
    let changed = KohaIndex {
        cluster: index.cluster,
        name: own_index("changed"),
        documents: index.documents.clone(),
    };
    let path = format!("/{}", changed.name);
    let (status, answer) = index.cluster.ask("PUT", &path, &body.to_string());
    assert_eq!(status, 200, "{answer}");
    let documents = changed.documents.iter();
    changed.put(documents.map(|document| (document.number, document.json(Edition::Current))));
    changed
}

/// Returns the records in a result set, in its order.
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
            records.push(iso2709::parse(&octets).expect("valid").record);
        }
    }
    records
}

/// Returns the numbers that Koha has given to the records in a result set, in the order of the set.
async fn all_numbers(backend: &dyn Backend, hits: &Hits) -> Vec<usize> {
    let records = all_records(backend, hits).await;
    records.iter().map(number).collect()
}

fn number(record: &MarcRecord) -> usize {
    let field = record.field("999").and_then(|field| field.text("c"));
    field.and_then(|text| text.parse().ok()).expect("a number")
}

//! Tests of records at high positions.

use std::sync::Arc;

use serde_json::{Value, json};
use z3950_asn1::apdu::{CaseSensitivity, SortElement, SortKey, SortRelation};
use z3950_front::engine::catalogue::{CatalogueDatabase, CatalogueMap, CatalogueOptions};
use z3950_front::engine::opensearch::ClusterAddress;
use z3950_marc::{Field, MarcRecord};
use z3950_server::backend::{Backend, Hits, Sort, SortKeySpec};
use z3950_tests::koha::{Edition, KohaDocument, KohaIndex, RecordForm, index, shared_node};
use z3950_tests::opensearch::{Cluster, own_index};

use super::{hits, number, opened, page};

/// A number of records that exceeds the number up to which the engine counts hits.
const NUMBER: usize = 10_300;

/// Returns the number of the record at a position. The numbers have gaps.
fn number_at(place: usize) -> usize {
    place * 2 + place / 600 * 100_000 + 1
}

/// Returns the numbers of the ten records that begin at a position.
fn placed(start: usize) -> Vec<usize> {
    (start..start + 10).map(number_at).collect()
}

/// Creates an index with these settings and this number of short records.
fn filled<'c>(cluster: &'c Cluster, body: &Value, edition: Edition, total: usize) -> KohaIndex<'c> {
    let index = KohaIndex {
        cluster,
        name: own_index("far"),
        documents: Vec::new(),
    };
    let (status, answer) = cluster.ask("PUT", &format!("/{}", index.name), &body.to_string());
    assert_eq!(status, 200, "{answer}");
    let record = |number: usize| MarcRecord {
        fields: vec![
            Field::data(b"245", "10", [("a", "war")]),
            Field::data(b"999", "  ", [("c", number.to_string())]),
        ],
        ..MarcRecord::default()
    };
    let numbers: Vec<usize> = (0..total).map(number_at).collect();
    for part in numbers.chunks(2_000) {
        let documents = part.iter().map(|number| {
            let document = KohaDocument::new(*number, &record(*number), RecordForm::Base64);
            (*number, document.json(edition))
        });
        index.put(documents);
    }
    index
}

/// Returns a database for an index that uses a changed copy of the built-in map.
fn by_map(index: &KohaIndex<'_>, change: impl Fn(&str) -> String) -> CatalogueDatabase {
    let text = CatalogueMap::shipped("koha").expect("a map");
    let changed = change(text);
    assert_ne!(changed, text);
    let map = CatalogueMap::parse(&changed).expect("a map");
    let address = ClusterAddress::of_catalogue(&index.address()).expect("an address");
    let options = CatalogueOptions::new("town", vec![address]);
    CatalogueDatabase::new(options, Arc::new(map)).expect("no certificates")
}

/// Returns the numbers of the ten records that begin at a position, or the condition of the diagnostic.
async fn numbers_of(backend: &dyn Backend, hits: &Hits, start: usize) -> Result<Vec<usize>, i64> {
    let records = page(backend, hits, start, 10).await?;
    let numbers = records.iter().map(|record| record.as_ref().map(number));
    numbers
        .collect::<Result<_, _>>()
        .map_err(|condition| *condition)
}

/// In the order of the numbers, records at any position can be returned. In other orders, only the records after a page that was
/// presented can be returned.
#[tokio::test(flavor = "multi_thread")]
async fn far_pages_are_given_or_refused() {
    let Some(cluster) = shared_node() else {
        return;
    };
    let index = filled(
        cluster,
        &index(Edition::Current, 2),
        Edition::Current,
        NUMBER,
    );
    let engine = opened(&index);
    let all = hits(&engine, "@attr 1=4 war").await;
    assert_eq!(all.len(), NUMBER);
    for start in [0, 100, 9_990, 9_995, 10_200] {
        let found = numbers_of(&engine, &all, start).await;
        assert_eq!(found, Ok(placed(start)));
    }
    // In any other order, only the records after a page that was presented can be returned.
    let key = SortKeySpec {
        sort_element: SortElement::Generic(SortKey::SortField("title".into())),
        sort_relation: SortRelation::ASCENDING,
        case_sensitivity: CaseSensitivity::CASE_INSENSITIVE,
        missing_value_action: None,
    };
    let sort = Sort::new(std::slice::from_ref(&all), std::slice::from_ref(&key));
    let sorted = engine.sort(sort).await.expect("sorted");
    assert_eq!(numbers_of(&engine, &sorted, 10_200).await, Err(13));
    for start in [9_990, 10_000, 10_200] {
        assert_eq!(numbers_of(&engine, &sorted, start).await, Ok(placed(start)));
    }
}

/// If the limit of an index differs from the engine's default, the map states it. If the index does not contain the numbers as
/// integers, records beyond the limit cannot be returned.
#[tokio::test(flavor = "multi_thread")]
async fn an_index_may_have_another_limit() {
    let Some(cluster) = shared_node() else {
        return;
    };
    for (edition, beyond) in [
        (Edition::Current, Ok(placed(1_150))),
        (Edition::Older, Err(13)),
    ] {
        let mut body = index(edition, 2);
        body["settings"]["index"]["max_result_window"] = json!(1_000);
        let index = filled(cluster, &body, edition, 1_200);
        let engine = by_map(&index, |map| {
            map.replace("# window = 10000", "window = 1000")
        });
        let all = hits(&engine, "@attr 1=4 war").await;
        assert_eq!(all.len(), 1_200);
        assert_eq!(numbers_of(&engine, &all, 1_150).await, beyond);
        assert_eq!(numbers_of(&engine, &all, 985).await, Ok(placed(985)));
    }
}

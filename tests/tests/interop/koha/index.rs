//! Tests of the index itself, which must analyse words, keys and sort values in the same way as Koha's index.

use serde_json::{Value, json};
use z3950_tests::koha::{Edition, KohaIndex, made_up, of_libraries, shared_node};

/// Returns the number of records that a query in the engine's query language finds.
fn count(index: &KohaIndex<'_>, query: &Value) -> u64 {
    let (status, answer) = index.cluster.ask(
        "POST",
        &format!("/{}/_count", index.name),
        &json!({ "query": query }).to_string(),
    );
    assert_eq!(status, 200, "{answer}");
    answer["count"].as_u64().expect("a count")
}

#[test]
fn the_index_has_the_records_of_koha() {
    let Some(cluster) = shared_node() else {
        return;
    };
    for edition in [Edition::Current, Edition::Older] {
        let records = [made_up(60), of_libraries()].concat();
        let index = KohaIndex::filled(cluster, "filled", edition, &records);
        assert_eq!(
            count(&index, &json!({ "match_all": {} })),
            records.len() as u64
        );
        let words = index.analyze("title", &["The l’été : O'Neill, Łódź"]);
        assert_eq!(words, ["the", "l'ete", "o'neill", "lodz"]);
        assert_eq!(
            index.analyze("title.phrase", &["War : peace /"]),
            ["war  peace "]
        );
        let hidden = index
            .documents
            .iter()
            .filter(|document| document.values("suppress") == ["true"])
            .count();
        assert_eq!(
            count(&index, &json!({ "term": { "suppress": true } })),
            hidden as u64
        );
        assert!(hidden > 0);
        let path = format!("/{}/_search", index.name);
        let body = json!({ "size": 1000, "_source": false, "sort": ["local-number__sort"] });
        let (_, answer) = cluster.ask("POST", &path, &body.to_string());
        let hits = answer["hits"]["hits"].as_array().expect("hits");
        let order = hits
            .iter()
            .map(|hit| hit["_id"].as_str().and_then(|id| id.parse().ok()));
        assert!(order.eq((1..=records.len()).map(Some)), "{answer}");
        let posted = cluster.requests();
        assert!(posted.contains(&format!("POST {path}")), "{posted:?}");
    }
}

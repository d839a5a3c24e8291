//! Tests of a database in front of a fake node with an index like Koha's: the requests that the node receives, and what
//! its answers mean for a client.

mod answers;
mod far;
mod indexes;

use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use z3950_asn1::apdu::DatabaseName;
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::oid::BIB_1;
use z3950_asn1::query::parse_pqf;
use z3950_server::backend::{Backend, Operand, Scan, Update, UpdateAction, UpdateRecord};
use z3950_server::lock;

use super::koha::WINDOW;
use super::*;
use crate::engine::asking::{
    self, body, changed, number, outcome, presented, record, refused, searched, with_set,
};
use crate::engine::link::fake::{FakeAnswer, FakeNode, FakeRequest};

fn database(node: &FakeNode, is_strict: bool) -> CatalogueDatabase {
    let text = CatalogueMap::shipped("koha").expect("a map");
    let map = Arc::new(CatalogueMap::parse(text).expect("a map"));
    let mut options = CatalogueOptions::new("town", vec![node.address()]);
    options.strict = is_strict;
    CatalogueDatabase::new(options, map).expect("no certificates")
}

/// The mapping of an index with a few of Koha's fields.
fn mapping(fields: &[&str]) -> Value {
    let mut properties = json!({
        "marc_data": { "type": "text", "index": false },
        "marc_format": { "type": "text", "index": false },
        "marc_data_array": { "type": "object", "properties": { "leader": { "type": "text" } } },
        "local-number__sort": { "type": "icu_collation_keyword", "index": false },
        "suppress": { "type": "boolean" },
        "title__sort": { "type": "icu_collation_keyword", "index": false },
        "author__facet": { "type": "keyword" },
    });
    for field in fields {
        properties[*field] = json!({ "type": "text", "analyzer": "analyzer_standard", "fields": {
            "phrase": { "type": "text", "analyzer": "analyzer_phrase" },
            "raw": { "type": "keyword", "normalizer": "nfkc_cf_normalizer" },
            "ci_raw": { "type": "keyword", "normalizer": "icu_folding_normalizer" },
        } });
    }
    json!({ "koha_1": { "mappings": { "properties": properties } } })
}

fn hit(number: usize) -> Value {
    // Koha's base64 text ends with a newline.
    let octets = STANDARD.encode(record(number)) + "\n";
    let source = json!({ "marc_format": "base64ISO2709", "marc_data": octets });
    json!({ "_index": "koha_1", "_id": number.to_string(), "_source": source, "sort": [number] })
}

fn answer(total: usize, numbers: impl IntoIterator<Item = usize>) -> Value {
    asking::answer(total, numbers.into_iter().map(hit))
}

/// Answers like an index whose records are numbered from 0, and which folds words to lower case.
fn held(request: &FakeRequest, total: usize) -> FakeAnswer {
    if request.path.ends_with("/_mapping") {
        return FakeAnswer::Json(200, mapping(&["title", "author", "note"]));
    }
    let body = body(request);
    if request.path.ends_with("/_analyze") {
        let text = body["text"].as_str().expect("a text").to_lowercase();
        let tokens = text.split(' ').enumerate();
        let tokens = tokens.map(|(position, word)| json!({ "token": word, "position": position }));
        return FakeAnswer::Json(200, json!({ "tokens": tokens.collect::<Vec<_>>() }));
    }
    if let Some(ids) = body
        .pointer("/query/bool/filter/0/ids/values")
        .and_then(Value::as_array)
    {
        let ids = ids.iter().filter_map(|id| id.as_str()?.parse().ok());
        let mut ids: Vec<usize> = ids.filter(|id| *id < total).collect();
        // The engine does not keep the order of the requested identifiers, so answer in a different order.
        ids.reverse();
        return FakeAnswer::Json(200, answer(ids.len(), ids));
    }
    let (skip, rows) = (
        number(&body, "/from").unwrap_or(0),
        number(&body, "/size").expect("size"),
    );
    assert!(skip + rows <= WINDOW, "{body}");
    let start = number(&body, "/search_after/0").map_or(0, |last| last + 1);
    FakeAnswer::Json(200, answer(total, (start..total).skip(skip).take(rows)))
}

#[tokio::test]
async fn an_index_is_compared_before_the_first_search() {
    let node = FakeNode::start(|request| held(request, 3)).await;
    let database = database(&node, false);
    let found = searched(&database, "@attr 1=4 War").await.expect("found");
    assert_eq!(found.hits.len(), 3);
    assert_eq!(
        presented(&database, &found.hits, &[0, 2]).await,
        Ok(vec![Ok(0), Ok(2)])
    );
    let asked = node.asked();
    let paths: Vec<(&str, &str)> = { asked.iter() }
        .map(|request| (&*request.method, &*request.path))
        .collect();
    let search = "/books/_search?allow_partial_search_results=true";
    assert_eq!(paths, [("GET", "/books/_mapping"), ("POST", search)]);
    // Only fields that exist in the index are offered.
    for (pqf, expected) in [
        ("@attr 1=7 0306406152", Err(114)),
        ("@attr 1=63 @attr 3=1 x", Err(119)),
        ("@attr 1=1003 x", Ok(3)),
        ("x", Ok(3)),
    ] {
        let found = searched(&database, pqf).await.map(|found| found.hits.len());
        assert_eq!(found, expected, "{pqf}");
    }
    let info = database.databases();
    let uses = info[0]
        .attributes
        .iter()
        .filter(|info| info.attribute_type == 1);
    let uses: Vec<i64> = uses.map(|info| info.value).collect();
    assert_eq!(uses, [4, 12, 63, 1003, 1016, 1017, 1032, 1035, 1036]);
}

/// No client request makes the engine change anything.
#[tokio::test]
async fn nothing_is_written() {
    let node = FakeNode::start(|request| held(request, 2_000)).await;
    let database = database(&node, false);
    database.check().await.expect("an index");
    for pqf in [
        "@attr 1=4 @attr 5=1 Wa",
        "@attr 1=4 @attr 6=3 {War and}",
        "@prox 0 3 1 2 k 2 @attr 1=4 a @attr 1=4 b",
        "@attr 1=12 1",
    ] {
        let found = searched(&database, pqf).await.expect("found");
        presented(&database, &found.hits, &[50])
            .await
            .expect("records");
    }
    let name = DatabaseName::from("town");
    let records = [UpdateRecord::new(Some("1".into()), None)];
    let update = Update::new(&name, UpdateAction::Delete, &records);
    let refused = database.update(update).await.expect_err("refused");
    assert_eq!(
        Condition(refused.condition),
        Condition::SERVICE_NOT_FOR_DATABASE
    );
    for request in node.asked() {
        let path = request.path.split('?').next().unwrap_or_default();
        let known = [
            ("GET", "/books/_mapping"),
            ("POST", "/books/_search"),
            ("POST", "/books/_analyze"),
        ];
        assert!(known.contains(&(&*request.method, path)), "{request:?}");
    }
}

/// All of Koha's analyzers fold ASCII letters and digits in the same way, so the beginning of such a word needs no
/// analysis request.
#[tokio::test]
async fn the_beginning_of_a_word_of_ascii_needs_one_request() {
    for (pqf, asks, expected) in [
        (
            "@attr 1=4 @attr 5=1 Wa",
            0,
            json!({ "prefix": { "title": "wa" } }),
        ),
        (
            "@attr 1=4 @attr 5=1 W\u{e4}",
            1,
            json!({ "prefix": { "title": "w\u{e4}" } }),
        ),
        (
            "@attr 1=4 @attr 5=1 e-mai",
            1,
            json!({ "prefix": { "title": "e-mai" } }),
        ),
    ] {
        let node = FakeNode::start(|request| held(request, 3)).await;
        let found = searched(&database(&node, false), pqf).await;
        assert!(found.is_ok(), "{pqf}");
        let asked = node.asked();
        let asked_of_words = asked
            .iter()
            .filter(|request| request.path.ends_with("/_analyze"));
        assert_eq!(asked_of_words.count(), asks, "{pqf}");
        let search = body(asked.last().expect("a search"));
        assert_eq!(search["query"]["bool"]["filter"][0], expected, "{pqf}");
    }
}

/// Records of the usual size are fetched in one request. Of long records, a request fetches as many as fit in an
/// answer.
#[tokio::test]
async fn a_large_present_of_short_records_is_one_request() {
    let node = FakeNode::start(|request| held(request, 2_000)).await;
    let database = database(&node, false);
    let found = searched(&database, "@attr 1=4 war").await.expect("found");
    let before = node.asked().len();
    let wanted: Vec<i64> = (100..300).collect();
    let records = presented(&database, &found.hits, &wanted)
        .await
        .expect("records");
    assert!(records.len() == 200 && records.iter().all(Result::is_ok));
    assert_eq!(node.asked().len(), before + 1);
}

#[tokio::test]
async fn a_small_set_keeps_its_records() {
    let total = Arc::new(Mutex::new(50));
    let held_now = Arc::clone(&total);
    let node = FakeNode::start(move |request| held(request, *lock(&held_now))).await;
    let database = database(&node, false);
    let found = searched(&database, "@attr 1=4 war").await.expect("found");
    let next = presented(&database, &found.hits, &[20, 49]).await;
    assert_eq!(next, Ok(vec![Ok(20), Ok(49)]));
    // The identifiers of the set's records have been read, so new records do not change their positions, and a missing
    // record is reported in its place.
    *lock(&total) = 49;
    let again = presented(&database, &found.hits, &[30, 49]).await;
    assert_eq!(
        again,
        Ok(vec![Ok(30), Err(Condition::SYSTEM_ERROR_PRESENTING.0)])
    );
    // If the number of records changes before the identifiers of the set's records have been read, the positions are no
    // longer reliable.
    let found = searched(&database, "@attr 1=4 war").await.expect("found");
    *lock(&total) = 52;
    let changed = presented(&database, &found.hits, &[30]).await;
    assert_eq!(changed, Err(Condition::RESULT_SET_DELETED.0));
}

#[tokio::test]
async fn an_earlier_set_is_an_operand() {
    let node = FakeNode::start(|request| held(request, 3)).await;
    let own = database(&node, false);
    let found = searched(&own, "@attr 1=4 war").await.expect("found");
    let pqf = "@and @set 1 @attr 1=4 Peace";
    let both = with_set(&own, pqf, Some(&found.hits)).await;
    assert!(both.is_ok());
    let asked = node.asked();
    let expected = json!([
        { "match_phrase": { "title": "war" } },
        { "match_phrase": { "title": "Peace" } },
    ]);
    let asked = body(asked.last().expect("a request"));
    assert_eq!(
        asked["query"]["bool"]["filter"][0]["bool"]["filter"],
        expected
    );
    // A result set of a different database is treated as one that does not exist.
    let other = database(&node, false);
    let refused = with_set(&other, pqf, Some(&found.hits)).await;
    let expected = Some(Condition::RESULT_SET_DOES_NOT_EXIST.0);
    assert_eq!(refused.err(), expected);
}

/// The engine lists values, both after a start that it folds and before it.
#[tokio::test]
async fn values_are_listed() {
    let values = ["adams", "dickens", "twain"];
    let node = FakeNode::start(move |request| {
        if !request.path.contains("/_search") {
            return held(request, 0);
        }
        let body = body(request);
        let mut answer = answer(0, []);
        let Some(composite) = body.pointer("/aggs/terms/composite") else {
            answer["hits"]["total"]["value"] = json!(2);
            return FakeAnswer::Json(200, answer);
        };
        let start = composite
            .pointer("/after/terms")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let is_back = composite.pointer("/sources/0/terms/terms/order") == Some(&json!("desc"));
        let mut found: Vec<&str> = values
            .into_iter()
            .filter(|value| {
                if is_back {
                    *value < start
                } else {
                    *value > start
                }
            })
            .collect();
        if is_back {
            found.reverse();
        }
        let buckets = found
            .iter()
            .map(|value| json!({ "key": { "terms": value }, "doc_count": 1 }));
        answer["aggregations"] = json!({ "terms": { "buckets": buckets.collect::<Vec<_>>() } });
        FakeAnswer::Json(200, answer)
    });
    let (node, names) = (node.await, [DatabaseName::from("town")]);
    let database = database(&node, false);
    let scanned = async |pqf: &str| {
        let query = parse_pqf(pqf).expect("a term");
        let z3950_asn1::apdu::RpnStructure::Op(Operand::AttributesPlusTerm(start)) = &query.rpn
        else {
            panic!("{pqf}");
        };
        let mut scan = Scan::new(&names, BIB_1, start);
        (scan.before, scan.after) = (2, 2);
        let scanned = database.scan(scan).await.map_err(|why| why.condition)?;
        let shown = |terms: &[z3950_server::backend::ScanTerm]| {
            let terms = terms.iter().map(|term| {
                format!(
                    "{} {:?}",
                    String::from_utf8_lossy(&term_octets(&term.term)),
                    term.records
                )
            });
            terms.collect::<Vec<_>>().join(", ")
        };
        Ok((shown(&scanned.before), shown(&scanned.after), scanned.exact))
    };
    let expected = ("adams Some(1)", "dickens Some(2), twain Some(1)", true);
    let found = scanned("@attr 1=1003 DICKENS").await;
    assert_eq!(
        found,
        Ok((expected.0.to_owned(), expected.1.to_owned(), expected.2))
    );
    for (pqf, condition) in [
        ("@attr 1=1003 @attr 4=2 x", 118),
        ("@attr 1=1003 @attr 5=2 x", 120),
        ("@attr 1=1003 @attr 2=1 x", 117),
        ("@attr 1=63 x", Condition::MALFORMED_SCAN.0),
        ("@attr 1=1016 x", Condition::MALFORMED_SCAN.0),
        ("@attr 1=21 x", 114),
    ] {
        assert_eq!(scanned(pqf).await, Err(condition), "{pqf}");
    }
}

fn term_octets(term: &z3950_server::backend::Term) -> Vec<u8> {
    match term {
        z3950_server::backend::Term::General(octets) => octets.to_vec(),
        other => panic!("{other:?}"),
    }
}

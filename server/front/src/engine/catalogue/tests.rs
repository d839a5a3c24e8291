//! A database in front of a fake node with an index as Koha makes it: what the node is asked, and what its answers mean to a client.

use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use z3950_server::asn1::apdu::DatabaseName;
use z3950_server::asn1::bib1::diagnostics::Condition;
use z3950_server::asn1::oid::BIB_1;
use z3950_server::asn1::query::parse_pqf;
use z3950_server::backend::{
    Backend, Composition, Found, Hits, Operand, RecordId, Retrieve, RetrieveMany, Scan, Search,
    Update, UpdateAction, UpdateRecord,
};
use z3950_server::marc::{Field, MarcRecord, iso2709};

use super::koha::WINDOW;
use super::*;
use crate::engine::link::fake::{FakeAnswer, FakeNode, FakeRequest};
use crate::lock::lock;

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

async fn searched(database: &CatalogueDatabase, pqf: &str) -> Result<Found, i64> {
    let names = [DatabaseName::from("town")];
    let query = parse_pqf(pqf).expect("a query");
    let found = database.search(Search::new(&names, &query)).await;
    found.map_err(|why| why.condition)
}

/// Presents records; the identifier of each, or its condition.
async fn presented(
    database: &CatalogueDatabase,
    hits: &Hits,
    positions: &[i64],
) -> Result<Vec<Result<usize, i64>>, i64> {
    let records: Vec<RecordId> = positions.iter().map(|at| RecordId(*at)).collect();
    let composition = Composition::full(None);
    let prepared = database.prepare(RetrieveMany::new(hits, &records, &composition));
    let prepared = prepared.expect("records are elsewhere").await;
    prepared.map_err(|why| why.condition)?;
    let mut outcomes = Vec::new();
    for record in records {
        let retrieved = database.record(Retrieve::new(hits, record, &composition));
        let retrieved = retrieved.await.map_err(|why| why.condition)?;
        let id = retrieved.record.map(|record| {
            let text = String::from_utf8_lossy(record.octets()).into_owned();
            let id = text.split('\x1e').nth(1).expect("a field");
            id.parse().expect("a number")
        });
        outcomes.push(id.map_err(|why| why.condition));
    }
    Ok(outcomes)
}

fn body(request: &FakeRequest) -> Value {
    serde_json::from_str(&request.body).expect("JSON")
}

fn hit(number: usize) -> Value {
    let mut record = MarcRecord::default();
    record
        .fields
        .push(Field::control(b"001", number.to_string()));
    let octets = iso2709::encode(&record).expect("octets");
    // Koha's base64 ends in a line end.
    let source =
        json!({ "marc_format": "base64ISO2709", "marc_data": STANDARD.encode(octets) + "\n" });
    json!({ "_id": number.to_string(), "_source": source, "sort": [number] })
}

/// An answer with this number of records found, of which these are a part.
fn answer(total: usize, numbers: impl IntoIterator<Item = usize>) -> Value {
    json!({
        "timed_out": false,
        "_shards": { "total": 3, "successful": 3, "skipped": 0, "failed": 0 },
        "hits": {
            "total": { "value": total, "relation": "eq" },
            "hits": numbers.into_iter().map(hit).collect::<Vec<_>>(),
        },
    })
}

/// Answers as an index whose records have the numbers from 0 on; it folds words to lower case.
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
    let number = |at: &str| body.pointer(at).and_then(Value::as_u64);
    let number = |at: &str| number(at).map(|number| usize::try_from(number).expect("small"));
    if let Some(ids) = body
        .pointer("/query/bool/filter/0/ids/values")
        .and_then(Value::as_array)
    {
        let ids = ids.iter().filter_map(|id| id.as_str()?.parse().ok());
        let mut ids: Vec<usize> = ids.filter(|id| *id < total).collect();
        // Not in the order that was asked for.
        ids.reverse();
        return FakeAnswer::Json(200, answer(ids.len(), ids));
    }
    let (skip, rows) = (number("/from").unwrap_or(0), number("/size").expect("size"));
    assert!(skip + rows <= WINDOW, "{body}");
    let start = number("/search_after/0").map_or(0, |last| last + 1);
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
    // Only what the index has is offered.
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

/// Nothing that a client asks makes the engine change anything.
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

/// Letters and digits of ASCII are folded alike by all of Koha's analyzers, so masked words of them need one request.
#[tokio::test]
async fn masked_words_of_ascii_are_folded_without_asking() {
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
        (
            "@attr 1=4 @attr 5=104 W#R",
            0,
            json!({ "regexp": { "title": { "value": "w.r", "flags": "NONE" } } }),
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

/// Records of a usual size are fetched together, and long ones as many as fit an answer.
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

/// What answers mean: the number of records and of sources that failed, or a condition.
#[tokio::test]
async fn incomplete_and_strange_answers_are_told_apart() {
    let with = |changes: &[(&str, Value)]| {
        let mut answer = answer(2, [1, 2]);
        for (pointer, value) in changes {
            *answer.pointer_mut(pointer).expect("a place") = value.clone();
        }
        FakeAnswer::Json(200, answer)
    };
    let refused = |status: u16, kind: &str, reason: &str| {
        let error = json!({ "root_cause": [{ "type": kind, "reason": reason }], "type": kind });
        FakeAnswer::Json(status, json!({ "error": error, "status": status }))
    };
    for (answer, expected, strict) in [
        (with(&[]), Ok((2, 0)), Ok((2, 0))),
        (
            with(&[("/_shards/successful", json!(2))]),
            Ok((2, 1)),
            Err(109),
        ),
        (with(&[("/timed_out", json!(true))]), Ok((2, 1)), Err(109)),
        (
            refused(500, "too_many_nested_clauses", "x"),
            Err(31),
            Err(31),
        ),
        (
            refused(400, "x", "would require more than 10000 effort."),
            Err(9),
            Err(9),
        ),
        (
            refused(404, "index_not_found_exception", "x"),
            Err(109),
            Err(109),
        ),
        (refused(401, "security_exception", "x"), Err(109), Err(109)),
        (FakeAnswer::Json(200, json!({})), Err(109), Err(109)),
        (FakeAnswer::of("text/html", "<h1>"), Err(109), Err(109)),
    ] {
        for (is_strict, expected) in [(false, expected), (true, strict)] {
            let given = answer.clone();
            let node = FakeNode::start(move |request| match &*request.method {
                "GET" => held(request, 0),
                _ => given.clone(),
            });
            let node = node.await;
            let found = searched(&database(&node, is_strict), "@attr 1=4 war").await;
            let found = found.map(|found| {
                let failed = found
                    .sources
                    .iter()
                    .filter(|source| source.failure.is_some());
                (found.hits.len(), failed.count())
            });
            assert_eq!(found, expected, "{answer:?} {is_strict}");
        }
    }
}

/// An index of another program, or of none, is not searched.
#[tokio::test]
async fn an_index_that_is_not_kohas_is_refused() {
    for (answer, expected) in [
        (
            FakeAnswer::Json(200, json!({ "x": { "mappings": {} } })),
            "is not one of Koha's",
        ),
        (
            FakeAnswer::Json(404, json!({ "error": { "type": "x" } })),
            "there is no index books",
        ),
        (
            FakeAnswer::Json(403, json!({ "error": { "type": "x" } })),
            "denies access",
        ),
        (
            FakeAnswer::with("401 Unauthorized", "", "<html>"),
            "denies access",
        ),
        (
            FakeAnswer::of("text/html", "<html>"),
            "cannot be understood",
        ),
    ] {
        let given = answer.clone();
        let node = FakeNode::start(move |_| given.clone()).await;
        let database = database(&node, false);
        let error = database.check().await.expect_err(expected);
        assert!(
            error.to_string().contains(expected) && error.is_mismatch(),
            "{error}"
        );
        let refused = searched(&database, "@attr 1=4 war")
            .await
            .map(|found| found.hits.len());
        assert_eq!(refused, Err(109));
    }
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
    // Its identifiers are known now. Other records do not move them, and one that is gone is told in its place.
    *lock(&total) = 49;
    let again = presented(&database, &found.hits, &[30, 49]).await;
    assert_eq!(
        again,
        Ok(vec![Ok(30), Err(Condition::SYSTEM_ERROR_PRESENTING.0)])
    );
    // Records that were added before its identifiers are known.
    let found = searched(&database, "@attr 1=4 war").await.expect("found");
    *lock(&total) = 52;
    let changed = presented(&database, &found.hits, &[30]).await;
    assert_eq!(changed, Err(Condition::RESULT_SET_DELETED.0));
}

#[tokio::test]
async fn a_large_set_has_pages_as_far_as_the_engine_allows() {
    let total = WINDOW + 500;
    let node = FakeNode::start(move |request| held(request, total)).await;
    let database = database(&node, false);
    let found = searched(&database, "@attr 1=4 war").await.expect("found");
    assert_eq!(found.hits.len(), total);
    let window = i64::try_from(WINDOW).expect("small");
    let far = presented(&database, &found.hits, &[window]).await;
    assert_eq!(far, Err(Condition::OUT_OF_RANGE.0));
    let last = presented(&database, &found.hits, &[window - 2, window - 1]).await;
    assert_eq!(last, Ok(vec![Ok(WINDOW - 2), Ok(WINDOW - 1)]));
    // What follows a page can be reached from it.
    let next = presented(&database, &found.hits, &[window, window + 100]).await;
    assert_eq!(next, Ok(vec![Ok(WINDOW), Ok(WINDOW + 100)]));
}

#[tokio::test]
async fn an_earlier_set_is_an_operand() {
    let node = FakeNode::start(|request| held(request, 3)).await;
    let own = database(&node, false);
    let found = searched(&own, "@attr 1=4 war").await.expect("found");
    let names = [DatabaseName::from("town")];
    let query = parse_pqf("@and @set 1 @attr 1=4 Peace").expect("a query");
    let set = |_: &[u8]| Some(found.hits.clone());
    let mut search = Search::new(&names, &query);
    search.result_set = &set;
    own.search(search).await.expect("found");
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
    // That of another database is none.
    let other = database(&node, false);
    let mut search = Search::new(&names, &query);
    search.result_set = &set;
    let refused = other.search(search).await.expect_err("refused");
    assert_eq!(
        Condition(refused.condition),
        Condition::RESULT_SET_DOES_NOT_EXIST
    );
}

/// The engine lists values: from a start that it folds, and before it.
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
        let z3950_server::asn1::apdu::RpnStructure::Op(Operand::AttributesPlusTerm(start)) =
            &query.rpn
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

/// A field that was renamed is offered no longer, a minute later at the latest.
#[tokio::test]
async fn renamed_fields_are_noticed() {
    let fields = Arc::new(Mutex::new(vec!["title", "author"]));
    let fields_now = Arc::clone(&fields);
    let node = FakeNode::start(move |request| {
        if request.path.ends_with("/_mapping") {
            FakeAnswer::Json(200, mapping(&lock(&fields_now)))
        } else {
            held(request, 2_000)
        }
    });
    let node = node.await;
    let database = database(&node, false);
    let found = searched(&database, "@attr 1=1003 a").await.expect("found");
    *lock(&fields) = vec!["title"];
    tokio::time::pause();
    tokio::time::advance(std::time::Duration::from_secs(61)).await;
    tokio::time::resume();
    let refused = searched(&database, "@attr 1=1003 a")
        .await
        .map(|found| found.hits.len());
    assert_eq!(refused, Err(114));
    // The set was found with the field, and still is.
    presented(&database, &found.hits, &[1_500])
        .await
        .expect("records");
    let asked = body(node.asked().last().expect("a request"));
    assert_eq!(
        asked["query"]["bool"]["filter"],
        json!([{ "match_phrase": { "author": "a" } }])
    );
}

/// What a systems librarian is told of an index.
#[tokio::test]
async fn an_index_is_looked_at() {
    let node = FakeNode::start(|request| {
        if request.path == "/" {
            let version = json!({ "distribution": "opensearch", "number": "2.19.6" });
            return FakeAnswer::Json(200, json!({ "version": version }));
        }
        held(request, 312)
    });
    let node = node.await;
    let access = crate::engine::link::address::ClusterAccess::default();
    let time = std::time::Duration::from_secs(60);
    let looked = look(&[node.address()], &access, time)
        .await
        .expect("an index");
    let text = looked.to_string();
    for words in [
        "OpenSearch 2.19.6, index books",
        "catalogue = \"koha\" fits: 4 of",
        "312 records can be found",
        "  title: words, masks, whole, keys, ranges, scan, sort\n",
        "there is no field isbn-all or isbn for words of isbn, so isbn is not offered",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let other = FakeNode::start(|_| FakeAnswer::Json(200, json!({ "x": { "mappings": {} } })));
    let other = other.await;
    let looked = look(&[other.address()], &access, time)
        .await
        .expect("an index");
    assert!(
        looked
            .to_string()
            .contains("No map fits:\n  koha: it has no records"),
        "{looked}"
    );
}

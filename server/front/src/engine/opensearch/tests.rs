//! Tests of a database in front of a fake node: the requests that the node receives, and what its answers mean for a
//! client.

use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use z3950_asn1::apdu::DatabaseName;
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::query::parse_pqf;
use z3950_server::backend::{Backend, Search};
use z3950_server::lock;
use z3950_server::memory::{AccessPoints, DocidField, Profile};

use super::search::MOST_WINDOW;
use super::*;
use crate::engine::asking::{
    self, body, changed, number, outcome, presented, record, refused, searched, with_set,
};
use crate::engine::link::fake::{FakeAnswer, FakeNode, FakeRequest};
use crate::engine::{EngineLayout, IndexUses};

fn database(node: &FakeNode, is_strict: bool) -> ClusterDatabase {
    let (points, uses) = (AccessPoints::default(), IndexUses::default());
    let layout = EngineLayout::new(points, Profile::default(), DocidField::default(), &uses);
    let mut options = ClusterOptions::new("books", vec![node.address()]);
    options.strict = is_strict;
    let database = ClusterDatabase::new(options, Arc::new(layout.expect("indexes")));
    database.expect("no certificates")
}

fn hit(number: usize) -> Value {
    let source = json!({ "record": STANDARD.encode(record(number)) });
    json!({ "_index": "books-1", "_id": number.to_string(), "_source": source, "sort": [number] })
}

fn answer(total: usize, numbers: impl IntoIterator<Item = usize>) -> Value {
    asking::answer(total, numbers.into_iter().map(hit))
}

/// Answers like an index whose records are numbered from 0.
fn held(request: &FakeRequest, total: usize) -> FakeAnswer {
    let body = body(request);
    if let Some(numbers) = body
        .pointer("/query/terms/number")
        .and_then(Value::as_array)
    {
        let numbers = numbers.iter().filter_map(Value::as_u64);
        let numbers = numbers.map(|number| usize::try_from(number).expect("small"));
        return FakeAnswer::Json(200, answer(numbers.clone().count(), numbers));
    }
    let (skip, rows) = (
        number(&body, "/from").unwrap_or(0),
        number(&body, "/size").expect("size"),
    );
    assert!(skip + rows <= MOST_WINDOW, "{body}");
    FakeAnswer::Json(200, answer(total, (0..total).skip(skip).take(rows)))
}

/// The missing part of the index is named after the database, with a count in correct grammatical number.
#[tokio::test]
async fn audit_missing_parts_are_named() {
    for (successful, expected) in [
        (2, "1 of 3 parts of the index does not answer"),
        (1, "2 of 3 parts of the index do not answer"),
    ] {
        let shards = json!({ "total": 3, "successful": successful, "failed": 0 });
        let partial = changed(answer(2, [1, 2]), &[("/_shards", shards)]);
        let node = FakeNode::start(move |_| partial.clone()).await;
        let database = database(&node, false);
        let names = [DatabaseName::from("books")];
        let query = parse_pqf("@attr 1=4 a").expect("a query");
        let found = database.search(Search::new(&names, &query)).await;
        let sources = found.expect("a subset").sources;
        let [own, part] = &*sources else {
            panic!("{sources:?}")
        };
        assert_eq!((&*own.name, own.records), ("books", 2));
        assert_eq!(part.name, "part of books");
        let failure = part.failure.as_ref().expect("a failure");
        assert_eq!(failure.addinfo.to_string_lossy(), expected);
    }
}

/// The records are counted once, whatever the answer is. Their number is not known if the index is incomplete.
#[tokio::test]
async fn audit_all_records_are_counted_for_the_metrics() {
    let whole = answer(7, []);
    let partial = changed(answer(7, []), &[("/_shards/failed", json!(1))]);
    for (given, expected) in [
        (FakeAnswer::Json(200, whole), Some(7)),
        (partial, None),
        (FakeAnswer::Json(500, json!({})), None),
    ] {
        let node = FakeNode::start(move |_| given.clone()).await;
        let database = database(&node, false);
        assert_eq!(database.records(), None);
        database.count_records().await;
        assert_eq!(database.records(), expected);
        let asked = node.asked().len();
        database.count_records().await;
        assert_eq!(node.asked().len(), asked);
    }
}

/// Each answer results in a number of records and of failed sources, or in the condition of a diagnostic.
#[tokio::test]
async fn incomplete_and_unexpected_answers_are_distinguished() {
    let with = |changes: &[(&str, Value)]| changed(answer(2, [1, 2]), changes);
    let failures = json!({
        "total": 3,
        "successful": 2,
        "failed": 1,
        "failures": [{ "reason": { "type": "runtime_exception", "reason": "field exceeds maxClauseCount" } }],
    });
    for (answer, expected, strict) in [
        (with(&[]), Ok((2, 0)), Ok((2, 0))),
        (
            with(&[("/_shards/successful", json!(2))]),
            Ok((2, 1)),
            Err(109),
        ),
        (with(&[("/_shards/failed", json!(1))]), Ok((2, 1)), Err(109)),
        (with(&[("/timed_out", json!(true))]), Ok((2, 1)), Err(109)),
        // If a shard refuses the query as too large, its part of the records is missing, so the search fails.
        (with(&[("/_shards", failures)]), Err(31), Err(31)),
        (
            refused(500, "runtime_exception", "field[t] exceeds maxClauseCount"),
            Err(31),
            Err(31),
        ),
        (
            refused(
                500,
                "too_many_nested_clauses",
                "Query contains too many nested clauses",
            ),
            Err(31),
            Err(31),
        ),
        (
            refused(400, "too_complex", "would require more than 10000 effort."),
            Err(9),
            Err(9),
        ),
        (
            refused(404, "index_not_found_exception", "no such index"),
            Err(109),
            Err(109),
        ),
        (FakeAnswer::Json(200, json!({})), Err(109), Err(109)),
        (FakeAnswer::Json(200, json!([1])), Err(109), Err(109)),
        (
            with(&[("/hits/hits", json!([{ "_id": "a" }]))]),
            Err(109),
            Err(109),
        ),
        (with(&[("/hits/hits", json!({}))]), Err(109), Err(109)),
        // Records from several indexes cannot form one result set.
        (
            with(&[("/hits/hits/0/_index", json!("other"))]),
            Err(109),
            Err(109),
        ),
        // The number of the first record is negative, so the record was stored by another program.
        (
            with(&[
                ("/hits/hits/0/sort", json!([-5])),
                ("/hits/hits/0/_source/record", json!(["?"])),
            ]),
            Ok((2, 0)),
            Ok((2, 0)),
        ),
        (
            FakeAnswer::of("text/html", "<h1>Hello</h1>"),
            Err(109),
            Err(109),
        ),
    ] {
        for (is_strict, expected) in [(false, expected), (true, strict)] {
            let given = answer.clone();
            let node = FakeNode::start(move |_| given.clone()).await;
            let found = outcome(&database(&node, is_strict), "@attr 1=4 war").await;
            assert_eq!(found, expected, "{answer:?} {is_strict}");
        }
    }
}

/// The engine's messages are logged but not sent to clients.
#[tokio::test]
async fn words_of_the_engine_stay_in_the_log() {
    let node = FakeNode::start(|_| {
        let error = json!({ "type": "secret", "reason": "password \u{1b}[2J" });
        FakeAnswer::Json(500, json!({ "error": error, "status": 500 }))
    });
    let (node, names) = (node.await, [DatabaseName::from("books")]);
    let query = parse_pqf("war").expect("a query");
    let database = database(&node, false);
    let why = database.search(Search::new(&names, &query)).await;
    let words = why
        .expect_err("refused")
        .addinfo
        .to_string_lossy()
        .into_owned();
    assert_eq!(words, "the search engine refuses the request");
}

#[tokio::test]
async fn a_known_item_is_asked_of_its_part_of_the_index() {
    let node = FakeNode::start(|request| held(request, 1)).await;
    let database = database(&node, true);
    for (pqf, expected) in [
        (
            "@attr 1=1032 {a b/7}",
            "/books/_search?allow_partial_search_results=false&routing=a+b%2F7",
        ),
        (
            "@attr 1=4 war",
            "/books/_search?allow_partial_search_results=false",
        ),
    ] {
        searched(&database, pqf).await.expect("found");
        let asked = node.asked();
        assert_eq!(asked.last().expect("a request").path, expected);
    }
}

#[tokio::test]
async fn a_small_set_keeps_its_records() {
    let total = Arc::new(Mutex::new(50));
    let held_now = Arc::clone(&total);
    let node = FakeNode::start(move |request| held(request, *lock(&held_now))).await;
    let database = database(&node, false);
    let found = searched(&database, "@attr 1=4 war").await.expect("found");
    let before = node.asked().len();
    let first = presented(&database, &found.hits, &[0, 9]).await;
    assert_eq!(
        (first, node.asked().len()),
        (Ok(vec![Ok(0), Ok(9)]), before)
    );
    let next = presented(&database, &found.hits, &[20, 49]).await;
    assert_eq!(next, Ok(vec![Ok(20), Ok(49)]));
    // The record numbers of the result set have been read, so new records do not change the positions of its records.
    *lock(&total) = 51;
    let again = presented(&database, &found.hits, &[30]).await;
    assert_eq!(again, Ok(vec![Ok(30)]));
    // If records are added before the record numbers of the set have been read, the positions are no longer reliable.
    let found = searched(&database, "@attr 1=4 war").await.expect("found");
    *lock(&total) = 52;
    let changed = presented(&database, &found.hits, &[30]).await;
    assert_eq!(changed, Err(Condition::RESULT_SET_DELETED.0));
}

#[tokio::test]
async fn an_earlier_set_is_an_operand() {
    let node = FakeNode::start(|request| held(request, 3)).await;
    let database = database(&node, false);
    let found = searched(&database, "@attr 1=4 war").await.expect("found");
    let pqf = "@and @set 1 @attr 1=4 peace";
    let both = with_set(&database, pqf, Some(&found.hits)).await;
    assert!(both.is_ok());
    let asked = node.asked();
    let expected = json!({ "bool": { "filter": [
        { "term": { "y_title": "war" } },
        { "term": { "y_title": "peace" } },
    ] } });
    assert_eq!(body(asked.last().expect("a request"))["query"], expected);
    // A result set of a different database is treated as one that does not exist.
    let other = FakeNode::start(|request| held(request, 3)).await;
    let other = self::database(&other, false);
    let refused = with_set(&other, pqf, Some(&found.hits)).await;
    let expected = Some(Condition::RESULT_SET_DOES_NOT_EXIST.0);
    assert_eq!(refused.err(), expected);
}

/// The records of a set come from the index that was searched, even after another index has replaced it.
#[tokio::test]
async fn audit_r_l1_a_set_is_of_one_index() {
    let is_there = Arc::new(Mutex::new(true));
    let there_now = Arc::clone(&is_there);
    let node = FakeNode::start(move |request| {
        if request.path.starts_with("/books-1/") && !*lock(&there_now) {
            let error = json!({ "type": "index_not_found_exception" });
            return FakeAnswer::Json(404, json!({ "error": error, "status": 404 }));
        }
        held(request, 50)
    });
    let node = node.await;
    let database = database(&node, false);
    let found = searched(&database, "@attr 1=4 war").await.expect("found");
    let page = presented(&database, &found.hits, &[20, 49]).await;
    assert_eq!(page, Ok(vec![Ok(20), Ok(49)]));
    let paths: Vec<String> = node.asked().into_iter().map(|asked| asked.path).collect();
    let [first, others @ ..] = &*paths else {
        panic!("requests");
    };
    assert!(first.starts_with("/books/_search"), "{first}");
    let is_own = |path: &String| path.starts_with("/books-1/_search");
    assert!(others.iter().all(is_own), "{others:?}");
    *lock(&is_there) = false;
    let gone = presented(&database, &found.hits, &[30]).await;
    assert_eq!(gone, Err(Condition::RESULT_SET_DELETED.0));
    // The first records were returned with the search, so they are still available.
    assert_eq!(
        presented(&database, &found.hits, &[0]).await,
        Ok(vec![Ok(0)])
    );
}

/// An index that does not match the settings is not used.
#[tokio::test]
async fn a_refused_index_is_not_asked() {
    let node = FakeNode::start(|request| held(request, 3)).await;
    let database = database(&node, false);
    database.set_refused(true);
    let refused = searched(&database, "war")
        .await
        .map(|found| found.hits.len());
    assert_eq!((refused, node.asked().len()), (Err(109), 0));
    database.set_refused(false);
    let found = searched(&database, "war")
        .await
        .map(|found| found.hits.len());
    assert_eq!(found, Ok(3));
}

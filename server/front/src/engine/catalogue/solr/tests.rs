//! Tests of a database in front of a fake Solr node: the requests that the node receives, and what its answers mean for
//! a client.

mod deep;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use z3950_asn1::apdu::DatabaseName;
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::oid::BIB_1;
use z3950_asn1::query::parse_pqf;
use z3950_server::backend::{Backend, Operand, Scan};

use super::failed;
use crate::engine::asking::{outcome, searched};
use crate::engine::catalogue::{CatalogueDatabase, CatalogueMap, CatalogueOptions};
use crate::engine::link::Failure;
use crate::engine::link::fake::{FakeAnswer, FakeNode, FakeRequest};

/// The number of records and of failed sources, or the condition of the diagnostic.
type Outcome = Result<(usize, usize), i64>;

fn database(node: &FakeNode, is_strict: bool) -> CatalogueDatabase {
    let text = CatalogueMap::shipped("vufind").expect("a map");
    let map = Arc::new(CatalogueMap::parse(text).expect("a map"));
    let mut options = CatalogueOptions::new("town", vec![node.address()]);
    options.strict = is_strict;
    CatalogueDatabase::new(options, map).expect("no certificates")
}

/// A schema with a few of VuFind's fields.
fn schema() -> Value {
    let tokenizer = |name: &str| json!({ "tokenizer": { "className": name } });
    let field = |kind: &str, flags: &str| json!({ "type": kind, "flags": flags });
    json!({ "schema": {
        "fields": {
            "id": field("string", "I-S-------------"),
            "fullrecord": field("string", "--S-------------"),
            "record_format": field("string", "I-S-------------"),
            "allfields": field("text", "IT--------------"),
            "allfields_unstemmed": field("text", "IT--------------"),
            "title_full": field("text", "ITS-------------"),
            "title_fullStr": field("string", "I-S-------------"),
            "title_sort": field("string", "I-S-------------"),
            "author": field("text", "ITS--M----------"),
            "author_facet": field("textFacet", "ITS--M----------"),
        },
        "dynamicFields": {},
        "types": {
            "string": { "className": "org.apache.solr.schema.StrField" },
            "text": { "className": "org.apache.solr.schema.TextField", "indexAnalyzer": tokenizer("ICUTokenizerFactory") },
            "textFacet": { "className": "org.apache.solr.schema.TextField", "indexAnalyzer": tokenizer("KeywordTokenizerFactory") },
        },
    } })
}

/// Answers like a core with two records, which folds text to lower case.
fn held(request: &FakeRequest) -> FakeAnswer {
    let path = request.path.split('?').next().unwrap_or_default();
    FakeAnswer::Json(
        200,
        match path {
            "/books/admin/luke" => schema(),
            "/books/select" => found(&json!({})),
            "/books/terms" => {
                json!({ "responseHeader": {}, "terms": { "author_facet": ["Wells", 9, "Zola", 1] } })
            }
            "/books/analysis/field" => json!({ "analysis": { "field_names": {} } }),
            other => panic!("{other}"),
        },
    )
}

/// Returns an answer with two records and this header.
fn found(header: &Value) -> Value {
    let record =
        |id: &str, format: &str| json!({ "id": id, "record_format": format, "fullrecord": "x" });
    json!({
        "responseHeader": header,
        "response": { "numFound": 2, "numFoundExact": true, "docs": [record("a", "marc"), record("b", "lido")] },
        "facets": { "count": 2, "term0": { "count": 2 }, "term1": { "count": 0 } },
    })
}

/// No client request makes Solr change anything, and none of the client's text becomes a part of a URL.
#[tokio::test]
async fn nothing_is_written() {
    let node = FakeNode::start(held).await;
    let database = database(&node, false);
    let missing = database.check().await.expect("a core");
    assert!(
        missing
            .iter()
            .any(|field| field.to_string().contains("no field isbn")),
        "{missing:?}"
    );
    for pqf in [
        "@attr 1=4 {!hostile}",
        "@attr 1=1016 @attr 5=1 hostile",
        "@prox 0 3 1 2 k 2 @attr 1=1016 a @attr 1=1016 hostile",
        "@attr 1=12 hostile",
    ] {
        // The fake server does not fold terms, so proximity queries are refused. The outcomes do not matter here.
        let _ = searched(&database, pqf).await;
    }
    let names = [DatabaseName::from("town")];
    let query = parse_pqf("@attr 1=1003 hostile").expect("a query");
    let z3950_asn1::apdu::RpnStructure::Op(Operand::AttributesPlusTerm(start)) = &query.rpn else {
        panic!("a term");
    };
    let scanned = database
        .scan(Scan::new(&names, BIB_1, start))
        .await
        .expect("scanned");
    // A value that matches no records is left out.
    assert_eq!(scanned.after.len(), 1);
    for request in node.asked() {
        let path = request.path.split('?').next().unwrap_or_default();
        let known = [
            ("GET", "/books/admin/luke"),
            ("POST", "/books/select"),
            ("POST", "/books/terms"),
            ("POST", "/books/analysis/field"),
        ];
        assert!(known.contains(&(&*request.method, path)), "{request:?}");
        assert!(!request.path.contains("hostile"), "{request:?}");
    }
}

/// An answer without a count or records must not be taken for an answer that finds nothing.
#[tokio::test]
async fn answers_of_other_shapes_are_refused() {
    for response in [
        json!(null),
        json!({}),
        json!({ "docs": [] }),
        json!({ "numFound": "7", "docs": [] }),
        json!({ "numFound": -5, "docs": [] }),
        json!({ "numFound": 5 }),
    ] {
        let answer = json!({ "responseHeader": {}, "response": response });
        let node = FakeNode::start(move |request| {
            if request.path.starts_with("/books/select") {
                FakeAnswer::Json(200, answer.clone())
            } else {
                held(request)
            }
        });
        let node = node.await;
        let found = searched(&database(&node, false), "@attr 1=1016 war").await;
        assert_eq!(found.err(), Some(109), "{response}");
    }
}

#[tokio::test]
async fn fields_that_the_core_does_not_have_are_not_offered() {
    let node = FakeNode::start(held).await;
    let database = database(&node, false);
    for (pqf, expected) in [
        ("@attr 1=4 x", Ok(2)),
        ("@attr 1=7 0306406152", Err(114)),
        ("@attr 1=4 @attr 5=1 x", Err(120)),
        ("@attr 1=5 x", Err(114)),
    ] {
        let found = searched(&database, pqf).await.map(|found| found.hits.len());
        assert_eq!(found, expected, "{pqf}");
    }
}

/// Each answer results in a number of records and of failed sources, or in the condition of a diagnostic.
#[tokio::test]
async fn incomplete_and_unexpected_answers_are_distinguished() {
    let error = |status: u16, words: &str| {
        FakeAnswer::Json(status, json!({ "error": { "msg": words, "code": status } }))
    };
    let html = |status: &str| FakeAnswer::with(status, "Content-Type: text/html\r\n", "<html>");
    let partial = found(&json!({ "partialResults": true }));
    let omitted = json!({ "responseHeader": { "partialResults": "omitted" } });
    let cases: [(FakeAnswer, bool, Outcome); 10] = [
        (FakeAnswer::Json(200, found(&json!({}))), true, Ok((2, 0))),
        (FakeAnswer::Json(200, partial.clone()), false, Ok((2, 1))),
        (FakeAnswer::Json(200, partial), true, Err(109)),
        (FakeAnswer::Json(200, omitted), false, Ok((0, 1))),
        (FakeAnswer::Json(200, json!({})), false, Err(109)),
        (
            error(503, "no active servers hosting shard: shard1"),
            false,
            Err(109),
        ),
        (
            error(
                500,
                "Query contains too many nested clauses; maxClauseCount is set to 1024",
            ),
            false,
            Err(31),
        ),
        (error(400, "undefined field title_full"), false, Err(109)),
        (html("404 Not Found"), false, Err(109)),
        (
            FakeAnswer::Cut(b"HTTP/1.1 500 \r\nContent-Length: 9000\r\n\r\n{\"error\"".to_vec()),
            false,
            Err(109),
        ),
    ];
    for (answer, is_strict, expected) in cases {
        let shown = format!("{answer:?}");
        let node = FakeNode::start(move |request| {
            // The request that compares the map with the core has no filter.
            if request.path.starts_with("/books/select") && request.body.contains("filter") {
                answer.clone()
            } else {
                held(request)
            }
        })
        .await;
        let database = database(&node, is_strict);
        let found = outcome(&database, "@attr 1=4 x").await;
        assert_eq!(found, expected, "{shown}");
    }
}

#[tokio::test]
async fn a_missing_core_is_reported() {
    let node = FakeNode::start(|_| {
        FakeAnswer::with("404 Not Found", "Content-Type: text/html\r\n", "<html>")
    })
    .await;
    let refused = database(&node, false).check().await.expect_err("no core");
    assert_eq!(refused.to_string(), "there is no index books");
}

/// If a field is missing, one search fails. Before the next search, the database finds out what the index supports
/// without this field.
#[tokio::test]
async fn a_field_that_is_renamed_is_missed_at_once() {
    let is_renamed = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&is_renamed);
    let node = FakeNode::start(move |request| {
        if !flag.load(Ordering::Relaxed) {
            return held(request);
        }
        if request.body.contains("f=title_full ") {
            let words = "undefined field title_full";
            return FakeAnswer::Json(400, json!({ "error": { "msg": words, "code": 400 } }));
        }
        if request.path.starts_with("/books/admin/luke") {
            let mut shown = schema();
            if let Some(fields) = shown["schema"]["fields"].as_object_mut() {
                fields.remove("title_full");
            }
            return FakeAnswer::Json(200, shown);
        }
        held(request)
    })
    .await;
    let database = database(&node, false);
    for (renamed, pqf, expected) in [
        (false, "@attr 1=4 x", Ok((2, 0))),
        (true, "@attr 1=4 x", Err(109)),
        (true, "@attr 1=4 x", Err(114)),
        (true, "@attr 1=1003 x", Ok((2, 0))),
        (false, "@attr 1=4 x", Err(114)),
    ] {
        is_renamed.store(renamed, Ordering::Relaxed);
        assert_eq!(outcome(&database, pqf).await, expected, "{renamed} {pqf}");
    }
}

#[test]
fn failures_of_queries_are_distinguished_from_those_of_servers() {
    let refused = |reason: &str| {
        failed(Failure::Refused {
            place: "solr:8983".to_owned(),
            status: 500,
            kind: String::new(),
            reason: reason.to_owned(),
        })
        .diagnostic()
        .condition
    };
    let cases = [
        (
            "maxClauseCount is set to 1024",
            Condition::RESOURCES_EXHAUSTED,
        ),
        (
            "Query contains too many nested clauses; maxClauseCount is set to 1024",
            Condition::RESOURCES_EXHAUSTED,
        ),
        (
            "input automaton is too large: 1001",
            Condition::TRUNCATED_TOO_SHORT,
        ),
        ("undefined field nofield", Condition::DATABASE_UNAVAILABLE),
    ];
    for (reason, expected) in cases {
        assert_eq!(refused(reason), expected.0, "{reason}");
    }
}

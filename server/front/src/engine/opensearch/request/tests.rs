//! Tests of the queries that are sent to the engine. `‹` and `›` mark the edges of a subfield, and `‹›` in a class matches both.

use std::time::Duration;

use serde_json::{Value, json};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::query::parse_pqf;
use z3950_server::diagnostic;
use z3950_server::memory::{AccessPoints, DocidField, Profile};

use super::*;
use crate::engine::IndexUses;
use crate::engine::clause::translate;
use crate::engine::elastic::request::{TermsAfter, query, search, terms};
use crate::engine::opensearch::leaf::{Clause, Plan};
use crate::engine::plan::{FacetOf, MissingValue, OrderBy, Page, PageStart};

fn layout() -> EngineLayout {
    let (points, uses) = (AccessPoints::default(), IndexUses::default());
    let made = EngineLayout::new(points, Profile::default(), DocidField::default(), &uses);
    made.expect("indexes")
}

/// Returns the JSON for a query, or its diagnostic.
fn translated(layout: &EngineLayout, pqf: &str) -> Value {
    let rpn = parse_pqf(pqf).unwrap_or_else(|error| panic!("{pqf}: {error}"));
    let of_set = |name: &[u8]| match name {
        b"old" => Ok(Clause::Leaf(IndexLeaf::Terms(
            Terms::Words(IndexId::ANY),
            vec!["old".to_owned()],
        ))),
        b"frozen" => Ok(Clause::Leaf(IndexLeaf::Numbers([4, 2].into()))),
        _ => Err(diagnostic(Condition::RESULT_SET_DOES_NOT_EXIST, name)),
    };
    let found = translate(layout, &rpn, &of_set, false);
    match found.and_then(|found| query(layout, &found.clause)) {
        Ok(query) => {
            let text = query.to_string();
            let text = text.replace(SUBFIELD_BEGIN, "‹").replace(SUBFIELD_END, "›");
            serde_json::from_str(&text).expect("JSON")
        }
        Err(why) => json!(format!(
            "{} {}",
            why.condition,
            why.addinfo.to_string_lossy()
        )),
    }
}

fn check(cases: &[(&str, Value)]) {
    let layout = layout();
    for (pqf, expected) in cases {
        assert_eq!(translated(&layout, pqf), *expected, "{pqf}");
    }
}

fn word(word: &str) -> Value {
    json!({ "term": { "y_title": word } })
}

fn any(word: &str) -> Value {
    json!({ "term": { "y_any": word } })
}

fn at(token: &str) -> Value {
    json!({ "span_term": { "t_title": token } })
}

fn matching(expression: &str) -> Value {
    let regexp = json!({ "regexp": { "t_title": { "value": expression, "flags": "NONE" } } });
    json!({ "span_multi": { "match": regexp } })
}

fn near(clauses: &[Value], slop: u32) -> Value {
    json!({ "span_near": { "clauses": clauses, "slop": slop, "in_order": true } })
}

fn regexp(field: &str, expression: &str) -> Value {
    json!({ "regexp": { field: { "value": expression, "flags": "NONE" } } })
}

fn either(clauses: &[Value]) -> Value {
    json!({ "span_or": { "clauses": clauses } })
}

#[test]
fn words_and_phrases() {
    check(&[
        ("@attr 1=4 War", word("war")),
        (
            "@attr 1=4 {War & peace}",
            json!({ "bool": { "filter": [word("war"), word("peace")] } }),
        ),
        (
            "@attr 1=4 @attr 4=106 {War peace}",
            json!({ "terms": { "y_title": ["war", "peace"] } }),
        ),
        ("@attr 1=4 @attr 4=1 War", word("war")),
        (
            "@attr 1=4 @attr 4=1 {on war}",
            near(&[at("on"), at("war")], 0),
        ),
        ("@attr 1=4 @attr 3=1 war", near(&[at("_"), at("‹war")], 0)),
        ("@attr 1=4 @attr 3=2 war", at("‹war")),
        ("@attr 1=4 @attr 6=2 war", at("‹war›")),
        (
            "@attr 1=4 @attr 6=2 {on war}",
            near(&[at("‹on"), at("war›")], 0),
        ),
        (
            "@attr 1=4 @attr 6=3 {on war}",
            json!({ "term": { "x_title": "on war" } }),
        ),
        // The index `any` does not have whole entries.
        (
            "@attr 1=1016 @attr 6=3 war",
            json!({ "span_near": {
                "clauses": [
                    { "span_term": { "t_any": "_" } },
                    { "span_term": { "t_any": "‹war›" } },
                    { "span_term": { "t_any": "_" } },
                ],
                "slop": 0,
                "in_order": true,
            } }),
        ),
        (
            "@attr 1=4 @attr 6=3 @attr 5=1 {on war}",
            near(&[at("_"), at("‹on"), matching("war[^‹›]*")], 0),
        ),
        (
            "@attr 1=4 @attr 3=1 @attr 5=2 ar",
            near(&[at("_"), matching("‹[^‹›]*ar")], 0),
        ),
    ]);
}

#[test]
fn truncation_and_masks() {
    check(&[
        (
            "@attr 1=4 @attr 5=1 war",
            json!({ "range": { "y_title": { "gte": "war", "lt": "was" } } }),
        ),
        ("@attr 1=4 @attr 5=2 war", regexp("y_title", ".*war")),
        ("@attr 1=4 @attr 5=3 w", regexp("y_title", ".*w.*")),
        ("@attr 1=4 @attr 5=101 {w#r}", regexp("y_title", "w.*r")),
        (
            "@attr 1=4 @attr 5=104 {c?2l#r?}",
            regexp("y_title", "c.?.?l.r.*"),
        ),
        (
            "@attr 1=4 @attr 4=1 @attr 5=104 {on w#r}",
            near(&[at("on"), matching("w[^‹›]r")], 0),
        ),
        (
            "@attr 1=7 @attr 5=1 0306",
            json!({ "bool": {
                "should": [
                    { "range": { "k_isbn": { "gte": "0306", "lt": "0307" } } },
                    { "range": { "k_isbn": { "gte": "9780306", "lt": "9780307" } } },
                ],
                "minimum_should_match": 1,
            } }),
        ),
    ]);
}

#[test]
fn regular_expressions() {
    check(&[
        (
            "@attr 1=4 @attr 5=102 War(s|fare)?",
            regexp("y_title", "war(s|fare)?"),
        ),
        (
            "@attr 1=4 @attr 5=102 {w[ao]r+}",
            regexp("y_title", "w[AOao]r+"),
        ),
        ("@attr 1=4 @attr 5=102 {w.r.*}", regexp("y_title", "w.r.*")),
        (
            "@attr 1=4 @attr 5=102 \"w\\\\w+\"",
            regexp("y_title", "w.+"),
        ),
        (
            "@attr 1=4 @attr 5=102 \"wa{2,3}r\"",
            regexp("y_title", "wa{2,3}r"),
        ),
        (
            "@attr 1=4 @attr 4=3 @attr 5=102 {on w.*}",
            regexp("x_title", "on\\ w.*"),
        ),
        // Anchors and word boundaries are refused.
        ("@attr 1=4 @attr 5=102 ^war", json!("120 102")),
        ("@attr 1=4 @attr 5=102 \"war\\\\b\"", json!("120 102")),
    ]);
}

#[test]
fn relations() {
    check(&[
        (
            "@attr 1=4 @attr 2=2 war",
            json!({ "range": { "x_title": { "lte": "war" } } }),
        ),
        (
            "@attr 1=1016 @attr 2=5 war",
            json!({ "range": { "y_any": { "gt": "war" } } }),
        ),
        (
            "@attr 1=52 @attr 2=1 x9",
            json!({ "range": { "k_systemnumber": { "lt": "x9" } } }),
        ),
        (
            "@attr 1=4 @attr 2=6 war",
            json!({ "bool": {
                "filter": [{ "exists": { "field": "t_title" } }],
                "must_not": [word("war")],
            } }),
        ),
        (
            "@attr 1=4 @attr 2=103 x",
            json!({ "exists": { "field": "t_title" } }),
        ),
        (
            "@attr 1=54 @attr 2=103 x",
            json!({ "exists": { "field": "k_language" } }),
        ),
        ("@attr 1=1016 @attr 2=103 x", json!({ "match_all": {} })),
        (
            "@attr 1=1016 @attr 2=6 war",
            json!({ "bool": { "must_not": [any("war")] } }),
        ),
    ]);
}

#[test]
fn operators_are_flattened() {
    check(&[
        (
            "@and @and a b @and c d",
            json!({ "bool": { "filter": [any("a"), any("b"), any("c"), any("d")] } }),
        ),
        (
            "@or @or a b @or @attr 1=4 c d",
            json!({ "bool": {
                "should": [{ "terms": { "y_any": ["a", "b", "d"] } }, word("c")],
                "minimum_should_match": 1,
            } }),
        ),
        (
            "@not @not a b @or @attr 1=4 c d",
            json!({ "bool": { "filter": [any("a")], "must_not": [any("b"), word("c"), any("d")] } }),
        ),
        (
            "@and @set frozen @set old",
            json!({ "bool": { "filter": [{ "terms": { "number": [4, 2] } }, any("old")] } }),
        ),
        ("@and a @prox 0 0 1 3 k 2 b c", json!({ "match_none": {} })),
        ("@or a @prox 0 0 1 3 k 2 b c", any("a")),
        ("@set other", json!("30 other")),
        ("@attr 1=1032 id7", json!({ "ids": { "values": ["id7"] } })),
    ]);
}

#[test]
fn proximity() {
    let gap = |words: u32| json!({ "span_gap": { "t_title": words } });
    check(&[
        (
            "@prox 0 3 1 2 k 2 @attr 1=4 a @attr 1=4 @attr 4=1 {b c}",
            near(&[at("a"), near(&[at("b"), at("c")], 0)], 2),
        ),
        (
            "@prox 0 3 0 1 k 2 @attr 1=4 a @attr 1=4 b",
            either(&[near(&[at("a"), at("b")], 1), near(&[at("b"), at("a")], 1)]),
        ),
        (
            "@prox 0 3 1 3 k 2 @attr 1=4 a @attr 1=4 b",
            near(&[at("a"), gap(2), at("b")], 0),
        ),
        (
            "@prox 0 1 1 3 k 2 @attr 1=4 a @attr 1=4 b",
            near(&[at("a"), at("b")], 0),
        ),
        (
            "@prox 1 1 1 2 k 2 @attr 1=4 a @attr 1=4 b",
            json!({ "bool": {
                "filter": [word("a"), word("b")],
                "must_not": [near(&[at("a"), at("b")], 0)],
            } }),
        ),
        (
            "@prox 0 500 1 2 k 2 @attr 1=4 a @attr 1=4 @attr 5=1 b",
            near(&[at("a"), matching("b[^‹›]*")], 499),
        ),
        // Nested proximity becomes phrases with gaps.
        (
            "@prox 0 5 1 2 k 2 @prox 0 2 1 2 k 2 @attr 1=4 a @attr 1=4 b @attr 1=4 c",
            either(&[
                near(&[near(&[at("a"), at("b")], 0), at("c")], 4),
                near(&[near(&[at("a"), gap(1), at("b")], 0), at("c")], 4),
            ]),
        ),
        (
            "@prox 0 0 1 2 k 2 @attr 1=4 a @attr 1=4 b",
            json!({ "match_none": {} }),
        ),
        ("@prox 0 3 1 4 k 2 @attr 1=4 a @attr 1=4 b", json!("131 4")),
        ("@prox 0 3 1 2 k 1 @attr 1=4 a @attr 1=4 b", json!("132 1")),
        (
            "@prox 0 3 1 2 k 2 @attr 1=4 a @attr 1=1003 b",
            json!("201 operands of different indexes"),
        ),
        (
            "@prox 0 9 1 2 k 2 @prox 0 200 0 2 k 2 @attr 1=4 a @attr 1=4 b @attr 1=4 c",
            json!("202 129"),
        ),
    ]);
}

/// Everything that a client sends remains plain text in a query.
#[test]
fn hostile_terms_are_texts() {
    check(&[
        ("@attr 1=4 {\u{f800}war\u{f801} _}", word("war")),
        (
            "@attr 1=4 {\u{f800}\u{f801}_}",
            json!("125 \u{f800}\u{f801}_"),
        ),
        (
            "@attr 1=1032 \"\\\"}]}\\\\\u{0}\"",
            json!({ "ids": { "values": ["\"}]}\\\u{0}"] } }),
        ),
        (
            "@attr 1=55 {a\u{0}\u{1b}*}",
            json!({ "term": { "k_area": "a\u{0}\u{1b}*" } }),
        ),
        (
            "@attr 1=55 @attr 5=2 .*#&<~",
            regexp("k_area", ".*\\.\\*\\#\\&\\<\\~"),
        ),
    ]);
}

/// A long word is searched for in its truncated form; a long expression is refused.
#[test]
fn limits_of_terms() {
    let layout = layout();
    let long = "a".repeat(MOST_WORD + 1);
    let kept = "a".repeat(MOST_WORD);
    assert_eq!(
        translated(&layout, &format!("@attr 1=4 {long}")),
        word(&kept)
    );
    for (characters, is_taken) in [(996, true), (999, false)] {
        let start = "a".repeat(characters);
        let query = translated(&layout, &format!("@attr 1=4 @attr 5=3 {start}"));
        assert_eq!(query.is_object(), is_taken, "{characters}: {query}");
    }
}

#[test]
fn the_next_text_is_found() {
    for (start, expected) in [
        ("war", Some("was")),
        ("a\u{d7ff}", Some("a\u{e000}")),
        ("a\u{10ffff}", Some("b")),
        ("\u{10ffff}", None),
    ] {
        assert_eq!(after_all(start).as_deref(), expected, "{start}");
    }
}

#[test]
fn plans_become_searches() {
    let layout = layout();
    let clause = Clause::Leaf(IndexLeaf::Terms(
        Terms::Words(IndexId::ANY),
        vec!["war".to_owned()],
    ));
    let order = [OrderBy {
        key: SortKey {
            index: layout.map().by_name("title").expect("an index"),
            with_case: true,
        },
        descending: true,
        missing: MissingValue::As("m".to_owned()),
    }];
    let subjects = Terms::Keys(layout.map().by_name("subject").expect("an index"));
    let facets = [FacetOf {
        terms: subjects,
        most: 3,
        alphabetical: true,
    }];
    let counts = [clause.clone()];
    let plan = Plan {
        order: &order,
        page: Page {
            skip: 20,
            rows: 10,
            with_records: true,
            ..Page::default()
        },
        facets: &facets,
        counts: &counts,
        ..Plan::count(&clause, Duration::from_millis(1500))
    };
    let expected = json!({
        "query": any("war"),
        "track_total_hits": true,
        "timeout": "1500ms",
        "from": 20,
        "size": 10,
        "sort": [{ "c_title": { "order": "desc", "missing": "m" } }, { "number": "asc" }],
        "_source": ["record"],
        "aggs": {
            "facet-0": { "terms": {
                "field": "x_subject",
                "size": 3,
                "shard_size": 1006,
                "order": { "_key": "asc" },
            } },
            "counts": {
                "global": {},
                "aggs": { "counts": { "filters": { "filters": [any("war")] } } },
            },
        },
    });
    assert_eq!(search(&layout, &plan).expect("a search"), expected);
}

#[test]
fn pages_begin_at_numbers_and_after_places() {
    let layout = layout();
    let clause = Clause::Everything;
    let of = |page: Page<'_>| {
        let plan = Plan {
            page,
            ..Plan::count(&clause, Duration::from_secs(1))
        };
        search(&layout, &plan).expect("a search")
    };
    let counted = of(Page {
        start: PageStart::Number(7),
        ..Page::default()
    });
    let bound = |name: &str| {
        let range = json!({ "range": { "number": { name: 7 } } });
        json!({ "bool": { "filter": [{ "match_all": {} }, range] } })
    };
    assert_eq!(
        (&counted["query"], &counted["track_total_hits"]),
        (&bound("lt"), &json!(true))
    );
    let read = of(Page {
        start: PageStart::Number(7),
        rows: 1,
        ..Page::default()
    });
    assert_eq!(
        (&read["query"], &read["track_total_hits"], &read["_source"]),
        (&bound("gte"), &json!(false), &json!(false))
    );
    let after = of(Page {
        start: PageStart::After("[\"x\",5]"),
        rows: 1,
        ..Page::default()
    });
    assert_eq!(after["search_after"], json!(["x", 5]));
}

#[test]
fn terms_are_read_in_both_directions() {
    let layout = layout();
    let scan = TermsAfter {
        field: "y_any",
        start: "war",
        from: Some("wa"),
        most: 5,
        within: &Clause::Everything,
        deadline: Duration::from_millis(1500),
    };
    let sources =
        |order: &str| json!([{ "terms": { "terms": { "field": "y_any", "order": order } } }]);
    let body = terms(&layout, &scan).expect("a search");
    let expected = json!({ "terms": { "composite": {
        "size": 5,
        "sources": sources("desc"),
        "after": { "terms": "war" },
    } } });
    assert_eq!(
        (&body["aggs"], &body["timeout"]),
        (&expected, &json!("1500ms"))
    );
    let range = json!({ "range": { "y_any": { "gte": "wa", "lt": "war" } } });
    let filter = json!({ "bool": { "filter": [range, { "match_all": {} }] } });
    assert_eq!(body["query"], filter);
    let all = TermsAfter {
        start: "",
        from: None,
        ..scan
    };
    let body = terms(&layout, &all).expect("a search");
    let expected = json!({ "terms": { "composite": { "size": 5, "sources": sources("asc") } } });
    let everything = json!({ "match_all": {} });
    assert_eq!((&body["aggs"], &body["query"]), (&expected, &everything));
}

//! Tests of the queries that are sent to the engine, with words folded as the tests define.

use std::time::Duration;

use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::query::parse_pqf;
use z3950_server::diagnostic;

use super::*;
use crate::engine::catalogue::map::CatalogueMap;
use crate::engine::catalogue::plan::{Clause, FacetOf, OrderBy, Plan};
use crate::engine::clause::translate;
use crate::engine::elastic::request::{self, search};
use crate::engine::plan::{MissingValue, Page, PageStart};

const MAP: &str = r#"engine = "koha"
[record]
identifier = "_id"
order = "number"
field = "marc_data"
format = "marc_format"
[[hidden]]
field = "suppress"
value = "true"
[suffixes]
words = ""
masks = ""
whole = ".phrase"
keys = ".ci_raw"
ranges = ".ci_raw"
sort = "__sort"
[[index]]
name = "docid"
use = [1032]
[[index]]
name = "title"
use = [4]
fields = ["title"]
[[index]]
name = "author"
use = [1003]
fields = ["author", "name"]
[[index]]
name = "isbn"
use = [7]
kind = "isbn"
words = ["isbn"]
masks = ["isbn"]
[[index]]
name = "date"
use = [30]
kind = "date"
words = ["copydate"]
years = ["year.raw"]
days = ["day.raw"]
stamps = ["stamp.raw"]
"#;

fn offer() -> Offer {
    let map = CatalogueMap::parse(MAP).expect("a map");
    Offer::new(&map, None).0
}

fn fields<'a>(offer: &'a Offer, analysis: &'a Analysis) -> KohaFields<'a> {
    KohaFields { offer, analysis }
}

/// Returns the words into which the tests' engine folds strings.
fn analysis() -> Analysis {
    let mut analysis = Analysis::default();
    let words = |words: &[&str]| {
        { words.iter() }
            .map(|word| vec![(*word).to_owned()])
            .collect::<Vec<_>>()
    };
    for (field, text, folded) in [
        ("title", "War", &["war"][..]),
        ("title", "Pea", &["pea"]),
        ("title", "and", &["and"]),
        ("title", "e-Mail", &["e", "mail"]),
        ("title", "!", &[]),
        ("title.phrase", "War : peace.", &["war  peace"]),
        ("title.phrase", "War", &["war"]),
        ("title.phrase", "!a", &["a"]),
        ("title.phrase", "!", &[]),
        ("title.ci_raw", "WÄ", &["wa"]),
        ("isbn", "03064", &["03064"]),
        ("isbn", "97803064", &["97803064"]),
    ] {
        analysis.note_words(field, text, words(folded));
    }
    let synonyms = vec![vec!["tv".to_owned(), "television".to_owned()]];
    analysis.note_words("title", "TV", synonyms);
    for (text, folded) in [("WÓ", "wo"), ("N", "n"), ("½", "")] {
        analysis.note_whole(text, folded);
    }
    analysis
}

/// Returns the query, or its diagnostic.
fn asked(pqf: &str) -> Value {
    let query = parse_pqf(pqf).unwrap_or_else(|error| panic!("{pqf}: {error}"));
    let none = |name: &[u8]| Err(diagnostic(Condition::RESULT_SET_DOES_NOT_EXIST, name));
    let offer = offer();
    let found = translate(&offer, &query, &none, false);
    match found.and_then(|found| request::query(&fields(&offer, &analysis()), &found.clause)) {
        Ok(query) => query,
        Err(why) => json!(why.condition),
    }
}

fn check(pqf: &str, expected: &Value) {
    assert_eq!(asked(pqf), *expected, "{pqf}");
}

fn should(queries: Value) -> Value {
    json!({ "bool": { "should": queries, "minimum_should_match": 1 } })
}

fn regexp(field: &str, expression: &str) -> Value {
    json!({ "regexp": { field: { "value": expression, "flags": "NONE" } } })
}

fn multi_match(query: &str, operator: &str, zero: Option<&str>) -> Value {
    let mut inner = json!({
        "query": query, "operator": operator, "fields": ["author", "name"], "lenient": true,
    });
    if let Some(zero) = zero {
        inner["zero_terms_query"] = json!(zero);
    }
    json!({ "multi_match": inner })
}

/// Words are sent unchanged.
#[test]
fn words_are_not_folded() {
    check(
        "@attr 1=4 Łódź!",
        &json!({ "match_phrase": { "title": "Łódź!" } }),
    );
    check(
        "@attr 1=4 {Łódź  O'Neill}",
        &json!({ "match": { "title": { "query": "Łódź O'Neill", "operator": "and" } } }),
    );
    check(
        "@attr 1=4 @attr 4=106 {a b}",
        &json!({ "match": { "title": { "query": "a b", "operator": "or" } } }),
    );
    check(
        "@attr 1=4 @attr 4=1 {a b}",
        &json!({ "match_phrase": { "title": "a b" } }),
    );
    let phrase = |field: &str| json!({ "match_phrase": { field: "a b" } });
    check(
        "@attr 1=1003 @attr 4=1 {a b}",
        &should(json!([phrase("author"), phrase("name")])),
    );
}

/// Each word may be in a different field. A word of which nothing remains after folding is ignored.
#[test]
fn words_of_several_fields() {
    let all = Some("all");
    check(
        "@attr 1=1003 {a & b}",
        &json!({ "bool": { "filter": [
            multi_match("a", "and", all),
            multi_match("&", "and", all),
            multi_match("b", "and", all),
            multi_match("a & b", "or", None),
        ] } }),
    );
    let none = Some("none");
    check(
        "@attr 1=1003 @attr 4=106 {a b}",
        &should(json!([
            multi_match("a", "or", none),
            multi_match("b", "or", none)
        ])),
    );
}

#[test]
fn truncation_and_masks() {
    check(
        "@attr 1=4 @attr 5=1 War",
        &json!({ "prefix": { "title": "war" } }),
    );
    check("@attr 1=4 @attr 5=2 War", &regexp("title", ".*war"));
    check("@attr 1=4 @attr 5=3 War", &regexp("title", ".*war.*"));
    check("@attr 1=4 @attr 5=104 {WÓ#N?}", &regexp("title", "wo.n.*"));
    check("@attr 1=4 @attr 5=104 {WÓ?2N}", &regexp("title", "wo.?.?n"));
    // The engine splits this term into two words.
    check(
        "@attr 1=4 @attr 5=1 e-Mail",
        &json!({ "span_near": { "clauses": [
            { "span_term": { "title": "e" } },
            { "span_multi": { "match": { "prefix": { "title": "mail" } } } },
        ], "slop": 0, "in_order": true } }),
    );
    // The engine drops all characters of this word, so it matches nothing.
    check("@attr 1=4 @attr 5=104 {½#}", &json!({ "match_none": {} }));
    // Synonyms do not apply to the beginning of a word.
    check(
        "@attr 1=4 @attr 5=1 TV",
        &json!({ "prefix": { "title": "tv" } }),
    );
    check(
        "@attr 1=4 @attr 5=1 {War Pea}",
        &json!({ "bool": { "filter": [
            { "prefix": { "title": "war" } },
            { "prefix": { "title": "pea" } },
        ] } }),
    );
}

#[test]
fn edges_are_those_of_whole_values() {
    check(
        "@attr 1=4 @attr 6=3 {War : peace.}",
        &regexp("title.phrase", " *war +peace *"),
    );
    check(
        "@attr 1=4 @attr 3=1 {War : peace.}",
        &regexp("title.phrase", " *war +peace( .*)?"),
    );
    check(
        "@attr 1=4 @attr 6=3 @attr 5=1 War",
        &regexp("title.phrase", " *war[^ ]*( .*)?"),
    );
    check(
        "@attr 1=4 @attr 6=3 @attr 5=2 War",
        &regexp("title.phrase", "(.* )?[^ ]*war *"),
    );
    check("@attr 1=4 @attr 6=3 {!a}", &regexp("title.phrase", " *a *"));
}

#[test]
fn distances() {
    let near = |clauses: Value, slop: u32| json!({ "span_near": { "clauses": clauses, "slop": slop, "in_order": true } });
    let term = |text: &str| json!({ "span_term": { "title": text } });
    check(
        "@prox 0 3 1 2 k 2 @attr 1=4 War @attr 1=4 and",
        &near(json!([term("war"), term("and")]), 2),
    );
    check(
        "@prox 0 3 0 2 k 2 @attr 1=4 War @attr 1=4 and",
        &json!({ "span_or": { "clauses": [
            near(json!([term("war"), term("and")]), 2),
            near(json!([term("and"), term("war")]), 2),
        ] } }),
    );
    check(
        "@prox 0 3 1 3 k 2 @attr 1=4 War @attr 1=4 and",
        &near(
            json!([term("war"), { "span_gap": { "title": 2 } }, term("and")]),
            0,
        ),
    );
    // The engine drops all characters of the second operand, so nothing can match.
    let nothing = "@prox 0 3 1 2 k 2 @attr 1=4 War @attr 1=4 @attr 5=104 {½#}";
    check(nothing, &json!({ "match_none": {} }));
}

#[test]
fn numbers_dates_and_ranges() {
    let isbn = |form: &str| json!({ "match": { "isbn": { "query": form, "operator": "and", "lenient": true } } });
    check(
        "@attr 1=7 0306406152",
        &should(json!([isbn("9780306406157"), isbn("0306406152")])),
    );
    check(
        "@attr 1=7 @attr 5=1 0-306-4",
        &should(json!([
            { "prefix": { "isbn": "03064" } },
            { "prefix": { "isbn": "97803064" } },
        ])),
    );
    check(
        "@attr 1=30 1990",
        &should(json!([
            { "match_phrase": { "copydate": "1990" } },
            { "term": { "year.raw": "1990" } },
            { "prefix": { "day.raw": "1990" } },
            { "prefix": { "stamp.raw": "1990" } },
        ])),
    );
    check(
        "@attr 1=30 @attr 2=5 2005-01-31",
        &should(json!([
            { "range": { "year.raw": { "gte": "20050131:", "lt": ":" } } },
            { "range": { "day.raw": { "gte": "2005-01-31:", "lt": ":" } } },
            { "range": { "stamp.raw": { "gte": "20050131:", "lt": ":" } } },
        ])),
    );
    check(
        "@attr 1=30 @attr 2=2 1999",
        &should(json!([
            { "range": { "year.raw": { "gte": "0", "lt": "1999:" } } },
            { "range": { "day.raw": { "gte": "0", "lt": "1999:" } } },
            { "range": { "stamp.raw": { "gte": "0", "lt": "1999:" } } },
        ])),
    );
    check(
        "@attr 1=4 @attr 2=4 {War /}",
        &json!({ "range": { "title.ci_raw": { "gte": "War /" } } }),
    );
    check(
        "@attr 1=1032 {5 6}",
        &json!({ "ids": { "values": ["5 6"] } }),
    );
    check(
        "@attr 1=4 @attr 2=103 x",
        &json!({ "exists": { "field": "title" } }),
    );
}

/// The engine does not parse any of the client's text, and none of it can end a JSON value.
#[test]
fn hostile_text_stays_a_value() {
    for text in [
        "\"}},\"query\":{\"match_all\":{",
        "/.*/",
        "a:b",
        "_query_:x",
        "{!lucene}*:*",
        "${q}",
        "a AND NOT b",
        "*",
        "\\",
        "~",
        "<a>",
    ] {
        let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
        if !text.chars().any(char::is_alphanumeric) {
            check(&format!("@attr 1=4 @attr 4=1 \"{escaped}\""), &json!(125));
            continue;
        }
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let expected = json!({ "match_phrase": { "title": words } });
        check(&format!("@attr 1=4 @attr 4=1 \"{escaped}\""), &expected);
    }
}

#[test]
fn masks_have_a_greatest_length() {
    let mut analysis = Analysis::default();
    let text = "a".repeat(998);
    for (text, expected) in [(text.clone(), 0), (text + "a", 11)] {
        analysis.note_words("title", &text, vec![vec![text.clone()]]);
        let query = parse_pqf(&format!("@attr 1=4 @attr 5=2 {text}")).expect("a query");
        let none = |name: &[u8]| Err(diagnostic(Condition::RESULT_SET_DOES_NOT_EXIST, name));
        let offer = offer();
        let found = translate(&offer, &query, &none, false).expect("a clause");
        let asked = request::query(&fields(&offer, &analysis), &found.clause);
        assert_eq!(asked.map_or_else(|why| why.condition, |_| 0), expected);
    }
}

/// Hidden records are excluded from searches, counts and lists, and the order is always the same.
#[test]
fn plans_become_searches() {
    let offer = offer();
    let query = parse_pqf("@attr 1=4 a").expect("a query");
    let none = |name: &[u8]| Err(diagnostic(Condition::RESULT_SET_DOES_NOT_EXIST, name));
    let clause = translate(&offer, &query, &none, false)
        .expect("a clause")
        .clause;
    let order = [OrderBy {
        key: "title__sort".to_owned(),
        descending: true,
        missing: MissingValue::First,
    }];
    let facets = [FacetOf {
        terms: "author__facet".to_owned(),
        most: 3,
        alphabetical: false,
    }];
    let counts = [Clause::Everything];
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
    let visible = |found: Value| {
        json!({ "bool": {
            "filter": [found],
            "must_not": [{ "term": { "suppress": "true" } }],
        } })
    };
    let found = visible(json!({ "match_phrase": { "title": "a" } }));
    let expected = json!({
        "query": found,
        "track_total_hits": true,
        "timeout": "1500ms",
        "size": 10,
        "from": 20,
        "sort": [
            { "title__sort": { "order": "desc", "missing": "_first" } },
            { "number": "asc" },
        ],
        "_source": ["marc_data", "marc_format"],
        "aggs": {
            "facet-0": { "terms": {
                "field": "author__facet",
                "size": 3,
                "shard_size": 1006,
                "order": [{ "_count": "desc" }, { "_key": "asc" }],
            } },
            "counts": { "global": {}, "aggs": { "counts": { "filters": { "filters": [
                visible(json!({ "match_all": {} })),
            ] } } } },
        },
    });
    assert_eq!(
        search(&fields(&offer, &Analysis::default()), &plan),
        Ok(expected)
    );
    let after = Plan {
        page: Page {
            start: PageStart::After("[\"a\\u0001\",5]"),
            rows: 5,
            ..Page::default()
        },
        ..Plan::count(&clause, Duration::from_secs(1))
    };
    let body = search(&fields(&offer, &Analysis::default()), &after).expect("a search");
    assert_eq!(body["search_after"], json!(["a\u{1}", 5]));
    assert_eq!(
        (&body["track_total_hits"], &body["_source"]),
        (&json!(false), &json!(false))
    );
}

//! Tests of the queries that are sent to Solr, and of the strings to which the queries refer.

use std::ops::Bound;

use z3950_asn1::query::parse_pqf;

use super::*;
use crate::engine::catalogue::map::CatalogueMap;
use crate::engine::clause::translate;
use crate::engine::plan::Page;

const MAP: &str = r#"engine = "solr"
[record]
identifier = "id"
order = "id"
field = "fullrecord"
format = "record_format"
[[hidden]]
field = "building"
value = "Closed"
[[only]]
field = "institution"
value = "A b"
[[index]]
name = "docid"
use = [12]
[[index]]
name = "title"
use = [4]
words = ["title", "title_alt"]
masks = ["title_unstemmed"]
sort = ["title_sort"]
[[index]]
name = "note"
use = [63]
words = ["note"]
[[index]]
name = "author"
use = [1003]
words = ["author"]
masks = ["author"]
keys = ["author_facet"]
whole = ["author_whole"]
facet = ["author_facet"]
[[index]]
name = "lccn"
use = [9]
kind = "lccn"
keys = ["lccn"]
[[index]]
name = "format"
use = [1031]
kind = "code"
keys = ["format-name"]
[[index]]
name = "date"
use = [31]
kind = "date"
years = ["year"]
"#;

fn offer() -> Offer {
    let map = CatalogueMap::parse(MAP).expect("a map");
    Offer::new(&map, None).0
}

/// Returns the clause for a query, or the condition of its diagnostic.
fn clause(offer: &Offer, pqf: &str) -> Result<Clause, i64> {
    let query = parse_pqf(pqf).unwrap_or_else(|error| panic!("{pqf}: {error}"));
    let none = |name: &[u8]| Err(diagnostic(Condition::RESULT_SET_DOES_NOT_EXIST, name));
    let translated = translate(offer, &query, &none, false);
    translated
        .map(|found| found.clause)
        .map_err(|why| why.condition)
}

/// Returns the query and the strings to which it refers, or the condition of the diagnostic.
fn asked(pqf: &str) -> Result<(Value, Vec<String>), i64> {
    let offer = offer();
    let clause = clause(&offer, pqf)?;
    let request = Request::new(&offer, &Analysis::as_written(), &clause);
    let body = request.map_err(|why| why.condition)?.body();
    let texts = body["params"].as_object().expect("texts").values();
    let texts = texts.map(|text| text.as_str().expect("a text").to_owned());
    // The last two strings come from the filters.
    let texts: Vec<String> = texts.collect();
    let (own, filters) = texts.split_at(texts.len() - 2);
    assert_eq!(filters, ["A b", "Closed"]);
    Ok((body["query"].clone(), own.to_vec()))
}

fn check(pqf: &str, query: &str, texts: &[&str]) {
    let (found, own) = asked(pqf).unwrap_or_else(|condition| panic!("{pqf}: {condition}"));
    assert_eq!(found, lucene(query), "{pqf}");
    assert_eq!(own, texts, "{pqf}");
}

/// The client's text occurs only in a parameter.
#[test]
fn words_go_as_they_were_written() {
    check(
        r#"@attr 1=63 @attr 4=1 "{!x} a:b""#,
        "{!field f=note v=$z0}",
        &["{!x} a:b"],
    );
    check(
        "@attr 1=4 @attr 4=1 {Łódź O'Neill}",
        "({!field f=title v=$z0} {!field f=title_alt v=$z1})",
        &["Łódź O'Neill", "Łódź O'Neill"],
    );
    check(
        "@attr 1=4 @attr 4=6 {a b}",
        "+({!field f=title v=$z0} {!field f=title_alt v=$z1}) +({!field f=title v=$z2} {!field f=title_alt v=$z3})",
        &["a", "a", "b", "b"],
    );
    check(
        "@attr 1=63 @attr 4=106 {a b}",
        "({!field f=note v=$z0} {!field f=note v=$z1})",
        &["a", "b"],
    );
    check(
        "@attr 1=63 @attr 2=103 x",
        "{!lucene df=note v=$z0}",
        &["[* TO *]"],
    );
}

#[test]
fn masks_are_escaped() {
    let title = "{!lucene df=title_unstemmed v=$z0}";
    check("@attr 1=4 @attr 5=1 Wa", title, &["Wa*"]);
    check("@attr 1=4 @attr 5=2 Wa", title, &["*Wa"]);
    check("@attr 1=4 @attr 5=3 (Wa)", title, &["*Wa*"]);
    check("@attr 1=4 @attr 5=104 w#r?d", title, &["w?r*d"]);
    let two = "({!lucene df=title_unstemmed v=$z0} {!lucene df=title_unstemmed v=$z1})";
    check("@attr 1=4 @attr 5=104 col?1r", two, &["col?r", "colr"]);
    let format = "{!lucene df=format-name v=$z0}";
    check(
        "@attr 1=1031 @attr 5=1 {a:b (c)*}",
        format,
        &["a\\:b\\ \\(c\\)\\**"],
    );
    // Words in capitals must not be treated as operators.
    check("@attr 1=1031 @attr 5=101 OR", format, &["\\OR"]);
    check("@attr 1=1031 @attr 5=104 NOT", format, &["\\NOT"]);
    for (pqf, condition) in [
        ("@attr 1=63 @attr 5=1 wa", Condition::TRUNCATION),
        ("@attr 1=4 @attr 5=1 o'nei", Condition::TRUNCATION),
        ("@attr 1=4 @attr 5=102 wa", Condition::TRUNCATION),
        (
            "@attr 1=4 @attr 5=104 ?1a?1b?1c?1d?1e",
            Condition::TRUNCATION,
        ),
    ] {
        assert_eq!(asked(pqf).map(|_| ()), Err(condition.0), "{pqf}");
    }
    let long = "ж".repeat(500);
    let refused = asked(&format!("@attr 1=4 @attr 5=1 {long}")).map(|_| ());
    assert_eq!(refused, Err(Condition::TOO_MANY_CHARACTERS.0));
}

#[test]
fn distances_are_of_single_words() {
    let phrase = "{!complexphrase inOrder=true df=note v=$z0}";
    check(
        "@prox 0 3 1 2 k 2 @attr 1=63 war @attr 1=63 AND",
        phrase,
        &["\"war and\"~2"],
    );
    check(
        "@prox 0 1 1 3 k 2 @attr 1=63 war @attr 1=63 Peace",
        phrase,
        &["\"war Peace\"~0"],
    );
    let both =
        "({!complexphrase inOrder=true df=note v=$z0} {!complexphrase inOrder=true df=note v=$z1})";
    check(
        "@prox 0 3 0 2 k 2 @attr 1=63 a @attr 1=63 b",
        both,
        &["\"a b\"~2", "\"b a\"~2"],
    );
    check(
        "@prox 0 2 1 2 k 2 @attr 1=4 @attr 5=1 wa @attr 1=4 peace",
        "{!complexphrase inOrder=true df=title_unstemmed v=$z0}",
        &["\"wa* peace\"~1"],
    );
    for (pqf, condition) in [
        (
            "@prox 0 3 1 2 k 2 @attr 1=63 a:b @attr 1=63 c",
            Condition::PROXIMITY,
        ),
        (
            "@prox 0 3 1 2 k 2 @attr 1=63 @attr 4=1 {a b} @attr 1=63 c",
            Condition::PROXIMITY,
        ),
        (
            "@prox 0 3 1 3 k 2 @attr 1=63 a @attr 1=63 c",
            Condition::PROXIMITY_RELATION,
        ),
        (
            "@prox 0 100 1 2 k 2 @attr 1=63 a @attr 1=63 c",
            Condition::PROXIMITY_DISTANCE,
        ),
    ] {
        assert_eq!(asked(pqf).map(|_| ()), Err(condition.0), "{pqf}");
    }
}

#[test]
fn whole_values_and_their_beginnings() {
    check(
        "@attr 1=1003 @attr 6=3 {Wells, H. G.}",
        "{!field f=author_whole v=$z0}",
        &["Wells, H. G."],
    );
    // The term is sent as the field folds it, or unchanged if the folding is not known yet.
    check(
        "@attr 1=1003 @attr 3=1 @attr 5=1 {Wells, H}",
        "{!prefix f=author_whole v=$z0}",
        &["Wells, H"],
    );
    // The field's value is the term, or begins with the term and a space, so that the term ends at the end of a word.
    check(
        "@attr 1=1003 @attr 3=1 Wells",
        "({!prefix f=author_whole v=$z0} {!term f=author_whole v=$z1})",
        &["Wells ", "Wells"],
    );
    let long = "w ".repeat(200);
    for (pqf, condition) in [
        (
            "@attr 1=1003 @attr 3=1 @attr 5=101 w#ls",
            Condition::TRUNCATION,
        ),
        (
            "@attr 1=1003 @attr 6=3 @attr 5=2 wells",
            Condition::COMPLETENESS,
        ),
        ("@attr 1=4 @attr 3=1 war", Condition::POSITION),
        (
            &*format!("@attr 1=1003 @attr 3=1 {{{long}}}"),
            Condition::TOO_MANY_CHARACTERS,
        ),
    ] {
        assert_eq!(asked(pqf).map(|_| ()), Err(condition.0), "{pqf}");
    }
}

/// A page at a high position begins after an identifier, and only in the order of identifiers.
#[test]
fn pages_begin_after_a_record() {
    let offer = offer();
    let page = Page {
        start: PageStart::After("id\"7"),
        rows: 10,
        ..Page::default()
    };
    let plan = Plan {
        page,
        ..Plan::count(&Clause::Everything, Duration::from_secs(7))
    };
    let request = search(&offer, &Analysis::as_written(), &plan).expect("a request");
    let body = request.body();
    let after = lucene("{!lucene df=id v=$z2}");
    assert_eq!(
        body["query"],
        json!({ "bool": { "must": [lucene("*:*")], "filter": [after] } })
    );
    assert_eq!(body["params"]["z2"], "{\"id\\u00227\" TO *]");
    assert_eq!(
        (&body["offset"], &body["sort"]),
        (&json!(0), &json!("id asc"))
    );
    let order = [OrderBy {
        key: "year".to_owned(),
        descending: false,
        missing: MissingValue::Last,
    }];
    let sorted = Plan {
        order: &order,
        ..plan
    };
    let refused = search(&offer, &Analysis::as_written(), &sorted);
    assert_eq!(
        refused.map(|_| ()).map_err(|why| why.condition),
        Err(Condition::OUT_OF_RANGE.0)
    );
}

#[test]
fn numbers_codes_and_dates() {
    check(
        "@attr 1=12 {a,b}",
        "{!terms f=id separator=\"\\u001f\" v=$z0}",
        &["a,b"],
    );
    check(
        "@attr 1=1031 {Book A}",
        "{!field f=format-name v=$z0}",
        &["Book A"],
    );
    let (_, texts) = asked("@attr 1=9 n78890351").expect("asked");
    let forms: Vec<&str> = texts[0].split('\u{1f}').collect();
    assert_eq!(
        forms,
        ["n  78890351", "n  78890351 ", "n78890351", "n78890351 "]
    );
    let year = "{!lucene df=year v=$z0}";
    check("@attr 1=31 1990", "{!field f=year v=$z0}", &["1990"]);
    check("@attr 1=31 @attr 2=1 1990", year, &["[* TO \"1990\"}"]);
    check("@attr 1=31 @attr 2=4 1990", year, &["[\"1990\" TO *]"]);
}

#[test]
fn bounds_are_written_as_numbers() {
    let bounds = (
        Bound::Included("a\\\"𝔴".to_owned()),
        Bound::Excluded(String::new()),
    );
    assert_eq!(
        leaf::range(&bounds),
        "[\"a\\u005c\\u0022\\ud835\\udd34\" TO \"\"}"
    );
}

/// A part that excludes records is never in the same string as a part that includes records: if a word were dropped,
/// the string would match nearly all records.
#[test]
fn operators_are_objects() {
    let offer = offer();
    let clause =
        clause(&offer, "@not @attr 1=63 a @or @attr 1=63 b @attr 1=12 c").expect("a clause");
    let request = Request::new(&offer, &Analysis::as_written(), &clause).expect("a request");
    let word = |name: &str| lucene(&format!("{{!field f=note v=${name}}}"));
    let id = lucene("{!terms f=id separator=\"\\u001f\" v=$z2}");
    let body = request.body();
    assert_eq!(
        body["query"],
        json!({ "bool": { "must": [word("z0")], "must_not": [word("z1"), id] } })
    );
    let only = lucene("{!field f=institution v=$z3}");
    let hidden = lucene("{!field f=building v=$z4}");
    let hidden = json!({ "bool": { "must": [lucene("*:*")], "must_not": [hidden] } });
    assert_eq!(body["filter"], json!([only, hidden]));
    let negated = self::clause(&offer, "@attr 1=63 @attr 2=6 a").expect("a clause");
    let request = Request::new(&offer, &Analysis::as_written(), &negated).expect("a request");
    let found = request.body();
    assert_eq!(found["query"]["bool"]["must_not"], json!([word("z1")]));
}

#[test]
fn pages_orders_and_facets() {
    let offer = offer();
    let order = [
        OrderBy {
            key: "title-sort".to_owned(),
            descending: true,
            missing: MissingValue::First,
        },
        OrderBy {
            key: "year".to_owned(),
            descending: false,
            missing: MissingValue::Last,
        },
    ];
    let facets = [FacetOf {
        terms: "author_facet".to_owned(),
        most: 5,
        alphabetical: false,
    }];
    let plan = Plan {
        order: &order,
        facets: &facets,
        page: Page {
            skip: 20,
            rows: 10,
            with_records: true,
            ..Page::default()
        },
        ..Plan::count(&Clause::Everything, Duration::from_millis(7_500))
    };
    let request = search(&offer, &Analysis::as_written(), &plan).expect("a request");
    let body = request.body();
    assert_eq!((&body["limit"], &body["offset"]), (&json!(10), &json!(20)));
    assert_eq!(
        body["sort"],
        "if(exists(field(\"title-sort\")),1,0) asc,title-sort desc,year asc,id asc"
    );
    assert_eq!(body["facet"]["facet0"]["limit"], 5);
    let options = request.options(plan.deadline, true);
    assert!(
        options.ends_with("&fl=id,fullrecord,record_format&shards.tolerant=false&timeAllowed=7500"),
        "{options}"
    );
    assert!(options.contains("expandMacros=false"), "{options}");
    let replaced = [OrderBy {
        key: "year".to_owned(),
        descending: false,
        missing: MissingValue::As("x".to_owned()),
    }];
    let refused = search(
        &offer,
        &Analysis::as_written(),
        &Plan {
            order: &replaced,
            page: Page {
                rows: 1,
                ..Page::default()
            },
            ..plan
        },
    );
    assert_eq!(
        refused.map(|_| ()).map_err(|why| why.condition),
        Err(Condition::MISSING_VALUE_ACTION.0)
    );
}

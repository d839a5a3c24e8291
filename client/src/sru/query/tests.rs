//! Tests of queries and sort keys with their translations to CQL.

use super::*;
use z3950_asn1::apdu::External;
use z3950_asn1::query::parse_pqf;

fn search(query: &Query, options: &SruOptions) -> Result<SruQuery, String> {
    let mut known = Translations::default();
    let first = search_again(query, options, &mut known);
    assert_eq!(search_again(query, options, &mut known), first, "{query:?}");
    first
}

fn search_again(
    query: &Query,
    options: &SruOptions,
    known: &mut Translations,
) -> Result<SruQuery, String> {
    let set = |name: &InternationalString| {
        (name.as_bytes() == b"1").then(|| SruQuery::cql("dc.title=war sortby dc.date"))
    };
    SruQuery::of_search(query, options, known, set).map_err(|refused| match refused {
        Refused::For(diagnostics) => diagnostics.iter().map(ToString::to_string).collect(),
        Refused::Error(error) => error.to_string(),
    })
}

#[test]
fn type_1_queries_become_cql() {
    let mut options = SruOptions::default();
    options.indexes.insert(7, "alma.isbn".into());
    for (pqf, expected) in [
        ("war", "war"),
        ("@attr 1=4 war", "dc.title = war"),
        ("@attr 1=1003 tolstoy", "dc.creator = tolstoy"),
        ("@attr 1=12 id7", "rec.identifier = id7"),
        ("@attr 4=104 @attr 1=1032 id7", "rec.id = id7"),
        ("@attr 1=31 1990", "dc.date = 1990"),
        ("@attr 1=7 @attr 4=1 123", "alma.isbn = 123"),
        (
            "@attr 1=8 @attr 2=3 @attr 3=3 @attr 4=6 @attr 5=100 @attr 6=1 12",
            "bath.issn = 12",
        ),
        (
            "@and @attr 1=4 war @attr 1=8 12",
            "dc.title = war and bath.issn = 12",
        ),
        (
            "@and @set 1 @attr 1=8 12",
            "dc.title = war and bath.issn = 12",
        ),
        ("@not a @set 1", "a not dc.title = war"),
        ("@attr 1=4 @attr 5=1 war", "dc.title = war*"),
        ("@attr 1=4 \"peace war\"", "dc.title = \"peace war\""),
        ("@attr 1=4 @attr 4=6 war", "dc.title = war"),
        (
            "@attr 1=4 @attr 4=6 \"peace war\"",
            "dc.title all \"peace war\"",
        ),
        (
            "@attr 1=4 @attr 4=1 @attr 6=1 \"war and peace\"",
            "dc.title adj \"war and peace\"",
        ),
        (
            "@attr 1=4 @attr 4=1 @attr 6=3 \"war and peace\"",
            "dc.title exact \"war and peace\"",
        ),
        ("@attr 1=4 @attr 6=3 emma", "dc.title exact emma"),
        (
            "@or @and @attr 1=4 a @set 1 @attr 1=4 @attr 4=1 \"b c\"",
            "dc.title = a and dc.title = war or dc.title adj \"b c\"",
        ),
    ] {
        let query = Query::Type1(parse_pqf(pqf).expect(pqf));
        let found = search(&query, &options);
        let expected = Ok(SruQuery::cql(expected));
        assert_eq!(found, expected, "{pqf}");
    }
}

#[test]
fn queries_that_differ_in_plain_words_share_a_translation() {
    let options = SruOptions::default();
    let mut known = Translations::default();
    for (form, kept) in [
        ("@attr 4=104 @attr 1=1032 W", 1),
        ("@attr 1=4 @attr 4=1 @attr 6=3 W", 2),
        ("@and @attr 1=4 W @or @attr 1=1003 y W", 3),
        ("W", 4),
        // Masks and anchors depend on the term, so these translations are not shared.
        ("@attr 1=4 @attr 5=1 W", 4),
        ("@attr 1=4 \"W W\"", 4),
        ("@or @set 1 W", 4),
        ("@attr 2=99 W", 4),
    ] {
        for word in ["war", "x", "and", "SORTBY", "exact", "all", "1", "1990"] {
            let query = Query::Type1(parse_pqf(&form.replace('W', word)).expect(form));
            let found = search_again(&query, &options, &mut known);
            assert_eq!(found, search(&query, &options), "{form} {word}");
        }
        assert_eq!(known.len(), kept, "{form}");
    }
    for value in 1..=40 {
        let query = Query::Type1(parse_pqf(&format!("@attr 1={value} w")).expect("a query"));
        let _ = search_again(&query, &options, &mut known);
    }
    assert_eq!(known.len(), 16);
}

#[test]
fn other_queries_are_sent_unchanged_or_refused() {
    let pqf = SruOptions {
        pqf: true,
        ..SruOptions::default()
    };
    let rpn = |text| Query::Type1(parse_pqf(text).expect(text));
    let typed = |text: &str| Query::Type104(External::octet_aligned(oid::CQL, text));
    let found = search(&rpn("@attr 2=99 x"), &pqf).expect("a query");
    assert_eq!(
        (&*found.text, found.query_type),
        ("@attr 2=99 x", QueryType::Pqf)
    );
    for (query, options, expected) in [
        (
            typed("pica.all=x sortby y"),
            &pqf,
            Ok(SruQuery::cql("pica.all=x sortby y")),
        ),
        (
            rpn("@attr 2=99 x"),
            &SruOptions::default(),
            Err("diagnostic 123"),
        ),
        (
            rpn("@attr 1=4 @attr 4=3 @attr 6=1 war"),
            &SruOptions::default(),
            Err(
                "diagnostic 123 (the server cannot combine these attributes): the properties have no CQL for @attr 4=3 war: it cannot be expressed in CQL; with pqf = true",
            ),
        ),
        (rpn("@set 2"), &SruOptions::default(), Err("diagnostic 30")),
        (rpn("@set 1"), &pqf, Err("diagnostic 18")),
        (Query::Type2("x".into()), &pqf, Err("diagnostic 107")),
    ] {
        let found = search(&query, options);
        match (&found, expected) {
            (Err(words), Err(begin)) => assert!(words.starts_with(begin), "{words}"),
            (found, expected) => assert_eq!(*found, expected.map_err(str::to_owned)),
        }
    }
}

#[test]
fn sort_keys_are_indexes() {
    use crate::protocol::service::sort::{key_by_attributes, key_by_field};
    let mut late = key_by_attributes(
        vec![AttributeElement::numeric(1, 31)],
        SortRelation::DESCENDING,
    );
    late.missing_value_action = Some(Missing::Abort);
    let keys = [late, key_by_field("my title", SortRelation::ASCENDING)];
    let keys = sort_keys(&keys, &SruOptions::default()).ok().expect("keys");
    let text = |query: &str| {
        let sorted = SruQuery::cql(query).sorted_by(&keys).ok().expect("CQL");
        sorted.text
    };
    let sortby = "sortby dc.date/sort.descending/sort.missingFail \"my title\"";
    assert_eq!(text("a and b"), format!("a and b {sortby}"));
    assert_eq!(text("a sortby x"), format!("a {sortby}"));
    assert_eq!(text("a and"), format!("a and {sortby}"));
    assert_eq!(sort_parameter(&keys), "dc.date,,0,,abort \"my title\"");
    let by_use = key_by_attributes(
        vec![AttributeElement::numeric(2, 99)],
        SortRelation::ASCENDING,
    );
    assert!(sort_keys(&[by_use], &SruOptions::default()).is_err());
}

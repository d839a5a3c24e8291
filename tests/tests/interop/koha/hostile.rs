//! Tests text that could be syntax in some part of an engine. Such text only finds records that contain it, and the node does not
//! report any errors.

use z3950_asn1::apdu::{
    CaseSensitivity, MissingValueAction, RpnQuery, RpnStructure, SortElement, SortKey, SortRelation,
};
use z3950_asn1::query::parse_pqf;
use z3950_server::backend::{
    Backend, DatabaseName, Operand, Scan, Search, Sort, SortKeySpec, Term,
};
use z3950_tests::koha::{Edition, KohaIndex, made_up, shared_node};

use super::brute::{ACCESS, Asked, Brute};
use super::{hits, opened};

const HOSTILE: [&str; 38] = [
    "*",
    "war*",
    "*:*",
    "title:war",
    "war AND peace",
    "war OR zzz",
    "war && peace || zzz",
    "NOT war",
    "+war -peace",
    "(war",
    "war)",
    "war/peace",
    "/war/",
    "/.*/",
    "war~2",
    "war^5",
    "\"war",
    "war\" OR \"peace",
    "'war'",
    "_exists_:title",
    "_query_:\"war\"",
    "_query_:\"{!lucene}title:war\"",
    "{!lucene}war",
    "{!term f=title}war",
    "{\"match_all\":{}}",
    "\"}},{\"match_all\":{",
    "]}}]",
    "${war}",
    "${jndi:ldap://127.0.0.1/war}",
    "{{war}}",
    "%{war}",
    "<script>war",
    "war\u{0}peace",
    "war\u{1f}peace\u{1e}",
    "war\r\nGET /",
    "\u{feff}war\u{202e}",
    "wa?r[a-z]",
    "\\",
];

/// The conditions for invalid terms: those that lack a letter or digit, or do not have the form that their attributes require.
const NO_TERM: [i64; 6] = [113, 118, 120, 123, 125, 126];

#[tokio::test(flavor = "multi_thread")]
async fn hostile_terms_are_only_text() {
    let Some(cluster) = shared_node() else {
        return;
    };
    let index = KohaIndex::filled(cluster, "hostile", Edition::Current, &made_up(80));
    let (engine, brute) = (opened(&index), Brute::new(&index));
    let names = [DatabaseName::from("town")];
    let (mut wrong, mut found_some) = (Vec::new(), 0);
    for term in HOSTILE {
        for (access, _) in ACCESS {
            for (structure, truncation) in
                [(0, 0), (1, 0), (3, 0), (106, 0), (0, 1), (0, 2), (1, 1)]
            {
                let mut asked = Asked::new(*access, term);
                (asked.structure, asked.truncation) = (structure, truncation);
                let pqf = asked.pqf();
                let query = parse_pqf(&pqf).unwrap_or_else(|error| panic!("{pqf}: {error}"));
                let found = engine.search(Search::new(&names, &query)).await;
                let expected = brute.find(&asked).len();
                match found {
                    Ok(found) if found.hits.len() == expected => {
                        found_some += usize::from(expected > 0);
                    }
                    Ok(found) => {
                        wrong.push(format!("{pqf}: {} instead of {expected}", found.hits.len()));
                    }
                    Err(why) if NO_TERM.contains(&why.condition) => {}
                    Err(why) => wrong.push(format!("{pqf}: {why:?}")),
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong: {wrong:#?}", wrong.len());
    assert!(found_some > 50, "{found_some} find records");
    assert_eq!(cluster.logged(&index.name), [""; 0]);
}

/// Hostile text in other parts of requests does not find anything, or is refused.
#[tokio::test(flavor = "multi_thread")]
async fn hostile_text_is_inert_in_every_place() {
    let Some(cluster) = shared_node() else {
        return;
    };
    let index = KohaIndex::filled(cluster, "places", Edition::Current, &made_up(40));
    let engine = opened(&index);
    let names = [DatabaseName::from("town")];
    let all = hits(&engine, "@attr 1=1016 @attr 2=103 x").await;
    let mut wrong = Vec::new();
    for term in HOSTILE {
        // These access points are for numbers, codes, dates, identifiers and distances, in which no hostile term occurs. A search
        // must therefore find nothing or be refused.
        for attributes in [
            "1=7",
            "1=8",
            "1=9",
            "1=10",
            "1=12",
            "1=1007",
            "1=1028",
            "1=1031",
            "1=31",
            "1=54",
            "1=1012",
            "1=7 @attr 5=1",
            "1=1028 @attr 5=1",
            "1=1028 @attr 5=2",
            "1=12 @attr 4=3",
        ] {
            let mut pqf = Asked::new(0, term).pqf();
            pqf.insert_str(0, &format!("@attr {attributes} "));
            match super::found(&engine, &pqf).await {
                Ok(hits) if hits.is_empty() => {}
                Err(condition) if NO_TERM.contains(&condition) => {}
                other => wrong.push(format!("{pqf}: {:?}", other.map(|hits| hits.len()))),
            }
        }
        let near = format!("@prox 0 3 0 2 k 2 {0} {0}", Asked::new(4, term).pqf());
        if let Err(condition) = super::found(&engine, &near).await
            && ![129, 131, 132].contains(&condition)
            && !NO_TERM.contains(&condition)
        {
            wrong.push(format!("{near}: {condition}"));
        }
        // The term is also used as the start of a scan, and as the replacement for a missing sort value.
        let pqf = format!("@attr 4=1 {}", Asked::new(1003, term).pqf());
        let start = parse_pqf(&pqf).expect("a term");
        let mut scan = Scan::new(&names, start.attribute_set, operand(&start));
        (scan.before, scan.after) = (3, 3);
        if let Err(why) = engine.scan(scan).await {
            wrong.push(format!("scan {term}: {why:?}"));
        }
        let key = |name: &str, value: &str| SortKeySpec {
            sort_element: SortElement::Generic(SortKey::SortField(name.into())),
            sort_relation: SortRelation::ASCENDING,
            case_sensitivity: CaseSensitivity::CASE_INSENSITIVE,
            missing_value_action: Some(MissingValueAction::MissingValueData(
                value.as_bytes().to_vec().into(),
            )),
        };
        for (key, expected) in [(key("title", term), None), (key(term, "x"), Some(207))] {
            let sort = Sort::new(std::slice::from_ref(&all), std::slice::from_ref(&key));
            let sorted = engine.sort(sort).await;
            if sorted.as_ref().err().map(|why| why.condition) != expected {
                wrong.push(format!("sort {key:?}: {sorted:?}"));
            }
        }
    }
    // These octets are not UTF-8: surrogates, parts of characters, and an overlong sequence.
    for octets in [
        &b"\xED\xA0\x80"[..],
        b"war\xED\xB0\x80",
        b"w\xFF\xFEr",
        b"\xC0\xAF",
        b"\xF0\x9F",
    ] {
        for access in [4, 7, 12, 31, 54, 1003, 1016, 1028] {
            let mut query = parse_pqf(&Asked::new(access, "x").pqf()).expect("a query");
            let RpnStructure::Op(Operand::AttributesPlusTerm(operand)) = &mut query.rpn else {
                panic!("{query:?}");
            };
            operand.term = Term::General(octets.to_vec().into());
            match engine.search(Search::new(&names, &query)).await {
                Ok(found) if found.hits.is_empty() => {}
                Err(why) if NO_TERM.contains(&why.condition) => {}
                other => wrong.push(format!("{octets:?} in {access}: {other:?}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong: {wrong:#?}", wrong.len());
    assert_eq!(cluster.logged(&index.name), [""; 0]);
}

fn operand(query: &RpnQuery) -> &z3950_server::backend::AttributesPlusTerm {
    match &query.rpn {
        RpnStructure::Op(Operand::AttributesPlusTerm(operand)) => operand,
        other => panic!("{other:?}"),
    }
}

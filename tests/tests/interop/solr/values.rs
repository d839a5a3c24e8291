//! Tests of numbers, codes and years, of queries that are refused, and of hostile terms.

use z3950_asn1::apdu::RpnStructure;
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_server::backend::{Backend, Operand, Search, Term};
use z3950_tests::solr::SolrShape;

use super::Filled;
use super::catalogue::{Ids, Outcome, SolrCatalogue, query};

/// The fields for titles and for all words, with their Use values.
const TEXTS: [(i64, &[&str]); 2] = [
    (4, &["title_full", "title_alt", "title_new", "title_old"]),
    (1016, &["allfields"]),
];

/// A function that returns whether a value is a year for which a query searches.
type IsYear = fn(&str) -> bool;

#[tokio::test(flavor = "multi_thread")]
async fn numbers_codes_and_years_are_found() {
    let shape = SolrShape::VuFind;
    let Some(filled) = Filled::new(shape, "numbers", 120) else {
        return;
    };
    let (catalogue, naive) = (SolrCatalogue::open(&filled, shape), &filled.naive);
    let equal = |field: &'static str, wanted: &str| naive.value(&[field], |value| value == wanted);
    let mut cases: Vec<(String, Outcome)> = vec![
        ("@attr 1=12 id7".to_owned(), Ok(equal("id", "id7"))),
        ("@attr 1=12 ID7".to_owned(), Ok(Ids::new())),
        (
            "@attr 1=54 eng".to_owned(),
            Ok(equal("language", "English")),
        ),
        (
            "@attr 1=54 English".to_owned(),
            Ok(equal("language", "English")),
        ),
        (
            "@attr 1=54 @attr 2=6 eng".to_owned(),
            Ok(&naive.filled(&["language"]) - &equal("language", "English")),
        ),
        ("@attr 1=1031 Book".to_owned(), Ok(equal("format", "Book"))),
        (
            "@attr 1=1031 @attr 5=1 Bo".to_owned(),
            Ok(equal("format", "Book")),
        ),
        (
            "@attr 1=9 71000004".to_owned(),
            Ok(naive.value(&["lccn"], |value| value.contains("71000004"))),
        ),
        (
            "@attr 1=1003 @attr 6=3 {Müller, Herta, 1828-1910}".to_owned(),
            Ok(naive.value(&["author_facet"], |value| {
                value == "Müller, Herta, 1828-1910."
            })),
        ),
    ];
    let relations: [(i64, IsYear); 5] = [
        (1, |year| year < "1930"),
        (2, |year| year <= "1930"),
        (3, |year| year == "1930"),
        (4, |year| year >= "1930"),
        (5, |year| year > "1930"),
    ];
    for (relation, fits) in relations {
        let pqf = format!("@attr 1=31 @attr 2={relation} 1930");
        cases.push((pqf, Ok(naive.value(&["publishDate"], fits))));
    }
    for record in filled.records.iter().take(60) {
        let id = String::from_utf8_lossy(record.control_number().expect("one")).into_owned();
        let Some(number) = record.field("020").and_then(|field| field.text("a")) else {
            continue;
        };
        let digits = number.split(' ').next().expect("one");
        let isbn = z3950_marc::standard_number::Isbn::parse(digits).expect("valid");
        let (own, hyphens) = (
            Ids::from([id]),
            format!("{}-{}", &digits[..3], &digits[3..]),
        );
        let ten = isbn.ten().expect("of 978");
        for form in [digits, hyphens.as_str(), ten.as_str()] {
            cases.push((format!("@attr 1=7 {form}"), Ok(own.clone())));
        }
    }
    for number in ["QA7.3", "qa12.5"] {
        let folded = number.to_lowercase();
        let found = naive.word(&["callnumber-search"], |word| word.starts_with(&folded));
        cases.push((format!("@attr 1=16 @attr 5=1 {{{number}}}"), Ok(found)));
    }
    let (wrong, finding) = catalogue.compare(&cases).await;
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(finding > 100, "{finding}");
}

/// If the fields of an index do not support a query, the query is refused with the diagnostic of a memory backend that does not
/// support it.
#[tokio::test(flavor = "multi_thread")]
async fn queries_that_cannot_be_expressed_are_refused() {
    let shape = SolrShape::VuFind;
    let Some(filled) = Filled::new(shape, "refused", 20) else {
        return;
    };
    let catalogue = SolrCatalogue::open(&filled, shape);
    let cases = [
        ("@attr 1=63 war", Condition::USE),
        ("@attr 1=4 @attr 2=1 war", Condition::RELATION),
        ("@attr 1=4 @attr 2=100 war", Condition::RELATION),
        ("@attr 1=4 @attr 3=1 war", Condition::POSITION),
        ("@attr 1=4 @attr 6=3 war", Condition::COMPLETENESS),
        ("@attr 1=4 @attr 4=3 war", Condition::STRUCTURE),
        ("@attr 1=5 @attr 5=1 war", Condition::TRUNCATION),
        ("@attr 1=4 @attr 5=102 war", Condition::TRUNCATION),
        ("@attr 1=4 @attr 5=1 O'Nei", Condition::TRUNCATION),
        (
            "@prox 0 3 1 3 k 2 @attr 1=4 war @attr 1=4 peace",
            Condition::PROXIMITY_RELATION,
        ),
        (
            "@prox 0 300 1 2 k 2 @attr 1=4 war @attr 1=4 peace",
            Condition::PROXIMITY_DISTANCE,
        ),
        (
            "@prox 0 3 1 2 k 2 @attr 1=4 the @attr 1=4 peace",
            Condition::PROXIMITY,
        ),
    ];
    let cases: Vec<_> = { cases.iter() }
        .map(|(pqf, condition)| ((*pqf).to_owned(), Err(condition.0)))
        .collect();
    let (wrong, _) = catalogue.compare(&cases).await;
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Tests terms that contain text that Solr's parsers would interpret as operators, fields, macros or the names of other parsers.
#[tokio::test(flavor = "multi_thread")]
async fn hostile_terms_are_text() {
    const HOSTILE: [&str; 30] = [
        "{!lucene}*:*",
        "_query_:\"*:*\"",
        "/.*/",
        "title_full:war",
        "war OR peace",
        "war AND NOT peace",
        "*:* -war",
        "${q}",
        "${fl} war",
        "$z0",
        "war\\",
        "\\u002a",
        "\"war",
        "'war'",
        "[* TO *]",
        "{* TO z}",
        "war~5",
        "war^100",
        "war)",
        "(war",
        "&fq=id:id1",
        "war\r\nX: y",
        "\u{1e}war",
        "\u{1f}war\u{1f}",
        "war \u{ffff} 𝔴𝔞𝔯",
        "<war/>",
        "war\0peace",
        "*",
        "w{",
        "{!complexphrase inOrder=true df=id v='*'}",
    ];
    let shape = SolrShape::VuFind;
    let Some(filled) = Filled::new(shape, "hostile", 60) else {
        return;
    };
    let catalogue = SolrCatalogue::open(&filled, shape);
    let mut wrong = Vec::new();
    for text in HOSTILE {
        for (use_value, fields) in TEXTS {
            for structure in [1, 6] {
                let mut asked = query(&format!("@attr 1={use_value} @attr 4={structure} x"));
                if let RpnStructure::Op(Operand::AttributesPlusTerm(operand)) = &mut asked.rpn {
                    operand.term = Term::General(text.as_bytes().to_vec().into());
                }
                let found = catalogue
                    .database
                    .search(Search::new(&catalogue.names, &asked))
                    .await;
                let found = found.map(|found| found.hits.len());
                let expected = match structure {
                    1 => filled.naive.phrase(fields, text),
                    _ => filled.naive.words(fields, text, true),
                };
                let is_equal = match &found {
                    Ok(count) => *count == expected.len(),
                    // A term without letters may be refused, because it would not find anything.
                    Err(why) => why.condition == Condition::MALFORMED_TERM.0 && expected.is_empty(),
                };
                if !is_equal {
                    wrong.push(format!("{text:?} {structure} {found:?} {}", expected.len()));
                }
            }
        }
        // None of the records contains the text as a key, an identifier or a masked word.
        for attributes in [
            "1=12",
            "1=7",
            "1=1031",
            "1=54",
            "1=9",
            "1=52",
            "1=16",
            "1=4 @attr 5=1",
            "1=1031 @attr 5=1",
        ] {
            let mut asked = query(&format!("@attr {attributes} x"));
            if let RpnStructure::Op(Operand::AttributesPlusTerm(operand)) = &mut asked.rpn {
                operand.term = Term::General(text.as_bytes().to_vec().into());
            }
            let found = catalogue
                .database
                .search(Search::new(&catalogue.names, &asked))
                .await;
            let is_text = match &found {
                Ok(found) => found.hits.is_empty() || attributes == "1=4 @attr 5=1",
                Err(why) => why.condition != Condition::DATABASE_UNAVAILABLE.0,
            };
            if !is_text || found.as_ref().is_ok_and(|found| found.hits.len() == 60) {
                wrong.push(format!("{attributes} {text:?}: {found:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let log = filled.nodes.log(&filled.collection);
    let failed: Vec<_> = { log.iter() }
        .filter(|line| !line.starts_with("INFO ") && !line.contains("deprecated"))
        .collect();
    assert!(
        log.len() > HOSTILE.len() && failed.is_empty(),
        "{failed:#?}"
    );
}

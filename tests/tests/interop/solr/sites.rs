//! Tests of additions that a site makes to a copy of a map: further indexes, complete titles, words with synonyms, and hidden
//! records.

use z3950_asn1::bib1::diagnostics::Condition;
use z3950_tests::program::z3950;
use z3950_tests::random::Random;
use z3950_tests::solr::SolrShape;

use super::catalogue::{Outcome, SolrCatalogue, shipped};
use super::home::{Home, check};
use super::{Filled, WORDS};

/// An index that a site defines has a Use value, and therefore a name in CQL.
#[test]
fn an_index_of_a_site_is_searched_scanned_and_counted() {
    let Some(filled) = Filled::new(SolrShape::VuFind, "own", 60) else {
        return;
    };
    let urls = filled.nodes.urls(&filled.collection);
    let added = "\n[[index]]\nname = \"shelf\"\nuse = [9001]\nkind = \"code\"\nkeys = [\"callnumber-raw\"]\nscan = [\"callnumber-raw\"]\nfacet = [\"callnumber-raw\"]\n\
                 \n[[index]]\nname = \"gone\"\nuse = [9002]\nwords = [\"nowhere_at_all\"]\n";
    let home = Home::with_map(&urls, |map| map + added);
    let checked = home.check();
    assert_eq!(checked.code, Some(0), "{checked:?}");
    check(&checked.stderr, &["own.toml", "gone is not offered"]);
    let served = home.serve();
    let (value, _) = filled
        .naive
        .terms("callnumber-raw")
        .pop_first()
        .expect("one");
    let ids = filled.naive.value(&["callnumber-raw"], |own| own == value);
    assert_eq!(
        served.count(&format!("@attr 1=9001 {{{value}}}")),
        ids.len()
    );
    check(
        &z3950(["search", &served.target(), "@attr 1=9002 x"]).stderr,
        &["114"],
    );
    let Some(found) = served.sru(
        &format!("bib1.9001=\"{value}\""),
        &["facetLimit=2:bib1.9001"],
    ) else {
        return;
    };
    let hits = format!("numberOfRecords>{}<", ids.len());
    check(&found, &[&hits, &format!("actualTerm>{value}<")]);
    let unknown = served.sru("shelf=x", &[]).unwrap_or_default();
    check(&unknown, &["diagnostic/1/16", "shelf"]);
    let scan = format!("scanClause=bib1.9001 exact \"{value}\"");
    let scanned = served.http("town", &["version=2.0", "operation=scan", &scan]);
    check(&scanned.unwrap_or_default(), &[&format!("value>{value}<")]);
    let explained = served.http("town", &["version=2.0", "operation=explain"]);
    check(
        &explained.unwrap_or_default(),
        &["shelf", "<name set=\"bib1\">9001</name>"],
    );
}

/// Returns the text of the built-in map with these lines added to its index of titles.
fn with_titles(map: &str, lines: &str) -> String {
    let title = "masks = [\"title_full_unstemmed\"]\n";
    assert!(map.contains(title));
    map.replacen(title, &format!("{title}{lines}\n"), 1)
}

/// If the index has a field for complete titles, completeness and position are supported; otherwise, they are refused.
#[tokio::test(flavor = "multi_thread")]
async fn whole_titles_and_their_beginnings_are_found_in_a_field_for_them() {
    let shape = SolrShape::VuFind;
    let Some(filled) = Filled::new(shape, "whole", 150) else {
        return;
    };
    let without = SolrCatalogue::open(&filled, shape);
    let catalogue = SolrCatalogue::with_map(
        &filled,
        &with_titles(shipped(shape), "whole = [\"title_whole\"]"),
    );
    let naive = &filled.naive;
    let mut random = Random::new("whole titles");
    let whole: Vec<String> = naive.terms("title_whole").into_keys().collect();
    let mut cases: Vec<(String, Outcome)> = Vec::new();
    for place in 0..120 {
        let title = random.pick(&whole).clone();
        let words: Vec<&str> = title.split(' ').collect();
        let some = words[..random.below(words.len()) + 1].join(" ");
        let cut: String = some
            .chars()
            .take(some.chars().count().div_ceil(2))
            .collect();
        let invented = format!("{} {}", random.pick(&WORDS), random.pick(&WORDS));
        let of = |fits: &dyn Fn(&str) -> bool| Ok(naive.word(&["title_whole"], |own| fits(own)));
        let begins = |own: &str, text: &str| {
            own.strip_prefix(text)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        };
        let fold = |text: &str| {
            let folded = naive.query_words("title_whole", text);
            folded
                .first()
                .map_or_else(String::new, |token| token.text.clone())
        };
        let (attributes, text) = match place % 5 {
            0 => ("@attr 6=3", title.to_uppercase()),
            1 => ("@attr 3=2", format!("{some}: ")),
            2 => ("@attr 3=1 @attr 5=1", cut),
            3 => ("@attr 3=1", invented),
            _ => ("@attr 6=3 @attr 5=1", some),
        };
        let folded = fold(&text);
        let expected = match place % 5 {
            0 => of(&|own| own == folded),
            1 | 3 => of(&|own| begins(own, &folded)),
            _ => of(&|own| own.starts_with(&folded)),
        };
        let pqf = format!("@attr 1=4 {attributes} {{{text}}}");
        cases.push((pqf, expected));
    }
    for (pqf, condition) in [
        (
            "@attr 1=4 @attr 3=1 @attr 5=101 {w#r}",
            Condition::TRUNCATION,
        ),
        ("@attr 1=4 @attr 6=3 @attr 5=2 war", Condition::COMPLETENESS),
        ("@attr 1=5 @attr 3=1 war", Condition::POSITION),
    ] {
        cases.push((pqf.to_owned(), Err(condition.0)));
    }
    let (wrong, finding) = catalogue.compare(&cases).await;
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(finding > 60, "{finding}");
    let refused = [
        ("@attr 1=4 @attr 3=1 war", Condition::POSITION),
        ("@attr 1=4 @attr 6=3 war", Condition::COMPLETENESS),
    ];
    let refused = refused.map(|(pqf, condition)| (pqf.to_owned(), Err(condition.0)));
    let (wrong, _) = without.compare(&refused).await;
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A word in a field with synonyms also finds its synonyms. Proximity and masks are refused in such a field.
#[tokio::test(flavor = "multi_thread")]
async fn words_with_synonyms_are_found_by_the_rules_of_the_field() {
    let shape = SolrShape::VuFind;
    let Some(filled) = Filled::of_titles(
        "synonyms",
        &[
            "The red car",
            "A motor car",
            "My automobile",
            "A warrior",
            "The soldier's car",
            "Motor and car",
        ],
    ) else {
        return;
    };
    let map = shipped(shape)
        .replacen(
            "words = [\"title_full\", \"title_alt\", \"title_new\", \"title_old\"]",
            "words = [\"title_synonyms\"]",
            1,
        )
        .replacen(
            "masks = [\"title_full_unstemmed\"]",
            "masks = [\"title_synonyms\"]",
            1,
        );
    let catalogue = SolrCatalogue::with_map(&filled, &map);
    assert!(catalogue.database.check().await.is_ok(), "{shape:?}");
    let found = |ids: &[usize]| Ok(ids.iter().map(|id| format!("t{id}")).collect());
    let cases: Vec<(String, Outcome)> = [
        ("@attr 1=4 automobile", found(&[0, 1, 2, 4, 5])),
        ("@attr 1=4 @attr 4=1 {motor car}", found(&[0, 1, 2, 4, 5])),
        ("@attr 1=4 @attr 4=1 {red automobile}", found(&[0])),
        // The rule replaces this word with its synonym, so only the synonym is searched for.
        ("@attr 1=4 soldier", found(&[3])),
        ("@attr 1=4 @attr 5=1 sold", found(&[4])),
        // Synonyms do not apply to the beginning of a word.
        ("@attr 1=4 @attr 5=1 automobile", found(&[2])),
        (
            "@prox 0 2 0 2 k 2 @attr 1=4 red @attr 1=4 car",
            Err(Condition::PROXIMITY.0),
        ),
    ]
    .map(|(pqf, expected)| (pqf.to_owned(), expected))
    .into();
    let (wrong, _) = catalogue.compare(&cases).await;
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// If the analysis of the fields removes a word, it does not find anything. In a list of words, it is ignored.
#[tokio::test(flavor = "multi_thread")]
async fn stop_words_find_no_record() {
    let shape = SolrShape::VuFind;
    let Some(filled) = Filled::of_titles(
        "stopped",
        &["The war", "War of the worlds", "Of the", "Peace"],
    ) else {
        return;
    };
    let catalogue = SolrCatalogue::open(&filled, shape);
    let found = |ids: &[usize]| Ok(ids.iter().map(|id| format!("t{id}")).collect());
    let cases: Vec<(String, Outcome)> = [
        ("@attr 1=4 the", found(&[])),
        ("@attr 1=4 @attr 4=1 {of the}", found(&[])),
        ("@attr 1=4 @attr 4=6 {the war}", found(&[0, 1])),
        ("@attr 1=4 @attr 4=105 {the peace}", found(&[3])),
        ("@and @attr 1=4 the @attr 1=4 war", found(&[])),
        ("@or @attr 1=4 the @attr 1=4 war", found(&[0, 1])),
        ("@not @attr 1=4 war @attr 1=4 the", found(&[0, 1])),
        ("@not @attr 1=4 the @attr 1=4 war", found(&[])),
        // The stop word is left out, so any word matches in its place.
        ("@attr 1=4 @attr 4=1 {war in the worlds}", found(&[1])),
        ("@attr 1=4 @attr 5=1 th", found(&[])),
        (
            "@prox 0 2 0 2 k 2 @attr 1=4 the @attr 1=4 war",
            Err(Condition::PROXIMITY.0),
        ),
    ]
    .map(|(pqf, expected)| (pqf.to_owned(), expected))
    .into();
    let (wrong, _) = catalogue.compare(&cases).await;
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A map can hide the records that have a certain value in a field, or those that do not have it. Hidden records are never found,
/// counted or listed.
#[test]
fn records_are_hidden_and_chosen_by_values() {
    let Some(filled) = Filled::new(SolrShape::VuFind, "hidden", 60) else {
        return;
    };
    let urls = filled.nodes.urls(&filled.collection);
    let (all, books) = (
        filled.naive.all(),
        filled.naive.value(&["format"], |own| own == "Book"),
    );
    assert!(!books.is_empty() && books.len() < all.len());
    for (table, shown) in [("only", books.len()), ("hidden", all.len() - books.len())] {
        let added = format!("\n[[{table}]]\nfield = \"format\"\nvalue = \"Book\"\n");
        let served = Home::with_map(&urls, |map| map + &added).serve();
        assert_eq!(served.count("@attr 1=1016 @attr 2=103 x"), shown, "{table}");
        let scanned = served
            .yaz("scan @attr 1=1031 @attr 4=1 A")
            .unwrap_or_default();
        if !scanned.is_empty() {
            let line = format!("Book ({})", books.len());
            assert_eq!(scanned.contains(&line), table == "only", "{scanned}");
            assert_eq!(scanned.contains("Book"), table == "only", "{scanned}");
        }
    }
}

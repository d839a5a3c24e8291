//! Tests of searching and retrieving records with the complete backend.

use z3950_asn1::apdu::{ExternalEncoding, RpnQuery};
use z3950_asn1::oid::{SUTRS, UKMARC, USMARC};
use z3950_asn1::record::RetrievedRecord;
use z3950_marc::{Field, iso2709};

mod changes;
mod headroom;
mod journals;
mod merges;
mod orders;
mod saved;
mod sets;

use super::*;
use crate::memory::hits::RecordNumber;
use crate::requests::{now, record_of};
use crate::testing::record;

/// Runs a search; returns the numbers of the records found, or the condition and the additional information of the diagnostic.
fn found(backend: &dyn Backend, databases: &[&str], query: &RpnQuery) -> Result<Vec<i64>, String> {
    let databases: Vec<_> = databases
        .iter()
        .map(|name| DatabaseName::from(*name))
        .collect();
    let search = |query| Search::new(&databases, query);
    let second = pqf("@attr 1=1032 2");
    let second = now(backend.search(search(&second))).map(|found| found.hits);
    let search = Search {
        result_set: &|name| second.clone().ok().filter(|_| name == b"s"),
        ..search(query)
    };
    match now(backend.search(search)) {
        Ok(Found { hits, .. }) => {
            let records = hits.ids(0..hits.len());
            Ok(records.iter().map(|record| record.0).collect())
        }
        Err(diagnostic) => Err(format!(
            "{} {}",
            diagnostic.condition,
            diagnostic.addinfo.to_string_lossy()
        )),
    }
}

fn pqf(text: &str) -> RpnQuery {
    text.parse()
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn check(backend: &dyn Backend, databases: &[&str], text: &str, expected: &[i64]) {
    let found = found(backend, databases, &pqf(text));
    assert_eq!(found.as_deref(), Ok(expected), "{databases:?} {text}");
}

#[test]
fn docids_are_found_exactly() {
    let records = [
        record("id7", "War"),
        record("ID 8", "Emma"),
        record("  padded ", "Peace"),
        record("dup", "One"),
        record("dup", "Two"),
        record("caf\u{e9}", "Coffee"),
        record("a/b;c", "Odd"),
    ];
    let backend = MemoryBackend::builder()
        .add_records("cat", records)
        .expect("valid")
        .build();
    for (docid, expected) in [
        ("id7", &[0][..]),
        ("ID7", &[]),
        ("\"id7 \"", &[]),
        ("id", &[]),
        ("\"ID 8\"", &[1]),
        ("padded", &[2]),
        ("dup", &[3, 4]),
        ("caf\u{e9}", &[5]),
        ("cafe", &[]),
        ("a/b;c", &[6]),
        ("\"\"", &[]),
    ] {
        for attributes in [
            "@attr 1=1032",
            "@attr 1=12",
            "@attr 1=1032 @attr 4=104",
            "@attr 4=104 @attr 1=1032",
            "@attr 1=1032 @attr 4=107",
            "@attr 4=108 @attr 1=1032",
            "@attr 5=100 @attr 2=3 @attr 1=12 @attr 6=1 @attr 3=3",
        ] {
            check(
                &backend,
                &["cat"],
                &format!("{attributes} {docid}"),
                expected,
            );
            let text = format!("{attributes} @term string {docid}");
            check(&backend, &["cat"], &text, expected);
        }
    }
}

#[test]
fn docids_may_be_in_another_field() {
    let mut with_035 = record("1", "War");
    with_035
        .fields
        .push(Field::data(b"035", "  ", [("a", " (X)7 ")]));
    let backend = MemoryBackend::builder().docid("035$a".parse().expect("a field"));
    let backend = backend.add_records("cat", [with_035, record("2", "Peace")]);
    let backend = backend.expect("valid").build();
    check(&backend, &["cat"], "@attr 1=1032 (X)7", &[0]);
    check(&backend, &["cat"], "@attr 1=1032 1", &[]);
}

fn names(backend: &MemoryBackend) -> Vec<String> {
    let databases = backend.databases().into_iter();
    databases.map(|database| database.name).collect()
}

#[test]
fn databases_are_found_without_case() {
    let one = |docid| [record(docid, "War")];
    let backend = MemoryBackend::builder()
        .add_records("Cat", one("a"))
        .and_then(|all| all.add_records("Книги", one("b")))
        .and_then(|all| all.add_records("CAT", one("c")))
        .expect("valid");
    let with_default = MemoryBackend::builder().add_records("default", one("d"));
    let with_default = with_default
        .and_then(|all| all.add_records("x", one("e")))
        .expect("valid");
    let (backend, with_default) = (backend.build(), with_default.build());
    assert_eq!(names(&backend), ["Cat", "Книги"]);
    check(&backend, &["cat"], "war", &[0, 1]);
    check(&backend, &["книги"], "war", &[2]);
    check(&backend, &["КНИГИ", "cAT", "CAT"], "war", &[0, 1, 2]);
    check(&backend, &["Default"], "war", &[0, 1, 2]);
    check(
        &backend,
        &["DEFAULT", "cat"],
        "@not war @attr 1=1032 a",
        &[1, 2],
    );
    check(&with_default, &["Default"], "war", &[0]);
    for (record, name) in [(0, "Cat"), (1, "Cat"), (2, "Книги"), (9, "")] {
        let catalogue = backend.current();
        assert_eq!(catalogue.database_of(RecordNumber(record)), name);
    }
    let refused = found(&backend, &["cat", "nosuchdb"], &pqf("war"));
    assert_eq!(refused, Err("235 nosuchdb".to_owned()));
    check(&MemoryBackend::builder().build(), &["Default"], "war", &[]);
}

#[test]
fn words_are_found_in_their_fields() {
    let mut first = record("1", "Les Misérables :");
    first
        .fields
        .push(Field::data(b"020", "  ", [("a", "0-306-40615-2 (pbk.)")]));
    first.fields.push(Field::data(
        b"100",
        "1 ",
        [("a", "Hugo, Victor,"), ("d", "1802-1885.")],
    ));
    let mut second = record("2", "Notre-Dame de Paris");
    second.fields.push(Field::data(
        b"500",
        "  ",
        [("a", "By the author of Les Misérables")],
    ));
    let backend = MemoryBackend::builder().add_records("cat", [first, second]);
    let backend = backend.expect("valid").build();
    for (text, expected) in [
        ("miserables", &[0, 1][..]),
        ("@attr 1=1016 MISÉRABLES", &[0, 1]),
        ("@attr 1=4 miserables", &[0]),
        ("@attr 1=1003 \"victor hugo\"", &[0]),
        ("@attr 1=1003 @attr 4=2 \"victor hugo\"", &[0]),
        ("@attr 1=1003 @attr 4=6 \"victor hugo\"", &[0]),
        ("@attr 1=1003 @attr 4=102 \"victor hugo\"", &[0]),
        ("@attr 1=1003 @attr 4=1 \"victor hugo\"", &[]),
        ("@attr 1=1003 @attr 4=1 \"Hugo, Victor\"", &[0]),
        ("@attr 1=1003 @attr 4=101 \"hugo victor 1802\"", &[0]),
        ("@attr 1=4 @attr 5=1 mis", &[0]),
        ("@attr 1=4 @attr 5=100 mis", &[]),
        ("@attr 1=4 @attr 4=1 @attr 5=1 \"de par\"", &[1]),
        ("@attr 1=7 9780306406157", &[0]),
        ("@attr 1=7 0306406152", &[0]),
        ("@attr 1=7 @attr 4=1 978-0-306-40615-7", &[0]),
        ("@attr 1=7 9780306406158", &[]),
        ("@and les @attr 1=4 paris", &[1]),
        ("@or @attr 1=1032 1 @attr 1=1032 2", &[0, 1]),
        ("@not les @attr 1=4 miserables", &[1]),
        ("@and @set s les", &[1]),
        ("@attr Bib-1 1=4 paris", &[1]),
    ] {
        check(&backend, &["cat"], text, expected);
    }
}

#[test]
fn deep_queries_are_answered() {
    let backend = MemoryBackend::demo();
    let or = "@or ".repeat(999);
    let and_war = "@and war ".repeat(999);
    let war = found(&backend, &["books"], &pqf("war"));
    assert!(war.as_ref().is_ok_and(|war| war.len() >= 3));
    assert_eq!(
        found(
            &backend,
            &["books"],
            &pqf(&format!("{or}{}", "war ".repeat(1000)))
        ),
        war
    );
    assert_eq!(
        found(&backend, &["books"], &pqf(&format!("{and_war}war"))),
        war
    );
}

/// Returns a record in the given syntax as text.
fn shown(backend: &MemoryBackend, syntax: Oid, element_set: &str) -> String {
    let external = record_of(backend, 0, Some(syntax), element_set).expect("a record");
    assert_eq!(external.direct_reference, Some(syntax));
    String::from_utf8_lossy(&RetrievedRecord::of(&external).octets()).into_owned()
}

#[test]
fn records_have_two_syntaxes_and_element_sets() {
    let mut full = record("id7", "War and peace");
    full.fields
        .push(Field::data(b"500", "  ", [("a", "A note.")]));
    full.fields.push(Field::data(
        b"880",
        "  ",
        [("6", "245-01/(N"), ("a", "Война и мир")],
    ));
    let octets = iso2709::encode(&full).expect("valid");
    let backend = MemoryBackend::builder()
        .add_records("cat", [full])
        .expect("valid")
        .build();
    assert_eq!(shown(&backend, USMARC, "F").as_bytes(), octets);
    assert_eq!(shown(&backend, USMARC, "f").as_bytes(), octets);
    let brief = shown(&backend, USMARC, "b");
    assert!(
        brief.contains("War and peace") && brief.contains("Война") && !brief.contains("A note.")
    );
    assert!(iso2709::parse_strict(&brief.into_bytes().into()).is_ok());
    let (full, brief) = (shown(&backend, SUTRS, "F"), shown(&backend, SUTRS, "B"));
    assert!(
        full.contains("War and peace") && full.contains("A note."),
        "{full}"
    );
    assert!(
        brief.contains("War and peace") && !brief.contains("A note."),
        "{brief}"
    );
    let sutrs = record_of(&backend, 0, Some(SUTRS), "F").expect("a record");
    assert!(matches!(
        sutrs.encoding,
        ExternalEncoding::SingleAsn1Type(_)
    ));
    let refused = record_of(&backend, 0, Some(UKMARC), "F").expect_err("no UKMARC");
    assert_eq!(refused.condition, 238);
    let refused = record_of(&backend, 1, Some(USMARC), "F").expect_err("no such record");
    assert_eq!(refused.condition, 14);
}

#[test]
fn the_demo_catalogue_matches_its_description() {
    let backend = MemoryBackend::demo();
    assert_eq!(names(&backend), ["books", "serials"]);
    let count = |database: &str, text: &str| {
        let found = found(&backend, &[database], &pqf(text));
        found
            .unwrap_or_else(|diagnostic| panic!("{text}: {diagnostic}"))
            .len()
    };
    for (database, text, at_least) in [
        ("books", "@attr 1=1032 pg1342", 1),
        ("books", "@attr 1=1003 austen", 1),
        ("books", "@attr 1=4 war", 3),
        ("BOOKS", "@attr 1=4 война", 1),
        ("Default", "@attr 1=4 war", 3),
    ] {
        assert!(count(database, text) >= at_least, "{database}: {text}");
    }
    assert_eq!(count("books", "@attr 1=1032 twice"), 2);
    assert_eq!(count("books", "@attr 1=1032 nosuch"), 0);
    assert!(backend.current().index.records() >= 120);
}

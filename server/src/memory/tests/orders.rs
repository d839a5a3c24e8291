//! Tests of scans and sorts with the complete backend.

use futures_util::future::poll_immediate;
use z3950_asn1::apdu::{
    AttributeElement, AttributeList, CaseSensitivity, DatabaseSpecificSort, MissingValueAction,
    Operand, RpnStructure, SortAttributes, SortElement, SortKey, SortKeySpec, SortRelation, Term,
};
use z3950_asn1::oid::BIB_1;
use z3950_marc::{Field, MarcRecord};

use super::pqf;
use crate::backend::{Caller, Hits, RecordId};
use crate::memory::fields::IndexId;
use crate::memory::hits::RecordNumber;
use crate::memory::*;
use crate::requests::now;
use crate::testing::record;

fn catalogue() -> MemoryBackend {
    let with = |docid, title, author: &str, year: &str| {
        let mut record = record(docid, title);
        let author = (!author.is_empty()).then(|| Field::data(b"100", "1 ", [("a", author)]));
        record.fields.extend(author);
        record.fields.push(Field::data(b"260", "  ", [("c", year)]));
        record
    };
    let one = [
        with("1", "war and peace", "Tolstoy, Leo", "1869"),
        with("2", "Emma", "Austen, Jane", "1815"),
        with("3", "The war", "", "1914"),
        with("4", "Persuasion", "austen, Jane", "1817"),
    ];
    let two = [with("5", "War", "Aristotle", "1900")];
    let databases = MemoryBackend::builder().add_records("one", one);
    let databases = databases.and_then(|all| all.add_records("two", two));
    databases.expect("valid").build()
}

/// Runs a scan; returns `before | after`, with an `=` if the start is in the index, or the condition of the diagnostic.
fn scan(
    backend: &MemoryBackend,
    databases: &[&str],
    start: &str,
    within: Option<&Hits>,
    (before, after, step): (usize, usize, usize),
) -> String {
    let databases: Vec<_> = databases
        .iter()
        .map(|name| DatabaseName::from(*name))
        .collect();
    let query = pqf(start);
    let RpnStructure::Op(Operand::AttributesPlusTerm(start)) = &query.rpn else {
        panic!("{start} is no term")
    };
    let scan = Scan {
        caller: Caller::new(),
        databases: &databases,
        attribute_set: BIB_1,
        start,
        within,
        before,
        after,
        step,
    };
    match now(backend.scan(scan)) {
        Ok(Scanned {
            before,
            after,
            exact,
            ..
        }) => {
            let shown = |terms: &[crate::backend::ScanTerm]| {
                let shown = terms.iter().map(|term| match &term.term {
                    Term::General(octets) => format!(
                        "{}:{}",
                        String::from_utf8_lossy(octets),
                        term.records.unwrap_or_default()
                    ),
                    other => panic!("{other:?}"),
                });
                shown.collect::<Vec<_>>().join(", ")
            };
            format!(
                "{} |{} {}",
                shown(&before),
                if exact { "=" } else { "" },
                shown(&after)
            )
        }
        Err(diagnostic) => diagnostic.condition.to_string(),
    }
}

fn hits(backend: &MemoryBackend, query: &str) -> Hits {
    let (databases, query) = ([DatabaseName::from("Default")], pqf(query));
    let search = Search::new(&databases, &query);
    now(backend.search(search)).expect("an answer").hits
}

#[test]
fn terms_come_with_their_counts() {
    let backend = catalogue();
    let wars = hits(&backend, "@attr 1=4 war");
    let none = hits(&backend, "@attr 1=4 nothing");
    for (databases, start, within, sizes, expected) in [
        (
            &["Default"][..],
            "@attr 1=4 peace",
            None,
            (2, 3, 0),
            "and:1, emma:1 |= peace:1, persuasion:1, the:1",
        ),
        (
            &["Default"],
            "@attr 1=4 pa",
            None,
            (1, 1, 0),
            "emma:1 | peace:1",
        ),
        (
            &["Default"],
            "@attr 1=4 and",
            None,
            (5, 5, 2),
            " |= and:1, persuasion:1",
        ),
        (
            &["Default"],
            "@attr 1=4 war",
            None,
            (2, 2, 1),
            "emma:1, persuasion:1 |= war:3",
        ),
        (&["one"], "@attr 1=4 war", None, (0, 1, 0), " |= war:2"),
        (&["two"], "@attr 1=4 a", None, (9, 9, 0), " | war:1"),
        (
            &["two", "one"],
            "@attr 1=4 war",
            None,
            (0, 1, 0),
            " |= war:3",
        ),
        (&["Default"], "@attr 1=4 zzz", None, (1, 1, 0), "war:3 | "),
        (
            &["Default"],
            "@attr 1=4 a",
            Some(&wars),
            (0, 9, 0),
            " | and:1, peace:1, the:1, war:3",
        ),
        (
            &["one"],
            "@attr 1=4 t",
            Some(&wars),
            (0, 9, 0),
            " | the:1, war:2",
        ),
        (&["Default"], "@attr 1=4 a", Some(&none), (1, 9, 0), " | "),
        (
            &["Default"],
            "@attr 1=4 @attr 4=1 \"the war\"",
            None,
            (1, 3, 0),
            "persuasion:1 |= the war:1, war:1, war and peace:1",
        ),
        (
            &["Default"],
            "@attr 1=1032 3",
            None,
            (1, 2, 0),
            "2:1 |= 3:1, 4:1",
        ),
        (&["nosuch"], "@attr 1=4 a", None, (0, 1, 0), "235"),
        (&["Default"], "@attr 1=9999 a", None, (0, 1, 0), "114"),
    ] {
        let found = scan(&backend, databases, start, within, sizes);
        assert_eq!(found, expected, "{databases:?} {start} {sizes:?}");
    }
}

fn by_name(name: &str) -> SortElement {
    SortElement::Generic(SortKey::SortField(name.into()))
}

fn by_use(value: i64) -> SortElement {
    SortElement::Generic(SortKey::SortAttributes(SortAttributes {
        id: BIB_1,
        list: AttributeList(vec![AttributeElement::numeric(1, value)]),
    }))
}

fn key(element: SortElement) -> SortKeySpec {
    SortKeySpec {
        sort_element: element,
        sort_relation: SortRelation::ASCENDING,
        case_sensitivity: CaseSensitivity::CASE_INSENSITIVE,
        missing_value_action: None,
    }
}

/// Runs a sort; returns the docids in order, or the condition of the diagnostic.
fn sorted(backend: &MemoryBackend, inputs: &[Hits], keys: &[SortKeySpec]) -> String {
    let caller = Caller::new();
    match now(backend.sort(Sort {
        caller,
        inputs,
        keys,
    })) {
        Ok(hits) => {
            let catalogue = backend.current();
            let docid = |record: RecordId| {
                let record = RecordNumber::of(record)?;
                let (segment, number) = catalogue.index.segment(record)?;
                Some(
                    String::from_utf8_lossy(segment.first_key(IndexId::DOCID, number)?)
                        .into_owned(),
                )
            };
            hits.ids(0..hits.len())
                .into_iter()
                .map(|record| docid(record).unwrap_or_default())
                .collect()
        }
        Err(diagnostic) => format!(
            "{} {}",
            diagnostic.condition,
            diagnostic.addinfo.to_string_lossy()
        ),
    }
}

#[tokio::test]
async fn a_long_scan_is_done_in_the_background() {
    let title = |number: u32| (0..500).map(move |word| format!("w{}", number * 500 + word));
    let records = (0..10).map(|number| {
        let title: Vec<_> = title(number).collect();
        record(&number.to_string(), &title.join(" "))
    });
    let backend = MemoryBackend::builder().add_records("one", records.collect::<Vec<_>>());
    let backend = backend.expect("valid").build();
    backend.preparation()();
    let query = pqf("@attr 1=4 w");
    let RpnStructure::Op(Operand::AttributesPlusTerm(start)) = &query.rpn else {
        panic!("one term")
    };
    let databases = [DatabaseName::from("one")];
    for (terms, is_ready) in [(20, true), (5000, false)] {
        let mut answer = backend.scan(Scan {
            caller: Caller::new(),
            databases: &databases,
            attribute_set: BIB_1,
            start,
            within: None,
            before: 0,
            after: terms,
            step: 0,
        });
        let first = poll_immediate(answer.as_mut()).await;
        assert_eq!(first.is_some(), is_ready, "{terms} terms");
        let scanned = match first {
            Some(scanned) => scanned,
            None => answer.await,
        };
        assert_eq!(scanned.expect("terms").after.len(), terms);
    }
}

#[test]
fn records_are_sorted_by_keys() {
    let backend = catalogue();
    let all = hits(&backend, "@or war @or emma persuasion");
    let descending = |element| SortKeySpec {
        sort_relation: SortRelation::DESCENDING,
        ..key(element)
    };
    let exact = |element| SortKeySpec {
        case_sensitivity: CaseSensitivity::CASE_SENSITIVE,
        ..key(element)
    };
    let missing = |element, action| SortKeySpec {
        missing_value_action: Some(action),
        ..key(element)
    };
    let data = |text: &str| MissingValueAction::MissingValueData(text.into());
    let frequency = SortKeySpec {
        sort_relation: SortRelation::ASCENDING_BY_FREQUENCY,
        ..key(by_use(4))
    };
    let by_database = |name: &str| {
        SortElement::DatabaseSpecific(vec![DatabaseSpecificSort {
            database_name: DatabaseName::from(name),
            db_sort: SortKey::SortField("245".into()),
        }])
    };
    for (keys, expected) in [
        (vec![key(by_use(4))], "24351"),
        (vec![key(by_name("title"))], "24351"),
        (vec![key(by_name("245"))], "24351"),
        (vec![key(by_name("245$a"))], "24351"),
        (vec![descending(by_use(4))], "15342"),
        (vec![exact(by_use(4))], "24351"),
        (vec![exact(by_name("245$a"))], "24351"),
        (vec![key(by_use(31))], "24153"),
        (vec![key(by_use(12))], "12345"),
        (vec![descending(by_use(12))], "54321"),
        // Equal keys keep their order; records without a key come last.
        (vec![key(by_use(1003))], "52413"),
        (vec![descending(by_use(1003))], "12453"),
        (vec![exact(by_use(1003))], "52143"),
        (vec![key(by_use(1003)), descending(by_use(31))], "54213"),
        (
            vec![missing(by_use(1003), MissingValueAction::Null)],
            "35241",
        ),
        (vec![missing(by_use(1003), data("B"))], "52431"),
        (
            vec![missing(by_use(1003), MissingValueAction::Abort)],
            "213 abort",
        ),
        (vec![missing(by_use(4), MissingValueAction::Abort)], "24351"),
        (vec![key(by_database("one"))], "24315"),
        (vec![key(by_database("nosuch"))], "235 nosuch"),
        (vec![key(by_name("nosuch"))], "207 nosuch"),
        (vec![key(by_use(9999))], "114 9999"),
        (vec![frequency], "214 3"),
        (vec![key(by_use(4)); 17], "211 16"),
    ] {
        assert_eq!(
            sorted(&backend, std::slice::from_ref(&all), &keys),
            expected,
            "{keys:?}"
        );
    }
}

#[test]
fn sets_are_merged() {
    let backend = catalogue();
    let (wars, austen) = (hits(&backend, "war"), hits(&backend, "@attr 1=1003 austen"));
    let by_title = [key(by_use(4))];
    assert_eq!(
        sorted(
            &backend,
            &[wars.clone(), austen.clone(), wars.clone()],
            &by_title
        ),
        "24351"
    );
    let again = now(backend.sort(Sort {
        caller: Caller::new(),
        inputs: &[wars],
        keys: &by_title,
    }))
    .expect("sorted");
    assert_eq!(
        sorted(&backend, &[again, austen], &[key(by_use(1003))]),
        "52413"
    );
    let foreign: Hits = [RecordId(0)].into_iter().collect();
    assert_eq!(sorted(&backend, &[foreign], &by_title), "30 ");
}

#[test]
fn nonfiling_characters_are_ignored() {
    let record = |docid: &str, field: Field| MarcRecord {
        fields: vec![Field::control(b"001", docid.to_owned()), field],
        ..MarcRecord::default()
    };
    let title = |docid, indicators, title: &str| {
        record(
            docid,
            Field::data(b"245", indicators, [("a", title), ("c", "Nobody")]),
        )
    };
    let marc21 = [
        title("1", "14", "The zoo"),
        title("2", "10", "The quick fox"),
        title("3", "12", "A bird"),
        title("4", "15", "\"The dog\""),
        // The first title is only an article, and the next is shorter than the number of nonfiling characters in its indicator.
        title("5", "14", "The "),
        title("6", "19", "Cat"),
        title("7", "12", "L'\u{e9}t\u{e9}"),
    ];
    let unimarc = ["\u{98}Le \u{9c}petit prince", "\u{98}Les\u{9c}", "Le rouge"];
    let unimarc = (1..).zip(unimarc).map(|(docid, title): (u8, _)| {
        let mut record = record(
            &docid.to_string(),
            Field::data(b"200", "1 ", [("a", title)]),
        );
        let general = format!("{:26}50  {:6}", "20000101d2000", "");
        record
            .fields
            .push(Field::data(b"100", "  ", [("a", general.as_str())]));
        record
    });
    let backend = |records: Vec<MarcRecord>| {
        let backend = MemoryBackend::builder().add_records("one", records);
        backend.expect("valid").build()
    };
    let exact = |element| SortKeySpec {
        case_sensitivity: CaseSensitivity::CASE_SENSITIVE,
        ..key(element)
    };
    for (backend, keys, expected) in [
        (backend(marc21.to_vec()), key(by_use(4)), "3647521"),
        (backend(marc21.to_vec()), key(by_name("245")), "3647521"),
        (backend(unimarc.clone().collect()), key(by_use(4)), "321"),
        (backend(unimarc.collect()), exact(by_use(4)), "321"),
    ] {
        let all = hits(&backend, "@attr 2=103 @attr 1=1016 x");
        assert_eq!(
            sorted(&backend, &[all], std::slice::from_ref(&keys)),
            expected,
            "{keys:?}"
        );
    }
    // A search still finds the article.
    let backend = backend(marc21.to_vec());
    for (query, expected) in [
        ("@attr 1=4 the", 4),
        ("@attr 1=4 @attr 6=3 \"the zoo\"", 1),
        ("@attr 1=4 @attr 3=1 the", 4),
    ] {
        assert_eq!(hits(&backend, query).len(), expected, "{query}");
    }
    assert_eq!(
        scan(
            &backend,
            &["one"],
            "@attr 1=4 @attr 4=1 \"the z\"",
            None,
            (0, 1, 0)
        ),
        " | the zoo:1"
    );
}

//! Searches and records of the backend as a whole, and every diagnostic it can answer a query with.

use z3950_asn1::apdu::{
    AttributeElement, AttributeValue, AttributesPlusTerm, ComplexAttribute, ExternalEncoding,
    IntUnit, Operand, ResultSetId, ResultSetPlusAttributes, RpnQuery, RpnStructure,
    StringOrNumeric, Term, Unit,
};
use z3950_asn1::oid::{BIB_1, GILS, SUTRS, UKMARC};
use z3950_asn1::record::{Field, RetrievedRecord, iso2709};

use super::*;
use crate::requests::catalogue;
use crate::testing::record;

/// The numbers of the records found, or `condition addinfo`.
fn found(backend: &dyn Backend, databases: &[&str], query: &RpnQuery) -> Result<Vec<u32>, String> {
    let databases: Vec<_> = databases
        .iter()
        .map(|name| DatabaseName::from(*name))
        .collect();
    let three: Hits = [1, 3].map(RecordId).into();
    let result_set = |name: &[u8]| (name == b"s").then(|| three.clone());
    let search = Search {
        databases: &databases,
        query,
        result_set: &result_set,
    };
    match backend.search(&search) {
        Ok(hits) => Ok(hits.iter().map(|record| record.0).collect()),
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

fn check(backend: &dyn Backend, databases: &[&str], text: &str, expected: &[u32]) {
    let found = found(backend, databases, &pqf(text));
    assert_eq!(found.as_deref(), Ok(expected), "{databases:?} {text}");
}

fn check_refused(query: &RpnQuery, diagnostic: &str) {
    let found = found(&*catalogue(), &["cat"], query);
    assert_eq!(found, Err(diagnostic.to_owned()), "{query:?}");
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
        .expect("sound")
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
            "@attr 1=1007",
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
fn docids_may_stand_elsewhere() {
    let mut with_035 = record("1", "War");
    with_035
        .fields
        .push(Field::data(b"035", "  ", [("a", " (X)7 ")]));
    let backend = MemoryBackend::builder().docid("035$a".parse().expect("a field"));
    let backend = backend.add_records("cat", [with_035, record("2", "Peace")]);
    let backend = backend.expect("sound").build();
    check(&backend, &["cat"], "@attr 1=1032 (X)7", &[0]);
    check(&backend, &["cat"], "@attr 1=1032 1", &[]);
}

#[test]
fn databases_are_found_without_case() {
    let one = |docid| [record(docid, "War")];
    let backend = MemoryBackend::builder()
        .add_records("Cat", one("a"))
        .and_then(|all| all.add_records("Книги", one("b")))
        .and_then(|all| all.add_records("CAT", one("c")))
        .expect("sound");
    let with_default = MemoryBackend::builder().add_records("default", one("d"));
    let with_default = with_default
        .and_then(|all| all.add_records("x", one("e")))
        .expect("sound");
    let (backend, with_default) = (backend.build(), with_default.build());
    assert_eq!(backend.databases(), ["Cat", "Книги"]);
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
        assert_eq!(backend.database_of(RecordId(record)), name);
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
    let backend = backend.expect("sound").build();
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
fn what_is_not_supported_is_named() {
    for (text, diagnostic) in [
        ("@attr 1=9999 x", "114 9999"),
        ("@attr 1=1032 @attr 4=1 x", "118 1"),
        ("@attr 1=1032 @attr 4=999 x", "118 999"),
        ("@attr 1=1032 @attr 5=1 x", "120 1"),
        ("@attr 1=4 @attr 4=108 x", "118 108"),
        ("@attr 1=7 @attr 4=104 x", "118 104"),
        ("@attr 7=1 x", "113 7"),
        ("@attr 0=1 x", "113 0"),
        ("@attr 2=1 x", "117 1"),
        ("@attr 2=102 x", "117 102"),
        ("@attr 3=1 x", "119 1"),
        ("@attr 5=2 x", "120 2"),
        ("@attr 5=101 x", "120 101"),
        ("@attr 6=2 x", "122 2"),
        ("@attr 6=3 x", "122 3"),
        ("@attrset gils x", "121 1.2.840.10003.3.5"),
        ("@attrset gils @attr 1=4 x", "121 1.2.840.10003.3.5"),
        ("@attr gils 1=4 x", "121 1.2.840.10003.3.5"),
        ("@term numeric 7", "229 numeric"),
        ("@term null x", "229 null"),
        ("\" / \"", "125  / "),
        ("@attr 1=7 none", "125 none"),
        ("@prox 0 1 1 2 k 2 war peace", "110 proximity"),
        ("@set nosuch", "30 nosuch"),
        ("@and war @or peace @attr 1=5 x", "114 5"),
        ("@and @attr 1=6 x @attr 1=5 x", "114 6"),
    ] {
        check_refused(&pqf(text), diagnostic);
    }
}

fn operand(attributes: Vec<AttributeElement>, term: Term) -> RpnQuery {
    let operand = Operand::AttributesPlusTerm(AttributesPlusTerm { attributes, term });
    RpnQuery {
        attribute_set: BIB_1,
        rpn: RpnStructure::Op(operand),
    }
}

#[test]
fn what_pqf_cannot_say_is_named_too() {
    let complex = |list: &[StringOrNumeric]| AttributeElement {
        attribute_set: None,
        attribute_type: 1,
        attribute_value: AttributeValue::Complex(Box::new(ComplexAttribute {
            list: list.to_vec(),
            semantic_action: None,
        })),
    };
    let title = StringOrNumeric::Numeric(4);
    let war = || Term::General("war".into());
    let by_title = operand(vec![complex(std::slice::from_ref(&title))], war());
    assert_eq!(found(&*catalogue(), &["cat"], &by_title), Ok(vec![0, 2]));
    check_refused(
        &operand(vec![complex(&[title.clone(), title])], war()),
        "246 ",
    );
    check_refused(
        &operand(
            vec![complex(&[StringOrNumeric::String("title".into())])],
            war(),
        ),
        "246 ",
    );
    check_refused(&operand(vec![complex(&[])], war()), "246 ");
    let unit = IntUnit {
        value: 7,
        unit_used: Unit::default(),
    };
    check_refused(
        &operand(vec![], Term::IntegerAndUnit(Box::new(unit))),
        "229 integerAndUnit",
    );

    for attribute_type in [-5, 0, 7, i64::MIN, i64::MAX] {
        let attribute = AttributeElement::numeric(attribute_type, 1);
        check_refused(
            &operand(vec![attribute], war()),
            &format!("113 {attribute_type}"),
        );
    }

    let twice = vec![
        AttributeElement::numeric(1, 4),
        AttributeElement::numeric(1, 1003),
    ];
    check_refused(&operand(twice, war()), "123 1");

    // The query's own set does not matter where each attribute names Bib-1.
    let title = AttributeElement {
        attribute_set: Some(BIB_1),
        ..AttributeElement::numeric(1, 4)
    };
    let query = RpnQuery {
        attribute_set: GILS,
        ..operand(vec![title], war())
    };
    assert_eq!(found(&*catalogue(), &["cat"], &query), Ok(vec![0, 2]));

    let restricted = ResultSetPlusAttributes {
        result_set: ResultSetId::from("s"),
        attributes: vec![],
    };
    let rpn = RpnStructure::Op(Operand::ResultAttr(Box::new(restricted)));
    check_refused(
        &RpnQuery {
            attribute_set: BIB_1,
            rpn,
        },
        "245 s",
    );
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

/// A record as its syntax has it, as text.
fn shown(backend: &MemoryBackend, syntax: Oid, element_set: &str) -> String {
    let external = backend
        .record(RecordId(0), &syntax, element_set)
        .expect("a record");
    assert_eq!(external.direct_reference, Some(syntax));
    String::from_utf8_lossy(&RetrievedRecord::of(&external).octets()).into_owned()
}

#[test]
fn records_come_in_two_syntaxes_and_element_sets() {
    let mut full = record("id7", "War and peace");
    full.fields
        .push(Field::data(b"500", "  ", [("a", "A note.")]));
    full.fields.push(Field::data(
        b"880",
        "  ",
        [("6", "245-01/(N"), ("a", "Война и мир")],
    ));
    let octets = iso2709::encode(&full).expect("sound");
    let backend = MemoryBackend::builder()
        .add_records("cat", [full])
        .expect("sound")
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
    let sutrs = backend.record(RecordId(0), &SUTRS, "F").expect("a record");
    assert!(matches!(
        sutrs.encoding,
        ExternalEncoding::SingleAsn1Type(_)
    ));
    let refused = backend
        .record(RecordId(0), &UKMARC, "F")
        .expect_err("no UKMARC");
    assert_eq!(refused.condition, 238);
    let refused = backend
        .record(RecordId(1), &USMARC, "F")
        .expect_err("no such record");
    assert_eq!(refused.condition, 14);
}

#[test]
fn the_demo_catalogue_is_what_it_says() {
    let backend = MemoryBackend::demo();
    assert_eq!(backend.databases(), ["books", "serials"]);
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
    assert!(backend.records.len() >= 120);
}

//! Tests of a record in every syntax and element set, in UNIMARC and in MARC 21.

use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::oid::{self, Oid, UKMARC, UNIMARC, USMARC};
use z3950_asn1::record::RetrievedRecord;
use z3950_marc::Field;

use super::*;
use crate::backend::Backend;
use crate::memory::MemoryBackend;
use crate::requests::record_of;
use crate::testing;

fn marc21() -> MarcRecord {
    let mut record = testing::record("id7", "War and peace");
    // In leader position 9, a space means MARC-8.
    if let Some(coding) = record.leader.0.get_mut(9) {
        *coding = b' ';
    }
    let held = [("a", "DLC"), ("h", "PG3366"), ("z", "Fragile")];
    record.fields.extend([
        Field::data(b"500", "  ", [("a", &b"A note, caf\xe2e."[..])]),
        Field::data(b"852", "  ", held),
    ]);
    record
}

fn unimarc() -> MarcRecord {
    MarcRecord {
        fields: vec![
            Field::control(b"001", "u1"),
            Field::data(b"200", "1 ", [("a", "La guerre"), ("f", "Tolstoï")]),
            Field::data(b"300", "  ", [("a", "Une note")]),
        ],
        ..MarcRecord::default()
    }
}

fn backend(records: impl IntoIterator<Item = MarcRecord>) -> MemoryBackend {
    let builder = MemoryBackend::builder().add_records("cat", records);
    builder.expect("valid").build()
}

/// Returns the record in the given syntax, as text.
fn shown(backend: &MemoryBackend, syntax: Oid, element_set: &str) -> String {
    let external = record_of(backend, 0, Some(syntax), element_set).expect("a record");
    assert_eq!(external.direct_reference, Some(syntax));
    match RetrievedRecord::of(&external) {
        RetrievedRecord::Opac(record) => record.to_text(),
        RetrievedRecord::Grs1(record) => record.to_text(),
        RetrievedRecord::Other(other) => panic!("{other:?}"),
        record => String::from_utf8_lossy(&record.octets()).into_owned(),
    }
}

/// Returns the syntax that the backend chooses for a record.
fn default_syntax(backend: &MemoryBackend, record: i64) -> Option<Oid> {
    let external = record_of(backend, record, None, "F").expect("a record");
    external.direct_reference
}

#[test]
fn every_syntax_has_its_element_sets() {
    let backend = backend([marc21()]);
    let note = "A note, café.";
    for (syntax, element_set, has, has_not) in [
        (XML, "F", vec!["<record", "War and peace", note], "oai_dc"),
        (
            XML,
            "MARCXML",
            vec!["<record", "War and peace", note],
            "oai_dc",
        ),
        (XML, "B", vec!["<record", "War and peace"], "note"),
        (
            XML,
            "dc",
            vec!["<dc:title>War and peace</dc:title>", note],
            "<record",
        ),
        (
            XML,
            "mods",
            vec!["<titleInfo><title>War and peace</title>", note],
            "<record>",
        ),
        (SUTRS, "F", vec!["War and peace", note], "<"),
        (
            GRS_1,
            "F",
            vec![
                "localControlNumber: id7",
                "title: War and peace\n",
                "245:\n",
                note,
            ],
            "<",
        ),
        (
            GRS_1,
            "B",
            vec!["localControlNumber: id7", "title: War and peace\n"],
            "note",
        ),
        (
            OPAC,
            "F",
            vec!["War and peace", "A note", "Library", "DLC", "PG3366"],
            "<",
        ),
        (
            OPAC,
            "B",
            vec!["War and peace", "Note\n", "Fragile"],
            "A note",
        ),
    ] {
        assert!(backend.has_syntax(&syntax) && backend.has_element_set(element_set, Some(&syntax)));
        let record = shown(&backend, syntax, element_set);
        for part in has {
            assert!(
                record.contains(part),
                "{syntax:?} {element_set}: {part:?} in\n{record}"
            );
        }
        assert!(
            !record.contains(has_not),
            "{syntax:?} {element_set}: {has_not:?} in\n{record}"
        );
    }
}

#[test]
fn element_sets_belong_to_syntaxes() {
    let backend = backend([marc21()]);
    for (syntax, element_set, known) in [
        (Some(XML), "dc", true),
        (Some(XML), "zz", false),
        (Some(USMARC), "dc", false),
        (Some(USMARC), "b", true),
        (Some(SUTRS), "marcxml", false),
        (None, "F", true),
        (None, "dc", false),
    ] {
        assert_eq!(
            backend.has_element_set(element_set, syntax.as_ref()),
            known,
            "{syntax:?} {element_set}"
        );
    }
}

#[test]
fn unimarc_is_served_as_it_is_stored() {
    let stored = iso2709::encode(&unimarc()).expect("valid");
    let only = backend([unimarc()]);
    assert_eq!(shown(&only, UNIMARC, "F").as_bytes(), stored);
    let brief = shown(&only, UNIMARC, "B");
    assert!(
        brief.contains("La guerre") && !brief.contains("Une note"),
        "{brief}"
    );
    assert!(only.has_syntax(&UNIMARC) && !only.has_syntax(&USMARC));
    assert!(!backend([marc21()]).has_syntax(&UNIMARC));
    assert_eq!(default_syntax(&only, 0), Some(UNIMARC));
    assert!(shown(&only, XML, "dc").contains("<dc:title>La guerre"));

    let both = backend([marc21(), unimarc()]);
    for (record, own, other) in [(0, USMARC, UNIMARC), (1, UNIMARC, USMARC)] {
        assert!(record_of(&both, record, Some(own), "F").is_ok());
        assert_eq!(default_syntax(&both, record), Some(own));
        let refused = record_of(&both, record, Some(other), "F").expect_err("another format");
        assert_eq!(refused.condition, Condition::NOT_AVAILABLE_IN_SYNTAX.0);
    }
}

#[test]
fn syntaxes_without_conversion_are_refused() {
    let backend = backend([marc21()]);
    for syntax in [UKMARC, oid::HTML, oid::SUMMARY, oid::EXPLAIN] {
        assert!(!backend.has_syntax(&syntax), "{syntax:?}");
        assert!(
            record_of(&backend, 0, Some(syntax), "F").is_err(),
            "{syntax:?}"
        );
    }
    assert!(self::backend([]).has_syntax(&USMARC));
}

#[test]
fn only_marc_and_opac_have_the_limits_of_iso_2709() {
    let mut long = marc21();
    let note = "x".repeat(10_000);
    long.fields
        .push(Field::data(b"520", "  ", [("a", note.as_str())]));
    for syntax in [XML, SUTRS, GRS_1] {
        let external = of_marc(&long, &syntax, "F").expect("a record");
        let octets = external.octets();
        let has_note = octets
            .windows(note.len())
            .any(|part| part == note.as_bytes());
        assert!(has_note, "{syntax:?}");
    }
    for syntax in [USMARC, OPAC] {
        let refused = of_marc(&long, &syntax, "F").expect_err("too long");
        assert_eq!(refused.condition, Condition::SYSTEM_ERROR_PRESENTING.0);
        assert!(!refused.addinfo.as_bytes().is_empty(), "{syntax:?}");
        // Element set B does not contain the note, so the record is short enough.
        assert!(of_marc(&long, &syntax, "B").is_ok(), "{syntax:?}");
    }
    let refused = of_marc(&long, &UNIMARC, "F").expect_err("another format");
    assert_eq!(refused.condition, Condition::NOT_AVAILABLE_IN_SYNTAX.0);
}

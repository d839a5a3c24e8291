//! Tests of the indexes for scans and sorts.

use z3950_asn1::apdu::{
    AttributeElement, AttributeList, Operand, RpnQuery, RpnStructure, SortAttributes, SortKey,
};
use z3950_asn1::oid::{BIB_1, GILS, Oid};

use super::{scan_start, sort_index};
use crate::diagnostic::Diagnostic;
use crate::memory::fields::{Fields, IndexId};
use crate::memory::index::Terms;

fn shown(refused: Diagnostic) -> String {
    format!(
        "{} {}",
        refused.condition,
        refused.addinfo.to_string_lossy()
    )
}

fn name(fields: &Fields, index: IndexId) -> String {
    fields
        .points
        .row(index)
        .expect("a row")
        .name
        .clone()
        .into_owned()
}

#[test]
fn scans_start_in_the_terms_of_an_index() {
    let fields = Fields::default();
    for (start, expected) in [
        ("@attr 1=4 War", "words of title from war"),
        ("@attr 1=4 \"War and Peace\"", "words of title from war"),
        ("@attr 1=4 \"\"", "words of title from "),
        ("@attr 1=4 @attr 4=2 Mis\u{e9}", "words of title from mise"),
        (
            "@attr 1=4 @attr 4=1 \"War and Peace /\"",
            "keys of title from war and peace",
        ),
        ("@attr 1=4 @attr 4=3 \"\"", "keys of title from "),
        ("@attr 1=4 @attr 4=1 @attr 5=1 wa", "keys of title from wa"),
        ("@attr 4=1 war", "words of any from war"),
        ("@attr 1=7 0-306-40615-2", "keys of isbn from 9780306406157"),
        ("@attr 1=8 00", "keys of issn from 00"),
        ("@attr 1=31 \"\"", "keys of publicationdate from "),
        ("@attr 1=31 18", "keys of publicationdate from 18"),
        ("@attr 1=1032 \"Id 7\"", "keys of docid from Id 7"),
        ("@attr 1=4 @attr 2=1 x", "117 1"),
        ("@attr 1=4 @attr 5=2 x", "120 2"),
        ("@attr 1=9999 x", "114 9999"),
        ("@attr 7=1 x", "113 7"),
        ("@term null x", "229 null"),
    ] {
        let query: RpnQuery = start.parse().expect(start);
        let RpnStructure::Op(Operand::AttributesPlusTerm(operand)) = &query.rpn else {
            panic!("{start} is no term");
        };
        let found = match scan_start(&fields, &BIB_1, operand) {
            Ok((terms, from)) => {
                let (dictionary, index) = match terms {
                    Terms::Words(index) => ("words", index),
                    Terms::Keys(index) => ("keys", index),
                };
                format!(
                    "{dictionary} of {} from {}",
                    name(&fields, index),
                    String::from_utf8_lossy(&from)
                )
            }
            Err(refused) => shown(refused),
        };
        assert_eq!(found, expected, "{start}");
    }
}

#[test]
fn sorts_go_by_an_index() {
    let fields = Fields::default();
    let field = |name: &str| SortKey::SortField(name.into());
    let attributes = |id: Oid, value| {
        let list = AttributeList(vec![AttributeElement::numeric(1, value)]);
        SortKey::SortAttributes(SortAttributes { id, list })
    };
    for (key, expected) in [
        (field("title"), "title"),
        (field("Date"), "date"),
        (field("au"), "author"),
        (field("nosuch"), "207 nosuch"),
        (attributes(BIB_1, 4), "title"),
        (attributes(BIB_1, 9999), "114 9999"),
        (attributes(GILS, 4), "121 1.2.840.10003.3.5"),
    ] {
        let found = match sort_index(&fields, &key) {
            Ok(index) => name(&fields, index),
            Err(refused) => shown(refused),
        };
        assert_eq!(found, expected, "{key:?}");
    }
}

//! The attribute values that each kind of index supports, apart from Use values, and a list of them for Explain (Z39.50-2003
//! Appendix ATR.1).

use z3950_asn1::bib1::attributes::{
    self as bib1, COMPLETENESS, POSITION, RELATION, STRUCTURE, TRUNCATION, USE,
};
use z3950_asn1::oid::BIB_1;

use crate::backend::AttributeInfo;
use crate::memory::fields::{Fields, Kind};

/// Kinds of index that are searched in the same way, as bits.
const TEXT: u8 = 1;
const NUMBER: u8 = 2;
const CODE: u8 = 4;
const DATE: u8 = 8;
const DOCID: u8 = 16;
const KEYS: u8 = NUMBER | CODE | DATE;
const INDEXED: u8 = TEXT | KEYS;
const ALL: u8 = INDEXED | DOCID;

/// The supported values: their type, the values, and the kinds of index that support them.
const SUPPORT: &[(i64, &[i64], u8)] = &[
    (RELATION, &[1, 2, 4, 5], INDEXED),
    (RELATION, &[3, 6, 103], ALL),
    (POSITION, &[1, 2, 3], ALL),
    // These structures are also supported for docids, because the defaults of CQL and CCL add them to every index.
    (STRUCTURE, &[1, 2, 3, 6, 108], ALL),
    (STRUCTURE, &[4, 5, 100], DATE),
    (STRUCTURE, &[101, 102, 105, 106], TEXT),
    (STRUCTURE, &[104], DOCID),
    (STRUCTURE, &[107], NUMBER | DOCID),
    (STRUCTURE, &[109], NUMBER | DATE),
    (TRUNCATION, &[1], ALL),
    (TRUNCATION, &[2, 3, 101, 104], INDEXED),
    #[cfg(feature = "regex")]
    (TRUNCATION, &[REGULAR_EXPRESSION], INDEXED),
    (TRUNCATION, &[100], ALL),
    (COMPLETENESS, &[1, 2, 3], ALL),
];

/// Returns whether an index of this kind supports a value of a type other than Use.
pub(super) fn can(kind: Kind, attribute_type: i64, value: i64) -> bool {
    let kind = match kind {
        Kind::Text => TEXT,
        Kind::Isbn | Kind::Issn | Kind::Lccn | Kind::Oclc | Kind::Standard | Kind::Number => NUMBER,
        Kind::Code | Kind::Language => CODE,
        Kind::Date => DATE,
        Kind::Octets => DOCID,
    };
    SUPPORT.iter().any(|(known, values, kinds)| {
        *known == attribute_type && values.contains(&value) && kinds & kind != 0
    })
}

/// Relation 1: less than.
pub(super) const LESS: i64 = 1;
/// Relation 2: less than or equal.
pub(super) const LESS_OR_EQUAL: i64 = 2;
/// Relation 4: greater than or equal.
pub(super) const GREATER_OR_EQUAL: i64 = 4;
/// Relation 5: greater than.
pub(super) const GREATER: i64 = 5;
/// Relation 6: not equal, that is, records in the index without the term.
pub(super) const NOT_EQUAL: i64 = 6;
/// Relation 103: always matches, that is, all records in the index.
pub(super) const ALWAYS_MATCHES: i64 = 103;

/// Structure 3: a complete entry.
pub(super) const KEY: i64 = 3;
/// Structure 5: a date of eight digits.
pub(super) const DATE_NORMALIZED: i64 = 5;
/// Structure 101: a name in its indexed form, searched like a phrase.
pub(super) const NAME_NORMALIZED: i64 = 101;
/// Structure 106: a document for which similar records are searched.
pub(super) const DOCUMENT_TEXT: i64 = 106;
/// Structure 108: a string, searched as a complete entry; `exact` in CQL.
pub(super) const STRING: i64 = 108;
/// Structure 109: a string of digits.
pub(super) const NUMERIC_STRING: i64 = 109;

/// Truncation 102: a regular expression.
pub(super) const REGULAR_EXPRESSION: i64 = 102;
/// Truncation 104: `#` matches one character, `?` any number of characters, and `?3` at most three (ANSI Z39.58).
pub(super) const Z39_58: i64 = 104;

/// Returns every attribute that a query may use, by type and value.
pub(in crate::memory) fn infos(fields: &Fields) -> Vec<AttributeInfo> {
    let uses = fields.points.rows().iter().flat_map(|row| {
        let name = |value| bib1::use_name(value).unwrap_or(&row.name);
        row.uses
            .iter()
            .map(move |value| (USE, *value, name(*value)))
    });
    let others = SUPPORT.iter().flat_map(|(attribute_type, values, _)| {
        let name = |value| bib1::name(*attribute_type, value).unwrap_or_default();
        let values = values.iter();
        values.map(move |value| (*attribute_type, *value, name(*value)))
    });
    let mut infos: Vec<_> = uses
        .chain(others)
        .filter(|(attribute_type, value, _)| fields.profile.takes(*attribute_type, *value))
        .map(|(attribute_type, value, name)| AttributeInfo::new(BIB_1, attribute_type, value, name))
        .collect();
    infos.sort_by_key(|info| (info.attribute_type, info.value));
    infos
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{AccessPoints, Profile};

    #[test]
    fn every_value_has_a_name_and_one_row() {
        let mut seen = std::collections::BTreeSet::new();
        for (attribute_type, values, kinds) in SUPPORT {
            assert_ne!(*kinds, 0);
            for value in *values {
                let name = bib1::name(*attribute_type, *value);
                assert!(name.is_some(), "{attribute_type}={value}");
                let is_new = seen.insert((*attribute_type, *value));
                assert!(is_new, "{attribute_type}={value} twice");
            }
        }
    }

    #[test]
    fn infos_follow_the_profile() {
        let of = |profile| infos(&Fields::new(AccessPoints::default(), profile, []));
        let all = of(Profile::default());
        let count = |infos: &[AttributeInfo], attribute_type| {
            infos
                .iter()
                .filter(|info| info.attribute_type == attribute_type)
                .count()
        };
        assert!(count(&all, bib1::USE) >= 80);
        let values: usize = SUPPORT.iter().map(|(_, values, _)| values.len()).sum();
        assert_eq!(all.len() - count(&all, bib1::USE), values);
        let title = all
            .iter()
            .find(|info| (info.attribute_type, info.value) == (bib1::USE, 4));
        assert_eq!(title.map(|info| &*info.name), Some("Title"));
        let profile = Profile::default().only(bib1::USE, [4]);
        let few = of(profile.only(bib1::TRUNCATION, [100]));
        assert_eq!(
            (count(&few, bib1::USE), count(&few, bib1::TRUNCATION)),
            (1, 1)
        );
        assert_eq!(count(&few, bib1::STRUCTURE), count(&all, bib1::STRUCTURE));
    }
}

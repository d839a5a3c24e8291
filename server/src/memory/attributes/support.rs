//! Which attribute values other than Use the backend supports for which kinds of index, also as a list for Explain (Z39.50-2003
//! Appendix ATR.1).

use z3950_asn1::bib1::attributes as bib1;
use z3950_asn1::oid::BIB_1;

use crate::backend::AttributeInfo;
use crate::memory::fields::{Fields, Kind};
use crate::memory::profile::Profile;

/// The kinds of index that are searched alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    Text = 1,
    Number = 2,
    Code = 4,
    Date = 8,
    Docid = 16,
}

impl Group {
    pub(super) fn of(kind: Kind) -> Self {
        match kind {
            Kind::Text => Self::Text,
            Kind::Isbn | Kind::Issn | Kind::Lccn | Kind::Number => Self::Number,
            Kind::Code | Kind::Language => Self::Code,
            Kind::Date => Self::Date,
            Kind::Octets => Self::Docid,
        }
    }

    /// Whether a value of a type other than Use is supported.
    pub(super) fn can(self, attribute_type: i64, value: i64) -> bool {
        let row = SUPPORT
            .iter()
            .find(|(known_type, known, _)| (*known_type, *known) == (attribute_type, value));
        row.is_some_and(|(_, _, groups)| groups & self as u8 != 0)
    }
}

const TEXT: u8 = Group::Text as u8;
const NUMBER: u8 = Group::Number as u8;
const CODE: u8 = Group::Code as u8;
const DATE: u8 = Group::Date as u8;
const DOCID: u8 = Group::Docid as u8;
const KEYS: u8 = NUMBER | CODE | DATE;
const INDEXED: u8 = TEXT | KEYS;
const ALL: u8 = INDEXED | DOCID;

/// Type, value, and the groups of indexes that support it.
const SUPPORT: &[(i64, i64, u8)] = &[
    (bib1::RELATION, LESS, INDEXED),
    (bib1::RELATION, LESS_OR_EQUAL, INDEXED),
    (bib1::RELATION, bib1::RELATION_EQUAL, ALL),
    (bib1::RELATION, GREATER_OR_EQUAL, INDEXED),
    (bib1::RELATION, GREATER, INDEXED),
    (bib1::RELATION, NOT_EQUAL, ALL),
    (bib1::RELATION, ALWAYS_MATCHES, ALL),
    (bib1::POSITION, bib1::POSITION_FIRST_IN_FIELD, ALL),
    (bib1::POSITION, bib1::POSITION_FIRST_IN_SUBFIELD, ALL),
    (bib1::POSITION, bib1::POSITION_ANY, ALL),
    (bib1::STRUCTURE, bib1::STRUCTURE_PHRASE, INDEXED),
    (bib1::STRUCTURE, bib1::STRUCTURE_WORD, INDEXED),
    (bib1::STRUCTURE, KEY, INDEXED),
    (bib1::STRUCTURE, bib1::STRUCTURE_YEAR, DATE),
    (bib1::STRUCTURE, DATE_NORMALIZED, DATE),
    (bib1::STRUCTURE, bib1::STRUCTURE_WORD_LIST, INDEXED),
    (bib1::STRUCTURE, DATE_UNNORMALIZED, DATE),
    (bib1::STRUCTURE, NAME_NORMALIZED, TEXT),
    (bib1::STRUCTURE, NAME_UNNORMALIZED, TEXT),
    (bib1::STRUCTURE, bib1::STRUCTURE_URX, DOCID),
    (bib1::STRUCTURE, FREE_FORM_TEXT, TEXT),
    (bib1::STRUCTURE, DOCUMENT_TEXT, TEXT),
    (
        bib1::STRUCTURE,
        bib1::STRUCTURE_LOCAL_NUMBER,
        NUMBER | DOCID,
    ),
    (bib1::STRUCTURE, bib1::STRUCTURE_STRING, KEYS | DOCID),
    (bib1::STRUCTURE, NUMERIC_STRING, NUMBER | DATE),
    (bib1::TRUNCATION, bib1::TRUNCATION_RIGHT, INDEXED),
    (bib1::TRUNCATION, bib1::TRUNCATION_LEFT, INDEXED),
    (bib1::TRUNCATION, bib1::TRUNCATION_LEFT_AND_RIGHT, INDEXED),
    (bib1::TRUNCATION, bib1::TRUNCATION_NONE, ALL),
    (bib1::TRUNCATION, bib1::TRUNCATION_NUMBER_SIGN, INDEXED),
    (bib1::TRUNCATION, REGULAR_EXPRESSION, INDEXED),
    (bib1::TRUNCATION, Z39_58, INDEXED),
    (
        bib1::COMPLETENESS,
        bib1::COMPLETENESS_INCOMPLETE_SUBFIELD,
        ALL,
    ),
    (
        bib1::COMPLETENESS,
        bib1::COMPLETENESS_COMPLETE_SUBFIELD,
        ALL,
    ),
    (bib1::COMPLETENESS, bib1::COMPLETENESS_COMPLETE_FIELD, ALL),
];

/// Relation 1: less than.
pub(super) const LESS: i64 = 1;
/// Relation 2: less than or equal.
pub(super) const LESS_OR_EQUAL: i64 = 2;
/// Relation 4: greater than or equal.
pub(super) const GREATER_OR_EQUAL: i64 = 4;
/// Relation 5: greater than.
pub(super) const GREATER: i64 = 5;
/// Relation 6: records of the index without the term.
pub(super) const NOT_EQUAL: i64 = 6;
/// Relation 103: all records of the index, whatever the term.
pub(super) const ALWAYS_MATCHES: i64 = 103;

/// Structure 3: a whole entry.
pub(super) const KEY: i64 = 3;
/// Structure 5: a date of eight digits.
pub(super) const DATE_NORMALIZED: i64 = 5;
/// Structure 100: a date in any form.
pub(super) const DATE_UNNORMALIZED: i64 = 100;
/// Structure 101: a name as indexed, like a phrase.
pub(super) const NAME_NORMALIZED: i64 = 101;
/// Structure 102: a name in any order.
pub(super) const NAME_UNNORMALIZED: i64 = 102;
/// Structure 105: any words.
pub(super) const FREE_FORM_TEXT: i64 = 105;
/// Structure 106: a text to find similar records for.
pub(super) const DOCUMENT_TEXT: i64 = 106;
/// Structure 109: a string of digits.
pub(super) const NUMERIC_STRING: i64 = 109;

/// Truncation 102: a regular expression.
pub(super) const REGULAR_EXPRESSION: i64 = 102;
/// Truncation 104: `#` is any character, `?` any number of them, `?3` at most three (ANSI Z39.58).
pub(super) const Z39_58: i64 = 104;

/// Every attribute that a query may use, by type and value.
pub(in crate::memory) fn infos(fields: &Fields, profile: &Profile) -> Vec<AttributeInfo> {
    let uses = fields.points().rows().iter().flat_map(|row| {
        row.uses.iter().map(|value| {
            (
                bib1::USE,
                *value,
                bib1::use_name(*value).unwrap_or(&row.name),
            )
        })
    });
    let others = SUPPORT.iter().map(|(attribute_type, value, _)| {
        (
            *attribute_type,
            *value,
            bib1::name(*attribute_type, *value).unwrap_or_default(),
        )
    });
    let mut infos: Vec<_> = uses
        .chain(others)
        .filter(|(attribute_type, value, _)| profile.takes(*attribute_type, *value))
        .map(|(attribute_type, value, name)| AttributeInfo {
            attribute_set: BIB_1,
            attribute_type,
            value,
            name: name.to_owned(),
        })
        .collect();
    infos.sort_by_key(|info| (info.attribute_type, info.value));
    infos
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_has_a_name_and_one_row() {
        for (number, (attribute_type, value, groups)) in SUPPORT.iter().enumerate() {
            assert!(
                bib1::name(*attribute_type, *value).is_some(),
                "{attribute_type}={value}"
            );
            assert_ne!(*groups, 0);
            let before = SUPPORT.iter().take(number);
            assert!(
                before
                    .clone()
                    .all(|row| (row.0, row.1) != (*attribute_type, *value)),
                "{attribute_type}={value} twice"
            );
        }
    }

    #[test]
    fn infos_are_what_the_profile_takes() {
        let fields = Fields::default();
        let all = infos(&fields, &Profile::default());
        let count = |infos: &[AttributeInfo], attribute_type| {
            infos
                .iter()
                .filter(|info| info.attribute_type == attribute_type)
                .count()
        };
        assert!(count(&all, bib1::USE) >= 80);
        assert_eq!(all.len() - count(&all, bib1::USE), SUPPORT.len());
        let title = all
            .iter()
            .find(|info| (info.attribute_type, info.value) == (bib1::USE, 4));
        assert_eq!(title.map(|info| &*info.name), Some("Title"));
        let few = infos(
            &fields,
            &Profile::default()
                .only(bib1::USE, [4])
                .only(bib1::TRUNCATION, [100]),
        );
        assert_eq!(
            (count(&few, bib1::USE), count(&few, bib1::TRUNCATION)),
            (1, 1)
        );
        assert_eq!(count(&few, bib1::STRUCTURE), count(&all, bib1::STRUCTURE));
    }
}

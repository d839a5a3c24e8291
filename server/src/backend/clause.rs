//! A term of a query with its attributes as plain values, for backends that look it up as text.

use std::borrow::Cow;

use z3950_asn1::apdu::{AttributeValue, AttributesPlusTerm, Term};
use z3950_asn1::oid::BIB_1;

use crate::diagnostic::{Condition, Diagnostic, diagnostic};

/// A term of a query, or the start of a scan, with its Bib-1 attributes by number (Z39.50-2003 Appendix ATR). An attribute is
/// `None` if the query does not specify it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Clause<'a> {
    /// Use (type 1): the access point, such as 4 for the title, 1003 for the author or 1016 for any access point.
    pub access_point: Option<i64>,
    /// Relation (type 2): 1 to 6 for `<`, `<=`, `=`, `>=`, `>` and `<>`.
    pub relation: Option<i64>,
    /// Position (type 3): 1 for the beginning of the field, 3 for any position.
    pub position: Option<i64>,
    /// Structure (type 4): 1 for a phrase, 2 for a word, 6 for a list of words.
    pub structure: Option<i64>,
    /// Truncation (type 5): 1 for terms that begin with the text, 100 for the term itself.
    pub truncation: Option<i64>,
    /// Completeness (type 6): 1 for a part of the field, 3 for the complete field.
    pub completeness: Option<i64>,
    /// The text of the term.
    pub text: Cow<'a, str>,
}

impl<'a> Clause<'a> {
    /// Reads a term and its attributes. Octets that are not UTF-8 become U+FFFD.
    ///
    /// # Errors
    /// Fails with condition 121 for an attribute of an attribute set other than Bib-1, with 113 for an unknown attribute type,
    /// with 246 for a value that is not a number, or with 229 for a term that is neither text nor a number.
    pub fn of(operand: &'a AttributesPlusTerm) -> Result<Self, Diagnostic> {
        let text = match &operand.term {
            Term::General(octets) => String::from_utf8_lossy(octets.as_bytes()),
            Term::CharacterString(text) => text.to_string_lossy(),
            Term::Numeric(number) => number.to_string().into(),
            _ => return Err(diagnostic(Condition::TERM_TYPE, "")),
        };
        let mut clause = Self {
            text,
            ..Self::default()
        };
        for attribute in &operand.attributes {
            if let Some(other) = attribute.attribute_set.filter(|set| *set != BIB_1) {
                return Err(diagnostic(Condition::ATTRIBUTE_SET, other.to_string()));
            }
            let of_type = match attribute.attribute_type {
                1 => &mut clause.access_point,
                2 => &mut clause.relation,
                3 => &mut clause.position,
                4 => &mut clause.structure,
                5 => &mut clause.truncation,
                6 => &mut clause.completeness,
                other => return Err(diagnostic(Condition::ATTRIBUTE_TYPE, other.to_string())),
            };
            let AttributeValue::Numeric(value) = attribute.attribute_value else {
                return Err(diagnostic(Condition::COMPLEX_ATTRIBUTE, ""));
            };
            *of_type = Some(value);
        }
        Ok(clause)
    }
}

#[cfg(test)]
mod tests {
    use z3950_asn1::query::parse_pqf;

    use super::*;

    #[test]
    fn audit_r_l10_terms_are_read_as_plain_values() {
        for (query, expected) in [
            ("war", Ok((None, None, "war"))),
            ("@attr 1=4 @attr 5=1 war", Ok((Some(4), Some(1), "war"))),
            (
                "@attr bib-1 1=1016 @term numeric 1869",
                Ok((Some(1016), None, "1869")),
            ),
            (
                "@term string \"war and peace\"",
                Ok((None, None, "war and peace")),
            ),
            ("@attr gils 1=4 war", Err(121)),
            ("@attr 7=1 war", Err(113)),
            ("@attr 1=title war", Err(246)),
            ("@term null war", Err(229)),
        ] {
            let query = parse_pqf(query).expect(query);
            let operand = query.rpn.terms().next().expect("a term");
            let clause = Clause::of(operand);
            let read = clause
                .as_ref()
                .map_err(|why| why.condition)
                .map(|clause| (clause.access_point, clause.truncation, &*clause.text));
            assert_eq!(read, expected, "{query}");
        }
    }
}

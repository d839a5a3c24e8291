//! The searches that an identifier is worth, most likely first: the ways it is written, the indexes it may stand in, and
//! at last the beginning of a longer entry.

use z3950_asn1::apdu::{
    AttributeElement, AttributesPlusTerm, Operand, Operator, RpnQuery, RpnRpnOp, RpnStructure, Term,
};
use z3950_asn1::bib1::attributes::{
    STRUCTURE, STRUCTURE_URX, TRUNCATION, TRUNCATION_RIGHT, USE, USE_DOC_ID, USE_ISBN, USE_ISSN,
    USE_LOCAL_NUMBER, USE_STANDARD_IDENTIFIER,
};
use z3950_asn1::oid::BIB_1;
use z3950_marc::standard_number::{Isbn, Issn, lccn, oclc_number};

use super::identifier::{Identifier, Kind};

/// One search, and when it is made.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Attempt {
    /// The attributes, as PQF writes them: `1=7`, `1=1032,4=104`.
    pub attributes: String,
    /// The forms of the identifier it looks for, joined by OR.
    pub terms: Vec<String>,
    /// The query.
    pub query: RpnQuery,
    /// Whether it is made only where a search for several forms at once was refused: it looks for one of them.
    pub is_single: bool,
}

/// The searches for a docid, most likely first, as pairs of type and value. The first is the one of RFC 2056 §4.
pub(crate) const DOCID_ATTRIBUTES: [&[(i64, i64)]; 4] = [
    &[(USE, USE_DOC_ID), (STRUCTURE, STRUCTURE_URX)],
    &[(USE, USE_DOC_ID)],
    &[(USE, USE_LOCAL_NUMBER)],
    &[(USE, USE_STANDARD_IDENTIFIER)],
];

/// Values of Bib-1 (Z39.50-2003 Appendix ATR.3) that nothing else here has a name for.
pub(crate) const LCCN: i64 = 9;
pub(crate) const OCLC_NUMBER: i64 = 1211;

/// The searches for an identifier, in the order in which they are made.
pub fn attempts(identifier: &Identifier) -> Vec<Attempt> {
    let forms = forms(identifier);
    let mut attempts = Vec::new();
    let mut attempt = |attributes: &[(i64, i64)]| {
        attempts.push(Attempt::of(attributes, &forms, false));
        if forms.len() > 1 {
            let singles = forms.iter().map(std::slice::from_ref);
            attempts.extend(singles.map(|form| Attempt::of(attributes, form, true)));
        }
    };
    match identifier.kind {
        Kind::Isbn => {
            attempt(&[(USE, USE_ISBN)]);
            attempt(&[(USE, USE_ISBN), (TRUNCATION, TRUNCATION_RIGHT)]);
            attempt(&[(USE, USE_STANDARD_IDENTIFIER)]);
        }
        Kind::Issn => {
            attempt(&[(USE, USE_ISSN)]);
            attempt(&[(USE, USE_ISSN), (TRUNCATION, TRUNCATION_RIGHT)]);
            attempt(&[(USE, USE_STANDARD_IDENTIFIER)]);
        }
        Kind::Lccn => {
            attempt(&[(USE, LCCN)]);
            attempt(&[(USE, USE_STANDARD_IDENTIFIER)]);
        }
        Kind::Oclc => {
            attempt(&[(USE, OCLC_NUMBER)]);
            attempt(&[(USE, USE_STANDARD_IDENTIFIER)]);
            attempt(&[(USE, USE_LOCAL_NUMBER)]);
        }
        Kind::Local => {
            attempt(&[(USE, USE_LOCAL_NUMBER)]);
            attempt(&[(USE, USE_STANDARD_IDENTIFIER)]);
        }
        Kind::Docid => DOCID_ATTRIBUTES.into_iter().for_each(attempt),
    }
    attempts
}

/// The ways the identifier may be written in a record, the most usual first, none twice.
fn forms(identifier: &Identifier) -> Vec<String> {
    let written = identifier.text.clone();
    let mut forms = match identifier.kind {
        Kind::Isbn => match Isbn::parse(&written) {
            Some(isbn) => [Some(isbn.to_string()), isbn.ten()]
                .into_iter()
                .flatten()
                .collect(),
            None => Vec::new(),
        },
        Kind::Issn => match Issn::parse(&written) {
            Some(issn) => vec![issn.to_string(), issn.without_hyphen()],
            None => Vec::new(),
        },
        Kind::Lccn => lccn(&written).into_iter().collect(),
        Kind::Oclc => {
            let number = oclc_number(&written).unwrap_or(&written);
            vec![number.to_owned(), format!("(OCoLC){number}")]
        }
        Kind::Local | Kind::Docid => Vec::new(),
    };
    if !forms.contains(&written) {
        forms.push(written);
    }
    forms
}

impl Attempt {
    /// A search for an identifier as it is written, by attributes of one's own.
    pub fn by(attributes: Vec<AttributeElement>, shown: &str, identifier: &Identifier) -> Self {
        let term = Term::General(identifier.text.as_str().into());
        let operand = AttributesPlusTerm { attributes, term };
        Self {
            attributes: shown.to_owned(),
            terms: vec![identifier.text.clone()],
            query: RpnQuery {
                attribute_set: BIB_1,
                rpn: RpnStructure::Op(Operand::AttributesPlusTerm(operand)),
            },
            is_single: false,
        }
    }

    fn of(attributes: &[(i64, i64)], forms: &[String], is_single: bool) -> Self {
        let operand = |form: &String| {
            RpnStructure::Op(Operand::AttributesPlusTerm(AttributesPlusTerm {
                attributes: attributes
                    .iter()
                    .map(|(kind, value)| AttributeElement::numeric(*kind, *value))
                    .collect(),
                term: Term::General(form.as_str().into()),
            }))
        };
        let either = |rpn1, rpn2| {
            RpnStructure::RpnRpnOp(Box::new(RpnRpnOp {
                rpn1,
                rpn2,
                op: Operator::Or,
            }))
        };
        let rpn = forms.iter().map(operand).reduce(either);
        let shown = attributes
            .iter()
            .map(|(kind, value)| format!("{kind}={value}"));
        Self {
            attributes: shown.collect::<Vec<_>>().join(","),
            terms: forms.to_vec(),
            query: RpnQuery {
                attribute_set: BIB_1,
                // There is always a form: the identifier as it was written.
                rpn: rpn.unwrap_or_else(|| operand(&String::new())),
            },
            is_single,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_looked_for_in_every_form() {
        for (identifier, queries) in [
            (
                "isbn:0-306-40615-2",
                &[
                    "@or @or @attr 1=7 9780306406157 @attr 1=7 0306406152 @attr 1=7 0-306-40615-2",
                    "| @attr 1=7 9780306406157",
                    "| @attr 1=7 0306406152",
                    "| @attr 1=7 0-306-40615-2",
                ][..],
            ),
            (
                "isbn:0306406153",
                &["@attr 1=7 0306406153", "@attr 5=1 @attr 1=7 0306406153"],
            ),
            (
                "issn:03785955",
                &[
                    "@or @attr 1=8 0378-5955 @attr 1=8 03785955",
                    "| @attr 1=8 0378-5955",
                    "| @attr 1=8 03785955",
                ],
            ),
            ("lccn:85-2", &["@or @attr 1=9 85000002 @attr 1=9 85-2"]),
            (
                "lccn:85000002",
                &["@attr 1=9 85000002", "@attr 1=1007 85000002"],
            ),
            (
                "oclc:ocm00012345",
                &["@or @or @attr 1=1211 12345 @attr 1=1211 (OCoLC)12345 @attr 1=1211 ocm00012345"],
            ),
            ("local:7", &["@attr 1=12 7", "@attr 1=1007 7"]),
            (
                "docid:a",
                &[
                    "@attr 4=104 @attr 1=1032 a",
                    "@attr 1=1032 a",
                    "@attr 1=12 a",
                    "@attr 1=1007 a",
                ],
            ),
        ] {
            let parsed = identifier.parse().expect("an identifier");
            let found: Vec<String> = attempts(&parsed)
                .iter()
                .map(|attempt| match attempt.is_single {
                    true => format!("| {}", attempt.query),
                    false => attempt.query.to_string(),
                })
                .collect();
            assert_eq!(
                found.get(..queries.len()),
                Some(
                    queries
                        .iter()
                        .map(|query| (*query).to_owned())
                        .collect::<Vec<_>>()
                        .as_slice()
                ),
                "{identifier}"
            );
        }
    }
}

//! The searches for a lookup. The searches for an identifier, most likely first, cover its notations in the indexes
//! that may contain it. A fallback adds searches with truncation, for other notations, and in any index.

use z3950_asn1::apdu::{AttributeValue, Operator, RpnQuery, RpnStructure};
use z3950_asn1::bib1::attributes::{
    self, STRUCTURE, STRUCTURE_URX, TRUNCATION, TRUNCATION_RIGHT, USE, USE_ANY, USE_AUTHOR,
    USE_DATE_OF_PUBLICATION, USE_DOC_ID, USE_ISBN, USE_ISSN, USE_LOCAL_NUMBER,
    USE_STANDARD_IDENTIFIER, USE_TITLE,
};
use z3950_asn1::oid::BIB_1;
use z3950_marc::standard_number::{Isbn, Issn, lccn, oclc_number};

use crate::identifier::{Identifier, Kind};
use crate::target::profile::{Attributes, InPqf};

/// One of the searches for a lookup.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Attempt {
    /// The attributes of each part of the query: one part for an identifier, several parts for a publication.
    pub(crate) attributes: Vec<Attributes>,
    /// The terms: notations of an identifier, which the query joins with OR, or title, author and year of a
    /// publication.
    pub(crate) terms: Vec<String>,
    /// The query to send.
    pub(crate) query: RpnQuery,
    pub(crate) precondition: Precondition,
    /// Whether the attributes come from the profile's entry for the kind of identifier. If so, the profile's attributes
    /// for indexes do not replace them.
    pub(crate) is_of_profile: bool,
}

/// The condition under which a search is made; without one, it is made if the earlier searches found nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Precondition {
    None,
    /// The search is for a single notation, and is made only if the search for several notations was refused.
    Refusal,
    /// The search is made only if the previous search found more records than are compared; it should find fewer.
    TooMany,
}

/// A part of a query: attributes and terms. A record matches if it contains at least one of the terms.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SearchPart {
    attributes: Attributes,
    terms: Vec<String>,
}

impl SearchPart {
    pub(crate) fn new(pairs: &[(i64, i64)], terms: &[&str]) -> Self {
        Self {
            attributes: Attributes::numeric(pairs),
            terms: terms.iter().map(|term| (*term).to_owned()).collect(),
        }
    }

    fn query(&self) -> Option<RpnStructure> {
        let operand = |term: &String| RpnStructure::term(self.attributes.0.clone(), term.as_str());
        let operands = self.terms.iter().map(operand);
        operands.reduce(|one, other| RpnStructure::combined(one, Operator::Or, other))
    }
}

/// The searches for a docid, most likely first, as pairs of attribute type and value. The first of them is the search
/// prescribed by RFC 2056 §4.
pub(crate) const DOCID_ATTRIBUTES: [&[(i64, i64)]; 4] = [
    &[(USE, USE_DOC_ID), (STRUCTURE, STRUCTURE_URX)],
    &[(USE, USE_DOC_ID)],
    &[LOCAL],
    &[STANDARD],
];

const ISBN: (i64, i64) = (USE, USE_ISBN);
const ISSN: (i64, i64) = (USE, USE_ISSN);
const LOCAL: (i64, i64) = (USE, USE_LOCAL_NUMBER);
const STANDARD: (i64, i64) = (USE, USE_STANDARD_IDENTIFIER);
const RIGHT: (i64, i64) = (TRUNCATION, TRUNCATION_RIGHT);

/// Bib-1 Use attributes (Z39.50-2003 Appendix ATR.3) for which there is no constant elsewhere.
pub(crate) const LCCN: i64 = 9;
pub(crate) const OCLC_NUMBER: i64 = 1211;

/// Returns the searches for an identifier, most likely first.
pub(crate) fn attempts(identifier: &Identifier) -> Vec<Attempt> {
    let searches: &[&[(i64, i64)]] = match identifier.kind {
        Kind::Isbn => &[&[ISBN], &[STANDARD]],
        Kind::Issn => &[&[ISSN], &[STANDARD]],
        Kind::Lccn => &[&[(USE, LCCN)], &[STANDARD]],
        Kind::Oclc => &[&[(USE, OCLC_NUMBER)], &[STANDARD], &[LOCAL]],
        Kind::Local => &[&[LOCAL], &[STANDARD]],
        Kind::Docid => &DOCID_ATTRIBUTES,
    };
    let forms = forms(identifier);
    let mut attempts = Vec::new();
    for pairs in searches {
        let attributes = &Attributes::numeric(pairs);
        attempts.push(Attempt::of(attributes, &forms, Precondition::None));
        if forms.len() > 1 {
            let singles = forms.iter().map(std::slice::from_ref);
            let single = |form| Attempt::of(attributes, form, Precondition::Refusal);
            attempts.extend(singles.map(single));
        }
    }
    attempts
}

/// Returns the notations in which the identifier occurs in records, most common first, without duplicates.
fn forms(identifier: &Identifier) -> Vec<String> {
    let written = identifier.text.clone();
    let mut forms = match identifier.kind {
        Kind::Isbn => Isbn::parse(&written).map_or_else(Vec::new, |isbn| {
            let thirteen = isbn.to_string();
            [thirteen].into_iter().chain(isbn.ten()).collect()
        }),
        Kind::Issn => Issn::parse(&written).map_or_else(Vec::new, |issn| {
            vec![issn.to_string(), issn.without_hyphen()]
        }),
        Kind::Lccn => lccn(&written).into_iter().collect(),
        Kind::Oclc => {
            let number = oclc_number(&written).unwrap_or(&written);
            let is_bare = number.bytes().all(|octet| octet.is_ascii_digit());
            let significant = number.trim_start_matches('0');
            let number = if is_bare && !significant.is_empty() {
                significant
            } else {
                number
            };
            vec![number.to_owned(), format!("(OCoLC){number}")]
        }
        Kind::Local | Kind::Docid => Vec::new(),
    };
    if !forms.contains(&written) {
        forms.push(written);
    }
    forms
}

/// Returns the additional searches that a fallback allows: for the beginning of a number, for its other notations, and in any
/// index. There are none for identifiers that have no meaning in other indexes.
pub(crate) fn broader(identifier: &Identifier) -> Vec<Attempt> {
    let forms = forms(identifier);
    let by = |pairs: &[(i64, i64)], forms: &[String]| {
        Attempt::of(&Attributes::numeric(pairs), forms, Precondition::None)
    };
    let anywhere = || by(&[(USE, USE_ANY)], &forms);
    match identifier.kind {
        Kind::Isbn => vec![by(&[ISBN, RIGHT], &forms), anywhere()],
        Kind::Issn => vec![by(&[ISSN, RIGHT], &forms), anywhere()],
        Kind::Oclc => {
            let held = held_forms(identifier);
            let all = [forms.as_slice(), held.as_slice()].concat();
            vec![
                by(&[(USE, OCLC_NUMBER)], &held),
                by(&[LOCAL], &held),
                by(&[(USE, USE_ANY)], &all),
            ]
        }
        Kind::Lccn => vec![anywhere()],
        Kind::Local | Kind::Docid => Vec::new(),
    }
}

/// Returns an OCLC number in the forms that occur in records: `ocm` and eight digits, `ocn` and nine digits, `on` and
/// ten or more digits, each also with `(OCoLC)` before it. Servers that index 035 or 001 unchanged need these forms.
fn held_forms(identifier: &Identifier) -> Vec<String> {
    let text = identifier.text.as_str();
    let number = oclc_number(text).unwrap_or(text).trim_start_matches('0');
    let held = match number.len() {
        0..=8 => format!("ocm{number:0>8}"),
        9 => format!("ocn{number}"),
        _ => format!("on{number}"),
    };
    let mut forms = vec![held.clone(), format!("(OCoLC){held}")];
    if number.len() < 8 {
        forms.extend([format!("(OCoLC){number:0>8}"), format!("{number:0>8}")]);
    }
    forms
}

impl Attempt {
    /// Creates a search for an identifier as written, with attributes from the profile.
    pub(crate) fn of_profile(attributes: &Attributes, identifier: &Identifier) -> Self {
        let form = std::slice::from_ref(&identifier.text);
        Self {
            is_of_profile: true,
            ..Self::of(attributes, form, Precondition::None)
        }
    }

    /// Creates a search for records that match all parts.
    pub(crate) fn all_of(parts: &[SearchPart], precondition: Precondition) -> Self {
        let queries = parts.iter().filter_map(SearchPart::query);
        let rpn = queries.reduce(|one, other| RpnStructure::combined(one, Operator::And, other));
        let terms = parts.iter().flat_map(|part| part.terms.iter().cloned());
        Self {
            attributes: parts.iter().map(|part| part.attributes.clone()).collect(),
            terms: terms.collect(),
            // There is always at least one term, so the default is never used.
            query: RpnQuery::bib1(rpn.unwrap_or_else(|| RpnStructure::term(Vec::new(), ""))),
            precondition,
            is_of_profile: false,
        }
    }

    /// Returns the attributes of the parts, such as `1=7`, or `1=4 and 1=1003`.
    pub(crate) fn step(&self) -> String {
        let mut parts: Vec<String> = self.attributes.iter().map(ToString::to_string).collect();
        parts.dedup();
        parts.join(" and ")
    }

    /// Returns the names of the indexes, each with the names of its other attributes, such as `ISBN`, `ISBN with right truncation` or
    /// `title and author`.
    pub(crate) fn name(&self) -> String {
        let mut names: Vec<String> = self.attributes.iter().map(name).collect();
        names.dedup();
        names.join(" and ")
    }

    fn of(attributes: &Attributes, forms: &[String], precondition: Precondition) -> Self {
        let part = SearchPart {
            attributes: attributes.clone(),
            terms: forms.to_vec(),
        };
        Self::all_of(&[part], precondition)
    }
}

/// Returns the name of the index, followed by the other attributes. Attributes without a name are written as in PQF.
fn name(attributes: &Attributes) -> String {
    let mut index = "any index".to_owned();
    let mut others = Vec::new();
    for attribute in &attributes.0 {
        let AttributeValue::Numeric(value) = attribute.attribute_value else {
            others.push(InPqf(attribute).to_string());
            continue;
        };
        let is_bib1 = attribute.attribute_set.is_none_or(|set| set == BIB_1);
        let name = name_of(attribute.attribute_type, value).filter(|_| is_bib1);
        match (attribute.attribute_type, name) {
            (USE, Some(name)) => index = name.to_owned(),
            (_, Some(name)) if name.ends_with("URx") => others.push(name.to_owned()),
            (_, Some(name)) => others.push(name.to_lowercase()),
            (_, None) => others.push(InPqf(attribute).to_string()),
        }
    }
    match others.as_slice() {
        [] => index,
        others => format!("{index} with {}", others.join(", ")),
    }
}

/// Returns the usual name of an index or attribute.
fn name_of(attribute_type: i64, value: i64) -> Option<&'static str> {
    Some(match (attribute_type, value) {
        (USE, USE_ISBN) => "ISBN",
        (USE, USE_ISSN) => "ISSN",
        (USE, LCCN) => "LCCN",
        (USE, OCLC_NUMBER) => "OCLC number",
        (USE, USE_LOCAL_NUMBER) => "local number",
        (USE, USE_STANDARD_IDENTIFIER) => "standard identifier",
        (USE, USE_DOC_ID) => "docid",
        (USE, USE_ANY) => "any index",
        (USE, USE_TITLE) => "title",
        (USE, USE_AUTHOR) => "author",
        (USE, USE_DATE_OF_PUBLICATION) => "date of publication",
        (STRUCTURE, STRUCTURE_URX) => "structure URx",
        (attribute_type, value) => return attributes::name(attribute_type, value),
    })
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
                &["@attr 1=7 0306406153", "@attr 1=1007 0306406153"],
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
                .map(|attempt| {
                    if attempt.precondition == Precondition::Refusal {
                        format!("| {}", attempt.query)
                    } else {
                        attempt.query.to_string()
                    }
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

    #[test]
    fn audit_r_b7_broader_searches_need_a_fallback() {
        for (identifier, queries) in [
            (
                "isbn:978-01414",
                &["@attr 5=1 @attr 1=7 978-01414", "@attr 1=1016 978-01414"][..],
            ),
            (
                "oclc:19564183",
                &[
                    "@or @attr 1=1211 ocm19564183 @attr 1=1211 (OCoLC)ocm19564183",
                    "@or @attr 1=12 ocm19564183 @attr 1=12 (OCoLC)ocm19564183",
                ],
            ),
            (
                "oclc:00012345",
                &[
                    "@or @or @or @attr 1=1211 ocm00012345 @attr 1=1211 (OCoLC)ocm00012345 @attr 1=1211 (OCoLC)00012345 @attr 1=1211 00012345",
                ],
            ),
            ("local:7", &[]),
        ] {
            let parsed = identifier.parse().expect("an identifier");
            let found: Vec<String> = broader(&parsed)
                .iter()
                .map(|attempt| attempt.query.to_string())
                .collect();
            assert_eq!(
                found.get(..queries.len()),
                Some(
                    &queries
                        .iter()
                        .map(|query| (*query).to_owned())
                        .collect::<Vec<_>>()[..]
                ),
                "{identifier}"
            );
            let usual = attempts(&parsed);
            assert!(
                usual
                    .iter()
                    .all(|attempt| !attempt.query.to_string().contains("5=1"))
            );
        }
    }

    #[test]
    fn searches_have_names() {
        for (identifier, names) in [
            ("isbn:0306406153", "ISBN; standard identifier"),
            (
                "docid:a",
                "docid with structure URx; docid; local number; standard identifier",
            ),
            (
                "oclc:12345",
                "OCLC number; OCLC number; OCLC number; standard identifier",
            ),
        ] {
            let parsed = identifier.parse().expect("an identifier");
            let found: Vec<String> = attempts(&parsed)
                .into_iter()
                .map(|attempt| attempt.name())
                .take(4)
                .collect();
            assert_eq!(found.join("; "), names, "{identifier}");
        }
        let habit = Attributes::numeric(&[(4, 104), (9, 1)]);
        assert_eq!(name(&habit), "any index with structure URx, 9=1");
    }
}

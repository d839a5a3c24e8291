//! Ranges of years, such as `1850-1860`, `1850-` and `185?`.

use crate::apdu::{AttributeElement, Operator, RpnStructure};
use crate::bib1::attributes::{RELATION, USE, USE_DATE_OF_PUBLICATION};

/// Returns whether the index with these attributes contains years of publication.
pub(super) fn is_of_years(attributes: &[AttributeElement]) -> bool {
    attributes.contains(&AttributeElement::numeric(USE, USE_DATE_OF_PUBLICATION))
}

/// Returns the first and last year of `1850-1860`, `1850-` or `-1860` (also written with `–` or `..`), or of `18??`.
/// An open end is returned as an empty string.
pub(super) fn years(term: &str) -> Option<(String, String)> {
    if term.len() == 4 && term.ends_with('?') {
        let (first, last) = (term.replace('?', "0"), term.replace('?', "9"));
        let known = term.trim_end_matches('?');
        let is_mask = !known.is_empty() && !known.contains('?') && is_year(&first);
        return is_mask.then_some((first, last));
    }
    let mark = RANGE_MARKS.iter().find(|mark| term.contains(**mark))?;
    let (first, last) = term.split_once(mark)?;
    let are_years = [first, last]
        .into_iter()
        .all(|year| year.is_empty() || is_year(year));
    (are_years && term != *mark).then(|| (first.to_owned(), last.to_owned()))
}

fn is_year(year: &str) -> bool {
    year.len() == 4 && year.bytes().all(|octet| octet.is_ascii_digit())
}

/// Returns whether a term is a year or an ISO 8601 date.
pub(super) fn is_moment(term: &str) -> bool {
    is_year(term)
        || term
            .bytes()
            .all(|octet| octet.is_ascii_digit() || octet == b'-')
            && is_date(term)
}

/// The separators between the two ends of a range.
const RANGE_MARKS: [&str; 3] = ["-", "–", ".."];

/// Returns whether a term consists of the characters of a range, but is not a valid range: `1850-60`, `18?0`.
pub(super) fn is_like_range(term: &str) -> bool {
    let has_mark = term.contains('?') || RANGE_MARKS.iter().any(|mark| term.contains(mark));
    let is_number = |one: char| one.is_ascii_digit() || "-–.?".contains(one);
    has_mark
        && term.contains(|one: char| one.is_ascii_digit())
        && term.chars().all(is_number)
        && !is_date(term)
}

/// Returns whether a term is an ISO 8601 date with a month, such as `1850-05` or `1850-05-01`.
fn is_date(term: &str) -> bool {
    let mut parts = term.split('-');
    let has_length = |part: Option<&str>, length| part.is_some_and(|part| part.len() == length);
    let is_month = |part: &str| {
        part.parse()
            .is_ok_and(|month: u8| (1..=12).contains(&month))
    };
    has_length(parts.next(), 4)
        && parts
            .next()
            .is_some_and(|part| part.len() == 2 && is_month(part))
        && parts.next().is_none_or(|day| day.len() == 2)
        && parts.next().is_none()
}

/// Returns the operands for a range of years, and the depth of their tree.
pub(super) fn range(
    attributes: &[AttributeElement],
    (first, last): (&str, &str),
) -> (RpnStructure, usize) {
    let end = |relation, year: &str| {
        let mut attributes = attributes.to_vec();
        attributes.push(AttributeElement::numeric(RELATION, relation));
        RpnStructure::term(attributes, year)
    };
    match (first, last) {
        (first, "") => (end(AT_LEAST, first), 0),
        ("", last) => (end(AT_MOST, last), 0),
        (first, last) => {
            let (first, last) = (end(AT_LEAST, first), end(AT_MOST, last));
            (RpnStructure::combined(first, Operator::And, last), 1)
        }
    }
}

/// The values of Bib-1's Relation attribute for the two ends of a range.
const AT_LEAST: i64 = 4;
const AT_MOST: i64 = 2;

//! Finds numbers in text as catalogues, publishers and people write them: `ISBN 0-306-40615-2 (pbk.) : $9.95`,
//! `urn:isbn:0306406152`, `(OCoLC)ocm00012345`. The text may contain several numbers, separated by `;` or by spaces.

use super::{Isbn, Issn, check_digits, lccn, oclc_number};

/// The kinds of numbers that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NumberKind {
    /// International Standard Book Number (ISO 2108).
    Isbn,
    /// International Standard Serial Number (ISO 3297).
    Issn,
    /// Library of Congress Control Number.
    Lccn,
    /// OCLC control number, with a prefix that identifies it as such.
    Oclc,
    /// Bar code number: 13- or 8-digit EAN, 12-digit UPC (ISO/IEC 15420).
    Ean,
}

/// A number found in text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PrintedNumber<'t> {
    /// The number as written, without the text around it.
    pub written: &'t str,
    /// The number in its normal form: an ISBN with 13 digits, an ISSN with its hyphen. A number with a wrong check
    /// digit is reduced to its digits.
    pub normal: String,
    /// Whether the check digit is correct. Numbers without a check digit are valid.
    pub is_valid: bool,
}

/// The maximum number of numbers that are read from one text, and the maximum length of the text in octets.
const MAX_NUMBERS: usize = 20;
const MAX_OCTETS: usize = 4096;

/// Returns the valid numbers of a kind in text, in order and without duplicates. If there are none, returns the first
/// number with a wrong check digit.
///
/// Labels, qualifiers, prices and marks around a number are skipped. If the text is long, only its beginning is read.
pub fn numbers(kind: NumberKind, text: &str) -> Vec<PrintedNumber<'_>> {
    let text = begin(text);
    let found = match kind {
        NumberKind::Isbn => checked(text, &[13, 10], &isbn, &|text| Isbn::check_digit_of(text)),
        NumberKind::Issn => checked(text, &[8], &issn, &|text| Issn::check_digit_of(text)),
        NumberKind::Ean => checked(text, &[13, 12, 8], &ean, &|_| None),
        NumberKind::Lccn => parts(text, &lccn_of),
        NumberKind::Oclc => parts(text, &|part| {
            let number = oclc_number(part)?;
            Some((number, number.to_owned()))
        }),
    };
    let mut distinct: Vec<PrintedNumber<'_>> = Vec::new();
    for one in found {
        if !distinct.iter().any(|known| known.normal == one.normal) {
            distinct.push(one);
        }
        if distinct.len() == MAX_NUMBERS {
            break;
        }
    }
    distinct
}

/// Returns the beginning of the text, at most [`MAX_OCTETS`].
fn begin(text: &str) -> &str {
    let mut ends = (0..=MAX_OCTETS.min(text.len())).rev();
    ends.find_map(|end| text.get(..end)).unwrap_or_default()
}

fn isbn(text: &str) -> Option<String> {
    Isbn::parse(text).map(|isbn| isbn.to_string())
}

fn issn(text: &str) -> Option<String> {
    Issn::parse(text).map(|issn| issn.to_string())
}

/// Returns the 13 or 8 digits of a bar code with a correct check digit; a 12-digit UPC gets a leading zero.
fn ean(text: &str) -> Option<String> {
    let digits = check_digits(text, 13)?;
    let is_decimal = digits.iter().all(|digit| *digit < 10);
    if !is_decimal || !matches!(digits.len(), 8 | 12 | 13) {
        return None;
    }
    let weighted = digits.iter().rev().zip([1_u32, 3].into_iter().cycle());
    let sum: u32 = weighted
        .map(|(digit, weight)| u32::from(*digit) * weight)
        .sum();
    let digits: String = digits.into_iter().map(super::letter).collect();
    let is_upc = digits.len() == 12;
    let whole = if is_upc { format!("0{digits}") } else { digits };
    sum.is_multiple_of(10).then_some(whole)
}

/// Returns the valid numbers that have one of these lengths; at each position, the longest number is taken. If there
/// are none, returns the first number with a wrong check digit.
fn checked<'t>(
    text: &'t str,
    lengths: &[usize],
    normal: &dyn Fn(&str) -> Option<String>,
    check_digit: &dyn Fn(&str) -> Option<char>,
) -> Vec<PrintedNumber<'t>> {
    let mut valid = Vec::new();
    let mut doubtful = None;
    for run in runs(text) {
        let groups = groups(run);
        let mut at = 0;
        while let Some((start, _)) = groups.get(at) {
            let mut next = at + 1;
            // A number may contain spaces, so several groups may form one number.
            let most = groups.len().min(at + MAX_GROUPS);
            for end in (at + 1..=most).rev() {
                let Some((_, stop)) = groups.get(end - 1) else {
                    continue;
                };
                let written = bare(run.get(*start..*stop).unwrap_or_default());
                if !lengths.contains(&digits(written)) {
                    continue;
                }
                if let Some(normal) = normal(written) {
                    valid.push(PrintedNumber {
                        written,
                        normal,
                        is_valid: true,
                    });
                    next = end;
                    break;
                }
                if doubtful.is_none() && check_digit(written).is_some() {
                    let normal = written
                        .chars()
                        .filter(char::is_ascii_alphanumeric)
                        .collect::<String>()
                        .to_ascii_uppercase();
                    doubtful = Some(PrintedNumber {
                        written,
                        normal,
                        is_valid: false,
                    });
                }
            }
            at = next;
        }
        if valid.len() >= 4 * MAX_NUMBERS {
            break;
        }
    }
    if valid.is_empty() {
        valid.extend(doubtful);
    }
    valid
}

/// The maximum number of groups of digits in a number: 978-0-306-40615-7 with spaces has five.
const MAX_GROUPS: usize = 6;

/// Returns the runs of characters in text that may be parts of numbers. If a run continues a word that is not a label,
/// its first group is left out.
fn runs(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = 0;
    std::iter::from_fn(move || {
        loop {
            let from = text.get(rest..)?;
            let start = rest + from.find(is_part)?;
            let tail = text.get(start..)?;
            let stop = start + tail.find(|next| !is_part(next)).unwrap_or(tail.len());
            rest = stop;
            let run = text.get(start..stop)?;
            let before = text.get(..start).unwrap_or_default();
            let continues_word = before.ends_with(char::is_alphanumeric) && !is_label(before);
            if !continues_word {
                return Some(run);
            }
            // The run continues a word, so its first group is part of that word and is skipped.
            if let Some((_, later)) = run.split_once(is_blank) {
                return Some(later);
            }
        }
    })
}

/// Returns whether text ends with the name of a kind of number.
fn is_label(text: &str) -> bool {
    ["isbn", "issn", "ean", "sbn"].iter().any(|label| {
        let start = text.len().checked_sub(label.len());
        let end = start.and_then(|start| text.get(start..));
        end.is_some_and(|end| end.eq_ignore_ascii_case(label))
    })
}

/// Returns the start and end offsets of the groups in a run, which are separated by spaces.
fn groups(run: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut start = None;
    for (at, character) in run.char_indices() {
        match (is_blank(character), start) {
            (true, Some(begin)) => {
                found.push((begin, at));
                start = None;
            }
            (false, None) => start = Some(at),
            _ => {}
        }
    }
    found.extend(start.map(|begin| (begin, run.len())));
    found
}

fn is_blank(character: char) -> bool {
    character == ' ' || character == '\u{a0}' || character == '\t'
}

fn is_part(character: char) -> bool {
    matches!(character, '0'..='9' | 'X' | 'x') || super::is_ignored(character)
}

fn digits(text: &str) -> usize {
    text.bytes()
        .filter(|octet| octet.is_ascii_alphanumeric())
        .count()
}

/// Returns a number without surrounding hyphens and spaces.
fn bare(text: &str) -> &str {
    text.trim_matches(super::is_ignored)
}

/// Returns the numbers in the parts of the text between `;`, `|` and commas, or else in its words.
fn parts<'t>(
    text: &'t str,
    read: &dyn Fn(&'t str) -> Option<(&'t str, String)>,
) -> Vec<PrintedNumber<'t>> {
    let number = |(written, normal)| PrintedNumber {
        written,
        normal,
        is_valid: true,
    };
    let mut found = Vec::new();
    for part in text.split([';', '|', ',', '\u{1f}']) {
        if let Some(whole) = read(part) {
            found.push(number(whole));
        } else {
            found.extend(part.split_whitespace().filter_map(read).map(number));
        }
    }
    found
}

/// Returns an LCCN without its label, the prefix `(DLC)` used in 035, or the URL that the Library of Congress assigns
/// to it.
fn lccn_of(text: &str) -> Option<(&str, String)> {
    let text = text.trim();
    let unlabelled = strip_label(text);
    let unqualified = unlabelled
        .split(['(', ':', '='])
        .next()
        .unwrap_or_default()
        .trim();
    [text, unlabelled, unqualified]
        .into_iter()
        .find_map(|one| Some((one, lccn(one)?)))
}

const LCCN_LABELS: [&str; 8] = [
    "(dlc)",
    "lccn:",
    "lccn",
    "info:lccn/",
    "https://lccn.loc.gov/",
    "http://lccn.loc.gov/",
    "lccn.loc.gov/",
    "lc control no.",
];

fn strip_label(text: &str) -> &str {
    let begins = |label: &&str| {
        text.get(..label.len())
            .is_some_and(|begin| begin.eq_ignore_ascii_case(label))
    };
    let label = LCCN_LABELS.iter().find(|label| begins(label));
    let rest = label
        .and_then(|label| text.get(label.len()..))
        .unwrap_or(text);
    rest.trim_start_matches([' ', ':', '.', '#'])
}

#[cfg(test)]
pub(crate) mod tests;

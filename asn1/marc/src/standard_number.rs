//! Standard numbers for publications and records, with checks and normalisation: ISBN (ISO 2108), ISSN (ISO 3297), and
//! Library of Congress and OCLC control numbers as found in MARC 21 010 and 035.

mod printed;

use std::fmt;

pub use self::printed::{NumberKind, PrintedNumber, numbers};

/// A valid International Standard Book Number. `Display` writes its 13 digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Isbn {
    /// The digits without the check digit.
    digits: [u8; 12],
}

/// The prefix that turns ten-digit ISBNs into thirteen digits.
const BOOKLAND: [u8; 3] = [9, 7, 8];

impl Isbn {
    /// Parses a 10- or 13-digit ISBN with a correct check digit; spaces and any kind of hyphen are ignored. Returns
    /// `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        let (isbn, given, computed) = Self::read(text)?;
        (given == computed).then_some(isbn)
    }

    /// Returns the check digit that would make the text a valid ISBN; the last digit of the text is ignored. Returns
    /// `None` if the text does not have the form of an ISBN.
    pub fn check_digit_of(text: &str) -> Option<char> {
        let (_, _, computed) = Self::read(text)?;
        Some(letter(computed))
    }

    /// Parses an ISBN of ten or thirteen digits. Returns the number, the check digit as written, and the correct check
    /// digit.
    fn read(text: &str) -> Option<(Self, u8, u8)> {
        let all = check_digits(text, 13)?;
        let (given, number) = all.split_last()?;
        if !is_decimal(number) {
            return None;
        }
        match (number.len(), number) {
            (9, _) => {
                let digits = [BOOKLAND.as_slice(), number].concat();
                let digits = digits.try_into().ok()?;
                Some((Self { digits }, *given, check_11(number)))
            }
            (12, [9, 7, 8 | 9, ..]) if *given < 10 => {
                let digits = number.try_into().ok()?;
                let isbn = Self { digits };
                Some((isbn, *given, isbn.check_digit()))
            }
            _ => None,
        }
    }

    /// Returns the ten-digit form. Returns `None` for a number with a prefix other than 978, which has no such form.
    pub fn ten(&self) -> Option<String> {
        let (prefix, number) = self.digits.split_at_checked(3)?;
        (prefix == BOOKLAND).then(|| {
            let check = check_11(number);
            number
                .iter()
                .chain([&check])
                .map(|digit| letter(*digit))
                .collect()
        })
    }

    fn check_digit(&self) -> u8 {
        let weighted = self.digits.iter().zip([1, 3].into_iter().cycle());
        let sum: u32 = weighted
            .map(|(digit, weight)| u32::from(*digit) * weight)
            .sum();
        u8::try_from((10 - sum % 10) % 10).unwrap_or(0)
    }
}

impl fmt::Display for Isbn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.digits.into_iter().chain([self.check_digit()]);
        f.write_str(&digits.map(letter).collect::<String>())
    }
}

/// A valid International Standard Serial Number. `Display` writes its eight digits with a hyphen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Issn {
    /// The digits without the check digit.
    digits: [u8; 7],
}

impl Issn {
    /// Parses an ISSN with a correct check digit, with or without the hyphen. Returns `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        let (issn, given) = Self::read(text)?;
        (given == check_11(&issn.digits)).then_some(issn)
    }

    /// Returns the check digit that would make the text a valid ISSN; the last digit of the text is ignored. Returns
    /// `None` if the text does not have the form of an ISSN.
    pub fn check_digit_of(text: &str) -> Option<char> {
        let (issn, _) = Self::read(text)?;
        Some(letter(check_11(&issn.digits)))
    }

    /// Parses an ISSN. Returns the number, and the check digit as written.
    fn read(text: &str) -> Option<(Self, u8)> {
        let all = check_digits(text, 8)?;
        let (given, number) = all.split_last()?;
        let digits = number.try_into().ok()?;
        is_decimal(number).then_some((Self { digits }, *given))
    }

    /// Returns the eight digits without the hyphen.
    pub fn without_hyphen(&self) -> String {
        let digits = self.digits.into_iter().chain([check_11(&self.digits)]);
        digits.map(letter).collect()
    }
}

impl fmt::Display for Issn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.without_hyphen();
        let (first, second) = digits.split_at(4);
        write!(f, "{first}-{second}")
    }
}

/// Returns a Library of Congress Control Number in its normalised form, such as `n78890351` or `2001000002`: spaces are
/// removed, as are a slash and the text after it, and the serial number after a hyphen is padded to six digits.
///
/// Returns `None` unless the result is up to three letters followed by eight digits, or by ten digits that begin with a
/// four-digit year.
pub fn lccn(text: &str) -> Option<String> {
    let text: String = text.split('/').next()?.split_whitespace().collect();
    let normalised = match text.split_once('-') {
        None => text.to_ascii_lowercase(),
        Some((year, serial)) => {
            let is_serial = (1..=6).contains(&serial.len()) && all_digits(serial);
            format!(
                "{}{:0>6}",
                year.to_ascii_lowercase(),
                is_serial.then_some(serial)?
            )
        }
    };
    let prefix = normalised.find(|letter: char| !letter.is_ascii_lowercase())?;
    let digits = normalised.get(prefix..)?;
    let is_one = prefix <= 3 && matches!(digits.len(), 8 | 10) && all_digits(digits);
    is_one.then_some(normalised)
}

/// Returns the number from an OCLC control number in any form in which records and people write it:
/// `(OCoLC)ocm00012345`, `ocn123456789`, `on1234567890`, `OCLC 12345`, or its URL at WorldCat. Leading zeros are
/// removed. Returns `None` for any other text.
pub fn oclc_number(text: &str) -> Option<&str> {
    let text = text.trim();
    let labels = ["(ocolc)", "oclc"].iter();
    let labelled = labels
        .filter_map(|label| without_begin(text, label))
        .next()
        .map(|rest| rest.trim_start_matches([' ', ':', '#', '.']));
    let address = || text.split_once("worldcat.org/oclc/").map(|(_, rest)| rest);
    let bare = labelled.or_else(address);
    let rest = bare.unwrap_or(text);
    let mut prefixes = ["ocm", "ocn", "on"].iter();
    let number = prefixes.find_map(|prefix| without_begin(rest, prefix));
    if bare.is_none() && number.is_none() {
        return None;
    }
    let digits = number.unwrap_or(rest).trim();
    let significant = digits.trim_start_matches('0');
    (all_digits(digits) && !significant.is_empty()).then_some(significant)
}

/// Returns the text after `begin`, or `None` if the text does not begin with it. Case is ignored.
fn without_begin<'t>(text: &'t str, begin: &str) -> Option<&'t str> {
    let (own, rest) = text.split_at_checked(begin.len())?;
    own.eq_ignore_ascii_case(begin).then_some(rest)
}

fn all_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|octet| octet.is_ascii_digit())
}

/// Returns whether a character is allowed between digits: hyphens and spaces of all kinds, and the invisible marks that
/// copied text may contain.
fn is_ignored(character: char) -> bool {
    matches!(
        character,
        '-' | ' ' | '\t' | '\u{a0}' | '\u{ad}' | '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}' | '\u{2060}' | '\u{feff}'
    )
}

/// Returns the digits of a number written with hyphens and spaces; an X counts as ten. Returns `None` for any other
/// characters, or for more than `most` digits.
fn check_digits(text: &str, most: usize) -> Option<Vec<u8>> {
    let mut digits = Vec::with_capacity(most);
    for character in text.trim().chars() {
        let digit = match character {
            '0'..='9' => u8::try_from(character.to_digit(10)?).ok()?,
            'X' | 'x' => 10,
            mark if is_ignored(mark) => continue,
            _ => return None,
        };
        if digits.len() == most {
            return None;
        }
        digits.push(digit);
    }
    Some(digits)
}

fn is_decimal(digits: &[u8]) -> bool {
    digits.iter().all(|digit| *digit < 10)
}

/// Computes the check digit of an ISBN-10 or ISSN: the sum of the digits, each multiplied by its distance from the
/// check digit, modulo 11.
fn check_11(number: &[u8]) -> u8 {
    let weighted = number.iter().rev().zip(2_u32..);
    let sum: u32 = weighted
        .map(|(digit, weight)| u32::from(*digit) * weight)
        .sum();
    u8::try_from((11 - sum % 11) % 11).unwrap_or(0)
}

fn letter(digit: u8) -> char {
    match digit {
        10 => 'X',
        _ => char::from_digit(u32::from(digit), 10).unwrap_or('?'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn isbns_have_two_forms() {
        for (text, thirteen, ten) in [
            ("0-306-40615-2", "9780306406157", "0306406152"),
            ("978-0-306-40615-7", "9780306406157", "0306406152"),
            (" 0‐8044‐2957‐x ", "9780804429573", "080442957X"),
            ("979-10-90636-07-1", "9791090636071", ""),
        ] {
            let isbn = Isbn::parse(text).expect(text);
            assert_eq!(isbn.to_string(), thirteen);
            assert_eq!(isbn.ten().unwrap_or_default(), ten);
        }
        for text in [
            "",
            "0306406153",
            "9780306406158",
            "97803064061570",
            "123X567890",
            "9770306406158",
            "é",
        ] {
            assert_eq!(Isbn::parse(text), None, "{text}");
        }
    }

    #[test]
    fn audit_d5_the_right_check_digit_is_known() {
        for (text, isbn, issn) in [
            ("0-306-40615-3", Some('2'), None),
            ("0804429573", Some('X'), None),
            ("030640615X", Some('2'), None),
            ("9780306406158", Some('7'), None),
            ("978030640615X", None, None),
            ("9770306406158", None, None),
            ("0378-5954", None, Some('5')),
            ("2434-5610", None, Some('X')),
            ("0378-595", None, None),
            ("pg1342", None, None),
            ("", None, None),
        ] {
            assert_eq!(Isbn::check_digit_of(text), isbn, "{text}");
            assert_eq!(Issn::check_digit_of(text), issn, "{text}");
        }
    }

    #[test]
    fn issns_have_a_hyphen() {
        for (text, issn) in [("03785955", "0378-5955"), ("2434-561x", "2434-561X")] {
            assert_eq!(Issn::parse(text).expect(text).to_string(), issn);
        }
        for text in ["", "0378-5954", "0378595", "037859550", "x378-5955"] {
            assert_eq!(Issn::parse(text), None, "{text}");
        }
    }

    #[test]
    fn control_numbers_are_normalised() {
        for (text, normalised) in [
            ("   78890351 ", Some("78890351")),
            ("n78-890351", Some("n78890351")),
            ("85-2 ", Some("85000002")),
            ("2001-000002", Some("2001000002")),
            ("75-425165//r75", Some("75425165")),
            (" 79139101 /AC/r932", Some("79139101")),
            ("NO 2003123456", Some("no2003123456")),
            ("", None),
            ("abcd12345678", None),
            ("1234567", None),
            ("85-", None),
            ("85-1234567", None),
            ("pg1342", None),
        ] {
            assert_eq!(lccn(text).as_deref(), normalised, "{text}");
        }
        for (text, number) in [
            ("(OCoLC)ocm00012345", Some("12345")),
            ("ocn123456789", Some("123456789")),
            ("(OCoLC)1234", Some("1234")),
            ("1234", None),
            ("(OCoLC)", None),
            ("(OCoLC)000", None),
            ("onward", None),
        ] {
            assert_eq!(oclc_number(text), number, "{text}");
        }
    }
}

//! Parses identifiers as users write them: `isbn:0306406152`, `issn:`, `lccn:`, `oclc:`, `local:`, `docid:`. Without a
//! prefix, the form of the identifier determines the kind.

use std::fmt;
use std::str::FromStr;

use z3950_marc::standard_number::{
    Isbn, Issn, NumberKind, PrintedNumber, lccn, numbers, oclc_number,
};

/// The maximum number of identifiers taken from a record or from text.
pub const MAX_IDENTIFIERS: usize = 20;

/// An identifier of a record.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Identifier {
    /// The kind of the identifier.
    pub kind: Kind,
    /// The identifier as written, without the prefix.
    pub text: String,
    /// Whether the kind was given by a prefix, and not guessed from the form.
    pub is_certain: bool,
    /// Whether the identifier was taken from a record that marks it as cancelled or invalid.
    pub is_cancelled: bool,
}

/// The kinds of identifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// International Standard Book Number.
    Isbn,
    /// International Standard Serial Number.
    Issn,
    /// Library of Congress Control Number.
    Lccn,
    /// The control number assigned by OCLC.
    Oclc,
    /// The control number of the record in the catalogue itself.
    Local,
    /// The docid of RFC 2056 §4, whose meaning is defined by the server.
    Docid,
}

impl Kind {
    /// All kinds of identifiers.
    pub const ALL: [Self; 6] = [
        Self::Isbn,
        Self::Issn,
        Self::Lccn,
        Self::Oclc,
        Self::Local,
        Self::Docid,
    ];

    /// Returns the prefix of the kind, without its colon.
    pub fn name(self) -> &'static str {
        match self {
            Self::Isbn => "isbn",
            Self::Issn => "issn",
            Self::Lccn => "lccn",
            Self::Oclc => "oclc",
            Self::Local => "local",
            Self::Docid => "docid",
        }
    }

    /// Guesses the kind of a number without a prefix. Eight digits without a hyphen are more likely to be an LCCN than
    /// an ISSN.
    fn of_shape(text: &str) -> Self {
        match text {
            _ if Isbn::parse(text).is_some() => Self::Isbn,
            _ if text.contains('-') && Issn::parse(text).is_some() => Self::Issn,
            _ if oclc_number(text).is_some() => Self::Oclc,
            _ if lccn(text).is_some() => Self::Lccn,
            _ => Self::Docid,
        }
    }
}

impl Identifier {
    /// Parses an identifier. Without a prefix, it is of the given `kind` or, if that is `None`, of the kind suggested
    /// by its form.
    ///
    /// An ISBN or ISSN is recognized in the forms printed in catalogues and tables: `ISBN-13: 978-0-306-40615-7 (pbk.)
    /// : $9.95`. If the kind is known, leading zeros that a spreadsheet program has removed are restored.
    ///
    /// # Errors
    /// [`IdentifierError`] if the text is empty, or if nothing follows a prefix.
    pub fn read(text: &str, kind: Option<Kind>) -> Result<Self, IdentifierError> {
        let text = text.trim();
        let known = labelled(text).or(kind.map(|kind| (kind, text)));
        match known {
            _ if text.is_empty() => Err(IdentifierError::Empty),
            Some((kind, "")) => Err(IdentifierError::NoNumber(kind.name())),
            Some((kind, rest)) => {
                let number = number(kind, rest);
                Ok(Self {
                    kind,
                    text: with_zeros(kind, number).unwrap_or_else(|| number.to_owned()),
                    is_certain: true,
                    is_cancelled: false,
                })
            }
            None => {
                let number = leading(Kind::Isbn, without_qualifier(text));
                let text = match Kind::of_shape(number) {
                    Kind::Isbn | Kind::Issn => number,
                    _ => text,
                };
                Ok(Self {
                    kind: Kind::of_shape(text),
                    text: text.to_owned(),
                    is_certain: false,
                    is_cancelled: false,
                })
            }
        }
    }

    /// Parses all identifiers in text with several numbers, such as a cell of a table: `0306406152 (hbk.) | 0141439513
    /// (pbk.)`, `isbn:0306406152 OR isbn:0141439513`. Different forms of one number count as one. For text with a
    /// single number, this function returns the same as [`read`](Self::read).
    ///
    /// # Errors
    /// The errors of [`read`](Self::read).
    pub fn read_all(text: &str, kind: Option<Kind>) -> Result<Vec<Self>, IdentifierError> {
        let first = Self::read(text, kind)?;
        let mut default = kind;
        let mut found: Vec<(String, Self)> = Vec::new();
        let parts = text
            .split(['|', ';', '\n'])
            .flat_map(|part| part.split(" OR "));
        for part in parts.map(str::trim) {
            if let Some((labelled, _)) = labelled(part) {
                default = Some(labelled);
            }
            for one in Self::in_part(part, default) {
                let key = normal(one.kind, &one.text);
                let is_new = found
                    .iter()
                    .all(|(known, other)| *known != key || other.kind != one.kind);
                if is_new && found.len() < MAX_IDENTIFIERS {
                    found.push((key, one));
                }
            }
        }
        if found.len() < 2 {
            return Ok(vec![first]);
        }
        Ok(found.into_iter().map(|(_, one)| one).collect())
    }

    /// Returns the valid numbers in a part of the text, of the given kind or of the kind that their form suggests.
    fn in_part(part: &str, kind: Option<Kind>) -> Vec<Self> {
        let rest = labelled(part).map_or(part, |(_, rest)| rest);
        let leading = leading(Kind::Isbn, without_qualifier(rest));
        let shape = || match Kind::of_shape(leading) {
            kind @ (Kind::Isbn | Kind::Issn) => kind,
            _ => Kind::of_shape(rest),
        };
        let kind_of_part = kind.unwrap_or_else(shape);
        let of = |text: &str| Self {
            kind: kind_of_part,
            text: text.to_owned(),
            is_certain: kind.is_some(),
            is_cancelled: false,
        };
        let is_bare = kind == Some(Kind::Oclc)
            && !rest.is_empty()
            && rest.bytes().all(|octet| octet.is_ascii_digit());
        if is_bare {
            return vec![of(rest)];
        }
        // An eight-digit record number is not necessarily an LCCN.
        if kind.is_none() && kind_of_part == Kind::Lccn {
            return Vec::new();
        }
        let found = printed(kind_of_part, rest).into_iter();
        found
            .filter(|number| number.is_valid)
            .map(|number| of(number.written))
            .collect()
    }

    /// Returns a canonical form, which is the same for all notations of the number, such as `isbn:9780306406157`.
    pub fn normalized(&self) -> String {
        format!("{}:{}", self.kind.name(), normal(self.kind, &self.text))
    }

    /// Returns a hint to show if no record is found. It says that the identifier begins with an unknown prefix, or that
    /// it may be an ISSN without its hyphen; `None` if neither is the case.
    pub fn hint(&self) -> Option<String> {
        if self.kind == Kind::Lccn && !self.is_certain && Issn::parse(&self.text).is_some() {
            return Some(format!("if it is an ISSN, write issn:{}", self.text));
        }
        let (prefix, _) = self.text.split_once(':')?;
        let is_word =
            !prefix.is_empty() && prefix.chars().all(|letter| letter.is_ascii_alphabetic());
        (is_word && !self.is_certain).then(|| {
            let known: Vec<String> = Kind::ALL.map(|kind| format!("{}:", kind.name())).into();
            format!(
                "{prefix}: is not a prefix: the prefixes are {}",
                known.join(", ")
            )
        })
    }

    /// Returns the reason why the identifier is doubtful; `None` if it is not. It is doubtful if it has the prefix or
    /// the form of an ISBN or ISSN but is not valid, if a spreadsheet program has rounded it, or if its record marks it
    /// as cancelled or invalid.
    ///
    /// Eight digits without a hyphen are treated as an LCCN, as are ten digits that begin with the year of an LCCN.
    pub fn doubt(&self) -> Option<String> {
        let text = self.text.as_str();
        if self.is_cancelled {
            return Some(format!(
                "the record has {self} only as a cancelled or invalid number"
            ));
        }
        if is_rounded(text) {
            return Some(format!(
                "{text} is a number that a spreadsheet program has rounded: format its column as text there, and save it again"
            ));
        }
        match self.kind {
            Kind::Isbn if Isbn::parse(text).is_none() => {
                Some(match (Isbn::check_digit_of(text), digits(text)) {
                    (Some(digit), _) => wrong_check_digit(text, "ISBN", digit),
                    (None, Some(13)) => format!(
                        "{text} is not an ISBN: an ISBN of 13 digits begins with 978 or 979"
                    ),
                    (None, count) => wrong_length(text, "ISBN", count, "10 or 13", &[10]),
                })
            }
            Kind::Issn if Issn::parse(text).is_none() => Some(match Issn::check_digit_of(text) {
                Some(digit) => wrong_check_digit(text, "ISSN", digit),
                None => wrong_length(text, "ISSN", digits(text), "8", &[8]),
            }),
            Kind::Docid | Kind::Lccn if !self.is_certain => {
                let text = leading(Kind::Isbn, text);
                let looks_like = |name, digit| {
                    format!(
                        "{text} looks like an {name} with a wrong check digit ({digit} expected)"
                    )
                };
                // A valid ISSN is not doubtful: if the search finds nothing, the hint names the ISSN.
                if Issn::parse(text).is_some() {
                    return None;
                }
                if let Some(whole) = with_zeros(Kind::Isbn, text) {
                    return Some(format!(
                        "{text} looks like the ISBN {whole} without its leading zero; if it is, write isbn:{text}"
                    ));
                }
                let isbn = Isbn::check_digit_of(text).filter(|_| !begins_with_year(text));
                let issn = Issn::check_digit_of(text).filter(|_| is_hyphenated(text));
                isbn.map(|digit| looks_like("ISBN", digit))
                    .or(issn.map(|digit| looks_like("ISSN", digit)))
            }
            _ => None,
        }
    }
}

/// Splits text that begins with the name of a kind, as in `isbn:…` or, in the forms printed in catalogues, `ISBN …`,
/// `ISBN-13: …` and `ISSN0378-5955`. Returns the kind and the text after the name.
fn labelled(text: &str) -> Option<(Kind, &str)> {
    let urn = text
        .get(..4)
        .filter(|begin| begin.eq_ignore_ascii_case("urn:"));
    if urn.is_some() {
        let labelled = labelled(text.get(4..)?)?;
        return Some(labelled).filter(|(kind, _)| matches!(kind, Kind::Isbn | Kind::Issn));
    }
    let end = text.find(|letter: char| !letter.is_ascii_alphabetic())?;
    let (name, rest) = text.split_at_checked(end)?;
    let mut kinds = Kind::ALL.into_iter();
    let kind = kinds.find(|kind| kind.name().eq_ignore_ascii_case(name))?;
    if let Some(rest) = rest.strip_prefix(':') {
        return Some((kind, rest.trim()));
    }
    // After the label, `-13` or `10` is the length of the number if a colon or a space follows it.
    let is_end = |rest: &&str| rest.starts_with([':', ' ']);
    let sized = rest.trim_start_matches(['-', ' ']);
    let sized = sized.strip_prefix("13").or(sized.strip_prefix("10"));
    let rest = match sized.filter(is_end) {
        Some(rest) if kind == Kind::Isbn => rest,
        _ => rest,
    };
    let begins = match kind {
        Kind::Isbn | Kind::Issn => {
            rest.starts_with(|next: char| " \t:.".contains(next) || next.is_ascii_digit())
        }
        Kind::Lccn | Kind::Oclc => rest.starts_with([' ', '\t']),
        Kind::Local | Kind::Docid => false,
    };
    let has_digit = rest.contains(|character: char| character.is_ascii_digit());
    let number = rest.trim_start_matches([' ', '\t', ':', '.']);
    (has_digit && begins).then_some((kind, number))
}

/// Returns the text after a leading qualifier: `(electronic bk.) 9780306406157`.
fn without_qualifier(text: &str) -> &str {
    let rest = text.strip_prefix('(').and_then(|rest| rest.split_once(')'));
    let rest = rest.map_or("", |(_, rest)| rest.trim());
    let is_number = rest.starts_with(|first: char| first.is_ascii_digit());
    // In `(OCoLC)12345`, the text in parentheses is part of the number and not a qualifier.
    if is_number && oclc_number(text).is_none() {
        rest
    } else {
        text
    }
}

/// Returns the numbers of a kind in text, in any of the forms that catalogues print.
pub(super) fn printed(kind: Kind, text: &str) -> Vec<PrintedNumber<'_>> {
    let kind = match kind {
        Kind::Isbn => NumberKind::Isbn,
        Kind::Issn => NumberKind::Issn,
        Kind::Lccn => NumberKind::Lccn,
        Kind::Oclc => NumberKind::Oclc,
        Kind::Local | Kind::Docid => return Vec::new(),
    };
    numbers(kind, text)
}

/// Returns the normal form, used for comparison, of the first number in the text. If there is no number, returns the
/// letters and digits of the text.
pub(super) fn normal(kind: Kind, text: &str) -> String {
    if let Some(first) = printed(kind, text).into_iter().next() {
        return first.normal;
    }
    let text = number(kind, text);
    match kind {
        Kind::Oclc if text.bytes().all(|octet| octet.is_ascii_digit()) => {
            text.trim_start_matches('0').to_owned()
        }
        Kind::Local | Kind::Docid => text.to_owned(),
        _ => {
            let characters = text.chars().filter(|character| character.is_alphanumeric());
            characters.collect::<String>().to_lowercase()
        }
    }
}

/// Returns the number in text from a catalogue or table, as written there. For an ISBN or ISSN, this is the first
/// number that [`printed`] finds; for other kinds, it is the text without surrounding white space.
pub(super) fn number(kind: Kind, text: &str) -> &str {
    let first = match kind {
        Kind::Isbn | Kind::Issn => printed(kind, text).into_iter().next(),
        _ => None,
    };
    first.map_or_else(|| leading(kind, text), |first| first.written)
}

/// Returns the number at the beginning of the text, without its label, qualifier and price, as in
/// `0471383147 (pbk.) :`, `ISBN 0471383147` and `"0471383147"`.
fn leading(kind: Kind, text: &str) -> &str {
    let is_it: fn(&str) -> bool = match kind {
        Kind::Isbn => |part| Isbn::check_digit_of(part).is_some(),
        Kind::Issn => |part| Issn::check_digit_of(part).is_some(),
        _ => return text.trim(),
    };
    let text = match labelled(text.trim()) {
        Some((found, rest)) if found == kind => rest,
        _ => text,
    };
    let mut parts = text.split(['(', '[', ',', ';', ':', '$']).map(bare);
    let part = parts.find(|part| !part.is_empty()).unwrap_or_default();
    let word = part.split_whitespace().next().unwrap_or_default();
    let mut candidates = [bare(text), part, word].into_iter();
    candidates
        .find(|candidate| is_it(candidate))
        .unwrap_or(if part.is_empty() { text.trim() } else { part })
}

/// Removes surrounding white space and punctuation marks.
fn bare(text: &str) -> &str {
    text.trim_matches(|mark: char| mark.is_whitespace() || "\"'.:#/".contains(mark))
}

/// Restores the leading zeros of an ISBN or ISSN that a spreadsheet program has removed. Returns `None` if this does
/// not result in a valid ISBN or ISSN.
fn with_zeros(kind: Kind, text: &str) -> Option<String> {
    let is_number = |text: &str| {
        text.bytes()
            .all(|digit| digit.is_ascii_digit() || digit == b'X')
    };
    match (kind, text.len()) {
        (Kind::Isbn, 7..=9) if is_number(text) => {
            Some(format!("{text:0>10}")).filter(|whole| Isbn::parse(whole).is_some())
        }
        (Kind::Issn, 6..=7) if is_number(text) => {
            Some(format!("{text:0>8}")).filter(|whole| Issn::parse(whole).is_some())
        }
        _ => None,
    }
}

/// Returns whether text is a rounded number, as written by spreadsheet programs: `9.78026E+12`.
fn is_rounded(text: &str) -> bool {
    let Some((number, power)) = text.split_once(['E', 'e']) else {
        return false;
    };
    let are_digits =
        |text: &str| !text.is_empty() && text.bytes().all(|octet| octet.is_ascii_digit());
    let is_power = power.strip_prefix('+').is_some_and(are_digits);
    is_power && number.split(['.', ',']).all(are_digits)
}

/// Returns the number of digits, counting X as a digit; `None` if there are characters other than digits, hyphens and
/// spaces.
fn digits(text: &str) -> Option<usize> {
    let is_mark = |character: &char| matches!(character, '-' | ' ');
    let mut digits = text.chars().filter(|character| !is_mark(character));
    let is_digit = |digit: char| digit.is_ascii_digit() || matches!(digit, 'x' | 'X');
    digits
        .clone()
        .all(is_digit)
        .then(|| digits.by_ref().count())
}

fn wrong_check_digit(text: &str, name: &str, expected: char) -> String {
    format!("the {name} {text} has a wrong check digit ({expected} expected)")
}

/// Returns a message about a wrong number of digits. The message does not mention `count` if it is `None` or one of the
/// lengths in `right`.
fn wrong_length(
    text: &str,
    name: &str,
    count: Option<usize>,
    expected: &str,
    right: &[usize],
) -> String {
    match count.filter(|count| !right.contains(count)) {
        Some(1) => format!("{text} is not an {name}: it has 1 digit, an {name} has {expected}"),
        Some(count) => {
            format!("{text} is not an {name}: it has {count} digits, an {name} has {expected}")
        }
        None => format!("{text} is not an {name}: an {name} has {expected} digits"),
    }
}

/// Returns whether ten digits begin with a year, as in LCCNs assigned since 2001.
fn begins_with_year(text: &str) -> bool {
    text.len() == 10
        && lccn(text).is_some()
        && ("2001".."2100").contains(&text.get(..4).unwrap_or_default())
}

/// Returns whether text consists of eight characters with a hyphen in the middle, as in an ISSN.
fn is_hyphenated(text: &str) -> bool {
    let mut halves = text.split('-').map(|half| half.chars().count());
    halves.by_ref().eq([4, 4])
}

/// The error for a malformed identifier.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IdentifierError {
    /// The text is empty.
    #[error("the identifier is empty")]
    Empty,
    /// Nothing follows this prefix.
    #[error("nothing follows {0}:")]
    NoNumber(&'static str),
}

impl FromStr for Identifier {
    type Err = IdentifierError;

    /// Parses an identifier. Without a prefix, its form determines the kind.
    ///
    /// # Errors
    /// [`IdentifierError`] if the text is empty, or if nothing follows a prefix.
    fn from_str(text: &str) -> Result<Self, IdentifierError> {
        Self::read(text, None)
    }
}

impl fmt::Display for Identifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind.name(), self.text)
    }
}

#[cfg(test)]
mod tests;

//! Converts numbers, dates and codes to the normalized form in which they are indexed and compared, so that different spellings
//! match.

use z3950_marc::standard_number::{NumberKind, numbers};

use crate::memory::words::words;

/// The kind of an index, which determines how entries and search terms are interpreted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// Text: words, phrases, and complete subfields and fields.
    Text,
    /// International Standard Book Numbers; the forms with 10 and 13 digits are equivalent.
    Isbn,
    /// International Standard Serial Numbers, with or without the hyphen.
    Issn,
    /// Library of Congress control numbers, padded as in the URLs of that library's catalogue.
    Lccn,
    /// OCLC control numbers, without prefixes or leading zeros.
    Oclc,
    /// Standard numbers of all kinds, each in its own normal form; other text is reduced to letters and digits.
    Standard,
    /// Other numbers, reduced to their letters and digits. `(OCoLC)123` is found with and without the parenthesized prefix.
    Number,
    /// Codes from a list, in lower case, without surrounding spaces and fill characters.
    Code,
    /// Three-letter language codes, of which several may be concatenated.
    Language,
    /// Years (`1999`) and complete dates (`19990131`).
    Date,
    /// Octets that are compared without any conversion: the docid.
    Octets,
}

impl Kind {
    /// The kinds that settings can name.
    const ALL: [Self; 11] = [
        Self::Text,
        Self::Isbn,
        Self::Issn,
        Self::Lccn,
        Self::Oclc,
        Self::Standard,
        Self::Number,
        Self::Code,
        Self::Language,
        Self::Date,
        Self::Octets,
    ];

    /// Returns the kind with this name in settings files; `None` if there is none.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Returns the name for the kind in settings files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Isbn => "isbn",
            Self::Issn => "issn",
            Self::Lccn => "lccn",
            Self::Oclc => "oclc",
            Self::Standard => "standard",
            Self::Number => "number",
            Self::Code => "code",
            Self::Language => "language",
            Self::Date => "date",
            Self::Octets => "octets",
        }
    }

    /// Emits the keys for text from a record, for example every year in a date, or a number with and without its prefix. For
    /// [`Kind::Text`], the only key is the words of the text, joined by single spaces. Text that does not fit the kind has no
    /// keys.
    pub(in crate::memory) fn keys(self, text: &str, emit: &mut dyn FnMut(&str)) {
        match self {
            Self::Date => dates(text, emit),
            Self::Language => languages(text, emit),
            Self::Isbn => every(text, NumberKind::Isbn, isbn, emit),
            Self::Issn => every(text, NumberKind::Issn, issn, emit),
            Self::Lccn => every(text, NumberKind::Lccn, lccn, emit),
            Self::Oclc => {
                let found = numbers(NumberKind::Oclc, text);
                found.iter().for_each(|one| emit(&one.normal));
            }
            Self::Standard => standard_keys(text, emit),
            Self::Number => {
                let own = text
                    .trim_start()
                    .strip_prefix('(')
                    .and_then(|rest| rest.split_once(')'));
                let own = own.and_then(|(_, own)| some(alphanumeric(own)));
                own.iter().for_each(|key| emit(key));
                self.key(text).iter().for_each(|key| emit(key));
            }
            _ => self.key(text).iter().for_each(|key| emit(key)),
        }
    }

    /// Returns the key of a search term; `None` if the term does not fit the kind.
    pub(in crate::memory) fn key(self, text: &str) -> Option<String> {
        match self {
            Self::Text => some(words(text).join(" ")),
            Self::Isbn => isbn(text),
            Self::Issn => issn(text),
            Self::Lccn => lccn(text),
            Self::Oclc => oclc(text),
            Self::Standard => standard(text),
            Self::Number => some(alphanumeric(text)),
            Self::Code | Self::Language => code(text),
            Self::Date => {
                let mut found = Vec::new();
                dates(text, &mut |key| found.push(key.to_owned()));
                let only = found.pop();
                only.filter(|_| found.is_empty())
            }
            Self::Octets => some(text.to_owned()),
        }
    }
}

fn some(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

fn alphanumeric(text: &str) -> String {
    words(text).concat()
}

/// Emits the key of every number of the given kind in the text. If there is none, emits the key that `read` returns for the text,
/// provided that it contains a digit.
fn every(
    text: &str,
    kind: NumberKind,
    read: fn(&str) -> Option<String>,
    emit: &mut dyn FnMut(&str),
) {
    let found = numbers(kind, text);
    if found.is_empty() {
        let other = read(text).filter(|key| key.contains(|next: char| next.is_ascii_digit()));
        other.iter().for_each(|key| emit(key));
    }
    found
        .iter()
        .for_each(|one| emit(&key_of(kind, &one.normal)));
}

/// Returns the key of a number in its normal form.
fn key_of(kind: NumberKind, normal: &str) -> String {
    match kind {
        NumberKind::Issn => normal.replace('-', "").to_ascii_lowercase(),
        _ => normal.to_owned(),
    }
}

/// Returns the key of the first number of a kind in the text; `None` if there is none.
fn first(kind: NumberKind, text: &str) -> Option<String> {
    let found = numbers(kind, text);
    Some(key_of(kind, &found.first()?.normal))
}

/// Returns the key of an OCLC number, which may have a prefix.
fn oclc(text: &str) -> Option<String> {
    let digits = text.trim();
    let is_bare = !digits.is_empty() && digits.bytes().all(|octet| octet.is_ascii_digit());
    let bare = || some(digits.trim_start_matches('0').to_owned()).filter(|_| is_bare);
    // Any other text is not an OCLC number, and its key does not occur in any record.
    let other = || some(alphanumeric(text));
    first(NumberKind::Oclc, text).or_else(bare).or_else(other)
}

/// The kinds of numbers that can be recognised without knowing which field they are from.
const KNOWN: [NumberKind; 5] = [
    NumberKind::Isbn,
    NumberKind::Issn,
    NumberKind::Ean,
    NumberKind::Oclc,
    NumberKind::Lccn,
];

/// Emits every standard number in the text, each in the normal form of its kind, and the letters and digits of the text, with and
/// without a parenthesized prefix.
fn standard_keys(text: &str, emit: &mut dyn FnMut(&str)) {
    Kind::Number.keys(text, emit);
    for kind in KNOWN {
        let found = numbers(kind, text);
        found
            .iter()
            .for_each(|one| emit(&key_of(kind, &one.normal)));
    }
}

/// Returns the key of a search term that may be a standard number of any kind.
fn standard(text: &str) -> Option<String> {
    let sound = |kind| {
        let found = numbers(kind, text);
        let valid = found.first().filter(|one| one.is_valid)?;
        Some(key_of(kind, &valid.normal))
    };
    // Numbers of other kinds are found by their letters and digits, which are also in the index.
    let known = [
        NumberKind::Isbn,
        NumberKind::Issn,
        NumberKind::Oclc,
        NumberKind::Lccn,
    ];
    let mut known = known.into_iter().filter_map(sound);
    known.next().or_else(|| some(alphanumeric(text)))
}

/// Returns the eight characters of the first ISSN in the text (ISO 3297), the last of which may be X.
fn issn(text: &str) -> Option<String> {
    first(NumberKind::Issn, text)
}

/// Returns an LCCN in its normal form. If the text is not recognised as an LCCN, its spaces and everything after a slash are
/// dropped, and the part after a hyphen is padded to six digits.
fn lccn(text: &str) -> Option<String> {
    if let Some(known) = first(NumberKind::Lccn, text) {
        return Some(known);
    }
    let number: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let number = number.split('/').next().unwrap_or_default().to_lowercase();
    let sound = number.chars().any(|c| c.is_ascii_digit())
        && number
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '-');
    let padded = match number.split_once('-') {
        Some((year, serial)) => format!("{year}{serial:0>6}"),
        None => number,
    };
    sound.then_some(padded)
}

/// Normalizes a code: removes spaces, fill characters, hyphens and full stops at both ends, and converts the rest to lower case.
fn code(text: &str) -> Option<String> {
    some(text.trim_matches([' ', '|', '#', '-', '.']).to_lowercase())
}

/// Emits the language codes in the text, including those in the concatenated form that was used until 2001, such as `engfre`.
fn languages(text: &str, emit: &mut dyn FnMut(&str)) {
    let Some(text) = code(text) else { return };
    if text.len() % 3 != 0 || !text.bytes().all(|octet| octet.is_ascii_lowercase()) {
        return emit(&text);
    }
    let mut rest = &*text;
    while let Some((one, more)) = rest.split_at_checked(3) {
        emit(one);
        rest = more;
    }
}

/// Emits the years or the complete date in the text: `c1999, 2001 printing`, `1999-01-31`, `19990131`, `20200101123456.0`. Six
/// digits, such as `990131`, are read as a date from 1960 to 2059, because dates of this form are those on which records were
/// entered into a computer (MARC 21 008/00-05).
fn dates(text: &str, emit: &mut dyn FnMut(&str)) {
    let text = text.trim();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let at = |range: std::ops::Range<usize>| text.get(range).unwrap_or_default();
    let numeric = |text: &str| text.bytes().all(|octet| octet.is_ascii_digit());
    if digits == 6 && text.len() == 6 {
        let century = if at(0..2) < "60" { "20" } else { "19" };
        return emit(&format!("{century}{text}"));
    }
    if digits >= 8 {
        return emit(at(0..8));
    }
    if digits == 4
        && text.len() == 10
        && at(4..5) == "-"
        && at(7..8) == "-"
        && numeric(at(5..7))
        && numeric(at(8..10))
    {
        return emit(&format!("{}{}{}", at(0..4), at(5..7), at(8..10)));
    }
    for run in text.split(|c: char| !c.is_ascii_digit()) {
        if run.len() == 4 {
            emit(run);
        }
    }
}

/// Returns the first ISBN in the text (ISO 2108), in its 13-digit form. The digits of an ISBN with a wrong check digit are not
/// changed, nor are those of a partial ISBN at the beginning of the text. Returns `None` if there is no ISBN.
fn isbn(text: &str) -> Option<String> {
    if let Some(known) = first(NumberKind::Isbn, text) {
        return Some(known);
    }
    let digits: String = text
        .trim_start()
        .chars()
        .take_while(|c| {
            c.is_ascii_digit() || matches!(c, 'X' | 'x' | '-' | ' ' | '\u{2010}'..='\u{2013}')
        })
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_uppercase())
        .collect();
    (!digits.is_empty()).then_some(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kind: Kind, text: &str, expected: &[&str]) {
        let mut found = Vec::new();
        kind.keys(text, &mut |key| found.push(key.to_owned()));
        assert_eq!(found, expected, "{kind:?} {text:?}");
        let only = expected.split_first().filter(|(_, rest)| rest.is_empty());
        if only.is_some() || expected.is_empty() {
            let only = only.map(|(only, _)| (*only).to_owned());
            assert_eq!(kind.key(text), only, "{kind:?} {text:?}");
        }
    }

    #[test]
    fn keys_are_normalized_by_kind() {
        for (kind, text, expected) in [
            (Kind::Text, "Les Misérables /", &["les miserables"][..]),
            (Kind::Text, " / ", &[]),
            (Kind::Isbn, "0-306-40615-2 (pbk.)", &["9780306406157"]),
            (Kind::Issn, "0046-225X", &["0046225x"]),
            (Kind::Issn, " 0046225x (print)", &["0046225x"]),
            (Kind::Issn, "0046-225", &[]),
            (Kind::Lccn, "   85000002 ", &["85000002"]),
            (Kind::Lccn, "85-2 ", &["85000002"]),
            (Kind::Lccn, "n78-890351", &["n78890351"]),
            (Kind::Lccn, "75-425165//r75", &["75425165"]),
            (Kind::Lccn, "none", &[]),
            (Kind::Oclc, "(OCoLC)ocm19564183", &["19564183"]),
            (Kind::Oclc, "(OCoLC)00012345", &["12345"]),
            (Kind::Oclc, "(OCoLC)on1234567890", &["1234567890"]),
            (Kind::Standard, "NCR 12/7", &["ncr127"]),
            (
                Kind::Standard,
                "(electronic bk.) 978-0-306-40615-7",
                &[
                    "9780306406157",
                    "electronicbk9780306406157",
                    "9780306406157",
                    "9780306406157",
                ],
            ),
            (Kind::Number, "NCR 12/7", &["ncr127"]),
            (Kind::Number, "(OCoLC)00123", &["00123", "ocolc00123"]),
            (Kind::Number, "-", &[]),
            (Kind::Code, "n-us---", &["n-us"]),
            (Kind::Code, "|", &[]),
            (Kind::Language, "engfre", &["eng", "fre"]),
            (Kind::Language, "eng", &["eng"]),
            (Kind::Language, "   ", &[]),
            (Kind::Date, "1999", &["1999"]),
            (Kind::Date, "c1999, 2001 printing", &["1999", "2001"]),
            (Kind::Date, "19990131", &["19990131"]),
            (Kind::Date, "1999-01-31", &["19990131"]),
            (Kind::Date, "20200101123456.0", &["20200101"]),
            (Kind::Date, "990131", &["19990131"]),
            (Kind::Date, "080131", &["20080131"]),
            (Kind::Date, "19uu", &[]),
            (Kind::Octets, "id 7", &["id 7"]),
        ] {
            check(kind, text, expected);
        }
    }

    #[test]
    fn kinds_have_names() {
        for name in [
            "text", "isbn", "issn", "lccn", "oclc", "standard", "number", "code", "language",
            "date", "octets",
        ] {
            let kind = Kind::by_name(name).expect(name);
            assert_eq!(format!("{kind:?}").to_lowercase(), name);
        }
        assert_eq!(Kind::by_name("Text"), None);
    }

    #[test]
    fn isbns_are_normalized() {
        for (text, expected) in [
            ("0-306-40615-2", Some("9780306406157")),
            ("0306406152 (hardback) :", Some("9780306406157")),
            ("978-0-306-40615-7", Some("9780306406157")),
            ("080442957X", Some("9780804429573")),
            ("0‐8044‐2957‐x", Some("9780804429573")),
            // A wrong check digit may be a typing error, so the number is kept as written.
            ("0306406153", Some("0306406153")),
            ("X", Some("X")),
            ("123X567890", Some("123X567890")),
            ("", None),
            ("none", None),
            ("é", None),
        ] {
            assert_eq!(isbn(text).as_deref(), expected, "{text}");
        }
    }
}

//! The danMARC2 character set (defined by DBC; compatible with yaz-iconv): ISO 8859-1 with escapes that begin with `@`.
//! Combining marks precede their base character. A circumflex, for example, is `@0302` in `danmarc`, and the spacing
//! character `^` in `danmarc2`.

use unicode_normalization::char::compose;

use super::Unencodable;
use super::combine::Composer;
use super::problem::{Problem, ProblemKind};

/// The name of this character set in a [`Problem`].
pub(super) const NAME: &str = "danMARC";

const ESCAPE: u8 = b'@';

/// Spacing characters, each with the combining mark that it represents.
const SPACING: [(char, char); 12] = [
    ('^', '\u{302}'),
    ('_', '\u{332}'),
    ('`', '\u{300}'),
    ('\u{A8}', '\u{308}'),
    ('\u{AF}', '\u{304}'),
    ('\u{B4}', '\u{301}'),
    ('\u{B8}', '\u{327}'),
    ('\u{2C7}', '\u{30C}'),
    ('\u{2D8}', '\u{306}'),
    ('\u{2DA}', '\u{30A}'),
    ('\u{2DB}', '\u{328}'),
    ('\u{2DD}', '\u{30B}'),
];

/// The octet of the currency sign. It stands for the same character with and without `@`.
const CURRENCY: u8 = 0xA4;

/// The escapes with one octet after `@`, each with the character that it represents: the same character as the octet
/// alone, or a letter that ISO 8859-1 lacks.
const SHORT: [(u8, char); 5] = [
    (b'@', '@'),
    (b'*', '*'),
    (CURRENCY, '\u{A4}'),
    (0xE5, '\u{A733}'),
    (0xC5, '\u{A732}'),
];

/// The escapes that consist of `@U` and two hexadecimal digits. The digits name an octet in an older set. Only the
/// octets that differ from ISO 8859-1 are listed.
const OLDER: [(u8, char); 18] = [
    (0xA7, '\u{2B9}'),
    (0xAE, '\u{2BC}'),
    (0xB0, '\u{2BB}'),
    (0xB7, '\u{2BA}'),
    (0xD8, '\u{2014}'),
    (0xD9, '\u{2191}'),
    (0xDA, '\u{2193}'),
    (0xE0, '\u{309}'),
    (0xEB, '\u{FE20}'),
    (0xEC, '\u{FE21}'),
    (0xF7, '\u{326}'),
    (0xF8, '\u{31C}'),
    (0xF9, '\u{32E}'),
    (0xFA, '\u{FE22}'),
    (0xFC, '\u{308}'),
    (0xFD, '\u{F0FD}'),
    (0xFE, '\u{F0FE}'),
    (0xFF, '\u{F0FF}'),
];

/// Decodes one data element of `danmarc` or `danmarc2`. Returns `None` if the text needs no conversion.
///
/// The `bool` in the result is whether the text may need normalisation.
pub(super) fn decode(octets: &[u8], problems: &mut Vec<Problem>) -> Option<(String, bool)> {
    if octets.is_ascii() && !octets.iter().any(is_special) {
        return None;
    }
    let mut composer = Composer::with_capacity(octets.len() + octets.len() / 4, false);
    // The pending marks; the last mark is the one nearest to the following character.
    let mut marks: Vec<char> = Vec::new();
    let mut offset = 0;
    while let Some(rest) = octets.get(offset..).filter(|rest| !rest.is_empty()) {
        let (character, length) = read(rest).unwrap_or_else(|| {
            let (octets, set) = (vec![ESCAPE], NAME);
            problems.push(ProblemKind::Malformed { octets, set }.at(offset));
            (char::REPLACEMENT_CHARACTER, 1)
        });
        offset += length;
        if is_mark(character) {
            marks.push(character);
            continue;
        }
        marks.drain(..).rev().for_each(|mark| composer.mark(mark));
        composer.base(character);
    }
    if !marks.is_empty() {
        problems.push(ProblemKind::MarkWithoutBase.at(octets.len()));
        marks.drain(..).rev().for_each(|mark| composer.mark(mark));
    }
    let (text, _) = composer.finish();
    Some((text, true))
}

/// Returns whether the octet is ASCII with a different meaning in danMARC2.
pub(super) fn is_special(octet: &u8) -> bool {
    matches!(octet, b'@' | b'*' | b'^' | b'_' | b'`')
}

/// Reads the first character or mark, and returns it with its length in octets. Returns `None` for an `@` that does not
/// begin an escape.
fn read(octets: &[u8]) -> Option<(char, usize)> {
    let (&first, rest) = octets.split_first()?;
    if first != ESCAPE {
        let character = char::from(first);
        return Some((as_mark(character).unwrap_or(character), 1));
    }
    let &next = rest.first()?;
    if let Some((_, character)) = SHORT.iter().find(|(known, _)| *known == next) {
        return Some((*character, 2));
    }
    if next == b'U' {
        let code = u8::try_from(hexadecimal(rest.get(1..3)?)?).ok()?;
        let older = OLDER.iter().find(|(known, _)| *known == code);
        let character = older.map_or(char::from(code), |(_, character)| *character);
        return Some((as_mark(character).unwrap_or(character), 4));
    }
    let character = char::from_u32(hexadecimal(rest.get(..4)?)?)?;
    // Characters up to U+00FF have octets of their own, so the code for such a character never stands for a mark.
    let mark = as_mark(character).filter(|_| character > '\u{FF}');
    Some((mark.unwrap_or(character), 5))
}

fn hexadecimal(digits: &[u8]) -> Option<u32> {
    let digits = std::str::from_utf8(digits).ok()?;
    let is_number = digits.bytes().all(|octet| octet.is_ascii_hexdigit());
    is_number.then(|| u32::from_str_radix(digits, 16).ok())?
}

fn as_mark(character: char) -> Option<char> {
    let mut pairs = SPACING.iter();
    pairs
        .find(|(spacing, _)| *spacing == character)
        .map(|(_, mark)| *mark)
}

fn is_mark(character: char) -> bool {
    matches!(character, '\u{300}'..='\u{36F}' | '\u{1AB0}'..='\u{1AFF}' | '\u{1DC0}'..='\u{1DFF}'
        | '\u{20D0}'..='\u{20FF}' | '\u{FE20}'..='\u{FE2F}')
}

/// Encodes text. If `spacing` is set, marks are written as the spacing characters of `danmarc2`.
pub(super) fn encode(
    text: &str,
    spacing: bool,
    unencodable: Unencodable,
) -> (Vec<u8>, Vec<Problem>) {
    let (mut octets, mut problems) = (Vec::with_capacity(text.len()), Vec::new());
    let mut rest = text.char_indices().peekable();
    let mut marks = Vec::new();
    while let Some((offset, first)) = rest.next() {
        marks.clear();
        let mut base = if is_mark(first) { None } else { Some(first) };
        marks.extend(Some(first).filter(|_| base.is_none()));
        while let Some((_, mark)) = rest.next_if(|(_, next)| is_mark(*next)) {
            marks.push(mark);
        }
        if let (Some(character), [mark]) = (base, &marks[..])
            && let Some(whole) = compose(character, *mark).filter(|whole| *whole <= '\u{FF}')
        {
            base = Some(whole);
            marks.clear();
        }
        for mark in marks.iter().rev() {
            let pair = SPACING.iter().find(|(_, known)| known == mark);
            match pair.filter(|_| spacing) {
                Some((character, _)) if *character <= '\u{FF}' => {
                    put_octet(*character, &mut octets)
                }
                Some((character, _)) => put_code(*character, &mut octets),
                None => put_code(*mark, &mut octets),
            }
        }
        match base {
            Some(character) if !put(character, &mut octets) => {
                let set = NAME;
                problems.push(ProblemKind::Unencodable { character, set }.at(offset));
                octets.extend_from_slice(unencodable.replacement(character).as_bytes());
            }
            _ => {}
        }
    }
    (octets, problems)
}

/// Writes a character that is not a mark; returns `false` if the set lacks it.
fn put(character: char, octets: &mut Vec<u8>) -> bool {
    let mut short = SHORT.iter().filter(|(octet, _)| *octet != CURRENCY);
    if let Some((octet, _)) = short.find(|(_, known)| *known == character) {
        octets.extend([ESCAPE, *octet]);
        return true;
    }
    match (character, as_mark(character)) {
        // The character cannot be written: its code would be read as a mark, or has more than four digits.
        ('\u{100}'.., Some(_)) | ('\u{10000}'.., _) => return false,
        ('\u{100}'.., None) | (_, Some(_)) => put_code(character, octets),
        _ => put_octet(character, octets),
    }
    true
}

fn put_octet(character: char, octets: &mut Vec<u8>) {
    octets.extend(u8::try_from(character));
}

fn put_code(character: char, octets: &mut Vec<u8>) {
    octets.extend(format!("@{:04X}", u32::from(character)).bytes());
}

#[cfg(test)]
mod tests {
    use super::super::Charset;

    /// Tests with text that yaz-iconv reads (in NFC) and writes, some of it from yaz-iconv's own tests.
    #[test]
    fn audit_c4_danmarc_is_read() {
        for (octets, text) in [
            (&b"ax"[..], "ax"),
            (b"a@@b", "a@b"),
            (b"a@@@@b", "a@@b"),
            (b"@*", "*"),
            (b"@@", "@"),
            (b"@\xA4", "¤"),
            (b"\xA4", "¤"),
            (b"@\xE5", "\u{A733}"),
            (b"@\xC5.", "\u{A732}."),
            (b"@a733", "\u{A733}"),
            (b"@a732.", "\u{A732}."),
            (b"a@03BBb", "aλb"),
            (b"@0302y", "ŷ"),
            (b"^y", "ŷ"),
            (b"@0332y", "y\u{332}"),
            (b"_y", "y\u{332}"),
            (b"@0301@0302a", "ấ"),
            (b"@0302@0301a", "á\u{302}"),
            (b"0@0302@0301ab", "0á\u{302}b"),
            (b"@0303a", "ã"),
            (b"@0303Y", "Ỹ"),
            (b"\xC5", "Å"),
            (b"@UFCe", "ë"),
            (b"\xB4^a", "ấ"),
            (b"@02C7s", "š"),
            (b"@UEBt@UECsar", "t\u{361}sar"),
            (b"@UD8@UA7", "—\u{2B9}"),
        ] {
            for set in [Charset::Danmarc, Charset::Danmarc2] {
                let decoded = set.decode(octets);
                assert_eq!(decoded.text, text, "{}", octets.escape_ascii());
                assert_eq!(decoded.problems, vec![], "{}", octets.escape_ascii());
            }
        }
    }

    #[test]
    fn audit_c4_danmarc_faults_are_reported() {
        for (octets, text, offset) in [
            (&b"@0301"[..], "\u{A0}\u{301}", 5),
            (b"p@0301", "p\u{A0}\u{301}", 6),
            (b"a@", "a\u{FFFD}", 1),
            (b"@12", "\u{FFFD}12", 0),
            (b"@D800x", "\u{FFFD}D800x", 0),
            (b"@U0xy", "\u{FFFD}U0xy", 0),
            (b"@+123", "\u{FFFD}+123", 0),
        ] {
            let decoded = Charset::Danmarc.decode(octets);
            let offsets: Vec<_> = decoded
                .problems
                .iter()
                .map(|problem| problem.offset)
                .collect();
            assert_eq!(
                (&*decoded.text, offsets),
                (text, vec![offset]),
                "{}",
                octets.escape_ascii()
            );
        }
    }

    #[test]
    fn audit_c4_danmarc_is_written() {
        for (text, codes, spacing) in [
            ("ax", &b"ax"[..], &b"ax"[..]),
            ("a@b", b"a@@b", b"a@@b"),
            ("a@@b", b"a@@@@b", b"a@@@@b"),
            ("*", b"@*", b"@*"),
            ("¤", b"\xA4", b"\xA4"),
            ("aåb", b"a\xE5b", b"a\xE5b"),
            ("aλb", b"a@03BBb", b"a@03BBb"),
            ("\u{A732}.", b"@\xC5.", b"@\xC5."),
            ("\u{A733}", b"@\xE5", b"@\xE5"),
            ("\u{303}", b"@0303", b"@0303"),
            ("a\u{303}", b"\xE3", b"\xE3"),
            ("Y\u{303}", b"@0303Y", b"@0303Y"),
            ("A\u{30A}", b"\xC5", b"\xC5"),
            ("Å", b"\xC5", b"\xC5"),
            ("a\u{302}", b"\xE2", b"\xE2"),
            ("y\u{302}", b"@0302y", b"^y"),
            ("y\u{332}", b"@0332y", b"_y"),
            ("a\u{302}\u{301}", b"@0301@0302a", b"\xB4^a"),
            ("a\u{301}\u{302}", b"@0302@0301a", b"^\xB4a"),
            ("0a\u{301}\u{302}b", b"0@0302@0301ab", b"0^\xB4ab"),
            // yaz-iconv writes a literal ^ without an escape and reads it back as a mark; this encoder escapes it.
            ("a^b_c", b"a@005Eb@005Fc", b"a@005Eb@005Fc"),
        ] {
            assert_eq!(
                Charset::Danmarc.encode(text).as_deref(),
                Ok(codes),
                "{text}"
            );
            assert_eq!(
                Charset::Danmarc2.encode(text).as_deref(),
                Ok(spacing),
                "{text}"
            );
        }
        for lacking in ["😀", "\u{2C7}"] {
            let error = Charset::Danmarc.encode(lacking).expect_err(lacking);
            assert!(error.to_string().contains("in danMARC"), "{error}");
        }
    }
}

//! Shows octets as text without loss, and converts the text back: records need not be UTF-8, but people must be able to see all of their
//! octets. Listings and messages show each octet that is not UTF-8 as `\xNN`; forms that programs read contain the text unchanged.

use std::borrow::Cow;

use unicode_normalization::{UnicodeNormalization, is_nfc};

/// Shows octets as text: valid UTF-8 is unchanged, and every other octet becomes `\xNN` (with capital hexadecimal
/// digits).
///
/// A backslash that would read back as such an escape is shown as `\x5C`, so [`octets_from_text`] always returns the octets
/// that were shown. Text without such an escape is borrowed, not copied.
pub fn text_lossless(octets: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(octets) {
        Ok(text) if escape_at(octets).is_none() => Cow::Borrowed(text),
        _ => Cow::Owned(escaped(octets)),
    }
}

/// Returns the text with a replacement for each ISO 2709 separator (U+001D to U+001F). ISO 2709 cannot hold them as text, although they are
/// plain characters in forms with a different structure. Returns `None` if there are no separators.
pub(crate) fn without_separators(text: &str, stand_in: &str) -> Option<String> {
    // `fold` does not exit early, so the compiler can vectorise the loop.
    let found = text
        .bytes()
        .fold(false, |found, octet| found | is_separator(octet));
    found.then(|| {
        let is_one = |character| matches!(character, '\u{1D}'..='\u{1F}');
        text.replace(is_one, stand_in)
    })
}

/// Returns whether the octet is an ISO 2709 separator.
pub(crate) fn is_separator(octet: u8) -> bool {
    matches!(octet, 0x1D..=0x1F)
}

/// The remark by a reader that has replaced separators.
pub(crate) const SEPARATORS: &str =
    "separators of ISO 2709 (U+001D to U+001F) in the text replaced";

/// Returns the text with letters and their marks composed (NFC).
pub(crate) fn composed(text: String) -> String {
    if text.is_ascii() || is_nfc(&text) {
        text
    } else {
        text.nfc().collect()
    }
}

/// Returns the octets that [`text_lossless`] shows as this text: `\x80` to `\xFF` and `\x5C` become one octet, and all
/// other text is UTF-8.
pub fn octets_from_text(text: &str) -> Vec<u8> {
    let mut octets = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((place, octet)) = escape_at(rest) {
        octets.extend(rest.iter().take(place));
        octets.push(octet);
        rest = rest.get(place + ESCAPE_LENGTH..).unwrap_or_default();
    }
    octets.extend(rest);
    octets
}

/// Returns whether a character affects the display of the text around it: an ASCII or Latin-1 control character, a line or paragraph
/// separator (U+2028, U+2029), or a mark that changes the direction of writing (Unicode Standard Annex #9 §2).
pub fn is_unprintable(character: char) -> bool {
    let is_mark = matches!(
        character,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    is_mark || character.is_control()
}

/// Returns the text with an escape in place of each [unprintable](is_unprintable) character, except those that `keep` selects:
/// `\n`, `\r`, `\t`, or `\uNNNN`. In a JSON string, such an escape represents the character (RFC 8259 §7).
pub fn escape_unprintable(text: &str, keep: impl Fn(char) -> bool) -> Cow<'_, str> {
    let is_escaped = |character: char| is_unprintable(character) && !keep(character);
    if !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            _ if !is_escaped(character) => shown.push(character),
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            _ => shown.push_str(&format!("\\u{:04x}", u32::from(character))),
        }
    }
    Cow::Owned(shown)
}

/// The number of characters in the escape `\xNN`.
const ESCAPE_LENGTH: usize = 4;

fn escaped(octets: &[u8]) -> String {
    let mut shown = String::with_capacity(octets.len() + 16);
    for chunk in octets.utf8_chunks() {
        let mut valid = chunk.valid();
        while let Some((place, _)) = escape_at(valid.as_bytes()) {
            let (before, after) = valid.split_at(place);
            shown.push_str(before);
            shown.push_str("\\x5C");
            valid = after.strip_prefix('\\').unwrap_or(after);
        }
        shown.push_str(valid);
        for octet in chunk.invalid() {
            shown.push_str(&format!("\\x{octet:02X}"));
        }
    }
    shown
}

/// Returns the position of the first escape, and its octet. An escape of an octet that is always shown unchanged is
/// ordinary text.
fn escape_at(text: &[u8]) -> Option<(usize, u8)> {
    // Most text does not have a backslash, and `contains` shows that quickly.
    if !text.contains(&b'\\') {
        return None;
    }
    text.windows(ESCAPE_LENGTH)
        .enumerate()
        .find_map(|(place, window)| match window {
            [b'\\', b'x', high, low] => {
                let octet = hexadecimal(*high)? * 16 + hexadecimal(*low)?;
                (octet >= 0x80 || octet == b'\\').then_some((place, octet))
            }
            _ => None,
        })
}

/// Returns the value of a hexadecimal digit. Only capital letters are accepted, because [`text_lossless`] writes only
/// these.
pub(super) fn hexadecimal(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(octets: &[u8], shown: &str) {
        assert_eq!(text_lossless(octets), shown, "{octets:02X?}");
        assert_eq!(octets_from_text(shown), octets, "{shown}");
    }

    #[test]
    fn octets_and_their_text() {
        check(b"", "");
        check(b"plain", "plain");
        check("Пушкин – 紅樓夢".as_bytes(), "Пушкин – 紅樓夢");
        check(b"caf\xE9", "caf\\xE9");
        check(b"\xE2\x82", "\\xE2\\x82");
        check(b"C:\\xeon", "C:\\xeon");
        check(b"a literal \\xE9", "a literal \\x5CxE9");
        check(b"\\x5C", "\\x5Cx5C");
        check(b"\\\\xFF\xFF", "\\\\x5CxFF\\xFF");
        check(b"\\x41 is left alone", "\\x41 is left alone");
    }

    #[test]
    fn audit_r_x2_unprintable_characters_are_escaped() {
        for (text, escaped) in [
            ("Пушкин \\ \"a\"", "Пушкин \\ \"a\""),
            ("a\u{1b}[31m\u{7}", "a\\u001b[31m\\u0007"),
            ("\0\u{7f}\u{80}\u{9b}", "\\u0000\\u007f\\u0080\\u009b"),
            ("a\r\nb\tc", "a\\r\nb\\tc"),
            (
                "\u{2028}\u{2029}\u{202a}\u{202e}",
                "\\u2028\\u2029\\u202a\\u202e",
            ),
            (
                "\u{2066}\u{2069}\u{61c}\u{200f}",
                "\\u2066\\u2069\\u061c\\u200f",
            ),
            (
                "\u{200d}\u{2065}\u{206a}\u{a0}",
                "\u{200d}\u{2065}\u{206a}\u{a0}",
            ),
        ] {
            assert_eq!(escape_unprintable(text, |c| c == '\n'), escaped);
        }
    }

    proptest! {
        #[test]
        fn every_octet_string_comes_back(octets in proptest::collection::vec(
            prop_oneof![any::<u8>(), Just(b'\\'), Just(b'x'), Just(b'5'), Just(b'C'), Just(b'E')], 0..40)) {
            prop_assert_eq!(octets_from_text(&text_lossless(&octets)), octets);
        }
    }
}

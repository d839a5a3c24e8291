//! Text of records and servers for pages: without controls, cut where it is too long, and percent-encoded for URLs.

use std::error::Error;
use std::fmt::Write;

/// Characters of a title or another line of a list.
pub(super) const LINE: usize = 300;
/// Characters of a value of a record that is shown alone.
pub(super) const VALUE: usize = 20_000;

/// A line of a list.
pub(super) fn clean(text: &str) -> String {
    cut(text, LINE)
}

/// At most `most` characters of a text, with a note if there are more. Controls, among them those that change the direction of
/// the text around it, are replaced.
pub(super) fn cut(text: &str, most: usize) -> String {
    let shown = text.chars().take(most).map(|character| match character {
        '\n' | '\t' => character,
        '\u{200e}' | '\u{200f}' | '\u{061c}' => '\u{fffd}',
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        other if other.is_control() => '\u{fffd}',
        other => other,
    });
    let mut shown: String = shown.collect();
    let left = text.chars().skip(most).count();
    if left > 0 {
        // Writing to a String cannot fail.
        let _ = write!(shown, "… [{left} further characters are left out]");
    }
    shown
}

/// An error with its causes, as a line.
pub(super) fn described(error: &dyn Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        // Writing to a String cannot fail.
        let _ = write!(words, ": {next}");
        cause = next.source();
    }
    clean(&words)
}

/// A part of a URL (RFC 3986 §2).
pub(super) fn encoded(text: impl AsRef<[u8]>) -> String {
    let mut encoded = String::new();
    for octet in text.as_ref() {
        match octet {
            b'-' | b'.' | b'_' | b'~' => encoded.push(char::from(*octet)),
            octet if octet.is_ascii_alphanumeric() => encoded.push(char::from(*octet)),
            octet => {
                // Writing to a String cannot fail.
                let _ = write!(encoded, "%{octet:02X}");
            }
        }
    }
    encoded
}

/// A part of a URL without its percent signs.
///
/// # Errors
/// What is wrong with it, in words.
pub(super) fn decoded(text: &str) -> Result<String, String> {
    let mut octets = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(octet) = rest.next() {
        octets.push(match octet {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                let value = digit().zip(digit());
                let value = value.and_then(|(high, low)| u8::try_from(high << 4 | low).ok());
                value.ok_or("% is not followed by two hexadecimal digits")?
            }
            octet => octet,
        });
    }
    String::from_utf8(octets).map_err(|_| "it is not UTF-8".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_are_replaced_and_long_texts_cut() {
        for (text, expected) in [
            ("Emma\u{202e}\u{7}x", "Emma\u{fffd}\u{fffd}x"),
            ("a\u{2066}b", "a\u{fffd}b"),
            ("שלום", "שלום"),
        ] {
            assert_eq!(clean(text), expected, "{text:?}");
        }
        assert_eq!(clean(&"x".repeat(LINE)), "x".repeat(LINE));
        let long = clean(&"x".repeat(LINE + 2));
        assert!(
            long.ends_with("x… [2 further characters are left out]"),
            "{long}"
        );
        assert_eq!(encoded("a/b ü"), "a%2Fb%20%C3%BC");
    }
}

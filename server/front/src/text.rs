//! Prepares text from records and servers for pages: replaces its control characters, shortens it, and percent-encodes it for
//! URLs.

use std::error::Error;
use std::fmt::Write;

/// The maximum number of characters in a title or another line in a list.
pub(super) const LINE: usize = 300;
/// The maximum number of characters in a value on the page for a single record.
pub(super) const VALUE: usize = 20_000;

/// Returns the text for a line in a list: shortened, and with control characters replaced.
pub(super) fn clean(text: &str) -> String {
    cut(text, LINE)
}

/// Returns at most `most` characters of `text`, with a note if it is longer; control characters are replaced as by [`printable`].
pub(super) fn cut(text: &str, most: usize) -> String {
    let mut shown: String = text.chars().take(most).map(printable).collect();
    let left = text.chars().skip(most).count();
    if left > 0 {
        // Writing to a String cannot fail.
        let _ = write!(shown, "… [{left} further characters are left out]");
    }
    shown
}

/// Returns the character, or U+FFFD in place of a control character other than a line end or tab, or of a character that changes
/// the direction of text.
pub(super) fn printable(character: char) -> char {
    match character {
        '\n' | '\t' => character,
        '\u{200e}' | '\u{200f}' | '\u{061c}' => '\u{fffd}',
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        other if other.is_control() => '\u{fffd}',
        other => other,
    }
}

/// Returns the name under which a part of a database is shown: `TARGET` for `NAME@TARGET`.
pub(super) fn part(name: &str) -> &str {
    name.split_once('@').map_or(name, |(_, target)| target)
}

/// Formats an error with its causes in one line.
pub(super) fn described(error: &dyn Error) -> String {
    clean(&chain(error))
}

/// Formats an error with those of its causes that add information.
pub(super) fn chain(error: &dyn Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let said = next.to_string();
        let plain = said.split(" (os error").next().unwrap_or_default();
        if !words.to_lowercase().contains(&plain.to_lowercase()) {
            // Writing to a String cannot fail.
            let _ = write!(words, ": {said}");
        }
        cause = next.source();
    }
    words
}

/// Percent-encodes a part of a URL (RFC 3986 §2).
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

/// Decodes the percent-encoding of a part of a URL.
///
/// # Errors
/// Fails if the encoding is malformed; the message says why.
pub(super) fn decoded(text: &str) -> Result<String, String> {
    let mut octets = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(octet) = rest.next() {
        octets.push(match octet {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                let value = digit()
                    .zip(digit())
                    .and_then(|(high, low)| u8::try_from(high << 4 | low).ok());
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

    #[test]
    fn causes_that_repeat_the_error_are_left_out() {
        #[derive(Debug)]
        struct Words(&'static str, Option<Box<Words>>);
        impl std::fmt::Display for Words {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.0)
            }
        }
        impl Error for Words {
            fn source(&self) -> Option<&(dyn Error + 'static)> {
                self.1.as_ref().map(|cause| &**cause as _)
            }
        }
        let last = Words("Connection refused (os error 111)", None);
        let error = Words("connection refused", Some(Box::new(last)));
        let error = Words("cannot connect", Some(Box::new(error)));
        assert_eq!(described(&error), "cannot connect: connection refused");
    }
}

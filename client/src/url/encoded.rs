//! Text in which escapes are significant: `%2F` is not the slash that separates segments (RFC 1738 §2.2, RFC 1630). The
//! text is stored in a normalized form, so that equivalent spellings are equal.

use std::fmt;

use super::common::{self, Class, Content, Mode};
use super::error::UrlError;
use super::octets::Octets;
use super::span::Span;

/// The rules for the reserved characters of a part. Escapes of unreserved characters are always decoded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Characters {
    /// The characters that both modes accept without an escape.
    pub(crate) reserved: &'static [u8],
    /// The characters that have the same meaning with and without an escape. Their escapes are decoded.
    pub(crate) free: &'static [u8],
    /// The characters whose escapes are kept.
    pub(crate) kept: &'static [u8],
}

/// A normalized part of a URL: unreserved characters are literal, reserved characters are kept as written, and all
/// other octets are escaped as `%` and two upper-case hexadecimal digits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Encoded(String);

impl Encoded {
    /// Encodes data that contains no delimiters: all octets except letters, digits and `$-_.+!*'(),` are escaped.
    pub fn of_data(data: impl AsRef<[u8]>) -> Self {
        Self::of_data_with(data, b"")
    }

    /// Encodes data in which the reserved characters in `free` are not escaped.
    pub(crate) fn of_data_with(data: impl AsRef<[u8]>, free: &[u8]) -> Self {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = common::write_escaped(&mut text, data.as_ref(), |octet| {
            Class::of(octet) == Class::Unreserved || free.contains(&octet)
        });
        Encoded(text)
    }

    /// Encodes words that `+` separates (RFC 1630). A plus within a word is escaped.
    pub fn of_words<T: AsRef<[u8]>>(words: impl IntoIterator<Item = T>) -> Self {
        let word = |word: T| {
            let pieces = word.as_ref().split(|&octet| octet == b'+');
            Self::joined(pieces.map(Self::of_data), "%2B")
        };
        Self::joined(words.into_iter().map(word), "+")
    }

    /// Joins encoded parts, with `delimiter` between them.
    pub(crate) fn joined(pieces: impl IntoIterator<Item = Encoded>, delimiter: &str) -> Self {
        let pieces: Vec<String> = pieces.into_iter().map(|piece| piece.0).collect();
        Encoded(pieces.join(delimiter))
    }

    /// Parses a part according to these rules. Characters that only the lenient mode accepts are data, and are escaped.
    pub(crate) fn parse(
        part: Span<'_>,
        content: Content,
        rules: Characters,
    ) -> Result<Self, UrlError> {
        let mut text = String::with_capacity(part.octets().len());
        content.each(part, rules.reserved, |octet, escaped| {
            let literal = if escaped {
                if rules.kept.contains(&octet) {
                    false
                } else {
                    Class::of(octet) == Class::Unreserved || rules.free.contains(&octet)
                }
            } else {
                Class::of(octet) == Class::Unreserved || rules.reserved.contains(&octet)
            };
            let _ = common::write_escaped(&mut text, &[octet], |_| literal);
        })?;
        Ok(Encoded(text))
    }

    /// Returns the encoded text, which consists of unreserved characters, reserved characters, and escapes.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Decodes the complete text without splitting it at delimiters.
    pub fn decode(&self) -> Octets {
        decode(self.0.as_bytes())
    }

    /// Splits the text at each `delimiter` that is not escaped, and decodes the parts. There is at least one part.
    pub fn split(&self, delimiter: char) -> impl Iterator<Item = Octets> {
        self.0.split(delimiter).map(|part| decode(part.as_bytes()))
    }
}

impl fmt::Display for Encoded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Decodes escapes, which must be well-formed.
fn decode(text: &[u8]) -> Octets {
    let decoded = Content::any(Mode::Lenient).decode(Span::new(text));
    decoded.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_spelling_for_each_meaning() {
        let check = |text: &str, spelling: &str, decoded: &[u8]| {
            let content = Content {
                mode: Mode::Lenient,
                never: b"",
                controls: true,
            };
            let characters = Characters {
                reserved: b"/;:",
                free: b":",
                kept: b"+",
            };
            let part = Encoded::parse(Span::new(text.as_bytes()), content, characters).unwrap();
            assert_eq!(
                (part.as_str(), part.decode().as_bytes()),
                (spelling, decoded)
            );
        };
        check("a%2fb/c", "a%2Fb/c", b"a/b/c");
        check("%61%2B+%7e~", "a%2B+%7E%7E", b"a++~~");
        check("a?b", "a%3Fb", b"a?b");
        check("a%3Ab:", "a:b:", b"a:b:");
        check("a%3Bb;", "a%3Bb;", b"a;b;");
        check("%00%25", "%00%25", b"\0%");
    }

    /// Tests that unsafe characters are always escaped (RFC 1738 §2.2).
    #[test]
    fn data_is_escaped() {
        assert_eq!(
            Encoded::of_data(b" <>\"#%{}|\\^~[]`").as_str(),
            "%20%3C%3E%22%23%25%7B%7D%7C%5C%5E%7E%5B%5D%60"
        );
    }
}

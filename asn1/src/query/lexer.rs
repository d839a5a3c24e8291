//! Splits PQF into words, which are separated by spaces, may be quoted with `"…"` or `{…}`, and may contain escapes
//! that begin with `\`. As in YAZ, tabs and line ends do not separate words.

use super::{QueryError, QueryErrorKind};

/// A word, with the text between its quotes as written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token<'a> {
    pub(super) text: &'a str,
    /// The offset of the word, or of its opening quote, from the start of the query in octets.
    pub(super) offset: usize,
    pub(super) quoted: bool,
}

impl Token<'_> {
    /// Returns the octets of the word with escapes replaced: `\xHH` and `\OOO` stand for the octet with that
    /// hexadecimal or octal number, `\t \n \r \f` are control characters, and `\` before any other character makes it
    /// literal.
    pub(super) fn unescaped(&self) -> Result<Vec<u8>, QueryError> {
        self.unescaped_from(0)
    }

    /// Returns the octets of the word from `start` on, with escapes replaced.
    pub(super) fn unescaped_from(&self, start: usize) -> Result<Vec<u8>, QueryError> {
        unescape(self.text.get(start..).unwrap_or_default()).map_err(|(kind, at)| QueryError {
            kind,
            offset: self.offset + usize::from(self.quoted) + start + at,
        })
    }
}

/// Returns the octets of text with escapes replaced. The error is the fault and its offset in the text.
fn unescape(text: &str) -> Result<Vec<u8>, (QueryErrorKind, usize)> {
    let mut octets = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&octet, next)) = rest.split_first() {
        let Some((&escaped, next)) = next.split_first().filter(|_| octet == b'\\') else {
            octets.push(octet);
            rest = next;
            continue;
        };
        let (value, taken) = match escaped {
            b't' => (Some(b'\t'), 0),
            b'n' => (Some(b'\n'), 0),
            b'r' => (Some(b'\r'), 0),
            b'f' => (Some(0x0c), 0),
            b'x' => (number(next.get(..2), 16), 2),
            b'0'..=b'3' => (number(rest.get(1..4), 8), 2),
            _ => (Some(escaped), 0),
        };
        let Some(value) = value else {
            let shown = text
                .get(text.len() - rest.len()..)
                .unwrap_or_default()
                .chars()
                .take(4)
                .collect();
            return Err((QueryErrorKind::Escape(shown), text.len() - rest.len()));
        };
        octets.push(value);
        rest = next.get(taken..).unwrap_or_default();
    }
    Ok(octets)
}

fn number(digits: Option<&[u8]>, radix: u32) -> Option<u8> {
    digits?.iter().try_fold(0u8, |number, digit| {
        let digit = char::from(*digit).to_digit(radix)?;
        let number = u32::from(number) * radix + digit;
        u8::try_from(number).ok()
    })
}

pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Returns the next word; `None` at the end of the query.
    pub(super) fn next(&mut self) -> Result<Option<Token<'a>>, QueryError> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let start = rest.trim_start_matches(' ');
        self.at += rest.len() - start.len();
        let offset = self.at;
        let (close, body) = match start.as_bytes().first() {
            None => return Ok(None),
            Some(b'"') => (Some(b'"'), start.get(1..)),
            Some(b'{') => (Some(b'}'), start.get(1..)),
            Some(_) => (None, Some(start)),
        };
        let body = body.unwrap_or_default();
        let mut octets = body.bytes().enumerate();
        let mut end = None;
        while let Some((position, octet)) = octets.next() {
            match octet {
                b'\\' => drop(octets.next()),
                _ if octet == close.unwrap_or(b' ') => {
                    end = Some(position);
                    break;
                }
                _ => {}
            }
        }
        let quoted = close.is_some();
        if quoted && end.is_none() {
            return Err(QueryErrorKind::UnclosedQuote.at(offset));
        }
        let end = end.unwrap_or(body.len());
        self.at = offset + end + 2 * usize::from(quoted);
        let text = body.get(..end).unwrap_or(body);
        Ok(Some(Token {
            text,
            offset,
            quoted,
        }))
    }

    /// Returns the next word, or an error that says `what` is missing.
    pub(super) fn expect(&mut self, what: &'static str) -> Result<Token<'a>, QueryError> {
        let offset = self.text.len();
        self.next()?.ok_or(QueryErrorKind::Missing(what).at(offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Result<Vec<Vec<u8>>, QueryError> {
        let mut lexer = Lexer::new(text);
        let mut found = Vec::new();
        while let Some(token) = lexer.next()? {
            found.push(token.unescaped()?);
        }
        Ok(found)
    }

    #[test]
    fn words_quotes_and_escapes() {
        for (text, expected) in [
            ("", &[][..]),
            ("  a  b c ", &[&b"a"[..], b"b", b"c"]),
            ("a\tb \nc", &[b"a\tb", b"\nc"]),
            ("\"a b\" {c d} \"\"", &[b"a b", b"c d", b""]),
            (r#""a\"b" c\ d {e\}f}"#, &[b"a\"b", b"c d", b"e}f"]),
            (r"\x41\xE9\101\n\q\4", &[b"A\xe9A\nq4"]),
            (r"\377\000\x00 a\", &[b"\xff\0\0", b"a\\"]),
            ("a\"b", &[b"a\"b"]),
            ("\\é", &["é".as_bytes()]),
        ] {
            assert_eq!(words(text).expect(text), expected, "{text}");
        }
    }

    #[test]
    fn faults_are_located() {
        for (text, message) in [
            (" \"a", "a quote is not closed at octet 1 of the query"),
            ("{a\\}", "a quote is not closed at octet 0 of the query"),
            (
                "a b\\xZZ",
                "\\xZZ is not \\xHH or \\OOO at octet 3 of the query",
            ),
            (
                "\"b\\19\"",
                "\\19 is not \\xHH or \\OOO at octet 2 of the query",
            ),
            ("\\x4", "\\x4 is not \\xHH or \\OOO at octet 0 of the query"),
            ("\\xé", "\\xé is not \\xHH or \\OOO at octet 0 of the query"),
        ] {
            assert_eq!(words(text).expect_err(text).to_string(), message);
        }
    }
}

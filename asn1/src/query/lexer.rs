//! The words of a PQF text: separated by white space, quoted by `"…"` or `{…}`, with `\` escapes.

use super::{QueryError, QueryErrorKind};

/// A word, as written between its quotes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token<'a> {
    pub(super) text: &'a str,
    /// Octets from the start of the query to the word or its quote.
    pub(super) offset: usize,
    pub(super) quoted: bool,
}

impl Token<'_> {
    /// The octets meant: `\xHH` and `\OOO` by number, `\t \n \r \f`, and `\` before any other for itself.
    pub(super) fn unescaped(&self) -> Vec<u8> {
        unescape(self.text)
    }
}

pub(super) fn unescape(text: &str) -> Vec<u8> {
    let mut octets = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&octet, next)) = rest.split_first() {
        let Some((&escaped, next)) = next.split_first().filter(|_| octet == b'\\') else {
            octets.push(octet);
            rest = next;
            continue;
        };
        let (value, taken) = match escaped {
            b't' => (b'\t', 0),
            b'n' => (b'\n', 0),
            b'r' => (b'\r', 0),
            b'f' => (0x0c, 0),
            b'x' => number(next.get(..2), 16).map_or((escaped, 0), |value| (value, 2)),
            b'0'..=b'3' => number(
                text.as_bytes()
                    .get(text.len() - next.len() - 1..)
                    .and_then(|digits| digits.get(..3)),
                8,
            )
            .map_or((escaped, 0), |value| (value, 2)),
            _ => (escaped, 0),
        };
        octets.push(value);
        rest = next.get(taken..).unwrap_or_default();
    }
    octets
}

fn number(digits: Option<&[u8]>, radix: u32) -> Option<u8> {
    let digits = std::str::from_utf8(digits?).ok()?;
    digits
        .bytes()
        .all(|digit| digit.is_ascii_hexdigit())
        .then(|| u8::from_str_radix(digits, radix).ok())?
}

pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// The next word; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Token<'a>>, QueryError> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let start = rest.trim_ascii_start();
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
                _ if close == Some(octet) || (close.is_none() && octet.is_ascii_whitespace()) => {
                    end = Some(position);
                    break;
                }
                _ => {}
            }
        }
        let quoted = close.is_some();
        if quoted && end.is_none() {
            return Err(QueryError {
                kind: QueryErrorKind::UnclosedQuote,
                offset,
            });
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

    /// The next word, which must be there.
    pub(super) fn expect(&mut self, what: &'static str) -> Result<Token<'a>, QueryError> {
        let offset = self.text.len();
        self.next()?.ok_or(QueryError {
            kind: QueryErrorKind::Missing(what),
            offset,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_quotes_and_escapes() {
        for (text, words) in [
            ("", &[][..]),
            ("  a  b\tc ", &[&b"a"[..], b"b", b"c"]),
            ("\"a b\" {c d} \"\"", &[b"a b", b"c d", b""]),
            (r#""a\"b" c\ d {e\}f}"#, &[b"a\"b", b"c d", b"e}f"]),
            (r"\x41\xE9\101\n\q", &[b"A\xe9A\nq"]),
            (r"\xZZ \1 a\", &[b"xZZ", b"1", b"a\\"]),
            ("a\"b", &[b"a\"b"]),
        ] {
            let mut lexer = Lexer::new(text);
            let mut found = Vec::new();
            while let Some(token) = lexer.next().expect(text) {
                found.push(token.unescaped());
            }
            assert_eq!(found, words, "{text}");
        }
        assert_eq!(Lexer::new(" \"a").next().expect_err("unclosed").offset, 1);
    }
}

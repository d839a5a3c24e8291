//! Splits a CCL query into words and symbols as YAZ does: a word ends at the next space or symbol that is neither
//! within quotes nor after a backslash.

use super::super::{QueryError, QueryErrorKind, check_length};
use super::bib::Bib;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    End,
    Open,
    Close,
    Comma,
    /// `%` or `!`, with the digits after it.
    Proximity,
    /// `<`, `>`, or any two of `< > =`.
    Relation,
    Equal,
    Word,
    And,
    Or,
    Not,
    Set,
}

/// A token of the query.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token {
    pub(super) kind: Kind,
    /// The offset of the token's first octet.
    pub(super) start: usize,
    /// The offset after the token's last octet.
    pub(super) end: usize,
    /// The number of white-space octets before the token.
    pub(super) blank: usize,
}

impl Token {
    /// Returns whether the token can be part of a term.
    pub(super) fn in_term(&self) -> bool {
        matches!(
            self.kind,
            Kind::Word | Kind::Comma | Kind::Equal | Kind::Relation | Kind::Set
        )
    }

    pub(super) fn text<'a>(&self, query: &'a str) -> &'a str {
        query.get(self.start..self.end).unwrap_or_default()
    }
}

/// Splits a query into tokens; the last token is always [`Kind::End`].
pub(super) fn tokens(query: &str, bib: &Bib) -> Result<Vec<Token>, QueryError> {
    check_length(query)?;
    let mut tokens = Vec::new();
    let mut at = 0;
    loop {
        let rest = query.get(at..).unwrap_or_default();
        let body = rest.trim_start_matches(is_blank);
        let blank = rest.len() - body.len();
        let start = at + blank;
        let (kind, length) = match body.as_bytes() {
            [] => (Kind::End, 0),
            [b'(', ..] => (Kind::Open, 1),
            [b')', ..] => (Kind::Close, 1),
            [b',', ..] => (Kind::Comma, 1),
            [b'%' | b'!', digits @ ..] => {
                let digits = digits.iter().take_while(|octet| octet.is_ascii_digit());
                (Kind::Proximity, 1 + digits.count())
            }
            [b'<' | b'>' | b'=', b'<' | b'>' | b'=', ..] => (Kind::Relation, 2),
            [b'=', ..] => (Kind::Equal, 1),
            [b'<' | b'>', ..] => (Kind::Relation, 1),
            _ => {
                let length = word(body, start)?;
                (kind(body.get(..length).unwrap_or_default(), bib), length)
            }
        };
        at = start + length;
        tokens.push(Token {
            kind,
            start,
            end: at,
            blank,
        });
        if kind == Kind::End {
            return Ok(tokens);
        }
    }
}

/// Returns the length in octets of the word at the start of the text.
fn word(text: &str, offset: usize) -> Result<usize, QueryError> {
    let mut quote = None;
    let mut octets = text.bytes().enumerate();
    while let Some((at, octet)) = octets.next() {
        match octet {
            b'\\' if octets.next().is_none() => {
                return Err(QueryErrorKind::LoneBackslash.at(offset + at));
            }
            b'"' if quote.is_some() => quote = None,
            b'"' => quote = Some(at),
            _ if quote.is_none() && ends_word(octet) => return Ok(at),
            _ => {}
        }
    }
    match quote {
        None => Ok(text.len()),
        Some(at) => Err(QueryErrorKind::UnclosedQuote.at(offset + at)),
    }
}

/// Returns the kind of a word. If a bib file gives it several meanings, `set` takes precedence over `not`, `not` over `or`, and
/// `or` over `and`.
fn kind(word: &str, bib: &Bib) -> Kind {
    let meanings = [
        (&bib.set, Kind::Set),
        (&bib.not, Kind::Not),
        (&bib.or, Kind::Or),
        (&bib.and, Kind::And),
    ];
    meanings
        .into_iter()
        .find(|(names, _)| names.iter().any(|name| bib.same(name, word)))
        .map_or(Kind::Word, |(_, kind)| kind)
}

/// Returns whether an octet outside quotes ends a word.
pub(super) fn ends_word(octet: u8) -> bool {
    matches!(
        octet,
        b'(' | b')' | b',' | b'%' | b'!' | b'>' | b'<' | b'=' | b' ' | b'\t' | b'\n' | b'\r'
    )
}

fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\r')
}

//! Splits CQL into words and symbols (CQL 1.2 §BNF). Words are separated by white space and by `( ) = < > /`. They may
//! be quoted with `"…"`, and a `\` in a word makes the next character literal.

use super::{BooleanOperator, Sign, Word};
use crate::query::{QueryError, QueryErrorKind};

/// A word or symbol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CqlToken {
    /// A word. Without quotes, it may be a keyword.
    Word { word: Word, quoted: bool },
    /// A comparison symbol.
    Sign(Sign),
    /// `(`
    Open,
    /// `)`
    Close,
    /// `/`
    Slash,
}

impl CqlToken {
    /// Returns the operator, if the token is the name of one.
    pub(super) fn operator(&self) -> Option<BooleanOperator> {
        [
            BooleanOperator::And,
            BooleanOperator::Or,
            BooleanOperator::Not,
            BooleanOperator::Prox,
        ]
        .into_iter()
        .find(|operator| self.is(operator.as_str()))
    }

    /// Returns whether the token is this word without quotes; case is ignored.
    pub(super) fn is(&self, name: &str) -> bool {
        matches!(self, Self::Word { word, quoted: false } if word.text.eq_ignore_ascii_case(name))
    }

    /// Returns whether the token is a word that cannot be an additional term of a clause.
    pub(super) fn ends_clause(&self) -> bool {
        self.operator().is_some() || self.is("sortby")
    }

    /// Returns whether the token is a relation wherever a relation is possible, as in YAZ: `all`, `any`, `adj`, or any
    /// name with a prefix.
    pub(super) fn is_relation(&self) -> bool {
        matches!(self, Self::Word { word, quoted: false } if word.text.contains('.'))
            || ["all", "any", "adj"].iter().any(|name| self.is(name))
    }

    /// Returns whether the token is a relation from the context set `cql` that YAZ treats as a term: `exact`, `within`,
    /// `encloses` or `scr`.
    pub(super) fn is_rare_relation(&self) -> bool {
        ["exact", "within", "encloses", "scr"]
            .iter()
            .any(|name| self.is(name))
    }
}

/// Returns whether a word has to be quoted in CQL.
pub(super) fn needs_quotes(text: &str) -> bool {
    const RESERVED: [&str; 12] = [
        "and", "or", "not", "prox", "sortby", "all", "any", "adj", "exact", "within", "encloses",
        "scr",
    ];
    text.is_empty()
        || text.contains(|character| ends_word(character) || character == '"')
        || RESERVED.iter().any(|word| text.eq_ignore_ascii_case(word))
}

fn ends_word(character: char) -> bool {
    matches!(character, '(' | ')' | '=' | '<' | '>' | '/') || is_space(character)
}

/// Returns whether a character is white space, as in C's `isspace`.
pub(super) fn is_space(character: char) -> bool {
    character.is_ascii_whitespace() || character == '\x0b'
}

/// An iterator over tokens with their offsets in octets, and with a lookahead of three tokens.
pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
    ahead: [Option<(CqlToken, usize)>; 3],
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Result<Self, QueryError> {
        let mut lexer = Self {
            text,
            at: 0,
            ahead: [None, None, None],
        };
        lexer.ahead = [lexer.read()?, lexer.read()?, lexer.read()?];
        Ok(lexer)
    }

    /// Returns the next token, if there is one.
    pub(super) fn peek(&self) -> Option<&CqlToken> {
        self.ahead[0].as_ref().map(|(token, _)| token)
    }

    /// Returns the two tokens after the next token.
    pub(super) fn peek_further(&self) -> [Option<&CqlToken>; 2] {
        let [_, second, third] = &self.ahead;
        [second, third].map(|token| token.as_ref().map(|(token, _)| token))
    }

    /// Returns the offset of the next token, or the length of the text at its end.
    pub(super) fn offset(&self) -> usize {
        self.ahead[0]
            .as_ref()
            .map_or(self.text.len(), |(_, at)| *at)
    }

    /// Consumes and returns the next token.
    pub(super) fn next(&mut self) -> Result<Option<CqlToken>, QueryError> {
        let fourth = self.read()?;
        let [first, second, third] = std::mem::take(&mut self.ahead);
        self.ahead = [second, third, fourth];
        Ok(first.map(|(token, _)| token))
    }

    /// Consumes a word, quoted or not. `what` is its name in error messages.
    pub(super) fn word(&mut self, what: &'static str) -> Result<Word, QueryError> {
        match self.peek() {
            Some(CqlToken::Word { word, .. }) => {
                let word = word.clone();
                self.next()?;
                Ok(word)
            }
            _ => Err(self.unexpected(what)),
        }
    }

    /// Returns the error for the next token, or for the end of the text, where `what` is expected.
    pub(super) fn unexpected(&self, what: &'static str) -> QueryError {
        let kind = match self.peek() {
            None => QueryErrorKind::Missing(what),
            Some(CqlToken::Word { word, .. }) => QueryErrorKind::Unexpected(word.text.clone()),
            Some(CqlToken::Sign(sign)) => QueryErrorKind::Unexpected(sign.as_str().to_owned()),
            Some(CqlToken::Open) => QueryErrorKind::Unexpected("(".to_owned()),
            Some(CqlToken::Close) => QueryErrorKind::Unexpected(")".to_owned()),
            Some(CqlToken::Slash) => QueryErrorKind::Unexpected("/".to_owned()),
        };
        QueryError {
            kind,
            offset: self.offset(),
        }
    }

    fn read(&mut self) -> Result<Option<(CqlToken, usize)>, QueryError> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let rest = rest.trim_start_matches(is_space);
        let offset = self.text.len() - rest.len();
        const SIGNS: [(&str, CqlToken); 10] = [
            ("==", CqlToken::Sign(Sign::Exact)),
            ("=", CqlToken::Sign(Sign::Equal)),
            (">=", CqlToken::Sign(Sign::GreaterOrEqual)),
            (">", CqlToken::Sign(Sign::Greater)),
            ("<=", CqlToken::Sign(Sign::LessOrEqual)),
            ("<>", CqlToken::Sign(Sign::NotEqual)),
            ("<", CqlToken::Sign(Sign::Less)),
            ("(", CqlToken::Open),
            (")", CqlToken::Close),
            ("/", CqlToken::Slash),
        ];
        if rest.is_empty() {
            self.at = offset;
            return Ok(None);
        }
        for (sign, token) in SIGNS {
            if rest.starts_with(sign) {
                self.at = offset + sign.len();
                return Ok(Some((token, offset)));
            }
        }
        let (token, length) = match rest.strip_prefix('"') {
            Some(body) => quoted(body, offset)?,
            None => plain(rest, offset)?,
        };
        self.at = offset + length;
        Ok(Some((token, offset)))
    }
}

/// Returns a quoted word, and its length in octets with both quotes.
fn quoted(body: &str, offset: usize) -> Result<(CqlToken, usize), QueryError> {
    let mut characters = body.char_indices();
    while let Some((position, character)) = characters.next() {
        match character {
            '\\' => drop(characters.next()),
            '"' => {
                let text = body.get(..position).unwrap_or_default().to_owned();
                let word = Word { text, offset };
                let quoted = true;
                return Ok((CqlToken::Word { word, quoted }, position + 2));
            }
            _ => {}
        }
    }
    Err(QueryErrorKind::UnclosedQuote.at(offset))
}

/// Returns an unquoted word, in which quotes are escaped, and its length in octets. The word extends to white space or
/// a symbol.
fn plain(rest: &str, offset: usize) -> Result<(CqlToken, usize), QueryError> {
    let mut text = String::new();
    let mut length = rest.len();
    let mut characters = rest.char_indices();
    while let Some((position, character)) = characters.next() {
        match character {
            '\\' => {
                let Some((_, escaped)) = characters.next() else {
                    return Err(QueryErrorKind::LoneBackslash.at(offset + position));
                };
                text.extend(['\\', escaped]);
            }
            '"' => text.push_str("\\\""),
            ending if ends_word(ending) => {
                length = position;
                break;
            }
            other => text.push(other),
        }
    }
    let word = Word { text, offset };
    let quoted = false;
    Ok((CqlToken::Word { word, quoted }, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_signs() {
        for (text, expected) in [
            ("", ""),
            (" a  b\tc\n", "a@1 b@4 c@6"),
            ("a=b", "a@0 =@1 b@2"),
            ("a==b<=c<>d>=e", "a@0 ==@1 b@3 <=@4 c@6 <>@7 d@9 >=@10 e@12"),
            ("(a/b)", "(@0 a@1 /@2 b@3 )@4"),
            ("\"a b\" \"\" \"a\\\"b\"", "'a b'@0 ''@6 'a\\\"b'@9"),
            ("a\"b c\\ d", "a\\\"b@0 c\\ d@4"),
            ("ü=ö", "ü@0 =@2 ö@3"),
        ] {
            let mut lexer = Lexer::new(text).expect(text);
            let mut found = Vec::new();
            loop {
                let at = lexer.offset();
                let Some(token) = lexer.next().expect(text) else {
                    break;
                };
                found.push(match token {
                    CqlToken::Word { word, quoted: true } => format!("'{}'@{at}", word.text),
                    CqlToken::Word { word, .. } => format!("{}@{at}", word.text),
                    CqlToken::Sign(sign) => format!("{}@{at}", sign.as_str()),
                    CqlToken::Open => format!("(@{at}"),
                    CqlToken::Close => format!(")@{at}"),
                    CqlToken::Slash => format!("/@{at}"),
                });
            }
            assert_eq!(found.join(" "), expected, "{text}");
        }
        for (text, offset) in [("a \"b", 2), ("a b\\", 3), ("\"\\\"", 0)] {
            let mut lexer = Lexer::new(text);
            while let Ok(inner) = &mut lexer {
                if let Err(error) = inner.next() {
                    lexer = Err(error);
                }
            }
            assert_eq!(lexer.map(|_| ()).expect_err(text).offset, offset, "{text}");
        }
    }
}

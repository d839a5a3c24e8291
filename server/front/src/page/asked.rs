//! What a person typed: a URL, an identifier, or a query in one of three languages, and in which words the page says so.

use z3950::lookup::{Identifier, Kind};
use z3950::{Query, QueryError};

/// What was typed.
#[derive(Clone, Debug)]
pub(super) enum PageQuery {
    /// A URL to follow.
    Url,
    Identifier(Identifier),
    /// A query, and what it was taken for.
    Query(Box<Query>, &'static str),
}

impl PageQuery {
    /// Reads what was typed: an `@` begins PQF, an `=` is a part of CQL if it can be, all else are words with optional index names.
    ///
    /// # Errors
    /// What is wrong with the query.
    pub(super) fn read(text: &str) -> Result<Self, QueryError> {
        if is_url(text) {
            return Ok(Self::Url);
        }
        if text.starts_with('@') {
            return Ok(Self::Query(Box::new(Query::pqf(text)?), "a query in PQF"));
        }
        if let Ok(identifier) = text.parse::<Identifier>()
            && is_clear(&identifier)
        {
            return Ok(Self::Identifier(identifier));
        }
        if text.contains('=')
            && let Ok(query) = Query::cql(text)
        {
            return Ok(Self::Query(Box::new(query), "a query in CQL"));
        }
        let query = Query::words(text)?;
        Ok(Self::Query(Box::new(query), "words that all occur"))
    }

    /// What it was taken for.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Url => "a URL".to_owned(),
            Self::Identifier(identifier) => match identifier.kind {
                Kind::Isbn => format!("the ISBN {}", identifier.text),
                Kind::Issn => format!("the ISSN {}", identifier.text),
                Kind::Lccn => format!("the LCCN {}", identifier.text),
                Kind::Oclc => format!("the OCLC number {}", identifier.text),
                _ => format!("the record {}", identifier.text),
            },
            Self::Query(_, words) => (*words).to_owned(),
        }
    }
}

/// Whether the kind is given, or plain from the form.
fn is_clear(identifier: &Identifier) -> bool {
    let is_number = identifier
        .text
        .starts_with(|first: char| first.is_ascii_digit());
    identifier.is_certain || is_number && matches!(identifier.kind, Kind::Isbn | Kind::Issn)
}

/// Whether a text begins like a URL that a gateway follows.
fn is_url(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let known = ["z39.50r:", "z39.50s:", "gopher:", "http:", "https:"];
    let is_one = known.iter().any(|scheme| lower.starts_with(scheme));
    is_one && !text.contains(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_typed_is_known() {
        for (text, expected) in [
            ("war peace", "words that all occur"),
            ("ti:war au:tolstoy", "words that all occur"),
            ("@attr 1=4 war", "a query in PQF"),
            ("dc.title=war", "a query in CQL"),
            ("978-0-14-143951-8", "the ISBN 978-0-14-143951-8"),
            ("isbn:0141439513", "the ISBN 0141439513"),
            ("0028-0836", "the ISSN 0028-0836"),
            ("z39.50r://lib.example/cat?id7", "a URL"),
            ("gopher://lib.example/", "a URL"),
        ] {
            let asked = PageQuery::read(text).map(|asked| asked.words());
            assert_eq!(asked.as_deref(), Ok(expected), "{text}");
        }
        assert!(PageQuery::read("@and war").is_err());
    }
}

//! The query languages and their names, with functions to parse queries in any of them and to print them in CCL and
//! CQL.

use std::borrow::Cow;

use super::ccl::{self, Bib};
use super::cql::{self, Properties};
use super::names::{self, Names};
use super::{QueryError, UnsupportedQuery, parse_pqf};
use crate::apdu::{RpnQuery, SortKeySpec};

/// A query language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Language {
    /// PQF, the prefix query format.
    #[default]
    Pqf,
    /// CCL, the Common Command Language (ISO 8777).
    Ccl,
    /// CQL, the Contextual Query Language from the Library of Congress.
    Cql,
    /// Words with index names, such as `ti:war au:tolstoy`.
    Names,
}

impl Language {
    /// All query languages.
    pub const ALL: [Self; 4] = [Self::Pqf, Self::Ccl, Self::Cql, Self::Names];

    /// Returns the name of the language in lower case, such as `pqf`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pqf => "pqf",
            Self::Ccl => "ccl",
            Self::Cql => "cql",
            Self::Names => "names",
        }
    }

    /// Returns the language that a prefix such as `ccl:` names, and the text after the prefix; `None` if there is no
    /// such prefix.
    pub fn prefixed(text: &str) -> Option<(Self, &str)> {
        let (name, rest) = text.split_once(':')?;
        let mut languages = Self::ALL.into_iter();
        let language = languages.find(|one| one.name().eq_ignore_ascii_case(name.trim_start()))?;
        Some((language, rest.trim_start()))
    }

    /// Returns the language of text that a person typed, and the text without its prefix. A prefix such as `ccl:` names
    /// the language. Text without a prefix is PQF if it begins with `@`. It is CQL if it can be parsed as CQL and
    /// contains an index followed by a relation, as in `dc.title=war`. Any other text is words with index names.
    pub fn of_typed(text: &str) -> (Self, &str) {
        Self::prefixed(text).unwrap_or_else(|| {
            if text.trim_ascii_start().starts_with('@') {
                (Self::Pqf, text)
            } else if has_cql_clause(text) && cql::parse(text).is_ok() {
                (Self::Cql, text)
            } else {
                (Self::Names, text)
            }
        })
    }
}

/// The CQL relations that are words and not symbols (CQL 1.2).
const WORD_RELATIONS: [&str; 7] = ["any", "all", "exact", "adj", "within", "encloses", "scr"];

/// Returns whether an index followed by a relation occurs outside quotes, as in `ti=war`, `dc.title = war` or
/// `dc.title any war`. In `e=mc2`, the word before the equals sign is not the name of an index.
fn has_cql_clause(text: &str) -> bool {
    let is_part = |name: &str| {
        name.starts_with(char::is_alphabetic) && name.chars().all(char::is_alphanumeric)
    };
    let is_prefixed = |name: &str| {
        name.split_once('.')
            .is_some_and(|(set, index)| is_part(set) && is_part(index))
    };
    let is_index = |name: &str| is_prefixed(name) || Names::default().attributes(name).is_ok();
    text.split('"').step_by(2).any(|part| {
        let words = part.split(|one: char| one.is_whitespace() || "()".contains(one));
        let mut before = "";
        words.filter(|word| !word.is_empty()).any(|word| {
            let last = std::mem::replace(&mut before, word);
            match word.find(['=', '<', '>']) {
                Some(0) => is_index(last),
                Some(end) => word.get(..end).is_some_and(is_index),
                None => is_prefixed(last) && WORD_RELATIONS.contains(&word),
            }
        })
    })
}

/// The tables of indexes and qualifiers with which queries are parsed in every language, and printed in CCL and CQL.
/// The built-in tables are parsed only if a query needs them.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Dialects {
    /// The indexes and relations for CQL; `None` for [`Properties::default`].
    pub properties: Option<Properties>,
    /// The qualifiers for CCL; `None` for [`Bib::default`].
    pub bib: Option<Bib>,
}

impl Dialects {
    /// Returns dialects with the built-in tables already parsed, for programs that parse many queries.
    pub fn built_in() -> Self {
        Self {
            properties: Some(Properties::default()),
            bib: Some(Bib::default()),
        }
    }

    /// Parses a query in the given language.
    ///
    /// # Errors
    /// [`QueryError`], with the fault and its offset.
    pub fn read(&self, language: Language, text: &str) -> Result<RpnQuery, QueryError> {
        match language {
            Language::Pqf => parse_pqf(text),
            Language::Ccl => ccl::parse(text, &self.bib()),
            Language::Cql => cql::to_rpn(&cql::parse(text)?, &self.properties()),
            Language::Names => names::parse(text),
        }
    }

    fn bib(&self) -> Cow<'_, Bib> {
        self.bib
            .as_ref()
            .map_or_else(|| Cow::Owned(Bib::default()), Cow::Borrowed)
    }

    fn properties(&self) -> Cow<'_, Properties> {
        self.properties
            .as_ref()
            .map_or_else(|| Cow::Owned(Properties::default()), Cow::Borrowed)
    }

    /// Returns whether the text requests a sorted result with CQL's `sortby`. [`Dialects::read`] ignores `sortby`
    /// because RPN cannot express it; see [`sort_keys`](Self::sort_keys).
    pub fn sorts(&self, language: Language, text: &str) -> bool {
        language == Language::Cql && cql::parse(text).is_ok_and(|query| !query.sort.is_empty())
    }

    /// Returns the sort keys of a query in CQL, most important key first. There are none in the other languages.
    ///
    /// # Errors
    /// [`QueryError`], with the fault and its offset.
    pub fn sort_keys(
        &self,
        language: Language,
        text: &str,
    ) -> Result<Vec<SortKeySpec>, QueryError> {
        match language {
            Language::Cql => cql::sort_keys(&cql::parse(text)?, &self.properties()),
            _ => Ok(Vec::new()),
        }
    }

    /// Returns the query in CCL, on one line.
    ///
    /// # Errors
    /// [`UnsupportedQuery`], with the part that CCL cannot express with these qualifiers.
    pub fn to_ccl(&self, query: &RpnQuery) -> Result<String, UnsupportedQuery> {
        ccl::print(query, &self.bib())
    }

    /// Returns the query in CQL, on one line.
    ///
    /// # Errors
    /// [`UnsupportedQuery`], with the part that CQL cannot express with these properties.
    pub fn to_cql(&self, query: &RpnQuery) -> Result<String, UnsupportedQuery> {
        cql::from_rpn(query, &self.properties()).map(|query| query.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_names_the_language() {
        for (text, language) in [
            ("@attr 1=4 war", Language::Pqf),
            (" @attr 1=4 war", Language::Pqf),
            ("ti:war", Language::Names),
            ("CCL: ti=war", Language::Ccl),
            ("cql:title=war", Language::Cql),
        ] {
            assert_eq!(Language::of_typed(text).0, language, "{text}");
        }
    }

    #[test]
    fn r_f7_cql_is_recognised() {
        for (text, language) in [
            ("dc.title=war", Language::Cql),
            ("dc.title = \"war and peace\"", Language::Cql),
            ("dc.title any \"war peace\"", Language::Cql),
            ("(ti=war or ti=peace) and dc.creator=tolstoy", Language::Cql),
            ("ti=\"war and peace\"", Language::Cql),
            ("pica.tit=war", Language::Cql),
            ("year>1900", Language::Cql),
            ("dc.title=war sortby dc.date", Language::Cql),
            // Two clauses without an operator are not CQL.
            ("ti=war au=tolstoy", Language::Names),
            ("ti:war year>1900", Language::Names),
            ("e=mc2", Language::Names),
            ("a = b", Language::Names),
            ("\"dc.title=war\"", Language::Names),
            ("war and peace", Language::Names),
            ("node.js any", Language::Names),
            ("http://lib.example/?a=b", Language::Names),
            ("names:dc.title=war", Language::Names),
            ("@attr 1=4 war", Language::Pqf),
            ("dc.title=", Language::Names),
            ("=", Language::Names),
            ("", Language::Names),
        ] {
            assert_eq!(Language::of_typed(text).0, language, "{text}");
        }
    }

    #[test]
    fn one_query_in_every_language() {
        for dialects in [Dialects::default(), Dialects::built_in()] {
            reads_and_prints(&dialects);
        }
    }

    fn reads_and_prints(dialects: &Dialects) {
        for (language, text) in [
            (Language::Pqf, "@and @attr 1=4 war @attr 1=1003 tolstoy"),
            (Language::Ccl, "ti=war and au=tolstoy"),
            (Language::Cql, "dc.title=war and dc.creator=tolstoy"),
            (Language::Names, "ti:war au:tolstoy"),
        ] {
            let query = dialects.read(language, text).expect(text);
            let printed = query.to_string();
            for part in ["@and ", "1=4 ", "war", "1=1003", "tolstoy"] {
                assert!(printed.contains(part), "{printed}: {part}");
            }
            assert!(dialects.read(language, "\"x").is_err(), "{text}");
        }
        assert!(dialects.sorts(Language::Cql, "war sortby date"));
        assert!(!dialects.sorts(Language::Cql, "war") && !dialects.sorts(Language::Pqf, "war"));
        let pqf = parse_pqf("@attr 1=4 war").expect("a query");
        assert_eq!(dialects.to_ccl(&pqf).as_deref(), Ok("ti=war"));
        let cql = dialects.to_cql(&pqf).expect("a query CQL can say");
        assert!(cql.contains("title") && cql.contains("war"), "{cql}");
    }
}

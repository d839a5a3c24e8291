//! The query language of `find`. It is set by `querytype` or by a prefix such as `cql:`. Without either, a query that
//! begins with `@` is parsed as PQF, and any other query as words.

use z3950::service::search::type_104;
use z3950_asn1::apdu::{Query, SortKeySpec};
use z3950_asn1::query::{Dialects, Language};

use crate::commands;

/// How `find` interprets its text. The names are the same as for `querytype` in yaz-client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum QueryType {
    /// The text is PQF if it begins with `@`, and otherwise words.
    #[default]
    Auto,
    /// The text is parsed in a query language and sent as a type-1 query.
    Rpn(Language),
    /// The text is CCL and is sent unchanged as a query of type 2.
    Ccl,
    /// The text is CQL and is sent unchanged as a query of type 104.
    Cql,
}

/// The names of the types; the usual name of each type comes first.
const NAMES: &[(&str, QueryType)] = &[
    ("auto", QueryType::Auto),
    ("prefix", QueryType::Rpn(Language::Pqf)),
    ("rpn", QueryType::Rpn(Language::Pqf)),
    ("pqf", QueryType::Rpn(Language::Pqf)),
    ("ccl", QueryType::Ccl),
    ("ccl2rpn", QueryType::Rpn(Language::Ccl)),
    ("cclrpn", QueryType::Rpn(Language::Ccl)),
    ("cql", QueryType::Cql),
    ("cql2rpn", QueryType::Rpn(Language::Cql)),
    ("cqlrpn", QueryType::Rpn(Language::Cql)),
    ("names", QueryType::Rpn(Language::Names)),
];

impl QueryType {
    /// Returns the type with this name, ignoring case.
    pub(super) fn by_name(name: &str) -> Option<Self> {
        let found = NAMES
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, query_type)| *query_type)
    }

    /// Returns the language in which queries are parsed; `None` for types that are sent unchanged.
    pub(super) fn language(self) -> Option<Language> {
        match self {
            Self::Auto => None,
            Self::Rpn(language) => Some(language),
            Self::Ccl => Some(Language::Ccl),
            Self::Cql => Some(Language::Cql),
        }
    }

    /// Returns the usual name of the type.
    pub(super) fn name(self) -> &'static str {
        let found = NAMES.iter().find(|(_, query_type)| *query_type == self);
        found.map_or("auto", |(name, _)| name)
    }

    /// Returns a list of all names, for use in a message.
    pub(super) fn names() -> String {
        let names: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
        names.join(", ")
    }
}

/// A query, the keys by which to sort its result, and an optional note on how the query was interpreted.
pub(super) type ReadQuery = (Query, Vec<SortKeySpec>, Option<String>);

/// Parses a query. A prefix (`pqf:`, `ccl:`, `cql:`, `names:`) overrides the type. CQL for an SRU server is kept as typed.
pub(super) fn read(
    query_type: QueryType,
    dialects: &Dialects,
    text: &str,
    is_sru: bool,
) -> Result<ReadQuery, String> {
    let is_prefixed = Language::prefixed(text).is_some();
    match query_type {
        QueryType::Ccl if !is_sru && !is_prefixed => {
            return Ok((Query::Type2(text.into()), Vec::new(), None));
        }
        QueryType::Cql if !is_sru && !is_prefixed => {
            return Ok((type_104(text), Vec::new(), None));
        }
        _ => {}
    }
    let language = query_type.language().filter(|_| !is_prefixed);
    let read = commands::query::read_sorted(dialects, language, text)?;
    if let Some(cql) = read.cql.filter(|_| is_sru) {
        return Ok((type_104(&cql), Vec::new(), read.remark));
    }
    Ok((Query::Type1(read.query?), read.keys, read.remark))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(query_type: &str, text: &str, expected: &str) {
        let query_type = QueryType::by_name(query_type).expect("a type");
        let query = match read(query_type, &Dialects::default(), text, false) {
            Ok((Query::Type1(query), ..)) => query.to_string(),
            Ok((other, ..)) => format!("type-{}", other.type_number()),
            Err(words) => words,
        };
        assert_eq!(query, expected, "{text}");
    }

    #[test]
    fn the_query_type_or_a_prefix_selects_the_language() {
        let words = "@and @attr 1=1016 war @attr 1=1016 peace";
        check("auto", "war peace", words);
        check("auto", "@attr 1=4 war", "@attr 1=4 war");
        check("names", "war peace", words);
        check("auto", "pqf: @attr 1=4 war", "@attr 1=4 war");
        check("prefix", "war", "war");
        check("pqf", "@not a b", "@not a b");
        check("RPN", "@not a b", "@not a b");
        check("ccl", "ti=war", "type-2");
        check("cql", "title=war", "type-104");
        check("ccl2rpn", "ti=war", "@attr 1=4 war");
        check("cql", "ccl:ti=war", "@attr 1=4 war");
        check(
            "auto",
            "pqf: war peace",
            "\"peace\" after the end of the query at character 5 of the query\nwar peace\n    ^",
        );
    }

    #[test]
    fn cql_for_a_server_of_sru_stays_as_it_is() {
        let read = |query_type, text| {
            let read = read(query_type, &Dialects::default(), text, true);
            read.map(|(query, keys, _)| (query.type_number(), keys.len()))
        };
        for (query_type, text, expected) in [
            (QueryType::Auto, "ti:war", 1),
            (QueryType::Auto, "cql:pica.tit=war sortby x", 104),
            (QueryType::Cql, "title=war", 104),
            (QueryType::Ccl, "ti=war", 1),
        ] {
            assert_eq!(read(query_type, text), Ok((expected, 0)), "{text}");
        }
        assert!(read(QueryType::Cql, "pica.tit=").is_err());
    }

    #[test]
    fn types_have_names() {
        for (name, query_type) in NAMES {
            assert_eq!(QueryType::by_name(name), Some(*query_type));
            assert_eq!(QueryType::by_name(query_type.name()), Some(*query_type));
            assert!(QueryType::names().contains(name));
        }
        assert_eq!(QueryType::by_name("sql"), None);
    }
}

//! Queries, which are built from parts or parsed from a query language (the type-1 query, Z39.50-2003 §3.7).

use std::fmt;
use std::ops::{BitAnd, BitOr, Sub};

use z3950_asn1::apdu::{AttributeElement, Operator, RpnQuery, RpnStructure, SortKeySpec};
use z3950_asn1::query::names::Names;
use z3950_asn1::query::{Dialects, Language};

pub use z3950_asn1::query::{QueryError, QueryErrorKind};

/// A query: one term in one index, or several queries joined by `&` (and), `|` (or) and `-` (and not).
///
/// ```
/// use z3950::Query;
///
/// let query = Query::title("war and peace") & Query::author("tolstoy");
/// assert_eq!(query.to_string(), "@and @attr 1=4 \"war and peace\" @attr 1=1003 tolstoy");
/// # assert_eq!(query, Query::words("ti:\"war and peace\" au:tolstoy")?);
/// # Ok::<(), z3950::QueryError>(())
/// ```
/// The query language is never guessed from the text. Choose one of [`words`](Self::words), [`pqf`](Self::pqf),
/// [`cql`](Self::cql) and [`ccl`](Self::ccl). `Display` writes PQF, which [`pqf`](Self::pqf) parses.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    rpn: RpnQuery,
    /// The keys for sorting the result, most important first.
    sort: Vec<SortKeySpec>,
    /// The text as typed, if it is in CQL and was not joined to another query.
    cql: Option<String>,
}

/// Declares constructors for one term in an index.
macro_rules! indexes {
    ($($(#[$about:meta])* $index:ident;)*) => {
        $(
            $(#[$about])*
            pub fn $index(term: impl AsRef<str>) -> Self {
                Self::named(stringify!($index), term.as_ref())
            }
        )*
    };
}

impl Query {
    indexes! {
        /// Creates a query for a term in any index: Bib-1 Use 1016.
        any;
        /// Creates a query for a title: Use 4.
        title;
        /// Creates a query for the name of an author: Use 1003.
        author;
        /// Creates a query for a subject heading: Use 21.
        subject;
        /// Creates a query for an ISBN as given: Use 7. [`Connection::lookup`](crate::Connection::lookup) also tries
        /// its other notations.
        isbn;
        /// Creates a query for an ISSN as given: Use 8.
        issn;
        /// Creates a query for a Library of Congress control number as given: Use 9.
        lccn;
        /// Creates a query for a record's identifier in its database: Use 1032 with Structure 104, as in RFC 2056 §4.
        docid;
        /// Creates a query for a date of publication: Use 31.
        date;
        /// Creates a query for a publisher: Use 1018.
        publisher;
    }

    /// Creates a query for one term in a named index: `title` or `ti`, `author` or `au`, `callnumber` and so on
    /// ([`TABLE`](z3950_asn1::query::names::TABLE)).
    ///
    /// # Errors
    /// Fails if the index is unknown. The error contains the most similar known name.
    pub fn index(name: &str, term: impl AsRef<str>) -> Result<Self, QueryError> {
        let attributes = Names::default().attributes(name).map_err(|nearest| {
            let name = name.to_owned();
            QueryErrorKind::Index { name, nearest }.at(0)
        })?;
        Ok(Self::term(attributes, term.as_ref()))
    }

    /// Creates a query for one term with Bib-1 attributes, each given by a type and a value: `[(1, 4), (5, 1)]` is a
    /// title with right truncation (Z39.50-2003 Appendix ATR).
    pub fn attributes(
        attributes: impl IntoIterator<Item = (i64, i64)>,
        term: impl AsRef<str>,
    ) -> Self {
        let attributes = attributes
            .into_iter()
            .map(|(kind, value)| AttributeElement::numeric(kind, value));
        Self::term(attributes.collect(), term.as_ref())
    }

    /// Parses words that must all occur. An index name and a colon may precede each word, as in `ti:"war and peace"
    /// au:tolstoy`.
    ///
    /// # Errors
    /// Fails if the text is malformed. The error contains the offset of the fault in octets.
    pub fn words(text: &str) -> Result<Self, QueryError> {
        Self::read(Language::Names, text)
    }

    /// Parses PQF, YAZ's prefix query format: `@and @attr 1=4 war @attr 1=1003 tolstoy`.
    ///
    /// # Errors
    /// Fails if the text is malformed. The error contains the offset of the fault in octets.
    pub fn pqf(text: &str) -> Result<Self, QueryError> {
        Self::read(Language::Pqf, text)
    }

    /// Parses CQL 1.1 or 1.2: `dc.title="war and peace" and dc.creator=tolstoy`.
    /// [`Connection::search`](crate::Connection::search) sorts the result by the keys after `sortby`. The text is sent
    /// to an SRU server unchanged, unless it is joined to another query.
    ///
    /// # Errors
    /// Fails if the text is malformed, or if a type-1 query cannot express it. The error contains the offset of the
    /// fault in octets.
    pub fn cql(text: &str) -> Result<Self, QueryError> {
        let read = Self::read(Language::Cql, text)?;
        Ok(Self {
            cql: Some(text.to_owned()),
            ..read
        })
    }

    /// Parses CCL (ISO 8777): `ti=(war and peace) and au=tolstoy`.
    ///
    /// # Errors
    /// Fails if the text is malformed. The error contains the offset of the fault in octets.
    pub fn ccl(text: &str) -> Result<Self, QueryError> {
        Self::read(Language::Ccl, text)
    }

    /// Sets the sort keys, most important first. They replace the query's own keys.
    /// [`Connection::search`](crate::Connection::search) sorts the result by them.
    #[must_use]
    pub fn sorted_by(self, keys: impl IntoIterator<Item = impl Into<SortKeySpec>>) -> Self {
        Self {
            rpn: self.rpn,
            sort: keys.into_iter().map(Into::into).collect(),
            cql: None,
        }
    }

    /// Returns the type-1 query, without the changes that a target's profile makes to it.
    pub fn as_rpn(&self) -> &RpnQuery {
        &self.rpn
    }

    /// Returns the CQL text from which the query was parsed, if any.
    pub(crate) fn as_cql(&self) -> Option<&str> {
        self.cql.as_deref()
    }

    /// Returns the keys for sorting the result.
    pub(crate) fn sort_keys(&self) -> &[SortKeySpec] {
        &self.sort
    }

    fn read(language: Language, text: &str) -> Result<Self, QueryError> {
        let dialects = Dialects::default();
        Ok(Self {
            rpn: dialects.read(language, text)?,
            sort: dialects.sort_keys(language, text)?,
            cql: None,
        })
    }

    /// Creates a query for a term in one of the indexes that have a method above. `Names` contains all of them, so the
    /// default is never used.
    fn named(index: &str, term: &str) -> Self {
        let attributes = Names::default().attributes(index);
        Self::term(attributes.unwrap_or_default(), term)
    }

    fn term(attributes: Vec<AttributeElement>, term: &str) -> Self {
        RpnQuery::bib1(RpnStructure::term(attributes, term)).into()
    }

    fn joined(self, other: Self, op: Operator) -> Self {
        let Self {
            rpn: left, sort, ..
        } = self;
        let (mut right, other_sort) = (other.rpn, other.sort);
        // A query has a single attribute set. If the right operand has a different one, its attributes must name that
        // set themselves.
        if right.attribute_set != left.attribute_set {
            let operands = right.rpn.terms_mut();
            for attribute in operands.flat_map(|operand| &mut operand.attributes) {
                attribute.attribute_set.get_or_insert(right.attribute_set);
            }
        }
        Self {
            rpn: RpnQuery {
                attribute_set: left.attribute_set,
                rpn: RpnStructure::combined(left.rpn, op, right.rpn),
            },
            sort: if sort.is_empty() { other_sort } else { sort },
            cql: None,
        }
    }
}

impl BitAnd for Query {
    type Output = Self;

    /// Joins two queries, both of which must match.
    fn bitand(self, other: Self) -> Self {
        self.joined(other, Operator::And)
    }
}

impl BitOr for Query {
    type Output = Self;

    /// Joins two queries, at least one of which must match.
    fn bitor(self, other: Self) -> Self {
        self.joined(other, Operator::Or)
    }
}

impl Sub for Query {
    type Output = Self;

    /// Joins two queries: the first query must match, and the second must not.
    fn sub(self, other: Self) -> Self {
        self.joined(other, Operator::AndNot)
    }
}

impl From<RpnQuery> for Query {
    fn from(rpn: RpnQuery) -> Self {
        Self {
            rpn,
            sort: Vec::new(),
            cql: None,
        }
    }
}

impl From<Query> for RpnQuery {
    fn from(query: Query) -> Self {
        query.rpn
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rpn.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_joined_as_the_languages_join_them() {
        let pqf = |text| Query::pqf(text).expect(text);
        for (query, expected) in [
            (Query::any("war"), "@attr 1=1016 war"),
            (
                Query::title("war") & Query::author("tolstoy"),
                "@and @attr 1=4 war @attr 1=1003 tolstoy",
            ),
            (
                Query::subject("war") | Query::isbn("0141439513"),
                "@or @attr 1=21 war @attr 1=7 0141439513",
            ),
            (
                Query::date("1900") - Query::publisher("x"),
                "@not @attr 1=31 1900 @attr 1=1018 x",
            ),
            (Query::docid("id7"), "@attr 4=104 @attr 1=1032 id7"),
            (
                Query::issn("1") & Query::lccn("2") | Query::any("3"),
                "@or @and @attr 1=8 1 @attr 1=9 2 @attr 1=1016 3",
            ),
            (
                Query::attributes([(1, 4), (5, 1)], "war"),
                "@attr 5=1 @attr 1=4 war",
            ),
            (
                Query::index("ti", "war").expect("an index"),
                "@attr 1=4 war",
            ),
        ] {
            assert_eq!(query, pqf(expected), "{expected}");
            assert_eq!(query.to_string(), expected);
        }
    }

    #[test]
    fn every_language_is_read_by_name_and_none_is_guessed() {
        let expected = Query::title("war") & Query::author("tolstoy");
        for query in [
            Query::words("ti:war au:tolstoy"),
            Query::pqf("@and @attr 1=4 war @attr 1=1003 tolstoy"),
        ] {
            assert_eq!(query.expect("a query"), expected);
        }
        // CQL and CCL also add structure and truncation attributes by default, so only the operator is compared.
        for query in [
            Query::cql("dc.title=war and dc.creator=tolstoy"),
            Query::ccl("ti=war and au=tolstoy"),
        ] {
            assert!(query.expect("a query").to_string().starts_with("@and "));
        }
        let words = Query::words("@attr 1=4 war").expect("words");
        assert_ne!(words, Query::title("war"));
    }

    #[test]
    fn an_unknown_index_is_refused_with_the_nearest() {
        let error = Query::index("tilte", "war").expect_err("no index");
        assert!(
            error.to_string().contains("did you mean \"title\"?"),
            "{error}"
        );
    }

    #[test]
    fn sort_keys_stay_with_the_query() {
        let sorted = || Query::cql("war sortby date title").expect("a query");
        let keys = |query: Query| query.sort_keys().len();
        assert_eq!(keys(sorted()), 2);
        assert_eq!(keys(sorted() & Query::any("peace")), 2);
        assert_eq!(keys(Query::any("peace") - sorted()), 2);
        assert_eq!(keys(Query::any("peace")), 0);
        assert!(Query::cql("war sortby tilte").is_err());
    }

    #[test]
    fn sort_keys_can_be_set() {
        let keys = Query::cql("war sortby date title").expect("a query").sort;
        let sorted = Query::cql("war sortby author").expect("a query");
        let sorted = sorted.sorted_by(keys.clone());
        assert_eq!(sorted.sort_keys(), keys);
        // The CQL text still has the previous keys, so it is not returned.
        assert_eq!(sorted.as_cql(), None);
    }

    #[test]
    fn each_part_keeps_its_attribute_set() {
        let other = Query::pqf("@attrset util @attr 1=2 x").expect("a query");
        let query = Query::title("war") & other;
        assert_eq!(query.to_string(), "@and @attr 1=4 war @attr Util 1=2 x");
        assert_eq!(query.as_rpn().attribute_set, z3950_asn1::oid::BIB_1);
    }
}

//! The changes to a search after a refusal or an empty result, as allowed by a [`Fallback`]. Their order is fixed, and
//! their number is bounded. Unlike the search for a docid, this kind of search may find several records.

use z3950_asn1::apdu::{AttributeElement, AttributeValue, DatabaseName, DiagRec, RpnQuery};
use z3950_asn1::bib1::attributes::{RELATION, STRUCTURE, TRUNCATION, USE, USE_ANY};
use z3950_asn1::oid::{BIB_1, UNIMARC, USMARC, XML};
use z3950_asn1::query::cql::{self, Properties};

use crate::plan::{Fallback, Objection, SearchOrder};
use crate::protocol::pager::PagerOptions;
use crate::protocol::service::search::SearchOptions;

/// A search, with the changes to make to it after a refusal or an empty result. Each changed search is a "way".
#[derive(Debug, Clone)]
pub(super) struct Ways {
    order: SearchOrder,
    /// The original query, followed by wider queries. Empty for a lookup, whose searches are stored in its attempts.
    queries: Vec<RpnQuery>,
    /// The number of queries at the start of `queries`, including the original one, that may also follow an empty
    /// result. The rest may follow only a refusal.
    for_nothing: usize,
    search: SearchOptions,
    records: PagerOptions,
    has_element_set: bool,
}

impl Ways {
    /// Creates the ways, the first of which is the original request. `query` is `None` for a lookup. If the fallback
    /// allows other record syntaxes, the pager tries MARC 21, UNIMARC, XML and the server's choice.
    pub(super) fn new(
        query: Option<&RpnQuery>,
        search: SearchOptions,
        mut records: PagerOptions,
        fallback: Fallback,
    ) -> Self {
        if fallback.syntax && records.alternatives.is_empty() {
            let asked = records.present.record_syntax;
            let others = [Some(USMARC), Some(UNIMARC), Some(XML), None].into_iter();
            records.alternatives = others.filter(|syntax| *syntax != asked).collect();
        }
        let (queries, for_nothing) = query.map_or_else(Default::default, |query| {
            let queries = wider(query, fallback);
            let without_use = without_use(&queries, fallback);
            let for_nothing = queries.len();
            ([queries, without_use].concat(), for_nothing)
        });
        Self {
            order: SearchOrder::new(fallback, queries.len(), search.databases.len()),
            queries,
            for_nothing,
            search,
            records,
            has_element_set: true,
        }
    }

    /// Removes each query that is translated to the same CQL as the one before it, because an SRU server receives CQL.
    pub(super) fn distinct_in_cql(mut self) -> Self {
        let properties = Properties::default();
        let written = |query: &RpnQuery| match cql::from_rpn(query, &properties) {
            Ok(cql) => cql.to_string(),
            Err(_) => query.to_string(),
        };
        let for_nothing = self.for_nothing;
        let mut known: Vec<String> = Vec::new();
        let mut kept = Vec::new();
        for (index, query) in self.queries.into_iter().enumerate() {
            let text = written(&query);
            if known.contains(&text) {
                if index < for_nothing {
                    self.for_nothing -= 1;
                }
            } else {
                known.push(text);
                kept.push(query);
            }
        }
        self.order = SearchOrder::new(self.order.fallback, kept.len(), self.search.databases.len());
        Self {
            queries: kept,
            ..self
        }
    }

    /// Returns the current query; `None` if it is the original query.
    pub(super) fn other_query(&self) -> Option<&RpnQuery> {
        self.query().filter(|_| self.order.search > 0)
    }

    /// Returns the current query; `None` for a lookup.
    pub(super) fn query(&self) -> Option<&RpnQuery> {
        self.queries.get(self.order.search)
    }

    /// Returns the search options of the current way.
    pub(super) fn search(&self) -> SearchOptions {
        let mut search = self.search.clone();
        if let Some(name) = self.database() {
            search.databases = vec![name.clone()];
        }
        if !self.has_element_set {
            search.element_set = None;
        }
        search
    }

    /// Returns the options for fetching records in the current way.
    pub(super) fn records(&self) -> PagerOptions {
        let mut records = self.records.clone();
        if !self.has_element_set {
            records.present.element_set = None;
        }
        records
    }

    /// Returns the difference between the current way and the original request, such as `@attr 1=1016
    /// war;database=books;esn=none`; `None` if there is none.
    pub(super) fn form(&self) -> Option<String> {
        let query = self.other_query().map(ToString::to_string);
        let database = self
            .database()
            .map(|name| format!("database={}", name.0.to_string_lossy()));
        let element_set = (!self.has_element_set).then(|| "esn=none".to_owned());
        let parts: Vec<String> = [query, database, element_set]
            .into_iter()
            .flatten()
            .collect();
        (!parts.is_empty()).then(|| parts.join(";"))
    }

    /// Returns whether the next way depends on whether the first record is refused.
    pub(super) fn minds_records(&self) -> bool {
        self.order.fallback.element_set && self.has_element_set && self.search.element_set.is_some()
    }

    /// Moves to the next way after a refused search or record. Returns false if there is no further way.
    pub(super) fn after_refusal(&mut self, diagnostics: &[DiagRec]) -> bool {
        let objection = Objection::of(diagnostics);
        let drops_element_set = objection == Objection::ElementSet && self.minds_records();
        if drops_element_set {
            self.has_element_set = false;
        }
        (drops_element_set || self.order.after_refusal(objection)) && self.order.spend()
    }

    /// Moves to the next way after an empty result. Returns false if there is no further way.
    pub(super) fn after_nothing(&mut self) -> bool {
        let before = self.order.clone();
        let advances = self.order.after_nothing();
        if advances && self.order.search >= self.for_nothing && self.order.search > before.search {
            self.order = before;
            return false;
        }
        advances && self.order.spend()
    }

    /// Returns to the original request.
    pub(super) fn restart(&mut self) {
        self.order.restart();
        self.has_element_set = true;
    }

    /// Returns the database to search if the current way searches only one of several databases.
    fn database(&self) -> Option<&DatabaseName> {
        self.search.databases.get(self.order.database?)
    }
}

/// The attribute types for the position and completeness of terms in Bib-1 (Z39.50-2003 Appendix ATR.3).
const POSITION: i64 = 3;
const COMPLETENESS: i64 = 6;
/// The value "equal" of the Relation attribute.
const EQUAL: i64 = 3;

/// Narrow indexes, each with the broader index that contains it.
const BROADER: [(i64, i64); 9] = [
    (1004, 1003),
    (1005, 1003),
    (1006, 1003),
    (1, 1003),
    (6, 4),
    (33, 4),
    (5, 4),
    (25, 21),
    (27, 21),
];

/// The index of all fields of a record (Bib-1 Use attribute `Anywhere`).
const USE_ANYWHERE: i64 = 1035;

/// The word indexes. A search in one of them may be replaced with a search in any index.
const OF_WORDS: [i64; 6] = [4, 21, 62, 63, 1003, 1018];

/// Returns a query, followed by wider queries, without duplicates. Each wider query is derived from the one before it:
/// first the Structure attribute is removed, then position, completeness and "equal", and then truncation. After that,
/// indexes are replaced with broader ones, and finally with any index.
fn wider(query: &RpnQuery, fallback: Fallback) -> Vec<RpnQuery> {
    let mut queries = vec![query.clone()];
    let mut change = |change: &dyn Fn(&mut Vec<AttributeElement>)| {
        let next = changed(queries.last().unwrap_or(query), change);
        if !queries.contains(&next) {
            queries.push(next);
        }
    };
    if fallback.structure || fallback.attributes {
        change(&|attributes| attributes.retain(|one| one.attribute_type != STRUCTURE));
    }
    if fallback.attributes {
        change(&|attributes| {
            attributes.retain(|one| {
                !matches!(one.attribute_type, POSITION | COMPLETENESS)
                    && (one.attribute_type, value(one)) != (RELATION, Some(EQUAL))
            });
        });
        change(&|attributes| attributes.retain(|one| one.attribute_type != TRUNCATION));
        change(&|attributes| {
            replace_use(attributes, |narrow| {
                let found = BROADER.iter().find(|(known, _)| *known == narrow);
                found.map(|(_, broader)| *broader)
            });
        });
        change(&|attributes| {
            replace_use(attributes, |index| {
                OF_WORDS.contains(&index).then_some(USE_ANY)
            });
        });
    }
    queries
}

/// Returns the queries to send if the last query of `queries` is refused: in the first, the server chooses the index
/// for terms that were searched for in any index; in the second, it chooses the index for all terms.
fn without_use(queries: &[RpnQuery], fallback: Fallback) -> Vec<RpnQuery> {
    let Some(last) = queries.last().filter(|_| fallback.attributes) else {
        return Vec::new();
    };
    let is_any = |one: &AttributeElement| {
        one.attribute_type == USE && matches!(value(one), Some(USE_ANY | USE_ANYWHERE))
    };
    let some = changed(last, &|attributes| attributes.retain(|one| !is_any(one)));
    let all = changed(last, &|attributes| {
        attributes.retain(|one| one.attribute_type != USE)
    });
    let mut others = Vec::new();
    for query in [some, all] {
        if !queries.contains(&query) && !others.contains(&query) {
            others.push(query);
        }
    }
    others
}

/// Returns the query with `change` applied to the Bib-1 attributes of each term. Attributes of other attribute sets are
/// not changed.
fn changed(query: &RpnQuery, change: &dyn Fn(&mut Vec<AttributeElement>)) -> RpnQuery {
    let mut next = query.clone();
    let set = next.attribute_set;
    for term in next.rpn.terms_mut() {
        let is_own = |attribute: &AttributeElement| attribute.attribute_set.unwrap_or(set) == BIB_1;
        let all = std::mem::take(&mut term.attributes).into_iter();
        let (mut own, others): (Vec<_>, Vec<_>) = all.partition(is_own);
        change(&mut own);
        own.extend(others);
        term.attributes = own;
    }
    next
}

fn value(attribute: &AttributeElement) -> Option<i64> {
    match attribute.attribute_value {
        AttributeValue::Numeric(value) => Some(value),
        AttributeValue::Complex(_) => None,
    }
}

fn replace_use(attributes: &mut [AttributeElement], other: impl Fn(i64) -> Option<i64>) {
    for attribute in attributes {
        if attribute.attribute_type == USE
            && let Some(value) = value(attribute).and_then(&other)
        {
            attribute.attribute_value = AttributeValue::Numeric(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use z3950_asn1::apdu::DefaultDiagFormat;

    use super::*;

    /// Reports each of `conditions` (0 stands for an empty result), and checks that the ways that follow are as
    /// `expected`.
    fn check(query: &str, fallback: Fallback, conditions: &[i64], expected: &[Option<&str>]) {
        let search = SearchOptions {
            databases: vec!["a".into(), "b".into()],
            element_set: Some("X".into()),
            ..SearchOptions::default()
        };
        let mut records = PagerOptions::default();
        records.present.element_set = Some("X".into());
        let query: RpnQuery = query.parse().expect(query);
        let mut course = Ways::new(Some(&query), search, records, fallback);
        assert_eq!(course.form(), None);
        let found: Vec<Option<String>> = conditions
            .iter()
            .map(|condition| {
                let has_changed = match condition {
                    0 => course.after_nothing(),
                    condition => {
                        let diagnostic = DefaultDiagFormat::bib1(*condition, "");
                        course.after_refusal(&[DiagRec::DefaultFormat(diagnostic)])
                    }
                };
                has_changed.then(|| course.form().unwrap_or_default())
            })
            .collect();
        let expected: Vec<_> = expected
            .iter()
            .map(|form| form.map(str::to_owned))
            .collect();
        assert_eq!(found, expected, "{conditions:?}");
        let search = course.search();
        assert_eq!(search.element_set, course.records().present.element_set);
    }

    #[test]
    fn what_is_allowed_follows_a_refusal() {
        let structure = Fallback {
            structure: true,
            ..Fallback::default()
        };
        let databases = Fallback {
            databases: true,
            ..Fallback::default()
        };
        let query = "@attr 1=1004 @attr 3=1 @attr 4=1 @attr 5=1 tolstoy";
        check(
            query,
            Fallback::default(),
            &[114, 0, 118, 23, 25],
            &[None; 5],
        );
        check(
            query,
            structure,
            &[114, 118, 118],
            &[None, Some("@attr 1=1004 @attr 3=1 @attr 5=1 tolstoy"), None],
        );
        check(
            query,
            databases,
            &[23, 0, 0],
            &[Some("database=a"), Some("database=b"), None],
        );
        check(
            query,
            Fallback::ALL,
            &[118, 119, 120, 114, 114, 25, 0, 114, 114],
            &[
                Some("@attr 1=1004 @attr 3=1 @attr 5=1 tolstoy"),
                Some("@attr 1=1004 @attr 5=1 tolstoy"),
                Some("@attr 1=1004 tolstoy"),
                Some("@attr 1=1003 tolstoy"),
                Some("@attr 1=1016 tolstoy"),
                Some("@attr 1=1016 tolstoy;esn=none"),
                None,
                Some("tolstoy;esn=none"),
                None,
            ],
        );
        // Any refused index is left out, known and unknown indexes alike.
        check(
            "@and @attr 1=9999 a @attr 1=1016 b",
            Fallback::ALL,
            &[114, 114, 114],
            &[Some("@and @attr 1=9999 a b"), Some("@and a b"), None],
        );
        // The relation of a range and the index of a standard number are kept.
        check(
            "@and @attr 1=31 @attr 2=4 1850 @attr 1=7 @attr 2=3 0306406152",
            Fallback::ALL,
            &[0, 0],
            &[
                Some("@and @attr 1=31 @attr 2=4 1850 @attr 1=7 0306406152"),
                None,
            ],
        );
    }

    #[test]
    fn other_syntaxes_are_asked_for() {
        let mut records = PagerOptions::default();
        records.present.record_syntax = Some(XML);
        for (fallback, count) in [(Fallback::default(), 0), (Fallback::ALL, 3)] {
            let search = SearchOptions::default();
            let course = Ways::new(None, search, records.clone(), fallback);
            assert_eq!(course.records().alternatives.len(), count);
        }
    }
}

//! A search: its first records, its count, its facets and the counts of its terms in one round trip.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use z3950_server::asn1::apdu::RpnQuery;
use z3950_server::asn1::bib1::diagnostics::Condition;
use z3950_server::backend::{Found, Hits, Search, SourceReport, TermCount};
use z3950_server::{Diagnostic, diagnostic};

use super::EngineDatabase;
use super::facets::{self, MOST_GROUPS, WantedFacets};
use super::hits::EngineHits;
use super::link::LinkError;
use super::mysql::Rows;
use super::query::{EngineQuery, translate};
use super::statement::{self, RESULTS, Select, Selected, TOTALS, WHOLE_ENGINE, failed_source};

/// The records that come with a search even if it asks for none: most clients read them next.
const FIRST_RECORDS: usize = 10;
/// The most records that come with a search.
const MOST_FIRST_RECORDS: usize = 100;
/// The most facets and terms that are counted with a search: an engine takes 32 selects at once.
const MOST_COUNTED: usize = 30;
/// The selects that are sent together to count records.
const COUNTS_AT_ONCE: usize = 20;
/// The order of a result set that was not sorted.
pub(super) const BY_NUMBER: &str = "ORDER BY id ASC";

/// A new result set, with what is counted along with it.
pub(super) struct CountedSet {
    pub(super) hits: EngineHits,
    pub(super) sources: Vec<SourceReport>,
    /// The groups of each facet.
    groups: Vec<Rows>,
    /// The records of each expression.
    counts: Vec<usize>,
}

impl EngineDatabase {
    pub(super) async fn find(&self, search: Search<'_>) -> Result<Found, Diagnostic> {
        let of_set = |name: &[u8]| {
            let unknown = || diagnostic(Condition::RESULT_SET_DOES_NOT_EXIST, name);
            let hits = (search.result_set)(name).ok_or_else(unknown)?;
            let known = self.own(&hits).map(|known| known.query.to_string());
            known.ok_or_else(unknown)
        };
        let EngineQuery { text, terms } = translate(&self.layout, search.query, &of_set)?;
        let rows = search.first_records;
        let rows = rows.clamp(FIRST_RECORDS, MOST_FIRST_RECORDS);
        let facets = WantedFacets::new(&self.layout, search.facets, MOST_COUNTED);
        let groups = facets.orders(&self.layout);
        let is_counted = search.term_counts && search.term_counts_asked;
        let terms = terms.into_iter().take(MOST_COUNTED - groups.len());
        let terms = terms.filter(|_| is_counted);
        let (operands, texts): (Vec<_>, Vec<_>) = terms.unzip();
        let made = self.counted_set(text, BY_NUMBER, rows, &groups, &texts);
        let made = made.await?;
        let mut found = Found::from(Hits::new(made.hits));
        found.sources = made.sources;
        let counted = operands.into_iter().zip(made.counts);
        found.term_counts = counted
            .map(|(operand, records)| TermCount { operand, records })
            .collect();
        found.facets = facets.read(&made.groups);
        Ok(found)
    }

    /// The set of an expression in an order, in one round trip: the nodes get all selects together.
    ///
    /// # Errors
    /// What the engine refuses, or why it does not answer.
    pub(super) async fn set(
        &self,
        query: String,
        order: &str,
        rows: usize,
    ) -> Result<CountedSet, Diagnostic> {
        self.counted_set(query, order, rows, &[], &[]).await
    }

    /// The same with the groups of facets, each by its grouping and order, and the number of records that other expressions find.
    ///
    /// # Errors
    /// What the engine refuses, or why it does not answer.
    async fn counted_set(
        &self,
        query: String,
        order: &str,
        rows: usize,
        groups: &[String],
        counted: &[String],
    ) -> Result<CountedSet, Diagnostic> {
        let select = |columns, order, rows| {
            let (query, every) = (&query, self.every());
            Select {
                columns,
                query,
                order,
                rows,
                ..every
            }
            .text()
        };
        let mut first = select("id, record", order, rows);
        first.extend(TOTALS);
        let mut statements = vec![first];
        let of_groups = groups.iter();
        statements.extend(of_groups.map(|order| select(facets::COLUMNS, order, MOST_GROUPS)));
        statements.extend(counted.iter().map(|query| self.counting_select(query)));
        let results = self.replicas.ask(&statements.join(&b"; "[..])).await;
        let read = results.and_then(|results| {
            let mut results = results.into_iter();
            let selected = Selected::read(results.by_ref().take(RESULTS).collect())?;
            let groups: Vec<Rows> = results.by_ref().take(groups.len()).collect();
            let counts = statement::totals(&results.collect::<Vec<_>>())?;
            Ok((selected, groups, counts))
        });
        let (selected, groups, counts) = read.map_err(|error| self.failure(&error))?;
        let sources = self.sources(&selected)?;
        let found = (selected.count, sources.is_empty());
        let first = statement::records(selected.rows);
        let first = first.map_err(|error| self.failure(&error))?;
        let hits = EngineHits::new(self.mark(), query, order, found, first);
        Ok(CountedSet {
            hits,
            sources,
            groups,
            counts,
        })
    }

    /// What a new set is recognized by.
    fn mark(&self) -> (Arc<()>, u64) {
        let number = self.sets.fetch_add(1, Ordering::Relaxed);
        (Arc::clone(&self.origin), number)
    }

    /// The list, if it is of this database.
    pub(super) fn own<'h>(&self, hits: &'h Hits) -> Option<&'h EngineHits> {
        let known: &EngineHits = hits.downcast()?;
        Arc::ptr_eq(&known.origin, &self.origin).then_some(known)
    }

    /// Rows and totals of an expression.
    ///
    /// # Errors
    /// What the engine refuses, or why it does not answer.
    pub(super) async fn select(
        &self,
        columns: &str,
        query: &str,
        order: &str,
        skip: usize,
        rows: usize,
    ) -> Result<Selected, Diagnostic> {
        self.carry_out(Select {
            columns,
            query,
            order,
            skip,
            rows,
            ..self.every()
        })
        .await
    }

    /// The statement of a search for its first records.
    pub(super) fn first_select(
        &self,
        query: &RpnQuery,
        records: usize,
    ) -> Result<Vec<u8>, Diagnostic> {
        let none = |name: &[u8]| Err(diagnostic(Condition::RESULT_SET_DOES_NOT_EXIST, name));
        let EngineQuery { text, .. } = translate(&self.layout, query, &none)?;
        let select = Select {
            columns: "id, record",
            query: &text,
            rows: records,
            ..self.every()
        };
        Ok(select.text())
    }

    /// A select of the database, without an expression.
    pub(super) fn every(&self) -> Select<'_> {
        Select {
            index: &self.index,
            columns: "id",
            query: "",
            filter: "",
            order: BY_NUMBER,
            skip: 0,
            rows: 1,
            // The engine ends earlier, with what it has.
            milliseconds: self.options.answer_time.as_millis() * 3 / 4,
        }
    }

    /// Rows and totals of a select.
    ///
    /// # Errors
    /// What the engine refuses, or why it does not answer.
    pub(super) async fn carry_out(&self, select: Select<'_>) -> Result<Selected, Diagnostic> {
        let mut statements = select.text();
        statements.extend(TOTALS);
        let results = self.replicas.ask(&statements).await;
        let selected = results.and_then(Selected::read);
        selected.map_err(|error| self.failure(&error))
    }

    /// The statement that counts the records of an expression.
    fn counting_select(&self, query: &str) -> Vec<u8> {
        let mut statement = Select {
            query,
            ..self.every()
        }
        .text();
        statement.extend(TOTALS);
        statement
    }

    /// The number of records that each expression finds, and the engine's words about it.
    ///
    /// # Errors
    /// What the engine refuses, or why it does not answer.
    pub(super) async fn counts(&self, queries: &[String]) -> Result<Vec<Selected>, Diagnostic> {
        let mut counts = Vec::with_capacity(queries.len());
        for some in queries.chunks(COUNTS_AT_ONCE) {
            let statements = some.iter().map(|query| self.counting_select(query));
            let statements = statements.collect::<Vec<_>>().join(&b"; "[..]);
            let results = self.replicas.ask(&statements).await;
            let found = results.and_then(Selected::read_each);
            counts.extend(found.map_err(|error| self.failure(&error))?);
        }
        Ok(counts)
    }

    /// What each source found: nothing to say if all nodes answered.
    ///
    /// # Errors
    /// 109 with the engine's words, if a node is missing and that is not allowed.
    pub(super) fn sources(&self, selected: &Selected) -> Result<Vec<SourceReport>, Diagnostic> {
        let nodes = &self.options.nodes;
        let failed = selected.warnings.iter();
        let failed: Vec<_> = failed.map(|words| failed_source(words, nodes)).collect();
        self.health.answered(&failed);
        if failed.is_empty() {
            return Ok(failed);
        }
        if self.options.strict {
            let each = failed.iter().filter_map(|source| {
                let words = source.failure.as_ref()?.addinfo.to_string_lossy();
                Some(format!("{}: {words}", source.name))
            });
            let words = each.collect::<Vec<_>>().join("; ");
            return Err(diagnostic(Condition::DATABASE_UNAVAILABLE, words));
        }
        let own = SourceReport::new(&self.options.name, Ok(selected.count));
        Ok([own].into_iter().chain(failed).collect())
    }

    /// What the engine's failure means to a client.
    pub(super) fn failure(&self, error: &LinkError) -> Diagnostic {
        let failed = statement::failed_nodes(error, &self.options.nodes);
        if failed.iter().any(|source| source.name != WHOLE_ENGINE) {
            self.health.answered(&failed);
        } else if statement::is_unexpected(error) {
            let database = &*self.options.name;
            tracing::warn!(database, why = %error, "the engine did not carry out a statement");
        }
        statement::failure(error)
    }
}

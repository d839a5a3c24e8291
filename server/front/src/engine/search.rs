//! Describes the differences between databases in engines, and carries out a search in any of them. One request returns the
//! first records, the count, the facets and the counts of the terms.

use std::sync::Arc;
use std::time::Duration;

use z3950_asn1::apdu::{AttributeList, RpnQuery, SortKey, Term};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_server::backend::{Facet, FacetRequest, Found, Hits, Search, SourceReport, TermCount};
use z3950_server::{Diagnostic, diagnostic};

use super::answer::{AskError, EngineAnswer, FacetCounts, Hit};
use super::clause::{Clause, Leaf, TermReader, translate};
use super::health::DatabaseHealth;
use super::hits::{EngineHits, ResultSets};
use super::options::EngineOptions;
use super::pages::Pages;
use super::plan::{FacetOf, Page, Plan};

/// The number of records that are fetched with a search even if it requests none, because most clients read them
/// next.
pub(super) const FIRST_RECORDS: usize = 10;
/// The maximum number of records that are fetched with a search.
const MOST_FIRST_RECORDS: usize = 100;
/// The maximum number of terms in a facet.
const MOST_FACET_TERMS: usize = 1_000;
/// The maximum number of terms in a facet, including skipped terms.
const MOST_COUNTED: usize = 10_000;
/// The remark for the user if counts may be too low.
const ESTIMATE: &str = "the counts of facets are estimates";

/// The features of an index other than terms.
pub(super) trait IndexReader: TermReader + Send + Sync {
    /// Returns the field that a facet counts; `None` if the index does not have this facet.
    fn counted(&self, attributes: &AttributeList) -> Option<<Self::Leaf as Leaf>::Counted>;

    /// Returns the sort key of an index, and the condition that a record has a value for it.
    ///
    /// # Errors
    /// Fails with condition 207 if records cannot be sorted by the index, or with 114 or another condition for an
    /// unsupported attribute.
    fn sort_key(
        &self,
        key: &SortKey,
        with_case: bool,
    ) -> Result<(<Self::Leaf as Leaf>::SortKey, Self::Leaf), Diagnostic>;

    /// Converts text to the form in which a sort key's values are stored.
    fn sort_value(&self, key: &<Self::Leaf as Leaf>::SortKey, text: &str) -> String;
}

/// A database in an engine. The methods of this trait cover the differences between engines.
pub(super) trait EngineDatabase: Sync + Sized {
    /// The type of the conditions that the engine supports.
    type Leaf: Leaf;
    /// The type that describes the index.
    type Reader: IndexReader<Leaf = Self::Leaf>;

    /// The number of records that are fetched at once; it is so low that even the longest records fit in an answer.
    const AT_ONCE: usize;

    fn options(&self) -> &EngineOptions;

    fn sets(&self) -> &ResultSets;

    fn health(&self) -> &DatabaseHealth;

    /// Returns the maximum position of a record that a page can contain.
    fn window(&self) -> usize;

    /// Returns the description of the index.
    ///
    /// # Errors
    /// Fails with condition 109 if the index cannot be used.
    fn reader(&self) -> impl Future<Output = Result<Arc<Self::Reader>, Diagnostic>> + Send;

    /// Carries out a plan. If `index` names the index that an earlier answer came from, the plan is carried out in that index.
    ///
    /// # Errors
    /// See [`AskError`].
    fn ask(
        &self,
        plan: &Plan<'_, Self::Leaf>,
        index: Option<&str>,
    ) -> impl Future<Output = Result<AnswerOf<Self>, AskError>> + Send;

    /// Returns the clause for the records with these identifiers.
    fn identified(&self, ids: Arc<[<Self::Leaf as Leaf>::Id]>) -> Clause<Self::Leaf>;

    /// Returns the highest number in a set that is ordered by numbers; `None` for any other set.
    ///
    /// # Errors
    /// Fails like a request for any other page of the set.
    fn last_number(
        pages: &Pages<'_, Self>,
    ) -> impl Future<Output = Result<Option<u64>, Diagnostic>> + Send;

    /// Returns whether the index has changed. `index` is the index of the records in an answer, if there are any.
    ///
    /// # Errors
    /// Fails with condition 109 if the index can no longer be used.
    fn has_changed(
        &self,
        reader: &Self::Reader,
        index: Option<&str>,
    ) -> impl Future<Output = Result<bool, Diagnostic>> + Send;

    /// Returns the time limit for the engine, after which it answers with what it has found. The limit is shorter than the
    /// answer time, so that there is time to receive the answer.
    fn deadline(&self) -> Duration {
        self.options().answer_time * 3 / 4
    }

    /// Returns the clause that represents a result set in a query. If the records of the set are known, the clause finds
    /// exactly these. Returns `None` if the set does not belong to this database.
    fn operand(&self, hits: &Hits) -> Option<Clause<Self::Leaf>> {
        let hits: &EngineHits<Self::Leaf> = self.sets().own(hits)?;
        Some(match hits.known_ids() {
            Some(ids) => self.identified(Arc::clone(ids)),
            None => hits.clause.clone(),
        })
    }

    /// Returns a report on the source whose records are missing, if any are missing.
    ///
    /// # Errors
    /// Fails with condition 109 if missing records are not allowed.
    fn failed_source(&self, missing: Option<&str>) -> Result<Option<SourceReport>, Diagnostic> {
        self.health().answered(&self.options().name, missing);
        let Some(words) = missing else {
            return Ok(None);
        };
        let failure = diagnostic(Condition::DATABASE_UNAVAILABLE, words);
        if self.options().strict {
            Err(failure)
        } else {
            let name = format!("part of {}", self.options().name);
            Ok(Some(SourceReport::new(name, Err(failure))))
        }
    }

    /// Logs the reason why the engine did not answer, and returns the diagnostic for the client.
    fn failure(&self, error: &AskError) -> Diagnostic {
        if !matches!(error, AskError::Refused(_)) {
            self.health().failed(&self.options().name, error);
        }
        error.diagnostic()
    }
}

/// A record in a database's answer.
pub(super) type HitOf<D> = Hit<<<D as EngineDatabase>::Leaf as Leaf>::Id>;
/// A database's answer.
pub(super) type AnswerOf<D> = EngineAnswer<<<D as EngineDatabase>::Leaf as Leaf>::Id>;

/// Returns the clause for a query that must not refer to earlier result sets.
///
/// # Errors
/// The diagnostic for the first unsupported part of the query.
pub(super) fn clause_of<R: TermReader>(
    reader: &R,
    query: &RpnQuery,
) -> Result<Clause<R::Leaf>, Diagnostic> {
    let none = |name: &[u8]| Err(diagnostic(Condition::RESULT_SET_DOES_NOT_EXIST, name));
    Ok(translate(reader, query, &none, false)?.clause)
}

/// Carries out a search.
///
/// # Errors
/// The diagnostic for the first unsupported part of the query, or condition 109 if the engine does not answer.
pub(super) async fn find<D: EngineDatabase>(
    database: &D,
    search: Search<'_>,
) -> Result<Found, Diagnostic> {
    let reader = database.reader().await?;
    if let Some(found) = find_by(database, &reader, &search).await? {
        return Ok(found);
    }
    let reader = database.reader().await?;
    let found = find_by(database, &reader, &search).await?;
    found.ok_or_else(changing)
}

/// Returns the result of a search; `None` if the index has changed.
async fn find_by<D: EngineDatabase>(
    database: &D,
    reader: &D::Reader,
    search: &Search<'_>,
) -> Result<Option<Found>, Diagnostic> {
    let of_set = |name: &[u8]| {
        let hits = (search.result_set)(name);
        let known = hits.and_then(|hits| database.operand(&hits));
        known.ok_or_else(|| diagnostic(Condition::RESULT_SET_DOES_NOT_EXIST, name))
    };
    let with_terms = search.term_counts && search.term_counts_asked;
    let translated = translate(reader, search.query, &of_set, with_terms)?;
    let (operands, counts): (Vec<_>, Vec<_>) = translated.terms.into_iter().unzip();
    let facets = search.facets.iter().filter_map(|request| {
        let most = request.skip.saturating_add(wanted_terms(request));
        let facet = FacetOf {
            terms: reader.counted(&request.attributes)?,
            most: most.min(MOST_COUNTED),
            alphabetical: request.alphabetical,
        };
        Some((request, facet))
    });
    let (requests, facets): (Vec<_>, Vec<_>) = facets.unzip();
    let rows = search.first_records;
    let plan = Plan {
        page: Page::first(rows.clamp(FIRST_RECORDS, MOST_FIRST_RECORDS)),
        facets: &facets,
        counts: &counts,
        ..Plan::count(&translated.clause, database.deadline())
    };
    let answer = database
        .ask(&plan, None)
        .await
        .map_err(|error| database.failure(&error))?;
    // If a shard is missing, that is reported without checking the fields of the index, because this check could take long.
    let index = answer.index.as_deref();
    if answer.missing.is_none() && database.has_changed(reader, index).await? {
        return Ok(None);
    }
    let failed = database.failed_source(answer.missing.as_deref())?;
    let counted = operands.into_iter().zip(&answer.counts);
    let term_counts = counted.map(|(operand, records)| TermCount {
        operand,
        records: *records,
    });
    let term_counts = term_counts.collect();
    let is_estimate = answer.facets.iter().any(|facet| facet.is_estimate);
    let facets = requests
        .into_iter()
        .zip(&answer.facets)
        .map(|(request, counts)| counted_facet(request, counts))
        .collect();
    let (total, is_exact) = (answer.total, answer.is_exact);
    let hits = { database.sets() }.add(translated.clause, Vec::new(), answer);
    let mut found = Found::from(hits);
    found.estimate = !is_exact;
    if let Some(failed) = failed {
        let own = SourceReport::new(&*database.options().name, Ok(total));
        found.sources = vec![own, failed];
    }
    found.term_counts = term_counts;
    found.facets = facets;
    found
        .remarks
        .extend(is_estimate.then(|| ESTIMATE.to_owned()));
    Ok(Some(found))
}

/// Returns the diagnostic for an index whose fields differ each time they are read.
pub(super) fn changing() -> Diagnostic {
    let words = "the index is changing: search again";
    diagnostic(Condition::DATABASE_UNAVAILABLE, words)
}

/// Counts all records, but at most once a minute.
pub(super) async fn count_records<D: EngineDatabase>(database: &D) {
    if !database.health().begins_count() {
        return;
    }
    let everything = Clause::Everything;
    let plan = Plan::count(&everything, database.deadline());
    let answer = match database.reader().await {
        Ok(_) => database.ask(&plan, None).await.ok(),
        Err(_) => None,
    };
    let whole = answer.filter(|answer| answer.missing.is_none());
    let records = whole.and_then(|answer| u64::try_from(answer.total).ok());
    database.health().set_records(records);
}

fn counted_facet(request: &FacetRequest, counts: &FacetCounts) -> Facet {
    let wanted = counts
        .terms
        .iter()
        .skip(request.skip)
        .take(wanted_terms(request));
    let terms = wanted.map(|(term, records)| {
        let octets = term.clone().into_bytes();
        (Term::General(octets.into()), *records)
    });
    Facet {
        attributes: request.attributes.clone(),
        terms: terms.collect(),
    }
}

fn wanted_terms(request: &FacetRequest) -> usize {
    request.terms.min(MOST_FACET_TERMS)
}

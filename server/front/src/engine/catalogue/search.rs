//! A search: its first records, its count, its facets and the counts of its terms in one request.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use z3950_server::asn1::apdu::Term;
use z3950_server::asn1::bib1::diagnostics::Condition;
use z3950_server::backend::{Facet, FacetRequest, Found, Hits, Search, SourceReport, TermCount};
use z3950_server::memory::index_map::IndexId;
use z3950_server::{Diagnostic, diagnostic};

use super::database::CatalogueDatabase;
use super::hits::{CatalogueHits, SetMark};
use super::map::Role;
use super::offer::{Offer, Point};
use super::plan::{Answer, AskError, CatalogueHit, Clause, FacetOf, OrderBy, Plan};
use crate::engine::answer::FacetCounts;
use crate::engine::clause::translate;
use crate::engine::plan::Page;

/// The records that come with a search even if it asks for none: most clients read them next.
pub(super) const FIRST_RECORDS: usize = 10;
/// The most records that come with a search.
const MOST_FIRST_RECORDS: usize = 100;
/// The most terms of a facet.
const MOST_FACET_TERMS: usize = 1_000;
/// The most terms of a facet, with those that are skipped.
const MOST_COUNTED: usize = 10_000;
/// The name of the engine among the sources of an answer.
pub(super) const ENGINE: &str = "engine";
/// What people are told if counts may be too small.
const ESTIMATE: &str = "the counts of facets are estimates";

impl CatalogueDatabase {
    pub(super) async fn find(&self, search: Search<'_>) -> Result<Found, Diagnostic> {
        let offer = self.offer().await?;
        if let Some(found) = self.find_by(&offer, &search).await? {
            return Ok(found);
        }
        let found = self.find_by(&self.current(), &search).await?;
        found.ok_or_else(changing)
    }

    /// Returns what a search finds; nothing if the index has other fields than those of the offer.
    async fn find_by(
        &self,
        offer: &Offer,
        search: &Search<'_>,
    ) -> Result<Option<Found>, Diagnostic> {
        let of_set = |name: &[u8]| {
            let unknown = || diagnostic(Condition::RESULT_SET_DOES_NOT_EXIST, name);
            let hits = (search.result_set)(name).ok_or_else(unknown)?;
            let known = self.own(&hits).map(CatalogueHits::operand);
            known.ok_or_else(unknown)
        };
        let with_terms = search.term_counts && search.term_counts_asked;
        let translated = translate(offer, search.query, &of_set, with_terms)?;
        let (operands, counts): (Vec<_>, Vec<_>) = translated.terms.into_iter().unzip();
        let facets = search.facets.iter();
        let facets = facets.filter_map(|request| facet_of(offer, request));
        let (requests, facets): (Vec<_>, Vec<_>) = facets.unzip();
        let rows = search.first_records;
        let plan = Plan {
            page: Page {
                rows: rows.clamp(FIRST_RECORDS, MOST_FIRST_RECORDS),
                with_records: true,
                ..Page::default()
            },
            facets: &facets,
            counts: &counts,
            ..Plan::count(&translated.clause, self.deadline())
        };
        let answer = self.ask(offer, &plan).await?;
        if self.has_changed(offer, answer.index.as_deref()).await? {
            return Ok(None);
        }
        let sources = self.sources(&answer)?;
        let counted = operands.into_iter().zip(&answer.counts);
        let term_counts = counted.map(|(operand, records)| TermCount {
            operand,
            records: *records,
        });
        let term_counts = term_counts.collect();
        let is_estimate = answer.facets.iter().any(|facet| facet.is_estimate);
        let facets = requests.into_iter().zip(&answer.facets);
        let facets = facets.map(|(request, counts)| counted_facet(request, counts));
        let facets = facets.collect();
        let estimate = !answer.is_exact;
        let known = (answer.total, sources.is_empty());
        let hits = self.hits(offer, translated.clause, Vec::new(), known, answer.hits)?;
        let mut found = Found::from(hits);
        found.estimate = estimate;
        found.sources = sources;
        found.term_counts = term_counts;
        found.facets = facets;
        found.remarks = is_estimate
            .then(|| ESTIMATE.to_owned())
            .into_iter()
            .collect();
        Ok(Some(found))
    }

    /// Creates a result set.
    pub(super) fn hits(
        &self,
        offer: &Offer,
        clause: Clause,
        order: Vec<OrderBy>,
        known: (usize, bool),
        first: Vec<CatalogueHit>,
    ) -> Result<Hits, Diagnostic> {
        let identifiers = point(offer, IndexId::DOCID)?;
        let identifiers = Arc::clone(identifiers);
        let hits = CatalogueHits::new(self.mark(), clause, order, known, identifiers, first);
        Ok(Hits::new(hits))
    }

    /// Carries out a plan.
    ///
    /// # Errors
    /// What the engine cannot be asked for, or what its failure means.
    pub(super) async fn ask(&self, offer: &Offer, plan: &Plan<'_>) -> Result<Answer, Diagnostic> {
        let answer = self.dialect.search(offer, plan).await;
        answer.map_err(|error| self.failure(&error))
    }

    /// What a new set is recognized by.
    fn mark(&self) -> SetMark {
        let number = self.sets.fetch_add(1, Ordering::Relaxed);
        (Arc::clone(&self.origin), number)
    }

    /// Returns the list, if it is of this database.
    pub(super) fn own<'h>(&self, hits: &'h Hits) -> Option<&'h CatalogueHits> {
        let known: &CatalogueHits = hits.downcast()?;
        Arc::ptr_eq(&known.origin, &self.origin).then_some(known)
    }

    /// Returns what each source found: nothing, if all parts of the index were searched.
    ///
    /// # Errors
    /// 109 if a part is missing and that is not allowed.
    fn sources(&self, answer: &Answer) -> Result<Vec<SourceReport>, Diagnostic> {
        match self.failed_source(answer.missing.as_deref())? {
            None => Ok(Vec::new()),
            Some(failed) => {
                let own = SourceReport::new(&self.options.name, Ok(answer.total));
                Ok(vec![own, failed])
            }
        }
    }

    /// Returns the source that lacks records, if any are missing.
    ///
    /// # Errors
    /// 109 if that is not allowed.
    pub(super) fn failed_source(
        &self,
        missing: Option<&str>,
    ) -> Result<Option<SourceReport>, Diagnostic> {
        let Some(words) = missing else {
            return Ok(None);
        };
        let failure = diagnostic(Condition::DATABASE_UNAVAILABLE, words);
        let database = &*self.options.name;
        tracing::warn!(database, why = words, "records are missing from an answer");
        if self.options.strict {
            Err(failure)
        } else {
            Ok(Some(SourceReport::new(ENGINE, Err(failure))))
        }
    }

    /// Logs why the engine has no answer, and returns what that means to a client.
    pub(super) fn failure(&self, error: &AskError) -> Diagnostic {
        let database = &*self.options.name;
        if !matches!(error, AskError::Refused(_)) {
            tracing::warn!(database, why = %error, "the search engine did not answer a request");
        }
        error.diagnostic()
    }
}

/// The diagnostic for an index that has other fields each time it is looked at.
pub(super) fn changing() -> Diagnostic {
    let words = "the index is changing: search again";
    diagnostic(Condition::DATABASE_UNAVAILABLE, words)
}

/// Returns the point of an index.
///
/// # Errors
/// 114 if it is not offered.
pub(super) fn point(offer: &Offer, index: IndexId) -> Result<&Arc<Point>, Diagnostic> {
    let unknown = || diagnostic(Condition::USE, "");
    offer.point(index).ok_or_else(unknown)
}

/// Returns a facet of an index that has a field for it.
fn facet_of<'r>(offer: &Offer, request: &'r FacetRequest) -> Option<(&'r FacetRequest, FacetOf)> {
    let index = offer.indexes.facet_index(&request.attributes)?;
    let field = offer.point(index)?.field(Role::Facet)?;
    let most = request.skip.saturating_add(wanted_terms(request));
    let facet = FacetOf {
        terms: field.to_owned(),
        most: most.min(MOST_COUNTED),
        alphabetical: request.alphabetical,
    };
    Some((request, facet))
}

fn counted_facet(request: &FacetRequest, counts: &FacetCounts) -> Facet {
    let wanted = counts.terms.iter().skip(request.skip);
    let wanted = wanted.take(wanted_terms(request));
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

//! A search: its first records, its count, its facets and the counts of its terms in one request.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use form_urlencoded::byte_serialize;
use z3950_server::asn1::bib1::diagnostics::Condition;
use z3950_server::backend::{Found, Hits, Search, SourceReport, TermCount};
use z3950_server::{Diagnostic, diagnostic};

use super::database::ClusterDatabase;
use super::document::id_of;
use super::facets::{self, WantedFacets};
use super::hits::{ClusterHits, SetMark};
use super::leaf::{Answer, Clause, IndexLeaf, Plan};
use super::request;
use super::response::{self, AnswerError, diagnostic_of};
use crate::engine::clause::translate;
use crate::engine::plan::Page;

/// The records that come with a search even if it asks for none: most clients read them next.
pub(super) const FIRST_RECORDS: usize = 10;
/// The most records that come with a search.
const MOST_FIRST_RECORDS: usize = 100;
/// The most octets of a record in an answer: base64 of the longest ISO 2709, and what is around it.
pub(super) const RECORD_OCTETS: usize = 140 * 1024;
/// The most octets of a record's place, and of a term in a facet or scan, each a text of at most 8,000 octets in JSON.
pub(super) const TERM_OCTETS: usize = 50_000;
/// The most octets of an answer without records and terms.
pub(super) const ANSWER_OCTETS: usize = 64 * 1024;
/// The most octets of any answer.
pub(super) const MOST_ANSWER_OCTETS: usize = 64 << 20;
/// The name of the engine among the sources of an answer.
pub(super) const ENGINE: &str = "engine";

impl ClusterDatabase {
    pub(super) async fn find(&self, search: Search<'_>) -> Result<Found, Diagnostic> {
        let of_set = |name: &[u8]| {
            let unknown = || diagnostic(Condition::RESULT_SET_DOES_NOT_EXIST, name);
            let hits = (search.result_set)(name).ok_or_else(unknown)?;
            let known = self.own(&hits).map(ClusterHits::operand);
            known.ok_or_else(unknown)
        };
        let with_terms = search.term_counts && search.term_counts_asked;
        let translated = translate(self.layout.map(), search.query, &of_set, with_terms)?;
        let (operands, counts): (Vec<_>, Vec<_>) = translated.terms.into_iter().unzip();
        let facets = WantedFacets::new(&self.layout, search.facets);
        let rows = search.first_records;
        let plan = Plan {
            page: Page {
                rows: rows.clamp(FIRST_RECORDS, MOST_FIRST_RECORDS),
                with_records: true,
                ..Page::default()
            },
            facets: facets.plans(),
            counts: &counts,
            ..Plan::count(&translated.clause, self.deadline())
        };
        let answer = self.ask(&plan).await?;
        let sources = self.sources(&answer)?;
        let mut remarks = Vec::new();
        if answer.facets.iter().any(|facet| facet.is_estimate) {
            remarks.push(facets::ESTIMATE.to_owned());
        }
        let counted = operands.into_iter().zip(&answer.counts);
        let term_counts = counted.map(|(operand, records)| TermCount {
            operand,
            records: *records,
        });
        let (term_counts, facets) = (term_counts.collect(), facets.read(&answer.facets));
        let estimate = !answer.is_exact;
        let hits = ClusterHits::new(self.mark(), translated.clause, &[], answer);
        let mut found = Found::from(Hits::new(hits));
        found.estimate = estimate;
        found.sources = sources;
        found.term_counts = term_counts;
        found.facets = facets;
        found.remarks = remarks;
        Ok(found)
    }

    /// Carries out a plan.
    ///
    /// # Errors
    /// A pattern that the engine cannot be asked for, or what its failure means.
    pub(super) async fn ask(&self, plan: &Plan<'_>) -> Result<Answer, Diagnostic> {
        let answered = self.ask_index(&self.index, plan).await?;
        answered.map_err(|error| self.failure(&error))
    }

    /// Carries out a plan in an index.
    ///
    /// # Errors
    /// A pattern that the engine cannot be asked for.
    pub(super) async fn ask_index(
        &self,
        index: &str,
        plan: &Plan<'_>,
    ) -> Result<Result<Answer, AnswerError>, Diagnostic> {
        let body = request::search(&self.layout, plan)?;
        let mut options = self.search_options();
        // The identifier decides which part of the index has the record.
        if let Clause::Leaf(IndexLeaf::Identifier(id)) = plan.clause
            && plan.counts.is_empty()
        {
            options.push_str("&routing=");
            options.extend(byte_serialize(id_of(id).as_bytes()));
        }
        let rows = plan.page.rows;
        let of_row = if plan.page.with_records {
            RECORD_OCTETS
        } else {
            ANSWER_OCTETS / 64
        };
        let keys = plan.order.len() * TERM_OCTETS;
        let terms: usize = plan.facets.iter().map(|facet| facet.most).sum();
        let limit = ANSWER_OCTETS
            + rows.saturating_mul(of_row + keys)
            + terms.saturating_mul(TERM_OCTETS)
            + plan.counts.len() * 64;
        let limit = limit.min(MOST_ANSWER_OCTETS);
        let answer = self.link.search(index, &options, &body, limit).await;
        let read = answer.map_err(AnswerError::from);
        Ok(read.and_then(|answer| response::read(plan, &answer)))
    }

    /// The options of every search.
    fn search_options(&self) -> String {
        format!("allow_partial_search_results={}", !self.options.strict)
    }

    /// What a new set is recognized by.
    pub(super) fn mark(&self) -> SetMark {
        let number = self.sets.fetch_add(1, Ordering::Relaxed);
        (Arc::clone(&self.origin), number)
    }

    /// Returns the list, if it is of this database.
    pub(super) fn own<'h>(&self, hits: &'h Hits) -> Option<&'h ClusterHits> {
        let known: &ClusterHits = hits.downcast()?;
        Arc::ptr_eq(&known.origin, &self.origin).then_some(known)
    }

    /// Returns what each source found: nothing, if all parts of the index were searched.
    ///
    /// # Errors
    /// 109 if a part is missing and that is not allowed.
    pub(super) fn sources(&self, answer: &Answer) -> Result<Vec<SourceReport>, Diagnostic> {
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
    pub(super) fn failure(&self, error: &AnswerError) -> Diagnostic {
        let database = &*self.options.name;
        tracing::warn!(database, why = %error, "the search engine did not answer a request");
        diagnostic_of(error)
    }
}

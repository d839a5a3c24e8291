//! The index that VuFind, Blacklight or another program keeps in Solr. A client's text is either passed as the value of one of our own
//! parameters, which no Solr parser reads, or escaped character by character. Solr folds this text in the same way as the records.
//!
//! The program that filled the index decided what a value in the index is; Solr cannot distinguish fields from subfields.

mod analysis;
mod fields;
mod leaf;
mod request;
mod response;
mod scan;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::try_join_all;
use serde_json::{Map, Value};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_server::{Diagnostic, diagnostic};

use self::analysis::{Analysis, Needs};
use self::request::Request;
use super::map::CatalogueMap;
use super::offer::{FieldsFound, Offer};
use super::plan::{Answer, AskError, Plan, TermsAnswer, TermsPlan};
use super::term::Skills;
use crate::engine::link::Failure;
use crate::engine::link::reading::{ReadLink, Reading};

/// The maximum position of a record that a page can contain. Each shard sends the order of all records before the
/// page.
pub(super) const WINDOW: usize = 50_000;
/// The maximum number of octets in a record in an answer.
const RECORD_OCTETS: usize = 4 << 20;
/// The maximum number of octets in a term in an answer. Lucene's limit is 32,766 octets, each of which may be written as six octets.
const TERM_OCTETS: usize = 200_000;
/// The maximum number of octets in an answer without records and terms.
const ANSWER_OCTETS: usize = 64 * 1024;
/// The maximum number of octets in any answer.
const MOST_ANSWER_OCTETS: usize = 64 << 20;
/// The maximum number of requests for separate counts that are sent at once.
const COUNTS_AT_ONCE: usize = 4;
/// Parts of Solr's error messages for a query with too many clauses.
const TOO_COMPLEX: [&str; 2] = ["maxClauseCount", "too many nested clauses"];
/// Parts of Solr's error messages for a mask that is too expensive.
const TOO_OPEN: [&str; 2] = ["input automaton is too large", "Determinizing automaton"];

/// The dialect for a Solr collection or core.
#[derive(Debug)]
pub(super) struct SolrDialect {
    pub(super) link: ReadLink,
    strict: bool,
    /// Whether the index belongs to a cluster; a server without a cluster cannot forward requests to other servers.
    is_cluster: AtomicBool,
}

impl SolrDialect {
    /// The conditions on word positions that Solr supports. The next value of a field begins 100 positions after the last word of
    /// the previous value, if the schema has a gap. Words at an exact distance, and words that end a value, are not supported.
    pub(super) const SKILLS: Skills = Skills {
        farthest: 99,
        gaps: false,
        masked_phrases: true,
        ends: false,
    };

    pub(super) fn new(link: ReadLink, strict: bool) -> Self {
        Self {
            link,
            strict,
            is_cluster: AtomicBool::new(true),
        }
    }

    pub(super) async fn fields(&self, map: &CatalogueMap) -> Result<FieldsFound, Failure> {
        let known = fields::found(&self.link, map).await?;
        self.is_cluster.store(known.is_cluster, Ordering::Relaxed);
        Ok(known.fields)
    }

    pub(super) async fn search(&self, offer: &Offer, plan: &Plan<'_>) -> Result<Answer, AskError> {
        let mut needs = Needs::default();
        needs.add(plan.clause);
        plan.counts.iter().for_each(|clause| needs.add(clause));
        let analysis = analysis::ask(&self.link, needs).await?;
        let request = request::search(offer, &analysis, plan)?;
        let answer = self.select(&request, plan.deadline, limit_of(plan)).await?;
        let mut read = response::read(offer, plan, &answer)?;
        for some in plan.counts.chunks(COUNTS_AT_ONCE) {
            let counted = some.iter().map(|clause| {
                let plan = Plan::count(clause, plan.deadline);
                self.counted(offer, &analysis, plan)
            });
            for (total, missing) in try_join_all(counted).await? {
                read.counts.push(total);
                read.missing = read.missing.or(missing);
            }
        }
        Ok(read)
    }

    /// Returns the number of records that a plan finds, and the reason why some may be missing.
    async fn counted(
        &self,
        offer: &Offer,
        analysis: &Analysis,
        plan: Plan<'_>,
    ) -> Result<(usize, Option<String>), AskError> {
        let request = request::search(offer, analysis, &plan)?;
        let answer = self.select(&request, plan.deadline, ANSWER_OCTETS).await?;
        let read = response::read(offer, &plan, &answer)?;
        Ok((read.total, read.missing))
    }

    pub(super) async fn terms(
        &self,
        offer: &Offer,
        plan: &TermsPlan<'_>,
        deadline: Duration,
    ) -> Result<TermsAnswer, AskError> {
        let mut needs = Needs::default();
        needs.add_text([plan.field], plan.start);
        if let Some(within) = plan.within {
            needs.add(within);
        }
        let analysis = analysis::ask(&self.link, needs).await?;
        scan::terms(self, offer, &analysis, plan, deadline).await
    }

    pub(super) fn statement(&self, offer: &Offer, plan: &Plan<'_>) -> Result<String, Diagnostic> {
        let request = request::search(offer, &Analysis::as_written(), plan)?;
        Ok(request.body().to_string())
    }

    /// Sends a search to Solr, and returns its answer.
    async fn select(
        &self,
        request: &Request,
        deadline: Duration,
        limit: usize,
    ) -> Result<Value, AskError> {
        let options = request.options(deadline, self.strict);
        let (body, limit) = (request.body(), limit.min(MOST_ANSWER_OCTETS));
        let asked = self.link.ask(Reading::SolrSelect, &options, &body, limit);
        asked.await.map_err(failed)
    }
}

/// The strings in a request, each as the value of a parameter. A query names the parameter, so no parser reads the string.
#[derive(Debug, Default)]
struct Texts(Map<String, Value>);

impl Texts {
    /// Adds a string, and returns the name of its parameter.
    fn add(&mut self, text: impl Into<String>) -> String {
        let name = format!("z{}", self.0.len());
        self.0.insert(name.clone(), Value::String(text.into()));
        name
    }
}

/// Returns the error for a failed request, which shows whether the query or the engine caused the failure.
fn failed(failure: Failure) -> AskError {
    let says = |reason: &str, words: &[&str]| words.iter().any(|words| reason.contains(words));
    match failure {
        Failure::Refused { reason, .. } if says(&reason, &TOO_COMPLEX) => {
            AskError::TooComplex(reason)
        }
        Failure::Refused { reason, .. } if says(&reason, &TOO_OPEN) => {
            AskError::Refused(diagnostic(Condition::TRUNCATED_TOO_SHORT, ""))
        }
        other => AskError::Failed(other),
    }
}

/// Returns the maximum number of octets in the answer to a plan.
fn limit_of(plan: &Plan<'_>) -> usize {
    let of_row = if plan.page.with_records {
        RECORD_OCTETS
    } else {
        TERM_OCTETS
    };
    let terms: usize = plan.facets.iter().map(|facet| facet.most).sum();
    let rows = plan.page.rows.saturating_mul(of_row);
    rows.saturating_add(terms.saturating_mul(TERM_OCTETS))
        .saturating_add(ANSWER_OCTETS)
}

#[cfg(test)]
mod tests;

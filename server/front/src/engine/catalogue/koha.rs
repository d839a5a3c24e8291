//! The index that Koha keeps in OpenSearch or Elasticsearch. Words are sent unchanged, and the engine folds them. If a query must
//! be built from single words (for masks, edges and distances), the engine is first asked how it folds them, unless the result is
//! known: all of Koha's analyzers fold ASCII letters and digits in the same way.
//!
//! A value in the index is a subfield, or several subfields joined by Koha; the engine cannot distinguish fields from subfields.

mod analysis;
mod mapping;
mod request;
mod response;
mod scan;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use z3950_server::Diagnostic;
use z3950_server::lock;

use self::analysis::{Analysis, Needs};
use self::mapping::KnownIndex;
use self::request::KohaFields;
use self::scan::KohaList;
use super::offer::{FieldsError, FieldsFound, Offer};
use super::plan::{Answer, AskError, Clause, Plan, TermsAnswer, TermsPlan};
use super::term::Skills;
use crate::engine::elastic;
use crate::engine::elastic::listing::around;
use crate::engine::elastic::request::search;
use crate::engine::link::reading::{ReadLink, Reading};

/// The maximum position of a record that a page can contain (`index.max_result_window`).
pub(super) const WINDOW: usize = 10_000;
/// The maximum number of octets in a mapping.
const MOST_MAPPING: usize = 16 << 20;
/// The maximum number of octets in a record in an answer, unless the complete answer would exceed
/// [`elastic::MOST_ANSWER_OCTETS`]. Koha stores records that are too long for ISO 2709 as MARCXML.
const RECORD_OCTETS: usize = 8 << 20;

/// The dialect for a Koha index.
#[derive(Debug)]
pub(super) struct KohaDialect {
    pub(super) link: ReadLink,
    strict: bool,
    known: Mutex<KnownIndex>,
}

impl KohaDialect {
    /// The conditions on word positions that a Koha index supports. The next value of a field begins 101 positions after the last
    /// word of the previous value.
    pub(super) const SKILLS: Skills = Skills {
        farthest: 100,
        gaps: true,
        masked_phrases: true,
        ends: true,
    };

    pub(super) fn new(link: ReadLink, strict: bool) -> Self {
        Self {
            link,
            strict,
            known: Mutex::default(),
        }
    }

    pub(super) async fn fields(&self) -> Result<FieldsFound, FieldsError> {
        let mapping = self
            .link
            .ask(Reading::Mapping, "", &Value::Null, MOST_MAPPING)
            .await?;
        let (found, known) = mapping::read(&mapping)?;
        *lock(&self.known) = known;
        Ok(found)
    }

    /// Returns whether an answer may come from a different index than the known one. A search in a missing field finds nothing,
    /// so an answer without records does not show which index it comes from.
    pub(super) fn is_in_doubt(&self, index: Option<&str>) -> bool {
        index.is_none_or(|index| *index != lock(&self.known).index)
    }

    pub(super) async fn search(&self, offer: &Offer, plan: &Plan<'_>) -> Result<Answer, AskError> {
        let mut needs = Needs::default();
        needs.add(plan.clause);
        plan.counts.iter().for_each(|clause| needs.add(clause));
        let analysis = &self.analyzed(needs).await?;
        let body = search(&KohaFields { offer, analysis }, plan)?;
        let limit = elastic::limit(plan, RECORD_OCTETS);
        let answer = self.ask(&body, limit).await?;
        response::read(offer, plan, &answer)
    }

    pub(super) async fn terms(
        &self,
        offer: &Offer,
        plan: &TermsPlan<'_>,
        deadline: Duration,
    ) -> Result<TermsAnswer, AskError> {
        let mut needs = Needs::default();
        if !plan.start.is_empty() {
            needs.add_text(plan.field, plan.start);
        }
        if let Some(within) = plan.within {
            needs.add(within);
        }
        let analysis = &self.analyzed(needs).await?;
        let start = analysis.key(plan.field, plan.start);
        let list = KohaList {
            koha: self,
            fields: KohaFields { offer, analysis },
            field: plan.field,
            within: plan.within.unwrap_or(&Clause::Everything),
            deadline,
        };
        around(&list, &start, plan.before, plan.after).await
    }

    pub(super) fn statement(&self, offer: &Offer, plan: &Plan<'_>) -> Result<String, Diagnostic> {
        let analysis = &Analysis::as_written();
        let body = search(&KohaFields { offer, analysis }, plan)?;
        Ok(body.to_string())
    }

    /// Sends a search to the engine, and returns its answer of at most `limit` octets.
    async fn ask(&self, body: &Value, limit: usize) -> Result<Value, AskError> {
        let options = format!("allow_partial_search_results={}", !self.strict);
        let limit = limit.min(elastic::MOST_ANSWER_OCTETS);
        let asked = self.link.ask(Reading::Search, &options, body, limit).await;
        asked.map_err(elastic::failed)
    }

    /// Asks the engine how it folds the words that a query needs.
    async fn analyzed(&self, needs: Needs) -> Result<Analysis, AskError> {
        let folding = Arc::clone(&lock(&self.known).folding);
        analysis::ask(&self.link, needs, &folding).await
    }
}

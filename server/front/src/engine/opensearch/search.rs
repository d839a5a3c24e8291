//! Searches, presents and sorts records in this server's index with the code that all databases in engines share.

use std::sync::Arc;

use form_urlencoded::byte_serialize;
use z3950_asn1::apdu::{AttributeList, SortKey as Element};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_server::memory::Kind;
use z3950_server::memory::index_map::{Terms, each_word};
use z3950_server::{Diagnostic, diagnostic};

use super::database::ClusterDatabase;
use super::document::id_of;
use super::leaf::{Answer, Clause, IndexLeaf, Plan, SortKey};
use super::response::{self, NO_NUMBER};
use crate::engine::EngineOptions;
use crate::engine::answer::AskError;
use crate::engine::elastic;
use crate::engine::elastic::request::search;
use crate::engine::health::DatabaseHealth;
use crate::engine::hits::ResultSets;
use crate::engine::layout::EngineLayout;
use crate::engine::link::Failure;
use crate::engine::pages::Pages;
use crate::engine::search::{EngineDatabase, IndexReader};

/// The maximum number of octets in a record in an answer: the longest ISO 2709 record in base64, with the JSON around
/// it.
pub(super) const RECORD_OCTETS: usize = 140 * 1024;
/// The maximum position of a record that a page can contain (`index.max_result_window`).
pub(super) const MOST_WINDOW: usize = 10_000;

impl EngineDatabase for ClusterDatabase {
    type Leaf = IndexLeaf;
    type Reader = EngineLayout;

    const AT_ONCE: usize = 250;

    fn options(&self) -> &EngineOptions {
        &self.options
    }

    fn sets(&self) -> &ResultSets {
        &self.sets
    }

    fn health(&self) -> &DatabaseHealth {
        &self.health
    }

    fn window(&self) -> usize {
        MOST_WINDOW
    }

    async fn reader(&self) -> Result<Arc<EngineLayout>, Diagnostic> {
        self.usable()?;
        Ok(Arc::clone(&self.layout))
    }

    async fn ask(&self, plan: &Plan<'_>, index: Option<&str>) -> Result<Answer, AskError> {
        let body = search(&*self.layout, plan)?;
        let mut options = format!("allow_partial_search_results={}", !self.options.strict);
        // The identifier decides which shard has the record, so only that shard is asked.
        if let Clause::Leaf(IndexLeaf::Identifier(id)) = plan.clause
            && plan.counts.is_empty()
        {
            options.push_str("&routing=");
            options.extend(byte_serialize(id_of(id).as_bytes()));
        }
        let limit = elastic::limit(plan, RECORD_OCTETS);
        let asked = index.unwrap_or(&self.index);
        let answer = self
            .link
            .search(asked, &options, &body, limit)
            .await
            .map_err(|failure| match failure {
                Failure::Refused { status: 404, .. } if index.is_some() => {
                    let words = "all records were loaded anew since the search: search again";
                    AskError::Refused(diagnostic(Condition::RESULT_SET_DELETED, words))
                }
                other => elastic::failed(other),
            })?;
        response::read(plan, &answer)
    }

    fn identified(&self, ids: Arc<[u64]>) -> Clause {
        Clause::Leaf(IndexLeaf::Numbers(ids))
    }

    /// Returns the highest possible number for a set that is ordered by number; `None` for any other set. Numbers are
    /// hashes, so they are evenly distributed and the position of a number can be estimated.
    async fn last_number(pages: &Pages<'_, Self>) -> Result<Option<u64>, Diagnostic> {
        Ok(pages.hits.order.is_empty().then_some(NO_NUMBER))
    }

    async fn has_changed(&self, _: &EngineLayout, _: Option<&str>) -> Result<bool, Diagnostic> {
        Ok(false)
    }
}

impl IndexReader for EngineLayout {
    fn counted(&self, attributes: &AttributeList) -> Option<Terms> {
        let terms = self.map().facet_terms(attributes)?;
        let (Terms::Words(index) | Terms::Keys(index)) = terms;
        self.is_counted(index).then_some(terms)
    }

    fn sort_key(&self, key: &Element, with_case: bool) -> Result<(SortKey, IndexLeaf), Diagnostic> {
        let index = self.map().sort_index(key)?;
        if !self.is_sorted(index) {
            return Err(diagnostic(Condition::SORT_SEQUENCE, self.name(index)));
        }
        let with_case = with_case && self.map().kind(index) == Kind::Text;
        Ok((SortKey { index, with_case }, IndexLeaf::Sortable(index)))
    }

    fn sort_value(&self, key: &SortKey, text: &str) -> String {
        if key.with_case {
            return text.to_owned();
        }
        let mut words: Vec<String> = Vec::new();
        each_word(text, &mut String::new(), |word| words.push(word.to_owned()));
        words.join(" ")
    }
}

//! The own index as a database that is found, presented and sorted as any other in an engine.

use std::sync::Arc;
use std::time::Duration;

use form_urlencoded::byte_serialize;
use z3950_server::asn1::apdu::{AttributeList, SortKey as Element};
use z3950_server::asn1::bib1::diagnostics::Condition;
use z3950_server::memory::Kind;
use z3950_server::memory::index_map::{Terms, each_word};
use z3950_server::{Diagnostic, diagnostic};

use super::database::ClusterDatabase;
use super::document::id_of;
use super::leaf::{Answer, Clause, IndexLeaf, Plan, SortKey};
use super::request::{self, MOST_WINDOW};
use super::response;
use crate::engine::answer::{AskError, Hit};
use crate::engine::elastic;
use crate::engine::hits::ResultSets;
use crate::engine::layout::EngineLayout;
use crate::engine::link::Failure;
use crate::engine::pages::{Pages, out_of_range};
use crate::engine::plan::{Page, PageStart};
use crate::engine::search::{EngineDatabase, IndexReader};

/// The most octets of a record in an answer: base64 of the longest ISO 2709, and what is around it.
pub(super) const RECORD_OCTETS: usize = 140 * 1024;
/// The guesses at the number of a record at a position, each of which is a request; the first is nearly always right.
const MOST_GUESSES: usize = 8;
/// The number after those of all records.
const END: u64 = 1 << 63;

impl EngineDatabase for ClusterDatabase {
    type Leaf = IndexLeaf;
    type Reader = EngineLayout;

    const AT_ONCE: usize = 250;

    fn name(&self) -> &str {
        &self.options.name
    }

    fn is_strict(&self) -> bool {
        self.options.strict
    }

    fn answer_time(&self) -> Duration {
        self.options.answer_time
    }

    fn sets(&self) -> &ResultSets {
        &self.sets
    }

    fn window(&self) -> usize {
        MOST_WINDOW
    }

    async fn reader(&self) -> Result<Arc<EngineLayout>, Diagnostic> {
        self.usable()?;
        Ok(Arc::clone(&self.layout))
    }

    async fn ask(&self, plan: &Plan<'_>, index: Option<&str>) -> Result<Answer, AskError> {
        let body = request::search(&self.layout, plan)?;
        let mut options = format!("allow_partial_search_results={}", !self.options.strict);
        // The identifier decides which part of the index has the record.
        if let Clause::Leaf(IndexLeaf::Identifier(id)) = plan.clause
            && plan.counts.is_empty()
        {
            options.push_str("&routing=");
            options.extend(byte_serialize(id_of(id).as_bytes()));
        }
        let limit = elastic::limit(plan, RECORD_OCTETS);
        let asked = index.unwrap_or(&self.index);
        let answer = self.link.search(asked, &options, &body, limit).await;
        let answer = answer.map_err(|failure| match failure {
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

    /// Numbers are hashes, so about where one is can be told: a number that is a little too small is guessed, and how many records are
    /// before it is counted.
    async fn far(
        pages: &Pages<'_, Self>,
        start: usize,
        rows: usize,
    ) -> Result<Vec<Hit<u64>>, Diagnostic> {
        if !pages.hits.order.is_empty() {
            return pages.after_presented(start, rows).await;
        }
        // The numbers of positions before and after the wanted one.
        let (mut below, mut above) = ((0, 0), (END, pages.hits.count));
        for _ in 0..MOST_GUESSES {
            if start - below.1 + rows <= MOST_WINDOW {
                break;
            }
            let number = guess(below, above, start, rows);
            let page = Page {
                start: PageStart::Number(number),
                ..Page::default()
            };
            let before = pages.part(page).await?.total;
            if before <= start {
                below = (number, before);
            } else {
                above = (number, before);
            }
        }
        let page = Page {
            start: PageStart::Number(below.0),
            skip: start - below.1,
            ..Page::first(rows)
        };
        if page.skip + rows > MOST_WINDOW {
            return Err(out_of_range(start));
        }
        Ok(pages.part(page).await?.hits)
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

/// Returns a number that is a little before that of the record at a position, as far as can be told from two numbers whose positions are
/// known.
fn guess(below: (u64, usize), above: (u64, usize), start: usize, rows: usize) -> u64 {
    let (records, numbers) = (above.1 - below.1, above.0 - below.0);
    let wanted = start - below.1;
    let share = wanted as f64 / records.max(1) as f64;
    // Three times the standard deviation of the number of records before a number, unless the page would not fit then.
    let deviation = (records as f64 * share * (1.0 - share)).max(0.0).sqrt();
    let margin = (3.0 * deviation + 1.0).min((MOST_WINDOW - rows.min(MOST_WINDOW)) as f64 * 0.9);
    let share = ((wanted as f64 - margin) / records.max(1) as f64).clamp(0.0, 1.0);
    // Within the numbers, and another one than either.
    let offset = (numbers as f64 * share) as u64;
    below.0 + offset.clamp(1, numbers.saturating_sub(1).max(1))
}

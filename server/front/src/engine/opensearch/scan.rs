//! Scan: terms around a start, read from the engine's own dictionary of terms, each with its number of records (Z39.50-2003 §3.2.8.1).

use serde_json::{Value, json};
use z3950_server::asn1::bib1::diagnostics::Condition;
use z3950_server::backend::{Scan, Scanned};
use z3950_server::memory::index_map::Terms;
use z3950_server::{Diagnostic, diagnostic};

use super::database::ClusterDatabase;
use super::document::{MOST_ENTRY, cut};
use super::leaf::{Clause, IndexLeaf, Plan};
use super::request::{self, MOST_BUCKETS, TermsAfter};
use super::response;
use crate::engine::answer::{AskError, TermsAnswer};
use crate::engine::elastic::{self, ANSWER_OCTETS, MOST_ANSWER_OCTETS, ReadTerms, TERM_OCTETS};
use crate::engine::scan::{self, ScanNeeds};
use crate::engine::search::EngineDatabase as _;

/// Returns the lengths of the beginnings of a start that are tried backwards, in characters: the engine reads the records that have a term
/// from the beginning to the start, so short ones take long. Each is a request.
fn beginnings(characters: usize) -> &'static [usize] {
    match characters {
        0 | 1 => &[0],
        2 => &[1, 0],
        3 | 4 => &[2, 1, 0],
        _ => &[4, 2, 0],
    }
}

impl ClusterDatabase {
    pub(super) async fn scanned(&self, scan: Scan<'_>) -> Result<Scanned, Diagnostic> {
        self.usable()?;
        let map = self.layout.map();
        let (terms, start) = map.scan_start(&scan.attribute_set, scan.start)?;
        let (Terms::Words(index) | Terms::Keys(index)) = terms;
        if !self.layout.is_scanned(index) {
            let name = self.layout.name(index);
            return Err(diagnostic(Condition::MALFORMED_SCAN, name));
        }
        let start = String::from_utf8_lossy(&start).into_owned();
        let start = cut(&start, MOST_ENTRY);
        let ScanNeeds {
            before,
            after,
            within,
        } = scan::needs(self, &scan)?;
        let within = within.as_ref();
        let (mut before, after) = tokio::try_join!(
            self.before(terms, start, before, within),
            self.after_or_at(terms, start, after, within),
        )?;
        before.terms.reverse();
        let answer = TermsAnswer {
            before: before.terms,
            is_exact: after.terms.first().is_some_and(|(term, _)| term == start),
            after: after.terms,
            missing: before.missing.or(after.missing),
        };
        scan::shown(self, &scan, answer)
    }

    /// Returns this many terms from the start on.
    async fn after_or_at(
        &self,
        terms: Terms,
        start: &str,
        wanted: usize,
        within: Option<&Clause>,
    ) -> Result<ReadTerms, Diagnostic> {
        let mut found = ReadTerms::default();
        if wanted == 0 {
            return Ok(found);
        }
        let mut after = start.to_owned();
        loop {
            let most = wanted.saturating_sub(found.terms.len()).min(MOST_BUCKETS);
            let scan = TermsAfter {
                terms,
                start: Some(&*after).filter(|after| !after.is_empty()),
                backwards: false,
                from: None,
                most,
                within,
                deadline: self.deadline(),
            };
            // The terms after a start do not include it, so it is counted with the first of them.
            let is_first = found.terms.is_empty() && !start.is_empty() && after == start;
            let read = if is_first {
                self.at_start(&scan, start).await?
            } else {
                self.read_terms(&scan).await?
            };
            let is_last = read.terms.len() < most;
            found.add(read);
            match found.terms.last() {
                Some((last, _)) if !is_last && found.terms.len() < wanted => {
                    after.clone_from(last);
                }
                _ => break,
            }
        }
        found.terms.truncate(wanted);
        Ok(found)
    }

    /// Returns the start, if any record has it, and terms after it.
    async fn at_start(&self, scan: &TermsAfter<'_>, start: &str) -> Result<ReadTerms, Diagnostic> {
        let own = Clause::Leaf(IndexLeaf::Terms(scan.terms, vec![start.to_owned()]));
        let own = match scan.within {
            Some(within) => within.clone().and(own),
            None => own,
        };
        let plan = Plan::count(&own, self.deadline());
        let searches = [
            (self.header(), request::search(&self.layout, &plan)?),
            (self.header(), request::terms(&self.layout, scan)?),
        ];
        let limit = (ANSWER_OCTETS + scan.most * TERM_OCTETS).min(MOST_ANSWER_OCTETS);
        let answers = self.link.searches(&searches, limit).await;
        let read = answers.map_err(elastic::failed).and_then(|answers| {
            let [own, others] = &*answers else {
                return Err(AskError::Malformed("two answers"));
            };
            let own = response::read(&plan, own)?;
            let mut read = response::terms(others)?;
            read.missing = read.missing.or(own.missing);
            if own.total > 0 {
                read.terms.insert(0, (start.to_owned(), own.total));
            }
            Ok(read)
        });
        read.map_err(|error| self.failure(&error))
    }

    /// Returns this many terms before the start, the nearest first.
    async fn before(
        &self,
        terms: Terms,
        start: &str,
        wanted: usize,
        within: Option<&Clause>,
    ) -> Result<ReadTerms, Diagnostic> {
        let mut found = ReadTerms::default();
        if wanted == 0 || start.is_empty() {
            return Ok(found);
        }
        for beginning in beginnings(start.chars().count()) {
            let from: String = start.chars().take(*beginning).collect();
            found = self
                .before_from(terms, start, &from, wanted, within)
                .await?;
            if found.terms.len() >= wanted {
                break;
            }
        }
        Ok(found)
    }

    /// Returns the terms before the start that are not before `from`.
    async fn before_from(
        &self,
        terms: Terms,
        start: &str,
        from: &str,
        wanted: usize,
        within: Option<&Clause>,
    ) -> Result<ReadTerms, Diagnostic> {
        let mut found = ReadTerms::default();
        let mut before = start.to_owned();
        while found.terms.len() < wanted {
            let most = (wanted - found.terms.len()).min(MOST_BUCKETS);
            let scan = TermsAfter {
                terms,
                start: Some(&before),
                backwards: true,
                from: Some(from),
                most,
                within,
                deadline: self.deadline(),
            };
            let mut read = self.read_terms(&scan).await?;
            let all = read.terms.len();
            read.terms.retain(|(term, _)| &**term >= from);
            let is_last = all < most || read.terms.len() < all;
            found.add(read);
            match found.terms.last() {
                Some((last, _)) if !is_last => before.clone_from(last),
                _ => break,
            }
        }
        Ok(found)
    }

    async fn read_terms(&self, scan: &TermsAfter<'_>) -> Result<ReadTerms, Diagnostic> {
        let search = (self.header(), request::terms(&self.layout, scan)?);
        let limit = (ANSWER_OCTETS + scan.most * TERM_OCTETS).min(MOST_ANSWER_OCTETS);
        let answers = self.link.searches(&[search], limit).await;
        let read = answers.map_err(elastic::failed).and_then(|answers| {
            let answer = answers.first();
            response::terms(answer.ok_or(AskError::Malformed("an answer"))?)
        });
        read.map_err(|error| self.failure(&error))
    }

    /// The header of a search that is sent with others.
    fn header(&self) -> Value {
        json!({ "index": self.index, "allow_partial_search_results": !self.options.strict })
    }
}

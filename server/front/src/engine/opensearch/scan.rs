//! Answers a Scan (Z39.50-2003 §3.2.8.1) with the terms around a start, each with its number of records. The terms are
//! read from the engine's dictionary of terms.

use serde_json::{Value, json};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_server::backend::{Scan, Scanned};
use z3950_server::memory::index_map::Terms;
use z3950_server::{Diagnostic, diagnostic};

use super::database::ClusterDatabase;
use super::document::{MOST_ENTRY, cut};
use super::leaf::{Clause, IndexLeaf, Plan};
use crate::engine::answer::AskError;
use crate::engine::elastic::listing::{TermList, around};
use crate::engine::elastic::request::{self, TermsAfter};
use crate::engine::elastic::{self, ANSWER_OCTETS, MOST_ANSWER_OCTETS, ReadTerms, TERM_OCTETS};
use crate::engine::scan;
use crate::engine::search::EngineDatabase as _;

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
        let needs = scan::needs(self, &scan)?;
        let list = OwnList {
            database: self,
            terms,
            field: &self.layout.field(terms),
            within: needs.within.unwrap_or(Clause::Everything),
        };
        let answer = around(&list, start, needs.before, needs.after).await;
        let answer = answer.map_err(|error| self.failure(&error))?;
        scan::shown(self, &scan, answer)
    }
}

/// The terms in an index of this server's database.
struct OwnList<'a> {
    database: &'a ClusterDatabase,
    terms: Terms,
    field: &'a str,
    /// The records whose terms are read.
    within: Clause,
}

impl OwnList<'_> {
    /// Returns the search that lists terms.
    fn search(&self, start: &str, from: Option<&str>, most: usize) -> Result<Value, Diagnostic> {
        let after = TermsAfter {
            field: self.field,
            start,
            from,
            most,
            within: &self.within,
            deadline: self.database.deadline(),
        };
        request::terms(&*self.database.layout, &after)
    }

    /// Sends several searches in one request. Only one of them requests terms, of which there are at most `most`.
    async fn ask<const N: usize>(
        &self,
        bodies: [Value; N],
        most: usize,
    ) -> Result<[Value; N], AskError> {
        let ClusterDatabase {
            index,
            options,
            link,
            ..
        } = self.database;
        let header = json!({ "index": index, "allow_partial_search_results": !options.strict });
        let searches = bodies.map(|body| (header.clone(), body));
        let limit = (ANSWER_OCTETS + most * TERM_OCTETS).min(MOST_ANSWER_OCTETS);
        let answers = link
            .searches(&searches, limit)
            .await
            .map_err(elastic::failed)?
            .try_into();
        answers.map_err(|_| AskError::Malformed("an answer to each search"))
    }
}

impl TermList for OwnList<'_> {
    async fn read(
        &self,
        start: &str,
        from: Option<&str>,
        most: usize,
    ) -> Result<ReadTerms, AskError> {
        let [terms] = self.ask([self.search(start, from, most)?], most).await?;
        elastic::terms(&terms)
    }

    async fn read_at(&self, start: &str, most: usize) -> Result<ReadTerms, AskError> {
        let own = Clause::Leaf(IndexLeaf::Terms(self.terms, vec![start.to_owned()]));
        let own = self.within.clone().and(own);
        let plan = Plan::count(&own, self.database.deadline());
        let count = request::search(&*self.database.layout, &plan)?;
        let searches = [count, self.search(start, None, most)?];
        let [count, terms] = self.ask(searches, most).await?;
        let (missing, (total, _)) = (elastic::missing(&count)?, elastic::total(&count));
        let mut read = elastic::terms(&terms)?;
        read.missing = read.missing.or(missing);
        if total > 0 {
            read.terms.insert(0, (start.to_owned(), total));
        }
        Ok(read)
    }
}

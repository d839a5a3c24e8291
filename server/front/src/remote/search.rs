//! A search at all targets side by side. A target that fails, refuses or is slow costs its own records alone.

use futures_util::future::join_all;
use z3950_server::asn1::apdu::{Operand, RpnQuery, RpnStructure};
use z3950_server::asn1::bib1::diagnostics::Condition;
use z3950_server::backend::{Found, Hits, Search, SourceReport};
use z3950_server::{Diagnostic, diagnostic};

use super::failure;
use super::hits::{HitsOfTarget, RemoteHits};
use super::{RemoteDatabase, after};

impl RemoteDatabase {
    /// # Errors
    /// A database or an operand that does not exist, or the failures of all targets.
    pub(super) async fn find(&self, search: Search<'_>) -> Result<Found, Diagnostic> {
        if let RpnStructure::Op(Operand::ResultSet(name)) = &search.query.rpn {
            let known = (search.result_set)(name.0.as_bytes());
            let unknown = || diagnostic(Condition::RESULT_SET_DOES_NOT_EXIST, name.0.as_bytes());
            return known.map(Found::from).ok_or_else(unknown);
        }
        refuse_result_sets(search.query)?;
        let upstreams = self.named(search.databases, search.caller)?;
        let deadline = after(self.options.total_time);
        // Each has its share of the first records, if all have enough.
        let first = search.first_records.max(FIRST_RECORDS);
        let first = first.div_ceil(upstreams.len().max(1));
        let first = u64::try_from(first).unwrap_or(u64::MAX);
        let searches = upstreams
            .iter()
            .map(|upstream| upstream.search(search.query, first, search.caller, deadline));
        let answers = join_all(searches).await;
        let mut sources = Vec::with_capacity(answers.len());
        let mut parts = Vec::new();
        for (upstream, answer) in upstreams.into_iter().zip(answers) {
            let count = answer
                .as_ref()
                .map(|set| set.counted())
                .map_err(Clone::clone);
            if let Err(why) = &count {
                let why = why.addinfo.to_string_lossy();
                tracing::info!(target = upstream.name(), %why, "no answer to a search");
            }
            let count = count.map(|count| usize::try_from(count).unwrap_or(usize::MAX));
            sources.push(SourceReport::new(upstream.name(), count));
            parts.extend(answer.ok().map(|set| HitsOfTarget { upstream, set }));
        }
        if parts.is_empty() {
            let failures = sources.iter().filter_map(|source| {
                let failure = source.failure.as_ref()?;
                Some((&*source.name, failure))
            });
            return Err(failure::of_all(failures));
        }
        let is_estimate = parts.iter().any(|part| part.set.is_estimate());
        let mut hits = RemoteHits::new(parts, search.caller);
        let mut is_partly_merged = false;
        if self.options.merge && sources.len() > 1 {
            self.merge_first(&mut hits, deadline).await;
            is_partly_merged = hits.goes_past_window();
        }
        let mut found = Found::from(Hits::new(hits));
        found.estimate = is_estimate || is_partly_merged;
        found.sources = sources;
        Ok(found)
    }
}

/// The records that come with a search even if it asks for none: most clients read them next, which then takes no round trip to
/// the targets.
const FIRST_RECORDS: usize = 10;

/// # Errors
/// Condition 18 for an operand that is a result set: the targets do not have it.
fn refuse_result_sets(query: &RpnQuery) -> Result<(), Diagnostic> {
    match query.rpn.result_sets().next() {
        None => Ok(()),
        Some(name) => Err(diagnostic(Condition::RESULT_SET_AS_TERM, name.0.as_bytes())),
    }
}

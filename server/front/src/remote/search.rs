//! Searches all targets at the same time. If a target fails, refuses or is slow, only its own records are missing.

use futures_util::future::join_all;
use z3950_server::Diagnostic;
use z3950_server::backend::{Found, Hits, Search, SourceReport};

use super::form::SourceForm;
use super::hits::{HitsOfTarget, RemoteHits};
use super::operands::EarlierSets;
use super::set::TargetQuery;
use super::{RemoteDatabase, after};
use super::{failure, term_counts};

impl RemoteDatabase {
    /// Searches all targets, and returns their records as one list.
    ///
    /// # Errors
    /// Fails if a database or an operand does not exist, or all targets failed.
    pub(super) async fn find(&self, search: Search<'_>) -> Result<Found, Diagnostic> {
        let upstreams = self.named(search.databases, &search.caller)?;
        let sets = EarlierSets::of(&search)?;
        if let Some(hits) = sets.whole(&upstreams) {
            let mut found = Found::from(hits.clone());
            if let Some(hits) = hits.downcast::<RemoteHits>() {
                found.estimate = hits.is_estimate();
                found.sources = hits.sources();
            }
            return Ok(found);
        }
        let via = search.caller.via();
        let is_repeated = self.chains.is_repeated(&self.options, via, search.query);
        if is_repeated {
            tracing::warn!(%via, "a search came by several paths: its first server counts records of this one repeatedly");
        }
        let deadline = after(self.options.total_time);
        // Each target is asked for an equal share of the first records, which suffices if all targets have enough records.
        let first = search.first_records.max(FIRST_RECORDS);
        let first = first.div_ceil(upstreams.len().max(1));
        let first = u64::try_from(first).unwrap_or(u64::MAX);
        let form = SourceForm::of(search.syntax);
        let caller = &search.caller;
        let searches = upstreams.iter().map(|upstream| {
            let query = sets.query_at(upstream.name());
            async move {
                match query? {
                    Some(query) => {
                        let query = TargetQuery::unsorted(query);
                        let found = upstream.search(&query, (first, form), caller, deadline);
                        found.await.map(Some)
                    }
                    None => Ok(None),
                }
            }
        });
        let answers = join_all(searches).await;
        let mut sources = Vec::with_capacity(answers.len());
        let (mut parts, mut failed) = (Vec::new(), Vec::new());
        let mut remarks = Vec::new();
        for (upstream, answer) in upstreams.into_iter().zip(answers) {
            let count = answer
                .as_ref()
                .map(|set| set.as_ref().map_or(0, |set| set.counted()))
                .map_err(Clone::clone);
            if let Some(health) = self.health.iter().find(|one| one.is_of(upstream.name())) {
                health.searched(count.as_ref().err());
            }
            let count = count.map(|count| usize::try_from(count).unwrap_or(usize::MAX));
            sources.push(SourceReport::new(upstream.name(), count));
            match answer {
                Ok(Some(set)) => {
                    let said = set.remarks.iter();
                    remarks.extend(said.map(|words| format!("{}: {words}", upstream.name())));
                    parts.push(HitsOfTarget { upstream, set });
                }
                Ok(None) => {}
                Err(why) => failed.push((upstream.name().to_owned(), why)),
            }
        }
        if parts.is_empty() && failed.len() == sources.len() {
            let failures = sources.iter().filter_map(|source| {
                let failure = source.failure.as_ref()?;
                Some((&*source.name, failure))
            });
            return Err(failure::of_all(failures));
        }
        let mut hits = RemoteHits::new(parts, search.caller.clone()).with_failures(failed);
        let has_sets = search.query.rpn.result_sets().next().is_some();
        let term_counts = if search.term_counts && !has_sets {
            let of_targets = hits
                .parts
                .iter()
                .map(|part| part.set.term_counts.as_deref());
            term_counts::summed(search.query, of_targets)
        } else {
            Vec::new()
        };
        let facets = match search.facets {
            [] => Vec::new(),
            wanted => self.facets(wanted, &hits, &mut sources, deadline).await,
        };
        let is_estimate = hits.is_estimate();
        let mut is_partly_merged = false;
        if self.options.merge && sources.len() > 1 {
            self.merge_first(&mut hits, form, deadline).await;
            is_partly_merged = hits.goes_past_window();
        }
        let mut found = Found::from(Hits::new(hits));
        found.estimate = is_estimate || is_partly_merged || is_repeated;
        found.term_counts = term_counts;
        found.sources = sources;
        found.facets = facets;
        found.remarks = remarks;
        if is_partly_merged {
            let records = self.options.merge_records;
            found.remarks.push(format!(
                "the first {records} records of each target are merged; later ones may repeat"
            ));
        }
        Ok(found)
    }
}

/// The minimum number of records fetched with a search, even if the client requests none. Most clients read these records next,
/// so fetching them saves another round trip to the targets.
const FIRST_RECORDS: usize = 10;

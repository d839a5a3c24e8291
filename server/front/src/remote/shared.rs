//! Equal searches at a target share one answer while the search is in progress or the answer is fresh.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::OnceCell;
use tokio::time::Instant;
use z3950_server::Diagnostic;
use z3950_server::lock;

/// The searches at a target that can be shared.
pub(super) struct SharedSearches<T> {
    fresh: Duration,
    most: usize,
    by_query: Mutex<HashMap<Vec<u8>, Arc<SharedSearch<T>>>>,
}

/// A search that can be shared, with its answer once it has arrived.
struct SharedSearch<T>(OnceCell<SharedAnswer<T>>);

struct SharedAnswer<T> {
    at: Instant,
    found: Result<T, Diagnostic>,
}

/// The maximum number of answers that are kept for a target.
pub(super) const MAX_SHARED: usize = 1000;
/// The maximum number of facet lists kept for a target, which is lower because they take more memory than answers.
pub(super) const MAX_SHARED_FACETS: usize = 16;

impl<T: Clone> SharedSearches<T> {
    /// Creates a cache whose answers stay fresh for this time; it keeps at most `most` answers.
    pub(super) fn new(fresh: Duration, most: usize) -> Self {
        Self {
            fresh,
            most,
            by_query: Mutex::default(),
        }
    }

    /// Returns the answer to an equal search, or performs this search if there is no equal one. Failures are shared only while
    /// the search is in progress. If the caller that searches is cancelled, a waiting caller takes over.
    pub(super) async fn answer(
        &self,
        query: Vec<u8>,
        search: impl Future<Output = Result<T, Diagnostic>>,
    ) -> Result<T, Diagnostic> {
        let shared = self.entry(&query);
        let answer = async {
            let found = search.await;
            let at = Instant::now();
            SharedAnswer { at, found }
        };
        let SharedAnswer { found, .. } = shared.0.get_or_init(|| answer).await;
        if found.is_err() || self.fresh.is_zero() {
            let mut by_query = lock(&self.by_query);
            let current = by_query.get(&query);
            if current.is_some_and(|current| Arc::ptr_eq(current, &shared)) {
                by_query.remove(&query);
            }
        }
        found.clone()
    }

    fn entry(&self, query: &[u8]) -> Arc<SharedSearch<T>> {
        let mut by_query = lock(&self.by_query);
        if let Some(shared) = by_query.get(query).filter(|shared| self.is_current(shared)) {
            return Arc::clone(shared);
        }
        if by_query.len() >= self.most {
            by_query.retain(|_, shared| self.is_current(shared));
        }
        let shared = Arc::new(SharedSearch(OnceCell::new()));
        if by_query.len() < self.most {
            by_query.insert(query.to_vec(), Arc::clone(&shared));
        }
        shared
    }

    /// Drops the answers that are no longer fresh.
    pub(super) fn forget_stale(&self) {
        lock(&self.by_query).retain(|_, shared| self.is_current(shared));
    }

    /// Returns whether the search is in progress, or its answer is fresh.
    fn is_current(&self, shared: &SharedSearch<T>) -> bool {
        let answer = shared.0.get();
        answer.is_none_or(|answer| answer.at.elapsed() < self.fresh)
    }
}

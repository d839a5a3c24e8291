//! What a search found at a target: the number of records, and the result set in which the target keeps them.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Mutex;
use tokio::time::Instant;
use z3950::ResultSet;
use z3950_server::asn1::apdu::RpnQuery;

/// The most records of a target in one result: a number that cannot be true must not take the room of other targets.
pub(super) const MOST_OF_TARGET: u64 = 1_000_000;

/// A result set at a target, which can be made again by its query.
pub(super) struct RemoteSet {
    /// Unlike that of any other set.
    pub(super) number: u64,
    pub(super) query: RpnQuery,
    count: u64,
    is_estimate: bool,
    pub(super) held: Mutex<HeldSet>,
}

/// The set at the target, if it is held there.
pub(super) struct HeldSet {
    pub(super) result: Option<ResultSet>,
    /// The session that has it, as a slot and a number.
    pub(super) session: (usize, u64),
    pub(super) last_use: Instant,
}

impl HeldSet {
    pub(super) fn new(result: ResultSet, session: (usize, u64)) -> Self {
        Self {
            result: Some(result),
            session,
            last_use: Instant::now(),
        }
    }

    /// The slot of the session that has the set; `None` if none has it.
    pub(super) fn slot(&self) -> Option<usize> {
        self.result.as_ref().map(|_| self.session.0)
    }
}

impl RemoteSet {
    pub(super) fn new(query: RpnQuery, held: HeldSet) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            query,
            count: held.result.as_ref().map_or(0, ResultSet::count),
            is_estimate: held.result.as_ref().is_some_and(ResultSet::is_estimate),
            held: Mutex::new(held),
        }
    }

    /// The number of records that the target counted, whatever it is.
    pub(super) fn counted(&self) -> u64 {
        self.count
    }

    /// The number of records that can be retrieved: at most [`MOST_OF_TARGET`].
    pub(super) fn count(&self) -> u64 {
        self.count.min(MOST_OF_TARGET)
    }

    /// Whether [`count`](Self::count) is not the exact number of records.
    pub(super) fn is_estimate(&self) -> bool {
        self.is_estimate || self.count > MOST_OF_TARGET
    }

    /// Whether a result of the same search, made later, is the same as far as the numbers tell.
    pub(super) fn is_same(&self, later: &ResultSet) -> bool {
        later.count() == self.count || (self.is_estimate && later.is_estimate())
    }
}

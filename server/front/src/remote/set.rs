//! The result of a search at a target, which consists of the number of records and the result set kept by the target.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Mutex;
use tokio::time::Instant;
use z3950::ResultSet;
use z3950_asn1::apdu::{Query, RpnQuery, SortKeySpec, SortRequest};
use z3950_asn1::codec::encode_value;
use z3950_marc::text::escape_unprintable;

use super::form::SourceForm;
use super::term_counts;

/// The maximum number of records from a target in one result. A target that claims an impossible number must not take
/// positions from other targets.
pub(super) const MOST_OF_TARGET: u64 = 1_000_000;

/// A query for a target, and the keys by which the target is to sort the result.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TargetQuery {
    pub(super) rpn: RpnQuery,
    pub(super) keys: Vec<SortKeySpec>,
}

impl TargetQuery {
    /// Creates a query without sort keys; the records have the target's own order.
    pub(super) fn unsorted(rpn: RpnQuery) -> Self {
        Self {
            rpn,
            keys: Vec::new(),
        }
    }

    /// Returns the encoded query, by which equal searches are recognized; `None` if the query cannot be encoded.
    pub(super) fn encoded(&self) -> Option<Vec<u8>> {
        let mut octets = encode_value(&Query::Type1(self.rpn.clone())).ok()?;
        if !self.keys.is_empty() {
            let sort = SortRequest::in_place("", self.keys.clone());
            octets.extend(encode_value(&sort).ok()?);
        }
        Some(octets)
    }

    /// Converts the query to the query type of the client library.
    pub(super) fn to_query(&self) -> z3950::Query {
        z3950::Query::from(self.rpn.clone()).sorted_by(self.keys.iter().cloned())
    }
}

/// A result set at a target; it can be created again from its query.
pub(super) struct RemoteSet {
    /// The unique number of the set.
    pub(super) number: u64,
    pub(super) query: TargetQuery,
    count: u64,
    is_estimate: bool,
    /// The number of records for each term, if the target reports these numbers.
    pub(super) term_counts: Option<Vec<usize>>,
    /// Further messages from the target, such as a diagnostic that accompanies its records.
    pub(super) remarks: Vec<String>,
    pub(super) held: Mutex<HeldSet>,
}

/// The result set that a session with the target holds, if any.
pub(super) struct HeldSet {
    pub(super) result: Option<ResultSet>,
    /// The form in which records are requested from the set.
    pub(super) form: SourceForm,
    /// The session that holds the set: its slot, and its unique number.
    pub(super) session: (usize, u64),
    pub(super) last_use: Instant,
}

impl HeldSet {
    pub(super) fn new(result: ResultSet, form: SourceForm, session: (usize, u64)) -> Self {
        Self {
            result: Some(result),
            form,
            session,
            last_use: Instant::now(),
        }
    }

    /// Sets the form in which records are requested from now on.
    pub(super) fn set_form(&mut self, form: SourceForm) {
        if let Some(result) = self.result.as_mut().filter(|_| self.form != form) {
            result.set_form(&form.records());
            self.form = form;
        }
    }

    /// Returns the slot of the session that holds the set; `None` if no session holds it.
    pub(super) fn slot(&self) -> Option<usize> {
        self.result.as_ref().map(|_| self.session.0)
    }
}

/// The maximum number of characters in a target's remark that are passed on.
const MOST_OF_REMARK: usize = 1000;

/// Returns the remarks from a target.
fn remarks(result: &ResultSet) -> Vec<String> {
    let sources = result.sources();
    let printable = sources.remarks.iter().map(|words| {
        let begin: String = words.chars().take(MOST_OF_REMARK).collect();
        escape_unprintable(&begin, |_| false).into_owned()
    });
    printable.collect()
}

impl RemoteSet {
    pub(super) fn new(query: TargetQuery, held: HeldSet) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let found = held.result.as_ref().map(ResultSet::found);
        Self {
            term_counts: found.and_then(|found| term_counts::of_target(found, &query.rpn)),
            remarks: held.result.as_ref().map(remarks).unwrap_or_default(),
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            query,
            count: held.result.as_ref().map_or(0, ResultSet::count),
            is_estimate: held.result.as_ref().is_some_and(ResultSet::is_estimate),
            held: Mutex::new(held),
        }
    }

    /// Returns the number of records reported by the target, even if that number is impossible.
    pub(super) fn counted(&self) -> u64 {
        self.count
    }

    /// Returns the number of records that can be retrieved: at most [`MOST_OF_TARGET`].
    pub(super) fn count(&self) -> u64 {
        self.count.min(MOST_OF_TARGET)
    }

    /// Returns whether [`count`](Self::count) may differ from the real number of records.
    pub(super) fn is_estimate(&self) -> bool {
        self.is_estimate || self.count > MOST_OF_TARGET
    }

    /// Returns whether another set has the same number of records, so that it can be taken for the same result.
    pub(super) fn has_as_many(&self, other: &Self) -> bool {
        self.count == other.count || (self.is_estimate && other.is_estimate)
    }

    /// Returns whether a later result of the same search has the same number of records, so that it can be taken for the same
    /// result.
    pub(super) fn is_same(&self, later: &ResultSet) -> bool {
        later.count() == self.count || (self.is_estimate && later.is_estimate())
    }
}

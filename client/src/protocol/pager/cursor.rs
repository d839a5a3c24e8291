//! Reads a result set sequentially, beginning at a position.

use std::collections::VecDeque;

use z3950_asn1::bib1::diagnostics::Condition;

use super::Pager;
use crate::error::{Diagnostics, Error};
use crate::protocol::service::ResultRecord;
use crate::protocol::service::search::SearchResult;

/// The position of a sequential reader of a result set.
#[derive(Clone, Debug)]
pub(crate) struct Cursor {
    /// The position after the last record that has been fetched.
    next: u64,
    left: u64,
    come: VecDeque<ResultRecord>,
    /// Whether the complete range is likely to be read, because the range has an end or the caller has read a complete
    /// chunk.
    is_long: bool,
}

impl Cursor {
    /// Creates a reader of `count` records from the 1-based position `start`, or of fewer if the set ends earlier.
    pub(crate) fn new(found: &SearchResult, start: u64, count: u64) -> Self {
        let start = start.max(1);
        let there_are = match found.count() {
            Some(count) => count.saturating_add(1).saturating_sub(start),
            None => u64::MAX,
        };
        Self {
            next: start,
            left: count.min(there_are),
            come: VecDeque::new(),
            is_long: count < u64::MAX,
        }
    }

    /// Returns the position of the next record.
    pub(crate) fn position(&self) -> u64 {
        let fetched = u64::try_from(self.come.len()).unwrap_or(u64::MAX);
        self.next.saturating_sub(fetched)
    }

    /// Returns the next record if it has already been fetched, or `None` otherwise.
    pub(crate) fn buffered(&mut self) -> Option<ResultRecord> {
        self.come.pop_front()
    }

    /// Returns whether no further record can be fetched.
    pub(crate) fn is_at_end(&self) -> bool {
        self.left == 0
    }

    /// Ends the stream of records.
    pub(crate) fn end(&mut self) {
        self.left = 0;
    }

    /// Returns the next record. After an error, it returns `None`.
    pub(crate) async fn next(&mut self, pager: &mut Pager) -> Option<Result<ResultRecord, Error>> {
        if let Some(record) = self.buffered() {
            return Some(Ok(record));
        }
        if self.is_at_end() {
            return None;
        }
        match pager.fetch(self.next, self.left).await {
            Ok(records) => {
                self.come = records.into();
                let came = u64::try_from(self.come.len()).unwrap_or(u64::MAX);
                self.next = self.next.saturating_add(came);
                self.left = self.left.saturating_sub(came);
                if self.is_long && pager.found.count().is_some() && !pager.found.is_estimate() {
                    pager.look_ahead(self.next, self.left);
                }
                self.is_long = true;
                self.buffered().map(Ok)
            }
            Err(Error::Refused { diagnostics, .. }) if is_end(&pager.found, &diagnostics) => None,
            Err(error) => {
                self.end();
                Some(Err(error))
            }
        }
    }
}

/// Returns whether a refusal means that the end of the set was reached, because the server had only estimated the
/// number of records or did not know it.
fn is_end(found: &SearchResult, diagnostics: &Diagnostics) -> bool {
    let is_unknown = found.count().is_none();
    let is_out_of_range = diagnostics.has(Condition::OUT_OF_RANGE.0);
    (is_out_of_range && (is_unknown || found.is_estimate()))
        || (is_unknown && diagnostics.is_empty())
}

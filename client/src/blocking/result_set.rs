//! Result sets, and iterators over their records.

use std::iter::FusedIterator;
use std::ops::RangeBounds;
use std::sync::Arc;

use z3950_asn1::format::sources::SearchSources;

use super::runtime::Runtime;
use crate::error::Error;
use crate::protocol::service::search::SearchResult;
use crate::record::Record;
use crate::result_set::{self, SortKey};
use crate::target::adapt::RecordForm;

/// The result of a search; see [`ResultSet`](crate::ResultSet), whose methods have the same names and errors.
#[derive(Debug)]
pub struct ResultSet {
    set: result_set::ResultSet,
    runtime: Arc<Runtime>,
}

/// An iterator over the records of a result set, fetched in chunks as needed. It owns the result set, so that a function
/// can return it.
///
/// A diagnostic in place of a record is returned as an error, after which the next record can be read. Any other error
/// is the last item.
#[derive(Debug)]
#[must_use = "records are fetched as they are read"]
pub struct Records {
    records: result_set::Records,
    runtime: Arc<Runtime>,
}

impl ResultSet {
    pub(super) fn new(set: result_set::ResultSet, runtime: &Arc<Runtime>) -> Self {
        Self {
            set,
            runtime: Arc::clone(runtime),
        }
    }

    /// Returns the number of matching records according to the server, or 0 if it is unknown.
    pub fn count(&self) -> u64 {
        self.set.count()
    }

    /// Returns whether the number of records is an estimate or unknown.
    pub fn is_estimate(&self) -> bool {
        self.set.is_estimate()
    }

    /// Returns the number of records that the server included in the search response.
    pub fn piggybacked(&self) -> u64 {
        self.set.piggybacked()
    }

    /// Returns the search response: the facets, the number of hits for each part of the query, and diagnostics.
    pub fn found(&self) -> &SearchResult {
        self.set.found()
    }

    /// Returns the sources of the records, if the server reports several sources.
    pub fn sources(&self) -> SearchSources {
        self.set.sources()
    }

    /// Returns the record at a 1-based position.
    ///
    /// # Errors
    /// The errors of [`ResultSet::record`](crate::ResultSet::record).
    pub fn record(&self, position: u64) -> Result<Record, Error> {
        self.runtime.run(self.set.record(position))
    }

    /// Returns all records of the set, in order.
    pub fn iter(&self) -> Records {
        self.range(..)
    }

    /// Returns the records in a range of 1-based positions. The iterator ends early if the set has fewer records.
    pub fn range(&self, positions: impl RangeBounds<u64>) -> Records {
        Records {
            records: self.set.range(positions),
            runtime: Arc::clone(&self.runtime),
        }
    }

    /// Sets the form in which records are requested from now on.
    pub fn set_form(&mut self, form: &RecordForm) {
        self.set.set_form(form);
    }

    /// Sorts the records on the server by keys, with the most important key first.
    ///
    /// # Errors
    /// The errors of [`ResultSet::sort`](crate::ResultSet::sort).
    pub fn sort(&mut self, keys: &[SortKey]) -> Result<(), Error> {
        self.runtime.run(self.set.sort(keys))
    }

    pub(super) fn set(&self) -> &result_set::ResultSet {
        &self.set
    }
}

impl IntoIterator for ResultSet {
    type Item = Result<Record, Error>;
    type IntoIter = Records;

    fn into_iter(self) -> Records {
        self.iter()
    }
}

impl IntoIterator for &ResultSet {
    type Item = Result<Record, Error>;
    type IntoIter = Records;

    fn into_iter(self) -> Records {
        self.iter()
    }
}

impl Iterator for Records {
    type Item = Result<Record, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.runtime.wait(self.records.next()) {
            Ok(next) => next,
            Err(error) => Some(Err(error)),
        }
    }
}

impl FusedIterator for Records {}

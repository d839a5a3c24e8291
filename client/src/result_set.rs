//! ZOOM's ResultSet: the records found by a search, which are fetched from the server as they are read (Z39.50-2003
//! §3.1.6, §3.2.3).

mod records;
mod shared;

use std::fmt;
use std::ops::{Bound, RangeBounds};
use std::str::FromStr;
use std::sync::Arc;

use z3950_asn1::apdu::{SortKeySpec, SortRelation};
use z3950_asn1::format::sources::SearchSources;
use z3950_asn1::query::names::Names;
use z3950_asn1::types::InternationalString;

pub use self::records::Records;
use self::shared::SharedSet;
use crate::connection::inner::{Inner, Name};
use crate::error::Error;
use crate::protocol::pager::Pager;
use crate::protocol::service::search::SearchResult;
use crate::protocol::service::sort::key_by_attributes;
use crate::record::Record;
use crate::target::adapt::RecordForm;
use crate::target::profile::Attributes;

/// The result of a search. Several result sets of one connection can be read at the same time. On a server that keeps
/// only one result set, searches are repeated as necessary.
pub struct ResultSet {
    shared: Arc<SharedSet>,
    piggybacked: u64,
}

/// A sort key: an index and a direction.
#[derive(Clone, Debug, PartialEq)]
pub struct SortKey(SortKeySpec);

/// The error for text that is not a sort key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SortKeyError {
    /// The direction of the key is neither `asc` nor `desc`.
    #[error("{0} is not a sort order; write asc or desc")]
    Direction(String),
    /// No index has the given name.
    #[error("no index is called {name}{}", hint(.nearest))]
    Index {
        /// The name that was given.
        name: String,
        /// The most similar known name, if there is one.
        nearest: Option<String>,
    },
    /// The attributes of the key are malformed.
    #[error("{0}")]
    Attributes(String),
}

fn hint(nearest: &Option<String>) -> String {
    nearest
        .as_ref()
        .map_or_else(String::new, |nearest| format!("; did you mean {nearest}?"))
}

impl ResultSet {
    pub(crate) fn new(connection: Arc<Inner>, name: Name, pager: Pager) -> Self {
        Self {
            piggybacked: pager.piggybacked(),
            shared: Arc::new(SharedSet::new(connection, name, pager)),
        }
    }

    /// Returns the number of matching records according to the server, or 0 if it is unknown. The number may be an
    /// estimate ([`is_estimate`](Self::is_estimate)).
    pub fn count(&self) -> u64 {
        self.found().hits
    }

    /// Returns whether the number of records is an estimate or unknown. Returns false after all records have been read,
    /// because the exact number is then known.
    pub fn is_estimate(&self) -> bool {
        self.found().is_estimate() || self.found().count().is_none()
    }

    /// Returns the number of records in the search response (piggyback, Z39.50-2003 §3.2.2.1.4), which can be read
    /// without another request. See [`Connection::search_first`](crate::Connection::search_first).
    pub fn piggybacked(&self) -> u64 {
        self.piggybacked
    }

    /// Returns the search response: the facets, the number of hits for each part of the query, and diagnostics.
    pub fn found(&self) -> &SearchResult {
        &self.shared.found
    }

    /// Returns the sources of the records, if the server reports several sources. For each source, there is the number
    /// of records that it found, or the reason why it failed. If a source [has failed](SearchSources::has_failed),
    /// there may be matching records even if the search has no hits.
    pub fn sources(&self) -> SearchSources {
        self.found().sources()
    }

    /// Returns the record at a 1-based position.
    ///
    /// # Errors
    /// [`Error::Refused`] for a position outside the set, and for a diagnostic in place of the record. Other errors
    /// mean that the connection failed.
    pub async fn record(&self, position: u64) -> Result<Record, Error> {
        self.shared.record(position).await
    }

    /// Returns a stream of all records of the set, in order. Several streams of a set can be read at the same time.
    pub fn stream(&self) -> Records {
        self.range(..)
    }

    /// Converts the set into a stream of all its records, in order. The stream keeps the set alive.
    ///
    /// ```no_run
    /// use z3950::{Client, Error, Query, Records};
    ///
    /// async fn books_about(subject: &str, target: &str) -> Result<Records, Error> {
    ///     let catalogue = Client::new().connect(target).await?;
    ///     let hits = catalogue.search(Query::subject(subject)).await?;
    ///     Ok(hits.into_stream())
    /// }
    /// ```
    pub fn into_stream(self) -> Records {
        self.stream()
    }

    /// Returns a stream of the records in a range of 1-based positions. The stream ends early if the set has fewer
    /// records.
    ///
    /// ```no_run
    /// # async fn example(hits: z3950::ResultSet) -> Result<(), z3950::Error> {
    /// let mut page = hits.range(11..=20);
    /// while let Some(record) = page.next().await {
    ///     println!("{}", record?.title().unwrap_or_default());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn range(&self, positions: impl RangeBounds<u64>) -> Records {
        let first = match positions.start_bound() {
            Bound::Included(first) => *first,
            Bound::Excluded(before) => before.saturating_add(1),
            Bound::Unbounded => 1,
        };
        let first = first.max(1);
        let end = match positions.end_bound() {
            Bound::Included(last) => last.saturating_add(1),
            Bound::Excluded(end) => *end,
            Bound::Unbounded => u64::MAX,
        };
        Records::new(&self.shared, first, end.saturating_sub(first))
    }

    /// Sets the form in which this set and its streams request records from now on.
    pub fn set_form(&mut self, form: &RecordForm) {
        self.piggybacked = 0;
        let options = self.shared.connection.target.pager_options(form);
        self.shared.set_form(options);
    }

    /// Sorts the records on the server by keys, with the most important key first. A stream that is being read continues at its position in
    /// the new order.
    ///
    /// # Errors
    /// [`Error::Refused`] if the server does not support these keys. Other errors mean that the connection failed.
    pub async fn sort(&mut self, keys: &[SortKey]) -> Result<(), Error> {
        self.piggybacked = 0;
        let sorted = self.shared.connection.until_closed(async {
            let (mut pager, _guard) = self.shared.lock().await?;
            pager
                .sort(keys.iter().map(|key| key.0.clone()).collect())
                .await
        });
        sorted.await
    }

    /// Returns whether the set belongs to this connection.
    pub(crate) fn is_of(&self, connection: &Arc<Inner>) -> bool {
        self.shared.connection.is_same(connection)
    }

    /// Returns the name of the set on the server.
    pub(crate) fn name(&self) -> InternationalString {
        self.shared.name()
    }

    /// Ensures that the server has this set under its name until the returned value is dropped.
    pub(crate) async fn held(&self) -> Result<impl Sized + use<>, Error> {
        let held = self.shared.connection.until_closed(async {
            let (_, guard) = self.shared.lock().await?;
            Ok(guard)
        });
        held.await
    }
}

impl SortKey {
    /// Creates a key that sorts by a named index, such as `title`, `author` or `date`, in ascending order.
    ///
    /// # Errors
    /// Fails if the index is unknown.
    pub fn ascending(index: &str) -> Result<Self, SortKeyError> {
        Self::of(index, SortRelation::ASCENDING)
    }

    /// Creates a key that sorts by a named index, in descending order.
    ///
    /// # Errors
    /// Fails if the index is unknown.
    pub fn descending(index: &str) -> Result<Self, SortKeyError> {
        Self::of(index, SortRelation::DESCENDING)
    }

    /// Returns the key in the form used in requests.
    pub fn as_spec(&self) -> &SortKeySpec {
        &self.0
    }

    fn of(key: &str, relation: SortRelation) -> Result<Self, SortKeyError> {
        let attributes = if key.contains('=') {
            let attributes = key.parse::<Attributes>();
            attributes
                .map_err(|error| SortKeyError::Attributes(error.to_string()))?
                .0
        } else {
            Names::default().attributes(key).map_err(|nearest| {
                let name = key.to_owned();
                SortKeyError::Index { name, nearest }
            })?
        };
        Ok(Self(key_by_attributes(attributes, relation)))
    }
}

impl From<SortKeySpec> for SortKey {
    /// Converts a key from the form used in requests.
    fn from(key: SortKeySpec) -> Self {
        Self(key)
    }
}

impl From<SortKey> for SortKeySpec {
    fn from(key: SortKey) -> Self {
        key.0
    }
}

impl FromStr for SortKey {
    type Err = SortKeyError;

    /// Parses a key such as `title`, `date:desc`, or attributes such as `1=31:desc`.
    fn from_str(text: &str) -> Result<Self, SortKeyError> {
        match text.rsplit_once(':') {
            Some((key, "asc")) => Self::ascending(key),
            Some((key, "desc")) => Self::descending(key),
            Some((_, direction)) => Err(SortKeyError::Direction(direction.to_owned())),
            None => Self::ascending(text),
        }
    }
}

impl fmt::Debug for ResultSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResultSet")
            .field("endpoint", &self.shared.connection.target.endpoint)
            .field("count", &self.count())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;

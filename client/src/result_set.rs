//! ZOOM's ResultSet: the records found by a search, which are fetched from the server as they are read (Z39.50-2003
//! §3.1.6, §3.2.3).

use std::fmt;
use std::ops::{Bound, RangeBounds};
use std::str::FromStr;
use std::sync::Arc;

use futures_util::{Stream, TryStreamExt};
use tokio::sync::Mutex;
use z3950_asn1::apdu::{SortKeySpec, SortRelation};
use z3950_asn1::format::sources::SearchSources;
use z3950_asn1::query::names::Names;
use z3950_asn1::types::InternationalString;

use crate::connection::inner::{Inner, Name};
use crate::error::Error;
use crate::protocol::pager::{Cursor, Pager};
use crate::protocol::service::search::SearchResult;
use crate::protocol::service::sort::key_by_attributes;
use crate::record::Record;
use crate::target::adapt::RecordForm;
use crate::target::profile::Attributes;

/// The result of a search. Several result sets of one connection can be read at the same time. At a server that keeps
/// only one result set, searches are repeated as necessary.
pub struct ResultSet {
    connection: Arc<Inner>,
    name: Name,
    found: SearchResult,
    piggybacked: u64,
    pager: Mutex<Pager>,
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
        /// The given name.
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

/// The records of a result set in order. They are fetched in chunks as needed.
pub struct Records<'a> {
    set: &'a ResultSet,
    cursor: Cursor,
}

impl ResultSet {
    pub(crate) fn new(connection: Arc<Inner>, name: Name, pager: Pager) -> Self {
        Self {
            connection,
            name,
            found: pager.found().clone(),
            piggybacked: pager.piggybacked(),
            pager: Mutex::new(pager),
        }
    }

    /// Returns the number of matching records according to the server, or 0 if it is unknown. The number may be an
    /// estimate ([`is_estimate`](Self::is_estimate)).
    pub fn count(&self) -> u64 {
        self.found.hits
    }

    /// Returns whether the number of records is an estimate or unknown. After all records have been read, the exact
    /// number is known.
    pub fn is_estimate(&self) -> bool {
        self.found.is_estimate() || self.found.count().is_none()
    }

    /// Returns the number of records that came with the search response (piggyback, Z39.50-2003 §3.2.2.1.4), and can be
    /// read without another request. See [`Connection::search_first`](crate::Connection::search_first).
    pub fn piggybacked(&self) -> u64 {
        self.piggybacked
    }

    /// Returns the server's result, with facets, the hits of each term, and diagnostics.
    pub fn found(&self) -> &SearchResult {
        &self.found
    }

    /// Returns the sources of the records, if the server reports several sources. Each source has the number of records
    /// it found or the reason why it failed. If a source [has failed](SearchSources::has_failed), there may be matching
    /// records even if the search has no hits.
    pub fn sources(&self) -> SearchSources {
        self.found.sources()
    }

    /// Returns the record at a 1-based position.
    ///
    /// [`Error::Refused`] for a position outside the set, and for a diagnostic in place of the record; other errors if
    /// the connection failed.
    pub async fn record(&self, position: u64) -> Result<Record, Error> {
        let record = self.connection.until_closed(async {
            let mut pager = self.pager.lock().await;
            let _turn = self.turn(&mut pager).await?;
            pager.record(position).await
        });
        self.connection.record(record.await?, position)
    }

    /// Returns all records of the set, in order.
    pub fn stream(&self) -> Records<'_> {
        self.range(..)
    }

    /// Returns the records at a range of 1-based positions, or up to the end of the set.
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
    pub fn range(&self, positions: impl RangeBounds<u64>) -> Records<'_> {
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
        Records {
            set: self,
            cursor: Cursor::new(&self.found, first, end.saturating_sub(first)),
        }
    }

    /// Sets the form in which further records will be requested.
    pub fn set_form(&mut self, form: &RecordForm) {
        self.piggybacked = 0;
        let options = self.connection.target.pager_options(form);
        self.pager.get_mut().set_form(options);
    }

    /// Sorts the records at the server by keys, with the most important key first.
    ///
    /// # Errors
    /// [`Error::Refused`] if the server does not support these keys; other errors if the connection failed.
    pub async fn sort(&mut self, keys: &[SortKey]) -> Result<(), Error> {
        self.piggybacked = 0;
        let sorted = self.connection.until_closed(async {
            let mut pager = self.pager.lock().await;
            let _turn = self.turn(&mut pager).await?;
            pager
                .sort(keys.iter().map(|key| key.0.clone()).collect())
                .await
        });
        sorted.await
    }

    /// Returns whether the set belongs to this connection.
    pub(crate) fn is_of(&self, connection: &Arc<Inner>) -> bool {
        self.connection.is_same(connection)
    }

    /// Returns the name of the set at the server.
    pub(crate) fn name(&self) -> InternationalString {
        self.name.name()
    }

    /// Makes sure that the server has this set under its name until the returned value is dropped.
    pub(crate) async fn held(&self) -> Result<impl Sized + use<>, Error> {
        let held = self.connection.until_closed(async {
            let mut pager = self.pager.lock().await;
            self.turn(&mut pager).await
        });
        held.await
    }

    /// Waits for the right to use the set, and repeats its search if another set has replaced it at the server.
    async fn turn(&self, pager: &mut Pager) -> Result<impl Sized + use<>, Error> {
        let mut turn = self.name.turn().await;
        if turn.is_taken() {
            pager.search_again().await?;
            turn.take();
        }
        Ok(turn)
    }
}

impl Records<'_> {
    /// Returns the next record; `None` after the last record. After a diagnostic in place of a record, which is an
    /// error, the next record can be read. Any other error is the last item.
    pub async fn next(&mut self) -> Option<Result<Record, Error>> {
        let Self { set, cursor } = self;
        let position = cursor.position();
        let record = match cursor.buffered() {
            Some(record) => Ok(record),
            None => {
                let fetched = set.connection.until_closed(async {
                    let mut pager = set.pager.lock().await;
                    let _turn = set.turn(&mut pager).await?;
                    cursor.next(&mut pager).await.transpose()
                });
                let fetched = fetched.await;
                if fetched.is_err() {
                    cursor.end();
                }
                fetched.transpose()?
            }
        };
        Some(record.and_then(|record| set.connection.record(record, position)))
    }

    /// Returns the remaining records.
    ///
    /// # Errors
    /// The errors of [`next`](Self::next).
    pub async fn collect(self) -> Result<Vec<Record>, Error> {
        self.into_stream().try_collect().await
    }
}

impl<'a> Records<'a> {
    /// Returns an asynchronous [`Stream`] of the records.
    pub fn into_stream(self) -> impl Stream<Item = Result<Record, Error>> + Send + use<'a> {
        futures_util::stream::unfold(self, |mut records| async move {
            records.next().await.map(|record| (record, records))
        })
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
    /// Converts the key to the form used in requests.
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
            .field("endpoint", &self.connection.target.endpoint)
            .field("count", &self.count())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Records<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Records")
            .field("set", self.set)
            .field("cursor", &self.cursor)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use z3950_asn1::apdu::{SortElement, SortKey as Key};

    use super::*;

    #[test]
    fn sort_keys_are_names_or_attributes() {
        for (text, attributes, relation) in [
            ("title", 1, SortRelation::ASCENDING),
            ("date:desc", 1, SortRelation::DESCENDING),
            ("1=31,4=4:asc", 2, SortRelation::ASCENDING),
        ] {
            let SortKey(key) = text.parse().expect(text);
            let SortElement::Generic(Key::SortAttributes(found)) = &key.sort_element else {
                panic!("{key:?}");
            };
            assert_eq!(
                (found.list.0.len(), key.sort_relation),
                (attributes, relation)
            );
        }
        for (text, words) in [
            ("titel", "no index is called titel; did you mean title?"),
            ("title:up", "up is not a sort order"),
            ("1=", "not an attribute"),
        ] {
            let error = text.parse::<SortKey>().expect_err(text).to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}

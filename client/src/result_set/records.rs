//! Streams of the records of a result set (Z39.50-2003 §3.2.3).

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, Stream, StreamExt, TryStreamExt};

use super::shared::SharedSet;
use crate::error::Error;
use crate::protocol::pager::Cursor;
use crate::protocol::service::ResultRecord;
use crate::record::Record;

/// The records of a result set in order, fetched in chunks as needed.
///
/// It owns the result set and the connection, so a function can return it and a task can read it; see
/// [`ResultSet::into_stream`](crate::ResultSet::into_stream). It can be dropped before its end. The connection can then
/// still be used, and if nothing else uses it, its session returns to the client's pool.
///
/// It implements [`Stream`]. Programs that do not use this trait can call [`next`](Self::next). A diagnostic in place
/// of a record is returned as an error, after which the next record can be read. Any other error is the last item.
///
/// A stream that has been polled and is waiting for records keeps its result set locked, until a later poll returns a
/// record or the stream is dropped. This does not apply to [`next`](Self::next): dropping its future also drops the
/// request.
#[must_use = "records are fetched as they are read"]
pub struct Records {
    /// The request for the next records, or `None` if none is in progress.
    fetching: Option<BoxFuture<'static, Fetched>>,
    cursor: Cursor,
    set: Arc<SharedSet>,
}

/// The cursor after the next chunk has been fetched, and the first record of the chunk, or `None` at the end of the
/// range.
type Fetched = (Cursor, Result<Option<ResultRecord>, Error>);

impl Records {
    /// Creates a stream of `count` records from the 1-based position `first`, or of fewer if the set ends earlier.
    pub(super) fn new(set: &Arc<SharedSet>, first: u64, count: u64) -> Self {
        Self {
            fetching: None,
            cursor: Cursor::new(&set.found, first, count),
            set: Arc::clone(set),
        }
    }

    /// Returns the next record, or `None` after the last record.
    pub async fn next(&mut self) -> Option<Result<Record, Error>> {
        let reading = Reading(self);
        StreamExt::next(&mut *reading.0).await
    }

    /// Returns the remaining records.
    ///
    /// # Errors
    /// The first error in the stream.
    pub async fn collect(self) -> Result<Vec<Record>, Error> {
        self.try_collect().await
    }
}

impl Stream for Records {
    type Item = Result<Record, Error>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let records = self.get_mut();
        let position = records.cursor.position();
        let next = match records.cursor.buffered() {
            Some(record) => Ok(Some(record)),
            None if records.cursor.is_at_end() => Ok(None),
            None => {
                let (set, cursor) = (&records.set, &records.cursor);
                let fetch = || fetch(Arc::clone(set), cursor.clone()).boxed();
                let fetching = records.fetching.get_or_insert_with(fetch);
                let (cursor, next) = ready!(fetching.poll_unpin(context));
                records.fetching = None;
                records.cursor = cursor;
                next
            }
        };
        let connection = &records.set.connection;
        let record = next.transpose();
        Poll::Ready(record.map(|record| connection.record(record?, position)))
    }
}

/// Fetches the next chunk.
async fn fetch(set: Arc<SharedSet>, mut cursor: Cursor) -> Fetched {
    let next = set.connection.until_closed(async {
        let (mut pager, _guard) = set.lock().await?;
        cursor.next(&mut pager).await.transpose()
    });
    let next = next.await;
    if !matches!(next, Ok(Some(_))) {
        cursor.end();
    }
    (cursor, next)
}

/// A stream that is being read. Dropping it also drops a request that has not been answered.
struct Reading<'a>(&'a mut Records);

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.0.fetching = None;
    }
}

impl fmt::Debug for Records {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Records")
            .field("endpoint", &self.set.connection.target.endpoint)
            .field("cursor", &self.cursor)
            .finish_non_exhaustive()
    }
}

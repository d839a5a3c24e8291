//! Reads a result set as a stream of records (Z39.50-2003 §3.1.6, §3.2.3). The record at each position is returned
//! once, in order. Several records, called a chunk, are requested at a time, and their number adapts to the server.

mod chunks;
mod cursor;
mod forms;
mod refusals;

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, Either, ready};
use futures_util::stream::{self, BoxStream};
use futures_util::{FutureExt, StreamExt, TryStreamExt};
use tokio::time::Instant;
use z3950_asn1::apdu::{
    DiagRec, Operand, Query, ResultSetId, RpnQuery, RpnStructure, SortKeySpec, SortRequest,
    SortResponse,
};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::oid::{self, Oid};
use z3950_asn1::types::InternationalString;

use self::chunks::Chunks;
pub(crate) use self::cursor::Cursor;
use self::forms::is_unusable;
pub(crate) use self::forms::{is_empty, is_too_large};
use self::refusals::{
    MAX_UNREADABLE, OF_ONE_RECORD, OF_SYNTAX, TOO_MANY, has_any, in_place_of_unreadable,
    is_in_no_such_syntax, is_of_one_record, is_syntax_refused, is_timeout, unreadable,
};
use crate::error::{Diagnostics, Error, Phase, ProtocolFault};
use crate::protocol::service::ResultRecord;
use crate::protocol::service::delete::{Delete, DeleteResult};
use crate::protocol::service::present::{PresentOptions, PresentResult};
use crate::protocol::service::search::{SearchOptions, SearchResult};
use crate::protocol::session::{Reconnect, Session};
use crate::transport::Timeouts;

/// The options for fetching records. By default, twenty records are requested at a time, in a form chosen by the
/// server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PagerOptions {
    /// The form in which to request the records. Its result set name is replaced with the name in the search.
    pub present: PresentOptions,
    /// Record syntaxes to try one after the other if the server does not support the one in `present`. `None` leaves
    /// the choice to the server.
    pub alternatives: Vec<Option<Oid>>,
    /// Element sets to try one after the other for a record that is empty, or too large even when requested alone. Then
    /// `alternatives` are tried.
    pub element_sets: Vec<InternationalString>,
    /// The number of records per Present. It is reduced if a server refuses to send this many records or sends fewer.
    pub chunk_size: u64,
    /// The number of records per Present up to which chunks may grow while a long range is read. Chunks with many
    /// octets do not grow. By default, no chunks grow.
    pub max_chunk_size: u64,
    /// Whether a record that the server refuses to send is replaced by a diagnostic, so that the records after it can
    /// still be read. If not, the refusal is an error.
    pub takes_refusals: bool,
    /// The handler that opens a new session after the session has been lost. The search is repeated in the new session,
    /// and must find the same number of records.
    pub reconnect: Option<Arc<dyn Reconnect>>,
}

impl Default for PagerOptions {
    fn default() -> Self {
        Self {
            present: PresentOptions::default(),
            alternatives: Vec::new(),
            element_sets: Vec::new(),
            chunk_size: 20,
            max_chunk_size: 0,
            takes_refusals: true,
            reconnect: None,
        }
    }
}

impl PagerOptions {
    /// Switches to the next record syntax. After the last syntax, the first one is next.
    fn change_syntax(&mut self) {
        if !self.alternatives.is_empty() {
            let next = self.alternatives.remove(0);
            let refused = std::mem::replace(&mut self.present.record_syntax, next);
            self.alternatives.push(refused);
            tracing::info!(syntax = ?next, "asking for another record syntax");
        }
    }
}

/// The maximum number of chunks of a long range that are requested before they are needed. The number is also limited
/// by the maximum number of operations in progress.
const CHUNKS_AHEAD: usize = 8;

/// The maximum number of consecutive waits at the request of a server that sends no records in between.
const MAX_WAITS: u32 = 5;
const MAX_WAIT: Duration = Duration::from_secs(60);
/// How long to wait if the server does not state a time, and the minimum wait.
const LEAST_WAIT: Duration = Duration::from_secs(1);

/// The maximum number of diagnostics for one result set that are logged as warnings.
const MAX_REPORTED: usize = 20;

/// A result set on a server. Each position contains a record or a diagnostic in its place.
#[derive(Debug)]
pub struct Pager {
    session: Session,
    query: Query,
    search: SearchOptions,
    options: PagerOptions,
    found: SearchResult,
    /// The keys by which the set was last sorted, or `None` if it has not been sorted.
    sorted_by: Option<Vec<SortKeySpec>>,
    chunks: Chunks,
    /// The number of records in the search response.
    received_with_search: u64,
    /// The first records in the search response, up to the first unusable record.
    pushed: Vec<ResultRecord>,
    /// The requests that have been sent ahead for the next chunks of a long range, in order.
    ahead: VecDeque<Prefetch>,
    /// Whether the server has failed to answer requests that were sent ahead.
    has_tripped: bool,
    /// The number of consecutive unusable records that were not available in any other form.
    without_form: u32,
    /// The number of consecutive records that could not be read.
    unreadable: u32,
    /// The diagnostics that have been logged as warnings.
    reported: Vec<DiagRec>,
}

/// A Present that is sent before its records are needed.
struct Prefetch {
    start: u64,
    count: u64,
    answer: BoxFuture<'static, Result<PresentResult, Error>>,
}

impl fmt::Debug for Prefetch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{}", self.start, self.count)
    }
}

impl Session {
    /// Searches, and returns a pager for the result set. Records in the search response are not requested again.
    ///
    /// # Errors
    /// The errors of [`search`](Self::search).
    pub async fn pager(
        &self,
        query: Query,
        search: &SearchOptions,
        mut options: PagerOptions,
    ) -> Result<Pager, Error> {
        let mut search = search.clone();
        let mut alternatives_left = options.alternatives.len();
        let mut found = loop {
            match self.search(query.clone(), &search).await {
                // One of the first records may have made the answer unreadable, so the search is repeated without records.
                Err(error) if unreadable(&error).is_some() && search.small_set_upper_bound > 0 => {
                    let without = without_records(&search);
                    break self
                        .search(query.clone(), &without)
                        .await
                        .map_err(|_| error)?;
                }
                // Some servers refuse the search because they do not support the record syntax, so the next syntax is tried.
                Err(Error::Refused { diagnostics, .. })
                    if alternatives_left > 0 && has_any(&diagnostics, &OF_SYNTAX) =>
                {
                    alternatives_left -= 1;
                    options.change_syntax();
                    search.record_syntax = options.present.record_syntax;
                }
                result => break result?,
            }
        };
        let mut pushed = std::mem::take(&mut found.records);
        let received_with_search = u64::try_from(pushed.len()).unwrap_or(u64::MAX);
        // Other servers accept the search but refuse to send the records in the requested syntax.
        if pushed.first().is_some_and(is_in_no_such_syntax)
            || has_any(&found.diagnostics, &OF_SYNTAX)
        {
            options.change_syntax();
        }
        // Drop the first unusable record and those after it, so that they are requested again. A record that is too large for
        // this answer may be sent if it is requested alone.
        let may_change = !options.alternatives.is_empty();
        let usable = pushed
            .iter()
            .position(|record| is_unusable(record) || (may_change && is_in_no_such_syntax(record)));
        pushed.truncate(usable.unwrap_or(pushed.len()));
        options.present.result_set = search.result_set.clone();
        Ok(Pager {
            received_with_search,
            pushed,
            ..Pager::new(self, query, search, found, options)
        })
    }

    /// Returns a pager for an existing result set, whose name is in `options.present`. `count` is the number of its
    /// records, if it is known.
    pub fn pager_of(&self, count: Option<u64>, mut options: PagerOptions) -> Pager {
        let mut search = SearchOptions::default();
        search.result_set.clone_from(&options.present.result_set);
        let set = ResultSetId(search.result_set.clone());
        let query = Query::Type1(RpnQuery {
            attribute_set: oid::BIB_1,
            rpn: RpnStructure::Op(Operand::ResultSet(set)),
        });
        let found = SearchResult {
            hits: count.unwrap_or_default(),
            negative_count: count.is_none().then_some(-1),
            ..SearchResult::default()
        };
        // The set exists only in this session, so a new session cannot continue it.
        options.reconnect = None;
        Pager::new(self, query, search, found, options)
    }
}

impl Pager {
    fn new(
        session: &Session,
        query: Query,
        search: SearchOptions,
        found: SearchResult,
        options: PagerOptions,
    ) -> Self {
        Self {
            session: session.clone(),
            query,
            search,
            chunks: Chunks::new(options.chunk_size, options.max_chunk_size),
            options,
            received_with_search: 0,
            pushed: Vec::new(),
            found,
            sorted_by: None,
            ahead: VecDeque::new(),
            has_tripped: false,
            without_form: 0,
            unreadable: 0,
            reported: Vec::new(),
        }
    }

    /// Returns the number of records according to the server, or 0 if it is unknown.
    pub fn count(&self) -> u64 {
        self.found.hits
    }

    /// Returns the number of records and diagnostics in the search response. Unusable records among them are requested
    /// again.
    pub fn received_with_search(&self) -> u64 {
        self.received_with_search
    }

    /// Returns the number of records in the search response that need not be requested again.
    pub(crate) fn piggybacked(&self) -> u64 {
        u64::try_from(self.pushed.len()).unwrap_or(u64::MAX)
    }

    /// Returns the record syntax that is requested now: the syntax in the options, or the alternative that the server
    /// supports.
    pub fn record_syntax(&self) -> Option<Oid> {
        self.options.present.record_syntax
    }

    /// Returns the result of the search. It contains no records, because the pager returns them.
    pub fn found(&self) -> &SearchResult {
        &self.found
    }

    /// Returns the current session. A reconnection replaces it.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Returns the record or diagnostic at a 1-based position.
    ///
    /// # Errors
    /// [`Error::Refused`] for a position outside the set, or the errors of [`Session::present`].
    pub async fn record(&mut self, position: u64) -> Result<ResultRecord, Error> {
        let fetched = self.fetch(position, 1).await?;
        let record = fetched.into_iter().next();
        record.ok_or_else(|| refused(Diagnostics::default()))
    }

    /// Returns `count` records from the 1-based position `start`, or fewer if the set ends earlier.
    ///
    /// # Errors
    /// The errors of [`Session::present`]. [`stream_range`](Self::stream_range) also returns the records before an
    /// error.
    pub async fn range(&mut self, start: u64, count: u64) -> Result<Vec<ResultRecord>, Error> {
        self.stream_range(start, count).try_collect().await
    }

    /// Streams `count` records from the 1-based position `start`, or fewer if the set ends earlier. The stream ends
    /// after an error.
    pub fn stream_range(
        &mut self,
        start: u64,
        count: u64,
    ) -> BoxStream<'_, Result<ResultRecord, Error>> {
        let cursor = Cursor::new(&self.found, start, count);
        let records = stream::unfold((self, cursor), |(set, mut cursor)| async move {
            let record = cursor.next(set).await?;
            Some((record, (set, cursor)))
        });
        records.boxed()
    }

    /// Requests all further records in the form given by these options. The options for chunks and reconnection are not
    /// changed.
    pub(crate) fn set_form(&mut self, options: PagerOptions) {
        self.pushed.clear();
        self.ahead.clear();
        self.without_form = 0;
        let present = PresentOptions {
            result_set: self.options.present.result_set.clone(),
            ..options.present
        };
        self.options = PagerOptions {
            present,
            alternatives: options.alternatives,
            element_sets: options.element_sets,
            ..self.options.clone()
        };
    }

    /// Sorts the set in place by keys, with the most important key first.
    ///
    /// # Errors
    /// The errors of [`Session::sort`].
    pub async fn sort(&mut self, keys: Vec<SortKeySpec>) -> Result<(), Error> {
        self.pushed.clear();
        self.ahead.clear();
        let request = self.sort_request(&keys);
        match self.session.sort(request.clone()).await {
            Err(error) if self.options.reconnect.is_some() && error.is_connection_lost() => {
                self.reopen(&error).await?;
                let sorted = self.session.sort(request).await?;
                self.report_partial(&sorted);
            }
            sorted => self.report_partial(&sorted?),
        }
        self.sorted_by = Some(keys);
        Ok(())
    }

    /// Deletes the result set on the server.
    ///
    /// # Errors
    /// The errors of [`Session::delete`].
    pub async fn delete(self) -> Result<DeleteResult, Error> {
        let names = vec![self.search.result_set.clone()];
        self.session.delete(Delete::Sets(names)).await
    }

    /// Returns at least one and at most `count` records from position `start`.
    async fn fetch(&mut self, start: u64, count: u64) -> Result<Vec<ResultRecord>, Error> {
        if let Some(records) = self.pushed(start, count) {
            self.chunks.grow(&records, Duration::ZERO);
            return Ok(records);
        }
        let mut has_reconnected = false;
        let mut alternatives_left = self.options.alternatives.len();
        let mut waits = 0;
        loop {
            let asking = Instant::now();
            let mut is_ahead = false;
            let (asked, result) = match self.take_ahead(start, count) {
                Some(ahead) => {
                    is_ahead = self.session.max_in_progress() > 1;
                    (ahead.count, ahead.answer.await)
                }
                None => {
                    let asked = self.chunks.at_most(count);
                    let present = &self.options.present;
                    (asked, self.session.present(start, asked, present).await)
                }
            };
            if !is_whole(&result, asked) {
                // The next request starts at a different position, so the answers to requests sent ahead are not
                // needed.
                self.ahead.clear();
            }
            if let Some(wait) = asked_to_wait(&result).filter(|_| waits < MAX_WAITS) {
                waits += 1;
                pause(self.session.timeouts(), wait).await?;
                continue;
            }
            if alternatives_left > 0 && is_syntax_refused(&result) {
                alternatives_left -= 1;
                self.options.change_syntax();
                continue;
            }
            match result.map(|presented| (presented.records, presented.diagnostics)) {
                Ok((mut records, diagnostics)) if !records.is_empty() => {
                    self.unreadable = 0;
                    self.report("with the records came", &diagnostics.0);
                    self.chunks.came(asked, &records, asking.elapsed());
                    // If a later record is not available in the requested syntax, only the records before it are
                    // returned. It is then the first record of the next request, for which the syntax is changed.
                    let others = records.iter().skip(1).position(is_in_no_such_syntax);
                    if let Some(before) = others.filter(|_| !self.options.alternatives.is_empty()) {
                        records.truncate(before + 1);
                    }
                    let records = self.without_oversized(start, asked, records).await?;
                    return self.in_other_forms(start, records).await;
                }
                // Success without records violates the standard, but some servers respond in this way to large
                // requests.
                Ok(_) if asked > 1 => self.chunks.shrink(asked),
                Ok((_, diagnostics)) => return Err(refused(diagnostics)),
                Err(Error::Refused { diagnostics, .. })
                    // A position in the chunk may be out of range, because the server has counted or estimated more records than
                    // there are.
                    if asked > 1
                        && (has_any(&diagnostics, &TOO_MANY)
                            || diagnostics.has(Condition::OUT_OF_RANGE.0)) =>
                {
                    self.chunks.shrink(asked);
                }
                // The chunk may have grown too large, so later chunks have the usual size.
                Err(Error::Refused { .. }) if asked > self.options.chunk_size => {
                    self.chunks.limit(self.options.chunk_size);
                }
                Err(Error::Refused { diagnostics, .. })
                    if asked == 1
                        && self.options.takes_refusals
                        && has_any(&diagnostics, &OF_ONE_RECORD) =>
                {
                    // Only one diagnostic can take the place of the record, so one that is about a single record is preferred.
                    let mut diagnostics = diagnostics.0;
                    let own = diagnostics.iter().position(is_of_one_record);
                    let diagnostic = diagnostics.swap_remove(own.unwrap_or_default());
                    self.report("more than one diagnostic came in place of a record:", &diagnostics);
                    let database = None;
                    let record = ResultRecord::Diagnostic {
                        database,
                        diagnostic,
                    };
                    return self.in_other_forms(start, vec![record]).await;
                }
                Err(error) if unreadable(&error).is_some() && asked > 1 => {
                    self.chunks.shrink(asked);
                }
                Err(error)
                    if !has_reconnected
                        && self.options.reconnect.is_some()
                        && (error.is_connection_lost()
                            || ((is_ahead || asked > self.options.chunk_size)
                                && is_timeout(&error))) =>
                {
                    has_reconnected = true;
                    self.has_tripped |= is_ahead;
                    self.reopen(&error).await?;
                    if !matches!(error, Error::Ended { .. }) {
                        self.chunks.lost(asked, self.options.chunk_size);
                    }
                }
                Err(error) => {
                    let may_go_on = self.options.takes_refusals && self.unreadable < MAX_UNREADABLE;
                    let Some(fault) = unreadable(&error).filter(|_| may_go_on) else {
                        return Err(error);
                    };
                    self.unreadable += 1;
                    return Ok(vec![in_place_of_unreadable(fault)]);
                }
            }
        }
    }

    /// Logs, as warnings, the diagnostics that do not end the request. Each is logged only once.
    fn report(&mut self, what: &str, diagnostics: &[DiagRec]) {
        for diagnostic in diagnostics {
            if self.reported.len() < MAX_REPORTED && !self.reported.contains(diagnostic) {
                tracing::warn!("{what} {diagnostic}");
                self.reported.push(diagnostic.clone());
            }
        }
    }

    fn report_partial(&mut self, sorted: &SortResponse) {
        let diagnostics = sorted.diagnostics.as_deref().unwrap_or_default();
        self.report("the records are sorted in part:", diagnostics);
    }

    /// Takes the request that was sent ahead for the records from position `start`. If there is none, drops all
    /// requests that were sent ahead and returns `None`.
    fn take_ahead(&mut self, start: u64, count: u64) -> Option<Prefetch> {
        let is_next = |ahead: &Prefetch| ahead.start == start && ahead.count <= count;
        if !self.ahead.front().is_some_and(is_next) {
            self.ahead.clear();
        }
        self.ahead.pop_front()
    }

    /// Sends requests for the next chunks of a range before their records are needed. `left` records of the range
    /// remain from position `start`.
    fn look_ahead(&mut self, mut start: u64, mut left: u64) {
        if let Some(last) = self.ahead.back() {
            let next = last.start.saturating_add(last.count);
            left = left.saturating_sub(next.saturating_sub(start));
            start = next;
        }
        let most = if self.has_tripped {
            0
        } else {
            self.session.max_in_progress().min(CHUNKS_AHEAD)
        };
        while left > 0 && self.ahead.len() < most {
            let count = self.chunks.at_most(left);
            let (session, present) = (self.session.clone(), self.options.present.clone());
            let mut answer = async move { session.present(start, count, &present).await }.boxed();
            // The request is sent by polling the future once.
            let answer = match (&mut answer).now_or_never() {
                Some(result) => Either::Left(ready(result)),
                None => Either::Right(answer),
            };
            self.ahead.push_back(Prefetch {
                start,
                count,
                answer: answer.boxed(),
            });
            start = start.saturating_add(count);
            left -= count;
        }
    }

    fn pushed(&self, start: u64, count: u64) -> Option<Vec<ResultRecord>> {
        let skipped = usize::try_from(start.checked_sub(1)?).ok()?;
        let rest = self.pushed.get(skipped..).filter(|rest| !rest.is_empty())?;
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        Some(rest.iter().take(count).cloned().collect())
    }

    /// Handles a record that is too large for a response with other records, but may be sent alone (Z39.50-2003
    /// §3.3.1). Returns the records before it, or fetches the record if it is the first one.
    async fn without_oversized(
        &mut self,
        start: u64,
        asked: u64,
        mut records: Vec<ResultRecord>,
    ) -> Result<Vec<ResultRecord>, Error> {
        let oversized = records.iter().position(is_unusable);
        match oversized.filter(|_| asked > 1) {
            None => Ok(records),
            Some(0) => {
                records.truncate(1);
                let alone = self.session.present(start, 1, &self.options.present).await;
                match alone {
                    Ok(alone) if !alone.records.is_empty() => Ok(alone.records),
                    // The record cannot be sent alone either, so the earlier diagnostic is returned.
                    Ok(_) | Err(Error::Refused { .. }) => Ok(records),
                    Err(error) => Err(error),
                }
            }
            Some(before) => {
                records.truncate(before);
                Ok(records)
            }
        }
    }

    /// Reconnects after the loss of a session, and repeats the search in the new session.
    async fn reopen(&mut self, error: &Error) -> Result<(), Error> {
        let Some(reconnect) = &self.options.reconnect else {
            return Ok(());
        };
        tracing::info!(%error, "session lost, searching again on another");
        let session = reconnect.reconnect().await?;
        self.search_on(&session).await?;
        self.session = session;
        Ok(())
    }

    /// Repeats the search because another search has replaced the result set.
    ///
    /// # Errors
    /// The errors of [`Session::search`], or [`ProtocolFault::ResultSetChanged`] if the number of records has changed.
    pub(crate) async fn search_again(&mut self) -> Result<(), Error> {
        self.search_on(&self.session.clone()).await
    }

    async fn search_on(&mut self, session: &Session) -> Result<(), Error> {
        self.ahead.clear();
        let search = SearchOptions {
            // The facets have already been received, so they are not requested again.
            additional_search_info: None,
            ..without_records(&self.search)
        };
        let found = session.search(self.query.clone(), &search).await?;
        if found.hits != self.found.hits {
            let fault = ProtocolFault::ResultSetChanged {
                was: self.found.hits,
                is: found.hits,
            };
            return Err(Error::fault(Phase::Search, fault));
        }
        if let Some(keys) = &self.sorted_by {
            session.sort(self.sort_request(keys)).await?;
        }
        Ok(())
    }

    fn sort_request(&self, keys: &[SortKeySpec]) -> SortRequest {
        SortRequest {
            other_info: self.search.other_info.clone(),
            ..SortRequest::in_place(self.search.result_set.clone(), keys.to_vec())
        }
    }
}

/// Returns the options for a search whose response contains no records.
fn without_records(search: &SearchOptions) -> SearchOptions {
    SearchOptions {
        small_set_upper_bound: 0,
        large_set_lower_bound: 1,
        medium_set_present_number: 0,
        ..search.clone()
    }
}

/// Returns whether an answer contains all requested records.
fn is_whole(result: &Result<PresentResult, Error>, asked: u64) -> bool {
    let came = |presented: &PresentResult| u64::try_from(presented.records.len());
    result
        .as_ref()
        .is_ok_and(|presented| came(presented) == Ok(asked))
}

/// Returns how long the server asks the client to wait before it requests the same records again (RFC 9110 §10.2.3).
/// Returns `None` if the server does not ask for a wait, or if the wait would be too long.
fn asked_to_wait(result: &Result<PresentResult, Error>) -> Option<Duration> {
    let wait = result.as_ref().err()?.retry_after()?;
    (wait <= MAX_WAIT).then(|| wait.max(LEAST_WAIT))
}

/// Waits as long as the server requests.
async fn pause(timeouts: Timeouts, wait: Duration) -> Result<(), Error> {
    let seconds = wait.as_secs();
    tracing::warn!("the server asks to wait {seconds} s before further records");
    let limit = timeouts.to_deadline();
    limit.hold(Phase::Present, tokio::time::sleep(wait)).await
}

fn refused(diagnostics: Diagnostics) -> Error {
    Error::Refused {
        phase: Phase::Present,
        diagnostics,
    }
}

#[cfg(test)]
mod tests;

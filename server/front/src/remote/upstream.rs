//! One target: its sessions, the searches there that are shared, and pages of their records.

use std::future::Future;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use tokio::time::{Instant, timeout_at};
use z3950::profile::ProfileError;
use z3950::{Client, Connection, Error, Record, ResultSet, TargetLimits, target};
use z3950_server::asn1::apdu::{Query, RpnQuery};
use z3950_server::asn1::bib1::diagnostics::Condition;
use z3950_server::asn1::codec::encode_value;
use z3950_server::{Diagnostic, diagnostic};

use super::failure;
use super::records::RecordCache;
use super::set::RemoteSet;
use super::shared::{MAX_SHARED, SharedSearches};
use super::{RemoteOptions, after};
use crate::lock::lock;

/// A target of a remote database.
pub(super) struct Upstream {
    /// The database of its records: `NAME@TARGET`.
    name: String,
    target: String,
    client: Client,
    slots: Vec<SessionSlot>,
    searches: SharedSearches,
    cache: Arc<RecordCache>,
    time: Duration,
    /// The result sets that may be held at the target, the oldest first.
    held: Mutex<Vec<Weak<RemoteSet>>>,
    /// Whether something looks after idle sessions.
    is_tended: AtomicBool,
}

/// Room for a session.
#[derive(Default)]
struct SessionSlot {
    connection: tokio::sync::Mutex<Option<OpenSession>>,
    /// Operations that use the session or wait for it.
    load: AtomicUsize,
    is_open: AtomicBool,
}

struct OpenSession {
    connection: Connection,
    last_use: Instant,
}

/// How long a session or a result set may be idle before it is given up at the target.
const IDLE: Duration = Duration::from_secs(60);

/// The most result sets held in a session.
const SETS_IN_SESSION: usize = 16;

/// The octets of a page after which the rest is left for later: more than a response may have by default.
const PAGE_OCTETS: usize = 8 << 20;

impl Upstream {
    /// A target of a database; nothing is sent yet.
    ///
    /// # Errors
    /// The target is neither a profile nor an address.
    pub(super) fn new(
        client: &Client,
        options: &RemoteOptions,
        target: &str,
        cache: Arc<RecordCache>,
    ) -> Result<Self, ProfileError> {
        let resolved = client.profiles().resolve(target)?;
        let most = TargetLimits::from(&resolved.profile).sessions;
        let slots = options.sessions.min(most).max(1);
        Ok(Self {
            name: format!("{}@{}", options.name, target::redacted(target)),
            target: target.to_owned(),
            client: client.clone(),
            slots: (0..slots).map(|_| SessionSlot::default()).collect(),
            searches: SharedSearches::new(options.fresh, MAX_SHARED),
            cache,
            time: options.target_time.min(options.total_time),
            held: Mutex::default(),
            is_tended: AtomicBool::new(false),
        })
    }

    /// The database of its records.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Searches, or shares the answer of an equal search. The first `first` records come with it.
    ///
    /// # Errors
    /// Why there is no result.
    pub(super) async fn search(
        self: &Arc<Self>,
        query: &RpnQuery,
        first: u64,
        deadline: Instant,
    ) -> Result<Arc<RemoteSet>, Diagnostic> {
        self.tend();
        let search = async {
            let result = Box::pin(self.open(query, first)).await;
            let result = result.map_err(|error| failure::of_error(&error))?;
            let set = Arc::new(RemoteSet::new(query.clone(), result));
            self.remember(&set);
            Ok(set)
        };
        let key = encode_value(&Query::Type1(query.clone()));
        match key {
            Ok(key) => {
                let answer = self.searches.answer(key, self.within(deadline, search));
                self.within(deadline, answer).await
            }
            Err(_) => self.within(deadline, search).await,
        }
    }

    /// Records of a set, by rank from 1, in order; fewer if they are too many octets for a response. Each is kept for a moment.
    pub(super) async fn page(
        &self,
        set: &RemoteSet,
        ranks: RangeInclusive<u64>,
        deadline: Instant,
    ) -> Vec<Result<Record, Diagnostic>> {
        let mut page = Vec::new();
        let fetch = Box::pin(self.fetch(set, ranks.clone(), &mut page));
        let why = match self.within(deadline, async { Ok(fetch.await) }).await {
            Ok(Ok(())) => return page,
            Ok(Err(why)) | Err(why) => why,
        };
        // The records that were not reached.
        for rank in ranks.skip(page.len()) {
            self.cache.keep(set.number, rank, Err(why.clone()));
            page.push(Err(why.clone()));
        }
        page
    }

    /// # Errors
    /// Why no more records than those of `page` can be had.
    async fn fetch(
        &self,
        set: &RemoteSet,
        ranks: RangeInclusive<u64>,
        page: &mut Vec<Result<Record, Diagnostic>>,
    ) -> Result<(), Diagnostic> {
        let (start, end) = ranks.into_inner();
        let mut held = set.held.lock().await;
        let mut octets: usize = 0;
        // A set that the target has dropped is made again, once.
        let mut may_renew = true;
        loop {
            let next =
                |page: &Vec<_>| start.saturating_add(u64::try_from(page.len()).unwrap_or(u64::MAX));
            held.last_use = Instant::now();
            let mut lost = None;
            if let Some(result) = &held.result {
                let mut records = result.range(next(page)..=end);
                let mut failed = None;
                while octets < PAGE_OCTETS && next(page) <= end {
                    let rank = next(page);
                    // A failure that is not the last one was in the place of a record.
                    let record = match Box::pin(records.next()).await {
                        Some(record) => {
                            if let Some(why) = failed.take() {
                                self.put(set, rank, Err(why), page);
                            }
                            record
                        }
                        None => {
                            lost = failed.take();
                            break;
                        }
                    };
                    match record {
                        Ok(record) => {
                            octets = octets.saturating_add(record.external().octets().len());
                            self.put(set, next(page), Ok(record), page);
                        }
                        Err(why) => failed = Some(why),
                    }
                }
                if let Some(why) = failed {
                    self.put(set, next(page), Err(why), page);
                }
            }
            let is_lost = match (&held.result, &lost) {
                (None, _) => true,
                (_, Some(why)) => failure::is_set_lost(why),
                (_, None) if octets >= PAGE_OCTETS || next(page) > end => return Ok(()),
                (_, None) => return Err(fewer()),
            };
            if !is_lost || !may_renew {
                return Err(lost.map_or_else(fewer, |why| failure::of_error(&why)));
            }
            may_renew = false;
            held.result = None;
            let again = Box::pin(self.open(&set.query, 0)).await;
            let again = again.map_err(|error| failure::of_error(&error))?;
            if !set.is_same(&again) {
                return Err(changed());
            }
            held.result = Some(again);
        }
    }

    fn put(
        &self,
        set: &RemoteSet,
        rank: u64,
        record: Result<Record, Error>,
        page: &mut Vec<Result<Record, Diagnostic>>,
    ) {
        let record = record.map_err(|error| failure::of_error(&error));
        self.cache.keep(set.number, rank, record.clone());
        page.push(record);
    }

    /// Searches in the session that the fewest operations use, which is opened if necessary.
    async fn open(&self, query: &RpnQuery, first: u64) -> Result<ResultSet, Error> {
        let slots = self.slots.iter();
        let busy = |slot: &&SessionSlot| {
            let load = slot.load.load(Ordering::Relaxed);
            (load, !slot.is_open.load(Ordering::Relaxed))
        };
        let Some(slot) = slots.min_by_key(busy) else {
            return Err(Error::Ended { cause: None });
        };
        let _used = SlotUse::of(slot);
        loop {
            let (connection, is_new) = self.connection(slot).await?;
            let found = Box::pin(connection.search_first(query.clone(), first)).await;
            if !matches!(&found, Err(Error::Unavailable { .. } | Error::Ended { .. })) {
                return found;
            }
            *slot.connection.lock().await = None;
            slot.is_open.store(false, Ordering::Relaxed);
            // The session may have ended long before this search.
            if is_new {
                return found;
            }
        }
    }

    /// The connection of a slot, and whether it is new.
    async fn connection(&self, slot: &SessionSlot) -> Result<(Connection, bool), Error> {
        let mut open = slot.connection.lock().await;
        if let Some(open) = &mut *open {
            open.last_use = Instant::now();
            return Ok((open.connection.clone(), false));
        }
        let connection = Box::pin(self.client.connect(&self.target)).await?;
        *open = Some(OpenSession {
            connection: connection.clone(),
            last_use: Instant::now(),
        });
        slot.is_open.store(true, Ordering::Relaxed);
        Ok((connection, true))
    }

    /// # Errors
    /// That there was no answer in time.
    async fn within<T>(
        &self,
        deadline: Instant,
        answer: impl Future<Output = Result<T, Diagnostic>>,
    ) -> Result<T, Diagnostic> {
        let own = after(self.time);
        let answer = timeout_at(own.min(deadline), answer).await;
        answer.unwrap_or_else(|_| Err(failure::too_late(self.time)))
    }

    /// Gives up the oldest sets at the target when there are more than the sessions should hold.
    fn remember(&self, set: &Arc<RemoteSet>) {
        let most = self.slots.len().saturating_mul(SETS_IN_SESSION);
        let mut held = lock(&self.held);
        if held.len() >= most {
            held.retain(|set| set.strong_count() > 0);
        }
        while held.len() >= most {
            if let Some(oldest) = held.remove(0).upgrade()
                && let Ok(mut oldest) = oldest.held.try_lock()
            {
                oldest.result = None;
            }
        }
        held.push(Arc::downgrade(set));
    }

    /// Starts looking after idle sessions and sets, once, until the database is gone.
    fn tend(self: &Arc<Self>) {
        if self.is_tended.swap(true, Ordering::Relaxed) {
            return;
        }
        let upstream = Arc::downgrade(self);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(IDLE / 2).await;
                match upstream.upgrade() {
                    Some(upstream) => upstream.close_idle(),
                    None => return,
                }
            }
        });
    }

    fn close_idle(&self) {
        self.searches.forget_stale();
        let mut sets = lock(&self.held);
        sets.retain(|set| set.strong_count() > 0);
        for set in sets.iter().filter_map(Weak::upgrade) {
            if let Ok(mut held) = set.held.try_lock()
                && held.last_use.elapsed() > IDLE
            {
                held.result = None;
            }
        }
        drop(sets);
        for slot in &self.slots {
            if let Ok(mut open) = slot.connection.try_lock()
                && open
                    .as_ref()
                    .is_some_and(|open| open.last_use.elapsed() > IDLE)
            {
                *open = None;
                slot.is_open.store(false, Ordering::Relaxed);
            }
        }
    }
}

/// One of the operations that use a session or wait for it.
struct SlotUse<'a>(&'a SessionSlot);

impl<'a> SlotUse<'a> {
    fn of(slot: &'a SessionSlot) -> Self {
        slot.load.fetch_add(1, Ordering::Relaxed);
        Self(slot)
    }
}

impl Drop for SlotUse<'_> {
    fn drop(&mut self) {
        self.0.load.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The target finds another number of records than before.
fn changed() -> Diagnostic {
    let words = "the result has changed at the server; search again";
    diagnostic(Condition::SYSTEM_ERROR_PRESENTING, words)
}

/// The target sends fewer records than it counted.
fn fewer() -> Diagnostic {
    let words = "the server has fewer records than it counted";
    diagnostic(Condition::SYSTEM_ERROR_PRESENTING, words)
}

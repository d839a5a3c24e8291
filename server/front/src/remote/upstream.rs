//! One target: its sessions, the searches there that are shared, and pages of their records.

mod idle;

use std::future::Future;
use std::ops::RangeInclusive;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};
use z3950::profile::ProfileError;
use z3950::{Client, Connection, Error, Record, ResultSet, SessionDemand, TargetLimits, target};
use z3950_server::asn1::apdu::{Query, RpnQuery};
use z3950_server::asn1::bib1::diagnostics::Condition;
use z3950_server::asn1::codec::encode_value;
use z3950_server::backend::Caller;
use z3950_server::{Diagnostic, diagnostic};

use super::failure;
use super::queue::{Queue, SessionTurn};
use super::records::RecordCache;
use super::set::{HeldSet, RemoteSet};
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
    /// Who else waits for sessions with the server.
    demand: SessionDemand,
    /// Notified when a session is opened.
    opened: Arc<Notify>,
    queue: Arc<Queue>,
    searches: SharedSearches,
    cache: Arc<RecordCache>,
    time: Duration,
    /// The result sets that may be held at the target, the oldest first.
    held: Mutex<Vec<Weak<RemoteSet>>>,
    /// Whether something looks after idle sessions.
    is_tended: AtomicBool,
}

/// Room for a session. Who has its turn locks it.
#[derive(Default)]
struct SessionSlot {
    state: tokio::sync::Mutex<SlotState>,
    /// Whether there is a session, for those who have not its turn.
    is_open: AtomicBool,
}

#[derive(Default)]
struct SlotState {
    open: Option<OpenSession>,
    /// Counts the sessions so far. Result sets of earlier ones are lost.
    number: u64,
}

struct OpenSession {
    connection: Connection,
    last_use: Instant,
}

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
            demand: client.demand(&resolved.endpoint),
            opened: Arc::default(),
            queue: Arc::new(Queue::new(slots)),
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
        caller: Caller,
        deadline: Instant,
    ) -> Result<Arc<RemoteSet>, Diagnostic> {
        self.tend();
        let search = async {
            let turn = self.turn(caller, None).await?;
            let held = Box::pin(self.open(&turn, query, first)).await;
            let set = match held {
                Ok(held) => {
                    let set = Arc::new(RemoteSet::new(query.clone(), held));
                    self.keep_first(&set).await;
                    self.remember(&set);
                    Ok(set)
                }
                Err(error) => Err(failure::of_error(&error)),
            };
            turn.done();
            set
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
        caller: Caller,
        deadline: Instant,
    ) -> Vec<Result<Record, Diagnostic>> {
        let mut page = Vec::new();
        let fetch = Box::pin(self.fetch(set, ranks.clone(), caller, &mut page));
        let Err(why) = self.within(deadline, fetch).await else {
            return page;
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
        caller: Caller,
        page: &mut Vec<Result<Record, Diagnostic>>,
    ) -> Result<(), Diagnostic> {
        let mut held = set.held.lock().await;
        let turn = self.turn(caller, held.slot()).await?;
        if held.session != self.session_of(&turn).await {
            held.result = None;
        }
        let fetched = self.fetch_in(&turn, &mut held, set, ranks, page).await;
        drop(held);
        turn.done();
        fetched
    }

    async fn fetch_in(
        &self,
        turn: &SessionTurn,
        held: &mut HeldSet,
        set: &RemoteSet,
        ranks: RangeInclusive<u64>,
        page: &mut Vec<Result<Record, Diagnostic>>,
    ) -> Result<(), Diagnostic> {
        let (start, end) = ranks.into_inner();
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
            let again = Box::pin(self.open(turn, &set.query, 0)).await;
            let again = again.map_err(|error| failure::of_error(&error))?;
            let is_same = |result: &ResultSet| set.is_same(result);
            if !again.result.as_ref().is_some_and(is_same) {
                return Err(failure::changed());
            }
            *held = again;
        }
    }

    /// Keeps the records that came with the search.
    async fn keep_first(&self, set: &RemoteSet) {
        let held = set.held.lock().await;
        let Some(result) = &held.result else { return };
        let came = result.piggybacked();
        let mut records = result.range(..=came);
        for rank in 1..=came {
            match Box::pin(records.next()).await {
                Some(Ok(record)) => self.cache.keep(set.number, rank, Ok(record)),
                _ => return,
            }
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

    /// # Errors
    /// There is no session.
    async fn turn(&self, caller: Caller, slot: Option<usize>) -> Result<SessionTurn, Diagnostic> {
        let turn = self.queue.turn(caller, slot).await;
        turn.map_err(|_| failure::unavailable("no session"))
    }

    /// Which session it is that has a turn: a slot, and the number of its session.
    async fn session_of(&self, turn: &SessionTurn) -> (usize, u64) {
        let number = match self.slots.get(turn.slot) {
            Some(slot) => slot.state.lock().await.number,
            None => 0,
        };
        (turn.slot, number)
    }

    /// Searches in the session of a turn, which is opened if necessary, and once more if it turns out to have ended.
    async fn open(
        &self,
        turn: &SessionTurn,
        query: &RpnQuery,
        first: u64,
    ) -> Result<HeldSet, Error> {
        let Some(slot) = self.slots.get(turn.slot) else {
            return Err(Error::Ended { cause: None });
        };
        let mut state = slot.state.lock().await;
        loop {
            let (connection, is_new) = self.connection(slot, &mut state).await?;
            let found = Box::pin(connection.search_first(query.clone(), first)).await;
            match found {
                Err(error @ (Error::Unavailable { .. } | Error::Ended { .. })) => {
                    slot.close(&mut state);
                    // The session may have ended long before this search.
                    if is_new {
                        return Err(error);
                    }
                }
                found => return Ok(HeldSet::new(found?, (turn.slot, state.number))),
            }
        }
    }

    /// The connection of a slot, and whether it is new.
    async fn connection(
        &self,
        slot: &SessionSlot,
        state: &mut SlotState,
    ) -> Result<(Connection, bool), Error> {
        if let Some(open) = &mut state.open {
            open.last_use = Instant::now();
            return Ok((open.connection.clone(), false));
        }
        state.number += 1;
        let connection = Box::pin(self.client.connect(&self.target)).await?;
        state.open = Some(OpenSession {
            connection: connection.clone(),
            last_use: Instant::now(),
        });
        slot.is_open.store(true, Ordering::Release);
        self.opened.notify_one();
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
        let mut answer = pin!(timeout_at(own.min(deadline), answer));
        if let Ok(answer) = answer.as_mut().await {
            return answer;
        }
        // Without a session, nothing was asked that the target could have answered.
        Err(match self.demand.is_crowded() && !self.has_session() {
            true => failure::crowded(self.time),
            false => failure::too_late(self.time),
        })
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
}

/// The target sends fewer records than it counted.
fn fewer() -> Diagnostic {
    let words = "the server has fewer records than it counted";
    diagnostic(Condition::SYSTEM_ERROR_PRESENTING, words)
}

//! A target with its sessions, and the searches, scans and facets that use these sessions.

mod idle;
mod pages;

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};
use tracing::{Instrument, info_span};
use z3950::profile::ProfileError;
use z3950::{Client, Connection, Error, SessionDemand, TargetLimits, target};
use z3950_asn1::apdu::Options;
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::codec::encode_value;
use z3950_asn1::format::facets::FacetList;
use z3950_server::Diagnostic;
use z3950_server::backend::Caller;
use z3950_server::lock;

use super::cache::RecordCache;
use super::facets::terms::bounded;
use super::failure;
use super::form::{FeatureRefusal, SourceForm};
use super::queue::{Queue, SessionTurn};
use super::set::{HeldSet, RemoteSet, TargetQuery};
use super::shared::{MAX_SHARED, MAX_SHARED_FACETS, SharedSearches};
use super::via::load::{ChainLoad, ChainOperation};
use super::{RemoteOptions, after};

/// A target of a remote database.
pub(super) struct Upstream {
    /// The name of the database at this target: `NAME@TARGET`.
    name: String,
    target: String,
    client: Client,
    slots: Vec<SessionSlot>,
    /// The demand of other users for sessions with the same server. If they have to wait, this target closes a session for them.
    demand: SessionDemand,
    /// Notified when a session is opened.
    opened: Arc<Notify>,
    queue: Arc<Queue>,
    searches: SharedSearches<Arc<RemoteSet>>,
    facets: SharedSearches<Option<Arc<FacetList>>>,
    cache: Arc<RecordCache>,
    without_holdings: FeatureRefusal,
    without_facets: FeatureRefusal,
    /// Whether the target granted Scan in the newest session; `true` before the first session.
    scans: AtomicBool,
    /// Whether the target granted Sort in the newest session; `true` before the first session.
    sorts: AtomicBool,
    time: Duration,
    /// The result sets that may be held at the target, oldest first.
    held: Mutex<Vec<Weak<RemoteSet>>>,
    /// Whether a task that closes idle sessions is running.
    is_tended: AtomicBool,
    /// The load of the chain of servers whose searches this target serves; `None` for searches that come directly from clients.
    chain: Option<ChainLoad>,
}

/// A slot for a session, which is locked by the operation that uses the session.
#[derive(Default)]
struct SessionSlot {
    state: tokio::sync::Mutex<SlotState>,
    /// Whether the slot has a session. This can be read without locking `state`.
    is_open: AtomicBool,
}

#[derive(Default)]
struct SlotState {
    open: Option<OpenSession>,
    /// The number of the current session. A result set of a session with a lower number is lost.
    number: u64,
}

struct OpenSession {
    connection: Connection,
    last_use: Instant,
}

/// The maximum number of result sets held in a session.
const SETS_IN_SESSION: usize = 16;

impl Upstream {
    /// Creates a target of a database, without connecting to it.
    ///
    /// # Errors
    /// Fails if the target is neither a profile nor an address.
    pub(super) fn new(
        client: &Client,
        options: &RemoteOptions,
        target: &str,
        cache: Arc<RecordCache>,
        chain: Option<ChainLoad>,
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
            facets: SharedSearches::new(options.fresh, MAX_SHARED_FACETS),
            cache,
            without_holdings: FeatureRefusal::default(),
            without_facets: FeatureRefusal::default(),
            scans: AtomicBool::new(true),
            sorts: AtomicBool::new(true),
            time: options.target_time.min(options.total_time),
            held: Mutex::default(),
            is_tended: AtomicBool::new(false),
            chain,
        })
    }

    /// Returns the name of the target's database.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether the target has granted Scan, as far as is known.
    pub(super) fn scans(&self) -> bool {
        self.scans.load(Ordering::Relaxed)
    }

    /// Returns whether the target has granted Sort, as far as is known.
    pub(super) fn sorts(&self) -> bool {
        self.sorts.load(Ordering::Relaxed)
    }

    /// Returns the form to request from the target if `wanted` is the preferred form.
    pub(super) fn form(&self, wanted: SourceForm) -> SourceForm {
        self.without_holdings.form(wanted)
    }

    /// Returns the last refusal of the optional feature on which a request for records in this form relies; `None` if it does not
    /// rely on any.
    fn refusal(&self, form: SourceForm) -> Option<&FeatureRefusal> {
        (form == SourceForm::Holdings).then_some(&self.without_holdings)
    }

    /// Searches, or shares the answer to an equal search. The first `first` records are fetched with the answer, in the wanted
    /// form if the target supports it.
    ///
    /// # Errors
    /// Fails with the diagnostic that says why there is no result.
    pub(super) async fn search(
        self: &Arc<Self>,
        query: &TargetQuery,
        (first, wanted): (u64, SourceForm),
        caller: &Caller,
        deadline: Instant,
    ) -> Result<Arc<RemoteSet>, Diagnostic> {
        let _operation = self.begin()?;
        self.tend();
        let form = self.form(wanted);
        let search = async {
            let turn = self.turn(caller, None).await?;
            // The span names the target in the client's log events.
            let span = || info_span!("target", name = self.name);
            let held = self.open(&turn, query, (first, form));
            let mut held = Box::pin(held.instrument(span())).await;
            if form == SourceForm::Holdings && held.as_ref().is_err_and(is_session_lost) {
                // Some servers fail because of the request for holdings, so the search is repeated without them.
                let again = self.open(&turn, query, (first, SourceForm::Plain));
                held = Box::pin(again.instrument(span())).await;
                if held.is_ok() {
                    self.without_holdings.note();
                }
            }
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
        let refusal = self.refusal(form);
        match query.encoded() {
            Some(key) => {
                let search = self.within(deadline, refusal, search);
                let answer = self.searches.answer(key, search);
                self.within(deadline, refusal, answer).await
            }
            None => self.within(deadline, refusal, search).await,
        }
    }

    /// Returns the target's facets for a result set; `None` if the target does not support facets. Facets require another search,
    /// whose answer is shared with equal requests.
    pub(super) async fn facets(
        self: &Arc<Self>,
        set: &RemoteSet,
        wanted: Arc<FacetList>,
        caller: &Caller,
        deadline: Instant,
    ) -> Option<Arc<FacetList>> {
        if self.without_facets.is_fresh() {
            return None;
        }
        let key = [set.query.encoded()?, encode_value(&*wanted).ok()?].concat();
        let refusal = Some(&self.without_facets);
        let count = self.ask_of(caller, deadline, refusal, |connection| {
            let connection = connection.with_facets((*wanted).clone());
            async move { connection.search(set.query.rpn.clone()).await }
        });
        let count = async {
            let facets = count.await?.found().facets();
            let facets = facets.filter(|facets| !facets.0.is_empty());
            Ok(facets.map(|facets| Arc::new(bounded(facets, &wanted))))
        };
        let found = self.facets.answer(key, count);
        let found = self.within(deadline, refusal, found).await;
        let found = found.inspect_err(|why| {
            let why = why.addinfo.to_string_lossy();
            tracing::info!(target = self.name, %why, "no facets");
        });
        let has_none = match &found {
            Ok(found) => found.is_none(),
            Err(why) => Condition(why.condition) != Condition::DATABASE_UNAVAILABLE,
        };
        if has_none {
            self.without_facets.note();
        }
        found.ok().flatten()
    }

    /// Sends a request other than a search in a session, and repeats it if the session turns out to have ended.
    ///
    /// # Errors
    /// Fails with the diagnostic that says why there is no answer.
    pub(super) async fn ask<T, F>(
        self: &Arc<Self>,
        caller: &Caller,
        deadline: Instant,
        question: impl Fn(Connection) -> F,
    ) -> Result<T, Diagnostic>
    where
        F: Future<Output = Result<T, Error>>,
    {
        self.ask_of(caller, deadline, None, question).await
    }

    /// Sends a request that relies on an optional feature; a timeout counts as a failure of the feature.
    async fn ask_of<T, F>(
        self: &Arc<Self>,
        caller: &Caller,
        deadline: Instant,
        refusal: Option<&FeatureRefusal>,
        question: impl Fn(Connection) -> F,
    ) -> Result<T, Diagnostic>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let _operation = self.begin()?;
        self.tend();
        let answer = async {
            let turn = self.turn(caller, None).await?;
            let answer = Box::pin(self.in_session(&turn, question)).await;
            turn.done();
            answer
                .map(|(answer, _)| answer)
                .map_err(|error| failure::of_error(&error))
        };
        self.within(deadline, refusal, answer).await
    }

    /// Begins an operation of the target's chain of servers. Returns `None` for a target without a chain.
    ///
    /// # Errors
    /// Fails if too many chains of servers have operations in progress.
    fn begin(&self) -> Result<Option<ChainOperation>, Diagnostic> {
        self.chain.as_ref().map(ChainLoad::begin).transpose()
    }

    /// Waits for a session: any session, or the one in this slot.
    ///
    /// # Errors
    /// Fails if the queue is dropped, which cannot happen while the future borrows it.
    async fn turn(&self, caller: &Caller, slot: Option<usize>) -> Result<SessionTurn, Diagnostic> {
        let turn = self.queue.turn(caller, slot).await;
        turn.map_err(|_| failure::unavailable("no session"))
    }

    /// Returns the session of a turn as its slot and number, and marks it as used now.
    async fn session_of(&self, turn: &SessionTurn) -> (usize, u64) {
        let Some(slot) = self.slots.get(turn.slot) else {
            return (turn.slot, 0);
        };
        let mut state = slot.state.lock().await;
        if let Some(open) = &mut state.open {
            open.last_use = Instant::now();
        }
        (turn.slot, state.number)
    }

    /// Sends a query in the session of a turn, and returns the result set.
    async fn open(
        &self,
        turn: &SessionTurn,
        query: &TargetQuery,
        (first, form): (u64, SourceForm),
    ) -> Result<HeldSet, Error> {
        let search = |connection: Connection| async move {
            let connection = connection.with_form(form.records());
            Box::pin(connection.search_first(query.to_query(), first)).await
        };
        let (result, session) = self.in_session(turn, search).await?;
        Ok(HeldSet::new(result, form, session))
    }

    /// Sends a request in the session of a turn; returns the answer and the session. The session is opened if necessary, and once
    /// more if it turns out to have ended.
    async fn in_session<T, F>(
        &self,
        turn: &SessionTurn,
        question: impl Fn(Connection) -> F,
    ) -> Result<(T, (usize, u64)), Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let Some(slot) = self.slots.get(turn.slot) else {
            return Err(Error::ended());
        };
        let mut state = slot.state.lock().await;
        loop {
            let (connection, is_new) = self.connection(slot, &mut state).await?;
            match question(connection).await {
                Err(error @ (Error::Unavailable { .. } | Error::Ended { .. })) => {
                    slot.close(&mut state);
                    // An older session may have ended long before this request, so the request is repeated in a new session.
                    if is_new {
                        return Err(error);
                    }
                }
                answer => return Ok((answer?, (turn.slot, state.number))),
            }
        }
    }

    /// Returns the connection of a slot, and whether it is new.
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
        if let Some(session) = connection.as_z3950().await {
            let granted = session.server_info().options;
            self.scans
                .store(granted.contains(Options::SCAN), Ordering::Relaxed);
            self.sorts
                .store(granted.contains(Options::SORT), Ordering::Relaxed);
        }
        state.open = Some(OpenSession {
            connection: connection.clone(),
            last_use: Instant::now(),
        });
        slot.is_open.store(true, Ordering::Release);
        self.opened.notify_one();
        Ok((connection, true))
    }

    /// Waits for an answer until the target's time limit or the deadline, whichever comes first.
    ///
    /// # Errors
    /// Fails if the answer is late. An optional feature in the request may be the reason, so it is then marked as failed.
    async fn within<T>(
        &self,
        deadline: Instant,
        refusal: Option<&FeatureRefusal>,
        answer: impl Future<Output = Result<T, Diagnostic>>,
    ) -> Result<T, Diagnostic> {
        let own = after(self.time);
        let mut answer = pin!(timeout_at(own.min(deadline), answer));
        if let Ok(answer) = answer.as_mut().await {
            return answer;
        }
        // Without a session, the target has not received any request, so it is not reported as too slow.
        Err(if self.demand.is_crowded() && !self.has_session() {
            failure::crowded(self.time)
        } else {
            if let Some(refusal) = refusal.filter(|_| self.has_session()) {
                refusal.note();
            }
            failure::too_late(self.time)
        })
    }

    /// Remembers a set, and deletes the oldest sets at the target if there are more than the sessions should hold.
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

/// Returns whether the error means that the session ended.
fn is_session_lost(error: &Error) -> bool {
    error.is_connection_lost() || matches!(error, Error::ProtocolError { .. })
}

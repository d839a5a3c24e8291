//! What the operations of an open session share (Z39.50-2003 §3.1.1, §3.1.6, §3.2.1): the agreed options, the user and the
//! result sets; and how operations in progress are stopped, by the client's TriggerResourceControl (§3.2.6.2) or by the server.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::ops::Deref;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::task::Poll;

use futures_util::future::{Either, select};
use tokio::sync::Notify;
use z3950_asn1::apdu::{
    Apdu, DatabaseName, Options, ReferenceId, RequestedAction, ResourceControlRequest,
    TriggerResourceControlRequest,
};

use crate::access::User;
use crate::backend::{Answer, Backend, Caller, ResultSet};
use crate::diagnostic::{Condition, Diagnostic, diagnostic};
use crate::explain::EXPLAIN_DATABASE;
use crate::extended::{EXTEND_DATABASE, PackageDatabase};
use crate::limits::Limits;
use crate::lock::lock;
use crate::target::{Seat, Target};

/// The shared state of an open session.
pub(crate) struct Association {
    pub(crate) target: Arc<Target>,
    /// The session, for the backend.
    pub(crate) caller: Caller,
    pub(crate) terms: Terms,
    /// The user, once the client has authenticated.
    seat: OnceLock<Seat>,
    result_sets: Mutex<ResultSets>,
    usage: Mutex<Usage>,
    /// The database IR-Extend-1 as this user sees it, made on first use.
    packages: OnceLock<Arc<PackageDatabase>>,
}

/// What was agreed on at Init (Z39.50-2003 §3.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Terms {
    /// The protocol version, 1 to 3.
    pub(crate) version: u8,
    /// The options in effect.
    pub(crate) options: Options,
    /// Octets of the records in one response.
    pub(crate) preferred_message_size: usize,
    /// Octets of a record that is requested alone; at least the preferred message size.
    pub(crate) exceptional_record_size: usize,
    /// Whether the client must authenticate before its first operation.
    pub(crate) unproved: bool,
}

/// What a session has done so far, for resource reports (Z39.50-2003 §3.2.6.3).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    pub(crate) searches: usize,
    /// Records found by the last search.
    pub(crate) found: usize,
    /// Records sent by all operations.
    pub(crate) records: usize,
}

impl Association {
    pub(crate) fn new(target: Arc<Target>, terms: Terms, seat: Option<Seat>) -> Self {
        Self {
            result_sets: Mutex::new(ResultSets::new(&target.limits)),
            target,
            caller: Caller::new(),
            terms,
            seat: seat.map(OnceLock::from).unwrap_or_default(),
            usage: Mutex::default(),
            packages: OnceLock::new(),
        }
    }

    /// How many operations may run at the same time.
    pub(crate) fn most_operations(&self) -> usize {
        match self.terms.options.contains(Options::CONCURRENT_OPERATIONS) {
            true => self.target.limits.concurrent_operations.max(1),
            false => 1,
        }
    }

    pub(crate) fn result_sets(&self) -> MutexGuard<'_, ResultSets> {
        lock(&self.result_sets)
    }

    pub(crate) fn usage(&self) -> MutexGuard<'_, Usage> {
        lock(&self.usage)
    }

    /// The user, if the client has authenticated.
    pub(crate) fn user(&self) -> Option<&User> {
        self.seat.get().and_then(Seat::user)
    }

    /// Whether the client must still authenticate.
    pub(crate) fn is_unproved(&self) -> bool {
        self.terms.unproved && self.seat.get().is_none()
    }

    /// Sets the user. A user that is already set is kept.
    pub(crate) fn take_seat(&self, seat: Seat) {
        let _ = self.seat.set(seat);
    }

    /// Whether a result set may have this name.
    ///
    /// # Errors
    /// Condition 22 for any name but `default` (§3.2.2.1.4) where named result sets are not offered.
    pub(crate) fn check_set_name(&self, name: &[u8]) -> Result<(), Diagnostic> {
        let offered = self.target.offer.options;
        if name == b"default" || offered.contains(Options::NAMED_RESULT_SETS) {
            return Ok(());
        }
        Err(diagnostic(Condition::RESULT_SET_NAMING, name))
    }

    /// The backend of the databases that a request names.
    ///
    /// # Errors
    /// Condition 23 for no database or a combination that cannot be searched, 111 for more databases than the limit, 236 for
    /// a database that the user may not search.
    pub(crate) fn backend_of(
        &self,
        databases: &[DatabaseName],
    ) -> Result<Arc<dyn Backend>, Diagnostic> {
        let most = self.target.limits.databases_per_search;
        if let [database] = databases
            && let Some(own) = self.own_database(&database.0.to_string_lossy())
        {
            return Ok(own);
        }
        if databases.is_empty() {
            return Err(diagnostic(Condition::COMBINATION, "no database is named"));
        }
        if databases.len() > most {
            return Err(diagnostic(Condition::TOO_MANY_DATABASES, most.to_string()));
        }
        let is = |name: &DatabaseName, special: &str| {
            let name = name.0.to_string_lossy();
            name.eq_ignore_ascii_case(special)
        };
        let mut special = self.target.special.iter();
        let special = special.find(|(special, _)| databases.iter().any(|name| is(name, special)));
        let backend = match special {
            Some((special, _)) if databases.len() > 1 => {
                return Err(diagnostic(Condition::COMBINATION, special));
            }
            Some((_, own)) => own,
            None => &self.target.backend,
        };
        if let Some(user) = self.user() {
            let is_denied = |name: &&DatabaseName| !user.may_have(&name.0.to_string_lossy());
            if let Some(denied) = databases.iter().find(is_denied) {
                let name = denied.0.as_bytes();
                return Err(diagnostic(Condition::DATABASE_ACCESS_DENIED, name));
            }
        }
        Ok(Arc::clone(backend))
    }

    /// The server's own database of this name: IR-Explain-1 or IR-Extend-1.
    fn own_database(&self, name: &str) -> Option<Arc<dyn Backend>> {
        let offer = &self.target.offer;
        if offer.explain && name.eq_ignore_ascii_case(EXPLAIN_DATABASE) {
            return Some(self.target.explain());
        }
        let has_tasks = offer.options.contains(Options::EXTENDED_SERVICES);
        (has_tasks && name.eq_ignore_ascii_case(EXTEND_DATABASE)).then(|| {
            let packages = self.packages.get_or_init(|| {
                let user = self.user().map(|user| user.name.clone());
                Arc::new(PackageDatabase::new(Arc::clone(&self.target.tasks), user))
            });
            Arc::clone(packages) as Arc<dyn Backend>
        })
    }

    /// Adds the persistent result sets whose packages have been presented (Z39.50-2003 Appendix EXT.1.1). Sets that do not
    /// fit are left out, and a later request for them fails.
    pub(crate) fn open_persistent_sets(&self) {
        let opened = self.packages.get().map(|packages| packages.take_opened());
        for (name, set) in opened.into_iter().flatten() {
            let _ = self.result_sets().keep(&name, set);
        }
    }
}

/// A handle on the operations in progress, for the task that reads the client's next requests.
#[derive(Clone, Default)]
pub struct Interrupt(Arc<Inner>);

#[derive(Default)]
struct Inner {
    running: Mutex<Vec<Running>>,
    /// Wakes operations when one of them is stopped.
    stopped: Notify,
}

/// The entry of an operation in progress.
struct Running {
    number: u64,
    reference_id: Option<ReferenceId>,
    /// The diagnostic to end with, once the operation is stopped.
    stopped: Option<Diagnostic>,
    /// Whether resource control is in effect, so that the client can be sent reports.
    resource_control: bool,
}

/// An operation in progress, within its association. Its entry is removed when it is dropped.
pub(crate) struct Operation {
    association: Arc<Association>,
    inner: Arc<Inner>,
    number: u64,
    pub(crate) reference_id: Option<ReferenceId>,
    /// The held request to carry out, if the request just received answers the server's question about it.
    pub(crate) held: Option<Box<Apdu>>,
}

impl Interrupt {
    /// Takes a request that arrives while the session is busy. Returns what to send at once, or `None` if the request
    /// has to wait for its turn. Only TriggerResourceControl is taken; it has no effect if it names no operation in
    /// progress.
    pub fn take(&self, request: &Apdu) -> Option<Vec<Apdu>> {
        let Apdu::TriggerResourceControlRequest(trigger) = request else {
            return None;
        };
        let mut running = lock(&self.0.running);
        if running.is_empty() {
            return None;
        }
        let mut operations = running.iter_mut();
        let Some(operation) =
            operations.find(|operation| operation.reference_id == trigger.reference_id)
        else {
            return Some(Vec::new());
        };
        if trigger.requested_action == RequestedAction::CANCEL {
            operation.stopped = Some(diagnostic(Condition::CANCELLED, ""));
            self.0.stopped.notify_waiters();
            return Some(Vec::new());
        }
        let report = operation.resource_control.then(|| report(trigger).into());
        Some(report.into_iter().collect())
    }

    /// Stops the operation of this referenceId, which then fails with the diagnostic; a Present returns the records that it has.
    /// Does nothing if there is no such operation.
    pub fn stop(&self, reference_id: Option<&ReferenceId>, why: Diagnostic) {
        let mut running = lock(&self.0.running);
        let mut operations = running.iter_mut();
        let operation =
            operations.find(|operation| operation.reference_id.as_ref() == reference_id);
        if let Some(operation) = operation.filter(|operation| operation.stopped.is_none()) {
            operation.stopped = Some(why);
            self.0.stopped.notify_waiters();
        }
    }

    /// Adds the entry of an operation that begins.
    pub(crate) fn begin(
        &self,
        association: Arc<Association>,
        reference_id: Option<ReferenceId>,
        held: Option<Box<Apdu>>,
    ) -> Operation {
        let mut running = lock(&self.0.running);
        let number = running.last().map_or(0, |last| last.number.wrapping_add(1));
        // Most sessions run one operation at a time.
        running.reserve_exact(1);
        running.push(Running {
            number,
            reference_id: reference_id.clone(),
            stopped: None,
            resource_control: association
                .terms
                .options
                .contains(Options::RESOURCE_CONTROL),
        });
        Operation {
            association,
            inner: Arc::clone(&self.0),
            number,
            reference_id,
            held,
        }
    }
}

impl Deref for Operation {
    type Target = Association;

    fn deref(&self) -> &Association {
        &self.association
    }
}

impl Operation {
    pub(crate) fn is_stopped(&self) -> bool {
        self.why_stopped().is_some()
    }

    /// Waits for the backend's answer. If the operation is stopped first, fails with the reason: 105 if the client
    /// cancelled it.
    pub(crate) async fn or_stopped<T>(&self, mut answer: Answer<'_, T>) -> Result<T, Diagnostic> {
        // Most answers are ready at once.
        match poll_fn(|context| Poll::Ready(answer.as_mut().poll(context))).await {
            Poll::Ready(answer) => return answer,
            Poll::Pending => {}
        }
        // Boxed, so that the future stays small for answers that are ready.
        Box::pin(async {
            match select(answer, pin!(self.stopped())).await {
                Either::Left((answer, _)) => answer,
                Either::Right((why, _)) => Err(why),
            }
        })
        .await
    }

    async fn stopped(&self) -> Diagnostic {
        loop {
            let mut notified = pin!(self.inner.stopped.notified());
            // Registered before the check, so that no notification is missed.
            notified.as_mut().enable();
            if let Some(why) = self.why_stopped() {
                return why;
            }
            notified.await;
        }
    }

    fn why_stopped(&self) -> Option<Diagnostic> {
        let running = lock(&self.inner.running);
        let mut operations = running.iter();
        let operation = operations.find(|operation| operation.number == self.number)?;
        operation.stopped.clone()
    }
}

impl Drop for Operation {
    fn drop(&mut self) {
        lock(&self.inner.running).retain(|operation| operation.number != self.number);
    }
}

/// A report that the client need not answer. It has no figures, because backends report none.
fn report(trigger: &TriggerResourceControlRequest) -> ResourceControlRequest {
    ResourceControlRequest {
        reference_id: trigger.reference_id.clone(),
        suspended_flag: Some(false),
        triggered_request_flag: Some(true),
        ..ResourceControlRequest::default()
    }
}

/// Result sets by name, which is compared octet for octet (§3.2.2.1.4), limited in number and in total hits.
#[derive(Debug)]
pub(crate) struct ResultSets {
    sets: BTreeMap<Box<[u8]>, NamedSet>,
    hits: usize,
    /// A counter for `last_use`.
    uses: u64,
    max_sets: usize,
    max_hits: usize,
}

/// The entry of a name.
#[derive(Debug)]
struct NamedSet {
    /// `None` after the set was evicted.
    set: Option<ResultSet>,
    last_use: u64,
}

impl ResultSets {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            sets: BTreeMap::new(),
            hits: 0,
            uses: 0,
            max_sets: limits.result_sets,
            max_hits: limits.hits,
        }
    }

    /// The set of this name, which shares its hits.
    ///
    /// # Errors
    /// Condition 30 with the name if there is none, 27 if it was evicted.
    pub(crate) fn find(&self, name: &[u8]) -> Result<ResultSet, Diagnostic> {
        match self.sets.get(name) {
            Some(NamedSet { set: Some(set), .. }) => Ok(set.clone()),
            Some(NamedSet { set: None, .. }) => {
                Err(diagnostic(Condition::RESULT_SET_DELETED, name))
            }
            None => Err(diagnostic(Condition::RESULT_SET_DOES_NOT_EXIST, name)),
        }
    }

    pub(crate) fn has(&self, name: &[u8]) -> bool {
        self.find(name).is_ok()
    }

    /// [`ResultSets::find`], and marks the set as used.
    pub(crate) fn look_up(&mut self, name: &[u8]) -> Result<ResultSet, Diagnostic> {
        self.uses += 1;
        if let Some(kept) = self.sets.get_mut(name) {
            kept.last_use = self.uses;
        }
        self.find(name)
    }

    /// Whether there is room for a set of this name; checked before a search.
    ///
    /// # Errors
    /// Condition 112 with the largest number of sets.
    pub(crate) fn check_room(&self, name: &[u8]) -> Result<(), Diagnostic> {
        if self.sets.len() < self.max_sets || self.sets.contains_key(name) {
            return Ok(());
        }
        let most = self.max_sets.to_string();
        Err(diagnostic(Condition::TOO_MANY_RESULT_SETS, most))
    }

    /// Keeps a set, replacing an earlier one of that name and evicting the least recently used ones.
    ///
    /// # Errors
    /// Condition 31 if its hits alone are too many, and 112 as [`ResultSets::check_room`]. The earlier set is deleted in either
    /// case.
    pub(crate) fn keep(&mut self, name: &[u8], set: ResultSet) -> Result<(), Diagnostic> {
        self.check_room(name)?;
        let hits = set.hits.len();
        if hits > self.max_hits {
            self.delete(name);
            return Err(diagnostic(Condition::RESOURCES_EXHAUSTED, ""));
        }
        if let Some(earlier) = self.sets.get_mut(name).and_then(|kept| kept.set.take()) {
            self.hits = self.hits.saturating_sub(earlier.hits.len());
        }
        while self.hits.saturating_add(hits) > self.max_hits {
            self.evict();
        }
        self.hits += hits;
        self.uses += 1;
        let new = NamedSet {
            set: Some(set),
            last_use: self.uses,
        };
        match self.sets.get_mut(name) {
            Some(kept) => *kept = new,
            None => {
                self.sets.insert(name.into(), new);
            }
        }
        Ok(())
    }

    /// Deletes a set; returns whether there was one.
    pub(crate) fn delete(&mut self, name: &[u8]) -> bool {
        let deleted = self.sets.remove(name).and_then(|kept| kept.set);
        if let Some(set) = &deleted {
            self.hits = self.hits.saturating_sub(set.hits.len());
        }
        deleted.is_some()
    }

    pub(crate) fn clear(&mut self) {
        self.sets.clear();
        self.hits = 0;
    }

    /// Drops the least recently used set, but keeps its name.
    fn evict(&mut self) {
        let sets = self.sets.values_mut();
        let filled = sets.filter(|kept| kept.set.as_ref().is_some_and(|set| !set.hits.is_empty()));
        match filled.min_by_key(|kept| kept.last_use) {
            Some(kept) => {
                let hits = kept.set.take().map_or(0, |set| set.hits.len());
                self.hits = self.hits.saturating_sub(hits);
            }
            None => self.hits = 0,
        }
    }
}

#[cfg(test)]
mod tests;

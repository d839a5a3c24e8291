//! Commits changes, which become visible in the order in which they were made. Changes to a saved database become visible once
//! they are durable. Changes that arrive during a commit share the next one. Segments are merged concurrently with changes and
//! commits.

use std::collections::VecDeque;
use std::sync::{Arc, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::catalogue::{Catalogue, RecordChange};
use super::merge::Merge;
use super::update::{self, Changed, Outcomes};
use super::{MemoryBackend, Shared};
use crate::backend::Update;
use crate::diagnostic::{Condition, Diagnostic, diagnostic};
use crate::headroom::Headroom;
use crate::lock::{lock, try_lock};

/// The number of times that a quick change yields its processor while it waits for the queue, before it is moved to another
/// thread. Another quick change holds the queue for only a few of these yields.
const ATTEMPTS: usize = 32;
/// The maximum time that a commit waits for further changes.
const GATHERING: Duration = Duration::from_millis(1);

/// The changes that are waiting for a commit.
#[derive(Debug, Default)]
pub(super) struct CommitQueue {
    waiting: VecDeque<WaitingChange>,
    /// The catalogue after all changes made so far; `None` if it is the visible catalogue.
    newest: Option<Arc<Catalogue>>,
    /// Whether [`MemoryBackend::commit`] is running or about to run.
    is_committing: bool,
    /// Whether [`MemoryBackend::merge`] is running or about to run.
    is_merging: bool,
}

#[derive(Debug)]
struct WaitingChange {
    database: u16,
    changes: Vec<RecordChange>,
    catalogue: Arc<Catalogue>,
    done: oneshot::Sender<Commit>,
}

/// The result of committing a change.
#[derive(Clone, Debug)]
pub(super) enum Commit {
    /// The change is visible, and durable if its database is saved.
    Done,
    /// The change cannot be saved, so it was not made.
    Failed(Diagnostic),
    /// The catalogue that the change was based on has been replaced, so the change must be made again.
    Overtaken,
}

/// The state of a change: still being made, or waiting for its commit.
pub(super) enum Begun {
    Done(Outcomes),
    Waiting(Outcomes, oneshot::Receiver<Commit>),
}

impl MemoryBackend {
    /// Makes a change, and queues it for a commit.
    ///
    /// # Errors
    /// Fails with condition 235 if the database does not exist, or with 220 if there is not enough memory for more records.
    pub(super) fn change(&self, update: &Update<'_>) -> Result<Begun, Diagnostic> {
        let headroom = self.headroom();
        self.changed(lock(&self.0.queue), update, headroom)
    }

    /// Makes a small change, which takes a few microseconds, like [`MemoryBackend::change`]. Returns `None` for a larger
    /// change, or if another change holds the queue for too long.
    pub(super) fn change_at_once(&self, update: &Update<'_>) -> Option<Result<Begun, Diagnostic>> {
        if !update::is_quick(update) {
            return None;
        }
        let headroom = self.headroom();
        for _ in 0..ATTEMPTS {
            match try_lock(&self.0.queue) {
                Some(queue) => return Some(self.changed(queue, update, headroom)),
                None => thread::yield_now(),
            }
        }
        None
    }

    fn changed(
        &self,
        mut queue: MutexGuard<'_, CommitQueue>,
        update: &Update<'_>,
        headroom: Option<Headroom>,
    ) -> Result<Begun, Diagnostic> {
        let newest = self.newest(&queue);
        let Changed {
            outcomes,
            number,
            catalogue,
            changes,
        } = match update::changed(&newest, update, headroom)? {
            Ok(changed) => changed,
            Err(outcomes) => return Ok(Begun::Done(outcomes)),
        };
        let catalogue = Arc::new(catalogue);
        let databases = catalogue.databases.get(usize::from(number));
        let is_saved = databases.is_some_and(|database| database.is_saved());
        if !is_saved && !queue.is_committing {
            self.replace(Arc::clone(&catalogue));
            self.merge_if_due(queue, &catalogue);
            return Ok(Begun::Done(outcomes));
        }
        let (done, is_done) = oneshot::channel();
        queue.newest = Some(Arc::clone(&catalogue));
        queue.waiting.push_back(WaitingChange {
            database: number,
            changes,
            catalogue,
            done,
        });
        let begins = !std::mem::replace(&mut queue.is_committing, true);
        drop(queue);
        if begins {
            let backend = self.clone();
            aside(move || backend.commit());
        }
        Ok(Begun::Waiting(outcomes, is_done))
    }

    /// Returns the catalogue after all changes made so far.
    fn newest(&self, queue: &CommitQueue) -> Arc<Catalogue> {
        let newest = queue.newest.clone();
        newest.unwrap_or_else(|| self.current())
    }

    /// Commits the waiting changes, group by group.
    fn commit(&self) {
        let _cleared = ClearOnPanic(&self.0, |queue| {
            queue.overtake();
            queue.is_committing = false;
        });
        loop {
            self.gather();
            let mut files = lock(&self.0.files);
            let group = {
                let mut queue = lock(&self.0.queue);
                let group = queue.group();
                queue.is_committing = !group.is_empty();
                group
            };
            let Some(last) = group.last() else { return };
            let database = last.database;
            let mut catalogue = Arc::clone(&last.catalogue);
            let changes = group.iter().flat_map(|change| &change.changes);
            let saved = files.commit(&catalogue, database, changes);
            let mut queue = lock(&self.0.queue);
            let outcome = match saved {
                Ok(()) => {
                    // A merge may have created a newer catalogue in the meantime, which then becomes visible instead.
                    if queue.waiting.is_empty() {
                        catalogue = queue.newest.take().unwrap_or(catalogue);
                    }
                    self.replace(Arc::clone(&catalogue));
                    self.merge_if_due(queue, &catalogue);
                    Commit::Done
                }
                Err(diagnostic) => {
                    queue.overtake();
                    Commit::Failed(diagnostic)
                }
            };
            let is_due = files.is_due(database);
            drop(files);
            for change in group {
                // Sending fails if the client has disconnected, and then the outcome is not needed.
                let _ = change.done.send(outcome.clone());
            }
            if is_due {
                let backend = self.clone();
                aside(move || backend.fold_when_due(database));
            }
        }
    }

    /// Waits briefly for further changes before a commit: yields the processor until a yield passes in which no new change
    /// arrives. If no other thread wants the processor, this takes a microsecond.
    fn gather(&self) {
        let begun = Instant::now();
        let mut joined = 0;
        loop {
            let waiting = lock(&self.0.queue).waiting.len();
            if waiting <= joined || begun.elapsed() > GATHERING {
                return;
            }
            joined = waiting;
            thread::yield_now();
        }
    }

    /// Starts merging segments if a merge is due and none is running.
    fn merge_if_due(&self, mut queue: MutexGuard<'_, CommitQueue>, catalogue: &Catalogue) {
        if queue.is_merging || Merge::due(&catalogue.index, None).is_none() {
            return;
        }
        queue.is_merging = true;
        drop(queue);
        let backend = self.clone();
        aside(move || backend.merge());
    }

    /// Performs all merges that are due, while changes continue.
    fn merge(&self) {
        let _cleared = ClearOnPanic(&self.0, |queue| queue.is_merging = false);
        loop {
            let headroom = self.headroom();
            let (due, fields) = {
                let mut queue = lock(&self.0.queue);
                let newest = self.newest(&queue);
                let due = Merge::due(&newest.index, headroom);
                queue.is_merging = due.is_some();
                (due, Arc::clone(&newest.fields))
            };
            let Some(due) = due else { return };
            let merged = due.perform(&fields);
            let mut queue = lock(&self.0.queue);
            // If the records in the segments do not fit into one segment, the segments stay as they are.
            let Ok(merged) = merged else {
                queue.is_merging = false;
                return;
            };
            let newest = self.newest(&queue);
            // If a reload has replaced the segments, the merge is dropped.
            if let Some(index) = merged.put_into(&newest.index) {
                let catalogue = Arc::new(newest.merged(index));
                match &mut queue.newest {
                    Some(newest) => *newest = catalogue,
                    None => self.replace(catalogue),
                }
            }
        }
    }

    /// Replaces the databases with a catalogue that does not include the changes made so far; waiting changes are made again.
    pub(super) fn overtake(&self, catalogue: Catalogue) {
        let mut queue = lock(&self.0.queue);
        queue.overtake();
        self.replace(Arc::new(catalogue));
    }
}

impl CommitQueue {
    /// Returns the number of waiting changes.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Removes and returns the changes for the next commit, all of which concern one database.
    fn group(&mut self) -> Vec<WaitingChange> {
        let mut waiting = self.waiting.iter();
        let first = waiting.next().map(|change| change.database);
        let others = waiting.take_while(|change| Some(change.database) == first);
        let length = usize::from(first.is_some()) + others.count();
        self.waiting.drain(..length).collect()
    }

    /// Marks all waiting changes as overtaken, so that they are made again.
    fn overtake(&mut self) {
        self.newest = None;
        for change in self.waiting.drain(..) {
            let _ = change.done.send(Commit::Overtaken);
        }
    }
}

impl Commit {
    /// Returns the result of a change whose commit panicked.
    pub(super) fn lost() -> Self {
        Self::Failed(diagnostic(Condition::TEMPORARY_SYSTEM_ERROR, ""))
    }
}

/// Clears the queue's flag if a commit or merge panics, so that later commits or merges can run.
struct ClearOnPanic<'a>(&'a Shared, fn(&mut CommitQueue));

impl Drop for ClearOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.1(&mut lock(&self.0.queue));
        }
    }
}

/// Runs work on another thread if there is a runtime; otherwise, on this thread.
fn aside(work: impl FnOnce() + Send + 'static) {
    match Handle::try_current() {
        Ok(runtime) => drop(runtime.spawn_blocking(work)),
        Err(_) => work(),
    }
}

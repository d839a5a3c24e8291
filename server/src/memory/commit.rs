//! Commits: changes become visible in their order, and those of a saved database once they are durable. Changes that arrive while a
//! commit runs share the next one.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread;

use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::catalogue::{Catalogue, RecordChange};
use super::update::{self, Changed, Outcomes};
use super::{MemoryBackend, Shared};
use crate::backend::Update;
use crate::diagnostic::{Condition, Diagnostic, diagnostic};
use crate::lock::lock;

/// The changes that wait for a commit.
#[derive(Debug, Default)]
pub(super) struct CommitQueue {
    waiting: VecDeque<WaitingChange>,
    /// The catalogue after all changes made so far; `None` if that is the visible one.
    newest: Option<Arc<Catalogue>>,
    /// Whether [`MemoryBackend::commit`] runs or is about to.
    is_committing: bool,
}

#[derive(Debug)]
struct WaitingChange {
    database: u16,
    changes: Vec<RecordChange>,
    catalogue: Arc<Catalogue>,
    done: oneshot::Sender<Commit>,
}

/// What became of a change.
#[derive(Clone, Debug)]
pub(super) enum Commit {
    /// It is visible, and durable if its database is saved.
    Done,
    /// It cannot be saved, and is not made.
    Failed(Diagnostic),
    /// What it was built on is gone: it has to be made again.
    Overtaken,
}

/// A change that is made, or waits for its commit.
pub(super) enum Begun {
    Done(Outcomes),
    Waiting(Outcomes, oneshot::Receiver<Commit>),
}

impl MemoryBackend {
    /// Makes a change, and has it committed.
    ///
    /// # Errors
    /// 235 if the database does not exist, 220 if the memory for more records is short.
    pub(super) fn change(&self, update: &Update<'_>) -> Result<Begun, Diagnostic> {
        let mut queue = lock(&self.0.queue);
        let newest = queue.newest.clone();
        let newest = newest.unwrap_or_else(|| self.current());
        let Changed {
            outcomes,
            number,
            catalogue,
            changes,
        } = match update::changed(&newest, update, self.headroom())? {
            Ok(changed) => changed,
            Err(outcomes) => return Ok(Begun::Done(outcomes)),
        };
        let catalogue = Arc::new(catalogue);
        let databases = catalogue.databases.get(usize::from(number));
        let is_saved = databases.is_some_and(|database| database.is_saved());
        if !is_saved && !queue.is_committing {
            self.replace(catalogue);
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

    /// Commits the waiting changes, group by group.
    fn commit(&self) {
        let _cleared = ClearOnPanic(&self.0);
        loop {
            let mut files = lock(&self.0.files);
            let group = {
                let mut queue = lock(&self.0.queue);
                let group = queue.group();
                queue.is_committing = !group.is_empty();
                group
            };
            let Some(last) = group.last() else { return };
            let database = last.database;
            let catalogue = Arc::clone(&last.catalogue);
            let changes = group.iter().flat_map(|change| &change.changes);
            let saved = files.commit(&catalogue, database, changes);
            let mut queue = lock(&self.0.queue);
            let outcome = match saved {
                Ok(()) => {
                    self.replace(catalogue);
                    if queue.waiting.is_empty() {
                        queue.newest = None;
                    }
                    Commit::Done
                }
                Err(diagnostic) => {
                    queue.overtake();
                    Commit::Failed(diagnostic)
                }
            };
            drop(queue);
            let is_due = files.is_due(database);
            drop(files);
            for change in group {
                // The client may be gone.
                let _ = change.done.send(outcome.clone());
            }
            if is_due {
                let backend = self.clone();
                aside(move || backend.fold_when_due(database));
            }
        }
    }

    /// Replaces the databases by others than changes lead to; those that wait are made again.
    pub(super) fn overtake(&self, catalogue: Catalogue) {
        let mut queue = lock(&self.0.queue);
        queue.overtake();
        self.replace(Arc::new(catalogue));
    }
}

impl CommitQueue {
    /// The number of changes that wait.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Takes the changes of the next commit: those of one database.
    fn group(&mut self) -> Vec<WaitingChange> {
        let mut waiting = self.waiting.iter();
        let first = waiting.next().map(|change| change.database);
        let others = waiting.take_while(|change| Some(change.database) == first);
        let length = usize::from(first.is_some()) + others.count();
        self.waiting.drain(..length).collect()
    }

    /// Has all waiting changes made again.
    fn overtake(&mut self) {
        self.newest = None;
        for change in self.waiting.drain(..) {
            let _ = change.done.send(Commit::Overtaken);
        }
    }
}

impl Commit {
    /// What became of a change whose sender is gone.
    pub(super) fn lost() -> Self {
        Self::Failed(diagnostic(Condition::TEMPORARY_SYSTEM_ERROR, ""))
    }
}

/// Lets later changes be committed if a commit panics.
struct ClearOnPanic<'a>(&'a Shared);

impl Drop for ClearOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            let mut queue = lock(&self.0.queue);
            queue.overtake();
            queue.is_committing = false;
        }
    }
}

/// Does work on another thread if there is a runtime, otherwise at once.
fn aside(work: impl FnOnce() + Send + 'static) {
    match Handle::try_current() {
        Ok(runtime) => drop(runtime.spawn_blocking(work)),
        Err(_) => work(),
    }
}

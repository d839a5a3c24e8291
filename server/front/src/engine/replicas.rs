//! Servers of the engine that have the same records. They take turns; one whose connections are all in use comes after those with a free
//! one, and one that failed lately after all others.

use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::SemaphorePermit;
use tokio::time::Instant;

use super::health::{ServerCounts, Warnings};
use super::link::{Link, LinkError};
use super::mysql::Rows;
use crate::lock::lock;

/// How long a server that failed comes after all others. Then one request tries it again.
pub(super) const PAUSE: Duration = Duration::from_secs(10);

/// Servers of the engine that have the same records.
#[derive(Debug)]
pub(super) struct Replicas {
    all: Vec<Replica>,
    next: AtomicUsize,
}

#[derive(Debug)]
struct Replica {
    link: Link,
    /// When it failed or was tried again, unless it has answered since.
    failed: Mutex<Option<Instant>>,
    /// Whether it is not asked, since it is not as the settings say.
    refused: AtomicBool,
    /// How often it failed.
    failures: AtomicU64,
    warnings: Mutex<Warnings>,
    /// That all its connections are in use.
    busy: Mutex<Warnings>,
}

/// Which servers a request goes to, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    /// Those with a free connection that did not fail lately.
    Idle,
    /// Those that did not fail lately.
    Sound,
    /// All that are left.
    Any,
}

impl Replicas {
    pub(super) fn new(links: impl IntoIterator<Item = Link>) -> Self {
        let all = links.into_iter().map(|link| Replica {
            link,
            failed: Mutex::default(),
            refused: AtomicBool::default(),
            failures: AtomicU64::default(),
            warnings: Mutex::default(),
            busy: Mutex::default(),
        });
        Self {
            all: all.collect(),
            next: AtomicUsize::new(0),
        }
    }

    pub(super) fn links(&self) -> impl Iterator<Item = &Link> {
        self.all.iter().map(|replica| &replica.link)
    }

    /// The results of statements that change nothing, from the next server that answers.
    ///
    /// # Errors
    /// What a server refuses, or why the last one does not answer.
    pub(super) async fn ask(&self, statements: &[u8]) -> Result<Vec<Rows>, LinkError> {
        let mut failure = LinkError::malformed("there is no replica");
        let mut left: Vec<&Replica> = self.turns().collect();
        let patience = left.first().map(|replica| replica.link.patience());
        let mut patience = patience.unwrap_or_else(Instant::now);
        for choice in [Choice::Idle, Choice::Sound, Choice::Any] {
            for replica in std::mem::take(&mut left) {
                let permit = match replica.permit(choice, patience).await {
                    Ok(Some(permit)) => permit,
                    Ok(None) => {
                        left.push(replica);
                        continue;
                    }
                    Err(busy) => {
                        replica.note_busy();
                        failure = busy;
                        continue;
                    }
                };
                let asked = Instant::now();
                match replica.ask(permit, statements).await {
                    Err(error) if !matches!(error, LinkError::Refused(_)) => {
                        failure = error;
                        // That was no wait for a connection.
                        patience += asked.elapsed();
                    }
                    answer => return answer,
                }
            }
        }
        Err(failure)
    }

    /// Notes that one of them, by its place in their list, does not answer.
    pub(super) fn note_failure(&self, place: usize, why: &str) {
        if let Some(replica) = self.all.get(place) {
            replica.has_failed(&why);
        }
    }

    /// Notes that all of them answer.
    pub(super) fn note_answers(&self) {
        self.all.iter().for_each(Replica::has_answered);
    }

    /// Whether one of them, by its place in their list, is not asked from now on.
    pub(super) fn set_refused(&self, place: usize, refused: bool) {
        if let Some(replica) = self.all.get(place) {
            replica.refused.store(refused, Ordering::Relaxed);
        }
    }

    /// Whether none of them is to be asked.
    pub(super) fn are_refused(&self) -> bool {
        !self.all.is_empty() && self.all.iter().all(Replica::is_refused)
    }

    pub(super) fn counts(&self) -> Vec<ServerCounts> {
        self.all.iter().map(Replica::counts).collect()
    }

    /// The servers in the order of their turns.
    fn turns(&self) -> impl Iterator<Item = &Replica> {
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        let first = turn.checked_rem(self.all.len()).unwrap_or_default();
        let turns = self.all.iter().cycle().skip(first).take(self.all.len());
        // If all are refused, result sets that are there already can be read on.
        let are_refused = self.are_refused();
        turns.filter(move |replica| are_refused || !replica.is_refused())
    }
}

impl Replica {
    /// Leave to ask it; `None` if others come first.
    ///
    /// # Errors
    /// All its connections are in use until then.
    async fn permit(
        &self,
        choice: Choice,
        until: Instant,
    ) -> Result<Option<SemaphorePermit<'_>>, LinkError> {
        match choice {
            Choice::Idle => {
                let permit = self.link.try_permit();
                Ok(permit.filter(|_| !self.is_avoided()))
            }
            Choice::Sound if self.is_avoided() => Ok(None),
            Choice::Sound => {
                let begun = Instant::now();
                let permit = self.link.permit(until).await?;
                // It may have failed while this request waited.
                Ok((!self.failed_since(begun)).then_some(permit))
            }
            Choice::Any => self.link.permit(until).await.map(Some),
        }
    }

    /// The results of statements, or what it refuses.
    ///
    /// # Errors
    /// See [`LinkError`].
    async fn ask(
        &self,
        permit: SemaphorePermit<'_>,
        statements: &[u8],
    ) -> Result<Vec<Rows>, LinkError> {
        let answer = match self.link.ask_with(permit, statements).await {
            Err(LinkError::Refused(words)) if lacks_index(&words) => Err(LinkError::Broken {
                place: self.link.place.clone(),
                words,
            }),
            answer => answer,
        };
        match &answer {
            Ok(_) | Err(LinkError::Refused(_)) => self.has_answered(),
            Err(error) => self.has_failed(error),
        }
        answer
    }

    fn has_answered(&self) {
        let was_down = lock(&self.failed).take().is_some();
        if was_down && lock(&self.warnings).ends() {
            tracing::warn!(
                distributor = self.link.place,
                "the distributor answers again"
            );
        }
    }

    fn has_failed(&self, why: &dyn fmt::Display) {
        self.failures.fetch_add(1, Ordering::Relaxed);
        let distributor = &self.link.place;
        let is_first = lock(&self.failed).replace(Instant::now()).is_none();
        if is_first && lock(&self.warnings).begins() {
            tracing::warn!(distributor, %why, "the distributor does not answer");
        } else {
            tracing::debug!(distributor, %why, "the distributor does not answer");
        }
    }

    /// Notes that a request found no free connection.
    fn note_busy(&self) {
        let distributor = &self.link.place;
        if lock(&self.busy).begins() {
            tracing::warn!(
                distributor,
                "all connections with the distributor are in use"
            );
        }
    }

    fn is_refused(&self) -> bool {
        self.refused.load(Ordering::Relaxed)
    }

    fn failed_since(&self, moment: Instant) -> bool {
        lock(&self.failed).is_some_and(|failed| failed > moment)
    }

    fn counts(&self) -> ServerCounts {
        ServerCounts {
            server: self.link.place.clone(),
            is_node: false,
            failures: self.failures.load(Ordering::Relaxed),
            is_up: lock(&self.failed).is_none(),
        }
    }

    /// Whether it failed lately, or another request tries it again.
    fn is_avoided(&self) -> bool {
        let mut failed = lock(&self.failed);
        match *failed {
            None => false,
            Some(since) if since.elapsed() < PAUSE => true,
            Some(_) => {
                *failed = Some(Instant::now());
                false
            }
        }
    }
}

/// Whether the server has another configuration than it should have.
fn lacks_index(words: &str) -> bool {
    words.contains("unknown local index")
}

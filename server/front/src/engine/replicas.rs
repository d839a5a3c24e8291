//! Servers of the engine that have the same records. They take turns; one that failed lately comes after all others.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

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
    /// How often it failed.
    failures: AtomicU64,
    warnings: Mutex<Warnings>,
}

impl Replicas {
    pub(super) fn new(links: impl IntoIterator<Item = Link>) -> Self {
        let all = links.into_iter().map(|link| Replica {
            link,
            failed: Mutex::default(),
            failures: AtomicU64::default(),
            warnings: Mutex::default(),
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
        let mut turns: VecDeque<_> = self.turns().map(|replica| (replica, false)).collect();
        while let Some((replica, is_last_resort)) = turns.pop_front() {
            if !is_last_resort && replica.is_avoided() {
                turns.push_back((replica, true));
                continue;
            }
            let place = &replica.link.place;
            let answer = match replica.link.ask(statements).await {
                Err(LinkError::Refused(words)) if lacks_index(&words) => Err(LinkError::Broken {
                    place: place.clone(),
                    words,
                }),
                answer => answer,
            };
            if matches!(answer, Ok(_) | Err(LinkError::Refused(_))) {
                replica.has_answered();
                return answer;
            }
            if let Err(error) = answer {
                // It may well answer those that wait for it now.
                if !matches!(error, LinkError::Busy { .. }) {
                    replica.has_failed(&error);
                }
                failure = error;
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

    pub(super) fn counts(&self) -> Vec<ServerCounts> {
        self.all.iter().map(Replica::counts).collect()
    }

    /// The servers in the order of their turns.
    fn turns(&self) -> impl Iterator<Item = &Replica> {
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        let first = turn.checked_rem(self.all.len()).unwrap_or_default();
        self.all.iter().cycle().skip(first).take(self.all.len())
    }
}

impl Replica {
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

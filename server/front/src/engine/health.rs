//! Which nodes of the engine answer: told in the log when that changes, and counted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;
use z3950_server::backend::SourceReport;

use super::statement::WHOLE_ENGINE;
use crate::lock::lock;

/// The nodes about which warnings are remembered.
const MOST_WARNINGS: usize = 1000;
/// How long a server that fails again and again gets no further warning.
const QUIET: Duration = Duration::from_secs(60);

/// Warnings about a server: one when it stops answering and one when it answers again, but not more of them each minute.
#[derive(Debug, Default)]
pub(super) struct Warnings {
    last: Option<Instant>,
    /// Whether the last failure got one.
    is_open: bool,
}

impl Warnings {
    /// Whether that it stops answering is worth a warning.
    pub(super) fn begins(&mut self) -> bool {
        self.is_open = self.last.is_none_or(|last| last.elapsed() >= QUIET);
        if self.is_open {
            self.last = Some(Instant::now());
        }
        self.is_open
    }

    /// Whether that it answers again is worth one.
    pub(super) fn ends(&mut self) -> bool {
        std::mem::take(&mut self.is_open)
    }
}

/// A server of the engine, and how often it did not answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerCounts {
    /// Its address: `HOST:PORT`.
    pub server: String,
    /// Whether it is a node, and not a distributor.
    pub is_node: bool,
    /// The searches and scans that it did not answer.
    pub failures: u64,
    /// Whether it answered the last one; `true` before the first.
    pub is_up: bool,
}

/// What the answers of distributors say about the nodes of a database.
#[derive(Debug)]
pub(super) struct NodeHealth {
    database: String,
    state: Mutex<NodeState>,
}

#[derive(Debug)]
struct NodeState {
    /// How often each node of the settings did not answer.
    failures: BTreeMap<String, u64>,
    /// The nodes that did not answer the last request. Others than those of the settings if these have none.
    down: BTreeSet<String>,
    warnings: BTreeMap<String, Warnings>,
}

impl NodeHealth {
    pub(super) fn new(database: &str, nodes: &[String]) -> Self {
        Self {
            database: database.to_owned(),
            state: Mutex::new(NodeState {
                failures: nodes.iter().map(|node| (node.clone(), 0)).collect(),
                down: BTreeSet::new(),
                warnings: BTreeMap::new(),
            }),
        }
    }

    /// Takes what an answer says about the nodes: those that did not answer.
    pub(super) fn answered(&self, failed: &[SourceReport]) {
        let database = &*self.database;
        let mut state = lock(&self.state);
        let NodeState {
            failures,
            down,
            warnings,
        } = &mut *state;
        down.retain(|node| {
            let is_down = failed.iter().any(|source| source.name == *node);
            if !is_down && warnings.get_mut(node).is_some_and(Warnings::ends) {
                tracing::warn!(database, node, "the node answers again");
            }
            is_down
        });
        for source in failed {
            let SourceReport { name, failure, .. } = source;
            let failure = failure.as_ref().filter(|_| name != WHOLE_ENGINE);
            let Some(failure) = failure else {
                continue;
            };
            // Those of no settings are not remembered for ever.
            if let Some(failures) = failures.get_mut(name) {
                *failures += 1;
            } else if warnings.len() > MOST_WARNINGS {
                warnings.clear();
            }
            let (node, why) = (&**name, failure.addinfo.to_string_lossy());
            let is_first = down.insert(name.clone());
            if is_first && warnings.entry(name.clone()).or_default().begins() {
                tracing::warn!(database, node, %why, "the node does not answer");
            } else {
                tracing::debug!(database, node, %why, "the node does not answer");
            }
        }
    }

    pub(super) fn counts(&self) -> Vec<ServerCounts> {
        let state = lock(&self.state);
        let counts = state.failures.iter().map(|(node, failures)| ServerCounts {
            server: node.clone(),
            is_node: true,
            failures: *failures,
            is_up: !state.down.contains(node),
        });
        counts.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::statement::failed_source;

    #[tokio::test(start_paused = true)]
    async fn a_server_that_fails_again_and_again_gets_a_warning_each_minute() {
        let mut warnings = Warnings::default();
        assert!(warnings.begins() && warnings.ends() && !warnings.ends());
        tokio::time::advance(QUIET - Duration::from_millis(1)).await;
        assert!(!warnings.begins() && !warnings.ends());
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(warnings.begins() && warnings.ends());
    }

    #[test]
    fn a_node_is_down_until_an_answer_has_its_records() {
        let nodes = ["127.0.0.1:9401", "127.0.0.1:9411"].map(str::to_owned);
        let health = NodeHealth::new("books", &nodes);
        let failed = |words| failed_source(words, &nodes);
        let first = || failed("agent 127.0.0.1:9402: connect() failed");
        let second = || failed("agent 127.0.0.1:9412: query timed out");
        let engine = || failed("query time exceeded max_query_time");
        for (failed, failures, is_up) in [
            (vec![], [0, 0], [true, true]),
            (vec![first()], [1, 0], [false, true]),
            (vec![first(), second()], [2, 1], [false, false]),
            (vec![second()], [2, 2], [true, false]),
            (vec![engine()], [2, 2], [true, true]),
        ] {
            health.answered(&failed);
            let counts = health.counts();
            let counted: Vec<_> = counts.iter().map(|node| node.failures).collect();
            let up: Vec<_> = counts.iter().map(|node| node.is_up).collect();
            assert_eq!((&*counted, &*up), (&failures[..], &is_up[..]));
        }
    }
}

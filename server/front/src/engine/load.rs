//! Spreads records over the nodes, in batches, to all nodes at once.

use std::collections::HashSet;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;
use z3950_server::marc::MarcRecord;

use super::address::NodeAddressError;
use super::layout::EngineLayout;
use super::link::LinkError;
use super::nodes::{NodeChange, Nodes, WRITE_TIME, term_id};

/// A load: records in, statements at nodes out.
#[derive(Debug)]
pub struct EngineLoad {
    layout: Arc<EngineLayout>,
    nodes: Arc<Nodes>,
    delete: bool,
    batches: Vec<Vec<NodeChange>>,
    octets: Vec<usize>,
    terms: LoadedTerms,
    /// To the tasks of the nodes.
    senders: Vec<mpsc::Sender<NodeStep>>,
    tasks: JoinSet<Result<(), EngineLoadError>>,
}

/// What the task of a node does next.
#[derive(Debug)]
enum NodeStep {
    Statement(Vec<u8>),
    /// Tell how many rows the node has changed since the last mark.
    Mark(oneshot::Sender<u64>),
}

/// A point of a load: everything that was added before it.
#[derive(Debug)]
pub struct LoadMark(Vec<oneshot::Receiver<u64>>);

/// A node that takes long for a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SlowNode {
    /// Its address: `HOST:PORT`.
    pub node: String,
    /// How long it has been waited for.
    pub waited: Duration,
    /// How long it may take at most.
    pub limit: Duration,
}

/// Why a load ended early.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EngineLoadError {
    /// A node fails.
    #[error("the node {node} fails: {words}")]
    Node {
        /// The node.
        node: String,
        /// The reason.
        words: String,
    },
    /// The task of a node is gone, and with it what it had not sent.
    #[error("records are lost: no node takes them")]
    Lost,
}

/// The most records of a statement.
const BATCH: usize = 500;
/// The most octets of a statement, about.
const BATCH_OCTETS: usize = 4 << 20;
/// The statements that wait for a node.
const WAITING: usize = 2;
/// How long a node may take before it is reported as slow.
const SLOW: Duration = Duration::from_secs(10);

impl EngineLoad {
    /// A load of an index at these nodes; records are deleted instead if `delete`. Whenever a node has taken another 10 s for a statement,
    /// `slow` is called.
    ///
    /// # Errors
    /// See [`NodeAddressError`].
    pub fn new(
        layout: Arc<EngineLayout>,
        index: &str,
        nodes: &[String],
        delete: bool,
        slow: impl Fn(SlowNode) + Send + Sync + 'static,
    ) -> Result<Self, NodeAddressError> {
        let slow = Arc::new(slow);
        let nodes = Arc::new(Nodes::new(nodes, index, &layout, 1, WRITE_TIME)?);
        let mut tasks = JoinSet::new();
        let mut senders = Vec::new();
        for node in 0..nodes.len() {
            let (sender, mut steps) = mpsc::channel(WAITING);
            senders.push(sender);
            let (nodes, slow) = (Arc::clone(&nodes), Arc::clone(&slow));
            tasks.spawn(async move {
                let mut changed = 0;
                while let Some(step) = steps.recv().await {
                    match step {
                        NodeStep::Statement(statement) => {
                            let done = carried_out(&nodes, node, &statement, &*slow).await;
                            changed += done.map_err(|error| failed(&nodes, node, &error))?;
                        }
                        NodeStep::Mark(reached) => {
                            // If nobody waits for it, the load has failed.
                            let _ = reached.send(std::mem::take(&mut changed));
                        }
                    }
                }
                Ok(())
            });
        }
        Ok(Self {
            batches: vec![Vec::new(); nodes.len()],
            octets: vec![0; nodes.len()],
            terms: LoadedTerms::default(),
            layout,
            nodes,
            delete,
            senders,
            tasks,
        })
    }

    /// The changes of records, in their order, which several threads may make at once.
    pub fn changes(&self) -> EngineChanges {
        EngineChanges {
            layout: Arc::clone(&self.layout),
            delete: self.delete,
        }
    }

    /// Adds a change; waits while its node is busy.
    ///
    /// # Errors
    /// Why a node fails.
    pub async fn add(&mut self, change: EngineChange) -> Result<(), EngineLoadError> {
        let EngineChange(change) = change;
        let node = self.nodes.of(change.number());
        let node = node.ok_or(EngineLoadError::Lost)?;
        let (Some(batch), Some(octets)) = (self.batches.get_mut(node), self.octets.get_mut(node))
        else {
            return Err(EngineLoadError::Lost);
        };
        *octets += change.octets();
        batch.push(change);
        if batch.len() >= BATCH || *octets >= BATCH_OCTETS {
            self.send(node).await
        } else {
            Ok(())
        }
    }

    /// Sends what is left, and marks the point that the load has come to. It can go on before the nodes have come as far.
    ///
    /// # Errors
    /// Why a node fails.
    pub async fn mark(&mut self) -> Result<LoadMark, EngineLoadError> {
        let mut marks = Vec::with_capacity(self.nodes.len());
        for node in 0..self.nodes.len() {
            self.send(node).await?;
            let (reached, mark) = oneshot::channel();
            self.step(node, NodeStep::Mark(reached)).await?;
            marks.push(mark);
        }
        Ok(LoadMark(marks))
    }

    /// Waits until everything added before a mark is at its node. Returns the number of rows that the nodes have changed since the mark
    /// before: the records that were there and are deleted, or the records and terms that are added.
    ///
    /// # Errors
    /// Why a node fails.
    pub async fn reached(&mut self, LoadMark(marks): LoadMark) -> Result<u64, EngineLoadError> {
        let mut changed = 0;
        for mark in marks {
            match mark.await {
                Ok(rows) => changed += rows,
                Err(_) => return Err(self.failure().await),
            }
        }
        Ok(changed)
    }

    async fn send(&mut self, node: usize) -> Result<(), EngineLoadError> {
        let mut batch = self
            .batches
            .get_mut(node)
            .map(std::mem::take)
            .unwrap_or_default();
        if let Some(octets) = self.octets.get_mut(node) {
            *octets = 0;
        }
        if batch.is_empty() {
            return Ok(());
        }
        self.terms.forget_known(node, &mut batch);
        let statements = self.nodes.statements(&self.layout, batch);
        for statement in statements {
            self.step(node, NodeStep::Statement(statement)).await?;
        }
        Ok(())
    }

    async fn step(&mut self, node: usize, step: NodeStep) -> Result<(), EngineLoadError> {
        let sent = match self.senders.get(node) {
            Some(sender) => sender.send(step).await.is_ok(),
            None => false,
        };
        if sent {
            Ok(())
        } else {
            Err(self.failure().await)
        }
    }

    /// The first failure of a node. The others have ended what they were sent.
    async fn failure(&mut self) -> EngineLoadError {
        self.senders.clear();
        let mut outcome = Ok(());
        while let Some(ended) = self.tasks.join_next().await {
            // A panic was reported by the task itself.
            outcome = outcome.and(ended.unwrap_or(Err(EngineLoadError::Lost)));
        }
        outcome.err().unwrap_or(EngineLoadError::Lost)
    }
}

/// Carries out a statement at a node, and reports now and then that it is still waited for.
///
/// # Errors
/// See [`LinkError`].
async fn carried_out(
    nodes: &Nodes,
    node: usize,
    statement: &[u8],
    slow: &(impl Fn(SlowNode) + Sync),
) -> Result<u64, LinkError> {
    let mut done = pin!(nodes.carry_out(node, statement));
    let mut waited = Duration::ZERO;
    loop {
        if let Ok(done) = timeout(SLOW, &mut done).await {
            return done;
        }
        waited += SLOW;
        if let Some(link) = nodes.link(node) {
            slow(SlowNode {
                node: link.place.clone(),
                waited,
                limit: WRITE_TIME,
            });
        }
    }
}

fn failed(nodes: &Nodes, node: usize, error: &LinkError) -> EngineLoadError {
    let node = nodes
        .link(node)
        .map_or_else(String::new, |link| link.place.clone());
    let words = error.to_string();
    let words = words.strip_prefix(&format!("{node}: ")).unwrap_or(&words);
    EngineLoadError::Node {
        words: words.to_owned(),
        node,
    }
}

/// A record as a change of its node.
#[derive(Clone, Debug)]
pub struct EngineChange(NodeChange);

/// The terms that nodes have from a load, which need not be sent again.
#[derive(Clone, Debug, Default)]
pub struct LoadedTerms(HashSet<(usize, u64)>);

/// The most terms that are remembered, of all nodes together: about 70 MiB.
const MOST_TERMS: usize = 3_500_000;

impl LoadedTerms {
    /// Takes the terms out of changes that their node has, and notes the others.
    fn forget_known(&mut self, node: usize, changes: &mut [NodeChange]) {
        if self.0.len() > MOST_TERMS {
            self.0.clear();
        }
        for change in changes {
            if let NodeChange::Put(document) = change {
                let mut is_new =
                    |(mark, term): &(char, String)| self.0.insert((node, term_id(*mark, term)));
                document.scan.retain(&mut is_new);
            }
        }
    }
}

/// Makes changes of records.
#[derive(Clone, Debug)]
pub struct EngineChanges {
    layout: Arc<EngineLayout>,
    delete: bool,
}

impl EngineChanges {
    /// Whether a record has an identifier of its own.
    pub fn has_docid(&self, record: &MarcRecord) -> bool {
        self.layout.map().docid(record).is_some()
    }

    /// The statements of changes for an index at these nodes, each with the number of its node, as a load sends them.
    ///
    /// # Errors
    /// See [`NodeAddressError`].
    pub fn statements(
        &self,
        index: &str,
        nodes: &[String],
        changes: impl IntoIterator<Item = EngineChange>,
        terms: &mut LoadedTerms,
    ) -> Result<Vec<(usize, Vec<u8>)>, NodeAddressError> {
        let nodes = Nodes::new(nodes, index, &self.layout, 1, WRITE_TIME)?;
        let mut by_node: Vec<Vec<NodeChange>> = vec![Vec::new(); nodes.len()];
        for EngineChange(change) in changes {
            let batch = nodes
                .of(change.number())
                .and_then(|node| by_node.get_mut(node));
            batch
                .into_iter()
                .for_each(|batch| batch.push(change.clone()));
        }
        let by_node = by_node.into_iter().enumerate();
        Ok(by_node
            .flat_map(|(node, mut changes)| {
                terms.forget_known(node, &mut changes);
                let statements = nodes.statements(&self.layout, changes);
                statements
                    .into_iter()
                    .map(move |statement| (node, statement))
            })
            .collect())
    }

    /// The change for a record.
    pub fn of(&self, record: &MarcRecord, octets: &[u8]) -> EngineChange {
        EngineChange(NodeChange::of(&self.layout, record, octets, self.delete))
    }
}

#[cfg(test)]
mod tests {
    use z3950_server::memory::{AccessPoints, DocidField, Profile};

    use super::*;
    use crate::engine::IndexUses;

    fn load(nodes: &[String]) -> EngineLoad {
        let layout = EngineLayout::new(
            AccessPoints::default(),
            Profile::default(),
            DocidField::default(),
            &IndexUses::default(),
        );
        let layout = Arc::new(layout.expect("indexes"));
        EngineLoad::new(layout, "books", nodes, true, |_| ()).expect("addresses")
    }

    #[tokio::test]
    async fn records_that_no_node_takes_fail_the_load() {
        let change = load(&[]).changes().of(&MarcRecord::default(), b"");
        let mut without = load(&[]);
        assert_eq!(
            without.add(change.clone()).await,
            Err(EngineLoadError::Lost)
        );
        let nodes = ["127.0.0.1:1".to_owned()];
        for is_added in [false, true] {
            let mut gone = load(&nodes);
            if is_added {
                gone.add(change.clone()).await.expect("kept");
            }
            gone.tasks.abort_all();
            let marked = match gone.mark().await {
                Ok(mark) => gone.reached(mark).await,
                Err(error) => Err(error),
            };
            assert_eq!(marked, Err(EngineLoadError::Lost));
        }
    }
}

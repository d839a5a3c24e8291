//! Loads records with requests of a few megabytes each, several of which are in flight at the same time. Changes to a record
//! keep their order, because an identifier always belongs to the same lane, and a lane has only one request in flight.

mod bulk;

use std::sync::Arc;
use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use z3950_marc::MarcRecord;

use self::bulk::{Batch, Bulk};
pub use self::bulk::{IndexLoadError, LoadPart, RecordPlace, RefusedRecord};
use super::document::{id_of, number_of};
use super::index::{ClusterIndex, IndexError, IndexState, REFRESH};
use crate::engine::layout::EngineLayout;
use crate::engine::link::Draft;

/// The kind of work that a load does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadWork {
    /// Add records, and replace those with the same identifiers.
    Add,
    /// Delete records.
    Delete,
    /// Fill a new index, which then replaces the existing one.
    Reload(Leftover),
}

/// What to do with an index that an interrupted reload has left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leftover {
    /// Keep it, and refuse the reload.
    Refuse,
    /// Delete it if it has no records; otherwise, keep it and refuse the reload.
    ReplaceIfEmpty,
    /// Continue the reload with it.
    Continue,
    /// Delete it.
    Replace,
}

/// A load in progress.
#[derive(Debug)]
pub struct IndexLoad {
    pub(super) home: ClusterIndex,
    /// The real name of the index that is filled.
    pub(super) index: String,
    identity: String,
    /// The alias that is used to change the index.
    target: String,
    work: LoadWork,
    /// The settings that the index gets at the end of the load; null if it already has them.
    pub(super) restored: Value,
    /// The index that the reload replaces.
    pub(super) replaced: Option<IndexState>,
    /// Whether this load has created the index.
    pub(super) is_new: bool,
    lanes: Vec<Lane>,
    tasks: JoinSet<Result<(), IndexLoadError>>,
}

/// Changes that are sent by successive requests.
#[derive(Debug)]
struct Lane {
    batch: Batch,
    steps: mpsc::Sender<LaneStep>,
}

/// The next step of a lane.
#[derive(Debug)]
enum LaneStep {
    Batch(Batch),
    /// Reports the results of the changes since the previous mark.
    Mark(oneshot::Sender<LoadPart>),
}

/// The number of requests in flight.
const LANES: usize = 4;
/// The maximum time to wait for the refresh of a filled index.
const REFRESH_TIME: Duration = Duration::from_secs(600);

/// A point that a load has reached; see [`IndexLoad::mark`].
#[derive(Debug)]
#[must_use]
pub struct IndexLoadMark(Vec<oneshot::Receiver<LoadPart>>);

impl ClusterIndex {
    /// Begins a load: creates the index if it is missing, unless the work is to delete records, and configures an empty index
    /// for fast loading. If the cluster has not accepted any record for half a minute, `slow` is called once with the time that
    /// has passed. It can be called again after a record has been accepted.
    ///
    /// # Errors
    /// See [`IndexError`].
    pub async fn begin(
        &self,
        work: LoadWork,
        slow: impl Fn(Duration) + Send + Sync + 'static,
    ) -> Result<IndexLoad, IndexError> {
        self.check_cluster().await?;
        let mut load = match work {
            LoadWork::Reload(leftover) => self.begin_reload(leftover).await?,
            LoadWork::Add | LoadWork::Delete => self.begin_in_place(work).await?,
        };
        load.start(slow);
        Ok(load)
    }

    async fn begin_in_place(&self, work: LoadWork) -> Result<IndexLoad, IndexError> {
        let mut is_new = false;
        let state = match self.state().await? {
            None if work == LoadWork::Add => {
                (_, is_new) = self.create().await?;
                self.state().await?
            }
            state => state,
        };
        let state = state.ok_or_else(|| IndexError::Absent(self.name.clone()))?;
        self.check_layout(&state)?;
        if state.is_blocked()
            && let Some(filling) = self.filling().await?
        {
            return Err(IndexError::Reloading {
                index: state.index,
                filling: filling.index,
            });
        }
        state.check_open()?;
        // An index that was created by hand does not have the write alias, so it is added.
        if !self.has_write_alias(&state.index).await? {
            let add = json!({ "add": { "index": state.index, "alias": state.write_name() } });
            let actions = json!({ "actions": [add] });
            self.change(Method::POST, "/_aliases".to_owned(), &actions)
                .await?;
        }
        let mut load = self.load_of(&state, work);
        load.is_new = is_new;
        if work == LoadWork::Add && (state.is_unfinished() || self.is_empty(&state.index).await?) {
            let replicas = match state.setting("/number_of_replicas") {
                Some(replicas) if !state.is_unfinished() => json!(replicas),
                _ => json!(self.replicas),
            };
            load.restored = json!({ "refresh_interval": REFRESH, "number_of_replicas": replicas });
            self.make_quick(&state.index).await?;
        }
        Ok(load)
    }

    /// Creates a load into an index without starting it.
    pub(super) fn load_of(&self, state: &IndexState, work: LoadWork) -> IndexLoad {
        IndexLoad {
            home: self.clone(),
            index: state.index.clone(),
            identity: state.identity(),
            target: state.write_name(),
            work,
            restored: Value::Null,
            replaced: None,
            is_new: false,
            lanes: Vec::new(),
            tasks: JoinSet::new(),
        }
    }

    /// Configures an index that is not searched yet for fast loading.
    pub(super) async fn make_quick(&self, index: &str) -> Result<(), IndexError> {
        let quick = json!({ "refresh_interval": "-1", "number_of_replicas": 0 });
        self.set(index, &quick).await
    }

    pub(super) async fn is_empty(&self, index: &str) -> Result<bool, IndexError> {
        Ok(self.count(index).await? == 0)
    }

    /// Makes all records in an index visible to searches.
    pub(super) async fn refresh(&self, index: &str) -> Result<(), IndexError> {
        let path = format!("/{index}/_refresh");
        let refresh = Draft {
            is_repeatable: true,
            time: Some(REFRESH_TIME),
            ..Draft::change(Method::POST, path, &Value::Null)
        };
        self.link.ask(&refresh).await?;
        Ok(())
    }

    /// Returns the number of records in an index.
    pub(super) async fn count(&self, index: &str) -> Result<u64, IndexError> {
        let draft = Draft::read(format!("/{index}/_count"), 1 << 20);
        let answer = self.link.ask(&draft).await?;
        let malformed = || IndexError::Malformed("there is no count".to_owned());
        answer
            .get("count")
            .and_then(Value::as_u64)
            .ok_or_else(malformed)
    }
}

impl IndexLoad {
    /// Returns the name of the index that is filled, with a part that is unique to this index.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// Returns the name of the index that is filled.
    pub fn index(&self) -> &str {
        &self.index
    }

    /// Returns an object that converts records to changes. Several threads may use it at the same time.
    pub fn changes(&self) -> IndexChanges {
        IndexChanges {
            layout: Arc::clone(&self.home.layout),
            is_deleted: self.work == LoadWork::Delete,
        }
    }

    /// Starts the tasks that send the changes in each lane.
    fn start(&mut self, slow: impl Fn(Duration) + Send + Sync + 'static) {
        let link = Arc::clone(&self.home.link);
        let shared = Arc::new(Bulk::new(link, &self.target, slow));
        for _ in 0..LANES {
            let (sender, mut steps) = mpsc::channel(1);
            let bulk = Arc::clone(&shared);
            self.lanes.push(Lane {
                batch: Batch::default(),
                steps: sender,
            });
            self.tasks.spawn(async move {
                let mut part = LoadPart::default();
                while let Some(step) = steps.recv().await {
                    match step {
                        LaneStep::Batch(batch) => bulk.send(batch, &mut part).await?,
                        LaneStep::Mark(reached) => {
                            // Sending fails if the load has failed, because nobody waits for the result any more.
                            let _ = reached.send(std::mem::take(&mut part));
                        }
                    }
                }
                Ok(())
            });
        }
    }

    /// Waits until the lane of a change can accept it, and adds the change.
    ///
    /// # Errors
    /// See [`IndexLoadError`].
    pub async fn add(&mut self, change: IndexChange) -> Result<(), IndexLoadError> {
        let lanes = self.lanes.len() as u64;
        let lane = change.number.checked_rem(lanes).unwrap_or_default() as usize;
        let batch = self
            .lanes
            .get_mut(lane)
            .map(|lane| &mut lane.batch)
            .ok_or(IndexLoadError::Lost)?;
        batch.add(change);
        if batch.is_full() {
            self.send(lane).await
        } else {
            Ok(())
        }
    }

    /// Sends the remaining changes, and marks the point that the load has reached. The load can continue before the
    /// cluster has processed these changes.
    ///
    /// # Errors
    /// See [`IndexLoadError`].
    pub async fn mark(&mut self) -> Result<IndexLoadMark, IndexLoadError> {
        let mut marks = Vec::with_capacity(self.lanes.len());
        for lane in 0..self.lanes.len() {
            self.send(lane).await?;
            let (reached, mark) = oneshot::channel();
            self.step(lane, LaneStep::Mark(reached)).await?;
            marks.push(mark);
        }
        Ok(IndexLoadMark(marks))
    }

    /// Waits until everything that was added before a mark is in the index, and returns the results since the
    /// previous mark.
    ///
    /// # Errors
    /// See [`IndexLoadError`].
    pub async fn reached(&mut self, mark: IndexLoadMark) -> Result<LoadPart, IndexLoadError> {
        let mut part = LoadPart::default();
        for mark in mark.0 {
            match mark.await {
                Ok(of_lane) => part.extend(of_lane),
                Err(_) => return Err(self.failure().await),
            }
        }
        part.refused.sort_by_key(|refused| refused.place);
        Ok(part)
    }

    /// Restores the settings of the index, also after a load that has failed, so that searches soon find the loaded
    /// records.
    ///
    /// # Errors
    /// See [`IndexError`].
    pub async fn restore(&self) -> Result<(), IndexError> {
        if self.restored.is_null() {
            return Ok(());
        }
        self.home.set(&self.index, &self.restored).await
    }

    /// Ends a complete load: restores the settings of the index, and makes the loaded records visible to searches.
    ///
    /// # Errors
    /// See [`IndexError`].
    pub async fn end(&self) -> Result<(), IndexError> {
        self.restore().await?;
        self.home.refresh(&self.index).await
    }

    async fn send(&mut self, lane: usize) -> Result<(), IndexLoadError> {
        let batch = self
            .lanes
            .get_mut(lane)
            .map(|lane| std::mem::take(&mut lane.batch));
        match batch {
            Some(batch) if !batch.is_empty() => self.step(lane, LaneStep::Batch(batch)).await,
            _ => Ok(()),
        }
    }

    async fn step(&mut self, lane: usize, step: LaneStep) -> Result<(), IndexLoadError> {
        let sent = match self.lanes.get(lane) {
            Some(lane) => lane.steps.send(step).await.is_ok(),
            None => false,
        };
        if sent {
            Ok(())
        } else {
            Err(self.failure().await)
        }
    }

    /// Returns the reason why a lane has ended, after the other lanes have ended too.
    async fn failure(&mut self) -> IndexLoadError {
        self.lanes.clear();
        let mut outcome = Ok(());
        while let Some(ended) = self.tasks.join_next().await {
            // A task without an outcome has panicked, and the panic has already been reported.
            outcome = outcome.and(ended.unwrap_or(Err(IndexLoadError::Lost)));
        }
        outcome.err().unwrap_or(IndexLoadError::Lost)
    }
}

/// A record as a change to the index.
#[derive(Clone, Debug)]
pub struct IndexChange {
    /// The number that determines the lane, so that all changes to a record use the same lane.
    number: u64,
    id: String,
    /// The lines of the change in a request to `_bulk`.
    lines: Vec<u8>,
    place: RecordPlace,
}

impl IndexChange {
    /// Returns the lines of the change in a request to `_bulk`.
    pub fn lines(&self) -> &[u8] {
        &self.lines
    }
}

/// Converts records to changes.
#[derive(Clone, Debug)]
pub struct IndexChanges {
    layout: Arc<EngineLayout>,
    is_deleted: bool,
}

impl IndexChanges {
    /// Returns whether a record has its own identifier.
    pub fn has_docid(&self, record: &MarcRecord) -> bool {
        self.layout.map().docid(record).is_some()
    }

    /// Returns the change for a record; `place` is its place in the input.
    pub fn of(&self, record: &MarcRecord, octets: &[u8], place: RecordPlace) -> IndexChange {
        let docid = self.layout.map().docid(record);
        let number = number_of(docid.unwrap_or(octets));
        let (id, lines) = match docid {
            Some(docid) if self.is_deleted => {
                let id = id_of(docid);
                let line = format!("{}\n", json!({ "delete": { "_id": id } }));
                (id, line)
            }
            _ => {
                let document = self.layout.engine_document(record, octets);
                let action = json!({ "index": { "_id": document.id } });
                let lines = format!("{action}\n{}\n", document.source);
                (document.id, lines)
            }
        };
        IndexChange {
            number,
            id,
            lines: lines.into_bytes(),
            place,
        }
    }
}

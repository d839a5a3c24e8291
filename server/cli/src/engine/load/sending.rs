//! Sends the records in a load. Files are read one after the other, and at most one part is sent before the index has confirmed
//! the previous part.

use std::collections::VecDeque;
use std::io;
use std::path::Path;

use tokio::sync::oneshot::error::TryRecvError;
use tokio::task::JoinHandle;
use z3950_front::engine::opensearch::{IndexLoad, IndexLoadError, IndexLoadMark};
use z3950_server::memory::Note;

use super::LoadRun;
use crate::engine::records::{Input, Prepared, prepare};
use crate::engine::resume::{LoadProgress, SavedProgress};
use crate::failure::{Exit, Failure};

/// The number of records in a part, after which the progress is saved.
const PART: u64 = 50_000;
/// The number of records that a thread prepares at a time.
const CHUNK: usize = 250;

/// A part of the load that has been sent, and the progress to save once the index has stored it.
#[derive(Debug)]
struct SentPart {
    mark: IndexLoadMark,
    progress: LoadProgress,
}

impl LoadRun<'_> {
    /// Loads the records that have not been loaded yet, and waits until the index has stored them.
    pub(super) fn rest(
        &mut self,
        saved_progress: &mut SavedProgress,
        load: &mut IndexLoad,
    ) -> Result<(), Failure> {
        let mut sent = None;
        let outcome = self.send(saved_progress, load, &mut sent);
        // Wait for the part that was already sent, because it may have been carried out despite the failure.
        let last = sent
            .take()
            .map_or(Ok(()), |sent| self.settle(saved_progress, load, sent));
        match (outcome, last) {
            // If the load could not be ended properly after a signal, report the reason instead of the signal.
            (Err(signal), Err(failure)) if signal.exit == Exit::Interrupted => Err(failure),
            (outcome, last) => outcome.and(last),
        }
    }

    /// Sends the records that have not been loaded yet. `sent` is the last part that was sent, which the index may not have
    /// stored yet.
    fn send(
        &mut self,
        saved_progress: &mut SavedProgress,
        load: &mut IndexLoad,
        sent: &mut Option<SentPart>,
    ) -> Result<(), Failure> {
        let from = saved_progress.progress;
        let files = self.arguments.files.iter().enumerate().skip(from.files);
        for (number, path) in files {
            let mut input = Input::open(path, number)?;
            if number == from.files {
                input.skip(from.records);
            }
            let mut is_open = true;
            while is_open {
                is_open = self.runtime.block_on(self.part(&mut input, load))?;
                let progress = if is_open {
                    LoadProgress {
                        files: number,
                        records: input.number,
                    }
                } else {
                    LoadProgress {
                        files: number + 1,
                        records: 0,
                    }
                };
                let mark = self.runtime.block_on(load.mark()).map_err(stopped)?;
                if let Some(before) = sent.replace(SentPart { mark, progress }) {
                    self.settle(saved_progress, load, before)?;
                }
                if is_open && self.is_stopped() {
                    return Err(Failure {
                        exit: Exit::Interrupted,
                        words: "the load is interrupted".to_owned(),
                    });
                }
            }
        }
        Ok(())
    }

    /// Waits until the index has stored a part, and then saves the progress.
    fn settle(
        &mut self,
        saved_progress: &mut SavedProgress,
        load: &mut IndexLoad,
        sent: SentPart,
    ) -> Result<(), Failure> {
        let SentPart { mark, progress } = sent;
        let part = self.runtime.block_on(load.reached(mark)).map_err(stopped)?;
        self.sums.add(&part, &self.bar);
        for refused in part.refused {
            let path = self.arguments.files.get(refused.place.file);
            let left_out = Note::LeftOut {
                number: refused.place.number,
                offset: refused.place.offset,
                reason: format!("the search engine refuses it: {}", refused.words),
            };
            let path = path.map_or(Path::new(""), |path| path);
            self.sums.tell(path, &left_out, &self.bar);
        }
        saved_progress.save(progress)
    }

    /// Returns whether a signal to stop has arrived.
    pub(super) fn is_stopped(&mut self) -> bool {
        let stop = self.stop.as_mut();
        stop.is_some_and(|stop| stop.try_recv() == Err(TryRecvError::Closed))
    }

    /// Sends the next records of a file. Returns whether there may be more. After a signal to stop, sends only the records that
    /// have already been read.
    async fn part(&mut self, input: &mut Input, load: &mut IndexLoad) -> Result<bool, Failure> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let mut prepared: VecDeque<JoinHandle<Vec<Prepared>>> = VecDeque::new();
        let end = input.number + PART;
        let mut is_open = true;
        loop {
            while is_open && input.number < end && prepared.len() <= threads && !self.is_stopped() {
                let records = input.next(CHUNK)?;
                is_open = !records.is_empty();
                if is_open {
                    let (changes, required, file) = (load.changes(), self.required, input.file());
                    prepared.push_back(tokio::task::spawn_blocking(move || {
                        prepare(&changes, records, file, required)
                    }));
                }
            }
            let Some(next) = prepared.pop_front() else {
                return Ok(is_open);
            };
            let mut sent = 0;
            for Prepared { change, note } in finished(next).await? {
                if let Some(note) = note {
                    self.sums.tell(&input.path, &note, &self.bar);
                }
                if let Some(change) = change {
                    load.add(change).await.map_err(stopped)?;
                    sent += 1;
                }
            }
            self.bar.advance(sent);
        }
    }
}

/// Returns the result of a task.
///
/// # Errors
/// The task panicked; the panic has already been printed.
async fn finished<T>(task: JoinHandle<T>) -> Result<T, Failure> {
    task.await.map_err(|error| {
        let words = format!("records are lost: {error}");
        Failure::unexpected(io::Error::other(words))
    })
}

/// Returns the failure for a load that stopped because of the cluster.
fn stopped(error: IndexLoadError) -> Failure {
    let advice = match error {
        IndexLoadError::Blocked(_) => {
            ": free space on the disks of the nodes, or wait for a reload that is running"
        }
        _ => "",
    };
    Failure::unexpected(io::Error::other(format!("{error}{advice}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_task_that_is_gone_fails_the_load() {
        let task = tokio::spawn(std::future::pending::<Vec<Prepared>>());
        task.abort();
        let failure = finished(task).await.expect_err("no records");
        assert_eq!(failure.exit, Exit::Unexpected);
        assert!(failure.words.contains("records are lost"), "{failure:?}");
    }
}

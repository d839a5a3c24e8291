//! `z3950d load`: records into an index.

use std::collections::VecDeque;
use std::io;
use std::path::Path;

use tokio::runtime::Runtime;
use tokio::sync::oneshot::{self, error::TryRecvError};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use z3950_front::engine::opensearch::{
    ClusterIndex, IndexError, IndexLoad, IndexLoadError, IndexLoadMark, LoadWork, ReplacedIndex,
};
use z3950_server::memory::{DocidField, Note};

use super::bar::LoadBar;
use super::failed;
use super::records::{Input, Prepared, prepare};
use super::resume::{LoadCourse, LoadProgress, LoadTask, ResumeFile, noted_action};
use crate::args::LoadArguments;
use crate::failure::{Exit, Failure, complain, note};
use crate::words::counted;

/// The number of records after which the progress is noted.
const PART: u64 = 50_000;
/// The number of records that a thread prepares in one go.
const CHUNK: usize = 250;
/// The maximum number of repaired records that are named in messages.
const MOST_NAMED: u64 = 100;

/// A load in progress.
struct LoadRun<'a> {
    arguments: &'a LoadArguments,
    /// The docid field that each record must have; `None` if records without docid are loaded too.
    required: Option<DocidField>,
    bar: LoadBar,
    /// Closed by the first signal to stop; `None` before the load begins.
    stop: Option<oneshot::Receiver<()>>,
    /// The number of records that were stored or deleted.
    loaded: u64,
    /// The number of records in the last progress message, which is only used without a progress line.
    told: u64,
    /// The number of records that were to be deleted but do not exist.
    absent: u64,
    /// The number of records that were repaired; only the first of these records are named in messages.
    repaired: u64,
    /// The number of records that were left out; each of these records is named in a message.
    left_out: u64,
}

/// A part of the load that has been sent, and the progress to note once the index has it.
#[derive(Debug)]
struct SentPart {
    mark: IndexLoadMark,
    progress: LoadProgress,
}

/// Loads the files.
pub(super) fn run(
    arguments: &LoadArguments,
    index: &ClusterIndex,
    docid: DocidField,
    layout: u64,
    runtime: &Runtime,
) -> Result<Exit, Failure> {
    let mut run = LoadRun {
        arguments,
        required: (arguments.update || arguments.delete).then_some(docid),
        bar: LoadBar::new(),
        stop: None,
        loaded: 0,
        told: 0,
        absent: 0,
        repaired: 0,
        left_out: 0,
    };
    let outcome = run.whole(index, layout, runtime);
    run.bar.end();
    run.tell_sums(outcome.is_ok());
    outcome?;
    Ok(match run.left_out {
        0 => Exit::Stopped,
        _ => Exit::FaultsFound,
    })
}

impl LoadRun<'_> {
    /// Loads the files, continuing after the part that an earlier load has done. All files are opened before anything is sent, so
    /// that a missing file is reported at once.
    fn whole(
        &mut self,
        index: &ClusterIndex,
        layout: u64,
        runtime: &Runtime,
    ) -> Result<(), Failure> {
        for (number, path) in self.arguments.files.iter().enumerate() {
            if Input::open(path, number)?.next(1)?.is_empty() {
                complain(&format_args!("{} has no records", path.display()));
            }
        }
        {
            let _context = runtime.enter();
            let stop = self.bar.stop_signal().map_err(Failure::unexpected)?;
            self.stop = Some(stop);
        }
        let left = runtime.block_on(index.delete_replaced());
        if let Some(left) = left.map_err(|error| failed(&error))? {
            note(&format_args!(
                "{left} is deleted, which a reload had replaced and left behind"
            ));
        }
        if self.is_reloaded(index, runtime)? {
            self.tell_done();
            return Ok(());
        }
        let begun = index.begin(self.work(), self.bar.slow_cluster());
        let mut load = runtime
            .block_on(begun)
            .map_err(|error| self.refused(&error))?;
        let task = LoadTask {
            action: format!("{} {}", self.verb(), load.identity()),
            layout,
        };
        let outcome = self.resumed(task, &mut load, runtime);
        let ended = self.end(index, load, &outcome, runtime);
        match (outcome, ended) {
            (Ok(()), ended) => ended,
            (Err(failure), Ok(())) => Err(failure),
            (Err(failure), Err(ended)) => Err(Failure {
                words: format!("{}\n{}", failure.words, ended.words),
                ..failure
            }),
        }
    }

    fn work(&self) -> LoadWork {
        let LoadArguments {
            reload,
            delete,
            overwrite,
            state,
            ..
        } = self.arguments;
        if *reload {
            let is_resumed = state.as_ref().is_some_and(|path| path.exists());
            LoadWork::Reload {
                is_resumed,
                overwrite: *overwrite,
            }
        } else if *delete {
            LoadWork::Delete
        } else {
            LoadWork::Add
        }
    }

    fn verb(&self) -> &'static str {
        match self.arguments {
            LoadArguments { reload: true, .. } => "reload",
            LoadArguments { delete: true, .. } => "delete",
            LoadArguments { update: true, .. } => "update",
            _ => "load",
        }
    }

    /// Returns the failure for an index that takes no load, with advice.
    fn refused(&self, error: &IndexError) -> Failure {
        let advice = match error {
            IndexError::Reloading { .. } if self.arguments.reload => {
                "to go on with a reload that was interrupted, name its --state FILE; --overwrite begins anew"
            }
            IndexError::Reloading { .. } => "if the reload was interrupted, run it again first",
            _ => return failed(error),
        };
        Failure::usage(format!("{error}; {advice}"))
    }

    /// Returns whether the notes are those of a reload whose index has taken its place.
    fn is_reloaded(&self, index: &ClusterIndex, runtime: &Runtime) -> Result<bool, Failure> {
        let state = self.arguments.state.as_deref();
        let Some(noted) = state
            .filter(|_| self.arguments.reload)
            .and_then(noted_action)
        else {
            return Ok(false);
        };
        let identity = runtime.block_on(index.identity());
        let identity = identity.map_err(|error| failed(&error))?;
        Ok(identity.is_some_and(|identity| noted == format!("{} {identity}", self.verb())))
    }

    /// Tells that the notes are those of a load that is done.
    fn tell_done(&self) {
        if let Some(path) = &self.arguments.state {
            let path = path.display();
            note(&format_args!(
                "{path} notes all of this as done; delete {path} to do it again"
            ));
        }
    }

    /// Opens the notes of an earlier load, and loads what is left.
    fn resumed(
        &mut self,
        task: LoadTask,
        load: &mut IndexLoad,
        runtime: &Runtime,
    ) -> Result<(), Failure> {
        let arguments = self.arguments;
        let resume = arguments.state.as_deref();
        let resume = resume.map(|path| ResumeFile::open(path, task, &arguments.files));
        let (file, progress) = resume.transpose()?.unzip();
        let progress = progress.unwrap_or_default();
        if progress.files == arguments.files.len() {
            self.tell_done();
        }
        let mut course = LoadCourse { progress, file };
        // The notes must exist before anything is sent: without them, the index cannot be completed.
        course.note(progress)?;
        let outcome = self.rest(&mut course, load, runtime);
        outcome.map_err(|failure| Failure {
            words: format!("{}\n{}", failure.words, self.advice(course.progress)),
            ..failure
        })
    }

    /// Ends the load at the index: after a reload, the new index takes the place of the old one.
    fn end(
        &mut self,
        index: &ClusterIndex,
        load: IndexLoad,
        outcome: &Result<(), Failure>,
        runtime: &Runtime,
    ) -> Result<(), Failure> {
        let is_kept = self.arguments.state.is_some();
        let filled = load.index().to_owned();
        let ended = match outcome {
            _ if !self.arguments.reload => runtime.block_on(load.end()),
            Ok(()) => {
                let count = runtime
                    .block_on(load.count())
                    .map_err(|error| failed(&error))?;
                if count == 0 {
                    runtime
                        .block_on(load.give_up())
                        .map_err(|error| failed(&error))?;
                    return Err(Failure::usage("nothing was loaded, so nothing is replaced"));
                }
                note(&format_args!(
                    "{} in {filled}, which takes its place",
                    counted(count, "record")
                ));
                let replaced = runtime.block_on(load.replace());
                replaced.and_then(|replaced| self.delete(index, &replaced, runtime))
            }
            Err(_) if is_kept && !(load.is_new() && self.loaded == 0) => {
                note(&format_args!(
                    "{filled} is kept to go on; until the reload is done, the index that is searched takes no changes"
                ));
                Ok(())
            }
            Err(_) => runtime.block_on(load.give_up()),
        };
        ended.map_err(|error| failed(&error))
    }

    /// Deletes the index that was replaced, when the searches in progress have ended, or after a signal.
    fn delete(
        &mut self,
        index: &ClusterIndex,
        replaced: &ReplacedIndex,
        runtime: &Runtime,
    ) -> Result<(), IndexError> {
        let Some(name) = &replaced.index else {
            return Ok(());
        };
        if !self.is_stopped()
            && let Some(stop) = &mut self.stop
        {
            let seconds = replaced.searched_for.as_secs_f64();
            note(&format_args!(
                "{name} is deleted in {seconds} s, when searches in progress have ended"
            ));
            // Both outcomes end the wait.
            let _ = runtime.block_on(async { timeout(replaced.searched_for, stop).await });
        }
        runtime.block_on(index.delete_replaced()).map(drop)
    }

    /// Loads the records that are not loaded yet.
    fn rest(
        &mut self,
        course: &mut LoadCourse,
        load: &mut IndexLoad,
        runtime: &Runtime,
    ) -> Result<(), Failure> {
        let mut sent = None;
        let outcome = self.send(course, load, &mut sent, runtime);
        // Wait for the part that was already sent, because it may have been carried out despite the failure.
        let last = sent
            .take()
            .map_or(Ok(()), |sent| self.settle(course, load, sent, runtime));
        match (outcome, last) {
            // If the load could not be ended properly after a signal, report the reason instead of the signal.
            (Err(signal), Err(failure)) if signal.exit == Exit::Interrupted => Err(failure),
            (outcome, last) => outcome.and(last),
        }
    }

    /// Sends the records that are not loaded yet. The index is at most one part behind: `sent` is the part that it may not have yet.
    fn send(
        &mut self,
        course: &mut LoadCourse,
        load: &mut IndexLoad,
        sent: &mut Option<SentPart>,
        runtime: &Runtime,
    ) -> Result<(), Failure> {
        let from = course.progress;
        let files = self.arguments.files.iter().enumerate().skip(from.files);
        for (number, path) in files {
            let mut input = Input::open(path, number)?;
            if number == from.files {
                input.skip(from.records);
            }
            let mut is_open = true;
            while is_open {
                is_open = runtime.block_on(self.part(&mut input, load))?;
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
                let mark = runtime.block_on(load.mark()).map_err(stopped)?;
                if let Some(before) = sent.replace(SentPart { mark, progress }) {
                    self.settle(course, load, before, runtime)?;
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

    /// Waits until the index has a part, and notes the progress.
    fn settle(
        &mut self,
        course: &mut LoadCourse,
        load: &mut IndexLoad,
        sent: SentPart,
        runtime: &Runtime,
    ) -> Result<(), Failure> {
        let SentPart { mark, progress } = sent;
        let part = runtime.block_on(load.reached(mark)).map_err(stopped)?;
        self.loaded += part.changed;
        self.absent += part.absent;
        for refused in part.refused {
            let path = self.arguments.files.get(refused.place.file);
            let left_out = Note::LeftOut {
                number: refused.place.number,
                offset: refused.place.offset,
                reason: format!("the search engine refuses it: {}", refused.words),
            };
            self.tell(path.map_or(Path::new(""), |path| path), &left_out);
        }
        course.note(progress)?;
        let so_far = self.loaded + self.absent;
        if self.bar.is_hidden() && so_far >= self.told + PART {
            note(&format_args!("{} so far", counted(so_far, "record")));
            self.told = so_far;
        }
        Ok(())
    }

    /// Returns whether a signal to stop has arrived.
    fn is_stopped(&mut self) -> bool {
        let stop = self.stop.as_mut();
        stop.is_some_and(|stop| stop.try_recv() == Err(TryRecvError::Closed))
    }

    /// Describes the progress of a load that stops early, and how to continue it.
    fn advice(&self, LoadProgress { files, records }: LoadProgress) -> String {
        let path = self.arguments.files.get(files);
        let path = path.map_or_else(String::new, |path| path.display().to_string());
        let come = match (files, records) {
            (0, 0) => "nothing is known to be done".to_owned(),
            _ => format!("everything before record {} of {path} is done", records + 1),
        };
        match &self.arguments.state {
            Some(file) => {
                let file = file.display();
                format!("{come}, which {file} notes: run the same command again to go on")
            }
            None if self.arguments.reload => {
                "the new index is given up, and the old one is as it was: run the same command again to begin anew; with --state FILE, a \
                 reload goes on where it was"
                    .to_owned()
            }
            None => format!(
                "{come}: run the same command again to do everything; with --state FILE, a load goes on where it was"
            ),
        }
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
                    self.tell(&input.path, &note);
                }
                if let Some(change) = change {
                    load.add(change).await.map_err(stopped)?;
                    sent += 1;
                }
            }
            self.bar.advance(sent);
        }
    }

    /// Counts and reports a record that was repaired or left out.
    fn tell(&mut self, path: &Path, note: &Note) {
        let path = path.display();
        if matches!(note, Note::LeftOut { .. }) {
            self.left_out += 1;
            self.bar.complain(&format_args!("{path}: {note}"));
            return;
        }
        self.repaired += 1;
        if self.repaired <= MOST_NAMED {
            self.bar.note(&format_args!("{path}: {note}"));
        }
    }

    /// Reports how many records there were of each kind.
    fn tell_sums(&self, is_complete: bool) {
        let done = if self.arguments.delete {
            "deleted"
        } else {
            "loaded"
        };
        if is_complete || self.loaded > 0 {
            note(&format_args!("{} {done}", counted(self.loaded, "record")));
        }
        if self.absent > 0 {
            note(&format_args!(
                "{} not in the engine",
                counted(self.absent, "record")
            ));
        }
        if self.repaired > 0 {
            let named = if self.repaired > MOST_NAMED {
                format!(", {MOST_NAMED} of them named")
            } else {
                String::new()
            };
            note(&format_args!(
                "{} repaired{named}",
                counted(self.repaired, "record")
            ));
        }
        if self.left_out > 0 {
            complain(&format_args!(
                "{} left out",
                counted(self.left_out, "record")
            ));
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

/// Returns the failure for a cluster that fails.
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

//! `z3950d load`: loads records into an index.

mod sending;
mod sums;

use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::time::timeout;
use z3950_front::engine::opensearch::{
    ClusterIndex, ClusterOptions, IndexError, IndexLoad, Leftover, LoadWork, ReplacedIndex,
};
use z3950_server::memory::DocidField;

use self::sums::LoadSums;
use super::bar::LoadBar;
use super::records::Input;
use super::resume::{LoadProgress, LoadTask, SavedProgress, SavedState};
use super::{advised, failed};
use crate::args::LoadArguments;
use crate::failure::{Exit, Failure, complain, note};
use crate::words::counted;

/// A load in progress.
struct LoadRun<'a> {
    arguments: &'a LoadArguments,
    index: &'a ClusterIndex,
    runtime: &'a Runtime,
    /// The docid field that each record must have; `None` if records without docid are loaded too.
    required: Option<DocidField>,
    bar: LoadBar,
    /// A receiver that is closed by the first signal to stop; `None` before the load begins.
    stop: Option<oneshot::Receiver<()>>,
    sums: LoadSums,
}

/// Loads the files. `layout` is the fingerprint of the indexes.
pub(super) fn run(
    arguments: &LoadArguments,
    index: &ClusterIndex,
    options: &ClusterOptions,
    docid: DocidField,
    layout: u64,
    runtime: &Runtime,
) -> Result<Exit, Failure> {
    let mut run = LoadRun {
        arguments,
        index,
        runtime,
        required: (arguments.update || arguments.delete).then_some(docid),
        bar: LoadBar::new(),
        stop: None,
        sums: LoadSums::default(),
    };
    let outcome = run.whole(options, layout);
    run.bar.end();
    run.sums.tell_all(arguments.delete, outcome.is_ok());
    outcome?;
    Ok(match run.sums.left_out {
        0 => Exit::Stopped,
        _ => Exit::FaultsFound,
    })
}

impl LoadRun<'_> {
    /// Loads the files, continuing after the part that an earlier load has completed. All files are opened before anything is
    /// sent, so that a missing file is reported at once.
    fn whole(&mut self, options: &ClusterOptions, layout: u64) -> Result<(), Failure> {
        let LoadArguments {
            files,
            state,
            reload,
            overwrite,
            ..
        } = self.arguments;
        for (number, path) in files.iter().enumerate() {
            if Input::open(path, number)?.next(1)?.is_empty() {
                complain(&format_args!("{} has no records", path.display()));
            }
        }
        let mut saved = state
            .as_deref()
            .map(|path| SavedState::open(path, files))
            .transpose()?;
        if *overwrite {
            saved.iter_mut().for_each(SavedState::clear);
        }
        {
            let _context = self.runtime.enter();
            let stop = self.bar.stop_signal().map_err(Failure::unexpected)?;
            self.stop = Some(stop);
        }
        let left = self.runtime.block_on(self.index.delete_replaced());
        if let Some(left) = left.map_err(|error| failed(&error))? {
            note(&format_args!(
                "{left} is deleted, which a reload had replaced and left behind"
            ));
        }
        let noted = saved.as_ref().and_then(SavedState::action);
        if *reload && self.is_reloaded(noted)? {
            self.tell_done();
            return Ok(());
        }
        let work = self.work(noted.is_some());
        let begun = self.index.begin(work, self.bar.slow_cluster());
        let begun = self.runtime.block_on(begun);
        let mut load = begun.map_err(|error| refused(&error))?;
        if load.is_new() {
            let (shards, replicas) = (options.shards.into(), options.replicas.into());
            note(&format_args!(
                "index {} created: {}, {}",
                load.index(),
                counted(shards, "shard"),
                counted(replicas, "replica")
            ));
        }
        let task = LoadTask {
            action: format!("{} {}", self.verb(), load.identity()),
            layout,
        };
        let outcome = self.resumed(saved, task, &mut load);
        let ended = if *reload {
            self.end_reload(load, outcome.is_ok())
        } else {
            let ended = match outcome {
                Ok(()) => self.runtime.block_on(load.end()),
                Err(_) => self.runtime.block_on(load.restore()),
            };
            ended.map_err(|error| failed(&error))
        };
        both(outcome, ended)
    }

    fn work(&self, is_noted: bool) -> LoadWork {
        match self.arguments {
            LoadArguments { delete: true, .. } => LoadWork::Delete,
            LoadArguments { reload: false, .. } => LoadWork::Add,
            LoadArguments {
                overwrite: true, ..
            } => LoadWork::Reload(Leftover::Replace),
            LoadArguments { state: None, .. } => LoadWork::Reload(Leftover::Refuse),
            _ if is_noted => LoadWork::Reload(Leftover::Continue),
            // A reload that was killed before its progress was first noted has not loaded anything.
            _ => LoadWork::Reload(Leftover::ReplaceIfEmpty),
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

    /// Returns whether the saved progress belongs to a reload that is complete.
    fn is_reloaded(&self, noted: Option<&str>) -> Result<bool, Failure> {
        let Some(noted) = noted else {
            return Ok(false);
        };
        let identity = self
            .runtime
            .block_on(self.index.identity())
            .map_err(|error| failed(&error))?;
        Ok(identity.is_some_and(|identity| noted == format!("{} {identity}", self.verb())))
    }

    /// Reports that the saved progress belongs to a complete load.
    fn tell_done(&self) {
        if let Some(path) = &self.arguments.state {
            let path = path.display();
            note(&format_args!(
                "{path} notes all of this as done; delete {path} to do it again"
            ));
        }
    }

    /// Loads the records that an earlier load has not loaded.
    fn resumed(
        &mut self,
        saved: Option<SavedState>,
        task: LoadTask,
        load: &mut IndexLoad,
    ) -> Result<(), Failure> {
        let resumed = saved.map(|saved| saved.resume(task)).transpose()?;
        let (file, progress) = resumed.unzip();
        let progress = progress.unwrap_or_default();
        if progress.files == self.arguments.files.len() {
            self.tell_done();
        }
        let mut saved_progress = SavedProgress { progress, file };
        // The progress is saved before anything is sent, because otherwise an interrupted load could not be resumed.
        saved_progress.save(progress)?;
        let outcome = self.rest(&mut saved_progress, load);
        outcome.map_err(|failure| match self.advice(saved_progress.progress) {
            Some(advice) => Failure {
                words: format!("{}\n{advice}", failure.words),
                ..failure
            },
            None => failure,
        })
    }

    /// Ends a reload. Depending on the result, the new index replaces the old one, is kept so that the reload can be continued,
    /// or is deleted.
    fn end_reload(&mut self, load: IndexLoad, is_loaded: bool) -> Result<(), Failure> {
        let can_go_on = self.arguments.state.is_some();
        let mut is_kept = can_go_on && !(load.is_new() && self.sums.loaded == 0);
        let mut outcome = Ok(());
        if is_loaded {
            match self.runtime.block_on(replace(&load)) {
                Ok(Some(replaced)) => return self.delete(&replaced),
                Ok(None) => {
                    is_kept = false;
                    let words = "nothing was loaded, so nothing is replaced";
                    outcome = Err(Failure::usage(words));
                }
                Err(error) => {
                    // If the server did not answer, the new index may have replaced the old one, so it must not be deleted.
                    is_kept |= !error.is_refusal();
                    outcome = Err(failed(&error));
                }
            }
        }
        let filled = load.index().to_owned();
        if is_kept {
            let again = if can_go_on {
                "to go on"
            } else {
                "until the same command with --overwrite begins anew"
            };
            note(&format_args!(
                "{filled} is kept {again}; until the reload is done, the index that is searched takes no changes"
            ));
            return outcome;
        }
        let given_up = match self.runtime.block_on(load.give_up()) {
            Ok(()) => {
                note(&format_args!(
                    "{filled} is given up, and the index that is searched is as it was: run the same command again to begin anew"
                ));
                Ok(())
            }
            Err(error) => {
                let Failure { exit, words } = failed(&error);
                let words = format!(
                    "{words}\nuntil a reload is done, the index that is searched takes no changes: run the same command again"
                );
                Err(Failure { exit, words })
            }
        };
        both(outcome, given_up)
    }

    /// Deletes the index that was replaced, after the searches in progress have ended, or after a signal.
    fn delete(&mut self, replaced: &ReplacedIndex) -> Result<(), Failure> {
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
            let wait = async { timeout(replaced.searched_for, stop).await };
            // The index is deleted next, whether the time limit or a signal has ended the wait.
            let _ = self.runtime.block_on(wait);
        }
        let deleted = self.runtime.block_on(self.index.delete_replaced());
        deleted.map(drop).map_err(|error| failed(&error))
    }

    /// Describes the progress of a load that stops early, and how to continue it; `None` for a reload that cannot be continued.
    fn advice(&self, LoadProgress { files, records }: LoadProgress) -> Option<String> {
        let path = self.arguments.files.get(files);
        let path = path.map_or_else(String::new, |path| path.display().to_string());
        let come = match (files, records) {
            (0, 0) => "nothing is known to be done".to_owned(),
            _ => format!("everything before record {} of {path} is done", records + 1),
        };
        match &self.arguments.state {
            Some(file) => {
                let file = file.display();
                Some(format!(
                    "{come}, which {file} notes: run the same command again to go on"
                ))
            }
            None if self.arguments.reload => None,
            None => Some(format!(
                "{come}: run the same command again to do everything; with --state FILE, a load goes on where it was"
            )),
        }
    }
}

/// Replaces the old index by the one that a reload has filled, and returns the old index; returns `None` if the new index has no
/// records.
async fn replace(load: &IndexLoad) -> Result<Option<ReplacedIndex>, IndexError> {
    let count = load.count().await?;
    if count == 0 {
        return Ok(None);
    }
    note(&format_args!(
        "{} in {}, which takes its place",
        counted(count, "record"),
        load.index()
    ));
    load.replace().await.map(Some)
}

/// Returns the failure for an index that cannot be loaded.
fn refused(error: &IndexError) -> Failure {
    match error {
        IndexError::Reloading { .. } => Failure::usage(advised(error)),
        _ => failed(error),
    }
}

/// Combines two results. If both failed, returns the first failure with the messages from both.
fn both(one: Result<(), Failure>, other: Result<(), Failure>) -> Result<(), Failure> {
    match (one, other) {
        (Err(one), Err(other)) => Err(Failure {
            words: format!("{}\n{}", one.words, other.words),
            ..one
        }),
        (one, other) => one.and(other),
    }
}

//! `z3950d load`: loads records from files, spread over the nodes of a search engine.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::runtime::Runtime;
use tokio::sync::oneshot::{self, error::TryRecvError};
use tokio::task::JoinHandle;
use z3950_asn1::input;
use z3950_front::engine::{
    EngineChange, EngineChanges, EngineDatabase, EngineLayout, EngineLoad, EngineLoadError,
    EngineOptions, LoadMark,
};
use z3950_marc::MarcRecord;
use z3950_marc::iso2709;
use z3950_marc::stream::{InputForm, InputRecord, RecordReader};
use z3950_server::memory::{DocidField, Note};

use super::bar::LoadBar;
use super::resume::{LoadCourse, LoadProgress, LoadTask, ResumeFile};
use super::settings_of;
use crate::args::LoadArguments;
use crate::failure::{Exit, Failure, chain, complain, note};
use crate::words::counted;

/// Loads the files.
pub(super) fn run(arguments: &LoadArguments, runtime: &Runtime) -> Result<Exit, Failure> {
    let (config, settings) = settings_of(&arguments.place)?;
    let options = settings.options.clone();
    let index = options.replicas.first().map(|first| first.index.clone());
    let index = index.unwrap_or_default();
    let action = if arguments.delete {
        "delete"
    } else if arguments.update {
        "update"
    } else {
        "load"
    };
    let layout = super::layout(&config, &settings)?;
    let task = LoadTask {
        action: format!("{action} {index} at {}", options.nodes.join(",")),
        layout: layout.fingerprint(),
    };
    let needs_docid = arguments.update || arguments.delete;
    let docid = settings.docid.unwrap_or(config.docid);
    let mut run = LoadRun {
        arguments,
        layout,
        required: needs_docid.then_some(docid),
        index,
        options,
        bar: LoadBar::new(),
        stop: None,
        loaded: 0,
        told: 0,
        absent: 0,
        repaired: 0,
        left_out: 0,
    };
    let outcome = run.files(task, runtime);
    run.bar.end();
    let done = if arguments.delete {
        "deleted"
    } else {
        "loaded"
    };
    if outcome.is_ok() || run.loaded > 0 {
        note(&format_args!("{} {done}", counted(run.loaded, "record")));
    }
    if run.absent > 0 {
        note(&format_args!(
            "{} not in the engine",
            counted(run.absent, "record")
        ));
    }
    if run.repaired > 0 {
        let named = if run.repaired > MOST_NAMED {
            format!(", {MOST_NAMED} of them named")
        } else {
            String::new()
        };
        note(&format_args!(
            "{} repaired{named}",
            counted(run.repaired, "record")
        ));
    }
    if run.left_out > 0 {
        complain(&format_args!(
            "{} left out",
            counted(run.left_out, "record")
        ));
    }
    outcome?;
    Ok(match run.left_out {
        0 => Exit::Stopped,
        _ => Exit::FaultsFound,
    })
}

/// An input file that is being read.
struct Input {
    path: PathBuf,
    records: RecordReader<File>,
    /// The number of the last record that was read, from 1.
    number: u64,
}

impl Input {
    fn open(path: &Path) -> Result<Self, Failure> {
        let unreadable = |error| Failure::cannot(&format!("cannot read {}", path.display()), error);
        let file = input::open_regular(path).map_err(unreadable)?;
        let extension = path.extension().and_then(|extension| extension.to_str());
        let records = match extension.and_then(InputForm::by_extension) {
            Some(form) => RecordReader::new(file, form),
            None => RecordReader::guessing(file, InputForm::Marc).map_err(unreadable)?,
        };
        Ok(Self {
            path: path.to_owned(),
            records,
            number: 0,
        })
    }

    fn skip(&mut self, records: u64) {
        while self.number < records && self.records.next().is_some() {
            self.number += 1;
        }
    }

    /// Returns up to `most` of the next records; empty at the end of the file.
    fn next(&mut self, most: usize) -> Result<Vec<InputRecord>, Failure> {
        let records: io::Result<Vec<_>> = self.records.by_ref().take(most).collect();
        let what = format!("cannot read {}", self.path.display());
        let records = records.map_err(|error| Failure::cannot(&what, error))?;
        self.number = records.last().map_or(self.number, |last| last.number);
        Ok(records)
    }
}

/// A load in progress.
struct LoadRun<'a> {
    arguments: &'a LoadArguments,
    layout: Arc<EngineLayout>,
    /// The docid field that each record must have; `None` if records without docid are loaded too.
    required: Option<DocidField>,
    index: String,
    options: EngineOptions,
    bar: LoadBar,
    /// Closed by the first signal to stop; `None` before the load begins.
    stop: Option<oneshot::Receiver<()>>,
    /// The number of records that the nodes have stored or deleted.
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

/// A part of the load that has been sent: its number of records, and the progress to note once the nodes have stored them.
#[derive(Debug)]
struct SentPart {
    mark: LoadMark,
    records: u64,
    progress: LoadProgress,
}

/// The number of records after which the progress is noted.
const PART: u64 = 50_000;
/// The number of records that a thread prepares in one go.
const CHUNK: usize = 250;

/// The maximum number of repaired records that are named in messages.
const MOST_NAMED: u64 = 100;

/// A record that is ready to be sent.
#[derive(Debug)]
struct Prepared {
    /// The change for the record's node; `None` if the record is left out.
    change: Option<EngineChange>,
    /// What was repaired, or the reason why the record is left out.
    note: Option<Note>,
}

impl LoadRun<'_> {
    /// Loads the files, continuing after the part that an earlier load has done. All files are opened before anything is sent, so
    /// that a missing file is reported at once.
    fn files(&mut self, task: LoadTask, runtime: &Runtime) -> Result<(), Failure> {
        let arguments = self.arguments;
        for path in &arguments.files {
            if Input::open(path)?.next(1)?.is_empty() {
                complain(&format_args!("{} has no records", path.display()));
            }
        }
        let resume = arguments.state.as_deref();
        let resume = resume.map(|path| ResumeFile::open(path, task, &arguments.files));
        let (file, progress) = resume.transpose()?.unzip();
        let progress = progress.unwrap_or_default();
        let is_done = progress.files == arguments.files.len();
        if let Some(path) = arguments.state.as_deref().filter(|_| is_done) {
            let path = path.display();
            note(&format_args!(
                "{path} notes all of this as done; delete {path} to do it again"
            ));
        }
        if !is_done {
            self.check(runtime)?;
        }
        let mut course = LoadCourse { progress, file };
        let outcome = self.rest(&mut course, runtime);
        outcome.map_err(|failure| Failure {
            words: format!("{}\n{}", failure.words, self.advice(course.progress)),
            ..failure
        })
    }

    /// Checks that the nodes match the settings. A node that does not answer is ignored here, because the load itself reports it.
    fn check(&self, runtime: &Runtime) -> Result<(), Failure> {
        let engine = EngineDatabase::new(self.options.clone(), Arc::clone(&self.layout));
        let engine = engine.map_err(Failure::usage)?;
        match runtime.block_on(engine.check_nodes()) {
            Err(error) if error.is_mismatch() => Err(super::refused(&error)),
            _ => Ok(()),
        }
    }

    /// Loads the records that are not loaded yet.
    fn rest(&mut self, course: &mut LoadCourse, runtime: &Runtime) -> Result<(), Failure> {
        let mut load = {
            let _context = runtime.enter();
            EngineLoad::new(
                Arc::clone(&self.layout),
                &self.index,
                &self.options.nodes,
                self.arguments.delete,
                self.bar.slow_node(),
            )
            .map_err(Failure::usage)?
        };
        let mut sent = None;
        let outcome = self.send(course, &mut load, &mut sent, runtime);
        // Wait for the part that was already sent, because the nodes may have executed it despite the failure.
        let last = sent
            .take()
            .map_or(Ok(()), |sent| self.settle(course, &mut load, sent, runtime));
        match (outcome, last) {
            // If the load could not be ended properly after a signal, report the reason instead of the signal.
            (Err(signal), Err(failure)) if signal.exit == Exit::Interrupted => Err(failure),
            (outcome, last) => outcome.and(last),
        }
    }

    /// Sends the records that are not loaded yet. The nodes are at most one part behind: `sent` is the part that they may still
    /// be working on.
    fn send(
        &mut self,
        course: &mut LoadCourse,
        load: &mut EngineLoad,
        sent: &mut Option<SentPart>,
        runtime: &Runtime,
    ) -> Result<(), Failure> {
        let mut progress = course.progress;
        while let Some(path) = self.arguments.files.get(progress.files) {
            let mut input = Input::open(path)?;
            input.skip(progress.records);
            if self.stop.is_none() {
                // Until here nothing was sent, so a signal could simply end the program. From now on, signals are watched.
                let _context = runtime.enter();
                self.stop = Some(self.bar.stop_signal().map_err(Failure::unexpected)?);
                course.note(course.progress)?;
            }
            let mut is_open = true;
            while is_open {
                let records;
                (is_open, records) = runtime.block_on(self.part(&mut input, load))?;
                progress = if is_open {
                    LoadProgress {
                        records: input.number,
                        ..progress
                    }
                } else {
                    LoadProgress {
                        files: progress.files + 1,
                        records: 0,
                    }
                };
                let mark = runtime.block_on(load.mark()).map_err(failed)?;
                let part = SentPart {
                    mark,
                    records,
                    progress,
                };
                if let Some(before) = sent.replace(part) {
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

    /// Waits until the nodes have stored a part, and notes the progress.
    fn settle(
        &mut self,
        course: &mut LoadCourse,
        load: &mut EngineLoad,
        part: SentPart,
        runtime: &Runtime,
    ) -> Result<(), Failure> {
        let SentPart {
            mark,
            records,
            progress,
        } = part;
        let changed = runtime.block_on(load.reached(mark)).map_err(failed)?;
        let done = if self.arguments.delete {
            changed.min(records)
        } else {
            records
        };
        self.loaded += done;
        self.absent += records - done;
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
            None => format!(
                "{come}: run the same command again to do everything; with --state FILE, a load goes on where it was"
            ),
        }
    }

    /// Sends the next records of a file. Returns whether there may be more records, and the number sent. After a signal to stop,
    /// sends only the records that have already been read.
    async fn part(
        &mut self,
        input: &mut Input,
        load: &mut EngineLoad,
    ) -> Result<(bool, u64), Failure> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let mut prepared: VecDeque<JoinHandle<Vec<Prepared>>> = VecDeque::new();
        let end = input.number + PART;
        let mut is_open = true;
        let mut sent = 0;
        loop {
            while is_open && input.number < end && prepared.len() <= threads && !self.is_stopped() {
                let records = input.next(CHUNK)?;
                is_open = !records.is_empty();
                if is_open {
                    let (changes, required) = (load.changes(), self.required);
                    prepared.push_back(tokio::task::spawn_blocking(move || {
                        prepare(&changes, records, required)
                    }));
                }
            }
            let Some(next) = prepared.pop_front() else {
                break;
            };
            let before = sent;
            for Prepared { change, note } in finished(next).await? {
                if let Some(note) = note {
                    self.tell(&input.path, &note);
                }
                if let Some(change) = change {
                    load.add(change).await.map_err(failed)?;
                    sent += 1;
                }
            }
            self.bar.advance(sent - before);
        }
        Ok((is_open, sent))
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

/// Returns the failure for a node that fails.
fn failed(error: EngineLoadError) -> Failure {
    Failure::unexpected(io::Error::other(error))
}

fn prepare(
    changes: &EngineChanges,
    records: Vec<InputRecord>,
    required: Option<DocidField>,
) -> Vec<Prepared> {
    let change = |record: MarcRecord| {
        if let Some(docid) = required.filter(|_| !changes.has_docid(&record)) {
            return Err(format!("it has no identifier in {docid}"));
        }
        let octets = iso2709::encode(&record).map_err(|error| chain(&error))?;
        Ok(changes.of(&record, &octets))
    };
    let prepared = |read: InputRecord| {
        let (number, offset) = (read.number, read.offset);
        // An incomplete record must not replace a record at the node that may be complete.
        let record = if read.incomplete {
            (read.record).and_then(|_| Err(format!("incomplete: {}", read.notes.join("; "))))
        } else {
            read.record
        };
        match record.and_then(change) {
            Ok(change) => {
                let more = read.notes.len().saturating_sub(1);
                let repair = read.notes.into_iter().next();
                let note = repair.map(|repair| Note::Repaired {
                    number,
                    offset,
                    repair,
                    more,
                    is_loss: false,
                });
                Prepared {
                    change: Some(change),
                    note,
                }
            }
            Err(reason) => Prepared {
                change: None,
                note: Some(Note::LeftOut {
                    number,
                    offset,
                    reason,
                }),
            },
        }
    };
    records.into_iter().map(prepared).collect()
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

//! The file that `--state` names. Its first line contains the action of the load and the fingerprint of the indexes. Each input
//! file has a further line, which contains the number of loaded records, or `all`, and the file's size, modification time and
//! name.
//!
//! ```text
//! load books-1 XpCGMgzNRzCcqWAxkP1sKg indexes 05e1b5c3d4f60718
//! all 2097152 2026-01-31T23:59:59.123456Z "/srv/marc/records.mrc"
//! 150000 1073741824 2026-02-01T07:30:00.000000Z "/srv/marc/more.mrc"
//! ```

use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use z3950_files::{Draft, Existing, Lock, input};
use z3950_server::transcript::format_time;

use crate::failure::Failure;

/// The progress of a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LoadProgress {
    /// The number of files that have been loaded completely.
    pub(super) files: usize,
    /// The number of records in the next file that have been loaded.
    pub(super) records: u64,
}

/// The progress of a load, which is saved in the `--state` file if the option is used.
#[derive(Debug)]
pub(super) struct SavedProgress {
    pub(super) progress: LoadProgress,
    pub(super) file: Option<ResumeFile>,
}

impl SavedProgress {
    /// Saves the progress.
    ///
    /// # Errors
    /// The file cannot be written. In this case, it keeps the progress that was saved before.
    pub(super) fn save(&mut self, progress: LoadProgress) -> Result<(), Failure> {
        if let Some(file) = &self.file {
            file.write(progress)?;
        }
        self.progress = progress;
        Ok(())
    }
}

/// The task of a load: its action, indexes and files. Saved progress is only valid for a load with the same task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LoadTask {
    /// The action, such as `load`, with the index.
    pub(super) action: String,
    /// The fingerprint of the indexes.
    pub(super) layout: u64,
}

impl LoadTask {
    /// Returns the fingerprint of the indexes as text.
    fn indexes(&self) -> String {
        format!("{:016x}", self.layout)
    }
}

/// The `--state` file, locked so that only one load uses it at a time, and its contents.
#[derive(Debug)]
pub(super) struct SavedState {
    lock: Lock,
    files: Vec<LoadedFile>,
    /// The text that an earlier load has written; empty if there is none.
    text: String,
}

/// The `--state` file of a load in progress.
#[derive(Debug)]
pub(super) struct ResumeFile {
    lock: Lock,
    task: LoadTask,
    files: Vec<LoadedFile>,
}

/// An input file as it is listed in the `--state` file.
#[derive(Debug)]
struct LoadedFile {
    /// The file's size and modification time, which reveal a change to the file.
    state: String,
    name: String,
}

impl LoadedFile {
    fn of(path: &Path) -> io::Result<Self> {
        let data = fs::metadata(path)?;
        let modified = data.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        Ok(Self {
            state: format!("{} {}", data.len(), format_time(modified)),
            name: format!("{:?}", std::path::absolute(path)?),
        })
    }

    /// Returns the line for the file, with the number of loaded records.
    fn line(&self, records: impl fmt::Display) -> String {
        let Self { state, name } = self;
        format!("{records} {state} {name}\n")
    }
}

/// The text between the action and the fingerprint of the indexes.
const INDEXES: &str = " indexes ";
/// The error for a file that belongs to another load.
const OTHER: &str = "it is not of a load of these files with these options";
/// The maximum size of the file, in octets.
const MOST_OCTETS: u64 = 16 << 20;

impl SavedState {
    /// Opens the file, which need not exist.
    ///
    /// # Errors
    /// The file is in use by another load, or was not written by a load.
    pub(super) fn open(path: &Path, files: &[PathBuf]) -> Result<Self, Failure> {
        let unusable = |error| Failure::cannot("cannot resume a load (--state)", error);
        let lock = Lock::take(path).map_err(unusable)?;
        let files = files.iter().map(|file| {
            let what = format!("cannot read {}", file.display());
            LoadedFile::of(file).map_err(|error| Failure::cannot(&what, error))
        });
        let files = files.collect::<Result<_, _>>()?;
        let what = format!("cannot continue from {}", path.display());
        let text = if lock.target().exists() {
            input::read_text(path, MOST_OCTETS).map_err(|error| Failure::cannot(&what, error))?
        } else {
            String::new()
        };
        let saved = Self { lock, files, text };
        if saved.text.is_empty() || saved.action().is_some() {
            Ok(saved)
        } else {
            Err(Failure::usage(format!(
                "{what}: it is not a file of --state; name another one"
            )))
        }
    }

    /// Returns the action of the earlier load; `None` if there is none.
    pub(super) fn action(&self) -> Option<&str> {
        let (action, _) = header(&self.text)?;
        Some(action)
    }

    /// Discards the progress of the earlier load.
    pub(super) fn clear(&mut self) {
        self.text.clear();
    }

    /// Reads the progress of the earlier load.
    ///
    /// # Errors
    /// The file belongs to a load with another task.
    pub(super) fn resume(self, task: LoadTask) -> Result<(ResumeFile, LoadProgress), Failure> {
        let Self { lock, files, text } = self;
        let resume = ResumeFile { lock, task, files };
        let progress = resume.progress(&text).map_err(|why| {
            let path = resume.lock.target().display();
            Failure::usage(format!(
                "cannot continue from {path}: {why}; delete {path} to begin anew"
            ))
        })?;
        Ok((resume, progress))
    }
}

impl ResumeFile {
    /// Parses the progress, if the file belongs to the same load. The current load may have additional input files at the end.
    ///
    /// # Errors
    /// The reason why the file belongs to another load.
    fn progress(&self, text: &str) -> Result<LoadProgress, String> {
        let mut progress = LoadProgress::default();
        let mut lines = text.lines();
        let Some((action, indexes)) = lines.next().and_then(header) else {
            return Ok(progress);
        };
        if action != self.task.action {
            return Err(OTHER.to_owned());
        }
        if indexes != self.task.indexes() {
            let words =
                "its indexes have changed since, in the settings or by another version of z3950d";
            return Err(words.to_owned());
        }
        for (file, line) in self.files.iter().zip(lines.by_ref()) {
            let (records, noted) = line.split_once(' ').ok_or(OTHER)?;
            let state = noted.strip_suffix(&*file.name).ok_or(OTHER)?;
            if progress.records > 0 {
                return Err(OTHER.to_owned());
            }
            if state.trim_end() != file.state {
                return Err(format!("{} has changed since", file.name));
            }
            match records {
                "all" => progress.files += 1,
                records => progress.records = records.parse().map_err(|_| OTHER)?,
            }
        }
        match lines.next() {
            None => Ok(progress),
            Some(_) => Err(OTHER.to_owned()),
        }
    }

    /// Replaces the contents of the file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn write(&self, progress: LoadProgress) -> Result<(), Failure> {
        let LoadTask { action, .. } = &self.task;
        let mut text = format!("{action}{INDEXES}{}\n", self.task.indexes());
        for file in self.files.iter().take(progress.files) {
            text.push_str(&file.line("all"));
        }
        let begun = self.files.get(progress.files);
        if let Some(file) = begun.filter(|_| progress.records > 0) {
            text.push_str(&file.line(progress.records));
        }
        let target = self.lock.target();
        let what = || format!("cannot write {}", target.display());
        let mut draft = Draft::hidden(target).map_err(|error| Failure::cannot(&what(), error))?;
        let written = draft.file().write_all(text.as_bytes());
        written.map_err(|error| Failure::cannot(&what(), error))?;
        let replaced = draft.persist(Existing::Replace, true);
        replaced
            .map(drop)
            .map_err(|error| Failure::cannot(&what(), error))
    }
}

/// Returns the action and the fingerprint in the first line of a file; `None` if the line was not written by a load.
fn header(text: &str) -> Option<(&str, &str)> {
    let (action, indexes) = text.lines().next()?.rsplit_once(INDEXES)?;
    let (verb, _) = action.split_once(' ')?;
    let is_known = ["load", "update", "delete", "reload"].contains(&verb)
        && indexes.len() == 16
        && indexes.bytes().all(|octet| octet.is_ascii_hexdigit());
    is_known.then_some((action, indexes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a folder with three files.
    fn folder() -> (tempfile::TempDir, [PathBuf; 3]) {
        let folder = tempfile::tempdir().expect("a folder");
        let files = ["a.mrc", "b\n.mrc", "c.mrc"].map(|name| folder.path().join(name));
        for file in &files {
            fs::write(file, "records").expect("written");
        }
        (folder, files)
    }

    fn task(action: &str, layout: u64) -> LoadTask {
        LoadTask {
            action: action.to_owned(),
            layout,
        }
    }

    #[test]
    fn a_file_is_of_the_same_load_or_refused() {
        let (folder, files) = folder();
        let path = folder.path().join("state");
        let open = |task: LoadTask, files: &[PathBuf]| {
            let opened = SavedState::open(&path, files).and_then(|saved| saved.resume(task));
            opened.map(|(_, progress)| progress)
        };
        let same = || task("load a", 7);
        assert_eq!(open(same(), &files).expect("new"), LoadProgress::default());
        let progress = LoadProgress {
            files: 1,
            records: 7,
        };
        let [one, two, three] = &files;
        let both = [one.clone(), two.clone()];
        {
            let saved = SavedState::open(&path, &both).expect("new");
            assert_eq!(saved.action(), None);
            let (resume, _) = saved.resume(same()).expect("new");
            resume.write(LoadProgress::default()).expect("written");
            resume.write(progress).expect("written");
            let busy = open(same(), &files).expect_err("another load has it");
            assert!(
                busy.words.contains("being written by another run"),
                "{busy:?}"
            );
        }
        let mut saved = SavedState::open(&path, &both).expect("the same");
        assert_eq!(saved.action(), Some("load a"));
        saved.clear();
        assert_eq!(saved.action(), None);
        let (_, forgotten) = saved.resume(task("load b", 8)).expect("anew");
        assert_eq!(forgotten, LoadProgress::default());
        assert_eq!(open(same(), &both).expect("the same"), progress);
        assert_eq!(open(same(), &files).expect("one more"), progress);
        for (task, files, expected) in [
            (task("delete a", 7), &files[..], OTHER),
            (same(), &files[..1], OTHER),
            (same(), &[two.clone(), one.clone()][..], OTHER),
            (same(), &[one.clone(), three.clone()][..], OTHER),
            (task("load a", 8), &files, "its indexes have changed"),
        ] {
            let error = open(task, files).expect_err("another load");
            let is_named = error.words.contains(expected);
            assert!(is_named && error.words.ends_with("begin anew"), "{error:?}");
        }
        let written = fs::read_to_string(&path).expect("notes");
        let (first, notes) = written.split_once('\n').expect("lines");
        let (all, begun) = notes.split_once('\n').expect("lines");
        for (text, advice) in [
            (&*format!("{first}\n7"), "begin anew"),
            (
                &format!("{first}\n{}", all.replacen("all", "x", 1)),
                "begin anew",
            ),
            (
                &format!("{first}\n{}\n{begun}", all.replacen("all", "1", 1)),
                "begin anew",
            ),
            // The path may name a record file by mistake, so the file is not replaced.
            ("load a", "name another one"),
            ("load a indexes all", "name another one"),
            ("load a indexes 000000000000000x", "name another one"),
            ("00063nam a indexes 0000000000000007", "name another one"),
        ] {
            fs::write(&path, text).expect("written");
            let error = open(same(), &files).expect_err(text);
            assert!(error.words.ends_with(advice), "{text}: {error:?}");
        }
    }

    #[test]
    fn a_file_that_has_changed_is_named() {
        let (folder, files) = folder();
        let path = folder.path().join("state");
        let open = || SavedState::open(&path, &files)?.resume(task("load a", 7));
        let progress = LoadProgress {
            files: 1,
            records: 7,
        };
        {
            let (resume, _) = open().expect("new");
            resume.write(progress).expect("written");
        }
        let put = |file: &Path, contents: &str, modified: SystemTime| {
            fs::write(file, contents).expect("written");
            let file = fs::File::options().write(true).open(file);
            file.and_then(|file| file.set_modified(modified))
                .expect("a time");
        };
        // The first file is done and the second is partly loaded, so neither may change. The third has not been started, so it may.
        for (file, is_noted) in files.iter().zip([true, true, false]) {
            let data = fs::metadata(file).expect("a file");
            let modified = data.modified().expect("a time");
            for (contents, time) in [("others", modified), ("records", SystemTime::UNIX_EPOCH)] {
                put(file, contents, time);
                let error = open().err().map(|failure| failure.words);
                let is_refused = error.is_some_and(|words| words.contains("has changed since"));
                assert_eq!(is_refused, is_noted, "{}", file.display());
                put(file, "records", modified);
                let (_, same) = open().expect("as it was");
                assert_eq!(same, progress);
            }
        }
    }
}

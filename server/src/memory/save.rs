//! Saves databases to files. Changes go to a journal next to the file; now and then the file is written anew with all of them, replaced
//! atomically, and the journal is emptied: it is folded into the file. If the process ends in between, the file may have changes that
//! the journal still holds; they are made again when both are read, which changes nothing.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use z3950_asn1::file::{self, Draft, Existing, Lock, Stamp};
use z3950_marc::stream::InputForm;
use z3950_marc::{Form, charset, iso2709};

use super::catalogue::{Catalogue, DatabaseFiles, RecordChange};
use super::fields::Fields;
use super::index::Index;
use super::journal::tally::JournalTally;
use super::journal::{
    self, Fingerprint, Hashed, Journal, JournalContents, JournalError, UNFINISHED,
};
use crate::diagnostic::{Condition, Diagnostic, diagnostic};
use crate::metrics::PERIOD;

/// The octets of changes in a journal from which it is folded into its file, by default.
pub(super) const JOURNAL_OCTETS: u64 = 16 << 20;

/// The octets that a change takes in a journal, besides its docid and record.
const ROW: u64 = 32;

/// Why a database cannot be saved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SaveError {
    /// There is no database of this name.
    #[error("no database {0}")]
    NoDatabase(
        /// The name.
        String,
    ),
    /// The file cannot be written, and is unchanged.
    #[error(transparent)]
    File(#[from] file::Error),
    /// The journal cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Another program has changed the file since it was read.
    #[error(
        "{} was changed by another program; reload the databases (SIGHUP) to read it",
        path.display()
    )]
    Changed {
        /// The file.
        path: PathBuf,
    },
}

/// The files that databases are saved to. Each is locked as long as the backend exists, and remembered as it was when last read
/// or written.
#[derive(Debug, Default)]
pub(super) struct SavedFiles(BTreeMap<u16, SavedFile>);

#[derive(Debug)]
struct SavedFile {
    path: PathBuf,
    /// The docid field.
    docid: String,
    /// `None` if its folder does not exist yet.
    lock: Option<Lock>,
    /// `None` if it did not exist.
    stamp: Option<Stamp>,
    held: Option<Fingerprint>,
    /// Open after the first change.
    journal: Option<Journal>,
    /// The number of the last change that is durable, and of the last one that is in the file.
    last: u64,
    folded: u64,
    /// The octets of the changes in the journal, and from how many on it is folded.
    octets: u64,
    due: u64,
    /// The limit by which `due` grows if folding fails.
    most: u64,
    /// Whether the file is being written anew on another thread.
    is_drafting: bool,
    tally: Arc<JournalTally>,
    failures: SaveFailures,
}

/// Failures to save changes, which are logged at most once in [`PERIOD`] as long as the cause is the same.
#[derive(Debug, Default)]
struct SaveFailures {
    /// The last one that was logged.
    logged: Option<(String, Instant)>,
    /// Those since then.
    more: u64,
}

/// The states of the files at one time.
#[derive(Debug)]
pub(super) struct FoundFiles(BTreeMap<u16, FoundFile>);

#[derive(Debug)]
struct FoundFile {
    docid: String,
    stamp: Option<Stamp>,
    held: Option<Fingerprint>,
    journal: Option<JournalContents>,
}

/// How far a file that is being written includes the changes.
#[derive(Clone, Copy, Debug)]
pub(super) struct FoldPoint {
    last: u64,
    octets: u64,
    /// The number of changes in the journal.
    pub(super) changes: u64,
}

/// A draft of a file, and its fingerprint.
pub(super) type DraftedFile = (Draft, Fingerprint);

impl SavedFiles {
    /// Locks the files of databases, and removes temporary files that a killed process left next to them. Journals are folded
    /// from `most` octets on.
    ///
    /// # Errors
    /// A file is in use by another process or database.
    pub(super) fn lock(databases: &[DatabaseFiles], most: u64) -> Result<Self, file::Error> {
        let mut files = BTreeMap::new();
        for (number, database) in (0..).zip(databases) {
            let Some(path) = &database.save else { continue };
            let lock = match Lock::take(path) {
                Err(error @ file::Error::Busy { .. }) => return Err(error),
                // The error is reported when the file is saved.
                lock => lock.ok(),
            };
            if let Some(lock) = &lock {
                // They may belong to another user.
                let _ = Draft::remove_hidden(lock.target());
                let _ = Draft::remove_hidden(&journal::path_of(lock.target()));
            }
            let file = SavedFile {
                path: path.clone(),
                docid: String::new(),
                lock,
                stamp: None,
                held: None,
                journal: None,
                last: 0,
                folded: 0,
                octets: 0,
                due: most,
                most,
                is_drafting: false,
                tally: Arc::new(JournalTally::new(most)),
                failures: SaveFailures::default(),
            };
            files.insert(number, file);
        }
        Ok(Self(files))
    }

    /// The current states of the files and their journals, before the files are read with these fields.
    ///
    /// # Errors
    /// Journals that cannot be read, are damaged, or do not belong to their files.
    pub(super) fn examine(&mut self, fields: &Fields) -> Result<FoundFiles, Vec<JournalError>> {
        let (mut found, mut errors) = (BTreeMap::new(), Vec::new());
        for (number, file) in &mut self.0 {
            let docid = fields.docid(*number).to_string();
            match file.examine(docid) {
                Ok(file) => drop(found.insert(*number, file)),
                Err(error) => errors.push(error),
            }
        }
        match errors.is_empty() {
            true => Ok(FoundFiles(found)),
            false => Err(errors),
        }
    }

    /// A file that was removed since it was last read or written.
    pub(super) fn removed(&self) -> Option<&Path> {
        let mut files = self.0.values();
        let removed = files.find(|file| file.stamp.is_some() && !file.path.exists());
        removed.map(|file| file.path.as_path())
    }

    /// Remembers the states in which the files were read. Returns the changes in their journals, by database.
    pub(super) fn read(&mut self, found: FoundFiles) -> Vec<(u16, Vec<RecordChange>)> {
        let mut all = Vec::new();
        for (number, found) in found.0 {
            if let Some(file) = self.0.get_mut(&number) {
                all.push((number, file.read(found)));
                file.tally.holds(file.octets);
            }
        }
        all
    }

    /// Makes changes durable, if their database is saved. `catalogue` has them.
    ///
    /// # Errors
    /// 1 if they cannot be written, or another program has changed the file.
    pub(super) fn commit<'a>(
        &mut self,
        catalogue: &Catalogue,
        number: u16,
        changes: impl Iterator<Item = &'a RecordChange> + Clone,
    ) -> Result<(), Diagnostic> {
        let Some(file) = self.0.get_mut(&number) else {
            return Ok(());
        };
        let committed = file.commit(&catalogue.index, number, changes);
        file.tally.committed(committed.is_ok(), file.octets);
        file.failures.log(&committed, catalogue.name(number));
        committed.map_err(|error| {
            // Without the path, which clients need not know.
            let cause = error.source();
            let words = match (&error, cause) {
                (
                    SaveError::Changed { .. } | SaveError::Journal(JournalError::Foreign { .. }),
                    _,
                ) => "the file of the database was changed by another program".to_owned(),
                (_, Some(cause)) => format!("the database cannot be saved: {cause}"),
                (_, None) => "the database cannot be saved".to_owned(),
            };
            diagnostic(Condition::PERMANENT_SYSTEM_ERROR, words)
        })
    }

    /// Whether the journal of a database has reached the size at which it is folded.
    pub(super) fn is_due(&self, number: u16) -> bool {
        let file = self.0.get(&number);
        file.is_some_and(|file| file.octets >= file.due && !file.is_drafting)
    }

    /// Waits another while before the journal of a database is due.
    pub(super) fn postpone(&mut self, number: u16) {
        if let Some(file) = self.0.get_mut(&number) {
            file.due = file.octets + file.most;
        }
    }

    /// What is counted of each journal, by database.
    pub(super) fn tallies(&self) -> Vec<(u16, Arc<JournalTally>)> {
        let files = self.0.iter();
        let tallies = files.map(|(number, file)| (*number, Arc::clone(&file.tally)));
        tallies.collect()
    }

    /// The numbers of the databases that are saved.
    pub(super) fn numbers(&self) -> Vec<u16> {
        self.0.keys().copied().collect()
    }

    /// Begins to fold the journal of a database: the path of the file without links, and what it will include. `None` if there are no
    /// changes.
    pub(super) fn begin_fold(&mut self, number: u16) -> Option<(PathBuf, FoldPoint)> {
        let file = self.0.get_mut(&number);
        let file = file.filter(|file| file.last > file.folded)?;
        file.is_drafting = true;
        Some((file.target().to_owned(), file.point()))
    }

    /// Ends what [`SavedFiles::begin_fold`] began. Returns the path of the file.
    ///
    /// # Errors
    /// The draft could not be written, or cannot replace the file.
    pub(super) fn end_fold(
        &mut self,
        number: u16,
        drafted: Result<DraftedFile, SaveError>,
        point: FoldPoint,
    ) -> Result<PathBuf, SaveError> {
        let Some(file) = self.0.get_mut(&number) else {
            return Ok(PathBuf::new());
        };
        file.is_drafting = false;
        let settled = drafted.and_then(|drafted| file.settle(drafted, point));
        file.tally.folded(settled.is_ok(), file.octets);
        settled.map(|()| file.path.clone())
    }

    /// Saves a database to any file.
    ///
    /// # Errors
    /// If it cannot be written; if another program has changed the file of the database.
    pub(super) fn save_to(
        &mut self,
        index: &Index,
        number: u16,
        path: &Path,
    ) -> Result<(), SaveError> {
        match self.0.get_mut(&number) {
            Some(file) if file::same(&file.path, path) => {
                let written = file.write(index, number);
                file.tally.folded(written.is_ok(), file.octets);
                written
            }
            _ => {
                let mut lock = Lock::take(path)?;
                let (draft, _) = drafted(index, number, lock.target())?;
                lock.renew(draft.persist(Existing::Replace, true)?);
                Ok(())
            }
        }
    }
}

impl SavedFile {
    /// The path without links.
    fn target(&self) -> &Path {
        self.lock.as_ref().map_or(&*self.path, Lock::target)
    }

    fn locked(&mut self) -> Result<&mut Lock, file::Error> {
        match &mut self.lock {
            Some(lock) => Ok(lock),
            none => Ok(none.insert(Lock::take(&self.path)?)),
        }
    }

    fn examine(&mut self, docid: String) -> Result<FoundFile, JournalError> {
        self.close_journal();
        // A file that cannot be examined counts as changed.
        let stamp = Stamp::of(&self.path).unwrap_or_default();
        let path = journal::path_of(self.target());
        let contents = JournalContents::read(&path)?;
        // Where there is no journal, errors in the file are reported when it is loaded.
        let held = Fingerprint::of(&self.path).unwrap_or_default();
        if let Some(contents) = &contents {
            contents.belongs_to(held.as_ref(), &self.path, &path, Some(&docid))?;
        }
        Ok(FoundFile {
            docid,
            stamp,
            held,
            journal: contents,
        })
    }

    fn read(&mut self, found: FoundFile) -> Vec<RecordChange> {
        self.docid = found.docid;
        self.stamp = found.stamp;
        self.held = found.held;
        (self.last, self.folded, self.octets) = (0, 0, 0);
        let Some(contents) = found.journal else {
            return Vec::new();
        };
        let changes = contents.changes;
        let path = journal::path_of(self.target());
        if contents.has_unfinished {
            tracing::warn!(path = %path.display(), "{UNFINISHED}");
        }
        if !changes.is_empty() {
            let changes = changes.len();
            tracing::info!(path = %path.display(), changes, "the changes of the journal are read");
        }
        self.last = contents.last;
        self.folded = contents.last - changes.len() as u64;
        self.octets = octets_of(changes.iter());
        changes
    }

    /// Whether the file exists, as it was last read or written.
    ///
    /// # Errors
    /// Another program has changed it.
    fn is_there(&self) -> Result<bool, SaveError> {
        let found = Stamp::of(&self.path).map_err(file::Error::unwritable(&self.path))?;
        if found.is_none() || found == self.stamp {
            return Ok(found.is_some());
        }
        let path = self.path.clone();
        Err(match self.last - self.folded {
            0 => SaveError::Changed { path },
            changes => SaveError::Journal(JournalError::Foreign {
                path,
                journal: journal::path_of(self.target()),
                changes,
            }),
        })
    }

    fn commit<'a>(
        &mut self,
        index: &Index,
        number: u16,
        changes: impl Iterator<Item = &'a RecordChange> + Clone,
    ) -> Result<(), SaveError> {
        self.locked()?;
        // A file that does not exist is written whole, so that each journal has a file.
        if !self.is_there()? && !self.is_drafting {
            return self.write(index, number);
        }
        let last = self.last;
        let appended = self
            .opened()
            .and_then(|journal| journal.append(last, changes.clone()));
        match appended {
            Ok(last) => {
                self.last = last;
                self.octets += octets_of(changes);
                Ok(())
            }
            Err(error) => {
                // After an error it takes no more changes until it is opened again.
                self.close_journal();
                Err(error.into())
            }
        }
    }

    /// The open journal. It is begun anew if it has no changes.
    fn opened(&mut self) -> Result<&mut Journal, JournalError> {
        let target = self.lock.as_ref().map_or(&*self.path, Lock::target);
        match (&mut self.journal, &self.held) {
            (Some(journal), _) => Ok(journal),
            (none, Some(held)) if self.last == self.folded => {
                Ok(none.insert(Journal::create(target, held, &self.docid)?))
            }
            (none, _) => Ok(none.insert(Journal::open(target)?)),
        }
    }

    fn close_journal(&mut self) {
        if let Some(journal) = self.journal.take() {
            journal.close();
        }
    }

    /// Writes the file anew with the records of an index, which has all changes.
    fn write(&mut self, index: &Index, number: u16) -> Result<(), SaveError> {
        let drafted = drafted(index, number, self.locked()?.target())?;
        self.settle(drafted, self.point())
    }

    fn point(&self) -> FoldPoint {
        FoldPoint {
            last: self.last,
            octets: self.octets,
            changes: self.last - self.folded,
        }
    }

    /// Replaces the file by a draft that has the changes up to a point, and removes these from the journal.
    ///
    /// # Errors
    /// If the file cannot be written, or another program has changed it. A removed file is written again.
    fn settle(&mut self, drafted: DraftedFile, point: FoldPoint) -> Result<(), SaveError> {
        let (draft, held) = drafted;
        if !self.is_there()? && self.stamp.is_some() {
            // Memory has all its records.
            tracing::warn!(path = %self.path.display(), "a saved file was removed and is written again");
        }
        if self.last > self.folded {
            let base = self.held.clone().unwrap_or_else(|| held.clone());
            let announced = self
                .opened()
                .and_then(|journal| journal.announce(&base, &held));
            if let Err(error) = announced {
                self.close_journal();
                return Err(error.into());
            }
        }
        let file = draft.persist(Existing::Replace, true)?;
        self.locked()?.renew(file);
        self.stamp = Stamp::of(&self.path).map_err(file::Error::unwritable(&self.path))?;
        self.held = Some(held.clone());
        if point.last < self.last {
            let rebased = self
                .opened()
                .and_then(|journal| journal.rebase(&held, point.last));
            if let Err(error) = rebased {
                self.close_journal();
                return Err(error.into());
            }
            self.octets = self.octets.saturating_sub(point.octets);
        } else {
            self.close_journal();
            let path = journal::path_of(self.target());
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    tracing::warn!(path = %path.display(), %error, "a journal that is folded cannot be removed");
                }
                _ => {}
            }
            self.octets = 0;
        }
        self.folded = point.last;
        self.due = self.most;
        Ok(())
    }
}

impl SaveFailures {
    /// Logs the outcome of a change, if it is news.
    fn log(&mut self, outcome: &Result<(), SaveError>, database: &str) {
        let more = self.more;
        let Err(error) = outcome else {
            if self.logged.take().is_some() {
                self.more = 0;
                tracing::warn!(database, more, "the database is saved again");
            }
            return;
        };
        let cause = error.source().map(|cause| format!(": {cause}"));
        let words = format!("{error}{}", cause.unwrap_or_default());
        let is_known = self
            .logged
            .as_ref()
            .is_some_and(|(known, since)| *known == words && since.elapsed() < PERIOD);
        if is_known {
            self.more += 1;
            return;
        }
        tracing::error!(
            database,
            error = words,
            more,
            "the database cannot be saved"
        );
        self.logged = Some((words, Instant::now()));
        self.more = 0;
    }
}

fn octets_of<'a>(changes: impl Iterator<Item = &'a RecordChange>) -> u64 {
    let octets = changes.map(|change| {
        let record = change.record.as_ref().map_or(0, |record| record.len());
        ROW + change.id.len() as u64 + record as u64
    });
    octets.sum()
}

impl Drop for SavedFiles {
    /// Warns of changes that are lost when the process ends.
    fn drop(&mut self) {
        if let Some(path) = self.removed() {
            let path = path.display();
            tracing::warn!(%path, "a saved file was removed while it was in use: the updates in it are lost");
        }
    }
}

/// Writes the records of a database to a draft of a file.
///
/// # Errors
/// It cannot be written.
pub(super) fn drafted(
    index: &Index,
    database: u16,
    target: &Path,
) -> Result<DraftedFile, SaveError> {
    let mut draft = Draft::hidden(target)?;
    let mut output = BufWriter::with_capacity(1 << 20, Hashed::new(draft.file()));
    let written = write_records(index, database, form_of(target), &mut output);
    let written = written.and_then(|()| output.flush());
    written.map_err(file::Error::unwritable(target))?;
    let held = output.get_ref().fingerprint();
    drop(output);
    // Here, where nobody waits for it.
    let synced = draft.file().sync_all();
    synced.map_err(file::Error::unwritable(target))?;
    Ok((draft, held))
}

fn form_of(path: &Path) -> Form {
    let extension = path.extension().and_then(|extension| extension.to_str());
    match extension.and_then(InputForm::by_extension) {
        Some(InputForm::MarcXml) => Form::MarcXml,
        Some(InputForm::Json) => Form::Json,
        Some(InputForm::Mrk) => Form::Mrk,
        Some(InputForm::Line) => Form::Line,
        _ => Form::Marc,
    }
}

fn write_records(
    index: &Index,
    database: u16,
    form: Form,
    output: &mut impl Write,
) -> io::Result<()> {
    output.write_all(form.begin().as_bytes())?;
    let mut buffer = Vec::new();
    let mut between = "";
    for record in index.visible(index.all(), Some(&[database])).iter() {
        let found = index.segment(record);
        let Some((record, _)) = found.and_then(|(segment, number)| segment.record(number)) else {
            continue;
        };
        output.write_all(between.as_bytes())?;
        between = form.between();
        if form == Form::Marc {
            output.write_all(record)?;
            continue;
        }
        let parsed = iso2709::parse(record).map_err(io::Error::other)?.record;
        // The other formats are text.
        let readable = charset::to_utf8(&parsed, &charset::Options::default()).record;
        buffer.clear();
        form.write(&readable, &mut buffer)
            .map_err(io::Error::other)?;
        output.write_all(&buffer)?;
    }
    output.write_all(form.end().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_to_save_are_logged_once_in_a_while() {
        let mut failures = SaveFailures::default();
        let mut check = |outcome: Result<(), &str>, is_logged: bool, more: u64| {
            let outcome = outcome.map_err(|name| SaveError::NoDatabase(name.to_owned()));
            let before = failures.logged.clone();
            failures.log(&outcome, "books");
            assert_eq!(failures.logged != before, is_logged, "{failures:?}");
            assert_eq!(failures.more, more, "{failures:?}");
        };
        check(Ok(()), false, 0);
        check(Err("a"), true, 0);
        check(Err("a"), false, 1);
        check(Err("a"), false, 2);
        check(Err("b"), true, 0);
        check(Err("b"), false, 1);
        check(Ok(()), true, 0);
        check(Err("b"), true, 0);
        let long_ago = Instant::now().checked_sub(PERIOD).expect("a time");
        failures.logged = failures.logged.map(|(words, _)| (words, long_ago));
        failures.more = 7;
        let outcome = Err(SaveError::NoDatabase("b".to_owned()));
        failures.log(&outcome, "books");
        assert_eq!(failures.more, 0);
    }
}

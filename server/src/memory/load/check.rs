//! Checks files without serving them: reports the records that loading would repair or leave out.

use std::path::{Path, PathBuf};

use z3950_marc::charset::{Options, to_utf8};
use z3950_marc::faults::faults;

use super::read::{Arena, Damage, RawRecord, files_of, read};
use super::{LoadError, Note};
use crate::memory::catalogue::DatabaseFiles;
#[cfg(feature = "save")]
use crate::memory::docid::{DocidField, DocidFieldError};

/// The result of checking a file of a database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checked {
    /// The path of the file.
    pub path: PathBuf,
    /// The number of records that would be served.
    pub records: u64,
    /// The number of records with structural faults that would be served, repaired or unchanged.
    pub faulty: u64,
    /// The number of records that would be served after repairs without loss.
    pub repaired: u64,
    /// The number of records that would be served with parts missing.
    pub incomplete: u64,
    /// The number of records that would be left out.
    pub left_out: u64,
}

/// Checks the files of a database one by one. `note` is called for each repair and each record that would be left out.
///
/// # Errors
/// The reason why a file or folder could not be loaded.
pub fn check_files(
    database: &DatabaseFiles,
    note: &mut dyn FnMut(&Path, &Note),
) -> Vec<Result<Checked, LoadError>> {
    let saved = database.saved();
    let paths = saved.map_or(&*database.paths, std::slice::from_ref);
    let mut found = Vec::new();
    for path in paths {
        match files_of(path) {
            Ok(files) => {
                let files = files.iter();
                found.extend(files.map(|file| of_file(file, saved.is_some(), note)));
            }
            Err(error) => found.push(Err(error)),
        }
    }
    found
}

/// The result of checking the journal of a saved file.
#[cfg(feature = "save")]
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckedJournal {
    /// The path of the journal.
    pub path: PathBuf,
    /// The number of changes that have not been folded into the file.
    pub changes: u64,
    /// The docid field with which the journal was created.
    pub docid: DocidField,
    /// A note if the journal was not closed properly.
    pub note: Option<String>,
}

/// Checks the journal of a saved file, which must not be in use; returns `None` if the journal does not exist. If a docid field
/// is given, checks that the journal was created with it.
///
/// # Errors
/// The reason why the file could not be loaded with the journal.
#[cfg(feature = "save")]
pub fn check_journal(
    file: &Path,
    docid: Option<DocidField>,
) -> Result<Option<CheckedJournal>, LoadError> {
    use crate::memory::journal::{self, Fingerprint, JournalContents, JournalError};
    use z3950_files::{Error, Lock};

    let lock = match Lock::take(file) {
        Err(error @ Error::Busy { .. }) => return Err(error.into()),
        lock => lock.ok(),
    };
    let path = journal::path_of(lock.as_ref().map_or(file, Lock::target));
    let Some(contents) = JournalContents::read(&path)? else {
        return Ok(None);
    };
    let held = Fingerprint::of(file).map_err(|source| LoadError::Unreadable {
        path: file.to_owned(),
        source,
    })?;
    let docid = docid.map(|docid| docid.to_string());
    contents.belongs_to(held.as_ref(), file, &path, docid.as_deref())?;
    let docid = contents.docid.parse();
    let docid = docid.map_err(|error: DocidFieldError| JournalError::Damaged {
        path: path.clone(),
        reason: format!("docid {}: {error}", contents.docid),
    })?;
    Ok(Some(CheckedJournal {
        path,
        changes: contents.changes.len() as u64,
        docid,
        note: contents.end.note(contents.changes.len()),
    }))
}

fn of_file(
    path: &Path,
    may_be_empty: bool,
    note: &mut dyn FnMut(&Path, &Note),
) -> Result<Checked, LoadError> {
    let mut checked = Checked {
        path: path.to_owned(),
        ..Checked::default()
    };
    read(path, &mut |item| {
        let notes = match item {
            Err(found) => vec![found],
            Ok(record) => count(record, &mut checked),
        };
        for found in &notes {
            checked.left_out += u64::from(matches!(found, Note::LeftOut { .. }));
            note(path, found);
        }
        Ok(())
    })?;
    if checked.records == 0 && !may_be_empty {
        Err(LoadError::NoRecord {
            path: checked.path,
            notes: Vec::new(),
        })
    } else {
        Ok(checked)
    }
}

/// Counts a record; returns notes on its damage.
fn count(record: RawRecord, checked: &mut Checked) -> Vec<Note> {
    let sound = match record.parsed(&mut Arena::default()) {
        Ok(sound) => sound,
        Err(left_out) => return vec![left_out],
    };
    checked.records += 1;
    match sound.damage {
        Some(Damage::Loss) => checked.incomplete += 1,
        Some(Damage::Repaired) => checked.repaired += 1,
        None => {}
    }
    let repairs = sound.repairs.iter();
    let mut notes: Vec<Note> = repairs.map(|repair| sound.note(repair, 0)).collect();
    let mut options = Options::default();
    options.character_references = true;
    let converted = to_utf8(&sound.record, &options);
    let (number, offset) = (sound.number, sound.offset);
    let faults = faults(&sound.record, &converted).into_iter();
    notes.extend(faults.map(|fault| Note::Faulty {
        number,
        offset,
        fault,
    }));
    checked.faulty += u64::from(!notes.is_empty() || sound.damage.is_some());
    notes
}

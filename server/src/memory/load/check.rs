//! Checks files without serving them: reports what loading would repair or leave out.

use std::path::{Path, PathBuf};

use super::read::{Arena, Damage, FileItem, RawRecord, files_of, parsed, read};
use super::{DatabaseFiles, LoadError, Note};

/// The contents of a file of a database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checked {
    /// The file.
    pub path: PathBuf,
    /// Records that would be served.
    pub records: u64,
    /// Of these, records that would be repaired without loss.
    pub repaired: u64,
    /// Of these, records with parts missing.
    pub incomplete: u64,
    /// Records that would be left out.
    pub left_out: u64,
}

/// Checks the files of a database one by one. `note` is called for every repair and every record that would be left out.
///
/// # Errors
/// For each file or folder, why it could not be loaded.
pub fn check_files(
    database: &DatabaseFiles,
    note: &mut dyn FnMut(&Path, &Note),
) -> Vec<Result<Checked, LoadError>> {
    let saved = database.saved().filter(|path| path.exists());
    let paths = match &saved {
        Some(saved) => vec![*saved],
        None => database.paths.iter().map(PathBuf::as_path).collect(),
    };
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
            FileItem::Note(found) => vec![found],
            FileItem::Record(record) => count(record, &mut checked),
        };
        for found in &notes {
            checked.left_out += u64::from(matches!(found, Note::LeftOut { .. }));
            note(path, found);
        }
        Ok(())
    })?;
    match checked.records == 0 && !may_be_empty {
        true => Err(LoadError::NoRecord {
            path: checked.path,
            notes: Vec::new(),
        }),
        false => Ok(checked),
    }
}

/// Counts a record; returns what is wrong with it.
fn count(record: RawRecord, checked: &mut Checked) -> Vec<Note> {
    let RawRecord {
        octets,
        number,
        offset,
        damage,
    } = record;
    let repairs = match parsed(octets, &mut Arena::default()) {
        Ok(sound) => sound.repairs,
        Err(reason) => {
            return vec![Note::LeftOut {
                number,
                offset,
                reason,
            }];
        }
    };
    checked.records += 1;
    let is_loss = repairs.iter().any(|repair| repair.kind.is_loss());
    if is_loss || damage == Some(Damage::Loss) {
        checked.incomplete += 1;
    } else if damage.is_some() || !repairs.is_empty() {
        checked.repaired += 1;
    }
    let notes = repairs.into_iter().map(|repair| Note::Repaired {
        number,
        offset,
        repair: repair.to_string(),
        more: 0,
        is_loss: repair.kind.is_loss(),
    });
    notes.collect()
}

//! Checks files without serving them: reports what loading would repair or leave out.

use std::path::{Path, PathBuf};

use super::read::{Arena, Damage, RawRecord, Sound, files_of, parsed, read};
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
    let saved = database.save.as_deref().filter(|path| path.exists());
    let paths = match &saved {
        Some(saved) => vec![*saved],
        None => database.paths.iter().map(PathBuf::as_path).collect(),
    };
    let mut found = Vec::new();
    for path in paths {
        match files_of(path) {
            Ok(files) => {
                found.extend(
                    files
                        .iter()
                        .map(|file| of_file(file, saved.is_some(), note)),
                );
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
    // Both closures add to this.
    let told = std::cell::RefCell::new(Vec::new());
    let mut tell = |checked: &mut Checked| {
        for found in told.borrow_mut().drain(..) {
            checked.left_out += u64::from(matches!(found, Note::LeftOut { .. }));
            note(path, &found);
        }
    };
    read(
        path,
        (0, 0),
        &mut |found| told.borrow_mut().push(found),
        &mut |piece| {
            of_piece(piece, &mut checked, &mut |found| {
                told.borrow_mut().push(found);
            });
            tell(&mut checked);
            Ok(())
        },
    )?;
    tell(&mut checked);
    match checked.records == 0 && !may_be_empty {
        true => Err(LoadError::NoRecord {
            path: checked.path,
            notes: Vec::new(),
        }),
        false => Ok(checked),
    }
}

/// Counts a record, and notes what is wrong with it.
fn of_piece(piece: RawRecord, checked: &mut Checked, note: &mut dyn FnMut(Note)) {
    let RawRecord {
        octets,
        number,
        offset,
        damage,
        ..
    } = piece;
    match parsed(octets, &mut Arena::default()) {
        Ok(Sound { repairs, .. }) => {
            checked.records += 1;
            let is_loss = repairs.iter().any(|repair| repair.kind.is_loss());
            match (damage, is_loss) {
                (Some(Damage::Loss), _) | (_, true) => checked.incomplete += 1,
                (None, false) if repairs.is_empty() => {}
                (_, false) => checked.repaired += 1,
            }
            for repair in repairs {
                note(Note::Repaired {
                    number,
                    offset,
                    repair: repair.to_string(),
                    more: 0,
                    is_loss: repair.kind.is_loss(),
                });
            }
        }
        Err(reason) => note(Note::LeftOut {
            number,
            offset,
            reason,
        }),
    }
}

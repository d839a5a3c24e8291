//! Reads files, and splits them into the octets of records.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use bytes::{Bytes, BytesMut};
use z3950_files::input;
use z3950_marc::iso2709::{self, Repair, RepairKind};
use z3950_marc::stream::{GUESS_OCTETS, InputForm, RecordReader, refuse_compressed};
use z3950_marc::{Iso2709Error, MarcRecord};

use super::{LoadError, Note};

/// The octets of a record, and their place in the file.
#[derive(Debug)]
pub(super) struct RawRecord {
    pub(super) octets: Bytes,
    /// The number of the record in the file, from 1.
    pub(super) number: u64,
    /// The offset of the record in the file, in octets.
    pub(super) offset: u64,
    /// The damage found while splitting the file, for which a note has been made.
    pub(super) damage: Option<Damage>,
}

/// The kind of damage to a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Damage {
    /// The record was repaired without loss.
    Repaired,
    /// The record was repaired, but part of it is lost.
    Loss,
}

/// Returns the files at a path: the path itself if it is a file; otherwise, all files with a known extension in the folder and
/// its subfolders, in order, without hidden files.
///
/// # Errors
/// A folder cannot be read or does not contain any files with a known extension.
pub(super) fn files_of(path: &Path) -> Result<Vec<PathBuf>, LoadError> {
    let unreadable = |path: &Path, source| LoadError::Unreadable {
        path: path.to_owned(),
        source,
    };
    if !fs::metadata(path)
        .map_err(|error| unreadable(path, error))?
        .is_dir()
    {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    let mut folders = vec![path.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        for entry in entries.map_err(|error| unreadable(&folder, error))? {
            let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
            let is = entry
                .file_type()
                .map_err(|error| unreadable(&entry.path(), error))?;
            match entry.path() {
                _ if hidden => {}
                // Links to folders are not followed, because they could form a cycle.
                folder if is.is_dir() => folders.push(folder),
                file if form_of(&file).is_some() => files.push(file),
                _ => {}
            }
        }
    }
    files.sort();
    if files.is_empty() {
        Err(LoadError::NoFile {
            path: path.to_owned(),
        })
    } else {
        Ok(files)
    }
}

fn form_of(path: &Path) -> Option<InputForm> {
    InputForm::by_extension(path.extension()?.to_str()?)
}

/// Reads a file and calls `give` for each record. Notes on the damage to a record are passed to `give` before the record. ISO
/// 2709 records are not parsed here, so damage within them is not detected yet.
///
/// # Errors
/// The file cannot be read, or `give` fails.
pub(super) fn read(
    path: &Path,
    give: &mut dyn FnMut(Result<RawRecord, Note>) -> Result<(), LoadError>,
) -> Result<(), LoadError> {
    let unreadable = |source| LoadError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let mut input = input::open_regular(path).map_err(unreadable)?;
    let mut start = Vec::new();
    let form = match form_of(path) {
        Some(form) => form,
        None => {
            let most = u64::try_from(GUESS_OCTETS).unwrap_or(u64::MAX);
            input
                .by_ref()
                .take(most)
                .read_to_end(&mut start)
                .map_err(unreadable)?;
            InputForm::guess(&start).unwrap_or(InputForm::Marc)
        }
    };
    if form == InputForm::Marc {
        let length = input.metadata().map_or(0, |metadata| metadata.len());
        let length = usize::try_from(length).unwrap_or_default();
        start.reserve_exact(length.saturating_sub(start.len()));
        input.read_to_end(&mut start).map_err(unreadable)?;
        refuse_compressed(&start).map_err(unreadable)?;
        let mut records = iso2709::split(start.into());
        let mut number = 0;
        while let Some(octets) = records.next() {
            number += 1;
            let offset = u64::try_from(records.offset() - octets.len()).unwrap_or_default();
            give(Ok(RawRecord {
                octets,
                number,
                offset,
                damage: None,
            }))?;
        }
        return Ok(());
    }
    let mut arena = Arena::default();
    for found in RecordReader::new(io::Cursor::new(start).chain(input), form) {
        let found = found.map_err(unreadable)?;
        let (number, offset, is_loss) = (found.number, found.offset, found.incomplete);
        let encoded = found
            .record
            .and_then(|record| iso2709::encode(&record).map_err(|error| error.to_string()));
        let octets = match encoded {
            Ok(octets) => arena.keep(&octets),
            Err(reason) => {
                give(Err(Note::LeftOut {
                    number,
                    offset,
                    reason,
                }))?;
                continue;
            }
        };
        let more = found.notes.len().saturating_sub(1);
        let mut damage = is_loss.then_some(Damage::Loss);
        if let Some(repair) = found.notes.into_iter().next() {
            damage = damage.or(Some(Damage::Repaired));
            give(Err(Note::Repaired {
                number,
                offset,
                repair,
                more,
                is_loss,
            }))?;
        }
        give(Ok(RawRecord {
            octets,
            number,
            offset,
            damage,
        }))?;
    }
    Ok(())
}

/// A parsed record, with the octets that will be served.
pub(super) struct ParsedRecord {
    pub(super) octets: Bytes,
    pub(super) record: MarcRecord,
    pub(super) number: u64,
    pub(super) offset: u64,
    /// The repairs made, losses first.
    pub(super) repairs: Vec<Repair>,
    /// The damage found while reading and parsing.
    pub(super) damage: Option<Damage>,
    /// Whether the only repairs are to numbers, without loss of data.
    pub(super) is_whole: bool,
}

impl ParsedRecord {
    /// Returns the note on a repair; `more` is the number of further repairs to the record.
    pub(super) fn note(&self, repair: &Repair, more: usize) -> Note {
        Note::Repaired {
            number: self.number,
            offset: self.offset,
            repair: repair.to_string(),
            more,
            is_loss: repair.kind.is_loss(),
        }
    }

    /// Returns a note saying that the record is left out, with the reason.
    pub(super) fn left_out(&self, reason: &dyn std::error::Error) -> Note {
        Note::LeftOut {
            number: self.number,
            offset: self.offset,
            reason: reason.to_string(),
        }
    }
}

impl RawRecord {
    /// Parses the record. If it does not need repairs, its octets are served unchanged.
    ///
    /// # Errors
    /// The reason why the octets are not a record.
    pub(super) fn parsed(self, arena: &mut Arena) -> Result<ParsedRecord, Note> {
        let (number, offset) = (self.number, self.offset);
        let left_out = |error: Iso2709Error| Note::LeftOut {
            number,
            offset,
            reason: error.to_string(),
        };
        let parsed = iso2709::parse(&self.octets).map_err(left_out)?;
        let (record, mut repairs) = (parsed.record, parsed.repairs);
        let mut octets = self.octets;
        if !repairs.is_empty() {
            octets = arena.keep(&iso2709::encode(&record).map_err(left_out)?);
        }
        repairs.sort_by_key(|repair| !repair.kind.is_loss());
        let damage = repairs.first().map(|repair| {
            if repair.kind.is_loss() {
                Damage::Loss
            } else {
                Damage::Repaired
            }
        });
        let only_numbers = repairs.iter().all(|repair| is_of_a_number(repair.kind));
        Ok(ParsedRecord {
            octets,
            record,
            number,
            offset,
            is_whole: self.damage.is_none() && only_numbers,
            damage: damage.max(self.damage),
            repairs,
        })
    }
}

/// Returns whether a repair only concerns a number: a length, an address, or a digit of the leader. Such repairs are common in
/// files that were converted to another character set.
fn is_of_a_number(repair: RepairKind) -> bool {
    matches!(
        repair,
        RepairKind::RecordLength { .. }
            | RepairKind::BaseAddress { .. }
            | RepairKind::LeaderDigit { .. }
            | RepairKind::DirectoryEntry { .. }
    )
}

/// A block of memory for the octets of many records, which saves an allocation for each record.
#[derive(Debug, Default)]
pub(super) struct Arena(BytesMut);

impl Arena {
    const ROOM: usize = 256 * 1024;

    /// Copies octets into the arena.
    pub(super) fn keep(&mut self, octets: &[u8]) -> Bytes {
        if self.0.capacity() < octets.len() {
            self.0 = BytesMut::with_capacity(Self::ROOM.max(octets.len()));
        }
        self.0.extend_from_slice(octets);
        self.0.split().freeze()
    }
}

//! Records from files: ISO 2709 (`.mrc` and any other name) and MARCMaker text (`.mrk`). A damaged record never costs its
//! neighbours, and is told of.

use std::io;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use z3950_asn1::record::mrk::{self, MrkError};
use z3950_asn1::record::{Iso2709Error, MarcRecord, Repair, iso2709};

/// Records of one file, ready to be served.
#[derive(Debug)]
pub struct Loaded {
    /// The records, in the order of the file.
    pub records: Vec<LoadedRecord>,
    /// What was wrong with some of them.
    pub notes: Vec<Note>,
}

/// A record and the octets that are served for it.
#[derive(Clone, Debug)]
pub struct LoadedRecord {
    pub(super) octets: Bytes,
    pub(super) record: MarcRecord,
}

/// What was wrong with a record of a file, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Note {
    /// It is served as repaired.
    #[error("record {number} at octet {offset} repaired: {repair}{}", further(*.more))]
    Repaired {
        /// Counted from 1.
        number: usize,
        /// Of the record's first octet in the file.
        offset: usize,
        /// The first repair.
        repair: Repair,
        /// How many more repairs there were.
        more: usize,
    },
    /// It is left out.
    #[error("record {number} at octet {offset} left out: {reason}")]
    LeftOut {
        /// Counted from 1.
        number: usize,
        /// Of the record's first octet in the file.
        offset: usize,
        /// Why it is no record, or cannot be served as one.
        reason: Iso2709Error,
    },
}

fn further(repairs: usize) -> String {
    match repairs {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    }
}

/// Why a file gives no database.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// It cannot be read.
    #[error("cannot read {}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// It is no MARCMaker text.
    #[error("cannot read {} as MARCMaker text", path.display())]
    Mrk {
        /// The file.
        path: PathBuf,
        /// The line at fault.
        source: MrkError,
    },
    /// Nothing in it is a record.
    #[error("no record in {}{}", path.display(), first(.notes))]
    NoRecord {
        /// The file.
        path: PathBuf,
        /// Why what is in it is none.
        notes: Vec<Note>,
    },
}

fn first(notes: &[Note]) -> String {
    notes
        .first()
        .map(|note| format!(": {note}"))
        .unwrap_or_default()
}

/// Reads a file of records; one whose name ends in `.mrk` as MARCMaker text.
///
/// # Errors
/// See [`LoadError`]; a file in which some records are sound is read, with notes on the others.
pub fn load(path: &Path) -> Result<Loaded, LoadError> {
    let unreadable = |source| LoadError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let octets = Bytes::from(std::fs::read(path).map_err(unreadable)?);
    let is_mrk = path
        .extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("mrk"));
    let loaded = if is_mrk {
        let mrk = |source| LoadError::Mrk {
            path: path.to_owned(),
            source,
        };
        from_records(mrk::parse_all(&String::from_utf8_lossy(&octets)).map_err(mrk)?)
    } else {
        from_iso2709(octets)
    };
    match loaded {
        Loaded { records, notes } if records.is_empty() => Err(LoadError::NoRecord {
            path: path.to_owned(),
            notes,
        }),
        loaded => Ok(loaded),
    }
}

/// Takes records from memory; one that has no ISO 2709 form is left out with a note.
pub(super) fn from_records(records: impl IntoIterator<Item = MarcRecord>) -> Loaded {
    let mut loaded = Loaded {
        records: Vec::new(),
        notes: Vec::new(),
    };
    for (number, record) in (1..).zip(records) {
        match iso2709::encode(&record) {
            Ok(octets) => {
                loaded.records.push(LoadedRecord {
                    octets: octets.into(),
                    record,
                });
            }
            Err(reason) => loaded.notes.push(Note::LeftOut {
                number,
                offset: 0,
                reason,
            }),
        }
    }
    loaded
}

/// Cuts a file into records. A sound record is served octet for octet as it stands there, a repaired one is written anew.
fn from_iso2709(file: Bytes) -> Loaded {
    let mut loaded = Loaded {
        records: Vec::new(),
        notes: Vec::new(),
    };
    let mut pieces = iso2709::split(file);
    let mut number = 0;
    while let Some(octets) = pieces.next() {
        number += 1;
        let offset = pieces.offset() - octets.len();
        match repaired(octets) {
            Ok((record, repairs)) => {
                loaded.records.push(record);
                let more = repairs.len().saturating_sub(1);
                let note = |repair| Note::Repaired {
                    number,
                    offset,
                    repair,
                    more,
                };
                loaded.notes.extend(repairs.into_iter().next().map(note));
            }
            Err(reason) => loaded.notes.push(Note::LeftOut {
                number,
                offset,
                reason,
            }),
        }
    }
    loaded
}

fn repaired(octets: Bytes) -> Result<(LoadedRecord, Vec<Repair>), Iso2709Error> {
    let iso2709::Parsed { record, repairs } = iso2709::parse(&octets)?;
    let octets = match repairs.is_empty() {
        true => octets,
        false => iso2709::encode(&record)?.into(),
    };
    Ok((LoadedRecord { octets, record }, repairs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::record;

    fn octets(docid: &str) -> Vec<u8> {
        iso2709::encode(&record(docid, "War")).expect("a sound record")
    }

    fn check(file: Vec<u8>, docids: &[&str], notes: &[&str]) -> Vec<LoadedRecord> {
        let loaded = from_iso2709(file.into());
        let found = loaded
            .records
            .iter()
            .map(|one| one.record.control_number().unwrap_or_default());
        let found: Vec<_> = found.map(String::from_utf8_lossy).collect();
        assert_eq!(found, docids);
        let told: Vec<_> = loaded.notes.iter().map(Note::to_string).collect();
        assert_eq!(told.len(), notes.len(), "{told:?}");
        for (told, expected) in told.iter().zip(notes) {
            assert!(told.starts_with(expected), "{told}");
        }
        loaded.records
    }

    #[test]
    fn damage_costs_no_neighbour() {
        let (a, b) = (octets("a"), octets("b"));
        let both = check([&*a, b"\n", &*b].concat(), &["a", "b"], &[]);
        assert_eq!(
            both.iter()
                .map(|one| one.octets.to_vec())
                .collect::<Vec<_>>(),
            [&*a, &*b]
        );

        let mut wrong_length = a.clone();
        wrong_length.splice(..5, *b"99999");
        let told = "record 1 at octet 0 repaired: ";
        let repaired = check([&*wrong_length, &*b].concat(), &["a", "b"], &[told]);
        assert_eq!(
            repaired.first().map(|one| one.octets.to_vec()),
            Some(a.clone()),
            "written anew"
        );

        let left_out = format!("record 2 at octet {} left out: ", a.len());
        check(
            [&*a, b"no record\x1d", &*b].concat(),
            &["a", "b"],
            &[&left_out],
        );
        check(Vec::new(), &[], &[]);
    }

    #[test]
    fn records_without_an_exchange_form_are_left_out() {
        let long = record("long", &"x".repeat(10_000));
        let loaded = from_records([record("a", "War"), long]);
        assert_eq!(loaded.records.len(), 1);
        let told: Vec<_> = loaded.notes.iter().map(Note::to_string).collect();
        assert!(
            told.concat()
                .starts_with("record 2 at octet 0 left out: field 245 has"),
            "{told:?}"
        );
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = load(Path::new("nosuch/file.mrc")).expect_err("no file");
        assert_eq!(error.to_string(), "cannot read nosuch/file.mrc");
        assert!(std::error::Error::source(&error).is_some());
    }
}

//! Reads the records for a load. Files are read one after the other, and several threads convert the records to changes.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use z3950_files::input;
use z3950_front::engine::opensearch::{IndexChange, IndexChanges, RecordPlace};
use z3950_marc::MarcRecord;
use z3950_marc::iso2709;
use z3950_marc::stream::{InputForm, InputRecord, RecordReader};
use z3950_server::memory::{DocidField, Note};

use crate::failure::{Failure, chain};

/// An input file that is being read.
pub(super) struct Input {
    pub(super) path: PathBuf,
    /// The index of the file among the input files, from 0.
    file: usize,
    records: RecordReader<File>,
    /// The number of the last record that was read, from 1.
    pub(super) number: u64,
}

impl Input {
    pub(super) fn open(path: &Path, file: usize) -> Result<Self, Failure> {
        let unreadable = |error| Failure::cannot(&format!("cannot read {}", path.display()), error);
        let open = input::open_regular(path).map_err(unreadable)?;
        let extension = path.extension().and_then(|extension| extension.to_str());
        let records = match extension.and_then(InputForm::by_extension) {
            Some(form) => RecordReader::new(open, form),
            None => RecordReader::guessing(open, InputForm::Marc).map_err(unreadable)?,
        };
        Ok(Self {
            path: path.to_owned(),
            file,
            records,
            number: 0,
        })
    }

    pub(super) fn skip(&mut self, records: u64) {
        while self.number < records && self.records.next().is_some() {
            self.number += 1;
        }
    }

    /// Returns up to `most` of the next records; empty at the end of the file.
    pub(super) fn next(&mut self, most: usize) -> Result<Vec<InputRecord>, Failure> {
        let records: io::Result<Vec<_>> = self.records.by_ref().take(most).collect();
        let what = format!("cannot read {}", self.path.display());
        let records = records.map_err(|error| Failure::cannot(&what, error))?;
        self.number = records.last().map_or(self.number, |last| last.number);
        Ok(records)
    }

    pub(super) fn file(&self) -> usize {
        self.file
    }
}

/// A record that is ready to be sent.
#[derive(Debug)]
pub(super) struct Prepared {
    /// The change; `None` if the record is left out.
    pub(super) change: Option<IndexChange>,
    /// The repairs to the record, or the reason why it is left out.
    pub(super) note: Option<Note>,
}

/// Converts records to changes; `required` is the docid field that each record must have.
pub(super) fn prepare(
    changes: &IndexChanges,
    records: Vec<InputRecord>,
    file: usize,
    required: Option<DocidField>,
) -> Vec<Prepared> {
    let change = |record: MarcRecord, place| {
        if let Some(docid) = required.filter(|_| !changes.has_docid(&record)) {
            return Err(format!("it has no identifier in {docid}"));
        }
        let octets = iso2709::encode(&record).map_err(|error| chain(&error))?;
        Ok(changes.of(&record, &octets, place))
    };
    let prepared = |read: InputRecord| {
        let (number, offset) = (read.number, read.offset);
        let place = RecordPlace {
            file,
            number,
            offset,
        };
        // An incomplete record must not replace one that may be complete.
        let record = if read.incomplete {
            (read.record).and_then(|_| Err(format!("incomplete: {}", read.notes.join("; "))))
        } else {
            read.record
        };
        match record.and_then(|record| change(record, place)) {
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

//! Builds a segment: its records with their databases and syntaxes, and at the end the indexes of what was noted.

use std::mem::take;
use std::ops::Range;
use std::sync::OnceLock;

use bytes::Bytes;
use z3950_asn1::oid::Oid;
use z3950_asn1::record::marc_syntax;
use z3950_marc::MarcRecord;

use super::notes::Notes;
use super::segment::{Rules, Segment, Stored, note};
use crate::memory::fields::MAX_INDEXES;

/// A segment being built.
///
/// The octets of its records must not exceed some hundred MiB, so that counts within a segment fit 32 bits.
#[derive(Debug)]
pub(in crate::memory) struct SegmentBuilder {
    rules: Rules,
    records: Vec<Stored>,
    syntaxes: Vec<Oid>,
    databases: Vec<(u16, Range<usize>)>,
    notes: Notes,
    is_deferred: bool,
}

impl SegmentBuilder {
    /// A builder without records.
    pub(in crate::memory) fn new(rules: Rules) -> Self {
        Self {
            rules,
            records: Vec::new(),
            syntaxes: Vec::new(),
            databases: Vec::new(),
            notes: Notes::default(),
            is_deferred: false,
        }
    }

    /// A builder of a segment whose texts are indexed on first use: for a small number of records.
    pub(in crate::memory) fn deferred(rules: Rules) -> Self {
        Self {
            is_deferred: true,
            ..Self::new(rules)
        }
    }

    /// Adds a record of a database, unless the segment is full.
    pub(in crate::memory) fn add(&mut self, database: u16, octets: Bytes, record: &MarcRecord) {
        let Ok(number) = u16::try_from(self.records.len()) else {
            return;
        };
        let here = self.records.len()..self.records.len() + 1;
        match self.databases.last_mut() {
            Some((last, records)) if *last == database => records.end = here.end,
            _ => self.databases.push((database, here)),
        }
        let syntax = self.syntax(marc_syntax(record));
        self.records.push(Stored { octets, syntax });
        let notes = &mut self.notes;
        notes.begin(number);
        if let Some(docid) = self.rules.docid(database).of(record) {
            notes.docid(docid);
        }
        if !self.is_deferred {
            note(&self.rules.fields, record, notes);
        }
    }

    /// Finishes the segment. The builder is empty then, and keeps its memory.
    pub(in crate::memory) fn finish(&mut self) -> Segment {
        let segment = Segment {
            records: self.records.as_slice().into(),
            docids: self.notes.docids(),
            texts: match self.is_deferred {
                true => OnceLock::new(),
                false => self.notes.texts().into(),
            },
            first_keys: (0..MAX_INDEXES).map(|_| OnceLock::new()).collect(),
            rules: self.rules.clone(),
            syntaxes: take(&mut self.syntaxes),
            databases: take(&mut self.databases),
        };
        self.records.clear();
        segment
    }

    fn syntax(&mut self, syntax: Oid) -> u8 {
        let syntaxes = &mut self.syntaxes;
        let known = syntaxes.iter().position(|known| *known == syntax);
        let place = known.unwrap_or_else(|| {
            syntaxes.push(syntax);
            syntaxes.len() - 1
        });
        // MARC has a handful of syntaxes.
        u8::try_from(place).unwrap_or_default()
    }
}

//! Records into a segment: which records it has, of which databases and syntaxes; what is noted of each is made into indexes at
//! the end.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use z3950_asn1::oid::Oid;
use z3950_asn1::record::{MarcRecord, marc_syntax};

use super::notes::Notes;
use super::segment::{Segment, Stored};
use crate::memory::docid::DocidField;
use crate::memory::fields::{Entry, Fields, MAX_INDEXES};

/// How records are indexed: what every segment of a backend has in common.
#[derive(Clone, Debug, Default)]
pub(in crate::memory) struct Rules {
    /// The indexes.
    pub(in crate::memory) fields: Arc<Fields>,
    /// Where docids stand, for each database by its number; 001 in others.
    pub(in crate::memory) docids: Arc<[DocidField]>,
}

impl Rules {
    /// Where docids stand in a database.
    pub(in crate::memory) fn docid(&self, database: u16) -> DocidField {
        let field = self.docids.get(usize::from(database));
        field.copied().unwrap_or_default()
    }
}

/// A segment in the making.
///
/// Whoever fills it sees to it that the octets of its records are some hundred MiB at the most: then whatever is counted in a
/// segment stays below 2^32.
#[derive(Debug)]
pub(in crate::memory) struct SegmentBuilder {
    rules: Rules,
    segment: Segment,
    records: Vec<Stored>,
    notes: Notes,
}

impl SegmentBuilder {
    /// A segment of no records.
    pub(in crate::memory) fn new(rules: Rules) -> Self {
        Self {
            rules,
            segment: Segment::default(),
            records: Vec::new(),
            notes: Notes::default(),
        }
    }

    /// Adds a record of a database, unless the segment has as many as it can have.
    pub(in crate::memory) fn add(&mut self, database: u16, octets: Bytes, record: &MarcRecord) {
        let Ok(number) = u16::try_from(self.records.len()) else {
            return;
        };
        let here = self.records.len()..self.records.len() + 1;
        match self.segment.databases.last_mut() {
            Some((last, records)) if *last == database => records.end = here.end,
            _ => self.segment.databases.push((database, here)),
        }
        let syntax = self.syntax(marc_syntax(record));
        self.records.push(Stored { octets, syntax });
        let notes = &mut self.notes;
        notes.begin(number);
        if let Some(docid) = self.rules.docid(database).of(record) {
            notes.docid(docid);
        }
        let fields = &*self.rules.fields;
        fields.entries(record, &mut |entry, indexes, text| match entry {
            Entry::Text => notes.text(indexes, fields.of_keys(indexes), text),
            Entry::Key => notes.key(indexes, text),
        });
    }

    /// The segment of the records added; then there are none, and the room that was taken serves the next.
    pub(in crate::memory) fn finish(&mut self) -> Segment {
        let segment = Segment {
            records: self.records.as_slice().into(),
            first_keys: (0..MAX_INDEXES).map(|_| OnceLock::new()).collect(),
            ..self.notes.finish(std::mem::take(&mut self.segment))
        };
        self.records.clear();
        segment
    }

    fn syntax(&mut self, syntax: Oid) -> u8 {
        let syntaxes = &mut self.segment.syntaxes;
        let known = syntaxes.iter().position(|known| *known == syntax);
        let place = known.unwrap_or_else(|| {
            syntaxes.push(syntax);
            syntaxes.len() - 1
        });
        // MARC has a handful of syntaxes.
        u8::try_from(place).unwrap_or_default()
    }
}

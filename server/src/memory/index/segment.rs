//! Segments and their builder. Each segment contains some of a backend's records, with indexes of these records. Docids are
//! indexed immediately; the indexing of texts can be deferred to their first use. A segment is not changed after it has been
//! built.

use std::mem::take;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use z3950_asn1::oid::{Oid, USMARC};
use z3950_asn1::record::marc_syntax;
use z3950_marc::{MarcRecord, iso2709};

use super::collector::{EntryCollector, Texts};
use super::dictionary::{Dictionary, Lexicon};
use super::postings::at;
use super::{DOCIDS, Terms};
use crate::memory::fields::{EntryKind, Fields, IndexId, MAX_INDEXES};

/// At most 65,536 records and their indexes.
#[derive(Debug)]
pub(in crate::memory) struct Segment {
    pub(super) records: Box<[Stored]>,
    /// The syntaxes of the records.
    pub(in crate::memory) syntaxes: Vec<Oid>,
    /// The ranges of records that belong to each database, in ascending order; together, they cover all records.
    pub(in crate::memory) databases: Vec<(u16, Range<usize>)>,
    pub(super) docids: Lexicon,
    pub(super) fields: Arc<Fields>,
    /// The indexes of texts. If their construction was deferred, they are built from the records on first use.
    pub(super) texts: OnceLock<Texts>,
    /// For each index, the first key of each record. The keys are computed when a result set is first sorted by the index.
    pub(super) first_keys: Box<[OnceLock<Box<[FirstKey]>>]>,
}

/// The first key of a record in an index, by which records are sorted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FirstKey {
    /// The number of the key's string plus 1; 0 if the record has no key.
    term: u32,
    /// The number of nonfiling octets of the key.
    not_filed: u8,
}

/// A record as it was loaded.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    /// The record in ISO 2709.
    pub(super) octets: Bytes,
    /// The position of the record's syntax in the list of syntaxes.
    pub(super) syntax: u8,
}

impl Segment {
    pub(in crate::memory) fn len(&self) -> usize {
        self.records.len()
    }

    /// Returns a record in ISO 2709, and its syntax; `None` if the segment does not have the record.
    pub(in crate::memory) fn record(&self, number: u16) -> Option<(&Bytes, Oid)> {
        let stored = self.records.get(usize::from(number))?;
        let syntax = self.syntaxes.get(usize::from(stored.syntax));
        Some((&stored.octets, syntax.copied().unwrap_or(USMARC)))
    }

    /// Returns the number of the database of a record; `None` if the segment does not have the record.
    pub(in crate::memory) fn database(&self, number: u16) -> Option<u16> {
        let number = usize::from(number);
        let found = self
            .databases
            .partition_point(|(_, records)| records.end <= number);
        self.databases.get(found).map(|(database, _)| *database)
    }

    /// Returns the indexes of texts; builds them on first use.
    pub(super) fn texts(&self) -> &Texts {
        self.texts
            .get_or_init(|| texts(&self.fields, &self.records))
    }

    /// Returns the terms of an index.
    pub(super) fn dictionary(&self, terms: Terms) -> Dictionary<'_> {
        match terms {
            Terms::Keys(IndexId::DOCID) => self.docids.of(DOCIDS, IndexId::DOCID),
            Terms::Keys(index) => {
                let texts = self.texts();
                texts.keys.of(&texts.classes, index)
            }
            Terms::Words(index) => {
                let texts = self.texts();
                texts.words.of(&texts.classes, index)
            }
        }
    }

    /// Returns the pairs of frequent words in an index.
    pub(super) fn pairs(&self, index: IndexId) -> Dictionary<'_> {
        let texts = self.texts();
        texts.pairs.of(&texts.classes, index)
    }

    /// Returns whether a word is frequent, so that its pairs are indexed.
    pub(super) fn is_frequent(&self, word: &str) -> bool {
        let texts = self.texts();
        let term = texts.words.strings().find(word.as_bytes());
        term.is_some_and(|term| texts.frequent.binary_search(&term).is_ok())
    }

    /// Returns the first key of a record in an index, by which records are sorted. The key is returned without its nonfiling
    /// characters, unless it consists only of these.
    pub(in crate::memory) fn first_key(&self, index: IndexId, number: u16) -> Option<&[u8]> {
        let dictionary = self.dictionary(Terms::Keys(index));
        let column = self.first_keys.get(usize::from(index.0))?;
        let column = column.get_or_init(|| self.column(dictionary));
        let first = column.get(usize::from(number))?;
        let key = dictionary.string(first.term.checked_sub(1)?);
        let filed = key.get(usize::from(first.not_filed)..);
        filed.filter(|filed| !filed.is_empty()).or(Some(key))
    }

    /// Returns whether the first keys of an index have been computed.
    pub(in crate::memory) fn has_first_keys(&self, index: IndexId) -> bool {
        let column = self.first_keys.get(usize::from(index.0));
        column.is_some_and(|column| column.get().is_some())
    }

    fn column(&self, dictionary: Dictionary<'_>) -> Box<[FirstKey]> {
        let mut column = vec![FirstKey::default(); self.records.len()];
        let mut places = vec![u16::MAX; self.records.len()];
        for term in dictionary.terms(0..dictionary.strings().len()) {
            for list in dictionary.lists(term) {
                list.each_place(|record, place| {
                    let number = usize::from(record);
                    if let (Some(first), Some(before)) =
                        (column.get_mut(number), places.get_mut(number))
                        && (place < *before || first.term == 0)
                    {
                        first.term = term + 1;
                        *before = place;
                    }
                });
            }
        }
        let not_filed = &self.texts().not_filed;
        for (record, (first, place)) in (0..=u16::MAX).zip(column.iter_mut().zip(places)) {
            let here = at(record, place);
            let found = not_filed.binary_search_by_key(&here, |(at, _)| *at);
            if let Some((_, octets)) = found.ok().and_then(|found| not_filed.get(found)) {
                first.not_filed = *octets;
            }
        }
        column.into()
    }
}

/// Collects the entries of a record.
pub(super) fn collect(fields: &Fields, record: &MarcRecord, collector: &mut EntryCollector) {
    fields.entries(record, &mut |entry, indexes, text| match entry {
        EntryKind::Text => collector.text(indexes, fields.of_keys(indexes), text),
        EntryKind::Key => collector.key(indexes, text),
    });
}

/// Builds the indexes of records.
fn texts(fields: &Fields, records: &[Stored]) -> Texts {
    let mut collector = EntryCollector::default();
    for (number, stored) in (0..=u16::MAX).zip(records) {
        collector.begin(number);
        // The record has been parsed before, so this does not fail.
        if let Ok(parsed) = iso2709::parse(&stored.octets) {
            collect(fields, &parsed.record, &mut collector);
        }
    }
    collector.texts()
}

/// A builder of segments.
///
/// The total size of a segment's records must not exceed a few hundred MiB, so that numbers within a segment fit into 32 bits.
#[derive(Debug)]
pub(in crate::memory) struct SegmentBuilder {
    fields: Arc<Fields>,
    records: Vec<Stored>,
    syntaxes: Vec<Oid>,
    databases: Vec<(u16, Range<usize>)>,
    collector: EntryCollector,
    is_deferred: bool,
}

/// The error that a segment is full, because record numbers in a segment have 16 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the segment is full")]
pub(in crate::memory) struct SegmentFull;

impl SegmentBuilder {
    /// Creates a builder without records.
    pub(in crate::memory) fn new(fields: Arc<Fields>) -> Self {
        Self {
            fields,
            records: Vec::new(),
            syntaxes: Vec::new(),
            databases: Vec::new(),
            collector: EntryCollector::default(),
            is_deferred: false,
        }
    }

    /// Creates a builder of a segment with few records, whose texts are indexed on first use.
    pub(in crate::memory) fn deferred(fields: Arc<Fields>) -> Self {
        Self {
            is_deferred: true,
            ..Self::new(fields)
        }
    }

    /// Adds a record of a database.
    ///
    /// # Errors
    /// [`SegmentFull`] if the segment has no free number for the record; in that case, nothing is added.
    pub(in crate::memory) fn add(
        &mut self,
        database: u16,
        octets: Bytes,
        record: &MarcRecord,
    ) -> Result<(), SegmentFull> {
        let number = u16::try_from(self.records.len()).map_err(|_| SegmentFull)?;
        let here = self.records.len()..self.records.len() + 1;
        match self.databases.last_mut() {
            Some((last, records)) if *last == database => records.end = here.end,
            _ => self.databases.push((database, here)),
        }
        let syntax = self.syntax(marc_syntax(record));
        self.records.push(Stored { octets, syntax });
        let collector = &mut self.collector;
        collector.begin(number);
        if let Some(docid) = self.fields.docid(database).of(record) {
            collector.docid(docid);
        }
        if !self.is_deferred {
            collect(&self.fields, record, collector);
        }
        Ok(())
    }

    /// Returns the segment. The builder is then empty, but keeps its memory for reuse.
    pub(in crate::memory) fn finish(&mut self) -> Segment {
        let segment = Segment {
            records: self.records.as_slice().into(),
            docids: self.collector.docids(),
            texts: if self.is_deferred {
                OnceLock::new()
            } else {
                self.collector.texts().into()
            },
            first_keys: (0..MAX_INDEXES).map(|_| OnceLock::new()).collect(),
            fields: Arc::clone(&self.fields),
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
        // MARC has only a handful of syntaxes, so the number fits into an octet.
        u8::try_from(place).unwrap_or_default()
    }
}

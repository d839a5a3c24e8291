//! A part of a backend's records with its own indexes, built once and not changed afterwards.

use std::ops::Range;
use std::sync::OnceLock;

use bytes::Bytes;
use z3950_asn1::oid::{Oid, USMARC};

use super::Terms;
use super::dictionary::{Dictionary, string_of};
use super::strings::Strings;
use crate::memory::fields::IndexId;

/// At most 65,536 records and what they are found by.
#[derive(Debug, Default)]
pub(in crate::memory) struct Segment {
    pub(super) records: Box<[Stored]>,
    /// The syntaxes of the records.
    pub(super) syntaxes: Vec<Oid>,
    /// The records of each database, by its number; ascending, and together all records.
    pub(super) databases: Vec<(u16, Range<usize>)>,
    /// The words of all indexes.
    pub(super) words: Strings,
    /// The keys of all indexes.
    pub(super) keys: Strings,
    pub(super) docids: Strings,
    pub(super) of_docids: Dictionary,
    pub(super) of_words: Box<[Dictionary]>,
    pub(super) of_keys: Box<[Dictionary]>,
    /// For each index, once it has been sorted by: the number of each record's first key and 1, or 0.
    pub(super) first_keys: Box<[OnceLock<Box<[u32]>>]>,
}

/// A record as it was loaded.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    /// Its ISO 2709 form.
    pub(super) octets: Bytes,
    /// The place of its syntax among those of the segment.
    pub(super) syntax: u8,
}

impl Segment {
    /// How many records there are.
    pub(in crate::memory) fn len(&self) -> usize {
        self.records.len()
    }

    /// A record in its ISO 2709 form, and the syntax of that form.
    pub(in crate::memory) fn record(&self, number: u16) -> Option<(&Bytes, Oid)> {
        let stored = self.records.get(usize::from(number))?;
        let syntax = self.syntaxes.get(usize::from(stored.syntax));
        Some((&stored.octets, syntax.copied().unwrap_or(USMARC)))
    }

    /// The syntaxes of the records.
    pub(in crate::memory) fn syntaxes(&self) -> &[Oid] {
        &self.syntaxes
    }

    /// The numbers of databases and the records of each, ascending.
    pub(in crate::memory) fn databases(&self) -> &[(u16, Range<usize>)] {
        &self.databases
    }

    /// The number of the database of a record.
    pub(in crate::memory) fn database(&self, number: u16) -> Option<u16> {
        let number = usize::from(number);
        let found = self
            .databases
            .partition_point(|(_, records)| records.end <= number);
        self.databases.get(found).map(|(database, _)| *database)
    }

    /// The dictionary of an index, and its strings.
    pub(super) fn dictionary(&self, terms: Terms) -> Option<(&Dictionary, &Strings)> {
        let (dictionaries, strings, index) = match terms {
            Terms::Words(index) => (&self.of_words, &self.words, index),
            Terms::Keys(IndexId::DOCID) => return Some((&self.of_docids, &self.docids)),
            Terms::Keys(index) => (&self.of_keys, &self.keys, index),
        };
        let dictionary = dictionaries.get(usize::from(index.0))?;
        Some((dictionary, strings))
    }

    /// The first key of a record in an index, which it is sorted by.
    pub(in crate::memory) fn first_key(&self, index: IndexId, number: u16) -> Option<&[u8]> {
        let (dictionary, strings) = self.dictionary(Terms::Keys(index))?;
        let column = self.first_keys.get(usize::from(index.0))?;
        let column = column.get_or_init(|| self.column(dictionary));
        let term = column.get(usize::from(number))?.checked_sub(1)?;
        Some(string_of(dictionary, strings, term as usize))
    }

    fn column(&self, dictionary: &Dictionary) -> Box<[u32]> {
        let mut column = vec![0; self.records.len()];
        for (number, term) in (1..).zip(0..dictionary.len()) {
            dictionary.each_place(term, |record, place| {
                if let Some(first) = column.get_mut(usize::from(record)).filter(|_| place == 0) {
                    *first = number;
                }
            });
        }
        column.into()
    }
}

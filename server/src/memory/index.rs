//! What makes searches fast: docids and ISBNs by their octets, words with the records and places where they stand. Built
//! once when the server starts and not changed afterwards.

use std::collections::HashMap;

use z3950_asn1::record::MarcRecord;

use super::fields::texts;
use super::hits::HitSet;
use super::isbn;
use super::words::words;
use crate::backend::RecordId;

/// The indexes of a backend.
#[derive(Debug, Default)]
pub(super) struct Index {
    docids: Keys,
    isbns: Keys,
    title: Words,
    author: Words,
    any: Words,
    records: usize,
}

/// Octets, and the records that have them.
type Keys = HashMap<Box<[u8]>, Vec<RecordId>>;

/// An index of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WordIndex {
    Title,
    Author,
    Any,
}

impl Index {
    /// How many records are indexed.
    pub(super) fn records(&self) -> usize {
        self.records
    }

    /// The records whose docid is exactly these octets.
    pub(super) fn docid(&self, docid: &[u8]) -> HitSet<'_> {
        self.docids
            .get(docid)
            .map_or_else(HitSet::empty, |records| HitSet::of(records))
    }

    /// The records with an ISBN, as [`isbn::normalized`] gives it.
    pub(super) fn isbn(&self, isbn: &str) -> HitSet<'_> {
        self.isbns
            .get(isbn.as_bytes())
            .map_or_else(HitSet::empty, |records| HitSet::of(records))
    }

    /// The records with all of the words, or words that begin with them.
    pub(super) fn all_words(
        &self,
        index: WordIndex,
        words: &[String],
        truncated: bool,
    ) -> HitSet<'_> {
        let index = self.words(index);
        let sets = words
            .iter()
            .map(|word| index.records(word, truncated, self.records));
        sets.reduce(HitSet::and).unwrap_or_else(HitSet::empty)
    }

    /// The records with the words one behind the other in one field; the last may be the beginning of a word.
    pub(super) fn phrase(&self, index: WordIndex, words: &[String], truncated: bool) -> HitSet<'_> {
        match words {
            [only] => self.words(index).records(only, truncated, self.records),
            _ => HitSet::of_vec(self.words(index).phrase(words, truncated)),
        }
    }

    fn words(&self, index: WordIndex) -> &Words {
        match index {
            WordIndex::Title => &self.title,
            WordIndex::Author => &self.author,
            WordIndex::Any => &self.any,
        }
    }
}

/// A word's place: in which record, and the how manieth word of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    record: RecordId,
    position: u32,
}

/// Where a word stands.
#[derive(Debug, Default)]
struct Posting {
    /// Ascending, each record once.
    records: Vec<RecordId>,
    /// Ascending.
    places: Vec<Place>,
}

/// Words in the order of their octets.
#[derive(Debug, Default)]
struct Words(Vec<(Box<str>, Posting)>);

impl Words {
    fn exact(&self, word: &str) -> Option<&Posting> {
        let found = self
            .0
            .binary_search_by(|(known, _)| (**known).cmp(word))
            .ok()?;
        self.0.get(found).map(|(_, posting)| posting)
    }

    fn beginning_with<'a>(&'a self, start: &str) -> impl Iterator<Item = &'a Posting> {
        let from = self.0.partition_point(|(word, _)| **word < *start);
        let rest = self.0.get(from..).unwrap_or_default();
        let count = rest.partition_point(|(word, _)| word.starts_with(start));
        rest.iter().take(count).map(|(_, posting)| posting)
    }

    fn records(&self, word: &str, truncated: bool, universe: usize) -> HitSet<'_> {
        if truncated {
            self.beginning_with(word)
                .map(|posting| HitSet::of(&posting.records))
                .reduce(|all, more| all.or(more, universe))
                .unwrap_or_else(HitSet::empty)
        } else {
            self.exact(word)
                .map_or_else(HitSet::empty, |posting| HitSet::of(&posting.records))
        }
    }

    fn phrase(&self, words: &[String], truncated: bool) -> Vec<RecordId> {
        let Some(((last, firsts), first)) = words.split_last().zip(words.first()) else {
            return Vec::new();
        };
        let places = |word: &str| self.exact(word).map_or(&[][..], |posting| &posting.places);
        // The places of the phrase's beginning that are still possible.
        let mut starts = places(first).to_vec();
        for (distance, word) in (1..).zip(firsts.iter().skip(1)) {
            let next = places(word);
            starts.retain(|start| next.binary_search(&start.behind(distance)).is_ok());
        }
        let distance = u32::try_from(firsts.len()).unwrap_or(u32::MAX);
        let mut ends: Vec<Place> = match truncated {
            true => self
                .beginning_with(last)
                .flat_map(|posting| &posting.places)
                .copied()
                .collect(),
            false => places(last).to_vec(),
        };
        ends.sort_unstable();
        starts.retain(|start| ends.binary_search(&start.behind(distance)).is_ok());
        let mut records: Vec<_> = starts.into_iter().map(|start| start.record).collect();
        records.dedup();
        records
    }
}

impl Place {
    fn behind(self, distance: u32) -> Self {
        Self {
            position: self.position.saturating_add(distance),
            ..self
        }
    }
}

/// An index in the making; records are added in the order of their numbers.
#[derive(Default)]
pub(super) struct IndexBuilder {
    index: Index,
    title: HashMap<Box<str>, Posting>,
    author: HashMap<Box<str>, Posting>,
    any: HashMap<Box<str>, Posting>,
}

/// Words of different fields are at least so far apart, and so never a phrase.
const FIELD_GAP: u32 = 16;

impl IndexBuilder {
    /// Adds the next record, with its docid if it has one.
    pub(super) fn add(&mut self, id: RecordId, record: &MarcRecord, docid: Option<&[u8]>) {
        self.index.records += 1;
        if let Some(docid) = docid.filter(|docid| !docid.is_empty()) {
            append(&mut self.index.docids, docid, id);
        }
        for field in record.fields_by_tag("020") {
            let isbns = field.subfields().filter(|subfield| subfield.code == b"a");
            for isbn in
                isbns.filter_map(|isbn| isbn::normalized(&String::from_utf8_lossy(isbn.data)))
            {
                append(&mut self.index.isbns, isbn.as_bytes(), id);
            }
        }
        let mut position: u32 = 0;
        for field in texts(record) {
            for (feeds, text) in field {
                for word in words(&String::from_utf8_lossy(text)) {
                    let place = Place {
                        record: id,
                        position,
                    };
                    position = position.saturating_add(1);
                    note(&mut self.any, &word, place);
                    if feeds.title {
                        note(&mut self.title, &word, place);
                    }
                    if feeds.author {
                        note(&mut self.author, &word, place);
                    }
                }
            }
            position = position.saturating_add(FIELD_GAP);
        }
    }

    /// The index of the records added.
    pub(super) fn finish(self) -> Index {
        Index {
            title: sorted(self.title),
            author: sorted(self.author),
            any: sorted(self.any),
            ..self.index
        }
    }
}

fn append(keys: &mut Keys, key: &[u8], id: RecordId) {
    match keys.get_mut(key) {
        Some(records) if records.last() == Some(&id) => {}
        Some(records) => records.push(id),
        None => {
            keys.insert(key.into(), vec![id]);
        }
    }
}

fn note(words: &mut HashMap<Box<str>, Posting>, word: &str, place: Place) {
    let posting = match words.get_mut(word) {
        Some(posting) => posting,
        None => words.entry(word.into()).or_default(),
    };
    if posting.records.last() != Some(&place.record) {
        posting.records.push(place.record);
    }
    posting.places.push(place);
}

fn sorted(words: HashMap<Box<str>, Posting>) -> Words {
    let mut words: Vec<_> = words.into_iter().collect();
    words.sort_unstable_by(|(left, _), (right, _)| left.cmp(right));
    Words(words)
}

#[cfg(test)]
mod tests {
    use z3950_asn1::record::Field;

    use super::*;

    fn index() -> Index {
        let mut builder = IndexBuilder::default();
        let titles = [
            "War and peace",
            "The war of the worlds",
            "Peace and war; warfare",
            "Emma",
        ];
        for (number, title) in (0..).zip(titles) {
            let fields = vec![
                Field::data(
                    b"020",
                    "  ",
                    [("a", "0306406152"), ("a", "978-0-306-40615-7")],
                ),
                Field::data(b"245", "10", [("a", title)]),
                Field::data(b"500", "  ", [("a", "A note on war")]),
            ];
            let docid = if number == 3 { "" } else { "id" };
            let record = MarcRecord {
                fields,
                ..MarcRecord::default()
            };
            builder.add(RecordId(number), &record, Some(docid.as_bytes()));
        }
        builder.finish()
    }

    fn check(found: HitSet<'_>, expected: &[u32], about: &str) {
        let found: Vec<_> = found.into_hits().iter().map(|record| record.0).collect();
        assert_eq!(found, expected, "{about}");
    }

    #[test]
    fn keys_are_exact() {
        let index = index();
        check(index.docid(b"id"), &[0, 1, 2], "id");
        check(index.docid(b"ID"), &[], "ID");
        check(index.docid(b""), &[], "no docid is no docid");
        check(
            index.isbn("9780306406157"),
            &[0, 1, 2, 3],
            "each record once",
        );
        assert_eq!(index.records(), 4);
    }

    #[test]
    fn words_and_phrases_are_found() {
        let index = index();
        for (text, truncated, all, phrase) in [
            ("war", false, &[0, 1, 2][..], &[0, 1, 2][..]),
            ("war peace", false, &[0, 2], &[]),
            ("war and peace", false, &[0, 2], &[0]),
            ("and war", false, &[0, 2], &[2]),
            ("of the world", false, &[], &[]),
            ("of the world", true, &[1], &[1]),
            ("war war", true, &[0, 1, 2], &[2]),
            ("wa", true, &[0, 1, 2], &[0, 1, 2]),
            ("emma a", true, &[], &[]),
            ("nothing", false, &[], &[]),
        ] {
            let words = words(text);
            check(
                index.all_words(WordIndex::Title, &words, truncated),
                all,
                text,
            );
            check(
                index.phrase(WordIndex::Title, &words, truncated),
                phrase,
                text,
            );
        }
        check(
            index.all_words(WordIndex::Author, &words("war"), false),
            &[],
            "author",
        );
        let across_fields = words("emma a note");
        check(
            index.phrase(WordIndex::Any, &across_fields, false),
            &[],
            "across fields",
        );
        check(
            index.all_words(WordIndex::Any, &across_fields, false),
            &[3],
            "in all fields",
        );
    }
}

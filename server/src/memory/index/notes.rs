//! The entries of records as they come, texts cut into words, and at the end the dictionaries made of them.
//!
//! A text is cut and noted once, whatever the number of its indexes. When the words have got their order, each index counts its
//! places word by word and puts them where they belong.

use super::BOUNDARY;
use super::dictionary::{Dictionary, DictionaryBuilder, at, place, record};
use super::segment::Segment;
use super::strings::Interner;
use crate::memory::fields::{IndexId, MAX_INDEXES, SUBFIELD_MARK};
use crate::memory::words::each_word;

/// The most octets of a key; a longer one is cut.
const KEY: usize = 200;

/// What has been noted of the records so far.
#[derive(Debug)]
pub(super) struct Notes {
    words: Interner,
    keys: Interner,
    docids: Interner,
    /// The words of all texts, one text behind the other; with [`BEGINS`] those that a subfield begins with.
    log: Vec<u32>,
    indexes: Vec<IndexNotes>,
    of_docids: Vec<(u32, u32)>,
    record: u16,
    /// The text last cut into words: indexes that have the same text have it one after the other.
    last: CutText,
    builder: DictionaryBuilder,
    room: Room,
}

/// What an index has.
#[derive(Clone, Debug, Default)]
struct IndexNotes {
    texts: Vec<Text>,
    /// The number of a key, and its place: the record, and how many keys of the record are before it.
    keys: Vec<(u32, u32)>,
    /// Where the next word of the record stands, and how many keys it has.
    next: (u16, u16),
}

/// A text of a record in an index.
#[derive(Clone, Copy, Debug)]
struct Text {
    /// Where its words are in the log.
    start: u32,
    length: u32,
    /// The place of the first: the record, and where it stands there.
    at: u32,
}

/// The text last cut.
#[derive(Debug, Default)]
struct CutText {
    text: String,
    /// Where its words are in the log.
    start: u32,
    length: u32,
    /// All of them with blanks between.
    key: String,
    buffer: String,
}

/// Kept for the room they have.
#[derive(Debug, Default)]
struct Room {
    counts: Vec<u32>,
    places: Vec<u32>,
    pairs: Vec<u64>,
}

/// The bit of words that a subfield begins with.
const BEGINS: u32 = 1 << 31;
/// The boundary between two entries, and the beginning of a subfield, among the words in their order: no text has them, and
/// nothing comes before them.
const BOUNDARY_WORD: u32 = 0;
const MARK_WORD: u32 = 1;

impl Default for Notes {
    fn default() -> Self {
        Self {
            words: Interner::default(),
            keys: Interner::default(),
            docids: Interner::default(),
            log: Vec::new(),
            indexes: vec![IndexNotes::default(); MAX_INDEXES],
            of_docids: Vec::new(),
            record: 0,
            last: CutText::default(),
            builder: DictionaryBuilder::default(),
            room: Room::default(),
        }
    }
}

impl Notes {
    /// Begins with the next record.
    pub(super) fn begin(&mut self, record: u16) {
        self.record = record;
        self.last.text.clear();
        self.last.length = 0;
        for index in &mut self.indexes {
            index.next = (0, 0);
        }
    }

    /// Notes the docid of the record.
    pub(super) fn docid(&mut self, docid: &[u8]) {
        let number = self.docids.number(docid);
        self.of_docids.push((number, at(self.record, 0)));
    }

    /// Notes a text of the record.
    pub(super) fn text(&mut self, index: IndexId, with_key: bool, text: &str) {
        if self.last.text != text {
            self.last.cut(text, &mut self.words, &mut self.log);
        }
        let CutText { start, length, .. } = self.last;
        let Some(notes) = self.indexes.get_mut(usize::from(index.0)) else {
            return;
        };
        if length == 0 {
            return;
        }
        let (next, _) = &mut notes.next;
        let first = (*next).max(1);
        notes.texts.push(Text {
            start,
            length,
            at: at(self.record, first),
        });
        // Behind the last word stands a boundary.
        *next = behind(first, length).saturating_add(1);
        if with_key {
            let key = std::mem::take(&mut self.last.key);
            self.key(index, &key);
            self.last.key = key;
        }
    }

    /// Notes a key of the record.
    pub(super) fn key(&mut self, index: IndexId, key: &str) {
        let Some(notes) = self.indexes.get_mut(usize::from(index.0)) else {
            return;
        };
        let key = shortened(key);
        let number = self.keys.number(key.as_bytes());
        let (_, keys) = &mut notes.next;
        notes.keys.push((number, at(self.record, *keys)));
        *keys = keys.saturating_add(1);
    }

    /// The segment with the indexes of what has been noted; then nothing is.
    pub(super) fn finish(&mut self, segment: Segment) -> Segment {
        self.words.number(BOUNDARY.as_bytes());
        self.words.number(SUBFIELD_MARK.to_string().as_bytes());
        let Self {
            words,
            keys,
            docids,
            log,
            indexes,
            of_docids,
            builder,
            room,
            ..
        } = self;
        let in_order = [words.sorted(), keys.sorted(), docids.sorted()];
        let [sorted_words, sorted_keys, sorted_docids] = in_order;
        for word in log.iter_mut() {
            *word = words.place(*word & !BEGINS) | *word & BEGINS;
        }
        let count = sorted_words.len() as usize;
        let used = indexes
            .iter()
            .rposition(|index| !index.texts.is_empty() || !index.keys.is_empty());
        let used = || indexes.iter().take(used.map_or(0, |last| last + 1));
        let of_words = used()
            .map(|index| room.of_words(&index.texts, log, count, builder))
            .collect();
        let of_keys = used()
            .map(|index| room.of_keys(&index.keys, keys, builder))
            .collect();
        let of_docids = room.of_keys(of_docids, docids, builder);
        self.clear();
        Segment {
            words: sorted_words,
            keys: sorted_keys,
            docids: sorted_docids,
            of_words,
            of_keys,
            of_docids,
            ..segment
        }
    }

    fn clear(&mut self) {
        for interner in [&mut self.words, &mut self.keys, &mut self.docids] {
            interner.clear();
        }
        self.log.clear();
        self.of_docids.clear();
        for index in &mut self.indexes {
            index.texts.clear();
            index.keys.clear();
        }
    }
}

impl CutText {
    fn cut(&mut self, text: &str, numbers: &mut Interner, log: &mut Vec<u32>) {
        self.text.clear();
        self.text.push_str(text);
        self.key.clear();
        let start = log.len();
        for (number, subfield) in text.split(SUBFIELD_MARK).enumerate() {
            let mut begins = if number > 0 { BEGINS } else { 0 };
            each_word(subfield, &mut self.buffer, |word| {
                log.push(numbers.number(word.as_bytes()) | std::mem::take(&mut begins));
                if self.key.len() <= KEY {
                    if !self.key.is_empty() {
                        self.key.push(' ');
                    }
                    self.key.push_str(word);
                }
            });
        }
        self.start = u32::try_from(start).unwrap_or(u32::MAX);
        self.length = u32::try_from(log.len() - start).unwrap_or(u32::MAX);
    }
}

impl Room {
    /// The dictionary of words of texts; there are so many words in all indexes.
    fn of_words(
        &mut self,
        texts: &[Text],
        log: &[u32],
        words: usize,
        builder: &mut DictionaryBuilder,
    ) -> Dictionary {
        let total: usize = texts.iter().map(|text| text.length as usize + 1).sum();
        if total < words / 8 {
            self.pairs.clear();
            each_word_of(texts, log, |word, at| self.pairs.push(pair(word, at)));
            return self.of_pairs(builder);
        }
        let Self { counts, places, .. } = self;
        counts.clear();
        counts.resize(words + 1, 0);
        let mut all = 0;
        each_word_of(texts, log, |word, _| {
            all += 1;
            if let Some(count) = counts.get_mut(word as usize + 1) {
                *count += 1;
            }
        });
        // From how many there are of each word to where its places begin; then, to where they end.
        let mut before = 0;
        for count in counts.iter_mut() {
            before += *count;
            *count = before;
        }
        places.clear();
        places.resize(all, 0);
        each_word_of(texts, log, |word, at| {
            if let Some(next) = counts.get_mut(word as usize) {
                if let Some(place) = places.get_mut(*next as usize) {
                    *place = at;
                }
                *next += 1;
            }
        });
        let mut start = 0;
        for (word, end) in (0..).zip(counts.iter().take(words)) {
            let end = *end as usize;
            if let Some(of_word @ [_, ..]) = places.get(start..end) {
                builder.add(word, of_word);
            }
            start = end;
        }
        builder.finish()
    }

    /// The dictionary of keys, whose strings are in order.
    fn of_keys(
        &mut self,
        keys: &[(u32, u32)],
        strings: &Interner,
        builder: &mut DictionaryBuilder,
    ) -> Dictionary {
        self.pairs.clear();
        let pairs = keys
            .iter()
            .map(|(number, at)| pair(strings.place(*number), *at));
        self.pairs.extend(pairs);
        self.of_pairs(builder)
    }

    fn of_pairs(&mut self, builder: &mut DictionaryBuilder) -> Dictionary {
        let Self { pairs, places, .. } = self;
        pairs.sort_unstable();
        for term in pairs.chunk_by(|left, right| left >> 32 == right >> 32) {
            places.clear();
            places.extend(term.iter().map(|pair| *pair as u32));
            let string = term.first().map_or(0, |pair| (pair >> 32) as u32);
            builder.add(string, places);
        }
        builder.finish()
    }
}

/// The key, cut if it is too long.
fn shortened(key: &str) -> &str {
    let end = (0..=KEY.min(key.len()))
        .rev()
        .find(|end| key.is_char_boundary(*end));
    key.get(..end.unwrap_or_default()).unwrap_or_default()
}

/// A string and a place, in a number of the same order.
fn pair(string: u32, at: u32) -> u64 {
    u64::from(string) << 32 | u64::from(at)
}

/// The place so many words behind another in the same record.
fn behind(first: u16, words: u32) -> u16 {
    first.saturating_add(u16::try_from(words).unwrap_or(u16::MAX))
}

/// Gives the words of texts with their places, and the signs between them; those of each word in ascending order.
fn each_word_of(texts: &[Text], log: &[u32], mut give: impl FnMut(u32, u32)) {
    for text in texts {
        let (record, first) = (record(text.at), place(text.at));
        if first == 1 {
            give(BOUNDARY_WORD, at(record, 0));
        }
        let words = log.get(text.start as usize..).unwrap_or_default();
        let mut next = first;
        for word in words.iter().take(text.length as usize) {
            if word & BEGINS != 0 {
                give(MARK_WORD, at(record, next));
            }
            give(word & !BEGINS, at(record, next));
            next = next.saturating_add(1);
        }
        give(BOUNDARY_WORD, at(record, next));
    }
}

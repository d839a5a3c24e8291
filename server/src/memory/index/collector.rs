//! Collects the entries of records, splits texts into words, and builds the dictionaries of a segment.
//!
//! A text is split and collected once for all its indexes; this set of indexes is the class of the text. Words are numbered
//! consecutively through all texts from a record, with one number left out between two texts. After the words have been sorted,
//! their positions are distributed in portions that fit into the processor's cache.

use std::collections::HashMap;

use super::dictionary::Lexicon;
use super::postings::{Class, Postings, PostingsBuilder, at, place, record};
use super::strings::Interner;
use super::{BOUNDARY, DOCIDS};
use crate::memory::fields::{FILED, IndexId, IndexSet, MAX_INDEXES, NOT_FILED, SUBFIELD_MARK};
use crate::memory::words::each_word;

/// The size limit of a key, in octets; longer keys are truncated.
const KEY: usize = 200;

/// Collects the entries of records for a segment, until their dictionaries are built.
#[derive(Debug, Default)]
pub(super) struct EntryCollector {
    words: Interner,
    keys: CollectedStrings,
    docids: CollectedStrings,
    pairs: CollectedStrings,
    classes: Classes,
    texts: Vec<Text>,
    /// The words of all texts as numbers, one text after the other; [`BEGINS`] marks the first word of a subfield.
    log: Vec<u32>,
    not_filed: Vec<(u32, u8)>,
    record: u16,
    /// The positions for the next word and the next key of the current record.
    next: (u16, u16),
    cut: CutText,
    builder: PostingsBuilder,
    buffers: Buffers,
}

/// The indexes of a segment, apart from the index of docids.
#[derive(Debug)]
pub(super) struct Texts {
    /// The set of indexes of each class of texts, indexed by the number of the class.
    pub(super) classes: Box<[IndexSet]>,
    /// The single words of texts, by class.
    pub(super) words: Lexicon,
    /// The numbers of frequent words, in ascending order.
    pub(super) frequent: Box<[u32]>,
    /// Pairs of adjacent frequent words, joined by a space. The position of a pair is the position of its first word.
    pub(super) pairs: Lexicon,
    /// The complete entries. The position of an entry is the number of entries before it in the record.
    pub(super) keys: Lexicon,
    /// The positions of keys with nonfiling characters, in ascending order, with the number of octets to skip when sorting.
    pub(super) not_filed: Box<[(u32, u8)]>,
}

/// The classes of texts. The lowest numbers are the classes of a single index each, which are added before any other class.
#[derive(Debug, Default)]
struct Classes {
    indexes: Vec<IndexSet>,
    numbers: HashMap<IndexSet, Class>,
}

/// A text from a record. Its words are in the log.
#[derive(Clone, Copy, Debug)]
struct Text {
    /// The index of the text's first word in the log.
    start: u32,
    length: u16,
    class: Class,
    /// The position of the text's first word.
    at: u32,
}

/// A posting: the number of a string, a class and a packed position. Postings are ordered as in the lists that are built from
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Posting {
    string: u32,
    class: Class,
    at: u32,
}

/// Collected strings and their postings.
#[derive(Debug, Default)]
struct CollectedStrings {
    strings: Interner,
    postings: Vec<Posting>,
}

impl CollectedStrings {
    fn add(&mut self, string: &[u8], class: Class, at: u32) {
        let string = self.strings.number(string);
        self.postings.push(Posting { string, class, at });
    }

    /// Builds the lexicon of the collected entries, and discards the entries. `places` is a buffer whose memory is reused.
    fn lexicon(
        &mut self,
        builder: &mut PostingsBuilder,
        places: &mut Vec<u32>,
        classes: &[IndexSet],
    ) -> Lexicon {
        let sorted = self.strings.sorted();
        for posting in &mut self.postings {
            posting.string = self.strings.place(posting.string);
        }
        self.postings.sort_unstable();
        for of_string in self
            .postings
            .chunk_by(|left, right| left.string == right.string)
        {
            builder.term();
            for list in of_string.chunk_by(|left, right| left.class == right.class) {
                places.clear();
                places.extend(list.iter().map(|posting| posting.at));
                builder.list(list.first().map_or(0, |posting| posting.class), places);
            }
        }
        self.strings.clear();
        self.postings.clear();
        Lexicon::new(sorted, builder.finish(), classes)
    }
}

/// The most recently split text. Its strings are reused.
#[derive(Debug, Default)]
struct CutText {
    /// The folded words of the text, joined by spaces.
    key: String,
    /// The number of nonfiling octets at the beginning of the key.
    not_filed: usize,
    buffer: String,
}

/// Memory reused for each segment.
#[derive(Debug, Default)]
struct Buffers {
    counts: Vec<u32>,
    portion: Vec<(Class, u32)>,
    places: Vec<u32>,
    pair: Vec<u8>,
}

/// The bit that marks the first word of a subfield in the log.
const BEGINS: u32 = 1 << 31;
/// The number of the mark for the boundary between texts. As strings, this mark and the next one sort before all words and do not
/// occur in texts.
const BOUNDARY_WORD: u32 = 0;
/// The number of the mark for the beginning of a subfield.
const MARK_WORD: u32 = 1;

impl Classes {
    /// Returns the number of the class of a set of indexes. If there are too many classes, returns the classes of the single
    /// indexes instead.
    fn numbers(&mut self, indexes: IndexSet) -> impl Iterator<Item = Class> + use<> {
        self.add_singles();
        let number = self.number(indexes);
        let others = match number {
            Some(_) => IndexSet::default(),
            None => indexes,
        };
        let others = others.iter().map(|index| Class::from(index.0));
        number.into_iter().chain(others)
    }

    fn number(&mut self, indexes: IndexSet) -> Option<Class> {
        let number = self.numbers.get(&indexes).copied();
        number.or_else(|| {
            let number = Class::try_from(self.indexes.len()).ok()?;
            self.indexes.push(indexes);
            self.numbers.insert(indexes, number);
            Some(number)
        })
    }

    /// Adds the classes of the single indexes, if they have not been added.
    fn add_singles(&mut self) {
        if self.indexes.is_empty() {
            for index in (0..=u8::MAX).take(MAX_INDEXES) {
                self.number(IndexSet::of(IndexId(index)));
            }
        }
    }

    /// Returns the number that represents the class without indexes; it is greater than all classes.
    fn none(&self) -> Class {
        Class::try_from(self.indexes.len()).unwrap_or(Class::MAX)
    }
}

impl EntryCollector {
    /// Begins the next record.
    pub(super) fn begin(&mut self, record: u16) {
        self.record = record;
        self.next = (1, 1);
    }

    /// Collects the docid of the record.
    pub(super) fn docid(&mut self, docid: &[u8]) {
        self.docids.add(docid, 0, at(self.record, 0));
    }

    /// Collects a text from the record. For the indexes `with_keys`, the text is also collected as a complete entry.
    pub(super) fn text(&mut self, indexes: IndexSet, with_keys: IndexSet, text: &str) {
        let start = self.log.len();
        self.cut.cut(text, &mut self.words, &mut self.log);
        // A text from a record never has more words than 16 bits can count.
        let length = u16::try_from(self.log.len() - start).unwrap_or(u16::MAX);
        if length == 0 {
            return;
        }
        let (first, _) = self.next;
        let texts = self.classes.numbers(indexes).map(|class| Text {
            start: u32::try_from(start).unwrap_or(u32::MAX),
            length,
            class,
            at: at(self.record, first),
        });
        self.texts.extend(texts);
        // One position is left free for the boundary after the last word.
        self.next.0 = first.saturating_add(length).saturating_add(1);
        if !with_keys.is_empty() {
            if let Ok(octets @ 1..) = u8::try_from(self.cut.not_filed) {
                self.not_filed.push((at(self.record, self.next.1), octets));
            }
            let key = std::mem::take(&mut self.cut.key);
            self.key(with_keys, &key);
            self.cut.key = key;
        }
    }

    /// Collects a key of the record.
    pub(super) fn key(&mut self, indexes: IndexSet, key: &str) {
        let (_, next) = &mut self.next;
        let at = at(self.record, *next);
        *next = next.saturating_add(1);
        for class in self.classes.numbers(indexes) {
            self.keys.add(shortened(key).as_bytes(), class, at);
        }
    }

    /// Builds the lexicon of the collected docids, and discards the docids.
    pub(super) fn docids(&mut self) -> Lexicon {
        let places = &mut self.buffers.places;
        self.docids.lexicon(&mut self.builder, places, DOCIDS)
    }

    /// Builds the indexes of the collected texts, and discards the texts.
    pub(super) fn texts(&mut self) -> Texts {
        self.words.number(BOUNDARY.as_bytes());
        self.words.number(SUBFIELD_MARK.to_string().as_bytes());
        self.classes.add_singles();
        let Self {
            words,
            builder,
            buffers,
            ..
        } = self;
        let sorted = words.sorted();
        for word in &mut self.log {
            *word = words.place(*word & !BEGINS) | *word & BEGINS;
        }
        let occurrences = WordLog {
            texts: &self.texts,
            log: &self.log,
            none: self.classes.none(),
        };
        buffers.count(&occurrences, sorted.len());
        let frequent = buffers.frequent();
        occurrences.each_pair(&frequent, |[one, other], class, at| {
            buffers.pair.clear();
            buffers.pair.extend_from_slice(sorted.at(one));
            buffers.pair.push(b' ');
            buffers.pair.extend_from_slice(sorted.at(other));
            self.pairs.add(&buffers.pair, class, at);
        });
        let of_words = buffers.of_words(&occurrences, builder);
        let classes = self.classes.indexes.as_slice();
        let texts = Texts {
            words: Lexicon::new(sorted, of_words, classes).with_wholes(&frequent, classes),
            frequent: frequent.into(),
            pairs: self.pairs.lexicon(builder, &mut buffers.places, classes),
            keys: self.keys.lexicon(builder, &mut buffers.places, classes),
            classes: classes.into(),
            not_filed: self.not_filed.as_slice().into(),
        };
        self.words.clear();
        self.texts.clear();
        self.log.clear();
        self.not_filed.clear();
        self.classes = Classes::default();
        texts
    }
}

impl CutText {
    fn cut(&mut self, text: &str, numbers: &mut Interner, log: &mut Vec<u32>) {
        self.key.clear();
        self.not_filed = 0;
        for (number, subfield) in text.split(SUBFIELD_MARK).enumerate() {
            let mut begins = if number > 0 { BEGINS } else { 0 };
            let article = subfield.strip_prefix(NOT_FILED).filter(|_| number == 0);
            let parts = article.and_then(|rest| rest.split_once(FILED));
            let (article, filed) = parts.unwrap_or(("", subfield));
            self.words(article, &mut begins, numbers, log);
            if !article.is_empty() && !self.key.is_empty() {
                self.not_filed = self.key.len() + 1;
            }
            self.words(filed, &mut begins, numbers, log);
        }
    }

    fn words(&mut self, text: &str, begins: &mut u32, numbers: &mut Interner, log: &mut Vec<u32>) {
        each_word(text, &mut self.buffer, |word| {
            log.push(numbers.number(word.as_bytes()) | std::mem::take(begins));
            if self.key.len() <= KEY {
                if !self.key.is_empty() {
                    self.key.push(' ');
                }
                self.key.push_str(word);
            }
        });
    }
}

/// The words of texts in order, with the marks between them.
struct WordLog<'a> {
    texts: &'a [Text],
    log: &'a [u32],
    /// The class without indexes.
    none: Class,
}

impl WordLog<'_> {
    /// Emits the adjacent pairs of words that are both in the sorted list `of`, with the class and the position of the first
    /// word.
    fn each_pair(&self, of: &[u32], mut give: impl FnMut([u32; 2], Class, u32)) {
        let is_one = |word: &u32| of.binary_search(word).is_ok();
        for text in self.texts {
            let words = self.log.get(text.start as usize..).unwrap_or_default();
            let words = words.iter().take(text.length.into());
            let mut before = None;
            for (word, here) in words.map(|word| word & !BEGINS).zip(place(text.at)..) {
                let this = Some(word).filter(is_one);
                if let (Some(one), Some(other)) = (before, this) {
                    give([one, other], text.class, at(record(text.at), here - 1));
                }
                before = this;
            }
        }
    }

    /// Emits all words with class and position; the positions of the same word are in ascending order.
    fn each(&self, mut give: impl FnMut(u32, Class, u32)) {
        let mut texts = self.texts.iter().peekable();
        while let Some(text) = texts.next() {
            let (record, first, class) = (record(text.at), place(text.at), text.class);
            give(BOUNDARY_WORD, class, at(record, first - 1));
            let words = self.log.get(text.start as usize..).unwrap_or_default();
            let mut next = first;
            for word in words.iter().take(text.length.into()) {
                if word & BEGINS != 0 {
                    give(MARK_WORD, class, at(record, next));
                }
                give(word & !BEGINS, class, at(record, next));
                next = next.saturating_add(1);
            }
            let is_last = texts
                .peek()
                .is_none_or(|text| self::record(text.at) != record);
            if is_last {
                give(BOUNDARY_WORD, self.none, at(record, next));
            }
        }
    }
}

/// The number of occurrences in a segment above which a word is frequent.
const FREQUENT: u32 = 4096;

/// The maximum number of occurrences in a portion; a single word with more occurrences has a portion of its own.
const PORTION: usize = 1 << 18;

impl Buffers {
    /// Counts the occurrences of each word.
    fn count(&mut self, occurrences: &WordLog<'_>, words: u32) {
        self.counts.clear();
        self.counts.resize(words as usize, 0);
        occurrences.each(|word, _, _| {
            if let Some(count) = self.counts.get_mut(word as usize) {
                *count += 1;
            }
        });
    }

    /// Returns the numbers of the frequent words, in ascending order.
    fn frequent(&self) -> Vec<u32> {
        let words = (0..).zip(&self.counts);
        let frequent = words.filter(|(word, count)| *word > MARK_WORD && **count > FREQUENT);
        frequent.map(|(word, _)| word).collect()
    }

    /// Returns the postings of the counted words.
    fn of_words(&mut self, occurrences: &WordLog<'_>, builder: &mut PostingsBuilder) -> Postings {
        let Self {
            counts, portion, ..
        } = self;
        let mut first = 0;
        while first < counts.len() {
            // Turn the counts into start indexes in the portion. While the portion is filled, the start indexes advance until
            // they are end indexes.
            let (mut behind, mut length) = (first, 0);
            while let Some(count) = counts.get_mut(behind)
                && (length == 0 || length + *count as usize <= PORTION)
            {
                let before = length;
                length += *count as usize;
                *count = u32::try_from(before).unwrap_or(u32::MAX);
                behind += 1;
            }
            portion.clear();
            portion.resize(length, (0, 0));
            let nexts = counts.get_mut(first..behind).unwrap_or_default();
            occurrences.each(|word, class, at| {
                let next = (word as usize).checked_sub(first);
                if let Some(next) = next.and_then(|word| nexts.get_mut(word)) {
                    if let Some(place) = portion.get_mut(*next as usize) {
                        *place = (class, at);
                    }
                    *next += 1;
                }
            });
            let mut start = 0;
            for end in nexts {
                let end = *end as usize;
                builder.term();
                if let Some(of_word) = portion.get_mut(start..end) {
                    // The occurrences are sorted by position so far; the stable sort keeps this order within each class.
                    of_word.sort_by_key(|(class, _)| *class);
                    for list in of_word.chunk_by(|left, right| left.0 == right.0) {
                        self.places.clear();
                        self.places.extend(list.iter().map(|(_, at)| *at));
                        let class = list.first().map_or(0, |(class, _)| *class);
                        builder.list(class, &self.places);
                    }
                }
                start = end;
            }
            first = behind;
        }
        builder.finish()
    }
}

/// Returns a key, cut off at the size limit.
pub(in crate::memory) fn shortened(key: &str) -> &str {
    let end = (0..=KEY.min(key.len()))
        .rev()
        .find(|end| key.is_char_boundary(*end));
    key.get(..end.unwrap_or_default()).unwrap_or_default()
}

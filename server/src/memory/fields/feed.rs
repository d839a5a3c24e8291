//! Extracts the entries of a record for each index, field by field. An 880 field, which repeats a field in another script, is
//! indexed like the field that it is linked to (MARC 21 Appendix A).

use std::borrow::Cow;

use z3950_marc::charset::{Charset, choose};
use z3950_marc::crosswalk::is_unimarc;
use z3950_marc::{Field, MarcRecord, Tag};

use super::format::{FIRST_DIGIT, FieldRules, Format, NO_CODE, Rule, Slots, slot};
use super::key::Kind;
use super::source::Condition;
use super::{AccessPoint, AccessPoints, IndexId, IndexSet};
use crate::memory::docid::DocidField;
use crate::memory::profile::Profile;

/// The separator between the subfields in a field's entry.
pub(in crate::memory) const SUBFIELD_MARK: char = '\u{1f}';

/// The mark before nonfiling characters, such as an article; [`FILED`] is the mark after them. The marks are the control
/// characters NON-SORT BEGIN and NON-SORT END of ISO 6630, which occur in UNIMARC records. In a MARC 21 record, an indicator
/// gives the number of nonfiling characters, and the marks are added when the record is indexed.
pub(in crate::memory) const NOT_FILED: char = '\u{98}';
/// The mark after nonfiling characters; see [`NOT_FILED`].
pub(in crate::memory) const FILED: char = '\u{9c}';

/// The kind of an entry in an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// The text of a field, with marks between its subfields.
    Text,
    /// A key, normalized for comparison.
    Key,
}

/// The rules by which the records of a backend are indexed and searched.
#[derive(Debug)]
pub(in crate::memory) struct Fields {
    pub(in crate::memory) points: AccessPoints,
    /// The attributes that queries may use.
    pub(in crate::memory) profile: Profile,
    /// The docid field of each database, indexed by the number of the database.
    docids: Box<[DocidField]>,
    /// The indexes of the kind [`Kind::Text`].
    texts: IndexSet,
    /// The indexes that have complete entries: all except the text indexes in [`WITHOUT_KEYS`].
    with_keys: IndexSet,
    marc21: Format,
    unimarc: Format,
}

impl Default for Fields {
    fn default() -> Self {
        Self::new(AccessPoints::default(), Profile::default(), [])
    }
}

/// The names of text indexes without complete entries, because their texts are long or are also in other indexes.
const WITHOUT_KEYS: &[&str] = &[
    "any",
    "abstract",
    "authortitle",
    "authortitlesubject",
    "bodytext",
    "name",
    "nameandtitle",
    "note",
];

impl Fields {
    /// Creates the rules; `docids` are the docid fields of the databases, in order.
    pub(in crate::memory) fn new(
        points: AccessPoints,
        profile: Profile,
        docids: impl IntoIterator<Item = DocidField>,
    ) -> Self {
        let of = |is: &dyn Fn(&AccessPoint) -> bool| {
            let indexes = points
                .iter()
                .filter(|(_, row)| is(row))
                .map(|(index, _)| IndexSet::of(index));
            indexes.fold(IndexSet::default(), IndexSet::union)
        };
        let is_text = |row: &AccessPoint| row.kind == Kind::Text;
        Self {
            texts: of(&is_text),
            with_keys: of(&|row| !is_text(row) || !WITHOUT_KEYS.contains(&&*row.name)),
            marc21: Format::new(&points, |row| &row.marc21),
            unimarc: Format::new(&points, |row| &row.unimarc),
            points,
            profile,
            docids: docids.into_iter().collect(),
        }
    }

    /// Returns the docid field of a database; the default is 001.
    pub(in crate::memory) fn docid(&self, database: u16) -> DocidField {
        let field = self.docids.get(usize::from(database));
        field.copied().unwrap_or_default()
    }

    /// Returns the kind of the index's entries.
    pub(in crate::memory) fn kind(&self, index: IndexId) -> Kind {
        if self.texts.contains(index) {
            Kind::Text
        } else {
            self.points.kind(index)
        }
    }

    /// Returns whether the index has complete entries, which some text indexes do not have.
    pub(in crate::memory) fn has_keys(&self, index: IndexId) -> bool {
        self.with_keys.contains(index)
    }

    /// Returns those of the given indexes that have complete entries.
    pub(in crate::memory) fn of_keys(&self, indexes: IndexSet) -> IndexSet {
        indexes.intersection(self.with_keys)
    }

    /// Emits every entry of a record, with the indexes that it belongs to: first the entries of the leader, then those of the
    /// title fields, and then those of the other fields in the order of the record.
    pub(in crate::memory) fn entries(
        &self,
        record: &MarcRecord,
        emit: &mut dyn FnMut(EntryKind, IndexSet, &str),
    ) {
        self.read(record, None, emit);
    }

    /// Emits the texts of a record that belong to an index, in the order of [`Fields::entries`].
    pub(in crate::memory) fn texts(
        &self,
        record: &MarcRecord,
        index: IndexId,
        emit: &mut dyn FnMut(&str),
    ) {
        self.read(record, Some(index), &mut |kind, indexes, text| {
            if kind == EntryKind::Text && indexes.contains(index) {
                emit(text);
            }
        });
    }

    /// Emits the entries of the fields that feed an index, or all entries for `None`.
    fn read(
        &self,
        record: &MarcRecord,
        only: Option<IndexId>,
        emit: &mut dyn FnMut(EntryKind, IndexSet, &str),
    ) {
        let is_unimarc = is_unimarc(record);
        let (format, title) = if is_unimarc {
            (&self.unimarc, *b"200")
        } else {
            (&self.marc21, *b"245")
        };
        let mut reader = Reader {
            fields: self,
            is_unimarc,
            text: Text {
                record,
                charset: None,
            },
            only: only.map(IndexSet::of),
            elements: Vec::new(),
            parts: Vec::new(),
            joined: String::new(),
            emit,
        };
        for (positions, indexes) in &format.leader {
            reader.give(*indexes, slice(&record.leader.0, *positions));
        }
        let is_title = |field: &&Field| field.tag.0 == title;
        let titles = record.fields.iter().filter(is_title);
        for field in titles.chain(record.fields.iter().filter(|field| !is_title(field))) {
            if let Some(rules) = format.rules(effective_tag(field))
                && only.is_none_or(|index| rules.feed(index))
            {
                reader.field(field, rules);
            }
        }
    }
}

/// Returns the tag under which a field is indexed: for an 880, the tag in `$6` (MARC 21 Appendix A, `$6 245-01/(N`).
pub(in crate::memory) fn effective_tag(field: &Field) -> Tag {
    if field.tag.as_ref() != b"880" {
        return field.tag;
    }
    let linked = field.subfield("6").and_then(|link| link.first_chunk::<3>());
    linked.map_or(field.tag, Tag::from)
}

/// Returns the number of nonfiling characters given by an indicator in MARC 21; 0 in UNIMARC, where they are marked in the text.
pub(in crate::memory) fn not_filed(field: &Field, is_unimarc: bool) -> usize {
    let place = match effective_tag(field).as_ref() {
        _ if is_unimarc => return 0,
        b"130" | b"630" | b"730" | b"740" => 0,
        b"222" | b"240" | b"242" | b"243" | b"245" | b"440" | b"830" => 1,
        _ => return 0,
    };
    let count = field.indicators().get(place).copied().unwrap_or_default();
    char::from(count)
        .to_digit(10)
        .map_or(0, |count| count as usize)
}

/// Marks the nonfiling characters in the text, unless it already has marks or consists only of nonfiling characters.
pub(in crate::memory) fn marked(text: Cow<'_, str>, not_filed: usize) -> Cow<'_, str> {
    match text.char_indices().nth(not_filed) {
        Some((end @ 1.., _)) if !text.contains(NOT_FILED) => {
            let (article, filed) = text.split_at(end);
            Cow::Owned(format!("{NOT_FILED}{article}{FILED}{filed}"))
        }
        _ => text,
    }
}

/// A record whose entries are being emitted. The lists and the string are reused to save allocations.
struct Reader<'r, 'e> {
    fields: &'r Fields,
    is_unimarc: bool,
    text: Text<'r>,
    /// The indexes whose entries are emitted; `None` for all.
    only: Option<IndexSet>,
    /// The data of a field's subfields, each with the slot of its subfield code.
    elements: Vec<(usize, &'r [u8])>,
    /// The decoded elements that feed any index, each with the indexes that it feeds.
    parts: Vec<(IndexSet, Cow<'r, str>)>,
    /// The parts of a field, joined together.
    joined: String,
    emit: &'e mut dyn FnMut(EntryKind, IndexSet, &str),
}

impl<'r> Reader<'r, '_> {
    fn field(&mut self, field: &'r Field, rules: &FieldRules) {
        let present = self.read(field);
        let holds = |rule: &&Rule| {
            rule.condition
                .as_ref()
                .is_none_or(|condition| self.holds(condition, field, present))
        };
        let others: Vec<&Rule> = rules.others.iter().filter(holds).collect();
        let elements = std::mem::take(&mut self.elements);
        let mut not_filed = not_filed(field, self.is_unimarc);
        self.parts.clear();
        for (slot, data) in &elements {
            let mut indexes = rules.codes.get(*slot).copied().unwrap_or_default();
            for rule in others.iter().filter(|rule| rule.slots.contains(*slot)) {
                match rule.positions {
                    Some(positions) => self.give(rule.indexes, slice(data, positions)),
                    None => indexes = indexes.union(rule.indexes),
                }
            }
            if let Some(only) = self.only {
                indexes = indexes.intersection(only);
            }
            if !indexes.is_empty() {
                let text = self.text.decode(data);
                self.parts.push((indexes, marked(text, not_filed)));
            }
            // A numeric subfield, such as a link to another field, does not contain the nonfiling characters.
            if *slot < FIRST_DIGIT {
                not_filed = 0;
            }
        }
        self.elements = elements;
        self.give_parts();
    }

    /// Collects the elements of a field. A control field has one element without a code. Returns the slots of the codes that
    /// occur.
    fn read(&mut self, field: &'r Field) -> Slots {
        self.elements.clear();
        if field.is_control() {
            self.elements.push((slot(NO_CODE), &field.body));
        } else {
            self.elements
                .extend(field.subfields().map(|subfield| match subfield.code {
                    [code] => (slot(*code), subfield.data),
                    _ => (slot(NO_CODE), subfield.data),
                }));
        }
        let mut present = Slots::default();
        self.elements
            .iter()
            .for_each(|(slot, _)| present.insert(*slot));
        present
    }

    fn holds(&self, condition: &Condition, field: &Field, present: Slots) -> bool {
        match condition {
            Condition::Indicator(place, value) => field.indicators().get(*place) == Some(value),
            Condition::Subfield(code, value) => {
                let is = |data: &[u8]| data.trim_ascii().eq_ignore_ascii_case(value.as_bytes());
                let slot = slot(*code);
                present.contains(slot)
                    && self
                        .elements
                        .iter()
                        .any(|(known, data)| *known == slot && is(data))
            }
        }
    }

    /// Emits the parts of a field. Parts that feed the same text index are joined into one entry.
    fn give_parts(&mut self) {
        let parts = std::mem::take(&mut self.parts);
        let mut left = parts
            .iter()
            .fold(IndexSet::default(), |all, (indexes, _)| all.union(*indexes));
        while !left.is_empty() {
            // These indexes take exactly the same parts as the first index, so the parts are joined only once for them.
            let first = left.first();
            let takes = |indexes: IndexSet| !indexes.intersection(first).is_empty();
            let alike = parts.iter().fold(left, |alike, (indexes, _)| {
                if takes(*indexes) {
                    alike.intersection(*indexes)
                } else {
                    alike.without(*indexes)
                }
            });
            left = left.without(alike);
            let taken = parts.iter().filter(|(indexes, _)| takes(*indexes));
            self.give_alike(alike, taken.map(|(_, text)| &**text));
        }
        self.parts = parts;
    }

    /// Emits several texts for the given indexes: joined into one entry for the text indexes, and as separate keys for the
    /// others.
    fn give_alike<'p>(&mut self, indexes: IndexSet, texts: impl Iterator<Item = &'p str> + Clone) {
        let of_texts = indexes.intersection(self.fields.texts);
        if !of_texts.is_empty() {
            self.joined.clear();
            for text in texts.clone() {
                if !self.joined.is_empty() {
                    self.joined.push(SUBFIELD_MARK);
                }
                self.joined.push_str(text);
            }
            (self.emit)(EntryKind::Text, of_texts, &self.joined);
        }
        for index in indexes.without(of_texts).iter() {
            let (kind, indexes) = (self.fields.kind(index), IndexSet::of(index));
            texts.clone().for_each(|text| {
                kind.keys(text, &mut |key| (self.emit)(EntryKind::Key, indexes, key))
            });
        }
    }

    /// Decodes the octets and emits the resulting text for the given indexes.
    fn give(&mut self, indexes: IndexSet, octets: &[u8]) {
        let text = self.text.decode(octets);
        self.give_alike(indexes, std::iter::once(&*text));
    }
}

/// Returns the octets in a range of positions, counted from 0; positions past the end are ignored.
fn slice(octets: &[u8], (from, to): (usize, usize)) -> &[u8] {
    let rest = octets.get(from..).unwrap_or_default();
    rest.get(..=to.saturating_sub(from)).unwrap_or(rest)
}

/// A decoder for the text of a record. It determines the character set when it is first needed.
struct Text<'a> {
    record: &'a MarcRecord,
    charset: Option<Charset>,
}

impl Text<'_> {
    fn decode<'d>(&mut self, octets: &'d [u8]) -> Cow<'d, str> {
        match std::str::from_utf8(octets) {
            Ok(text) if octets.is_ascii() && !octets.contains(&ESCAPE) => Cow::Borrowed(text),
            _ => {
                let record = self.record;
                let charset = *self
                    .charset
                    .get_or_insert_with(|| choose(record, None).charset);
                charset.decode(octets).text
            }
        }
    }
}

/// The octet that begins an escape sequence, which selects a character set in MARC-8.
const ESCAPE: u8 = 0x1b;

//! How a database is laid out in the engine: an index map as fields and attributes, and a record as a document of these.
//!
//! | column | contents |
//! |---|---|
//! | `id` | a number from the record's identifier |
//! | `keys` | the keys of all indexes other than texts |
//! | `t_NAME` | the words of an index of texts |
//! | `s_NAME`, `c_NAME`, `h_NAME` | the value that the record is sorted by without and with case, and whether it has one |
//! | `facets` | the terms that are counted, by index, in JSON |
//! | `record` | the record's octets |
//!
//! Another index, whose name ends in `_terms`, has the terms that can be scanned: a token of the index, the first octets of the term
//! as numbers, and the term. Among them are the fingerprints of the layouts that the documents were made with.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};
use twox_hash::XxHash3_64;
use z3950_server::asn1::bib1::attributes::{RELATION, TRUNCATION};
use z3950_server::backend::AttributeInfo;
use z3950_server::marc::MarcRecord;
use z3950_server::memory::index_map::{
    EntryKind, IndexId, IndexMap, Terms, each_word, filed, subfields,
};
use z3950_server::memory::{AccessPoint, AccessPoints, DocidField, Kind, Profile};

use super::uses::{IndexNameError, IndexUses, named_indexes};
use super::{range, token};

/// Truncation 102, which the engine does not have.
pub(super) const REGULAR_EXPRESSION: i64 = 102;
/// The relations that need keys in an order: less, less or equal, greater or equal, greater.
const COMPARISONS: [i64; 4] = [1, 2, 4, 5];

/// The layout of a database.
#[derive(Debug, PartialEq)]
pub struct EngineLayout {
    map: IndexMap,
    /// The indexes of texts.
    texts: Vec<IndexId>,
    /// The indexes that records can be sorted by.
    sorted: Vec<IndexId>,
    /// The indexes with facets.
    counted: Vec<IndexId>,
    /// The indexes that can be scanned.
    scanned: Vec<IndexId>,
    fingerprint: u64,
}

impl EngineLayout {
    /// A layout for these access points.
    ///
    /// # Errors
    /// See [`IndexNameError`].
    pub fn new(
        points: AccessPoints,
        profile: Profile,
        docid: DocidField,
        uses: &IndexUses,
    ) -> Result<Self, IndexNameError> {
        let named = |names: &[String]| {
            let indexes = named_indexes(&points, names).into_iter();
            indexes.collect::<Result<Vec<_>, _>>()
        };
        let [sorted, counted, scanned] =
            [named(&uses.sort)?, named(&uses.facets)?, named(&uses.scan)?];
        let fingerprint = fingerprint(&points, docid, [&sorted, &counted, &scanned]);
        let map = IndexMap::new(points, profile, docid);
        let rows = map.points().rows().iter();
        let texts = rows.filter(|row| row.kind == Kind::Text);
        let texts = texts.filter_map(|row| map.by_name(&row.name)).collect();
        Ok(Self {
            texts,
            map,
            sorted,
            counted,
            scanned,
            fingerprint,
        })
    }

    /// A number that changes with what the documents of records consist of: the indexes, what feeds and uses them, the docid field, and
    /// the version of this code.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// The fingerprint as a term that each document has.
    pub(super) fn term(&self) -> String {
        format!("{:016x}", self.fingerprint)
    }

    pub(super) fn map(&self) -> &IndexMap {
        &self.map
    }

    /// The attributes that queries may use, for Explain: those of the map without what no query of the engine can say.
    pub(super) fn attributes(&self) -> Vec<AttributeInfo> {
        let mut kinds = self.map.points().rows().iter().map(|row| row.kind);
        let compares = kinds.any(|kind| range::alphabet(kind).is_some());
        let mut attributes = self.map.attributes();
        attributes.retain(|info| match info.attribute_type {
            TRUNCATION => info.value != REGULAR_EXPRESSION,
            RELATION => compares || !COMPARISONS.contains(&info.value),
            _ => true,
        });
        attributes
    }

    pub(super) fn is_sorted(&self, index: IndexId) -> bool {
        self.sorted.contains(&index)
    }

    pub(super) fn is_scanned(&self, index: IndexId) -> bool {
        self.scanned.contains(&index)
    }

    pub(super) fn is_counted(&self, index: IndexId) -> bool {
        self.counted.contains(&index)
    }

    /// The indexes of texts, with their names.
    pub(super) fn texts(&self) -> impl Iterator<Item = (IndexId, &str)> {
        self.texts.iter().map(|index| (*index, self.name(*index)))
    }

    /// The full-text fields.
    pub(super) fn fields(&self) -> Vec<String> {
        let texts = self.texts().map(|(index, _)| self.column_of("t", index));
        [KEYS.to_owned()].into_iter().chain(texts).collect()
    }

    /// The column of an index: `t` for its words, `s` and `h` for its sort value.
    pub(super) fn column_of(&self, kind: &str, index: IndexId) -> String {
        column(kind, self.name(index))
    }

    pub(super) fn name(&self, index: IndexId) -> &str {
        let rows = self.map.points().rows();
        let row = rows.get(usize::from(index.number()));
        row.map_or("", |row| &*row.name)
    }

    /// The columns of sort values: without and with case, and whether there is one.
    pub(super) fn sort_columns(&self) -> impl Iterator<Item = [String; 3]> {
        let sorted = self.sorted.iter();
        sorted.map(|index| ["s", "c", "h"].map(|kind| self.column_of(kind, *index)))
    }

    /// The name of an index among the facets.
    pub(super) fn facet_of(&self, index: IndexId) -> String {
        self.column_of("f", index)
    }

    /// The number of a record with this identifier.
    pub(super) fn number_of(docid: &[u8]) -> u64 {
        // The engine's numbers have a sign in places, and none is 0.
        (XxHash3_64::oneshot(docid) >> 1).max(1)
    }

    /// The number of a record: by its identifier, or by its octets if it has none.
    pub(super) fn number(&self, record: &MarcRecord, octets: &[u8]) -> u64 {
        Self::number_of(self.map.docid(record).unwrap_or(octets))
    }

    /// A record as a document.
    pub(super) fn document(&self, record: &MarcRecord, octets: &[u8]) -> EngineDocument {
        let mut texts: BTreeMap<IndexId, String> = BTreeMap::new();
        let mut keys = BTreeSet::new();
        let mut having = BTreeSet::from([IndexId::DOCID, IndexId::ANY]);
        let mut sort: BTreeMap<IndexId, String> = BTreeMap::new();
        let mut scan = BTreeSet::from([(token::LAYOUT, self.term())]);
        let mut terms: BTreeMap<IndexId, BTreeSet<String>> = BTreeMap::new();
        let mut buffer = String::new();
        keys.extend(
            self.map
                .docid(record)
                .map(|docid| token::of_key(IndexId::DOCID, docid)),
        );
        self.map
            .entries(record, &mut |kind, indexes, text| match kind {
                EntryKind::Text => {
                    let words = marked(text, &mut buffer);
                    if words.is_empty() {
                        return;
                    }
                    let mut whole = None;
                    for index in indexes {
                        let field = texts.entry(index).or_default();
                        if !field.is_empty() {
                            field.push_str(token::FIELD_GAP);
                        }
                        field.push_str(&words);
                        if self.sorted.contains(&index) {
                            sort.entry(index).or_insert_with(|| filed(text));
                        }
                        if self.scanned.contains(&index) {
                            let whole = whole.get_or_insert_with(|| plain(text, &mut buffer));
                            let words = whole.split(' ').map(str::to_owned);
                            scan.extend(
                                words.map(|word| (token::scanned(Terms::Words(index)), word)),
                            );
                            if self.map.has_keys(index) && whole.len() <= MOST_SCANNED {
                                scan.insert((token::scanned(Terms::Keys(index)), whole.clone()));
                            }
                        }
                        if self.counted.contains(&index) {
                            let whole = whole.get_or_insert_with(|| plain(text, &mut buffer));
                            let known = terms.entry(index).or_default();
                            if self.map.has_keys(index) {
                                known.insert(whole.clone());
                            } else {
                                known.extend(whole.split(' ').map(str::to_owned));
                            }
                        }
                    }
                }
                EntryKind::Key => {
                    // The engine's texts end at NUL; a key with control characters is searched, but not shown.
                    let is_shown = !text.contains(char::is_control);
                    for index in indexes {
                        keys.insert(token::of_key(index, text.as_bytes()));
                        having.insert(index);
                        if is_shown && self.sorted.contains(&index) {
                            sort.entry(index).or_insert_with(|| text.to_owned());
                        }
                        if is_shown && self.scanned.contains(&index) && text.len() <= MOST_SCANNED {
                            scan.insert((token::scanned(Terms::Keys(index)), text.to_owned()));
                        }
                        if is_shown && self.counted.contains(&index) {
                            terms.entry(index).or_default().insert(text.to_owned());
                        }
                    }
                }
            });
        let marks = having
            .into_iter()
            .map(|index| token::having(index).to_string());
        let keys: Vec<String> = marks.chain(keys).collect();
        let facets: Map<String, Value> = terms
            .into_iter()
            .map(|(index, terms)| {
                let terms = terms.into_iter().map(Value::from);
                (self.facet_of(index), terms.collect())
            })
            .collect();
        EngineDocument {
            id: self.number(record, octets),
            texts,
            keys: keys.join(" "),
            sort: self.sort_values(&sort, &mut buffer),
            scan,
            facets: Value::from(facets).to_string(),
            record: octets.to_vec(),
        }
    }

    /// For each of the indexes that sort: the value without and with case; empty if there is none.
    fn sort_values(
        &self,
        values: &BTreeMap<IndexId, String>,
        buffer: &mut String,
    ) -> Vec<[String; 2]> {
        let sorted = self.sorted.iter();
        sorted
            .map(|index| {
                let value = values.get(index).map_or("", |value| shortened(value));
                let own = value.replace(char::is_control, " ");
                [plain(value, buffer), own]
            })
            .collect()
    }
}

/// To be raised when the same settings make other documents: all records have to be loaded again then.
const VERSION: u32 = 1;

/// See [`EngineLayout::fingerprint`].
fn fingerprint(points: &AccessPoints, docid: DocidField, uses: [&[IndexId]; 3]) -> u64 {
    let mut text = format!("{VERSION} {docid}");
    for indexes in uses {
        // Their order does not change the documents.
        let numbers: BTreeSet<u8> = indexes.iter().map(|index| index.number()).collect();
        text.push_str(&format!("\n{numbers:?}"));
    }
    // Documents contain the numbers of indexes, so the order of the rows matters.
    for row in points.rows() {
        let AccessPoint {
            name,
            kind,
            marc21,
            unimarc,
            ..
        } = row;
        let kind = kind.name();
        text.push_str(&format!("\n{name} {kind} {marc21}; {unimarc}"));
    }
    XxHash3_64::oneshot(text.as_bytes())
}

/// The most octets of a value to sort by.
const MOST_SORT_OCTETS: usize = 255;
/// The most octets of a term that can be scanned.
const MOST_SCANNED: usize = 200;

fn shortened(value: &str) -> &str {
    let ends = (0..=MOST_SORT_OCTETS.min(value.len())).rev();
    let end = { ends }.find(|end| value.is_char_boundary(*end));
    value.get(..end.unwrap_or_default()).unwrap_or_default()
}

/// The full-text field of keys.
pub(super) const KEYS: &str = "keys";

/// A column: a name of the settings may have characters that a column cannot have.
pub(super) fn column(kind: &str, name: &str) -> String {
    let mut column = format!("{kind}_");
    for octet in name.bytes() {
        match octet {
            b'a'..=b'z' | b'0'..=b'9' => column.push(char::from(octet)),
            other => column.push_str(&format!("_{other:02x}")),
        }
    }
    column
}

/// The words of an entry with the edges of its subfields and its own; empty without words.
fn marked(text: &str, buffer: &mut String) -> String {
    let mut marked = String::new();
    for subfield in subfields(text) {
        let mut words: Vec<String> = Vec::new();
        each_word(subfield, buffer, |word| {
            words.push(token::of_word(word).into_owned());
        });
        if words.is_empty() {
            continue;
        }
        marked.push(' ');
        marked.push_str(token::SUBFIELD_BEGIN);
        marked.push_str(&words.join(" "));
        marked.push_str(token::SUBFIELD_END);
    }
    if marked.is_empty() {
        marked
    } else {
        format!("{edge}{marked} {edge}", edge = token::FIELD_EDGE)
    }
}

/// The words of an entry.
fn plain(text: &str, buffer: &mut String) -> String {
    let mut words: Vec<String> = Vec::new();
    each_word(text, buffer, |word| words.push(word.to_owned()));
    words.join(" ")
}

/// A record as the engine keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EngineDocument {
    pub(super) id: u64,
    pub(super) texts: BTreeMap<IndexId, String>,
    pub(super) keys: String,
    /// In the order of the sorted indexes, without and with case; empty if there is none.
    pub(super) sort: Vec<[String; 2]>,
    /// The terms that can be scanned, each with its mark, and the layout.
    pub(super) scan: BTreeSet<(char, String)>,
    pub(super) facets: String,
    pub(super) record: Vec<u8>,
}

impl EngineDocument {
    /// About what it takes in a statement.
    pub(super) fn octets(&self) -> usize {
        let texts = self.texts.values().map(String::len).sum::<usize>();
        let sort = self.sort.iter().flatten().map(String::len).sum::<usize>();
        texts + sort + self.keys.len() + self.facets.len() + self.record.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(points: AccessPoints, docid: &str, uses: &IndexUses) -> EngineLayout {
        let docid = docid.parse().expect("a field");
        EngineLayout::new(points, Profile::default(), docid, uses).expect("indexes")
    }

    #[test]
    fn the_fingerprint_changes_with_the_documents() {
        let shelf = |marc21: &str, uses: &[i64]| {
            let mut points = AccessPoints::default();
            let mut row = AccessPoint::new("shelf", Kind::Text);
            row.marc21 = marc21.parse().expect("a field");
            row.uses = uses.to_vec();
            points.set(row).expect("added");
            points
        };
        let fewer = |change: fn(&mut IndexUses)| {
            let mut uses = IndexUses::default();
            change(&mut uses);
            uses
        };
        let uses = IndexUses::default();
        let first = layout(shelf("900$a", &[]), "001", &uses).fingerprint();
        // What is asked for does not matter.
        let same = layout(shelf("900$a", &[9000]), "001", &uses);
        assert_eq!(same.fingerprint(), first);
        let in_another_order = fewer(|uses| uses.scan.reverse());
        let same = layout(shelf("900$a", &[]), "001", &in_another_order);
        assert_eq!(same.fingerprint(), first);
        let others = [
            layout(AccessPoints::default(), "001", &uses),
            layout(shelf("900$b", &[]), "001", &uses),
            layout(shelf("900$a", &[]), "035$a", &uses),
            layout(
                shelf("900$a", &[]),
                "001",
                &fewer(|uses| drop(uses.sort.pop())),
            ),
            layout(
                shelf("900$a", &[]),
                "001",
                &fewer(|uses| drop(uses.facets.pop())),
            ),
            layout(
                shelf("900$a", &[]),
                "001",
                &fewer(|uses| drop(uses.scan.pop())),
            ),
        ];
        let known: BTreeSet<u64> = others.iter().map(EngineLayout::fingerprint).collect();
        assert!(known.len() == others.len() && !known.contains(&first));
    }
}

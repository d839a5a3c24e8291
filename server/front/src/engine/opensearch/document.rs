//! The layout of an index in OpenSearch. Determines the fields for an index map, and converts a record to a document with these fields.
//!
//! | field | contents |
//! |---|---|
//! | `_id` | the record's identifier, or a hash of it |
//! | `number` | another hash of the identifier, which determines the order of records |
//! | `record` | the record in ISO 2709, in base64 |
//! | `k_NAME` | the keys of an index that is not a text index |
//! | `t_NAME` | the words of a text index, one value for each entry, with the edges of subfields and of the entry |
//! | `x_NAME` | the complete entries of a text index, if it has them |
//! | `y_NAME` | the words of a text index |
//! | `s_NAME`, `c_NAME` | the value to sort by, without and with case |

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use twox_hash::{XxHash3_64, XxHash3_128};
use z3950_marc::MarcRecord;
use z3950_server::memory::Kind;
use z3950_server::memory::index_map::{EntryKind, IndexId, Terms, each_word, filed, subfields};

use crate::engine::layout::EngineLayout;

/// The character before the first word of a subfield.
pub(crate) const SUBFIELD_BEGIN: char = '\u{f800}';
/// The character after the last word of a subfield.
pub(crate) const SUBFIELD_END: char = '\u{f801}';
/// The text before the first and after the last word of an entry.
pub(crate) const ENTRY_EDGE: &str = "_";
/// The number of positions between two entries in a field.
pub(crate) const ENTRY_GAP: u32 = 10_000;
/// The maximum number of octets in a word, including the edges; the engine would split longer words.
pub(crate) const MOST_WORD: usize = 7_990;
/// The maximum number of octets in an entry, a key or a value to sort by; the engine refuses documents with terms of more
/// than 32,766 octets.
pub(crate) const MOST_ENTRY: usize = 8_000;
/// The field that determines the order of records.
pub(crate) const NUMBER: &str = "number";
/// The field that stores the record.
pub(crate) const RECORD: &str = "record";
/// The version of the documents. It must be increased whenever documents change but the other inputs of the
/// fingerprint do not.
const VERSION: u32 = 2;
/// The maximum number of octets in an identifier that the engine accepts.
const MOST_ID: usize = 512;

/// The beginning of the engine's identifier for a record whose own identifier cannot be used.
const HASHED: char = '#';
/// The beginning of the engine's identifier for a record without an identifier.
const UNIDENTIFIED: char = '=';

/// The fields of an index map in the engine.
impl EngineLayout {
    /// Returns the field for complete entries or keys, or for words.
    pub(crate) fn field(&self, terms: Terms) -> String {
        match terms {
            Terms::Words(index) => field_name("y", self.name(index)),
            Terms::Keys(index) if self.map().kind(index) == Kind::Text => {
                field_name("x", self.name(index))
            }
            Terms::Keys(index) => field_name("k", self.name(index)),
        }
    }

    /// Returns the field for words with their positions.
    pub(crate) fn positions_field(&self, index: IndexId) -> String {
        field_name("t", self.name(index))
    }

    /// Returns the field for the values to sort by.
    pub(crate) fn sort_field(&self, index: IndexId, with_case: bool) -> String {
        field_name(if with_case { "c" } else { "s" }, self.name(index))
    }

    /// Returns the mapping of an index: its fields, and the fingerprint of the layout, which shows whether the documents have
    /// a different layout.
    pub(crate) fn mapping(&self) -> Value {
        json!({
            "dynamic": "strict",
            "_source": { "includes": [RECORD] },
            "_meta": { "z3950d": { "layout": self.term(), "version": VERSION } },
            "properties": self.properties(),
        })
    }

    fn properties(&self) -> Map<String, Value> {
        let mut fields = Map::new();
        let mut add = |name: String, field: Value| {
            fields.insert(name, field);
        };
        add(RECORD.to_owned(), json!({ "type": "binary" }));
        add(NUMBER.to_owned(), json!({ "type": "long" }));
        let rows = self.map().points().rows().iter();
        for index in rows.filter_map(|row| self.map().by_name(&row.name)) {
            // Doc values are needed only for terms that are scanned or counted.
            let by_document = self.is_scanned(index) || self.is_counted(index);
            let keyword = json!({ "type": "keyword", "doc_values": by_document });
            if self.map().kind(index) == Kind::Text {
                let text = json!({
                    "type": "text",
                    "analyzer": "z_index",
                    "search_analyzer": "z_query",
                    "norms": false,
                    "position_increment_gap": ENTRY_GAP,
                });
                add(self.positions_field(index), text);
                add(self.field(Terms::Words(index)), keyword.clone());
            }
            if self.map().has_keys(index) {
                add(self.field(Terms::Keys(index)), keyword);
            }
            if self.is_sorted(index) {
                for with_case in [false, true] {
                    let field = json!({ "type": "keyword", "index": false });
                    add(self.sort_field(index, with_case), field);
                }
            }
        }
        fields
    }

    /// Returns the settings for text analysis, which are a part of an index's settings. A word at an edge of a subfield is
    /// indexed both with and without the edge.
    pub(crate) fn analysis() -> Value {
        json!({
            "tokenizer": { "z_words": { "type": "whitespace", "max_token_length": MOST_ENTRY } },
            "filter": { "z_edges": {
                "type": "pattern_capture",
                "preserve_original": true,
                "patterns": [
                    "^\u{f800}?([^\u{f800}\u{f801}]+)\u{f801}?$",
                    "^(\u{f800}[^\u{f800}\u{f801}]+)\u{f801}$",
                    "^\u{f800}([^\u{f800}\u{f801}]+\u{f801})$",
                ],
            } },
            "analyzer": {
                "z_index": {
                    "type": "custom",
                    "tokenizer": "z_words",
                    "filter": ["z_edges", "remove_duplicates"],
                },
                "z_query": { "type": "custom", "tokenizer": "z_words" },
            },
        })
    }

    /// Returns the document for a record.
    pub(crate) fn engine_document(&self, record: &MarcRecord, octets: &[u8]) -> Document {
        let mut draft = Draft {
            layout: self,
            texts: BTreeMap::new(),
            words: BTreeMap::new(),
            keys: BTreeMap::new(),
            sort: BTreeMap::new(),
            buffer: String::new(),
        };
        let docid = self.map().docid(record);
        if let Some(docid) = docid {
            draft.add_key(IndexId::DOCID, &String::from_utf8_lossy(docid));
        }
        self.map()
            .entries(record, &mut |kind, indexes, text| match kind {
                EntryKind::Text => draft.text(indexes, text),
                EntryKind::Key => draft.key(indexes, text),
            });
        let number = number_of(docid.unwrap_or(octets));
        let mut source = draft.finish();
        source.insert(NUMBER.to_owned(), number.into());
        source.insert(RECORD.to_owned(), STANDARD.encode(octets).into());
        Document {
            id: match docid {
                Some(docid) => id_of(docid),
                None => hashed(UNIDENTIFIED, octets),
            },
            source: Value::Object(source),
        }
    }
}

/// Returns the name of a field. Characters in the name from the settings that a field name must not contain are replaced.
fn field_name(kind: &str, name: &str) -> String {
    let mut field = format!("{kind}_");
    for octet in name.bytes() {
        match octet {
            b'a'..=b'z' | b'0'..=b'9' => field.push(char::from(octet)),
            other => field.push_str(&format!("_{other:02x}")),
        }
    }
    field
}

/// A record in the form in which the engine stores it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Document {
    /// The identifier in the engine.
    pub(crate) id: String,
    /// The fields of the document with their values.
    pub(crate) source: Value,
}

/// Returns the engine's identifier for the record with this docid.
pub(crate) fn id_of(docid: &[u8]) -> String {
    match std::str::from_utf8(docid) {
        Ok(text)
            if (1..=MOST_ID).contains(&text.len()) && !text.starts_with([HASHED, UNIDENTIFIED]) =>
        {
            text.to_owned()
        }
        _ => hashed(HASHED, docid),
    }
}

fn hashed(mark: char, octets: &[u8]) -> String {
    format!("{mark}{:032x}", XxHash3_128::oneshot(octets))
}

/// Returns the engine's number for the record with this docid. It has at most 63 bits, because the engine's type `long` is
/// signed.
pub(crate) fn number_of(docid: &[u8]) -> u64 {
    XxHash3_64::oneshot(docid) >> 1
}

/// Returns text, truncated to at most `most` octets.
pub(crate) fn cut(text: &str, most: usize) -> &str {
    let mut ends = (0..=most.min(text.len())).rev();
    let end = ends.find(|end| text.is_char_boundary(*end));
    text.get(..end.unwrap_or_default()).unwrap_or_default()
}

/// The fields of a document under construction, by index.
struct Draft<'a> {
    layout: &'a EngineLayout,
    /// The entries in text indexes, with edges.
    texts: BTreeMap<IndexId, Vec<String>>,
    words: BTreeMap<IndexId, BTreeSet<String>>,
    /// The complete entries in text indexes, and the keys in other indexes.
    keys: BTreeMap<IndexId, BTreeSet<String>>,
    /// The values to sort by, which are the first values of each index.
    sort: BTreeMap<IndexId, String>,
    buffer: String,
}

impl Draft<'_> {
    fn text(&mut self, indexes: &mut dyn Iterator<Item = IndexId>, text: &str) {
        let (marked, words) = split(text, &mut self.buffer);
        if words.is_empty() {
            return;
        }
        let whole = words.join(" ");
        for index in indexes {
            self.texts.entry(index).or_default().push(marked.clone());
            let known = self.words.entry(index).or_default();
            known.extend(words.iter().cloned());
            if self.layout.map().has_keys(index) {
                self.add_key(index, &whole);
            }
            if self.layout.is_sorted(index) {
                self.sort.entry(index).or_insert_with(|| filed(text));
            }
        }
    }

    fn key(&mut self, indexes: &mut dyn Iterator<Item = IndexId>, key: &str) {
        for index in indexes {
            self.add_key(index, key);
            if self.layout.is_sorted(index) {
                self.sort.entry(index).or_insert_with(|| key.to_owned());
            }
        }
    }

    fn add_key(&mut self, index: IndexId, key: &str) {
        let known = self.keys.entry(index).or_default();
        known.insert(cut(key, MOST_ENTRY).to_owned());
    }

    fn finish(self) -> Map<String, Value> {
        let Self {
            layout,
            texts,
            words,
            keys,
            sort,
            mut buffer,
        } = self;
        let mut fields = Map::new();
        for (index, entries) in texts {
            fields.insert(layout.positions_field(index), entries.into());
        }
        let words = words
            .into_iter()
            .map(|(index, of)| (Terms::Words(index), of));
        let keys = keys.into_iter().map(|(index, of)| (Terms::Keys(index), of));
        for (terms, values) in words.chain(keys) {
            let values = values.into_iter().collect::<Vec<_>>();
            fields.insert(layout.field(terms), values.into());
        }
        for (index, value) in sort {
            let own = cut(&value, MOST_ENTRY).replace(char::is_control, " ");
            let folded = split(&value, &mut buffer).1.join(" ");
            if !folded.is_empty() {
                let folded = cut(&folded, MOST_ENTRY);
                fields.insert(layout.sort_field(index, false), folded.into());
                fields.insert(layout.sort_field(index, true), own.into());
            }
        }
        fields
    }
}

/// Returns the words of an entry, as a string with edges, and as a list.
fn split(text: &str, buffer: &mut String) -> (String, Vec<String>) {
    let mut marked = String::from(ENTRY_EDGE);
    let mut words: Vec<String> = Vec::new();
    for subfield in subfields(text) {
        let first = words.len();
        each_word(subfield, buffer, |word| {
            words.push(cut(word, MOST_WORD).to_owned());
        });
        let of_subfield = words.get(first..).unwrap_or_default();
        if !of_subfield.is_empty() {
            marked.push(' ');
            marked.push(SUBFIELD_BEGIN);
            marked.push_str(&of_subfield.join(" "));
            marked.push(SUBFIELD_END);
        }
    }
    marked.push(' ');
    marked.push_str(ENTRY_EDGE);
    (marked, words)
}

#[cfg(test)]
mod tests {
    use z3950_marc::Field;
    use z3950_server::memory::{AccessPoints, DocidField, Profile};

    use super::*;
    use crate::engine::IndexUses;

    fn layout() -> EngineLayout {
        let (points, uses) = (AccessPoints::default(), IndexUses::default());
        let made = EngineLayout::new(points, Profile::default(), DocidField::default(), &uses);
        made.expect("indexes")
    }

    #[test]
    fn a_record_becomes_a_document() {
        let mut record = MarcRecord::default();
        record.fields.push(Field::control(b"001", "id7"));
        let title = [("a", "The War :"), ("b", "a \u{f800} novel /")];
        record.fields.push(Field::data(b"245", "14", title));
        let layout = layout();
        let document = layout.engine_document(&record, b"octets");
        assert_eq!(document.id, "id7");
        let field = |name: &str| document.source.get(name).cloned().unwrap_or_default();
        for (name, expected) in [
            ("record", json!("b2N0ZXRz")),
            ("k_docid", json!(["id7"])),
            ("number", json!(number_of(b"id7"))),
            (
                "t_title",
                json!(["_ \u{f800}the war\u{f801} \u{f800}a novel\u{f801} _"]),
            ),
            ("x_title", json!(["the war a novel"])),
            ("y_title", json!(["a", "novel", "the", "war"])),
            ("s_title", json!("war a novel")),
            ("c_title", json!("War : a \u{f800} novel /")),
            ("x_any", Value::Null),
        ] {
            assert_eq!(field(name), expected, "{name}");
        }
        let known = layout.properties();
        let source = document.source.as_object().expect("an object");
        assert!(source.keys().all(|name| known.contains_key(name)));
    }

    #[test]
    fn every_identifier_has_one_of_the_engine() {
        let long = "a".repeat(MOST_ID);
        assert_eq!(id_of(long.as_bytes()), long);
        let others = ["", "#1", "=1"].map(str::as_bytes).map(<[u8]>::to_vec);
        let more = [vec![0xff], [long.as_bytes(), b"a"].concat()];
        let ids: Vec<String> = others.iter().chain(&more).map(|id| id_of(id)).collect();
        assert!(
            ids.iter()
                .all(|id| id.starts_with(HASHED) && id.len() == 33)
        );
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
    }

    #[test]
    fn long_texts_are_cut_at_characters() {
        let long = "\u{e9}".repeat(MOST_WORD);
        assert_eq!(cut(&long, MOST_WORD).len(), MOST_WORD);
        assert_eq!(cut(&long, MOST_WORD - 1).len(), MOST_WORD - 2);
        assert_eq!(cut("short", MOST_WORD), "short");
    }
}

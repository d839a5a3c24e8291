//! Access points for a backend whose indexes are kept elsewhere, for example in a search engine. Converts query terms to lookups
//! in these indexes, and records to index entries. The results agree with [`MemoryBackend`](super::MemoryBackend), which uses the
//! same code.

use bytes::Bytes;
use z3950_asn1::apdu::{AttributeList, AttributesPlusTerm, External, SortKey};
use z3950_asn1::bib1::attributes::USE;
use z3950_asn1::oid::Oid;
use z3950_marc::MarcRecord;

pub use super::attributes::{Look, LookTarget, TextRange, WordOrder, WrittenTerm};
use super::attributes::{infos, look, scan_start, sort_index};
pub use super::fields::{EntryKind, IndexId};
use super::fields::{Fields, SUBFIELD_MARK};
pub use super::index::find::{ANY_NUMBER, AT_MOST_ONE, EXACTLY_ONE};
pub use super::index::{Edge, Edges, Pattern, Terms};
use super::{AccessPoints, DocidField, Kind, Profile, forms, scan, sort, update, words};
use crate::backend::AttributeInfo;
use crate::diagnostic::Diagnostic;

/// The element sets for records in XML, in addition to F and B.
pub const XML_ELEMENT_SETS: [&str; 3] = forms::XML_ELEMENT_SETS;

/// The access points of a database, the attributes that queries may use, and the docid field of its records.
#[derive(Debug)]
pub struct IndexMap {
    fields: Fields,
}

impl PartialEq for IndexMap {
    /// Returns whether two maps have equal access points, attributes and docid fields.
    fn eq(&self, other: &Self) -> bool {
        self.points() == other.points()
            && self.profile() == other.profile()
            && self.fields.docid(0) == other.fields.docid(0)
    }
}

impl IndexMap {
    /// Creates a map with these access points, attributes and docid field.
    pub fn new(points: AccessPoints, profile: Profile, docid: DocidField) -> Self {
        Self {
            fields: Fields::new(points, profile, [docid]),
        }
    }

    /// Returns the access points.
    pub fn points(&self) -> &AccessPoints {
        &self.fields.points
    }

    /// Returns the profile, which defines the supported attributes.
    pub fn profile(&self) -> &Profile {
        &self.fields.profile
    }

    /// Returns the attributes that queries may use, as described in Explain. `scans` tells whether an index can be scanned, and
    /// `sorts` whether result sets can be sorted by an index.
    pub fn attributes(
        &self,
        scans: impl Fn(IndexId) -> bool,
        sorts: impl Fn(IndexId) -> bool,
    ) -> Vec<AttributeInfo> {
        let mut attributes = infos(&self.fields);
        for attribute in &mut attributes {
            let is_use = attribute.attribute_type == USE;
            let index = self.points().by_use(attribute.value).filter(|_| is_use);
            if let Some((index, _)) = index {
                attribute.scan = scans(index);
                attribute.sort = sorts(index);
            }
        }
        attributes
    }

    /// Returns the index with this name, or the index that corresponds to this index name in a query language; `None` if there is
    /// none.
    pub fn by_name(&self, name: &str) -> Option<IndexId> {
        self.fields.points.by_name(name).map(|(index, _)| index)
    }

    /// Returns the kind of an index.
    pub fn kind(&self, index: IndexId) -> Kind {
        self.fields.kind(index)
    }

    /// Returns whether an index has complete entries.
    pub fn has_keys(&self, index: IndexId) -> bool {
        self.fields.has_keys(index)
    }

    /// Returns the lookup for a query term; `attribute_set` is the default attribute set of the query.
    ///
    /// # Errors
    /// The condition for the first unsupported attribute, or for a term that does not fit its attributes.
    pub fn look<'q>(
        &self,
        attribute_set: &Oid,
        operand: &'q AttributesPlusTerm,
    ) -> Result<Look<'q>, Diagnostic> {
        look(&self.fields, attribute_set, operand)
    }

    /// Returns a query term with its attributes and its unchanged text; `attribute_set` is the default attribute set of the
    /// query.
    ///
    /// # Errors
    /// The condition for the first unsupported attribute, or for a term of a type that cannot be compared with entries of the
    /// index.
    pub fn written<'q>(
        &self,
        attribute_set: &Oid,
        operand: &'q AttributesPlusTerm,
    ) -> Result<WrittenTerm<'q>, Diagnostic> {
        WrittenTerm::read(&self.fields, attribute_set, operand)
    }

    /// Returns the index in which a facet is counted; `None` if the facet's field does not have an index.
    pub fn facet_index(&self, attributes: &AttributeList) -> Option<IndexId> {
        scan::of(&self.fields, attributes)
    }

    /// Returns the terms to scan, and the start term in the same form as these terms; an empty start term means the first term.
    ///
    /// # Errors
    /// The condition for the first unsupported attribute.
    pub fn scan_start(
        &self,
        attribute_set: &Oid,
        start: &AttributesPlusTerm,
    ) -> Result<(Terms, Vec<u8>), Diagnostic> {
        scan_start(&self.fields, attribute_set, start)
    }

    /// Returns the index for a sort key.
    ///
    /// # Errors
    /// Condition 207 for a key without an index, or the condition for the first unsupported attribute of the key.
    pub fn sort_index(&self, key: &SortKey) -> Result<IndexId, Diagnostic> {
        sort_index(&self.fields, key)
    }

    /// Returns the terms that a facet counts; `None` if the facet's field does not have an index.
    pub fn facet_terms(&self, attributes: &AttributeList) -> Option<Terms> {
        scan::terms(&self.fields, scan::of(&self.fields, attributes)?)
    }

    /// Emits every entry of a record with the indexes that it belongs to: texts without conversion, other entries as keys. The
    /// docid is not an entry; [`IndexMap::docid`] returns it.
    pub fn entries(
        &self,
        record: &MarcRecord,
        emit: &mut dyn FnMut(EntryKind, &mut dyn Iterator<Item = IndexId>, &str),
    ) {
        self.fields.entries(record, &mut |kind, indexes, text| {
            emit(kind, &mut indexes.iter(), text);
        });
    }

    /// Returns the docid of a record; `None` if it does not have one.
    pub fn docid<'r>(&self, record: &'r MarcRecord) -> Option<&'r [u8]> {
        self.fields.docid(0).of(record)
    }

    /// Returns the record with this docid, both as a value and encoded in ISO 2709. The docid is added if the record does not
    /// have one.
    ///
    /// # Errors
    /// The record cannot have this docid.
    pub fn identified(
        &self,
        record: MarcRecord,
        id: &Bytes,
    ) -> Result<(Bytes, MarcRecord), Diagnostic> {
        update::identified(self.fields.docid(0), record, id)
    }
}

/// Returns the subfields of a text entry.
pub fn subfields(text: &str) -> impl Iterator<Item = &str> {
    text.split(SUBFIELD_MARK)
}

/// Calls a function with each folded word in the text; `buffer` is a string whose memory is reused.
pub fn each_word(text: &str, buffer: &mut String, emit: impl FnMut(&str)) {
    words::each_word(text, buffer, emit);
}

/// Returns the text of an entry for sorting: without nonfiling characters, with its case unchanged, and with spaces between
/// subfields.
pub fn filed(text: &str) -> String {
    sort::filed(text).replace(SUBFIELD_MARK, " ")
}

/// Parses the record in an update.
///
/// # Errors
/// The record is not MARC, or can only be read with repairs.
pub fn updated_record(external: &External) -> Result<MarcRecord, Diagnostic> {
    update::marc(external)
}

/// Adds the fields of `elements` to a record, in place of its fields with the same tags.
pub fn with_elements(whole: MarcRecord, elements: MarcRecord) -> MarcRecord {
    update::with_elements(whole, elements)
}

/// Returns the diagnostic for a record that cannot be changed.
pub fn refused(why: impl std::fmt::Display, about: &[u8]) -> Diagnostic {
    update::refused(why, about)
}

//! Update: adds, replaces and deletes records atomically (Z39.50-2003 Appendix EXT.1.4).

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use z3950_asn1::apdu::External;
use z3950_asn1::record::RetrievedRecord;
use z3950_marc::{Field, MarcRecord, iso2709, marcxml};

use super::catalogue::{Catalogue, RecordChange};
use super::docid::DocidField;
use super::fields::Fields;
use super::hits::{HitSet, Part};
use super::index::Index;
use super::merge;
use crate::backend::{Update, UpdateAction, UpdateRecord};
use crate::diagnostic::{Condition, Diagnostic, diagnostic};
use crate::headroom::Headroom;

/// The result for each record: its identifier or a diagnostic.
pub(super) type Outcomes = Vec<Result<Bytes, Diagnostic>>;

/// The maximum number of records in a quick change; their total size is limited to [`QUICK_OCTETS`].
const QUICK_RECORDS: usize = 4;
const QUICK_OCTETS: usize = 16 * 1024;

/// A change that has been made but is not visible yet.
pub(super) struct Changed {
    /// The result for each record.
    pub(super) outcomes: Outcomes,
    /// The number of the database.
    pub(super) number: u16,
    /// The catalogue after the change.
    pub(super) catalogue: Catalogue,
    /// The changes to save.
    pub(super) changes: Vec<RecordChange>,
}

/// Returns whether a change takes only a few microseconds, because it has only a few short records.
pub(super) fn is_quick(update: &Update<'_>) -> bool {
    let octets = |record: &UpdateRecord| {
        record
            .record
            .as_ref()
            .map_or(0, |record| record.octets().len())
    };
    update.records.len() <= QUICK_RECORDS
        && update.records.iter().map(octets).sum::<usize>() <= QUICK_OCTETS
}

/// Makes a change.
///
/// # Errors
/// Condition 235 if the database does not exist, or 220 if there is not enough memory for more records. If a record is refused,
/// the inner result is an error that contains the results of all records. Nothing is changed in these cases.
pub(super) fn changed(
    catalogue: &Catalogue,
    update: &Update<'_>,
    headroom: Option<Headroom>,
) -> Result<Result<Changed, Outcomes>, Diagnostic> {
    let number = catalogue.known(update.database)?;
    let mut draft = Draft::new(catalogue, number);
    let full = headroom.filter(|headroom| headroom.spare() == 0);
    if let Some(headroom) = full
        && update.action != UpdateAction::Delete
    {
        let words = format!("no memory for more records: {headroom}");
        return Err(diagnostic(Condition::TASK_QUOTA, words));
    }
    let records = update.records.iter();
    let outcomes: Outcomes = records
        .map(|record| draft.apply(update.action, record))
        .collect();
    if outcomes.iter().any(Result::is_err) {
        return Ok(Err(outcomes));
    }
    let (catalogue, changes) = draft.finish(catalogue);
    Ok(Ok(Changed {
        outcomes,
        number,
        catalogue,
        changes,
    }))
}

/// Returns the catalogue after applying the changes in the journals of databases. Changes that are already in the catalogue have
/// no effect.
pub(super) fn repeated(
    mut catalogue: Catalogue,
    all: impl IntoIterator<Item = (u16, Vec<RecordChange>)>,
) -> Catalogue {
    for (number, changes) in all {
        let mut draft = Draft::new(&catalogue, number);
        for RecordChange { id, record } in changes {
            // The record has been parsed before, so this does not fail.
            let parsed = record.and_then(|octets| {
                let parsed = iso2709::parse(&octets).ok()?;
                Some((octets, parsed.record))
            });
            let known = draft.find(&id);
            draft.put(id, known, parsed);
        }
        (catalogue, _) = draft.finish(&catalogue);
    }
    catalogue
}

/// An update in progress: a database and the changes made to it so far.
struct Draft<'a> {
    index: &'a Index,
    number: u16,
    docid: DocidField,
    /// The new records, including those that replace existing records, in ISO 2709 and as values; `None` for a record that was
    /// deleted again.
    new: Vec<Option<(Bytes, MarcRecord)>>,
    /// The index of each of these records in `new`, by docid.
    new_by_id: HashMap<Bytes, usize>,
    deleted: HitSet<'a>,
    /// All changes, in order.
    changes: Vec<RecordChange>,
    /// The next number to try as the docid of a record without one.
    next_id: usize,
}

/// The records that have a given docid.
enum Known<'a> {
    /// A record in `new`, by its index.
    New(usize),
    /// Stored records; several may have the same docid.
    Stored(HitSet<'a>),
}

impl<'a> Draft<'a> {
    fn new(catalogue: &'a Catalogue, number: u16) -> Self {
        Self {
            index: &catalogue.index,
            number,
            docid: catalogue.fields.docid(number),
            new: Vec::new(),
            new_by_id: HashMap::new(),
            deleted: HitSet::default(),
            changes: Vec::new(),
            next_id: catalogue.count(number),
        }
    }

    fn apply(&mut self, action: UpdateAction, update: &UpdateRecord) -> Result<Bytes, Diagnostic> {
        let record = update.record.as_ref().map(marc).transpose()?;
        let own = record.as_ref().and_then(|record| self.docid.of(record));
        let id = match (&update.id, own) {
            (Some(id), Some(own)) if id != own && action != UpdateAction::Elements => {
                return Err(refused("the record has another identifier", own));
            }
            (Some(id), _) => id.clone(),
            (None, Some(own)) => Bytes::copy_from_slice(own),
            (None, None) if matches!(action, UpdateAction::Insert | UpdateAction::Special) => {
                self.free_id()
            }
            (None, None) => return Err(refused("no identifier", b"")),
        };
        let known = self.find(&id);
        match (action, &known) {
            (UpdateAction::Insert, Some(_)) => {
                return Err(refused("the record already exists", &id));
            }
            (UpdateAction::Replace | UpdateAction::Delete | UpdateAction::Elements, None) => {
                return Err(refused("no such record", &id));
            }
            _ => {}
        }
        let record = match (action, record) {
            (UpdateAction::Delete, _) => None,
            (_, None) => return Err(refused("no record", &id)),
            (UpdateAction::Elements, Some(elements)) => {
                let whole = known.as_ref().and_then(|known| self.record(known));
                let lost = || diagnostic(Condition::PERMANENT_SYSTEM_ERROR, &id);
                Some(with_elements(whole.ok_or_else(lost)?, elements))
            }
            (_, Some(record)) => Some(record),
        };
        let record = record
            .map(|record| identified(self.docid, record, &id))
            .transpose()?;
        self.put(id.clone(), known, record);
        Ok(id)
    }

    /// Replaces the known records with this docid with a new record, or deletes the known records if `record` is `None`.
    fn put(&mut self, id: Bytes, known: Option<Known<'a>>, record: Option<(Bytes, MarcRecord)>) {
        self.changes.push(RecordChange {
            id: id.clone(),
            record: record.as_ref().map(|(octets, _)| octets.clone()),
        });
        match known {
            Some(Known::New(place)) => {
                self.new_by_id.remove(&id);
                if let Some(new) = self.new.get_mut(place) {
                    *new = None;
                }
            }
            Some(Known::Stored(records)) => {
                self.deleted = std::mem::take(&mut self.deleted).or(records)
            }
            None => {}
        }
        if let Some(record) = record {
            self.new_by_id.insert(id, self.new.len());
            self.new.push(Some(record));
        }
    }

    fn find(&self, id: &[u8]) -> Option<Known<'a>> {
        if let Some(place) = self.new_by_id.get(id) {
            return Some(Known::New(*place));
        }
        let stored = self
            .index
            .visible(self.index.docid(id), Some(&[self.number]));
        let stored = stored.and_not(self.deleted.clone());
        (!stored.is_empty()).then_some(Known::Stored(stored))
    }

    fn record(&self, known: &Known<'_>) -> Option<MarcRecord> {
        match known {
            Known::New(place) => {
                let (_, record) = self.new.get(*place)?.as_ref()?;
                Some(record.clone())
            }
            Known::Stored(records) => {
                let (segment, number) = self.index.segment(records.iter().next()?)?;
                Some(iso2709::parse(segment.record(number)?.0).ok()?.record)
            }
        }
    }

    /// Returns the first unused number as a docid, starting with the number of records.
    fn free_id(&mut self) -> Bytes {
        loop {
            self.next_id += 1;
            let id = Bytes::from(self.next_id.to_string());
            if self.find(&id).is_none() {
                return id;
            }
        }
    }

    /// Returns the catalogue after the changes, and the changes.
    fn finish(mut self, catalogue: &Catalogue) -> (Catalogue, Vec<RecordChange>) {
        let fields = &catalogue.fields;
        let changes = std::mem::take(&mut self.changes);
        let (number, fewer) = (self.number, self.deleted.len());
        let more = self.new.iter().flatten().count();
        let sizes = (changes.len(), more, fewer);
        let catalogue = catalogue.changed(self.indexed(fields), number, sizes);
        (catalogue, changes)
    }

    /// Returns the index after the changes, in which the new records are in separate segments.
    fn indexed(self, fields: &Arc<Fields>) -> Index {
        let before = self.index.segments().map(|(number, segment, deleted)| {
            let deleted = match self.deleted.part(number) {
                Some(more) => Arc::new(Part::clone(deleted).or(&more.clone().into_owned())),
                None => Arc::clone(deleted),
            };
            (Arc::clone(segment), deleted)
        });
        let new: Vec<_> = self.new.iter().flatten().collect();
        let mut added = Vec::new();
        let mut rest = new.as_slice();
        while !rest.is_empty() {
            let mut builder = merge::builder(rest.len(), fields);
            let is_added = |(octets, record): &&&(Bytes, MarcRecord)| {
                let added = builder.add(self.number, octets.clone(), record);
                added.is_ok()
            };
            let count = rest.iter().take_while(is_added).count();
            added.push((Arc::new(builder.finish()), Arc::new(Part::first(0))));
            rest = rest.get(count..).unwrap_or_default();
        }
        self.index.changed(before.chain(added))
    }
}

/// Returns the record with this docid, both as a value and encoded in ISO 2709. The docid is added if the record does not have
/// one.
///
/// # Errors
/// The record cannot have this docid.
pub(super) fn identified(
    docid: DocidField,
    mut record: MarcRecord,
    id: &Bytes,
) -> Result<(Bytes, MarcRecord), Diagnostic> {
    if docid.alone(&record).count() > 1 {
        return Err(refused("the field of the identifier is repeated", id));
    }
    if id.iter().any(u8::is_ascii_control) {
        return Err(refused("a control character in the identifier", id));
    }
    if docid.of(&record).is_none() {
        docid.set(&mut record, id);
    }
    match docid.of(&record) {
        Some(own) if own == *id => {}
        _ => return Err(refused("no identifier", id)),
    }
    let octets = Bytes::from(iso2709::encode(&record).map_err(|error| refused(error, id))?);
    let parsed = iso2709::parse(&octets).map_err(|error| refused(error, id))?;
    Ok((octets, parsed.record))
}

/// Parses a MARC record sent by a client.
///
/// # Errors
/// The record is not MARC, or can only be read with repairs.
pub(super) fn marc(external: &External) -> Result<MarcRecord, Diagnostic> {
    match RetrievedRecord::of(external) {
        RetrievedRecord::Marc(octets) => {
            let parsed = iso2709::parse(&octets).map_err(|error| refused(error, b""))?;
            Ok(parsed.record)
        }
        RetrievedRecord::Xml(octets) => {
            let text = std::str::from_utf8(&octets).map_err(|error| refused(error, b""))?;
            let read = marcxml::only_from_xml(text).map_err(|error| refused(error, b""))?;
            // The server neither repairs the record nor leaves anything out: only the client knows what the record should be.
            match read.remarks.notes.first() {
                Some(note) => Err(refused(note, b"")),
                None => Ok(read.record),
            }
        }
        _ => {
            let syntax = external
                .direct_reference
                .map(|syntax| syntax.to_string())
                .unwrap_or_default();
            Err(diagnostic(Condition::RECORD_SYNTAX, syntax))
        }
    }
}

/// Adds the fields of `elements` to a record, in place of its fields with the same tags.
pub(super) fn with_elements(mut whole: MarcRecord, elements: MarcRecord) -> MarcRecord {
    let mut fields: Vec<Field> = elements.fields;
    fields.sort_by_key(|field| field.tag);
    for group in fields.chunk_by(|left, right| left.tag == right.tag) {
        let Some(tag) = group.first().map(|field| field.tag) else {
            continue;
        };
        let first = whole.fields.iter().position(|field| field.tag == tag);
        let behind = || whole.fields.iter().position(|field| field.tag > tag);
        // The fields replace the first field with this tag or, if there is none, come before the first field with a higher
        // tag.
        let at = first.or_else(behind).unwrap_or(whole.fields.len());
        whole.fields.retain(|field| field.tag != tag);
        whole.fields.splice(at..at, group.iter().cloned());
    }
    whole
}

/// Returns the diagnostic for a record that cannot be changed. Bib-1 does not have a condition for this, so the message says why.
pub(super) fn refused(why: impl std::fmt::Display, about: &[u8]) -> Diagnostic {
    let about = String::from_utf8_lossy(about);
    let text = match &*about {
        "" => why.to_string(),
        about => format!("{why}: {about}"),
    };
    diagnostic(Condition::UNSPECIFIED, text)
}

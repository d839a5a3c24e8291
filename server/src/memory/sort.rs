//! Sort: orders the records of result sets by the values of indexes or fields (Z39.50-2003 §3.2.7.1).

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::Arc;

use z3950_asn1::apdu::{
    CaseSensitivity, MissingValueAction, SortElement, SortKey, SortKeySpec, SortRelation,
};
use z3950_marc::crosswalk::is_unimarc;
use z3950_marc::{MarcRecord, Tag, iso2709};

use super::attributes::sort_index;
use super::catalogue::Catalogue;
use super::fields::{
    FILED, Fields, IndexId, Kind, NOT_FILED, SUBFIELD_MARK, effective_tag, marked, not_filed,
};
use super::index::{Exhausted, Work};
use super::result::ResultList;
use super::snapshot::View;
use super::words::words;
use crate::backend::{Hits, RecordId, Sort};
use crate::diagnostic::{Condition, Diagnostic, diagnostic};

/// The most records that are sorted.
const MOST_RECORDS: usize = 2_000_000;
/// The most keys.
const MOST_KEYS: usize = 16;
/// Up to this many records are sorted without another thread.
pub(super) const QUICK: usize = 1000;

/// A sort that was checked.
pub(super) struct Prepared {
    view: View,
    records: Vec<RecordId>,
    keys: Vec<Key>,
}

/// A sort key.
struct Key {
    /// The values to sort by, for particular databases or all.
    by: Vec<(Option<u16>, By)>,
    descending: bool,
    case_sensitive: bool,
    missing: Missing,
}

/// The values of a key.
enum By {
    Index(IndexId),
    /// The first field of this tag: all of it, or its first subfield of this code.
    Field(Tag, Option<u8>),
}

/// The treatment of records without the key.
enum Missing {
    /// Last in either direction, because the client has not said.
    Last,
    /// Fail.
    Abort,
    /// Use this value.
    Value(Vec<u8>),
}

/// Checks a sort.
///
/// # Errors
/// 30 for a result set of another backend or from before a reload, 207 for a key that cannot be sorted by, 211 for too many
/// keys, 214 for an order by frequency, 230 for too many records, 235 for a database that does not exist.
pub(super) fn prepared(
    current: &View,
    sort: &Sort<'_>,
    work: &mut Work,
) -> Result<Prepared, Diagnostic> {
    if sort.keys.len() > MOST_KEYS {
        let most = MOST_KEYS.to_string();
        return Err(diagnostic(Condition::TOO_MANY_SORT_KEYS, most));
    }
    let total: usize = sort.inputs.iter().map(Hits::len).sum();
    if total > MOST_RECORDS {
        let most = MOST_RECORDS.to_string();
        return Err(diagnostic(Condition::TOO_MANY_RECORDS_TO_SORT, most));
    }
    let (view, records) = merged(current, sort.inputs, work)?;
    let keys = sort.keys.iter();
    let keys = keys.map(|key| Key::read(key, &current.catalogue));
    Ok(Prepared {
        view,
        records,
        keys: keys.collect::<Result<_, _>>()?,
    })
}

/// The records of the sets, each once, in the order of the sets. If all sets come from one catalogue, that one is used;
/// otherwise the current one, with the records that still exist.
fn merged(
    current: &View,
    inputs: &[Hits],
    work: &mut Work,
) -> Result<(View, Vec<RecordId>), Diagnostic> {
    let gone = || diagnostic(Condition::RESULT_SET_DOES_NOT_EXIST, "");
    let lists: Option<Vec<&ResultList>> = inputs.iter().map(Hits::downcast).collect();
    let lists = lists.ok_or_else(gone)?;
    let first = lists.first().ok_or_else(gone)?;
    let same = lists
        .iter()
        .all(|list| Arc::ptr_eq(&list.snapshot, &first.snapshot));
    let (view, mut records) = match same {
        true => {
            let mut records = Vec::new();
            for hits in inputs {
                work.spend(1 + hits.len() / RECORDS_A_UNIT)?;
                records.append(&mut hits.ids(0..hits.len()));
            }
            (first.view().ok_or_else(gone)?, records)
        }
        false => {
            let mut records = Vec::new();
            for hits in inputs {
                let hits = current.catalogue.index.adopt(hits, work)?;
                let hits = hits.ok_or_else(gone)?;
                records.extend(hits.iter());
            }
            (current.clone(), records)
        }
    };
    if inputs.len() > 1 {
        work.spend(records.len())?;
        let mut known = HashSet::new();
        records.retain(|record| known.insert(*record));
    }
    Ok((view, records))
}

impl Key {
    fn read(spec: &SortKeySpec, catalogue: &Catalogue) -> Result<Self, Diagnostic> {
        let fields = &*catalogue.fields;
        let descending = match spec.sort_relation {
            SortRelation::ASCENDING => false,
            SortRelation::DESCENDING => true,
            SortRelation(other) => {
                return Err(diagnostic(Condition::SORT_RELATION, other.to_string()));
            }
        };
        let by = match &spec.sort_element {
            SortElement::Generic(key) => vec![(None, By::read(key, fields)?)],
            SortElement::DatabaseSpecific(keys) => {
                let keys = keys.iter().map(|key| {
                    let number = catalogue.known(&key.database_name)?;
                    Ok((Some(number), By::read(&key.db_sort, fields)?))
                });
                keys.collect::<Result<_, Diagnostic>>()?
            }
        };
        let case_sensitive = spec.case_sensitivity == CaseSensitivity::CASE_SENSITIVE;
        let missing = match &spec.missing_value_action {
            None => Missing::Last,
            Some(MissingValueAction::Abort) => Missing::Abort,
            Some(MissingValueAction::Null) => Missing::Value(Vec::new()),
            Some(MissingValueAction::MissingValueData(value)) => {
                let text = String::from_utf8_lossy(value);
                Missing::Value(value_of(text.into_owned(), case_sensitive))
            }
        };
        Ok(Self {
            by,
            descending,
            case_sensitive,
            missing,
        })
    }

    fn by(&self, database: Option<u16>) -> Option<&By> {
        let mut all = self.by.iter();
        all.find(|(of, _)| of.is_none() || *of == database)
            .map(|(_, by)| by)
    }
}

impl By {
    fn read(key: &SortKey, fields: &Fields) -> Result<Self, Diagnostic> {
        if let SortKey::SortField(name) = key
            && let Some((tag, code)) = field(name.as_bytes())
        {
            return Ok(Self::Field(tag, code));
        }
        sort_index(fields, key).map(Self::Index)
    }
}

/// `245` or `245$a`.
fn field(name: &[u8]) -> Option<(Tag, Option<u8>)> {
    let (tag, code) = name.split_first_chunk::<3>()?;
    let code = match code {
        [] => None,
        [b'$', code] => Some(*code),
        _ => return None,
    };
    tag.iter()
        .all(u8::is_ascii_digit)
        .then_some((Tag(*tag), code))
}

/// Rows that are sorted in the first step.
const FIRST_STEP: usize = 16_384;
/// The units of work that a value of a row takes, and a row in each step.
const ROW_UNITS: usize = 4;
/// Records that are listed in a unit of work.
const RECORDS_A_UNIT: usize = 16;
/// Octets of a record that are parsed in a unit of work.
const OCTETS_A_UNIT: usize = 32;

/// A record with the values of its keys.
struct Row<'a> {
    record: RecordId,
    values: Vec<Option<Cow<'a, [u8]>>>,
}

impl Prepared {
    /// Whether the sort is fast: few records, with their keys at hand.
    pub(super) fn is_quick(&self) -> bool {
        let values = || self.keys.iter().flat_map(|key| &key.by);
        let at_hand = |record: &RecordId| {
            let segment = self.view.catalogue.index.segment(*record);
            segment.is_none_or(|(segment, _)| {
                let has = |by: &By| match by {
                    By::Index(index) => segment.has_first_keys(*index),
                    By::Field(..) => true,
                };
                segment.len() <= QUICK || values().all(|(_, by)| has(by))
            })
        };
        self.records.len() <= QUICK && self.records.iter().all(at_hand)
    }

    /// The sorted records. The sort is stable.
    ///
    /// # Errors
    /// 213 for a record without a required key; 31 if the work is exhausted.
    pub(super) fn sorted(self, work: &mut Work) -> Result<Hits, Diagnostic> {
        let mut rows = Vec::with_capacity(self.records.len());
        for record in &self.records {
            let mut values = Vec::with_capacity(self.keys.len());
            for key in &self.keys {
                values.push(self.value(*record, key, work)?);
            }
            rows.push(Row {
                record: *record,
                values,
            });
        }
        // In steps, so that other work can go first: the standard sort merges the two sorted halves of each part.
        let mut sorted = FIRST_STEP;
        loop {
            for part in rows.chunks_mut(sorted) {
                work.spend(part.len() * ROW_UNITS)?;
                part.sort_by(|left, right| self.compared(left, right));
            }
            if sorted >= rows.len() {
                break;
            }
            sorted = sorted.saturating_mul(2);
        }
        let records = rows.into_iter().map(|row| row.record).collect();
        Ok(ResultList::sorted(self.view.snapshot, records))
    }

    fn compared(&self, left: &Row<'_>, right: &Row<'_>) -> Ordering {
        let values = left.values.iter().zip(&right.values);
        let orders = values
            .zip(&self.keys)
            .map(|((left, right), key)| match (left, right) {
                (None, None) => Ordering::Equal,
                (None, Some(_)) => Ordering::Greater,
                (Some(_), None) => Ordering::Less,
                (Some(left), Some(right)) if key.descending => right.cmp(left),
                (Some(left), Some(right)) => left.cmp(right),
            });
        orders.fold(Ordering::Equal, Ordering::then)
    }

    fn value(
        &self,
        record: RecordId,
        key: &Key,
        work: &mut Work,
    ) -> Result<Option<Cow<'_, [u8]>>, Diagnostic> {
        work.spend(ROW_UNITS)?;
        match (self.found(record, key, work)?, &key.missing) {
            (Some(value), _) => Ok(Some(value)),
            (None, Missing::Last) => Ok(None),
            (None, Missing::Value(value)) => Ok(Some(Cow::Owned(value.clone()))),
            (None, Missing::Abort) => Err(diagnostic(Condition::MISSING_VALUE_ACTION, "abort")),
        }
    }

    fn found(
        &self,
        record: RecordId,
        key: &Key,
        work: &mut Work,
    ) -> Result<Option<Cow<'_, [u8]>>, Exhausted> {
        let Some((segment, number)) = self.view.catalogue.index.segment(record) else {
            return Ok(None);
        };
        let Some(by) = key.by(segment.database(number)) else {
            return Ok(None);
        };
        let fields = &self.view.catalogue.fields;
        let is_folded = |index| fields.kind(index) != Kind::Text || fields.has_keys(index);
        if let By::Index(index) = *by
            && (index == IndexId::DOCID || !key.case_sensitive && is_folded(index))
        {
            return Ok(segment.first_key(index, number).map(Cow::Borrowed));
        }
        let Some((octets, _)) = segment.record(number) else {
            return Ok(None);
        };
        work.spend(octets.len() / OCTETS_A_UNIT)?;
        let value = iso2709::parse(octets).ok().and_then(|parsed| {
            let text = self.text(&parsed.record, by)?;
            Some(value_of(text, key.case_sensitive))
        });
        Ok(value.filter(|value| !value.is_empty()).map(Cow::Owned))
    }

    /// The text of a record to sort by.
    fn text(&self, record: &MarcRecord, by: &By) -> Option<String> {
        match by {
            By::Index(wanted) => {
                let mut found = None;
                self.view
                    .catalogue
                    .fields
                    .entries(record, &mut |_, indexes, text| {
                        if indexes.contains(*wanted) && found.is_none() {
                            found = Some(filed(text).replace(SUBFIELD_MARK, " "));
                        }
                    });
                found
            }
            By::Field(tag, code) => {
                let mut fields = record.fields.iter();
                let field = fields.find(|field| effective_tag(field) == *tag)?;
                if field.is_control() {
                    return Some(String::from_utf8_lossy(&field.body).into_owned());
                }
                let mut texts = Vec::new();
                for (place, subfield) in field.subfields().enumerate() {
                    let text = String::from_utf8_lossy(subfield.data);
                    let text = match place {
                        0 => filed(&marked(text, not_filed(field, is_unimarc(record)))),
                        _ => text.into_owned(),
                    };
                    match code {
                        Some(code) if subfield.code == [*code] => return Some(text),
                        Some(_) => {}
                        None => texts.push(text),
                    }
                }
                code.is_none().then(|| texts.join(" "))
            }
        }
    }
}

/// A text without its nonfiling characters, unless that leaves nothing.
fn filed(text: &str) -> String {
    let rest = text
        .strip_prefix(NOT_FILED)
        .and_then(|rest| rest.split_once(FILED));
    match rest {
        Some((_, filed)) if !words(filed).is_empty() => filed.to_owned(),
        _ => text.replace([NOT_FILED, FILED], ""),
    }
}

/// A text in the form that is compared.
fn value_of(text: String, case_sensitive: bool) -> Vec<u8> {
    match case_sensitive {
        true => text.into_bytes(),
        false => words(&text).join(" ").into_bytes(),
    }
}

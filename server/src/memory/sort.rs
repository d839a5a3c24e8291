//! Sort: puts the records of result sets in the order of index entries or fields (Z39.50-2003 §3.2.7.1).

mod key;

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::Arc;

use z3950_marc::iso2709;

pub(super) use self::key::filed;
use self::key::{By, Key, Missing};
pub use self::key::{RecordOrder, SortValues};
use super::fields::{IndexId, Kind};
use super::hits::RecordNumber;
use super::index::{Exhausted, WorkBudget};
use super::result::ResultList;
use super::snapshot::View;
use crate::backend::{HitList, Hits, Sort};
use crate::diagnostic::{Condition, Diagnostic, diagnostic};

/// The maximum number of records that are sorted.
const MOST_RECORDS: usize = 2_000_000;
/// The maximum number of keys.
const MOST_KEYS: usize = 16;
/// The number of records up to which a sort does not need another thread.
pub(super) const QUICK: usize = 1000;

/// A sort whose parameters have been checked.
pub(super) struct Prepared {
    view: View,
    records: Vec<RecordNumber>,
    keys: Vec<Key>,
}

/// Checks the parameters of a sort.
///
/// # Errors
/// Condition 30 for a result set from another backend or from before a reload, 207 for an unsupported key, 211 for too many keys,
/// 214 for sorting by frequency, 230 for too many records, 235 for a database that does not exist.
pub(super) fn prepared(
    current: &View,
    sort: &Sort<'_>,
    work: &mut WorkBudget,
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
    let catalogue = &current.catalogue;
    let keys = sort
        .keys
        .iter()
        .map(|key| Key::read(key, &catalogue.fields, |name| catalogue.known(name)));
    Ok(Prepared {
        view,
        records,
        keys: keys.collect::<Result<_, _>>()?,
    })
}

/// Returns the records of the sets without duplicates, in the order of the sets. If all sets were found in the same catalogue,
/// that catalogue is used. Otherwise, the current catalogue is used, and only records that still exist are returned.
fn merged(
    current: &View,
    inputs: &[Hits],
    work: &mut WorkBudget,
) -> Result<(View, Vec<RecordNumber>), Diagnostic> {
    let gone = || diagnostic(Condition::RESULT_SET_DOES_NOT_EXIST, "");
    let lists: Option<Vec<&ResultList>> = inputs.iter().map(Hits::downcast).collect();
    let lists = lists.ok_or_else(gone)?;
    let first = lists.first().ok_or_else(gone)?;
    let same = lists
        .iter()
        .all(|list| Arc::ptr_eq(&list.snapshot, &first.snapshot));
    let (view, mut records) = if same {
        let mut records = Vec::new();
        for list in &lists {
            work.spend(1 + list.len() / RECORDS_A_UNIT)?;
            records.append(&mut list.numbers());
        }
        (first.view().ok_or_else(gone)?, records)
    } else {
        let mut records = Vec::new();
        for hits in inputs {
            let hits = current
                .catalogue
                .index
                .adopt(hits, work)?
                .ok_or_else(gone)?;
            records.extend(hits.iter());
        }
        (current.clone(), records)
    };
    if inputs.len() > 1 {
        work.spend(records.len())?;
        let mut known = HashSet::new();
        records.retain(|record| known.insert(*record));
    }
    Ok((view, records))
}

/// The number of rows in each part that the first step sorts.
const FIRST_STEP: usize = 16_384;
/// The number of units of work for computing each value of a row, and for sorting each row in each step.
const ROW_UNITS: usize = 4;
/// The number of records that are listed per unit of work.
const RECORDS_A_UNIT: usize = 16;
/// The number of octets of a record that are parsed per unit of work.
const OCTETS_A_UNIT: usize = 32;

/// A record with the values of its keys.
struct Row<'a> {
    record: RecordNumber,
    values: Vec<Option<Cow<'a, [u8]>>>,
}

impl Prepared {
    /// Returns whether the sort is fast: there are few records, and their keys have been computed.
    pub(super) fn is_quick(&self) -> bool {
        let values = || self.keys.iter().flat_map(|key| &key.by);
        let at_hand = |record: &RecordNumber| {
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

    /// Returns the sorted records. The sort is stable.
    ///
    /// # Errors
    /// Condition 213 for a record without a required key; 31 for too much work.
    pub(super) fn sorted(self, work: &mut WorkBudget) -> Result<Hits, Diagnostic> {
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
        // The rows are sorted in steps, so that other jobs can run between two steps. In each step, the standard sort merges the
        // two sorted halves of each part.
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
        key::compared(&self.keys, &left.values, &right.values)
    }

    fn value(
        &self,
        record: RecordNumber,
        key: &Key,
        work: &mut WorkBudget,
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
        record: RecordNumber,
        key: &Key,
        work: &mut WorkBudget,
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
        let parsed = iso2709::parse(octets).ok();
        let value = parsed.and_then(|parsed| key.found(fields, &parsed.record, by));
        Ok(value.map(Cow::Owned))
    }
}

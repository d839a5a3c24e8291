//! Sort (Z39.50-2003 §3.2.7.1): merges and sorts result sets; the result replaces one of them or is a new set.

use std::sync::Arc;

use z3950_asn1::apdu::{
    Apdu, CaseSensitivity, DiagRec, Options, SortElement, SortKeySpec, SortRelation, SortRequest,
    SortResponse, SortResultSetStatus, SortStatus,
};

use crate::association::{Association, Operation};
use crate::backend::{Hits, ResultSet, Sort};
use crate::budget::Charge;
use crate::diagnostic::{Condition, Diagnostic, diagnostic};
use crate::units::count;

/// Sorts result sets, keeps the sorted set, and returns the answer. A failed sort does not change any result set.
pub(super) async fn answer(operation: &Operation, request: &SortRequest) -> Apdu {
    let mut response = SortResponse::default();
    let why = match sort(operation, request).await {
        Ok(records) => {
            let told = operation.terms.options.contains(Options::RESULT_COUNT);
            response.sort_status = SortStatus::SUCCESS;
            response.result_count = told.then(|| count(records));
            return response.into();
        }
        Err(why) => why,
    };
    let name = request.sorted_result_set_name.as_bytes();
    response.result_set_status = Some(if operation.result_sets().has(name) {
        SortResultSetStatus::UNCHANGED
    } else {
        SortResultSetStatus::NONE
    });
    response.sort_status = SortStatus::FAILURE;
    response.diagnostics = Some(vec![DiagRec::DefaultFormat(why)]);
    response.into()
}

/// The memory that a sort needs for each record, in octets; each key adds [`OCTETS_A_KEY`].
pub(super) const OCTETS_A_RECORD: usize = 64;
pub(super) const OCTETS_A_KEY: usize = 64;

/// Sorts the result sets; returns the number of records.
async fn sort(operation: &Operation, request: &SortRequest) -> Result<usize, Diagnostic> {
    let name = request.sorted_result_set_name.as_bytes();
    operation.check_set_name(name)?;
    check_keys(operation, &request.sort_sequence)?;
    let inputs = inputs(operation, request)?;
    let Some(ResultSet { backend, .. }) = inputs.first() else {
        return Err(diagnostic(Condition::NO_SET_TO_SORT, ""));
    };
    operation.result_sets().check_room(name)?;
    let lists: Vec<Hits> = inputs.iter().map(|set| set.hits.clone()).collect();
    let records = lists.iter().map(Hits::len).sum::<usize>();
    let octets = OCTETS_A_RECORD + OCTETS_A_KEY * request.sort_sequence.len();
    let mut charge = Charge::to(&operation.target.work);
    charge.set(records.saturating_mul(octets))?;
    let sorted = backend.sort(Sort {
        caller: operation.caller(),
        inputs: &lists,
        keys: &request.sort_sequence,
    });
    let hits = operation.or_stopped(sorted).await?;
    let records = hits.len();
    let backend = Arc::clone(backend);
    operation
        .result_sets()
        .keep(name, ResultSet { backend, hits })?;
    Ok(records)
}

/// Returns the result sets to be sorted.
///
/// # Errors
/// Condition 30 or 27 for a missing set, 230 for too many records, 237 for sets from different databases.
fn inputs(operation: &Operation, request: &SortRequest) -> Result<Vec<ResultSet>, Diagnostic> {
    let mut inputs: Vec<ResultSet> = Vec::new();
    let most = operation.target.limits.sorted_records;
    let mut records: usize = 0;
    for name in &request.input_result_set_names {
        let set = operation.result_sets().look_up(name.as_bytes())?;
        if inputs
            .first()
            .is_some_and(|first| !Arc::ptr_eq(&first.backend, &set.backend))
        {
            return Err(diagnostic(Condition::ILLEGAL_SORT, name.as_bytes()));
        }
        records = records.saturating_add(set.hits.len());
        if records > most {
            return Err(diagnostic(
                Condition::TOO_MANY_RECORDS_TO_SORT,
                most.to_string(),
            ));
        }
        inputs.push(set);
    }
    Ok(inputs)
}

/// Checks those properties of the keys that do not depend on the database.
///
/// # Errors
/// Condition 207 if there are no keys, 211 if there are too many, 212 for a duplicate key, 214 and 215 for values that the
/// standard does not define.
fn check_keys(association: &Association, keys: &[SortKeySpec]) -> Result<(), Diagnostic> {
    let most = association.target.limits.sort_keys;
    if keys.is_empty() {
        return Err(diagnostic(Condition::SORT_SEQUENCE, "no key is given"));
    }
    if keys.len() > most {
        return Err(diagnostic(Condition::TOO_MANY_SORT_KEYS, most.to_string()));
    }
    let refused = |condition, value: i64| Err(diagnostic(condition, value.to_string()));
    let mut before: Vec<&SortElement> = Vec::new();
    for key in keys {
        if before.contains(&&key.sort_element) {
            return Err(diagnostic(Condition::DUPLICATE_SORT_KEYS, ""));
        }
        if !RELATIONS.contains(&key.sort_relation) {
            return refused(Condition::SORT_RELATION, key.sort_relation.0);
        }
        if !CASES.contains(&key.case_sensitivity) {
            return refused(Condition::CASE_SENSITIVITY, key.case_sensitivity.0);
        }
        before.push(&key.sort_element);
    }
    Ok(())
}

const RELATIONS: [SortRelation; 4] = [
    SortRelation::ASCENDING,
    SortRelation::DESCENDING,
    SortRelation::ASCENDING_BY_FREQUENCY,
    SortRelation::DESCENDING_BY_FREQUENCY,
];

const CASES: [CaseSensitivity; 2] = [
    CaseSensitivity::CASE_SENSITIVE,
    CaseSensitivity::CASE_INSENSITIVE,
];

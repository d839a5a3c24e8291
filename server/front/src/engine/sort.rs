//! Sorted result sets, which have the same clause but a different order (Z39.50-2003 §3.2.7.1). The last sort key is
//! always the identifier.

use z3950_asn1::apdu::{
    CaseSensitivity, MissingValueAction, SortElement, SortKey, SortKeySpec, SortRelation,
};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_server::backend::{Hits, Sort};
use z3950_server::{Diagnostic, diagnostic};

use super::clause::{Clause, Leaf};
use super::plan::{MissingValue, OrderBy, Page, Plan};
use super::search::{EngineDatabase, FIRST_RECORDS, IndexReader as _};

/// The maximum number of sort keys.
const MOST_KEYS: usize = 16;

/// Returns the records of result sets in the requested order.
///
/// # Errors
/// Fails with condition 207 or another condition for a key that cannot be used, with 213 for a missing value, or with
/// 109 if the engine does not answer.
pub(super) async fn sorted<D: EngineDatabase>(
    database: &D,
    sort: Sort<'_>,
) -> Result<Hits, Diagnostic> {
    if sort.keys.len() > MOST_KEYS {
        let most = MOST_KEYS.to_string();
        return Err(diagnostic(Condition::TOO_MANY_SORT_KEYS, most));
    }
    let reader = database.reader().await?;
    let gone = || diagnostic(Condition::RESULT_SET_DOES_NOT_EXIST, "");
    let mut clause = Clause::Nothing;
    for hits in sort.inputs {
        clause = clause.or(database.operand(hits).ok_or_else(gone)?);
    }
    let clause = clause.bounded()?;
    let known = sort.inputs.iter().map(Hits::len).max().unwrap_or(0);
    let mut order = Vec::new();
    for key in sort.keys {
        order.push(order_of(database, &reader, key, &clause).await?);
    }
    let plan = Plan {
        order: &order,
        page: Page::first(FIRST_RECORDS),
        ..Plan::count(&clause, database.deadline())
    };
    let answer = database
        .ask(&plan, None)
        .await
        .map_err(|error| database.failure(&error))?;
    let failed = database.failed_source(answer.missing.as_deref())?;
    match failed.and_then(|source| source.failure) {
        Some(why) if answer.total < known => Err(why),
        _ => Ok(database.sets().add(clause, order, answer)),
    }
}

/// Converts a sort key in a request to a sort key for the engine.
async fn order_of<D: EngineDatabase>(
    database: &D,
    reader: &D::Reader,
    key: &SortKeySpec,
    found: &Clause<D::Leaf>,
) -> Result<OrderBy<<D::Leaf as Leaf>::SortKey>, Diagnostic> {
    let with_case = key.case_sensitivity == CaseSensitivity::CASE_SENSITIVE;
    let (sort_key, sortable) =
        reader.sort_key(element(&database.options().name, key)?, with_case)?;
    let descending = match key.sort_relation {
        SortRelation::ASCENDING => false,
        SortRelation::DESCENDING => true,
        SortRelation(other) => {
            return Err(diagnostic(Condition::SORT_RELATION, other.to_string()));
        }
    };
    let missing = match &key.missing_value_action {
        None => MissingValue::Last,
        // A missing value counts as an empty value, which comes before all others.
        Some(MissingValueAction::Null) if descending => MissingValue::Last,
        Some(MissingValueAction::Null) => MissingValue::First,
        Some(MissingValueAction::MissingValueData(value)) => {
            MissingValue::As(reader.sort_value(&sort_key, &String::from_utf8_lossy(value)))
        }
        Some(MissingValueAction::Abort) => {
            refuse_missing(database, sortable, found).await?;
            MissingValue::Last
        }
    };
    Ok(OrderBy {
        key: sort_key,
        descending,
        missing,
    })
}

/// Checks that all records have a value to sort by.
///
/// # Errors
/// Fails with condition 213 if a record does not have a value, or with 109 if this is not known.
async fn refuse_missing<D: EngineDatabase>(
    database: &D,
    sortable: D::Leaf,
    found: &Clause<D::Leaf>,
) -> Result<(), Diagnostic> {
    let without = found.clone().and_not(Clause::Leaf(sortable)).bounded()?;
    let plan = Plan::count(&without, database.deadline());
    let answer = database
        .ask(&plan, None)
        .await
        .map_err(|error| database.failure(&error))?;
    if answer.total > 0 {
        return Err(diagnostic(Condition::MISSING_VALUE_ACTION, "abort"));
    }
    let failed = database.failed_source(answer.missing.as_deref())?;
    failed.and_then(|source| source.failure).map_or(Ok(()), Err)
}

fn element<'k>(database: &str, key: &'k SortKeySpec) -> Result<&'k SortKey, Diagnostic> {
    match &key.sort_element {
        SortElement::Generic(key) => Ok(key),
        SortElement::DatabaseSpecific(keys) => {
            let own = keys.iter().find(|key| {
                let name = key.database_name.0.to_string_lossy();
                name.eq_ignore_ascii_case(database)
            });
            let missing = || diagnostic(Condition::SORT_SEQUENCE, "");
            Ok(&own.ok_or_else(missing)?.db_sort)
        }
    }
}

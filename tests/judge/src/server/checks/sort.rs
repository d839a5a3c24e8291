//! Checks of Sort: its keys, its result sets, and the effects of a failed sort (Z39.50-2003 §3.2.7.1).

use z3950_asn1::apdu::{
    AttributeElement, CaseSensitivity, MissingValueAction, Options, Record, SortKeySpec,
    SortRelation, SortRequest, SortResponse, SortStatus,
};
use z3950_asn1::bib1::attributes::{USE, USE_TITLE};

use crate::server::answers::{Reaction, Refusable, WithRecords};
use crate::server::check::{Check, checks};
use crate::server::requests::DEFAULT;
use crate::server::trial::Trial;
use crate::server::verdict::{Checked, Preparation, Verdict, want};
use z3950::service::sort::{key_by_attributes, key_by_field};

const SORT: &str = "Z39.50-2003 §3.2.7.1";

pub(super) const CHECKS: &[Check] = checks! {
    "sort.answered" Shall SORT:
        "A sort is answered by a sortResponse that succeeds or has a diagnostic."
        => answered;
    "sort.same-records" Shall SORT:
        "A sorted set has the records that it had before."
        => same_records;
    "sort.again" Practice SORT:
        "A sort that is repeated gives the same order."
        => same_order;
    "sort.descending" Should SORT:
        "The descending order is not the ascending one, if there are several records."
        => descending;
    "sort.other-set" Shall SORT:
        "A sort into another set leaves its input as it was."
        => other_set;
    "sort.unknown-set" Shall SORT:
        "A sort of a set that does not exist is refused with a diagnostic."
        => unknown_set;
    "sort.unknown-set.code" Should "Bib-1 diagnostic 30":
        "A sort of a set that does not exist is refused with 30."
        => unknown_set_code;
    "sort.key.unknown" Should "Bib-1 diagnostic 207":
        "A sort key that the server does not have is refused with a diagnostic."
        => unknown_key;
    "sort.key.field.unknown" Practice SORT:
        "A sort by a field that the server does not have is refused with a diagnostic."
        => unknown_field;
    "sort.key.none" Practice SORT:
        "A sort without keys is answered."
        => without_keys;
    "sort.key.several" Should SORT:
        "Two sort keys are used, or refused with a diagnostic."
        => two_keys;
    "sort.relation.frequency" Practice SORT:
        "A sort by frequency is done, or refused with a diagnostic."
        => relation(SortRelation::ASCENDING_BY_FREQUENCY);
    "sort.relation.unknown" Practice SORT:
        "A sort by an unknown relation is refused with a diagnostic."
        => unknown_relation;
    "sort.case" Practice SORT:
        "A sort by case is done, or refused with a diagnostic."
        => with_case;
    "sort.missing.abort" Practice SORT:
        "A sort that is to end at a missing value is done, or refused with a diagnostic."
        => missing(MissingValueAction::Abort);
    "sort.missing.data" Practice SORT:
        "A sort with a value for records that have none is done, or refused with a diagnostic."
        => missing(MissingValueAction::MissingValueData("zzz".into()));
    "sort.two-sets" Should SORT:
        "Two sets are sorted into one, or refused with 230."
        => two_sets;
    "sort.failed.set" Should SORT:
        "After a sort that was refused, the set has its records, or resultSetStatus says otherwise."
        => set_after_failure;
};

/// Returns the sort key that most checks use: the title, ascending.
pub(in crate::server) fn by_title() -> Vec<SortKeySpec> {
    vec![title(SortRelation::ASCENDING)]
}

fn title(relation: SortRelation) -> SortKeySpec {
    key_by_attributes(vec![AttributeElement::numeric(USE, USE_TITLE)], relation)
}

/// Creates a result set, sorts it, and returns the answer.
async fn sorted(trial: &mut Trial, keys: Vec<SortKeySpec>) -> Checked<SortResponse> {
    ready(trial, 1).await?;
    trial.ask(SortRequest::in_place(DEFAULT, keys)).await
}

/// Creates a result set of at least this many records, and returns their number. Ends the check if this is not possible, or if
/// Sort is not granted.
async fn ready(trial: &mut Trial, least: i64) -> Checked<i64> {
    trial.session().await?;
    trial.needs(Options::SORT)?;
    trial.hits(least).await
}

async fn answered(trial: &mut Trial) -> Checked {
    sorted(trial, by_title()).await?.reaction().map(drop)
}

/// Sorts a result set as a precondition of a check. Ends the check if this fails.
async fn given_sort(trial: &mut Trial, keys: Vec<SortKeySpec>) -> Checked {
    let response = trial
        .ask(SortRequest::in_place(DEFAULT, keys))
        .await
        .given()?;
    if response.sort_status == SortStatus::SUCCESS {
        Ok(())
    } else {
        Err(Verdict::not_offered("a sort by title was refused"))
    }
}

/// Returns the records of the default result set in order. Ends the check if there are more than 20.
async fn records(trial: &mut Trial, hits: i64) -> Checked<Vec<Vec<u8>>> {
    if hits > 20 {
        return Err(Verdict::not_judged("needs a query with 20 hits at most"));
    }
    let mut octets = Vec::new();
    for position in 1..=hits {
        let request = trial.present(position, 1);
        let response = trial.ask(request).await.given()?;
        match response.records().first().map(|one| &one.record) {
            Some(Record::RetrievalRecord(external)) => octets.push(external.octets().to_vec()),
            _ => {
                return Err(Verdict::not_judged(format!(
                    "record {position} did not come"
                )));
            }
        }
    }
    Ok(octets)
}

async fn same_records(trial: &mut Trial) -> Checked {
    let hits = ready(trial, 2).await?;
    let mut before = records(trial, hits).await?;
    given_sort(trial, by_title()).await?;
    let mut after = records(trial, hits).await?;
    before.sort();
    after.sort();
    want(before == after, "the same records", || {
        "other records".to_owned()
    })
}

async fn same_order(trial: &mut Trial) -> Checked {
    let hits = ready(trial, 2).await?;
    given_sort(trial, by_title()).await?;
    let once = records(trial, hits).await?;
    given_sort(trial, by_title()).await?;
    let twice = records(trial, hits).await?;
    want(once == twice, "the same order", || {
        "another order".to_owned()
    })
}

async fn descending(trial: &mut Trial) -> Checked {
    let hits = ready(trial, 3).await?;
    given_sort(trial, by_title()).await?;
    let up = records(trial, hits).await?;
    given_sort(trial, vec![title(SortRelation::DESCENDING)]).await?;
    let down = records(trial, hits).await?;
    let mut kinds = up.clone();
    kinds.sort();
    kinds.dedup();
    if kinds.len() < 2 {
        return Err(Verdict::not_judged("all records are the same"));
    }
    want(up != down, "another order", || {
        "the ascending order".to_owned()
    })
}

async fn other_set(trial: &mut Trial) -> Checked {
    let hits = ready(trial, 2).await?;
    trial.needs(Options::NAMED_RESULT_SETS)?;
    let before = records(trial, hits).await?;
    let mut request = SortRequest::in_place(DEFAULT, vec![title(SortRelation::DESCENDING)]);
    request.sorted_result_set_name = "judge-sorted".into();
    let response = trial.ask(request).await?;
    if let Reaction::Refused(_) = response.reaction()? {
        return Err(Verdict::not_offered("a sort into another set was refused"));
    }
    let after = records(trial, hits).await?;
    want(before == after, "the input in its order", || {
        "another order".to_owned()
    })
}

async fn of_unknown_set(trial: &mut Trial) -> Checked<SortResponse> {
    ready(trial, 1).await?;
    trial
        .ask(SortRequest::in_place("z3950-conformance-none", by_title()))
        .await
}

async fn unknown_set(trial: &mut Trial) -> Checked {
    of_unknown_set(trial).await?.refused()
}

async fn unknown_set_code(trial: &mut Trial) -> Checked {
    of_unknown_set(trial).await?.refused_with(&[30, 27])
}

async fn unknown_key(trial: &mut Trial) -> Checked {
    let keys = vec![key_by_attributes(
        vec![AttributeElement::numeric(USE, 9999)],
        SortRelation::ASCENDING,
    )];
    sorted(trial, keys).await?.refused()
}

async fn unknown_field(trial: &mut Trial) -> Checked {
    let keys = vec![key_by_field(
        "z3950-conformance-none",
        SortRelation::ASCENDING,
    )];
    sorted(trial, keys).await?.refused()
}

async fn without_keys(trial: &mut Trial) -> Checked {
    sorted(trial, Vec::new()).await?.reaction().map(drop)
}

async fn two_keys(trial: &mut Trial) -> Checked {
    let keys = vec![
        title(SortRelation::ASCENDING),
        title(SortRelation::DESCENDING),
    ];
    sorted(trial, keys).await?.reaction().map(drop)
}

async fn relation(trial: &mut Trial, relation: SortRelation) -> Checked {
    sorted(trial, vec![title(relation)])
        .await?
        .reaction()
        .map(drop)
}

async fn unknown_relation(trial: &mut Trial) -> Checked {
    sorted(trial, vec![title(SortRelation(99))])
        .await?
        .refused()
}

async fn with_case(trial: &mut Trial) -> Checked {
    let key = SortKeySpec {
        case_sensitivity: CaseSensitivity::CASE_SENSITIVE,
        ..title(SortRelation::ASCENDING)
    };
    sorted(trial, vec![key]).await?.reaction().map(drop)
}

async fn missing(trial: &mut Trial, action: MissingValueAction) -> Checked {
    let key = SortKeySpec {
        missing_value_action: Some(action),
        ..title(SortRelation::ASCENDING)
    };
    sorted(trial, vec![key]).await?.reaction().map(drop)
}

async fn two_sets(trial: &mut Trial) -> Checked {
    ready(trial, 1).await?;
    let request = SortRequest {
        input_result_set_names: vec![DEFAULT.into(), DEFAULT.into()],
        ..SortRequest::in_place(DEFAULT, by_title())
    };
    trial.ask(request).await?.reaction().map(drop)
}

async fn set_after_failure(trial: &mut Trial) -> Checked {
    let keys = vec![key_by_attributes(
        vec![AttributeElement::numeric(USE, 9999)],
        SortRelation::ASCENDING,
    )];
    let response = sorted(trial, keys).await.given()?;
    match response.reaction().given()? {
        Reaction::Accepted => return Err(Verdict::not_judged("the sort was not refused")),
        Reaction::Refused(_) => {}
    }
    let first = trial.ask(trial.present(1, 1)).await?;
    if first.first_record().is_err() && response.result_set_status.is_some() {
        return Ok(());
    }
    first.has_records(1)
}

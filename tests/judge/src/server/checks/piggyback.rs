//! Checks of the records in the answer to a search, which depend on the bounds of small, medium and large sets (Z39.50-2003
//! §3.2.2.1.4 to 3.2.2.1.7).

use z3950_asn1::apdu::{ElementSetNames, PresentStatus, SearchRequest, SearchResponse};
use z3950_asn1::oid::Oid;

use crate::server::answers::{Refusable, WithRecords};
use crate::server::check::{Check, checks};
use crate::server::requests::MAX;
use crate::server::trial::Trial;
use crate::server::verdict::{CHANGING, Checked, Preparation, Verdict, want};

const BOUNDS: &str = "Z39.50-2003 §3.2.2.1.6";

pub(super) const CHECKS: &[Check] = checks! {
    "piggyback.small" Shall BOUNDS:
        "Of a small set, all records come."
        => small;
    "piggyback.small.edge" Shall BOUNDS:
        "A set of smallSetUpperBound hits is small."
        => small_edge;
    "piggyback.small.past-edge" Shall BOUNDS:
        "A set of one hit more than smallSetUpperBound is not small."
        => small_past_edge;
    "piggyback.medium" Shall BOUNDS:
        "Of a medium set, mediumSetPresentNumber records come."
        => medium(2);
    "piggyback.medium.one" Shall BOUNDS:
        "Of a medium set, one record comes if one was asked for."
        => medium(1);
    "piggyback.medium.none" Shall BOUNDS:
        "Of a medium set, no record comes if none was asked for."
        => medium(0);
    "piggyback.medium.all" Shall BOUNDS:
        "Of a medium set with fewer hits than mediumSetPresentNumber, all records come."
        => medium_all;
    "piggyback.medium.negative" Practice BOUNDS:
        "A negative mediumSetPresentNumber is answered, and brings no records."
        => medium_negative;
    "piggyback.large" Shall BOUNDS:
        "Of a large set, no records come."
        => large;
    "piggyback.large.edge" Shall BOUNDS:
        "A set of largeSetLowerBound hits is large."
        => large_edge;
    "piggyback.large.past-edge" Shall BOUNDS:
        "A set of one hit less than largeSetLowerBound is not large."
        => large_past_edge;
    "piggyback.bounds.largest" Practice "practice: clients send 2000000000 as largeSetLowerBound":
        "The largest bounds are not taken for negative ones."
        => largest;
    "piggyback.bounds.crossed" Practice BOUNDS:
        "A largeSetLowerBound below smallSetUpperBound is answered."
        => crossed;
    "piggyback.bounds.negative" Practice BOUNDS:
        "Negative bounds are answered."
        => negative;
    "piggyback.count" Shall "Z39.50-2003 §3.2.2.1.8":
        "numberOfRecordsReturned of a searchResponse is the number of its records."
        => counted;
    "piggyback.next-position" Should "Z39.50-2003 §3.2.2.1.9":
        "nextResultSetPosition of a searchResponse is that after its last record, or 0 after the last of the set."
        => next_position;
    "piggyback.status" Should "Z39.50-2003 §3.2.2.1.11":
        "presentStatus of a searchResponse is success if all records came that were asked for."
        => status;
    "piggyback.same-record" Practice "Z39.50-2003 §3.1.6":
        "The first record that comes with a search is the one that Present brings."
        => same_record;
    "piggyback.element-set.of-size" Should "Z39.50-2003 §3.2.2.1.4":
        "The element set name for small sets does not matter for a medium set."
        => element_set;
    "piggyback.syntax.unknown" Should "Z39.50 clarification Piggy-back":
        "A search whose records cannot be sent succeeds, and presentStatus says failure."
        => unknown_syntax;
    "piggyback.syntax.unknown.set" Should "Z39.50-2003 §3.2.2.1.11":
        "The result set of a search whose records cannot be sent can be presented."
        => set_after_unknown_syntax;
};

/// The conditions that mean that the server does not return records with a search.
const NO_PIGGYBACK: [i64; 2] = [1005, 1006];

/// Searches with the given bounds. Ends the check with the verdict "not offered" if the server never returns records with a
/// search.
async fn bounded(
    trial: &mut Trial,
    small: i64,
    large: i64,
    medium: i64,
) -> Checked<SearchResponse> {
    let mut search = trial.good_search()?;
    search.small_set_upper_bound = small;
    search.large_set_lower_bound = large;
    search.medium_set_present_number = medium;
    asked(trial, search).await
}

async fn asked(trial: &mut Trial, search: SearchRequest) -> Checked<SearchResponse> {
    let response = trial.ask(search).await?;
    response.not_offered_if(&NO_PIGGYBACK)?;
    Ok(response)
}

/// Returns the number of hits of the query. Ends the check if the number has changed, or is not between `least` and `most`.
async fn hits(trial: &mut Trial, least: i64, most: i64) -> Checked<i64> {
    let hits = trial.hits(least).await?;
    if hits != trial.offer.hits {
        return Err(Verdict::not_judged(CHANGING));
    }
    if hits <= most {
        Ok(hits)
    } else {
        let reason = format!("needs a query with {least} to {most} hits, not {hits}");
        Err(Verdict::not_judged(reason))
    }
}

/// The maximum number of records that are fetched at once.
const MOST: i64 = 20;

/// Fails unless this number of records was returned, or fewer records with a presentStatus that reports the shortfall.
fn came(response: &SearchResponse, number: i64) -> Checked {
    let is_partial = matches!(
        response.present_status,
        Some(
            PresentStatus::PARTIAL_1
                | PresentStatus::PARTIAL_2
                | PresentStatus::PARTIAL_3
                | PresentStatus::PARTIAL_4
        )
    );
    if is_partial && response.returned() < number {
        response.counted()
    } else {
        response.has_records(number)
    }
}

async fn small(trial: &mut Trial) -> Checked {
    let hits = hits(trial, 1, MOST).await?;
    came(&bounded(trial, hits + 10, hits + 11, 0).await?, hits)
}

async fn small_edge(trial: &mut Trial) -> Checked {
    let hits = hits(trial, 1, MOST).await?;
    came(&bounded(trial, hits, hits + 1, 0).await?, hits)
}

async fn small_past_edge(trial: &mut Trial) -> Checked {
    let hits = hits(trial, 2, MAX - 2).await?;
    came(&bounded(trial, hits - 1, hits + 1, 1).await?, 1)
}

async fn medium(trial: &mut Trial, number: i64) -> Checked {
    let hits = hits(trial, number.max(1), MAX - 2).await?;
    came(&bounded(trial, 0, hits + 1, number).await?, number)
}

async fn medium_all(trial: &mut Trial) -> Checked {
    let hits = hits(trial, 1, MOST).await?;
    came(&bounded(trial, 0, hits + 1, hits + 5).await?, hits)
}

async fn medium_negative(trial: &mut Trial) -> Checked {
    let hits = hits(trial, 1, MAX - 2).await?;
    bounded(trial, 0, hits + 1, -1).await?.has_records(0)
}

async fn large(trial: &mut Trial) -> Checked {
    hits(trial, 1, MAX).await?;
    came(&bounded(trial, 0, 1, 5).await?, 0)
}

async fn large_edge(trial: &mut Trial) -> Checked {
    let hits = hits(trial, 1, MAX).await?;
    came(&bounded(trial, 0, hits, 2).await?, 0)
}

async fn large_past_edge(trial: &mut Trial) -> Checked {
    let hits = hits(trial, 2, MAX - 2).await?;
    came(&bounded(trial, 0, hits + 1, 2).await?, 2)
}

async fn largest(trial: &mut Trial) -> Checked {
    hits(trial, 2, MAX - 2).await?;
    came(&bounded(trial, 0, MAX, 1).await?, 1)
}

async fn crossed(trial: &mut Trial) -> Checked {
    hits(trial, 1, MOST).await?;
    bounded(trial, 20, 1, 1).await?.reaction().map(drop)
}

async fn negative(trial: &mut Trial) -> Checked {
    hits(trial, 1, MAX).await?;
    bounded(trial, -1, -1, 1).await?.reaction().map(drop)
}

async fn counted(trial: &mut Trial) -> Checked {
    let hits = hits(trial, 1, MAX - 2).await?;
    bounded(trial, 0, hits + 1, 1).await?.counted()
}

async fn next_position(trial: &mut Trial) -> Checked {
    let hits = hits(trial, 1, MAX - 2).await?;
    let response = bounded(trial, 0, hits + 1, 1).await?;
    let next = response.returned() + 1;
    let found = response.next_result_set_position;
    let holds = found == next || (found == 0 && next > hits);
    want(holds, format!("nextResultSetPosition {next}"), || {
        response.summary()
    })
}

async fn status(trial: &mut Trial) -> Checked {
    let hits = hits(trial, 1, MAX - 2).await?;
    let response = bounded(trial, 0, hits + 1, 1).await?;
    if response.returned() != 1 {
        return Err(Verdict::not_judged("the record did not come"));
    }
    let holds = response.present_status == Some(PresentStatus::SUCCESS);
    want(holds, "presentStatus success", || response.summary())
}

async fn same_record(trial: &mut Trial) -> Checked {
    let hits = hits(trial, 1, MAX - 2).await?;
    let mut search = trial.good_search()?;
    search.large_set_lower_bound = hits + 1;
    search.medium_set_present_number = 1;
    let request = trial.present(1, 1);
    let response = asked(trial, search).await?;
    let first = response.first_record().given()?;
    let presented = trial.ask(request).await.given()?;
    let second = presented.first_record().given()?;
    want(
        first.octets() == second.octets(),
        "the record that came with the search",
        || {
            format!(
                "a record of {} octets instead of {}",
                second.octets().len(),
                first.octets().len()
            )
        },
    )
}

async fn element_set(trial: &mut Trial) -> Checked {
    let hits = hits(trial, 1, MAX - 2).await?;
    let name = |name: &str| Some(ElementSetNames::GenericElementSetName(name.into()));
    let mut search = trial.good_search()?;
    search.large_set_lower_bound = hits + 1;
    search.medium_set_present_number = 1;
    search.small_set_element_set_names = name("z3950-conformance-none");
    let response = asked(trial, search).await?;
    response.first_record().map(drop)
}

/// Searches with a record syntax that is not registered.
async fn with_unknown_syntax(trial: &mut Trial) -> Checked<SearchResponse> {
    let hits = hits(trial, 1, MAX - 2).await?;
    let mut search = trial.good_search()?;
    search.large_set_lower_bound = hits + 1;
    search.medium_set_present_number = 1;
    search.preferred_record_syntax = Some(Oid::z3950(&[5, 9999]));
    let response = asked(trial, search).await?;
    match response.first_record() {
        Ok(_) => Err(Verdict::not_judged("the record came in another syntax")),
        Err(_) => Ok(response),
    }
}

async fn unknown_syntax(trial: &mut Trial) -> Checked {
    let response = with_unknown_syntax(trial).await?;
    let failed = response.present_status == Some(PresentStatus::FAILURE);
    let holds = response.search_status && (failed || !response.surrogates().is_empty());
    want(
        holds,
        "searchStatus success and presentStatus failure",
        || response.summary(),
    )
}

async fn set_after_unknown_syntax(trial: &mut Trial) -> Checked {
    let response = with_unknown_syntax(trial).await?;
    if !response.search_status {
        return Err(Verdict::not_judged("the search failed"));
    }
    trial.ask(trial.present(1, 1)).await?.has_records(1)
}

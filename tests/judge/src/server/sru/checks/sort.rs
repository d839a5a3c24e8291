//! Checks of sorting: `sortby` in the query in 1.2 and 2.0, `sortKeys` in 1.1.

use z3950_asn1::sru::Version;

use super::super::answer::JudgedReply;
use super::super::trial::SruTrial;
use super::{source, sru_checks};
use crate::server::check::Check;
use crate::server::verdict::{Checked, Preparation, Verdict, want};

pub(super) const CHECKS: &[&[Check]] = sru_checks! {
    "sort.count" Shall any cql "sortby":
        "A sorted search finds the same number of records."
        => same_count;
    "sort.records" Shall any cql "sortby":
        "A sorted search has the records of the one that is not sorted."
        => same_records;
    "sort.repeated" Should any cql "sortby":
        "The records of a sorted search come in the same order again."
        => repeated;
    "sort.direction" Practice any cql "sortby":
        "In descending order, another record than in ascending order comes first, unless all sort alike."
        => directions;
    "sort.index.unknown" Shall any diagnostic "16":
        "Sorting by an unknown index is refused."
        => unknown_index;
    "sort.modifier.unknown" Should any diagnostic "20":
        "An unknown modifier of a sort key is refused."
        => unknown_modifier;
    "sort.keys" Should first search "sortKeys":
        "sortKeys are carried out, or refused with 80 to 92 or 8."
        => keys;
    "sort.keys.unknown" Shall first diagnostic "88":
        "A path of sortKeys that does not exist is refused."
        => unknown_key;
};

/// The diagnostics that mean that the server does not sort, or does not support this way of sorting.
const NOT_SORTED: [u16; 15] = [15, 16, 48, 80, 81, 82, 83, 84, 86, 87, 88, 89, 90, 91, 92];
/// The maximum number of records in a result whose order is compared.
const MOST: u64 = 50;

/// Returns the index to sort by: of the indexes that can be sorted according to the description, one whose name ends with "title"
/// or else the first, and dc.title if there are none.
fn index(trial: &SruTrial) -> String {
    let named = trial.offer.indexes(|index| index.sort == Some(true));
    let title = named.iter().find(|name| name.ends_with("title"));
    let title = title.or(named.first());
    title.cloned().unwrap_or_else(|| "dc.title".to_owned())
}

async fn sorted(trial: &mut SruTrial, version: Version, modifiers: &str) -> Checked<JudgedReply> {
    let query = trial.query(1)?;
    let query = format!("{query} sortby {}{modifiers}", index(trial));
    let search = trial.search_for(version, &query);
    let search = search.with("maximumRecords", MOST.to_string());
    let reply = trial.ask(&search).await?;
    reply.not_offered_if(&NOT_SORTED)?.accepted()
}

/// Returns the data of each record in an answer.
fn data(reply: &JudgedReply) -> Vec<&super::super::tree::XmlNode> {
    let records = reply.records().iter();
    records
        .filter_map(|record| record.child("recordData"))
        .collect()
}

async fn same_count(trial: &mut SruTrial, version: Version) -> Checked {
    trial.indexed()?;
    let hits = trial.given(&trial.search(version)?).await?.hits();
    let reply = sorted(trial, version, "").await?;
    want(reply.hits() == hits, "the same number of records", || {
        reply.summary()
    })
}

async fn same_records(trial: &mut SruTrial, version: Version) -> Checked {
    let search = trial.search(version)?;
    let plain = trial
        .given(&search.with("maximumRecords", MOST.to_string()))
        .await?;
    let reply = sorted(trial, version, "").await?;
    let (plain_data, sorted_data) = (data(&plain), data(&reply));
    let hits = usize::try_from(plain.counted().given()?).unwrap_or(usize::MAX);
    if plain_data.len() < hits || sorted_data.len() < hits {
        return Err(Verdict::not_judged(
            "needs a query whose records come in one answer",
        ));
    }
    let is_there = sorted_data.iter().all(|one| plain_data.contains(one))
        && plain_data.iter().all(|one| sorted_data.contains(one));
    want(is_there, "the same records", || reply.summary())
}

async fn repeated(trial: &mut SruTrial, version: Version) -> Checked {
    let first = sorted(trial, version, "").await.given()?;
    let again = sorted(trial, version, "").await?;
    want(data(&first) == data(&again), "the same order", || {
        again.summary()
    })
}

async fn directions(trial: &mut SruTrial, version: Version) -> Checked {
    trial.indexed()?;
    trial.query(2)?;
    let up = sorted(trial, version, "/sort.ascending").await?;
    let down = sorted(trial, version, "/sort.descending").await?;
    let (up, down_data) = (data(&up), data(&down));
    let is_alike = up.first() == up.last();
    want(
        is_alike || up.first() != down_data.first(),
        "another first record",
        || down.summary(),
    )
}

async fn unknown_index(trial: &mut SruTrial, version: Version) -> Checked {
    let query = format!("{} sortby dc.z3950conformance", trial.query(1)?);
    trial
        .ask(&trial.search_for(version, &query))
        .await?
        .refused_with(&[])
}

async fn unknown_modifier(trial: &mut SruTrial, version: Version) -> Checked {
    sorted(trial, version, "").await.given()?;
    let query = format!("{} sortby {}/z3950none", trial.query(1)?, index(trial));
    trial
        .ask(&trial.search_for(version, &query))
        .await?
        .refused_with(&[])
}

async fn keys(trial: &mut SruTrial, version: Version) -> Checked {
    trial.indexed()?;
    let search = trial.search(version)?;
    let hits = trial.given(&search).await?.hits();
    let reply = trial.ask(&search.with("sortKeys", "title")).await?;
    let reply = reply
        .not_offered_if(&NOT_SORTED)?
        .not_offered_if(&[8])?
        .accepted()?;
    want(reply.hits() == hits, "the same number of records", || {
        reply.summary()
    })
}

async fn unknown_key(trial: &mut SruTrial, version: Version) -> Checked {
    let search = trial.search(version)?.with("sortKeys", "z3950conformance");
    trial.ask(&search).await?.refused_with(&[])
}

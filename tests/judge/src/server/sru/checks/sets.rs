//! Checks of result sets that the server stores (resultSetTTL, resultSetId, and `cql.resultSetId` in queries), and of facets in
//! 2.0.

use z3950_asn1::sru::Version;

use super::super::answer::JudgedReply;
use super::super::model::namespaces;
use super::super::trial::SruTrial;
use super::{source, sru_checks};
use crate::server::check::Check;
use crate::server::verdict::{Checked, Preparation, Verdict, want};

pub(super) const CHECKS: &[&[Check]] = sru_checks! {
    "set.time" Shall all search "resultSetIdleTime":
        "A result set is kept for a time, which the answer to its search names."
        => time;
    "set.searched" Shall all search "resultSetId":
        "A query for a result set finds as many records as its search."
        => searched;
    "set.records" Shall any search "resultSetId":
        "The records of a result set are those of its search."
        => records;
    "set.combined" Should any cql "resultSetId":
        "A result set can be part of a query, or is refused with 55 or 56."
        => combined;
    "set.unknown" Shall any diagnostic "51":
        "A result set that does not exist is refused."
        => unknown(&[]);
    "set.unknown.code" Should any diagnostic "51":
        "A result set that does not exist is refused with 51, or with 50, 15, 16 or 17 where there are none."
        => unknown(&[51, 50, 15, 16, 17]);
    "set.ttl.negative" Shall any diagnostic "6":
        "A negative resultSetTTL is refused."
        => ttl("-1");
    "set.ttl.word" Shall any diagnostic "6":
        "A resultSetTTL that is no number is refused."
        => ttl("long");
    "facets.namespaces" Shall new search "facetedResults":
        "Facets are in their own namespace, after the records."
        => facets;
    "facets.counts" Should new search "facetedResults":
        "No term of a facet has more records than the search."
        => facet_counts;
};

/// Sends a search with resultSetTTL, and returns the name of the result set and the answer.
async fn kept(trial: &mut SruTrial, version: Version) -> Checked<(String, JudgedReply)> {
    let search = trial.search(version)?.with("resultSetTTL", "60");
    let reply = trial
        .ask(&search)
        .await?
        .not_offered_if(&[8, 50, 52])?
        .accepted()?;
    match reply.root().text_of("resultSetId").map(str::to_owned) {
        Some(name) => Ok((name, reply)),
        None => Err(Verdict::not_offered("the server keeps no result set")),
    }
}

fn by_name(name: &str) -> String {
    format!("cql.resultSetId = \"{name}\"")
}

async fn time(trial: &mut SruTrial, version: Version) -> Checked {
    let (_, reply) = kept(trial, version).await?;
    let element = match version {
        Version::V2_0 => "resultSetTTL",
        Version::V1_1 | Version::V1_2 => "resultSetIdleTime",
    };
    let holds = reply.number(element).is_some_and(|seconds| seconds > 0);
    want(holds, format!("{element}, in seconds"), || reply.summary())
}

async fn searched(trial: &mut SruTrial, version: Version) -> Checked {
    let (name, first) = kept(trial, version).await?;
    let reply = trial
        .ask(&trial.search_for(version, &by_name(&name)))
        .await?
        .accepted()?;
    want(reply.hits() == first.hits(), "as many records", || {
        reply.summary()
    })
}

async fn records(trial: &mut SruTrial, version: Version) -> Checked {
    let (name, first) = kept(trial, version).await?;
    let reply = trial
        .ask(&trial.search_for(version, &by_name(&name)))
        .await
        .given()?;
    let data = |reply: &JudgedReply| {
        let record = reply.records().first()?;
        record.text_of("recordPosition").map(str::to_owned)
    };
    let same = reply
        .records()
        .first()
        .and_then(|record| record.child("recordData"))
        == first
            .records()
            .first()
            .and_then(|record| record.child("recordData"));
    want(
        same && data(&reply) == data(&first),
        "the same first record",
        || reply.summary(),
    )
}

async fn combined(trial: &mut SruTrial, version: Version) -> Checked {
    let (name, first) = kept(trial, version).await?;
    let query = format!("{} and ({})", by_name(&name), trial.query(1)?);
    let reply = trial.ask(&trial.search_for(version, &query)).await?;
    let reply = reply.not_offered_if(&[55, 56])?.accepted()?;
    want(reply.hits() == first.hits(), "as many records", || {
        reply.summary()
    })
}

async fn unknown(trial: &mut SruTrial, version: Version, numbers: &[u16]) -> Checked {
    let search = trial.search_for(version, &by_name("z3950-conformance-none"));
    trial.ask(&search).await?.refused_with(numbers)
}

async fn ttl(trial: &mut SruTrial, version: Version, value: &str) -> Checked {
    let search = trial.search(version)?.with("resultSetTTL", value);
    trial.ask(&search).await?.refused_with(&[])
}

/// Sends a search with facets.
async fn faceted(trial: &mut SruTrial, version: Version) -> Checked<JudgedReply> {
    let index = trial.scan(version).ok();
    let index = index
        .as_ref()
        .and_then(|scan| scan.value("scanClause")?.split('=').next());
    let limit = format!("3:{}", index.unwrap_or("dc.title"));
    let search = trial.search(version)?.with("facetLimit", limit);
    let reply = trial
        .ask(&search)
        .await?
        .not_offered_if(&[8, 16, 15, 48])?
        .accepted()?;
    match reply.root().child("facetedResults") {
        Some(_) => Ok(reply),
        None => Err(Verdict::not_offered("the answer has no facets")),
    }
}

async fn facets(trial: &mut SruTrial, version: Version) -> Checked {
    let reply = faceted(trial, version).await?;
    let own = "http://docs.oasis-open.org/ns/search-ws/facetedResults";
    let (of_response, _) = namespaces(version, "searchRetrieveResponse");
    let facets = reply.root().child("facetedResults");
    let holds = facets.is_some_and(|facets| {
        [own, of_response].contains(&&*facets.namespace)
            && facets
                .children
                .iter()
                .all(|facet| facet.name == "facet" && facet.namespace == own)
    });
    want(holds, format!("facets in {own}"), || reply.summary())
}

async fn facet_counts(trial: &mut SruTrial, version: Version) -> Checked {
    trial.indexed()?;
    let reply = faceted(trial, version).await?;
    let hits = reply.counted()?;
    for facet in reply.root().list("facetedResults") {
        for term in facet.list("terms") {
            let count = term
                .text_of("count")
                .and_then(|count| count.parse::<u64>().ok());
            want(
                count.is_some_and(|count| count <= hits),
                format!("counts of {hits} at most"),
                || term.text_of("count").unwrap_or("none").to_owned(),
            )?;
        }
    }
    Ok(())
}

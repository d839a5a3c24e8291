//! Checks of refusals: parameters that must be refused, and the contents of an answer with diagnostics.

use z3950_asn1::sru::Version;

use super::super::trial::SruTrial;
use super::{source, sru_checks};
use crate::server::check::Check;
use crate::server::verdict::{Checked, Verdict, want};

pub(super) const CHECKS: &[&[Check]] = sru_checks! {
    "parameter.unknown" Should all diagnostic "8":
        "A parameter that does not exist is refused with 8."
        => unknown;
    "parameter.unknown.details" Should any diagnostic "8":
        "The details of diagnostic 8 are the name of the parameter."
        => unknown_details;
    "parameter.unknown.search" Should any diagnostic "8":
        "A request that is refused for a parameter brings no records."
        => unknown_search;
    "parameter.extension" Shall all search "extraRequestData":
        "A parameter whose name begins with x- and that the server does not know is ignored."
        => extension;
    "parameter.query.missing" Shall old diagnostic "7":
        "A search without a query is refused."
        => without_query(&[]);
    "parameter.query.missing.code" Should old diagnostic "7":
        "A search without a query is refused with 7, mandatory parameter not supplied."
        => without_query(&[7]);
    "parameter.query.empty" Should all diagnostic "7":
        "An empty query is refused, or answered as an explain."
        => empty_query;
    "parameter.query-type.unknown" Shall new diagnostic "11":
        "A type of query that the server does not have is refused."
        => query_type(&[]);
    "parameter.query-type.unknown.code" Should new diagnostic "11":
        "A type of query that the server does not have is refused with 11, unsupported query type, or 6."
        => query_type(&[11, 6]);
    "parameter.stylesheet" Should all diagnostic "110":
        "A stylesheet is named in front of the answer, or refused with 110 or 8."
        => stylesheet;
    "parameter.order" Practice all search "request":
        "The order of parameters does not matter."
        => order;
    "failure.count" Shall old search "numberOfRecords":
        "A search that failed has numberOfRecords 0."
        => count_of_failure;
    "failure.records" Shall all search "diagnostics":
        "A search that failed has no records."
        => records_of_failure;
    "failure.message" Practice any diagnostic "message":
        "A diagnostic has words for people, or details."
        => message;
};

const UNKNOWN: &str = "z3950Conformance";

async fn unknown(trial: &mut SruTrial, version: Version) -> Checked {
    let search = trial.search(version)?.with(UNKNOWN, "1");
    trial.ask(&search).await?.refused_with(&[8])
}

async fn unknown_details(trial: &mut SruTrial, version: Version) -> Checked {
    let search = trial.search(version)?.with(UNKNOWN, "1");
    let reply = trial.ask(&search).await?;
    let found = reply.diagnostics();
    let found = found.iter().find(|one| one.number() == Some(8));
    let found = found.ok_or_else(|| Verdict::not_judged("diagnostic 8 did not come"))?;
    want(
        found.details == UNKNOWN,
        format!("details {UNKNOWN}"),
        || reply.summary(),
    )
}

async fn unknown_search(trial: &mut SruTrial, version: Version) -> Checked {
    let search = trial.search(version)?.with(UNKNOWN, "1");
    let reply = trial.ask(&search).await?;
    if reply.diagnostics().is_empty() {
        return Err(Verdict::not_judged("no diagnostic came"));
    }
    want(reply.records().is_empty(), "no records", || reply.summary())
}

async fn extension(trial: &mut SruTrial, version: Version) -> Checked {
    let search = trial.search(version)?.with("x-z3950-conformance", "1");
    let reply = trial.ask(&search).await?.accepted()?;
    want(!reply.records().is_empty(), "a record", || reply.summary())
}

async fn without_query(trial: &mut SruTrial, version: Version, numbers: &[u16]) -> Checked {
    let search = trial.search(version)?.without("query");
    trial.ask(&search).await?.refused_with(numbers)
}

async fn empty_query(trial: &mut SruTrial, version: Version) -> Checked {
    let search = trial.search(version)?.with("query", "");
    let reply = trial.ask(&search).await?;
    if reply.is("explainResponse") {
        Ok(())
    } else {
        reply.refused_with(&[7, 10, 27, 6])
    }
}

async fn query_type(trial: &mut SruTrial, version: Version, numbers: &[u16]) -> Checked {
    let search = trial.search(version)?.with("queryType", "z3950conformance");
    trial.ask(&search).await?.refused_with(numbers)
}

async fn stylesheet(trial: &mut SruTrial, version: Version) -> Checked {
    let search = trial
        .search(version)?
        .with("stylesheet", "/z3950-conformance.xsl");
    let reply = trial.ask(&search).await?;
    let mut instructions = reply.tree.instructions.iter();
    let is_named = instructions
        .any(|one| one.starts_with("xml-stylesheet") && one.contains("/z3950-conformance.xsl"));
    let holds = is_named || reply.has_diagnostic(&[110, 111, 8]);
    want(holds, "<?xml-stylesheet …?>, or diagnostic 110", || {
        reply.summary()
    })
}

async fn order(trial: &mut SruTrial, version: Version) -> Checked {
    let search = trial.search(version)?;
    let hits = trial.given(&search).await?.hits();
    let reply = trial.ask(&search.reversed()).await?;
    want(reply.hits() == hits, "the same number of records", || {
        reply.summary()
    })
}

/// A search that fails because its index does not exist.
const FAILING: &str = "dc.z3950conformance=a";

async fn count_of_failure(trial: &mut SruTrial, version: Version) -> Checked {
    let reply = trial.ask(&trial.search_for(version, FAILING)).await?;
    if reply.diagnostics().is_empty() {
        return Err(Verdict::not_judged("the search did not fail"));
    }
    want(reply.hits() == Some(0), "numberOfRecords 0", || {
        reply.summary()
    })
}

async fn records_of_failure(trial: &mut SruTrial, version: Version) -> Checked {
    let reply = trial.ask(&trial.search_for(version, FAILING)).await?;
    if reply.diagnostics().is_empty() {
        return Err(Verdict::not_judged("the search did not fail"));
    }
    let holds = reply.records().is_empty() && reply.hits().unwrap_or_default() == 0;
    want(holds, "no records", || reply.summary())
}

async fn message(trial: &mut SruTrial, version: Version) -> Checked {
    let reply = trial.ask(&trial.search_for(version, FAILING)).await?;
    let found = reply.diagnostics();
    let first = found
        .first()
        .ok_or_else(|| Verdict::not_judged("the search did not fail"))?;
    let holds = !(first.message.is_empty() && first.details.is_empty());
    want(holds, "a message or details", || reply.summary())
}

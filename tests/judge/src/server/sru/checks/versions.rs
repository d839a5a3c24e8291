//! Checks of versions and operations: the version of answers, and the reaction to unknown versions and operations.

use z3950_asn1::sru::Version;

use super::super::model::namespaces;
use super::super::trial::{SentRequest, SruTrial};
use super::{source, sru_checks};
use crate::server::check::Check;
use crate::server::verdict::{Checked, Verdict, want};

pub(super) const CHECKS: &[&[Check]] = sru_checks! {
    "version.named" Shall old search "version":
        "An answer in 1.1 or 1.2 names the version of the request."
        => named;
    "version.absent" Should new search "version":
        "An answer in 2.0 names no version."
        => absent;
    "version.not-later" Shall any search "version":
        "A request in 1.1 is not answered in a later version."
        => not_later;
    "version.unknown" Shall any diagnostic "5":
        "A version that the server does not have is refused."
        => unknown(&[]);
    "version.unknown.code" Should any diagnostic "5":
        "A version that the server does not have is refused with 5, unsupported version."
        => unknown(&[5]);
    "version.unknown.details" Should any diagnostic "5":
        "The details of diagnostic 5 are the highest version that the server has."
        => highest;
    "version.missing" Should any diagnostic "7":
        "A server without 2.0 asks for the version if a request has none."
        => missing;
    "operation.unknown" Shall old diagnostic "4":
        "An operation that does not exist is refused."
        => unknown_operation(&[]);
    "operation.unknown.code" Should old diagnostic "4":
        "An operation that does not exist is refused with 4, unsupported operation."
        => unknown_operation(&[4]);
    "operation.missing" Practice old search "operation":
        "A request with a query and without an operation is answered, or gets a diagnostic."
        => missing_operation;
    "operation.base-url" Should any explain "serverInfo":
        "The base URL alone leads to the description of the server."
        => base_url;
};

async fn named(trial: &mut SruTrial, version: Version) -> Checked {
    let reply = trial.ask(&trial.search(version)?).await?;
    let named = reply.root().text_of("version");
    let wanted = format!("version {}", version.as_str());
    want(named == Some(version.as_str()), wanted, || reply.summary())
}

async fn absent(trial: &mut SruTrial, version: Version) -> Checked {
    let reply = trial.ask(&trial.search(version)?).await?;
    let is_absent = reply.root().child("version").is_none();
    want(is_absent, "no version", || reply.summary())
}

async fn not_later(trial: &mut SruTrial, _: Version) -> Checked {
    let search = trial.search_for(Version::V1_1, &trial.query(0)?);
    let reply = trial.ask(&search).await?;
    let (namespace, _) = namespaces(Version::V1_1, "searchRetrieveResponse");
    let is_old = reply.root().namespace == namespace;
    let named = reply.root().text_of("version").unwrap_or_default();
    let holds = is_old && named <= "1.1" || reply.has_diagnostic(&[5]);
    want(holds, "an answer in 1.1, or diagnostic 5", || {
        format!("{} in {}", reply.summary(), reply.root().namespace)
    })
}

async fn unknown(trial: &mut SruTrial, _: Version, numbers: &[u16]) -> Checked {
    let search = trial.search_for(Version::V1_1, &trial.query(0)?);
    let reply = trial.ask(&search.with("version", "9.9")).await?;
    reply.refused_with(numbers)
}

async fn highest(trial: &mut SruTrial, main: Version) -> Checked {
    let search = trial.search_for(Version::V1_1, &trial.query(0)?);
    let reply = trial.ask(&search.with("version", "9.9")).await?;
    let found = reply.diagnostics();
    let Some(found) = found.iter().find(|one| one.number() == Some(5)) else {
        return Err(Verdict::not_judged("diagnostic 5 did not come"));
    };
    let wanted = format!("details {}", main.as_str());
    want(found.details == main.as_str(), wanted, || reply.summary())
}

async fn missing(trial: &mut SruTrial, main: Version) -> Checked {
    if main == Version::V2_0 && !trial.offer.names_version {
        return Err(Verdict::not_judged(
            "the server has 2.0, where requests have no version",
        ));
    }
    let search = trial.search_for(Version::V1_1, &trial.query(0)?);
    let reply = trial.ask(&search.without("version")).await?;
    reply.refused_with(&[7, 5])
}

async fn unknown_operation(trial: &mut SruTrial, version: Version, numbers: &[u16]) -> Checked {
    let search = trial.search_for(version, &trial.query(0)?);
    let reply = trial
        .ask(&search.with("operation", "z3950Conformance"))
        .await?;
    reply.refused_with(numbers)
}

async fn missing_operation(trial: &mut SruTrial, version: Version) -> Checked {
    let search = trial.search(version)?.without("operation");
    let reply = trial.ask(&search).await?;
    let holds = reply.hits().is_some() || !reply.diagnostics().is_empty();
    want(holds, "an answer to the search, or a diagnostic", || {
        reply.summary()
    })
}

async fn base_url(trial: &mut SruTrial, _: Version) -> Checked {
    let message = SentRequest::get(trial.base());
    let reply = trial.ask_by(message).await?;
    let holds = reply.is("explainResponse") || reply.is("explain");
    want(holds, "an explainResponse", || reply.summary())
}

//! Determines what an SRU server offers, before it is judged.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use z3950_asn1::sru::zeerex::ZeeRex;
use z3950_asn1::sru::{Response, SruLimits, Version};

use super::answer::JudgedReply;
use super::parameters::SruParameters;
use super::trial::{SentRequest, SruTrial};
use crate::server::ledger::Ledger;
use crate::server::offer::{FEW, MissingPrerequisite, SruOffer, TOO_LATE, WORDS, is_better};
use crate::server::options::JudgedServer;
use crate::server::requests::NOWHERE;
use crate::server::verdict::{Checked, Verdict};

/// The versions of SRU, earliest first.
const VERSIONS: [Version; 3] = [Version::V1_1, Version::V1_2, Version::V2_0];

/// Determines what the server offers within a time limit. Also returns the ledger, which records the cost.
pub(in crate::server) async fn learn(
    server: &Arc<JudgedServer>,
    limit: Duration,
) -> (SruOffer, Ledger) {
    let mut trial = SruTrial::new(Arc::clone(server), Arc::default());
    let mut offer = SruOffer {
        path: trial.base(),
        ..SruOffer::default()
    };
    match timeout(limit, fill(&mut offer, &mut trial)).await {
        Ok(Ok(())) => {}
        Ok(Err(verdict)) => {
            offer.notes.push(verdict.into_words());
            offer.missing.push(MissingPrerequisite::Answer);
        }
        Err(_) => {
            offer.notes.push(TOO_LATE.to_owned());
            offer.missing.push(MissingPrerequisite::Answer);
        }
    }
    (offer, trial.ledger)
}

async fn fill(offer: &mut SruOffer, trial: &mut SruTrial) -> Checked {
    let given = trial.options().cql.clone();
    let terms = trial.options().terms.clone();
    let first = given.clone().or_else(|| terms.first().cloned());
    let first = first.unwrap_or_else(|| "a".to_owned());
    let mut is_absent = true;
    for version in VERSIONS {
        is_absent &= find_version(offer, trial, version, &first).await?;
    }
    if is_absent {
        offer.missing.push(MissingPrerequisite::Database);
        return Ok(());
    }
    let Some(main) = offer.versions.last().copied() else {
        return Err(Verdict::not_judged("no search was answered in any version"));
    };
    describe(offer, trial, main).await?;
    find_query(offer, trial, main, given, &terms).await?;
    let nowhere = SruParameters::search(main, offer.names_version, NOWHERE);
    offer.has_index = trial.ask(&nowhere).await?.hits().unwrap_or_default() == 0;
    if !offer.has_index {
        let note = format!(
            "{NOWHERE}, a word that occurs nowhere, has hits: what queries find is not judged"
        );
        offer.notes.push(note);
    }
    find_scan(offer, trial, main).await
}

/// The diagnostic that means that a database does not exist.
const NO_DATABASE: u16 = 235;

/// Tries a search in a version. Version 2.0 is tried a second time with the parameter `version`, which some servers require.
/// Returns whether the server answers that the database does not exist.
async fn find_version(
    offer: &mut SruOffer,
    trial: &mut SruTrial,
    version: Version,
    query: &str,
) -> Checked<bool> {
    let mut is_absent = false;
    let mut came = String::new();
    let ways: &[bool] = match version {
        Version::V2_0 => &[false, true],
        _ => &[false],
    };
    for names_version in ways {
        let search = SruParameters::search(version, *names_version, query);
        let message = SentRequest::get(trial.path_of(&search));
        let read = match trial.exchange(message).await {
            Ok(http) => {
                is_absent = matches!(http.status, 404 | 410);
                JudgedReply::read(http).map_err(Verdict::from)
            }
            Err(verdict) => Err(verdict),
        };
        match read {
            Ok(reply) if reply.has_diagnostic(&[NO_DATABASE]) => {
                (is_absent, came) = (true, reply.summary());
            }
            Ok(reply) => {
                offer.has_answered |= reply.is("searchRetrieveResponse");
                if reply.is("searchRetrieveResponse") && reply.is_in(version) {
                    offer.versions.push(version);
                    offer.names_version |= *names_version;
                    return Ok(false);
                }
                came = reply.summary();
            }
            Err(Verdict::Fail { came: words, .. }) => came = words,
            Err(other) => return Err(other),
        }
    }
    let name = version.as_str();
    offer.notes.push(format!("not answered in {name}: {came}"));
    Ok(is_absent)
}

/// Requests the server's explain record.
async fn describe(offer: &mut SruOffer, trial: &mut SruTrial, main: Version) -> Checked {
    let explain = SruParameters::explain(main, offer.names_version);
    let reply = match trial.ask(&explain).await {
        Ok(reply) => reply,
        Err(Verdict::Fail { came, .. }) => {
            let note = format!("no description of the server: {came}");
            offer.notes.push(note);
            return Ok(());
        }
        Err(other) => return Err(other),
    };
    let limits = SruLimits::default();
    let read = Response::from_xml(reply.http.body.clone(), &limits);
    let record = match read {
        Ok(Response::Explain(explain)) => explain.record,
        _ => None,
    };
    offer.description = record.and_then(|record| ZeeRex::from_xml(record.data, &limits).ok());
    if offer.description.is_none() {
        let came = reply.summary();
        offer
            .notes
            .push(format!("no description of the server: {came}"));
    }
    Ok(())
}

/// Finds a query with hits, preferably with only a few. If the user has given a query, it is used; otherwise, words are tried
/// without an index and in titles.
async fn find_query(
    offer: &mut SruOffer,
    trial: &mut SruTrial,
    main: Version,
    given: Option<String>,
    terms: &[String],
) -> Checked {
    if let Some(query) = given {
        let refusal = try_query(offer, trial, main, query.clone()).await?;
        let (missing, words) = match refusal {
            Some(words) => (MissingPrerequisite::Query, format!("was refused: {words}")),
            None if offer.hits > 0 => return Ok(()),
            None => (MissingPrerequisite::Hits, "has no hits".to_owned()),
        };
        offer.missing.push(missing);
        let note = format!("the query {query} {words}; what needs a query with hits is not judged");
        offer.notes.push(note);
        return Ok(());
    }
    for form in ["", "cql.serverChoice=", "dc.title=", "title="] {
        for word in terms.iter().map(String::as_str).chain(WORDS) {
            if FEW.contains(&number(offer.hits)) {
                return Ok(());
            }
            let refusal = try_query(offer, trial, main, format!("{form}{word}")).await?;
            // A server that refuses this index would refuse it with any word, so no other word is tried.
            if refusal.is_some() {
                break;
            }
        }
        if offer.hits > 0 {
            return Ok(());
        }
    }
    offer.notes.push("no query with hits was found".to_owned());
    Ok(())
}

/// Runs a query, and retains it if it is the best so far. Returns the answer if the query was refused.
async fn try_query(
    offer: &mut SruOffer,
    trial: &mut SruTrial,
    main: Version,
    query: String,
) -> Checked<Option<String>> {
    let search = SruParameters::search(main, offer.names_version, &query);
    let reply = trial.ask(&search.with("maximumRecords", "0")).await?;
    let hits = reply.hits().filter(|_| reply.diagnostics().is_empty());
    let is_better = hits.is_some_and(|hits| is_better(number(hits), number(offer.hits)));
    if is_better || offer.query.is_none() {
        (offer.query, offer.hits) = (Some(query), hits.unwrap_or_default());
    }
    Ok(hits.is_none().then(|| reply.summary()))
}

fn number(hits: u64) -> i64 {
    i64::try_from(hits).unwrap_or(i64::MAX)
}

/// Finds an index that can be scanned.
async fn find_scan(offer: &mut SruOffer, trial: &mut SruTrial, main: Version) -> Checked {
    let term = offer.term().to_owned();
    let described = offer.indexes(|index| index.scan == Some(true));
    let usual = ["dc.title", "title", "cql.serverChoice"].map(str::to_owned);
    let of_query = offer
        .query
        .clone()
        .filter(|query| query.contains('=') && !query.contains([' ', '(']));
    let clauses = usual
        .into_iter()
        .chain(described.into_iter().take(3))
        .map(|index| format!("{index}={term}"));
    for clause in of_query.into_iter().chain(clauses) {
        let scan = SruParameters::scan(main, offer.names_version, &clause);
        let reply = match trial.ask(&scan).await {
            Ok(reply) => reply,
            Err(Verdict::Fail { .. }) => continue,
            Err(other) => return Err(other),
        };
        if reply.is("scanResponse") && !reply.terms().is_empty() {
            offer.scan_clause = Some(clause);
            return Ok(());
        }
    }
    Ok(())
}

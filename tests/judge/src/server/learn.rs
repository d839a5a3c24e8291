//! Determines what a Z39.50 server offers, before it is judged.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use z3950_asn1::apdu::{AttributeElement, DatabaseName, Query, RpnQuery, RpnStructure};
use z3950_asn1::bib1::attributes::{USE, USE_ANY, USE_TITLE};
use z3950_asn1::oid::{EXPLAIN, GRS_1, OPAC, Oid, SUTRS, UNIMARC, USMARC, XML};
use z3950_asn1::record::RetrievedRecord;
use z3950_asn1::record::explain::ExplainRecord;

use super::answers::WithRecords;
use super::checks::updates;
use super::ledger::Ledger;
use super::offer::{FEW, MissingPrerequisite, Offer, TOO_LATE, WORDS, is_better};
use super::options::JudgedServer;
use super::requests::{present, search};
use super::trial::Trial;
use super::verdict::Checked;
use z3950::service::explain::{DATABASE as EXPLAIN_DATABASE, ExplainOptions};
use z3950::target::adapt::DEFAULT_DATABASE;

/// The maximum number of databases listed in Explain that are inspected.
const MOST_LISTED: i64 = 10;
/// The maximum number of consecutive requests for a record that may go unanswered. Further syntaxes are not tried.
pub(super) const MAX_UNANSWERED: u32 = 2;
/// The record syntaxes that are tried.
pub(super) const SYNTAXES: [Oid; 6] = [USMARC, UNIMARC, XML, SUTRS, GRS_1, OPAC];

/// Determines what the server offers within a time limit. Also returns the ledger, which records the cost.
pub(super) async fn learn(target: &Arc<JudgedServer>, limit: Duration) -> (Offer, Ledger) {
    let named = &target.options.databases;
    let mut offer = Offer {
        databases: if named.is_empty() {
            vec![DEFAULT_DATABASE.into()]
        } else {
            named.clone()
        },
        is_default: named.is_empty(),
        ..Offer::default()
    };
    let mut trial = Trial::new(Arc::clone(target), Arc::new(offer.clone()));
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
    trial.leave().await;
    (offer, trial.ledger)
}

async fn fill(offer: &mut Offer, trial: &mut Trial) -> Checked {
    let init = trial.opened(trial.base_init()).await?;
    let is_open = init.result;
    offer.init = Some(init);
    if !is_open {
        offer.missing.push(MissingPrerequisite::Session);
        offer.notes.push("the server rejected Init".to_owned());
        return Ok(());
    }
    (offer.version, offer.granted) = (trial.version, trial.granted);
    find_query(offer, trial).await?;
    if offer.missing.contains(&MissingPrerequisite::Database) {
        let listed = if offer.is_default {
            first_listed(trial).await
        } else {
            None
        };
        let Some(database) = listed else {
            return Ok(());
        };
        let name = database.0.to_string_lossy();
        let note = format!("{name}, the first database that Explain lists, is judged");
        offer.notes.push(note);
        offer.missing.clear();
        offer.databases = vec![database];
        offer.query = None;
        find_query(offer, trial).await?;
    }
    find_syntaxes(offer, trial).await?;
    find_updates(offer, trial).await
}

/// The conditions that mean that a database does not exist.
const NO_DATABASE: [i64; 3] = [109, 235, 236];

/// Finds a query with hits, preferably with only a few. If the user has given a query, it is used; otherwise, words are tried in
/// any field, in the title, and without attributes.
async fn find_query(offer: &mut Offer, trial: &mut Trial) -> Checked {
    let (given, terms) = (trial.options().query.clone(), trial.options().terms.clone());
    if let Some(query) = given {
        let refusal = hits_of(offer, trial, query.clone()).await?;
        let (missing, words) = match refusal {
            Some(words) => (MissingPrerequisite::Query, format!("was refused: {words}")),
            None if offer.hits > 0 => return Ok(()),
            None => (MissingPrerequisite::Hits, "has no hits".to_owned()),
        };
        if !offer.missing.contains(&MissingPrerequisite::Database) {
            offer.missing.push(missing);
            let note =
                format!("the query {query} {words}; what needs a query with hits is not judged");
            offer.notes.push(note);
        }
        return Ok(());
    }
    let words: Vec<&str> = terms.iter().map(String::as_str).chain(WORDS).collect();
    let uses = [Some(USE_ANY), Some(USE_TITLE), None];
    let mut refusal = None;
    for use_value in uses {
        for word in &words {
            let attributes = use_value.map(|value| AttributeElement::numeric(USE, value));
            let rpn = RpnStructure::term(attributes.into_iter().collect(), *word);
            refusal = hits_of(offer, trial, RpnQuery::bib1(rpn)).await?;
            if offer.missing.contains(&MissingPrerequisite::Database) {
                return Ok(());
            }
            // No other word is tried if the server refuses the attributes, because it would refuse them with any word, or if the
            // number of hits is already small.
            if refusal.is_some() || FEW.contains(&offer.hits) {
                break;
            }
        }
        if offer.hits > 0 {
            return Ok(());
        }
    }
    let reason = refusal.unwrap_or_else(|| "none of the words tried has a hit".to_owned());
    offer.notes.push(format!("no query with hits: {reason}"));
    Ok(())
}

/// Runs a query, and retains it if it is the best so far. If the query was refused, returns the reason. If a database is missing,
/// this is recorded.
async fn hits_of(offer: &mut Offer, trial: &mut Trial, query: RpnQuery) -> Checked<Option<String>> {
    let request = search(offer.databases.clone(), Query::Type1(query.clone()));
    if offer.query.is_none() {
        offer.query = Some(query.clone());
    }
    let response = trial.ask(request).await?;
    if response.search_status {
        let was_refused = offer.refusal.take().is_some();
        if was_refused || is_better(response.result_count, offer.hits) {
            (offer.query, offer.hits) = (Some(query), response.result_count);
        }
        return Ok(None);
    }
    let diagnostics = response.all_diagnostics();
    let Some(first) = diagnostics.first() else {
        return Ok(Some("a failure without a diagnostic".to_owned()));
    };
    if diagnostics
        .iter()
        .any(|one| NO_DATABASE.contains(&one.condition))
    {
        let names = offer.databases.iter().map(|name| name.0.to_string_lossy());
        let names = names.collect::<Vec<_>>().join(", ");
        offer.notes.push(format!("no database {names}: {first}"));
        offer.missing.push(MissingPrerequisite::Database);
    } else if offer.query == Some(query) {
        offer.refusal = Some(first.to_string());
    }
    Ok(Some(first.to_string()))
}

/// Returns the first database of records that is listed in Explain, or `None` if there is no such database.
async fn first_listed(trial: &mut Trial) -> Option<DatabaseName> {
    let mut asked = ExplainOptions::default();
    asked.category = "DatabaseInfo".to_owned();
    let request = search(vec![EXPLAIN_DATABASE.into()], asked.query());
    let found = trial.ask(request).await.ok()?;
    for position in 1..=found.result_count.min(MOST_LISTED) {
        let mut request = present(position, 1);
        request.preferred_record_syntax = Some(EXPLAIN);
        let response = trial.ask(request).await.ok()?;
        let record = response.first_record().ok()?;
        if let RetrievedRecord::Explain(ExplainRecord::DatabaseInfo(info)) =
            RetrievedRecord::of(record)
            && info.explain_database.is_none()
            && info.available
        {
            return Some(info.name);
        }
    }
    None
}

/// Tests whether a record can be stored and deleted, if the user has permitted this.
async fn find_updates(offer: &mut Offer, trial: &mut Trial) -> Checked {
    let Some(database) = trial.options().may_update.clone() else {
        return Ok(());
    };
    if let Err(verdict) = updates::tried(trial).await {
        let name = database.0.to_string_lossy();
        let note = format!("database {name} takes no updates: {}", verdict.into_words());
        offer.notes.push(note);
        offer.missing.push(MissingPrerequisite::Updates);
    }
    Ok(())
}

/// Requests the first record in each of the syntaxes to find out which are offered.
async fn find_syntaxes(offer: &mut Offer, trial: &mut Trial) -> Checked {
    let Some(query) = offer.query.clone().filter(|_| offer.hits > 0) else {
        return Ok(());
    };
    let mut unanswered = 0;
    for syntax in SYNTAXES {
        if unanswered == MAX_UNANSWERED {
            break;
        }
        // Some servers end the session instead of sending a diagnostic, so a new session may be needed.
        if !trial.is_connected() {
            trial.session().await?;
        }
        let request = search(offer.databases.clone(), Query::Type1(query.clone()));
        let mut first = present(1, 1);
        first.preferred_record_syntax = Some(syntax);
        let came = match trial.ask(request).await {
            Ok(_) => trial.ask(first).await,
            Err(verdict) => Err(verdict),
        };
        match came {
            Ok(response) => {
                unanswered = 0;
                let found = response.first_record().ok();
                if found.is_some_and(|record| record.direct_reference == Some(syntax)) {
                    offer.syntaxes.push(syntax);
                }
            }
            Err(_) => {
                let is_silent = std::mem::take(&mut trial.ledger.is_silent);
                unanswered = if is_silent { unanswered + 1 } else { 0 };
                trial.hang_up();
            }
        }
    }
    Ok(())
}

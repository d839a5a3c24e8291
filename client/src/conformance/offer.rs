//! What a server offers, found out before it is judged: a session, a database, a query that has hits, record syntaxes.

use std::sync::Arc;

use z3950_asn1::apdu::{
    AttributeElement, DatabaseName, InitializeResponse, Options, Query, RpnQuery, RpnStructure,
};
use z3950_asn1::bib1::attributes::{USE, USE_ANY, USE_TITLE};
use z3950_asn1::oid::{GRS_1, OPAC, Oid, SUTRS, UNIMARC, USMARC, XML};

use super::answers::WithRecords;
use super::check::{Checked, Verdict};
use super::judge::JudgedServer;
use super::requests::{present, search};
use super::trial::Trial;

/// Words that occur in most catalogues, in some of their languages; the last ones are for test servers.
const WORDS: [&str; 14] = [
    "history", "war", "water", "the", "of", "a", "de", "la", "und", "computer", "book", "test",
    "peace", "1",
];
/// A set of this many hits can be fetched whole.
const FEW: std::ops::RangeInclusive<i64> = 3..=20;
/// The record syntaxes that are tried.
pub(super) const SYNTAXES: [Oid; 6] = [USMARC, UNIMARC, XML, SUTRS, GRS_1, OPAC];

/// What a server offers.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Offer {
    /// Its answer to Init; `None` if there was none.
    pub init: Option<InitializeResponse>,
    /// The version in force; 0 without a session.
    pub version: u8,
    /// The options in force.
    pub granted: Options,
    /// The databases that are judged.
    pub databases: Vec<DatabaseName>,
    /// A query with hits; if none has any, the first one tried.
    pub query: Option<RpnQuery>,
    /// How many hits it has.
    pub hits: i64,
    /// The record syntaxes in which its first record came.
    pub syntaxes: Vec<Oid>,
    /// What could not be found out, and why.
    pub notes: Vec<String>,
}

/// Finds out what the server offers. Returns the trial that did, with what it cost.
pub(super) async fn learn(target: &Arc<JudgedServer>) -> (Offer, Trial) {
    let mut offer = Offer {
        databases: target.options.databases.clone(),
        ..Offer::default()
    };
    let mut trial = Trial::new(Arc::clone(target), Arc::new(offer.clone()));
    if let Err(verdict) = fill(&mut offer, &mut trial).await {
        offer.notes.push(match verdict {
            Verdict::Fail { wanted, came } => format!("wanted {wanted}, but {came} came"),
            Verdict::NotOffered { reason } | Verdict::NotJudged { reason } => reason,
            Verdict::Pass => String::new(),
        });
    }
    trial.leave().await;
    (offer, trial)
}

async fn fill(offer: &mut Offer, trial: &mut Trial) -> Checked {
    let init = trial.opened(trial.base_init()).await?;
    let is_open = init.result;
    offer.init = Some(init);
    if !is_open {
        return Err(Verdict::not_judged("the server rejected Init"));
    }
    (offer.version, offer.granted) = (trial.version, trial.granted);
    find_query(offer, trial).await?;
    find_syntaxes(offer, trial).await
}

/// Finds a query with hits, at best a few: the given one, or else words in any field, in the title, without attributes.
async fn find_query(offer: &mut Offer, trial: &mut Trial) -> Checked {
    let (given, terms) = (trial.options().query.clone(), trial.options().terms.clone());
    let mut refusal = None;
    if let Some(query) = given {
        refusal = hits_of(offer, trial, query).await?;
        if offer.hits > 0 {
            return Ok(());
        }
    }
    let words: Vec<&str> = terms.iter().map(String::as_str).chain(WORDS).collect();
    let uses = [Some(USE_ANY), Some(USE_TITLE), None];
    for use_value in uses {
        for word in &words {
            let attributes = use_value.map(|value| AttributeElement::numeric(USE, value));
            let rpn = RpnStructure::term(attributes.into_iter().collect(), *word);
            refusal = hits_of(offer, trial, RpnQuery::bib1(rpn)).await?;
            // The attributes are refused for other words as well.
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

/// Searches; keeps the query if it is better than the one so far. Returns why it was refused.
async fn hits_of(offer: &mut Offer, trial: &mut Trial, query: RpnQuery) -> Checked<Option<String>> {
    let request = search(offer.databases.clone(), Query::Type1(query.clone()));
    if offer.query.is_none() {
        offer.query = Some(query.clone());
    }
    let response = trial.ask(request).await?;
    if !response.search_status {
        let diagnostics = response.all_diagnostics();
        let words = diagnostics.first().map(ToString::to_string);
        return Ok(Some(
            words.unwrap_or_else(|| "a failure without a diagnostic".into()),
        ));
    }
    if is_better(response.result_count, offer.hits) {
        (offer.query, offer.hits) = (Some(query), response.result_count);
    }
    Ok(None)
}

/// Whether a number of hits suits more checks than another: a few; then as few as possible above that; then most.
fn is_better(hits: i64, than: i64) -> bool {
    match (hits, than) {
        _ if hits <= 0 || FEW.contains(&than) => false,
        _ if FEW.contains(&hits) => true,
        _ if hits > *FEW.end() => than < *FEW.start() || hits < than,
        _ => than < hits,
    }
}

/// Asks for the first record in each of the syntaxes.
async fn find_syntaxes(offer: &mut Offer, trial: &mut Trial) -> Checked {
    let Some(query) = offer.query.clone().filter(|_| offer.hits > 0) else {
        return Ok(());
    };
    for syntax in SYNTAXES {
        // Some servers end the session instead of a diagnostic.
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
                let found = response.first_record().ok();
                if found.is_some_and(|record| record.direct_reference == Some(syntax)) {
                    offer.syntaxes.push(syntax);
                }
            }
            Err(_) => trial.hang_up(),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_hits_are_best() {
        for (hits, than, better) in [
            (0, 0, false),
            (-5, 0, false),
            (1, 0, true),
            (2, 1, true),
            (1, 2, false),
            (3, 2, true),
            (3, 500, true),
            (20, 21, true),
            (4, 3, false),
            (21, 2, true),
            (21, 20, false),
            (2, 21, false),
            (22, 21, false),
            (21, 22, true),
        ] {
            assert_eq!(is_better(hits, than), better, "{hits} than {than}");
        }
    }
}

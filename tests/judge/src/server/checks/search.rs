//! Checks of Search: its answer, the databases that it names, and searches that fail (Z39.50-2003 §3.2.2).

use z3950_asn1::apdu::{DatabaseName, PresentStatus, ResultSetStatus, SearchResponse};

use crate::server::answers::{Reaction, Refusable, WithRecords};
use crate::server::check::{Check, checks};
use crate::server::trial::Trial;
use crate::server::verdict::{CHANGING, Checked, Preparation, Verdict, counted, want};

/// The name of a database that does not exist.
const NO_DATABASE: &str = "z3950-conformance-none";

pub(super) const CHECKS: &[Check] = checks! {
    "search.answered" Shall "Z39.50-2003 §3.2.2.1":
        "A search is answered by a searchResponse that succeeds or has a diagnostic."
        => answered;
    "search.count" Shall "Z39.50-2003 §3.2.2.1.8":
        "resultCount is not negative."
        => count;
    "search.count.again" Practice "practice: clients page through repeated searches":
        "A search that is repeated has the same resultCount."
        => same_count;
    "search.count.next-session" Practice "practice: clients reconnect and search again":
        "A search that is repeated in the next session has the same resultCount."
        => same_count_later;
    "search.no-records" Shall "Z39.50-2003 §3.2.2.1.6":
        "A search that asks for no records gets none."
        => no_records;
    "search.next-position" Should "Z39.50-2003 §3.2.2.1.9":
        "In a searchResponse without records, nextResultSetPosition is 1, or 0 if there is no record."
        => next_position;
    "search.present-status" Should "Z39.50-2003 §3.2.2.1.11":
        "A successful search has a presentStatus."
        => present_status;
    "search.present-status.success" Shall "Z39.50-2003 §3.2.2.1.11":
        "The presentStatus of a search that asks for no records is no failure."
        => present_status_is_success;
    "search.zero-hits" Shall "Z39.50-2003 §3.2.2.1.8":
        "A term that no record has gives no hits, or a diagnostic."
        => zero_hits;
    "search.zero-hits.success" Should "Z39.50 clarification Zero Results":
        "A search without hits succeeds."
        => zero_hits_succeed;
    "search.zero-hits.no-records" Shall "Z39.50-2003 §3.2.2.1.7":
        "A search without hits brings no records, even if it asks for them."
        => zero_hits_without_records;
    "search.failed.diagnostic" Shall "Z39.50-2003 §3.2.2.1.10":
        "A search that fails has a diagnostic."
        => failure_has_diagnostic;
    "search.failed.no-records" Shall "Z39.50-2003 §3.2.2.1.8":
        "A search that fails brings no records."
        => failure_has_no_records;
    "search.failed.result-set-status" Should "Z39.50-2003 §3.2.2.1.11":
        "A search that fails has a resultSetStatus."
        => failure_has_status;
    "search.failed.bib-1" Should "Bib-1 diagnostics":
        "The diagnostic of a search that fails is of the set Bib-1, which all clients know."
        => failure_is_bib1;
    "search.failed.addinfo" Practice "Bib-1 diagnostics":
        "The diagnostic about an unknown database names the database."
        => failure_names_database;
    "search.after-failure" Shall "Z39.50-2003 §3.2.2":
        "After a search that failed, the session goes on."
        => after_failure;
    "search.database.unknown" Should "Bib-1 diagnostics 109, 235":
        "A search of an unknown database is refused with 109 or 235."
        => unknown_database;
    "search.database.unknown-beside-known" Should "Z39.50-2003 §3.2.2.1.2":
        "An unknown database beside a known one is refused, not left out in silence."
        => unknown_beside_known;
    "search.database.none" Practice "Z39.50-2003 §3.2.2.1.2":
        "A search without databases is refused with a diagnostic."
        => no_database;
    "search.database.empty-name" Practice "Z39.50-2003 §3.2.2.1.2":
        "A database with an empty name is refused with a diagnostic."
        => odd_database(b"");
    "search.database.long-name" Practice "Z39.50-2003 §3.2.2.1.2":
        "A database with a name of 1000 octets is refused with a diagnostic."
        => odd_database(&[b'd'; 1000]);
    "search.database.path" Practice "practice: databases are files on some servers":
        "A database named ../../etc/passwd is refused with a diagnostic."
        => odd_database(b"../../etc/passwd");
    "search.database.octets" Practice "Z39.50-2003 §3.2.2.1.2":
        "A database whose name is not UTF-8 is refused with a diagnostic."
        => odd_database(&[0xff, 0xfe, 1]);
    "search.database.case" Practice "practice: people type the names":
        "Case does not matter in the names of databases."
        => database_case;
    "search.database.twice" Practice "Z39.50-2003 §3.2.2.1.2":
        "A database that is named twice is searched once, or refused with a diagnostic."
        => database_twice;
    "search.many" Practice "practice: sessions are used for hours":
        "Twenty searches in a session are answered alike."
        => many;
};

async fn found(trial: &mut Trial) -> Checked<SearchResponse> {
    trial.session().await?;
    let search = trial.good_search()?;
    trial.ask(search).await
}

async fn answered(trial: &mut Trial) -> Checked {
    found(trial).await?.reaction().map(drop)
}

async fn count(trial: &mut Trial) -> Checked {
    let response = found(trial).await?;
    want(
        response.result_count >= 0,
        "a resultCount of 0 or more",
        || response.summary(),
    )
}

async fn same_count(trial: &mut Trial) -> Checked {
    trial.hits(1).await?;
    let first = trial.offer.hits;
    let search = trial.good_search()?;
    let response = trial.ask(search).await?;
    same(first, &response)
}

async fn same_count_later(trial: &mut Trial) -> Checked {
    let count = trial.hits(1).await?;
    trial.session().await?;
    let search = trial.good_search()?;
    let response = trial.ask(search).await?;
    same(count, &response)
}

/// Fails unless a search has this number of hits, or reports that the number is an estimate.
fn same(count: i64, response: &SearchResponse) -> Checked {
    if response.result_set_status == Some(ResultSetStatus::ESTIMATE) {
        return Err(Verdict::not_judged(
            "the server estimates the number of hits",
        ));
    }
    let holds = response.search_status && response.result_count == count;
    want(holds, counted(count, "hit"), || response.summary())
}

async fn no_records(trial: &mut Trial) -> Checked {
    found(trial).await?.has_records(0)
}

async fn next_position(trial: &mut Trial) -> Checked {
    let response = found(trial).await?;
    let expected: &[i64] = match response.result_count {
        0 => &[0, 1],
        _ => &[1],
    };
    let holds = expected.contains(&response.next_result_set_position);
    want(holds, "nextResultSetPosition 1", || response.summary())
}

async fn present_status(trial: &mut Trial) -> Checked {
    let response = found(trial).await?;
    let holds = !response.search_status || response.present_status.is_some();
    want(holds, "a presentStatus", || response.summary())
}

async fn present_status_is_success(trial: &mut Trial) -> Checked {
    let response = found(trial).await?;
    let status = response.present_status.unwrap_or(PresentStatus::SUCCESS);
    want(
        status == PresentStatus::SUCCESS,
        "presentStatus success, or none",
        || response.summary(),
    )
}

async fn without_hits(trial: &mut Trial) -> Checked<SearchResponse> {
    let query = trial.query_without_hits()?;
    trial.session().await?;
    let search = trial.search(query);
    trial.ask(search).await
}

async fn zero_hits(trial: &mut Trial) -> Checked {
    let response = without_hits(trial).await?;
    if let Reaction::Refused(_) = response.reaction()? {
        return Ok(());
    }
    if response.result_count != 0 {
        let again = without_hits(trial).await.given()?;
        if again.result_count != response.result_count {
            return Err(Verdict::not_judged(CHANGING));
        }
    }
    want(response.result_count == 0, "resultCount 0", || {
        response.summary()
    })
}

async fn zero_hits_succeed(trial: &mut Trial) -> Checked {
    let response = without_hits(trial).await?;
    let holds = response.search_status && response.diagnostics().is_empty();
    want(holds, "a successful search without a diagnostic", || {
        response.summary()
    })
}

async fn zero_hits_without_records(trial: &mut Trial) -> Checked {
    let query = trial.query_without_hits()?;
    trial.session().await?;
    let mut search = trial.search(query);
    search.small_set_upper_bound = 5;
    search.large_set_lower_bound = 10;
    let response = trial.ask(search).await?;
    response.has_records(0)
}

/// Sends a search that fails because its database does not exist.
async fn failed(trial: &mut Trial) -> Checked<SearchResponse> {
    trial.session().await?;
    let response = searched_in(trial, vec![NO_DATABASE.into()]).await?;
    if response.search_status {
        Err(Verdict::not_judged("unknown databases are searched"))
    } else {
        Ok(response)
    }
}

async fn searched_in(trial: &mut Trial, databases: Vec<DatabaseName>) -> Checked<SearchResponse> {
    let mut search = trial.good_search()?;
    search.database_names = databases;
    trial.ask(search).await
}

async fn failure_has_diagnostic(trial: &mut Trial) -> Checked {
    failed(trial).await?.refused()
}

async fn failure_has_no_records(trial: &mut Trial) -> Checked {
    failed(trial).await?.has_records(0)
}

async fn failure_has_status(trial: &mut Trial) -> Checked {
    let response = failed(trial).await?;
    let holds = response.result_set_status.is_some();
    want(holds, "resultSetStatus none, subset or interim", || {
        response.summary()
    })
}

async fn failure_is_bib1(trial: &mut Trial) -> Checked {
    let response = failed(trial).await?;
    let diagnostics = response.diagnostics();
    let set = z3950_asn1::oid::BIB_1_DIAGNOSTICS;
    let holds = diagnostics.iter().any(|one| one.diagnostic_set_id == set);
    want(holds, "a diagnostic of the set 1.2.840.10003.4.1", || {
        response.summary()
    })
}

async fn failure_names_database(trial: &mut Trial) -> Checked {
    let response = failed(trial).await?;
    let name = NO_DATABASE.as_bytes();
    let names_it = |text: &[u8]| text.windows(name.len()).any(|part| part == name);
    let diagnostics = response.diagnostics();
    let holds = diagnostics
        .iter()
        .any(|one| names_it(one.addinfo.as_bytes()));
    want(holds, format!("addinfo with {NO_DATABASE}"), || {
        response.summary()
    })
}

async fn after_failure(trial: &mut Trial) -> Checked {
    failed(trial).await.given()?;
    let search = trial.good_search()?;
    let response = trial.ask(search).await?;
    want(response.search_status, "a successful search", || {
        response.summary()
    })
}

async fn unknown_database(trial: &mut Trial) -> Checked {
    trial.session().await?;
    let response = searched_in(trial, vec![NO_DATABASE.into()]).await?;
    response.refused_with(&[109, 235])
}

async fn unknown_beside_known(trial: &mut Trial) -> Checked {
    trial.session().await?;
    let mut databases = trial.databases();
    databases.push(NO_DATABASE.into());
    searched_in(trial, databases).await?.refused()
}

async fn no_database(trial: &mut Trial) -> Checked {
    trial.session().await?;
    searched_in(trial, Vec::new()).await?.refused()
}

async fn odd_database(trial: &mut Trial, name: &[u8]) -> Checked {
    trial.session().await?;
    searched_in(trial, vec![name.into()]).await?.refused()
}

async fn database_case(trial: &mut Trial) -> Checked {
    trial.session().await?;
    let swapped = |octet: &u8| {
        if octet.is_ascii_lowercase() {
            octet.to_ascii_uppercase()
        } else {
            octet.to_ascii_lowercase()
        }
    };
    let databases = trial.databases();
    let names = databases.iter().map(|name| {
        let octets: Vec<u8> = name.0.as_bytes().iter().map(swapped).collect();
        DatabaseName::from(&*octets)
    });
    let response = searched_in(trial, names.collect()).await?;
    same(trial.offer.hits, &response)
}

async fn database_twice(trial: &mut Trial) -> Checked {
    trial.session().await?;
    let databases = trial.databases();
    let twice = [databases.clone(), databases].concat();
    let response = searched_in(trial, twice).await?;
    match response.reaction()? {
        Reaction::Refused(_) => Ok(()),
        Reaction::Accepted => same(trial.offer.hits, &response),
    }
}

async fn many(trial: &mut Trial) -> Checked {
    let count = trial.hits(1).await?;
    for _ in 0..20 {
        let search = trial.good_search()?;
        let response = trial.ask(search).await?;
        same(count, &response)?;
    }
    Ok(())
}

//! Checks of operations, which are serial unless concurrent operations were granted (Z39.50-2003 §3.4, §3.5), and of services
//! that were not granted (§3.2.1.1.3).

use std::collections::HashSet;

use z3950_asn1::apdu::{
    Apdu, DuplicateDetectionRequest, DuplicateDetectionResponse, DuplicateDetectionStatus, Options,
    ReferenceId, SearchRequest, SortRequest,
};

use crate::server::answers::WithRecords;
use crate::server::check::{Check, checks};
use crate::server::requests::{DEFAULT, delete, id};
use crate::server::trial::{Received, Trial, encoded, summary};
use crate::server::verdict::{Checked, Preparation, Verdict, counted, want};

const CONCURRENT: &str = "Z39.50-2003 §3.5";
const OPTIONS: &str = "Z39.50-2003 §3.2.1.1.3";

pub(super) const CHECKS: &[Check] = checks! {
    "concurrent.two" Shall CONCURRENT:
        "Two searches at once are both answered, each with its referenceId."
        => several(2);
    "concurrent.five" Shall CONCURRENT:
        "Five searches at once are all answered, each with its referenceId."
        => several(5);
    "concurrent.one-write" Practice "practice: TCP has no message boundaries":
        "Two searches that arrive together are both answered, each with its referenceId."
        => in_one_write;
    "concurrent.other-services" Shall CONCURRENT:
        "A search and a scan at once are both answered."
        => search_and_scan;
    "operations.in-turn" Shall "Z39.50-2003 §3.4":
        "Search, Present and Search in turn are answered in turn."
        => in_turn;
    "operations.empty-set-then-present" Practice "Z39.50-2003 §3.4":
        "A Present that was refused does not end the session."
        => after_refusal;
    "operations.idle" Practice "practice: people read":
        "A session is still there after a second without requests."
        => idle;
    "not-granted.scan" Practice OPTIONS:
        "A scan in a session to which scan was not granted is answered, or ends the session."
        => not_granted(Options::SCAN);
    "not-granted.sort" Practice OPTIONS:
        "A sort in a session to which sort was not granted is answered, or ends the session."
        => not_granted(Options::SORT);
    "not-granted.delete" Practice OPTIONS:
        "A deletion in a session to which delSet was not granted is answered, or ends the session."
        => not_granted(Options::DELETE);
    "not-granted.duplicates" Practice OPTIONS:
        "Duplicate detection in a session to which it was not granted is answered, or ends the session."
        => not_granted(Options::DUPLICATE_DETECTION);
    "not-granted.questions" Shall OPTIONS:
        "A server asks neither for credentials nor for decisions that the client did not offer."
        => no_questions;
    "duplicates.answered" Shall "Z39.50-2003 §3.2.7.2":
        "Duplicate detection is done, or refused with a diagnostic."
        => duplicates;
    "duplicates.not-more" Shall "Z39.50-2003 §3.2.7.2":
        "Duplicate detection leaves no more records than there were."
        => fewer_duplicates;
};

/// Returns searches with different referenceIds and result sets.
fn searches(trial: &Trial, number: usize) -> Checked<Vec<SearchRequest>> {
    let query = trial.query()?;
    let requests = (0..number).map(|index| {
        let mut search = trial.search(query.clone());
        search.reference_id = id(format!("op-{index}").as_bytes());
        search.result_set_name = format!("judge-{index}").into();
        search
    });
    Ok(requests.collect())
}

async fn granted(trial: &mut Trial) -> Checked {
    trial.session().await?;
    trial.needs_version_3()?;
    trial.needs(Options::CONCURRENT_OPERATIONS)?;
    trial.needs(Options::NAMED_RESULT_SETS)
}

/// Reads one answer for each request. Fails unless the referenceId of each request occurs in exactly one answer.
async fn answers(trial: &mut Trial, requests: &[Option<ReferenceId>]) -> Checked {
    let mut waiting: HashSet<Option<ReferenceId>> = requests.iter().cloned().collect();
    while !waiting.is_empty() {
        let received = trial.receive().await;
        let is_one = match &received {
            Received::Apdu(apdu) => waiting.remove(&apdu.reference_id().cloned()),
            _ => false,
        };
        let wanted = counted(waiting.len().max(1), "more answer");
        want(is_one, wanted, || received.to_string())?;
    }
    Ok(())
}

async fn several(trial: &mut Trial, number: usize) -> Checked {
    granted(trial).await?;
    let requests = searches(trial, number)?;
    let ids: Vec<_> = requests
        .iter()
        .map(|one| one.reference_id.clone())
        .collect();
    for request in requests {
        trial.send(&request.into()).await?;
    }
    answers(trial, &ids).await
}

async fn in_one_write(trial: &mut Trial) -> Checked {
    granted(trial).await?;
    let requests = searches(trial, 2)?;
    let ids: Vec<_> = requests
        .iter()
        .map(|one| one.reference_id.clone())
        .collect();
    let mut octets = Vec::new();
    for request in requests {
        octets.extend(encoded(&request.into())?);
    }
    trial.send_octets(octets).await?;
    answers(trial, &ids).await
}

async fn search_and_scan(trial: &mut Trial) -> Checked {
    granted(trial).await?;
    trial.needs(Options::SCAN)?;
    let mut search = trial.good_search()?;
    search.reference_id = id(b"op-search");
    let mut scan = trial.scan()?;
    scan.reference_id = id(b"op-scan");
    let ids = [search.reference_id.clone(), scan.reference_id.clone()];
    trial.send(&search.into()).await?;
    trial.send(&scan.into()).await?;
    answers(trial, &ids).await
}

async fn in_turn(trial: &mut Trial) -> Checked {
    let hits = trial.hits(1).await?;
    trial.ask(trial.present(1, 1)).await?.has_records(1)?;
    let search = trial.good_search()?;
    let response = trial.ask(search).await?;
    want(response.result_count == hits, counted(hits, "hit"), || {
        response.result_count.to_string()
    })
}

async fn after_refusal(trial: &mut Trial) -> Checked {
    trial.hits(1).await?;
    trial.ask(trial.present(0, 1)).await?;
    let search = trial.good_search()?;
    trial.ask(search).await.map(drop)
}

async fn idle(trial: &mut Trial) -> Checked {
    trial.session().await?;
    trial.silence().await?;
    let search = trial.good_search()?;
    trial.ask(search).await.map(drop)
}

/// Opens a session whose Init proposes only search and present, and then uses another service.
async fn not_granted(trial: &mut Trial, option: Options) -> Checked {
    let mut init = trial.base_init();
    init.options = Options::SEARCH.union(Options::PRESENT);
    trial.session_with(init).await?;
    if trial.granted.contains(option) {
        return Err(Verdict::not_judged("it was granted"));
    }
    trial.hits(1).await?;
    match option {
        Options::SCAN => {
            let scan = trial.scan()?;
            trial.ask_or_end(scan).await.map(drop)
        }
        Options::SORT => {
            let sort = SortRequest::in_place(DEFAULT, super::sort::by_title());
            trial.ask_or_end(sort).await.map(drop)
        }
        Options::DELETE => {
            let deletion = delete(&["z3950-conformance-none"]);
            trial.ask_or_end(deletion).await.map(drop)
        }
        _ => {
            let detection = DuplicateDetectionRequest::in_place(DEFAULT);
            trial.ask_or_end(detection).await.map(drop)
        }
    }
}

async fn no_questions(trial: &mut Trial) -> Checked {
    trial.session().await?;
    let search = trial.good_search()?;
    trial.send(&search.into()).await?;
    let received = trial.receive().await;
    let is_question = match &received {
        Received::Apdu(apdu) => matches!(
            **apdu,
            Apdu::AccessControlRequest(_) | Apdu::ResourceControlRequest(_)
        ),
        _ => false,
    };
    want(!is_question, "an answer", || received.to_string())?;
    match &received {
        Received::Apdu(apdu) if matches!(**apdu, Apdu::SearchResponse(_)) => Ok(()),
        other => Err(Verdict::not_judged(format!(
            "needs a searchResponse, but {other} came"
        ))),
    }
}

async fn detected(trial: &mut Trial) -> Checked<(i64, DuplicateDetectionResponse)> {
    trial.session().await?;
    trial.needs(Options::DUPLICATE_DETECTION)?;
    let hits = trial.hits(1).await?;
    let request = DuplicateDetectionRequest::in_place(DEFAULT);
    Ok((hits, trial.ask(request).await?))
}

async fn duplicates(trial: &mut Trial) -> Checked {
    let (_, response) = detected(trial).await?;
    let has_diagnostic = response
        .diagnostics
        .as_ref()
        .is_some_and(|all| !all.is_empty());
    let holds = response.status == DuplicateDetectionStatus::SUCCESS || has_diagnostic;
    want(holds, "a diagnostic with the failure", || {
        summary(&response.into())
    })
}

async fn fewer_duplicates(trial: &mut Trial) -> Checked {
    let (hits, response) = detected(trial).await.given()?;
    let count = response.result_set_count;
    let count = count.ok_or_else(|| Verdict::not_judged("the answer has no resultSetCount"))?;
    want(
        (0..=hits).contains(&count),
        format!("{} at most", counted(hits, "record")),
        || summary(&response.into()),
    )
}

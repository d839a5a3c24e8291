//! Tests of lookups on a server that refuses some searches. They check which searches are made, and which search is
//! reported as successful. Also tests concurrent searches.

mod stopped;
mod url;

use std::sync::{Arc, Mutex};

use z3950_asn1::apdu::*;

use super::*;
use crate::protocol::service::DEFAULT_RESULT_SET;
use crate::protocol::session::{Session, SessionOptions};
use crate::testing::*;

/// Looks up an identifier in a session. Returns the result, the number of records, and the error.
async fn look_up(
    session: Session,
    identifier: &str,
    count: u64,
) -> (Option<Arc<Found>>, u64, Option<Error>) {
    let client = Client::new();
    let mut target = client.target("lib.example/cat").expect("a target");
    target.session = Some((session, DEFAULT_RESULT_SET.into()));
    let wanted = Wanted {
        count,
        ..Wanted::identifier(identifier).expect("an identifier")
    };
    let mut events = client.find([target], wanted);
    let (mut found, mut records, mut failure) = (None, 0, None);
    while let Some(event) = events.next().await {
        match event {
            Event::Found(one) => found = Some(one),
            Event::Record { .. } => records += 1,
            Event::Done { error, .. } => failure = error,
            _ => {}
        }
    }
    (found, records, failure)
}

/// Looks up an identifier on a server that answers each query in PQF with the hits or the diagnostic returned by
/// `answer`. `expected` contains the searches, followed by the result.
async fn check(identifier: &str, answer: fn(&str) -> Result<i64, i64>, expected: &[&str]) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&asked);
    let stream = answering(move |request| {
        let response: Apdu = match request {
            Apdu::InitializeRequest(_) => init_response(true, ProtocolVersion::UP_TO_3).into(),
            Apdu::SearchRequest(search) => {
                let Query::Type1(query) = &search.query else {
                    panic!("{search:?}");
                };
                let query = query.to_string();
                notes.lock().expect("no panic").push(query.clone());
                match answer(&query) {
                    Ok(hits) => found(hits, Vec::new()).into(),
                    Err(condition) => search_failed(diagnostic(condition, "")).into(),
                }
            }
            Apdu::PresentRequest(_) => presented(
                PresentStatus::SUCCESS,
                Some(Records::ResponseRecords(vec![marc()])),
            )
            .into(),
            _ => Close::new(CloseReason::FINISHED, None).into(),
        };
        Some(vec![response])
    });
    let session = Session::over(stream, &SessionOptions::default()).await;
    let shown = match look_up(session.expect("a session"), identifier, 1).await {
        (None, _, Some(Error::NoMatch)) => "nothing".to_owned(),
        (Some(found), records, None) => format!(
            "{records} of {} by {} {}",
            found.result.hits,
            found.step.as_deref().unwrap_or_default(),
            found.terms.join("|")
        ),
        (_, _, error) => error.map(|error| error.to_string()).unwrap_or_default(),
    };
    let mut asked = std::mem::take(&mut *asked.lock().expect("no panic"));
    asked.push(shown);
    assert_eq!(asked, expected, "{identifier}");
}

#[tokio::test(start_paused = true)]
async fn searches_are_made_until_one_finds_something() {
    let both = "@or @attr 1=8 0378-5955 @attr 1=8 03785955";
    check(
        "issn:0378-5955",
        |_| Ok(1),
        &[both, "1 of 1 by 1=8 0378-5955|03785955"],
    )
    .await;
    // The server refuses operators, so each form is searched for separately.
    check(
        "issn:0378-5955",
        |query| match query {
            "@attr 1=8 03785955" => Ok(1),
            _ if query.starts_with("@or") => Err(110),
            _ => Ok(0),
        },
        &[
            both,
            "@attr 1=8 0378-5955",
            "@attr 1=8 03785955",
            "1 of 1 by 1=8 03785955",
        ],
    )
    .await;
    // The server does not have the index, so it would also refuse searches there for the individual forms of the number,
    // and these are not tried.
    check(
        "local:7",
        |query| match query {
            "@attr 1=12 7" => Err(114),
            _ => Ok(1),
        },
        &["@attr 1=12 7", "@attr 1=1007 7", "1 of 1 by 1=1007 7"],
    )
    .await;
    check(
        "local:7",
        |_| Ok(0),
        &["@attr 1=12 7", "@attr 1=1007 7", "nothing"],
    )
    .await;
    // If one search finds nothing, the refusal of another search is not reported.
    check(
        "local:7",
        |query| match query {
            "@attr 1=12 7" => Err(114),
            _ => Ok(0),
        },
        &["@attr 1=12 7", "@attr 1=1007 7", "nothing"],
    )
    .await;
    check(
        "local:7",
        |_| Err(235),
        &[
            "@attr 1=12 7",
            "@attr 1=1007 7",
            "Search failed: diagnostic 235 (there is no database of this name)",
        ],
    )
    .await;
    check(
        "issn:0378-5955",
        |query| {
            if query.contains("1=8 ") {
                Err(114)
            } else {
                Ok(1)
            }
        },
        &[
            both,
            "@or @attr 1=1007 0378-5955 @attr 1=1007 03785955",
            "1 of 1 by 1=1007 0378-5955|03785955",
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn records_before_a_lost_connection_are_kept() {
    for (given, expected) in [
        (0, "closed during Present"),
        (1, "1 of 3, closed during Present"),
        (2, "2 of 3, closed during Present"),
        (3, "3 of 3"),
    ] {
        let mut left = given;
        let stream = answering(move |request| match request {
            Apdu::InitializeRequest(_) => {
                Some(vec![init_response(true, ProtocolVersion::UP_TO_3).into()])
            }
            Apdu::SearchRequest(_) => Some(vec![found(3, Vec::new()).into()]),
            _ if left == 0 => None,
            _ => {
                left -= 1;
                let records = Records::ResponseRecords(vec![marc()]);
                Some(vec![
                    presented(PresentStatus::PARTIAL_1, Some(records)).into(),
                ])
            }
        });
        let session = Session::over(stream, &SessionOptions::default()).await;
        let shown = match look_up(session.expect("a session"), "local:7", 3).await {
            (Some(found), records, error) => {
                let error = error.map(|error| format!(", {error}"));
                let error = error.unwrap_or_default();
                format!("{records} of {}{error}", found.result.hits)
            }
            (None, _, error) => error.map(|error| error.to_string()).unwrap_or_default(),
        };
        assert_eq!(shown, expected, "{given}");
    }
}

/// Returns the index of each target whose search has ended, with the number of hits and of records.
async fn numbers_found(mut events: Events) -> Vec<(usize, u64, u64)> {
    let mut numbers = Vec::new();
    let mut hits = 0;
    while let Some(event) = events.next().await {
        match event {
            Event::Found(found) => hits = found.result.hits,
            Event::Done {
                target, delivered, ..
            } => numbers.push((target, hits, delivered)),
            _ => {}
        }
    }
    numbers
}

/// Returns a target that is searched in this session, with a result set of this name.
fn in_session(client: &Client, session: &Session, result_set: &str) -> SearchTarget {
    let mut target = client.target("lib.example/cat").expect("a target");
    target.session = Some((session.clone(), result_set.into()));
    target
}

fn local(number: &str) -> Wanted {
    Wanted::identifier(&format!("local:{number}"))
        .expect("an identifier")
        .count(1)
}

/// Returns the response to a search, with this number of hits and the first record.
fn answer(request: &Apdu, hits: i64) -> Apdu {
    let mut answer: Apdu = found(hits, vec![marc()]).into();
    answer.set_reference_id(request.reference_id().cloned());
    answer
}

/// Checks that concurrent searches in one session are not confused. The server waits until it has received both
/// searches, then answers the second, and then the first.
#[tokio::test(start_paused = true)]
async fn searches_at_the_same_time_in_one_session_are_kept_apart() {
    let options = SessionOptions::default();
    let (session, mut peer) = Peer::granting(options, Options::CONCURRENT_OPERATIONS).await;
    let client = Client::new();
    let searches = ["1", "2"].map(|name| {
        let target = in_session(&client, &session, name);
        numbers_found(client.find([target], local(name)))
    });
    let [one, two] = searches;
    let serving = async {
        let requests = [peer.request().await, peer.request().await];
        for request in requests.iter().rev() {
            let Apdu::SearchRequest(search) = request else {
                panic!("{request:?}");
            };
            let hits = search.result_set_name.to_string_lossy().parse();
            peer.send(answer(request, hits.expect("a number"))).await;
        }
    };
    let (one, two, ()) = tokio::join!(one, two, serving);
    assert_eq!((one, two), (vec![(0, 1, 1)], vec![(0, 2, 1)]));
}

/// Checks that the events of a target arrive even while the server of the next target, which has received its search,
/// does not answer.
#[tokio::test(start_paused = true)]
async fn a_target_answers_while_the_next_one_is_asked() {
    let options = SessionOptions::default;
    let (one, mut first) = Peer::granting(options(), Options::default()).await;
    let (two, mut second) = Peer::granting(options(), Options::default()).await;
    let client = Client::new();
    let targets = [&one, &two].map(|session| in_session(&client, session, "1"));
    let mut events = client.find(targets, local("7").all_targets());
    let until_done = async {
        while !matches!(events.next().await, Some(Event::Done { target: 0, .. })) {}
        events
    };
    let serving = async {
        let (asked, held) = (first.request().await, second.request().await);
        first.send(answer(&asked, 1)).await;
        held
    };
    let (events, held) = tokio::join!(until_done, serving);
    second.send(answer(&held, 3)).await;
    assert_eq!(numbers_found(events).await, [(1, 3, 1)]);
}

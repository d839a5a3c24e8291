//! Tests of time limits: for a whole call, for the wait for a session, and for the response to a request that was
//! abandoned.

use std::time::Duration;

use tokio::time::{Instant, timeout};
use z3950_asn1::apdu::*;

use super::*;
use crate::protocol::service::search::SearchOptions;
use crate::protocol::session::{Session, SessionOptions};
use crate::query::Query;

const SECOND: Duration = Duration::from_secs(1);

fn emma() -> Query {
    Query::title("emma")
}

fn answering_once() -> Vec<Turn> {
    vec![accepted(), send(found(2, vec![]))]
}

/// Accepts an Init in version 3, and grants the option to cancel requests.
fn cancellable() -> Turn {
    let mut response = init_response(true, ProtocolVersion::UP_TO_3);
    response.options = response.options | Options::TRIGGER_RESOURCE_CONTROL;
    send(response)
}

#[tokio::test(start_paused = true)]
async fn audit_r_l3_a_dropped_request_holds_up_the_next_one_for_a_second() {
    for (what, cancels, first, seen) in [
        (
            "not cancelled",
            false,
            vec![accepted(), Turn::Silence],
            "search(0/1/0,usmarc)",
        ),
        (
            "an unanswered cancel",
            true,
            vec![cancellable(), Turn::Silence, Turn::Silence],
            "search(0/1/0,usmarc) triggerResourceControlRequest",
        ),
    ] {
        let mut options = options(|_| ());
        options.cancels_dropped = cancels;
        let (client, transcript) = client(options, [first, answering_once()]);
        let cat = client.connect("lib.example/cat").await.expect(what);
        let given_up = timeout(5 * SECOND, cat.search(emma())).await;
        assert!(given_up.is_err(), "{what}");
        let begun = Instant::now();
        let hits = cat.search(emma()).await;
        assert_eq!(hits.expect(what).count(), 2, "{what}");
        assert_eq!(begun.elapsed(), SECOND, "{what}");
        let text = transcript.text();
        let expected = format!("connect initRequest {seen} close(unspecified)");
        assert!(text.starts_with(&expected), "{what}: {text}");
        assert_eq!(text.matches("initRequest").count(), 2, "{what}: {text}");
    }
}

#[tokio::test(start_paused = true)]
async fn audit_r_l3_an_answer_in_time_keeps_the_session() {
    let (session, mut peer) = Peer::granting(SessionOptions::default(), Options::default()).await;
    let search = |session: Session| async move {
        let options = SearchOptions::default();
        session
            .search(query(), &options)
            .await
            .map(|found| found.hits)
    };
    assert!(timeout(SECOND, search(session.clone())).await.is_err());
    // The time limit for the response to the abandoned search begins only when the next request has to wait for that
    // response.
    tokio::time::sleep(20 * SECOND).await;
    let next = tokio::spawn(search(session.clone()));
    peer.request().await;
    tokio::time::sleep(SECOND / 2).await;
    peer.send(found(1, vec![])).await;
    peer.request().await;
    peer.send(found(2, vec![])).await;
    assert_eq!(next.await.expect("no panic").expect("found"), 2);
    // If the response to the abandoned search does not arrive within a second, the session ends before the next request
    // is sent.
    assert!(timeout(SECOND, search(session.clone())).await.is_err());
    let error = search(session.clone()).await.expect_err("no answer");
    assert!(
        matches!(error, Error::Ended { cause: Some(_) }),
        "{error:?}"
    );
    assert!(error.is_connection_lost() && !session.is_open());
    assert_eq!(peer.rest().await, "search(0/1/0,any) close(unspecified)");
}

#[tokio::test(start_paused = true)]
async fn audit_r_l5_the_wait_for_a_session_has_a_limit() {
    let scripts = std::iter::repeat_with(|| vec![accepted()]).take(16);
    let (client, _) = client(options(|_| ()), scripts);
    let mut kept = Vec::new();
    for _ in 0..16 {
        kept.push(client.connect("lib.example/cat").await.expect("a session"));
    }
    let begun = Instant::now();
    let error = client
        .connect("lib.example/cat")
        .await
        .expect_err("no room");
    let Error::Unavailable { cause, .. } = &error else {
        panic!("{error:?}");
    };
    assert!(matches!(cause, Cause::SessionsInUse(_)), "{error:?}");
    assert_eq!(begun.elapsed(), 30 * SECOND);
    for limit in [Duration::MAX, Duration::ZERO] {
        let mut options = client.options().clone();
        options.timeouts.session = Some(limit);
        let client = client.with_options(options);
        let connected = timeout(60 * SECOND, client.connect("lib.example/cat")).await;
        assert_eq!(connected.is_err(), limit == Duration::MAX);
    }
}

/// Checks that a call failed after two seconds because of its own limit.
fn is_of_call<T: std::fmt::Debug>(what: &str, begun: Instant, result: Result<T, Error>) {
    assert_eq!(begun.elapsed(), 2 * SECOND, "{what}");
    let error = result.expect_err(what);
    let Error::Unavailable { phase, cause } = &error else {
        panic!("{what}: {error:?}");
    };
    assert_eq!(*phase, Phase::Call, "{what}");
    assert_eq!(cause.to_string(), "no response within 2 s", "{what}");
    assert_eq!(error.to_string(), "the call did not end in time", "{what}");
}

#[tokio::test(start_paused = true)]
async fn audit_r_l5_each_call_of_a_client_may_have_a_limit() {
    let silent = || vec![Turn::Silence];
    let scripts = std::iter::repeat_with(silent).take(4);
    let (patient, _) = client(options(|_| ()), scripts);
    let client = patient.within(2 * SECOND);
    let now = Instant::now();
    is_of_call("connect", now, client.connect("lib.example/cat").await);
    let now = Instant::now();
    is_of_call("get", now, client.get(ID7).await);
    let now = Instant::now();
    is_of_call(
        "open",
        now,
        client.open(&url("z39.50s://lib.example/cat")).await,
    );
    let now = Instant::now();
    let retrieval = client.retrieve(&url(ID7)).await.expect("a plan");
    is_of_call("retrieve", now, retrieval.into_record());
}

#[tokio::test(start_paused = true)]
async fn audit_r_l5_each_call_of_a_connection_may_have_a_limit() {
    let first = vec![accepted(), send(found(2, vec![])), Turn::Silence];
    let second = vec![accepted(), Turn::Silence];
    let third = vec![
        accepted(),
        send(found(2, vec![])),
        one(marc()),
        Turn::Silence,
    ];
    let (client, _) = client(options(|_| ()), [first, second, third]);
    let patient = client.connect("lib.example/cat").await.expect("a session");
    let cat = patient.within(2 * SECOND);
    let hits = cat.search(emma()).await.expect("hits");
    let now = Instant::now();
    is_of_call("a record of a result set", now, hits.record(1).await);
    let now = Instant::now();
    is_of_call("the next search", now, cat.search(emma()).await);
    // Each call has a limit of its own, and the connection stays open.
    let hits = cat.search(emma()).await.expect("hits");
    assert!(hits.record(1).await.is_ok());
    let now = Instant::now();
    let late = patient.search(emma()).await.expect_err("no answer");
    assert!(matches!(
        late,
        Error::Unavailable {
            phase: Phase::Search,
            ..
        }
    ));
    assert_eq!(now.elapsed(), 30 * SECOND);
}

//! Tests of a session as its callers see it: dropped requests do not disturb later ones, the session is closed only
//! once, and callers learn why it ended.

mod concurrency;
mod diagnostics;
mod events;
mod every_octet;
mod init;
mod mutation;
mod segmentation;
mod server_requests;
mod services;
mod traps;

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::time::Instant;
use z3950_asn1::apdu::*;
use z3950_asn1::codec;
use z3950_asn1::es::TaskParameters;
use z3950_asn1::types::InternationalString;

use super::*;
use crate::error::Cause;
use crate::protocol::service::delete::Delete;
use crate::protocol::service::explain::ExplainOptions;
use crate::protocol::service::extended::task;
use crate::protocol::service::present::PresentOptions;
use crate::protocol::service::scan::ScanOptions;
use crate::protocol::service::search::{SearchOptions, SearchResult};
use crate::testing::*;

async fn open(script: impl Into<Script>) -> (Session, Transcript) {
    let transcript = Transcript::default();
    let stream = serve(script, &transcript);
    (
        Session::over(stream, &SessionOptions::default())
            .await
            .expect("a session"),
        transcript,
    )
}

/// Builds a task for the XML service.
fn xml() -> ExtendedServicesRequest {
    task(TaskParameters::Xml(b"<x/>"[..].into())).expect("encodes")
}

async fn hits(session: &Session) -> Result<u64, Error> {
    session
        .search(query(), &SearchOptions::default())
        .await
        .map(|found| found.hits)
}

/// Opens a session whose server is played by the test itself, through the returned stream.
async fn by_hand(versions: ProtocolVersion) -> (Session, DuplexStream) {
    let (ours, mut theirs) = tokio::io::duplex(65_536);
    let options = SessionOptions::default();
    let opening = tokio::spawn(async move { Session::over(ours, &options).await });
    read_request(&mut theirs).await;
    theirs
        .write_all(&encode(&init_response(true, versions).into()))
        .await
        .expect("read");
    (opening.await.expect("no panic").expect("a session"), theirs)
}

async fn read_request(stream: &mut DuplexStream) -> Apdu {
    let mut octets = vec![0; 65_536];
    let length = stream.read(&mut octets).await.expect("a request");
    codec::decode(&octets[..length]).expect("decodes")
}

async fn answer(stream: &mut DuplexStream, apdu: impl Into<Apdu>) {
    stream.write_all(&encode(&apdu.into())).await.expect("read");
}

#[tokio::test(start_paused = true)]
async fn services_return_the_servers_answers() {
    let deleted = DeleteResultSetResponse {
        reference_id: None,
        delete_operation_status: DeleteSetStatus::SUCCESS,
        delete_list_statuses: Some(vec![ListStatus {
            id: "a".into(),
            status: DeleteSetStatus::SUCCESS,
        }]),
        number_not_deleted: None,
        bulk_statuses: None,
        delete_message: Some("done".into()),
        other_info: None,
    };
    let both = Records::ResponseRecords(vec![marc(), surrogate(14)]);
    let partial = presented(PresentStatus::PARTIAL_2, Some(both));
    let too_many = presented(
        PresentStatus::SUCCESS,
        Some(Records::ResponseRecords(vec![marc(); 2])),
    );
    let (session, transcript) = open([
        accepted(),
        send(found(7, vec![])),
        send(partial),
        send(deleted),
        send(too_many),
    ])
    .await;
    assert_eq!(session.server_info().version, 3);
    assert_eq!(
        session.server_info().response.implementation_name,
        Some("script".into())
    );
    let named = SearchOptions {
        result_set: "a".into(),
        ..SearchOptions::default()
    };
    assert_eq!(
        session.search(query(), &named).await.expect("found").hits,
        7
    );
    let presented = session
        .present(2, 3, &PresentOptions::default())
        .await
        .expect("records");
    assert_eq!(
        (presented.records.len(), presented.status),
        (2, PresentStatus::PARTIAL_2)
    );
    let names = vec![InternationalString::from("a")];
    let deleted = session.delete(Delete::Sets(names)).await.expect("deleted");
    assert_eq!(
        (deleted.sets.len(), deleted.message.as_deref()),
        (1, Some("done"))
    );
    let fault = session
        .present(1, 1, &PresentOptions::default())
        .await
        .expect_err("one too many");
    let expected = ProtocolFault::Count("more records than requested: 2 for 1".into());
    assert!(
        matches!(fault, Error::ProtocolError { phase: Phase::Present, fault } if fault == expected)
    );
    let seen = "connect initRequest search(0/1/0,any) present(2+3,any) deleteResultSetRequest present(1+1,any) \
                close(protocolError) end";
    assert_eq!(transcript.finished().await, seen);
}

#[tokio::test(start_paused = true)]
async fn services_that_were_not_granted_are_not_used() {
    let init = InitializeResponse {
        options: Options::SEARCH,
        ..init_response(true, ProtocolVersion::UP_TO_3)
    };
    let (session, transcript) = open([send(init)]).await;
    let named = SearchOptions {
        result_set: "a".into(),
        ..SearchOptions::default()
    };
    for error in [
        session
            .search(query(), &named)
            .await
            .expect_err("refused here"),
        session.delete(Delete::All).await.expect_err("refused here"),
    ] {
        assert!(matches!(
            error,
            Error::ProtocolError {
                fault: ProtocolFault::NotGranted(_),
                ..
            }
        ));
    }
    assert!(session.is_open());
    assert_eq!(transcript.text(), "connect initRequest");
}

#[tokio::test(start_paused = true)]
async fn versions_are_negotiated_leniently() {
    for (versions, version) in [
        (ProtocolVersion::UP_TO_3, 3),
        (ProtocolVersion::UP_TO_2, 2),
        (ProtocolVersion::ONLY_1, 1),
        (ProtocolVersion::default(), 2),
    ] {
        let (session, transcript) = open([send(init_response(true, versions))]).await;
        assert_eq!(session.server_info().version, version);
        session.close().await.expect("was open");
        let close = if version == 3 { " close(finished)" } else { "" };
        assert_eq!(
            transcript.finished().await,
            format!("connect initRequest{close} end")
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_search_does_not_disturb_other_answers() {
    let (session, mut server) = by_hand(ProtocolVersion::UP_TO_3).await;
    let other = session.clone();
    let dropped = tokio::spawn(async move { hits(&other).await });
    assert_eq!(read_request(&mut server).await.name(), "searchRequest");
    dropped.abort();
    assert!(dropped.await.is_err());
    let next = tokio::spawn(async move { hits(&session).await });
    answer(&mut server, found(1, vec![])).await;
    assert_eq!(read_request(&mut server).await.name(), "searchRequest");
    answer(&mut server, found(2, vec![])).await;
    assert_eq!(next.await.expect("no panic").expect("its own answer"), 2);
}

#[tokio::test(start_paused = true)]
async fn requests_of_clones_are_answered_in_order() {
    let turns: Vec<Turn> = (1..=40).map(|hits| send(found(hits, vec![]))).collect();
    let (session, _) = open([vec![accepted()], turns].concat()).await;
    let all = (0..40).map(|_| {
        let session = session.clone();
        async move { hits(&session).await.expect("found") }
    });
    let answers = futures_util::future::join_all(all).await;
    assert_eq!(answers, (1..=40).collect::<Vec<u64>>());
}

#[tokio::test(start_paused = true)]
async fn access_control_refuses_one_operation_only() {
    let (session, mut server) = by_hand(ProtocolVersion::UP_TO_3).await;
    let other = session.clone();
    let refused = tokio::spawn(async move { hits(&other).await });
    read_request(&mut server).await;
    answer(&mut server, challenge()).await;
    let error = refused.await.expect("no panic").expect_err("refused");
    assert!(matches!(
        error,
        Error::AccessRefused {
            phase: Phase::Search
        }
    ));
    let Apdu::AccessControlResponse(response) = read_request(&mut server).await else {
        panic!("a response")
    };
    assert_eq!(*response.security_challenge_response, None);
    let Some(DiagRec::DefaultFormat(diagnostic)) = response.diagnostic else {
        panic!("a diagnostic")
    };
    assert_eq!(diagnostic.condition, 236);
    let next = tokio::spawn(async move { hits(&session).await });
    answer(&mut server, search_failed(diagnostic_of(236))).await;
    read_request(&mut server).await;
    answer(&mut server, found(3, vec![])).await;
    assert_eq!(next.await.expect("no panic").expect("its own answer"), 3);
}

fn diagnostic_of(condition: i64) -> Option<Records> {
    diagnostic(condition, "")
}

#[tokio::test(start_paused = true)]
async fn a_session_that_ended_while_idle_fails_the_next_request() {
    for (apdu, versions, words, reply) in [
        (
            Apdu::from(Close::new(CloseReason::LACK_OF_ACTIVITY, None)),
            ProtocolVersion::UP_TO_3,
            "the server closed the session during a pause, reason lackOfActivity",
            Some("finished"),
        ),
        (
            found(1, vec![]).into(),
            ProtocolVersion::UP_TO_3,
            "protocol error during a pause",
            Some("protocolError"),
        ),
        (
            found(1, vec![]).into(),
            ProtocolVersion::UP_TO_2,
            "protocol error during a pause",
            None,
        ),
        (
            challenge(),
            ProtocolVersion::UP_TO_2,
            "the server asked for credentials during a pause, but none were given",
            None,
        ),
    ] {
        let (session, mut server) = by_hand(versions).await;
        assert!(session.is_open());
        answer(&mut server, apdu).await;
        let End::Failed(error) = session.ended().await else {
            panic!("not closed from here")
        };
        assert_eq!(error.to_string(), words);
        assert!(!session.is_open());
        let late = hits(&session).await.expect_err("ended");
        assert!(matches!(&late, Error::Ended { cause: Some(cause) } if cause.to_string() == words));
        let mut octets = Vec::new();
        drop(session);
        if let Some(reason) = reply {
            let Apdu::Close(close) = read_request(&mut server).await else {
                panic!("a Close")
            };
            assert_eq!(close.close_reason.name(), Some(reason));
        }
        server.read_to_end(&mut octets).await.expect("the end");
        assert!(octets.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn requests_of_an_idle_server_are_answered() {
    let (session, mut server) = by_hand(ProtocolVersion::UP_TO_3).await;
    answer(&mut server, resource_control(false)).await;
    answer(&mut server, resource_control(true)).await;
    let Apdu::ResourceControlResponse(response) = read_request(&mut server).await else {
        panic!("a response")
    };
    assert!(response.continue_flag);
    answer(&mut server, challenge()).await;
    assert_eq!(
        read_request(&mut server).await.name(),
        "accessControlResponse"
    );
    assert!(session.is_open());
}

#[tokio::test(start_paused = true)]
async fn closing_waits_one_second_at_most_and_once() {
    let start = Instant::now();
    let script = Script {
        turns: vec![accepted()],
        ignores_close: true,
        ..Script::default()
    };
    let (session, transcript) = open(script).await;
    session.close().await.expect("was open");
    assert_eq!(start.elapsed().as_secs(), 1);
    session
        .close()
        .await
        .expect("closing twice is not an error");
    assert!(matches!(session.ended().await, End::Closed));
    assert!(matches!(
        hits(&session).await,
        Err(Error::Ended { cause: None })
    ));
    assert_eq!(
        transcript.finished().await,
        "connect initRequest close(finished) end"
    );
}

#[tokio::test(start_paused = true)]
async fn close_now_waits_only_if_an_answer_may_come() {
    let silent = || Script {
        turns: vec![accepted(), Turn::Silence],
        ignores_close: true,
        ..Script::default()
    };
    for is_busy in [false, true] {
        let (session, transcript) = open(silent()).await;
        let other = session.clone();
        let search = tokio::spawn(async move {
            if is_busy {
                hits(&other).await.map(drop)
            } else {
                Ok(())
            }
        });
        while is_busy && !transcript.text().contains("search") {
            tokio::task::yield_now().await;
        }
        let start = Instant::now();
        session.close_now().await.expect("was open");
        assert_eq!(start.elapsed().as_secs(), u64::from(is_busy));
        assert_eq!(search.await.expect("no panic").is_err(), is_busy);
        let ended = transcript.finished().await;
        assert!(ended.ends_with(" close(finished) end"), "{ended}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_close_ends_the_operation_in_progress() {
    let (session, transcript) = open([accepted(), Turn::Silence]).await;
    let other = session.clone();
    let search = tokio::spawn(async move { hits(&other).await });
    while !transcript.text().contains("search") {
        tokio::task::yield_now().await;
    }
    session.close().await.expect("was open");
    assert!(matches!(
        search.await.expect("no panic"),
        Err(Error::Ended { cause: None })
    ));
    assert_eq!(
        transcript.finished().await,
        "connect initRequest search(0/1/0,any) close(finished) end"
    );
}

#[tokio::test(start_paused = true)]
async fn dropping_the_last_handle_closes() {
    let (session, transcript) = open([accepted()]).await;
    drop(session.clone());
    assert!(session.is_open());
    drop(session);
    assert_eq!(
        transcript.finished().await,
        "connect initRequest close(finished) end"
    );
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_is_awaited_until_the_timeout() {
    for seconds in [1, 45] {
        let (session, _) = open([accepted(), Turn::Silence]).await;
        let answer = Some(Duration::from_secs(seconds));
        let start = Instant::now();
        let session = session.with_timeouts(Timeouts {
            answer,
            ..Timeouts::default()
        });
        let error = hits(&session).await.expect_err("no answer");
        assert!(matches!(
            error,
            Error::Unavailable {
                phase: Phase::Search,
                cause: Cause::Timeout(_)
            }
        ));
        assert_eq!(start.elapsed().as_secs(), seconds);
        assert!(!session.is_open());
    }
    let (session, _) = open([accepted(), Turn::Silence]).await;
    let session = session.with_timeouts(Timeouts {
        answer: None,
        ..Timeouts::default()
    });
    assert!(
        tokio::time::timeout(Duration::from_secs(100_000), hits(&session))
            .await
            .is_err()
    );
}

//! Tests of requests that the server sends during an operation, and of the handlers that answer them (Z39.50-2003
//! §3.2.5, §3.2.6).

use std::time::Duration;

use tokio::task::JoinHandle;
use z3950_asn1::apdu::*;

use super::*;
use crate::protocol::service::Handler;
use crate::protocol::service::access::{AccessControl, Challenge};
use crate::protocol::service::resource::{Decision, ResourceQuestion};
use crate::testing::*;
use crate::transport::BoxFuture;

fn search(session: &Session) -> JoinHandle<Result<SearchResult, Error>> {
    let session = session.clone();
    tokio::spawn(async move { session.search(query(), &SearchOptions::default()).await })
}

/// A handler that answers after a delay, like a user.
struct Person(Option<&'static str>);

impl Handler<Challenge, Option<SecurityChallengeResponse>> for Person {
    fn answer(&self, challenge: Challenge) -> BoxFuture<'_, Option<SecurityChallengeResponse>> {
        assert_eq!(
            challenge.challenge,
            SecurityChallenge::SimpleForm("who are you?".into())
        );
        Box::pin(async {
            tokio::time::sleep(Duration::from_secs(1000)).await;
            self.0
                .map(|text| SecurityChallengeResponse::SimpleForm(text.into()))
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_with_access_control_is_challenged() {
    use ProtocolVersion as Version;
    for (secret, version, goes_on) in [
        (Some("it is me"), Version::UP_TO_3, true),
        (Some("it is me"), Version::UP_TO_2, true),
        (None, Version::UP_TO_3, false),
        (None, Version::UP_TO_2, false),
    ] {
        let options = SessionOptions {
            access_control: Some(Arc::new(Person(secret))),
            ..SessionOptions::default()
        };
        let (session, mut peer) = Peer::accept(options, init_response(true, version)).await;
        let searching = search(&session);
        peer.request().await;
        peer.send(challenge()).await;
        if version == Version::UP_TO_2 && !goes_on {
            let error = searching.await.expect("no panic").expect_err("refused");
            assert!(matches!(
                error,
                Error::AccessRefused {
                    phase: Phase::Search
                }
            ));
            assert!(!session.is_open());
            continue;
        }
        let Apdu::AccessControlResponse(response) = peer.request().await else {
            panic!("a response")
        };
        let given = secret.map(|text| SecurityChallengeResponse::SimpleForm(text.into()));
        assert_eq!(*response.security_challenge_response, given);
        assert_eq!(response.diagnostic.is_some(), !goes_on);
        peer.send(found(3, vec![])).await;
        let result = searching.await.expect("no panic");
        assert_eq!(result.is_ok_and(|found| found.hits == 3), goes_on);
        assert!(session.is_open());
    }
}

#[tokio::test(start_paused = true)]
async fn a_challenge_may_come_before_the_session_is_open() {
    let options = SessionOptions {
        access_control: Some(Arc::new(|challenge: Challenge| {
            assert_eq!(challenge.phase, Phase::Init);
            Some(SecurityChallengeResponse::SimpleForm("me".into()))
        })),
        ..SessionOptions::default()
    };
    let script = [
        Turn::Send(vec![challenge()]),
        accepted(),
        send(found(1, vec![])),
    ];
    let transcript = Transcript::default();
    let session = Session::over(serve(script, &transcript), &options)
        .await
        .expect("let in");
    search(&session).await.expect("no panic").expect("found");
    assert_eq!(
        transcript.text(),
        "connect initRequest accessControlResponse search(0/1/0,any)"
    );
}

#[tokio::test(start_paused = true)]
async fn resource_control_decides_whether_operations_continue() {
    for (decision, is_required) in [
        (Decision::GO_ON, true),
        (Decision::STOP, true),
        (Decision::STOP, false),
    ] {
        let (told, mut hears) = tokio::sync::mpsc::unbounded_channel();
        let options = SessionOptions {
            resource_control: Some(Arc::new(move |question: ResourceQuestion| {
                told.send((question.phase, question.request.response_required))
                    .expect("heard");
                decision
            })),
            ..SessionOptions::default()
        };
        let (session, mut peer) = Peer::granting(options, Options::RESOURCE_CONTROL).await;
        let searching = search(&session);
        peer.request().await;
        peer.send(resource_control(is_required)).await;
        assert_eq!(hears.recv().await, Some((Phase::Search, is_required)));
        if is_required {
            let Apdu::ResourceControlResponse(response) = peer.request().await else {
                panic!("a response")
            };
            assert_eq!(response.continue_flag, decision.is_to_go_on);
            assert_eq!(response.result_set_wanted, decision.result_set_wanted);
        } else {
            assert!(peer.hears_nothing().await);
        }
        peer.send(found(1, vec![])).await;
        searching.await.expect("no panic").expect("found");
    }
}

#[tokio::test(start_paused = true)]
async fn no_response_is_sent_after_the_operation_has_ended() {
    let options = SessionOptions {
        access_control: Some(Arc::new(Person(Some("too late")))),
        ..SessionOptions::default()
    };
    let (session, mut peer) = Peer::granting(options, Options::default()).await;
    let searching = search(&session);
    peer.request().await;
    peer.send(challenge()).await;
    peer.send(found(1, vec![])).await;
    searching.await.expect("no panic").expect("found");
    tokio::time::sleep(Duration::from_secs(2000)).await;
    session.close().await.expect("was open");
    assert_eq!(peer.rest().await, "close(finished)");
}

#[tokio::test(start_paused = true)]
async fn only_answerable_attributes_are_offered() {
    let with = |access: bool, resource: bool| SessionOptions {
        access_control: access.then(|| Arc::new(Person(None)) as Arc<AccessControl>),
        resource_control: resource.then(|| {
            Arc::new(|_: ResourceQuestion| Decision::GO_ON)
                as Arc<crate::protocol::service::resource::ResourceControl>
        }),
        ..SessionOptions::default()
    };
    for (access, resource) in [(false, false), (true, false), (false, true), (true, true)] {
        let (granted, options) = std::sync::mpsc::channel();
        let stream = answering(move |request| {
            let Apdu::InitializeRequest(init) = request else {
                return None;
            };
            granted.send(init.options).expect("heard");
            Some(vec![init_response(true, ProtocolVersion::UP_TO_3).into()])
        });
        let _session = Session::over(stream, &with(access, resource))
            .await
            .expect("let in");
        let offered = options.recv().expect("an Init");
        assert_eq!(offered.contains(Options::ACCESS_CONTROL), access);
        assert_eq!(offered.contains(Options::RESOURCE_CONTROL), resource);
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_with_endless_requests_is_disconnected() {
    let (session, mut peer) = Peer::granting(SessionOptions::default(), Options::default()).await;
    let searching = search(&session);
    peer.request().await;
    for _ in 0..65 {
        peer.send(resource_control(true)).await;
    }
    let error = searching.await.expect("no panic").expect_err("too often");
    assert!(matches!(
        error,
        Error::ProtocolError {
            fault: ProtocolFault::Interruptions(64),
            ..
        }
    ));
}

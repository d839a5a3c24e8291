//! Tests of several operations in one session: they are concurrent if the server grants this, and otherwise queued, and
//! each receives its own answer (Z39.50-2003 §3.1.2, §3.4, §3.5).

use std::time::Duration;

use tokio::task::JoinHandle;
use z3950_asn1::apdu::*;

use super::*;
use crate::error::Cause;
use crate::testing::*;

fn search(session: &Session, set: &str) -> JoinHandle<Result<u64, Error>> {
    let session = session.clone();
    let options = SearchOptions {
        result_set: set.into(),
        ..SearchOptions::default()
    };
    tokio::spawn(async move {
        let found = session.search(query(), &options).await;
        found.map(|found| found.hits)
    })
}

fn answer_to(request: &Apdu, hits: i64) -> SearchResponse {
    SearchResponse {
        reference_id: request.reference_id().cloned(),
        ..found(hits, vec![])
    }
}

fn reference(request: &Apdu) -> Option<Vec<u8>> {
    request.reference_id().map(|id| id.0.to_vec())
}

async fn concurrent() -> (Session, Peer) {
    Peer::granting(SessionOptions::default(), Options::CONCURRENT_OPERATIONS).await
}

#[tokio::test(start_paused = true)]
async fn answers_in_any_order_find_their_requests() {
    let (session, mut peer) = concurrent().await;
    let searches = ["a", "b", "c"].map(|set| search(&session, set));
    let mut requests = Vec::new();
    for _ in 0..3 {
        requests.push(peer.request().await);
    }
    let labels: Vec<_> = requests.iter().map(reference).collect();
    assert_eq!(
        labels,
        [None, Some(vec![0, 0, 0, 1]), Some(vec![0, 0, 0, 2])]
    );
    for (request, hits) in requests.iter().zip([1, 2, 3]).rev() {
        peer.send(answer_to(request, hits)).await;
    }
    for (search, hits) in searches.into_iter().zip(1..) {
        assert_eq!(search.await.expect("no panic").expect("found"), hits);
    }
    let last = search(&session, "a");
    let request = peer.request().await;
    assert_eq!(reference(&request), None, "one operation needs none");
    peer.send(answer_to(&request, 4)).await;
    assert_eq!(last.await.expect("no panic").expect("found"), 4);
}

#[tokio::test(start_paused = true)]
async fn requests_wait_where_the_server_grants_nothing() {
    for (max_pipelined, sent_ahead) in [(0, 1), (1, 1), (2, 2), (3, 3)] {
        let options = SessionOptions {
            max_pipelined,
            ..SessionOptions::default()
        };
        let (session, mut peer) = Peer::granting(options, Options::default()).await;
        // Requests are sent ahead even if they share a result set, because a server without concurrency executes them in turn.
        let searches = [(); 3].map(|()| search(&session, "default"));
        let mut requests = Vec::new();
        for _ in 0..sent_ahead {
            requests.push(peer.request().await);
        }
        assert!(
            requests.len() == 3 || peer.hears_nothing().await,
            "{max_pipelined}"
        );
        for hits in 1..=3 {
            peer.send(answer_to(&requests.remove(0), hits)).await;
            if hits + sent_ahead <= 3 {
                requests.push(peer.request().await);
            }
        }
        for (search, hits) in searches.into_iter().zip(1..) {
            assert_eq!(search.await.expect("no panic").expect("found"), hits);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn operations_on_one_result_set_do_not_overlap() {
    let (session, mut peer) = concurrent().await;
    let first = search(&session, "a");
    let second = search(&session, "a");
    let request = peer.request().await;
    assert!(peer.hears_nothing().await, "the second must wait");
    peer.send(answer_to(&request, 1)).await;
    let request = peer.request().await;
    peer.send(answer_to(&request, 2)).await;
    assert_eq!(first.await.expect("no panic").expect("found"), 1);
    assert_eq!(second.await.expect("no panic").expect("found"), 2);
    let presents = [(); 2].map(|()| {
        let session = session.clone();
        let options = PresentOptions {
            result_set: "a".into(),
            ..PresentOptions::default()
        };
        tokio::spawn(async move { session.present(1, 1, &options).await })
    });
    let mut requests = Vec::new();
    for _ in &presents {
        requests.push(peer.request().await);
    }
    let third = search(&session, "a");
    assert!(
        peer.hears_nothing().await,
        "the set being presented must not change"
    );
    for request in requests.iter().rev() {
        let records = Some(Records::ResponseRecords(vec![marc()]));
        let response = PresentResponse {
            reference_id: request.reference_id().cloned(),
            ..presented(PresentStatus::SUCCESS, records)
        };
        peer.send(response).await;
    }
    for present in presents {
        assert_eq!(
            present
                .await
                .expect("no panic")
                .expect("a record")
                .records
                .len(),
            1
        );
    }
    let request = peer.request().await;
    peer.send(answer_to(&request, 3)).await;
    assert_eq!(third.await.expect("no panic").expect("found"), 3);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_fits_no_request_ends_the_session() {
    let label = |text: &str| Some(ReferenceId(text.into()));
    for (sets, reference_id, words) in [
        (
            &["a"][..],
            label("x"),
            "a response with a referenceId that was not sent",
        ),
        (
            &["a", "b"],
            label("x"),
            "a response with a referenceId that was not sent",
        ),
        // An answer without a referenceId belongs to the first request, which has none. A second such answer does not
        // belong to any request.
        (
            &["a", "b", "c"],
            None,
            "a response without the referenceId of its request",
        ),
    ] {
        let (session, mut peer) = concurrent().await;
        let searches: Vec<_> = sets.iter().map(|set| search(&session, set)).collect();
        for _ in sets {
            peer.request().await;
        }
        for _ in 0..2 {
            let response = SearchResponse {
                reference_id: reference_id.clone(),
                ..found(1, vec![])
            };
            peer.send(response).await;
        }
        let End::Failed(error) = session.ended().await else {
            panic!("not closed from here")
        };
        let fault = std::error::Error::source(&*error).map(ToString::to_string);
        assert_eq!(fault.as_deref(), Some(words), "{sets:?}");
        let mut answered = 0;
        for search in searches {
            answered += usize::from(search.await.expect("no panic").is_ok());
        }
        assert_eq!(answered, usize::from(reference_id.is_none()), "{sets:?}");
        assert_eq!(peer.rest().await, "close(protocolError)");
    }
}

/// Checks that a wrong answer is not attributed to one request if other operations are in progress, because it may
/// belong to one of them.
#[tokio::test(start_paused = true)]
async fn a_wrong_answer_may_be_that_to_another_request() {
    for sets in [&["a"][..], &["a", "b"]] {
        let (session, mut peer) = concurrent().await;
        let searches: Vec<_> = sets.iter().map(|set| search(&session, set)).collect();
        for _ in sets {
            peer.request().await;
        }
        // All requests are searches, so a Present response does not belong to any of them.
        peer.send(presented(PresentStatus::SUCCESS, None)).await;
        for search in searches {
            let error = search.await.expect("no panic").expect_err("a wrong answer");
            let is_own = matches!(error, Error::ProtocolError { .. });
            let is_lost = matches!(
                error,
                Error::Unavailable {
                    phase: Phase::Search,
                    cause: Cause::AnotherAnswer(_)
                }
            );
            assert_eq!(
                (is_own, is_lost),
                (sets.len() == 1, sets.len() > 1),
                "{error}"
            );
            assert_eq!(error.is_connection_lost(), is_lost);
        }
        let later = session.search(query(), &SearchOptions::default()).await;
        let error = later.expect_err("the session has ended");
        assert!(error.is_connection_lost(), "nothing was sent: {error}");
    }
}

/// Checks that an answer may take its full time after the previous answer: each answer takes 20 s of the 30 s allowed,
/// and the answers may arrive in any order. Answers to requests that were sent after other answers had arrived do not
/// prolong a wait.
#[tokio::test(start_paused = true)]
async fn waits_begin_with_the_last_answer_of_the_session() {
    for (order, is_late) in [
        (&[0, 1, 2][..], false),
        (&[2, 1, 0], false),
        (&[1, 2], true),
        (&[1, 2, 3, 4], true),
    ] {
        let options = SessionOptions {
            max_operations: 3,
            ..SessionOptions::default()
        };
        let (session, mut peer) = Peer::granting(options, Options::CONCURRENT_OPERATIONS).await;
        let sets = ["a", "b", "c", "d", "e"];
        let searches: Vec<_> = sets.iter().map(|set| search(&session, set)).collect();
        let begun = Instant::now();
        let mut requests = Vec::new();
        for number in order {
            while requests.len() <= *number {
                requests.push(peer.request().await);
            }
            tokio::time::sleep(Duration::from_secs(20)).await;
            peer.send(answer_to(&requests[*number], 1)).await;
        }
        let mut searches = searches.into_iter();
        let first = searches.next().expect("a search").await.expect("no panic");
        assert_eq!(first.is_err(), is_late, "{order:?}");
        let last = Duration::from_secs(20 * order.len().min(3) as u64);
        if is_late {
            let waited = begun.elapsed();
            assert!(
                waited <= last + Duration::from_secs(30),
                "{order:?}: {waited:?}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn one_late_answer_does_not_end_a_live_session() {
    let (session, mut peer) = concurrent().await;
    let late = search(&session, "a");
    let late_request = peer.request().await;
    let prompt = search(&session, "b");
    let request = peer.request().await;
    peer.send(answer_to(&request, 2)).await;
    assert_eq!(prompt.await.expect("no panic").expect("found"), 2);
    let error = late
        .await
        .expect("no panic")
        .expect_err("no answer in time");
    assert!(matches!(
        error,
        Error::Unavailable {
            phase: Phase::Search,
            cause: Cause::Timeout(_)
        }
    ));
    assert!(session.is_open());
    let next = search(&session, "c");
    let request = peer.request().await;
    assert!(
        request.reference_id().is_some(),
        "another one is in progress"
    );
    peer.send(answer_to(&late_request, 1)).await;
    peer.send(answer_to(&request, 3)).await;
    assert_eq!(next.await.expect("no panic").expect("found"), 3);
    // A request held back by an operation that never ends waits until the answer timeout.
    let stuck = search(&session, "a");
    peer.request().await;
    let other = search(&session, "b");
    let request = peer.request().await;
    peer.send(answer_to(&request, 4)).await;
    assert_eq!(other.await.expect("no panic").expect("found"), 4);
    let behind = search(&session, "a");
    for search in [stuck, behind] {
        let error = search
            .await
            .expect("no panic")
            .expect_err("no answer in time");
        assert!(matches!(error, Error::Unavailable { .. }), "{error}");
    }
    assert!(session.is_open());
    // If no operation is answered in time, the server is assumed to be gone and the session ends.
    let silent = [search(&session, "a"), search(&session, "b")];
    for search in silent {
        search.await.expect("no panic").expect_err("no answer");
    }
    assert!(!session.is_open());
}

#[tokio::test(start_paused = true)]
async fn a_dropped_request_is_cancelled_where_wanted_and_granted() {
    let granted = Options::TRIGGER_RESOURCE_CONTROL;
    for (cancels_dropped, granted, is_cancelled) in [
        (true, granted, true),
        (false, granted, false),
        (true, Options::default(), false),
    ] {
        let options = SessionOptions {
            cancels_dropped,
            ..SessionOptions::default()
        };
        let (session, mut peer) = Peer::granting(options, granted).await;
        let dropped = search(&session, "a");
        let request = peer.request().await;
        dropped.abort();
        assert!(dropped.await.is_err());
        if is_cancelled {
            let Apdu::TriggerResourceControlRequest(trigger) = peer.request().await else {
                panic!("a trigger")
            };
            assert_eq!(trigger.requested_action, RequestedAction::CANCEL);
            assert_eq!(trigger.result_set_wanted, Some(false));
        }
        let next = search(&session, "a");
        assert!(peer.hears_nothing().await, "the server is still busy");
        peer.send(answer_to(&request, 1)).await;
        let request = peer.request().await;
        peer.send(answer_to(&request, 2)).await;
        assert_eq!(next.await.expect("no panic").expect("found"), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_trigger_reaches_each_operation_in_progress() {
    let granted = Options::TRIGGER_RESOURCE_CONTROL | Options::CONCURRENT_OPERATIONS;
    let (session, mut peer) = Peer::granting(SessionOptions::default(), granted).await;
    let trigger = TriggerResourceControlRequest::cancel;
    let none = session.trigger_resource_control(trigger()).await;
    assert_eq!(none.expect("granted"), 0);
    let searches = ["a", "b"].map(|set| search(&session, set));
    let requests = [peer.request().await, peer.request().await];
    let both = session.trigger_resource_control(trigger()).await;
    assert_eq!(both.expect("granted"), 2);
    for request in &requests {
        let trigger = peer.request().await;
        assert_eq!(trigger.name(), "triggerResourceControlRequest");
        assert_eq!(trigger.reference_id(), request.reference_id());
        peer.send(answer_to(request, 1)).await;
    }
    for search in searches {
        search.await.expect("no panic").expect("found");
    }
    let (session, _peer) = Peer::granting(SessionOptions::default(), Options::default()).await;
    let refused = session.trigger_resource_control(trigger()).await;
    assert!(matches!(
        refused,
        Err(Error::ProtocolError {
            fault: ProtocolFault::NotGranted("triggerResourceCtrl"),
            ..
        })
    ));
}

#[tokio::test(start_paused = true)]
async fn a_callers_reference_id_is_used_while_it_is_unique() {
    let (session, mut peer) = concurrent().await;
    let own = ReferenceId("mine".into());
    let session = session.with_reference_id(Some(own.clone()));
    let searches = ["a", "b"].map(|set| search(&session, set));
    let requests = [peer.request().await, peer.request().await];
    assert_eq!(requests[0].reference_id(), Some(&own));
    assert_eq!(reference(&requests[1]), Some(vec![0, 0, 0, 1]));
    for (request, hits) in requests.iter().zip([1, 2]) {
        peer.send(answer_to(request, hits)).await;
    }
    for (search, hits) in searches.into_iter().zip(1..) {
        assert_eq!(search.await.expect("no panic").expect("found"), hits);
    }
}

#[tokio::test(start_paused = true)]
async fn requests_beyond_the_limit_wait() {
    let options = SessionOptions {
        max_operations: 2,
        ..SessionOptions::default()
    };
    let (session, mut peer) = Peer::granting(options, Options::CONCURRENT_OPERATIONS).await;
    let searches: Vec<_> = (0..5)
        .map(|set| search(&session, &set.to_string()))
        .collect();
    let mut requests = vec![peer.request().await, peer.request().await];
    assert!(peer.hears_nothing().await);
    for hits in 1..=5 {
        peer.send(answer_to(&requests.remove(0), hits)).await;
        if hits < 4 {
            requests.push(peer.request().await);
        }
    }
    for (search, hits) in searches.into_iter().zip(1..) {
        assert_eq!(search.await.expect("no panic").expect("found"), hits);
    }
    let deadline = Some(tokio::time::Instant::now() + Duration::from_secs(3));
    let hurried = session.with_timeouts(Timeouts {
        deadline,
        ..Timeouts::default()
    });
    let error = search(&hurried, "a").await.expect("no panic");
    assert!(matches!(
        error,
        Err(Error::Unavailable {
            cause: Cause::Deadline,
            ..
        })
    ));
}

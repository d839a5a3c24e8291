//! Tests of clients that guess passwords: in one session, in several sessions, and in answer to the server's challenge.

use tokio::time::timeout;
use z3950_asn1::apdu::{
    AccessControlResponse, IdAuthentication, IdPass, Options, SecurityChallengeResponse,
};
use z3950_asn1::format::user_info1::UserInfo1;

use super::*;
use crate::access::{Access, Challenge, User};
use crate::metrics::{OperationKind, OperationOutcome};
use crate::requests::{Slow, ann, hashed_ann};

/// Returns a server with the user `ann`.
fn server() -> Arc<Context> {
    server_of(catalogue(), ann())
}

fn server_of(backend: Arc<dyn Backend>, user: User) -> Arc<Context> {
    let access = Access {
        users: vec![user],
        challenge: Some(Challenge::Simple("who is it?".to_owned())),
        ..Access::default()
    };
    let target = Target::new(backend, Limits::default()).with_access(access);
    Arc::new(Context::new(target))
}

fn connected(server: &Arc<Context>) -> Client {
    Client::within(Arc::clone(server), None)
}

fn init_with(password: &str) -> Apdu {
    let InitializeRequest { options, .. } = init_of(ProtocolVersion::UP_TO_3);
    InitializeRequest {
        options: options | Options::CONCURRENT_OPERATIONS,
        id_authentication: Some(IdAuthentication::IdPass(IdPass {
            group_id: None,
            user_id: Some("ann".into()),
            password: Some(password.into()),
        })),
        ..init_of(ProtocolVersion::UP_TO_3)
    }
    .into()
}

/// Returns the result of Init, or the condition of its refusal, and the time in milliseconds until it arrived.
async fn admission(client: &mut Client) -> (String, u128) {
    let begun = Instant::now();
    let Some(Apdu::InitializeResponse(response)) = client.next().await else {
        panic!("an answer to Init");
    };
    let information = response.user_information_field.as_ref();
    let why = information.and_then(UserInfo1::diagnostic_of);
    let words = why.map_or_else(
        || response.result.to_string(),
        |why| why.condition.to_string(),
    );
    (words, begun.elapsed().as_millis())
}

#[tokio::test(start_paused = true)]
async fn a_wrong_password_is_answered_late_in_any_session() {
    check_wrong_passwords(&server()).await;
}

#[tokio::test(start_paused = true)]
async fn r_f15_a_wrong_password_of_a_user_with_a_hash_is_answered_late_too() {
    check_wrong_passwords(&server_of(catalogue(), hashed_ann())).await;
}

async fn check_wrong_passwords(server: &Arc<Context>) {
    let mut clients = [(); 2].map(|()| connected(server));
    for (index, password, expected) in [
        (0, "a", ("1011", 100)),
        (0, "b", ("1011", 200)),
        (1, "c", ("1011", 400)),
        (0, "d", ("1011", 800)),
        (1, "secret", ("true", 0)),
        (0, "e", ("1011", 100)),
    ] {
        let client = &mut clients[index];
        client.send(init_with(password)).await;
        let (words, time) = admission(client).await;
        assert_eq!((&*words, time), expected, "{password}");
    }
    let failed = |kind| server.metrics.operations(kind, OperationOutcome::Failed);
    assert_eq!(failed(OperationKind::Init), 5);
    // The duration of the operation does not include the delay imposed on the client.
    let durations = server.metrics.durations(OperationKind::Init);
    assert!(durations.sum < Duration::from_secs(1), "{durations:?}");
}

#[tokio::test(start_paused = true)]
async fn guesses_side_by_side_are_answered_one_after_the_other() {
    check_guesses_side_by_side(&server()).await;
}

#[tokio::test(start_paused = true)]
async fn r_f15_guesses_of_a_hashed_password_are_answered_one_after_the_other_too() {
    check_guesses_side_by_side(&server_of(catalogue(), hashed_ann())).await;
}

async fn check_guesses_side_by_side(server: &Arc<Context>) {
    let mut clients: Vec<_> = (0..10).map(|_| connected(server)).collect();
    for client in &mut clients {
        client.send(init_with("wrong")).await;
        // Yield after each Init, so that the server takes the attempts in this order.
        tokio::task::yield_now().await;
    }
    let begun = Instant::now();
    let mut late = Vec::new();
    for client in &mut clients {
        let (words, _) = admission(client).await;
        late.push((words, begun.elapsed().as_millis()));
    }
    let mut expected: Vec<_> = [100, 300, 700, 1500, 3100, 6300]
        .map(|time| ("1011".to_owned(), time))
        .into();
    expected.resize(10, ("1018".to_owned(), 6300));
    assert_eq!(late, expected);
    for client in &mut clients[6..] {
        assert_eq!(client.heard().await, "end");
    }
    assert_eq!(server.metrics.sessions_ended(SessionEnd::Refused), 4);
}

/// Returns a request for a report on the operations in progress.
fn report_wanted() -> Apdu {
    TriggerResourceControlRequest {
        reference_id: None,
        requested_action: RequestedAction::RESOURCE_REPORT,
        pref_resource_report_format: None,
        result_set_wanted: None,
        other_info: None,
    }
    .into()
}

#[tokio::test(start_paused = true)]
async fn nothing_reveals_a_right_password_while_answers_are_withheld() {
    let close: Apdu = Close::new(CloseReason::FINISHED, None).into();
    let close = codec::encode(&close).expect("encodes");
    let trigger = codec::encode(&report_wanted()).expect("encodes");
    for (then, words, time) in [
        (&close[..], "end", 0),
        (b"\xff\xff", "initResponse", 300),
        (&trigger, "initResponse", 300),
        // This APDU may be sent only after Init.
        (b"\xb6\x83\x10\x00\x00", "initResponse", 300),
    ] {
        for password in ["wrong", "secret"] {
            let server = server();
            let mut other = connected(&server);
            for _ in 0..2 {
                other.send(init_with("wrong")).await;
            }
            // The first attempt is answered; the second answer is withheld for 200 ms.
            assert_eq!(admission(&mut other).await.1, 100);
            sleep(Duration::from_millis(1)).await;
            let mut client = connected(&server);
            client.send(init_with(password)).await;
            client.send_octets(then).await;
            let begun = Instant::now();
            let heard = client.heard().await;
            let expected = match password {
                "wrong" if time > 0 => 599,
                _ if time > 0 => 199,
                _ => 0,
            };
            let late = begun.elapsed().as_millis();
            assert_eq!((&*heard, late), (words, expected), "{password} {then:x?}");
        }
    }
}

/// Requests that follow Init at once wait for the verification of the password.
#[tokio::test(start_paused = true)]
async fn r_f15_requests_wait_while_a_hashed_password_is_verified() {
    for (password, expected) in [
        ("secret", ["initResponse", "searchResponse"]),
        ("wrong", ["initResponse", "end"]),
    ] {
        let mut client = connected(&server_of(catalogue(), hashed_ann()));
        client.send(init_with(password)).await;
        client.send(search("war")).await;
        for expected in expected {
            assert_eq!(client.heard().await, expected, "{password}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_withheld_answer_does_not_delay_the_stop() {
    for is_stopped_before in [false, true] {
        let mut client = connected(&server());
        client.send(init_with("wrong")).await;
        if !is_stopped_before {
            tokio::task::yield_now().await;
        }
        let begun = Instant::now();
        client.stop.send_replace(true);
        assert_eq!(client.heard().await, "end");
        assert_eq!(begun.elapsed(), Duration::ZERO);
        client.task.await.expect("no panic");
    }
}

/// Opens a session in which the client must authenticate before its first operation.
async fn unproved(server: &Arc<Context>) -> Client {
    let mut client = connected(server);
    let init = InitializeRequest {
        options: Options::SEARCH | Options::ACCESS_CONTROL | Options::RESOURCE_CONTROL,
        ..init_of(ProtocolVersion::UP_TO_3)
    };
    client.send(init.into()).await;
    assert_eq!(admission(&mut client).await, ("true".to_owned(), 0));
    client
}

fn proof(text: &str) -> Apdu {
    let response = SecurityChallengeResponse::SimpleForm(text.as_bytes().to_vec().into());
    AccessControlResponse {
        reference_id: None,
        security_challenge_response: Some(response).into(),
        diagnostic: None,
        other_info: None,
    }
    .into()
}

#[tokio::test(start_paused = true)]
async fn the_answer_to_a_question_is_a_guess_too() {
    let server = server();
    let mut client = unproved(&server).await;
    for (text, heard, late) in [
        ("ann/a", "searchResponse", 100),
        ("ann/b", "searchResponse", 200),
        ("", "searchResponse", 400),
        ("ann/secret", "searchResponse", 0),
    ] {
        client.send(search("war")).await;
        assert_eq!(client.heard().await, "accessControlRequest");
        let begun = Instant::now();
        client.send(proof(text)).await;
        assert_eq!(client.heard().await, heard, "{text}");
        assert_eq!(begun.elapsed().as_millis(), late, "{text}");
    }
    // A wrong password from another client also delays the answer to a correct one.
    let mut other = connected(&server);
    other.send(init_with("wrong")).await;
    let mut client = connected(&server);
    client.send(init_with("secret")).await;
    client.send(search("war")).await;
    assert_eq!(admission(&mut client).await, ("true".to_owned(), 100));
    assert_eq!(client.heard().await, "searchResponse");
}

/// A report would reveal that the search is being performed, and therefore that the password is correct.
#[tokio::test(start_paused = true)]
async fn no_report_reveals_a_correct_password_while_answers_are_withheld() {
    for is_withheld in [false, true] {
        let server = server_of(Arc::new(Slow::default()), ann());
        let mut client = unproved(&server).await;
        client.send(search("war")).await;
        assert_eq!(client.heard().await, "accessControlRequest");
        let mut other = connected(&server);
        if is_withheld {
            other.send(init_with("wrong")).await;
            sleep(Duration::from_millis(1)).await;
        }
        client.send(proof("ann/secret")).await;
        client.send(report_wanted()).await;
        let report = timeout(Duration::from_secs(1), client.heard()).await;
        let expected = (!is_withheld).then_some("resourceControlRequest");
        assert_eq!(report.ok().as_deref(), expected);
    }
}

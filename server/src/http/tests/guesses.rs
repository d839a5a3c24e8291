//! Tests of clients that guess passwords, on one connection and on several.

use super::*;
use crate::access::{Access, User};
use crate::requests::{ann, hashed_ann};

/// Returns a server with the user `ann`.
fn server() -> Arc<Context> {
    server_of(ann())
}

fn server_of(user: User) -> Arc<Context> {
    let access = Access {
        users: vec![user],
        ..Access::default()
    };
    let target = Target::new(catalogue(), Limits::default()).with_access(access);
    context(target, Faults::new())
}

fn connected(server: &Arc<Context>) -> Caller {
    Caller::within(Arc::clone(server), None)
}

/// Returns a request with a wrong password.
fn wrong() -> String {
    with_password("wrong")
}

fn with_password(password: &str) -> String {
    get(&format!("/cat?{WAR}&x-username=ann&x-password={password}"))
}

/// Returns the status of the next answer, and the time in milliseconds until it arrived.
async fn status(caller: &mut Caller) -> (String, u128) {
    let begun = Instant::now();
    let answer = caller.answer().await.expect("an answer");
    (answer.status().to_owned(), begun.elapsed().as_millis())
}

#[tokio::test(start_paused = true)]
async fn a_client_that_guesses_passwords_is_counted_as_refused() {
    check_guesses(&server()).await;
}

#[tokio::test(start_paused = true)]
async fn r_f15_a_client_that_guesses_a_hashed_password_is_counted_too() {
    check_guesses(&server_of(hashed_ann())).await;
}

async fn check_guesses(server: &Arc<Context>) {
    let mut caller = connected(server);
    // These are the credentials ann:wrong.
    let guess = "GET /cat HTTP/1.1\r\nHost: a\r\nAuthorization: Basic YW5uOndyb25n\r\n\r\n";
    let mut late = Vec::new();
    for _ in 0..Limits::default().refusals {
        caller.send(guess).await;
        let (status, time) = status(&mut caller).await;
        assert_eq!(status, "401");
        late.push(time);
    }
    assert_eq!(late, [100, 200, 400, 800, 1600]);
    assert!(caller.answer().await.is_none());
    caller.task.await.expect("no panic");
    assert_eq!(server.metrics.sessions_ended(SessionEnd::Refused), 1);
    let failed = OperationOutcome::Failed;
    assert_eq!(
        server.metrics.operations(OperationKind::SruExplain, failed),
        5
    );
    // A new connection does not reset the delay, but a correct password does.
    for (request, expected) in [
        (wrong(), ("401", 3200)),
        (with_password("secret"), ("200", 0)),
        (wrong(), ("401", 100)),
        // A request without credentials is not a guess.
        (get("/cat"), ("401", 0)),
        (wrong(), ("401", 200)),
    ] {
        let mut caller = connected(server);
        caller.send(&request).await;
        let (status, time) = status(&mut caller).await;
        assert_eq!((&*status, time), expected, "{request}");
    }
}

#[tokio::test(start_paused = true)]
async fn guesses_side_by_side_are_answered_one_after_the_other() {
    let server = server();
    let mut callers: Vec<_> = (0..10).map(|_| connected(&server)).collect();
    for caller in &mut callers {
        caller.send(wrong()).await;
        // Yield after each request, so that the server takes the attempts in this order.
        tokio::task::yield_now().await;
    }
    let begun = Instant::now();
    let mut late = Vec::new();
    for caller in &mut callers {
        let (status, _) = status(caller).await;
        late.push((status, begun.elapsed().as_millis()));
    }
    let mut expected: Vec<_> = [100, 300, 700, 1500, 3100, 6300]
        .map(|time| ("401".to_owned(), time))
        .into();
    expected.resize(10, ("429".to_owned(), 6300));
    assert_eq!(late, expected);
    for caller in &mut callers[6..] {
        assert!(caller.answer().await.is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn a_withheld_answer_does_not_delay_the_stop() {
    let mut caller = connected(&server());
    caller.send(wrong()).await;
    sleep(Duration::from_millis(50)).await;
    let begun = Instant::now();
    caller.stop.send_replace(true);
    assert!(caller.answer().await.is_none());
    assert_eq!(begun.elapsed(), Duration::ZERO);
    caller.task.await.expect("no panic");
    assert_eq!(caller.metrics.sessions_ended(SessionEnd::Stopped), 1);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_leaves_meanwhile_frees_its_slot() {
    let server = server();
    for _ in 0..4 {
        let mut caller = connected(&server);
        caller.send(wrong()).await;
        sleep(Duration::from_millis(1)).await;
        caller.stream.shutdown().await.expect("open");
        let begun = Instant::now();
        caller.task.await.expect("no panic");
        let most = Limits::default().drain_time;
        assert!(begun.elapsed() <= most + Duration::from_millis(1));
    }
    assert_eq!(server.metrics.sessions_ended(SessionEnd::Left), 4);
}

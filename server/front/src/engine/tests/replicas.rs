//! Replicas: which of them are asked, and which refusals are those of a server.

use super::super::link::LinkError;
use super::super::replicas::PAUSE;
use super::fake::{Holdings, refusing, sound};
use super::*;

fn link(server: &FakeServer) -> Link {
    Link::new("127.0.0.1", server.port(), 1, Duration::from_secs(60))
}

fn replicas_of(servers: &[&FakeServer]) -> Replicas {
    Replicas::new(servers.iter().map(|server| link(server)))
}

#[tokio::test]
async fn a_server_that_failed_comes_last_until_its_pause_ends() {
    let failing = FakeServer::start(|_| ready(None)).await;
    let sound = sound().await;
    let replicas = replicas_of(&[&failing, &sound]);
    for expected in 1..=3 {
        for _ in 0..6 {
            replicas.ask(b"SHOW META").await.expect("an answer");
        }
        assert_eq!(failing.asked().len(), expected);
        tokio::time::pause();
        tokio::time::advance(PAUSE).await;
        tokio::time::resume();
    }
    assert_eq!(sound.asked().len(), 18);
}

#[tokio::test]
async fn servers_that_failed_are_asked_if_no_other_answers() {
    let failing = FakeServer::start(|_| ready(None)).await;
    let refusing = refusing("syntax error").await;
    let replicas = replicas_of(&[&failing, &refusing]);
    for expected in 1..=3 {
        let refused = replicas.ask(b"SHOW META").await.expect_err("refused");
        assert_eq!(refused.to_string(), "syntax error");
        assert_eq!(refusing.asked().len(), expected);
    }
    let alone = replicas_of(&[&failing, &failing]);
    for _ in 0..3 {
        let failed = alone.ask(b"SHOW META").await.expect_err("no answer");
        assert!(failed.to_string().starts_with(&failing.place()), "{failed}");
    }
}

#[tokio::test]
async fn a_server_that_cannot_serve_is_passed_by() {
    let full = packet(b"\xff\x10\x04Too many connections");
    let full = FakeServer::greeting(&full, |_| ready(None)).await;
    let lacking = refusing("unknown local index 'books' in search request").await;
    let sound = sound().await;
    for server in [&full, &lacking] {
        let both = replicas_of(&[server, &sound]);
        for _ in 0..4 {
            both.ask(b"SHOW META").await.expect("an answer");
        }
        let alone = replicas_of(&[server])
            .ask(b"SHOW META")
            .await
            .expect_err("none");
        let why = super::super::statement::failure(&alone);
        assert_eq!(why.condition, 109, "{alone}");
        assert!(alone.to_string().starts_with(&server.place()), "{alone}");
    }
}

/// A server that accepts connections and says nothing is given up before the time for an answer.
#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_greet_is_given_up_early() {
    let silent = FakeServer::greeting(b"", |_| ready(None)).await;
    let failed = link(&silent)
        .ask(b"SHOW META")
        .await
        .expect_err("no answer");
    let words = format!("{}: no answer within 3 s", silent.place());
    assert_eq!(failed.to_string(), words);
}

/// Waiting for a connection is no failure of the server.
#[tokio::test(start_paused = true)]
async fn a_server_whose_connections_are_all_in_use_has_not_failed() {
    let silent = FakeServer::greeting(b"", |_| ready(None)).await;
    let link = Link::new("127.0.0.1", silent.port(), 1, Duration::from_secs(1));
    let replicas = Replicas::new([link]);
    let only = replicas.links().next().expect("a link");
    let (holding, waiting) = tokio::join!(
        only.ask_within(Duration::from_secs(60), b"SHOW META"),
        replicas.ask(b"SHOW META"),
    );
    let place = silent.place();
    let busy = waiting.expect_err("no connection is free").to_string();
    assert_eq!(busy, format!("{place}: all connections are in use"));
    let counts = &replicas.counts()[0];
    assert_eq!((counts.failures, counts.is_up), (0, true));
    let late = holding.expect_err("no answer").to_string();
    assert_eq!(late, format!("{place}: no answer within 3 s"));
    let failed = replicas.ask(b"SHOW META").await.expect_err("no answer");
    assert!(matches!(failed, LinkError::Late { .. }), "{failed}");
    let counts = &replicas.counts()[0];
    assert_eq!((counts.failures, counts.is_up), (1, false));
}

/// Whoever's turn it is.
#[tokio::test]
async fn a_server_with_a_free_connection_is_asked_first() {
    let (one, other) = (sound().await, sound().await);
    let replicas = replicas_of(&[&one, &other]);
    let busy = replicas.links().next().expect("a link");
    let _held = busy.permit(busy.patience()).await.expect("free");
    for expected in 1..=4 {
        let asking = replicas.ask(b"SHOW META");
        let answer = tokio::time::timeout(Duration::from_secs(30), asking).await;
        answer.expect("no wait").expect("an answer");
        assert_eq!(other.asked().len(), expected);
    }
    assert!(one.asked().is_empty());
}

/// Requests that waited for a server do not try it once it has failed, if there is another.
#[tokio::test]
async fn a_server_that_fails_while_requests_wait_for_it_comes_last_for_them() {
    let (failing, other) = (sound().await, sound().await);
    let replicas = Arc::new(replicas_of(&[&failing, &other]));
    let held = replicas.links().map(|link| link.permit(link.patience()));
    let held = futures_util::future::join_all(held).await;
    let [failing_held, other_held] = <[_; 2]>::try_from(held).expect("two");
    let asking = Arc::clone(&replicas);
    let waiting = tokio::spawn(async move { asking.ask(b"SHOW META").await });
    tokio::task::yield_now().await;
    replicas.note_failure(0, "broken");
    drop(failing_held);
    drop(other_held);
    waiting.await.expect("done").expect("an answer");
    assert_eq!((failing.asked().len(), other.asked().len()), (0, 1));
}

/// A request that a server has kept waiting for its answer waits for a connection with the next one as long as any other.
#[tokio::test(start_paused = true)]
async fn the_time_for_an_answer_is_no_wait_for_a_connection() {
    let silent = FakeServer::greeting(b"", |_| ready(None)).await;
    let other = sound().await;
    let links = [&silent, &other]
        .map(|server| Link::new("127.0.0.1", server.port(), 1, Duration::from_secs(2)));
    let replicas = Arc::new(Replicas::new(links));
    let second = replicas.links().nth(1).expect("a link");
    let held = second.permit(second.patience()).await.expect("free");
    let asking = Arc::clone(&replicas);
    let asking = tokio::spawn(async move { asking.ask(b"SHOW META").await });
    // The first one took 2 s.
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(replicas.counts()[0].failures, 1);
    tokio::time::resume();
    drop(held);
    asking.await.expect("done").expect("an answer");
}

/// The time for an answer begins when a connection is free.
#[tokio::test]
async fn waiting_for_a_connection_takes_nothing_from_the_time_for_an_answer() {
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    let held = Arc::clone(&gate);
    let server = FakeServer::start(move |request| {
        let held = Arc::clone(&held);
        async move {
            held.acquire().await.expect("open").forget();
            Some(Holdings::whole(0).answer(&request))
        }
    });
    let server = server.await;
    let link = Link::new("127.0.0.1", server.port(), 1, Duration::from_secs(10));
    let replicas = Arc::new(Replicas::new([link]));
    let ask = || {
        let replicas = Arc::clone(&replicas);
        tokio::spawn(async move { replicas.ask(b"SHOW META").await })
    };
    let asked = async |number| {
        for _ in 0..10_000_000 {
            if server.asked().len() == number {
                return;
            }
            tokio::task::yield_now().await;
        }
        panic!("not asked");
    };
    let first = ask();
    asked(1).await;
    let second = ask();
    // It waits from now on.
    tokio::task::yield_now().await;
    tokio::time::pause();
    for number in [2, 3] {
        tokio::time::advance(Duration::from_secs(6)).await;
        gate.add_permits(1);
        if number == 2 {
            asked(2).await;
        }
    }
    tokio::time::resume();
    for asking in [first, second] {
        asking.await.expect("done").expect("an answer");
    }
}

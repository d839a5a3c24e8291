//! Tests of clients and connections that are used in several tokio runtimes, one after the other and at the same time.

use std::future::Future;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use z3950::error::{Cause, Error};
use z3950::{Client, ClientOptions, Connection, Query, Timeouts};
use z3950_asn1::es::update::Action;
use z3950_server::testing::{TestServer, TestServerBuilder, record};

fn serving() -> TestServerBuilder {
    let records = [
        record("1", "Emma"),
        record("2", "Emma"),
        record("3", "Persuasion"),
    ];
    TestServer::builder().database("cat", records)
}

/// Returns the targets for accessing a server over Z39.50 and over SRU.
fn targets(server: &TestServer) -> [String; 2] {
    [format!("{}/cat", server.addr()), server.http_url("cat")]
}

fn runtime() -> Runtime {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime")
}

/// Runs a future in its own runtime, which then ends, as with `#[tokio::test]`.
fn in_own_runtime<T>(work: impl Future<Output = T>) -> T {
    runtime().block_on(work)
}

async fn emmas(cat: &Connection) -> Result<usize, Error> {
    let hits = cat.search(Query::title("emma")).await?;
    Ok(hits.stream().collect().await?.len())
}

async fn connect_and_search(client: &Client, target: &str) -> Result<usize, Error> {
    emmas(&client.connect(target).await?).await
}

/// Returns a client with timeouts, so that its requests cannot hang.
fn client() -> Client {
    let mut timeouts = Timeouts::default().with_answer(Duration::from_secs(20));
    timeouts.session = Some(Duration::from_secs(20));
    Client::with(ClientOptions::default().with_timeouts(timeouts))
}

#[test]
fn audit_r_l1_a_client_is_used_in_one_runtime_after_the_other() {
    let server = serving().start();
    for target in targets(&server) {
        let client = client();
        for _ in 0..4 {
            let found = in_own_runtime(connect_and_search(&client, &target));
            assert_eq!(found.expect(&target), 2, "{target}");
        }
        in_own_runtime(client.close_all());
    }
}

#[test]
fn audit_r_l1_a_connection_and_its_result_set_outlive_their_runtime() {
    let server = serving().start();
    for target in targets(&server) {
        let client = client();
        let (cat, hits) = in_own_runtime(async {
            let cat = client.connect(&target).await.expect("a connection");
            let hits = cat.search(Query::title("emma")).await.expect("hits");
            (cat, hits)
        });
        let record = in_own_runtime(hits.record(2));
        assert_eq!(record.expect(&target).title().as_deref(), Some("Emma"));
        for _ in 0..2 {
            assert_eq!(in_own_runtime(emmas(&cat)).expect(&target), 2, "{target}");
        }
    }
}

#[test]
fn audit_r_l1_a_runtime_that_is_not_driven_does_not_hold_up_others() {
    let server = serving().start();
    for target in targets(&server) {
        let client = client();
        let stopped = runtime();
        let cat = stopped
            .block_on(client.connect(&target))
            .expect("a connection");
        assert_eq!(
            stopped.block_on(connect_and_search(&client, &target)).ok(),
            Some(2)
        );
        // The runtime `stopped` is no longer driven, so the tasks of its two sessions make no progress. One of these sessions is
        // idle in the pool, and the other belongs to the connection.
        let found = in_own_runtime(connect_and_search(&client, &target));
        assert_eq!(found.expect(&target), 2, "{target}");
        assert_eq!(in_own_runtime(emmas(&cat)).expect(&target), 2, "{target}");
        in_own_runtime(client.close_all());
    }
}

#[test]
fn audit_r_l1_sixteen_runtimes_share_a_client_and_a_connection() {
    let server = serving().start();
    for target in targets(&server) {
        let client = client();
        let cat = in_own_runtime(client.connect(&target)).expect("a connection");
        let start = Barrier::new(16);
        thread::scope(|scope| {
            let users = (0..16).map(|number| {
                let (client, cat, target, start) = (&client, &cat, &target, &start);
                scope.spawn(move || {
                    start.wait();
                    in_own_runtime(async {
                        // The number of rounds differs between the threads, so that runtimes end while others still use their
                        // sessions.
                        for _ in 0..=number % 4 {
                            assert_eq!(emmas(cat).await?, 2);
                            assert_eq!(connect_and_search(client, target).await?, 2);
                        }
                        Ok::<(), Error>(())
                    })
                })
            });
            for user in users.collect::<Vec<_>>() {
                let used = user.join().expect("no panic");
                assert!(used.is_ok(), "{target}: {used:?}");
            }
        });
    }
}

/// Makes a request in a session whose runtime ends before the server answers the request.
fn cut_off<T: Send + 'static>(
    server: &TestServer,
    (name, count): (&'static str, usize),
    request: impl FnOnce(Connection) -> T + Send + 'static,
) -> T {
    let target = format!("{}/cat", server.addr());
    let (gives, cat) = oneshot::channel();
    let (ends, ended) = oneshot::channel::<()>();
    let owner = thread::spawn(move || {
        in_own_runtime(async {
            let cat = client().connect(target).await.expect("a connection");
            emmas(&cat).await.expect("records");
            assert!(gives.send(cat).is_ok());
            let _ = ended.await;
        });
    });
    let cat = in_own_runtime(cat).expect("a connection");
    let user = thread::spawn(move || request(cat));
    server
        .wait_until(|entries| entries.iter().filter(|entry| entry.name() == name).count() == count);
    assert!(ends.send(()).is_ok());
    owner.join().expect("no panic");
    user.join().expect("no panic")
}

#[test]
fn audit_r_l1_a_search_is_repeated_if_its_session_ends_with_a_runtime() {
    let server = serving().rule("on search nth-of-all=2: silence").start();
    let found = cut_off(&server, ("searchRequest", 2), |cat| {
        in_own_runtime(emmas(&cat))
    });
    assert_eq!(found.expect("records"), 2);
}

#[test]
fn audit_r_l1_an_update_is_not_repeated_if_its_session_ends_with_a_runtime() {
    let server = serving().rule("on extended: silence").start();
    let error = cut_off(&server, ("extendedServicesRequest", 1), |cat| {
        in_own_runtime(async {
            let record = [record("4", "Middlemarch")];
            let lost = cat.update(Action::RECORD_INSERT, &record).await;
            assert_eq!(emmas(&cat).await.expect("records"), 2);
            lost.expect_err("the update was cut off")
        })
    });
    let cause = match &error {
        Error::Unavailable { cause, .. } => cause,
        other => panic!("{other:?}"),
    };
    assert!(matches!(cause, Cause::RuntimeEnded), "{error:?}");
    assert!(error.is_connection_lost());
    let names = server.names();
    let updates = names
        .iter()
        .filter(|name| **name == "extendedServicesRequest");
    assert_eq!(updates.count(), 1);
}

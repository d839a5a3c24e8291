//! Tests of blocking calls from several threads and from asynchronous code, and of the end of the client's thread.

use std::sync::mpsc;

use z3950_asn1::apdu::{Apdu, PresentStatus, Records as ResponseRecords};

use super::runtime::Runtime;
use super::*;
use crate::find::{Event, Wanted};
use crate::testing::*;
use crate::transport::Routes;
use crate::{ClientOptions, ConnectOptions, Credentials, Error, Query};

/// Returns a client whose server accepts Init and then performs `turns`.
fn client(turns: Vec<Turn>) -> Client {
    let script = [vec![accepted()], turns].concat();
    let routes = Routes::fixed(std::sync::Arc::new(Scripted::new([script])));
    crate::Client::with_routes(ClientOptions::default(), routes).into()
}

fn searched(hits: i64) -> Turn {
    send(found(hits, Vec::new()))
}

fn chunk(count: usize) -> Apdu {
    let records = ResponseRecords::ResponseRecords(vec![marc(); count]);
    presented(PresentStatus::SUCCESS, Some(records)).into()
}

/// Returns the records that a search finds. They hold the only handle to the connection.
fn records_of(client: &Client) -> Result<Records, Error> {
    let hits = client
        .connect("lib.example/cat")?
        .search(Query::title("emma"))?;
    assert_eq!(hits.count(), 30);
    Ok(hits.into_iter())
}

#[test]
fn audit_r_l13_records_are_iterated() {
    let client = client(vec![
        searched(30),
        send(chunk(20)),
        send(chunk(10)),
        searched(30),
    ]);
    let records = records_of(&client).expect("records");
    let positions = records.map(|record| record.expect("a record").position());
    assert!(positions.eq((1..=30).map(Some)));
    // The first iteration has returned its session to the client, so this search uses the same session.
    drop(records_of(&client).expect("a search in the same session"));
    client.close_all();
}

#[test]
fn audit_r_l13_one_connection_serves_several_threads() {
    let client = client((0..8).map(|_| searched(1)).collect());
    let cat = client.connect("lib.example/cat").expect("a connection");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| cat.search(Query::title("emma")).expect("hits"));
        }
    });
    cat.close().expect("was open");
}

/// Tests a call that makes more requests than a tokio task may make without yielding.
fn many_requests() {
    const MANY: usize = 300;
    let one_each = std::iter::repeat_with(|| one(marc())).take(MANY);
    let client = client(std::iter::once(searched(1)).chain(one_each).collect());
    let cat = client.connect("lib.example/cat").expect("a connection");
    let hits = cat.search(Query::title("emma")).expect("hits");
    for _ in 0..MANY {
        hits.record(1).expect("a record");
    }
}

#[tokio::test]
async fn audit_r_l13_calls_from_asynchronous_code_work() {
    many_requests();
    let blocking = tokio::task::spawn_blocking(many_requests);
    blocking.await.expect("no panic");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn audit_r_l13_calls_from_a_task_work() {
    let task = tokio::spawn(async { many_requests() });
    task.await.expect("no panic");
}

#[test]
fn issue_48_calls_have_limits_and_connections_their_own_credentials() {
    let limit = std::time::Duration::from_millis(20);
    let client = client(vec![searched(1)]);
    let options = ConnectOptions::new().with_credentials(Credentials::password("ann", "secret"));
    let cat = client
        .connect_with("lib.example/cat", options)
        .expect("a connection");
    assert_eq!(cat.search(Query::title("emma")).expect("hits").count(), 1);
    // The script ends here, so the server does not answer the next search.
    let late = cat.within(limit).search(Query::title("emma"));
    let error = late.expect_err("no answer");
    assert!(error.is_timeout(), "{error:?}");
    let elsewhere = client.within(limit).connect("lib.example/cat");
    elsewhere.expect_err("the script has no other session");
}

#[test]
fn audit_r_l13_events_are_iterated() {
    let client = client(vec![searched(2), send(chunk(2))]);
    let target = client.target("lib.example/cat").expect("a target");
    let wanted = Wanted::query(Query::title("emma"));
    let events = client.find([target], wanted).expect("events");
    let events: Vec<_> = events.collect();
    let is_record = |event: &&Event| matches!(event, Event::Record { .. });
    assert_eq!(events.iter().filter(is_record).count(), 2);
    assert!(matches!(events.last(), Some(Event::Ended(_))));
}

#[test]
fn audit_r_l13_the_thread_ends_with_its_last_user() {
    let runtime = Runtime::default();
    let (sender, receiver) = mpsc::channel::<()>();
    let task = async {
        tokio::spawn(async move {
            let _held = sender;
            std::future::pending::<()>().await;
        });
    };
    runtime.wait(task).expect("a thread");
    drop(runtime);
    // When the thread ends, it drops the task and the sender in it, so this waits for the end of the thread.
    receiver.recv().expect_err("nothing was sent");
}

//! Tests of servers that are each other's targets, over both protocols.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;
use z3950::transport::{BoxStream, Connect, Connecting, Routes};
use z3950::url::Host;
use z3950::{ClientOptions, Query, Timeouts};
use z3950_server::testing::{TestServer, record};

use super::super::RemoteDatabase;
use super::*;

/// The addresses of servers by name. A server may be named as a target before it starts.
#[derive(Clone, Default)]
struct Names(Arc<Mutex<HashMap<String, SocketAddr>>>);

impl Names {
    fn client(&self) -> Client {
        Client::with_routes(ClientOptions::default(), Routes::fixed(self.clone()))
    }

    /// Starts a server with this name and a database `union` at these targets.
    fn start(&self, name: &str, targets: &[String]) -> TestServer {
        let options = RemoteOptions::new("union", targets);
        let database = RemoteDatabase::new(&self.client(), options).expect("targets");
        let server = TestServer::builder().backend(Arc::new(database)).start();
        lock(&self.0).insert(name.to_owned(), server.addr());
        server
    }
}

impl Connect for Names {
    fn connect<'a>(&'a self, host: &'a Host, _: u16, _: &'a Timeouts) -> Connecting<'a> {
        let address = lock(&self.0).get(&host.to_string()).copied();
        Box::pin(async move {
            let address = address.expect("a known server");
            let stream = TcpStream::connect(address).await;
            Ok(Box::new(stream.expect("a connection")) as BoxStream)
        })
    }
}

/// Searches through a front server; returns the number of hits and the failures of targets. Asserts that the search takes less
/// than a target's time limit.
async fn found(front: &TestServer, name: &str) -> (u64, Vec<String>) {
    let search = async {
        let target = format!("{}/{name}", front.addr());
        let connection = Client::new().connect(target).await.expect("a session");
        let hits = connection
            .search(Query::title("shared"))
            .await
            .expect("hits");
        let information = hits.found().additional_search_info.clone();
        let failures = information
            .and_then(|found| found.value::<z3950_asn1::format::diag1::DiagnosticFormat>());
        let units = failures.into_iter().flat_map(|failures| failures.0);
        let messages = units.filter_map(|unit| unit.message);
        let messages = messages.map(|text| text.to_string_lossy().into_owned());
        (hits.count(), messages.collect())
    };
    let limit = Duration::from_secs(5);
    timeout(limit, search)
        .await
        .expect("an answer before the time of a target")
}

fn catalogue() -> TestServer {
    let records = [record("id", "Shared")];
    TestServer::builder().database("cat", records).start()
}

#[tokio::test]
async fn circles_are_refused_at_once_and_cost_no_hits_of_others() {
    for (scheme, circle) in [
        ("", &["a", "b"][..]),
        ("", &["a", "b", "c"]),
        ("", &["a"]),
        ("http://", &["a", "b"]),
        ("http://", &["a", "b", "c"]),
    ] {
        let names = Names::default();
        let books = catalogue();
        lock(&names.0).insert("books".to_owned(), books.addr());
        let mut servers = Vec::new();
        for (number, name) in circle.iter().enumerate() {
            let next = circle[(number + 1) % circle.len()];
            let targets = ["books/cat".to_owned(), format!("{scheme}{next}/union")];
            servers.push(names.start(name, &targets));
        }
        for server in &servers {
            let (count, failures) = found(server, "union").await;
            // Every server searches the catalogue; the last server of the circle leaves out only the way back to the first
            // server.
            assert_eq!(count, circle.len() as u64, "{scheme}{circle:?}");
            let is_direct = circle.len() == 1;
            assert_eq!(failures.len(), usize::from(is_direct), "{failures:?}");
            if is_direct {
                assert!(failures[0].contains("leads back to itself"), "{failures:?}");
            }
        }
        // Scans and sorts in a circle are also answered.
        for server in &servers {
            let target = format!("{}/union", server.addr());
            let connection = Client::new().connect(&target).await.expect("a session");
            let terms = connection
                .scan(Query::title("shared"))
                .await
                .expect("terms");
            assert_eq!(terms.terms()[0].count, Some(circle.len() as u64));
            let mut hits = connection
                .search(Query::title("shared"))
                .await
                .expect("hits");
            let title = ["title".parse().expect("a key")];
            hits.sort(&title).await.expect("sorted");
            let records = hits.stream().collect().await.expect("records");
            assert_eq!(records.len(), circle.len());
        }
        // Concurrent searches, one on each server, do not block each other.
        let all = servers.iter().map(|server| found(server, "union"));
        for (count, _) in futures_util::future::join_all(all).await {
            assert_eq!(count, circle.len() as u64);
        }
    }
}

#[tokio::test]
async fn the_server_that_closes_the_circle_says_so() {
    let names = Names::default();
    let (books, back) = (catalogue(), "a/union".to_owned());
    lock(&names.0).insert("books".to_owned(), books.addr());
    let _a = names.start("a", &["b/union".to_owned()]);
    let b = names.start("b", &[back, "books/cat".to_owned()]);
    // The search goes from b to a, and would return to b, which is the only target of a.
    let (count, failures) = found(&b, "union").await;
    assert_eq!((count, failures.len()), (1, 1), "{failures:?}");
    assert!(
        failures[0]
            .contains("union@a/union: union@b/union: this server leads back to itself through"),
        "{failures:?}"
    );
    let lone = names.start("lone", &["lone/union".to_owned()]);
    let target = format!("{}/union", lone.addr());
    let connection = Client::new().connect(target).await.expect("a session");
    let failed = connection.search(Query::title("shared")).await;
    let failed = failed.expect_err("no other target").to_string();
    assert!(failed.contains("leads back to itself"), "{failed}");
}

fn chains() -> (Chains, RemoteOptions) {
    let options = RemoteOptions::new("union", ["127.0.0.1:1/cat"]);
    let cache = Arc::new(RecordCache::new(1));
    (
        Chains::new(Client::new(), &options, cache).expect("targets"),
        options,
    )
}

#[test]
fn chains_are_limited_in_length() {
    let (chains, options) = chains();
    let upstreams = |via: Via| chains.upstreams(&options, via);
    let others = |number: u64| {
        (1..=number)
            .map(|at| chains.id.wrapping_add(at))
            .collect::<Via>()
    };
    assert!(upstreams(others(8)).is_ok());
    let why = upstreams(others(9)).map(drop).expect_err("too long");
    assert!(why.to_string().contains("more than 8"), "{why}");
    let circle = others(1).then(chains.id).then(5);
    let why = upstreams(circle)
        .map(drop)
        .expect_err("a circle")
        .to_string();
    assert!(
        why.contains("109") && why.contains("through 0000000000000005"),
        "{why}"
    );
}

#[test]
fn busy_chains_are_limited_in_number_and_idle_ones_give_way() {
    let (chains, options) = chains();
    let via = |at: usize| Via::default().then(chains.id.wrapping_add(at as u64 + 1));
    let upstreams = |at: usize| chains.upstreams(&options, via(at));
    let load = |at: usize| {
        let chained = lock(&chains.chained);
        let chain = chained.iter().find(|chain| chain.via == via(at));
        chain.map(|chain| chain.load.clone())
    };
    let used: Vec<_> = (0..MAX_CHAINS)
        .map(|at| upstreams(at).expect("room"))
        .collect();
    assert!(upstreams(0).is_ok_and(|again| Arc::ptr_eq(&again[0], &used[0][0])));
    // The second chain is the least recently used, so it is evicted even if its targets are still in use.
    assert!(upstreams(MAX_CHAINS).is_ok());
    assert!(load(1).is_none() && load(0).is_some());
    assert!(upstreams(1).is_ok() && load(2).is_none());
    let all: Vec<_> = lock(&chains.chained)
        .iter()
        .map(|chain| chain.load.clone())
        .collect();
    let mut operations: Vec<_> = { all.iter() }
        .map(|load| load.begin().expect("room"))
        .collect();
    assert_eq!(all.len(), MAX_CHAINS);
    let why = upstreams(2).map(drop).expect_err("all are busy");
    assert!(why.to_string().contains("too many servers"), "{why}");
    // A chain whose sessions were closed does not count towards the limit. It counts again if its result sets are used again.
    let given_up = ChainLoad::new(&chains.busy);
    assert!(given_up.begin().is_err());
    operations.push(all[0].begin().expect("it is busy already"));
    operations.swap_remove(0);
    assert!(upstreams(2).is_err(), "another operation of the same chain");
    operations.pop();
    drop(operations.swap_remove(0));
    let again = given_up.begin().expect("room");
    drop((again, operations));
    assert!(lock(&chains.busy).is_empty());
    assert!(upstreams(2).is_ok());
}

#[tokio::test(start_paused = true)]
async fn searches_that_come_by_several_paths_are_known() {
    let (chains, options) = chains();
    let query = |term: &str| Query::title(term).as_rpn().clone();
    let path = |servers: &[u64]| servers.iter().copied().collect::<Via>();
    for (servers, term, expected) in [
        (&[][..], "war", false),
        (&[][..], "war", false),
        (&[1, 2], "war", false),
        (&[1, 2], "war", false),
        (&[1, 3], "war", true),
        (&[4, 3], "war", false),
        (&[1, 3], "peace", false),
    ] {
        let is_repeated = chains.is_repeated(&options, path(servers), &query(term));
        assert_eq!(is_repeated, expected, "{servers:?} {term}");
    }
    tokio::time::advance(options.total_time).await;
    assert!(!chains.is_repeated(&options, path(&[1, 5]), &query("war")));
    for number in 0..MAX_RECENT {
        chains.is_repeated(&options, path(&[1, 5]), &query(&number.to_string()));
    }
    assert_eq!(lock(&chains.recent).len(), MAX_RECENT);
}

#[tokio::test]
async fn numbers_that_count_a_server_twice_are_estimates() {
    let names = Names::default();
    let books = catalogue();
    lock(&names.0).insert("books".to_owned(), books.addr());
    let _d = names.start("d", &["books/cat".to_owned()]);
    let _b = names.start("b", &["d/union".to_owned()]);
    let _c = names.start("c", &["d/union".to_owned()]);
    for (targets, count, is_estimate) in [
        (&["b/union"][..], 1, false),
        (&["b/union", "c/union"], 2, true),
    ] {
        let targets: Vec<String> = targets.iter().map(|name| (*name).to_owned()).collect();
        let front = names.start("a", &targets);
        let target = format!("{}/union", front.addr());
        let connection = Client::new().connect(target).await.expect("a session");
        let hits = connection.search(Query::title("shared")).await;
        let hits = hits.expect("hits");
        assert_eq!((hits.count(), hits.is_estimate()), (count, is_estimate));
    }
}

#[tokio::test]
async fn chained_searches_do_not_wait_for_direct_ones() {
    let names = Names::default();
    let slow = TestServer::builder()
        .database("cat", [record("id", "Shared")])
        .rule("on search session=1: silence")
        .start();
    lock(&names.0).insert("slow".to_owned(), slow.addr());
    let mut options = RemoteOptions::new("union", ["slow/cat"]);
    options.sessions = 1;
    let database = RemoteDatabase::new(&names.client(), options).expect("targets");
    let front = TestServer::builder().backend(Arc::new(database)).start();
    let target = format!("{}/union", front.addr());
    let direct = Client::new().connect(&target).await.expect("a session");
    let waiting = tokio::spawn(async move { direct.search(Query::title("shared")).await });
    while slow.names().iter().all(|name| *name != "searchRequest") {
        tokio::task::yield_now().await;
    }
    let mut of_client = ClientOptions::default();
    of_client.via = Via::default().then(1);
    let chained = Client::with(of_client)
        .connect(&target)
        .await
        .expect("a session");
    let hits = chained.search(Query::title("shared")).await.expect("hits");
    assert_eq!(hits.count(), 1);
    assert!(!waiting.is_finished());
    waiting.abort();
}

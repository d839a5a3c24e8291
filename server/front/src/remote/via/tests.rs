//! Fronts that lead to each other, over both protocols.

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

/// The addresses of servers by name, some of which start only after others that lead to them.
#[derive(Clone, Default)]
struct Names(Arc<Mutex<HashMap<String, SocketAddr>>>);

impl Names {
    fn client(&self) -> Client {
        Client::with_routes(ClientOptions::default(), Routes::fixed(self.clone()))
    }

    /// A server of this name with a database `union` at these targets.
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

/// The hits of a search at a front, and the failures of its targets. It must not take as long as a target may.
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
            .and_then(|found| found.value::<z3950_server::asn1::format::diag1::DiagnosticFormat>());
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
            // Each server has the catalogue; the last one refuses nobody but the first.
            assert_eq!(count, circle.len() as u64, "{scheme}{circle:?}");
            let is_direct = circle.len() == 1;
            assert_eq!(failures.len(), usize::from(is_direct), "{failures:?}");
            if is_direct {
                assert!(failures[0].contains("leads back to itself"), "{failures:?}");
            }
        }
        // Searches at all of them at the same time wait for none of each other's.
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
    // From b to a, and back to b, which is the only target of a.
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
fn chains_in_use_are_limited_in_number() {
    let (chains, options) = chains();
    let upstreams = |at: usize| {
        let other = chains.id.wrapping_add(at as u64 + 1);
        chains.upstreams(&options, Via::default().then(other))
    };
    let mut used: Vec<_> = (0..MAX_CHAINS)
        .map(|at| upstreams(at).expect("room"))
        .collect();
    assert!(upstreams(0).is_ok_and(|again| Arc::ptr_eq(&again[0], &used[0][0])));
    assert!(upstreams(MAX_CHAINS).is_err());
    used.pop();
    assert!(upstreams(MAX_CHAINS).is_ok());
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

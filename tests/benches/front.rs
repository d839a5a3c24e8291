//! Measures databases on other servers: the cost of the second hop, the cost of slow targets, and many sessions over few
//! upstream sessions. `cargo bench -p z3950-tests --bench front` prints the rows of `BENCHMARKS.md`.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use z3950::{Client, Connection, Query};
use z3950_front::CataloguePage;
use z3950_front::remote::{RemoteDatabase, RemoteOptions};
use z3950_server::testing::{TestServer, record};

fn main() {
    let runtime = Runtime::new().expect("a runtime");
    runtime.block_on(second_hop());
    runtime.block_on(slow_targets());
    runtime.block_on(many_sessions());
}

/// Starts a server whose only database is at these targets.
fn front(targets: Vec<String>, sessions: usize, fresh: Duration) -> TestServer {
    let mut options = RemoteOptions::new("union", targets);
    options.sessions = sessions;
    options.fresh = fresh;
    let database = RemoteDatabase::new(&Client::new(), options).expect("targets");
    TestServer::builder()
        .limit(|limits| {
            limits.sessions = 2000;
            limits.sessions_per_address = Some(2000);
        })
        .backend(Arc::new(database))
        .web(Arc::new(CataloguePage::new()))
        .start()
}

/// Returns the median of the times, and the 99th percentile.
fn percentiles(mut times: Vec<Duration>) -> (Duration, Duration) {
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() - 1) * percent / 100];
    (at(50), at(99))
}

async fn connected(server: &TestServer, database: &str) -> Connection {
    let target = format!("{}/{database}", server.addr());
    Client::new().connect(target).await.expect("a session")
}

/// The number of rounds in a measurement. In each round, the compared servers are measured one after the other, so that
/// disturbances affect both.
const TURNS: usize = 20;

/// Runs searches in an open session, each followed by a Present of ten records from position `first` on; returns the times.
async fn search_and_present(connection: &Connection, first: u64) -> Vec<Duration> {
    const TIMES: usize = 100;
    let mut times = Vec::with_capacity(TIMES);
    for _ in 0..TIMES {
        let begun = Instant::now();
        let hits = connection.search(Query::any("the")).await.expect("hits");
        let records = hits
            .range(first..first + 10)
            .collect()
            .await
            .expect("records");
        assert_eq!(records.len(), 10);
        times.push(begun.elapsed());
    }
    times
}

/// Measures searches of a single target without a cache, so that each search reaches the target.
async fn second_hop() {
    let server = TestServer::demo();
    let front = front(vec![format!("{}/books", server.addr())], 8, Duration::ZERO);
    let (direct, through) = (
        connected(&server, "books").await,
        connected(&front, "union").await,
    );
    // The front server receives the first ten records with the search response, but has to request the next ten with a Present,
    // so the limit on the ratio applies only to the first ten.
    for (first, aim) in [(1, " (at most 2.2)"), (11, "")] {
        let (mut all_direct, mut all_through, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for turn in 0..=TURNS {
            let direct = search_and_present(&direct, first).await;
            let through = search_and_present(&through, first).await;
            if turn == 0 {
                // The first round is not counted, because the caches are still cold.
                continue;
            }
            let (of_direct, _) = percentiles(direct.clone());
            let (of_through, _) = percentiles(through.clone());
            ratios.push(of_through.as_secs_f64() / of_direct.as_secs_f64());
            all_direct.extend(direct);
            all_through.extend(through);
        }
        ratios.sort_unstable_by(f64::total_cmp);
        let ((direct, _), (through, _)) = (percentiles(all_direct), percentiles(all_through));
        println!(
            "one target, search and present of 10 from {first}: p50 {direct:.1?} direct, {through:.1?} through the front: \
             {:.2} times, in single turns {:.2} to {:.2}{aim}",
            through.as_secs_f64() / direct.as_secs_f64(),
            ratios[0],
            ratios[TURNS - 1]
        );
    }
}

/// Measures ten targets that answer after 20 to 200 ms.
async fn slow_targets() {
    let servers: Vec<TestServer> = (1..=10)
        .map(|number| {
            let delay = format!("on search: delay {}ms", 20 * number);
            let records = [record("id", "Shared")];
            TestServer::builder()
                .database("cat", records)
                .rule(&delay)
                .start()
        })
        .collect();
    let targets = servers
        .iter()
        .map(|server| format!("{}/cat", server.addr()));
    let front = front(targets.collect(), 8, Duration::ZERO);
    let connection = connected(&front, "union").await;
    let mut times = Vec::new();
    for _ in 0..21 {
        let begun = Instant::now();
        let hits = connection
            .search(Query::title("shared"))
            .await
            .expect("hits");
        assert_eq!(hits.count(), 10);
        times.push(begun.elapsed());
    }
    let (median, worst) = percentiles(times.split_off(1));
    println!(
        "ten targets after 20 to 200 ms: all hits after {median:.1?}, p99 {worst:.1?} (at most 210 ms)"
    );
    let address = front.addr();
    let pages = tokio::task::spawn_blocking(move || (0..21).map(|_| page(address)).collect());
    let pages: Vec<_> = pages.await.expect("no panic");
    let (first, worst) = percentiles(pages.iter().skip(1).map(|(first, _)| *first).collect());
    let (last, _) = percentiles(pages.iter().skip(1).map(|(_, last)| *last).collect());
    println!(
        "ten targets after 20 to 200 ms: first rows of the page after {first:.1?}, p99 {worst:.1?} (at most 30 ms), all of it after {last:.1?}"
    );
}

/// Returns the times at which the first and the last section of a page with hits arrive.
fn page(address: SocketAddr) -> (Duration, Duration) {
    let begun = Instant::now();
    let mut stream = TcpStream::connect(address).expect("a connection");
    let request =
        format!("GET /search?q=ti:shared HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("sent");
    let (mut octets, mut first) = (Vec::new(), None);
    let mut some = [0; 16 * 1024];
    loop {
        let read = stream.read(&mut some).expect("an answer");
        octets.extend_from_slice(&some[..read]);
        let text = String::from_utf8_lossy(&octets);
        if first.is_none() && text.contains("</section>") {
            assert!(text.contains("<ol"), "{text}");
            first = Some(begun.elapsed());
        }
        if read == 0 {
            assert_eq!(text.matches("<ol").count(), 10, "{text}");
            return (first.expect("a section"), begun.elapsed());
        }
    }
}

/// Measures a thousand sessions with a front server that has ten sessions with a target, which takes 5 ms for each search. Half
/// of the searches are equal.
async fn many_sessions() {
    const SESSIONS: usize = 1000;
    let records = (0..2 * SESSIONS)
        .map(|number| record(&format!("id{number}"), &format!("Shared w{number}")));
    let server = TestServer::builder()
        .database("cat", records)
        .rule("on search: delay 5ms")
        .start();
    let front = front(
        vec![format!("{}/cat", server.addr())],
        10,
        Duration::from_secs(60),
    );
    let mut sessions = Vec::new();
    for _ in 0..SESSIONS {
        sessions.push(connected(&front, "union").await);
    }
    let round = round(&sessions[..10], |number| format!("w{}", SESSIONS + number)).await;
    let shared = round_of_shared(&sessions[..10]).await;
    let before = searches(&server);
    let mut all = JoinSet::new();
    let begun = Instant::now();
    for (number, connection) in sessions.into_iter().enumerate() {
        all.spawn(async move {
            let term = match number % 2 {
                0 => "shared".to_owned(),
                _ => format!("w{number}"),
            };
            let hits = connection.search(Query::title(term)).await.expect("hits");
            assert!(hits.count() > 0);
            (begun.elapsed(), connection)
        });
    }
    let times = all.join_all().await;
    let (median, slowest) = percentiles(times.iter().map(|(time, _)| *time).collect());
    let predicted = 51 * round + 50 * shared;
    println!(
        "1,000 sessions, half of them alike: {} upstream sessions, {} searches (501 differ), p50 {median:.1?}, p99 {slowest:.1?} \
         (predicted {predicted:.1?}: 51 rounds of {round:.1?}, as ten sessions alone take, and 50 of {shared:.1?} for the answers that are shared)",
        server.sessions(),
        searches(&server) - before
    );
}

fn searches(server: &TestServer) -> usize {
    let names = server.names();
    names
        .iter()
        .filter(|name| **name == "searchRequest")
        .count()
}

/// Returns the average time that one search takes in each of these sessions, if all sessions search at the same time.
async fn round(sessions: &[Connection], term: impl Fn(usize) -> String) -> Duration {
    const ROUNDS: usize = 50;
    let begun = Instant::now();
    let mut all = JoinSet::new();
    for (session, connection) in sessions.iter().cloned().enumerate() {
        let numbers = (0..ROUNDS).map(|at| at * sessions.len() + session);
        let terms: Vec<String> = numbers.map(&term).collect();
        all.spawn(async move {
            for term in terms {
                let hits = connection.search(Query::title(term)).await.expect("hits");
                assert!(hits.count() > 0);
            }
        });
    }
    all.join_all().await;
    begun.elapsed() / u32::try_from(ROUNDS).expect("few")
}

/// Returns the time that [`round`] measures for searches whose answer is in the cache.
async fn round_of_shared(sessions: &[Connection]) -> Duration {
    let _ = sessions[0]
        .search(Query::title("shared w0"))
        .await
        .expect("hits");
    round(sessions, |_| "shared w0".to_owned()).await
}

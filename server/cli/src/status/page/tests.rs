//! Tests of the page of a server with databases, reloads and long searches.

use std::sync::{Arc, mpsc};
use std::task::{Context, Waker};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::runtime;
use z3950_asn1::apdu::DatabaseName;
use z3950_front::engine::opensearch::ClusterOptions;
use z3950_front::engine::{EngineLayout, IndexUses};
use z3950_front::remote::RemoteOptions;
use z3950_front::z3950::Client;
use z3950_marc::mrk;
use z3950_server::backend::Search;
use z3950_server::memory::{AccessPoints, DocidField, Profile};
use z3950_server::{Limits, Server, Target};

use super::*;

fn status(backend: Option<MemoryBackend>, sessions: usize) -> Status {
    let served = MemoryBackend::builder().build();
    let server = Server::new(Target::new(Arc::new(served), Limits::default()));
    Status::new(server.handle(), backend, sessions, Vec::new())
}

fn backend(name: &str, title: &str) -> MemoryBackend {
    let record = format!("=LDR  00000nam a2200000 a 4500\n=001  b1\n=245  00$a{title}\n");
    let record = mrk::parse_all(&record).expect("a record");
    let builder = MemoryBackend::builder().add_records(name, record);
    builder.expect("encodes").build()
}

#[test]
fn labels_are_escaped() {
    let status = status(Some(backend("a\\b\"c\nd", "One")), 7);
    let page = status.metrics();
    assert!(
        page.contains("\nz3950d_database_records{database=\"a\\\\b\\\"c\\nd\"} 1\n"),
        "{page}"
    );
    for line in [
        "z3950d_sessions_limit 7",
        "z3950d_kept_bytes 0",
        "z3950d_kept_limit_bytes 268435456",
    ] {
        assert!(page.contains(&format!("\n{line}\n")), "{page}");
    }
    assert!(!page.contains("z3950d_journal"), "nothing is saved");
}

#[test]
fn targets_of_databases_at_other_servers_are_counted() {
    let status = status(None, 1);
    assert!(!status.metrics().contains("z3950d_target"));
    let options = RemoteOptions::new("union", ["127.0.0.1:1/a", "http://127.0.0.1:2/b"]);
    let union = RemoteDatabase::new(&Client::new(), options).expect("targets");
    status.serves(&[Arc::new(union)], &[], &[]);
    let page = status.metrics();
    for line in [
        "z3950d_target_searches_total{database=\"union\",target=\"127.0.0.1:1/a\"} 0",
        "z3950d_target_failures_total{database=\"union\",target=\"http://127.0.0.1:2/b\"} 0",
        "z3950d_target_up{database=\"union\",target=\"127.0.0.1:1/a\"} 1",
    ] {
        assert!(page.contains(&format!("\n{line}\n")), "{page}");
    }
}

/// Returns the database `books` in an engine at these addresses.
fn engine(servers: &[&str]) -> Arc<ClusterDatabase> {
    let addresses = servers.iter();
    let addresses = addresses.map(|server| format!("http://{server}/books").parse());
    let addresses = addresses.map(|address| address.expect("an address"));
    let options = ClusterOptions::new("books", addresses.collect());
    let layout = EngineLayout::new(
        AccessPoints::default(),
        Profile::default(),
        DocidField::default(),
        &IndexUses::default(),
    );
    let layout = Arc::new(layout.expect("indexes"));
    Arc::new(ClusterDatabase::new(options, layout).expect("no certificates"))
}

/// The numbers of records in all databases belong to one family of samples. The number for a database in an engine is included
/// once it is known.
#[tokio::test]
async fn audit_records_in_search_engines_are_counted() {
    const COUNT: &str = r#"{"timed_out": false, "_shards": {"total": 1, "successful": 1, "failed": 0},
        "hits": {"total": {"value": 7, "relation": "eq"}, "hits": []}}"#;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let status = status(Some(backend("cat", "One")), 1);
    let engine = engine(&[&address]);
    status.serves(&[], &[Arc::clone(&engine)], &[]);
    assert!(!status.metrics().contains("{database=\"books\"}"));
    let answering = async {
        let (mut stream, _) = listener.accept().await.expect("a client");
        let mut asked = Vec::new();
        while !asked.ends_with(b"}") {
            stream.read_buf(&mut asked).await.expect("a request");
        }
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", COUNT.len());
        let octets = [head.as_bytes(), COUNT.as_bytes()].concat();
        stream.write_all(&octets).await.expect("sent");
        stream
    };
    let (_open, ()) = tokio::join!(answering, engine.count_records());
    let page = status.metrics();
    let expected = "\nz3950d_database_records{database=\"cat\"} 1\nz3950d_database_records{database=\"books\"} 7\n";
    assert!(page.contains(expected), "{page}");
}

#[test]
fn servers_of_search_engines_are_counted() {
    let status = status(None, 1);
    assert!(!status.metrics().contains("z3950d_engine"));
    let servers = ["127.0.0.1:9201", "127.0.0.1:9202"];
    status.serves(&[], &[engine(&servers)], &[]);
    let page = status.metrics();
    for server in servers {
        let labels = format!("{{database=\"books\",server=\"{server}\"}}");
        for line in [
            format!("z3950d_engine_failures_total{labels} 0"),
            format!("z3950d_engine_up{labels} 1"),
        ] {
            assert!(page.contains(&format!("\n{line}\n")), "{page}");
        }
    }
}

#[test]
fn the_last_reload_is_reported() {
    let status = status(None, 1);
    assert!(!status.metrics().contains("last_reload"));
    for (has_succeeded, told) in [(true, "1"), (false, "0")] {
        status.reloaded(has_succeeded);
        let page = status.metrics();
        let line = format!("\nz3950d_last_reload_successful {told}\n");
        assert!(page.contains(&line), "{page}");
    }
    let page = status.metrics();
    for outcome in ["ok", "refused"] {
        let line = format!("\nz3950d_reloads_total{{outcome=\"{outcome}\"}} 1\n");
        assert!(page.contains(&line), "{page}");
    }
}

/// Runs two long searches in one session, in which only one may run at a time, so the other one waits.
#[test]
fn long_searches_are_jobs() {
    let backend = backend("cat", &"a ".repeat(3000));
    let status = status(Some(backend.clone()), 1);
    let check = |running: u8, waiting: u8| {
        let page = status.metrics();
        let expected = format!(
            "\nz3950d_jobs{{state=\"running\"}} {running}\n\
             z3950d_jobs{{state=\"waiting\"}} {waiting}\n"
        );
        assert!(page.contains(&expected), "{page}");
    };
    let mut builder = runtime::Builder::new_current_thread();
    let runtime = builder.max_blocking_threads(1).build().expect("a runtime");
    let _entered = runtime.enter();
    // The only blocking thread is busy until `go` is dropped, so the searches have to wait.
    let (go, wait) = mpsc::channel::<()>();
    let held = runtime.spawn_blocking(move || wait.recv().is_err());
    let databases = [DatabaseName::from("cat")];
    let query = "@prox 0 9999 0 3 k 2 @attr 1=4 a @attr 1=4 a";
    let query = query.parse().expect("a query");
    let search = Search::new(&databases, &query);
    let mut searches = [backend.search(search.clone()), backend.search(search)];
    check(0, 0);
    for search in &mut searches {
        let polled = search
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_pending());
    }
    check(1, 1);
    drop(go);
    assert!(runtime.block_on(held).expect("no panic"));
    for (search, running) in searches.into_iter().zip([1, 0]) {
        let found = runtime.block_on(search).expect("an answer");
        assert!(found.hits.is_empty());
        check(running, 0);
    }
}

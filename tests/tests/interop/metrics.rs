//! Tests the page `/metrics` of z3950d with Prometheus. `promtool check metrics`, from the package `prometheus`, must accept the
//! page while sessions begin and end.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use z3950_tests::program::{Daemon, run};
use z3950_tests::surroundings::command;
use z3950_tests::{hex, peer};

/// Sends a GET request, and returns the body of the answer.
fn get(socket: &Path, path: &str) -> String {
    let mut stream = UnixStream::connect(socket).expect("a connection");
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("written");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("text");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    body.to_owned()
}

/// Connects to the server. Depending on `number`, the client leaves without an Init, or opens a session and leaves, or sends
/// octets that are not a request.
fn visit(server: SocketAddr, number: u32) {
    let mut stream = TcpStream::connect(server).expect("a connection");
    if number.is_multiple_of(3) {
        return;
    }
    let init = hex::octets(include_str!("../../fixtures/wire/init-request.hex"));
    stream.write_all(&init).expect("written");
    let mut answer = [0; 4096];
    assert!(stream.read(&mut answer).expect("an answer") > 0);
    if number % 3 == 1 {
        // The server may close the connection first, so errors are ignored.
        let _ = stream.write_all(b"rubbish");
        let _ = stream.read(&mut answer);
    }
}

#[test]
fn promtool_accepts_the_metrics_during_a_storm() {
    let Some(promtool) = peer::find("promtool") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("status");
    let status = format!("unix:{}", socket.display());
    let saved = folder.path().join("saved.mrc");
    let save = format!("books={}", saved.display());
    let daemon = Daemon::start(["--demo", "--status", &status, "--save", &save]);
    let is_over = AtomicBool::new(false);
    let checked = |page: &str| {
        let ran = run(command(&promtool).args(["check", "metrics"]), page);
        let words = format!("{}{}", ran.stdout, ran.stderr);
        assert_eq!((ran.code, &*words), (Some(0), ""), "{page}");
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for number in 0..50 {
                    visit(daemon.address(), number);
                }
                is_over.store(true, Ordering::Relaxed);
            });
        }
        while !is_over.load(Ordering::Relaxed) {
            checked(&get(&socket, "/metrics"));
        }
    });
    let begun = Instant::now();
    while !get(&socket, "/metrics").contains("\nz3950d_sessions 0\n") {
        assert!(begun.elapsed() < Duration::from_secs(20), "sessions stay");
    }
    let page = get(&socket, "/metrics");
    checked(&page);
    for line in [
        "z3950d_sessions_total 200",
        "z3950d_sessions_ended_total{end=\"protocol-error\"} 68",
        "z3950d_sessions_ended_total{end=\"left\"} 132",
        "z3950d_operations_total{operation=\"init\",outcome=\"ok\"} 132",
        "z3950d_kept_bytes 0",
        "z3950d_jobs{state=\"waiting\"} 0",
        "z3950d_journal_commits_total{database=\"books\"} 0",
    ] {
        assert!(page.lines().any(|known| known == line), "{line} in {page}");
    }
}

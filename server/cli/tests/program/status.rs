//! Tests of the status over HTTP.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Instant;

use z3950_asn1::apdu::Apdu;

use super::daemon::{Daemon, Folder, PATIENCE, Words, search};

/// Sends an HTTP request, and returns the head and body of the answer.
fn asked(mut stream: impl Read + Write, request: &str) -> (String, String) {
    stream.write_all(request.as_bytes()).expect("written");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("text");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    (head.to_owned(), body.to_owned())
}

fn get(address: &str, path: &str) -> (String, String) {
    let stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    asked(stream, &request)
}

/// Returns the address of the status page, as printed by the program.
fn status_address(words: &Words) -> String {
    let lines = words.until("status on http://");
    let line = lines.last().expect("a line");
    line.trim_start_matches("status on http://").to_owned()
}

#[test]
fn the_status_is_shown_over_http() {
    let folder = Folder::new();
    let save = format!("books={}", folder.at("saved.mrc").display());
    let (daemon, words) = Daemon::heard(&[
        "--demo",
        "--listen",
        "127.0.0.1:0",
        "--status",
        "127.0.0.1:0",
        "--max-sessions",
        "77",
        "--save",
        &save,
    ]);
    let status = status_address(&words);
    daemon.converse(&[search("books", "@attr 1=4 war"), search("x", "war")]);
    let (head, page) = get(&status, "/metrics");
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert!(
        head.contains("content-type: text/plain; version=0.0.4"),
        "{head}"
    );
    for line in [
        "z3950d_sessions_limit 77",
        "z3950d_sessions_total 1",
        "z3950d_operations_total{operation=\"init\",outcome=\"ok\"} 1",
        "z3950d_operations_total{operation=\"search\",outcome=\"ok\"} 1",
        "z3950d_operations_total{operation=\"search\",outcome=\"failed\"} 1",
        "z3950d_operation_duration_seconds_bucket{operation=\"search\",le=\"+Inf\"} 2",
        "z3950d_operation_duration_seconds_count{operation=\"search\"} 2",
        "z3950d_database_records{database=\"books\"} 281",
        "z3950d_jobs{state=\"running\"} 0",
        "z3950d_jobs{state=\"waiting\"} 0",
        "z3950d_journal_bytes{database=\"books\"} 0",
        "z3950d_journal_limit_bytes{database=\"books\"} 16777216",
        "z3950d_journal_commits_total{database=\"books\"} 0",
        "z3950d_journal_folds_total{database=\"books\"} 0",
        "z3950d_journal_failures_total{database=\"books\"} 0",
        "z3950d_reloads_total{outcome=\"ok\"} 0",
        "# TYPE z3950d_operation_duration_seconds histogram",
    ] {
        assert!(page.lines().any(|known| known == line), "{line} in {page}");
    }
    for (path, code) in [("/healthz", 200), ("/", 200), ("/x", 404)] {
        let (head, _) = get(&status, path);
        assert!(
            head.starts_with(&format!("HTTP/1.1 {code} ")),
            "{path}: {head}"
        );
    }
    let until = |line: &str| {
        let begun = Instant::now();
        while !get(&status, "/metrics").1.contains(&format!("\n{line}\n")) {
            assert!(begun.elapsed() < PATIENCE, "{line}");
        }
    };
    daemon.signal("HUP");
    words.until("reloaded: 2 databases read again");
    until("z3950d_last_reload_successful 1");
    // The octets of sessions are counted in steps of 8 KiB, so create nine result sets with long names, which fill one step.
    let mut session = daemon.session();
    for digit in "123456789".chars() {
        let Apdu::SearchRequest(mut request) = search("books", "war") else {
            panic!("a search")
        };
        request.result_set_name = String::from(digit).repeat(1000).as_str().into();
        session.ask(&Apdu::SearchRequest(request));
    }
    until("z3950d_kept_bytes 8192");
    drop(session);
    until("z3950d_kept_bytes 0");
}

/// Checks that methods other than GET and HEAD, malformed requests and long heads are refused.
#[test]
fn the_status_takes_short_requests_to_read() {
    let arguments = [
        "--demo",
        "--listen",
        "127.0.0.1:0",
        "--status",
        "127.0.0.1:0",
    ];
    let (_daemon, words) = Daemon::heard(&arguments);
    let status = status_address(&words);
    let connect = || TcpStream::connect(&status).expect("a connection");
    let long = |octets: usize| {
        format!(
            "GET /healthz HTTP/1.1\r\nConnection: close\r\nX: {}\r\n\r\n",
            "x".repeat(octets)
        )
    };
    for (request, code) in [
        (
            "POST /metrics HTTP/1.1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".to_owned(),
            405,
        ),
        ("rubbish\r\n\r\n".to_owned(), 400),
        (long(8000), 200),
        (long(9000), 431),
    ] {
        let (head, _) = asked(connect(), &request);
        assert!(
            head.starts_with(&format!("HTTP/1.1 {code} ")),
            "{request}: {head}"
        );
    }
    // All connections that may be open at once have sent half a request, so another connection replaces the oldest.
    let half = || {
        let mut stream = connect();
        stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
        stream
            .write_all(b"GET /healthz HTTP/1.1\r\n")
            .expect("written");
        stream
    };
    let mut slow: Vec<_> = (0..16).map(|_| half()).collect();
    let is_answered = |(head, body): (String, String)| {
        assert!(
            head.starts_with("HTTP/1.1 200 ") && body == "serving\n",
            "{head}"
        );
    };
    is_answered(get(&status, "/healthz"));
    let closed = slow[0].read(&mut [0]).map_err(|error| error.kind());
    assert!(
        matches!(closed, Ok(0) | Err(ErrorKind::ConnectionReset)),
        "{closed:?}"
    );
    is_answered(asked(
        slow.remove(1),
        "Host: x\r\nConnection: close\r\n\r\n",
    ));
}

#[test]
fn the_status_on_a_unix_socket_says_that_the_server_stops() {
    let folder = Folder::new();
    let path = folder.at("status");
    let place = format!("unix:{}", path.display());
    let (mut daemon, words) = Daemon::heard(&[
        "--demo",
        "--listen",
        "127.0.0.1:0",
        "--status",
        &place,
        "--fault",
        "on search: delay 1h",
        "--drain",
        "3600",
    ]);
    words.until(&format!("status on {place}"));
    let health = || {
        let stream = UnixStream::connect(&path).expect("a connection");
        let request = "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        asked(stream, request).0
    };
    assert!(health().starts_with("HTTP/1.1 200 "));
    // The operation in this session keeps the server running after the signal, so that the status can still be read.
    let mut session = daemon.session();
    session.send(&search("books", "war"));
    daemon.signal("TERM");
    let begun = Instant::now();
    while !health().starts_with("HTTP/1.1 503 ") {
        assert!(begun.elapsed() < PATIENCE);
    }
    drop(session);
    daemon.signal("TERM");
    drop(daemon.child.wait());
}

#[test]
fn the_status_for_other_machines_is_cautioned() {
    let arguments = ["--demo", "--listen", "127.0.0.1:0", "--status", "0.0.0.0:0"];
    let (_daemon, words) = Daemon::heard(&arguments);
    words.until("other machines may read the status");
}

//! Tests of the test server over real sockets.

mod blocking;
#[cfg(feature = "tls")]
mod tls;

use std::io::{Read, Write};
use std::net::{Ipv6Addr, TcpStream};

use z3950_asn1::apdu::Apdu;
use z3950_asn1::codec::encode;

use super::*;
use crate::backend::{Answer, Backend, Found, Search};
use crate::requests::{init, search};

/// Sends requests, and returns everything received until the connection ends.
fn converse(address: SocketAddr, requests: &[Apdu]) -> Vec<u8> {
    let mut stream = connect(address);
    for request in requests {
        stream
            .write_all(&encode(request).expect("encodes"))
            .expect("the server listens");
    }
    stream.shutdown(std::net::Shutdown::Write).expect("ends");
    let mut answers = Vec::new();
    stream.read_to_end(&mut answers).expect("answers");
    answers
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("a connection");
    stream
        .set_read_timeout(Some(PATIENCE))
        .expect("a time limit");
    stream
}

#[test]
fn conversations_are_kept() {
    let server = TestServer::builder()
        .database("cat", [record("id7", "War")])
        .start();
    let request = search("@attr 1=1032 id7");
    let answers = converse(server.addr(), &[init(), request.clone()]);
    let entries = server.wait_for_end();
    let said = [
        "initRequest",
        "initResponse",
        "searchRequest",
        "searchResponse",
    ];
    assert_eq!(server.names(), said);
    assert_eq!(server.sessions(), 1);
    let [_, first, second, third] = &*entries else {
        panic!("{entries:#?}")
    };
    assert_eq!((first.session, first.direction), (1, Direction::Sent));
    assert_eq!(second.apdu.as_ref(), Some(&request));
    assert_eq!(second.direction, Direction::Received);
    assert_eq!([&*first.octets, &*third.octets].concat(), answers);
    assert!(format!("{second:?}").starts_with("session 1 Received searchRequest\n"));
}

#[test]
fn addresses_and_urls() {
    let server = TestServer::demo();
    let port = server.addr().port();
    for rest in ["books?pg1342", "/books?pg1342"] {
        assert_eq!(
            server.url(rest),
            format!("z39.50r://127.0.0.1:{port}/books?pg1342")
        );
    }
    assert_eq!(
        server.session_url(""),
        format!("z39.50s://127.0.0.1:{port}/")
    );
    assert_eq!(server.stop(), Summary::default());
}

#[test]
fn the_server_listens_on_ipv6_if_available() {
    if std::net::TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_err() {
        eprintln!("skipped: no IPv6 on this machine");
        return;
    }
    let server = TestServer::builder().ipv6().start();
    for address in [server.addr(), server.addr_v6()] {
        assert!(!converse(address, &[init()]).is_empty());
    }
    assert_eq!(server.sessions(), 2);
}

#[test]
fn open_sessions_do_not_keep_the_server_running() {
    let server = TestServer::demo();
    let mut stream = connect(server.addr());
    stream
        .write_all(&encode(&init()).expect("encodes"))
        .expect("the server listens");
    server.wait_until(|entries| entries.len() == 2);
    let silent = connect(server.addr());
    let begun = std::time::Instant::now();
    assert_eq!(server.stop().panics, 0);
    assert!(
        begun.elapsed() < Duration::from_secs(1),
        "{:?}",
        begun.elapsed()
    );
    drop(silent);
}

#[test]
fn no_more_sessions_than_allowed_are_served_at_once() {
    let server = TestServer::builder()
        .limit(|limits| {
            limits.sessions = 1;
            limits.sessions_per_address = Some(2);
            limits.idle_patience = Duration::from_secs(3600);
        })
        .start();
    let mut first = connect(server.addr());
    first
        .write_all(&encode(&init()).expect("encodes"))
        .expect("the server listens");
    server.wait_until(|entries| entries.len() == 2);
    let address = server.addr();
    let second = thread::spawn(move || converse(address, &[init()]));
    // The second client waits in the queue and is served as soon as the first client disconnects.
    assert_eq!(server.sessions(), 1);
    drop(first);
    assert!(!second.join().expect("an answer").is_empty());
    assert_eq!(server.sessions(), 2);
}

struct Panicking;

impl Backend for Panicking {
    fn search<'a>(&'a self, _: Search<'a>) -> Answer<'a, Found> {
        panic!("as the test wants")
    }
}

#[test]
fn a_panic_in_a_backend_is_reported() {
    let server = TestServer::builder().backend(Arc::new(Panicking)).start();
    for _ in 0..2 {
        converse(server.addr(), &[init(), search("war")]);
        assert_eq!(server.names().last(), Some(&"searchResponse"));
    }
    let summary = server.stop();
    let first_panic = Some("as the test wants".to_owned());
    assert_eq!(
        summary,
        Summary {
            sessions: 2,
            panics: 2,
            first_panic
        }
    );
}

#[test]
#[should_panic(expected = "1 sessions panicked; the first: as the test wants")]
fn panics_fail_the_test() {
    let server = TestServer::builder().backend(Arc::new(Panicking)).start();
    converse(server.addr(), &[init(), search("war")]);
    server.wait_for_end();
}

#[test]
fn audit_r_l9_a_test_server_can_be_shared_by_threads() {
    fn is_sync<T: Send + Sync>(_: &T) {}
    let server = TestServer::demo();
    is_sync(&server);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| converse(server.addr(), &[init()]));
        }
    });
    server.wait_until(|entries| entries.len() == 4);
}

#[test]
fn audit_r_l9_rules_that_never_fire_are_reported() {
    use crate::fault::{Fault, When};
    let server = TestServer::builder()
        .demo()
        .rule("on search nth=2: fail 2")
        .rule("on search: no-piggyback")
        .rule("on scan: silence")
        .fault(When::present().nth(3).database("Books"), Fault::Silence)
        .start();
    let written = "on presentRequest nth=3 db=books: Silence";
    let all = [
        "on search nth=2: fail 2",
        "on search: no-piggyback",
        "on scan: silence",
        written,
    ];
    assert_eq!(server.unfired_rules(), all);
    converse(server.addr(), &[init(), search("war")]);
    assert_eq!(server.unfired_rules(), [all[0], all[2], written]);
    converse(server.addr(), &[init(), search("war"), search("war")]);
    assert_eq!(server.unfired_rules(), [all[2], written]);
}

/// The report at the end takes into account rules that strike at the last moment.
#[test]
fn issue_48_stopping_a_server_reports_unfired_rules() {
    let rules = [
        "on search: silence",
        "on search nth=2: fail 2 \"try later\"",
    ];
    let builder = TestServer::builder().demo();
    let builder = rules.into_iter().fold(builder, TestServerBuilder::rule);
    let server = builder.start();
    let mut stream = connect(server.addr());
    for request in [init(), search("war")] {
        let octets = encode(&request).expect("encodes");
        stream.write_all(&octets).expect("it listens");
    }
    server.wait_until(|said| said.iter().any(|entry| entry.name() == "searchRequest"));
    let report = server.stop_and_report();
    assert_eq!(report.unfired_rules, [rules[1]]);
    assert_eq!(report.summary.expect("no recording").panics, 0);
    assert!(
        report
            .transcript
            .iter()
            .any(|entry| entry.name() == "initResponse")
    );
}

/// The rules of an imitated server do not count as rules of the test.
#[test]
fn audit_r_l9_habits_are_not_reported() {
    let imitated = crate::imitate::Imitated::YazZtest;
    let server = TestServer::builder().imitate(imitated).start();
    assert_eq!(server.unfired_rules(), [""; 0]);
}

/// A fault rule applies to a service over both protocols, Z39.50 and SRU.
#[cfg(feature = "sru")]
#[test]
fn audit_r_l9_a_rule_for_searches_applies_over_sru() {
    use std::io::{Read as _, Write as _};
    for (rule, path, struck) in [
        ("on search: fail 2", "/books?query=war", true),
        (
            "on search: fail 2",
            "/books?scanClause=war&operation=scan",
            false,
        ),
        (
            "on scan: fail 2",
            "/books?scanClause=war&operation=scan",
            true,
        ),
        ("on scan: fail 2", "/books?operation=explain", false),
        ("on present: fail 2", "/books?query=war", false),
        ("on search db=books: fail 2", "/books?query=war", true),
        ("on search db=serials: fail 2", "/books?query=war", false),
        ("on search nth=2: fail 2", "/books?query=war", false),
    ] {
        let server = TestServer::builder().demo().rule(rule).start();
        let mut stream = connect(server.addr());
        let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("it listens");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let is_failure = answer.contains("info:srw/diagnostic/1/2<");
        assert_eq!(is_failure, struck, "{rule} {path}: {answer}");
        assert_eq!(server.unfired_rules().is_empty(), struck, "{rule}");
    }
}

#[test]
fn an_address_has_no_more_sessions_than_allowed() {
    let server = TestServer::builder()
        .limit(|limits| limits.sessions_per_address = Some(1))
        .start();
    let mut first = connect(server.addr());
    first
        .write_all(&encode(&init()).expect("encodes"))
        .expect("the server listens");
    server.wait_until(|entries| entries.len() == 2);
    let mut turned_away = connect(server.addr());
    let mut answer = Vec::new();
    // The connection is closed or reset, depending on timing.
    let _ = turned_away.read_to_end(&mut answer);
    assert!(answer.is_empty());
    drop(first);
    server.wait_for_end();
    assert!(!converse(server.addr(), &[init()]).is_empty());
    assert_eq!(server.sessions(), 2);
}

#[test]
fn a_reset_fault_resets_the_connection() {
    let server = TestServer::builder().rule("on init: reset 5").start();
    let mut stream = connect(server.addr());
    stream
        .write_all(&encode(&init()).expect("encodes"))
        .expect("the server listens");
    let mut answer = Vec::new();
    let error = stream.read_to_end(&mut answer).expect_err("no orderly end");
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
}

#[test]
fn recordings_are_replayed() {
    let server = TestServer::demo();
    let requests = [init(), search("@attr 1=1032 pg1342")];
    let answers = converse(server.addr(), &requests);
    server.wait_for_end();
    let replaying = TestServer::builder().replay(server.recording()).start();
    assert_eq!(converse(replaying.addr(), &requests), answers);
    assert_eq!(replaying.wait_for_end().len(), 4);
}

#[test]
fn recordings_are_made_once_and_replayed_from_their_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("said.jsonl");
    let library = TestServer::builder()
        .database("cat", [record("id7", "War")])
        .start();
    let requests = [init(), search("@attr 1=1032 id7")];
    let recording = record_to(&path, &library.addr().to_string());
    let answers = converse(recording.addr(), &requests);
    recording.wait_for_end();
    assert!(!path.exists(), "it is not complete yet");
    drop(recording);
    assert_eq!(converse(library.addr(), &requests), answers);
    drop(library);
    let replaying = TestServer::recorded_from(&path, None).expect("replays");
    assert_eq!(converse(replaying.addr(), &requests), answers);
    assert!(replaying.not_recorded().is_empty());
    let unknown = search("@attr 1=1032 id8");
    converse(
        replaying.addr(),
        &[init(), unknown.clone(), unknown.clone()],
    );
    let missing = replaying.not_recorded();
    assert_eq!(missing.len(), 1, "{missing:#?}");
    assert_eq!(missing[0].apdu.as_ref(), Some(&unknown));
}

#[test]
fn a_recording_that_is_missing_says_how_to_make_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("said.jsonl");
    let refused = |path| {
        TestServer::recorded_from(path, None)
            .err()
            .expect("refused")
    };
    let error = refused(&path);
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
    let words = error.to_string();
    assert!(
        words.contains("Z3950_RECORD=HOST:PORT records it"),
        "{words}"
    );
    std::fs::write(&path, "no recording\n").expect("written");
    assert_eq!(refused(&path).kind(), io::ErrorKind::InvalidData);
}

#[test]
fn a_test_that_fails_keeps_the_recording_before() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("said.jsonl");
    std::fs::write(&path, "before").expect("written");
    let of_test = path.clone();
    let failed = thread::spawn(move || {
        let _server = record_to(&of_test, "127.0.0.1:1");
        panic!("as the test wants");
    });
    assert!(failed.join().is_err());
    let kept = std::fs::read_to_string(&path).expect("text");
    assert_eq!(kept, "before");
}

fn record_to(path: &Path, server: &str) -> TestServer {
    TestServer::recorded_from(path, Some(server.to_owned())).expect("records")
}

/// Returns a folder with a recording, `said.jsonl`.
fn recorded_before() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("said.jsonl");
    std::fs::write(&path, "before").expect("written");
    (folder, path)
}

/// Checks that the file is unchanged, and is the only one in the folder.
fn is_as_before(folder: &Path) {
    let names = std::fs::read_dir(folder).expect("a folder");
    assert_eq!(names.count(), 1);
    let kept = std::fs::read_to_string(folder.join("said.jsonl")).expect("text");
    assert_eq!(kept, "before");
}

#[test]
fn without_a_session_the_recording_before_is_kept() {
    let (folder, path) = recorded_before();
    let words = |server: TestServer| server.try_stop().expect_err("no recording").to_string();
    let said = words(record_to(&path, "127.0.0.1:1"));
    assert!(said.ends_with("no session with 127.0.0.1:1"), "{said}");
    is_as_before(folder.path());

    let unreachable = record_to(&path, "127.0.0.1:1");
    converse(unreachable.addr(), &[init()]);
    unreachable.wait_for_end();
    let said = words(unreachable);
    assert!(said.contains("127.0.0.1:1 cannot be reached"), "{said}");
    is_as_before(folder.path());

    let unreachable = record_to(&path, "127.0.0.1:1");
    converse(unreachable.addr(), &[init()]);
    unreachable.wait_for_end();
    let dropped = thread::spawn(move || drop(unreachable)).join();
    let panic = dropped.expect_err("told").downcast::<String>();
    let said = panic.expect("words");
    assert!(said.contains("127.0.0.1:1 cannot be reached"), "{said}");
    is_as_before(folder.path());
}

#[cfg(target_os = "linux")]
#[test]
fn a_recording_on_a_full_disk_is_reported_and_the_previous_one_kept() {
    let (folder, path) = recorded_before();
    let library = TestServer::demo();
    let recording = record_to(&path, &library.addr().to_string());
    let full = std::fs::File::options().write(true).open("/dev/full");
    let draft = recording.draft.as_ref().expect("records");
    draft.log.change(|file| *file = full.expect("a device"));
    converse(recording.addr(), &[init()]);
    recording.wait_for_end();
    let error = recording.try_stop().expect_err("cut");
    assert_eq!(error.kind(), io::ErrorKind::Other);
    let said = error.to_string();
    assert!(said.contains("No space left on device"), "{said}");
    is_as_before(folder.path());
}

#[cfg(target_os = "linux")]
#[test]
fn recordings_replace_files_only() {
    use std::os::unix::fs::symlink;
    let (folder, path) = recorded_before();
    let device = folder.path().join("device");
    symlink("/dev/full", &device).expect("linked");
    for path in [Path::new("/dev/full"), &device] {
        let refused = TestServer::recorded_from(path, Some("127.0.0.1:1".to_owned()));
        let said = refused.err().expect("refused").to_string();
        assert!(said.contains("a regular file is needed"), "{said}");
    }
    let link = folder.path().join("link");
    symlink("said.jsonl", &link).expect("linked");
    let library = TestServer::demo();
    let recording = record_to(&link, &library.addr().to_string());
    converse(recording.addr(), &[init()]);
    recording.wait_for_end();
    drop(recording);
    assert!(link.is_symlink());
    let said = std::fs::read_to_string(&path).expect("text");
    let said = Recording::parse(&said).expect("a recording");
    assert_eq!(said.entries.len(), 2);
}

#[cfg(unix)]
#[test]
fn the_server_listens_on_unix_sockets() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("socket");
    let converse = || {
        let mut stream = std::os::unix::net::UnixStream::connect(&path).expect("a connection");
        let octets = encode(&init()).expect("encodes");
        stream.write_all(&octets).expect("the server listens");
        stream.shutdown(std::net::Shutdown::Write).expect("ends");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("an answer");
        answer
    };
    // The socket file of a server that was killed is replaced.
    drop(std::os::unix::net::UnixListener::bind(&path).expect("a socket"));
    let server = TestServer::builder().unix(&path).start();
    assert_eq!(converse()[0], 0xb5);
    assert_eq!(server.wait_for_end().len(), 2);
    assert_eq!(server.stop().panics, 0);
    assert!(!path.exists());
}

/// Sends octets; returns everything received until the connection ends.
#[cfg(feature = "sru")]
fn told(mut stream: impl Read + Write, octets: &str) -> String {
    stream
        .write_all(octets.as_bytes())
        .expect("the server listens");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

#[cfg(feature = "sru")]
#[test]
fn messages_of_http_are_kept_without_secrets() {
    let cat = [record("id7", "Emma")];
    let server = TestServer::builder().database("cat", cat).start();
    let body = "query=emma&x-username=ann&x-password=opensesame";
    let head = "POST /cat HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
                Content-Type: application/x-www-form-urlencoded\r\n";
    let length = body.len();
    let request = format!("{head}Content-Length: {length}\r\n\r\n{body}");
    let answer = told(connect(server.addr()), &request);
    server.wait_for_end();
    let [asked, answered] = &*server.http_messages() else {
        panic!("two messages")
    };
    assert_eq!(asked.message.body, body);
    assert!(
        asked
            .message
            .head
            .starts_with("POST /cat HTTP/1.1\nhost: localhost\n")
    );
    assert_eq!(answered.direction, Direction::Sent);
    assert!(
        answered.message.head.starts_with("HTTP/1.1 200 OK\n"),
        "{answered:?}"
    );
    let (_, body) = answer.split_once("\r\n\r\n").expect("a head");
    assert_eq!(answered.message.body, body);
    let lines = server.recording().to_string();
    assert!(!lines.contains("opensesame"), "{lines}");
    let read: Recording = Recording::parse(&lines).expect("a recording");
    assert_eq!((read.entries.len(), read.messages.len()), (0, 2));
    assert_eq!(read.messages[1].message, answered.message);
    // HTTP messages are recorded but not replayed.
    let replaying = TestServer::builder().replay(read).start();
    let answer = told(connect(replaying.addr()), &request);
    assert!(answer.starts_with("HTTP/1.1 501 "), "{answer}");
    assert!(answer.contains("replayed"), "{answer}");
}

#[cfg(all(unix, feature = "sru"))]
#[test]
fn sru_is_answered_on_unix_sockets() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("socket");
    let server = TestServer::builder().demo().unix(&path).start();
    let stream = std::os::unix::net::UnixStream::connect(&path).expect("a connection");
    let answer = told(stream, "GET /books HTTP/1.0\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.0 200 OK\r\n"), "{answer}");
    assert_eq!(server.stop().panics, 0);
}

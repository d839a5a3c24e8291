//! The test server over real sockets.

use std::io::{Read, Write};
use std::net::TcpStream;

use z3950_asn1::apdu::Apdu;
use z3950_asn1::codec::encode;

use super::*;
use crate::backend::{Hits, Search};
use crate::diagnostic::Diagnostic;
use crate::requests::{init, search};

/// Sends the requests and reads to the end of the connection.
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
fn ipv6_is_listened_on_where_there_is_any() {
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
fn open_sessions_do_not_keep_the_server() {
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
        .limit(|limits| limits.sessions = 1)
        .start();
    let mut first = connect(server.addr());
    first
        .write_all(&encode(&init()).expect("encodes"))
        .expect("the server listens");
    server.wait_until(|entries| entries.len() == 2);
    let address = server.addr();
    let second = thread::spawn(move || converse(address, &[init()]));
    // The second client waits in the queue; it is served as soon as the first has gone.
    assert_eq!(server.sessions(), 1);
    drop(first);
    assert!(!second.join().expect("an answer").is_empty());
    assert_eq!(server.sessions(), 2);
}

struct Panicking;

impl Backend for Panicking {
    fn search(&self, _: &Search<'_>) -> Result<Hits, Diagnostic> {
        panic!("as the test wants")
    }
}

#[test]
fn panics_end_one_session_and_are_told() {
    let server = TestServer::builder().backend(Arc::new(Panicking)).start();
    for _ in 0..2 {
        converse_and_lose(server.addr());
    }
    assert!(
        !converse(server.addr(), &[init()]).is_empty(),
        "the server goes on"
    );
    let summary = server.stop();
    let first_panic = Some("as the test wants".to_owned());
    assert_eq!(
        summary,
        Summary {
            sessions: 3,
            panics: 2,
            first_panic
        }
    );
}

#[test]
#[should_panic(expected = "1 sessions panicked, first: as the test wants")]
fn panics_fail_the_test() {
    let server = TestServer::builder().backend(Arc::new(Panicking)).start();
    converse_and_lose(server.addr());
    server.wait_for_end();
}

/// Has the handler panic; the connection ends in one way or another.
fn converse_and_lose(address: SocketAddr) {
    let mut stream = connect(address);
    for request in [init(), search("war")] {
        stream
            .write_all(&encode(&request).expect("encodes"))
            .expect("the server listens");
    }
    let mut answers = Vec::new();
    let _ = stream.read_to_end(&mut answers);
}

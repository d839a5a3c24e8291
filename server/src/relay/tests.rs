//! Tests of a relay between clients and servers over real sockets. The server is a test server, or its answers are written by
//! hand in the test.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::oneshot;
use z3950_asn1::apdu::{Apdu, CloseReason, InitializeResponse};
use z3950_asn1::codec::{decode, encode};

use super::pieces::{Piece, Pieces};
use crate::Server;
use crate::budget::Charge;
use crate::limits::Limits;
use crate::metrics::SessionEnd;
use crate::observer::{Observer, SessionTotals};
use crate::recorded::RecordedHost;
use crate::requests::{catalogue, init, present, search};
use crate::target::Target;
use crate::testing::{Direction, TestServer, TestServerBuilder, record};

const PATIENCE: Duration = Duration::from_secs(10);

/// Returns a relay that passes requests on to this address.
fn before(address: SocketAddr) -> TestServerBuilder {
    TestServer::builder().passing_to(RecordedHost(address.to_string()))
}

/// Returns a server with the database that the requests name.
fn library() -> TestServer {
    let books = [record("id7", "War"), record("id8", "War and peace")];
    TestServer::builder().database("cat", books).start()
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("a connection");
    stream
        .set_read_timeout(Some(PATIENCE))
        .expect("a time limit");
    stream
}

fn encoded(requests: &[Apdu]) -> Vec<u8> {
    let octets = requests
        .iter()
        .map(|request| encode(request).expect("encodes"));
    octets.collect::<Vec<_>>().concat()
}

/// Sends octets; returns the answer up to the end of the connection.
fn answers(address: SocketAddr, octets: &[u8]) -> Vec<u8> {
    let mut stream = connect(address);
    stream.write_all(octets).expect("the server listens");
    stream.shutdown(Shutdown::Write).expect("ends");
    let mut answers = Vec::new();
    stream.read_to_end(&mut answers).expect("answers");
    answers
}

/// Starts a server whose answers the test writes. `serve` is called with the first octets of each connection, and with its
/// stream.
fn by_hand(serve: impl Fn(Vec<u8>, TcpStream) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut stream = stream;
            let mut octets = vec![0; 4096];
            let Ok(count) = stream.read(&mut octets) else {
                continue;
            };
            octets.truncate(count);
            serve(octets, stream);
        }
    });
    address
}

#[test]
fn both_sides_hear_the_same_octets() {
    let library = library();
    let between = before(library.addr()).start();
    let said = encoded(&[init(), search("@attr 1=4 war"), present(1, 1)]);
    let direct = answers(library.addr(), &said);
    assert!(direct.len() > 100);
    assert_eq!(answers(between.addr(), &said), direct);
    let entries = between.wait_for_end();
    let of = |direction| {
        let those = entries.iter().filter(|entry| entry.direction == direction);
        those.map(|entry| entry.octets.to_vec()).collect::<Vec<_>>()
    };
    assert_eq!(of(Direction::Received).concat(), said);
    assert_eq!(of(Direction::Sent).concat(), direct);
    assert_eq!(of(Direction::Sent).len(), 3);
    assert_eq!(between.stop().panics, 0);
}

#[test]
fn several_clients_have_a_session_each() {
    let library = TestServer::demo();
    let between = before(library.addr()).start();
    let mut clients: Vec<_> = (0..5).map(|_| connect(between.addr())).collect();
    for client in &mut clients {
        client.write_all(&encoded(&[init()])).expect("written");
    }
    for client in &mut clients {
        let mut octets = [0; 2];
        client.read_exact(&mut octets).expect("an answer");
        assert_eq!(octets[0], 0xb5);
    }
    assert_eq!((between.sessions(), library.sessions()), (5, 5));
}

#[test]
fn octets_that_are_not_an_apdu_pass_unchanged() {
    // These are two complete APDUs that cannot be decoded, octets that are not BER, and a truncated APDU.
    let frame = b"\xbf\x1f\x03\x01\x02\x03".to_vec();
    let odd = b"\xb6\x03\x9f\x7f\x00".to_vec();
    let noise = b"\x00\xff\x16\x03noise".to_vec();
    let cut = b"\xb6\x20\x02".to_vec();
    for (octets, is_whole) in [(frame, true), (odd, true), (noise, false), (cut, false)] {
        let echo = by_hand(|octets, mut stream| stream.write_all(&octets).expect("written"));
        let between = before(echo).start();
        assert_eq!(answers(between.addr(), &octets), octets);
        let entries = between.wait_for_end();
        let names: Vec<_> = entries.iter().map(|entry| entry.name()).collect();
        assert_eq!(names, ["malformed"; 2], "{octets:x?} {is_whole}");
        assert!(entries.iter().all(|entry| entry.octets == octets));
    }
}

#[test]
fn texts_and_broken_inits_are_not_recorded() {
    for (secret, shown) in [
        (&b"login ann sesame"[..], &b"****************"[..]),
        (b"\xb4\xff\x07sesame", b"*********"),
        (b"\x00\xb4\x06sesame", b"*********"),
        (b"\xaf\x06sesame", b"********"),
        (b"\xb4\x06sesame", b"\xb4\x06******"),
        (b"\xbd\x08sesame", b"\xbd\x08******"),
    ] {
        let echo = by_hand(|octets, mut stream| stream.write_all(&octets[..1]).expect("written"));
        let between = before(echo).start();
        assert_eq!(answers(between.addr(), secret), secret[..1]);
        let line = between.wait_for_end()[0].to_json();
        assert_eq!(line["octets"], z3950_files::hex::digits(shown), "{line}");
    }
}

/// Octets that are not an APDU take one line of the transcript, not one line per packet.
#[test]
fn octets_that_are_not_an_apdu_are_reported_together() {
    let server = by_hand(|_, mut stream| {
        stream.read_to_end(&mut Vec::new()).expect("all of it");
        stream.write_all(b"\xb7\x00").expect("written");
    });
    let between = before(server).start();
    let mut client = connect(between.addr());
    client.set_nodelay(true).expect("an option");
    for _ in 0..300 {
        client.write_all(b"0").expect("written");
    }
    client.shutdown(Shutdown::Write).expect("ends");
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).expect("an answer");
    assert_eq!(answer, b"\xb7\x00");
    let entries = between.wait_for_end();
    let lengths: Vec<_> = entries.iter().map(|entry| entry.octets.len()).collect();
    assert_eq!(lengths, [300, 2]);
}

#[test]
fn faults_strike_on_the_way() {
    let library = library();
    let between = before(library.addr())
        .rule("on search nth=2: count 4711")
        .rule("on init: options search")
        .rule("on present: reset 3")
        .start();
    let mut client = connect(between.addr());
    let war = search("@attr 1=4 war");
    let requests = [init(), war.clone(), war, present(1, 1)];
    client.write_all(&encoded(&requests)).expect("written");
    let mut octets = Vec::new();
    let error = client.read_to_end(&mut octets).expect_err("a reset");
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    let entries = between.wait_for_end();
    let counts: Vec<_> = entries
        .iter()
        .filter_map(|entry| match &entry.apdu {
            Some(Apdu::SearchResponse(search)) => Some(search.result_count),
            _ => None,
        })
        .collect();
    assert_eq!(counts, [2, 4711]);
    assert_eq!(
        entries
            .iter()
            .filter(|entry| entry.name() == "presentResponse")
            .count(),
        1
    );
}

#[test]
fn a_missing_server_is_reported_by_close() {
    // This socket is bound but does not listen, so that no other program can listen on the port.
    let nowhere = tokio::net::TcpSocket::new_v4().expect("a socket");
    let any = ([127, 0, 0, 1], 0).into();
    nowhere.bind(any).expect("a port");
    let address = nowhere.local_addr().expect("bound");
    let between = before(address).start();
    let answer = answers(between.addr(), &encoded(&[init()]));
    let Ok(Apdu::Close(close)) = decode(&answer) else {
        panic!("{answer:x?}")
    };
    assert_eq!(close.close_reason, CloseReason::SYSTEM_PROBLEM);
    let words = close.diagnostic_information.expect("words");
    let words = words.to_string_lossy();
    assert!(
        words.contains(&format!("{address} cannot be reached")),
        "{words}"
    );
    // What the client sent is recorded, although it was not passed on.
    let entries = between.wait_for_end();
    let names: Vec<_> = entries.iter().map(|entry| entry.name()).collect();
    assert_eq!(names, ["initRequest", "close"]);
}

#[test]
fn a_server_that_dies_resets_the_connection() {
    // The server closes its side without sending the answer.
    let dying = by_hand(|_, stream| drop(stream));
    let between = before(dying).start();
    let mut client = connect(between.addr());
    client.write_all(&encoded(&[init()])).expect("written");
    let mut octets = Vec::new();
    let error = client.read_to_end(&mut octets).expect_err("a reset");
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    assert!(octets.is_empty());
    assert_eq!(between.stop().panics, 0);
}

#[tokio::test]
async fn an_end_by_the_server_is_distinguished_from_one_by_the_client() {
    // The server answers Init, and ends the connection either then or when the client does.
    for (client_ends, end) in [(false, SessionEnd::Upstream), (true, SessionEnd::Left)] {
        let recorded = by_hand(move |_, mut stream| {
            let accepted = InitializeResponse {
                result: true,
                ..InitializeResponse::default()
            };
            let accepted = encode(&accepted.into()).expect("encodes");
            stream.write_all(&accepted).expect("written");
            if client_ends {
                let _ = stream.read_to_end(&mut Vec::new());
            }
        });
        let ends = Arc::new(Ends::default());
        let server = Server::new(Target::new(catalogue(), Limits::default()));
        let server = server.and_bind(("127.0.0.1", 0)).await.expect("binds");
        let server = server
            .with_recorded(Arc::new(RecordedHost(recorded.to_string())))
            .with_observer(ends.clone());
        let address = server.local_addrs()[0];
        let (stop, stopped) = oneshot::channel::<()>();
        let running = tokio::spawn(server.run(async { drop(stopped.await) }));
        let mut client = tokio::net::TcpStream::connect(address).await;
        let client = client.as_mut().expect("connects");
        client.write_all(&encoded(&[init()])).await.expect("writes");
        let mut octets = vec![0; 2];
        client.read_exact(&mut octets).await.expect("an answer");
        if client_ends {
            client.shutdown().await.expect("ends");
        }
        client.read_to_end(&mut octets).await.expect("an end");
        // An error means that the server has already ended the connection.
        let _ = client.shutdown().await;
        drop(stop);
        running.await.expect("no panic");
        assert_eq!(*ends.0.lock().expect("no panic"), [end]);
    }
}

/// An observer that collects the reasons why sessions ended.
#[derive(Default)]
struct Ends(Mutex<Vec<SessionEnd>>);

impl Observer for Ends {
    fn wants_totals(&self) -> bool {
        true
    }

    fn ended(&self, totals: &SessionTotals) {
        self.0.lock().expect("no panic").push(totals.end);
    }
}

#[test]
fn silence_of_both_sides_ends_the_session() {
    let silent = by_hand(|_, stream| {
        thread::spawn(move || {
            let mut stream = stream;
            // Read until the relay ends the connection.
            let _ = stream.read_to_end(&mut Vec::new());
        });
    });
    let between = before(silent)
        .limit(|limits| limits.idle_time = Some(Duration::from_millis(50)))
        .start();
    let mut client = connect(between.addr());
    client.write_all(&encoded(&[init()])).expect("written");
    let mut octets = Vec::new();
    client.read_to_end(&mut octets).expect("an end");
    let Ok(Apdu::Close(close)) = decode(&octets) else {
        panic!("{octets:x?}")
    };
    assert_eq!(close.close_reason, CloseReason::LACK_OF_ACTIVITY);
}

#[test]
fn a_client_that_does_not_read_stops_the_server() {
    /// A number of octets that exceeds the buffers of four sockets.
    const FLOOD: usize = 256 << 20;
    let (tell, written) = std::sync::mpsc::channel();
    let flooding = by_hand(move |_, mut stream| {
        stream
            .set_write_timeout(Some(Duration::from_millis(200)))
            .expect("a time limit");
        let piece = vec![0xff; 1 << 20];
        let mut count = 0;
        while count < FLOOD {
            match stream.write(&piece) {
                Ok(more) => count += more,
                Err(_) => break,
            }
        }
        let _ = tell.send(count);
    });
    let between = before(flooding).start();
    let mut client = connect(between.addr());
    client.write_all(&encoded(&[init()])).expect("written");
    let count = written.recv_timeout(PATIENCE * 3).expect("a count");
    assert!(count < FLOOD, "{count}");
}

#[test]
fn http_is_refused() {
    let library = TestServer::demo();
    let between = before(library.addr()).start();
    let answer = answers(between.addr(), b"GET /books HTTP/1.1\r\nHost: x\r\n\r\n");
    let answer = String::from_utf8_lossy(&answer);
    assert!(
        answer.starts_with("HTTP/1.1 501 ") && answer.contains("recorded"),
        "{answer}"
    );
    assert_eq!(library.sessions(), 0);
}

#[tokio::test]
async fn apdus_above_the_limit_pass_in_pieces() {
    let apdu = |length: u8| {
        let mut octets = vec![0xb6, length];
        octets.extend(vec![7; usize::from(length)]);
        octets
    };
    for (size, is_apdu) in [(18, true), (19, false)] {
        let octets = apdu(size);
        let mut pieces = Pieces::new(BytesMut::new(), 20, Charge::default());
        let piece = pieces.next(&mut &*octets).await.expect("no error");
        let expected = if is_apdu {
            Piece::Apdu(octets.into())
        } else {
            Piece::Raw(octets.into())
        };
        assert_eq!(piece, Some(expected));
        assert_eq!(pieces.next(&mut &b""[..]).await.expect("no error"), None);
    }
}

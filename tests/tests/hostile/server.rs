//! Tests with connections that break the rules of Z39.50-2003 §3 and §4. The server must end or answer each connection, and must
//! then still answer another client.

use std::net::SocketAddr;
use std::time::Duration;

use z3950_asn1::apdu::{Apdu, Close, CloseReason, Segment};
use z3950_asn1::codec::encode;
use z3950_server::testing::{TestServer, record};
use z3950_tests::hex;

use super::partner::{Partner, Process, TERM, deep_query, init, search};

fn server() -> TestServer {
    TestServer::builder()
        .database("books", [record("id1", "Emma")])
        .limit(|limits| limits.linger_time = Duration::from_millis(20))
        .start()
}

/// Sends octets in a session, compares the answers after the InitResponse with the expected ones, and checks that another client
/// is still answered.
fn check(address: SocketAddr, what: &str, octets: &[u8], expected: &[&str]) {
    let mut partner = Partner::open(address).expect("a session");
    // An error means that the server has refused the octets before reading all of them.
    let _ = partner.send(octets);
    let heard = partner.heard_to_the_end();
    assert_eq!(heard.ok().as_deref(), Some(&owned(expected)[..]), "{what}");
    answers(address, what);
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn answers(address: SocketAddr, after: &str) {
    let mut other = Partner::open(address).unwrap_or_else(|error| panic!("{after}: {error}"));
    other
        .ask()
        .unwrap_or_else(|error| panic!("{after}: {error}"));
}

fn close(reason: i64) -> Vec<u8> {
    encode(&Close::new(CloseReason(reason), None).into()).expect("encodes")
}

const PROTOCOL_ERROR: &[&str] = &["close protocolError"];

#[test]
fn text_that_breaks_other_servers_is_refused() {
    let server = server();
    let check = |what: &str, octets: &[u8], expected: &[&str]| {
        check(server.addr(), what, octets, expected);
    };
    for reason in [10, 0x7f_ffff, 4_000_000, -1, i64::MAX, i64::MIN] {
        check(
            "a Close with an unknown reason",
            &close(reason),
            &["close finished"],
        );
    }
    check("half an APDU", &[0xb6, 9, 1], PROTOCOL_ERROR);
    check("a header without its length", &[0xb6], PROTOCOL_ERROR);
    check("a length of 127 octets", &[0xb6, 0xff], PROTOCOL_ERROR);
    check("40 octets FF", &[0xff; 40], PROTOCOL_ERROR);
    check("40 octets 00", &[0; 40], PROTOCOL_ERROR);
    check("an unknown APDU", &[0xbf, 0x28, 0], PROTOCOL_ERROR);
    check(
        "another protocol",
        b"GET / HTTP/1.1\r\n\r\n",
        PROTOCOL_ERROR,
    );
    check("2 GiB", &[0xb6, 0x84, 0x80, 0, 0, 0], PROTOCOL_ERROR);
    check(
        "2 GiB less one",
        &[0xb6, 0x84, 0x7f, 0xff, 0xff, 0xff],
        PROTOCOL_ERROR,
    );
    check(
        "2^64 octets",
        &hex::octets("B6 88 FFFFFFFFFFFFFFFF"),
        PROTOCOL_ERROR,
    );
    check(
        "an element longer than its APDU",
        &hex::octets("B6 03 8D 7F 00"),
        PROTOCOL_ERROR,
    );
    check("an empty Search", &[0xb6, 0], PROTOCOL_ERROR);
    let segment = Segment {
        reference_id: None,
        number_of_records_returned: 0,
        segment_records: Vec::new(),
        other_info: None,
    };
    let segment = encode(&Apdu::from(segment)).expect("encodes");
    check("a Segment", &segment, PROTOCOL_ERROR);
    for answer in [
        "init",
        "search",
        "scan",
        "sort",
        "delete",
        "extended-services",
    ] {
        let name = match answer {
            "extended-services" => "extended-services-response-update".to_owned(),
            other => format!("{other}-response"),
        };
        check(&name, &fixture(&name), PROTOCOL_ERROR);
    }
    check(
        "an AccessControlRequest",
        &hex::octets("BC 04 9F 25 01 00"),
        PROTOCOL_ERROR,
    );
    check(
        "an AccessControlResponse",
        &hex::octets("BD 04 9F 26 01 00"),
        PROTOCOL_ERROR,
    );
    check("a second Init", &init(), &["initResponse"]);
}

fn fixture(name: &str) -> Vec<u8> {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/wire");
    let text = std::fs::read_to_string(format!("{directory}/{name}.hex"));
    hex::octets(&text.unwrap_or_else(|error| panic!("{name}: {error}")))
}

/// Returns an APDU with `levels` values, each of which contains the next one.
fn nested(levels: usize) -> Vec<u8> {
    let mut octets = vec![0xb6, 0x80];
    octets.extend([0x30, 0x80].repeat(levels));
    octets.extend(vec![0; 2 * levels + 2]);
    octets
}

/// A-35, L-5.1: APDUs of the default maximum sizes are accepted, and APDUs that are one octet longer are refused.
#[test]
fn a_35_apdus_are_taken_up_to_the_default_sizes() {
    let server = server();
    let with_term = |length: u32| {
        let mut operand = hex::octets("A0 80 BF 66 80 BF 2C 00 9F 2D 84");
        operand.extend(length.to_be_bytes());
        operand.resize(operand.len() + length as usize, b'x');
        operand.extend([0; 4]);
        search(&operand)
    };
    let around = with_term(0).len() as u32;
    let of_size = |size: u32| with_term(size - around);
    check(
        server.addr(),
        "1 MiB",
        &of_size(1_048_576),
        &["searchResponse"],
    );
    for size in [1_048_577, 10_000_000] {
        let what = format!("{size} octets");
        check(server.addr(), &what, &of_size(size), PROTOCOL_ERROR);
    }
    let mut partner = Partner::connect(server.addr()).expect("connects");
    // This is the header of an Init of 65,537 octets.
    partner.send(&hex::octets("B4 83 00 FF FC")).expect("taken");
    let heard = partner.heard_to_the_end().expect("an end");
    assert_eq!(heard, [""; 0]);
}

#[test]
fn depth_and_size_are_bounded() {
    let server = TestServer::builder()
        .database("books", [record("id1", "Emma")])
        .limit(|limits| limits.apdu_size = 1 << 22)
        .start();
    let check = |what: &str, octets: &[u8], expected: &[&str]| {
        check(server.addr(), what, octets, expected);
    };
    check("one level", &deep_query(1), &["searchResponse"]);
    check("900 levels", &deep_query(900), &["searchResponse"]);
    check("100,000 levels", &deep_query(100_000), &["searchResponse"]);
    check(
        "100,000 levels left open",
        &[0xa1, 0x80].repeat(100_000),
        PROTOCOL_ERROR,
    );
    check("50,000 values", &nested(50_000), PROTOCOL_ERROR);
    let operands = search(&[&[0xa1, 0x80].repeat(100_000)[..], &TERM].concat());
    check("a deep query cut short", &operands, PROTOCOL_ERROR);
}

#[test]
fn a_trickle_ends_at_the_limit() {
    let server = TestServer::builder()
        .database("books", [record("id1", "Emma")])
        .limit(|limits| limits.apdu_size = 4_096)
        .start();
    // The pieces add up to sixteen times the limit, so the server must refuse the APDU before it is complete.
    let piece = hex::octets("04 3E").into_iter().chain([b'x'; 62]);
    let piece: Vec<u8> = piece.collect();
    let endless = [&[0xb6, 0x80][..], &piece.repeat(1_024)].concat();
    check(server.addr(), "a long trickle", &endless, PROTOCOL_ERROR);
    let mut partner = Partner::open(server.addr()).expect("a session");
    let taken = endless
        .iter()
        .take_while(|octet| partner.send(&[**octet]).is_ok())
        .count();
    drop(partner);
    assert!(taken > 4_096, "{taken}");
    answers(server.addr(), "a trickle of single octets");
}

#[test]
fn one_octet_at_a_time_is_understood() {
    let server = server();
    let mut partner = Partner::connect(server.addr()).expect("connects");
    for octet in [init(), search(&TERM), close(0)].concat() {
        partner.send(&[octet]).expect("taken");
    }
    assert_eq!(
        partner.heard_to_the_end().expect("an end"),
        ["initResponse", "searchResponse", "close finished"]
    );
}

#[test]
fn a_conversation_may_be_cut_at_every_octet() {
    let server = server();
    let present = fixture("present-request-simple");
    let whole = [init(), search(&TERM), present, close(0)].concat();
    for length in 0..=whole.len() {
        let mut partner = Partner::connect(server.addr()).expect("connects");
        partner.send(&whole[..length]).expect("taken");
        if length % 2 == 0 {
            let heard = partner.heard_to_the_end();
            let heard = heard.unwrap_or_else(|error| panic!("cut at {length}: {error}"));
            assert_eq!(
                heard.is_empty(),
                length < init().len(),
                "cut at {length}: {heard:?}"
            );
        }
    }
    answers(server.addr(), "every cut");
    server.wait_for_end();
}

#[test]
fn connections_that_open_no_session_make_room() {
    let server = TestServer::builder()
        .database("books", [record("id1", "Emma")])
        .limit(|limits| {
            limits.sessions = 4;
            limits.sessions_per_address = Some(4);
            limits.init_time = Duration::from_millis(300);
        })
        .start();
    let mut before = Partner::open(server.addr()).expect("a session");
    let connect = || Partner::connect(server.addr()).expect("connects");
    let mut half_open: Vec<_> = (0..20).map(|_| connect()).collect();
    for partner in half_open.iter_mut().step_by(2) {
        partner.send(&init()[..9]).expect("taken");
    }
    before.ask().expect("who is in is answered");
    answers(server.addr(), "20 half-open connections, 4 at a time");
    for partner in &mut half_open {
        assert!(partner.next().expect("an end").is_none());
    }
}

#[test]
fn half_open_connections_give_way() {
    let server = TestServer::builder()
        .database("books", [record("id1", "Emma")])
        .limit(|limits| {
            limits.sessions = 4;
            limits.sessions_per_address = Some(5);
            limits.init_time = Duration::from_secs(3600);
            limits.init_patience = Duration::from_millis(5);
            limits.idle_patience = Duration::from_secs(3600);
        })
        .start();
    let mut inside: Vec<_> = (0..3)
        .map(|_| Partner::open(server.addr()).expect("a session"))
        .collect();
    let connect = || Partner::connect(server.addr()).expect("connects");
    let mut half_open: Vec<_> = (0..20).map(|_| connect()).collect();
    answers(server.addr(), "20 half-open connections");
    for partner in &mut half_open {
        assert!(partner.next().expect("an end").is_none());
    }
    for partner in &mut inside {
        partner.ask().expect("open sessions are answered");
    }
    // While all permitted sessions are open, another client has to wait until one of them ends.
    inside.push(Partner::open(server.addr()).expect("the last session"));
    let mut outside = connect();
    outside.send(&init()).expect("taken");
    for partner in &mut inside {
        partner.ask().expect("open sessions stay open");
    }
    inside.pop();
    let answer = outside.next().expect("an answer");
    assert!(matches!(answer, Some(Apdu::InitializeResponse(_))));
}

#[test]
fn an_address_without_end_keeps_no_other_out() {
    let server = TestServer::builder()
        .database("books", [record("id1", "Emma")])
        .limit(|limits| {
            limits.sessions = 10;
            // On a busy machine, the first of them may be kept waiting for long.
            limits.init_patience = Duration::from_secs(60);
        })
        .start();
    let mut greedy: Vec<_> = (0..50)
        .map(|_| Partner::connect(server.addr()).expect("connects"))
        .collect();
    let mut served = 0;
    for partner in &mut greedy {
        // An error means that the server has already closed the connection.
        let _ = partner.send(&init());
        served += usize::from(partner.next().is_ok_and(|answer| answer.is_some()));
    }
    assert_eq!(served, 5, "half of the sessions");
    for host in [2, 3, 4] {
        let mut other = Partner::connect_from([127, 0, 0, host], server.addr()).expect("connects");
        other.send(&init()).expect("taken");
        let answer = other.next().expect("an answer");
        assert!(
            matches!(answer, Some(Apdu::InitializeResponse(_))),
            "{host}"
        );
        other.ask().expect("an answer");
    }
}

#[test]
fn sessions_per_address_are_limited() {
    let server = TestServer::builder()
        .database("books", [record("id1", "Emma")])
        .limit(|limits| limits.sessions_per_address = Some(3))
        .start();
    let mut inside: Vec<_> = (0..3)
        .map(|_| Partner::open(server.addr()).expect("within the limit"))
        .collect();
    for _ in 0..50 {
        let mut outside = Partner::connect(server.addr()).expect("connects");
        assert!(outside.next().expect("an end").is_none());
    }
    for partner in &mut inside {
        partner.ask().expect("open sessions are answered");
    }
    drop(inside);
    server.wait_for_end();
    answers(server.addr(), "the others are gone");
}

#[test]
fn connections_may_be_reset() {
    let server = server();
    for _ in 0..200 {
        let mut partner = Partner::connect(server.addr()).expect("connects");
        partner.send(&init()).expect("taken");
        // If a connection is dropped before its octets have been read, it is reset.
        partner.stream.peek(&mut [0]).expect("an answer");
    }
    answers(server.addr(), "200 resets");
    server.wait_for_end();
}

#[test]
fn memory_stays_within_bounds() {
    let server = Process::start(&["--demo"]);
    answers(server.address, "the start");
    let Some(before) = server.memory("VmHWM:") else {
        println!("skipped: this system does not report the memory of a process");
        return;
    };
    for octets in [
        deep_query(40_000),
        [0xa1, 0x80].repeat(100_000),
        nested(50_000),
        hex::octets("B6 84 7FFFFFFF"),
        [&[0xb6, 0x83, 0x0f, 0, 0][..], &[0; 900_000]].concat(),
    ] {
        for _ in 0..20 {
            let mut partner = Partner::open(server.address).expect("a session");
            let _ = partner.send(&octets);
        }
        answers(server.address, "hostile octets");
    }
    let after = server.memory("VmHWM:").expect("reported before");
    // Each of the twenty connections needs 1 MiB for an APDU of the maximum size, and the same amount for the decoded value.
    assert!(
        after - before < 40 << 10,
        "{before} KiB before, {after} KiB after"
    );
}

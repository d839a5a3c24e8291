//! Tests of the judge with conversations over a socket. Each rule is broken by one of the conversations, and a further
//! conversation does not break any rule.

mod breaches;
mod faults;
mod knowledge;

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use z3950_asn1::apdu::{
    Apdu, Close, CloseReason, DeleteFunction, DeleteResultSetRequest, InitializeRequest,
    InitializeResponse, Options, ProtocolVersion, ResultSetId, SearchRequest,
};
use z3950_asn1::codec;
use z3950_asn1::codec::frame::Scanner;
use z3950_asn1::oid::USMARC;

use super::*;
use crate::requests::{init_of, present_request, scan_request, search_request, sort_request};
use z3950_server::Endpoint;
use z3950_server::Limits;
use z3950_server::MemoryBackend;
use z3950_server::backend::Backend;
use z3950_server::fault::Faults;
use z3950_server::metrics::SessionEnd;
use z3950_server::testing::record;
use z3950_server::{Server, Target};

/// A step of a client.
enum Step {
    /// Sends octets and waits for an APDU.
    Ask(Vec<u8>),
    /// Sends octets.
    Send(Vec<u8>),
    /// Waits for an APDU.
    Hear,
}

/// Returns a database `cat` with one record `id7` and two records `dup`, and a database `B` with one record.
fn catalogue() -> Arc<dyn Backend> {
    let cat = [
        record("id7", "War and peace"),
        record("dup", "Emma"),
        record("dup", "Emma; war"),
    ];
    let databases = MemoryBackend::builder().add_records("cat", cat);
    let databases = databases.and_then(|all| all.add_records("B", [record("b1", "Peace")]));
    Arc::new(databases.expect("small records").build())
}

fn ask(request: impl Into<Apdu>) -> Step {
    Step::Ask(octets(request))
}

fn octets(request: impl Into<Apdu>) -> Vec<u8> {
    codec::encode(&request.into()).expect("encodes")
}

/// Runs a server with a judge and returns the report on the conversations, each of which uses a new connection. At the end of a
/// conversation, the client shuts down its sending side and reads until the connection ends.
async fn judged(
    limits: JudgeLimits,
    faults: Faults,
    conversations: Vec<Vec<Step>>,
) -> ClientReport {
    let judge = Arc::new(ClientJudge::new(limits));
    let mut own = Limits::default();
    own.linger_time = std::time::Duration::from_secs(5);
    let server = Server::new(Target::new(catalogue(), own));
    let server = server.and_bind(("127.0.0.1", 0)).await.expect("binds");
    let server = server.with_faults(faults).with_observer(judge.clone());
    let address = match server.endpoints().first() {
        Some(Endpoint::Tcp(address)) => *address,
        other => panic!("{other:?}"),
    };
    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn(server.run(async { drop(stopped.await) }));
    for steps in conversations {
        converse(address, steps).await;
    }
    drop(stop);
    running.await.expect("no panic");
    judge.report()
}

async fn converse(address: SocketAddr, steps: Vec<Step>) {
    let mut stream = TcpStream::connect(address).await.expect("connects");
    let mut heard = Vec::new();
    for step in steps {
        let waits = !matches!(step, Step::Send(_));
        if let Step::Ask(octets) | Step::Send(octets) = step {
            stream.write_all(&octets).await.expect("writes");
        }
        if waits {
            hear(&mut stream, &mut heard).await;
        }
    }
    // An error means that the server has already ended its side.
    let _ = stream.shutdown().await;
    let _ = stream.read_to_end(&mut heard).await;
}

/// Waits for an APDU, or for the end of the connection, which may be a reset.
async fn hear(stream: &mut TcpStream, heard: &mut Vec<u8>) {
    loop {
        if let Some(length) = Scanner::new(1 << 24).scan(heard).expect("APDUs") {
            heard.drain(..length);
            return;
        }
        if stream.read_buf(heard).await.unwrap_or_default() == 0 {
            return;
        }
    }
}

/// Returns the Init of a correct client.
fn good_init(version: ProtocolVersion, options: Options) -> InitializeRequest {
    InitializeRequest {
        options: init_of(version).options | options,
        implementation_name: Some("client of a test".into()),
        preferred_message_size: 5_000,
        exceptional_record_size: 50_000,
        ..init_of(version)
    }
}

fn init(options: Options) -> Step {
    ask(good_init(ProtocolVersion::UP_TO_3, options))
}

/// Returns the step that opens a version 3 session without concurrent operations.
fn open() -> Step {
    init(Options::default())
}

fn find(pqf: &str, change: impl FnOnce(&mut SearchRequest)) -> SearchRequest {
    let mut search = search_request(pqf);
    change(&mut search);
    search
}

fn delete(function: DeleteFunction, sets: Option<&[&str]>) -> DeleteResultSetRequest {
    let list = |sets: &[&str]| sets.iter().map(|set| ResultSetId::from(*set)).collect();
    DeleteResultSetRequest {
        reference_id: None,
        delete_function: function,
        result_set_list: sets.map(list),
        other_info: None,
    }
}

fn close() -> Step {
    ask(Close::new(CloseReason::FINISHED, None))
}

#[tokio::test]
async fn a_client_that_does_nothing_wrong_passes() {
    let mut present = present_request(1, 2);
    present.preferred_record_syntax = Some(USMARC);
    let mut next = present.clone();
    next.result_set_start_point = 3;
    next.number_of_records_requested = 1;
    let steps = vec![
        init(Options::NAMED_RESULT_SETS | Options::SORT | Options::DELETE | Options::SCAN),
        ask(find("@attr 1=4 emma", |_| {})),
        ask(find("@attr 1=4 war", |search| {
            search.result_set_name = "other".into();
        })),
        ask(find("@or @set default @set other", |_| {})),
        ask(present),
        ask(next),
        ask(scan_request("emma")),
        ask(sort_request(&["other"], "sorted")),
        ask(delete(DeleteFunction::LIST, Some(&["other"]))),
        close(),
    ];
    let report = judged(JudgeLimits::default(), Faults::new(), vec![steps]).await;
    let [session] = &*report.sessions else {
        panic!("{report:?}")
    };
    assert!(session.findings.is_empty(), "{}", report.to_text());
    for name in [
        "apdu.readable",
        "init.first",
        "init.sizes.order",
        "options.granted",
        "operations.serial",
        "search.bounds.order",
        "query.result-set",
        "present.within",
        "present.set",
        "present.again",
        "scan.number",
        "sort.input",
        "delete.known",
        "close.last",
        "close.sent",
    ] {
        assert!(session.passed.contains(&name), "{name}: {session:?}");
    }
    assert_eq!(session.version, 3);
    assert_eq!(session.implementation.as_deref(), Some("client of a test"));
    assert_eq!(session.requests.get("searchRequest"), Some(&3));
    assert_eq!(session.end, Some(SessionEnd::Closed));
    assert_eq!(report.total().fail + report.total().hint, 0);
}

#[tokio::test]
async fn sessions_beyond_the_limit_are_counted() {
    let limits = JudgeLimits {
        sessions: 2,
        octets: 10,
        ..JudgeLimits::default()
    };
    let bad = || vec![open(), ask(present_request(1, 1))];
    let silent = Vec::new();
    let all = vec![bad(), bad(), silent, bad()];
    let report = judged(limits, Faults::new(), all).await;
    assert_eq!(
        (report.judged, report.sessions.len(), report.left_out()),
        (3, 2, 1)
    );
    let place = rules().iter().position(|rule| rule.name == "present.set");
    let count = report.counts[place.expect("known")];
    assert_eq!((count.pass, count.fail, count.hint), (0, 3, 0));
    let finding = |name: &str| {
        let mut findings = report.sessions[0].findings.iter();
        findings
            .find(|finding| finding.rule.name == name)
            .expect("found")
    };
    let whole = octets(present_request(1, 1));
    assert_eq!(finding("present.set").octets, whole[..10]);
    assert_eq!(finding("present.set").length, whole.len());
    assert!(
        report
            .to_text()
            .contains("sessions: 3, not listed: 1; rules kept: ")
    );
}

#[tokio::test]
async fn credentials_are_in_no_report() {
    let mut init = good_init(ProtocolVersion::UP_TO_3, Options::default());
    init.id_authentication = Some(z3950_asn1::apdu::IdAuthentication::Open(
        "ann/secret".into(),
    ));
    init.exceptional_record_size = 1;
    let report = judged(JudgeLimits::default(), Faults::new(), vec![vec![ask(init)]]).await;
    let texts = [
        report.to_text(),
        report.to_junit(),
        report.to_json().to_string(),
    ];
    let digits = z3950_files::hex::digits(b"secret");
    for text in texts {
        assert!(text.contains("init.sizes.order"), "{text}");
        assert!(
            !text.contains("secret") && !text.contains(&digits),
            "{text}"
        );
    }
}

/// Returns the totals of a session that has ended.
fn totals(end: SessionEnd, client_left: bool) -> SessionTotals {
    let mut totals = SessionTotals::new(1, Peer::Unix, std::time::SystemTime::now());
    totals.end = end;
    totals.client_left = client_left;
    totals
}

/// Each case consists of the way in which a version 3 session ended, without a Close or after the server's Close, and the
/// expected finding about the client.
#[test]
fn clients_are_judged_only_for_ends_that_they_cause() {
    let init = Apdu::from(good_init(ProtocolVersion::UP_TO_3, Options::default()));
    let accepted = Apdu::from(InitializeResponse {
        protocol_version: ProtocolVersion::UP_TO_3,
        result: true,
        ..InitializeResponse::default()
    });
    let close = Apdu::from(Close::new(CloseReason::FINISHED, None));
    for (closes, end, client_left, expected) in [
        (false, SessionEnd::Left, true, Some("close.sent")),
        (false, SessionEnd::Lost, true, Some("close.sent")),
        (false, SessionEnd::Lost, false, None),
        (false, SessionEnd::Upstream, true, None),
        (false, SessionEnd::Upstream, false, None),
        (false, SessionEnd::Fault, true, None),
        (true, SessionEnd::Idle, true, Some("close.answered")),
        (true, SessionEnd::Idle, false, None),
        (true, SessionEnd::Upstream, true, Some("close.answered")),
        (true, SessionEnd::Fault, false, None),
        (true, SessionEnd::Stopped, true, None),
    ] {
        let judge = ClientJudge::default();
        judge.opened(1, Peer::Unix);
        judge.received(1, &octets(init.clone()), Ok(&init));
        judge.sent(1, &octets(accepted.clone()), Some(&accepted));
        if closes {
            judge.sent(1, &octets(close.clone()), Some(&close));
        }
        judge.ended(&totals(end, client_left));
        let report = judge.report();
        let findings = report.sessions[0].findings.iter();
        let blamed: Vec<&str> = findings.map(|finding| finding.rule.name).collect();
        assert_eq!(
            blamed,
            Vec::from_iter(expected),
            "{closes} {end:?} {client_left}"
        );
    }
}

#[test]
fn sessions_that_the_server_opens_with_itself_are_not_judged() {
    let judge = ClientJudge::default();
    let init = Apdu::from(good_init(ProtocolVersion::UP_TO_3, Options::default()));
    judge.opened_within(1, Peer::Unix);
    judge.received(1, &octets(init.clone()), Ok(&init));
    judge.ended(&totals(SessionEnd::Left, true));
    assert_eq!(judge.report().judged, 0);
}

/// When recorded sessions are replayed, the server's answers are sent as octets.
#[test]
fn answers_may_be_octets() {
    let judge = ClientJudge::default();
    let init = Apdu::from(good_init(ProtocolVersion::UP_TO_3, Options::default()));
    judge.opened(1, Peer::Unix);
    judge.received(1, &octets(init.clone()), Ok(&init));
    let accepted = InitializeResponse {
        protocol_version: ProtocolVersion::UP_TO_3,
        result: true,
        ..InitializeResponse::default()
    };
    judge.sent(1, &octets(accepted), None);
    let report = judge.report();
    assert_eq!((report.judged, report.sessions[0].version), (1, 3));
    assert_eq!(report.sessions[0].end, None);
    assert!(report.to_json()["sessions"][0]["end"].is_null());
}

#[test]
fn rules_have_unique_names_and_cite_their_source() {
    let mut names: Vec<&str> = rules().iter().map(|rule| rule.name).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
    for rule in rules() {
        let sources = [
            "Z39.50-2003 §",
            "Z39.50-2003 Appendix ",
            "Z39.50 clarification",
            "Bib-1",
            "X.690 §",
        ];
        assert!(
            sources
                .iter()
                .any(|source| rule.section.starts_with(source)),
            "{rule:?}"
        );
    }
}

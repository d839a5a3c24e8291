//! Tests of slow searches (Z39.50-2003 §3.2.6.2). The client can cancel a search, the server stops it at its time limit, and
//! other clients do not have to wait for it.

use std::time::Duration;

use z3950_asn1::apdu::{
    Apdu, Close, CloseReason, Query, Records, RequestedAction, SearchRequest,
    TriggerResourceControlRequest,
};
use z3950_asn1::codec::encode;
use z3950_server::testing::{TestServer, record};

use super::partner::{Partner, TERM, init, search};

/// The number of titles, each with a unique word.
const WORDS: usize = 2_000;

/// The number of regular expressions in a query, each of which is matched against every word.
const EXPRESSIONS: usize = 2_048;

fn server(operation_time: Option<Duration>) -> TestServer {
    let records = (0..WORDS).map(|number| record(&format!("id{number}"), &format!("word{number}")));
    TestServer::builder()
        .database("books", records)
        .limit(|limits| limits.operation_time = operation_time)
        .start()
}

/// Returns a search that takes almost a second or longer.
fn slow_search() -> Vec<u8> {
    let request = SearchRequest {
        database_names: vec!["books".into()],
        query: Query::Type1(expressions(EXPRESSIONS).parse().expect("a query")),
        ..any_search()
    };
    encode(&request.into()).expect("encodes")
}

fn expressions(count: usize) -> String {
    match count {
        1 => "@attr 5=102 .*o.*z.*".to_owned(),
        _ => {
            let half = expressions(count / 2);
            format!("@or {half} {half}")
        }
    }
}

fn any_search() -> SearchRequest {
    let octets = search(&TERM);
    match z3950_asn1::codec::decode(&octets) {
        Ok(Apdu::SearchRequest(request)) => *request,
        other => panic!("{other:?}"),
    }
}

fn cancel() -> Vec<u8> {
    let cancel = TriggerResourceControlRequest {
        reference_id: None,
        requested_action: RequestedAction::CANCEL,
        pref_resource_report_format: None,
        result_set_wanted: Some(false),
        other_info: None,
    };
    encode(&cancel.into()).expect("encodes")
}

/// Reads the next answer. Returns the condition of its diagnostic, or `None` if there is no diagnostic.
fn condition(partner: &mut Partner) -> Option<i64> {
    match partner.next().expect("an answer") {
        Some(Apdu::SearchResponse(response)) => match response.records.as_ref() {
            Some(Records::NonSurrogateDiagnostic(diagnostic)) => Some(diagnostic.condition),
            _ => None,
        },
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_client_cancels_its_search() {
    let server = server(None);
    let mut partner = Partner::open(server.addr()).expect("a session");
    partner
        .send(&[slow_search(), cancel()].concat())
        .expect("taken");
    assert_eq!(condition(&mut partner), Some(105));
    partner.ask().expect("the session goes on");
}

#[test]
fn a_search_is_stopped_at_its_time_limit() {
    let server = server(Some(Duration::from_millis(20)));
    let mut partner = Partner::open(server.addr()).expect("a session");
    partner.send(&slow_search()).expect("taken");
    assert_eq!(condition(&mut partner), Some(31));
    partner.ask().expect("the session goes on");
}

#[test]
fn slow_searches_do_not_delay_other_clients() {
    let server = server(None);
    let slow: Vec<_> = (0..8)
        .map(|_| {
            let mut partner = Partner::open(server.addr()).expect("a session");
            partner.send(&slow_search()).expect("taken");
            partner
        })
        .collect();
    let mut quick = Partner::open(server.addr()).expect("a session");
    for _ in 0..20 {
        quick.ask().expect("an answer");
    }
    // No slow search has been answered yet, so all of them were running while the quick one was answered.
    for partner in &slow {
        partner.stream.set_nonblocking(true).expect("can be asked");
        let answered = partner.stream.peek(&mut [0]);
        assert!(answered.is_err(), "{answered:?}");
    }
}

#[test]
fn a_search_stops_when_its_client_leaves() {
    let server = server(None);
    let close = encode(&Close::new(CloseReason::FINISHED, None).into()).expect("encodes");
    let mut partner = Partner::connect(server.addr()).expect("connects");
    partner
        .send(&[init(), slow_search(), close].concat())
        .expect("taken");
    let heard = partner.heard_to_the_end().expect("an end");
    assert_eq!(heard, ["initResponse", "close finished"]);
    for _ in 0..8 {
        let mut partner = Partner::open(server.addr()).expect("a session");
        partner.send(&slow_search()).expect("taken");
    }
    server.wait_for_end();
}

//! Tests of the terms that Scan returns, the position of the start term among them, and refusals.

use std::sync::Arc;

use z3950_asn1::apdu::*;
use z3950_asn1::format::conventions::Convention;

use super::stub::Stub;
use crate::limits::Limits;
use crate::requests::{now, only, open, scan_request, search};
use crate::session::Session;

fn scanned(session: &mut Session, request: ScanRequest) -> ScanResponse {
    match only(now(session.answer(&request.into()))) {
        Apdu::ScanResponse(response) => *response,
        other => panic!("{other:?}"),
    }
}

/// Returns the terms of a response, or its diagnostic.
fn shown(response: &ScanResponse) -> String {
    let entries = response.entries.clone().unwrap_or_default();
    if let Some([DiagRec::DefaultFormat(one)]) = entries.nonsurrogate_diagnostics.as_deref() {
        return format!("{} {}", one.condition, one.addinfo.to_string_lossy());
    }
    let terms = entries.entries.unwrap_or_default();
    assert_eq!(terms.len() as i64, response.number_of_entries_returned);
    let terms = terms.iter().map(|entry| match entry {
        Entry::TermInfo(info) => match &info.term {
            Term::General(octets) => String::from_utf8_lossy(octets.as_bytes()).into_owned(),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    });
    terms.collect()
}

#[test]
fn terms_surround_the_starting_point() {
    // The columns are the start, the number of terms wanted, the preferred position and the step, followed by the expected terms,
    // position of the start and status.
    for (start, number, preferred, step, terms, position, status) in [
        ("d", 3, Some(1), None, "def", 1, 0),
        ("d", 3, None, Some(0), "def", 1, 0),
        ("d", 3, Some(2), None, "cde", 2, 0),
        ("d", 3, Some(3), None, "bcd", 3, 0),
        // The start comes after the last or before the first of the returned terms.
        ("d", 2, Some(3), None, "bc", 3, 0),
        ("d", 3, Some(0), None, "efg", 0, 0),
        ("dd", 3, Some(0), None, "efg", 0, 0),
        ("dd", 3, Some(1), None, "efg", 1, 0),
        // The index begins or ends within the answer, so the answer has fewer terms.
        ("a", 3, Some(3), None, "b", 1, 5),
        ("c", 4, Some(3), None, "bcd", 2, 5),
        ("j", 4, Some(1), None, "jk", 1, 5),
        ("z", 4, Some(1), None, "", 1, 5),
        ("z", 3, Some(3), None, "jk", 3, 5),
        ("d", 3, Some(1), Some(1), "dfh", 1, 0),
        ("f", 4, Some(3), Some(1), "bdfh", 3, 0),
    ] {
        let case = format!("{start} {number} {preferred:?} {step:?}");
        let mut session = open(Arc::new(Stub), Limits::default());
        let request = ScanRequest {
            number_of_terms_requested: number,
            preferred_position_in_response: preferred,
            step_size: step,
            ..scan_request(start)
        };
        let response = scanned(&mut session, request);
        assert_eq!(shown(&response), terms, "{case}");
        assert_eq!(response.position_of_term, Some(position), "{case}");
        assert_eq!(response.scan_status, ScanStatus(status), "{case}");
        assert_eq!(response.step_size, step, "{case}");
    }
}

#[test]
fn failed_scans_have_their_diagnostics() {
    let check = |change: &dyn Fn(&mut ScanRequest), diagnostic: &str| {
        let limits = Limits {
            scan_terms: 20,
            databases_per_search: 2,
            ..Limits::default()
        };
        let mut session = open(Arc::new(Stub), limits);
        let mut request = scan_request("d");
        change(&mut request);
        let response = scanned(&mut session, request);
        assert_eq!(shown(&response), diagnostic);
        assert_eq!(response.scan_status, ScanStatus::FAILURE);
        assert_eq!(response.number_of_entries_returned, 0);
    };
    let number =
        |number| move |request: &mut ScanRequest| request.number_of_terms_requested = number;
    check(&number(0), "228 0");
    check(&number(-1), "228 -1");
    check(&number(21), "31 at most 20 terms");
    check(&number(i64::MAX), "31 at most 20 terms");
    let position = |position| {
        move |request: &mut ScanRequest| request.preferred_position_in_response = Some(position)
    };
    check(&position(-1), "233 -1");
    check(&position(i64::MAX), "233 9223372036854775807");
    check(&|request| request.step_size = Some(-1), "206 -1");
    let databases = |names: &[&str]| names.iter().map(|name| DatabaseName::from(*name)).collect();
    check(
        &|request| request.database_names = databases(&[]),
        "23 no database is named",
    );
    check(
        &|request| request.database_names = databases(&["a", "b", "c"]),
        "111 2",
    );
    check(
        &|request| request.term_list_and_start_point.term = Term::General("refused".into()),
        "232 title",
    );
    let within = |request: &mut ScanRequest| {
        let information = request.other_info.get_or_insert_default();
        Convention::ScanSet.put(information, "1");
    };
    check(&within, "30 1");
}

#[test]
fn terms_are_limited_to_a_result_set_and_the_message_size() {
    let limits = Limits {
        preferred_message_size: 60,
        ..Limits::default()
    };
    let mut session = open(Arc::new(Stub), limits);
    only(now(session.answer(&search("7"))));
    let mut request = scan_request("d");
    let information = request.other_info.get_or_insert_default();
    Convention::ScanSet.put(information, "default");
    let response = scanned(&mut session, request);
    assert_eq!(
        (shown(&response), response.scan_status),
        ("de".to_owned(), ScanStatus::PARTIAL_2)
    );
    let entries = response.entries.and_then(|entries| entries.entries);
    let Some([Entry::TermInfo(first), ..]) = entries.as_deref() else {
        panic!("terms")
    };
    assert_eq!(first.global_occurrences, Some(7));
}

#[test]
fn databases_without_scan_are_refused() {
    struct Bare;
    impl crate::backend::Backend for Bare {}
    let mut session = open(Arc::new(Bare), Limits::default());
    assert_eq!(
        shown(&scanned(&mut session, scan_request("d"))),
        "1025 scan"
    );
}

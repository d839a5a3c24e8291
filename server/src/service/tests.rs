//! Tests of every service, request by request, with every diagnostic that it sends.

mod access;
mod attributes;
mod backends;
mod diagnostics;
mod init;
mod present;
mod resource;
mod scan;
mod search;
mod segments;
mod sort;
mod stub;

use std::sync::Arc;

use z3950_asn1::apdu::*;
use z3950_asn1::codec::encode_value;
use z3950_asn1::oid::{self, SUTRS};
use z3950_asn1::types::{Any, InternationalString, OctetString};

use crate::limits::Limits;
use crate::requests::{
    Sizes, catalogue, elements, now, only, open, present, search_request, shown,
};
use crate::session::Session;

fn search(session: &mut Session, request: SearchRequest) -> SearchResponse {
    match only(now(session.answer(&request.into()))) {
        Apdu::SearchResponse(response) => *response,
        other => panic!("{other:?}"),
    }
}

fn presented(session: &mut Session, request: PresentRequest) -> PresentResponse {
    match only(now(session.answer(&request.into()))) {
        Apdu::PresentResponse(response) => *response,
        other => panic!("{other:?}"),
    }
}

/// Opens a session whose set `default` has records of these sizes.
fn found(sizes: &[usize], limits: Limits) -> Session {
    let mut session = open(Arc::new(Sizes(sizes.to_vec())), limits);
    let response = search(&mut session, search_request("x"));
    assert_eq!(response.result_count, sizes.len() as i64);
    session
}

#[test]
fn small_medium_and_large_sets() {
    // The columns are smallSetUpperBound, largeSetLowerBound, mediumSetPresentNumber and the number of hits, followed by the
    // expected element set and number of records.
    for (small, large, medium, hits, element_set, number) in [
        (1, 2, 0, 1, "s", 1),
        (1, 2, 0, 2, "", 0),
        (0, 1, 0, 1, "", 0),
        (0, 2, 1, 1, "m", 1),
        (5, 10, 3, 4, "s", 4),
        (5, 10, 3, 7, "m", 3),
        (5, 10, 3, 10, "", 0),
        (5, 10, 3, 0, "", 0),
        (5, 10, 9, 7, "m", 7),
        (5, 1, 0, 3, "s", 3),
        (1, 2_000_000_000, 3, 5, "m", 3),
        (0, i64::MAX, i64::MAX, 2, "m", 2),
        (0, 10, -1, 2, "", 0),
        (i64::MIN, i64::MIN, i64::MAX, 2, "", 0),
    ] {
        let mut session = open(Arc::new(Sizes(vec![10; hits])), Limits::default());
        let request = SearchRequest {
            small_set_upper_bound: small,
            large_set_lower_bound: large,
            medium_set_present_number: medium,
            small_set_element_set_names: Some(elements("s")),
            medium_set_element_set_names: Some(elements("m")),
            ..search_request("x")
        };
        let response = search(&mut session, request);
        let records = match number {
            0 => "none".to_owned(),
            _ => vec![format!("usmarc {element_set} 10"); number].join(", "),
        };
        let case = format!("({small},{large},{medium},{hits})");
        assert_eq!(shown(&response.records), records, "{case}");
        assert_eq!(response.result_count, hits as i64, "{case}");
        assert_eq!(response.number_of_records_returned, number as i64, "{case}");
        assert_eq!(
            response.next_result_set_position,
            number as i64 + 1,
            "{case}"
        );
        assert_eq!(
            response.present_status,
            Some(PresentStatus::SUCCESS),
            "{case}"
        );
        assert_eq!(
            (response.search_status, response.result_set_status),
            (true, None),
            "{case}"
        );
    }
}

#[test]
fn failed_searches_have_their_diagnostics() {
    let check = |change: &dyn Fn(&mut SearchRequest), diagnostic: &str| {
        let limits = Limits {
            databases_per_search: 2,
            result_sets: 1,
            ..Limits::default()
        };
        let mut session = open(catalogue(), limits);
        assert!(search(&mut session, search_request("war")).search_status);
        let mut request = search_request("war");
        change(&mut request);
        let response = search(&mut session, request);
        assert_eq!(shown(&response.records), diagnostic);
        let expected = SearchResponse {
            search_status: false,
            result_set_status: Some(ResultSetStatus::NONE),
            records: response.records.clone(),
            ..SearchResponse::default()
        };
        assert_eq!(response, expected);
    };
    let databases = |names: &[&str]| {
        names
            .iter()
            .map(|name| DatabaseName::from(*name))
            .collect::<Vec<_>>()
    };
    check(&|request| request.replace_indicator = false, "21 default");
    check(
        &|request| request.result_set_name = "Default".into(),
        "112 1",
    );
    check(
        &|request| request.database_names = databases(&[]),
        "23 no database is named",
    );
    check(
        &|request| request.database_names = databases(&["cat", "b", "CAT"]),
        "111 2",
    );
    check(
        &|request| request.database_names = databases(&["b", "no\u{1b}such"]),
        "235 no\\x1bsuch",
    );
    check(
        &|request| request.database_names = databases(&["../../etc/passwd"]),
        "235 ../../etc/passwd",
    );
    check(
        &|request| request.query = search_request("@set other").query,
        "30 other",
    );
    let any = || Any::new(&b"\x04\x01x"[..]).expect("a value");
    check(&|request| request.query = Query::Type0(any()), "107 type-0");
    let octets = || OctetString::from("war");
    check(
        &|request| request.query = Query::Type100(octets()),
        "107 type-100",
    );
    check(
        &|request| request.query = Query::Type102(octets()),
        "107 type-102",
    );
    let sql = || External::octet_aligned(SUTRS, octets());
    check(
        &|request| request.query = Query::Type104(sql()),
        "107 type-104 of 1.2.840.10003.5.101",
    );
    let ccl = |text: &'static [u8]| {
        move |request: &mut SearchRequest| request.query = Query::Type2(text.into())
    };
    check(&ccl(b"w\xe4r"), "108 octet 2 of the query is not UTF-8");
    check(
        &ccl(b""),
        "108 a term is missing at character 1 of the query",
    );
    let no_text = || External::single_asn1_type(oid::CQL, any());
    check(
        &|request| request.query = Query::Type104(no_text()),
        "108 the CQL is not an InternationalString",
    );
    let unclosed = || External::octet_aligned(oid::CQL, &b"title=\"war"[..]);
    check(
        &|request| request.query = Query::Type104(unclosed()),
        "108 a quote is not closed at character 7 of the query",
    );
}

#[test]
fn ccl_and_cql_are_translated() {
    let mut session = open(catalogue(), Limits::default());
    let cql = |text: &str| {
        let value = encode_value(&InternationalString::from(text)).expect("a short string");
        let value = Any::new(value).expect("a value");
        Query::Type104(External::single_asn1_type(oid::CQL, value))
    };
    for (query, hits) in [
        (Query::Type2("war".into()), 2),
        (Query::Type2("war and nothing".into()), 0),
        (cql("war"), 2),
        (cql("war or nothing"), 2),
        (
            Query::Type104(External::octet_aligned(oid::CQL, &b"war"[..])),
            2,
        ),
    ] {
        let request = SearchRequest {
            query: query.clone(),
            ..search_request("war")
        };
        let response = search(&mut session, request);
        assert_eq!(shown(&response.records), "none", "{query:?}");
        assert_eq!(response.result_count, hits, "{query:?}");
    }
}

#[test]
fn the_length_of_ccl_and_cql_is_limited() {
    let limits = Limits {
        query_text: 3,
        ..Limits::default()
    };
    let mut session = open(catalogue(), limits);
    let cql = |text: &str| {
        let text = text.as_bytes().to_vec();
        Query::Type104(External::octet_aligned(oid::CQL, text))
    };
    for (query, expected) in [
        (Query::Type2("war".into()), "none"),
        (Query::Type2("emma".into()), "108 longer than 3 octets"),
        (cql("war"), "none"),
        (cql("emma"), "108 longer than 3 octets"),
    ] {
        let request = SearchRequest {
            query,
            ..search_request("war")
        };
        let response = search(&mut session, request);
        assert_eq!(shown(&response.records), expected);
    }
}

#[test]
fn both_forms_of_rpn_are_searched() {
    let mut session = open(catalogue(), Limits::default());
    let Query::Type1(rpn) = search_request("war").query else {
        panic!("type-1")
    };
    let request = SearchRequest {
        query: Query::Type101(rpn),
        ..search_request("war")
    };
    assert_eq!(search(&mut session, request).result_count, 2);
}

#[test]
fn result_sets_are_named_replaced_and_combined() {
    let mut session = open(catalogue(), Limits::default());
    let mut find = |name: &str, pqf: &str| {
        let request = SearchRequest {
            result_set_name: name.into(),
            ..search_request(pqf)
        };
        search(&mut session, request).result_count
    };
    assert_eq!(find("a", "war"), 2);
    assert_eq!(find("A", "emma"), 2);
    assert_eq!(find("b", "@and @set a @set A"), 1);
    // A query may use the result set that it replaces.
    assert_eq!(find("a", "@not @set a @set A"), 1);
    assert_eq!(find("b", "@set a"), 1);
    // A failed search deletes the existing set of the same name.
    assert_eq!(find("a", "@attr 1=9999 x"), 0);
    assert_eq!(find("b", "@set a"), 0);
}

#[test]
fn a_search_succeeds_although_its_records_cannot_be_retrieved() {
    for (syntax, element_set, diagnostic) in [
        (oid::UKMARC, "F", "239 1.2.840.10003.5.11"),
        (SUTRS, "dc", "25 dc"),
        (SUTRS, "zz", "25 zz"),
    ] {
        let mut session = open(catalogue(), Limits::default());
        let request = SearchRequest {
            small_set_upper_bound: 5,
            small_set_element_set_names: Some(elements(element_set)),
            preferred_record_syntax: Some(syntax),
            ..search_request("war")
        };
        let response = search(&mut session, request);
        assert_eq!(shown(&response.records), diagnostic);
        assert_eq!((response.search_status, response.result_count), (true, 2));
        assert_eq!(response.present_status, Some(PresentStatus::FAILURE));
        assert_eq!(response.next_result_set_position, 1);
        only(now(session.answer(&present(1, 2))));
    }
}

#[test]
fn result_sets_are_deleted_by_name_or_all() {
    let request = |delete_function, names: Option<&[&str]>| DeleteResultSetRequest {
        reference_id: None,
        delete_function,
        result_set_list: names
            .map(|names| names.iter().map(|name| ResultSetId::from(*name)).collect()),
        other_info: None,
    };
    for (names, operation, statuses) in [
        (&["a"][..], 0, &[0][..]),
        (&["x"], 1, &[1]),
        (&["a", "b"], 0, &[0, 0]),
        (&["a", "x", "b"], 9, &[0, 1, 0]),
        (&["a", "a"], 9, &[0, 1]),
        (&["A"], 1, &[1]),
        (&[], 0, &[]),
    ] {
        let mut session = open(catalogue(), Limits::default());
        for name in ["a", "b"] {
            let request = SearchRequest {
                result_set_name: name.into(),
                ..search_request("war")
            };
            search(&mut session, request);
        }
        let answer = now(session.answer(&request(DeleteFunction::LIST, Some(names)).into()));
        let Apdu::DeleteResultSetResponse(response) = only(answer) else {
            panic!("a response")
        };
        assert_eq!(response.delete_operation_status.0, operation, "{names:?}");
        let listed = response.delete_list_statuses.unwrap_or_default();
        let listed: Vec<_> = listed.iter().map(|one| one.status.0).collect();
        assert_eq!(listed, statuses, "{names:?}");

        let answer = now(session.answer(&request(DeleteFunction::ALL, None).into()));
        let Apdu::DeleteResultSetResponse(response) = only(answer) else {
            panic!("a response")
        };
        assert_eq!(response.delete_operation_status, DeleteSetStatus::SUCCESS);
        assert_eq!(response.delete_list_statuses, None);
        let request = search_request("@or @set a @set b");
        assert_eq!(shown(&search(&mut session, request).records), "30 a");
    }
}

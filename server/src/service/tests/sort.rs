//! Tests of the input and output result sets of Sort, and of refusals.

use std::sync::Arc;

use z3950_asn1::apdu::*;

use super::super::sort::{OCTETS_A_KEY, OCTETS_A_RECORD};
use super::stub::Stub;
use super::{presented, search};
use crate::limits::Limits;
use crate::requests::{
    now, only, open, open_on, present_request, search_request, shown, sort_request,
};
use crate::session::Session;
use crate::target::Target;

fn sorted(session: &mut Session, request: SortRequest) -> SortResponse {
    match only(now(session.answer(&request.into()))) {
        Apdu::SortResponse(response) => *response,
        other => panic!("{other:?}"),
    }
}

/// Opens a session with the result sets `a` of two records and `b` of five.
fn session(limits: Limits) -> Session {
    let mut session = open(Arc::new(Stub), limits);
    for (name, number) in [("a", "2"), ("b", "5")] {
        let request = SearchRequest {
            result_set_name: name.into(),
            ..search_request(number)
        };
        assert!(search(&mut session, request).search_status);
    }
    session
}

#[test]
fn sets_are_sorted_into_themselves_or_others() {
    for (inputs, output, count, last) in [
        (&["a"][..], "a", 2, "1"),
        (&["b"], "c", 5, "4"),
        (&["a", "b"], "a", 5, "4"),
        (&["b", "b"], "", 5, "4"),
    ] {
        let mut session = session(Limits::default());
        let response = sorted(&mut session, sort_request(inputs, output));
        assert_eq!(response.sort_status, SortStatus::SUCCESS);
        assert_eq!(response.result_set_status, None);
        assert_eq!(response.result_count, Some(count));
        let request = PresentRequest {
            result_set_id: ResultSetId::from(output),
            ..present_request(1, 1)
        };
        let Some(Records::ResponseRecords(records)) = presented(&mut session, request).records.0
        else {
            panic!("records")
        };
        let Record::RetrievalRecord(first) = &records[0].record else {
            panic!("a record")
        };
        assert_eq!(first.encoding, ExternalEncoding::OctetAligned(last.into()));
    }
}

#[test]
fn failed_sorts_have_their_diagnostics() {
    let check = |request: SortRequest, diagnostic: &str, status: SortResultSetStatus| {
        let limits = Limits {
            sort_keys: 2,
            sorted_records: 6,
            result_sets: 2,
            ..Limits::default()
        };
        let mut session = session(limits);
        let response = sorted(&mut session, request);
        let Some([DiagRec::DefaultFormat(one)]) = response.diagnostics.as_deref() else {
            panic!("a diagnostic: {response:?}")
        };
        assert_eq!(
            format!("{} {}", one.condition, one.addinfo.to_string_lossy()),
            diagnostic
        );
        assert_eq!(response.sort_status, SortStatus::FAILURE);
        assert_eq!(response.result_set_status, Some(status));
        assert_eq!(response.result_count, None);
    };
    let unchanged = SortResultSetStatus::UNCHANGED;
    let none = SortResultSetStatus::NONE;
    let keyed = |keys: &[SortKeySpec]| SortRequest {
        sort_sequence: keys.to_vec(),
        ..sort_request(&["a"], "a")
    };
    let key = sort_request(&[], "").sort_sequence[0].clone();
    let field = |name: &str| SortKeySpec {
        sort_element: SortElement::Generic(SortKey::SortField(name.into())),
        ..key.clone()
    };
    check(sort_request(&[], "a"), "208 ", unchanged);
    check(sort_request(&["x"], "a"), "30 x", unchanged);
    check(sort_request(&["a", "x"], "x"), "30 x", none);
    check(sort_request(&["a", "b"], "a"), "230 6", unchanged);
    check(sort_request(&["a"], "c"), "112 2", none);
    check(keyed(&[]), "207 no key is given", unchanged);
    check(
        keyed(&[field("1"), field("2"), field("3")]),
        "211 2",
        unchanged,
    );
    check(keyed(&[field("1"), field("1")]), "212 ", unchanged);
    let relation = SortKeySpec {
        sort_relation: SortRelation(2),
        ..field("1")
    };
    check(keyed(&[relation]), "214 2", unchanged);
    let case = SortKeySpec {
        case_sensitivity: CaseSensitivity(7),
        ..field("1")
    };
    check(keyed(&[case]), "215 7", unchanged);
}

#[test]
fn memory_of_sorts_is_limited() {
    let octets = 5 * (OCTETS_A_RECORD + OCTETS_A_KEY);
    for (most, expected) in [
        (2 * octets, None),
        (
            2 * (octets - 1),
            Some("31 all sessions share at most 639 octets (half of server-octets)"),
        ),
    ] {
        let mut session = session(Limits {
            server_octets: Some(most),
            ..Limits::default()
        });
        for _ in 0..2 {
            let response = sorted(&mut session, sort_request(&["b"], "b"));
            let why = response.diagnostics.as_deref().map(|all| match all {
                [DiagRec::DefaultFormat(one)] => {
                    format!("{} {}", one.condition, one.addinfo.to_string_lossy())
                }
                other => panic!("{other:?}"),
            });
            assert_eq!(why.as_deref(), expected);
        }
    }
}

#[test]
fn sets_of_different_backends_are_not_sorted_together() {
    let target = Target::new(Arc::new(Stub), Limits::default());
    let mut session = open_on(target.with_database("other", Arc::new(Stub)));
    for (name, database) in [("a", "cat"), ("b", "OTHER")] {
        let request = SearchRequest {
            result_set_name: name.into(),
            database_names: vec![DatabaseName::from(database)],
            ..search_request("2")
        };
        assert!(search(&mut session, request).search_status);
    }
    let response = sorted(&mut session, sort_request(&["a", "b"], "a"));
    let Some([DiagRec::DefaultFormat(one)]) = response.diagnostics.as_deref() else {
        panic!("a diagnostic")
    };
    assert_eq!((one.condition, &*one.addinfo.to_string_lossy()), (237, "b"));
    // A search of the databases of two backends is refused too.
    let both = SearchRequest {
        database_names: ["cat", "other"].map(DatabaseName::from).into(),
        ..search_request("2")
    };
    assert_eq!(shown(&search(&mut session, both).records), "23 other");
}

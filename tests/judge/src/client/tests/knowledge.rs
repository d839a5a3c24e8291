//! Tests of the judge's knowledge of a session: result sets, requests in progress and earlier requests.

use z3950_asn1::apdu::{
    DeleteResultSetResponse, DeleteSetStatus, ExtendedServicesRequest, ExtendedServicesResponse,
    ReferenceId, ResultSetStatus, SearchResponse, SortResponse, SortStatus,
};
use z3950_asn1::oid::{DATABASE_UPDATE, PERSISTENT_RESULT_SET};

use super::*;
use crate::client::knowledge::Knowledge;

#[test]
fn the_memory_of_a_session_is_bounded() {
    let limits = JudgeLimits {
        remembered: 2,
        ..JudgeLimits::default()
    };
    let mut known = Knowledge::new(limits.remembered);
    let response = Apdu::from(SearchResponse {
        search_status: true,
        result_count: 5,
        ..SearchResponse::default()
    });
    for number in 0..2 {
        let name = format!("set{number}");
        known.begin(
            &find("war", |search| {
                search.result_set_name = name.as_str().into()
            })
            .into(),
        );
        known.answered(Some(&response));
    }
    assert!(known.may_have(b"set0") && known.may_have(b"set1") && !known.may_have(b"set2"));
    known.begin(&find("war", |search| search.result_set_name = "set2".into()).into());
    known.answered(Some(&response));
    // The third set exceeds the limit and is not remembered. From now on, the judge has to assume that any set may exist.
    assert!(!known.has(b"set2") && known.may_have(b"set2") && known.may_have(b"set9"));
    for number in 0..3 {
        let scan = Apdu::from(scan_request(&format!("term{number}")));
        assert!(!known.asks_again(&scan, None));
        assert_eq!(known.asks_again(&scan, None), number < 2);
        known.begin(&scan);
    }
    assert_eq!(known.pending.len(), 2);
}

/// Each case consists of the answer to a search or another request, whether a Present may then name the set `a`, and the number
/// of records in the set.
#[test]
fn which_result_sets_exist_follows_from_the_answers() {
    let search = || Apdu::from(find("war", |search| search.result_set_name = "a".into()));
    let found = |search_status: bool, status: Option<i64>| {
        Apdu::from(SearchResponse {
            search_status,
            result_count: 5,
            result_set_status: status.map(ResultSetStatus),
            ..SearchResponse::default()
        })
    };
    let sorted = |result_count| {
        Apdu::from(SortResponse {
            result_count,
            ..SortResponse::default()
        })
    };
    let deleted = |status: i64| {
        Apdu::from(DeleteResultSetResponse {
            delete_operation_status: DeleteSetStatus(status),
            ..DeleteResultSetResponse::default()
        })
    };
    let delete_a = || Apdu::from(delete(DeleteFunction::LIST, Some(&["a"])));
    let made = || (search(), found(true, None));
    let task = |package| Apdu::from(ExtendedServicesRequest::create(package, None));
    let done = || Apdu::from(ExtendedServicesResponse::default());
    let from_b = || Apdu::from(sort_request(&["b"], "a"));
    let in_place = || Apdu::from(sort_request(&["a"], "a"));
    let failed = Apdu::from(SortResponse {
        sort_status: SortStatus::FAILURE,
        ..SortResponse::default()
    });
    for (exchanges, exists, hits) in [
        (vec![], false, None),
        (vec![made()], true, Some(5)),
        (vec![made(), (search(), found(false, None))], false, None),
        (vec![(search(), found(false, Some(1)))], true, Some(5)),
        (vec![(search(), found(false, Some(2)))], true, Some(5)),
        (vec![(search(), found(false, Some(3)))], false, None),
        (vec![made(), (delete_a(), deleted(0))], false, None),
        (vec![made(), (delete_a(), deleted(8))], true, Some(5)),
        (
            vec![
                made(),
                (delete(DeleteFunction::ALL, None).into(), deleted(0)),
            ],
            false,
            None,
        ),
        (
            vec![
                made(),
                (delete(DeleteFunction::ALL, None).into(), deleted(7)),
            ],
            true,
            Some(5),
        ),
        (vec![made(), (in_place(), sorted(None))], true, Some(5)),
        (vec![made(), (in_place(), sorted(Some(4)))], true, Some(4)),
        (vec![(from_b(), sorted(None))], true, None),
        (vec![(from_b(), failed)], false, None),
        (vec![(task(PERSISTENT_RESULT_SET), done())], true, None),
        (vec![(task(DATABASE_UPDATE), done())], false, None),
    ] {
        let mut known = Knowledge::new(10);
        for (request, answer) in &exchanges {
            known.begin(request);
            known.answered(Some(answer));
            assert!(known.pending.is_empty());
        }
        assert_eq!(known.may_have(b"a"), exists, "{exchanges:#?}");
        assert_eq!(known.hits(b"a"), hits, "{exchanges:#?}");
    }
}

/// The client may name a result set that a request in progress creates, because the answer may arrive before the server handles
/// the later request.
#[test]
fn a_result_set_that_is_being_made_may_be_named() {
    let mut known = Knowledge::new(10);
    known.begin(&find("war", |_| {}).into());
    assert!(known.may_have(b"default") && !known.has(b"default"));
    // Octets that are not an APDU may be the answer to any request. After them, the judge has to assume that any set may exist.
    known.answered(None);
    assert!(known.pending.is_empty() && known.may_have(b"whatever"));
}

#[test]
fn an_answer_belongs_to_the_request_with_its_reference_id() {
    let mut known = Knowledge::new(10);
    let id = |id: u8| Some(ReferenceId(vec![id].into()));
    for number in [1, 2] {
        let name = format!("set{number}");
        let mut search = Apdu::from(find("war", |search| {
            search.result_set_name = name.as_str().into();
        }));
        search.set_reference_id(id(number));
        known.begin(&search);
    }
    let mut found = Apdu::from(SearchResponse {
        search_status: true,
        ..SearchResponse::default()
    });
    found.set_reference_id(id(2));
    known.answered(Some(&found));
    assert!(known.has(b"set2") && !known.has(b"set1"));
    // A fault may have changed the referenceId. The answer is then assumed to belong to the oldest request.
    found.set_reference_id(id(9));
    known.answered(Some(&found));
    assert!(known.has(b"set1"));
}

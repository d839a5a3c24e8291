//! Tests of resource control: stopped operations, questions to the client, and reports.

use std::pin::pin;
use std::sync::Arc;

use futures_util::FutureExt;
use z3950_asn1::apdu::*;
use z3950_asn1::format::resource_report1::ResourceReport;

use super::stub::Stub;
use crate::diagnostic::{Condition, diagnostic};
use crate::limits::Limits;
use crate::offer::Offer;
use crate::requests::{
    Sizes, init, init_of, now, only, open, open_on, present_request, search, search_request, shown,
};
use crate::session::{Reply, Session};
use crate::target::Target;

fn trigger(action: RequestedAction, reference_id: Option<&str>) -> Apdu {
    TriggerResourceControlRequest {
        reference_id: reference_id.map(|id| ReferenceId(id.into())),
        requested_action: action,
        pref_resource_report_format: None,
        result_set_wanted: None,
        other_info: None,
    }
    .into()
}

/// Returns the answer to a request that the client cancels while it is in progress.
pub(super) fn cancelled(session: &mut Session, request: &Apdu) -> Reply {
    let interrupt = session.interrupt();
    let mut answer = pin!(session.answer(request));
    assert!(answer.as_mut().now_or_never().is_none(), "it waits");
    let other = trigger(RequestedAction::CANCEL, Some("another"));
    assert_eq!(interrupt.take(&other), Some(vec![]));
    assert!(answer.as_mut().now_or_never().is_none(), "it goes on");
    assert_eq!(interrupt.take(&init()), None, "an Init has to wait");
    let cancel = trigger(RequestedAction::CANCEL, None);
    assert_eq!(interrupt.take(&cancel), Some(vec![]));
    now(answer)
}

#[test]
fn searches_are_stopped() {
    let mut session = open(Arc::new(Stub), Limits::default());
    let Apdu::SearchResponse(response) = only(cancelled(&mut session, &search("never"))) else {
        panic!("a SearchResponse")
    };
    assert_eq!(shown(&response.records), "105 ");
    assert_eq!(response.result_set_status, Some(ResultSetStatus::NONE));
    // The session can still be used after a search was stopped.
    let Apdu::SearchResponse(response) = only(now(session.answer(&search("5")))) else {
        panic!("a SearchResponse")
    };
    assert_eq!(response.result_count, 5);
    assert_eq!(
        session
            .interrupt()
            .take(&trigger(RequestedAction::CANCEL, None)),
        None
    );
}

#[test]
fn a_stopped_present_returns_the_records_so_far() {
    for (start, status, records) in [
        (1, PresentStatus::PARTIAL_3, "sutrs 0 1, sutrs 1 1"),
        (3, PresentStatus::FAILURE, "105 "),
    ] {
        let mut session = open(Arc::new(Stub), Limits::default());
        only(now(session.answer(&search("5"))));
        let request = present_request(start, 3).into();
        let Apdu::PresentResponse(response) = only(cancelled(&mut session, &request)) else {
            panic!("a PresentResponse")
        };
        assert_eq!(response.present_status, status);
        assert_eq!(shown(&response.records), records);
    }
}

#[test]
fn the_server_may_stop_an_operation() {
    let request = present_request(1, 3).into();
    for (request, expected) in [
        (search("never"), "31 time"),
        (request, "sutrs 0 1, sutrs 1 1"),
    ] {
        let mut session = open(Arc::new(Stub), Limits::default());
        only(now(session.answer(&search("5"))));
        let interrupt = session.interrupt();
        let mut answer = pin!(session.answer(&request));
        assert!(answer.as_mut().now_or_never().is_none(), "it waits");
        interrupt.stop(None, diagnostic(Condition::RESOURCES_EXHAUSTED, "time"));
        let records = match only(now(answer)) {
            Apdu::SearchResponse(response) => response.records,
            Apdu::PresentResponse(response) => {
                assert_eq!(response.present_status, PresentStatus::PARTIAL_4);
                response.records
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(shown(&records), expected);
    }
}

#[test]
fn an_answer_that_waits_for_permission_counts_twice() {
    let granted = |session_octets| {
        let limits = Limits {
            session_octets,
            ..Limits::default()
        };
        let offer = Offer {
            ask_above: Some(0),
            ..Offer::default()
        };
        let backend = Arc::new(Sizes(vec![10_000]));
        let mut session = open_on(Target::new(backend, limits).with_offer(offer));
        let mut request = search_request("x");
        request.small_set_upper_bound = 1;
        let mut answer = only(now(session.answer(&request.into())));
        if let Apdu::ResourceControlRequest(_) = answer {
            let leave = ResourceControlResponse {
                reference_id: None,
                continue_flag: true,
                result_set_wanted: None,
                other_info: None,
            };
            answer = only(now(session.answer(&leave.into())));
        }
        let Apdu::SearchResponse(response) = answer else {
            panic!("a SearchResponse")
        };
        shown(&response.records)
    };
    let fits = |octets: &usize| granted(*octets) == "usmarc F 10000";
    let least = (0..).step_by(100).find(fits).expect("room");
    assert!((20_000..21_000).contains(&least), "{least}");
    let refused = granted(least - 100);
    assert!(refused.starts_with("31 "), "{refused}");
}

#[test]
fn a_trigger_gets_a_report_on_the_operation_in_progress() {
    let mut session = open(Arc::new(Stub), Limits::default());
    let interrupt = session.interrupt();
    let request = search("never");
    let mut answer = pin!(session.answer(&request));
    assert!(answer.as_mut().now_or_never().is_none(), "it waits");
    for action in [
        RequestedAction::RESOURCE_REPORT,
        RequestedAction::RESOURCE_CONTROL,
    ] {
        let sent = interrupt.take(&trigger(action, None)).expect("taken");
        let [Apdu::ResourceControlRequest(report)] = &*sent else {
            panic!("{sent:?}")
        };
        assert!(!report.response_required);
        assert_eq!(report.triggered_request_flag, Some(true));
    }
}

/// Opens a session in which the server asks the client whether to continue before it answers a search with more than four hits.
fn asking() -> Session {
    let offer = Offer {
        ask_above: Some(4),
        ..Offer::default()
    };
    open_on(Target::new(Arc::new(Stub), Limits::default()).with_offer(offer))
}

#[test]
fn large_results_wait_for_permission() {
    for (continue_flag, wanted, status, records, kept) in [
        (true, None, None, "none", true),
        (
            false,
            Some(true),
            Some(ResultSetStatus::SUBSET),
            "105 ",
            true,
        ),
        (
            false,
            Some(false),
            Some(ResultSetStatus::NONE),
            "105 ",
            false,
        ),
        (false, None, Some(ResultSetStatus::NONE), "105 ", false),
    ] {
        let mut session = asking();
        let request = SearchRequest {
            reference_id: Some(ReferenceId("ref".into())),
            ..search_request("5")
        };
        let Apdu::ResourceControlRequest(asked) = only(now(session.answer(&request.into()))) else {
            panic!("a ResourceControlRequest")
        };
        assert!(asked.response_required);
        assert_eq!(asked.suspended_flag, Some(true));
        let report = asked.resource_report.expect("a report");
        let report = ResourceReport::from_external(&report).expect("resource-1");
        assert_eq!(report.estimates[0].value, 5);
        let leave = ResourceControlResponse {
            reference_id: None,
            continue_flag,
            result_set_wanted: wanted,
            other_info: None,
        };
        let Apdu::SearchResponse(response) = only(now(session.answer(&leave.into()))) else {
            panic!("a SearchResponse")
        };
        assert_eq!(response.reference_id, Some(ReferenceId("ref".into())));
        assert_eq!(response.result_set_status, status);
        assert_eq!(shown(&response.records), records);
        let present = super::presented(&mut session, present_request(1, 1));
        let expected = if kept { "sutrs 0 1" } else { "30 default" };
        assert_eq!(shown(&present.records), expected);
    }
    // Smaller results do not wait for permission.
    only(now(asking().answer(&search("4"))));
}

#[test]
fn several_answers_wait_with_concurrent_operations() {
    let leave = |reference: &str| ResourceControlResponse {
        reference_id: Some(ReferenceId(reference.into())),
        continue_flag: true,
        result_set_wanted: None,
        other_info: None,
    };
    for (agreed, leaves, answered) in [
        (Options::CONCURRENT_OPERATIONS, &["1", "3", "2"][..], "132"),
        // If too many answers are held back, the oldest is dropped.
        (Options::CONCURRENT_OPERATIONS, &["4", "2", "3"], "423"),
        // Without concurrent operations, only one request may wait for permission. The client's reply then applies to the last
        // request, whatever the referenceId of the reply is.
        (Options::default(), &["1"], "3"),
    ] {
        let offer = Offer {
            ask_above: Some(4),
            ..Offer::default()
        };
        let limits = Limits {
            concurrent_operations: 3,
            ..Limits::default()
        };
        let target = Target::new(Arc::new(Stub), limits).with_offer(offer);
        let mut session = Session::new(Arc::new(target));
        let mut init = init_of(ProtocolVersion::UP_TO_3);
        init.options = init.options | agreed;
        only(now(session.answer(&init.into())));
        let last = if leaves.contains(&"4") { 4 } else { 3 };
        for number in 1..=last {
            let request = SearchRequest {
                reference_id: Some(ReferenceId(number.to_string().into_bytes().into())),
                ..search_request("5")
            };
            let asked = only(now(session.answer(&request.into())));
            assert_eq!(asked.name(), "resourceControlRequest");
        }
        let answered_now = leaves.iter().map(|reference| {
            let answer = only(now(session.answer(&leave(reference).into())));
            assert_eq!(answer.name(), "searchResponse");
            let reference = answer.reference_id().expect("a referenceId");
            String::from_utf8(reference.0.to_vec()).expect("text")
        });
        assert_eq!(answered_now.collect::<String>(), answered);
    }
}

#[test]
fn reports_count_the_work_of_the_session() {
    let mut session = open(Arc::new(Stub), Limits::default());
    only(now(session.answer(&search("2"))));
    only(now(session.answer(&search("5"))));
    super::presented(&mut session, present_request(1, 2));
    for (op_id, status, words) in [
        (
            None,
            ResourceReportStatus::SUCCESS,
            Some("2 searches, 2 records sent"),
        ),
        (
            Some(ReferenceId("x".into())),
            ResourceReportStatus::FAILURE_1,
            None,
        ),
    ] {
        let request = ResourceReportRequest {
            reference_id: None,
            op_id,
            pref_resource_report_format: None,
            other_info: None,
        };
        let Apdu::ResourceReportResponse(response) = only(now(session.answer(&request.into())))
        else {
            panic!("a ResourceReportResponse")
        };
        assert_eq!(response.resource_report_status, status);
        let report = response.resource_report.map(|report| {
            let report = ResourceReport::from_external(&report).expect("resource-1");
            assert_eq!(report.estimates[0].value, 5);
            report.message.to_string_lossy().into_owned()
        });
        assert_eq!(report.as_deref(), words);
    }
}

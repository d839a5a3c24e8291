//! Tests of a session that receives hand-made APDUs of all 25 kinds, and thousands of mutated ones.

use std::sync::Arc;

use z3950_asn1::apdu::*;
use z3950_asn1::codec::encode;
use z3950_asn1::oid;
use z3950_asn1::types::Bits;

use super::*;
use crate::limits::Limits;
use crate::requests::{
    catalogue, init, init_of, now, only, open, present, scan_request, search, sort_request,
};

fn session() -> Session {
    Session::new(Arc::new(Target::new(catalogue(), Limits::default())))
}

fn reference_id() -> Option<ReferenceId> {
    Some(ReferenceId(b"\0\xffref"[..].into()))
}

#[test]
fn init_agrees_on_a_version() {
    let bits = |positions: &[u8]| ProtocolVersion(Bits::of(positions));
    for (offered, result) in [
        (&[0, 1, 2][..], true),
        (&[0, 1], true),
        (&[0], true),
        (&[2], true),
        (&[0, 1, 2, 3, 9], true),
        (&[3], false),
        (&[], false),
    ] {
        let mut session = session();
        let Apdu::InitializeResponse(response) =
            only(now(session.answer(&init_of(bits(offered)).into())))
        else {
            panic!("an InitializeResponse")
        };
        assert_eq!(
            (response.result, session.is_open()),
            (result, result),
            "{offered:?}"
        );
        let highest = offered
            .iter()
            .copied()
            .filter(|bit| *bit < 3)
            .max()
            .map(|bit| bit + 1);
        assert_eq!(response.protocol_version.highest(), highest);
    }
}

#[test]
fn init_agrees_on_options_and_sizes() {
    for (offered, preferred, exceptional) in [
        ((1 << 26, 1 << 26), 1_048_576, 8_388_608),
        ((0, 0), 1_048_576, 8_388_608),
        ((-1, i64::MIN), 1_048_576, 8_388_608),
        ((5_000, 20_000), 5_000, 20_000),
        ((5_000, 100), 5_000, 5_000),
        ((i64::MAX, 1), 1_048_576, 1_048_576),
    ] {
        let request = InitializeRequest {
            preferred_message_size: offered.0,
            exceptional_record_size: offered.1,
            ..init_of(ProtocolVersion::UP_TO_3)
        };
        let Apdu::InitializeResponse(response) = only(now(session().answer(&request.into())))
        else {
            panic!("an InitializeResponse")
        };
        let sizes = (
            response.preferred_message_size,
            response.exceptional_record_size,
        );
        assert_eq!(sizes, (preferred, exceptional), "{offered:?}");
        let options: Vec<_> = response.options.names().collect();
        assert_eq!(
            options,
            [
                "search",
                "present",
                "delSet",
                "resourceCtrl",
                "accessCtrl",
                "scan",
                "sort",
                "namedResultSets",
                "resultCount",
            ]
        );
        assert_eq!(response.implementation_name, Some("z3950d".into()));
        assert_eq!(response.implementation_id, None);
    }
}

#[test]
fn before_init_errors_end_the_connection_without_close() {
    for request in [
        search("war"),
        present(1, 1),
        Close::new(CloseReason::FINISHED, None).into(),
    ] {
        let mut session = session();
        assert_eq!(session.max_apdu_size(), 65_536);
        assert_eq!(
            now(session.answer(&request)),
            Reply::hang_up(),
            "{}",
            request.name()
        );
        assert_eq!(
            now(session.answer(&init())),
            Reply::hang_up(),
            "nothing follows"
        );
    }
    assert_eq!(now(session().receive(b"GET / HTTP/1.1")), Reply::hang_up());
}

/// Returns a SearchRequest with the referenceId `r` whose query has this many operators, nested in each other and encoded with
/// indefinite length.
fn nested_search(operators: usize) -> Vec<u8> {
    let operand: &[u8] = &[
        0xa0, 0x80, 0xbf, 0x66, 0x80, 0xbf, 0x2c, 0, 0x9f, 0x2d, 1, b'x', 0, 0, 0, 0,
    ];
    let rest: &[&[u8]] = &[operand, &[0xbf, 0x2e, 2, 0x80, 0, 0, 0]];
    [
        &[
            0xb6, 0x80, 0x82, 1, b'r', 0x8d, 1, 0, 0x8e, 1, 1, 0x8f, 1, 0,
        ][..],
        &[0x90, 1, 0xff, 0x91, 1, b'1', 0xb2, 6, 0x9f, 0x69, 3],
        b"cat",
        &[
            0xb5, 0x80, 0xa1, 0x80, 6, 7, 0x2a, 0x86, 0x48, 0xce, 0x13, 3, 1,
        ],
        &[0xa1, 0x80].repeat(operators),
        operand,
        &rest.concat().repeat(operators),
        &[0; 6],
    ]
    .concat()
}

#[test]
fn audit_a_query_that_is_too_deep_is_refused_and_the_session_continues() {
    for operators in [1001, 5000, 30_000] {
        let octets = nested_search(operators);
        assert_eq!(now(session().receive(&octets)), Reply::hang_up());
        let mut session = open(catalogue(), Limits::default());
        let Apdu::SearchResponse(response) = only(now(session.receive(&octets))) else {
            panic!("a SearchResponse")
        };
        assert_eq!(response.reference_id, Some(ReferenceId(b"r"[..].into())));
        assert!(!response.search_status);
        let why = crate::requests::shown(&response.records);
        assert_eq!(why, "31 a query of more than 1000 levels");
        assert!(session.is_open());
        let next = only(now(session.receive(&nested_search(3))));
        assert!(matches!(next, Apdu::SearchResponse(response) if response.search_status));
    }
}

#[test]
fn init_can_be_repeated_after_a_refusal() {
    let mut session = session();
    let refused = only(now(
        session.answer(&init_of(ProtocolVersion::default()).into())
    ));
    assert!(matches!(refused, Apdu::InitializeResponse(response) if !response.result));
    only(now(session.answer(&init())));
    assert!(session.is_open());
    assert_eq!(session.max_apdu_size(), 1_048_576);
}

#[test]
fn another_init_restarts_the_session() {
    let mut session = open(catalogue(), Limits::default());
    only(now(session.answer(&search("war"))));
    only(now(session.answer(&init())));
    let Apdu::PresentResponse(response) = only(now(session.answer(&present(1, 1)))) else {
        panic!("a PresentResponse")
    };
    assert_eq!(crate::requests::shown(&response.records), "30 default");
}

/// Returns the answer to a request in an open version 3 session, and whether the connection ends. The answer is the APDU's name,
/// or the message of a Close.
fn answer_to(request: Apdu) -> (String, bool) {
    let mut session = open(catalogue(), Limits::default());
    let mut request = request;
    request.set_reference_id(reference_id());
    let reply = now(session.answer(&request));
    let names = reply.apdus.iter().map(|answer| {
        assert_eq!(
            answer.reference_id(),
            reference_id().as_ref(),
            "{}",
            answer.name()
        );
        let Apdu::Close(close) = answer else {
            return answer.name().to_owned();
        };
        let words = close.diagnostic_information.as_ref();
        let words = words
            .map(|words| words.to_string_lossy())
            .unwrap_or_default();
        format!("{}: {words}", close.close_reason)
    });
    (names.collect::<Vec<_>>().join(" "), reply.hang_up)
}

#[test]
fn every_apdu_has_its_answer() {
    let check = |request: Apdu, answer: &str| {
        let ends = answer.contains(": ");
        assert_eq!(answer_to(request), (answer.to_owned(), ends));
    };
    check(init(), "initResponse");
    check(search("war"), "searchResponse");
    check(present(1, 1), "presentResponse");
    let delete = |delete_function| DeleteResultSetRequest {
        reference_id: None,
        delete_function,
        result_set_list: None,
        other_info: None,
    };
    check(
        delete(DeleteFunction::ALL).into(),
        "deleteResultSetResponse",
    );
    check(
        delete(DeleteFunction(7)).into(),
        "protocolError: deleteResultSetRequest with a deleteFunction neither list nor all",
    );
    let start = AttributesPlusTerm {
        attributes: vec![],
        term: Term::General("war".into()),
    };
    let scan = ScanRequest {
        reference_id: None,
        database_names: vec![DatabaseName::from("cat")],
        attribute_set: None,
        term_list_and_start_point: start,
        step_size: None,
        number_of_terms_requested: 20,
        preferred_position_in_response: None,
        other_info: None,
    };
    check(scan.into(), "scanResponse");
    let sort = SortRequest {
        reference_id: None,
        input_result_set_names: vec!["default".into()],
        sorted_result_set_name: "default".into(),
        sort_sequence: vec![],
        other_info: None,
    };
    check(sort.into(), "sortResponse");
    let duplicates = DuplicateDetectionRequest {
        reference_id: None,
        input_result_set_ids: vec!["default".into()],
        output_result_set_name: "default".into(),
        applicable_portion_of_record: None,
        duplicate_detection_criteria: None,
        clustering: None,
        retention_criteria: vec![],
        sort_criteria: None,
        other_info: None,
    };
    check(duplicates.into(), "duplicateDetectionResponse");
    let extended = ExtendedServicesRequest::create(oid::ITEM_ORDER, None);
    check(extended.into(), "extendedServicesResponse");
    let report = ResourceReportRequest {
        reference_id: None,
        op_id: None,
        pref_resource_report_format: None,
        other_info: None,
    };
    check(report.into(), "resourceReportResponse");
    let trigger = TriggerResourceControlRequest {
        reference_id: None,
        requested_action: RequestedAction::CANCEL,
        pref_resource_report_format: None,
        result_set_wanted: None,
        other_info: None,
    };
    check(trigger.into(), "");
    check(
        Close::new(CloseReason(4_000_000), None).into(),
        "finished: ",
    );
    check(
        SearchResponse::default().into(),
        "protocolError: searchResponse from a client",
    );
    let segment = Segment {
        reference_id: None,
        number_of_records_returned: 0,
        segment_records: vec![],
        other_info: None,
    };
    check(
        segment.into(),
        "protocolError: segmentRequest from a client",
    );
    let unasked = ResourceControlResponse {
        reference_id: None,
        continue_flag: true,
        result_set_wanted: None,
        other_info: None,
    };
    check(
        unasked.into(),
        "protocolError: resourceControlResponse without a request from the server",
    );
}

#[test]
fn only_version_3_gets_a_close_with_the_reason() {
    for (versions, told) in [
        (ProtocolVersion::UP_TO_3, true),
        (ProtocolVersion::UP_TO_2, false),
        (ProtocolVersion::ONLY_1, false),
    ] {
        let opened = || {
            let mut session = session();
            only(now(session.answer(&init_of(versions).into())));
            session
        };
        let malformed = now(opened().receive(&[0xb8, 3, 0x9e, 1, 9]));
        let shutdown = opened().end(CloseReason::SHUTDOWN, None);
        for (reply, reason, words) in [
            (
                malformed,
                CloseReason::PROTOCOL_ERROR,
                Some("presentRequest, resultSetId: element [31] expected, [30] found at octet 2"),
            ),
            (shutdown, CloseReason::SHUTDOWN, None),
        ] {
            let expected = told.then(|| Close::new(reason, words).into());
            assert_eq!(
                reply,
                Reply {
                    apdus: expected.into_iter().collect(),
                    hang_up: true
                }
            );
        }
        // A Close from the client is answered in any version.
        let closed = now(opened().answer(&Close::new(CloseReason::FINISHED, None).into()));
        let finished = Close::new(CloseReason::FINISHED, None).into();
        assert_eq!(
            closed,
            Reply {
                apdus: vec![finished],
                hang_up: true
            }
        );
    }
}

#[test]
fn idle_sessions_are_small() {
    let association = std::mem::size_of::<Association>();
    let session = std::mem::size_of::<Session>();
    assert!(
        session <= 80 && association <= 512,
        "{session} and {association} octets"
    );
    let mut session = open(catalogue(), Limits::default());
    let request = search("war");
    let answer = std::mem::size_of_val(&session.answer(&request));
    assert!(answer <= 512, "{answer} octets");
}

#[test]
fn nothing_is_answered_after_the_end() {
    let mut session = open(catalogue(), Limits::default());
    session.end(CloseReason::LACK_OF_ACTIVITY, None);
    assert!(!session.is_open());
    for request in [
        init(),
        search("war"),
        Close::new(CloseReason::FINISHED, None).into(),
    ] {
        assert_eq!(now(session.answer(&request)), Reply::hang_up());
    }
    assert_eq!(now(session.receive(b"\xff")), Reply::hang_up());
}

/// A SplitMix64 random number generator. The numbers are the same in each run, so that a failure can be repeated.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

fn mutate(octets: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(4) {
        let at = random.below(octets.len());
        match random.below(5) {
            0 => octets[at] ^= 1 << random.below(8),
            1 => octets[at] = random.next() as u8,
            2 => octets.insert(at, random.next() as u8),
            3 if octets.len() > 1 => drop(octets.remove(at)),
            _ => octets.truncate(at.max(1)),
        }
    }
}

#[test]
fn mutated_apdus_are_answered_or_end_the_session() {
    const MUTATIONS: usize = 50_000;
    let times = std::env::var("Z3950_MUTATIONS")
        .ok()
        .and_then(|times| times.parse().ok());
    let requests: Vec<Vec<u8>> = [
        init(),
        search("@and @attr 1=4 @attr 5=1 war @or @attr 1=1032 @attr 4=104 id7 @set default"),
        search("@prox 0 1 0 2 k 2 @term numeric 7 @attr 7=7 @term string peace"),
        present(1, 2),
        scan_request("war").into(),
        sort_request(&["default"], "default").into(),
        Close::new(CloseReason::FINISHED, Some("done")).into(),
    ]
    .iter()
    .map(|request| encode(request).expect("encodes"))
    .collect();
    let backend = catalogue();
    let mut random = Random(2056);
    let mut session = open(Arc::clone(&backend), Limits::default());
    let mut answered = 0;
    for _ in 0..MUTATIONS * times.unwrap_or(1) {
        let mut octets = requests[random.below(requests.len())].clone();
        mutate(&mut octets, &mut random);
        let reply = now(session.receive(&octets));
        for answer in &reply.apdus {
            encode(answer).expect("an answer that can be sent");
            answered += 1;
        }
        assert!(!(reply.hang_up && session.is_open()), "{octets:x?}");
        if reply.hang_up || random.below(100) == 0 {
            session = open(Arc::clone(&backend), Limits::default());
        }
    }
    assert!(
        answered > MUTATIONS / 2,
        "most mutations get to an answer: {answered}"
    );
}

#[tokio::test(start_paused = true)]
async fn few_large_responses_are_made_at_once() {
    use crate::requests::{Sizes, open, present_request};
    use std::time::Duration;
    use tokio::time::timeout;

    let limits = Limits {
        large_answers: 2,
        ..Limits::default()
    };
    let mut session = open(Arc::new(Sizes(vec![10; 65])), limits);
    let target = Arc::clone(&session.target);
    session.answer(&search("x")).await;
    let first = target.packers.acquire().await;
    let large = present_request(1, 65).into();
    let second = session.answer(&large).await;
    assert_eq!(second.octets(), 650);
    let others = (first, target.packers.acquire().await);
    let small = session.answer(&present_request(1, 64).into()).await;
    assert_eq!(small.octets(), 640);
    let time = Duration::from_secs(1);
    assert!(timeout(time, session.answer(&large)).await.is_err());
    drop(others);
    let answered = timeout(time, session.answer(&large)).await;
    assert_eq!(answered.map(|reply| reply.octets()), Ok(650));
}

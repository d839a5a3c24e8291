//! Conversations with a client, each of which breaks one rule.

use z3950_asn1::apdu::{
    AccessControlResponse, AttributeElement, CloseReason, DatabaseName, ExtendedServicesRequest,
    Query, Range, ReferenceId, RequestedAction, ResourceControlResponse, SearchResponse,
    SortRelation, TriggerResourceControlRequest, WaitAction,
};
use z3950_asn1::oid::{BIB_1, DATABASE_UPDATE};
use z3950_asn1::types::Bits;

use super::*;
use crate::client::conversation::Conversation;
use z3950_server::Peer;

fn bare_init(change: impl FnOnce(&mut InitializeRequest)) -> Vec<Step> {
    let mut init = good_init(ProtocolVersion::UP_TO_3, Options::default());
    change(&mut init);
    vec![ask(init)]
}

fn then(request: impl Into<Apdu>) -> Vec<Step> {
    vec![open(), ask(request)]
}

fn search(change: impl FnOnce(&mut SearchRequest)) -> Vec<Step> {
    then(find("@attr 1=4 war", change))
}

/// Returns the steps of a client that searches, with hits in the set `default`, and then sends a request.
fn found(request: impl Into<Apdu>) -> Vec<Step> {
    vec![open(), ask(find("@attr 1=4 war", |_| {})), ask(request)]
}

fn trigger(action: RequestedAction) -> TriggerResourceControlRequest {
    TriggerResourceControlRequest {
        requested_action: action,
        ..TriggerResourceControlRequest::cancel()
    }
}

/// Replaces the first occurrence of `from` with `to`.
fn replaced(octets: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let at = octets.windows(from.len()).position(|part| part == from);
    let at = at.expect("present");
    [&octets[..at], to, &octets[at + from.len()..]].concat()
}

/// Returns conversations with the name of the rule that each of them breaks.
#[expect(clippy::too_many_lines, reason = "a table")]
fn breaches() -> Vec<(&'static str, Vec<Step>)> {
    let mut overlapping = present_request(1, 1);
    overlapping.additional_ranges = Some(vec![Range {
        starting_position: 1,
        number_of_records: 1,
    }]);
    let mut segments = present_request(1, 1);
    segments.max_segment_size = Some(500);
    let mut scan_nowhere = scan_request("a");
    scan_nowhere.database_names = Vec::new();
    let mut scan_nothing = scan_request("a");
    scan_nothing.number_of_terms_requested = 0;
    let mut scan_back = scan_request("a");
    scan_back.step_size = Some(-1);
    let mut scan_far = scan_request("a");
    scan_far.preferred_position_in_response = Some(5);
    let mut sort_oddly = sort_request(&["default"], "default");
    sort_oddly.sort_sequence[0].sort_relation = SortRelation(2);
    let mut task = ExtendedServicesRequest::create(DATABASE_UPDATE, None);
    task.wait_action = WaitAction(7);
    let mut twice = find("@attr 1=4 war", |_| {});
    if let Query::Type1(query) = &mut twice.query {
        let mut terms = query.rpn.terms_mut();
        let attributes = terms.next().map(|term| &mut term.attributes);
        let attributes = attributes.expect("a term");
        attributes.push(AttributeElement::numeric(1, 5));
    }
    let two = [
        octets(find("@attr 1=4 war", |_| {})),
        octets(find("@attr 1=4 emma", |_| {})),
    ];
    let init_octets = octets(good_init(ProtocolVersion::UP_TO_3, Options::default()));
    let access = AccessControlResponse {
        reference_id: None,
        security_challenge_response: None.into(),
        diagnostic: None,
        other_info: None,
    };
    let resource = ResourceControlResponse {
        reference_id: None,
        continue_flag: true,
        result_set_wanted: None,
        other_info: None,
    };
    let services = || init(Options::TRIGGER_RESOURCE_CONTROL | Options::EXTENDED_SERVICES);
    let version_2 = || ask(good_init(ProtocolVersion::UP_TO_2, Options::default()));
    vec![
        ("apdu.readable", vec![open(), Step::Ask(vec![0xff; 8])]),
        ("apdu.readable", vec![open(), Step::Ask(vec![0xb6, 0])]),
        (
            "apdu.readable",
            vec![open(), Step::Send(two[0][..20].to_vec())],
        ),
        ("apdu.known", vec![open(), Step::Ask(vec![0xbf, 0x3c, 0])]),
        ("apdu.of-client", then(SearchResponse::default())),
        (
            "apdu.size",
            search(|search| {
                search.database_names = vec!["d".repeat(5_000).as_str().into()];
            }),
        ),
        ("init.first", vec![ask(find("war", |_| {}))]),
        (
            "init.alone",
            vec![
                Step::Send([init_octets.clone(), two[0].clone()].concat()),
                Step::Hear,
            ],
        ),
        ("init.once", vec![open(), open()]),
        (
            "init.version",
            bare_init(|init| init.protocol_version = ProtocolVersion(Bits::of(&[5]))),
        ),
        (
            "init.version.lower",
            bare_init(|init| init.protocol_version = ProtocolVersion(Bits::of(&[2]))),
        ),
        (
            "init.options.known",
            bare_init(|init| init.options = Options(Bits::of(&[0, 1, 9]))),
        ),
        (
            "init.options.known",
            bare_init(|init| init.options = Options(Bits::of(&[0, 1, 22]))),
        ),
        (
            "init.bit-strings",
            vec![Step::Ask({
                let octets = replaced(&init_octets, &[0x83, 2, 5, 0xe0], &[0x83, 0]);
                replaced(&octets, &init_octets[..2], &[0xb4, init_octets[1] - 2])
            })],
        ),
        (
            "init.sizes",
            bare_init(|init| init.preferred_message_size = -1),
        ),
        (
            "init.sizes.order",
            bare_init(|init| init.exceptional_record_size = 4_999),
        ),
        (
            "init.names",
            bare_init(|init| init.implementation_name = None),
        ),
        (
            "options.granted",
            vec![
                bare_init(|init| init.options = Options::SEARCH)
                    .pop()
                    .expect("a step"),
                ask(scan_request("a")),
            ],
        ),
        (
            "options.named-sets",
            vec![
                bare_init(|init| init.options = Options::SEARCH)
                    .pop()
                    .expect("a step"),
                ask(find("war", |search| search.result_set_name = "mine".into())),
            ],
        ),
        (
            "version.values",
            vec![
                version_2(),
                ask(find("war", |search| {
                    search.query = Query::Type1("@term numeric 5".parse().expect("PQF"));
                })),
            ],
        ),
        (
            "version.values",
            vec![version_2(), ask(overlapping.clone())],
        ),
        (
            "operations.serial",
            vec![open(), Step::Send(two.concat()), Step::Hear, Step::Hear],
        ),
        (
            "oid.class",
            search(|search| search.preferred_record_syntax = Some(BIB_1)),
        ),
        (
            "search.databases",
            search(|search| search.database_names = Vec::new()),
        ),
        (
            "search.databases.once",
            search(|search| {
                search.database_names = vec![DatabaseName::from("cat"), DatabaseName::from("CAT")];
            }),
        ),
        (
            "search.bounds",
            search(|search| search.medium_set_present_number = -1),
        ),
        (
            "search.bounds.order",
            search(|search| search.small_set_upper_bound = 1),
        ),
        (
            "search.replace",
            found(find("emma", |search| search.replace_indicator = false)),
        ),
        ("search.again", found(find("@attr 1=4 war", |_| {}))),
        (
            "search.composition",
            search(|search| search.preferred_record_syntax = Some(USMARC)),
        ),
        ("query.attribute.type", then(find("@attr 7=1 war", |_| {}))),
        ("query.attribute.once", then(twice)),
        ("query.term", then(find("@attr 1=4 \"\"", |_| {}))),
        ("query.result-set", then(find("@set none", |_| {}))),
        (
            "records.syntax",
            search(|search| {
                search.small_set_upper_bound = 1;
                search.large_set_lower_bound = 2;
            }),
        ),
        ("records.syntax", found(present_request(1, 1))),
        ("present.set", then(present_request(1, 1))),
        ("present.start", found(present_request(0, 1))),
        ("present.number", found(present_request(1, 0))),
        ("present.within", found(present_request(2, 3))),
        ("present.ranges", found(overlapping)),
        ("present.segments", found(segments)),
        (
            "present.again",
            vec![
                open(),
                ask(find("@attr 1=4 war", |_| {})),
                ask(present_request(1, 1)),
                ask(present_request(1, 1)),
            ],
        ),
        ("scan.databases", then(scan_nowhere)),
        ("scan.number", then(scan_nothing)),
        ("scan.step", then(scan_back)),
        ("scan.position", then(scan_far)),
        (
            "scan.again",
            vec![open(), ask(scan_request("a")), ask(scan_request("a"))],
        ),
        ("sort.input", then(sort_request(&["none"], "default"))),
        ("sort.input", then(sort_request(&[], "default"))),
        ("sort.keys", found(sort_oddly)),
        ("delete.function", then(delete(DeleteFunction(2), None))),
        ("delete.list", then(delete(DeleteFunction::LIST, None))),
        (
            "delete.list",
            then(delete(DeleteFunction::ALL, Some(&["default"]))),
        ),
        (
            "delete.known",
            then(delete(DeleteFunction::LIST, Some(&["none"]))),
        ),
        ("access.asked", then(access)),
        ("resource.asked", vec![open(), Step::Send(octets(resource))]),
        (
            "trigger.action",
            vec![services(), Step::Send(octets(trigger(RequestedAction(4))))],
        ),
        (
            "trigger.busy",
            vec![
                services(),
                Step::Send(octets(trigger(RequestedAction::CANCEL))),
            ],
        ),
        ("extended.values", vec![services(), ask(task.clone())]),
        ("extended.parameters", vec![services(), ask(task)]),
        ("close.reason", then(Close::new(CloseReason(10), None))),
        ("close.version", vec![version_2(), close()]),
        (
            "close.last",
            vec![
                open(),
                Step::Send([octets(Close::default()), two[0].clone()].concat()),
                Step::Hear,
            ],
        ),
        (
            "close.last",
            vec![
                open(),
                Step::Send([octets(Close::default()), two[0][..9].to_vec()].concat()),
                Step::Hear,
            ],
        ),
        ("close.sent", vec![open()]),
    ]
}

#[tokio::test]
async fn each_rule_can_be_broken() {
    let mut broken = vec![
        "init.accepted",
        "reference-id.needed",
        "reference-id.unique",
        "close.answered",
    ];
    for (name, steps) in breaches() {
        let report = judged(JudgeLimits::default(), Faults::new(), vec![steps]).await;
        let [session] = &*report.sessions else {
            panic!("{name}: {report:?}")
        };
        let mut findings = session.findings.iter();
        let finding = findings.find(|finding| finding.rule.name == name);
        let finding = finding.unwrap_or_else(|| panic!("{name}: {}", report.to_text()));
        assert!(!finding.came.is_empty(), "{name}");
        assert!(name == "close.sent" || !finding.octets.is_empty(), "{name}");
        broken.push(name);
    }
    for rule in rules() {
        assert!(broken.contains(&rule.name), "{}", rule.name);
    }
}

/// A conversation that breaks one rule must not break other requirements, except those that are broken as a consequence.
#[tokio::test]
async fn a_breach_breaks_no_other_demand() {
    for (name, steps) in breaches() {
        let report = judged(JudgeLimits::default(), Faults::new(), vec![steps]).await;
        let findings = report.sessions.iter().flat_map(|session| &session.findings);
        let others = findings.filter(|finding| finding.is_violation() && finding.rule.name != name);
        let others: Vec<&str> = others.map(|finding| finding.rule.name).collect();
        let expected: &[&str] = match name {
            "version.values" => &["present.ranges", "present.set"],
            "init.bit-strings" => &["init.version"],
            "init.sizes" => &["init.sizes.order"],
            "extended.parameters" => &["extended.values"],
            _ => &[],
        };
        // The server closes sessions that break the protocol, and the client of this test does not answer the server's Close.
        let expected = [expected, &["close.answered"]].concat();
        let unexpected = others.iter().find(|other| !expected.contains(other));
        assert_eq!(unexpected, None, "{name}: {others:?}");
    }
}

/// These concurrent requests are judged without a server, so that the order of events does not depend on the server's speed.
#[test]
fn concurrent_requests_have_their_own_reference_ids() {
    let with_id = |id: Option<&[u8]>| {
        let mut search = Apdu::from(find("war", |_| {}));
        search.set_reference_id(id.map(|id| ReferenceId(id.into())));
        search
    };
    for (ids, expected) in [
        ([Some(&b"1"[..]), Some(b"2")], None),
        ([None, Some(b"2")], None),
        ([Some(b"1"), Some(b"1")], Some("reference-id.unique")),
        ([None, None], Some("reference-id.needed")),
    ] {
        let mut conversation = Conversation::new(1, Peer::Unix, JudgeLimits::default());
        let options = Options::CONCURRENT_OPERATIONS;
        let init = Apdu::from(good_init(ProtocolVersion::UP_TO_3, options));
        let accepted = z3950_asn1::apdu::InitializeResponse {
            protocol_version: ProtocolVersion::UP_TO_3,
            options: options | Options::SEARCH,
            result: true,
            ..Default::default()
        };
        conversation.received(&octets(init.clone()), Ok(&init));
        conversation.sent(Some(&accepted.into()));
        for id in ids {
            let search = with_id(id);
            conversation.received(&octets(search.clone()), Ok(&search));
        }
        let session = conversation.judged(None);
        let findings = session.findings.iter();
        let found: Vec<&str> = findings
            .map(|finding| finding.rule.name)
            .filter(|name| name.starts_with("reference-id") || name.starts_with("operations"))
            .collect();
        assert_eq!(found, Vec::from_iter(expected), "{ids:?}");
    }
}

/// Without concurrent operations, only a TriggerResourceControl or a Close may be sent before the answer.
#[test]
fn a_session_without_concurrent_operations_is_serial() {
    let search = || Apdu::from(find("war", |_| {}));
    for (second, expected) in [
        (search(), &["operations.serial"][..]),
        (trigger(RequestedAction::CANCEL).into(), &[]),
        (Close::default().into(), &[]),
    ] {
        let mut conversation = Conversation::new(1, Peer::Unix, JudgeLimits::default());
        let init = Apdu::from(good_init(ProtocolVersion::UP_TO_3, Options::default()));
        let accepted = Apdu::from(z3950_asn1::apdu::InitializeResponse {
            protocol_version: ProtocolVersion::UP_TO_3,
            options: Options::SEARCH | Options::TRIGGER_RESOURCE_CONTROL,
            result: true,
            ..Default::default()
        });
        conversation.received(&octets(init.clone()), Ok(&init));
        conversation.sent(Some(&accepted));
        for request in [search(), second] {
            conversation.received(&octets(request.clone()), Ok(&request));
        }
        let session = conversation.judged(None);
        let findings = session.findings.iter();
        let failed = findings.filter(|one| one.is_violation());
        let failed: Vec<&str> = failed.map(|one| one.rule.name).collect();
        assert_eq!(failed, expected);
    }
}

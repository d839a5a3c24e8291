//! Tests of conversations that are written as lines of JSON, read back, and replayed.

mod replays;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use z3950_asn1::apdu::*;
use z3950_asn1::es::update::Action;
use z3950_asn1::oid;

use super::*;
use crate::fault::{Item, Output};
use crate::limits::Limits;
use crate::observer::{Observer, Peer, SessionTotals};
use crate::requests::{catalogue, init, init_of, now, present, search, sort_request};
use crate::service::extended::tests::changed;
use crate::session::Session;
use crate::target::Target;

/// A writer that collects a log in memory.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Shared {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().expect("no panic").clone()).expect("UTF-8")
    }
}

impl std::io::Write for Shared {
    fn write(&mut self, octets: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no panic").extend(octets);
        Ok(octets.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Runs a session with these requests, and reports it to the observer.
fn converse(observer: &dyn Observer, number: u64, requests: &[Apdu]) {
    let mut session = Session::new(Arc::new(Target::new(catalogue(), Limits::default())));
    let peer: SocketAddr = "127.0.0.1:4711".parse().expect("an address");
    observer.opened(number, Peer::Ip(peer));
    for request in requests {
        let octets = codec::encode(request).expect("encodes");
        observer.received(number, &octets, Ok(request));
        for answer in now(session.answer(request)).apdus {
            let octets = codec::encode(&answer).expect("encodes");
            observer.sent(number, &octets, Some(&answer));
        }
    }
    let peer = Peer::Ip(peer);
    observer.ended(&SessionTotals::new(number, peer, SystemTime::now()));
}

fn referred(mut apdu: Apdu, id: &str) -> Apdu {
    apdu.set_reference_id(Some(ReferenceId(id.into())));
    apdu
}

fn with_password() -> Apdu {
    let password = IdPass {
        group_id: None,
        user_id: Some("ann".into()),
        password: Some("opensesame".into()),
    };
    InitializeRequest {
        id_authentication: Some(IdAuthentication::IdPass(password)),
        ..init_of(ProtocolVersion::UP_TO_3)
    }
    .into()
}

#[test]
fn json_lines_describe_the_conversation() {
    let file = Shared::default();
    let log = JsonLog::new(file.clone());
    let requests = [
        with_password(),
        search("@attr 1=4 war"),
        present(1, 9),
        Close::new(CloseReason::FINISHED, Some("bye")).into(),
    ];
    converse(&log, 7, &requests);
    log.received(8, b"GET /", codec::decode(b"GET /").as_ref());
    let text = file.text();
    assert!(!text.contains("opensesame") && !text.contains(&hex::digits(b"opensesame")));
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("an object"))
        .collect();
    let events: Vec<_> = lines
        .iter()
        .map(|line| {
            line["event"]
                .as_str()
                .or(line["apdu"].as_str())
                .unwrap_or_default()
        })
        .collect();
    let expected = [
        "opened",
        "initRequest",
        "initResponse",
        "searchRequest",
        "searchResponse",
        "presentRequest",
        "presentResponse",
        "close",
        "close",
        "closed",
        "malformed",
    ];
    assert_eq!(events, expected);
    assert_eq!(
        (&lines[0]["peer"], &lines[0]["session"]),
        (&json!("127.0.0.1:4711"), &json!(7))
    );
    assert_eq!(lines[1]["value"]["idAuthentication"], "<redacted>");
    assert_eq!(lines[3]["direction"], "received");
    assert_eq!(lines[3]["value"]["databaseNames"], json!(["cat"]));
    assert_eq!(lines[3]["value"]["query"], "@attr 1=4 war");
    assert_eq!(lines[4]["value"]["searchStatus"], true);
    let failed = &lines[6]["value"]["records"]["nonSurrogateDiagnostic"];
    assert_eq!(failed["condition"], 13);
    assert_eq!(lines[7]["value"]["diagnosticInformation"], "bye");
    assert_eq!(lines[10]["octets"], hex::digits(b"*****"));
    assert!(lines[10].get("value").is_none());
    let time = lines[0]["time"]
        .as_str()
        .and_then(parse_time)
        .expect("a time");
    assert!(
        time.elapsed()
            .is_ok_and(|age| age < Duration::from_secs(3600))
    );
}

#[test]
fn values_name_sort_keys_and_tasks() {
    let mut sort = sort_request(&["default"], "s");
    let by_author = SortKey::SortAttributes(SortAttributes {
        id: oid::BIB_1,
        list: AttributeList(vec![AttributeElement::numeric(1, 1003)]),
    });
    sort.sort_sequence.push(SortKeySpec {
        sort_element: SortElement::Generic(by_author),
        sort_relation: SortRelation::DESCENDING,
        case_sensitivity: CaseSensitivity::CASE_SENSITIVE,
        missing_value_action: Some(MissingValueAction::Abort),
    });
    let delete = changed(Action::RECORD_DELETE, &["id7"], |request| {
        request.to_keep.database_name = "cat".into();
    });
    let file = Shared::default();
    converse(
        &JsonLog::new(file.clone()),
        1,
        &[init(), sort.into(), delete.into()],
    );
    let text = file.text();
    let said = |apdu: &str| {
        let lines = text
            .lines()
            .map(|line| serde_json::from_str(line).expect("an object"));
        let found = lines.into_iter().find(|line: &Value| line["apdu"] == apdu);
        found.unwrap_or_else(|| panic!("no {apdu} in {text}"))["value"].clone()
    };
    let expected = json!([
        {
            "sortElement": { "sortField": "title" },
            "sortRelation": "ascending",
            "caseSensitivity": "caseInsensitive",
        },
        {
            "sortElement": { "sortAttributes": { "id": "Bib-1", "list": ["1=1003"] } },
            "sortRelation": "descending",
            "caseSensitivity": "caseSensitive",
            "missingValueAction": "abort",
        },
    ]);
    assert_eq!(said("sortRequest")["sortSequence"], expected);
    let request = said("extendedServicesRequest");
    let asked = &request["taskSpecificParameters"];
    assert!(
        asked.to_string().contains("\"action\":\"recordDelete\""),
        "{request:#}"
    );
    let response = said("extendedServicesResponse");
    assert_eq!(
        response["taskPackage"]["taskStatus"], "complete",
        "{response:#}"
    );
}

#[test]
fn listings_are_for_people() {
    let file = Shared::default();
    converse(&ApduLog::new(file.clone()), 1, &[with_password()]);
    let text = file.text();
    assert!(
        text.contains(" session 1 received initRequest\n     0 [20] initRequest "),
        "{text}"
    );
    assert!(text.contains(" session 1 sent initResponse\n"), "{text}");
    assert!(
        text.contains("[7]") && text.contains("<redacted>") && !text.contains("opensesame"),
        "{text}"
    );
}

/// Records sessions with these requests.
fn recording(sessions: &[&[Apdu]]) -> Arc<Recording> {
    let file = Shared::default();
    let log = JsonLog::new(file.clone());
    for (number, requests) in (1..).zip(sessions) {
        converse(&log, number, requests);
    }
    let recording = Recording::parse(&file.text()).expect("a recording");
    assert_eq!(
        Recording::parse(&recording.to_string()).expect("the same"),
        recording
    );
    Arc::new(recording)
}

fn answer(player: &mut Player, request: &Apdu) -> Output {
    played(player, request).output
}

fn played(player: &mut Player, request: &Apdu) -> ReplayReply {
    let octets = codec::encode(request).expect("encodes").into();
    now(player.answer(&octets))
}

fn names(output: &Output) -> Vec<&'static str> {
    let names = output.items.iter().map(|item| match item {
        Item::Apdu(apdu) => apdu.name(),
        Item::Octets(octets) => codec::decode(octets).map_or("malformed", |apdu| apdu.name()),
    });
    names.collect()
}

#[test]
fn recordings_are_replayed() {
    let close: Apdu = Close::new(CloseReason::FINISHED, None).into();
    let recorded = recording(&[
        &[
            with_password(),
            search("@attr 1=1032 id7"),
            search("@attr 1=1032 dup"),
            close.clone(),
        ],
        &[init()],
    ]);
    let in_order = Arc::new(Replay::from(&*recorded).in_order());
    let mut player = Player::new(&in_order, 1);
    assert!(!player.begun);
    assert_eq!(
        names(&answer(&mut player, &with_password())),
        ["initResponse"]
    );
    assert!(player.begun);
    // The recorded requests may come in a different order.
    let hits = |output: &Output| match &output.items[0] {
        Item::Octets(octets) => match codec::decode(octets) {
            Ok(Apdu::SearchResponse(search)) => (search.result_count, None),
            other => panic!("{other:?}"),
        },
        Item::Apdu(Apdu::SearchResponse(search)) => {
            (search.result_count, search.reference_id.clone())
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(
        hits(&answer(&mut player, &search("@attr 1=1032 dup"))),
        (2, None)
    );
    // A request that differs from the recorded ones gets the next answer of the same kind, with the client's own referenceId.
    let other = referred(search("else"), "mine");
    assert_eq!(
        hits(&answer(&mut player, &other)),
        (1, Some(ReferenceId("mine".into())))
    );
    let gone = answer(&mut player, &search("@attr 1=1032 dup"));
    assert!(!gone.hang_up && said(&gone)[0].contains(UNKNOWN));
    let end = answer(&mut player, &close);
    assert!(end.hang_up && names(&end) == ["close"]);
    // The recorded sessions are replayed in turn, and then again from the first session on.
    for (number, exchanges) in [(1, 4), (2, 1), (3, 4), (4, 1)] {
        let mut player = Player::new(&in_order, number);
        assert_eq!(names(&answer(&mut player, &init())), ["initResponse"]);
        let more = answer(&mut player, &search("x"));
        let is_unknown = said(&more)[0].contains(UNKNOWN);
        assert_eq!(is_unknown, exchanges == 1, "{number}");
    }
    let empty = Arc::new(Replay::default());
    let refused = answer(&mut Player::new(&empty, 1), &init());
    assert!(names(&refused) == ["initResponse"] && said(&refused)[0].contains(UNKNOWN));
}

const UNKNOWN: &str = "this request is not in the recording";

fn apdus(output: &Output) -> Vec<Apdu> {
    let apdus = output.items.iter().map(|item| match item {
        Item::Apdu(apdu) => apdu.clone(),
        Item::Octets(octets) => codec::decode(octets).expect("an APDU"),
    });
    apdus.collect()
}

/// Returns each answer in an output as JSON, followed by its octets as text.
fn said(output: &Output) -> Vec<String> {
    let answers = apdus(output).into_iter().map(|apdu| {
        let octets = codec::encode(&apdu).expect("encodes");
        let text = String::from_utf8_lossy(&octets).into_owned();
        format!("{} {text}", decoded::to_json(&apdu))
    });
    answers.collect()
}

fn present_of(set: &str) -> Apdu {
    let Apdu::PresentRequest(mut request) = present(1, 1) else {
        panic!("a Present")
    };
    request.result_set_id = ResultSetId(set.into());
    request.max_record_size = Some(4711);
    (*request).into()
}

#[test]
fn audit_d8_a_request_gets_the_answer_of_the_same_request_only() {
    let recorded = recording(&[
        &[
            with_password(),
            referred(search("@attr 1=1032 id7"), "one"),
            present(1, 1),
            search("@attr 1=1032 dup"),
            present(1, 1),
        ],
        &[init(), search("@attr 1=4 war")],
    ]);
    let replay = Arc::new(Replay::from(&*recorded));
    let mut player = Player::new(&replay, 1);
    // This Init has a different implementation name, message size and credentials.
    let Apdu::InitializeRequest(mut other) = with_password() else {
        panic!("an Init")
    };
    other.preferred_message_size = 4711;
    other.implementation_name = Some("other".into());
    other.id_authentication = Some(IdAuthentication::Open("bob/longer than the other".into()));
    assert_eq!(
        names(&answer(&mut player, &referred((*other).into(), "init"))),
        ["initResponse"]
    );
    let count = |output: &Output| match &apdus(output)[..] {
        [Apdu::SearchResponse(search)] => (search.result_count, search.reference_id.clone()),
        other => panic!("{other:?}"),
    };
    let record = |output: &Output| {
        let said = said(output).concat();
        assert!(said.contains("dup") != said.contains("id7"), "{said}");
        said.contains("dup")
    };
    // The searches come in a different order from the recording, and each Present refers to the search before it.
    let dup = answer(&mut player, &referred(search("@attr 1=1032 dup"), "x"));
    assert_eq!(count(&dup), (2, Some(ReferenceId("x".into()))));
    assert!(record(&answer(&mut player, &present_of("default"))));
    let one = answer(&mut player, &search("@attr 1=1032 id7"));
    assert_eq!(count(&one), (1, None));
    assert!(!record(&answer(&mut player, &present_of("default"))));
    // The Present is repeated, and a search that was recorded in another session is answered.
    assert!(!record(&answer(&mut player, &present_of("default"))));
    let other = answer(&mut player, &search("@attr 1=4 war"));
    assert!(!said(&other)[0].contains(UNKNOWN), "{:?}", said(&other));
    // These requests are not in the recording: a different query, a set that no search has made, and a different service.
    let close: Apdu = Close::new(CloseReason::FINISHED, None).into();
    for (request, name) in [
        (search("@attr 1=1032 id8"), "searchResponse"),
        (present_of("other"), "presentResponse"),
        (sort_request(&["default"], "s").into(), "sortResponse"),
        (close.clone(), "close"),
    ] {
        let refused = answer(&mut player, &referred(request.clone(), "mine"));
        assert_eq!(names(&refused), [name]);
        let said = said(&refused).concat();
        assert_eq!(said.contains(UNKNOWN), request != close, "{said}");
        assert_eq!(
            said.contains("\"condition\":100"),
            request != close,
            "{said}"
        );
        assert_eq!(refused.hang_up, request == close);
    }
    let malformed = now(player.answer(&Bytes::from_static(b"\xb6\x03\x02\x01\x00"))).output;
    assert!(malformed.hang_up && said(&malformed)[0].contains(UNKNOWN));
}

#[test]
fn errors_in_a_recording_name_the_line() {
    let line = |change: fn(&mut Map<String, Value>)| {
        let close = Apdu::from(Close::new(CloseReason::FINISHED, None));
        let octets = codec::encode(&close).expect("encodes");
        let entry = TranscriptEntry::now(1, Direction::Received, &octets, Some(&close));
        let mut line = entry.to_json();
        change(line.as_object_mut().expect("an object"));
        line.to_string()
    };
    for (text, expected) in [
        ("{".to_owned(), "line 1: "),
        ("\n\nx".to_owned(), "line 3: "),
        (
            "{\"octets\": \"0\"}".to_owned(),
            "line 1: octets are not in hexadecimal",
        ),
        (
            line(|line| drop(line.remove("session"))),
            "line 1: session is not a number",
        ),
        (
            "\n".to_owned() + &line(|line| drop(line.insert("direction".to_owned(), "up".into()))),
            "line 2: direction is neither",
        ),
        (
            line(|line| drop(line.remove("time"))),
            "line 1: time is not one of RFC 3339",
        ),
        (
            line(|line| drop(line.insert("time".to_owned(), "today".into()))),
            "line 1: time is not one of RFC 3339",
        ),
        (
            line(|line| drop(line.remove("apdu"))),
            "line 1: apdu is not a text",
        ),
        (
            line(|line| drop(line.insert("octets".to_owned(), "bf3001".into()))),
            "line 1: apdu is close, and the octets are malformed",
        ),
        (
            line(|line| drop(line.insert("apdu".to_owned(), "initRequest".into()))),
            "line 1: apdu is initRequest, and the octets are close",
        ),
        (
            line(|line| drop(line.remove("octets"))),
            "line 1: no octets, no head and no event",
        ),
        (
            "{\"event\": \"opened\", \"session\": 1}".to_owned(),
            "line 1: version of the format is missing",
        ),
        (
            "{\"event\": \"opened\", \"version\": 1}".to_owned(),
            "line 1: session is not a number",
        ),
        (
            "{\"event\": \"x\", \"version\": \"1\"}".to_owned(),
            "line 1: version \"1\" of the format",
        ),
    ] {
        let error = Recording::parse(&text).expect_err(&text).to_string();
        assert!(error.starts_with(expected), "{text}: {error}");
    }
    // A fault may send malformed octets, and redacted credentials may make an Init undecodable, so lines of both kinds are
    // accepted.
    let malformed = line(|line| drop(line.insert("apdu".to_owned(), "malformed".into())));
    assert!(Recording::parse(&malformed).is_ok());
    let veiled = line(|line| {
        line.insert("apdu".to_owned(), "initRequest".into());
        line.insert("octets".to_owned(), "b4032a2a2a".into());
    });
    assert!(Recording::parse(&veiled).is_ok());
}

#[test]
fn the_page_about_transcripts_shows_a_line_of_one() {
    let page = include_str!("../../docs/transcripts-and-faults.md");
    let line = page.lines().find(|line| line.starts_with("{\"time\""));
    let line = line.expect("a line");
    let recording = Recording::parse(line).expect("a recording");
    assert_eq!(recording.entries.len(), 1);
    let shown: Value = serde_json::from_str(line).expect("an object");
    let written = super::TranscriptEntry {
        apdu: Some(search("x")),
        ..recording.entries[0].clone()
    };
    for (key, _) in written.to_json().as_object().expect("an object") {
        assert!(shown.get(key).is_some(), "{key}");
        assert!(page.contains(&format!("| `{key}` |")), "{key}");
    }
    assert!(page.contains(UNKNOWN));
}

#[test]
fn times_are_written_and_read() {
    for (seconds, text) in [
        (0, "1970-01-01T00:00:00.000000Z"),
        (951_782_399, "2000-02-28T23:59:59.000000Z"),
        (951_782_400, "2000-02-29T00:00:00.000000Z"),
        (1_709_251_199, "2024-02-29T23:59:59.000000Z"),
        (4_107_542_400, "2100-03-01T00:00:00.000000Z"),
    ] {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        assert_eq!(format_time(time), text);
        assert_eq!(parse_time(text), Some(time));
    }
    let time = SystemTime::UNIX_EPOCH + Duration::from_micros(1_500_000);
    assert_eq!(format_time(time), "1970-01-01T00:00:01.500000Z");
    assert_eq!(parse_time("1970-01-01T00:00:01.5Z"), Some(time));
    for wrong in [
        "",
        "1970-01-01",
        "1970-13-01T00:00:00Z",
        "0000-01-01T00:00:00Z",
        "1970-01-01T00:00:00+01:00",
        "1970-01-01T00:00:00.1234567890Z",
    ] {
        assert_eq!(parse_time(wrong), None, "{wrong}");
    }
}

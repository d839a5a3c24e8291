//! Replays of records and of files: what is answered beyond equal requests, what is refused, and what is reported.

use std::io::Write as _;
use std::path::PathBuf;

use z3950_asn1::oid::USMARC;

use super::*;
use crate::requests::elements;
use crate::transcript::lines::{Line, read_lines};

/// A file with the lines of sessions with these requests.
fn file(folder: &tempfile::TempDir, sessions: &[&[Apdu]]) -> PathBuf {
    let text = recording(sessions).to_string();
    written(folder, &text)
}

fn written(folder: &tempfile::TempDir, text: &str) -> PathBuf {
    let path = folder.path().join("said.jsonl");
    std::fs::write(&path, text).expect("written");
    path
}

/// A Search that asks for records: bounds, and the number between them.
fn search_for(query: &str, [small, large, medium]: [i64; 3]) -> Apdu {
    let Apdu::SearchRequest(mut request) = search(query) else {
        panic!("a search")
    };
    request.small_set_upper_bound = small;
    request.large_set_lower_bound = large;
    request.medium_set_present_number = medium;
    request.preferred_record_syntax = Some(USMARC);
    (*request).into()
}

/// A Present of USMARC records.
fn marc(first: i64, number: i64) -> Apdu {
    let Apdu::PresentRequest(mut request) = present(first, number) else {
        panic!("a Present")
    };
    request.preferred_record_syntax = Some(USMARC);
    (*request).into()
}

/// The records in answers, or the words of the diagnostic.
fn given(output: &Output) -> Vec<String> {
    let answers = apdus(output);
    let records = answers.iter().map(|answer| match answer {
        Apdu::SearchResponse(search) => &search.records,
        Apdu::PresentResponse(present) => &present.records,
        other => panic!("{other:?}"),
    });
    let records = records.map(|records| match &**records {
        None => Vec::new(),
        Some(Records::ResponseRecords(records)) => records
            .iter()
            .map(|one| match &one.record {
                Record::RetrievalRecord(external) => {
                    format!("{:x?}", external.octets())
                }
                other => panic!("{other:?}"),
            })
            .collect(),
        Some(Records::NonSurrogateDiagnostic(diagnostic)) => {
            vec![diagnostic.addinfo.to_string_lossy().into_owned()]
        }
        Some(other) => panic!("{other:?}"),
    });
    records.collect::<Vec<_>>().concat()
}

/// All three records of the search for `war`, as the server gives them.
const WAR: &str = "@or @attr 1=1032 id7 @attr 1=1032 dup";

#[test]
fn other_presents_of_recorded_records_are_answered() {
    let mut session = Session::new(Arc::new(Target::new(catalogue(), Limits::default())));
    for request in [init(), search_for(WAR, [0, 1, 0])] {
        now(session.answer(&request));
    }
    let all = given(&Output::from(now(session.answer(&marc(1, 3)))));
    assert_eq!(all.len(), 3, "{all:?}");
    // Recorded: the first with the search, the third and the second by Presents.
    let folder = tempfile::tempdir().expect("a folder");
    let recorded = [init(), search_for(WAR, [0, 100, 1]), marc(3, 1), marc(2, 1)];
    let path = file(&folder, &[&recorded]);
    let replays = [
        Replay::open(&path).expect("a recording"),
        Replay::from(&*recording(&[&recorded])),
    ];
    for replay in replays {
        let replay = Arc::new(replay);
        let mut player = Player::new(&replay, 1);
        let mut ask = |request: &Apdu| {
            let octets = codec::encode(request).expect("encodes").into();
            blocking(player.answer(&octets))
        };
        ask(&init());
        ask(&search_for(WAR, [0, 100, 1]));
        for (first, number) in [(1, 3), (2, 2), (1, 2), (3, 1), (1, 1), (2, 1)] {
            let request = referred(marc(first, number), "mine");
            let played = ask(&request);
            assert_eq!(played.not_recorded, None);
            let range = first as usize - 1..(first + number) as usize - 1;
            assert_eq!(given(&played.output), all[range], "{first}+{number}");
            let [Apdu::PresentResponse(answer)] = &*apdus(&played.output) else {
                panic!("{:?}", played.output)
            };
            assert_eq!(answer.next_result_set_position, first + number);
            assert_eq!(answer.number_of_records_returned, number);
            assert_eq!(answer.present_status, PresentStatus::SUCCESS);
            assert_eq!(answer.reference_id, Some(ReferenceId("mine".into())));
        }
        // Another form, and positions beyond those recorded.
        let Apdu::PresentRequest(mut brief) = marc(1, 1) else {
            panic!("a Present")
        };
        brief.record_composition = Some(RecordComposition::Simple(elements("B"))).into();
        for (request, position) in [
            ((*brief).into(), 1),
            (marc(2, 3), 4),
            (marc(4, i64::MAX), 4),
        ] {
            let played = ask(&request);
            let words = format!("record {position} is not in the recording");
            assert!(
                given(&played.output)[0].starts_with(&words),
                "{words}: {played:?}"
            );
            assert!(played.not_recorded.expect("why").starts_with(&words));
            // Each is reported once.
            assert_eq!(ask(&request).not_recorded, None);
        }
        // Searches that ask for other records: all, none, one, and more than were recorded.
        for (bounds, expected) in [
            ([3, 4, 0], 3),
            ([0, 1, 0], 0),
            ([2, 4, 2], 2),
            ([2, 3, 2], 0),
        ] {
            let played = ask(&search_for(WAR, bounds));
            assert_eq!(given(&played.output), all[..expected], "{bounds:?}");
            assert_eq!(played.not_recorded, None);
        }
        // A search that was never recorded leaves no result set.
        let unknown = ask(&search_for("@attr 1=1032 id8", [0, 1, 0]));
        assert_eq!(unknown.not_recorded.as_deref(), Some(UNKNOWN));
        assert_eq!(given(&ask(&marc(1, 1)).output), [UNKNOWN]);
    }
}

#[test]
fn a_search_is_found_even_if_its_records_are_not() {
    let recorded = recording(&[&[init(), search_for(WAR, [0, 1, 0])]]);
    let replay = Arc::new(Replay::from(&*recorded));
    let mut player = Player::new(&replay, 1);
    let played = played(&mut player, &search_for(WAR, [10, 11, 0]));
    let [Apdu::SearchResponse(answer)] = &*apdus(&played.output) else {
        panic!("{:?}", played.output)
    };
    assert!(answer.search_status && answer.result_count == 3);
    assert_eq!(answer.present_status, Some(PresentStatus::FAILURE));
    assert!(given(&played.output)[0].starts_with("record 1 is not in the recording"));
    assert!(played.not_recorded.is_some());
}

#[test]
fn answers_fit_the_message_size_of_the_client() {
    let size = size_of_last_two();
    let recorded = recording(&[&[init(), search_for(WAR, [0, 1, 0]), marc(1, 3)]]);
    let replay = Arc::new(Replay::from(&*recorded));
    for (preferred, returned) in [(1, 1), (size - 1, 1), (size, 2), (0, 2)] {
        let mut player = Player::new(&replay, 1);
        let Apdu::InitializeRequest(mut init) = init() else {
            panic!("an Init")
        };
        init.preferred_message_size = preferred;
        answer(&mut player, &(*init).into());
        answer(&mut player, &search_for(WAR, [0, 1, 0]));
        let output = answer(&mut player, &marc(2, 2));
        let [Apdu::PresentResponse(answer)] = &*apdus(&output) else {
            panic!("{output:?}")
        };
        assert_eq!(answer.number_of_records_returned, returned, "{preferred}");
        let is_partial = answer.present_status == PresentStatus::PARTIAL_2;
        assert_eq!(is_partial, returned == 1, "{preferred}");
    }
}

/// Octets of the second and third record of the search, each with what wraps it.
fn size_of_last_two() -> i64 {
    let mut session = Session::new(Arc::new(Target::new(catalogue(), Limits::default())));
    for request in [init(), search_for(WAR, [0, 1, 0])] {
        now(session.answer(&request));
    }
    let reply = now(session.answer(&marc(2, 2)));
    i64::try_from(reply.octets() + 2 * 64).expect("a size")
}

#[test]
fn concurrent_answers_find_their_requests() {
    // Two searches before the answers, which come in the other order.
    let requests = [
        referred(search("@attr 1=1032 id7"), "a"),
        referred(search("@attr 1=1032 dup"), "b"),
    ];
    let [first, second] = requests.clone();
    let recorded = recording(&[&[init(), first, second]]);
    let mut entries = recorded.entries.clone();
    entries[2..].sort_by_key(|entry| {
        let id = entry.apdu.as_ref().and_then(Apdu::reference_id).cloned();
        let is_first = id == Some(ReferenceId("a".into()));
        (entry.direction == Direction::Sent, is_first)
    });
    let other = Recording {
        entries,
        ..Recording::default()
    };
    let replay = Arc::new(Replay::from(other));
    let mut player = Player::new(&replay, 1);
    for (request, count) in requests.iter().zip([1, 2]) {
        let [Apdu::SearchResponse(found)] = &*apdus(&answer(&mut player, request)) else {
            panic!("a response")
        };
        assert_eq!(found.result_count, count);
    }
}

#[test]
fn files_are_refused_with_the_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = recording(&[&[init(), search("@attr 1=1032 id7")]]).to_string();
    let lines: Vec<_> = text.lines().collect();
    let opened = |version: u64| {
        format!("{{\"session\":1,\"event\":\"opened\",\"peer\":\"unix\",\"version\":{version}}}\n")
    };
    for (text, expected) in [
        (
            opened(2) + &text,
            "line 1: version 2 of the format, and this program reads version 1",
        ),
        (format!("{}\nx\n", lines[0]), "line 2: expected value"),
        (format!("{}\n[]\n", lines[0]), "line 2: not a JSON object"),
        (
            text.replacen("\"octets\":\"", "\"octets\":\"g", 1),
            "line 1: octets are not in hexadecimal",
        ),
        (
            "{\"head\":\"GET / HTTP/1.1\\n\",\"session\":1,\"direction\":\"received\"}\n"
                .to_owned(),
            "only APDUs are replayed",
        ),
    ] {
        let path = written(&folder, &text);
        let error = Replay::open(&path).expect_err(expected).to_string();
        assert!(error.starts_with(expected), "{expected}: {error}");
    }
    for empty in [String::new(), opened(1)] {
        let replay = Replay::open(&written(&folder, &empty)).expect("an empty recording");
        let expected = ["there are no APDUs, so every request is unknown"];
        assert_eq!(replay.remarks(), expected);
    }
    let missing = folder.path().join("nowhere");
    assert!(Replay::open(&missing).is_err());
    assert!(Replay::open(folder.path()).is_err());
}

#[test]
fn a_file_that_is_cut_short_is_replayed_as_far_as_it_goes() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = recording(&[&[init(), search("@attr 1=1032 id7")]]).to_string();
    let path = written(&folder, &text[..text.len() - 9]);
    let replay = Replay::open(&path).expect("a recording");
    assert_eq!(replay.remarks(), ["line 4 is cut short, and is left out"]);
    let mut player = Player::new(&Arc::new(replay), 1);
    let octets = codec::encode(&init()).expect("encodes").into();
    assert_eq!(
        names(&blocking(player.answer(&octets)).output),
        ["initResponse"]
    );
    // Only the line feed is missing: everything is there.
    let path = written(&folder, text.trim_end());
    let replay = Replay::open(&path).expect("a recording");
    assert!(replay.remarks().is_empty());
}

#[test]
fn a_file_that_changes_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = file(&folder, &[&[init()]]);
    let replay = Arc::new(Replay::open(&path).expect("a recording"));
    let mut other = std::fs::File::options()
        .write(true)
        .open(&path)
        .expect("a file");
    other.write_all(&[b' '; 400]).expect("written");
    let octets = codec::encode(&init()).expect("encodes").into();
    let played = blocking(Player::new(&replay, 1).answer(&octets));
    let why = played.not_recorded.expect("why");
    assert!(why.starts_with("the recording cannot be read: "), "{why}");
    assert!(said(&played.output)[0].contains("the file was changed"));
}

#[test]
fn lines_have_a_limit() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = written(&folder, "{\"event\":\"x\"}\n");
    let read = |most| {
        let mut lines = 0;
        let read = read_lines(&path, most, |line, _| {
            lines += usize::from(matches!(line, Line::Other));
            Ok(())
        });
        read.map(|_| lines).map_err(|error| error.to_string())
    };
    assert_eq!(read(14), Ok(1));
    assert_eq!(read(13), Err("line 1: longer than 13 octets".to_owned()));
}

#[test]
fn what_is_missing_is_listed_without_secrets() {
    let file = Shared::default();
    let log = MissingLog::new(file.clone());
    let octets = codec::encode(&with_password()).expect("encodes");
    log.not_recorded(3, &octets, Some(&with_password()), UNKNOWN);
    let text = file.text();
    let line: Value = serde_json::from_str(&text).expect("an object");
    assert_eq!(
        (&line["apdu"], &line["missing"]),
        (&json!("initRequest"), &json!(UNKNOWN))
    );
    assert!(!text.contains(&hex::digits(b"opensesame")), "{text}");
    assert!(Recording::parse(&text).is_ok());
}

/// Waits for a future that needs a runtime.
fn blocking<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.expect("a runtime").block_on(future)
}

//! Tests of replays: answers to requests that differ from the recorded ones, refusals, and reports of requests that were not
//! recorded.

mod files;

use std::path::PathBuf;

use z3950_asn1::oid::USMARC;

use super::*;
use crate::requests::elements;

/// Writes a recording of sessions with these requests to a file.
fn file(folder: &tempfile::TempDir, sessions: &[&[Apdu]]) -> PathBuf {
    let text = recording(sessions).to_string();
    written(folder, &text)
}

fn written(folder: &tempfile::TempDir, text: &str) -> PathBuf {
    let path = folder.path().join("said.jsonl");
    std::fs::write(&path, text).expect("written");
    path
}

/// Returns a Search for USMARC records with these values of smallSetUpperBound, largeSetLowerBound and mediumSetPresentNumber.
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

/// Returns a Present for USMARC records.
fn marc(first: i64, number: i64) -> Apdu {
    let Apdu::PresentRequest(mut request) = present(first, number) else {
        panic!("a Present")
    };
    request.preferred_record_syntax = Some(USMARC);
    (*request).into()
}

/// Returns the records in an output, or the text of its diagnostic.
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

/// Changes the name of the result set in a request.
fn with_set(request: Apdu, name: &str) -> Apdu {
    match request {
        Apdu::SearchRequest(mut search) => {
            search.result_set_name = name.into();
            Apdu::SearchRequest(search)
        }
        Apdu::PresentRequest(mut present) => {
            present.result_set_id = ResultSetId(name.into());
            Apdu::PresentRequest(present)
        }
        other => other,
    }
}

#[test]
fn result_sets_may_have_other_names() {
    // yaz-client names result sets with numbers, and so does this test.
    let one = with_set(search("@attr 1=1032 id7"), "1");
    let both = with_set(search(WAR), "2");
    let refined = with_set(search("@not @set 2 @set 1"), "3");
    let first = with_set(marc(1, 1), "1");
    let folder = tempfile::tempdir().expect("a folder");
    let recorded = [init(), one.clone(), first.clone(), both.clone(), refined];
    let replay = Arc::new(Replay::open(&file(&folder, &[&recorded])).expect("a recording"));
    let mut player = Player::new(&replay, 1);
    let mut ask = |request: &Apdu| {
        let octets = codec::encode(request).expect("encodes").into();
        blocking(player.answer(&octets))
    };
    ask(&init());
    let refined = search("@not @set a @set b");
    for (request, hits) in [
        (with_set(both, "a"), 3),
        (with_set(one, "b"), 1),
        (with_set(refined.clone(), "c"), 2),
    ] {
        let played = ask(&request);
        assert_eq!(played.not_recorded, None, "{hits}");
        let [Apdu::SearchResponse(answer)] = &*apdus(&played.output) else {
            panic!("{:?}", played.output)
        };
        assert_eq!(answer.result_count, hits);
    }
    assert_eq!(ask(&with_set(first.clone(), "b")).not_recorded, None);
    // The names of the sets are as recorded, but the sets are the results of different searches, so the recording has no answer.
    assert!(ask(&with_set(first, "c")).not_recorded.is_some());
    let swapped = with_set(search("@not @set b @set a"), "d");
    assert!(ask(&swapped).not_recorded.is_some());
}

/// A query for the three records that `war` finds, in the same order.
const WAR: &str = "@or @attr 1=1032 id7 @attr 1=1032 dup";

#[test]
fn other_presents_of_recorded_records_are_answered() {
    let mut session = Session::new(Arc::new(Target::new(catalogue(), Limits::default())));
    for request in [init(), search_for(WAR, [0, 1, 0])] {
        now(session.answer(&request));
    }
    let all = given(&Output::from(now(session.answer(&marc(1, 3)))));
    assert_eq!(all.len(), 3, "{all:?}");
    // The first record was recorded with the search, the third and the second with Presents.
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
        // This Present asks for a different form of the record.
        let Apdu::PresentRequest(mut brief) = marc(1, 1) else {
            panic!("a Present")
        };
        brief.record_composition = Some(RecordComposition::Simple(elements("B"))).into();
        let request = (*brief).into();
        let played = ask(&request);
        let words = "record 1 is not in the recording";
        assert!(given(&played.output)[0].starts_with(words), "{played:?}");
        assert!(played.not_recorded.expect("why").starts_with(words));
        // Each request is reported only once.
        assert_eq!(ask(&request).not_recorded, None);
        // These searches ask for fewer or more records than the recorded search.
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
        // A search that is not in the recording does not create a result set.
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
    answer(&mut player, &init());
    let played = played(&mut player, &search_for(WAR, [10, 11, 0]));
    let [Apdu::SearchResponse(answer)] = &*apdus(&played.output) else {
        panic!("{:?}", played.output)
    };
    assert!(answer.search_status && answer.result_count == 3);
    assert_eq!(answer.present_status, Some(PresentStatus::FAILURE));
    assert!(given(&played.output)[0].starts_with("record 1 is not in the recording"));
    assert!(played.not_recorded.is_some());
}

/// Any server would give this answer, so the answer does not depend on the recording.
#[test]
fn presents_beyond_the_result_set_are_out_of_range() {
    let recorded = recording(&[&[init(), search_for(WAR, [0, 1, 0]), marc(1, 3)]]);
    let replay = Arc::new(Replay::from(&*recorded));
    let mut player = Player::new(&replay, 1);
    answer(&mut player, &init());
    answer(&mut player, &search_for(WAR, [0, 1, 0]));
    for (first, number, is_within) in [
        (3, 1, true),
        (2, 2, true),
        (3, 2, false),
        (4, 1, false),
        (0, 1, false),
        (-1, 2, false),
        (1, i64::MAX, false),
        (i64::MAX, i64::MAX, false),
    ] {
        let played = played(&mut player, &referred(marc(first, number), "mine"));
        let [Apdu::PresentResponse(answer)] = &*apdus(&played.output) else {
            panic!("{:?}", played.output)
        };
        let condition = match &*answer.records {
            Some(Records::NonSurrogateDiagnostic(diagnostic)) => Some(diagnostic.condition),
            _ => None,
        };
        let expected = (!is_within).then_some(13);
        assert_eq!(condition, expected, "{first}+{number}");
        assert_eq!(answer.reference_id, Some(ReferenceId("mine".into())));
        assert!(played.not_recorded.is_none() && !played.output.hang_up);
    }
}

#[test]
fn a_delete_that_was_not_recorded_fails_and_deletes_nothing() {
    let delete = |name: &str| {
        Apdu::from(DeleteResultSetRequest {
            reference_id: None,
            delete_function: DeleteFunction::LIST,
            result_set_list: Some(vec![ResultSetId(name.into())]),
            other_info: None,
        })
    };
    let made = with_set(search(WAR), "a");
    let first = with_set(marc(1, 1), "a");
    let recorded = recording(&[&[init(), made.clone(), first.clone()]]);
    let replay = Arc::new(Replay::from(&*recorded));
    let mut player = Player::new(&replay, 1);
    answer(&mut player, &init());
    answer(&mut player, &made);
    let deleted = played(&mut player, &delete("a"));
    assert_eq!(deleted.not_recorded.as_deref(), Some(UNKNOWN));
    let [Apdu::DeleteResultSetResponse(failed)] = &*apdus(&deleted.output) else {
        panic!("{:?}", deleted.output)
    };
    assert_eq!(
        failed.delete_operation_status,
        DeleteSetStatus::SYSTEM_PROBLEM_AT_TARGET
    );
    let message = failed.delete_message.as_ref().expect("a message");
    assert!(message.to_string_lossy().contains(UNKNOWN), "{message:?}");
    assert_eq!(played(&mut player, &first).not_recorded, None);
}

/// Returns a recorded session whose Init is rejected, followed by these requests and answers.
fn rejected(after: &[(Apdu, Apdu)]) -> Vec<TranscriptEntry> {
    let no: Apdu = InitializeResponse::default().into();
    let exchanges = [(init(), no)].into_iter().chain(after.iter().cloned());
    let entries = exchanges.flat_map(|(request, answer)| {
        let entry = |direction, apdu: Apdu| {
            let octets = codec::encode(&apdu).expect("encodes");
            TranscriptEntry::now(1, direction, &octets, Some(&apdu))
        };
        [
            entry(Direction::Received, request),
            entry(Direction::Sent, answer),
        ]
    });
    entries.collect()
}

#[test]
fn after_a_rejected_init_only_its_own_session_is_replayed() {
    let war = search("@attr 1=4 war");
    let found: Apdu = SearchResponse::default().into();
    let others = recording(&[&[], &[init(), war.clone()]]);
    for (after, is_over) in [(vec![], true), (vec![(war.clone(), found)], false)] {
        let mut entries = rejected(&after);
        entries.extend(others.entries.iter().cloned());
        let replay = Arc::new(Replay::from(Recording {
            entries,
            ..Recording::default()
        }));
        let mut player = Player::new(&replay, 1);
        let no = answer(&mut player, &init());
        assert_eq!((names(&no), no.hang_up), (vec!["initResponse"], false));
        if !is_over {
            // The search is answered only once, as recorded.
            assert_eq!(names(&answer(&mut player, &war)), ["searchResponse"]);
        }
        let unknown = played(&mut player, &war);
        assert_eq!(names(&unknown.output), ["close"]);
        assert!(unknown.output.hang_up && said(&unknown.output)[0].contains(UNKNOWN));
        assert!(unknown.not_recorded.is_some());
        // If Init was accepted, the search is answered in another session, too.
        let mut player = Player::new(&replay, 2);
        let early = answer(&mut player, &search("@attr 1=4 peace"));
        assert!(early.hang_up && names(&early) == ["close"]);
        let mut player = Player::new(&replay, 2);
        answer(&mut player, &init());
        assert_eq!(names(&answer(&mut player, &war)), ["searchResponse"]);
    }
}

/// Tests a server that ends the session without warning, and a server that closes the connection after rejecting Init.
#[test]
fn sessions_end_as_the_server_ended_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = recording(&[&[init(), search("@attr 1=4 war")]]).to_string();
    let unanswered = text.lines().take(4).collect::<Vec<_>>().join("\n") + "\n";
    for (text, end, hangs_up) in [
        (&text, "upstream", true),
        (&unanswered, "upstream", true),
        (&unanswered, "fault", true),
        (&unanswered, "left", false),
        (&unanswered, "closed", false),
        (&unanswered, "lost", false),
    ] {
        let closed = format!("{{\"event\":\"closed\",\"session\":1,\"end\":\"{end}\"}}\n");
        let path = written(&folder, &(text.clone() + &closed));
        let replay = Arc::new(Replay::open(&path).expect("a recording"));
        let mut player = Player::new(&replay, 1);
        let mut ask = |request: &Apdu| {
            let octets = codec::encode(request).expect("encodes").into();
            blocking(player.answer(&octets)).output
        };
        assert!(!ask(&init()).hang_up);
        assert_eq!(ask(&search("@attr 1=4 war")).hang_up, hangs_up, "{end}");
    }
    // The session ends after its last request, whatever the order of the requests.
    let [war, peace] = ["war", "peace"].map(|term| search(&format!("@attr 1=4 {term}")));
    let text = recording(&[&[init(), war.clone(), peace.clone()]]).to_string();
    let closed = "{\"event\":\"closed\",\"session\":1,\"end\":\"upstream\"}\n";
    let path = written(&folder, &(text + closed));
    let replay = Arc::new(Replay::open(&path).expect("a recording"));
    let mut player = Player::new(&replay, 1);
    for (request, hangs_up) in [(init(), false), (peace, false), (war, true)] {
        let octets = codec::encode(&request).expect("encodes").into();
        assert_eq!(blocking(player.answer(&octets)).output.hang_up, hangs_up);
    }
}

/// If requests without a recorded answer were repeated, a client would wait forever for the missing answer.
#[test]
fn requests_whose_answers_did_not_come_are_not_repeated_in_other_sessions() {
    let folder = tempfile::tempdir().expect("a folder");
    let war = search("@attr 1=4 war");
    let text = recording(&[&[init(), search("@attr 1=4 peace")], &[init(), war.clone()]]);
    let text = text.to_string();
    // These lines do not include the answer to the last request.
    let lines = text.lines().count();
    let unanswered = text.lines().take(lines - 1).collect::<Vec<_>>().join("\n") + "\n";
    for (end, expected) in [
        (None, vec!["searchResponse"]),
        (Some("left"), vec!["searchResponse"]),
        (Some("upstream"), vec![]),
    ] {
        let closed =
            end.map(|end| format!("{{\"event\":\"closed\",\"session\":2,\"end\":\"{end}\"}}\n"));
        let path = written(&folder, &(unanswered.clone() + &closed.unwrap_or_default()));
        let replay = Arc::new(Replay::open(&path).expect("a recording"));
        let mut player = Player::new(&replay, 1);
        let mut ask = |request: &Apdu| {
            let octets = codec::encode(request).expect("encodes").into();
            blocking(player.answer(&octets))
        };
        assert!(!ask(&init()).output.hang_up);
        let played = ask(&war);
        assert_eq!(names(&played.output), expected, "{end:?}");
        assert_eq!(played.output.hang_up, expected.is_empty(), "{end:?}");
        assert_eq!(played.not_recorded.is_some(), !expected.is_empty());
        if !expected.is_empty() {
            assert!(said(&played.output)[0].contains(UNKNOWN), "{end:?}");
        }
    }
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

/// Returns the total size in octets of the second and third record of the search, including their external wrappers.
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
    // Both searches come before their answers, which come in reverse order.
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
    answer(&mut player, &init());
    for (request, count) in requests.iter().zip([1, 2]) {
        let [Apdu::SearchResponse(found)] = &*apdus(&answer(&mut player, request)) else {
            panic!("a response")
        };
        assert_eq!(found.result_count, count);
    }
}

#[test]
fn missing_requests_are_listed_without_secrets() {
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

/// Runs a future to completion in a new runtime.
fn blocking<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.expect("a runtime").block_on(future)
}

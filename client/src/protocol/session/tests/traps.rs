//! Tests with servers that make other clients crash, hang or confuse answers. Each request must end with a result, and
//! the next request must receive its own answer, or the error for a session that has ended.

use std::time::Duration;

use z3950_asn1::apdu::*;

use super::*;
use crate::protocol::service::init;
use crate::testing::*;

/// Checks a server that answers the first search with `turns`, and the second with two hits. `first` and `second` are
/// the expected results as text, and `last` is the expected end of the transcript.
async fn check(name: &str, turns: Vec<Turn>, first: &str, second: &str, last: &str) {
    let script = Script::from([vec![accepted()], turns, vec![send(found(2, vec![]))]].concat());
    let transcript = Transcript::default();
    let session = Session::over(serve(script, &transcript), &SessionOptions::default())
        .await
        .expect("a session");
    for (expected, which) in [(first, "first"), (second, "second")] {
        let options = SearchOptions::default();
        let outcome = session.search(query(), &options);
        let outcome = tokio::time::timeout(Duration::from_secs(100), outcome).await;
        let words = match outcome.expect("an outcome in time") {
            Ok(found) => format!("{} hits", found.hits),
            Err(error) => chain(&error),
        };
        assert_eq!(words, expected, "{name}: the {which} search");
        // Let the client read octets that follow the answer before it sends the next request.
        tokio::task::yield_now().await;
    }
    let _ = session.close().await;
    let seen = transcript.finished().await;
    let prefix = "connect initRequest search(0/1/0,any) ";
    assert_eq!(seen.strip_prefix(prefix), Some(last), "{name}");
}

fn chain(error: &Error) -> String {
    let mut words = error.to_string();
    let mut level: &dyn std::error::Error = error;
    while let Some(source) = level.source() {
        words = format!("{words} | {source}");
        level = source;
    }
    words
}

#[tokio::test(start_paused = true)]
async fn every_trap_has_an_outcome() {
    let closed = |reason: &str| {
        let words =
            format!("the server closed the session during Search, reason {reason}: so long");
        (words.clone(), format!("the session has ended | {words}"))
    };
    for reason in [10, 0x7f_ffff, 4_000_000, -1, i64::MAX] {
        let (first, second) = closed(&reason.to_string());
        let turn = close(CloseReason(reason));
        check("Close", vec![turn], &first, &second, "close(finished) end").await;
    }

    let fault = |what: &str| {
        let words = format!("protocol error during Search | {what}");
        (words.clone(), format!("the session has ended | {words}"))
    };
    let unasked = ReferenceId("unasked".into());
    let segment = Segment {
        reference_id: None,
        number_of_records_returned: 0,
        segment_records: vec![],
        other_info: None,
    };
    let answer = encode(&found(1, vec![]).into());
    for (name, turn, what) in [
        ("InitResponse", accepted(), "unexpected initResponse"),
        (
            "referenceId",
            send(SearchResponse {
                reference_id: Some(unasked),
                ..found(1, vec![])
            }),
            "a response with a referenceId that was not sent",
        ),
        ("Segment", send(segment), "unexpected segmentRequest"),
        (
            "another answer",
            send(presented(PresentStatus::SUCCESS, None)),
            "unexpected presentResponse",
        ),
        ("a request", send(init::offer()), "unexpected initRequest"),
        (
            "40 octets FF",
            Turn::Octets(vec![0xff; 40]),
            "expected an APDU, found octet 0xff",
        ),
        (
            "a length of 4 GiB",
            Turn::Octets(vec![0xb7, 0x84, 0xff, 0xff, 0xff, 0xf0]),
            "an APDU of more than 16842752 octets at octet 0 of the APDU",
        ),
        (
            "a length of 2 GiB",
            Turn::Octets(vec![0xb7, 0x84, 0x7f, 0xff, 0xff, 0xff]),
            "an APDU of more than 16842752 octets at octet 0 of the APDU",
        ),
    ] {
        let (first, second) = fault(what);
        check(
            name,
            vec![turn],
            &first,
            &second,
            "close(protocolError) end",
        )
        .await;
    }

    let silence = "no answer to Search in time | no response within 30 s";
    let ended = format!("the session has ended | {silence}");
    let half = answer.get(..7).expect("longer").to_vec();
    for (name, turn) in [("silence", Turn::Silence), ("half", Turn::Octets(half))] {
        check(name, vec![turn], silence, &ended, "close(unspecified) end").await;
    }
    let gone = "closed during Search | connection closed by the server";
    let ended = format!("the session has ended | {gone}");
    check("the end", vec![Turn::HangUp], gone, &ended, "hangup").await;

    // The session stays in sync: the server's requests were answered, and the second search gets its own answer.
    let refused = "the server asked for credentials during Search, but none were given";
    let answered = |apdu| vec![Turn::Send(vec![apdu]), send(found(1, vec![]))];
    let told = Turn::Send(vec![resource_control(false), found(1, vec![]).into()]);
    let again = "search(0/1/0,any) close(finished) end";
    for (name, turns, first, last) in [
        (
            "AccessControlRequest",
            answered(challenge()),
            refused,
            format!("accessControlResponse {again}"),
        ),
        (
            "ResourceControlRequest, answer required",
            answered(resource_control(true)),
            "1 hits",
            format!("resourceControlResponse {again}"),
        ),
        ("ResourceControlRequest", vec![told], "1 hits", again.into()),
    ] {
        check(name, turns, first, "2 hits", &last).await;
    }

    // A late APDU is read before the next request is sent, so the session ends.
    let late = |apdu: Apdu| vec![Turn::Send(vec![found(1, vec![]).into(), apdu])];
    let pause = "the session has ended | protocol error during a pause | unexpected searchResponse";
    check(
        "an answer twice",
        late(found(7, vec![]).into()),
        "1 hits",
        pause,
        "close(protocolError) end",
    )
    .await;
    let pause =
        "the session has ended | the server closed the session during a pause, reason shutdown";
    check(
        "a delayed Close",
        late(Close::new(CloseReason::SHUTDOWN, None).into()),
        "1 hits",
        pause,
        "close(finished) end",
    )
    .await;
}

/// Returns the answers in a complete conversation.
fn conversation() -> Vec<Apdu> {
    let entry =
        Entry::SurrogateDiagnostic(DiagRec::DefaultFormat(DefaultDiagFormat::bib1(233, "")));
    let scan = ScanResponse {
        reference_id: None,
        step_size: None,
        scan_status: ScanStatus::SUCCESS,
        number_of_entries_returned: 1,
        position_of_term: Some(1),
        entries: Some(ListEntries {
            entries: Some(vec![entry]),
            nonsurrogate_diagnostics: None,
        }),
        attribute_set: None,
        other_info: None,
    };
    let init = init_response(true, ProtocolVersion::UP_TO_3);
    let options = init.options | Options::SCAN;
    vec![
        InitializeResponse { options, ..init }.into(),
        found(1, vec![]).into(),
        presented(
            PresentStatus::SUCCESS,
            Some(Records::ResponseRecords(vec![marc()])),
        )
        .into(),
        scan.into(),
        Close::new(CloseReason::FINISHED, None).into(),
    ]
}

/// Returns the number of answers received from a server that sends `budget` octets, and then disconnects or sends
/// nothing more.
async fn cut_after(budget: usize, is_silent: bool) -> usize {
    let mut left = budget;
    let mut turns = Vec::new();
    for apdu in conversation() {
        let mut octets = encode(&apdu);
        octets.truncate(left);
        left -= octets.len();
        turns.push(Turn::Octets(octets));
    }
    let script = Script {
        turns,
        budget: (!is_silent).then_some(budget),
        ignores_close: true,
    };
    let stream = serve(script, &Transcript::default());
    let Ok(session) = Session::over(stream, &SessionOptions::default()).await else {
        return 0;
    };
    let found = session.search(query(), &SearchOptions::default()).await;
    let presented = session.present(1, 1, &PresentOptions::default()).await;
    let start = AttributesPlusTerm {
        attributes: vec![],
        term: Term::General("x".into()),
    };
    let scanned = session.scan(start, &ScanOptions::default()).await;
    let outcomes = [found.is_ok(), presented.is_ok(), scanned.is_ok()];
    assert!(
        outcomes.is_sorted_by(|before, after| before >= after),
        "in step"
    );
    let came = outcomes.iter().filter(|is_ok| **is_ok).count();
    assert!(came == 3 || !session.is_open(), "{budget}");
    let closed = session.close().await;
    assert!(closed.is_ok() == (came == 3), "{budget}");
    1 + came
}

#[tokio::test(start_paused = true)]
async fn a_conversation_cut_anywhere_has_an_outcome_in_time() {
    let ends: Vec<usize> = conversation()
        .iter()
        .scan(0, |end, apdu| {
            *end += encode(apdu).len();
            Some(*end)
        })
        .collect();
    let last = *ends.last().expect("not empty");
    for is_silent in [true, false] {
        for budget in 0..=last {
            let outcome =
                tokio::time::timeout(Duration::from_secs(100), cut_after(budget, is_silent));
            let came = outcome.await.expect("an outcome in time");
            let whole = ends.iter().take(4).filter(|end| **end <= budget).count();
            assert_eq!(came, whole, "{budget} octets, {is_silent}");
        }
    }
}

//! Tests of servers that reject the client, disconnect, send false information or do not answer. Each behaviour must
//! lead to a specific outcome and to the correct Close.

use z3950_asn1::apdu::*;

use super::*;

#[tokio::test(start_paused = true)]
async fn failed_sessions_report_the_reason() {
    let plain = || options(|_| ());
    let faulty = "search(1/2/0,usmarc) close(protocolError) end";
    let rejected = send(init_response(false, ProtocolVersion::UP_TO_3));
    let no_reason = "the server refused the session: no reason given; check credentials, address allow-list or database";
    check(
        "S-12",
        ID7,
        plain(),
        vec![rejected],
        &format!("init rejected {no_reason}"),
        "end",
    )
    .await;
    let v2 = || send(init_response(true, ProtocolVersion::UP_TO_2));
    let pushed = || send(found(1, vec![marc()]));
    check(
        "S-14",
        ID7,
        plain(),
        vec![v2(), pushed()],
        "Delivered usmarc",
        "search(1/2/0,usmarc) end",
    )
    .await;
    check(
        "S-15",
        ID7,
        plain(),
        vec![accepted(), close(CloseReason::SHUTDOWN)],
        "closed by server the server closed the session during Search, reason shutdown: so long",
        "search(1/2/0,usmarc) close(finished) end",
    )
    .await;
    check(
        "S-15",
        ID7,
        plain(),
        vec![accepted(), close(CloseReason(4_000_000))],
        "closed by server the server closed the session during Search, reason 4000000: so long",
        "search(1/2/0,usmarc) close(finished) end",
    )
    .await;
    check(
        "S-15",
        ID7,
        plain(),
        vec![close(CloseReason::SECURITY_VIOLATION)],
        "closed by server the server closed the session during Init, reason securityViolation: so long; \
         check credentials, address allow-list or database",
        "end",
    )
    .await;
    let many = send(found(1, vec![marc(), marc()]));
    let more = "ProtocolError Search more records than hits: 2 for 1";
    check("S-16", ID7, plain(), vec![accepted(), many], more, faulty).await;
    for (response, fault) in [
        (
            SearchResponse {
                result_count: -1,
                ..found(0, vec![])
            },
            "resultCount is -1",
        ),
        (
            SearchResponse {
                number_of_records_returned: -1,
                ..found(1, vec![])
            },
            "numberOfRecordsReturned is -1",
        ),
        (
            SearchResponse {
                number_of_records_returned: 1,
                ..found(1, vec![])
            },
            "numberOfRecordsReturned is 1, but 0 records came",
        ),
        (
            SearchResponse {
                reference_id: Some(ReferenceId("x".into())),
                ..found(0, vec![])
            },
            "a response with a referenceId that was not sent",
        ),
    ] {
        let expected = format!("ProtocolError Search {fault}");
        check(
            "A-36",
            ID7,
            plain(),
            vec![accepted(), send(response)],
            &expected,
            faulty,
        )
        .await;
    }
    let too_large = Turn::Octets(vec![0xb7, 0x84, 0xff, 0xff, 0xff, 0xff]);
    let expected =
        "ProtocolError Search an APDU of more than 16842752 octets at octet 0 of the APDU";
    check(
        "S-25",
        ID7,
        plain(),
        vec![accepted(), too_large],
        expected,
        faulty,
    )
    .await;
    let http = Turn::Octets(b"HTTP/1.1 400 Bad Request".to_vec());
    let expected = "ProtocolError Init expected an APDU, found octet 0x48";
    check("no APDU", ID7, plain(), vec![http], expected, "end").await;
    let misplaced = "ProtocolError Search unexpected initResponse";
    check(
        "an answer out of place",
        ID7,
        plain(),
        vec![accepted(), accepted()],
        misplaced,
        faulty,
    )
    .await;
    let garbage = Turn::Octets(vec![0xb7, 3, 0x97, 1, 1]);
    let expected = "ProtocolError Search searchResponse, numberOfRecordsReturned: a value cut short at octet 5";
    check(
        "a value cut short",
        ID7,
        plain(),
        vec![accepted(), garbage],
        expected,
        faulty,
    )
    .await;
    let refused =
        "access refused the server asked for credentials during Search, but none were given";
    check(
        "S-26",
        ID7,
        plain(),
        vec![accepted(), Turn::Send(vec![challenge()])],
        refused,
        "search(1/2/0,usmarc) accessControlResponse close(finished) end",
    )
    .await;
    check(
        "S-26",
        ID7,
        plain(),
        vec![v2(), Turn::Send(vec![challenge()])],
        refused,
        "search(1/2/0,usmarc) end",
    )
    .await;
    let at_init =
        "access refused the server asked for credentials during Init, but none were given";
    check(
        "S-26",
        ID7,
        plain(),
        vec![Turn::Send(vec![challenge()])],
        at_init,
        "end",
    )
    .await;
    let question = vec![resource_control(false), resource_control(true)];
    check(
        "a question of cost",
        ID7,
        plain(),
        vec![accepted(), Turn::Send(question), pushed()],
        "Delivered usmarc",
        "search(1/2/0,usmarc) resourceControlResponse close(finished) end",
    )
    .await;
    let endless = Turn::Send(vec![resource_control(false); 65]);
    let expected = "ProtocolError Search more than 64 requests from the server during one of ours";
    check(
        "questions without end",
        ID7,
        plain(),
        vec![accepted(), endless],
        expected,
        faulty,
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn unreachable_and_silent_servers_have_different_causes() {
    let plain = || options(|_| ());
    let (client, transcript) = client::<Script>(plain(), []);
    let retrieval = client.retrieve(&url(ID7)).await.expect("a plan");
    assert_eq!(
        say(&retrieval.outcome),
        "Unavailable connect connection refused",
        "S-22"
    );
    assert_eq!(transcript.text(), "");
    let late = |phase: &str| format!("Unavailable {phase} no response within 30 s");
    let gone = |phase: &str| format!("Unavailable {phase} connection closed by the server");
    let one_hit = || send(found(1, vec![]));
    let present = "search(1/2/0,usmarc) present(1+1,usmarc)";
    for (turns, expected, seen) in [
        (vec![Turn::Silence], late("Init"), "end".to_owned()),
        (
            vec![accepted(), Turn::Silence],
            late("Search"),
            "search(1/2/0,usmarc) close(unspecified) end".into(),
        ),
        (
            vec![accepted(), one_hit(), Turn::Silence],
            late("Present"),
            format!("{present} close(unspecified) end"),
        ),
        (vec![Turn::HangUp], gone("Init"), "hangup".into()),
        (
            vec![accepted(), Turn::HangUp],
            gone("Search"),
            "search(1/2/0,usmarc) hangup".into(),
        ),
        (
            vec![accepted(), one_hit(), Turn::HangUp],
            gone("Present"),
            format!("{present} hangup"),
        ),
    ] {
        check("S-22", ID7, plain(), turns, &expected, &seen).await;
    }
    let mut hurried = plain();
    hurried.timeouts.deadline =
        Some(tokio::time::Instant::now() + std::time::Duration::from_secs(2));
    let expected = "Unavailable Search the deadline passed";
    let seen = "search(1/2/0,usmarc) close(unspecified) end";
    check(
        "A-37",
        ID7,
        hurried,
        vec![accepted(), Turn::Silence],
        expected,
        seen,
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_connection_cut_anywhere_gives_an_outcome() {
    let answers: [Apdu; 4] = [
        init_response(true, ProtocolVersion::UP_TO_3).into(),
        found(1, vec![]).into(),
        presented(
            PresentStatus::SUCCESS,
            Some(Records::ResponseRecords(vec![marc()])),
        )
        .into(),
        Close::new(CloseReason::FINISHED, None).into(),
    ];
    let lengths: Vec<usize> = answers.iter().map(|answer| encode(answer).len()).collect();
    let delivered: usize = lengths.iter().take(3).sum();
    let all: usize = lengths.iter().sum();
    for budget in 0..=all {
        let turns = answers.iter().cloned().map(send).collect();
        let script = Script {
            turns,
            budget: Some(budget),
            ignores_close: false,
        };
        let (client, _) = client(options(|_| ()), [script]);
        let outcome = client.retrieve(&url(ID7)).await.expect("a plan").outcome;
        match outcome {
            Outcome::Delivered(_) => assert!(budget >= delivered, "{budget}"),
            Outcome::Failed(Error::Unavailable {
                cause: Cause::Disconnected | Cause::CutOff(_),
                ..
            }) => {
                assert!(budget < delivered, "{budget}");
            }
            other => panic!("{budget}: {other:?}"),
        }
    }
}

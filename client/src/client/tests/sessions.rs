//! Tests of sessions that are used for several URLs: sessions opened for session URLs, and sessions kept open for
//! further retrievals (RFC 2056 §3, §4).

use z3950_asn1::apdu::*;

use super::*;

#[tokio::test(start_paused = true)]
async fn sessions_stay_open_for_the_next_retrieval() {
    let mut keep = options(|_| ());
    keep.keep_open = true;
    let pushed = || send(found(1, vec![marc()]));
    let scripts = || {
        [
            vec![accepted(), pushed(), pushed()],
            vec![accepted(), pushed()],
        ]
    };
    let (client, transcript) = client(keep.clone(), scripts());
    let get = async |text: &str| say(&client.retrieve(&url(text)).await.expect("a plan").outcome);
    assert_eq!(
        get("z39.50r://lib.example/cat?id7").await,
        "Delivered usmarc"
    );
    assert_eq!(
        get("z39.50r://LIB.example:210/cat?id8").await,
        "Delivered usmarc"
    );
    client.close_all().await;
    let search = "search(1/2/0,usmarc)";
    let first = format!("connect initRequest {search} {search} close(finished) end");
    assert_eq!(transcript.finished().await, first, "S-21");
    assert_eq!(
        get("z39.50r://lib.example/cat?id9").await,
        "Delivered usmarc"
    );
    assert!(
        transcript
            .text()
            .ends_with(&format!("connect initRequest {search}"))
    );
}

#[tokio::test(start_paused = true)]
async fn other_ports_and_credentials_are_other_sessions() {
    let mut keep = options(|plan| plan.allow_url_credentials = true);
    keep.keep_open = true;
    let script = || vec![accepted(), send(found(1, vec![marc()]))];
    let (client, transcript) = client(keep, [script(), script(), script(), script()]);
    for text in [
        "z39.50r://lib.example/cat?id7",
        "z39.50r://lib.example:2100/cat?id7",
        "z39.50r://me:pw@lib.example/cat?id7",
        "z39.50r://me:px@lib.example/cat?id7",
    ] {
        let retrieval = client.retrieve(&url(text)).await.expect("a plan");
        assert_eq!(say(&retrieval.outcome), "Delivered usmarc", "{text}");
    }
    assert_eq!(transcript.text().matches("initRequest").count(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_died_in_the_pool_is_replaced_before_anything_is_sent() {
    let mut keep = options(|_| ());
    keep.keep_open = true;
    let pushed = || found(1, vec![marc()]).into();
    let bye = Close::new(CloseReason::LACK_OF_ACTIVITY, None).into();
    let dying = vec![accepted(), Turn::Send(vec![pushed(), bye])];
    let alive = vec![accepted(), Turn::Send(vec![pushed()])];
    let (client, transcript) = client(keep, [dying, alive]);
    for _ in 0..2 {
        let retrieval = client.retrieve(&url(ID7)).await.expect("a plan");
        assert_eq!(say(&retrieval.outcome), "Delivered usmarc");
    }
    let seen = transcript.text();
    for (word, times) in [
        ("connect", 2),
        ("initRequest", 2),
        ("search(1/2/0,usmarc)", 2),
        ("close(finished)", 1),
    ] {
        assert_eq!(seen.matches(word).count(), times, "{word}: {seen}");
    }
}

#[tokio::test(start_paused = true)]
async fn session_urls_leave_a_session_open() {
    let one_hit = || send(found(1, vec![]));
    let no_auto = |plan: &mut PlanOptions| plan.auto_present = false;
    let init = "connect initRequest";
    let search = "connect initRequest search(1/2/0,usmarc)";
    let fetched = format!("{search} present(1+1,usmarc)");
    let tail = "lib.example/cat?id7";
    for (id, tail, change, turns, found, seen) in [
        ("S-01", "lib.example/cat", None, vec![accepted()], "-", init),
        (
            "S-20",
            "lib.example:2100/;rs=klingon",
            None,
            vec![accepted()],
            "-",
            init,
        ),
        (
            "S-17",
            tail,
            None,
            vec![accepted(), send(found(2, vec![]))],
            "2",
            search,
        ),
        (
            "S-19",
            tail,
            None,
            vec![accepted(), send(found(0, vec![]))],
            "0",
            search,
        ),
        (
            "S-18",
            tail,
            None,
            vec![accepted(), one_hit(), one(marc())],
            "1 Delivered usmarc",
            &fetched,
        ),
        (
            "S-18",
            tail,
            Some(no_auto),
            vec![accepted(), one_hit()],
            "1",
            "connect initRequest search(0/1/0,any)",
        ),
        // The server sends the record although the request did not ask for it, so the record is ignored.
        (
            "S-18",
            tail,
            Some(no_auto),
            vec![accepted(), send(found(1, vec![marc()]))],
            "1",
            "connect initRequest search(0/1/0,any)",
        ),
        (
            "S-18",
            tail,
            None,
            vec![accepted(), one_hit(), one(surrogate(14))],
            "1 record refused 14",
            &fetched,
        ),
        (
            "S-08",
            tail,
            None,
            vec![accepted(), send(search_failed(diagnostic(235, "x")))],
            "search refused 235 x",
            search,
        ),
    ] {
        let options = options(|plan| change.into_iter().for_each(|change| change(plan)));
        let (client, transcript) = client(options, [turns]);
        let opened = client
            .open(&url(&format!("z39.50s://{tail}")))
            .await
            .expect("a session");
        let said = match opened.found {
            None => "-".to_owned(),
            Some(Err(error)) => say(&error.into()),
            Some(Ok(OpenedSearch {
                hits: Some(hits),
                record: None,
                ..
            })) => hits.to_string(),
            Some(Ok(OpenedSearch {
                hits: Some(hits),
                record: Some(record),
                ..
            })) => format!("{hits} {}", say(&record)),
            Some(Ok(OpenedSearch { hits: None, .. })) => "unknown".to_owned(),
        };
        assert_eq!(said, found, "{id}");
        assert!(opened.session.is_open() && !opened.reused, "{id}");
        assert_eq!(transcript.text(), seen, "{id}");
        opened.session.close().await.expect("was open");
        assert_eq!(
            transcript.finished().await,
            format!("{seen} close(finished) end"),
            "{id}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn opening_again_uses_the_open_session() {
    let (client, transcript) = client(
        options(|_| ()),
        [vec![accepted()], vec![accepted()], vec![accepted()]],
    );
    let first = client
        .open(&url("z39.50s://LIB.example/cat"))
        .await
        .expect("a session");
    let second = client
        .open(&url("z39.50s://lib.example:210/maps"))
        .await
        .expect("a session");
    assert!(
        second.reused && second.session.is_same(&first.session),
        "Z-3.4"
    );
    assert_eq!(
        second.defaults.databases,
        [crate::url::Octets::from("maps")]
    );
    let third = client
        .open(&url("z39.50s://lib.example:2100/maps"))
        .await
        .expect("a session");
    assert!(!third.reused);
    assert_eq!(transcript.text(), "connect initRequest connect initRequest");
    first.session.close().await.expect("was open");
    let fourth = client
        .open(&url("z39.50s://lib.example/cat"))
        .await
        .expect("a session");
    assert!(!fourth.reused && fourth.session.is_open());
    client.close_all().await;
    assert!(!fourth.session.is_open() && !third.session.is_open());
}

#[tokio::test]
async fn a_whole_retrieval_goes_over_tcp() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a free port");
    let address = listener.local_addr().expect("its address");
    let transcript = Transcript::default();
    let turns = vec![
        accepted(),
        Turn::Trickle(encode(&found(1, vec![]).into())),
        one(marc()),
    ];
    let notes = transcript.clone();
    let server = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.expect("a client");
        run(stream, turns.into(), notes).await;
    });
    let client = Client::with_resolver(options(|_| ()), address);
    let retrieval = client.retrieve(&url(ID7)).await.expect("a plan");
    assert_eq!(say(&retrieval.outcome), "Delivered usmarc");
    server.await.expect("no panic");
    let seen = "initRequest search(1/2/0,usmarc) present(1+1,usmarc) close(finished) end";
    assert_eq!(transcript.text(), seen);
}

#[tokio::test(start_paused = true)]
async fn a_url_causes_searches_and_presents_only() {
    let answers = |number: usize| {
        let hits = i64::try_from(number % 3).expect("small");
        let search = match number % 5 {
            0 => search_failed(diagnostic(118, "")),
            _ => found(hits, vec![]),
        };
        let present = match number % 7 {
            0 => one(surrogate(238)),
            1 => send(presented(PresentStatus::FAILURE, diagnostic(239, ""))),
            _ => one(marc()),
        };
        vec![
            accepted(),
            send(search.clone()),
            present.clone(),
            present,
            send(search),
        ]
    };
    let texts = [
        "cat",
        "cat?id",
        "a+b?%3Besn=f",
        "cat?@and;esn=del;rs=sutrs+marc",
        "x?1;op=delete;sort=1",
    ];
    for number in 0..1000 {
        let (kind, text) = (
            if number % 2 == 0 { "s" } else { "r" },
            texts[number / 2 % texts.len()],
        );
        let text = format!("z39.50{kind}://lib.example/{text}");
        let all = options(|plan| {
            plan.fallback = Fallback::ALL;
            plan.allow_url_credentials = true;
        });
        let (client, transcript) = client(all, [answers(number), answers(number + 1)]);
        // Only the requests are checked, so the outcome is ignored.
        let _ = client.open(&url(&text)).await;
        let _ = client.retrieve(&url(&text)).await;
        client.close_all().await;
        for word in transcript.text().split_whitespace() {
            let known = [
                "connect",
                "initRequest",
                "search(",
                "present(",
                "close(",
                "end",
            ];
            assert!(
                known.iter().any(|known| word.starts_with(known)),
                "{text}: {word}"
            );
        }
    }
}

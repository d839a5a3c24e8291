//! Tests of time limits, connection limits, size limits, and the shutdown of the server.

use z3950_asn1::sru::SruRecord;

use super::*;
use crate::connection::slots::{Entrance, Slots};
use crate::memory::MemoryBackend;
use crate::requests::Slow;
use crate::testing::record;

/// Returns a client that is waiting for a search that takes an hour.
async fn waiting() -> (Caller, Arc<Slow>) {
    let backend = Arc::new(Slow::default());
    let mut caller = Caller::of(Arc::clone(&backend) as _, Limits::default());
    caller.send(get(&format!("/cat?{WAR}"))).await;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(backend.counts(), (1, 0));
    (caller, backend)
}

#[tokio::test(start_paused = true)]
async fn a_search_is_stopped_in_time() {
    let (mut caller, backend) = waiting().await;
    let begun = Instant::now();
    let answer = caller.answer().await.expect("an answer");
    assert_eq!(begun.elapsed().as_secs(), 29);
    assert_eq!(answer.status(), "200");
    assert!(answer.body.contains("no answer in time"), "{}", answer.body);
    assert_eq!(backend.counts(), (1, 1));
    // The connection can still be used after the search was stopped.
    assert_eq!(caller.get("/cat").await.status(), "200");
}

#[tokio::test(start_paused = true)]
async fn an_update_is_answered_however_long_it_takes() {
    let mut caller = Caller::of(Arc::new(Slow::default()) as _, Limits::default());
    let update = r#"<updateRequest xmlns="http://www.loc.gov/zing/srw/update/"><version>1.0</version>
        <action>info:srw/action/1/delete</action><recordIdentifier>id7</recordIdentifier></updateRequest>"#;
    caller.send(post("/cat", "text/xml", update)).await;
    let begun = Instant::now();
    let answer = caller.answer().await.expect("an answer");
    assert_eq!(begun.elapsed().as_secs(), 3600);
    assert!(answer.body.contains("success"), "{}", answer.body);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_leaves_cancels_its_search() {
    let (caller, backend) = waiting().await;
    let Caller {
        stream,
        task,
        metrics,
        ..
    } = caller;
    drop(stream);
    let begun = Instant::now();
    task.await.expect("no panic");
    assert!(
        begun.elapsed() <= Limits::default().drain_time,
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(backend.counts(), (1, 1));
    assert_eq!(metrics.sessions_ended(SessionEnd::Left), 1);
    let abandoned = metrics.operations(OperationKind::SruSearch, OperationOutcome::Abandoned);
    assert_eq!(abandoned, 1);
}

#[tokio::test(start_paused = true)]
async fn silence_has_its_limits() {
    // The client sends nothing, half of a head, the head one octet per second, half of a body, or the body one octet per second.
    let head = get("/cat");
    for (first, slowly, seconds, status, end) in [
        ("", "", 30, "", SessionEnd::NoInit),
        (
            "GET /cat HTTP/1.1\r\nHost:",
            "",
            30,
            "408",
            SessionEnd::NoInit,
        ),
        ("", head.as_str(), 30, "408", SessionEnd::NoInit),
        (
            "POST /cat HTTP/1.1\r\nHost: a\r\nContent-Type: text/xml\r\nContent-Length: 9\r\n\r\n<a>",
            "",
            30,
            "408",
            SessionEnd::NoInit,
        ),
        (
            "POST /cat HTTP/1.1\r\nHost: a\r\nContent-Type: text/xml\r\nTransfer-Encoding: chunked\r\n\r\n",
            "1\r\na\r\n1\r\na\r\n1\r\na\r\n1\r\na\r\n1\r\na\r\n1\r\na\r\n",
            30,
            "408",
            SessionEnd::NoInit,
        ),
    ] {
        let mut caller = Caller::new(Limits::default());
        let begun = Instant::now();
        caller.send(first).await;
        let (mut reads, mut writes) = tokio::io::split(caller.stream);
        let slowly = slowly.as_bytes().to_vec();
        let sending = tokio::spawn(async move {
            for octet in slowly {
                sleep(Duration::from_secs(1)).await;
                if writes.write_all(&[octet]).await.is_err() {
                    break;
                }
            }
            // Keep the connection open for ever.
            std::future::pending::<()>().await;
        });
        let mut answer = String::new();
        let read = reads.read_to_string(&mut answer).await;
        read.expect("an end");
        assert_eq!(begun.elapsed().as_secs(), seconds, "{first}: {answer}");
        assert_eq!(
            answer.split(' ').nth(1).unwrap_or_default(),
            status,
            "{first}"
        );
        caller.task.await.expect("no panic");
        assert_eq!(caller.metrics.sessions_ended(end), 1, "{first}");
        sending.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn idle_connections_end() {
    let mut caller = Caller::new(Limits::default());
    assert_eq!(caller.get("/").await.status(), "200");
    let begun = Instant::now();
    assert!(caller.answer().await.is_none());
    assert_eq!(begun.elapsed(), Duration::from_secs(15 * 60));
    caller.task.await.expect("no panic");
    assert_eq!(caller.metrics.sessions_ended(SessionEnd::Idle), 1);
    // A further request has as much time as the first.
    let mut caller = Caller::new(Limits::default());
    assert_eq!(caller.get("/").await.status(), "200");
    sleep(Duration::from_secs(100)).await;
    let begun = Instant::now();
    caller.send("GET").await;
    assert_eq!(caller.answer().await.expect("an answer").status(), "408");
    assert_eq!(begun.elapsed(), Duration::from_secs(30));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_is_left() {
    let mut caller = Caller::new(Limits::default());
    let requests = get("/").repeat(10_000);
    let begun = Instant::now();
    // The pipe cannot hold all requests, so writing fails when the server ends the connection.
    let sent = caller.stream.write_all(requests.as_bytes()).await;
    assert!(sent.is_err());
    assert_eq!(begun.elapsed(), Duration::from_secs(30));
    caller.task.await.expect("no panic");
    assert_eq!(caller.metrics.sessions_ended(SessionEnd::Lost), 1);
}

#[tokio::test(start_paused = true)]
async fn idle_connections_give_way() {
    let one = Limits {
        sessions: 1,
        ..Limits::default()
    };
    let slots = Slots::new(&one);
    let Entrance::Admitted(slot) = slots.enter(None) else {
        panic!("a free slot")
    };
    let mut caller = Caller::on(Target::new(catalogue(), one), Faults::new(), Some(slot));
    assert_eq!(caller.get("/").await.status(), "200");
    assert!(matches!(slots.enter(None), Entrance::Full(Some(_))));
    sleep(Duration::from_secs(2)).await;
    assert!(matches!(slots.enter(None), Entrance::Admitted(_)));
    assert!(caller.answer().await.is_none());
    caller.task.await.expect("no panic");
    assert_eq!(caller.metrics.sessions_ended(SessionEnd::GaveWay), 1);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_stops_finishes_the_answer() {
    let mut idle = Caller::new(Limits::default());
    assert_eq!(idle.get("/").await.status(), "200");
    let mut asking = Caller::new(Limits::default());
    asking.send("GET / HT").await;
    let (mut busy, _) = waiting().await;
    for caller in [&idle, &asking, &busy] {
        caller.stop.send_replace(true);
    }
    assert!(idle.answer().await.is_none());
    assert_eq!(asking.answer().await.expect("an answer").status(), "503");
    let last = busy.answer().await.expect("an answer");
    assert!(last.head.contains("connection: close"), "{}", last.head);
    assert!(busy.answer().await.is_none());
    for caller in [idle, asking] {
        caller.task.await.expect("no panic");
        assert_eq!(caller.metrics.sessions_ended(SessionEnd::Stopped), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn sizes_are_limited() {
    let limits = || Limits {
        apdu_size: WAR.len(),
        ..Limits::default()
    };
    let longer = format!("{WAR}&");
    let chunk = |body: &str| {
        let length = body.len();
        format!(
            "POST /cat HTTP/1.1\r\nHost: a\r\nContent-Type: {FORM}\r\nTransfer-Encoding: chunked\r\n\r\n\
             {length:x}\r\n{body}\r\n0\r\n\r\n"
        )
    };
    let url = |length: usize| get(&format!("/{}", "a".repeat(length - 1)));
    for (request, status) in [
        (post("/cat", FORM, WAR), "200"),
        (post("/cat", FORM, &longer), "413"),
        (chunk(WAR), "200"),
        (chunk(&longer), "413"),
        (url(65_534), "404"),
        (url(65_535), "414"),
        (url(MAX_HEAD), "431"),
        (
            format!(
                "GET / HTTP/1.1\r\nHost: a\r\nA: {}\r\n\r\n",
                "a".repeat(MAX_HEAD)
            ),
            "431",
        ),
        (
            format!(
                "GET / HTTP/1.1\r\nHost: a\r\n{}\r\n",
                "A: b\r\n".repeat(200)
            ),
            "431",
        ),
    ] {
        let mut caller = Caller::new(limits());
        caller.send(&request).await;
        let answer = caller.answer().await.expect("an answer");
        let start: String = request.chars().take(80).collect();
        assert_eq!(answer.status(), status, "{start}");
    }
}

#[tokio::test(start_paused = true)]
async fn octets_are_counted_in_the_budget() {
    let limits = || Limits {
        session_octets: 40_000,
        ..Limits::default()
    };
    let padded = |length: usize| format!("{WAR}&x-a={}", "a".repeat(length));
    for (request, status) in [
        (post("/cat", FORM, &padded(1_000)), "200"),
        // A decoded request may take up 16 times as much memory as its octets.
        (post("/cat", FORM, &padded(2_500)), "503"),
        // Here, the head alone is too long.
        (get(&format!("/cat?{}", padded(60_000))), "503"),
    ] {
        let mut caller = Caller::new(limits());
        caller.send(&request).await;
        let answer = caller.answer().await.expect("an answer");
        assert_eq!(answer.status(), status, "{}", answer.body);
    }
}

/// Checks that `most` is the smallest memory limit for a session, in octets, with which the request succeeds.
async fn check_octets(target: impl Fn(Limits) -> Target, request: &str, most: usize) {
    for (session_octets, status) in [(most, "200"), (most - 1, "503")] {
        let limits = Limits {
            session_octets,
            ..Limits::default()
        };
        let mut caller = Caller::on(target(limits), Faults::new(), None);
        caller.send(request).await;
        let answer = caller.answer().await.expect("an answer");
        assert_eq!(answer.status(), status, "{session_octets}: {}", answer.body);
        if status == "503" {
            assert!(answer.body.contains("session-octets"), "{}", answer.body);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_records_of_an_answer_count_twice_before_they_are_written() {
    let target = |limits| {
        let long = record("id7", &"a".repeat(9_000));
        let records = MemoryBackend::builder().add_records("cat", [long]);
        Target::new(Arc::new(records.expect("a record").build()), limits)
    };
    let request = get("/cat?query=rec.id%3Did7&maximumRecords=1");
    let mut caller = Caller::on(target(Limits::default()), Faults::new(), None);
    caller.send(&request).await;
    let body = caller.answer().await.expect("an answer").body;
    let (_, rest) = body.split_once("recordData>").expect("a record");
    let (data, _) = rest.split_once("</zs:recordData>").expect("an end");
    let taken = 2 * (data.len() + size_of::<SruRecord>());
    check_octets(target, &request, taken).await;
}

#[tokio::test(start_paused = true)]
async fn the_body_of_an_answer_counts() {
    let mut caller = Caller::new(Limits::default());
    let described = caller.get("/cat").await;
    let target = |limits| Target::new(catalogue(), limits);
    check_octets(target, &get("/cat"), described.body.len()).await;
}

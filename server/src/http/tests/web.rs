//! Tests of requests other than SRU: their handler, their bodies, and their sessions with the server.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::{SinkExt, StreamExt, stream};
use tokio_util::codec::Framed;
use z3950_asn1::apdu::Apdu;
use z3950_asn1::codec;
use z3950_asn1::codec::frame::ApduCodec;

use super::*;
use crate::connection::slots::{Entrance, Slots};
use crate::requests::{init, search};
use crate::web::{Web, WebAnswering, WebBody, WebClient, WebRequest, http, is_sru};

/// A handler that answers paths that begin with `/web`, and URLs for a gateway.
#[derive(Default)]
struct Pages {
    /// The number of parts of bodies that were requested.
    parts: Arc<AtomicUsize>,
    /// The number of bodies that were dropped.
    dropped: Arc<AtomicUsize>,
}

struct Dropped(Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Web for Pages {
    fn takes(&self, head: &http::request::Parts) -> bool {
        let is_foreign = head.uri.scheme_str().is_some_and(|name| name != "http");
        let path = head.uri.path();
        is_foreign || path.starts_with("/web") && !is_sru(head.uri.query().unwrap_or_default())
    }

    fn answer(&self, request: WebRequest) -> WebAnswering<'_> {
        let dropped = Dropped(Arc::clone(&self.dropped));
        let asked = Arc::clone(&self.parts);
        Box::pin(async move {
            let WebRequest { head, body, client } = request;
            let body: WebBody = match head.uri.path() {
                "/web/never" => {
                    sleep(Duration::from_secs(3600)).await;
                    drop(dropped);
                    "".into()
                }
                "/web/parts" => {
                    let wait = head
                        .uri
                        .query()
                        .map_or(10, |query| query.parse().expect("a number"));
                    WebBody::parts(stream::iter([1, 2, 3]).then(move |number| async move {
                        sleep(Duration::from_secs(wait)).await;
                        Bytes::from(format!("part {number};"))
                    }))
                }
                "/web/endless" => WebBody::parts(stream::repeat_with(move || {
                    let _ = &dropped;
                    asked.fetch_add(1, Ordering::Relaxed);
                    Bytes::from(vec![b'x'; 8 << 10])
                })),
                "/web/search" => found(&client).await.into(),
                "/web/sessions" => {
                    let count = head
                        .uri
                        .query()
                        .map_or(0, |query| query.parse().expect("a number"));
                    let sessions = (0..count).map(|_| client.connect());
                    let sessions = futures_util::future::join_all(sessions).await;
                    format!("{} sessions", sessions.len()).into()
                }
                path => {
                    let (host, port) = client.authority();
                    let login = client.login().map(|login| &login.user);
                    format!(
                        "{} {path} {} {host} {port:?} {login:?}",
                        head.method,
                        body.len()
                    )
                    .into()
                }
            };
            http::Response::new(body)
        })
    }
}

/// Searches for `war` in a session opened by the client, and returns the result.
async fn found(client: &WebClient) -> String {
    let mut session = Framed::new(client.connect().await, ApduCodec::new(1 << 20));
    let mut answers = Vec::new();
    for request in [init(), search("war")] {
        let octets = codec::encode(&request).expect("encodes");
        session.send(octets.into()).await.expect("the server reads");
        let answer = session.next().await.expect("an answer");
        let answer = codec::decode(&answer.expect("an APDU"));
        answers.push(answer.expect("a valid answer"));
    }
    match &answers[..] {
        [Apdu::InitializeResponse(_), Apdu::SearchResponse(found)] => {
            format!("{} hits", found.result_count)
        }
        other => panic!("{other:?}"),
    }
}

fn caller(limits: Limits) -> (Caller, Arc<Pages>) {
    caller_with(limits, Faults::new())
}

fn caller_with(limits: Limits, faults: Faults) -> (Caller, Arc<Pages>) {
    let pages = Arc::new(Pages::default());
    let context = Context {
        web: Some(Arc::clone(&pages) as _),
        faults: Arc::new(faults),
        ..Context::new(Target::new(catalogue(), limits))
    };
    (Caller::within(Arc::new(context), None), pages)
}

#[tokio::test(start_paused = true)]
async fn sessions_of_a_request_count_against_the_limit() {
    let limits = Limits {
        sessions: 4,
        ..Limits::default()
    };
    let slots = Slots::new(&limits);
    let enter = || match slots.enter(None) {
        Entrance::Admitted(slot) => Some(slot),
        Entrance::Full(_) | Entrance::Refused => None,
    };
    let context = Context {
        web: Some(Arc::new(Pages::default()) as _),
        ..Context::new(Target::new(catalogue(), limits))
    };
    let mut caller = Caller::within(Arc::new(context), enter());
    // The first web session uses the slot of its connection, so it does not need another slot.
    for (others, sessions) in [(0, 4), (1, 3), (3, 1)] {
        let others: Vec<_> = (0..others).map(|_| enter().expect("room")).collect();
        for slot in &others {
            slot.open();
        }
        let path = |count: usize| format!("/web/sessions?{count}");
        let answer = caller.get(&path(sessions)).await;
        assert_eq!(answer.body, format!("{sessions} sessions"));
        sleep(Duration::from_secs(1)).await;
        assert_eq!(caller.get(&path(sessions + 1)).await.status(), "503");
        sleep(Duration::from_secs(1)).await;
    }
}

/// Returns everything that the server sends until the connection ends.
async fn rest(stream: &mut DuplexStream) -> String {
    let mut octets = Vec::new();
    // An error means that the connection was cut.
    let _ = stream.read_to_end(&mut octets).await;
    String::from_utf8(octets).expect("UTF-8")
}

#[tokio::test(start_paused = true)]
async fn each_request_goes_to_whom_it_is_for() {
    let limits = Limits {
        apdu_size: 100,
        ..Limits::default()
    };
    let basic = "GET /web HTTP/1.1\r\nHost: a:21\r\nAuthorization: Basic YW5uOnNlY3JldA==\r\n\r\n";
    for (request, status, of_body) in [
        (
            get("/web/a%00?q"),
            "200",
            "GET /web/a%00 0 lib.example None None",
        ),
        (
            basic.to_owned(),
            "200",
            "GET /web 0 a Some(21) Some(\"ann\")",
        ),
        (
            get("z39.50r://other.example/cat?id7"),
            "200",
            "GET /cat 0 lib.example",
        ),
        (get("/web?operation=explain"), "404", "<zs:explainResponse"),
        (get("/cat?operation=explain"), "200", "<zs:explainResponse"),
        (
            post("/web", "image/png", "abc"),
            "200",
            "POST /web 3 lib.example",
        ),
        (
            post("/web", FORM, &"a".repeat(100)),
            "200",
            "POST /web 100 ",
        ),
        (post("/web", FORM, &"a".repeat(101)), "413", "100 octets"),
        ("OPTIONS /web HTTP/1.1\r\nHost: a\r\n\r\n".into(), "204", ""),
        (
            "PUT /web HTTP/1.1\r\nHost: a\r\n\r\n".into(),
            "405",
            "methods",
        ),
        ("GET /web HTTP/1.1\r\n\r\n".into(), "400", "Host"),
    ] {
        let (mut caller, _) = caller(limits.clone());
        caller.send(&request).await;
        let answer = caller.answer().await.expect("an answer");
        assert_eq!(answer.status(), status, "{request}");
        assert!(answer.body.contains(of_body), "{request}: {}", answer.body);
        let web = caller
            .metrics
            .operations(OperationKind::Http, OperationOutcome::Ok);
        let is_ok = ["200", "204"].contains(&status) && !of_body.contains("explain");
        assert_eq!(web, u64::from(is_ok), "{request}");
    }
}

#[tokio::test(start_paused = true)]
async fn parts_are_sent_as_they_come() {
    let (mut caller, _) = caller(Limits::default());
    let begun = Instant::now();
    caller.send(get("/web/parts")).await;
    let mut octets = Vec::new();
    for (seconds, part) in [(10, "part 1;"), (20, "part 2;"), (30, "part 3;")] {
        while !String::from_utf8_lossy(&octets).contains(part) {
            octets.push(caller.stream.read_u8().await.expect("an octet"));
        }
        assert_eq!(begun.elapsed().as_secs(), seconds, "{part}");
    }
    while !octets.ends_with(b"0\r\n\r\n") {
        octets.push(caller.stream.read_u8().await.expect("an octet"));
    }
    let head = String::from_utf8(octets).expect("UTF-8").to_lowercase();
    assert!(head.contains("transfer-encoding: chunked"), "{head}");
    // The connection can still be used after an answer in parts.
    assert_eq!(caller.get("/cat").await.status(), "200");
    // The answer to HEAD has neither a length nor a body.
    caller
        .send("HEAD /web/parts HTTP/1.1\r\nHost: a\r\n\r\n")
        .await;
    assert_eq!(caller.answer().await.expect("an answer").body, "");
    assert_eq!(caller.get("/web").await.status(), "200");
}

#[tokio::test(start_paused = true)]
async fn answers_and_parts_are_not_waited_for_without_end() {
    let (mut caller, pages) = caller(Limits::default());
    let begun = Instant::now();
    let answer = caller.get("/web/never").await;
    assert_eq!((answer.status(), begun.elapsed().as_secs()), ("503", 30));
    assert_eq!(pages.dropped.load(Ordering::Relaxed), 1);
    // The parts of the first answer come just in time, and the first part of the second answer comes too late.
    caller.send(get("/web/parts?29")).await;
    caller.send(get("/web/parts?31")).await;
    let begun = Instant::now();
    let text = rest(&mut caller.stream).await;
    assert_eq!(begun.elapsed().as_secs(), 3 * 29 + 30);
    assert_eq!(text.matches("part 3").count(), 1, "{text}");
    assert_eq!(caller.metrics.sessions_ended(SessionEnd::Lost), 1);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_gets_no_further_parts() {
    let (mut caller, pages) = caller(Limits::default());
    let begun = Instant::now();
    caller.send(get("/web/endless")).await;
    (&mut caller.task).await.expect("no panic");
    assert_eq!(begun.elapsed().as_secs(), 30);
    // Only the parts that fit into the pipe and into hyper's buffers are requested.
    let parts = pages.parts.load(Ordering::Relaxed);
    assert!((8..=40).contains(&parts), "{parts}");
    assert_eq!(pages.dropped.load(Ordering::Relaxed), 1);
    assert_eq!(caller.metrics.sessions_ended(SessionEnd::Lost), 1);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_leaves_drops_the_answer() {
    for path in ["/web/never", "/web/endless"] {
        let (mut caller, pages) = caller(Limits::default());
        caller.send(get(path)).await;
        sleep(Duration::from_secs(1)).await;
        assert_eq!(pages.dropped.load(Ordering::Relaxed), 0, "{path}");
        drop(caller.stream);
        let begun = Instant::now();
        caller.task.await.expect("no panic");
        assert!(begun.elapsed() <= Limits::default().drain_time, "{path}");
        assert_eq!(pages.dropped.load(Ordering::Relaxed), 1, "{path}");
    }
    let (mut caller, _) = caller(Limits::default());
    caller.send(get("/web/parts")).await;
    sleep(Duration::from_secs(1)).await;
    drop(caller.stream);
    let begun = Instant::now();
    caller.task.await.expect("no panic");
    assert!(begun.elapsed() <= Limits::default().drain_time);
}

#[tokio::test(start_paused = true)]
async fn a_request_has_its_own_sessions() {
    let limits = Limits {
        sessions_per_request: 2,
        ..Limits::default()
    };
    let (mut caller, _) = caller(limits);
    assert_eq!(caller.get("/web/search").await.body, "2 hits");
    let begun = Instant::now();
    assert_eq!(caller.get("/web/sessions?2").await.body, "2 sessions");
    assert_eq!(begun.elapsed().as_secs(), 0);
    let metrics = Arc::clone(&caller.metrics);
    let searches = metrics.operations(OperationKind::Search, OperationOutcome::Ok);
    assert_eq!(searches, 1);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(metrics.sessions_ended(SessionEnd::Left), 3);
    // A request that opens a third session has to wait until the request times out; then all its sessions end.
    assert_eq!(caller.get("/web/sessions?3").await.status(), "503");
    assert_eq!(begun.elapsed().as_secs(), 31);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(metrics.sessions_ended(SessionEnd::Left), 5);
}

#[tokio::test(start_paused = true)]
async fn faults_strike_answers_in_parts_and_sessions() {
    for (rule, path, expected) in [
        ("on http: html", "/web/parts", "<html"),
        ("on http: cut 12", "/web/parts", "HTTP/1.1 200"),
        ("on search: surrogate 14", "/web/search", "2 hits"),
        ("on search: fail 2", "/web/search", "0 hits"),
    ] {
        let faults = Faults::new().with(rule.parse().expect("a rule"));
        let (mut caller, _) = caller_with(Limits::default(), faults);
        caller
            .send(get(path).replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"))
            .await;
        let text = rest(&mut caller.stream).await;
        assert!(
            text.to_lowercase().contains(&expected.to_lowercase()),
            "{rule}: {text}"
        );
        if rule.contains("cut") {
            assert_eq!(text.len(), 12, "{text}");
        }
    }
}

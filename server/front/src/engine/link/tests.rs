//! Tests of invalid answers, of servers that fail, and of the requests that other servers then receive.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rcgen::{CertificateParams, CertifiedIssuer, KeyPair, date_time_ymd};
use serde_json::json;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use z3950::Pem;
use z3950_server::lock;

use super::server::PAUSE;
use super::*;
use crate::engine::link::fake::{FakeAnswer, FakeNode, FakeRequest};

/// A time limit that no answer in the tests exceeds.
const LONG: Duration = Duration::from_secs(60);
/// A time limit that expires before any answer arrives.
const SHORT: Duration = Duration::from_millis(50);
const LIMIT: usize = 100_000;

fn sound(_: &FakeRequest) -> FakeAnswer {
    FakeAnswer::Json(200, json!({ "took": 1 }))
}

fn link(nodes: &[&FakeNode], time: Duration) -> Link {
    let addresses: Vec<_> = nodes.iter().map(|node| node.address()).collect();
    Link::new(&addresses, 4, time)
}

async fn asked(link: &Link) -> Result<Value, Failure> {
    link.search("books", "", &json!({ "size": 0 }), LIMIT).await
}

/// Returns the name of a failure without its fields.
fn name(answer: &Result<Value, Failure>) -> String {
    let text = match answer {
        Ok(_) => "Ok".to_owned(),
        Err(failure) => format!("{failure:?}"),
    };
    let end = text.find([' ', '{']).unwrap_or(text.len());
    text[..end].to_owned()
}

#[tokio::test]
async fn answers_that_are_none_are_failures_that_no_other_server_is_asked_about() {
    let html = "<html><title>Sign in</title></html>";
    let long = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(1 << 17));
    let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let endless = [
        &chunked[..],
        b"400\r\n",
        "x".repeat(1024).as_bytes(),
        b"\r\n",
    ]
    .concat();
    let chunk = ["400\r\n", &"x".repeat(1024), "\r\n"].concat();
    let moved = "Location: http://127.0.0.1:1/\r\n";
    let shape = json!({ "error": "IndexNotFoundException[no such index]", "status": 404 });
    for (answer, expected) in [
        (FakeAnswer::of("text/html", html), "NotJson"),
        (FakeAnswer::with("502 Bad Gateway", "", html), "NotJson"),
        (FakeAnswer::with("200 OK", "", ""), "NotJson"),
        (FakeAnswer::of("application/json", "[1]"), "NotJson"),
        (FakeAnswer::of("application/json", "{\"a\":1"), "NotJson"),
        (
            FakeAnswer::of("application/json", &"[".repeat(10_000)),
            "NotJson",
        ),
        (
            FakeAnswer::with("200 OK", "Content-Encoding: gzip\r\n", "{}"),
            "NotJson",
        ),
        (
            FakeAnswer::with("301 Moved Permanently", moved, ""),
            "NotJson",
        ),
        (
            FakeAnswer::with("401 Unauthorized", "WWW-Authenticate: Basic\r\n", ""),
            "NotJson",
        ),
        (
            FakeAnswer::Json(401, json!({ "error": { "type": "security_exception" } })),
            "Refused",
        ),
        (FakeAnswer::Json(404, shape), "Refused"),
        (FakeAnswer::Json(500, json!({})), "Refused"),
        (
            FakeAnswer::Cut(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{}".to_vec()),
            "ClosedWithoutAnswer",
        ),
        (
            FakeAnswer::Cut([&chunked[..], b"2\r\n{}\r\n"].concat()),
            "ClosedWithoutAnswer",
        ),
        (FakeAnswer::Cut(Vec::new()), "ClosedWithoutAnswer"),
        (
            FakeAnswer::Cut(b"SSH-2.0-x\r\n".to_vec()),
            "ClosedWithoutAnswer",
        ),
        (FakeAnswer::Octets(long.into_bytes()), "ClosedWithoutAnswer"),
        (FakeAnswer::Endless(endless, chunk.into_bytes()), "TooLarge"),
        (
            FakeAnswer::of(
                "application/json",
                &format!("{{\"a\":\"{}\"}}", "x".repeat(LIMIT)),
            ),
            "TooLarge",
        ),
    ] {
        let described = format!("{answer:.100?}");
        // A server that answers with something unexpected does not count as unreachable.
        let first = FakeNode::start(move |request| match &*request.path {
            "/" => sound(request),
            _ => answer.clone(),
        })
        .await;
        let second = FakeNode::start(sound).await;
        let link = link(&[&first, &second], LONG);
        let failed = asked(&link).await;
        assert_eq!(name(&failed), expected, "{described}");
        let searches = first.asked().into_iter();
        let searches = searches.filter(|request| request.path != "/");
        assert_eq!(
            (searches.count(), second.asked().len()),
            (1, 0),
            "{described}"
        );
    }
}

#[tokio::test]
async fn messages_of_a_server_are_shortened_to_one_line() {
    let reason = format!("no\r\n\u{1b}[31m{}", "x".repeat(10_000));
    let error = json!({ "root_cause": [{ "type": "a", "reason": reason }], "type": "b" });
    let node = FakeNode::start(move |_| FakeAnswer::Json(400, json!({ "error": error }))).await;
    let failed = asked(&link(&[&node], LONG)).await.expect_err("refused");
    let words = failed.to_string();
    assert!(
        words.contains("400 a: no\u{fffd}\u{fffd}\u{fffd}[31mxxx"),
        "{words}"
    );
    assert!(
        words.len() < 500 && !words.contains(char::is_control),
        "{words}"
    );
}

#[tokio::test]
async fn a_server_with_too_much_to_do_is_followed_by_one_other() {
    let busy = |_: &FakeRequest| {
        FakeAnswer::with("429 Too Many Requests", "Retry-After: 7\r\n", "please wait")
    };
    let unavailable =
        |_: &FakeRequest| FakeAnswer::Json(503, json!({ "error": { "reason": "no" } }));
    let nodes = [
        FakeNode::start(busy).await,
        FakeNode::start(unavailable).await,
    ];
    let last = FakeNode::start(sound).await;
    let [busy, unavailable] = &nodes;
    let both = asked(&link(&[busy, unavailable, &last], LONG)).await;
    assert_eq!(name(&both), "TooBusy");
    assert_eq!(last.asked().len(), 0);
    assert_eq!(name(&asked(&link(&[busy, &last], LONG)).await), "Ok");
    let Err(Failure::TooBusy {
        retry_after,
        status,
        ..
    }) = asked(&link(&[busy], LONG)).await
    else {
        panic!("too busy");
    };
    assert_eq!((retry_after, status), (Some(Duration::from_secs(7)), 429));
}

/// Returns the answer from a node while the shards of a lost node move to other nodes.
fn without_shards() -> Value {
    json!({
        "error": {
            "root_cause": [],
            "type": "search_phase_execution_exception",
            "reason": "",
            "phase": "query",
            "failed_shards": [],
        },
        "status": 500,
    })
}

#[tokio::test]
async fn a_search_that_no_shard_answers_goes_to_one_other_server() {
    let lost = FakeNode::start(|_: &FakeRequest| FakeAnswer::Json(500, without_shards())).await;
    let last = FakeNode::start(sound).await;
    assert_eq!(name(&asked(&link(&[&lost], LONG)).await), "NoShard");
    assert_eq!(name(&asked(&link(&[&lost, &last], LONG)).await), "Ok");

    let several = |answer: Value| {
        move |_: &FakeRequest| FakeAnswer::Json(200, json!({ "responses": [answer] }))
    };
    let lost = FakeNode::start(several(without_shards())).await;
    let last = FakeNode::start(several(json!({ "took": 1 }))).await;
    let link = link(&[&lost, &last], LONG);
    let search = [(json!({}), json!({}))];
    for _ in 0..2 {
        let answers = link.searches(&search, LIMIT).await;
        assert_eq!(answers, Ok(vec![json!({ "took": 1 })]));
    }
    assert_eq!((lost.asked().len(), last.asked().len()), (2, 2));
}

/// Returns an answer that lacks the records from a node that was lost during the search, or before it.
fn without_a_node(kind: &str) -> Value {
    json!({ "_shards": {
        "total": 3, "successful": 2, "failed": 1,
        "failures": [{ "shard": 1, "reason": { "type": kind, "reason": "[n2] disconnected" } }],
    }})
}

#[tokio::test]
async fn audit_r_l1_a_search_that_lost_a_node_on_the_way_is_sent_once_more() {
    for (kind, requests) in [
        ("node_disconnected_exception", 2),
        ("node_not_connected_exception", 2),
        ("circuit_breaking_exception", 1),
    ] {
        let alone =
            FakeNode::start(move |_: &FakeRequest| FakeAnswer::Json(200, without_a_node(kind)));
        let alone = alone.await;
        assert_eq!(
            asked(&link(&[&alone], LONG)).await,
            Ok(without_a_node(kind))
        );
        assert_eq!(alone.asked().len(), requests, "{kind}");

        let several = move |_: &FakeRequest| {
            FakeAnswer::Json(200, json!({ "responses": [without_a_node(kind)] }))
        };
        let alone = FakeNode::start(several).await;
        let search = [(json!({}), json!({}))];
        let answers = link(&[&alone], LONG).searches(&search, LIMIT).await;
        assert_eq!(answers, Ok(vec![without_a_node(kind)]));
        assert_eq!(alone.asked().len(), requests, "{kind}");
    }
    let lost = |_: &FakeRequest| FakeAnswer::Json(200, without_a_node(LOST_NODE[0]));
    let (lost, sound) = (FakeNode::start(lost).await, FakeNode::start(sound).await);
    assert_eq!(name(&asked(&link(&[&lost, &sound], LONG)).await), "Ok");
    assert_eq!((lost.asked().len(), sound.asked().len()), (1, 1));
}

/// A cluster needs a moment to detect the loss of a node. Until then, it is possible that no shard answers, whichever
/// server is used.
#[tokio::test]
async fn audit_r_l1_a_search_is_sent_until_the_cluster_has_noticed_that_a_node_is_lost() {
    tokio::time::pause();
    for unsettled in 0..=SETTLING_TIMES.len() + 1 {
        let asked_before = AtomicUsize::default();
        let node = FakeNode::start(move |_: &FakeRequest| {
            if asked_before.fetch_add(1, Ordering::Relaxed) < unsettled {
                FakeAnswer::Json(500, without_shards())
            } else {
                FakeAnswer::Json(200, json!({ "took": 1 }))
            }
        });
        let node = node.await;
        let is_answered = unsettled <= SETTLING_TIMES.len();
        let expected = if is_answered { "Ok" } else { "NoShard" };
        assert_eq!(name(&asked(&link(&[&node], LONG)).await), expected);
        assert_eq!(node.asked().len(), unsettled + usize::from(is_answered));
    }
    // A shard that refuses a search would refuse it again, so the search is not repeated.
    let refused = json!([{ "type": "illegal_argument_exception", "reason": "no" }]);
    let mut error = without_shards();
    error["error"]["root_cause"] = refused;
    let node = FakeNode::start(move |_: &FakeRequest| FakeAnswer::Json(500, error.clone())).await;
    assert_eq!(name(&asked(&link(&[&node], LONG)).await), "Refused");
    assert_eq!(node.asked().len(), 1);
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_is_left_alone_for_a_while() {
    let nodes = [FakeNode::start(sound).await, FakeNode::start(sound).await];
    let [gone, other] = nodes;
    let link = link(&[&gone, &other], LONG);
    drop(gone);
    for _ in 0..4 {
        assert_eq!(name(&asked(&link).await), "Ok");
    }
    let ups: Vec<_> = link
        .counts()
        .iter()
        .map(|count| (count.failures, count.is_up))
        .collect();
    assert_eq!(ups, [(1, false), (0, true)]);
    let is_rested = || link.in_turn().next().map(|first| first.has_failed());
    for _ in 0..4 {
        assert_eq!(is_rested(), Some(false));
    }
    tokio::time::pause();
    tokio::time::advance(PAUSE).await;
    assert!(link.servers.iter().all(|server| !server.has_failed()));
}

#[tokio::test]
async fn a_server_that_is_killed_while_it_answers_is_followed_by_another() {
    let running: Arc<Mutex<Option<FakeNode>>> = Arc::default();
    let killed = Arc::clone(&running);
    let first = FakeNode::start(move |_| {
        drop(lock(&killed).take());
        FakeAnswer::Cut(Vec::new())
    })
    .await;
    let second = FakeNode::start(sound).await;
    let link = link(&[&first, &second], LONG);
    *lock(&running) = Some(first);
    let change = Draft::change(Method::PUT, "/books", &json!({}));
    assert_eq!(name(&asked(&link).await), "Ok");
    assert_eq!(second.asked().len(), 1);
    assert_eq!(name(&link.ask(&change).await), "Ok");
}

/// While a program is being killed, the system may briefly continue to accept connections for it.
#[tokio::test]
async fn a_server_that_accepts_connections_and_answers_none_is_followed_by_another() {
    let first = FakeNode::start(|_: &FakeRequest| FakeAnswer::Cut(Vec::new())).await;
    let second = FakeNode::start(sound).await;
    assert_eq!(name(&asked(&link(&[&first, &second], LONG)).await), "Ok");
    assert_eq!(second.asked().len(), 1);
}

#[tokio::test]
async fn an_answer_that_is_late_or_slow_is_requested_once_more() {
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{";
    for begun in [Vec::new(), head.to_vec()] {
        let hang = move |_: &FakeRequest| FakeAnswer::Hang(begun.clone());
        let first = FakeNode::start(hang.clone()).await;
        let second = FakeNode::start(hang).await;
        let third = FakeNode::start(sound).await;
        let late = asked(&link(&[&first, &second, &third], SHORT)).await;
        assert_eq!(name(&late), "Late");
        assert_eq!(third.asked().len(), 0);
        assert_eq!(name(&asked(&link(&[&first, &third], SHORT)).await), "Ok");
        // The change may have been made, so it is not sent again.
        let change = Draft {
            time: Some(SHORT),
            ..Draft::change(Method::PUT, "/books", &json!({}))
        };
        let link = link(&[&second, &third], LONG);
        assert_eq!(name(&link.ask(&change).await), "Late");
        assert_eq!(third.asked().len(), 1);
    }
}

/// A failure from a server that was reached is more informative than failures to reach other servers.
#[tokio::test]
async fn audit_r_l1_the_failure_of_a_server_that_was_reached_is_reported() {
    let hanging = FakeNode::start(|_: &FakeRequest| FakeAnswer::Hang(Vec::new())).await;
    let gone = FakeNode::start(sound).await;
    let link = link(&[&hanging, &gone], SHORT);
    drop(gone);
    for _ in 0..2 {
        assert_eq!(name(&asked(&link).await), "Late");
    }
}

#[tokio::test]
async fn a_request_that_is_dropped_closes_its_connection() {
    let node = FakeNode::start(|_| FakeAnswer::Hang(Vec::new())).await;
    let link = link(&[&node], LONG);
    let search = tokio::time::timeout(SHORT, asked(&link)).await;
    assert!(search.is_err());
    node.closed().await;
    let late = tokio::time::timeout(SHORT, asked(&link)).await;
    assert!(late.is_err());
    assert_eq!(node.connections(), 2);
}

#[tokio::test]
async fn a_connection_is_kept_until_the_server_closes_it() {
    let node = FakeNode::start(|request| {
        let octets = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}".to_vec();
        if request.path.contains("last") {
            FakeAnswer::Cut(octets)
        } else {
            FakeAnswer::Octets(octets)
        }
    })
    .await;
    let link = link(&[&node], LONG);
    for path in ["/a", "/a", "/last", "/a", "/a"] {
        assert_eq!(name(&link.ask(&Draft::read(path, LIMIT)).await), "Ok");
        while path == "/last" && link.servers[0].is_connected() {
            tokio::task::yield_now().await;
        }
    }
    assert_eq!((node.asked().len(), node.connections()), (5, 2));
}

#[tokio::test]
async fn all_connections_may_be_in_use() {
    let node = FakeNode::start(|_| FakeAnswer::Hang(Vec::new())).await;
    let link = Arc::new(Link::new(&[node.address()], 1, SHORT));
    let first = tokio::spawn({
        let link = Arc::clone(&link);
        async move {
            let mut draft = Draft::read("/", LIMIT);
            draft.time = Some(LONG);
            link.ask(&draft).await
        }
    });
    while node.asked().is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(name(&asked(&link).await), "Busy");
    first.abort();
}

#[tokio::test]
async fn credentials_are_sent_and_in_no_error() {
    let node = FakeNode::start(|request| match request.field("authorization") {
        Some("Basic YTpi") => FakeAnswer::Json(200, json!({})),
        _ => FakeAnswer::Json(401, json!({ "error": { "type": "security_exception" } })),
    })
    .await;
    let with = |text: &str| {
        let access = ClusterAccess {
            credentials: Some(text.parse().expect("credentials")),
            ..ClusterAccess::default()
        };
        Link::with_access(&[node.address()], &access, 1, LONG).expect("a link")
    };
    assert_eq!(name(&asked(&with("a:b")).await), "Ok");
    let link = with("ApiKey c2VjcmV0");
    let refused = asked(&link).await.expect_err("refused");
    let shown = format!("{refused} {refused:?} {link:?}");
    assert!(!shown.contains("c2Vj"), "{shown}");
}

/// Returns an acceptor with a certificate for a name, and the certificate of its issuer.
fn certified(name: &str, year: i32) -> (TlsAcceptor, String) {
    let key = || KeyPair::generate().expect("a key");
    let mut issuer = CertificateParams::default();
    issuer.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(issuer, key()).expect("an issuer");
    let own = key();
    let mut params = CertificateParams::new([name.to_owned()]).expect("a name");
    params.not_before = date_time_ymd(2000, 1, 1);
    params.not_after = date_time_ymd(year, 1, 1);
    let certificate = params.signed_by(&own, &issuer).expect("signed");
    let provider = Arc::new(ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::Pkcs8(own.serialize_der().into()),
        );
    let acceptor = TlsAcceptor::from(Arc::new(config.expect("a certificate")));
    (acceptor, issuer.pem())
}

#[tokio::test]
async fn certificates_are_checked() {
    for (name_in_certificate, year, is_trusted, expected) in [
        ("127.0.0.1", 4000, true, "Ok"),
        ("127.0.0.1", 4000, false, "Unreachable"),
        ("127.0.0.1", 2001, true, "Unreachable"),
        ("other.example", 4000, true, "Unreachable"),
    ] {
        let (acceptor, issuer) = certified(name_in_certificate, year);
        let (_, other) = certified(name_in_certificate, year);
        let node = FakeNode::listen(Some(acceptor), sound).await;
        let access = ClusterAccess {
            ca: Some(Pem::text(if is_trusted { issuer } else { other })),
            credentials: Some("a:b".parse().expect("credentials")),
        };
        let mut address = node.address();
        address.is_secure = true;
        let link = Link::with_access(&[address], &access, 1, LONG).expect("a link");
        let answer = asked(&link).await;
        assert_eq!(
            name(&answer),
            expected,
            "{name_in_certificate} {year} {answer:?}"
        );
        // If the certificate is not trusted, nothing is sent to the server.
        assert_eq!(node.asked().is_empty(), expected != "Ok");
    }
    let plain = FakeNode::start(sound).await;
    let mut address = plain.address();
    address.is_secure = true;
    let access = ClusterAccess::default();
    let link = Link::with_access(&[address], &access, 1, LONG);
    // If the system has no trusted authorities, even creating the link fails.
    if let Ok(link) = link {
        assert_eq!(name(&asked(&link).await), "Unreachable");
    }
}

//! Tests of retrieval through scripted gateways. They check the requests that are sent, and the outcome for each
//! response from a gateway.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use z3950_asn1::oid::{self, Oid};

use super::{Gateway, GatewayAddressError};
use crate::client::{Client, ClientOptions};
use crate::error::chain;
use crate::retrieve::Outcome;
use crate::transport::{BoxStream, Connect, Connecting, Routes, Timeouts};
use crate::url::{Host, Mode, Z3950Url};

const URL: &str = "z39.50r://lib.example/books+maps?id7;esn=f;rs=marc";

/// A gateway that sends prepared responses in order. It records the request lines and the headers Accept and
/// Authorization that it receives.
#[derive(Clone, Default)]
struct Peer {
    answers: Arc<Mutex<VecDeque<Vec<u8>>>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Peer {
    fn new<const N: usize>(answers: [String; N]) -> Self {
        let peer = Self::default();
        let octets = answers.map(String::into_bytes);
        peer.answers.lock().expect("no panic").extend(octets);
        peer
    }

    fn client(&self, gateway: &str) -> Client {
        let routes = Routes::fixed(self.clone());
        let client = Client::with_routes(ClientOptions::default(), routes);
        client.with_gateway(gateway.parse().expect("a gateway"))
    }

    async fn outcome(&self, url: &str) -> Outcome {
        let url = Z3950Url::parse(url, Mode::Lenient).expect("a URL");
        let client = self.client("http://gw.example/");
        client.retrieve(&url).await.expect("a plan").outcome
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("no panic").clone()
    }
}

impl Connect for Peer {
    fn connect<'a>(&'a self, host: &'a Host, port: u16, _: &'a Timeouts) -> Connecting<'a> {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let line = format!("connect {host}:{port}");
        self.asked.lock().expect("no panic").push(line);
        tokio::spawn(play(theirs, self.clone()));
        Box::pin(async move { Ok(Box::new(ours) as BoxStream) })
    }
}

async fn play(mut stream: tokio::io::DuplexStream, peer: Peer) {
    let mut head = Vec::new();
    while let Ok(octet) = stream.read_u8().await {
        head.push(octet);
        if !head.ends_with(b"\r\n\r\n") {
            continue;
        }
        let text = String::from_utf8(std::mem::take(&mut head)).expect("text");
        let wanted = |line: &&str| {
            let line = line.to_ascii_lowercase();
            ["get ", "accept:", "authorization:"]
                .iter()
                .any(|begin| line.starts_with(begin))
        };
        let lines = text.lines().filter(wanted).map(str::to_owned);
        peer.asked.lock().expect("no panic").extend(lines);
        let answer = peer.answers.lock().expect("no panic").pop_front();
        let Some(answer) = answer else { return };
        stream.write_all(&answer).await.expect("sent");
    }
}

fn answer(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n{headers}\r\n\r\n{body}")
}

fn problem(status: &str, body: &str) -> String {
    answer(status, "Content-Type: application/problem+json", body)
}

#[tokio::test]
async fn the_url_is_asked_of_the_gateway_and_connections_are_kept() {
    let marc = || answer("200 OK", "Content-Type: application/marc", "00000nam");
    let peer = Peer::new([marc(), marc()]);
    let client = peer.client("https://ann:s%20e@gw.example/z");
    for url in [
        URL,
        "z39.50r://eve:secret@lib.example:2100/a%2Fb?x%26y;rs=xml",
    ] {
        client.get(url).await.expect("a record");
    }
    let asked = peer.asked();
    let lines: Vec<&str> = asked.iter().map(String::as_str).collect();
    assert_eq!(lines[0], "connect gw.example:443");
    assert_eq!(
        lines[1],
        "GET /z/get?url=z39.50r%3A%2F%2Flib.example%2Fbooks%2Bmaps%3Fid7%3Besn%3Df%3Brs%3Dusmarc HTTP/1.1"
    );
    assert_eq!(lines[2], format!("accept: {}", super::MARC_FIRST));
    assert_eq!(lines[3], "authorization: Basic YW5uOnMgZQ==");
    assert_eq!(
        lines[4],
        "GET /z/get?url=z39.50r%3A%2F%2Flib.example%3A2100%2Fa%252Fb%3Fx%2526y%3Brs%3Dxml HTTP/1.1"
    );
    assert_eq!(lines[5], format!("accept: {}", super::XML_FIRST));
    assert_eq!(lines.len(), 7, "{lines:?}");
}

#[tokio::test]
async fn records_have_the_syntax_of_their_media_type() {
    async fn syntax(url: &str, media_type: &str) -> Result<(Oid, bool), String> {
        let peer = Peer::new([answer(
            "200 OK",
            &format!("Content-Type: {media_type}"),
            "abc",
        )]);
        match peer.outcome(url).await {
            Outcome::Delivered(delivered) => {
                Ok((delivered.syntax.expect("a syntax"), delivered.mismatch))
            }
            outcome => Err(outcome.to_string()),
        }
    }
    for (rs, media_type, expected, mismatch) in [
        ("marc", "application/marc", oid::USMARC, false),
        (
            "marc",
            "Application/MARC; charset=UTF-8",
            oid::USMARC,
            false,
        ),
        ("unimarc", "application/marc", oid::UNIMARC, false),
        ("xml", "application/marc", oid::USMARC, true),
        ("xml", "application/marcxml+xml", oid::XML, false),
        ("marc", "text/xml", oid::XML, true),
        ("sutrs", "text/plain;charset=utf-8", oid::SUTRS, false),
    ] {
        let url = format!("z39.50r://lib.example/books?id7;rs={rs}");
        assert_eq!(
            syntax(&url, media_type).await,
            Ok((expected, mismatch)),
            "{rs} as {media_type}"
        );
    }
    let page = syntax(URL, "text/html").await;
    let words =
        "no gateway answers at this address: an answer of type text/html, which is not a record"
            .to_owned();
    assert_eq!(page, Err(words));
}

#[tokio::test]
async fn statuses_are_the_outcomes_of_a_retrieval() {
    let refused = r#"{"outcome":"search refused","diagnostic":{"set":"1.2.840.10003.4.1","code":109,"text":"x","addinfo":"maps"}}"#;
    let surrogate =
        r#"{"outcome":"record refused","diagnostic":{"set":"1.2.840.10003.4.1","code":14}}"#;
    for (sent, name, words) in [
        (
            problem("404 Not Found", r#"{"outcome":"no match"}"#),
            "no match",
            "no record matches",
        ),
        (
            answer("404 Not Found", "Content-Type: text/html", "<h1>no</h1>"),
            "protocol error",
            "no gateway answers at this address: HTTP status 404 Not Found",
        ),
        (
            problem("300 Multiple Choices", r#"{"hits":7}"#),
            "ambiguous",
            "7 records match, so none is delivered",
        ),
        // The client does not follow the location, because the user has to choose.
        (
            answer("300 Multiple Choices", "Location: /one", ""),
            "ambiguous",
            "2 records match, so none is delivered",
        ),
        (
            answer(
                "400 Bad Request",
                "Content-Type: text/plain",
                "the port\n is\tout of range\n",
            ),
            "not sent",
            "the gateway does not accept the URL: the port is out of range",
        ),
        (
            problem(
                "403 Forbidden",
                r#"{"outcome":"access refused","detail":"not this host"}"#,
            ),
            "access refused",
            "the gateway does not allow this: not this host",
        ),
        (
            problem("502 Bad Gateway", refused),
            "search refused",
            "Search failed: diagnostic 109 (the database is not available): maps",
        ),
        (
            problem("502 Bad Gateway", surrogate),
            "record refused",
            "the server sent diagnostic 14 (the server could not deliver a record) instead of the record",
        ),
        (
            problem("502 Bad Gateway", "[1, {\"outcome\":"),
            "search refused",
            "the server refused the gateway: HTTP status 502 Bad Gateway",
        ),
        (
            problem(
                "504 Gateway Timeout",
                r#"{"outcome":"unavailable","detail":"cannot connect"}"#,
            ),
            "unavailable",
            "the gateway has no answer from the server: cannot connect",
        ),
        (
            answer("429 Too Many Requests", "Retry-After: 5", ""),
            "unavailable",
            "the server cannot answer Search for the moment: HTTP status 429 Too Many Requests; the server asks to wait 5 s",
        ),
        (
            answer("302 Found", "Location: http://other.example/", ""),
            "protocol error",
            "protocol error during Search: redirected to http://other.example/, which is another server",
        ),
        (
            answer(
                "206 Partial Content",
                "Content-Type: application/marc",
                "00026     2200025   4500\u{1e}\u{1d}",
            ),
            "protocol error",
            "no gateway answers at this address: HTTP status 206 Partial Content",
        ),
        (
            answer("200 OK", "Content-Encoding: gzip", ""),
            "protocol error",
            "protocol error during Search: the answer is encoded as gzip, which was not asked for",
        ),
    ] {
        let outcome = Peer::new([sent.clone()]).outcome(URL).await;
        assert_eq!(outcome.name().as_str(), name, "{sent}");
        let found = match &outcome {
            Outcome::Failed(error) => chain(error),
            outcome => outcome.to_string(),
        };
        assert_eq!(found, words, "{sent}");
    }
}

#[tokio::test]
async fn records_are_bounded() {
    let octets = 16 << 20;
    for (length, is_delivered) in [(octets, true), (octets + 1, false)] {
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/marc\r\nContent-Length: {length}\r\n\r\n"
        );
        let peer = Peer::new([head + &"x".repeat(length)]);
        let outcome = peer.outcome(URL).await;
        assert_eq!(matches!(outcome, Outcome::Delivered(_)), is_delivered);
    }
}

#[test]
fn addresses_are_urls_of_http_without_parameters() {
    for (text, shown) in [
        ("http://gw.example", "http://gw.example/"),
        ("HTTP://GW.example:80/", "http://gw.example/"),
        (
            "https://ann:x@gw.example:8443/a/b//",
            "https://gw.example:8443/a/b/",
        ),
    ] {
        let gateway: Gateway = text.parse().expect("a gateway");
        assert_eq!(gateway.to_string(), shown);
        assert!(!format!("{gateway:?}").contains("x@"));
    }
    for text in ["gw.example", "ftp://gw.example/", "z39.50s://gw.example/"] {
        assert_eq!(
            text.parse::<Gateway>(),
            Err(GatewayAddressError::Scheme),
            "{text}"
        );
    }
    let error = "http://gw.example/get?url=".parse::<Gateway>();
    assert_eq!(
        error.expect_err("parameters").to_string(),
        "the address of a gateway ends with its path: write http://gw.example/get/"
    );
    assert!("http://a b/".parse::<Gateway>().is_err());
}

//! Tests of HTTP connections over a pipe in memory, with a paused clock.

mod faults;
mod guesses;
mod hostile;
mod limits;
mod mutation;
mod web;

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::*;
use crate::backend::Backend;
use crate::connection::slots::Slot;
use crate::fault::Faults;
use crate::limits::Limits;
use crate::metrics::{Metrics, OperationKind, OperationOutcome};
use crate::observer::Peer;
use crate::requests::catalogue;
use crate::target::Target;

/// The client's side of a connection.
struct Caller {
    stream: DuplexStream,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
    metrics: Arc<Metrics>,
}

/// An answer: the status line and headers in lower case, and the body.
struct Answer {
    head: String,
    body: String,
}

impl Answer {
    fn status(&self) -> &str {
        let words = self.head.split(' ').nth(1);
        words.unwrap_or_default()
    }
}

/// The capacity of the pipe between client and server, in octets.
const CAPACITY: usize = 1 << 16;

impl Caller {
    fn new(limits: Limits) -> Self {
        Self::on(Target::new(catalogue(), limits), Faults::new(), None)
    }

    fn of(backend: Arc<dyn Backend>, limits: Limits) -> Self {
        Self::on(Target::new(backend, limits), Faults::new(), None)
    }

    fn on(target: Target, faults: Faults, slot: Option<Slot>) -> Self {
        Self::within(context(target, faults), slot)
    }

    fn within(context: Arc<Context>, slot: Option<Slot>) -> Self {
        let (ours, theirs) = tokio::io::duplex(CAPACITY);
        let (stop, stopping) = watch::channel(false);
        let client = Client {
            number: 1,
            peer: Peer::Unix,
            begun: Instant::now(),
            slot,
            speaks_http: true,
        };
        let metrics = Arc::clone(&context.metrics);
        let counted = Arc::clone(&metrics);
        let observer = Arc::clone(&context.observer);
        let task = tokio::spawn(async move {
            let mut tally = Tally::new(1, Peer::Unix, counted, observer, stopping.clone());
            let (mut theirs, octets) = (theirs, Bytes::new());
            serve(
                &mut theirs,
                octets,
                &client,
                &context,
                &stopping,
                &mut tally,
            )
            .await;
        });
        Self {
            stream: ours,
            stop,
            task,
            metrics,
        }
    }

    async fn send(&mut self, octets: impl AsRef<[u8]>) {
        let sent = self.stream.write_all(octets.as_ref()).await;
        sent.expect("the server listens");
    }

    /// Sends a GET for a path, and returns the answer.
    async fn get(&mut self, path: &str) -> Answer {
        self.send(get(path)).await;
        self.answer().await.expect("an answer")
    }

    /// Reads the next answer; `None` if the connection has ended.
    async fn answer(&mut self) -> Option<Answer> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            match self.stream.read_u8().await {
                Ok(octet) => head.push(octet),
                Err(_) => {
                    assert_eq!(head, b"", "half a head");
                    return None;
                }
            }
        }
        let head = String::from_utf8(head).expect("text").to_lowercase();
        let length = head.split("content-length: ").nth(1);
        let length = length.map_or("0", |rest| rest.split('\r').next().unwrap_or_default());
        let mut body = vec![0; length.parse().expect("a length")];
        let read = self.stream.read_exact(&mut body).await;
        read.expect("the complete body");
        let body = String::from_utf8(body).expect("UTF-8");
        Some(Answer { head, body })
    }
}

fn context(target: Target, faults: Faults) -> Arc<Context> {
    Arc::new(Context {
        faults: Arc::new(faults),
        ..Context::new(target)
    })
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: lib.example\r\n\r\n")
}

fn post(path: &str, kind: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nHost: lib.example\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

const FORM: &str = "application/x-www-form-urlencoded";
const WAR: &str = "version=1.1&operation=searchRetrieve&query=war&maximumRecords=1";
const SOAP: &str = r#"<SOAP:Envelope xmlns:SOAP="http://schemas.xmlsoap.org/soap/envelope/"><SOAP:Body>
    <zs:searchRetrieveRequest xmlns:zs="http://www.loc.gov/zing/srw/"><zs:version>1.1</zs:version><zs:query>war</zs:query>
    <zs:maximumRecords>1</zs:maximumRecords></zs:searchRetrieveRequest></SOAP:Body></SOAP:Envelope>"#;

#[tokio::test(start_paused = true)]
async fn each_request_gets_its_status() {
    let found = "<zs:numberOfRecords>2</zs:numberOfRecords>";
    let xml = "content-type: text/xml; charset=utf-8";
    let host = "Host: lib.example\r\n";
    for (request, status, of_head, of_body) in [
        (get(&format!("/cat?{WAR}")), "200", xml, found),
        // Pages of other sites may read the answer.
        (
            get(&format!("/cat?{WAR}")),
            "200",
            "access-control-allow-origin: *",
            found,
        ),
        (get(&format!("/c%61t/?{WAR}")), "200", xml, found),
        (get(&format!("/?{WAR}")), "200", xml, found),
        (
            get(&format!("http://other.example:21/cat?{WAR}")),
            "200",
            xml,
            found,
        ),
        (
            get(&format!("/cat?{WAR}&httpAccept=application/sru%2Bxml")),
            "200",
            xml,
            "<diag:details>httpAccept</diag:details>",
        ),
        (
            get("/cat?query=war&httpAccept=application/sru%2Bxml"),
            "200",
            "content-type: application/sru+xml\r\n",
            found,
        ),
        (
            format!("GET /cat?{WAR} HTTP/1.1\r\n{host}Accept: application/sru+xml\r\n\r\n"),
            "200",
            "content-type: application/sru+xml\r\n",
            found,
        ),
        (get("/cat"), "200", "server: z3950d/", "<explain"),
        // Records may contain scripts, which this policy stops.
        (
            get("/cat"),
            "200",
            "content-security-policy: default-src 'self';",
            "",
        ),
        (get("/no"), "404", "x-content-type-options: nosniff", ""),
        (get("/"), "200", xml, "<explain"),
        (get(&format!("/no?{WAR}")), "404", xml, "diagnostic/1/235"),
        (get("/%4"), "400", "connection: close", "% in the path"),
        (get("/%ff"), "400", "", "UTF-8"),
        (get("/%00"), "400", "", "control character"),
        (post("/cat", FORM, WAR), "200", xml, found),
        (
            post(
                "/cat",
                "Application/X-WWW-Form-urlencoded; charset=UTF-8",
                WAR,
            ),
            "200",
            xml,
            found,
        ),
        (post("/cat", "text/xml", SOAP), "200", xml, found),
        (post("/cat", "text/plain", SOAP), "200", xml, "Envelope"),
        (
            post("/cat", "application/soap+xml; charset=utf-8", SOAP),
            "200",
            xml,
            found,
        ),
        (
            post("/cat", "text/xml", "<a/>"),
            "500",
            xml,
            "<faultstring>",
        ),
        (post("/cat", "text/xml", "war"), "500", xml, "<faultstring>"),
        (
            post("/cat", "application/json", "{}"),
            "415",
            "text/plain",
            "a form",
        ),
        (
            format!("PUT /cat HTTP/1.1\r\n{host}\r\n"),
            "405",
            "allow: get, head, post, options",
            "GET",
        ),
        (
            format!("DELETE /cat HTTP/1.1\r\n{host}\r\n"),
            "405",
            "allow: ",
            "GET",
        ),
        (
            format!("OPTIONS * HTTP/1.1\r\n{host}\r\n"),
            "204",
            "allow: get, head, post, options",
            "",
        ),
        (
            format!("OPTIONS /cat HTTP/1.1\r\n{host}\r\n"),
            "204",
            "allow: ",
            "",
        ),
        (
            "GET / HTTP/1.1\r\n\r\n".to_owned(),
            "400",
            "",
            "exactly one Host",
        ),
        (
            format!("GET / HTTP/1.1\r\n{host}{host}\r\n"),
            "400",
            "",
            "exactly one Host",
        ),
        (
            "GET / HTTP/1.1\r\nHost: a b\r\n\r\n".to_owned(),
            "400",
            "",
            "not a host",
        ),
        (
            format!("GET / HTTP/1.1\r\n{host}Authorization: Bearer x\r\n\r\n"),
            "401",
            "www-authenticate: basic realm=",
            "Basic",
        ),
        (
            format!("GET / HTTP/1.1\r\n{host}Authorization: Basic %%\r\n\r\n"),
            "401",
            "www-authenticate: basic realm=",
            "credentials",
        ),
        // hyper refuses these requests before the server's own code sees them.
        (
            format!("GET / HTTP/1.1\r\n{host}A b\r\n\r\n"),
            "400",
            "server: z3950d/",
            "the request cannot be read: ",
        ),
        (
            "GET / HTTP/3.7\r\n\r\n".to_owned(),
            "400",
            "connection: close",
            "cannot be read",
        ),
        (
            "GET\0 / HTTP/1.1\r\n\r\n".to_owned(),
            "400",
            "",
            "cannot be read",
        ),
        (
            get(&format!("/{}", "a".repeat(MAX_URL))),
            "414",
            "server: z3950d/",
            "more than 65534 octets",
        ),
        (
            format!(
                "GET / HTTP/1.1\r\n{}\r\n",
                "A: b\r\n".repeat(MAX_FIELDS + 1)
            ),
            "431",
            "server: z3950d/",
            "100 fields",
        ),
        (
            format!(
                "GET / HTTP/1.1\r\n{host}A: {}\r\n\r\n",
                "a".repeat(MAX_HEAD)
            ),
            "431",
            "",
            "131072 octets",
        ),
        (
            format!("\r\n\n{}", get(&format!("/cat?{WAR}"))),
            "200",
            xml,
            found,
        ),
    ] {
        let mut caller = Caller::new(Limits::default());
        caller.send(&request).await;
        let answer = caller.answer().await.expect("an answer");
        let Answer { head, body } = &answer;
        assert_eq!(answer.status(), status, "{request}: {head}{body}");
        assert!(head.contains(of_head), "{request}: {head}");
        assert!(body.contains(of_body), "{request}: {body}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_is_kept() {
    let mut caller = Caller::new(Limits::default());
    let war = format!("/cat?{WAR}");
    for _ in 0..3 {
        assert_eq!(caller.get(&war).await.status(), "200");
    }
    // The answer to HEAD has the same fields as the answer to GET.
    let full = caller.get("/cat").await;
    caller
        .send("HEAD /cat HTTP/1.1\r\nHost: lib.example\r\n\r\n")
        .await;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(caller.stream.read_u8().await.expect("a head"));
    }
    let head = String::from_utf8(head).expect("text").to_lowercase();
    assert!(
        head.contains(&format!("content-length: {}\r\n", full.body.len())),
        "{head}"
    );
    // Several requests sent at once are answered in order.
    caller
        .send(get(&war) + &get("/no?query=a") + &post("/cat", FORM, WAR) + &get("/"))
        .await;
    for status in ["200", "404", "200", "200"] {
        assert_eq!(caller.answer().await.expect("an answer").status(), status);
    }
    let kinds = [OperationKind::SruSearch, OperationKind::SruExplain];
    let counts = kinds.map(|kind| {
        [OperationOutcome::Ok, OperationOutcome::Failed]
            .map(|outcome| caller.metrics.operations(kind, outcome))
    });
    assert_eq!(counts, [[5, 1], [3, 0]]);
    assert_eq!(caller.metrics.records_sent(), 5);
    caller
        .send("GET / HTTP/1.1\r\nHost: lib.example\r\nConnection: close\r\n\r\n")
        .await;
    let last = caller.answer().await.expect("an answer");
    assert!(last.head.contains("connection: close"), "{}", last.head);
    assert!(caller.answer().await.is_none());
    caller.task.await.expect("no panic");
    assert_eq!(caller.metrics.sessions_ended(SessionEnd::Closed), 1);
    assert!(
        caller.metrics.octets_received() > 500,
        "{:?}",
        caller.metrics
    );
    assert!(caller.metrics.octets_sent() > 5000, "{:?}", caller.metrics);
}

#[tokio::test(start_paused = true)]
async fn empty_lines_before_a_request_are_ignored() {
    let limits = Limits {
        init_time: Duration::from_secs(10),
        idle_time: Some(Duration::from_secs(100)),
        ..Limits::default()
    };
    let mut caller = Caller::new(limits);
    caller.send("\r\n").await;
    sleep(Duration::from_secs(5)).await;
    let request = format!("{}\r\n", post("/cat", FORM, WAR));
    for _ in 0..2 {
        caller.send(&request).await;
        assert_eq!(caller.answer().await.expect("an answer").status(), "200");
        // The empty line after the request does not begin another request, which would have to arrive in time.
        sleep(Duration::from_secs(20)).await;
    }
    caller.send(&request).await;
    assert_eq!(caller.answer().await.expect("an answer").status(), "200");
    assert!(caller.answer().await.is_none());
    caller.task.await.expect("no panic");
    assert_eq!(caller.metrics.sessions_ended(SessionEnd::Idle), 1);
}

#[tokio::test(start_paused = true)]
async fn http_1_0_is_kept_on_request() {
    let mut caller = Caller::new(Limits::default());
    let head = "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n";
    for _ in 0..2 {
        caller.send(head).await;
        let answer = caller.answer().await.expect("an answer");
        assert!(answer.head.starts_with("http/1.0 200 "), "{}", answer.head);
        assert!(
            answer.head.contains("connection: keep-alive"),
            "{}",
            answer.head
        );
    }
    caller.send("GET / HTTP/1.0\r\n\r\n").await;
    assert_eq!(caller.answer().await.expect("an answer").status(), "200");
    assert!(caller.answer().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_client_that_shuts_down_its_side_gets_its_answer() {
    let mut caller = Caller::new(Limits::default());
    caller.send(get(&format!("/cat?{WAR}"))).await;
    caller.stream.shutdown().await.expect("a shutdown");
    assert_eq!(caller.answer().await.expect("an answer").status(), "200");
    assert!(caller.answer().await.is_none());
    caller.task.await.expect("no panic");
    assert_eq!(caller.metrics.sessions_ended(SessionEnd::Left), 1);
}

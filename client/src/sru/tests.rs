//! Tests of sessions with scripted SRU servers: the requests that are sent, and the result for each answer.

mod downloads;
mod habits;
mod hostile;
mod services;
mod transport;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use z3950_asn1::oid;
use z3950_asn1::sru::DIAGNOSTIC_SET;

use crate::client::{Client, ClientOptions};
use crate::error::Error;
use crate::profile::Profiles;
use crate::target::adapt::RecordForm;
use crate::transport::{BoxStream, Connect, Connecting, Routes, Timeouts};
use crate::url::Host;
use crate::{Connection, Query, SortKey};

/// A server that sends its answers in order, on any number of connections, and records the requests.
#[derive(Clone, Default)]
struct Peer(Arc<Mutex<PeerState>>);

#[derive(Default)]
struct PeerState {
    replies: VecDeque<Reply>,
    /// The recorded events: each connection as `connect`, and each request as its first line, the header Authorization
    /// if there is one, and its body.
    asked: Vec<String>,
}

/// How a peer reacts to a request.
#[derive(Clone)]
enum Reply {
    /// Sends these octets.
    Octets(Vec<u8>),
    /// Sends these octets and closes the connection.
    Last(Vec<u8>),
    /// Sends the first octets once, and then the second octets repeatedly without end.
    Endless(Vec<u8>, Vec<u8>),
    /// Closes the connection without sending an answer.
    HangUp,
    /// Sends nothing and keeps the connection open.
    Silence,
}

impl Peer {
    fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        let peer = Self::default();
        peer.state().replies.extend(replies);
        peer
    }

    fn state(&self) -> std::sync::MutexGuard<'_, PeerState> {
        self.0.lock().expect("no panic")
    }

    /// Returns the requests that the peer received, without the parameters that are the same in all requests.
    fn asked(&self) -> Vec<String> {
        let asked = self.state().asked.clone();
        let plain = |line: String| line.replace("version=1.1&operation=", "");
        asked.into_iter().map(plain).collect()
    }

    fn client(&self) -> Client {
        self.client_with(Timeouts::default(), "")
    }

    /// Creates a client with the target profiles in `targets`, which has the format of a targets file.
    fn client_with(&self, timeouts: Timeouts, targets: &str) -> Client {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("targets.toml");
        std::fs::write(&path, targets).expect("written");
        let profiles = Profiles::default().with_file(&path).expect("targets");
        let options = ClientOptions::default().with_timeouts(timeouts);
        Client::with_routes(options, Routes::fixed(self.clone())).with_profiles(profiles)
    }

    async fn connect(&self) -> Connection {
        let connection = self.client().connect("http://lib.example/db").await;
        connection.expect("a connection")
    }
}

impl Connect for Peer {
    fn connect<'a>(&'a self, host: &'a Host, port: u16, _: &'a Timeouts) -> Connecting<'a> {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        self.state().asked.push(format!("connect {host}:{port}"));
        tokio::spawn(play(theirs, self.clone()));
        Box::pin(async move { Ok(Box::new(ours) as BoxStream) })
    }
}

async fn play(mut stream: tokio::io::DuplexStream, peer: Peer) {
    let mut buffer = Vec::new();
    while let Some(request) = request(&mut stream, &mut buffer).await {
        let reply = {
            let mut state = peer.state();
            state.asked.push(request);
            state.replies.pop_front().unwrap_or(Reply::HangUp)
        };
        match reply {
            // An error means that the client has closed the connection, which the test itself checks.
            Reply::Octets(octets) => drop(stream.write_all(&octets).await),
            Reply::Last(octets) => return drop(stream.write_all(&octets).await),
            Reply::Endless(begin, more) => {
                let mut sent = stream.write_all(&begin).await;
                while sent.is_ok() {
                    sent = stream.write_all(&more).await;
                }
            }
            Reply::HangUp => return,
            Reply::Silence => {}
        }
    }
}

/// Reads the next request and returns it as a line.
async fn request(stream: &mut tokio::io::DuplexStream, buffer: &mut Vec<u8>) -> Option<String> {
    let head_end = |buffer: &[u8]| buffer.windows(4).position(|four| four == b"\r\n\r\n");
    while head_end(buffer).is_none() {
        stream
            .read_buf(buffer)
            .await
            .ok()
            .filter(|read| *read > 0)?;
    }
    let end = head_end(buffer)?;
    let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
    let header = |name: &str| {
        let mut lines = head.lines();
        lines.find_map(|line| {
            let (known, value) = line.split_once(": ")?;
            known.eq_ignore_ascii_case(name).then(|| value.to_owned())
        })
    };
    let length = header("content-length").map_or(0, |length| length.parse().expect("a number"));
    buffer.drain(..end + 4);
    while buffer.len() < length {
        stream
            .read_buf(buffer)
            .await
            .ok()
            .filter(|read| *read > 0)?;
    }
    let body: Vec<u8> = buffer.drain(..length).collect();
    assert_eq!(header("accept-encoding"), None);
    let line = head.lines().next().unwrap_or_default();
    let line = line.strip_suffix(" HTTP/1.1").expect("HTTP/1.1");
    let parts = [
        line.to_owned(),
        header("authorization").unwrap_or_default(),
        String::from_utf8_lossy(&body).into_owned(),
    ];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    Some(parts.join(" "))
}

/// Builds an HTTP response with a body.
fn http(status: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

fn ok(body: impl AsRef<[u8]>) -> Reply {
    Reply::Octets(http("200 OK", body))
}

/// Builds a record in MARCXML.
fn marc(id: &str) -> String {
    format!(
        "<record xmlns=\"http://www.loc.gov/MARC21/slim\"><leader>00000nam a2200000   4500</leader>\
         <controlfield tag=\"001\">{id}</controlfield><datafield tag=\"245\" ind1=\"1\" ind2=\"0\">\
         <subfield code=\"a\">Title {id}</subfield></datafield></record>"
    )
}

/// Builds a response with `total` hits and with records in MARCXML at these positions.
fn found(total: u64, positions: impl IntoIterator<Item = u64>) -> Reply {
    ok(found_xml(total, positions))
}

fn found_xml(total: u64, positions: impl IntoIterator<Item = u64>) -> String {
    let records = positions
        .into_iter()
        .map(|position| record_xml(&marc(&position.to_string()), Some(position)));
    let records: String = records.collect();
    answer_xml(&format!(
        "<zs:numberOfRecords>{total}</zs:numberOfRecords><zs:records>{records}</zs:records>"
    ))
}

fn record_xml(data: &str, position: Option<u64>) -> String {
    let position = position.map_or_else(String::new, |position| {
        format!("<zs:recordPosition>{position}</zs:recordPosition>")
    });
    format!(
        "<zs:record><zs:recordSchema>marcxml</zs:recordSchema><zs:recordPacking>xml</zs:recordPacking>\
         <zs:recordData>{data}</zs:recordData>{position}</zs:record>"
    )
}

fn answer_xml(contents: &str) -> String {
    format!(
        "<zs:searchRetrieveResponse xmlns:zs=\"http://www.loc.gov/zing/srw/\"><zs:version>1.1</zs:version>\
         {contents}</zs:searchRetrieveResponse>"
    )
}

fn diagnostic(number: u16, details: &str) -> String {
    format!(
        "<zs:diagnostics><d:diagnostic xmlns:d=\"http://www.loc.gov/zing/srw/diagnostic/\"><d:uri>{DIAGNOSTIC_SET}{number}</d:uri>\
         <d:details>{details}</d:details></d:diagnostic></zs:diagnostics>"
    )
}

fn refused(number: u16, details: &str) -> Reply {
    ok(answer_xml(&diagnostic(number, details)))
}

/// Returns an error and its causes as text.
fn chain(error: &Error) -> String {
    crate::error::chain(error)
}

/// Returns the titles of all records, with errors in place of records that failed.
async fn titles(connection: &Connection, first: u64) -> Result<Vec<String>, Error> {
    let hits = connection.search_first(Query::title("war"), first).await?;
    let mut records = hits.stream();
    let mut titles = Vec::new();
    while let Some(record) = records.next().await {
        titles.push(match record {
            Ok(record) => record.title().unwrap_or_default(),
            Err(error) => chain(&error),
        });
    }
    Ok(titles)
}

#[tokio::test]
async fn a_search_with_records_is_one_request() {
    let peer = Peer::new([found(2, 1..=2)]);
    let connection = peer.connect().await;
    let hits = connection
        .search_first(Query::title("war and peace") & Query::isbn("123"), 10)
        .await
        .expect("hits");
    assert_eq!(hits.count(), 2);
    let record = hits.record(2).await.expect("a record");
    assert_eq!(record.title().as_deref(), Some("Title 2"));
    assert_eq!(record.syntax(), Some(oid::USMARC));
    assert_eq!(
        peer.asked(),
        [
            "connect lib.example:80",
            "GET /db?searchRetrieve&query=dc.title%20%3D%20%22war%20and%20peace%22%20and%20bath.isbn%20%3D%20123\
             &startRecord=1&maximumRecords=10&recordSchema=marcxml",
        ]
    );
}

#[tokio::test]
async fn records_come_in_ranges_on_one_connection() {
    let peer = Peer::new([found(45, []), found(45, 1..=20), found(45, 21..=45)]);
    let connection = peer.connect().await;
    let titles = titles(&connection, 0).await.expect("titles");
    assert_eq!(titles.len(), 45);
    assert_eq!(titles[44], "Title 45");
    let search = "GET /db?searchRetrieve&query=dc.title%20%3D%20war&startRecord=";
    let marcxml = "&recordSchema=marcxml";
    assert_eq!(
        peer.asked(),
        [
            "connect lib.example:80".to_owned(),
            format!("{search}1&maximumRecords=0"),
            format!("{search}1&maximumRecords=20{marcxml}"),
            format!("{search}21&maximumRecords=25{marcxml}"),
        ]
    );
}

#[tokio::test]
async fn other_forms_of_records() {
    let dc = "<dc xmlns=\"info:srw/schema/1/dc-v1.1\"><title>War</title></dc>";
    let one = |data: &str| {
        ok(answer_xml(&format!(
            "<zs:numberOfRecords>1</zs:numberOfRecords><zs:records>{}</zs:records>",
            record_xml(data, Some(1))
        )))
    };
    let opac = "<opacRecord><bibliographicRecord/><holdings><holding><localLocation>Main</localLocation></holding></holdings></opacRecord>";
    for (syntax, element_set, data, schema, expected) in [
        (None, None, marc("1"), "&recordSchema=marcxml", oid::USMARC),
        (
            None,
            Some("dc"),
            dc.to_owned(),
            "&recordSchema=dc",
            oid::XML,
        ),
        (
            Some(oid::XML),
            None,
            marc("1"),
            "&recordSchema=marcxml",
            oid::XML,
        ),
        (
            Some(oid::XML),
            Some("mods"),
            dc.to_owned(),
            "&recordSchema=mods",
            oid::XML,
        ),
        (
            Some(oid::OPAC),
            Some("F"),
            opac.to_owned(),
            "&recordSchema=opac",
            oid::OPAC,
        ),
    ] {
        let peer = Peer::new([one(&data)]);
        let form = RecordForm::new(syntax, element_set.map(str::to_owned));
        let connection = peer.connect().await.with_form(form);
        let hits = connection.search_first(Query::any("war"), 1).await;
        let record = hits.expect("hits").record(1).await.expect("a record");
        assert_eq!(record.syntax(), Some(expected));
        let asked = peer.asked();
        assert!(asked[1].ends_with(schema), "{asked:?}");
        assert_eq!(asked.len(), 2);
    }
    let peer = Peer::new([]);
    let form = RecordForm::new(Some(oid::SUTRS), None);
    let connection = peer.connect().await.with_form(form);
    let error = connection.search_first(Query::any("war"), 1).await;
    let words = chain(&error.expect_err("no such syntax"));
    assert!(
        words.contains("239") && words.contains("SRU has XML only"),
        "{words}"
    );
}

#[tokio::test]
async fn a_sort_is_a_search_whose_records_are_kept() {
    let peer = Peer::new([found(2, 1..=2), found(2, [1, 2])]);
    let connection = peer.connect().await;
    let mut hits = connection
        .search_first(Query::any("war"), 2)
        .await
        .expect("hits");
    let keys: Vec<SortKey> = vec!["date:desc".parse().expect("a key")];
    hits.sort(&keys).await.expect("sorted");
    hits.record(1).await.expect("a record");
    let asked = peer.asked();
    assert_eq!(
        asked[2],
        "GET /db?searchRetrieve&query=war%20sortby%20dc.date%2Fsort.descending&startRecord=1&maximumRecords=2&recordSchema=marcxml"
    );
    assert_eq!(asked.len(), 3);

    let targets = "[targets.old]\nhost = \"lib.example\"\ndatabases = [\"db\"]\nsru = { sort_keys = true, method = \"post\" }\n";
    let peer = Peer::new([found(2, []), refused(80, "")]);
    let client = peer.client_with(Timeouts::default(), targets);
    let connection = client.connect("old").await.expect("a connection");
    let mut hits = connection.search(Query::any("war")).await.expect("hits");
    let keys: Vec<SortKey> = vec!["title".parse().expect("a key")];
    let words = chain(&hits.sort(&keys).await.expect_err("no sort"));
    assert_eq!(
        words,
        "Sort failed: diagnostic 209 (only the sort orders of a particular database are possible): SRU diagnostic 80: the server cannot sort"
    );
    assert_eq!(
        peer.asked()[2],
        "POST /db searchRetrieve&query=war&startRecord=1&maximumRecords=1&recordSchema=marcxml&sortKeys=dc.title"
    );
}

#[tokio::test]
async fn terms_are_scanned() {
    let terms = "<scanResponse xmlns=\"http://www.loc.gov/zing/srw/\"><terms><term><value>war</value><numberOfRecords>3</numberOfRecords>\
                 <displayTerm>War</displayTerm></term><term><value>water</value></term></terms></scanResponse>";
    let none = format!(
        "<scanResponse>{}</scanResponse>",
        diagnostic(16, "dc.colour").replace("zs:", "")
    );
    let peer = Peer::new([ok(terms), ok(none), found(0, [])]);
    let connection = peer.connect().await;
    let scan = connection.scan(Query::title("war")).await.expect("terms");
    let terms = scan.terms().iter();
    let shown: Vec<_> = terms
        .map(|term| (&*term.term, term.display.as_deref(), term.count))
        .collect();
    let expected = [("war", Some("War"), Some(3)), ("water", None, None)];
    assert_eq!(shown, expected);
    assert_eq!(
        peer.asked()[1],
        "GET /db?scan&scanClause=dc.title%20%3D%20war&responsePosition=1&maximumTerms=20"
    );
    for expected in [
        "Scan failed: diagnostic 114 (the server has no such search field (Use attribute)): dc.colour \
         (SRU diagnostic 16: the server has no such index)",
        "protocol error during Scan: an answer to an operation other than scan",
    ] {
        let error = connection.scan(Query::title("war")).await;
        assert_eq!(chain(&error.expect_err("no terms")), expected);
    }
}

#[tokio::test]
async fn methods_versions_and_credentials() {
    let targets = "[targets.a]\nhost = \"lib.example\"\ntls = true\ndatabases = [\"x?k=1\"]\n\
                   credentials = { user = \"ann\", password_command = \"echo secret\" }\n\
                   sru = { version = \"2.0\", schema = \"MARC21-xml\", parameters = { x-info = \"5\" } }\n\
                   [targets.b]\nhost = \"lib.example\"\ncredentials = { user = \"ann\", password_command = \"echo secret\" }\n\
                   sru = { login_in_url = true, method = \"soap\" }\n";
    let ask = async |target: &str| {
        let peer = Peer::new([found(0, [])]);
        let client = peer.client_with(Timeouts::default(), targets);
        let connection = client.connect(target).await.expect("a connection");
        connection
            .search_first(Query::any("a"), 1)
            .await
            .expect("hits");
        peer.asked().join("\n")
    };
    assert_eq!(
        ask("a").await,
        "connect lib.example:443\nGET /x?k=1&version=2.0&operation=searchRetrieve&query=a&startRecord=1&maximumRecords=1\
         &recordSchema=MARC21-xml&x-info=5 Basic YW5uOnNlY3JldA=="
    );
    let soap = ask("b").await;
    assert!(
        soap.starts_with("connect lib.example:80\nPOST / <?xml"),
        "{soap}"
    );
    assert!(
        soap.contains("<zs:query>a</zs:query>") && !soap.contains("Basic"),
        "{soap}"
    );
    assert!(soap.contains("secret"), "{soap}");
    let posted = ask("sru:post:http://other.example:8080/").await;
    assert_eq!(
        posted,
        "connect other.example:8080\nPOST / searchRetrieve&query=a&startRecord=1&maximumRecords=1&recordSchema=marcxml"
    );
}

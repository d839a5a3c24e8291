//! Tests of responses that are malformed or never end.

use super::*;

async fn error(reply: Reply) -> String {
    let peer = Peer::new([reply]);
    let timeouts = Timeouts::default();
    let client = peer.client_with(timeouts, "");
    let connection = client.connect("http://lib.example/db").await;
    let connection = connection.expect("a connection");
    let hits = connection.search_first(Query::any("a"), 1).await;
    chain(&hits.map(drop).expect_err("an error"))
}

#[tokio::test(start_paused = true)]
async fn bad_answers_are_named() {
    let html = "<!DOCTYPE html><html><head><title>Maintenance</title></head><body/></html>";
    let bomb = "<!DOCTYPE a [<!ENTITY b \"bbbb\"><!ENTITY c \"&b;&b;\">]><a>&c;</a>";
    let deep = "<searchRetrieveResponse>".to_owned() + &"<a>".repeat(1000);
    let many = format!(
        "<searchRetrieveResponse>{}</searchRetrieveResponse>",
        "<a/>".repeat(1_000_001)
    );
    let fault = "<S:Envelope xmlns:S=\"http://schemas.xmlsoap.org/soap/envelope/\"><S:Body><S:Fault><faultcode>S:Server</faultcode>\
                 <faultstring>out of order</faultstring></S:Fault></S:Body></S:Envelope>";
    let gzip = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx"
        .as_bytes()
        .to_vec();
    let utf_8 = "HTTP/1.1 200 OK\r\nContent-Encoding: utf-8\r\nContent-Length: 6\r\n\r\n<rss/>"
        .as_bytes()
        .to_vec();
    let long = "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"
        .as_bytes()
        .to_vec();
    let head = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(1 << 17));
    for (reply, expected) in [
        (ok(html), "an HTML page instead of XML, \"Maintenance\""),
        (ok(bomb), "a document type is not accepted"),
        (ok(deep), "nested more than 128 levels"),
        (ok(many), "more than 1000000 elements"),
        (
            ok("<searchRetrieveResponse>"),
            "the document ends within an element",
        ),
        (ok(""), "the document has no element"),
        (
            ok(
                "<searchRetrieveResponse><numberOfRecords>-1</numberOfRecords></searchRetrieveResponse>",
            ),
            "numberOfRecords is \"-1\", which is not a number of records",
        ),
        (
            ok(answer_xml(&diagnostic(3, ""))),
            "diagnostic 1011 (user or password is wrong): SRU diagnostic 3",
        ),
        (ok("<rss/>"), "an element \"rss\""),
        (
            ok(fault),
            "the server refused the request: Server: out of order",
        ),
        (
            Reply::Octets(http("500 Oops", fault)),
            "Server: out of order",
        ),
        (
            Reply::Octets(http("500 Oops", html)),
            "HTTP status 500 Internal Server Error, \"Maintenance\"",
        ),
        (
            Reply::Octets(http("400 Bad Request", "")),
            "protocol error during Search: HTTP status 400 Bad Request",
        ),
        (
            Reply::Octets(http("404 Not Found", html)),
            "diagnostic 235 (there is no database of this name): db (HTTP status 404 Not Found)",
        ),
        (
            Reply::Octets(http("404 Not Found", answer_xml(&diagnostic(235, "db")))),
            "diagnostic 235 (there is no database of this name): db (SRU diagnostic 235",
        ),
        (
            Reply::Octets(http("401 Unauthorized", "")),
            "diagnostic 1011 (user or password is wrong): HTTP status 401",
        ),
        (
            Reply::Octets(http("403 Forbidden", "")),
            "diagnostic 236 (this user may not use the database)",
        ),
        (
            Reply::Octets(http("503 Service Unavailable", html)),
            "the server cannot answer Search for the moment: HTTP status 503 Service Unavailable",
        ),
        (
            // The Content-Encoding of this answer is a character set, which is not a content coding and is ignored.
            Reply::Octets(utf_8),
            "an element \"rss\"",
        ),
        (
            Reply::Octets(gzip),
            "the answer is encoded as gzip, which was not asked for",
        ),
        (
            Reply::Octets(long),
            "an answer of more than 67108864 octets",
        ),
        (Reply::Octets(head.into_bytes()), "not an HTTP response"),
        (
            Reply::Octets(b"220 ftp.example FTP\r\n".to_vec()),
            "not an HTTP response",
        ),
        (Reply::HangUp, "closed during Search"),
        (
            Reply::Last(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n<a".to_vec()),
            "during Search",
        ),
        (
            Reply::Silence,
            "no answer to Search in time: no response within 30 s",
        ),
        (
            Reply::Octets(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n<a".to_vec()),
            "no answer to Search in time",
        ),
    ] {
        let words = error(reply).await;
        assert!(words.contains(expected), "{words}\n{expected}");
    }
}

#[tokio::test]
async fn answers_without_end_are_cut() {
    let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    let chunk = [b"10000\r\n".to_vec(), vec![b' '; 0x10000], b"\r\n".to_vec()].concat();
    let words = error(Reply::Endless(head, chunk)).await;
    assert!(
        words.ends_with("an answer of more than 67108864 octets"),
        "{words}"
    );
    let words = error(Reply::Endless(
        b"HTTP/1.1 200 OK\r\n".to_vec(),
        b"X: y\r\n".to_vec(),
    ))
    .await;
    assert!(words.contains("not an HTTP response"), "{words}");
    // The body ends when the connection is closed, but the server does not close it.
    let words = error(Reply::Endless(
        b"HTTP/1.1 200 OK\r\n\r\n".to_vec(),
        vec![b' '; 0x10000],
    ))
    .await;
    assert!(
        words.ends_with("an answer of more than 67108864 octets"),
        "{words}"
    );
}

//! Tests of downloads from servers that send no data, start again from the first record, or are busy.

use tokio::time::Instant;
use z3950_asn1::sru::XmlElement;

use super::*;

/// Builds an answer with two records, each of which has this data.
fn two(data: &str) -> Reply {
    let records = record_xml(data, Some(1)) + &record_xml(data, Some(2));
    ok(answer_xml(&format!(
        "<zs:numberOfRecords>2</zs:numberOfRecords><zs:records>{records}</zs:records>"
    )))
}

/// Returns the schemas that were requested.
fn schemas(peer: &Peer) -> Vec<String> {
    let asked = peer.asked().into_iter();
    let named = asked.filter_map(|line| Some(line.split_once("recordSchema=")?.1.to_owned()));
    named.collect()
}

#[tokio::test]
async fn audit_r_c1_records_without_data_are_none() {
    let absent = "<zs:recordData></zs:recordData>";
    for data in [
        "",
        " \n ",
        "<record xmlns=\"http://www.loc.gov/MARC21/slim\"/>",
        "<record></record>",
        "<m:record xmlns:m=\"x\"> </m:record >",
    ] {
        for has_element in [true, false] {
            let blank = match two(data) {
                Reply::Octets(octets) if !has_element => {
                    let text = String::from_utf8(octets).expect("text");
                    let (_, body) = text.split_once("\r\n\r\n").expect("a body");
                    ok(body.replace(absent, ""))
                }
                whole => whole,
            };
            // The records are available in another schema.
            let replies = [blank.clone(), refused(4, ""), found(2, 1..=2)];
            let peer = Peer::new(replies);
            let connection = peer.connect().await;
            let all = titles(&connection, 2).await.expect("titles");
            assert_eq!(all, ["Title 1", "Title 2"], "{data}");
            assert_eq!(schemas(&peer)[1], "info%3Asrw%2Fschema%2F1%2Fmarcxml-v1.1");
            // The records are not available in any schema, so the first answer is kept.
            let others = std::iter::repeat_n(refused(66, ""), 20);
            let replies = [blank.clone(), refused(4, "")].into_iter().chain(others);
            let peer = Peer::new(replies);
            let connection = peer.connect().await;
            let all = titles(&connection, 2).await.expect("titles");
            let words = "diagnostic 14 (the server could not deliver a record): the server sent nothing as the record";
            assert!(all.iter().all(|title| title.contains(words)), "{all:?}");
            assert_eq!(all.len(), 2);
            assert!(schemas(&peer).len() < 12, "{:?}", schemas(&peer));
        }
    }
    // If only one of several records is empty, no other schema is tried.
    let some = found_xml(2, 1..=2).replacen(&marc("1"), "", 1);
    let peer = Peer::new([ok(some)]);
    let connection = peer.connect().await;
    let all = titles(&connection, 2).await.expect("titles");
    assert!(
        all[0].contains("sent nothing") && all[1] == "Title 2",
        "{all:?}"
    );
}

/// Builds an answer whose records have no positions.
fn unplaced(total: u64, numbers: impl IntoIterator<Item = u64>) -> Reply {
    let records = numbers.into_iter();
    let records = records.map(|number| record_xml(&marc(&number.to_string()), None));
    let records: String = records.collect();
    ok(answer_xml(&format!(
        "<zs:numberOfRecords>{total}</zs:numberOfRecords><zs:records>{records}</zs:records>"
    )))
}

#[tokio::test]
async fn audit_r_c2_the_same_page_again_ends_a_download() {
    let again = |before: u64, start: u64| {
        format!(
            "protocol error during Present: the server sends the records from {before} on again in place of those from {start} on"
        )
    };
    // The server ignores startRecord but respects the number of records.
    let peer = Peer::new([unplaced(50, 1..=2), unplaced(50, 1..=20)]);
    let connection = peer.connect().await;
    let all = titles(&connection, 2).await.expect("titles");
    assert_eq!(all, ["Title 1", "Title 2", &again(1, 3)]);
    // The server ignores startRecord and sends one record at a time, so the repetition is detected only in the third answer.
    let one = || unplaced(50, [1]);
    let peer = Peer::new([one(), one(), one(), one(), one()]);
    let connection = peer.connect().await;
    let all = titles(&connection, 1).await.expect("titles");
    assert_eq!(all, ["Title 1", "Title 1", &again(2, 3)]);
    // A server that does not number its records, but respects startRecord, is not mistaken for one that repeats a page.
    let peer = Peer::new([unplaced(4, 1..=2), unplaced(4, 3..=4)]);
    let connection = peer.connect().await;
    let all = titles(&connection, 2).await.expect("titles");
    assert_eq!(all.len(), 4);
    assert_eq!(all[3], "Title 4");
    // A range that is read twice is not mistaken for a page that the server repeats.
    let peer = Peer::new([found(4, []), unplaced(4, 3..=4), unplaced(4, 3..=4)]);
    let connection = peer.connect().await;
    let hits = connection.search(Query::title("war")).await.expect("hits");
    for _ in 0..2 {
        let records = hits.range(3..=4).collect().await.expect("records");
        assert_eq!(records.len(), 2);
    }
}

/// Builds the answer from a server that asks the client to wait.
fn busy(status: &str, seconds: &str) -> Reply {
    let head = format!("HTTP/1.1 {status}\r\nRetry-After: {seconds}\r\nContent-Length: 0\r\n\r\n");
    Reply::Octets(head.into_bytes())
}

#[tokio::test(start_paused = true)]
async fn audit_r_c3_a_busy_server_is_asked_again_after_the_time_that_it_wants() {
    let last = || found(3, 2..=3);
    let (too_many, unavailable) = ("429 Too Many Requests", "503 Service Unavailable");
    for (busy_replies, seconds, count) in [
        (vec![busy(too_many, "5")], 5, 3),
        (vec![busy(unavailable, "60"), busy(too_many, "0")], 61, 3),
        (vec![busy(unavailable, "1"); 5], 5, 3),
        // In these three rows, the server is busy too often, asks for too long a wait, and does not say how long to
        // wait.
        (vec![busy(unavailable, "1"); 6], 5, 1),
        (vec![busy(unavailable, "3600")], 0, 1),
        (vec![Reply::Octets(http(unavailable, ""))], 0, 1),
    ] {
        let replies = [vec![found(3, [1])], busy_replies, vec![last()]].concat();
        let peer = Peer::new(replies);
        let connection = peer.connect().await;
        let begun = Instant::now();
        let all = titles(&connection, 1).await.expect("titles");
        let delivered = all.iter().filter(|title| title.starts_with("Title"));
        assert_eq!(delivered.count(), count, "{all:?}");
        assert_eq!(begun.elapsed().as_secs(), seconds, "{all:?}");
    }
}

#[tokio::test]
async fn audit_r_c4_unimarc_is_requested_from_servers_that_only_have_it() {
    for (name, refusals) in [
        ("unimarcxchange", 3),
        ("marcxchange", 4),
        ("unimarcxml", 5),
        ("unimarc", 6),
    ] {
        let refusals = std::iter::repeat_n(refused(66, ""), refusals);
        let mut replies: Vec<Reply> = refusals.chain([found(1, [1])]).collect();
        // After the first refusal, the client requests the server's description, which is refused too.
        replies.insert(1, refused(4, ""));
        let peer = Peer::new(replies);
        let connection = peer.connect().await;
        assert_eq!(titles(&connection, 1).await.expect("titles"), ["Title 1"]);
        assert_eq!(schemas(&peer).last().map(String::as_str), Some(name));
    }
    // A refused schema is not requested again if the caller asks for a different record syntax.
    let peer = Peer::new(std::iter::repeat_n(refused(66, ""), 40));
    let targets = "[targets.lib]\nhost = \"lib.example\"\ndatabases = [\"db\"]\nsru = {}\n";
    let client = peer.client_with(Timeouts::default(), targets);
    let connection = client.connect("lib").await.expect("a connection");
    for syntax in [Some(oid::USMARC), Some(oid::UNIMARC), None] {
        let form = RecordForm::new(syntax.or(Some(oid::XML)), None);
        let connection = connection.clone().with_form(form);
        titles(&connection, 1).await.expect_err("no schema");
    }
    let marcxml = schemas(&peer)
        .into_iter()
        .filter(|schema| schema == "marcxml");
    assert_eq!(marcxml.count(), 1, "{:?}", schemas(&peer));
}

#[tokio::test]
async fn audit_r_d3_diagnostics_beside_records_are_kept() {
    use crate::protocol::service::present::PresentOptions;
    use crate::protocol::service::search::SearchOptions;
    use crate::testing::query;

    let with = |answer: String| {
        ok(answer.replace(
            "</zs:records>",
            &format!("</zs:records>{}", diagnostic(59, "some")),
        ))
    };
    let peer = Peer::new([
        with(found_xml(3, [1])),
        with(found_xml(3, 2..=3)),
        refused(2, "x"),
        with(found_xml(0, [])),
    ]);
    let connection = peer.connect().await;
    let session = connection.inner.session().await.expect("open");
    let options = SearchOptions {
        databases: vec!["db".into()],
        ..SearchOptions::default()
    };
    let found = session
        .search(query(), &options.clone().with_records(1))
        .await
        .expect("hits");
    assert!(found.sources().remarks[0].contains("59"), "{found:?}");
    let presented = session
        .present(2, 2, &PresentOptions::default())
        .await
        .expect("records");
    assert_eq!(
        (presented.records.len(), presented.diagnostics.condition()),
        (2, Some(33))
    );
    for _ in 0..2 {
        session
            .search(query(), &options)
            .await
            .expect_err("refused");
    }
}

/// Builds an answer with a record that has this text in its title, and a valid record, in both packings.
fn with_title(title: &str) -> [Reply; 2] {
    [false, true].map(|is_packed| {
        let packed = |xml: String| {
            if is_packed {
                xml.replace('&', "&amp;").replace('<', "&lt;")
            } else {
                xml
            }
        };
        let odd = marc("1").replace("Title 1", title);
        let records = record_xml(&packed(odd), Some(1)) + &record_xml(&packed(marc("2")), Some(2));
        ok(answer_xml(&format!(
            "<zs:numberOfRecords>2</zs:numberOfRecords><zs:records>{records}</zs:records>"
        )))
    })
}

#[tokio::test]
async fn audit_r_a7_an_ampersand_that_is_not_escaped_is_text() {
    for (title, expected, in_xml) in [
        ("AT&T", "AT&T", ">AT&amp;T<"),
        ("AT&T & co &", "AT&T & co &", ">AT&amp;T &amp; co &amp;<"),
        ("A &amp; B &#65;", "A & B A", ">A &amp; B &#65;<"),
    ] {
        for answer in with_title(title) {
            let peer = Peer::new([answer.clone()]);
            let connection = peer.connect().await;
            let all = titles(&connection, 2).await.expect("titles");
            assert_eq!(all, [expected, "Title 2"], "{title}");
            // If the record is requested as XML, its ampersands are escaped, so that it is well-formed.
            let peer = Peer::new(std::iter::repeat_n(answer, 3));
            let form = RecordForm::new(Some(oid::XML), None);
            let connection = peer.connect().await.with_form(form);
            let hits = connection.search(Query::title("war")).await.expect("hits");
            let record = hits.record(1).await.expect("a record");
            let text = String::from_utf8_lossy(&record.octets()).into_owned();
            assert!(text.contains(in_xml), "{text}");
            assert!(XmlElement::read(record.octets()).is_ok(), "{text}");
        }
    }
    // The unescaped ampersand may also be in a diagnostic.
    let diagnostic = refused(4, "AT&T");
    let peer = Peer::new([diagnostic]);
    let connection = peer.connect().await;
    let error = connection.search(Query::title("war")).await;
    let error = error.map(|_| ()).expect_err("refused");
    assert!(error.to_string().contains("AT&T"), "{error}");
}

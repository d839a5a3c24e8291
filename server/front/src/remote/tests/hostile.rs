//! Tests of targets that each break the protocol in one way. The records of other targets must still arrive without delay, and
//! the broken answer must not be misread.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::timeout;
use z3950::RecordForm;
use z3950_asn1::oid::OPAC;

use super::*;
use crate::page::CataloguePage;

#[tokio::test]
async fn whatever_a_target_does_the_others_answer() {
    // Each row has a rule, and the expected numbers of hits and of records that can be read, with or without holdings.
    let rules = [
        ("on init: silence", 1, 1),
        ("on init: garbage", 1, 1),
        ("on init: reject", 1, 1),
        ("on init: hang-up", 1, 1),
        ("on search: silence", 1, 1),
        ("on search: garbage", 1, 1),
        ("on search: length +100000", 1, 1),
        ("on search: tag 5", 1, 1),
        ("on search: reference-id elsewhere", 1, 1),
        ("on search: cut 10", 1, 1),
        ("on search: count 2147483647", 1_000_001, 4),
        ("on search: count -1", 1, 1),
        ("on search: count 1", 2, 2),
        ("on present: silence", 4, 1),
        ("on present: garbage", 4, 1),
        ("on present: cut 100", 4, 1),
        ("on present: reset 100", 4, 1),
        ("on present: length -5", 4, 1),
        ("on present: fail 13", 4, 1),
        ("on present: surrogate 14", 4, 1),
        ("on present: fewer 1", 4, 4),
        ("on present: damage empty", 4, 4),
        ("on present: damage truncated", 4, 1),
        ("on present: damage leader", 4, 4),
        ("on present: damage length", 4, 4),
    ];
    let forms = [RecordForm::default(), RecordForm::new(Some(OPAC), None)];
    let each = rules
        .iter()
        .flat_map(|rule| forms.each_ref().map(|form| (*rule, form)));
    for ((rule, hits, records), form) in each {
        // The faults damage only MARC records, not MARC inside OPAC records.
        let is_whole = rule.contains("damage") && *form == forms[1];
        let records = if is_whole { 4 } else { records };
        // The rule `no-piggyback` makes the target send all records in answer to Presents, where the other rules can affect them.
        let hostile = catalogue("a", 3).rule(rule);
        let hostile = hostile.rule("on search: no-piggyback").start();
        let good = catalogue("b", 1).start();
        let front = front_with([target(&hostile), target(&good)], |options| {
            options.target_time = TARGET_TIME;
        });
        let search = async {
            let connection = connected(&front, "union").await;
            let connection = connection.with_form(form.clone());
            let hits = connection.search(Query::title("shared")).await.expect(rule);
            let mut page = hits.range(1..=4);
            let mut titles = Vec::new();
            while let Some(record) = page.next().await {
                titles.extend(record.ok().map(|record| record.title().unwrap_or_default()));
            }
            (hits.count(), titles)
        };
        let answer = timeout(Duration::from_secs(30), search).await;
        let (count, titles) = answer.expect(rule);
        assert_eq!(count, hits, "{rule}");
        assert_eq!(titles.len(), records, "{rule}: {titles:?}");
        assert!(titles.iter().any(|title| title == "Shared b1"), "{rule}");
    }
}

/// Returns the address of an SRU server that answers each request with one record of this title, and closes the connection.
async fn scripted(title: &str) -> String {
    let record = format!(
        "<record xmlns=\"http://www.loc.gov/MARC21/slim\"><leader>00000nam a2200000   4500</leader>\
         <controlfield tag=\"001\">x1</controlfield><datafield tag=\"245\" ind1=\"1\" ind2=\"0\">\
         <subfield code=\"a\">{title}</subfield></datafield></record>"
    );
    let body = format!(
        "<searchRetrieveResponse xmlns=\"http://www.loc.gov/zing/srw/\"><version>1.2</version>\
         <numberOfRecords>1</numberOfRecords><records><record><recordSchema>marcxml</recordSchema>\
         <recordPacking>xml</recordPacking><recordData>{record}</recordData><recordPosition>1</recordPosition>\
         </record></records></searchRetrieveResponse>"
    );
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let answer = answer.clone();
            tokio::spawn(async move {
                let mut request = Vec::new();
                while !request.ends_with(b"\r\n\r\n") {
                    match stream.read_buf(&mut request).await {
                        Ok(1..) => {}
                        _ => return,
                    }
                }
                // An error means that the client has closed the connection.
                let _ = stream.write_all(answer.as_bytes()).await;
            });
        }
    });
    format!("http://{address}/cat")
}

pub(super) async fn http(front: &TestServer, path: &str) -> String {
    let mut stream = tokio::net::TcpStream::connect(front.addr())
        .await
        .expect("a connection");
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("written");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.expect("an answer");
    String::from_utf8(answer).expect("UTF-8")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn titles_of_a_megabyte_with_markup_are_answered_and_escaped() {
    let long = "x".repeat(1 << 20);
    for (title, is_long) in [
        (
            "&lt;script&gt;alert(1)&lt;/script&gt; \u{202e}desrever",
            false,
        ),
        (
            &*format!("&lt;script&gt;alert(1)&lt;/script&gt; {long}"),
            true,
        ),
    ] {
        let target = scripted(title).await;
        let options = RemoteOptions::new("union", [target]);
        let database = RemoteDatabase::new(&Client::new(), options).expect("a target");
        let front = TestServer::builder()
            .backend(Arc::new(database))
            .web(Arc::new(CataloguePage::new()))
            .start();
        // A long title does not fit into a field of a MARC record.
        for (syntax, is_there) in [(USMARC, !is_long), (XML, true), (SUTRS, true)] {
            let connection = connected(&front, "union").await;
            let connection = connection.with_form(z3950::RecordForm::new(Some(syntax), None));
            let hits = connection.search(Query::title("x")).await.expect("hits");
            assert_eq!(hits.count(), 1);
            let record = hits.record(1).await;
            assert_eq!(record.is_ok(), is_there, "{syntax}: {record:?}");
        }
        let answer = http(&front, "/union?query=x").await;
        assert!(answer.contains("<zs:numberOfRecords>1</zs:numberOfRecords>"));
        assert!(!answer.contains("<script"));
        for path in ["/search?q=x", "/search?q=x&target=union&at=1"] {
            let page = http(&front, path).await;
            assert!(page.starts_with("HTTP/1.1 200"), "{path}: {page}");
            assert!(!page.contains("<script>alert"), "{path}");
            assert!(page.contains("script&#62;alert(1)"), "{path}: {page}");
            assert!(page.len() < 512 << 10, "{path}: {}", page.len());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_record_too_long_for_marc_does_not_spoil_the_downloads() {
    let long = format!("Long {}", "x".repeat(1 << 20));
    let good = catalogue("b", 2).start();
    let targets = [scripted(&long).await, target(&good)];
    let options = RemoteOptions::new("union", targets);
    let database = RemoteDatabase::new(&Client::new(), options).expect("targets");
    let front = TestServer::builder()
        .backend(Arc::new(database))
        .web(Arc::new(CataloguePage::new()))
        .start();
    let list = "/search?q=shared&target=union";
    for (format, mark, count) in [
        ("marcxml", "</record>", 3),
        ("json", "\"leader\"", 3),
        ("csv", "\r\n", 4),
    ] {
        let answer = http(&front, &format!("{list}&format={format}")).await;
        let (head, file) = answer.split_once("\r\n\r\n").expect("a head");
        assert!(head.contains("filename=\"records."), "{format}: {head}");
        assert_eq!(file.matches(mark).count(), count, "{format}");
        let titles = [&*long, "Shared b1", "Shared b2"];
        assert!(titles.iter().all(|title| file.contains(title)), "{format}");
    }
    let page = http(&front, &format!("{list}&format=marc")).await;
    assert!(page.starts_with("HTTP/1.1 404 "), "{page}");
    assert!(!page.contains("attachment"), "{page}");
    assert!(
        page.contains("<li><bdi>Record 1 of union</bdi>, <bdi>Long xxx"),
        "{page}"
    );
    assert!(page.contains("ISO 2709 allows 9999"), "{page}");
    assert_eq!(page.matches("<li><bdi>Record ").count(), 1, "{page}");
    let link = "start=1&#38;format=marc&#38;incomplete=1\">Download the others as MARC";
    assert!(page.contains(link), "{page}");
    let file = http(&front, &format!("{list}&format=marc&incomplete=1")).await;
    assert!(file.contains("\"records-incomplete.mrc\""), "{file}");
    assert_eq!(file.matches('\u{1d}').count(), 2, "{file}");
    assert!(file.contains("Shared b1") && file.contains("Shared b2"));
    let alone = http(&front, &format!("{list}&at=1&format=marc&incomplete=1")).await;
    assert!(
        alone.contains("<li><bdi>Record 1 of union</bdi>, "),
        "{alone}"
    );
    assert!(!alone.contains("Download the others"), "{alone}");
    // A complete file keeps its usual name even if the request accepts an incomplete file.
    let whole = http(&front, &format!("{list}&at=2&format=marc&incomplete=1")).await;
    assert!(whole.contains("filename=\"b1.mrc\""), "{whole}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn downloads_of_targets_that_fail_are_failures() {
    for (rule, status) in [
        ("on present: silence", "504"),
        ("on present: garbage", "504"),
        ("on present: fail 13", "502"),
        ("on present: damage truncated", "502"),
    ] {
        let hostile = catalogue("a", 3).rule(rule);
        let hostile = hostile.rule("on search: no-piggyback").start();
        let mut options = RemoteOptions::new("union", [target(&hostile)]);
        options.target_time = TARGET_TIME;
        let database = RemoteDatabase::new(&Client::new(), options).expect("targets");
        let front = TestServer::builder()
            .backend(Arc::new(database))
            .web(Arc::new(CataloguePage::new()))
            .start();
        for place in ["start=1", "at=2"] {
            let path = format!("/search?q=shared&target=union&{place}&format=marc");
            let page = http(&front, &path).await;
            let expected = format!("HTTP/1.1 {status} ");
            assert!(page.starts_with(&expected), "{rule} {place}: {page}");
            assert!(!page.contains("Download all as"), "{rule} {place}: {page}");
        }
    }
}

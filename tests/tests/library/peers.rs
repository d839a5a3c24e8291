//! Tests that the same program prints titles from our server, from Zebra, and through a retrieval URL.

use bytes::Bytes;
use z3950::{Client, Query};
use z3950_marc::{MarcRecord, iso2709, mrk};
use z3950_server::testing::TestServer;
use z3950_tests::peer;

fn books() -> Vec<Bytes> {
    let text = include_str!("../../../server/src/memory/demo/books.mrk");
    let records: Vec<MarcRecord> = mrk::parse_all(text).expect("the demo catalogue");
    let encoded = |record| iso2709::encode(record).expect("fits").into();
    records.iter().map(encoded).collect()
}

async fn titles(target: String) -> Vec<String> {
    let client = Client::new();
    let books = client.connect(&target).await.expect(&target);
    let query = Query::words("ti:\"war and peace\" au:tolstoy").expect("a query");
    let hits = books.search(query).await.expect(&target);
    let mut records = hits.stream();
    let mut titles = Vec::new();
    while let Some(record) = records.next().await {
        titles.extend(record.expect(&target).title());
    }
    titles
}

#[tokio::test]
async fn a_first_search_works_against_our_server_and_zebra() {
    let server = TestServer::demo();
    let ours = titles(format!("{}/books", server.addr())).await;
    assert!(
        ours.iter().any(|title| title.starts_with("War and peace")),
        "{ours:?}"
    );
    let url = server.url("books?pg2600;rs=marc");
    let record = Client::new().get(url).await.expect("a record");
    assert!(
        record
            .title()
            .is_some_and(|title| title.starts_with("War and peace"))
    );
    let Some(zebra) = peer::zebrasrv(&books()) else {
        return;
    };
    let theirs = titles(format!("127.0.0.1:{}/Default", zebra.port)).await;
    assert!(
        theirs
            .iter()
            .any(|title| title.starts_with("War and peace")),
        "{theirs:?}"
    );
}

//! Tests of requests that are refused because they exceed a session's memory limit; afterwards, no memory may remain charged to
//! the session.

use super::*;
use crate::budget::DECODED;
use crate::memory::MemoryBackend;
use crate::requests::{Sizes, present_request, scan_request};
use crate::testing::record;

/// Opens a session that may use at most this many octets, at a server with one record of each of these sizes.
async fn open_with(session_octets: usize, records: &[usize]) -> Client {
    let limits = Limits {
        session_octets,
        ..Limits::default()
    };
    let backend = Arc::new(Sizes(records.to_vec()));
    let mut client = Client::of(backend, limits, Faults::new());
    client.send(init()).await;
    assert_eq!(client.heard().await, "initResponse");
    client
}

/// Returns the records in the answer to a request, or its diagnostic.
async fn answer(client: &mut Client, request: Apdu) -> String {
    client.send(request).await;
    match client.next().await {
        Some(Apdu::SearchResponse(search)) => shown(&search.records),
        Some(Apdu::PresentResponse(present)) => shown(&present.records),
        other => panic!("{other:?}"),
    }
}

fn octets(request: &Apdu) -> usize {
    codec::encode(request).expect("encodes").len()
}

fn refusal(most: usize) -> String {
    format!("31 a session keeps at most {most} octets (session-octets)")
}

#[tokio::test(start_paused = true)]
async fn requests_count_until_they_are_answered() {
    let request = |length: usize| search(&"x".repeat(length));
    let most = octets(&request(100)) * DECODED;
    let mut client = open_with(most, &[]).await;
    let nothing = answer(&mut client, search("x")).await;
    for _ in 0..3 {
        assert_eq!(answer(&mut client, request(101)).await, refusal(most));
    }
    // A request that just fits leaves no room for its result set.
    client.send(init()).await;
    assert_eq!(client.heard().await, "initResponse");
    assert_eq!(answer(&mut client, request(100)).await, refusal(most));
    for _ in 0..3 {
        assert_eq!(answer(&mut client, search("x")).await, nothing);
    }
}

#[tokio::test(start_paused = true)]
async fn answers_count_until_they_are_sent() {
    const MOST: usize = 10_000;
    let mut client = open_with(MOST, &[4_000, 4_000, 4_900]).await;
    answer(&mut client, search("x")).await;
    for _ in 0..3 {
        let two = present_request(2, 2).into();
        assert_eq!(answer(&mut client, two).await, refusal(MOST));
        let one = answer(&mut client, present_request(1, 1).into()).await;
        assert!(!one.starts_with("31 "), "{one}");
    }
}

#[tokio::test(start_paused = true)]
async fn octets_of_a_request_count_before_it_is_complete() {
    const MOST: usize = 65_536;
    let mut client = open_with(MOST, &[]).await;
    // This is the beginning of a Search request of 1,000,000 octets.
    let mut octets = vec![0xb6, 0x83, 0x0f, 0x42, 0x40];
    octets.resize(MOST / 2, 0);
    client.send_octets(&octets).await;
    sleep(Duration::from_secs(1)).await;
    let rest = vec![0; MOST];
    // An error means that the server has already ended the connection.
    let _ = client.stream.get_mut().write_all(&rest).await;
    let close = client.heard().await;
    let expected = format!("a session keeps at most {MOST} octets (session-octets)");
    assert!(
        close.starts_with("resources: ") && close.contains(&expected),
        "{close}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_answer_without_records_counts_when_it_is_written() {
    let words: String = (100..600).map(|word| format!("w{word} ")).collect();
    let scan = || {
        let mut request = scan_request("w100");
        request.number_of_terms_requested = 400;
        Apdu::from(request)
    };
    let scanned = async |session_octets| {
        let limits = Limits {
            session_octets,
            ..Limits::default()
        };
        let records = MemoryBackend::builder().add_records("cat", [record("id7", &words)]);
        let backend = Arc::new(records.expect("a record").build());
        let mut client = Client::of(backend, limits, Faults::new());
        client.send(init()).await;
        assert_eq!(client.heard().await, "initResponse");
        client.send(scan()).await;
        client.next().await.expect("an answer")
    };
    let answer = scanned(1 << 20).await;
    assert_eq!(answer.name(), "scanResponse");
    let most = octets(&answer);
    assert!(most > 4_000, "{most}");
    assert_eq!(scanned(most).await.name(), "scanResponse");
    assert_eq!(scanned(most - 1).await.name(), "close");
}

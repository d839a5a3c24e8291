//! Tests of sort keys, and of streams: they own their result set and connection, and can be dropped at any moment.

use std::pin::pin;

use futures_util::{FutureExt, Stream, StreamExt};
use z3950_asn1::apdu::{
    Options, PresentStatus, ProtocolVersion, Records as ResponseRecords, SortElement,
    SortKey as Key,
};

use super::*;
use crate::find::Events;
use crate::testing::*;
use crate::transport::Routes;
use crate::{Client, ClientOptions, Connection, Query};

#[test]
fn sort_keys_are_names_or_attributes() {
    for (text, attributes, relation) in [
        ("title", 1, SortRelation::ASCENDING),
        ("date:desc", 1, SortRelation::DESCENDING),
        ("1=31,4=4:asc", 2, SortRelation::ASCENDING),
    ] {
        let SortKey(key) = text.parse().expect(text);
        let SortElement::Generic(Key::SortAttributes(found)) = &key.sort_element else {
            panic!("{key:?}");
        };
        assert_eq!(
            (found.list.0.len(), key.sort_relation),
            (attributes, relation)
        );
    }
    for (text, words) in [
        ("titel", "no index is called titel; did you mean title?"),
        ("title:up", "up is not a sort order"),
        ("1=", "not an attribute"),
    ] {
        let error = text.parse::<SortKey>().expect_err(text).to_string();
        assert!(error.contains(words), "{error}");
    }
}

/// Returns a server's answer to Init, which grants named result sets if `is_named` is set.
fn accepting(is_named: bool) -> Turn {
    let mut response = init_response(true, ProtocolVersion::UP_TO_3);
    if !is_named {
        response.options = Options::SEARCH | Options::PRESENT;
    }
    send(response)
}

/// Opens a connection to a server that follows a script after Init.
async fn connected(is_named: bool, turns: Vec<Turn>) -> (Client, Connection, Transcript) {
    let script = [vec![accepting(is_named)], turns].concat();
    let scripted = Arc::new(Scripted::new([script]));
    let transcript = scripted.transcript.clone();
    let client = Client::with_routes(ClientOptions::default(), Routes::fixed(scripted));
    let connection = client.connect("lib.example/cat").await;
    (client, connection.expect("a connection"), transcript)
}

fn searched() -> Turn {
    send(found(3, Vec::new()))
}

/// Returns a stream of the records that a search finds. It holds the only handle to the connection.
async fn stream_of(client: &Client) -> Result<Records, Error> {
    let cat = client.connect("lib.example/cat").await?;
    let hits = cat.search(Query::title("emma")).await?;
    Ok(hits.into_stream())
}

#[test]
fn audit_r_l8_streams_own_their_data() {
    fn owns_all<T: Stream + Send + Unpin + 'static>() {}
    owns_all::<Records>();
    owns_all::<Events>();
}

#[tokio::test(start_paused = true)]
async fn audit_r_l8_a_stream_outlives_the_function_that_made_it() {
    for is_named in [true, false] {
        let chunk = presented(
            PresentStatus::SUCCESS,
            Some(ResponseRecords::ResponseRecords(vec![marc(); 3])),
        );
        let turns = vec![searched(), send(chunk), searched()];
        let (client, cat, transcript) = connected(is_named, turns).await;
        drop(cat);
        let records = stream_of(&client).await.expect("a stream");
        let reader = tokio::spawn(StreamExt::collect::<Vec<_>>(records));
        let read = reader.await.expect("no panic");
        let positions = read.iter().map(|record| record.as_ref().ok()?.position());
        assert_eq!(
            positions.collect::<Vec<_>>(),
            [Some(1), Some(2), Some(3)],
            "{is_named}"
        );
        // The session returned to the client when the stream ended, so another stream reuses it.
        drop(stream_of(&client).await.expect("another stream"));
        let search = "search(0/1/0,usmarc)";
        let seen = format!("connect initRequest {search} present(1+3,usmarc) {search}");
        assert_eq!(transcript.text(), seen, "{is_named}");
    }
}

/// Sends a record slowly, so that a reader can give up before the record has arrived.
fn slowly() -> Turn {
    let record = ResponseRecords::ResponseRecords(vec![marc()]);
    let answer = presented(PresentStatus::SUCCESS, Some(record));
    Turn::Trickle(encode(&answer.into()))
}

/// Waits for the next record until the server has received `requests` requests, and then drops the future.
async fn give_up<T>(next: impl Future<Output = T>, transcript: &Transcript, requests: usize) {
    let mut next = pin!(next);
    while transcript.text().matches("present").count() < requests {
        assert!(next.as_mut().now_or_never().is_none());
        tokio::task::yield_now().await;
    }
    assert!(next.now_or_never().is_none());
}

#[tokio::test(start_paused = true)]
async fn audit_r_l8_a_stream_dropped_in_the_middle_leaves_the_connection_usable() {
    for is_named in [true, false] {
        for (reads, waits) in [(0, false), (1, false), (0, true), (1, true)] {
            let read = std::iter::repeat_n(one(marc()), reads);
            let slow = waits.then(slowly);
            let before = std::iter::once(searched()).chain(read).chain(slow);
            let turns = before.chain([searched(), one(marc())]).collect();
            let (_, cat, transcript) = connected(is_named, turns).await;
            let hits = cat.search(Query::title("emma")).await.expect("hits");
            let mut records = hits.into_stream();
            for _ in 0..reads {
                records.next().await.expect("a record").expect("a record");
            }
            if waits {
                give_up(StreamExt::next(&mut records), &transcript, reads + 1).await;
            }
            drop(records);
            let hits = cat.search(Query::title("emma")).await.expect("hits");
            hits.record(1).await.expect("a record");
            let text = transcript.text();
            assert_eq!(text.matches("connect").count(), 1, "{text}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn audit_r_l8_a_record_that_is_no_longer_awaited_keeps_no_one_waiting() {
    let (_, cat, transcript) = connected(true, vec![searched(), slowly(), one(marc())]).await;
    let hits = cat.search(Query::title("emma")).await.expect("hits");
    let mut records = hits.stream();
    give_up(records.next(), &transcript, 1).await;
    hits.record(2).await.expect("a record");
    let text = transcript.text();
    assert!(
        text.ends_with("present(1+3,usmarc) present(2+1,usmarc)"),
        "{text}"
    );
}

#[tokio::test(start_paused = true)]
async fn audit_r_l8_an_ended_stream_stays_at_its_end() {
    let (_, cat, _) = connected(true, vec![searched(), Turn::HangUp]).await;
    let hits = cat.search(Query::title("emma")).await.expect("hits");
    let mut records = hits.into_stream();
    assert!(matches!(records.next().await, Some(Err(_))));
    assert!(records.next().await.is_none());
    assert!(records.next().await.is_none());
}

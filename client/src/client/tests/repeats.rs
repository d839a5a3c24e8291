//! Tests of how often the client repeats a request that makes the server end the session.

use futures_util::StreamExt;

use super::*;
use crate::find::{Event, Wanted};
use crate::query::Query;

/// Returns how often a transcript contains a word.
fn count(transcript: &Transcript, word: &str) -> usize {
    transcript.text().matches(word).count()
}

fn repeating(max_repeats: usize) -> ClientOptions {
    ClientOptions {
        max_repeats,
        ..options(|_| ())
    }
}

/// Returns the scripts of servers: `first`, followed by servers that end each session at the first search.
fn deadly(first: Vec<Turn>) -> impl Iterator<Item = Vec<Turn>> {
    let others = std::iter::repeat_with(|| vec![accepted(), Turn::HangUp]);
    std::iter::once(first).chain(others.take(9))
}

#[tokio::test(start_paused = true)]
async fn audit_r_l2_a_search_that_ends_its_session_is_sent_twice_at_most() {
    let used = || vec![accepted(), send(found(2, vec![])), Turn::HangUp];
    for (what, max_repeats, first, searches, sent) in [
        ("in a new session", 1, vec![accepted(), Turn::HangUp], 1, 1),
        ("in a used session", 1, used(), 2, 3),
        (
            "of a batch, in a new session",
            4,
            vec![accepted(), Turn::HangUp],
            1,
            1,
        ),
        ("of a batch, in a used session", 4, used(), 2, 6),
        ("of a client that repeats nothing", 0, used(), 2, 2),
    ] {
        let (client, transcript) = client(repeating(max_repeats), deadly(first));
        let cat = client.connect("lib.example/cat").await.expect(what);
        let mut last = None;
        for _ in 0..searches {
            last = cat.search(Query::title("emma")).await.err();
        }
        let error = last.expect(what);
        assert!(error.is_connection_lost(), "{what}: {error}");
        assert_eq!(count(&transcript, "search("), sent, "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn audit_r_l2_a_session_of_the_pool_counts_as_used() {
    let used = vec![accepted(), send(found(2, vec![])), Turn::HangUp];
    let (client, transcript) = client(repeating(1), deadly(used));
    for (is_found, sent) in [(true, 1), (false, 3), (false, 4)] {
        let cat = client.connect("lib.example/cat").await.expect("a session");
        let hits = cat.search(Query::title("emma")).await;
        assert_eq!(hits.is_ok(), is_found);
        drop(hits);
        assert_eq!(count(&transcript, "search("), sent);
    }
}

#[tokio::test(start_paused = true)]
async fn audit_r_l2_a_present_that_ends_its_session_is_sent_twice_at_most() {
    let hits = || send(found(2, vec![]));
    let deadly = || vec![accepted(), hits(), Turn::HangUp];
    for used in [false, true] {
        let first = if used {
            vec![accepted(), hits(), one(marc()), hits(), Turn::HangUp]
        } else {
            deadly()
        };
        let others = std::iter::repeat_with(deadly).take(9);
        let scripts = std::iter::once(first).chain(others);
        let (client, transcript) = client(repeating(1), scripts);
        let mut delivered = Vec::new();
        for _ in 0..=usize::from(used) {
            let target = client.target("lib.example/cat").expect("a target");
            let wanted = Wanted {
                count: 1,
                ..Wanted::identifier("isbn:9780141439587").expect("an identifier")
            };
            let events: Vec<_> = client.find([target], wanted).collect().await;
            let records = events
                .iter()
                .filter(|event| matches!(event, Event::Record { .. }));
            delivered.push(records.count());
        }
        let kept = usize::from(used);
        assert_eq!(delivered, [1, 0][1 - kept..], "{used}");
        assert_eq!(count(&transcript, "present("), kept + 2, "{used}");
    }
}

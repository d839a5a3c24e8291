//! Checks: whether an engine is as the settings say, and what is not used until it is.

use super::fake::{Holdings, refusing, sound};
use super::*;

#[tokio::test]
async fn each_replica_is_checked() {
    let lacking = refusing("unknown local index 'books' in search request").await;
    let (first, second) = (sound().await, sound().await);
    let gone = FakeServer::start(|_| ready(None)).await;
    for (servers, expected) in [
        ([&first, &second], Ok(())),
        ([&first, &lacking], Err(true)),
        ([&lacking, &first], Err(true)),
        ([&gone, &lacking], Err(true)),
        ([&gone, &first], Err(false)),
        ([&first, &gone], Err(false)),
    ] {
        let checked = database(&servers, &[]).check().await;
        let outcome = checked.as_ref().copied().map_err(|error| match error {
            EngineCheckError::WithoutIndex(words) => words.starts_with(&lacking.place()),
            _ => false,
        });
        assert_eq!(outcome, expected, "{checked:?}");
    }
}

/// What does not match is not asked until it does: a distributor, or the whole engine.
#[tokio::test]
async fn what_does_not_match_is_not_asked() {
    let [is_other, is_gone] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
    let (other, gone) = (Arc::clone(&is_other), Arc::clone(&is_gone));
    let changing = FakeServer::start(move |request| {
        let foreign: &[Option<&[u8]>] = &[Some(b"0123456789abcdef")];
        let total: &[Option<&[u8]>] = &[Some(b"total_found"), Some(b"1")];
        let is_other = other.load(Ordering::Relaxed) && request.contains(token::LAYOUT);
        let found = if is_other {
            answer(&[foreign], &[total])
        } else {
            Holdings::whole(0).answer(&request)
        };
        ready((!gone.load(Ordering::Relaxed)).then_some(found))
    });
    let (changing, sound) = (changing.await, sound().await);
    let one = database(&[&changing, &sound], &[]);
    let all = database(&[&changing], &[]);
    let node = database(&[&sound], &[&changing]);
    // While it does not answer, nothing is known to have changed.
    for (other, gone) in [(true, false), (false, true), (false, false), (true, true)] {
        is_other.store(other, Ordering::Relaxed);
        is_gone.store(gone, Ordering::Relaxed);
        let other = other != gone;
        for (database, is_refused) in [(&one, false), (&all, other), (&node, other)] {
            let checked = database.check_again().await;
            assert_eq!(checked.is_err(), other || gone);
            assert_eq!(database.usable().is_err(), is_refused);
        }
        if gone {
            continue;
        }
        let before = changing.asked().len();
        for _ in 0..4 {
            one.replicas.ask(b"SHOW META").await.expect("an answer");
        }
        assert_eq!(changing.asked().len() == before, other);
    }
}

/// A distributor that is gone does not keep the others from being used.
#[tokio::test]
async fn what_matches_again_is_used_although_others_are_gone() {
    let gone = FakeServer::start(|_| ready(None)).await;
    let sound = sound().await;
    let database = database(&[&sound, &gone], &[&sound]);
    for is_refused in [true, false] {
        // As if the last check had found otherwise.
        database.refused.store(is_refused, Ordering::Relaxed);
        for place in [0, 1] {
            database.replicas.set_refused(place, is_refused);
        }
        assert_eq!(database.usable().is_err(), is_refused);
        let checked = database.check_again().await;
        assert!(
            matches!(checked, Err(EngineCheckError::Unreachable(_))),
            "{checked:?}"
        );
        assert_eq!(database.usable(), Ok(()));
    }
}

/// Without the nodes, only a distributor can say that some do not answer.
#[tokio::test]
async fn an_engine_in_part_cannot_be_checked() {
    let part = FakeServer::start(|request| ready(Some(Holdings::part(0).answer(&request)))).await;
    let node = sound().await;
    let alone = database(&[&part], &[]).check().await;
    assert!(
        matches!(alone, Err(EngineCheckError::Unreachable(_))),
        "{alone:?}"
    );
    assert_eq!(database(&[&part], &[&node]).check().await, Ok(()));
}

/// One whose files are lost is not searched in vain without a word.
#[tokio::test]
async fn an_empty_node_among_full_ones_is_named() {
    let numbers: Vec<String> = (0..100).map(|number| (2 * number).to_string()).collect();
    let rows: Vec<[Option<&[u8]>; 1]> = numbers
        .iter()
        .map(|number| [Some(number.as_bytes())])
        .collect();
    let rows: Vec<&[Option<&[u8]>]> = rows.iter().map(|row| &row[..]).collect();
    for (most, is_named) in [(100, true), (99, false)] {
        let sample = result(1, &rows[..most], false);
        let full = FakeServer::start(move |request| {
            ready(Some(if request.contains("books LIMIT") {
                sample.clone()
            } else {
                Holdings::whole(0).answer(&request)
            }))
        });
        let (full, empty) = (full.await, sound().await);
        let checked = database(&[&empty], &[&full, &empty]).check().await;
        let expected = EngineCheckError::Emptied(empty.place());
        assert!(!expected.is_mismatch());
        assert_eq!(checked.err(), is_named.then_some(expected));
    }
}

#[tokio::test]
async fn a_check_asks_for_all_that_the_layout_has() {
    let server = sound().await;
    let database = database(&[&server], &[]);
    database.check().await.expect("it is sound");
    let asked = server.asked();
    let [records, terms] = &asked[..] else {
        panic!("{asked:?}");
    };
    let columns: Vec<String> = layout().sort_columns().flatten().collect();
    let fields = layout().fields().join(",");
    for part in [
        "SELECT id,record,facets,",
        &columns.join(","),
        &format!("@({fields}) "),
        " FROM books ",
    ] {
        assert!(records.contains(part), "{part}: {records}");
    }
    for part in ["SELECT term,id,p,q,r ", " FROM books_terms ", " LIMIT 0,2 "] {
        assert!(terms.contains(part), "{part}: {terms}");
    }
}

/// An engine says how it has read the words of a query.
#[tokio::test]
async fn an_engine_that_reads_other_words_is_refused() {
    async fn reading(words: [&'static str; 2], mark: &'static str) -> FakeServer {
        let answered = move |request: String| {
            let [first, second] = if request.contains("books_terms") {
                [mark, mark]
            } else {
                words
            };
            let total: &[Option<&[u8]>] = &[Some(b"total_found"), Some(b"0")];
            let first: &[Option<&[u8]>] = &[Some(b"keyword[0]"), Some(first.as_bytes())];
            let second: &[Option<&[u8]>] = &[Some(b"keyword[1]"), Some(second.as_bytes())];
            answer(&[], &[total, first, second])
        };
        FakeServer::start(move |request| ready(Some(answered(request)))).await
    }
    let mark = "\u{e400}";
    for (words, mark, is_sound) in [
        ([token::OF_EACH_KIND, "ab*"], mark, true),
        ([token::OF_EACH_KIND, "ab"], mark, false),
        (["az09", "ab*"], mark, false),
        ([token::OF_EACH_KIND, "ab*"], "e400", false),
    ] {
        let engine = reading(words, mark).await;
        let checked = database(&[&engine], &[]).check().await;
        let is_other = matches!(&checked, Err(EngineCheckError::Different(words)) if words.contains("other characters"));
        assert_eq!(
            (checked.is_ok(), is_other),
            (is_sound, !is_sound),
            "{checked:?}"
        );
    }
}

/// Those that do not answer are counted.
#[tokio::test]
async fn a_check_notes_which_servers_answer() {
    let (one, gone) = (sound().await, FakeServer::start(|_| ready(None)).await);
    let database = database(&[&one, &gone], &[&gone]);
    let checked = database.check().await;
    assert!(
        matches!(checked, Err(EngineCheckError::Unreachable(_))),
        "{checked:?}"
    );
    let counts = database.servers();
    let up: Vec<(&str, bool)> = counts
        .iter()
        .map(|counts| (&*counts.server, counts.is_up))
        .collect();
    let (one, gone) = (one.place(), gone.place());
    assert_eq!(up, [(&*one, true), (&gone, false), (&gone, false)]);
}

/// With several nodes, each has every nth number; one that was not loaded yet has none.
#[tokio::test]
async fn each_node_has_to_have_its_own_records() {
    async fn with(numbers: &'static [&'static str]) -> FakeServer {
        let rows: Vec<[Option<&[u8]>; 1]> = numbers
            .iter()
            .map(|number| [Some(number.as_bytes())])
            .collect();
        let rows: Vec<&[Option<&[u8]>]> = rows.iter().map(|row| &row[..]).collect();
        let sample = result(1, &rows, false);
        let answer = move |request: String| {
            if request.contains("MATCH") {
                Holdings::whole(0).answer(&request)
            } else {
                sample.clone()
            }
        };
        FakeServer::start(move |request| ready(Some(answer(request)))).await
    }
    let distributor = sound().await;
    let (even, odd, both, none) = (
        with(&["2", "4"]).await,
        with(&["1", "7"]).await,
        with(&["1", "7", "8"]).await,
        with(&[]).await,
    );
    for (nodes, expected) in [
        ([&even, &odd], None),
        ([&even, &none], None),
        ([&none, &even], Some(&even)),
        ([&odd, &even], Some(&odd)),
        ([&even, &both], Some(&both)),
    ] {
        let database = database(&[&distributor], &nodes);
        let misplaced = |node: &FakeServer| EngineCheckError::Misplaced(node.place());
        let expected = expected.map_or(Ok(()), |node| Err(misplaced(node)));
        assert_eq!(database.check().await, expected);
        assert_eq!(database.check_nodes().await, expected);
    }
}

/// Without one of the nodes, its records would be missing, and nothing would say so.
#[tokio::test]
async fn a_distributor_has_to_ask_all_nodes() {
    let (one, two) = (sound().await, sound().await);
    for (kinds, asked) in [
        (&["remote_1", "remote_2"][..], None),
        (&["local", "remote_1"], None),
        (
            &["remote_1_mirror_1", "remote_1_mirror_2", "remote_2"],
            None,
        ),
        // Nothing is said.
        (&[], None),
        // Not a distributed index: that of a node.
        (&["field", "bigint", "string"], Some(1)),
        (&["remote_1"], Some(1)),
        (&["remote_1_mirror_1", "remote_1_mirror_2"], Some(1)),
        (&["remote_1", "remote_2", "remote_3"], Some(3)),
    ] {
        let rows: Vec<[Option<&[u8]>; 2]> = kinds
            .iter()
            .map(|kind| [Some(&b"a:1:books"[..]), Some(kind.as_bytes())])
            .collect();
        let rows: Vec<&[Option<&[u8]>]> = rows.iter().map(|row| &row[..]).collect();
        let description = result(2, &rows, false);
        let distributor = FakeServer::start(move |request| {
            ready(Some(if request.starts_with("DESCRIBE books") {
                description.clone()
            } else {
                Holdings::whole(0).answer(&request)
            }))
        });
        let distributor = distributor.await;
        let checked = database(&[&distributor], &[&one, &two]).check().await;
        let place = distributor.place();
        let other = |asked| EngineCheckError::OtherNodes {
            place,
            asked,
            listed: 2,
        };
        assert_eq!(checked, asked.map_or(Ok(()), |asked| Err(other(asked))));
    }
}

/// Records that were made with another layout are in none of the servers.
#[tokio::test]
async fn all_records_have_to_be_made_with_the_layout() {
    async fn with(layouts: &[&str]) -> FakeServer {
        let rows: Vec<[Option<&[u8]>; 1]> = layouts
            .iter()
            .map(|layout| [Some(layout.as_bytes())])
            .collect();
        let rows: Vec<&[Option<&[u8]>]> = rows.iter().map(|row| &row[..]).collect();
        let total: &[Option<&[u8]>] = &[Some(b"total_found"), Some(b"2")];
        let found = answer(&rows, &[total]);
        let made_with = move |request: String| {
            if request.contains(token::LAYOUT) {
                found.clone()
            } else {
                Holdings::whole(0).answer(&request)
            }
        };
        FakeServer::start(move |request| ready(Some(made_with(request)))).await
    }
    let own = layout().term();
    let (sound, same) = (sound().await, with(&[&own]).await);
    let other = with(&["0123456789abcdef"]).await;
    let both = with(&[&own, "0123456789abcdef"]).await;
    for (distributor, node, expected) in [
        (&same, &same, None),
        (&sound, &same, None),
        (&other, &same, Some(&other)),
        (&same, &other, Some(&other)),
        (&same, &both, Some(&both)),
    ] {
        let checked = database(&[distributor], &[node]).check().await;
        let outdated = |server: &FakeServer| EngineCheckError::Outdated(server.place());
        let expected = expected.map_or(Ok(()), |server| Err(outdated(server)));
        assert_eq!(checked, expected);
    }
}

/// Whatever a server says is a line of printable text after its address.
#[tokio::test]
async fn words_of_servers_are_lines() {
    let hostile = refusing(&"\x1b[31merror\0\r\n".repeat(50)).await;
    let checked = database(&[&hostile], &[]).check().await;
    let Err(EngineCheckError::Unreachable(words)) = checked else {
        panic!("{checked:?}");
    };
    assert!(words.starts_with(&hostile.place()), "{words}");
    assert!(!words.contains(char::is_control), "{words}");
}

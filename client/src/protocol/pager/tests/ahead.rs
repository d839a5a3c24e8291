//! Tests of long ranges, whose chunks are requested before their records are needed.

use super::*;

/// Reads a range from a set of 100 records in chunks of 4 to `most` records. Returns the requests that the server had
/// received when the first `count` records had been read, and the number of records that were read.
async fn read_ahead(
    habit: Habit,
    is_concurrent: bool,
    most: u64,
    range: u64,
    count: usize,
) -> (String, usize) {
    let granted = if is_concurrent {
        Options::CONCURRENT_OPERATIONS
    } else {
        Options::default()
    };
    read_with(habit, granted, 1, most, range, count).await
}

/// Reads a range like [`read_ahead`], from a server that grants these options, with up to `max_pipelined` requests sent
/// ahead.
async fn read_with(
    habit: Habit,
    granted: Options,
    max_pipelined: usize,
    most: u64,
    range: u64,
    count: usize,
) -> (String, usize) {
    let server = Server {
        habit,
        hits: 100,
        asked: Arc::default(),
    };
    let session = SessionOptions {
        max_pipelined,
        ..SessionOptions::default()
    };
    let (session, mut peer) = Peer::granting(session, granted).await;
    let answers = server.clone();
    tokio::spawn(async move {
        loop {
            let request = peer.request().await;
            let reference_id = request.reference_id().cloned();
            for mut answer in answers.answer(request).unwrap_or_default() {
                answer.set_reference_id(reference_id.clone());
                peer.send(answer).await;
            }
        }
    });
    let options = PagerOptions {
        chunk_size: 4,
        max_chunk_size: most,
        ..PagerOptions::default()
    };
    let search = SearchOptions::default();
    let set = session.pager(query(), &search, options).await;
    let mut set = set.expect("found");
    let mut stream = set.stream_range(1, range);
    let mut seen = Vec::new();
    while seen.len() < count
        && let Some(record) = stream.next().await
    {
        seen.push(words(&record.expect("a record")));
    }
    // The records requested ahead arrive during this pause.
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    let asked = server.asked.lock().expect("no panic").join(" ");
    let rest: Vec<_> = stream.collect().await;
    seen.extend(rest.iter().flatten().map(words));
    let positions: Vec<String> = (1..=seen.len())
        .map(|position| position.to_string())
        .collect();
    assert_eq!(seen, positions, "{habit:?}");
    (asked, seen.len())
}

#[tokio::test(start_paused = true)]
async fn as_many_chunks_are_pipelined_as_requests_may_be() {
    for (max_pipelined, asked) in [
        (1, "search 1+4 5+4"),
        (2, "search 1+4 5+4 9+4"),
        (4, "search 1+4 5+4 9+4 13+4 17+4"),
        (8, "search 1+4 5+4 9+4 13+4 17+4 21+4 25+4 29+4 33+4"),
        (64, "search 1+4 5+4 9+4 13+4 17+4 21+4 25+4 29+4 33+4"),
    ] {
        let read = read_with(Habit::Honest, Options::default(), max_pipelined, 0, 100, 1).await;
        assert_eq!(read, (asked.to_owned(), 100), "{max_pipelined}");
    }
}

#[tokio::test(start_paused = true)]
async fn long_ranges_are_requested_ahead_in_growing_chunks() {
    let all = u64::MAX;
    for (habit, is_concurrent, most, range, count, asked) in [
        // The first chunk may be all that the caller reads, so nothing is requested ahead with it. Once its second chunk is
        // requested, an endless range is treated as long.
        (Habit::Honest, false, 0, all, 4, "search 1+4"),
        (Habit::Honest, false, 0, all, 5, "search 1+4 5+4 9+4"),
        (
            Habit::Honest,
            true,
            0,
            all,
            5,
            "search 1+4 5+4 9+4 13+4 17+4 21+4 25+4 29+4 33+4 37+4",
        ),
        (
            Habit::Honest,
            true,
            0,
            100,
            1,
            "search 1+4 5+4 9+4 13+4 17+4 21+4 25+4 29+4 33+4",
        ),
        (Habit::Honest, false, 16, all, 5, "search 1+4 5+16 21+16"),
        (
            Habit::Honest,
            false,
            16,
            all,
            21,
            "search 1+4 5+16 21+16 37+16",
        ),
        (
            Habit::Honest,
            true,
            16,
            all,
            99,
            "search 1+4 5+16 21+16 37+16 53+16 69+16 85+16",
        ),
        // After a short answer, the requests sent ahead are dropped, and the chunks shrink to the length of that answer.
        (
            Habit::Short(6),
            true,
            16,
            all,
            5,
            "search 1+4 5+16 11+6 17+6 23+6 29+6 35+6 41+6 47+6 53+6",
        ),
        // Chunks that have grown too large shrink permanently.
        (
            Habit::Refuses(1, 8),
            false,
            64,
            all,
            13,
            "search 1+4 5+16 5+4 9+4 13+4 17+4",
        ),
    ] {
        let (seen, read) = read_ahead(habit, is_concurrent, most, range, count).await;
        assert_eq!((seen.as_str(), read), (asked, 100), "{habit:?}");
    }
}

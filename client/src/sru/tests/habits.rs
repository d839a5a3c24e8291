//! Tests of the ways in which real servers differ: in their namespaces, in wrong counts and positions, in limits on the
//! number of records, and in the names of schemas.

use super::*;

/// Searches and reads all records. `expected` contains the expected titles, and `asked` the expected ranges and schemas
/// in the requests.
async fn check(
    replies: impl IntoIterator<Item = Reply>,
    first: u64,
    expected: &[&str],
    asked: &str,
) {
    let peer = Peer::new(replies);
    let connection = peer.connect().await;
    let titles = match titles(&connection, first).await {
        Ok(titles) => titles,
        Err(error) => vec![chain(&error)],
    };
    assert_eq!(titles, expected);
    let ranges = peer.asked().into_iter().skip(1).map(|line| {
        let value = |name: &str| {
            let (_, rest) = line.split_once(&format!("{name}="))?;
            rest.split('&').next().map(str::to_owned)
        };
        match (
            value("startRecord"),
            value("maximumRecords"),
            value("recordSchema"),
        ) {
            (Some(start), Some(count), Some(schema)) if schema != "marcxml" => {
                format!("{start}+{count} {schema}")
            }
            (Some(start), Some(count), _) => format!("{start}+{count}"),
            _ => "explain".to_owned(),
        }
    });
    let ranges: Vec<String> = ranges.collect();
    assert_eq!(ranges.join(", "), asked);
}

#[tokio::test]
async fn answers_in_any_namespace_and_version() {
    let answer = found_xml(1, [1]);
    let new = answer
        .replace(
            "http://www.loc.gov/zing/srw/",
            "http://docs.oasis-open.org/ns/search-ws/sruResponse",
        )
        .replace("<zs:version>1.1</zs:version>", "")
        .replace("recordPacking", "recordXMLEscaping");
    let bare = answer
        .replace(" xmlns:zs=\"http://www.loc.gov/zing/srw/\"", "")
        .replace("zs:", "");
    let escaped = marc("1").replace('<', "&lt;").replace('>', "&gt;");
    let string = answer.replace(&marc("1"), &escaped);
    let latin = answer.replace("Title 1", "Title 1 é");
    let latin: Vec<u8> = latin
        .chars()
        .map(|one| u8::try_from(u32::from(one)).expect("Latin-1"))
        .collect();
    let mark = ["\u{feff}".as_bytes(), answer.as_bytes()].concat();
    let title = "Title 1";
    for (body, title) in [
        (new.into_bytes(), title),
        (bare.into_bytes(), title),
        (
            answer.replace("zing/srw/\"", "zing/srw\"").into_bytes(),
            title,
        ),
        (
            answer.replace("zing/srw/\"", "zing/srw//\"").into_bytes(),
            title,
        ),
        (
            answer
                .replace("<zs:version>1.1</zs:version>", "<zs:version/>")
                .into_bytes(),
            title,
        ),
        (answer.replace(">xml<", ">XML<").into_bytes(), title),
        (string.into_bytes(), title),
        (latin, "Title 1 é"),
        (mark, title),
    ] {
        check([ok(body)], 1, &[title], "1+1").await;
    }
}

#[tokio::test]
async fn a_cap_on_records_is_found_out() {
    let peer = [found(5, 1..=2), found(5, 3..=4), found(5, [5])];
    let all = ["Title 1", "Title 2", "Title 3", "Title 4", "Title 5"];
    check(peer, 5, &all, "1+5, 3+3, 5+1").await;
    // If the server sends more records than requested, the surplus is ignored.
    check(
        [found(2, []), found(2, 1..=9)],
        0,
        &["Title 1", "Title 2"],
        "1+0, 1+2",
    )
    .await;
}

#[tokio::test]
async fn wrong_counts_and_positions_end() {
    let none = "protocol error during Present: the server counts 3 records and sends none \
                from 2 on";
    check(
        [found(3, [1]), found(3, [])],
        1,
        &["Title 1", none],
        "1+1, 2+2",
    )
    .await;
    // If the answer has no number of hits, the records are counted.
    let uncounted = found_xml(9, 1..=2).replace("<zs:numberOfRecords>9</zs:numberOfRecords>", "");
    check([ok(uncounted)], 5, &["Title 1", "Title 2"], "1+5").await;
    // Records that were sent are delivered, whatever number of hits the server states, and missing records are
    // requested again.
    for count in [0, 1] {
        let fewer = found(count, 1..=2);
        check([fewer], 5, &["Title 1", "Title 2"], "1+5").await;
    }
    check(
        [found(1, 1..=3), found(1, [3])],
        2,
        &["Title 1", "Title 2", "Title 3"],
        "1+2, 3+1",
    )
    .await;
    // If the estimated number of hits was too high, the records end without an error.
    let estimate = |answer: Reply| match answer {
        Reply::Octets(octets) => {
            let text = String::from_utf8(octets).expect("text");
            let (_, body) = text.split_once("\r\n\r\n").expect("a body");
            let precision =
                "<zs:resultCountPrecision>estimate</zs:resultCountPrecision></zs:search";
            ok(body.replace("</zs:search", precision))
        }
        other => other,
    };
    check(
        [estimate(found(3, [1])), found(3, []), found(3, [])],
        1,
        &["Title 1"],
        "1+1, 2+2, 2+1",
    )
    .await;
    // The Deutsche Nationalbibliothek gives 1 as the next position even if there are no hits.
    let next = answer_xml(
        "<zs:numberOfRecords>0</zs:numberOfRecords><zs:nextRecordPosition>1</zs:nextRecordPosition>",
    );
    check([ok(next)], 5, &[], "1+5").await;
    // In each answer, this server counts the positions of the records from 1 again.
    let second = found_xml(2, [2]).replace("<zs:recordPosition>2", "<zs:recordPosition>1");
    check(
        [found(2, [1]), ok(second)],
        1,
        &["Title 1", "Title 2"],
        "1+1, 2+1",
    )
    .await;
    let positions = found_xml(2, 1..=2).replace("<zs:recordPosition>", "<zs:recordPosition>x");
    check([ok(positions)], 2, &["Title 1", "Title 2"], "1+2").await;
}

#[tokio::test]
async fn a_server_that_begins_again_is_stopped() {
    let again =
        "protocol error during Present: the server sends record 1 again in place of record 2";
    check(
        [found(3, [1]), found(3, [1])],
        1,
        &["Title 1", again],
        "1+1, 2+2",
    )
    .await;
}

#[tokio::test]
async fn records_that_are_left_out_leave_a_diagnostic() {
    let lost = "the server left the record out";
    let words = format!("diagnostic 14 (the server could not deliver a record): {lost}");
    let peer = Peer::new([found(4, [1, 3, 4])]);
    let connection = peer.connect().await;
    let titles = titles(&connection, 4).await.expect("titles");
    assert_eq!(titles.len(), 4);
    assert!(titles[1].contains(&words), "{titles:?}");
    assert_eq!(titles[2], "Title 3");
}

#[tokio::test]
async fn diagnostics_beside_records_are_remarks() {
    let both = found_xml(1, [1]).replace(
        "</zs:records>",
        &format!("</zs:records>{}", diagnostic(59, "")),
    );
    check([ok(both)], 1, &["Title 1"], "1+1").await;
}

#[tokio::test]
async fn a_schema_that_is_refused_is_replaced() {
    let explain = "<explainResponse><record><recordData><explain><schemaInfo><schema name=\"dc\"/><schema name=\"oai-marc\"/>\
                   </schemaInfo></explain></recordData></record></explainResponse>";
    let no_explain = refused(4, "explain");
    let all = ["Title 1"];
    check(
        [refused(66, "marcxml"), ok(explain), found(1, [1])],
        1,
        &all,
        "1+1, explain, 1+1 oai-marc",
    )
    .await;
    check(
        [
            refused(66, "marcxml"),
            no_explain.clone(),
            refused(66, ""),
            found(1, [1]),
        ],
        1,
        &all,
        "1+1, explain, 1+1 info%3Asrw%2Fschema%2F1%2Fmarcxml-v1.1, 1+1 MARC21-xml",
    )
    .await;
    // The second search uses the schema that was chosen for the first search.
    let peer = Peer::new([refused(67, ""), no_explain, found(1, [1]), found(1, [1])]);
    let connection = peer.connect().await;
    for _ in 0..2 {
        titles(&connection, 1).await.expect("titles");
    }
    assert_eq!(peer.asked().len(), 5);
}

#[tokio::test]
async fn a_server_without_any_known_schema_is_asked_a_bounded_number_of_times() {
    let peer = Peer::new((0..60).map(|_| refused(66, "x")));
    let connection = peer.connect().await;
    let error = titles(&connection, 1).await.expect_err("no schema");
    assert!(chain(&error).contains("SRU diagnostic 66"), "{error}");
    let asked = peer.asked().len();
    assert!(asked < 20, "{asked}");
}

#[tokio::test]
async fn diagnostics_without_their_own_element_are_read() {
    let bare = "<zs:numberOfRecords>0</zs:numberOfRecords><zs:diagnostics><uri>info:srw/diagnostic/1/16</uri><details>x</details>\
                <message>No</message><uri>info:srw/diagnostic/1/2</uri></zs:diagnostics>";
    let words = "Search failed: diagnostic 114 (the server has no such search field (Use attribute)): x (SRU diagnostic 16: No); \
                 diagnostic 2 (the server has a temporary error; the same request may work later): SRU diagnostic 2: the server is not available for the moment";
    check([ok(answer_xml(bare))], 1, &[words], "1+1").await;
}

#[tokio::test]
async fn a_record_that_makes_its_answer_unreadable_is_left_out_alone() {
    let unreadable = |positions: std::ops::RangeInclusive<u64>| {
        let answer = found_xml(3, positions);
        ok(answer.replace("<zs:records>", "<zs:records><!DOCTYPE x>"))
    };
    let words = "Present failed: diagnostic 14 (the server could not deliver a record): the record cannot be read: a document type is not \
                 accepted (octet 149)";
    let replies = [
        unreadable(1..=3),
        found(3, []),
        unreadable(1..=3),
        found(3, [1]),
        unreadable(2..=2),
        found(3, [3]),
    ];
    let asked = "1+3, 1+0, 1+3, 1+1, 2+1, 3+1";
    check(replies, 3, &["Title 1", words, "Title 3"], asked).await;
    // A server that never sends a readable answer is not asked for all its records.
    let peer = Peer::new((0..60).map(|at| match at {
        0 => found(1000, []),
        _ => unreadable(1..=1),
    }));
    let connection = peer.connect().await;
    let titles = titles(&connection, 0).await.expect("titles");
    let last = titles.last().map(String::as_str).unwrap_or_default();
    assert!(
        last.starts_with("protocol error during Present"),
        "{titles:?}"
    );
    assert!(titles.len() < 30 && peer.asked().len() < 40, "{titles:?}");
}

#[tokio::test]
async fn a_server_that_refuses_zero_records_gets_another_request() {
    let zero = refused(6, "maximumRecords");
    check([zero, found(1, [1])], 0, &["Title 1"], "1+0, 1+1").await;
}

#[tokio::test]
async fn answers_that_do_not_advance_end_the_result() {
    let million = 1_000_000;
    let ends = |position| {
        format!(
            "protocol error during Present: the server counts 1000000 records, but its answers do not advance \
             after record {position}"
        )
    };
    // If the next position in an answer is not after the answer's first record, no further records are requested.
    let next = |positions: std::ops::RangeInclusive<u64>, next: u64| {
        let next = format!("</zs:records><zs:nextRecordPosition>{next}</zs:nextRecordPosition>");
        ok(found_xml(million, positions).replace("</zs:records>", &next))
    };
    let end = ends(1);
    check([next(1..=1, 1)], 1, &["Title 1", &end], "1+1").await;
    let end = ends(2);
    check(
        [next(1..=1, 2), next(2..=2, 1)],
        1,
        &["Title 1", "Title 2", &end],
        "1+1, 2+20",
    )
    .await;
}

#[tokio::test]
async fn records_of_other_requests_are_not_taken_for_the_requested_ones() {
    // Servers number records from the start of the result or from the start of the answer, and some begin with 0.
    for (positions, expected) in [
        (1..=5, None),
        (0..=4, None),
        (2..=5, None),
        (5..=9, None),
        (6..=6, Some(6)),
        (8..=12, Some(8)),
    ] {
        let peer = Peer::new([found(20, positions.clone())]);
        let connection = peer.connect().await;
        let found = connection.search_first(Query::title("war"), 5).await;
        let words = found.err().map(|error| chain(&error)).unwrap_or_default();
        let expected = expected.map_or_else(String::new, |sent| {
            format!(
                "protocol error during Search: the server sends record {sent} in place of record 1"
            )
        });
        assert_eq!(words, expected, "{positions:?}");
    }
    let elsewhere =
        "protocol error during Present: the server sends record 700 in place of record 2";
    check(
        [found(1000, [1]), found(1000, [700])],
        1,
        &["Title 1", elsewhere],
        "1+1, 2+20",
    )
    .await;
}

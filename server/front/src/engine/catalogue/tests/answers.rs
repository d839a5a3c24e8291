//! Tests of what answers from OpenSearch and Elasticsearch mean for a client.

use super::*;

/// Each answer results in a number of records and of failed sources, or in the condition of a diagnostic.
#[tokio::test]
async fn incomplete_and_unexpected_answers_are_distinguished() {
    let with = |changes: &[(&str, Value)]| changed(answer(2, [1, 2]), changes);
    for (answer, expected, strict) in [
        (with(&[]), Ok((2, 0)), Ok((2, 0))),
        (
            with(&[("/_shards/successful", json!(2))]),
            Ok((2, 1)),
            Err(109),
        ),
        (with(&[("/timed_out", json!(true))]), Ok((2, 1)), Err(109)),
        (
            refused(500, "too_many_nested_clauses", "x"),
            Err(31),
            Err(31),
        ),
        (
            refused(400, "x", "would require more than 10000 effort."),
            Err(9),
            Err(9),
        ),
        (
            refused(404, "index_not_found_exception", "x"),
            Err(109),
            Err(109),
        ),
        (refused(401, "security_exception", "x"), Err(109), Err(109)),
        // Before Elasticsearch 7, the total is a plain number. The errors in the following rows are worded as Elasticsearch words
        // them.
        (with(&[("/hits/total", json!(2))]), Ok((2, 0)), Ok((2, 0))),
        (
            refused(400, "too_many_clauses", "maxClauseCount is set to 1024"),
            Err(31),
            Err(31),
        ),
        (
            refused(
                400,
                "query_shard_exception",
                "failed to create query: maxClauseCount is set to 1024",
            ),
            Err(31),
            Err(31),
        ),
        (
            refused(429, "es_rejected_execution_exception", "rejected"),
            Err(109),
            Err(109),
        ),
        (
            refused(429, "circuit_breaking_exception", "Data too large"),
            Err(109),
            Err(109),
        ),
        (
            refused(
                503,
                "search_phase_execution_exception",
                "Partial shards failure",
            ),
            Err(109),
            Err(109),
        ),
        (
            refused(400, "index_closed_exception", "closed"),
            Err(109),
            Err(109),
        ),
        (
            refused(403, "cluster_block_exception", "blocked"),
            Err(109),
            Err(109),
        ),
        // This error comes from a proxy, not from the engine.
        (
            FakeAnswer::with("502 Bad Gateway", "Content-Type: text/html\r\n", "<html>"),
            Err(109),
            Err(109),
        ),
        (
            FakeAnswer::with(
                "504 Gateway Time-out",
                "Content-Type: text/html\r\n",
                "<html>",
            ),
            Err(109),
            Err(109),
        ),
        (FakeAnswer::of("application/json", ""), Err(109), Err(109)),
        (
            FakeAnswer::of("application/json", "{\"hits\":"),
            Err(109),
            Err(109),
        ),
        (FakeAnswer::Json(200, json!([])), Err(109), Err(109)),
        (FakeAnswer::Json(200, json!({})), Err(109), Err(109)),
        (FakeAnswer::of("text/html", "<h1>"), Err(109), Err(109)),
    ] {
        for (is_strict, expected) in [(false, expected), (true, strict)] {
            let given = answer.clone();
            let node = FakeNode::start(move |request| match &*request.method {
                "GET" => held(request, 0),
                _ => given.clone(),
            });
            let node = node.await;
            let found = outcome(&database(&node, is_strict), "@attr 1=4 war").await;
            assert_eq!(found, expected, "{answer:?} {is_strict}");
        }
    }
}

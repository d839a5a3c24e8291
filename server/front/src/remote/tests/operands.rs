//! Tests of earlier result sets as operands of a query at several targets.

use z3950::Session;
use z3950::service::search::SearchOptions;
use z3950_asn1::apdu::{DiagRec, Query as ApduQuery, SortRelation, SortRequest};

use super::*;

/// Returns the number of records from each target, as `2+1`, with `!` for a target that failed. If the search fails,
/// returns the condition of its diagnostic.
async fn search(session: &Session, database: &str, set: &str, pqf: &str) -> String {
    let mut options = SearchOptions::default();
    options.databases = vec![database.into()];
    options.result_set = set.into();
    let query = ApduQuery::Type1(Query::pqf(pqf).expect(pqf).into());
    let found = match session.search(query, &options).await {
        Ok(found) => found,
        Err(error) => {
            let diagnostics = error.diagnostics().iter();
            let conditions = diagnostics.map(|one| match one {
                DiagRec::DefaultFormat(one) => one.condition.to_string(),
                DiagRec::ExternallyDefined(_) => panic!("{error:?}"),
            });
            return conditions.collect();
        }
    };
    let report = found.report().expect("a report");
    let whole = report.0.iter().find(|one| one.full_query);
    let by_target = whole.and_then(|whole| whole.results_by_db.as_ref());
    let counts = by_target.into_iter().flatten().map(|one| {
        let count = one.count;
        count.map_or_else(|| "!".to_owned(), |count| count.to_string())
    });
    counts.collect::<Vec<_>>().join("+")
}

/// Returns a session, and the connection that keeps it open.
async fn session(front: &TestServer) -> (Connection, Session) {
    let connection = connected(front, "union").await;
    let session = connection.as_z3950().await.expect("a session");
    (connection, session)
}

#[tokio::test]
async fn a_set_is_the_query_that_found_it_at_each_target() {
    let (one, two) = (catalogue("a", 3).start(), catalogue("b", 4).start());
    let front = front([target(&one), format!("http://{}/cat", two.addr())]);
    let alone = format!("union@{}", target(&one));
    let (_connection, session) = session(&front).await;
    for (database, set, pqf, expected) in [
        ("union", "all", "@attr 1=4 shared", "3+4"),
        ("union", "a1", "@attr 1=4 a1", "1+0"),
        ("union", "none", "@attr 1=4 nothing", "0+0"),
        ("union", "x", "@set all", "3+4"),
        ("union", "x", "@and @set all @attr 1=4 b2", "0+1"),
        ("union", "x", "@and @attr 1=4 b2 @set all", "0+1"),
        ("union", "x", "@not @set all @set a1", "2+4"),
        (
            "union",
            "x",
            "@or @set none @or @attr 1=4 b1 @set a1",
            "1+1",
        ),
        // A query may refer to the set that its own result replaces.
        ("union", "x", "@and @set all @attr 1=4 a2", "1+0"),
        ("union", "x", "@or @set x @attr 1=4 b3", "1+1"),
        ("union", "x", "@or @set x @attr 1=4 b3", "1+1"),
        // These queries refer to sets that were created at only one of the two targets.
        (&alone, "first", "@attr 1=4 shared", "3"),
        (&alone, "x", "@set all", "3"),
        (&alone, "x", "@and @set all @attr 1=4 b2", "0"),
        ("union", "x", "@set first", "3"),
        ("union", "x", "@and @set first @attr 1=4 shared", "3+0"),
        ("union", "x", "@or @set first @attr 1=4 b2", "3+1"),
        ("union", "x", "@not @attr 1=4 shared @set first", "0+4"),
        ("union", "x", "@not @set first @attr 1=4 shared", "0+0"),
        ("union", "x", "@and @set unknown @attr 1=4 shared", "30"),
        ("union", "x", "@set unknown", "30"),
    ] {
        // If the query is only a set that a target does not have, that target is not searched, and its hits are not shown.
        let found = search(&session, database, set, pqf).await;
        assert_eq!(found, expected, "{database} {pqf}");
    }
}

#[tokio::test]
async fn attributes_keep_their_set() {
    let one = catalogue("a", 3).start();
    let front = front([target(&one)]);
    let (_connection, session) = session(&front).await;
    assert_eq!(search(&session, "union", "a", "@attr 1=4 a1").await, "1");
    let pqf = "@attrset exp-1 @or @set a @attr bib-1 1=4 a2";
    assert_eq!(search(&session, "union", "b", pqf).await, "2");
}

#[tokio::test]
async fn a_target_that_failed_in_a_set_stays_failed() {
    let good = catalogue("a", 3).start();
    let bad = catalogue("b", 3)
        .rule("on search nth-of-all=1: fail 114 1=4")
        .start();
    let front = front([target(&good), target(&bad)]);
    let (_connection, session) = session(&front).await;
    for (set, pqf, expected) in [
        ("1", "@attr 1=4 shared", "3+!"),
        ("2", "@and @set 1 @attr 1=4 a1", "1+!"),
        ("3", "@or @set 2 @attr 1=4 a2", "2+!"),
        ("4", "@set 1", "3+!"),
        ("5", "@attr 1=4 b1", "0+1"),
        ("6", "@or @set 5 @set 1", "3+!"),
        ("7", "@and @set 5 @attr 1=4 shared", "0+1"),
        ("sorted", "@set 1", "3+!"),
        ("8", "@and @set sorted @attr 1=4 a1", "1+!"),
    ] {
        assert_eq!(search(&session, "union", set, pqf).await, expected, "{pqf}");
        if set == "sorted" {
            let key = z3950::service::sort::key_by_field("title", SortRelation::ASCENDING);
            let sort = SortRequest::in_place(set, vec![key]);
            session.sort(sort).await.expect("sorted");
        }
    }
    assert_eq!(
        searches(&bad),
        3,
        "only what does not name a failed set is asked"
    );
}

#[tokio::test]
async fn queries_that_grow_are_limited() {
    let one = catalogue("a", 1).start();
    let front = front([target(&one)]);
    let (_connection, session) = session(&front).await;
    // The queries have 249 operators, then 499, 500 and 501.
    let many = format!("{}{}", "@or ".repeat(249), "@attr 1=4 a1 ".repeat(250));
    assert_eq!(search(&session, "union", "1", &many).await, "1");
    assert_eq!(
        search(&session, "union", "2", "@or @set 1 @set 1").await,
        "1"
    );
    assert_eq!(
        search(&session, "union", "x", "@or @set 2 @attr 1=4 a1").await,
        "1"
    );
    assert_eq!(
        search(&session, "union", "3", "@or @set 2 @or @attr 1=4 a1 x").await,
        "6"
    );
    let doubled = "@or @set 2 @set 2";
    assert_eq!(search(&session, "union", "3", doubled).await, "6");
    // The query has 40,000 octets, then twice as many.
    let term = format!("@attr 1=4 {} ", "x".repeat(8000));
    let long = format!("{}{}", "@or ".repeat(4), term.repeat(5));
    assert_eq!(search(&session, "union", "4", &long).await, "0");
    assert_eq!(search(&session, "union", "5", "@or @set 4 x").await, "0");
    assert_eq!(
        search(&session, "union", "5", "@or @set 4 @set 4").await,
        "31"
    );
}

/// Returns the counts of the terms in the answer to a search.
async fn term_counts(front: &TestServer, pqf: &str) -> Vec<i64> {
    let connection = connected(front, "union").await;
    let hits = connection.search(Query::pqf(pqf).expect(pqf)).await;
    let report = hits.expect("hits").found().report().expect("a report");
    let terms = report.0.iter().filter(|part| !part.full_query);
    terms.filter_map(|part| part.subquery_count).collect()
}

#[tokio::test]
async fn terms_are_counted_if_all_targets_count_them() {
    let (one, two) = (catalogue("a", 3).start(), catalogue("b", 4).start());
    let pqf = "@or @attr 1=4 a1 @and @attr 1=4 shared @attr 1=4 b2";
    let both = front([target(&one), target(&two)]);
    assert_eq!(term_counts(&both, pqf).await, [1, 7, 1]);
    let bad = catalogue("c", 1).rule("on search: fail 114 1=4").start();
    let failed = front_with([target(&one), target(&bad)], |_| {});
    assert_eq!(term_counts(&failed, pqf).await, [1, 3, 0]);
    // SRU does not return counts for individual terms.
    let sru = front_with([target(&one), format!("http://{}/cat", two.addr())], |_| {});
    assert_eq!(term_counts(&sru, pqf).await, [] as [i64; 0]);
}

//! Tests of databases whose targets are test servers that answer, fail, lie, change and die.

mod crowded;
mod facets;
mod holdings;
mod hostile;

use std::io::{Read, Write};
use std::net::TcpStream;

use z3950::Query;
use z3950::{Connection, Error};
use z3950_asn1::apdu::OtherInformation;
use z3950_asn1::format::diag1::DiagnosticFormat;
use z3950_asn1::oid::{SUTRS, USMARC, XML};
use z3950_marc::MarcRecord;
use z3950_server::testing::{TestServer, TestServerBuilder, record};

use super::form::SourceForm;
use super::set::TargetQuery;
use super::*;

/// How long targets may take in tests in which some do not answer: enough for the others on a busy machine.
const TARGET_TIME: Duration = Duration::from_secs(1);

mod merged;
mod operands;
mod scans;
mod sorts;

/// Starts a catalogue of records `PREFIX1`, `PREFIX2`, … with the word *shared* in their titles.
fn catalogue(prefix: &str, number: usize) -> TestServerBuilder {
    TestServer::builder().database("cat", records(prefix, number))
}

fn records(prefix: &str, number: usize) -> Vec<MarcRecord> {
    let each = 1..=number;
    each.map(|at| record(&format!("{prefix}{at}"), &format!("Shared {prefix}{at}")))
        .collect()
}

fn target(server: &TestServer) -> String {
    format!("{}/cat", server.addr())
}

/// Starts a server with a database at these targets.
fn front(targets: impl IntoIterator<Item = String>) -> TestServer {
    front_with(targets, |_| {})
}

fn front_with(
    targets: impl IntoIterator<Item = String>,
    change: impl FnOnce(&mut RemoteOptions),
) -> TestServer {
    let mut options = RemoteOptions::new("union", targets);
    change(&mut options);
    let database = RemoteDatabase::new(&Client::new(), options).expect("targets");
    TestServer::builder().backend(Arc::new(database)).start()
}

async fn connected(front: &TestServer, database: &str) -> Connection {
    let target = format!("{}/{database}", front.addr());
    Client::new().connect(target).await.expect("a session")
}

/// Searches for a title; returns the number of hits and the first records as `DATABASE TITLE`, or the condition of a record's
/// diagnostic.
async fn found(front: &TestServer, term: &str) -> (u64, Vec<String>) {
    let connection = connected(front, "union").await;
    let hits = connection.search(Query::title(term)).await.expect("hits");
    let mut shown = Vec::new();
    let mut records = hits.stream();
    while let Some(record) = records.next().await {
        shown.push(match record {
            Ok(record) => record.title().unwrap_or_default(),
            Err(Error::Refused { diagnostics, .. }) => diagnostics.to_string(),
            Err(error) => error.to_string(),
        });
    }
    (hits.count(), shown)
}

fn searches(server: &TestServer) -> usize {
    let names = server.names();
    names
        .iter()
        .filter(|name| **name == "searchRequest")
        .count()
}

/// Searches for a title; returns the failures of targets in the answer.
async fn failures(front: &TestServer, term: &str) -> Vec<String> {
    let connection = connected(front, "union").await;
    let hits = connection.search(Query::title(term)).await.expect("hits");
    let information = hits.found().additional_search_info.as_ref();
    let failures = information.and_then(OtherInformation::value::<DiagnosticFormat>);
    let units = failures.into_iter().flat_map(|failures| failures.0);
    let messages = units.filter_map(|unit| unit.message);
    messages
        .map(|text| text.to_string_lossy().into_owned())
        .collect()
}

#[tokio::test]
async fn records_come_round_robin_with_the_names_of_their_targets() {
    let (one, two) = (catalogue("a", 1).start(), catalogue("b", 3).start());
    let front = front([target(&one), format!("http://{}/cat", two.addr())]);
    let connection = connected(&front, "union").await;
    let hits = connection
        .search_first(Query::title("shared"), 2)
        .await
        .expect("hits");
    assert_eq!((hits.count(), hits.is_estimate()), (4, false));
    let records = hits.stream().collect().await.expect("records");
    let shown: Vec<_> = records
        .iter()
        .map(|record| {
            (
                record.database().unwrap_or_default(),
                record.title().unwrap_or_default(),
            )
        })
        .collect();
    let (first, second) = (
        format!("union@{}/cat", one.addr()),
        format!("union@http://{}/cat", two.addr()),
    );
    assert_eq!(
        shown,
        [
            (&*first, "Shared a1".to_owned()),
            (&*second, "Shared b1".to_owned()),
            (&*second, "Shared b2".to_owned()),
            (&*second, "Shared b3".to_owned()),
        ]
    );
    let report = hits.found().report().expect("a report");
    let by_target = report
        .0
        .first()
        .and_then(|whole| whole.results_by_db.as_ref());
    let counts: Vec<_> = by_target
        .into_iter()
        .flatten()
        .map(|one| one.count)
        .collect();
    assert_eq!(counts, [Some(1), Some(3)]);
}

#[tokio::test]
async fn sessions_that_nobody_uses_end() {
    const MINUTE: Duration = Duration::from_secs(60);
    let server = catalogue("a", 3).start();
    let options = RemoteOptions::new("union", [target(&server)]);
    let database = RemoteDatabase::new(&Client::new(), options).expect("targets");
    let upstream = Arc::clone(&database.chains.direct[0]);
    let query = TargetQuery::unsorted(Query::title("shared").as_rpn().clone());
    let first = (1, SourceForm::Plain);
    let caller = Caller::new();
    let search = upstream.search(&query, first, &caller, after(MINUTE));
    let set = search.await.expect("hits");
    tokio::time::pause();
    let has_close = || server.names().contains(&"close");
    tokio::time::advance(MINUTE / 2).await;
    tokio::task::yield_now().await;
    assert!(upstream.has_session() && !has_close());
    while !has_close() {
        tokio::time::advance(MINUTE / 10).await;
        tokio::task::yield_now().await;
    }
    assert!(!upstream.has_session());
    tokio::time::resume();
    // A client that still has the hits reads them in another session.
    let ranks = (1..=1, SourceForm::Plain);
    let page = upstream.page(&set, ranks, &caller, after(MINUTE));
    assert!(matches!(&*page.await, [Ok(_)]));
    assert_eq!(searches(&server), 2);
}

#[tokio::test]
async fn a_target_can_be_searched_alone() {
    let (one, two) = (catalogue("a", 1).start(), catalogue("b", 2).start());
    let name = format!("union@{}/cat", two.addr());
    let database = RemoteDatabase::new(
        &Client::new(),
        RemoteOptions::new("union", [target(&one), target(&two)]),
    );
    let database = database.expect("targets");
    let named = |name: &str| {
        database
            .named(&[name.into()], &Caller::new())
            .map(|found| found.len())
    };
    assert_eq!(named("union"), Ok(2));
    assert_eq!(named(&name.to_uppercase()), Ok(1));
    assert_eq!(
        named("union@elsewhere").map_err(|why| why.condition),
        Err(235)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn explain_has_the_title_and_the_targets() {
    let (one, two) = (catalogue("a", 1).start(), catalogue("b", 1).start());
    let targets = [
        target(&one),
        format!("http://ann:secret@{}/cat", two.addr()),
    ];
    let front = front_with(targets, |options| {
        options.title = Some("All of them".to_owned());
        options.description = Some("At other servers".to_owned());
    });
    let connection = connected(&front, "IR-Explain-1").await;
    let connection = connection.with_form(z3950::RecordForm::new(Some(XML), None));
    let pqf = "@attrset exp-1 @and @attr 1=1 DatabaseInfo @attr 1=3 union";
    let hits = connection.search(Query::pqf(pqf).expect("PQF")).await;
    let hits = hits.expect("hits");
    assert_eq!(hits.count(), 1);
    let record = hits.record(1).await.expect("a record").text();
    let sru = hostile::http(&front, "/union?operation=explain").await;
    for explained in [record, sru] {
        for part in [
            "union".to_owned(),
            "All of them".to_owned(),
            "At other servers".to_owned(),
            format!("Consists of: union@{}, union@http://", target(&one)),
        ] {
            assert!(explained.contains(&part), "{part}: {explained}");
        }
        assert!(!explained.contains("secret"), "{explained}");
    }
}

#[tokio::test]
async fn failures_cost_their_own_hits_only_and_are_named() {
    let good = catalogue("a", 2).start();
    let refusing = catalogue("b", 2).rule("on search: fail 114 1=4").start();
    let silent = catalogue("c", 2).rule("on search: silence").start();
    let gone = catalogue("d", 2).start();
    let targets = [&good, &refusing, &silent, &gone].map(target);
    drop(gone);
    let front = front_with(targets.clone(), |options| {
        options.target_time = TARGET_TIME;
    });
    let (count, shown) = found(&front, "shared").await;
    assert_eq!((count, shown.len()), (2, 2), "{shown:?}");
    let told = failures(&front, "shared").await;
    assert_eq!(told.len(), 3, "{told:?}");
    assert_eq!(told[0], format!("union@{}: 1=4", targets[1]));
    assert!(told[1].contains("no answer"), "{told:?}");
    assert!(told[2].contains("connection refused"), "{told:?}");
}

#[tokio::test]
async fn the_search_fails_if_all_targets_do() {
    let refusing = catalogue("b", 2).rule("on search: fail 114 1=4").start();
    let front = front([target(&refusing), target(&refusing)]);
    let connection = connected(&front, "union").await;
    let failed = connection
        .search(Query::title("shared"))
        .await
        .expect_err("all failed");
    let conditions: Vec<_> = failed
        .diagnostics()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(conditions.len(), 1, "{conditions:?}");
    assert!(
        conditions[0].contains("114") && conditions[0].contains("union@"),
        "{conditions:?}"
    );
}

#[tokio::test]
async fn failures_and_targets_are_in_answers_of_sru() {
    let (one, refusing) = (
        catalogue("a", 1).start(),
        catalogue("b", 2).rule("on search: fail 114 1=4").start(),
    );
    let front = front([target(&one), target(&refusing)]);
    let mut stream = TcpStream::connect(front.addr()).expect("a connection");
    let request =
        "GET /union?query=shared HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).expect("written");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    for part in [
        "<zs:numberOfRecords>1</zs:numberOfRecords>".to_owned(),
        format!(">union@{}/cat</database>", one.addr()),
        format!("union@{}/cat: 1=4", refusing.addr()),
        "Shared a1".to_owned(),
    ] {
        assert!(answer.contains(&part), "{part}: {answer}");
    }
}

#[tokio::test]
async fn messages_of_a_target_beside_its_records_are_passed_on() {
    let warning = catalogue("a", 1).rule("on sru search: beside 2 \"part missing\"");
    let warning = warning.start();
    let front = front([format!("http://{}", target(&warning))]);
    let connection = connected(&front, "union").await;
    let hits = connection.search(Query::title("shared")).await;
    let hits = hits.expect("hits");
    let remarks = hits.sources().remarks;
    let begin = format!("union@http://{}/cat: ", warning.addr());
    assert_eq!(hits.count(), 1);
    assert!(
        remarks
            .iter()
            .any(|words| words.starts_with(&begin) && words.contains("part missing")),
        "{remarks:?}"
    );
}

#[tokio::test]
async fn equal_searches_are_one() {
    let one = catalogue("a", 30).rule("on search: delay 100ms").start();
    let front = front([target(&one)]);
    let (first, second) = tokio::join!(found(&front, "shared"), found(&front, "shared"));
    assert_eq!(first, second);
    assert_eq!(first.1.len(), 30);
    found(&front, "shared").await;
    assert_eq!((searches(&one), one.sessions()), (1, 1));
    found(&front, "other").await;
    assert_eq!(searches(&one), 2);
}

#[tokio::test]
async fn without_time_to_be_fresh_only_searches_under_way_are_shared() {
    let one = catalogue("a", 1).start();
    let front = front_with([target(&one)], |options| options.fresh = Duration::ZERO);
    for _ in 0..2 {
        found(&front, "shared").await;
    }
    assert_eq!(searches(&one), 2);
}

#[tokio::test]
async fn no_more_sessions_than_allowed_are_opened() {
    let one = catalogue("a", 9).rule("on search: delay 20ms").start();
    let front = front_with([target(&one)], |options| options.sessions = 2);
    let terms: Vec<String> = (1..=8).map(|at| format!("a{at}")).collect();
    let all = terms.iter().map(|term| found(&front, term));
    for (count, _) in futures_util::future::join_all(all).await {
        assert_eq!(count, 1);
    }
    assert_eq!((searches(&one), one.sessions()), (8, 2));
}

#[tokio::test]
async fn records_are_converted() {
    let (one, two) = (catalogue("a", 1).start(), catalogue("b", 1).start());
    let front = front([target(&one), format!("http://{}/cat", two.addr())]);
    for syntax in [USMARC, XML, SUTRS] {
        let connection = connected(&front, "union").await;
        let connection = connection.with_form(z3950::RecordForm::new(Some(syntax), None));
        let hits = connection
            .search(Query::title("shared"))
            .await
            .expect("hits");
        let records = hits.stream().collect().await.expect("records");
        assert_eq!(records.len(), 2);
        for record in records {
            let text = String::from_utf8_lossy(&record.octets()).into_owned();
            assert_eq!(record.syntax(), Some(syntax));
            assert!(text.contains("Shared"), "{text}");
        }
    }
}

#[tokio::test]
async fn lies_about_counts_cost_the_missing_records_only() {
    let lying = catalogue("a", 2).rule("on search: count 5").start();
    let good = catalogue("b", 1).start();
    let front = front([target(&lying), target(&good)]);
    let (count, shown) = found(&front, "shared").await;
    assert_eq!((count, shown.len()), (6, 6));
    assert_eq!(
        shown[..3],
        ["Shared a1", "Shared b1", "Shared a2"].map(str::to_owned)
    );
    assert!(
        shown[3..].iter().all(|text| !text.contains("Shared")),
        "{shown:?}"
    );
    let huge = catalogue("a", 1)
        .rule("on search: count 4000000000")
        .start();
    let front = front_with([target(&huge)], |_| {});
    let connection = connected(&front, "union").await;
    let hits = connection
        .search(Query::title("shared"))
        .await
        .expect("hits");
    assert_eq!(
        (hits.count(), hits.is_estimate()),
        (set::MOST_OF_TARGET, true)
    );
}

#[tokio::test]
async fn records_of_a_target_that_died_are_replaced_by_diagnostics() {
    // The first five records from each target come with the answers to the search.
    let (one, dying) = (catalogue("a", 6).start(), catalogue("b", 6).start());
    let front = front([target(&one), target(&dying)]);
    let connection = connected(&front, "union").await;
    let hits = connection
        .search(Query::title("shared"))
        .await
        .expect("hits");
    drop(dying);
    let mut records = hits.stream();
    let mut shown = Vec::new();
    while let Some(record) = records.next().await {
        shown.push(record.map(|record| record.title().unwrap_or_default()).ok());
    }
    assert_eq!(shown.len(), 12);
    assert_eq!(
        shown[9..],
        [
            Some("Shared b5".to_owned()),
            Some("Shared a6".to_owned()),
            None
        ]
    );
    assert!(shown[..11].iter().all(Option::is_some), "{shown:?}");
}

#[tokio::test]
async fn the_first_ten_records_come_with_the_answer_to_the_search() {
    for (records, presents) in [(10, 0), (11, 1)] {
        let one = catalogue("a", records).start();
        let front = front([target(&one)]);
        let (count, shown) = found(&front, "shared").await;
        assert_eq!((count, shown.len()), (records as u64, records));
        let names = one.names();
        let asked = names.iter().filter(|name| **name == "presentRequest");
        assert_eq!(asked.count(), presents, "{names:?}");
    }
}

#[tokio::test]
async fn a_result_that_changed_is_never_shown_as_the_old_one() {
    // The set or the session is lost before the eleventh record is read, and the repeated search finds a different number of
    // records.
    for (again, lost) in [("nth", "fail 27"), ("nth-of-all", "cut 1")] {
        let one = catalogue("a", 12)
            .rule(&format!("on search {again}=2: count 7"))
            .rule(&format!("on present {again}=1: {lost}"))
            .start();
        let front = front([target(&one)]);
        let (count, shown) = found(&front, "shared").await;
        assert_eq!((count, shown.len()), (12, 12));
        let is_changed = |text: &String| text.contains("changed at the server");
        assert!(shown[10..].iter().all(is_changed), "{lost}: {shown:?}");
        assert!(!shown[..10].iter().any(is_changed), "{lost}: {shown:?}");
    }
    // If the repeated search finds the same number of records, reading continues.
    let one = catalogue("a", 12).rule("on present nth=1: fail 27").start();
    let front = front_with([target(&one)], |_| {});
    let titles: Vec<String> = (1..=12).map(|number| format!("Shared a{number}")).collect();
    assert_eq!(found(&front, "shared").await.1, titles);
    assert_eq!(searches(&one), 2);
}

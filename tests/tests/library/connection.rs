//! Tests of connections with a server whose transcript shows the requests.

use std::ops::Bound;
use std::time::Duration;

use z3950::profile::Profiles;
use z3950::service::explain::ExplainOptions;
use z3950::service::extended::Order;
use z3950::service::scan::ScanOptions;
use z3950::{Client, ClientOptions, Connection, Error, Query, RecordForm, SortKey, Timeouts};
use z3950_asn1::apdu::Options;
use z3950_asn1::es::update::Action;
use z3950_asn1::oid::SUTRS;
use z3950_server::Offer;
use z3950_server::testing::{TestServer, TestServerBuilder, record};

/// Returns a server with records that have these docids and titles.
fn serving(records: &[(&str, &str)]) -> TestServerBuilder {
    let records = records.iter().map(|(docid, title)| record(docid, title));
    TestServer::builder().database("cat", records.collect::<Vec<_>>())
}

const EMMAS: &[(&str, &str)] = &[
    ("1", "Emma b"),
    ("2", "Emma c"),
    ("3", "Emma a"),
    ("4", "Persuasion"),
];

async fn connected(server: &TestServer) -> Connection {
    let target = format!("{}/cat", server.addr());
    Client::new().connect(target).await.expect("a connection")
}

/// Returns a server that permits only one result set per session, which may have any name.
fn without_names() -> TestServerBuilder {
    let mut offer = Offer::default();
    offer.options = Options::SEARCH | Options::PRESENT | Options::EXTENDED_SERVICES;
    serving(EMMAS).offer(offer)
}

async fn titles(hits: &z3950::ResultSet) -> Vec<String> {
    let records = hits.stream().collect().await.expect("records");
    records
        .iter()
        .map(|record| record.title().unwrap_or_default())
        .collect()
}

#[tokio::test]
async fn sort_keys_of_a_query_are_carried_out() {
    let server = serving(EMMAS).start();
    let cat = connected(&server).await;
    for (query, expected) in [
        ("title=emma sortby title", ["Emma a", "Emma b", "Emma c"]),
        (
            "title=emma sortby title/sort.descending",
            ["Emma c", "Emma b", "Emma a"],
        ),
    ] {
        let query = Query::cql(query).expect("a query");
        let hits = cat.search_first(query, 2).await.expect("hits");
        assert_eq!(titles(&hits).await, expected);
    }
}

#[tokio::test]
async fn the_first_records_may_come_with_the_answer_to_the_search() {
    let server = serving(EMMAS).start();
    let cat = connected(&server).await;
    for (wanted, came) in [(0, 0), (2, 2), (9, 3)] {
        let hits = cat.search_first(Query::title("emma"), wanted).await;
        let mut hits = hits.expect("hits");
        assert_eq!(hits.piggybacked(), came);
        let is_present = |name: &&'static str| *name == "presentRequest";
        let before = server.names().into_iter().filter(is_present).count();
        let mut records = hits.range(..=came);
        for _ in 0..came {
            records.next().await.expect("a record").expect("a record");
        }
        let after = server.names().into_iter().filter(is_present).count();
        assert_eq!(before, after, "they are not requested again");
        let keys = ["title".parse().expect("a key")];
        hits.sort(&keys).await.expect("sorted");
        assert_eq!(hits.piggybacked(), 0, "their order has changed");
    }
}

#[tokio::test]
async fn a_search_counts_and_its_records_page_by_themselves() {
    let server = serving(EMMAS).start();
    let cat = connected(&server).await;
    let hits = cat.search(Query::title("emma")).await.expect("hits");
    assert_eq!((hits.count(), hits.is_estimate()), (3, false));
    assert_eq!(titles(&hits).await, ["Emma b", "Emma c", "Emma a"]);
    let second = hits.record(2).await.expect("a record");
    assert_eq!(
        (second.position(), second.database()),
        (Some(2), Some("cat"))
    );
    let page = hits.range(2..=9).collect().await.expect("records");
    let positions: Vec<_> = page.iter().map(z3950::Record::position).collect();
    assert_eq!(positions, [Some(2), Some(3)]);
    let after_first = (Bound::Excluded(1), Bound::Excluded(3));
    for (range, expected) in [
        (
            (Bound::Included(1), Bound::Included(2)),
            &["Emma b", "Emma c"][..],
        ),
        (after_first, &["Emma c"]),
        ((Bound::Unbounded, Bound::Excluded(1)), &[]),
    ] {
        let records = hits.range(range).collect().await.expect("records");
        let titles: Vec<_> = records.iter().filter_map(z3950::Record::title).collect();
        assert_eq!(titles, expected, "{range:?}");
    }
    assert!(hits.range(4..).collect().await.expect("nothing").is_empty());
    let error = hits.record(4).await.expect_err("out of range");
    assert!(
        matches!(&error, Error::Refused { diagnostics, .. } if diagnostics.has(13)),
        "{error}"
    );
    cat.close().await.expect("closed");
}

#[tokio::test]
async fn a_surrogate_diagnostic_does_not_end_the_stream() {
    let server = serving(EMMAS)
        .rule("on present nth=2: surrogate 14")
        .start();
    // The profile sets the number of records per Present.
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("targets.toml");
    let port = server.addr().port();
    let profile = format!(
        "[targets.slow]\nhost = '127.0.0.1'\nport = {port}\ndatabases = ['cat']\nchunk = 1\n"
    );
    std::fs::write(&file, profile).expect("written");
    let profiles = Profiles::default().with_file(&file).expect("profiles");
    let client = Client::new().with_profiles(profiles);
    let cat = client.connect("slow").await.expect("a connection");
    let hits = cat.search(Query::title("emma")).await.expect("hits");
    let mut records = hits.stream();
    let mut came = Vec::new();
    while let Some(record) = records.next().await {
        came.push(match record {
            Ok(record) => record.title().unwrap_or_default(),
            Err(Error::Refused { diagnostics, .. }) => format!("{:?}", diagnostics.condition()),
            Err(error) => panic!("{error}"),
        });
    }
    assert_eq!(came, ["Emma b", "Some(14)", "Emma a"]);
}

#[tokio::test]
async fn several_result_sets_are_read_at_once() {
    for (server, searches) in [(serving(EMMAS).start(), 2), (without_names().start(), 4)] {
        let cat = connected(&server).await;
        let emmas = cat.search(Query::title("emma")).await.expect("hits");
        let other = cat.search(Query::title("persuasion")).await.expect("hits");
        assert_eq!(titles(&emmas).await.len(), 3);
        assert_eq!(titles(&other).await, ["Persuasion"]);
        let asked = server
            .names()
            .iter()
            .filter(|name| **name == "searchRequest")
            .count();
        assert_eq!(asked, searches, "sets without names are searched again");
    }
}

#[tokio::test]
async fn a_failed_search_leaves_other_result_sets_alone() {
    for server in [serving(EMMAS).start(), without_names().start()] {
        let cat = connected(&server).await;
        let emmas = cat.search(Query::title("emma")).await.expect("hits");
        let refused = cat.search(Query::attributes([(1, 9999)], "x")).await;
        assert!(matches!(refused, Err(Error::Refused { .. })), "{refused:?}");
        assert_eq!(titles(&emmas).await.len(), 3);
    }
}

#[tokio::test]
async fn names_of_result_sets_are_reused() {
    let server = serving(EMMAS).start();
    let cat = connected(&server).await;
    for _ in 0..3 {
        let hits = cat.search(Query::title("emma")).await.expect("hits");
        assert_eq!(
            hits.record(1).await.expect("a record").title().as_deref(),
            Some("Emma b")
        );
    }
    let kept = cat.search(Query::title("emma")).await.expect("hits");
    let other = cat.search(Query::title("persuasion")).await.expect("hits");
    assert_eq!(
        (titles(&kept).await.len(), titles(&other).await.len()),
        (3, 1)
    );
    let names: Vec<String> = server
        .transcript()
        .iter()
        .filter_map(|entry| match &entry.apdu {
            Some(z3950_asn1::apdu::Apdu::SearchRequest(search)) => {
                Some(search.result_set_name.to_string_lossy().into_owned())
            }
            _ => None,
        })
        .collect();
    assert_eq!(names, ["1", "1", "1", "1", "2"]);
}

#[tokio::test]
async fn a_lost_session_is_reopened_and_the_search_repeated() {
    let server = serving(EMMAS)
        .rule("on present nth-of-all=1: hang-up")
        .start();
    let cat = connected(&server).await;
    let hits = cat.search(Query::title("emma")).await.expect("hits");
    assert_eq!(titles(&hits).await.len(), 3);
    assert_eq!(
        cat.search(Query::title("emma"))
            .await
            .expect("hits")
            .count(),
        3
    );
    assert_eq!(server.sessions(), 2);
}

#[tokio::test]
async fn an_update_is_never_sent_twice() {
    let server = serving(EMMAS)
        .rule("on extended nth-of-all=1: reset 5")
        .start();
    let cat = connected(&server).await;
    let new = record("5", "Lady Susan");
    let error = cat
        .update(Action::RECORD_INSERT, [&new])
        .await
        .expect_err("lost");
    assert!(matches!(error, Error::Unavailable { .. }), "{error}");
    let sent = server
        .names()
        .iter()
        .filter(|name| name.starts_with("extendedServicesRequest"))
        .count();
    assert_eq!(sent, 1);
    // The server has made the update; only the answer was lost.
    assert_eq!(
        cat.search(Query::title("susan"))
            .await
            .expect("hits")
            .count(),
        1
    );
}

#[tokio::test]
async fn a_docid_gives_a_record_or_a_reason() {
    let server = serving(&[
        ("1", "Emma"),
        ("2", "Persuasion"),
        ("2", "Persuasion again"),
    ])
    .start();
    let cat = connected(&server).await;
    assert_eq!(
        cat.get("1").await.expect("a record").title().as_deref(),
        Some("Emma")
    );
    assert!(matches!(cat.get("9").await, Err(Error::NoMatch)));
    assert!(matches!(
        cat.get("2").await,
        Err(Error::Ambiguous { hits: 2, .. })
    ));

    let client = Client::new();
    let by_url = client
        .get(server.url("cat?1;esn=f;rs=marc"))
        .await
        .expect("a record");
    assert_eq!(by_url.title().as_deref(), Some("Emma"));
    assert!(matches!(
        client.get(server.url("cat?9")).await,
        Err(Error::NoMatch)
    ));
    assert!(matches!(
        client.get(server.url("none?1")).await,
        Err(Error::Refused { .. })
    ));
    assert!(matches!(
        client.get(server.session_url("cat")).await,
        Err(Error::Plan(_))
    ));
    assert!(matches!(client.get("z39.50r://").await, Err(Error::Url(_))));
}

#[tokio::test]
async fn identifiers_are_looked_up_however_they_are_written() {
    let server = TestServer::demo();
    let target = format!("{}/books", server.addr());
    let books = Client::new().connect(target).await.expect("a connection");
    for identifier in [
        "isbn:0-14-143951-3",
        "9780141439518",
        "local:pg1342",
        "docid:pg1342",
    ] {
        let found = books
            .lookup(identifier)
            .await
            .expect("an answer")
            .expect(identifier);
        let first = found
            .records
            .first()
            .expect("a record")
            .as_ref()
            .expect("a record");
        let title = first.title().unwrap_or_default();
        assert!(
            title.starts_with("Pride and prejudice"),
            "{identifier}: {title}"
        );
    }
    assert!(
        books
            .lookup("local:nothing")
            .await
            .expect("an answer")
            .is_none()
    );
    assert!(matches!(
        books.lookup("isbn:").await,
        Err(Error::Identifier(_))
    ));
}

#[tokio::test]
async fn an_index_is_scanned_from_a_term() {
    let server = serving(EMMAS).start();
    let cat = connected(&server).await;
    let terms = cat.scan(Query::title("emma")).await.expect("terms");
    let found: Vec<_> = terms
        .into_iter()
        .map(|term| (term.term.as_str(), term.count))
        .collect();
    assert_eq!(found, [("emma", Some(3)), ("persuasion", Some(1))]);
    assert_eq!(terms.position(), Some(1));
    let mut options = ScanOptions::default();
    options.number_of_terms = 1;
    let first = cat.scan_with(Query::title("emma"), options).await;
    assert_eq!(first.expect("terms").terms().len(), 1);
    let two = Query::title("a") & Query::title("b");
    assert!(matches!(cat.scan(two).await, Err(Error::NotOneTerm)));
}

#[tokio::test]
async fn a_result_set_is_sorted_in_place() {
    let server = serving(EMMAS).start();
    let cat = connected(&server).await;
    let mut hits = cat.search(Query::title("emma")).await.expect("hits");
    let key = SortKey::descending("title").expect("a key");
    hits.sort(&[key]).await.expect("sorted");
    assert_eq!(titles(&hits).await, ["Emma c", "Emma b", "Emma a"]);
}

#[tokio::test]
async fn records_are_returned_in_the_requested_form() {
    let server = serving(EMMAS).start();
    let cat = connected(&server)
        .await
        .with_form(RecordForm::new(Some(SUTRS), None));
    let hits = cat.search(Query::title("persuasion")).await.expect("hits");
    let record = hits.record(1).await.expect("a record");
    assert_eq!(record.syntax(), Some(SUTRS));
    assert!(record.text().contains("Persuasion"), "{}", record.text());
    assert!(record.marc().is_none() && record.marcxml().is_none());
}

#[tokio::test]
async fn an_item_is_ordered_from_a_result_set() {
    for server in [serving(EMMAS).start(), without_names().start()] {
        let cat = connected(&server).await;
        let emmas = cat.search(Query::title("emma")).await.expect("hits");
        let _later = cat.search(Query::title("persuasion")).await.expect("hits");
        let result = cat
            .order(&emmas, 3, Order::default())
            .await
            .expect("ordered");
        assert!(result.package().is_some(), "{result:?}");
        assert!(cat.order(&emmas, 4, Order::default()).await.is_err());
    }
}

#[tokio::test]
async fn an_item_is_not_ordered_from_a_result_set_of_another_connection() {
    let server = serving(EMMAS).start();
    let (cat, other) = (connected(&server).await, connected(&server).await);
    let emmas = other.search(Query::title("emma")).await.expect("hits");
    // This search creates a result set with the same name in the session of `cat`. The order must not be made from that set.
    let _mine = cat.search(Query::title("persuasion")).await.expect("hits");
    let ordered = cat.order(&emmas, 1, Order::default()).await;
    assert!(matches!(ordered, Err(Error::ForeignResultSet)));
    assert!(!server.names().contains(&"extendedServicesRequest"));
    // Handles that differ in the record form share the connection.
    let form = RecordForm::new(Some(SUTRS), None);
    let ordered = other
        .with_form(form)
        .order(&emmas, 1, Order::default())
        .await;
    assert!(ordered.is_ok(), "{ordered:?}");
}

#[tokio::test]
async fn a_server_explains_itself() {
    let server = TestServer::demo();
    let books = Client::new()
        .connect(format!("{}/books", server.addr()))
        .await;
    let mut options = ExplainOptions::default();
    options.category = "DatabaseInfo".into();
    let explained = books
        .expect("a connection")
        .explain(&options)
        .await
        .expect("records");
    assert!(!explained.records.is_empty());
}

#[tokio::test]
async fn an_invalid_target_is_refused_before_anything_is_sent() {
    for target in ["", "ftp://host/x", "host:port"] {
        let error = Client::new().connect(target).await.expect_err(target);
        assert!(matches!(error, Error::Target(_)), "{target}: {error}");
    }
}

/// If a session has ended after a request, the next request must not be refused, but sent in a new session.
#[tokio::test]
async fn the_request_after_a_session_that_ended_has_a_new_one() {
    for fault in [
        "on search nth-of-all=2: silence",
        "on search nth-of-all=2: close protocolError",
    ] {
        let server = serving(EMMAS).rule(fault).start();
        let timeouts = Timeouts::default().with_answer(Some(Duration::from_secs(1)));
        let options = ClientOptions::default().with_timeouts(timeouts);
        let client = Client::new().with_options(options);
        let target = format!("{}/cat", server.addr());
        let cat = client.connect(target).await.expect("a connection");
        let mut hits = cat.search(Query::title("emma")).await.expect("hits");
        let lost = cat.search(Query::title("emma")).await;
        assert!(!lost.expect_err(fault).is_connection_lost());
        let again = cat.search(Query::title("emma")).await;
        assert_eq!(again.expect(fault).count(), 3);
        let by_title = ["title".parse::<SortKey>().expect("a key")];
        hits.sort(&by_title).await.expect(fault);
        assert_eq!(titles(&hits).await, ["Emma a", "Emma b", "Emma c"]);
    }
}

//! Tests of session URLs (RFC 2056 §3): scenarios S-01, S-08 and S-17 to S-20. The session must stay open, regardless of the
//! outcome of the URL's search.

use std::time::Duration;

use z3950::plan::{Strategy, Warning};
use z3950::service::present::PresentOptions;
use z3950::service::search::SearchOptions;
use z3950::{ClientOptions, Error, Opened, Outcome};
use z3950_asn1::apdu::{Apdu, Query, SearchRequest};
use z3950_server::fault::{Fault, When};
use z3950_server::testing::TestServerBuilder;

use super::names::{CLOSE, INIT, PRESENT, SEARCH, sequence};
use super::{client, library, url};

/// Opens the URL, checks its result, presents record 2 if requested, closes the session, and checks the APDUs. Returns the Search,
/// if there was one.
async fn check(
    id: &str,
    text: &str,
    server: TestServerBuilder,
    options: impl FnOnce(&mut ClientOptions),
    opened: impl FnOnce(&Opened) -> bool,
    then_show: Option<u64>,
    apdus: &[&[&'static str]],
) -> Option<SearchRequest> {
    let server = server.start();
    let client = client(&server, options);
    let found = client
        .open(&url(text))
        .await
        .unwrap_or_else(|error| panic!("{id}: {error}"));
    assert!(opened(&found), "{id}: {found:?}");
    assert!(found.session.is_open(), "{id}");
    if let Some(position) = then_show {
        let result = found
            .session
            .present(position, 1, &PresentOptions::default())
            .await;
        assert_eq!(result.expect("presents").records.len(), 1, "{id}");
    }
    assert!(
        !server.names().contains(&"close"),
        "{id}: the session is not closed unasked"
    );
    client.close_all().await;
    let transcript = server.wait_for_end();
    assert_eq!(server.names(), sequence(apdus), "{id}");
    transcript.iter().find_map(|entry| match &entry.apdu {
        Some(Apdu::SearchRequest(request)) => Some((**request).clone()),
        _ => None,
    })
}

fn record(opened: &Opened, hits: u64) -> Option<&Outcome> {
    match &opened.found {
        Some(Ok(found)) if found.hits == Some(hits) => found.record.as_ref(),
        _ => None,
    }
}

fn hits(opened: &Opened) -> Option<u64> {
    opened.found.as_ref()?.as_ref().ok()?.hits
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s_01_no_docid_no_search() {
    let opened = |opened: &Opened| {
        opened.found.is_none() && opened.defaults.databases == ["cat".into()] && !opened.reused
    };
    check(
        "S-01",
        "z39.50s://lib.example/cat",
        library(),
        |_| {},
        opened,
        None,
        &[&INIT, &CLOSE],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s_08_a_refused_search_leaves_the_session_open() {
    let opened = |opened: &Opened| matches!(&opened.found, Some(Err(Error::Refused { diagnostics, .. })) if diagnostics.has(235));
    let text = "z39.50s://lib.example/nosuchdb?x";
    check(
        "S-08",
        text,
        library(),
        |_| {},
        opened,
        None,
        &[&INIT, &SEARCH, &CLOSE],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s_17_two_hits_are_reported_and_can_be_shown() {
    let opened = |opened: &Opened| hits(opened) == Some(2) && record(opened, 2).is_none();
    let apdus: &[&[&str]] = &[&INIT, &SEARCH, &PRESENT, &CLOSE];
    check(
        "S-17",
        "z39.50s://lib.example/cat?dup",
        library(),
        |_| {},
        opened,
        Some(2),
        apdus,
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s_18_one_hit_is_fetched() {
    let delivered = |opened: &Opened| matches!(record(opened, 1), Some(Outcome::Delivered(_)));
    let left = |opened: &Opened| hits(opened) == Some(1) && record(opened, 1).is_none();
    let never = || library().fault(When::search(), Fault::NeverPiggyback);
    let pushes = || library().fault(When::search(), Fault::PushRecords(1));
    let text = "z39.50s://lib.example/cat?id7;esn=f;rs=usmarc";
    let with_search: &[&[&str]] = &[&INIT, &SEARCH, &CLOSE];
    let with_present: &[&[&str]] = &[&INIT, &SEARCH, &PRESENT, &CLOSE];
    for (strategy, server, apdus) in [
        (Strategy::Piggyback, library(), with_search),
        (Strategy::Piggyback, never(), with_present),
        (Strategy::PresentOnly, library(), with_present),
    ] {
        let with = |options: &mut ClientOptions| options.plan.strategy = strategy;
        check("S-18", text, server, with, delivered, None, apdus).await;
    }
    // A-10 with auto_present switched off: no record is requested, and a record that the server sends anyway is not kept.
    for strategy in [Strategy::Piggyback, Strategy::PresentOnly] {
        for server in [library(), never(), pushes()] {
            let off = |options: &mut ClientOptions| {
                options.plan.auto_present = false;
                options.plan.strategy = strategy;
            };
            let id = format!("A-10, {strategy:?}");
            let search = check(&id, text, server, off, left, None, with_search).await;
            let search = search.expect("a Search");
            let bounds = [
                search.small_set_upper_bound,
                search.large_set_lower_bound,
                search.medium_set_present_number,
            ];
            assert_eq!(bounds, [0, 1, 0], "{id}");
            assert_eq!(search.small_set_element_set_names, None, "{id}");
            assert_eq!(search.medium_set_element_set_names, None, "{id}");
            assert_eq!(search.preferred_record_syntax, None, "{id}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s_19_no_hit_is_not_an_error() {
    let opened = |opened: &Opened| hits(opened) == Some(0);
    let text = "z39.50s://lib.example/cat?nosuch";
    check(
        "S-19",
        text,
        library(),
        |_| {},
        opened,
        None,
        &[&INIT, &SEARCH, &CLOSE],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s_20_an_unusable_hint_is_reported() {
    let server = library().start();
    let client = client(&server, |_| {});
    let url = url("z39.50s://lib.example:2100/;rs=klingon");
    let plan = client.plan(&url).await.expect("planned");
    let warnings: Vec<String> = plan.warnings.iter().map(Warning::code).collect();
    assert_eq!(warnings, ["HintIgnored:rs"]);
    let opened = client.open_plan(&plan).await.expect("opened");
    assert!(opened.session.is_open() && opened.found.is_none());
    client.close_all().await;
    server.wait_for_end();
    assert_eq!(server.names(), sequence(&[&INIT, &CLOSE]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn z_3_4_a_session_already_open_is_taken_up() {
    let server = library().start();
    let client = client(&server, |_| {});
    let first = client
        .open(&url("z39.50s://LIB.example/cat"))
        .await
        .expect("opened");
    let second = client
        .open(&url("z39.50s://lib.example:210/maps"))
        .await
        .expect("opened");
    assert!(!first.reused && second.reused && first.session.is_same(&second.session));
    assert_eq!(second.defaults.databases, ["maps".into()]);
    let third = client
        .open(&url("z39.50s://lib.example:2100/cat"))
        .await
        .expect("opened");
    assert!(!third.reused);
    client.close_all().await;
    server.wait_for_end();
    assert_eq!(server.sessions(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_search_holds_up_no_other() {
    let slow = Fault::Delay(Duration::from_secs(2));
    let server = library().fault(When::search().docid("id7"), slow).start();
    let client = client(&server, |_| {});
    let opened = client.open(&url("z39.50s://lib.example/cat")).await;
    let session = opened.expect("opens").session;
    let search = async |docid: &str| {
        let query = format!("@attr 1=1032 @attr 4=104 {docid}");
        let mut options = SearchOptions::default();
        options.databases = vec!["cat".into()];
        options.result_set = docid.into();
        let found = session.search(Query::Type1(query.parse().expect("PQF")), &options);
        let hits = found.await.expect("found").hits;
        let mut present = PresentOptions::default();
        present.result_set = docid.into();
        let shown = session.present(1, 1, &present).await.expect("presents");
        (hits, shown.records.len())
    };
    let first = search("id7");
    let second = search("id8");
    tokio::pin!(first, second);
    tokio::select! {
        biased;
        _ = &mut first => panic!("the slow search is answered first"),
        found = &mut second => assert_eq!(found, (1, 1)),
    }
    assert_eq!(first.await, (1, 1));
    client.close_all().await;
}

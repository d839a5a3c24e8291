//! Tests of sessions that several users share at the same time, with servers that support concurrent operations and servers that
//! do not.

use std::time::Duration;

use tokio::time::timeout;
use z3950::client::{Client, ClientOptions};
use z3950::error::Error;
use z3950::pager::PagerOptions;
use z3950::profile::{Profiles, Resolved};
use z3950::service::ResultRecord;
use z3950::service::search::SearchOptions;
use z3950::{Lease, Query};
use z3950_asn1::apdu;
use z3950_asn1::apdu::Options;
use z3950_asn1::types::InternationalString;
use z3950_server::Offer;
use z3950_server::testing::{TestServer, record};

const TITLES: [(&str, &str); 3] = [("1", "Emma"), ("2", "Persuasion"), ("3", "Middlemarch")];

fn serving(options: Options) -> TestServer {
    let mut offer = Offer::default();
    offer.options = options;
    let records = TITLES.iter().map(|(docid, title)| record(docid, title));
    TestServer::builder()
        .database("cat", records.collect::<Vec<_>>())
        .offer(offer)
        .start()
}

/// Returns the server as a target that allows at most one session.
fn target(server: &TestServer) -> Resolved {
    let mut target = Profiles::default()
        .resolve(&format!("{}/cat", server.addr()))
        .expect("a target");
    target.profile.sessions = Some(1);
    target
}

async fn place(client: &Client, target: &Resolved) -> Result<Lease, Error> {
    let init = ClientOptions::default().plan.init;
    client.share(target, init).await
}

/// Searches for a title with the result set of `place`, waits a moment, and then returns the title of the first record in the
/// set.
async fn title(place: &Lease, title: &str) -> &'static str {
    let mut search = SearchOptions::default();
    search.databases = vec!["cat".into()];
    search.result_set = place.result_set().clone();
    let query = apdu::Query::Type1(Query::title(title).as_rpn().clone());
    let (query, search) = (&query, &search);
    let found = place
        .read(|session| async move {
            let options = PagerOptions::default();
            let mut set = session.pager(query.clone(), search, options).await?;
            tokio::time::sleep(Duration::from_millis(5)).await;
            set.record(1).await
        })
        .await;
    let record = match found.expect("a record") {
        ResultRecord::Record { external, .. } => external,
        refused => panic!("{refused:?}"),
    };
    let text = String::from_utf8_lossy(record.octets()).into_owned();
    let mut titles = TITLES.into_iter().map(|(_, title)| title);
    titles
        .find(|title| text.contains(title))
        .unwrap_or_default()
}

#[tokio::test]
async fn operations_go_side_by_side_in_one_session() {
    let server = serving(
        Options::SEARCH
            | Options::PRESENT
            | Options::NAMED_RESULT_SETS
            | Options::CONCURRENT_OPERATIONS,
    );
    let (client, target) = (Client::new(), target(&server));
    let mut places = Vec::new();
    for _ in TITLES {
        places.push(place(&client, &target).await.expect("a place"));
    }
    let mut names: Vec<&InternationalString> = places.iter().map(Lease::result_set).collect();
    names.sort_by_key(|name| name.as_bytes());
    names.dedup();
    assert_eq!(names.len(), TITLES.len());
    let (emma, persuasion, middlemarch) = tokio::join!(
        title(&places[0], "emma"),
        title(&places[1], "persuasion"),
        title(&places[2], "middlemarch")
    );
    assert_eq!(
        [emma, persuasion, middlemarch],
        ["Emma", "Persuasion", "Middlemarch"]
    );
    assert_eq!(server.sessions(), 1);
    drop(places);
    let place = place(&client, &target).await.expect("the session is kept");
    assert_eq!(title(&place, "emma").await, "Emma");
    assert_eq!(server.sessions(), 1);
}

#[tokio::test]
async fn a_session_has_as_many_places_as_operations() {
    let plain = Options::SEARCH | Options::PRESENT;
    let (named, concurrent) = (Options::NAMED_RESULT_SETS, Options::CONCURRENT_OPERATIONS);
    for (options, pipelined, count) in [
        (plain, None, 1),
        (plain | concurrent, None, 1),
        (plain | named, None, 1),
        (plain | named, Some(1), 1),
        (plain | named, Some(3), 3),
        // If result sets have no names, a search would replace the result set of another search.
        (plain, Some(3), 1),
        (plain | named | concurrent, None, 8),
        (plain | named | concurrent, Some(3), 8),
    ] {
        let server = serving(options);
        let (client, mut target) = (Client::new(), target(&server));
        target.profile.pipelined = pipelined;
        let mut places = Vec::new();
        for _ in 0..count {
            places.push(place(&client, &target).await.expect("a place"));
        }
        let mut next = Box::pin(place(&client, &target));
        let moment = Duration::from_millis(20);
        assert!(timeout(moment, &mut next).await.is_err(), "{options:?}");
        places.remove(0);
        assert!(next.await.is_ok(), "{options:?}");
        assert_eq!(server.sessions(), 1, "{options:?}");
    }
}

#[tokio::test]
async fn a_lost_session_is_replaced_once_for_all() {
    let server = TestServer::builder()
        .database("cat", [record("1", "Emma")])
        .rule("on search nth-of-all=2: cut 0")
        .start();
    let (client, target) = (Client::new(), target(&server));
    let first = place(&client, &target).await.expect("a place");
    assert_eq!(title(&first, "emma").await, "Emma");
    drop(first);
    let one = place(&client, &target).await.expect("a place");
    let other = place(&client, &target).await.expect("a place");
    let (first, second) = tokio::join!(title(&one, "emma"), title(&other, "emma"));
    assert_eq!((first, second), ("Emma", "Emma"));
    assert_eq!(server.sessions(), 2);
}

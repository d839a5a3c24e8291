//! Tests of finding records at one target or several, and of the events that report the progress.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use z3950::find::{Event, Events, SearchTarget, Wanted};
use z3950::lookup::{Preferences, Publication};
use z3950::plan::Fallback;
use z3950::retrieve::OutcomeName;
use z3950::service::ResultRecord;
use z3950::url::{Mode, Z3950Url};
use z3950::{Client, ClientOptions, Query, SortKey};
use z3950_asn1::apdu::Options;
use z3950_marc::{Field, MarcRecord};
use z3950_server::Offer;
use z3950_server::fault::{Faults, Rule};
use z3950_server::testing::{TestServer, record};

const ISBN: &str = "0306406152";

/// Returns a record that has the ISBN and this number of notes.
fn with_isbn(docid: &str, notes: usize) -> MarcRecord {
    let mut made = record(docid, "Emma");
    made.fields.push(Field::data(b"020", "  ", [("a", ISBN)]));
    for _ in 0..notes {
        made.fields
            .push(Field::data(b"500", "  ", [("a", "A note.")]));
    }
    made
}

fn serving(records: Vec<MarcRecord>, rules: &[&str]) -> TestServer {
    let rules = rules.iter().map(|rule| rule.parse::<Rule>().expect(rule));
    TestServer::builder()
        .database("cat", records)
        .faults(rules.fold(Faults::new(), Faults::with))
        .start()
}

fn target(client: &Client, server: &TestServer) -> SearchTarget {
    let text = format!("{}/cat", server.addr());
    let mut target = client.target(text).expect("a target");
    target.name = format!("port {}", server.addr().port());
    target
}

fn lookup() -> Wanted {
    Wanted::identifier(&format!("isbn:{ISBN}")).expect("an ISBN")
}

fn everything() -> Wanted {
    Wanted::query(Query::title("emma"))
}

/// Returns the events in a short form, without [`Event::Asked`].
async fn told(mut events: Events) -> Vec<String> {
    let mut told = Vec::new();
    while let Some(event) = events.next().await {
        told.push(match event {
            Event::Asked { .. } => continue,
            Event::Again { target, step, .. } => format!("{target} again {step}"),
            Event::Found(found) => format!("{} found {}", found.target, found.result.hits),
            Event::Record {
                target,
                position,
                record,
            } => match record {
                ResultRecord::Record { .. } => format!("{target} record {position}"),
                ResultRecord::Diagnostic { .. } => format!("{target} diagnostic {position}"),
            },
            Event::Done { target, error, .. } => match error {
                Some(error) => format!("{target} {error}"),
                None => format!("{target} done"),
            },
            Event::Unlike {
                target,
                hits,
                step_name,
            } => format!("{target} other {hits} {step_name}"),
            Event::Best(best) => best.choice,
            Event::Ended(ending) => {
                let hits = ending.hits.map_or("?".to_owned(), |hits| hits.to_string());
                format!("{} {hits}", ending.outcome)
            }
            other => panic!("{other:?}"),
        });
    }
    told
}

async fn check(client: &Client, servers: &[&TestServer], wanted: Wanted, expected: &[&str]) {
    let targets = servers.iter().map(|server| target(client, server));
    assert_eq!(told(client.find(targets, wanted)).await, expected);
}

#[tokio::test]
async fn a_url_is_reported_by_the_same_events() {
    let mut options = ClientOptions::default();
    options.plan.fallback = Fallback::ALL;
    let client = Client::with(options);
    let found = ["0 found 1", "0 record 1", "0 done", "delivered 1"];
    for (docid, rule, asked, ended) in [
        ("id7", "on present: surrogate 14", &[][..], &found[..]),
        (
            "id7",
            "on search nth=1: fail 114",
            &["0 again 1=1032"],
            &found,
        ),
        (
            "none",
            "on present: surrogate 14",
            &["0 again 1=1032", "0 again 1=12", "0 again 1=1007"],
            &["0 no record matches", "no match 0"],
        ),
        (
            "id7",
            "on search: surrogate 14",
            &[],
            &["0 found 1", "0 diagnostic 1", "0 done", "record refused ?"],
        ),
    ] {
        let server = serving(vec![record("id7", "Emma")], &[rule]);
        let url = format!("z39.50r://{}/cat?{docid}", server.addr());
        let url = Z3950Url::parse(url, Mode::Strict).expect("a URL");
        let plan = client.plan(&url).await.expect("a plan");
        let told = told(client.find_planned(plan)).await;
        assert_eq!(told, [asked, ended].concat(), "{docid} {rule}");
    }
}

#[tokio::test]
async fn targets_are_asked_in_turn_until_one_has_the_record() {
    let client = Client::new();
    let without = serving(vec![record("1", "Persuasion")], &[]);
    let one = serving(vec![with_isbn("a", 0)], &[]);
    let two = serving(vec![with_isbn("b", 1), with_isbn("c", 3)], &[]);
    let nothing = "0 no record matches";
    check(&client, &[&without], lookup(), &[nothing, "no match 0"]).await;
    check(
        &client,
        &[&without, &one, &two],
        lookup(),
        &[nothing, "1 found 1", "1 record 1", "1 done", "delivered 1"],
    )
    .await;
    assert_eq!(two.sessions(), 0);
    check(
        &client,
        &[&two],
        lookup(),
        &[
            "0 found 2",
            "0 record 1",
            "0 record 2",
            "0 done",
            "ambiguous 2",
        ],
    )
    .await;
    let counted = lookup().count(0);
    check(
        &client,
        &[&two, &one],
        counted,
        &["0 found 2", "0 done", "found 2"],
    )
    .await;
    let dead = target(&client, &one);
    drop(one);
    let mut events = client.find([dead], lookup());
    let mut last = None;
    while let Some(event) = events.next().await {
        last = Some(event);
    }
    let Some(Event::Ended(ending)) = last else {
        panic!("{last:?}");
    };
    assert_eq!(ending.outcome, OutcomeName::Unavailable);
    assert_eq!((ending.hits, ending.failed.len()), (None, 1));
}

#[tokio::test]
async fn the_best_record_of_all_targets_comes_last() {
    let client = Client::new();
    let one = serving(vec![with_isbn("a", 2)], &["on search: delay 500ms"]);
    let two = serving(vec![with_isbn("b", 1), with_isbn("c", 3)], &[]);
    let wanted = lookup().best(Preferences::default());
    check(
        &client,
        &[&two],
        wanted.clone(),
        &[
            "0 found 2",
            "0 done",
            "c is the best of 2 records: it has 6 fields, b has 4",
            "0 record 2",
            "delivered 2",
        ],
    )
    .await;
    let targets = [&one, &two].map(|server| target(&client, server));
    let told = told(client.find(targets, wanted.all_targets())).await;
    // The second target answers first.
    assert_eq!(told[..2], ["1 found 2", "1 done"]);
    let (two, one) = (two.addr().port(), one.addr().port());
    let choice =
        format!("c (port {two}) is the best of 3 records: it has 6 fields, a (port {one}) has 5");
    assert_eq!(told[4..], [&choice, "1 record 2", "delivered 3"]);
}

#[tokio::test]
async fn a_fallback_is_reported_before_its_records() {
    let client = Client::new();
    let one = serving(vec![record("a", "Emma")], &["on search nth=1: fail 118"]);
    let structured = Wanted::query(Query::attributes([(1, 4), (4, 1)], "emma"));
    check(
        &client,
        &[&one],
        structured.clone().fallback(Fallback::ALL),
        &[
            "0 again @attr 1=4 emma",
            "0 found 1",
            "0 record 1",
            "0 done",
            "delivered 1",
        ],
    )
    .await;
    let refusing = serving(vec![record("a", "Emma")], &["on search nth=1: fail 118"]);
    let refused = told(client.find([target(&client, &refusing)], structured)).await;
    assert_eq!(refused.len(), 2, "{refused:?}");
    assert_eq!(refused[1], "search refused ?");
}

/// If a reader is not accepting further records, its session must be returned to the pool, so that another search can use the
/// session in the meantime.
#[tokio::test]
async fn a_session_is_not_held_by_a_reader_without_room() {
    let client = Client::new();
    let server = serving(vec![record("a", "Emma"), record("b", "Emma")], &[]);
    let alone = || {
        let mut target = target(&client, &server);
        Arc::make_mut(&mut target.target).profile.sessions = Some(1);
        target
    };
    let mut first = client.find([alone()], everything());
    while !matches!(first.next().await, Some(Event::Found(_))) {}
    first.let_go(0);
    let meanwhile = told(client.find([alone()], everything()));
    let meanwhile = timeout(Duration::from_secs(20), meanwhile).await;
    assert_eq!(meanwhile.expect("a session is free").len(), 5);
    let rest = told(first).await;
    let records = [
        "0 found 2",
        "0 record 1",
        "0 record 2",
        "0 done",
        "delivered 2",
    ];
    assert_eq!(rest, records);
    assert_eq!(server.sessions(), 1);
}

#[tokio::test]
async fn events_may_be_dropped_at_any_time() {
    let client = Client::new();
    let records = (0..50).map(|number| record(&number.to_string(), "Emma"));
    let server = serving(records.collect(), &[]);
    for read in 0..6 {
        let mut target = target(&client, &server);
        Arc::make_mut(&mut target.target).profile.sessions = Some(1);
        let mut events = client.find([target], everything().count(50));
        for _ in 0..read {
            events.next().await;
        }
        drop(events);
    }
    let rest = told(client.find([target(&client, &server)], everything()));
    let rest = timeout(Duration::from_secs(20), rest).await;
    assert_eq!(rest.expect("the session is free").len(), 13);
}

/// If the server does not sort, the records are returned in its own order.
#[tokio::test]
async fn records_that_cannot_be_sorted_keep_their_order() {
    let client = Client::new();
    let mut offer = Offer::default();
    offer.options = Options::SEARCH | Options::PRESENT;
    let server = TestServer::builder()
        .database("cat", [record("a", "Emma"), record("b", "Emma")])
        .offer(offer)
        .start();
    let key: SortKey = "title".parse().expect("a key");
    let query = Query::title("emma").sorted_by([key]);
    let mut events = client.find([target(&client, &server)], Wanted::query(query));
    let (mut unsorted, mut records) = (0, 0);
    while let Some(event) = events.next().await {
        match event {
            Event::Unsorted { .. } => unsorted += 1,
            Event::Record { .. } => records += 1,
            _ => {}
        }
    }
    assert_eq!((unsorted, records), (1, 2));
}

/// If a search finds nothing and a later one fails, the outcome is that nothing was found, with the messages of the first search.
#[tokio::test]
async fn nothing_found_stays_although_a_fallback_fails() {
    let client = Client::new();
    let server = serving(vec![record("a", "Emma")], &["on search nth=2: close"]);
    let query = Wanted::query(Query::attributes([(1, 4), (4, 1)], "persuasion"));
    let told = told(client.find([target(&client, &server)], query.fallback(Fallback::ALL))).await;
    assert_eq!(told[0], "0 again @attr 1=4 persuasion");
    assert_eq!(
        told[told.len() - 3..],
        ["0 found 0", "0 done", "no match 0"]
    );
}

/// Two lookups run at the same time on one connection with a server that permits only one result set.
#[tokio::test]
async fn lookups_take_turns_on_one_connection() {
    let mut offer = Offer::default();
    offer.options = Options::SEARCH | Options::PRESENT;
    let server = TestServer::builder()
        .database("cat", [with_isbn("a", 0), record("b", "Persuasion")])
        .offer(offer)
        .start();
    let connection = Client::new()
        .connect(format!("{}/cat", server.addr()))
        .await
        .expect("a connection");
    let (isbn, local) = tokio::join!(
        connection.lookup("isbn:0306406152"),
        connection.lookup("local:b")
    );
    for (found, title) in [(isbn, "Emma"), (local, "Persuasion")] {
        let found = found.expect("an answer").expect("a record");
        let record = found.records.into_iter().next().expect("one");
        assert_eq!(record.expect("a record").title().as_deref(), Some(title));
    }
}

/// Two searches at the same time share one session with a server that permits only one result set.
#[tokio::test]
async fn searches_take_turns_in_one_session() {
    let mut offer = Offer::default();
    offer.options = Options::SEARCH | Options::PRESENT;
    let records = [("a", "Emma"), ("b", "Persuasion"), ("c", "Emma")];
    let server = TestServer::builder()
        .database("cat", records.map(|(docid, title)| record(docid, title)))
        .offer(offer)
        .start();
    let client = Client::new();
    let search = |title| {
        let mut target = target(&client, &server);
        Arc::make_mut(&mut target.target).profile.sessions = Some(1);
        told(client.find([target], Wanted::query(Query::title(title))))
    };
    let (two, one) = tokio::join!(search("emma"), search("persuasion"));
    let records = [
        "0 found 2",
        "0 record 1",
        "0 record 2",
        "0 done",
        "delivered 2",
    ];
    assert_eq!(two, records);
    assert_eq!(one, ["0 found 1", "0 record 1", "0 done", "delivered 1"]);
    assert_eq!(server.sessions(), 1);
}

/// One target answers while a second search is being sent to the other target. The answer must not be assigned to the second
/// search.
#[tokio::test]
async fn an_answer_during_a_fallback_at_another_target_is_kept_apart() {
    let client = Client::new();
    let rules = ["on search nth=1: fail 118", "on search nth=2: delay 300ms"];
    let one = serving(vec![record("a", "Emma")], &rules);
    let two = serving(vec![record("b", "Emma"), record("c", "Emma")], &[]);
    let wanted = Wanted::query(Query::attributes([(1, 4), (4, 1)], "emma"));
    let targets = [&one, &two].map(|server| target(&client, server));
    let events = client.find(targets, wanted.fallback(Fallback::ALL).all_targets());
    let told = told(events).await;
    let of = |target: &str| {
        let own = told.iter().filter(|line| line.starts_with(target));
        own.map(String::as_str).collect::<Vec<_>>()
    };
    let again = "0 again @attr 1=4 emma";
    assert_eq!(of("0 "), [again, "0 found 1", "0 record 1", "0 done"]);
    assert_eq!(
        of("1 "),
        ["1 found 2", "1 record 1", "1 record 2", "1 done"]
    );
    assert_eq!(told.last().map(String::as_str), Some("delivered 3"));
}

#[tokio::test]
async fn a_reader_that_panics_leaves_the_session_free() {
    let client = Client::new();
    let server = serving(vec![record("a", "Emma"), record("b", "Emma")], &[]);
    let alone = || {
        let mut target = target(&client, &server);
        Arc::make_mut(&mut target.target).profile.sessions = Some(1);
        target
    };
    let mut events = client.find([alone()], everything());
    let reader = tokio::spawn(async move {
        while !matches!(events.next().await, Some(Event::Record { .. })) {}
        panic!("the reader panics");
    });
    assert!(reader.await.is_err());
    let rest = timeout(
        Duration::from_secs(20),
        told(client.find([alone()], everything())),
    );
    assert_eq!(rest.await.expect("the session is free").len(), 5);
}

/// Neither refused records nor a position after the last record may count as success.
#[tokio::test]
async fn an_ending_without_records_says_why() {
    let client = Client::new();
    let refusing = serving(
        vec![with_isbn("a", 0)],
        &["on present: surrogate 14", "on search: surrogate 14"],
    );
    let diagnostic = ["0 found 1", "0 diagnostic 1", "0 done", "record refused 1"];
    check(&client, &[&refusing], lookup(), &diagnostic).await;
    check(&client, &[&refusing], everything(), &diagnostic).await;
    let one = serving(vec![record("a", "Emma")], &[]);
    let mut later = everything();
    later.start = 5;
    check(
        &client,
        &[&one],
        later,
        &["0 found 1", "0 done", "out of range 1"],
    )
    .await;
}

/// All records for an identifier are received at once, so a slow reader must not keep the session.
#[tokio::test]
async fn a_reader_of_a_lookup_holds_no_session() {
    let client = Client::new();
    let server = serving(vec![with_isbn("a", 0), with_isbn("b", 0)], &[]);
    let alone = || {
        let mut target = target(&client, &server);
        Arc::make_mut(&mut target.target).profile.sessions = Some(1);
        target
    };
    let mut first = client.find([alone()], lookup());
    while !matches!(first.next().await, Some(Event::Found(_))) {}
    let meanwhile = timeout(
        Duration::from_secs(20),
        told(client.find([alone()], lookup())),
    );
    assert_eq!(meanwhile.await.expect("a session is free").len(), 5);
    assert_eq!(told(first).await.len(), 4);
    assert_eq!(server.sessions(), 1);
}

/// Only records with the same title are found. The position of a record is its position among all records that the search found.
#[tokio::test]
async fn r_b9_a_publication_is_looked_up_by_title() {
    let client = Client::new();
    let titled = |docid: &str, title: &str, year: &str| {
        let mut made = record(docid, title);
        made.fields.push(Field::data(b"260", "  ", [("c", year)]));
        made
    };
    let one = serving(vec![titled("a", "Emma and Clara", "1816")], &[]);
    let all = vec![
        titled("b", "Emma, a novel of our time", "1816"),
        titled("c", "Emma", "1995"),
        titled("d", "EMMA /", "1815"),
    ];
    let two = serving(all.clone(), &[]);
    let wanted =
        || Wanted::publication(Publication::of(&titled("o", "Emma.", "1816")).expect("a title"));
    let other = "0 other 1 title";
    let nothing = "0 no record matches";
    check(&client, &[&one], wanted(), &[other, nothing, "no match 0"]).await;
    let found = ["1 found 3", "1 record 3", "1 done", "delivered 3"];
    check(
        &client,
        &[&one, &two],
        wanted(),
        &[&[other, nothing][..], &found].concat(),
    )
    .await;
    let choice =
        "by title: 3 hits, 2 with this title, d chosen because its year is 1815, that of c is 1995";
    check(
        &client,
        &[&one, &two],
        wanted().best(Preferences::default()),
        &[
            other,
            nothing,
            "1 found 3",
            "1 done",
            choice,
            "1 record 3",
            "delivered 3",
        ],
    )
    .await;
    // With a fallback, the exact search is sent to the second target before a broader search is sent to the first.
    let fallback = wanted().fallback(Fallback::ALL);
    let searches = |server: &TestServer| {
        let names = server.names();
        names
            .iter()
            .filter(|name| **name == "searchRequest")
            .count()
    };
    let before = searches(&one);
    check(
        &client,
        &[&one, &two],
        fallback.clone(),
        &[&[other][..], &found].concat(),
    )
    .await;
    assert_eq!(searches(&one) - before, 1);
    check(
        &client,
        &[&one],
        fallback,
        &[other, "0 other 1 any index", nothing, "no match 0"],
    )
    .await;
    assert_eq!(searches(&one) - before, 3);
    // The first of these servers refuses the search, and the second refuses only the records.
    let refusing = serving(all.clone(), &["on search: fail 114"]);
    check(
        &client,
        &[&refusing],
        wanted(),
        &[
            "0 Search failed: diagnostic 114 (the server has no such search field (Use attribute))",
            "search refused ?",
        ],
    )
    .await;
    let silent = serving(
        all,
        &["on search: surrogate 14", "on present: surrogate 14"],
    );
    let told = told(client.find([target(&client, &silent)], wanted())).await;
    assert_eq!(told[1..], ["present refused ?"], "{told:?}");
}

//! Tests of rows Z-4.3, Z-4.14, Z-6.3, Z-7.1, Z-7.2, Z-7.4 and Z-7.7: the requests that the client sends for a URL, and the
//! server's answers for each attribute and limit.

use z3950::plan::Strategy;
use z3950::service::search::{SearchOptions, SearchResult};
use z3950::{Client, Error, Outcome, Phase, Session};
use z3950_asn1::apdu::{
    Apdu, DatabaseName, ElementSetNames, PresentStatus, ProtocolVersion, Query, RecordComposition,
};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::oid::{self, Oid};
use z3950_server::diagnostic;
use z3950_server::fault::{Fault, Faults, When};
use z3950_server::testing::{Direction, TestServer, record};

use super::names::{CLOSE, INIT, SEARCH, sequence};
use super::{client, library, options, url};

pub(super) async fn session(server: &TestServer) -> (Client, Session) {
    let client = client(server, |_| {});
    let opened = client
        .open(&url("z39.50s://lib.example/"))
        .await
        .expect("opened");
    (client, opened.session)
}

pub(super) async fn search(
    session: &Session,
    databases: &[&str],
    pqf: &str,
    bounds: [i64; 3],
) -> Result<SearchResult, Error> {
    let query = Query::Type1(pqf.parse().unwrap_or_else(|error| panic!("{pqf}: {error}")));
    let [
        small_set_upper_bound,
        large_set_lower_bound,
        medium_set_present_number,
    ] = bounds;
    let databases = databases
        .iter()
        .map(|name| DatabaseName::from(*name))
        .collect();
    let mut options = SearchOptions::default();
    options.databases = databases;
    options.small_set_upper_bound = small_set_upper_bound;
    options.large_set_lower_bound = large_set_lower_bound;
    options.medium_set_present_number = medium_set_present_number;
    session.search(query, &options).await
}

pub(super) const NO_RECORDS: [i64; 3] = [0, 1, 0];

pub(super) async fn hits(session: &Session, pqf: &str) -> u64 {
    search(session, &["cat"], pqf, NO_RECORDS)
        .await
        .unwrap_or_else(|error| panic!("{pqf}: {error}"))
        .hits
}

/// Sends a search that must be refused. Returns the condition and addinfo of the diagnostic.
pub(super) async fn refused(session: &Session, databases: &[&str], pqf: &str) -> (i64, String) {
    match search(session, databases, pqf, NO_RECORDS).await {
        Err(Error::Refused { diagnostics, .. }) => {
            let addinfo = diagnostics.addinfo().unwrap_or_default().into_owned();
            (diagnostics.condition().expect("a condition"), addinfo)
        }
        other => panic!("{databases:?} {pqf}: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn z_4_3_hits_are_counted_over_all_databases() {
    let one = || [record("id7", "Seven")];
    let start = |faults: Faults| {
        let server = TestServer::builder().database("cat", one());
        server.database("maps", one()).faults(faults).start()
    };
    let retrieved = async |server: &TestServer| {
        let client = client(server, |_| {});
        let url = url("z39.50r://lib.example/cat+maps?id7");
        let outcome = client.retrieve(&url).await.expect("planned").outcome;
        client.close_all().await;
        server.wait_for_end();
        assert_eq!(server.names(), sequence(&[&INIT, &SEARCH, &CLOSE]));
        outcome
    };
    let both = retrieved(&start(Faults::new())).await;
    assert!(
        matches!(both, Outcome::Failed(Error::Ambiguous { hits: 2, .. })),
        "{both:?}"
    );
    for condition in [Condition::COMBINATION, Condition::TOO_MANY_DATABASES] {
        let refusal = Fault::Fails(diagnostic(condition, ""));
        match retrieved(&start(Faults::new().on(When::search(), refusal))).await {
            Outcome::Failed(Error::Refused {
                phase: Phase::Search,
                diagnostics,
                ..
            }) => {
                assert_eq!(diagnostics.condition(), Some(condition.0));
            }
            outcome => panic!("{condition:?}: {outcome:?}"),
        }
    }
}

/// Z-4.14, Z-4.16, Z-4.17: every request for the record must contain the element set and the record syntax, and no other request
/// may contain them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn z_4_14_element_set_and_syntax_are_in_requests_for_the_record() {
    type Form<'a> = (Option<&'a str>, Option<Oid>);
    let check = async |strategy: Strategy,
                       rest: &str,
                       default: Option<Oid>,
                       search: Form<'_>,
                       present: Form<'_>| {
        let case = format!("{strategy:?} {rest:?} {default:?}");
        let server = library()
            .fault(When::search(), Fault::NeverPiggyback)
            .start();
        let client = client(&server, |options| {
            options.plan.strategy = strategy;
            options.plan.default_record_syntax = default;
        });
        let text = format!("z39.50r://lib.example/cat?id7{rest}");
        let outcome = client.retrieve(&url(&text)).await.expect("planned").outcome;
        assert!(
            matches!(outcome, Outcome::Delivered(_)),
            "{case}: {outcome:?}"
        );
        client.close_all().await;
        let generic = |name: Option<&str>| {
            name.map(|name| ElementSetNames::GenericElementSetName(name.into()))
        };
        let mut requests = 0;
        for entry in server.wait_for_end() {
            match &entry.apdu {
                Some(Apdu::SearchRequest(request)) => {
                    requests += 1;
                    assert_eq!(
                        request.small_set_element_set_names.as_ref(),
                        generic(search.0).as_ref(),
                        "{case}"
                    );
                    assert_eq!(
                        request.medium_set_element_set_names.as_ref(),
                        generic(search.0).as_ref(),
                        "{case}"
                    );
                    assert_eq!(request.preferred_record_syntax, search.1, "{case}");
                }
                Some(Apdu::PresentRequest(request)) => {
                    requests += 1;
                    let simple = generic(present.0).map(RecordComposition::Simple);
                    assert_eq!(
                        request.record_composition.as_ref(),
                        simple.as_ref(),
                        "{case}"
                    );
                    assert_eq!(request.preferred_record_syntax, present.1, "{case}");
                }
                _ => {}
            }
        }
        assert_eq!(requests, 2, "{case}");
    };
    use Strategy::{Piggyback, PresentOnly};
    let marc = Some(oid::USMARC);
    let (sutrs, none) = (Some(oid::SUTRS), (None, None));
    check(
        Piggyback,
        ";esn=f;rs=sutrs",
        marc,
        (Some("f"), sutrs),
        (Some("f"), sutrs),
    )
    .await;
    check(
        PresentOnly,
        ";esn=f;rs=sutrs",
        marc,
        none,
        (Some("f"), sutrs),
    )
    .await;
    check(
        Piggyback,
        ";esn=f",
        marc,
        (Some("f"), marc),
        (Some("f"), marc),
    )
    .await;
    check(Piggyback, "", marc, (None, marc), (None, marc)).await;
    check(Piggyback, "", None, none, none).await;
    check(PresentOnly, "", None, none, none).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn z_6_3_a_url_causes_init_search_present_and_close_only() {
    let server = library().start();
    let client = client(&server, |options| options.keep_open = true);
    for number in 0..1_000 {
        let docid = ["id7", "id8", "dup", "nosuch", "%40or%20a%20b", "%00"][number % 6];
        let database = ["cat", "CAT", "Default", "nosuch", "cat+cat"][number / 6 % 5];
        let rest = [
            "",
            ";esn=f",
            ";esn=b;rs=sutrs",
            ";rs=xml",
            ";rs=usmarc",
            ";esn=x;rs=marc",
        ][number / 30 % 6];
        let text = format!("lib.example/{database}?{docid}{rest}");
        match number % 2 {
            0 => drop(
                client
                    .retrieve(&url(&format!("z39.50r://{text}")))
                    .await
                    .expect("planned"),
            ),
            _ => drop(
                client
                    .open(&url(&format!("z39.50s://{text}")))
                    .await
                    .expect("opened"),
            ),
        }
    }
    client.close_all().await;
    for entry in server.wait_for_end() {
        let allowed = ["initRequest", "searchRequest", "presentRequest", "close"];
        assert!(
            entry.direction != Direction::Received || allowed.contains(&entry.name()),
            "{}",
            entry.name()
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn z_7_1_init_comes_first_and_offers_what_it_should() {
    let server = library().start();
    let (client, session) = session(&server).await;
    client.close_all().await;
    let transcript = server.wait_for_end();
    let first = transcript.first().expect("an APDU");
    assert_eq!(first.octets.first(), Some(&0xb4));
    let Some(Apdu::InitializeRequest(init)) = &first.apdu else {
        panic!("an Init")
    };
    assert_eq!(init.protocol_version, ProtocolVersion::UP_TO_3);
    assert_eq!(
        init.options.names().collect::<Vec<_>>(),
        [
            "search",
            "present",
            "delSet",
            "resourceReport",
            "triggerResourceCtrl",
            "scan",
            "sort",
            "extendedServices",
            "level-1Segmentation",
            "level-2Segmentation",
            "concurrentOperations",
            "namedResultSets",
            "resultCount",
            "duplicateDetection",
            "queryType104",
            "stringSchema",
        ]
    );
    assert_eq!(
        (init.preferred_message_size, init.exceptional_record_size),
        (1_048_576, 16_777_216)
    );
    assert_eq!(init.implementation_name, Some("z3950".into()));
    assert_eq!(
        (&init.implementation_id, &init.id_authentication),
        (&None, &None)
    );
    let info = session.server_info();
    assert_eq!(
        (info.version, &info.response.implementation_name),
        (3, &Some("z3950d".into()))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn z_7_2_docids_are_exact() {
    let server = library().start();
    let (_client, session) = session(&server).await;
    for (pqf, expected) in [
        ("@attr 1=1032 id7", 1),
        ("@attr 1=1032 @attr 4=104 id7", 1),
        ("@attr 4=104 @attr 1=1032 id7", 1),
        ("@attr 1=1032 @attr 4=107 id7", 1),
        ("@attr 1=1032 @attr 4=108 id7", 1),
        ("@attr 1=12 id7", 1),
        ("@attr 1=1007 id7", 1),
        ("@attr 1=1032 ID7", 0),
        ("@attr 1=1032 \"id7 \"", 0),
        ("@attr 1=1032 id", 0),
        ("@attr 1=1032 dup", 2),
        ("@attr 1=4 seven", 1),
        ("@attr 1=4 SEVEN", 1),
        ("@attr 1=1016 eight", 1),
        ("@or @attr 1=4 seven @attr 1=4 eight", 2),
        ("@and @attr 1=4 seven @attr 1=4 eight", 0),
        ("@not @attr 1=1032 dup @attr 1=4 two", 1),
    ] {
        assert_eq!(hits(&session, pqf).await, expected, "{pqf}");
    }
    for databases in [&["cat"][..], &["CAT"], &["Default"], &["default"]] {
        let found = search(&session, databases, "@attr 1=1032 id7", NO_RECORDS).await;
        assert_eq!(found.expect("searches").hits, 1, "{databases:?}");
    }
    let one = || [record("id7", "Seven")];
    let two = || {
        TestServer::builder()
            .database("cat", one())
            .database("maps", one())
    };
    for (server, database, expected) in [
        (two(), "cat", 1),
        (two(), "Default", 2),
        (two(), "dEFAULT", 2),
        // A database with the name Default takes the place of the union of all databases.
        (two().database("Default", one()), "Default", 1),
    ] {
        let server = server.start();
        let (_client, session) = self::session(&server).await;
        let found = search(&session, &[database], "@attr 1=1032 id7", NO_RECORDS).await;
        assert_eq!(found.expect("searches").hits, expected, "{database}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn z_7_4_the_bounds_decide_how_many_records_come() {
    let records =
        (1..=30).flat_map(|hits| (0..hits).map(move |_| record(&format!("n{hits}"), "x")));
    let server = TestServer::builder().database("cat", records).start();
    let (_client, session) = session(&server).await;
    for (small, large, medium, hits, expected) in [
        (1, 2, 0, 1, 1),
        (1, 2, 0, 2, 0),
        (0, 1, 0, 1, 0),
        (0, 2, 1, 1, 1),
        (5, 10, 3, 4, 4),
        (5, 10, 3, 7, 3),
        (5, 10, 3, 10, 0),
        (5, 10, 9, 7, 7),
        (5, 1, 0, 3, 3),
        (1, 2_000_000_000, 5, 30, 5),
        (0, i64::MAX, i64::MAX, 9, 9),
    ] {
        let pqf = format!("@attr 1=1032 n{hits}");
        let result = search(&session, &["cat"], &pqf, [small, large, medium])
            .await
            .expect("searches");
        let case = format!("ssub {small}, lslb {large}, mspn {medium}, {hits} hits");
        assert_eq!(
            (result.hits, result.records.len()),
            (hits, expected),
            "{case}"
        );
        assert_eq!(
            result.next_position,
            i64::try_from(expected).expect("small") + 1,
            "{case}"
        );
        assert_eq!(
            result.present_status,
            Some(PresentStatus::SUCCESS),
            "{case}"
        );
    }
    let none = search(&session, &["cat"], "@attr 1=1032 nosuch", [5, 10, 3])
        .await
        .expect("searches");
    assert_eq!((none.hits, none.records.len()), (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn z_7_7_ipv6_serves_as_well() {
    let Ok(probe) = std::net::TcpListener::bind("[::1]:0") else {
        // The line is written directly to standard error, because the test harness captures the output of passing tests.
        let _ = std::io::Write::write_all(&mut std::io::stderr(), b"skipped: no IPv6 loopback\n");
        return;
    };
    drop(probe);
    let server = library().ipv6().start();
    let text = format!("z39.50r://[::1]:{}/cat?id7", server.addr_v6().port());
    let url = z3950::url::Z3950Url::parse(&text, z3950::url::Mode::Lenient).expect("lenient");
    let outcome = Client::with(options())
        .retrieve(&url)
        .await
        .expect("planned")
        .outcome;
    assert_eq!(outcome.name().as_str(), "delivered");
}

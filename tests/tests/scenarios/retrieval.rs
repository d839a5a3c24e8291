//! Tests of retrieval URLs (RFC 2056 §4): scenarios S-02 to S-16 and S-21 to S-26. Most of them are rows of one table. Scenarios
//! that need another client are separate tests.

use std::time::Duration;

use bytes::Bytes;
use z3950::plan::Strategy;
use z3950::{ClientOptions, Error, Outcome, Phase};
use z3950_asn1::apdu::{Apdu, Close, CloseReason, ReferenceId};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::oid;
use z3950_server::diagnostic;
use z3950_server::fault::{Fault, Faults, When};
use z3950_tests::peer::Unheard;

use super::names::{CLOSE, INIT, PRESENT, SEARCH, sequence};
use super::{client, library, options, url};

const FULL: &str = "z39.50r://lib.example/cat?id7;esn=f;rs=usmarc";

struct Scenario {
    id: &'static str,
    url: &'static str,
    faults: Faults,
    options: fn(&mut ClientOptions),
    /// The names of the APDUs in both directions.
    apdus: Vec<&'static str>,
    outcome: fn(&Outcome) -> bool,
}

impl Scenario {
    fn new(id: &'static str, url: &'static str) -> Self {
        Self {
            id,
            url,
            faults: Faults::new(),
            options: |_| {},
            apdus: sequence(&[&INIT, &SEARCH, &CLOSE]),
            outcome: delivered,
        }
    }

    fn fault(mut self, when: When, fault: Fault) -> Self {
        self.faults = self.faults.on(when, fault);
        self
    }

    fn with(mut self, options: fn(&mut ClientOptions)) -> Self {
        self.options = options;
        self
    }

    fn sends(mut self, parts: &[&[&'static str]]) -> Self {
        self.apdus = sequence(parts);
        self
    }

    fn gives(mut self, outcome: fn(&Outcome) -> bool) -> Self {
        self.outcome = outcome;
        self
    }

    async fn check(self) {
        let server = library().faults(self.faults).start();
        let client = client(&server, self.options);
        let retrieval = client
            .retrieve(&url(self.url))
            .await
            .unwrap_or_else(|error| panic!("{}: {error}", self.id));
        assert!(
            (self.outcome)(&retrieval.outcome),
            "{}: {:?}",
            self.id,
            retrieval.outcome
        );
        client.close_all().await;
        server.wait_for_end();
        assert_eq!(server.names(), self.apdus, "{}", self.id);
    }
}

fn delivered(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Delivered(delivered) if !delivered.mismatch)
}

fn condition(outcome: &Outcome) -> Option<(i64, String)> {
    use z3950_asn1::apdu::DiagRec::DefaultFormat;
    match outcome.diagnostics() {
        [DefaultFormat(only)] => {
            Some((only.condition, only.addinfo.to_string_lossy().into_owned()))
        }
        _ => None,
    }
}

fn scenarios() -> Vec<Scenario> {
    let no_piggyback = || (When::search(), Fault::NeverPiggyback);
    let close = || Apdu::from(Close::new(CloseReason::SHUTDOWN, Some("going home")));
    let with = |scenario: Scenario, (when, fault): (When, Fault)| scenario.fault(when, fault);
    vec![
        Scenario::new("S-02", FULL),
        with(Scenario::new("S-03", FULL), no_piggyback()).sends(&[&INIT, &SEARCH, &PRESENT, &CLOSE]),
        Scenario::new("S-04", FULL)
            .with(|options| options.plan.strategy = Strategy::PresentOnly)
            .sends(&[&INIT, &SEARCH, &PRESENT, &CLOSE]),
        Scenario::new("S-05", "z39.50r://lib.example/cat?nosuch").gives(|outcome| matches!(outcome, Outcome::Failed(Error::NoMatch))),
        Scenario::new("S-06", "z39.50r://lib.example/cat?dup")
            .gives(|outcome| matches!(outcome, Outcome::Failed(Error::Ambiguous { hits: 2, .. }))),
        Scenario::new("S-07", "z39.50r://lib.example/cat?dup")
            .fault(When::search(), Fault::PushRecords(1))
            .gives(|outcome| matches!(outcome, Outcome::Failed(Error::Ambiguous { hits: 2, .. }))),
        Scenario::new("S-08", "z39.50r://lib.example/nosuchdb?x").gives(|outcome| {
            matches!(outcome, Outcome::Failed(Error::Refused { phase: Phase::Search, .. })) && condition(outcome) == Some((235, "nosuchdb".into()))
        }),
        Scenario::new("S-09", FULL)
            .fault(When::search(), Fault::Surrogate(diagnostic(Condition::SYSTEM_ERROR_PRESENTING, "")))
            .gives(|outcome| {
                matches!(outcome, Outcome::RecordDiagnostic { .. }) && condition(outcome) == Some((14, "".into()))
            }),
        with(Scenario::new("S-10", FULL), no_piggyback())
            .fault(When::present(), Fault::Fails(diagnostic(Condition::RECORD_SYNTAX, "1.2.840.10003.5.10")))
            .sends(&[&INIT, &SEARCH, &PRESENT, &CLOSE])
            .gives(|outcome| {
                matches!(outcome, Outcome::Failed(Error::Refused { phase: Phase::Present, .. }))
                    && condition(outcome) == Some((239, "1.2.840.10003.5.10".into()))
            }),
        with(Scenario::new("S-11", "z39.50r://lib.example/cat?id7;rs=sutrs+usmarc"), no_piggyback())
            .fault(
                When::present().syntax(oid::SUTRS),
                Fault::Surrogate(diagnostic(Condition::NOT_AVAILABLE_IN_SYNTAX, "")),
            )
            .with(|options| options.plan.fallback.syntax = true)
            .sends(&[&INIT, &SEARCH, &PRESENT, &PRESENT, &CLOSE])
            .gives(|outcome| matches!(outcome, Outcome::Delivered(record) if record.syntax == Some(oid::USMARC))),
        Scenario::new("S-11, not asked for", "z39.50r://lib.example/cat?id7;rs=sutrs+usmarc")
            .fault(When::search(), Fault::Surrogate(diagnostic(Condition::NOT_AVAILABLE_IN_SYNTAX, "")))
            .gives(|outcome| condition(outcome) == Some((238, "".into()))),
        Scenario::new("S-12", FULL)
            .fault(When::init(), Fault::RejectInit(Some(diagnostic(Condition::BAD_USER_ID_OR_PASSWORD, "me"))))
            .sends(&[&INIT])
            .gives(|outcome| {
                matches!(outcome, Outcome::Failed(Error::InitRejected(_))) && condition(outcome) == Some((1011, "me".into()))
            }),
        Scenario::new("S-12, without a reason", FULL)
            .fault(When::init(), Fault::RejectInit(None))
            .sends(&[&INIT])
            .gives(|outcome| matches!(outcome, Outcome::Failed(Error::InitRejected(_)))),
        Scenario::new("S-13", FULL)
            .fault(When::search(), Fault::PiggybackFails(diagnostic(Condition::SYSTEM_ERROR_PRESENTING, "")))
            .sends(&[&INIT, &SEARCH, &PRESENT, &CLOSE]),
        Scenario::new("S-14", FULL).fault(When::init(), Fault::Version2).sends(&[&INIT, &SEARCH]),
        Scenario::new("S-15", FULL)
            .fault(When::search(), Fault::Close(CloseReason::SYSTEM_PROBLEM, Some("disk full")))
            .sends(&[&INIT, &["searchRequest"], &CLOSE])
            .gives(|outcome| {
                matches!(outcome, Outcome::Failed(Error::ProtocolClosed { reason: CloseReason::SYSTEM_PROBLEM, info: Some(info), .. })
                    if info == "disk full")
            }),
        Scenario::new("S-16", FULL)
            .fault(When::search(), Fault::ExtraRecords(1))
            .sends(&[&INIT, &SEARCH, &CLOSE])
            .gives(|outcome| {
                matches!(outcome, Outcome::Failed(Error::ProtocolError { fault, .. }) if fault.to_string().contains("records"))
            }),
        Scenario::new("S-23", FULL)
            .fault(When::search(), Fault::Syntax(oid::SUTRS))
            .gives(|outcome| {
                matches!(outcome, Outcome::Delivered(record) if record.mismatch
                    && record.syntax == Some(oid::SUTRS) && record.requested == Some(oid::USMARC))
            }),
        Scenario::new("S-24, octet by octet", "z39.50r://lib.example/cat?id7").fault(When::always(), Fault::Trickle),
        Scenario::new("S-24, two APDUs in one write", "z39.50r://lib.example/cat?id7")
            .fault(When::search(), Fault::After(close()))
            // These are the server's Close after the record, the client's answer to it, and the client's own Close, which the
            // client sent before it received the server's Close.
            .sends(&[&INIT, &SEARCH, &["close", "close", "close"]]),
        Scenario::new("S-25", "z39.50r://lib.example/cat?id7")
            .fault(When::search(), Fault::announces_4_gib())
            .sends(&[&INIT, &["searchRequest", "malformed", "close", "close"]])
            .gives(|outcome| {
                matches!(outcome, Outcome::Failed(Error::ProtocolError { fault, .. }) if fault.to_string().contains("octets"))
            }),
        Scenario::new("S-26", "z39.50r://lib.example/cat?id7")
            .fault(When::search(), Fault::Challenge(Bytes::from_static(b"who are you?")))
            .sends(&[
                &INIT,
                &["searchRequest", "accessControlRequest", "accessControlResponse", "searchResponse"],
                &CLOSE,
            ])
            .gives(|outcome| matches!(outcome, Outcome::Failed(Error::AccessRefused { .. }))),
        Scenario::new("S-26, version 2", "z39.50r://lib.example/cat?id7")
            .fault(When::init(), Fault::Version2)
            .fault(When::search(), Fault::Challenge(Bytes::from_static(b"who are you?")))
            .sends(&[&INIT, &["searchRequest", "accessControlRequest"]])
            .gives(|outcome| matches!(outcome, Outcome::Failed(Error::AccessRefused { .. }))),
        Scenario::new("A-34", FULL)
            .fault(When::search(), Fault::ReferenceId(Some(ReferenceId("x".into()))))
            .gives(|outcome| matches!(outcome, Outcome::Failed(Error::ProtocolError { .. }))),
        Scenario::new("A-36, fewer hits than none", FULL)
            .fault(When::search(), Fault::ResultCount(-1))
            .gives(|outcome| matches!(outcome, Outcome::Failed(Error::ProtocolError { .. }))),
        Scenario::new("A-36, records that did not come", FULL)
            .fault(When::search(), Fault::RecordsReturned(7))
            .gives(|outcome| matches!(outcome, Outcome::Failed(Error::ProtocolError { .. }))),
        Scenario::new("A-38", FULL)
            .fault(When::search(), Fault::Fails(diagnostic(Condition::DATABASE_UNAVAILABLE, "cat")))
            .gives(|outcome| {
                matches!(outcome, Outcome::Failed(Error::Refused { phase: Phase::Search, .. })) && condition(outcome) == Some((109, "cat".into()))
            }),
        Scenario::new("cut off", FULL)
            .fault(When::search(), Fault::CutAfter(5))
            .sends(&[&INIT, &SEARCH])
            .gives(|outcome| matches!(outcome, Outcome::Failed(Error::Unavailable { .. }))),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_scenario_of_a_retrieval() {
    for scenario in scenarios() {
        scenario.check().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_requests_match_the_scenarios() {
    let server = library().start();
    let client = client(&server, |_| {});
    client.retrieve(&url(FULL)).await.expect("planned");
    client.close_all().await;
    let transcript = server.wait_for_end();
    let search = transcript
        .iter()
        .find_map(|entry| match entry.apdu.as_ref()? {
            Apdu::SearchRequest(search) => Some(search.clone()),
            _ => None,
        });
    let search = search.expect("a search");
    assert_eq!(
        (search.small_set_upper_bound, search.large_set_lower_bound),
        (1, 2)
    );
    assert_eq!(
        (search.medium_set_present_number, search.replace_indicator),
        (0, true)
    );
    assert_eq!(search.result_set_name, "default".into());
    assert_eq!(search.preferred_record_syntax, Some(oid::USMARC));
    let response = transcript
        .iter()
        .find_map(|entry| match entry.apdu.as_ref()? {
            Apdu::SearchResponse(response) => Some(response.clone()),
            _ => None,
        });
    let response = response.expect("its response");
    assert_eq!(
        (response.result_count, response.number_of_records_returned),
        (1, 1)
    );
    assert_eq!(
        (response.next_result_set_position, response.search_status),
        (2, true)
    );
    assert_eq!(response.present_status.map(|status| status.0), Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s_21_a_session_that_is_kept_serves_the_next_url() {
    let server = library().start();
    let client = client(&server, |options| options.keep_open = true);
    for text in [
        "z39.50r://lib.example/cat?id7",
        "z39.50r://LIB.example:210/cat?id8",
    ] {
        let retrieval = client
            .retrieve(&url(&text.to_lowercase()))
            .await
            .expect("planned");
        assert!(delivered(&retrieval.outcome), "{:?}", retrieval.outcome);
    }
    client.close_all().await;
    server.wait_for_end();
    assert_eq!(server.names(), sequence(&[&INIT, &SEARCH, &SEARCH, &CLOSE]));
    assert_eq!(server.sessions(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_port_needs_another_session() {
    let server = library().start();
    let client = client(&server, |options| options.keep_open = true);
    for text in [
        "z39.50r://lib.example/cat?id7",
        "z39.50r://lib.example:2100/cat?id8",
    ] {
        client.retrieve(&url(text)).await.expect("planned");
    }
    client.close_all().await;
    server.wait_for_end();
    assert_eq!(server.sessions(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s_22_what_is_unavailable_says_why() {
    use z3950::error::Cause;
    // The port is bound but no program listens on it, so connections are refused.
    let unheard = Unheard::bind();
    let refused = z3950::Client::with_resolver(options(), unheard.address());
    let outcome = refused.retrieve(&url(FULL)).await.expect("planned").outcome;
    assert!(
        matches!(
            outcome,
            Outcome::Failed(Error::Unavailable {
                phase: Phase::Connect,
                cause: Cause::Refused(_),
                ..
            })
        ),
        "{outcome:?}"
    );

    let nameless = z3950::Client::with(options());
    let outcome = nameless
        .retrieve(&url("z39.50r://nosuch.invalid/cat?id7"))
        .await
        .expect("planned")
        .outcome;
    assert!(
        matches!(
            outcome,
            Outcome::Failed(Error::Unavailable {
                phase: Phase::Resolve,
                cause: Cause::Dns(_),
                ..
            })
        ),
        "{outcome:?}"
    );

    for (when, phase) in [(When::init(), Phase::Init), (When::search(), Phase::Search)] {
        let server = library().fault(when, Fault::Silence).start();
        let silent = client(&server, |options| {
            options.timeouts.answer = Some(Duration::from_millis(20))
        });
        let outcome = silent.retrieve(&url(FULL)).await.expect("planned").outcome;
        let Outcome::Failed(Error::Unavailable {
            phase: found,
            cause: Cause::Timeout(_),
            ..
        }) = outcome
        else {
            panic!("{outcome:?}")
        };
        assert_eq!(found, phase);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reserved_port_is_not_connected_to() {
    let server = library().start();
    let careful = client(&server, |_| {});
    let reserved = url("z39.50r://lib.example:25/cat?id7");
    let outcome = careful.retrieve(&reserved).await.expect("planned").outcome;
    assert!(
        matches!(outcome, Outcome::Failed(Error::PortRefused(25))),
        "{outcome:?}"
    );
    assert_eq!(server.sessions(), 0);
    let bold = client(&server, |options| options.plan.allow_reserved_port = true);
    assert!(delivered(
        &bold.retrieve(&reserved).await.expect("planned").outcome
    ));
}

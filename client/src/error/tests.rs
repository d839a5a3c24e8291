//! Tests of error messages.

use z3950_asn1::format::sources::{SearchSource, SearchSources};
use z3950_asn1::query::QueryErrorKind;

use super::*;
use crate::retrieve::OutcomeName;

#[test]
fn messages_are_plain_and_each_level_adds_its_own() {
    let chain = |error: Error| {
        let mut words = vec![error.to_string()];
        let mut level: &dyn std::error::Error = &error;
        while let Some(source) = level.source() {
            words.push(source.to_string());
            level = source;
        }
        words.join(" | ")
    };
    let closed = |phase, info: Option<&str>| Error::ProtocolClosed {
        phase,
        reason: CloseReason(42),
        info: info.map(str::to_owned),
    };
    let unavailable = |phase, cause| Error::Unavailable { phase, cause };
    for (error, words) in [
        (
            unavailable(Phase::Init, Cause::Disconnected),
            "closed during Init: check credentials, address allow-list or database | connection closed by the server",
        ),
        (
            unavailable(Phase::Search, Cause::Timeout(Duration::from_millis(1500))),
            "no answer to Search in time | no response within 1.5 s",
        ),
        (
            unavailable(
                Phase::Connect,
                Cause::Refused(Arc::new(io::Error::other("refused"))),
            ),
            "cannot connect | connection refused | refused",
        ),
        (
            unavailable(Phase::Connect, Cause::SessionsInUse(Duration::from_secs(5))),
            "cannot connect | as many sessions as the target allows are in use, and none was returned within 5 s",
        ),
        (
            closed(Phase::Search, Some("bye")),
            "the server closed the session during Search, reason 42: bye",
        ),
        (
            closed(Phase::Init, None),
            "the server closed the session during Init, reason 42; check credentials, address allow-list or database",
        ),
        (
            Error::Ended {
                cause: Some(Arc::new(closed(Phase::Idle, None))),
            },
            "the session has ended | the server closed the session during a pause, reason 42",
        ),
        (
            Error::Refused {
                phase: Phase::Search,
                diagnostics: Diagnostics::default(),
            },
            "Search failed: the server gave no reason",
        ),
        (
            InitRejected::default().into(),
            "the server refused the session: no reason given; check credentials, address allow-list or database",
        ),
        (
            Error::fault(Phase::Present, ProtocolFault::ReferenceId),
            "protocol error during Present | a response with a referenceId that was not sent",
        ),
    ] {
        assert_eq!(chain(error), words);
    }
}

/// The answers that the methods of an error give to a program that decides how to react.
#[derive(Debug, Default, PartialEq)]
struct Answers {
    timeout: bool,
    connect: bool,
    transient: bool,
    lost: bool,
    diagnostics: usize,
    causes: usize,
}

/// Parses the expected answers: words such as `timeout`, and the numbers of diagnostics (`d1`) and causes (`c1`).
fn answers(words: &str) -> Answers {
    let number = |kind: char| {
        let mut words = words.split(' ').filter_map(|word| word.strip_prefix(kind));
        words.find_map(|number| number.parse().ok()).unwrap_or(0)
    };
    let has = |wanted: &str| words.split(' ').any(|word| word == wanted);
    Answers {
        timeout: has("timeout"),
        connect: has("connect"),
        transient: has("transient"),
        lost: has("lost"),
        diagnostics: number('d'),
        causes: number('c'),
    }
}

fn io_error() -> Arc<io::Error> {
    Arc::new(io::Error::other("reset"))
}

fn diagnostic(condition: i64) -> Diagnostics {
    DiagRec::DefaultFormat(DefaultDiagFormat::bib1(condition, "x")).into()
}

/// Returns an error of each variant and with each cause, with the outcome and the answers expected from its methods.
fn every_kind() -> Vec<(Error, OutcomeName, &'static str)> {
    use OutcomeName::{
        AccessRefused, Ambiguous, Closed, NoCredentials, NoMatch, NotGranted, NotSent, NotWritten,
        PortRefused, PresentRefused, ProtocolError, ScanRefused, SearchRefused, SortRefused,
        TaskFailed, Unavailable,
    };
    let lost = Error::unavailable;
    let second = Duration::from_secs(1);
    let closed = |reason| Error::ProtocolClosed {
        phase: Phase::Search,
        reason,
        info: None,
    };
    let after = |cause: Error| Error::Ended {
        cause: Some(Arc::new(cause)),
    };
    let busy = Error::unavailable(
        Phase::Search,
        Cause::HttpStatus {
            status: "503 Service Unavailable".into(),
            retry_after: Some(second),
        },
    );
    let rejected = |condition| InitRejected {
        diagnostics: diagnostic(condition),
        ..InitRejected::default()
    };
    let unreachable = |error: Error| GatewayError::Unreachable {
        gateway: "http://g".into(),
        error: Arc::new(error),
    };
    let sources = |condition| {
        let failure = Some(DefaultDiagFormat::bib1(condition, "x"));
        let name = "a".to_owned();
        Error::of_nothing(&SearchSources {
            sources: vec![SearchSource {
                name,
                records: None,
                failure,
            }],
            remarks: Vec::new(),
        })
    };
    let route = |error: RouteError| Error::Route(Arc::new(error));
    let credentials = |error| Error::Credentials(Arc::new(error));
    let command = || CredentialsError::Command(io::Error::other("no shell"));
    let profile = ProfileError::Read {
        path: "targets.toml".into(),
        error: io::Error::other("denied"),
    };
    let url = crate::url::Z3950Url::parse("x", crate::url::Mode::Strict);
    vec![
        (
            lost(Phase::Resolve, Cause::Dns(io_error())),
            Unavailable,
            "connect transient c2",
        ),
        (
            lost(Phase::Connect, Cause::Refused(io_error())),
            Unavailable,
            "connect transient c2",
        ),
        (
            lost(Phase::Connect, Cause::Other(io_error())),
            Unavailable,
            "connect transient c2",
        ),
        (
            lost(Phase::Connect, Cause::Timeout(second)),
            Unavailable,
            "timeout connect transient c1",
        ),
        (
            lost(Phase::Connect, Cause::SessionsInUse(second)),
            Unavailable,
            "timeout transient c1",
        ),
        (
            lost(Phase::Tls, Cause::Tls(io_error())),
            Unavailable,
            "connect c2",
        ),
        (
            lost(Phase::Tls, Cause::Handshake(io_error())),
            Unavailable,
            "connect c2",
        ),
        (
            lost(
                Phase::Proxy,
                Cause::Proxy(ProxyRefusal::of_status(&"p", 407, &"407")),
            ),
            Unavailable,
            "connect c1",
        ),
        (
            lost(Phase::Search, Cause::Timeout(second)),
            Unavailable,
            "timeout transient c1",
        ),
        (
            lost(Phase::Search, Cause::Deadline),
            Unavailable,
            "timeout c1",
        ),
        (
            lost(Phase::Search, Cause::Disconnected),
            Unavailable,
            "transient lost c1",
        ),
        (
            lost(Phase::Search, Cause::CutOff(3)),
            Unavailable,
            "transient lost c1",
        ),
        (
            lost(Phase::Search, Cause::Other(io_error())),
            Unavailable,
            "transient lost c2",
        ),
        (
            lost(
                Phase::Search,
                Cause::AnotherAnswer(Arc::new(Error::NoMatch)),
            ),
            Unavailable,
            "transient lost c2",
        ),
        (busy, Unavailable, "transient c1"),
        (rejected(1011).into(), OutcomeName::InitRejected, "d1"),
        (rejected(1005).into(), OutcomeName::InitRejected, "d1"),
        (
            rejected(2).into(),
            OutcomeName::InitRejected,
            "transient d1",
        ),
        (
            Error::refused(Phase::Search, diagnostic(114)),
            SearchRefused,
            "d1",
        ),
        (
            Error::refused(Phase::Search, diagnostic(109)),
            SearchRefused,
            "transient d1",
        ),
        (
            Error::refused(Phase::Sort, diagnostic(207)),
            SortRefused,
            "d1",
        ),
        (
            Error::refused(Phase::Scan, diagnostic(205)),
            ScanRefused,
            "d1",
        ),
        (
            Error::refused(Phase::Present, diagnostic(13)),
            PresentRefused,
            "d1",
        ),
        (
            Error::refused(Phase::ExtendedServices, diagnostic(224)),
            TaskFailed,
            "d1",
        ),
        (
            Error::fault(Phase::Search, ProtocolFault::ReferenceId),
            ProtocolError,
            "c1",
        ),
        (
            Error::fault(Phase::Search, ProtocolFault::NotGranted("search")),
            NotGranted,
            "c1",
        ),
        (
            closed(CloseReason::LACK_OF_ACTIVITY),
            Closed,
            "transient lost",
        ),
        (closed(CloseReason::SECURITY_VIOLATION), Closed, ""),
        (closed(CloseReason::COST_LIMIT), Closed, ""),
        (closed(CloseReason::PROTOCOL_ERROR), Closed, ""),
        (Error::access_refused(Phase::Search), AccessRefused, ""),
        (Error::NoMatch, NoMatch, ""),
        (sources(109), Unavailable, "transient d1"),
        (sources(3), SearchRefused, "d1"),
        (Error::Ambiguous { hits: 2 }, Ambiguous, ""),
        (Error::PortRefused(25), PortRefused, ""),
        (Error::Target(Arc::new(profile)), NotSent, "c1"),
        (credentials(command()), NoCredentials, "c1"),
        (
            credentials(CredentialsError::Deadline),
            NoCredentials,
            "timeout",
        ),
        (GatewayError::Url("x".into()).into(), NotSent, ""),
        (
            GatewayError::Forbidden("x".into()).into(),
            AccessRefused,
            "",
        ),
        (GatewayError::Form("x".into()).into(), NotWritten, ""),
        (GatewayError::Refused("x".into()).into(), SearchRefused, ""),
        (
            GatewayError::NoAnswer("x".into()).into(),
            Unavailable,
            "transient",
        ),
        (
            GatewayError::NoGateway("x".into()).into(),
            ProtocolError,
            "",
        ),
        (
            unreachable(lost(Phase::Connect, Cause::Timeout(second))).into(),
            Unavailable,
            "timeout connect transient c2",
        ),
        (url.expect_err("no URL").into(), NotSent, ""),
        (PlanError::NoDocid.into(), NotSent, ""),
        (
            PlanError::Credentials(Arc::new(command())).into(),
            NoCredentials,
            "c2",
        ),
        (QueryErrorKind::Missing("a term").at(0).into(), NotSent, ""),
        (Error::Unwritable(io_error()), NotSent, "c1"),
        (Error::NotOneTerm, NotSent, ""),
        (Error::ForeignResultSet, NotSent, ""),
        (route(RouteError::NotBuiltIn("TLS")), NotSent, ""),
        (
            after(lost(Phase::Search, Cause::Timeout(second))),
            Unavailable,
            "transient lost c2",
        ),
        (after(closed(CloseReason::COST_LIMIT)), Closed, "c1"),
        (
            after(Error::fault(Phase::Search, ProtocolFault::ReferenceId)),
            ProtocolError,
            "transient lost c2",
        ),
        (Error::ended(), Unavailable, ""),
    ]
}

#[test]
fn audit_r_l7_every_error_answers_the_questions_of_a_program() {
    for (error, name, words) in every_kind() {
        let causes =
            std::iter::successors(std::error::Error::source(&error), |cause| cause.source());
        let found = Answers {
            timeout: error.is_timeout(),
            connect: error.is_connect(),
            transient: error.is_transient(),
            lost: error.is_connection_lost(),
            diagnostics: error.diagnostics().len(),
            causes: causes.count(),
        };
        assert_eq!(found, answers(words), "{}", chain(&error));
        assert_eq!(error.code(), name, "{}", chain(&error));
        // Every error that means a lost connection is also transient.
        assert!(found.transient || !found.lost, "{}", chain(&error));
    }
}

/// Checks that each level of an error adds information, so that a message with all levels does not repeat itself.
#[test]
fn audit_r_l7_no_level_repeats_its_cause() {
    for (error, ..) in every_kind() {
        let mut level: &dyn std::error::Error = &error;
        while let Some(cause) = level.source() {
            let (words, inner) = (level.to_string(), cause.to_string());
            assert!(!words.contains(&inner), "{words}: {inner}");
            level = cause;
        }
    }
}

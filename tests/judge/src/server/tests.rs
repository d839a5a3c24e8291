//! Tests of the judge, its options and its limits with a server in the same process.

mod limits;
mod missing;
mod scripted;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use z3950_server::testing::{TestServer, record};

use super::{Judge, JudgeOptions, ServerOffer, Verdict};
use z3950::transport::Tcp;
use z3950::url::{Host, Mode};

fn server(rule: Option<&str>) -> TestServer {
    let records = (1..=4).map(|number| record(&format!("id{number}"), "War and peace"));
    let builder = TestServer::builder().database("books", records);
    match rule {
        Some(rule) => builder.rule(rule).start(),
        None => builder.start(),
    }
}

fn judge(address: SocketAddr, change: impl FnOnce(&mut JudgeOptions)) -> Judge {
    let mut options = JudgeOptions {
        databases: vec!["books".into()],
        pause: Duration::ZERO,
        ..JudgeOptions::default()
    };
    change(&mut options);
    let host = Host::parse("localhost", Mode::Lenient).expect("a host");
    Judge::new(Arc::new(Tcp::new(address)), host, address.port(), options)
}

/// Returns the verdict of a single check.
async fn verdict(judge: &mut Judge) -> Verdict {
    let finding = judge.next().await.expect("a check");
    finding.verdict.clone()
}

fn reason(verdict: Verdict) -> String {
    match verdict {
        Verdict::NotJudged { reason } => reason,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_offer_of_the_server_is_determined() {
    let server = server(None);
    let mut judge = judge(server.addr(), |_| {});
    let ServerOffer::Z3950(offer) = judge.learn().await else {
        panic!("a server of Z39.50");
    };
    assert_eq!((offer.version, offer.hits), (3, 4));
    let query = offer.query.as_ref().map(ToString::to_string);
    assert_eq!(query.as_deref(), Some("@attr 1=1016 war"));
    assert!(offer.syntaxes.contains(&z3950_asn1::oid::USMARC));
    assert!(offer.notes.is_empty(), "{:?}", offer.notes);
}

#[tokio::test]
async fn requests_and_octets_are_limited() {
    for (requests, octets, words) in [
        (1, u64::MAX, Some("the limit of 1 request is reached")),
        (u32::MAX, 1, Some("the limit of 1 octet is reached")),
        (u32::MAX, u64::MAX, None),
    ] {
        let server = server(None);
        let mut judge = judge(server.addr(), |options| {
            options.only = vec!["init.answered".into(), "init.names".into()];
            options.limits.requests = requests;
            options.limits.octets = octets;
        });
        // The requests with which the judge learns about the server would count too, but these checks do not need them.
        assert_eq!(verdict(&mut judge).await, Verdict::Pass);
        let second = verdict(&mut judge).await;
        match words {
            Some(words) => assert_eq!(reason(second), words),
            None => assert_eq!(second, Verdict::Pass),
        }
    }
}

#[tokio::test]
async fn a_server_that_floods_costs_its_check() {
    let server = server(None);
    let mut judge = judge(server.addr(), |options| {
        options.only = vec!["init.answered".into(), "init.names".into()];
        options.limits.check_octets = 20;
    });
    match verdict(&mut judge).await {
        Verdict::Fail { came, .. } => assert!(came.contains("more than 20 octets"), "{came}"),
        other => panic!("{other:?}"),
    }
    assert!(!matches!(verdict(&mut judge).await, Verdict::Pass));
}

#[tokio::test]
async fn a_check_that_takes_too_long_ends() {
    let server = server(Some("on scan: silence"));
    let mut judge = judge(server.addr(), |options| {
        options.only = vec!["scan.answered".into(), "init.answered".into()];
        options.sessions = 1;
        options.query = z3950_asn1::query::parse_pqf("@attr 1=4 war").ok();
        options.timeouts.answer = None;
        options.limits.check_time = Duration::from_secs(2);
    });
    judge.learn().await;
    assert_eq!(verdict(&mut judge).await, Verdict::Pass);
    match verdict(&mut judge).await {
        Verdict::Fail { came, .. } => assert!(came.starts_with("no "), "{came}"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_server_that_is_gone_is_not_tried_for_ever() {
    let server = server(None);
    let address = server.addr();
    server.stop();
    let mut judge = judge(address, |options| options.only = vec!["search.".into()]);
    judge.learn().await;
    let mut reasons = Vec::new();
    while let Some(finding) = judge.next().await {
        reasons.push(reason(finding.verdict.clone()));
    }
    assert!(reasons.len() > 20);
    assert_eq!(
        reasons.last().map(String::as_str),
        Some("no search is answered any more")
    );
    let tried = reasons
        .iter()
        .filter(|reason| reason.starts_with("cannot connect"));
    // This number includes the judge's attempt to learn about the server, before any check.
    assert!(tried.count() < 5, "{reasons:?}");
}

#[tokio::test]
async fn remaining_checks_are_not_judged_after_a_stop() {
    let server = server(None);
    let mut judge = judge(server.addr(), |options| {
        options.only = vec!["init.answered".into(), "init.names".into()];
        options.sessions = 1;
    });
    let left = judge.remaining();
    assert_eq!(verdict(&mut judge).await, Verdict::Pass);
    judge.stop("interrupted");
    assert!(judge.next().await.is_none());
    let report = judge.report("here");
    let count = report.count();
    assert_eq!((count.pass, count.not_judged), (1, left - 1));
    assert_eq!(count.errors, 1, "of those that are left out, the first");
}

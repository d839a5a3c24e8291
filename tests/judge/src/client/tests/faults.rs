//! Tests of clients' reactions to faults.

use super::*;
use z3950_server::fault::{Fault, Rule, When};

/// Runs a client that searches and then performs these steps, with a server that applies the fault rule. Returns the client's
/// reactions and the report.
async fn reactions(
    rule: &str,
    steps: Vec<Step>,
) -> (Vec<(String, &'static str, String)>, ClientReport) {
    let faults = Faults::new().with(rule.parse().expect("a rule"));
    let begun = vec![open()].into_iter().chain(steps).collect();
    let report = judged(JudgeLimits::default(), faults, vec![begun]).await;
    let sessions = report.sessions.iter();
    let all = sessions.flat_map(|session| &session.reactions);
    let all = all.map(|one| (one.rule.clone(), one.request, one.reaction.clone()));
    (all.collect(), report)
}

#[tokio::test]
async fn the_next_thing_a_client_does_is_its_reaction() {
    let search = || ask(find("@attr 1=4 war", |_| {}));
    let mut again = Apdu::from(find("@attr 1=4 war", |_| {}));
    again.set_reference_id(Some(z3950_asn1::apdu::ReferenceId(b"2"[..].into())));
    for (rule, steps, reaction) in [
        (
            "on search nth=1: fail 2",
            vec![search(), close()],
            "closed the session",
        ),
        (
            "on search nth=1: fail 2",
            vec![search(), ask(again)],
            "asked again",
        ),
        (
            "on search nth=1: fail 2",
            vec![search(), ask(scan_request("a"))],
            "went on: scanRequest",
        ),
        ("on search nth=1: fail 2", vec![search()], "hung up"),
        (
            "on search nth=1: fail 2",
            vec![search(), Step::Ask(vec![0xff; 8])],
            "sent something that is no request",
        ),
        (
            "on search nth=1: fail 2",
            vec![search(), Step::Ask(vec![0xb6, 0])],
            "sent something that is no request",
        ),
        (
            "on search nth=1: cut 5",
            vec![search()],
            "the fault ended the connection",
        ),
    ] {
        let (found, report) = reactions(rule, steps).await;
        let expected = (rule.to_owned(), "searchRequest", reaction.to_owned());
        assert_eq!(found, [expected], "{}", report.to_text());
        let session = &report.sessions[0];
        assert!(session.reactions[0].time.is_some());
        assert!(
            report
                .to_text()
                .contains(&format!("fault  {rule} (searchRequest): {reaction}"))
        );
        let json = report.to_json();
        assert_eq!(json["sessions"][0]["faults"][0]["reaction"], reaction);
    }
}

#[tokio::test]
async fn the_servers_close_has_to_be_answered() {
    let rule = "on search: close";
    let search = || ask(find("@attr 1=4 war", |_| {}));
    let answer = || Step::Send(octets(Close::new(CloseReason::FINISHED, None)));
    for (steps, is_answered) in [(vec![search(), answer()], true), (vec![search()], false)] {
        let (found, report) = reactions(rule, steps).await;
        let session = &report.sessions[0];
        let name = "close.answered";
        assert_eq!(
            session.passed.contains(&name),
            is_answered,
            "{}",
            report.to_text()
        );
        let mut findings = session.findings.iter();
        assert_eq!(
            findings.any(|finding| finding.rule.name == name),
            !is_answered
        );
        let reaction = if is_answered {
            "closed the session"
        } else {
            "the fault ended the connection"
        };
        assert_eq!(found[0].2, reaction);
        assert_eq!(session.end, Some(SessionEnd::Fault));
    }
}

#[tokio::test]
async fn faults_beyond_the_limit_are_counted() {
    let limits = JudgeLimits {
        faults: 2,
        ..JudgeLimits::default()
    };
    let faults = Faults::new().with(Rule::new(When::always(), Fault::AddinfoV3));
    let steps = vec![open(), ask(scan_request("a")), ask(scan_request("b"))];
    let report = judged(limits, faults, vec![steps]).await;
    let session = &report.sessions[0];
    assert_eq!(
        (session.reactions.len(), session.reactions_left_out),
        (2, 1)
    );
    // A rule built in code is reported in the syntax in which rules are parsed.
    assert_eq!(session.reactions[0].rule, "on any: AddinfoV3");
}

#[tokio::test]
async fn a_rejected_client_may_only_try_again() {
    let name = "init.accepted";
    for (step, is_kept) in [(open(), true), (ask(find("war", |_| {})), false)] {
        let faults = Faults::new().with("on init nth=1: reject".parse().expect("a rule"));
        let steps = vec![open(), step, close()];
        let report = judged(JudgeLimits::default(), faults, vec![steps]).await;
        let session = &report.sessions[0];
        let text = report.to_text();
        assert_eq!(session.passed.contains(&name), is_kept, "{text}");
        let failed = session.findings.iter().filter(|one| one.is_violation());
        let failed: Vec<&str> = failed.map(|one| one.rule.name).collect();
        let expected: &[&str] = if is_kept { &[] } else { &[name] };
        assert_eq!(failed, expected, "{text}");
    }
}

#[tokio::test]
async fn nobody_is_blamed_for_a_connection_that_a_fault_ends() {
    let search = || ask(find("@attr 1=4 war", |_| {}));
    for rule in [
        "on search: hang-up",
        "on search: cut 0",
        "on search: cut 5",
        "on search: reset",
        "on search: reset 3",
    ] {
        let (_, report) = reactions(rule, vec![search()]).await;
        let session = &report.sessions[0];
        assert_eq!(session.end, Some(SessionEnd::Fault));
        let text = report.to_text();
        for name in ["close.sent", "close.answered"] {
            assert!(session.not_seen.contains(&name), "{rule}: {text}");
        }
    }
}

//! Writes a report as JUnit XML: a test suite for each session, and a test case for each rule. Violations of requirements are
//! failures; hints and rules that did not apply are reported as skipped.

use crate::hidden::{HIDDEN, digits};
use crate::junit::{JunitReport, TestCase, TestOutcome, TestSuite};

use super::report::{ClientFinding, ClientReport, JudgedSession};
use z3950_server::metrics::SessionEnd;

impl ClientReport {
    /// Returns the report as JUnit XML.
    pub fn to_junit(&self) -> String {
        let report = JunitReport {
            name: "z3950d --judge".to_owned(),
            time: self.time,
            suites: self.sessions.iter().map(suite).collect(),
        };
        report.to_string()
    }
}

fn suite(session: &JudgedSession) -> TestSuite {
    let requests = session.requests.iter();
    let requests: Vec<String> = requests
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    let faults = session.reactions.iter().map(|fault| {
        let said = format!("{}: {}", fault.request, fault.reaction);
        (format!("fault: {}", fault.rule), said)
    });
    let version = session.version.to_string();
    let end = session.end.map_or("open", SessionEnd::name).to_owned();
    let properties = [
        ("version".to_owned(), version),
        ("requests".to_owned(), requests.join(", ")),
        ("end".to_owned(), end),
    ];
    let passed = session.passed.iter();
    let passed = passed.map(|name| case(name, TestOutcome::Passed));
    let findings = session.findings.iter();
    let findings = findings.map(|finding| case(finding.rule.name, outcome(finding)));
    let not_seen = session.not_seen.iter().map(|name| {
        let message = "not seen".to_owned();
        case(name, TestOutcome::Skipped { message })
    });
    TestSuite {
        name: format!("session {}: {}", session.number, session.client()),
        time: session.time,
        begun: session.begun,
        host: session.peer.to_string(),
        properties: properties.into_iter().chain(faults).collect(),
        cases: passed.chain(findings).chain(not_seen).collect(),
    }
}

fn outcome(finding: &ClientFinding) -> TestOutcome {
    let rule = finding.rule;
    let about = format!("{} ({}): {}", rule.section, rule.level.as_str(), rule.text);
    let came = format!(
        "{} of {} times; first: {}",
        finding.times, finding.of, finding.came
    );
    if finding.is_violation() {
        TestOutcome::Failed {
            kind: rule.level.as_str(),
            message: came,
            text: format!(
                "{about}\n{} of {} octets: {}",
                finding.message,
                finding.length,
                digits(&finding.octets).unwrap_or_else(|| HIDDEN.to_owned()),
            ),
        }
    } else {
        TestOutcome::Skipped {
            message: format!("hint, {about}: {came}"),
        }
    }
}

fn case(name: &'static str, outcome: TestOutcome) -> TestCase {
    let group = name.split_once('.').map_or(name, |(group, _)| group);
    TestCase {
        name,
        class: format!("z3950.client.{group}"),
        time: None,
        outcome,
    }
}

//! Writes a report as JUnit XML: a test suite for each service, and a test case for each check. Violations of requirements are
//! failures, and checks that could not be run are errors. Hints and checks that were not tried are reported as skipped.

use crate::junit::{JunitReport, TestCase, TestOutcome, TestSuite};

use super::finding::Finding;
use super::report::Report;
use super::verdict::Verdict;

impl Report<'_> {
    /// Returns the report as JUnit XML.
    pub fn to_junit(&self) -> String {
        let suites = self
            .findings
            .chunk_by(|one, next| service(one) == service(next));
        let report = JunitReport {
            name: format!("z3950 probe --conformance {}", self.name),
            time: self.time,
            suites: suites.map(|findings| self.suite(findings)).collect(),
        };
        report.to_string()
    }

    fn suite(&self, findings: &[Finding]) -> TestSuite {
        let used = self.used().into_iter();
        TestSuite {
            name: findings.first().map_or("", service).to_owned(),
            time: findings.iter().map(|one| one.time).sum(),
            begun: self.begun,
            host: self.name.clone(),
            properties: used
                .map(|(key, value)| match value.as_str() {
                    Some(text) => (key, text.to_owned()),
                    None => (key, value.to_string()),
                })
                .collect(),
            cases: findings.iter().map(case).collect(),
        }
    }
}

/// Returns the service of a check: the first part of its name.
fn service(finding: &Finding) -> &str {
    let name = finding.requirement.name;
    name.split_once('.').map_or(name, |(service, _)| service)
}

fn case(finding: &Finding) -> TestCase {
    let check = finding.requirement;
    let about = format!(
        "{} ({}): {}",
        check.section,
        check.level.as_str(),
        check.text
    );
    let outcome = match &finding.verdict {
        Verdict::Pass => TestOutcome::Passed,
        Verdict::Fail { wanted, came } if finding.is_violation() => TestOutcome::Failed {
            kind: check.level.as_str(),
            message: format!("wanted {wanted}, but {came} came"),
            text: format!("{about}\n{}", conversation(finding)),
        },
        Verdict::Fail { wanted, came } => TestOutcome::Skipped {
            message: format!("advice, {about}: wanted {wanted}, but {came} came"),
        },
        Verdict::NotJudged { reason } if finding.is_error => TestOutcome::Error {
            message: reason.clone(),
        },
        Verdict::NotOffered { reason } | Verdict::NotJudged { reason } => TestOutcome::Skipped {
            message: format!("{}: {reason}", finding.verdict.as_str()),
        },
    };
    TestCase {
        name: check.name,
        class: format!("z3950.{}", service(finding)),
        time: Some(finding.time),
        outcome,
    }
}

/// Formats the messages of a check, with one line per APDU.
fn conversation(finding: &Finding) -> String {
    let lines = finding.exchanges.iter().map(|exchange| {
        let mark = if exchange.is_sent { ">" } else { "<" };
        format!("{mark} {}\n", exchange.summary)
    });
    lines.collect()
}

//! The findings of a judgement, which can be written as JSON and as JUnit XML.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::finding::Finding;
use super::offer::ServerOffer;
use super::secrets::Secrets;
use super::verdict::Verdict;
use crate::report::{Group, Outcome, service, timestamp, to_junit};

/// The version of the JSON format.
const VERSION: u32 = 1;

/// The findings of a judgement.
#[derive(Debug)]
#[non_exhaustive]
pub struct Report<'a> {
    /// The name of the server.
    pub name: String,
    /// The time at which the judgement began.
    pub begun: SystemTime,
    /// The duration of the judgement.
    pub time: Duration,
    /// The number of requests sent.
    pub requests: u32,
    /// The number of octets received.
    pub octets: u64,
    /// What the server offers.
    pub offer: &'a ServerOffer,
    /// The findings, in the order of the checks.
    pub findings: &'a [Finding],
    pub(super) secrets: &'a Secrets,
}

/// The number of checks with each verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Count {
    /// The number of checks that passed.
    pub pass: usize,
    /// The number of failed checks of requirements of the standard.
    pub fail: usize,
    /// The number of failed checks of recommendations, and of features on which clients depend although the standard does not
    /// require them.
    pub advice: usize,
    /// The number of checks of features that the server does not offer.
    pub not_offered: usize,
    /// The number of checks that did not lead to a verdict on the server.
    pub not_judged: usize,
    /// The number of checks that have no verdict because of an error; see [`Finding::is_error`].
    pub errors: usize,
}

impl Report<'_> {
    /// Counts the checks by verdict.
    pub fn count(&self) -> Count {
        let mut count = Count::default();
        for finding in self.findings {
            let number = match &finding.verdict {
                Verdict::Pass => &mut count.pass,
                Verdict::Fail { .. } if finding.is_violation() => &mut count.fail,
                Verdict::Fail { .. } => &mut count.advice,
                Verdict::NotOffered { .. } => &mut count.not_offered,
                Verdict::NotJudged { .. } => &mut count.not_judged,
            };
            *number += 1;
            count.errors += usize::from(finding.is_error);
        }
        count
    }

    /// Returns the report as a JSON object, including the octets of the messages.
    pub fn to_json(&self) -> Value {
        let count = self.count();
        let findings: Vec<Value> = self
            .findings
            .iter()
            .map(|finding| Value::Object(finding.to_json(true)))
            .collect();
        json!({
            "v": VERSION,
            "server": self.name,
            "begun": format!("{}Z", timestamp(self.begun)),
            "seconds": self.time.as_secs_f64(),
            "requests": self.requests,
            "octets": self.octets,
            "used": Value::Object(self.used().into_iter().collect()),
            "count": {
                "pass": count.pass,
                "fail": count.fail,
                "advice": count.advice,
                "not offered": count.not_offered,
                "not judged": count.not_judged,
                "errors": count.errors,
            },
            "checks": findings,
        })
    }

    /// Returns the server's properties and the values used to judge it, as pairs of name and value.
    pub fn used(&self) -> Vec<(String, Value)> {
        let mut used = self.offer.used();
        for (_, value) in &mut used {
            if let Value::String(text) = value {
                self.secrets.hide_in(text);
            }
        }
        used
    }

    /// Returns the report as JUnit XML, with a test suite for each service and a test case for each check.
    pub fn to_junit(&self) -> String {
        let services = self
            .findings
            .chunk_by(|one, next| service(one.requirement.name) == service(next.requirement.name));
        let name = format!("z3950 probe --conformance {}", self.name);
        to_junit(
            &name,
            self.time,
            services.map(|findings| self.group(findings)),
        )
    }

    fn group<'a>(&self, findings: &'a [Finding]) -> Group<'a> {
        let name = findings.first().map_or("", |one| one.requirement.name);
        let used = self.used().into_iter();
        let properties = used.map(|(key, value)| match value.as_str() {
            Some(text) => (key, text.to_owned()),
            None => (key, value.to_string()),
        });
        let results = findings.iter();
        Group {
            name: service(name).to_owned(),
            host: self.name.clone(),
            begun: self.begun,
            time: findings.iter().map(|one| one.time).sum(),
            properties: properties.collect(),
            class: "z3950",
            results: results
                .map(|one| (one.requirement.name, one.time, outcome(one)))
                .collect(),
        }
    }
}

fn outcome(finding: &Finding) -> Outcome<'_> {
    match &finding.verdict {
        Verdict::Pass => Outcome::Met,
        Verdict::Fail { wanted, came } => Outcome::NotMet {
            requirement: finding.requirement,
            advice: "advice",
            message: format!("wanted {wanted}, but {came} came"),
            evidence: conversation(finding),
        },
        Verdict::NotJudged { reason } if finding.is_error => Outcome::Error(reason),
        Verdict::NotOffered { reason } | Verdict::NotJudged { reason } => {
            Outcome::Skipped(format!("{}: {reason}", finding.verdict.as_str()))
        }
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

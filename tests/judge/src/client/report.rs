//! The findings of a judge, which can be written as JSON and as JUnit XML.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use serde_json::{Map, Value, json};

use super::reactions::Reaction;
use super::rules::rules;
use crate::report::{Group, HIDDEN, Outcome, digits, to_junit};
use crate::{Level, Requirement};
use z3950_server::Peer;
use z3950_server::metrics::SessionEnd;
use z3950_server::transcript::format_time;

/// The version of the JSON format.
const VERSION: u32 = 1;

/// The findings of a judge.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClientReport {
    /// The time at which the judge was created.
    pub begun: SystemTime,
    /// The time for which the judge has been observing.
    pub time: Duration,
    /// The number of sessions judged, including those that are not in [`Self::sessions`].
    pub judged: u64,
    /// The sessions that are reported individually: first the sessions that have ended, in the order in which they ended, and
    /// then the open sessions.
    pub sessions: Vec<JudgedSession>,
    /// The counts for each of the [`rules`].
    pub counts: Vec<RuleCount>,
}

/// The numbers of sessions in which a rule was kept or broken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RuleCount {
    /// The number of sessions in which the rule was kept.
    pub pass: u64,
    /// The number of sessions that did not meet the rule, if it is a requirement of the standard.
    pub fail: u64,
    /// The number of sessions that did not follow the rule, if it is a recommendation or a good practice.
    pub hint: u64,
}

/// A session that has been judged.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct JudgedSession {
    /// The number of the session, from 1.
    pub number: u64,
    /// The client's address.
    pub peer: Peer,
    /// The time at which the connection was accepted.
    pub begun: SystemTime,
    /// The duration of the session.
    pub time: Duration,
    /// The implementationId, implementationName and implementationVersion of the client.
    pub implementation: Option<String>,
    /// The version in force; 0 if no Init was accepted.
    pub version: u8,
    /// The number of messages received, by name. Octets that are not an APDU are counted under the name `octets`.
    pub requests: BTreeMap<&'static str, u64>,
    /// The reason for the end of the session; `None` if it is open.
    pub end: Option<SessionEnd>,
    /// The rules that were broken.
    pub findings: Vec<ClientFinding>,
    /// The names of the rules that were kept.
    pub passed: Vec<&'static str>,
    /// The names of the rules that did not apply.
    pub not_seen: Vec<&'static str>,
    /// The client's reactions to the server's faults.
    pub reactions: Vec<Reaction>,
    /// The number of faults that are not listed because of the limit.
    pub reactions_left_out: u64,
}

/// A rule that was broken in a session.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClientFinding {
    /// The rule that was broken.
    pub rule: &'static Requirement,
    /// The number of times the rule was broken.
    pub times: u64,
    /// The number of times the rule applied, including the times it was broken.
    pub of: u64,
    /// The standard's name for the APDU that first broke the rule, or `octets`.
    pub message: &'static str,
    /// A description of what the client sent.
    pub came: String,
    /// The first octets of the APDU that first broke the rule, without credentials. Empty if the rule was broken because a
    /// message was missing.
    pub octets: Vec<u8>,
    /// The length of the APDU that first broke the rule, in octets.
    pub length: usize,
}

impl ClientFinding {
    /// Returns whether a requirement of the standard was not met.
    pub fn is_violation(&self) -> bool {
        self.rule.level == Level::Shall
    }

    /// Returns `fail` if a requirement of the standard was not met, otherwise `hint`.
    pub fn verdict(&self) -> &'static str {
        if self.is_violation() { "fail" } else { "hint" }
    }

    fn to_json(&self) -> Value {
        json!({
            "rule": self.rule.name,
            "level": self.rule.level.as_str(),
            "section": self.rule.section,
            "requirement": self.rule.text,
            "verdict": self.verdict(),
            "times": self.times,
            "of": self.of,
            "message": self.message,
            "came": self.came,
            "length": self.length,
            "octets": digits(&self.octets),
        })
    }

    fn outcome(&self) -> Outcome<'_> {
        let octets = digits(&self.octets).unwrap_or_else(|| HIDDEN.to_owned());
        Outcome::NotMet {
            requirement: self.rule,
            advice: "hint",
            message: format!("{} of {} times; first: {}", self.times, self.of, self.came),
            evidence: format!("{} of {} octets: {octets}", self.message, self.length),
        }
    }
}

impl JudgedSession {
    /// Returns the number of findings that are violations of the standard.
    pub fn violations(&self) -> usize {
        let findings = self.findings.iter();
        findings.filter(|finding| finding.is_violation()).count()
    }

    /// Returns the name of the client, or its address if it does not state a name.
    pub fn client(&self) -> String {
        match &self.implementation {
            Some(name) => name.clone(),
            None => self.peer.to_string(),
        }
    }

    fn to_json(&self) -> Value {
        let findings: Vec<Value> = self.findings.iter().map(ClientFinding::to_json).collect();
        let faults = self.reactions.iter().map(|fault| {
            json!({
                "rule": fault.rule,
                "request": fault.request,
                "reaction": fault.reaction,
                "seconds": fault.time.map(|time| time.as_secs_f64()),
            })
        });
        let faults: Vec<Value> = faults.collect();
        let requests: Map<String, Value> = self
            .requests
            .iter()
            .map(|(name, count)| ((*name).to_owned(), (*count).into()))
            .collect();
        json!({
            "session": self.number,
            "peer": self.peer.to_string(),
            "begun": format_time(self.begun),
            "seconds": self.time.as_secs_f64(),
            "implementation": self.implementation,
            "version": self.version,
            "requests": requests,
            "end": self.end.map(SessionEnd::name),
            "count": {
                "pass": self.passed.len(),
                "fail": self.violations(),
                "hint": self.findings.len() - self.violations(),
                "not seen": self.not_seen.len(),
            },
            "findings": findings,
            "passed": self.passed,
            "not seen": self.not_seen,
            "faults": faults,
            "faults left out": self.reactions_left_out,
        })
    }

    fn group(&self) -> Group<'_> {
        let requests = self.requests.iter();
        let requests: Vec<String> = requests
            .map(|(name, count)| format!("{name} {count}"))
            .collect();
        let end = self.end.map_or("open", SessionEnd::name);
        let mut properties = vec![
            ("version".to_owned(), self.version.to_string()),
            ("requests".to_owned(), requests.join(", ")),
            ("end".to_owned(), end.to_owned()),
        ];
        properties.extend(self.reactions.iter().map(|fault| {
            let reaction = format!("{}: {}", fault.request, fault.reaction);
            (format!("fault: {}", fault.rule), reaction)
        }));
        let passed = self.passed.iter().map(|name| (*name, Outcome::Met));
        let findings = self.findings.iter();
        let findings = findings.map(|finding| (finding.rule.name, finding.outcome()));
        let not_seen = self.not_seen.iter();
        let not_seen = not_seen.map(|name| (*name, Outcome::Skipped("not seen".to_owned())));
        let results = passed.chain(findings).chain(not_seen);
        Group {
            name: format!("session {}: {}", self.number, self.client()),
            host: self.peer.to_string(),
            begun: self.begun,
            time: self.time,
            properties,
            class: "z3950.client",
            // Rules are not timed individually, so their times are reported as zero.
            results: results
                .map(|(name, outcome)| (name, Duration::ZERO, outcome))
                .collect(),
        }
    }
}

impl ClientReport {
    pub(super) fn new(
        begun: SystemTime,
        time: Duration,
        judged: u64,
        sessions: Vec<JudgedSession>,
        counts: Vec<RuleCount>,
    ) -> Self {
        Self {
            begun,
            time,
            judged,
            sessions,
            counts,
        }
    }

    /// Returns the number of sessions that were judged but are not in [`Self::sessions`].
    pub fn left_out(&self) -> u64 {
        let listed = u64::try_from(self.sessions.len()).unwrap_or(u64::MAX);
        self.judged.saturating_sub(listed)
    }

    /// Returns the sums of the counts of all rules. Each rule counts at most once per session.
    pub fn total(&self) -> RuleCount {
        let mut total = RuleCount::default();
        for count in &self.counts {
            total.pass += count.pass;
            total.fail += count.fail;
            total.hint += count.hint;
        }
        total
    }

    /// Returns the report as a JSON object, including the octets of the messages that broke rules.
    pub fn to_json(&self) -> Value {
        let total = self.total();
        let sessions: Vec<Value> = self.sessions.iter().map(JudgedSession::to_json).collect();
        let counts = rules().iter().zip(&self.counts);
        let counts: Vec<Value> = counts
            .map(|(rule, count)| {
                json!({
                    "rule": rule.name,
                    "level": rule.level.as_str(),
                    "section": rule.section,
                    "requirement": rule.text,
                    "pass": count.pass,
                    "fail": count.fail,
                    "hint": count.hint,
                })
            })
            .collect();
        json!({
            "v": VERSION,
            "begun": format_time(self.begun),
            "seconds": self.time.as_secs_f64(),
            "judged": self.judged,
            "left out": self.left_out(),
            "count": { "pass": total.pass, "fail": total.fail, "hint": total.hint },
            "sessions": sessions,
            "rules": counts,
        })
    }

    /// Returns the report as JUnit XML, with a test suite for each session and a test case for each rule.
    pub fn to_junit(&self) -> String {
        let sessions = self.sessions.iter().map(JudgedSession::group);
        to_junit("z3950d --judge", self.time, sessions)
    }
}

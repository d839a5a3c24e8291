//! The findings of a judge, as values and as a JSON object.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use serde_json::{Map, Value, json};

use super::reactions::Reaction;
use super::rules::{ClientRule, Level, rules};
use crate::hidden::digits;
use z3950_server::Peer;
use z3950_server::metrics::SessionEnd;
use z3950_server::transcript::format_time;

/// The version of the JSON form.
const VERSION: u32 = 1;

/// The findings of a judge.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClientReport {
    /// The time at which the judge began.
    pub begun: SystemTime,
    /// The time for which the judge has been watching.
    pub time: Duration,
    /// The number of sessions judged, including those that are not kept.
    pub judged: u64,
    /// The sessions that are kept: ended sessions in the order in which they ended, and then open sessions.
    pub sessions: Vec<JudgedSession>,
    /// For each of the [`rules`], the number of sessions that kept it or broke it.
    pub counts: Vec<RuleCount>,
}

/// The number of sessions that kept or broke a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RuleCount {
    /// The rule applied, and was kept.
    pub pass: u64,
    /// A requirement of the standard was not met.
    pub fail: u64,
    /// A recommendation or good practice was not followed.
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
    /// implementationId, implementationName and implementationVersion of the client.
    pub implementation: Option<String>,
    /// The version in force; 0 if no Init was accepted.
    pub version: u8,
    /// The number of messages received with each name; `octets` stands for octets that are not APDUs.
    pub requests: BTreeMap<&'static str, u64>,
    /// How the session ended; `None` if it is open.
    pub end: Option<SessionEnd>,
    /// The rules that were broken.
    pub findings: Vec<ClientFinding>,
    /// The names of the rules that were kept.
    pub passed: Vec<&'static str>,
    /// The names of the rules that did not apply.
    pub not_seen: Vec<&'static str>,
    /// The client's reactions to faults of the server.
    pub reactions: Vec<Reaction>,
    /// The number of faults that are not listed.
    pub reactions_left_out: u64,
}

/// A rule that a session broke.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClientFinding {
    /// The rule.
    pub rule: &'static ClientRule,
    /// The number of times the rule was broken.
    pub times: u64,
    /// The number of times the rule applied.
    pub of: u64,
    /// The standard's name of the first APDU that broke the rule, or `octets`.
    pub message: &'static str,
    /// What the client sent instead of what the rule requires.
    pub came: String,
    /// The beginning of that APDU, without credentials; empty if the rule was broken by the lack of a message.
    pub octets: Vec<u8>,
    /// The length of the APDU in octets.
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
            "requirement": self.rule.requirement,
            "verdict": self.verdict(),
            "times": self.times,
            "of": self.of,
            "message": self.message,
            "came": self.came,
            "length": self.length,
            "octets": digits(&self.octets),
        })
    }
}

impl JudgedSession {
    /// Returns the number of requirements of the standard that were not met.
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

    /// Returns the number of sessions that were judged but are not listed.
    pub fn left_out(&self) -> u64 {
        let listed = u64::try_from(self.sessions.len()).unwrap_or(u64::MAX);
        self.judged.saturating_sub(listed)
    }

    /// Returns how often rules were kept and broken in all sessions, counting each rule once per session.
    pub fn total(&self) -> RuleCount {
        let mut total = RuleCount::default();
        for count in &self.counts {
            total.pass += count.pass;
            total.fail += count.fail;
            total.hint += count.hint;
        }
        total
    }

    /// Returns the report as a JSON object, with the octets.
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
                    "requirement": rule.requirement,
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
}

//! What a judge found: as values, and as one object of JSON.

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

/// What a judge found.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClientReport {
    /// When the judge began.
    pub begun: SystemTime,
    /// How long it has been watching.
    pub time: Duration,
    /// How many sessions were judged, also those that are not kept.
    pub judged: u64,
    /// The sessions that are kept: those that ended, in the order of their ends, and then those that are open.
    pub sessions: Vec<JudgedSession>,
    /// For each of the [`rules`], how many sessions kept it or broke it.
    pub counts: Vec<RuleCount>,
}

/// How many sessions kept a rule or broke it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RuleCount {
    /// It applied, and was kept.
    pub pass: u64,
    /// A demand of the standard was not met.
    pub fail: u64,
    /// A recommendation or good practice was not followed.
    pub hint: u64,
}

/// A session that was judged.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct JudgedSession {
    /// Its number, from 1.
    pub number: u64,
    /// The client's address.
    pub peer: Peer,
    /// When the connection was accepted.
    pub begun: SystemTime,
    /// How long it lasted.
    pub time: Duration,
    /// implementationId, implementationName and implementationVersion of the client.
    pub implementation: Option<String>,
    /// The version in force; 0 if no Init was accepted.
    pub version: u8,
    /// How many messages of each name came; `octets` are those that are no APDUs.
    pub requests: BTreeMap<&'static str, u64>,
    /// How it ended; `None` if it is open.
    pub end: Option<SessionEnd>,
    /// The rules that were broken.
    pub findings: Vec<ClientFinding>,
    /// The names of those that were kept.
    pub passed: Vec<&'static str>,
    /// The names of those that did not apply.
    pub not_seen: Vec<&'static str>,
    /// How the client took the faults of the server.
    pub reactions: Vec<Reaction>,
    /// How many faults are not listed.
    pub reactions_left_out: u64,
}

/// A rule that a session broke.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClientFinding {
    /// The rule.
    pub rule: &'static ClientRule,
    /// How often it was broken.
    pub times: u64,
    /// How often it applied.
    pub of: u64,
    /// The standard's name of the first APDU that broke it, or `octets`.
    pub message: &'static str,
    /// What came instead of what the rule demands.
    pub came: String,
    /// The beginning of that APDU, without credentials; empty if it was broken by what did not come.
    pub octets: Vec<u8>,
    /// How many octets the APDU had.
    pub length: usize,
}

impl ClientFinding {
    /// Whether a demand of the standard was not met.
    pub fn is_violation(&self) -> bool {
        self.rule.level == Level::Shall
    }

    /// `fail` if a demand of the standard was not met, else `hint`.
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
    /// How many demands of the standard were not met.
    pub fn violations(&self) -> usize {
        let findings = self.findings.iter();
        findings.filter(|finding| finding.is_violation()).count()
    }

    /// The name of the client, or its address if it gives none.
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

    /// How many sessions were judged but are not listed.
    pub fn left_out(&self) -> u64 {
        let listed = u64::try_from(self.sessions.len()).unwrap_or(u64::MAX);
        self.judged.saturating_sub(listed)
    }

    /// Over all sessions: how often rules were kept and broken, each counted once for a session.
    pub fn total(&self) -> RuleCount {
        let mut total = RuleCount::default();
        for count in &self.counts {
            total.pass += count.pass;
            total.fail += count.fail;
            total.hint += count.hint;
        }
        total
    }

    /// All of it as one object of JSON, with the octets.
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

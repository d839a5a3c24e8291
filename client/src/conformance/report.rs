//! What a judgement found: as values, and as one object of JSON.

use std::time::{Duration, SystemTime};

use serde_json::{Map, Value, json};
use z3950_asn1::hex;
use z3950_asn1::moment::Moment;

use super::check::{Check, Level, Verdict};
use super::offer::Offer;
use super::trial::Exchange;

/// The version of the JSON form.
const VERSION: u32 = 1;

/// What a check found.
#[derive(Debug)]
#[non_exhaustive]
pub struct Finding {
    /// The check.
    pub check: &'static Check,
    /// How it ended.
    pub verdict: Verdict,
    /// How long it took.
    pub time: Duration,
    /// What was said.
    pub exchanges: Vec<Exchange>,
}

/// What a judgement found.
#[derive(Debug)]
#[non_exhaustive]
pub struct Report<'a> {
    /// The server's name.
    pub name: String,
    /// When it began.
    pub begun: SystemTime,
    /// How long it took.
    pub time: Duration,
    /// How many requests were sent.
    pub requests: u32,
    /// How many octets were received.
    pub octets: u64,
    /// What the server offers.
    pub offer: &'a Offer,
    /// The findings, in the order of the checks.
    pub findings: &'a [Finding],
}

/// How many checks ended how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Count {
    /// They passed.
    pub pass: usize,
    /// A demand of the standard is not met.
    pub fail: usize,
    /// A recommendation, or what clients depend on, is not met.
    pub advice: usize,
    /// The server does not have the feature.
    pub not_offered: usize,
    /// Nothing can be said.
    pub not_judged: usize,
}

impl Finding {
    /// Whether a demand of the standard is not met: `fail`, at the level `shall`.
    pub fn is_violation(&self) -> bool {
        self.check.level == Level::Shall && matches!(self.verdict, Verdict::Fail { .. })
    }

    /// The finding as JSON; `octets` adds those of each APDU in hexadecimal.
    pub fn to_json(&self, octets: bool) -> Map<String, Value> {
        let (wanted, came, reason) = match &self.verdict {
            Verdict::Pass => (None, None, None),
            Verdict::Fail { wanted, came } => (Some(wanted), Some(came), None),
            Verdict::NotOffered { reason } | Verdict::NotJudged { reason } => {
                (None, None, Some(reason))
            }
        };
        let exchanges = self.exchanges.iter().map(|exchange| {
            let direction = if exchange.is_sent { "sent" } else { "received" };
            let mut object = Map::new();
            object.insert("direction".to_owned(), direction.into());
            object.insert("says".to_owned(), exchange.summary.as_str().into());
            object.insert("length".to_owned(), exchange.length.into());
            if octets {
                object.insert("octets".to_owned(), hex::digits(&exchange.octets).into());
            }
            Value::Object(object)
        });
        let exchanges: Vec<Value> = exchanges.collect();
        let object = json!({
            "check": self.check.name,
            "level": self.check.level.as_str(),
            "section": self.check.section,
            "requirement": self.check.requirement,
            "verdict": self.verdict.as_str(),
            "wanted": wanted,
            "came": came,
            "reason": reason,
            "seconds": self.time.as_secs_f64(),
            "conversation": exchanges,
        });
        match object {
            Value::Object(object) => object,
            _ => Map::new(),
        }
    }
}

impl Report<'_> {
    /// How many checks ended how.
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
        }
        count
    }

    /// All of it as one object of JSON, with the octets.
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
            "begun": self.timestamp(),
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
            },
            "checks": findings,
        })
    }

    /// What is known about the server, and what was used to judge it: names and texts.
    pub fn used(&self) -> Vec<(String, Value)> {
        let offer = self.offer;
        let databases: Vec<Value> = offer
            .databases
            .iter()
            .map(|name| name.0.to_string_lossy().into())
            .collect();
        let options: Vec<&str> = offer.granted.names().collect();
        let syntaxes: Vec<&str> = offer.syntaxes.iter().filter_map(|oid| oid.name()).collect();
        let implementation = offer.init.as_ref().map(|init| {
            let texts = [&init.implementation_name, &init.implementation_version];
            let texts = texts
                .into_iter()
                .flatten()
                .map(|text| text.to_string_lossy());
            texts.collect::<Vec<_>>().join(" ")
        });
        let query = offer.query.as_ref().map(ToString::to_string);
        [
            ("implementation", json!(implementation)),
            ("version", json!(offer.version)),
            ("options", json!(options)),
            ("databases", json!(databases)),
            ("query", json!(query)),
            ("hits", json!(offer.hits)),
            ("syntaxes", json!(syntaxes)),
            ("notes", json!(offer.notes)),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }

    /// When it began, in UTC (RFC 3339).
    pub(super) fn timestamp(&self) -> String {
        let begun = Moment::from(self.begun);
        format!(
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z",
            begun.year, begun.month, begun.day, begun.hour, begun.minute, begun.second
        )
    }
}

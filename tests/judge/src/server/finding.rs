//! The result of a check, as a value and as JSON.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::ledger::Exchange;
use super::verdict::Verdict;
use crate::report::digits;
use crate::{Level, Requirement};

/// The result of a check.
#[derive(Debug)]
#[non_exhaustive]
pub struct Finding {
    /// The requirement that was checked.
    pub requirement: &'static Requirement,
    /// The verdict on the server.
    pub verdict: Verdict,
    /// Whether an error prevented the check, because no session could be opened or because the judgement was ended early. If an
    /// error prevents several checks, only the first of their findings is marked.
    pub is_error: bool,
    /// The duration of the check.
    pub time: Duration,
    /// The messages of the check.
    pub exchanges: Vec<Exchange>,
}

impl Finding {
    /// Returns whether a requirement of the standard is not met, which is the verdict `fail` at the level `shall`.
    pub fn is_violation(&self) -> bool {
        self.requirement.level == Level::Shall && matches!(self.verdict, Verdict::Fail { .. })
    }

    /// Returns the finding as JSON. If `octets` is true, it includes the octets of each APDU in hexadecimal.
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
                object.insert("octets".to_owned(), digits(&exchange.octets).into());
            }
            Value::Object(object)
        });
        let exchanges: Vec<Value> = exchanges.collect();
        let object = json!({
            "check": self.requirement.name,
            "level": self.requirement.level.as_str(),
            "section": self.requirement.section,
            "requirement": self.requirement.text,
            "verdict": self.verdict.as_str(),
            "wanted": wanted,
            "came": came,
            "reason": reason,
            "error": self.is_error,
            "seconds": self.time.as_secs_f64(),
            "conversation": exchanges,
        });
        match object {
            Value::Object(object) => object,
            _ => Map::new(),
        }
    }
}

//! The results of a session for each rule: how often the rule applied, how often it was broken, and the octets that first broke
//! it.

use super::report::{ClientFinding, RuleCount};
use super::rules::{RuleId, rules};
use crate::Level;
use z3950_server::transcript::redacted_request;

/// The maximum length of the description of what a client sent, in characters.
const MAX_WORDS: usize = 200;

/// The results of a session, in the same order as the list of rules.
#[derive(Debug, Default)]
pub(super) struct SessionResults(Vec<RuleMark>);

#[derive(Debug, Default)]
struct RuleMark {
    applied: u64,
    broken: u64,
    example: Option<Example>,
}

/// The first message that broke a rule.
#[derive(Debug, Clone)]
struct Example {
    message: &'static str,
    came: String,
    octets: Vec<u8>,
    length: usize,
}

/// A message that is being judged.
#[derive(Clone, Copy)]
pub(super) struct Message<'a> {
    /// The standard's name for the APDU, or `octets`.
    pub(super) name: &'static str,
    pub(super) octets: &'a [u8],
    /// The maximum number of octets of the message that are stored.
    pub(super) kept: usize,
}

impl SessionResults {
    /// Records whether a message keeps a rule. If it does not, `came` describes what the message contains.
    pub(super) fn mark(
        &mut self,
        message: Message<'_>,
        rule: RuleId,
        is_kept: bool,
        came: impl FnOnce() -> String,
    ) {
        let place = rule.place();
        if self.0.len() <= place {
            self.0.resize_with(rules().len(), RuleMark::default);
        }
        let Some(mark) = self.0.get_mut(place) else {
            return;
        };
        mark.applied += 1;
        if is_kept {
            return;
        }
        mark.broken += 1;
        if mark.example.is_none() {
            let mut octets = redacted_request(message.octets);
            octets.truncate(message.kept);
            octets.shrink_to_fit();
            mark.example = Some(Example {
                message: message.name,
                came: came().chars().take(MAX_WORDS).collect(),
                length: message.octets.len(),
                octets,
            });
        }
    }

    /// Returns the names of the rules that were kept, and the names of the rules that did not apply.
    pub(super) fn names(&self) -> (Vec<&'static str>, Vec<&'static str>) {
        let (mut kept, mut unseen) = (Vec::new(), Vec::new());
        for (place, rule) in rules().iter().enumerate() {
            match self.0.get(place) {
                Some(mark) if mark.broken > 0 => {}
                Some(mark) if mark.applied > 0 => kept.push(rule.name),
                _ => unseen.push(rule.name),
            }
        }
        (kept, unseen)
    }

    /// Returns the rules that were broken.
    pub(super) fn findings(&self) -> Vec<ClientFinding> {
        let marks = rules().iter().zip(&self.0);
        let broken = marks.filter_map(|(rule, mark)| {
            let example = mark.example.clone()?;
            Some(ClientFinding {
                rule,
                times: mark.broken,
                of: mark.applied,
                message: example.message,
                came: example.came,
                octets: example.octets,
                length: example.length,
            })
        });
        broken.collect()
    }

    /// Adds the results of the session to the counts of each rule.
    pub(super) fn count(&self, counts: &mut [RuleCount]) {
        for ((rule, mark), count) in rules().iter().zip(&self.0).zip(counts) {
            match (mark.applied, mark.broken) {
                (0, _) => {}
                (_, 0) => count.pass += 1,
                _ if rule.level == Level::Shall => count.fail += 1,
                _ => count.hint += 1,
            }
        }
    }
}

//! A client's reactions to the server's faults: the client's next action, and the time until this action.

use std::time::{Duration, Instant};

use z3950_asn1::apdu::Apdu;

use super::knowledge::key;
use z3950_server::metrics::SessionEnd;

/// The maximum length of the text of a rule, in characters.
const MAX_RULE: usize = 200;

/// A client's reaction to a fault.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Reaction {
    /// The text of the rule that caused the fault.
    pub rule: String,
    /// The name of the request whose answer the fault affected.
    pub request: &'static str,
    /// The client's next action: `went on: presentRequest`, `asked again`, `closed the session`, `hung up`, `reset the
    /// connection`, `stayed silent until …`, `the fault ended the connection`.
    pub reaction: String,
    /// The time from the server's last octets to the reaction; if the server sent nothing, from the request to the reaction.
    pub time: Option<Duration>,
}

/// The faults of a session, with the client's reactions.
#[derive(Debug, Default)]
pub(super) struct Reactions {
    /// The faults to which the client has not reacted yet.
    open: Vec<Struck>,
    done: Vec<Reaction>,
    /// The number of faults that were not stored because of the limit.
    pub(super) left_out: u64,
    last: Option<(&'static str, u64)>,
    /// The time of the last message from either side.
    heard: Option<Instant>,
}

#[derive(Debug)]
struct Struck {
    rule: String,
    request: &'static str,
    key: u64,
}

impl Reactions {
    /// Records a fault in the answer to the last request.
    pub(super) fn struck(&mut self, rule: &str, most: usize) {
        let Some((request, key)) = self.last else {
            return;
        };
        if self.open.len() + self.done.len() >= most {
            self.left_out += 1;
            return;
        }
        self.open.push(Struck {
            rule: rule.chars().take(MAX_RULE).collect(),
            request,
            key,
        });
    }

    /// Records a message from the server.
    pub(super) fn sent(&mut self) {
        self.heard = Some(Instant::now());
    }

    /// Records a request from the client.
    pub(super) fn received(&mut self, request: &Apdu) {
        // The key is needed only in a session with faults, but it is computed for every request, because the request is no longer
        // available when a fault occurs.
        let key = key(request);
        let name = request.name();
        self.react(|struck| match request {
            Apdu::Close(_) => "closed the session".to_owned(),
            _ if struck.key == key => "asked again".to_owned(),
            _ => format!("went on: {name}"),
        });
        self.last = Some((name, key));
        self.sent();
    }

    /// Records octets from the client that are not an APDU.
    pub(super) fn unreadable(&mut self) {
        self.react(|_| "sent something that is no request".to_owned());
        self.sent();
    }

    /// Records the end of the connection.
    pub(super) fn ended(&mut self, end: SessionEnd) {
        self.react(|_| {
            let words = match end {
                SessionEnd::Left => "hung up",
                SessionEnd::Lost => "reset the connection",
                SessionEnd::Idle => "stayed silent until the session ended for lack of activity",
                SessionEnd::Stopped => "stayed silent until the server stopped",
                SessionEnd::Fault => "the fault ended the connection",
                _ => "nothing: the server ended the connection",
            };
            words.to_owned()
        });
    }

    /// Returns all faults with the reactions, including faults to which the client has not reacted yet.
    pub(super) fn all(&self) -> Vec<Reaction> {
        let open = self.open.iter().map(|struck| Reaction {
            rule: struck.rule.clone(),
            request: struck.request,
            reaction: "none yet".to_owned(),
            time: None,
        });
        self.done.iter().cloned().chain(open).collect()
    }

    fn react(&mut self, words: impl Fn(&Struck) -> String) {
        let time = self.heard.map(|heard| heard.elapsed());
        for struck in std::mem::take(&mut self.open) {
            self.done.push(Reaction {
                reaction: words(&struck),
                rule: struck.rule,
                request: struck.request,
                time,
            });
        }
    }
}

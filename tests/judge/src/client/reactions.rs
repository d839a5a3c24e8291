//! How a client takes the faults of the server: what it does next, and after which time.

use std::time::{Duration, Instant};

use z3950_asn1::apdu::Apdu;

use super::knowledge::key;
use z3950_server::metrics::SessionEnd;

/// The most characters of a rule.
const MAX_RULE: usize = 200;

/// What a client did after a fault.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Reaction {
    /// The rule of the fault, as text.
    pub rule: String,
    /// The request whose answer it struck.
    pub request: &'static str,
    /// What the client did next: `went on: presentRequest`, `asked again`, `closed the session`, `hung up`, `reset the connection`,
    /// `stayed silent until …`, `the fault ended the connection`.
    pub reaction: String,
    /// The time between the last octets of the server and the reaction, or from the request if the server said nothing.
    pub time: Option<Duration>,
}

/// The faults of a session.
#[derive(Debug, Default)]
pub(super) struct Reactions {
    /// Those after which the client did nothing yet.
    open: Vec<Struck>,
    done: Vec<Reaction>,
    /// Those that were not kept.
    pub(super) left_out: u64,
    last: Option<(&'static str, u64)>,
    /// When the server, or the client, said something last.
    heard: Option<Instant>,
}

#[derive(Debug)]
struct Struck {
    rule: String,
    request: &'static str,
    key: u64,
}

impl Reactions {
    /// A fault strikes the answer to the last request.
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

    /// The server says something.
    pub(super) fn sent(&mut self) {
        self.heard = Some(Instant::now());
    }

    /// The client says something.
    pub(super) fn received(&mut self, request: &Apdu) {
        // Only a session with faults needs the key, but when one strikes, the request is gone.
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

    /// The client sends something that is no APDU.
    pub(super) fn unreadable(&mut self) {
        self.react(|_| "sent something that is no request".to_owned());
        self.sent();
    }

    /// The connection has ended.
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

    /// All of them; those without a reaction have none yet.
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

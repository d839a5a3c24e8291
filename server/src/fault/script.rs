//! Applies the rules to each request before the session sees it, and to the session's reply before it is sent.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use z3950_asn1::apdu::{Apdu, Close};
use z3950_asn1::codec;

#[cfg(feature = "sru")]
use super::when::HttpSubject;
use super::when::{Subjects, When};
use super::{Fault, Faults, Rule, alter, octets, unsolicited};
use crate::budget::Charge;
use crate::diagnostic::{Condition, diagnostic};
use crate::session::Reply;

/// The octets to write for a reply, and the way to write them.
#[derive(Debug, Default)]
pub(crate) struct Output {
    /// The delay before the first octet.
    pub(crate) delay: Duration,
    /// The APDUs or octets, which are written together.
    pub(crate) items: Vec<Item>,
    /// The pause after each octet; `None` to write all octets together.
    pub(crate) trickle: Option<Duration>,
    /// The number of octets after which the connection ends; `None` to write everything.
    pub(crate) cut_after: Option<usize>,
    /// Whether the connection ends after the output.
    pub(crate) hang_up: bool,
    /// Whether the connection is reset when it ends.
    pub(crate) reset: bool,
    /// The charge for the output until it is written.
    pub(crate) charge: Charge,
}

/// An APDU, or the octets that a fault sends instead of an APDU.
#[derive(Debug)]
pub(crate) enum Item {
    Apdu(Apdu),
    Octets(Bytes),
}

impl Item {
    /// Returns the item as an APDU; `None` for octets that are not an APDU.
    pub(crate) fn apdu(&self) -> Option<Cow<'_, Apdu>> {
        match self {
            Self::Apdu(apdu) => Some(Cow::Borrowed(apdu)),
            Self::Octets(octets) => codec::decode(octets).ok().map(Cow::Owned),
        }
    }
}

impl From<Reply> for Output {
    fn from(reply: Reply) -> Self {
        Self {
            items: reply.apdus.into_iter().map(Item::Apdu).collect(),
            hang_up: reply.hang_up,
            ..Self::default()
        }
    }
}

/// The state of the rules in one session.
pub(crate) struct Script {
    faults: Arc<Faults>,
    session: u64,
    /// For each rule, the number of requests in this session that have met its conditions.
    met: Vec<u64>,
    /// The searches that created the result sets; `None` if no rule needs them.
    subjects: Option<Subjects>,
    /// The answers that are held back: those to send before the next answer, and those to send after it.
    held: [Vec<Item>; 2],
    /// The reply that is held back until the client sends credentials.
    challenged: Option<Reply>,
    /// The rules that struck the last request, as text.
    struck: Vec<String>,
}

impl From<Item> for Output {
    fn from(item: Item) -> Self {
        Self {
            items: vec![item],
            ..Self::default()
        }
    }
}

impl Script {
    /// Creates the state of the rules at the beginning of a session.
    pub(crate) fn new(faults: Arc<Faults>, session: u64) -> Self {
        let mut rules = faults.rules.iter();
        Self {
            met: vec![0; faults.rules.len()],
            subjects: rules
                .any(|rule| rule.when.asks_for_subject())
                .then(Subjects::default),
            faults,
            session,
            held: Default::default(),
            challenged: None,
            struck: Vec::new(),
        }
    }

    /// Applies the rules to a request; returns the faults that strike the session's answer.
    ///
    /// # Errors
    /// Fails with the answer if the session must not see the request.
    pub(crate) fn request(&mut self, request: &mut Apdu) -> Result<Vec<Fault>, Output> {
        if let Apdu::AccessControlResponse(response) = &request
            && let Some(reply) = self.challenged.take()
        {
            let given = response.security_challenge_response.is_some();
            return Err(credentials(reply, given));
        }
        let striking = self.striking(request);
        for fault in &striking {
            alter::request(fault, request);
        }
        Ok(striking)
    }

    /// Removes and returns the rules that struck the last request, as text.
    pub(crate) fn take_struck(&mut self) -> Vec<String> {
        std::mem::take(&mut self.struck)
    }

    /// Returns whether answers are held back.
    pub(crate) fn holds(&self) -> bool {
        self.held.iter().any(|held| !held.is_empty())
    }

    /// Applies the faults to the session's reply.
    pub(crate) fn reply(&mut self, striking: &[Fault], request: &Apdu, reply: Reply) -> Output {
        let mut output = Output::from(reply);
        // Faults in octets come last, because after them there is no APDU left to change.
        let (late, early): (Vec<_>, Vec<_>) =
            striking.iter().partition(|fault| is_of_octets(fault));
        for fault in early.into_iter().chain(late) {
            self.strike(fault, request, &mut output);
        }
        let [front, back] = &mut self.held;
        if !output.items.is_empty() {
            output.items.splice(0..0, front.drain(..));
            output.items.append(back);
        }
        if striking.iter().any(|fault| matches!(fault, Fault::Hold)) {
            front.append(&mut output.items);
        }
        if striking.iter().any(|fault| matches!(fault, Fault::Swap)) {
            back.append(&mut output.items);
        }
        output
    }

    /// Returns the faults that strike the answer to an HTTP request.
    #[cfg(feature = "sru")]
    pub(crate) fn striking_http(&mut self, request: &HttpSubject) -> Vec<Fault> {
        let session = self.session;
        let rules = self.striking_where(|when| when.is_met_by_http(session, request));
        rules.into_iter().map(|rule| rule.fault).collect()
    }

    fn striking(&mut self, request: &Apdu) -> Vec<Fault> {
        let subjects = self.subjects.as_mut();
        let subject = subjects.map(|known| known.of(request)).unwrap_or_default();
        let session = self.session;
        let rules = self.striking_where(|when| when.is_met(session, request, &subject));
        self.struck = rules.iter().map(ToString::to_string).collect();
        rules.into_iter().map(|rule| rule.fault).collect()
    }

    fn striking_where(&mut self, is_met: impl Fn(&When) -> bool) -> Vec<Rule> {
        let mut striking = Vec::new();
        let rules = self.faults.rules.iter().zip(&self.faults.counts.0);
        for ((rule, counts), met) in rules.zip(&mut self.met) {
            let when = &rule.when;
            if is_met(when) {
                *met += 1;
                let of_all = counts.met.fetch_add(1, Ordering::Relaxed) + 1;
                if when.nth.is_none_or(|number| number == *met)
                    && when.nth_of_all.is_none_or(|number| number == of_all)
                {
                    counts.has_fired.store(true, Ordering::Relaxed);
                    striking.push(rule.clone());
                }
            }
        }
        striking
    }

    fn strike(&mut self, fault: &Fault, request: &Apdu, output: &mut Output) {
        match fault {
            Fault::Challenge(challenge) => {
                let apdus = std::mem::take(&mut output.items)
                    .into_iter()
                    .filter_map(|item| match item {
                        Item::Apdu(apdu) => Some(apdu),
                        Item::Octets(_) => None,
                    });
                let reply = Reply {
                    apdus: apdus.collect(),
                    hang_up: output.hang_up,
                };
                self.challenged = Some(reply);
                let mut asked = unsolicited::access_control(challenge.clone());
                asked.reference_id = request.reference_id().cloned();
                output.items.push(Item::Apdu(asked.into()));
                output.hang_up = false;
            }
            Fault::Before(apdu) => output.items.insert(0, Item::Apdu(apdu.clone())),
            Fault::After(apdu) => output.items.push(Item::Apdu(apdu.clone())),
            Fault::Instead(apdu) | Fault::Last(apdu) => {
                output.items = vec![Item::Apdu(apdu.clone())];
                output.hang_up |= matches!(fault, Fault::Last(_));
            }
            Fault::Close(reason, words) => {
                output.items = vec![Item::Apdu(Close::new(*reason, *words).into())];
                output.hang_up = true;
            }
            Fault::Octets(octets) => output.items = vec![Item::Octets(octets.clone())],
            Fault::Garbage(count) => {
                output.items = vec![Item::Octets(octets::garbage(*count).into())];
            }
            Fault::Tag(tag) => output.spoil(|octets| octets::retagged(octets, *tag)),
            Fault::Length(by) => output.spoil(|octets| octets::miscounted(octets, *by)),
            Fault::IndefiniteLengths => output.spoil(octets::indefinite),
            Fault::Silence => output.items.clear(),
            Fault::HangUp => output.hang_up = true,
            Fault::Delay(time) => output.delay += *time,
            Fault::Trickle => output.trickle = Some(Duration::ZERO),
            Fault::Rate(rate) => output.trickle = Some(Duration::from_secs(1) / rate.get()),
            Fault::CutAfter(octets) | Fault::ResetAfter(octets) => {
                output.cut_after = Some(*octets);
                output.reset |= matches!(fault, Fault::ResetAfter(_));
            }
            _ => {
                for item in &mut output.items {
                    if let Item::Apdu(answer) = item {
                        alter::answer(fault, request, answer);
                    }
                }
            }
        }
    }
}

impl Output {
    /// Applies a change to the octets of all items.
    fn spoil(&mut self, change: impl Fn(&[u8]) -> Vec<u8>) {
        for item in &mut self.items {
            let octets = match &*item {
                Item::Octets(octets) => change(octets),
                Item::Apdu(apdu) => match codec::encode(apdu) {
                    Ok(octets) => change(&octets),
                    Err(_) => continue,
                },
            };
            *item = Item::Octets(octets.into());
        }
    }
}

fn is_of_octets(fault: &Fault) -> bool {
    matches!(
        fault,
        Fault::Tag(_) | Fault::Length(_) | Fault::IndefiniteLengths
    )
}

/// Returns the reply that was held back, or a failure if the client did not send credentials.
fn credentials(mut reply: Reply, given: bool) -> Output {
    if !given {
        let denied = diagnostic(Condition::DATABASE_ACCESS_DENIED, "");
        reply
            .apdus
            .iter_mut()
            .for_each(|answer| alter::fail(answer, &denied));
    }
    reply.into()
}

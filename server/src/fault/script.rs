//! The seam: a request goes through the rules to the session, and the session's reply through them to the wire.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use z3950_asn1::apdu::{
    AccessControlRequest, Apdu, Close, OtherInformation, ReferenceId, SecurityChallenge,
};
use z3950_asn1::bib1::diagnostics::Condition;

use super::{Fault, Faults, alter};
use crate::diagnostic::diagnostic;
use crate::session::{Reply, Session};

/// What is to be written, and how.
#[derive(Debug, Default)]
pub(crate) struct Output {
    /// Time to wait first.
    pub(crate) delay: Duration,
    /// Written together.
    pub(crate) items: Vec<Item>,
    /// Whether each octet is written by itself.
    pub(crate) trickle: bool,
    /// Octets after which the connection ends, whatever is left.
    pub(crate) cut_after: Option<usize>,
    /// Whether the connection ends once everything is written.
    pub(crate) hang_up: bool,
}

/// An APDU, or what a fault sends instead.
#[derive(Debug)]
pub(crate) enum Item {
    Apdu(Apdu),
    Octets(Bytes),
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

/// The rules in one session, and how far they have come.
pub(crate) struct Script {
    faults: Arc<Faults>,
    session: u64,
    /// How many requests have met each rule's conditions.
    met: Vec<u64>,
    /// Answers that go out with the next.
    held: Vec<Item>,
    /// The reply that waits for the client's credentials.
    challenged: Option<Reply>,
}

impl Script {
    /// The rules at the beginning of the session of this number.
    pub(crate) fn new(faults: Arc<Faults>, session: u64) -> Self {
        let met = vec![0; faults.rules.len()];
        Self {
            faults,
            session,
            met,
            held: Vec::new(),
            challenged: None,
        }
    }

    /// Has the session answer a request, with the faults that strike it.
    pub(crate) fn serve(&mut self, session: &mut Session, mut request: Apdu) -> Output {
        if self.faults.is_empty() {
            return session.answer(&request).into();
        }
        if let Apdu::AccessControlResponse(response) = &request
            && let Some(reply) = self.challenged.take()
        {
            return credentials(reply, response.security_challenge_response.is_some());
        }
        let striking = self.striking(&request);
        for fault in &striking {
            alter::request(fault, &mut request);
        }
        let mut output = Output::from(session.answer(&request));
        for fault in &striking {
            self.strike(fault, &request, &mut output);
        }
        if !output.items.is_empty() {
            output.items.splice(0..0, self.held.drain(..));
        }
        if striking.iter().any(|fault| matches!(fault, Fault::Hold)) {
            self.held.append(&mut output.items);
        }
        output
    }

    fn striking(&mut self, request: &Apdu) -> Vec<Fault> {
        let mut striking = Vec::new();
        for ((when, fault), met) in self.faults.rules.iter().zip(&mut self.met) {
            if when.is_met(self.session, request) {
                *met += 1;
                if when.nth.is_none_or(|number| number == *met) {
                    striking.push(fault.clone());
                }
            }
        }
        striking
    }

    fn strike(&mut self, fault: &Fault, request: &Apdu, output: &mut Output) {
        match fault {
            Fault::Challenge(challenge) => {
                let apdus = std::mem::take(&mut output.items).into_iter();
                let apdus = apdus.filter_map(|item| match item {
                    Item::Apdu(apdu) => Some(apdu),
                    Item::Octets(_) => None,
                });
                let reply = Reply {
                    apdus: apdus.collect(),
                    hang_up: output.hang_up,
                };
                self.challenged = Some(reply);
                let reference_id = request.reference_id().cloned();
                output
                    .items
                    .push(Item::Apdu(access_control(challenge, reference_id)));
                output.hang_up = false;
            }
            Fault::Before(apdu) => output.items.insert(0, Item::Apdu(apdu.clone())),
            Fault::Behind(apdu) => output.items.push(Item::Apdu(apdu.clone())),
            Fault::Instead(apdu) => output.items = vec![Item::Apdu(apdu.clone())],
            Fault::Octets(octets) => output.items = vec![Item::Octets(octets.clone())],
            Fault::Close(reason, words) => {
                output.items = vec![Item::Apdu(Close::new(*reason, *words).into())];
                output.hang_up = true;
            }
            Fault::Silence => output.items.clear(),
            Fault::Delay(time) => output.delay += *time,
            Fault::Trickle => output.trickle = true,
            Fault::CutAfter(octets) => output.cut_after = Some(*octets),
            _ => {
                for item in &mut output.items {
                    if let Item::Apdu(answer) = item {
                        alter::answer(fault, answer);
                    }
                }
            }
        }
    }
}

fn access_control(challenge: &Bytes, reference_id: Option<ReferenceId>) -> Apdu {
    AccessControlRequest {
        reference_id,
        security_challenge: SecurityChallenge::SimpleForm(challenge.clone().into()),
        other_info: None::<OtherInformation>,
    }
    .into()
}

/// The reply that was held back, or a failed one if the client gave no credentials.
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

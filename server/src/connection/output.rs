//! The output of a connection. Replies are encoded, faults are applied to them, and their octets are charged to the
//! session until they are written.

use std::io;
use std::sync::Arc;

use tracing::{debug, trace};
use z3950_asn1::apdu::{Apdu, CloseReason};
use z3950_asn1::codec;
use z3950_asn1::codec::dump::dump;

use super::operations::Ended;
use super::stream::{self, Transport};
use super::tally::Requester;
use super::{Connection, End};
use crate::fault::{Item, Output};
use crate::metrics::SessionEnd;
use crate::session::refused;

impl<S: Transport> Connection<'_, S> {
    /// Returns the answer to a request that has ended; `None` if the answer is delayed.
    pub(super) fn answer(&mut self, ended: Ended) -> Option<Output> {
        let (mut asked, mut reply) = match ended {
            Ended::Done(asked, done) => (asked, self.session.finish(done)),
            Ended::LoginChecked => {
                self.operations.begin(&mut self.session);
                return None;
            }
            Ended::Output(output) => {
                self.operations.begin(&mut self.session);
                return Some(output);
            }
        };
        // The charge covers the records and their copy in the encoded answer.
        if let Err(why) = asked.charge.set(reply.octets().saturating_mul(2)) {
            reply = refused(&asked.request, why);
        }
        let (timer, answer) = (asked.timer.take(), reply.apdus.last());
        let from = Requester {
            peer: self.session.peer(),
            user: self.session.user(),
        };
        self.tally.answered(timer, &asked.request, answer, from);
        if reply.hang_up {
            if self.session.is_refused() {
                self.tally.ends(SessionEnd::Refused, None);
            } else {
                let why = format_args!("{} out of place", asked.request.name());
                self.tally.ends(SessionEnd::ProtocolError, Some(&why));
            }
        }
        let mut output: Output = match &mut self.script {
            None => reply.into(),
            Some(script) => script.reply(&asked.striking, &asked.request, reply),
        };
        output.charge = asked.charge;
        output.delay = output.delay.saturating_add(self.session.silence());
        let output = self.in_time(asked.request, output);
        self.operations.begin(&mut self.session);
        output
    }

    /// Returns the output if it is to be sent now; `None` if it is delayed.
    pub(super) fn in_time(&mut self, request: Arc<Apdu>, output: Output) -> Option<Output> {
        if output.delay.is_zero() {
            return Some(output);
        }
        self.operations.delay(request, output);
        None
    }

    /// Writes the output. If the connection ends afterwards, returns the reason.
    pub(super) async fn send(&mut self, mut output: Output) -> io::Result<Option<End>> {
        let later = self.inlet.rest();
        if !later.is_empty() {
            self.context.observer.pipelined(self.client.number, later);
        }
        let mut octets = self.encode(output.items)?;
        let mut charge = output.charge;
        if let Err(why) = charge.cover(octets.len()) {
            let end = self
                .session
                .end(CloseReason::RESOURCES, Some(&why.to_string()));
            let end = Output::from(end);
            octets = self.encode(end.items)?;
            output.hang_up = true;
        }
        let end = output.cut_after.unwrap_or(octets.len()).min(octets.len());
        let octets = octets.get(..end).unwrap_or_default();
        let limit = self.limits().write_time;
        match output.trickle {
            None => stream::write(self.stream, octets, limit).await?,
            Some(pause) => {
                Box::pin(stream::trickle(self.stream, octets, pause, limit)).await?;
            }
        }
        if output.hang_up || output.cut_after.is_some() {
            // If the session has already ended for another reason, that reason is kept.
            self.tally.ends(SessionEnd::Fault, None);
        }
        Ok(
            match (output.hang_up || output.cut_after.is_some(), output.reset) {
                (false, _) => None,
                (true, false) => Some(End::Closed),
                (true, true) => Some(End::Reset),
            },
        )
    }

    /// Encodes all items, one after the other.
    pub(super) fn encode(&mut self, items: Vec<Item>) -> io::Result<Vec<u8>> {
        let mut all = Vec::new();
        for item in items {
            let (octets, apdu) = match item {
                Item::Apdu(apdu) => {
                    let octets = codec::encode(&apdu).map_err(io::Error::other)?;
                    debug!(apdu = apdu.name(), octets = octets.len(), "sent");
                    trace!("\n{}", dump(&octets));
                    (octets, Some(apdu))
                }
                // A replay sends the octets of the answer as they were recorded.
                Item::Octets(octets) if self.player.is_some() => {
                    let apdu = codec::decode(&octets).ok();
                    (octets.into(), apdu)
                }
                Item::Octets(octets) => {
                    debug!(octets = octets.len(), "sent instead of an APDU");
                    (octets.into(), None)
                }
            };
            self.tally.sent(octets.len(), apdu.as_ref());
            let observer = &self.context.observer;
            observer.sent(self.client.number, &octets, apdu.as_ref());
            if all.is_empty() {
                all = octets;
            } else {
                all.extend(octets);
            }
        }
        Ok(all)
    }
}

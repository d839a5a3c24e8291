//! The operations under way on a session: which of them an answer belongs to, which may go on side by side, and how
//! long each is waited for (Z39.50-2003 §3.1.2, §3.4, §3.5).

use std::task::{Context, Poll};

use tokio::sync::oneshot;
use tokio::time::Instant;
use z3950_asn1::apdu::{Apdu, ReferenceId};
use z3950_asn1::concurrency::ResultSetUse;

use super::Command;
use super::segments::Segments;
use crate::error::{Error, Phase, ProtocolFault};
use crate::transport::{Limit, Timeouts};

/// A request that was sent and has no answer yet.
pub(super) struct Operation {
    /// What it is known by here, whatever referenceId it has.
    pub(super) number: u64,
    /// The request, with its referenceId.
    pub(super) request: Apdu,
    pub(super) timeouts: Timeouts,
    /// When the answer is not waited for any longer.
    pub(super) limit: Option<Limit>,
    /// Requests of the server within this operation.
    pub(super) interruptions: usize,
    /// Those of them that somebody here is thinking about: no answer is waited for meanwhile.
    pub(super) questions: usize,
    /// What has come of the answer.
    pub(super) segments: Segments,
    /// Whether the server has been told that nobody wants the answer any more.
    pub(super) is_cancelled: bool,
    /// How many APDUs had come when the request went out.
    pub(super) heard: u64,
    reply: Option<oneshot::Sender<Result<Apdu, Error>>>,
}

impl Operation {
    /// The phase that the request belongs to.
    pub(super) fn phase(&self) -> Phase {
        Phase::of(&self.request)
    }

    /// Gives the caller its result, if it has none yet and still waits.
    pub(super) fn answer(&mut self, result: Result<Apdu, Error>) {
        if let Some(reply) = self.reply.take() {
            let _ = reply.send(result);
        }
    }

    /// Begins to wait anew, or not at all while the server waits for somebody here.
    pub(super) fn wait(&mut self) {
        self.limit = Some(match self.questions {
            0 => self.timeouts.to_answer(),
            _ => self.timeouts.to_deadline(),
        });
    }
}

/// The operations under way, oldest first.
#[derive(Default)]
pub(super) struct Operations {
    list: Vec<Operation>,
    /// The last number given to an operation.
    count: u64,
    /// The last referenceId given to a request.
    reference: u32,
}

impl Operations {
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Gives a request a referenceId if others are under way and it has none of its own.
    ///
    /// One of the caller's own that another operation bears is replaced, for it would not tell the two apart.
    pub(super) fn label(&mut self, request: &mut Apdu) {
        let own = request.reference_id();
        if !self.is_empty() && own.is_none_or(|own| self.bears(own)) {
            let reference = self.next_reference();
            request.set_reference_id(Some(reference));
        }
    }

    /// Begins an operation whose request goes out after `heard` APDUs have come.
    pub(super) fn begin(&mut self, command: Command, heard: u64) {
        self.count += 1;
        self.list.push(Operation {
            number: self.count,
            limit: Some(command.timeouts.to_answer()),
            request: command.request,
            timeouts: command.timeouts,
            interruptions: 0,
            questions: 0,
            segments: Segments::default(),
            is_cancelled: false,
            heard,
            reply: Some(command.reply),
        });
    }

    fn next_reference(&mut self) -> ReferenceId {
        loop {
            self.reference = self.reference.wrapping_add(1);
            let reference = ReferenceId(self.reference.to_be_bytes().as_slice().into());
            if !self.bears(&reference) {
                return reference;
            }
        }
    }

    fn bears(&self, reference: &ReferenceId) -> bool {
        self.list
            .iter()
            .any(|operation| operation.request.reference_id() == Some(reference))
    }

    /// The operation that an APDU with this referenceId belongs to; `None` if it belongs to none.
    ///
    /// One without a referenceId belongs to the request that was sent without, or else to the only one.
    ///
    /// # Errors
    /// A referenceId that was not sent, and none where there are several to choose from.
    pub(super) fn find(
        &mut self,
        reference: Option<&ReferenceId>,
    ) -> Result<Option<&mut Operation>, ProtocolFault> {
        let is_only = self.list.len() == 1;
        let mut list = self.list.iter_mut();
        let found = match reference {
            Some(_) => list.find(|operation| operation.request.reference_id() == reference),
            None if list.len() == 0 => return Ok(None),
            None => list.find(|operation| is_only || operation.request.reference_id().is_none()),
        };
        found.map(Some).ok_or(match reference {
            Some(_) => ProtocolFault::ReferenceId,
            None => ProtocolFault::NoReferenceId,
        })
    }

    /// The operation of this number, if it is still under way.
    pub(super) fn numbered(&mut self, number: u64) -> Option<&mut Operation> {
        self.list
            .iter_mut()
            .find(|operation| operation.number == number)
    }

    /// Takes out the operation of this number.
    pub(super) fn finish(&mut self, number: u64) -> Option<Operation> {
        let index = self
            .list
            .iter()
            .position(|operation| operation.number == number)?;
        Some(self.list.remove(index))
    }

    /// Takes out all of them.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Operation> {
        self.list.drain(..)
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Operation> {
        self.list.iter_mut()
    }

    /// The phase of the oldest one; [`Phase::Idle`] without any.
    pub(super) fn phase(&self) -> Phase {
        self.list.first().map_or(Phase::Idle, Operation::phase)
    }

    /// When the next of them is not waited for any longer, if ever.
    pub(super) fn next_limit(&self) -> Option<Instant> {
        self.limits().map(|(at, _)| at).min()
    }

    /// The number of one that is over its time at `now`.
    pub(super) fn overdue(&self, now: Instant) -> Option<u64> {
        self.limits()
            .find(|(at, _)| *at <= now)
            .map(|(_, number)| number)
    }

    fn limits(&self) -> impl Iterator<Item = (Instant, u64)> {
        self.list.iter().filter_map(|operation| {
            let at = operation.limit.as_ref()?.at()?;
            Some((at, operation.number))
        })
    }

    /// Waits for a caller to go away whose operation is not cancelled yet; gives the operation's number.
    pub(super) fn poll_dropped(&mut self, context: &mut Context<'_>) -> Poll<u64> {
        for operation in &mut self.list {
            if let Some(reply) = &mut operation.reply
                && !operation.is_cancelled
                && reply.poll_closed(context).is_ready()
            {
                return Poll::Ready(operation.number);
            }
        }
        Poll::Pending
    }

    /// Whether a request must wait for one under way, because either changes a result set that the other uses.
    pub(super) fn is_in_conflict(&self, request: &Apdu) -> bool {
        let wanted = ResultSetUse::of(request);
        self.list
            .iter()
            .any(|operation| wanted.conflicts_with(&ResultSetUse::of(&operation.request)))
    }
}

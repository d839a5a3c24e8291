//! Requests and answers that wait for the client to answer a question from the server (Z39.50-2003 §3.2.5, §3.2.6).

use z3950_asn1::apdu::{Apdu, ReferenceId};

use crate::budget::Charge;
use crate::service::resource::Held;

/// The requests and answers that are held back until the client answers a question (Z39.50-2003 §3.2.5, §3.2.6), oldest first. If
/// there are too many, the oldest is dropped.
pub(super) struct Pending {
    /// The waiting requests and answers, with their charges.
    pub(super) waiting: Vec<(Waiting, Charge)>,
    pub(super) most: usize,
}

pub(super) enum Waiting {
    /// A request that is waiting for credentials.
    Request(Box<Apdu>),
    /// An answer that is waiting for the client's permission.
    Answer(Box<Held>),
}

impl Pending {
    pub(super) fn keep(&mut self, new: Waiting, charge: Charge) {
        self.waiting
            .retain(|(waiting, _)| waiting.reference_id() != new.reference_id());
        if self.waiting.len() >= self.most {
            self.waiting.remove(0);
        }
        self.waiting.push((new, charge));
    }

    /// Removes and returns the entry with this referenceId or, if no entry has it, the newest entry.
    pub(super) fn take(&mut self, reference_id: Option<&ReferenceId>) -> Option<Waiting> {
        let mut waiting = self.waiting.iter();
        let taken = match waiting.position(|(one, _)| one.reference_id() == reference_id) {
            Some(index) => Some(self.waiting.remove(index)),
            None => self.waiting.pop(),
        };
        taken.map(|(waiting, _)| waiting)
    }
}

impl Waiting {
    fn reference_id(&self) -> Option<&ReferenceId> {
        match self {
            Self::Request(request) => request.reference_id(),
            Self::Answer(answer) => answer.reference_id.as_ref(),
        }
    }
}

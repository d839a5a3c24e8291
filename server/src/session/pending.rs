//! What waits for an answer of the client: requests for credentials, answers for leave to send them (Z39.50-2003 §3.2.5, §3.2.6).

use z3950_asn1::apdu::{Apdu, ReferenceId};

use crate::service::resource::Held;

/// What waits, the longest-waiting first. Where there is no more room, that is given up.
pub(super) struct Pending {
    waiting: Vec<Waiting>,
    most: usize,
}

enum Waiting {
    Request(Box<Apdu>),
    Answer(Box<Held>),
}

impl Pending {
    /// With room for so many.
    pub(super) fn new(most: usize) -> Self {
        Self {
            waiting: Vec::new(),
            most,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Keeps a request until there are credentials.
    pub(super) fn keep_request(&mut self, request: &Apdu) {
        self.keep(Waiting::Request(Box::new(request.clone())));
    }

    /// Keeps an answer until there is leave.
    pub(super) fn keep_answer(&mut self, answer: Box<Held>) {
        self.keep(Waiting::Answer(answer));
    }

    /// Takes the request that the client has answered about: that of the referenceId, or else the last.
    pub(super) fn take_request(&mut self, reference_id: Option<&ReferenceId>) -> Option<Box<Apdu>> {
        match self.take(reference_id)? {
            Waiting::Request(request) => Some(request),
            Waiting::Answer(_) => None,
        }
    }

    /// Takes the answer that the client has answered about, as [`Pending::take_request`].
    pub(super) fn take_answer(&mut self, reference_id: Option<&ReferenceId>) -> Option<Box<Held>> {
        match self.take(reference_id)? {
            Waiting::Answer(answer) => Some(answer),
            Waiting::Request(_) => None,
        }
    }

    fn keep(&mut self, new: Waiting) {
        self.waiting
            .retain(|waiting| waiting.reference_id() != new.reference_id());
        if self.waiting.len() >= self.most {
            self.waiting.remove(0);
        }
        self.waiting.push(new);
    }

    fn take(&mut self, reference_id: Option<&ReferenceId>) -> Option<Waiting> {
        let mut waiting = self.waiting.iter();
        match waiting.position(|waiting| waiting.reference_id() == reference_id) {
            Some(index) => Some(self.waiting.remove(index)),
            None => self.waiting.pop(),
        }
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

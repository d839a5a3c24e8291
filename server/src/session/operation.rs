//! One operation of a session, from its request to its answer (Z39.50-2003 §3.1.1), and which service answers which request.

use std::ops::Deref;
use std::sync::Arc;

use z3950_asn1::apdu::{Apdu, Options, ReferenceId};
use z3950_asn1::bib1::diagnostics::Condition;

use super::interrupt::Interruptible;
use super::{Association, Reply};
use crate::backend::Answer;
use crate::diagnostic::{Diagnostic, diagnostic};
use crate::service::resource::Held;
use crate::service::{delete, extended, present, refuse, resource, scan, search, sort};

/// An operation in progress, in the association that it belongs to.
pub(crate) struct Operation {
    association: Arc<Association>,
    interruptible: Interruptible,
    reference_id: Option<ReferenceId>,
    /// The request that goes on with the one that has come, where that is an answer of the client's.
    held: Option<Box<Apdu>>,
}

/// An operation that has ended.
pub(crate) struct Done {
    pub(super) reference_id: Option<ReferenceId>,
    /// What it was asked for, and why it does not belong here if it does not.
    pub(super) conclusion: Result<Conclusion, (&'static str, &'static str)>,
}

/// What comes of an operation.
pub(crate) enum Conclusion {
    Reply(Reply),
    /// An answer that waits for the client's leave, and how the client is asked for it.
    Asked(Box<Held>, Apdu),
}

impl<T: Into<Reply>> From<T> for Conclusion {
    fn from(reply: T) -> Self {
        Self::Reply(reply.into())
    }
}

impl Deref for Operation {
    type Target = Association;

    fn deref(&self) -> &Association {
        &self.association
    }
}

impl Operation {
    pub(super) fn new(
        association: Arc<Association>,
        interruptible: Interruptible,
        reference_id: Option<ReferenceId>,
        held: Option<Box<Apdu>>,
    ) -> Self {
        Self {
            association,
            interruptible,
            reference_id,
            held,
        }
    }

    /// Carries out what the request asks for that the operation was begun with. Whoever drops the future ends the operation.
    pub(crate) async fn run(&self, request: &Apdu) -> Done {
        let request = self.held.as_deref().unwrap_or(request);
        let conclusion = self.operate(request).await;
        Done {
            conclusion: conclusion.map_err(|why| (request.name(), why)),
            reference_id: self.reference_id.clone(),
        }
    }

    /// What the backend answers, or why the operation was stopped before: condition 105 if the client had it stopped.
    pub(crate) async fn or_stopped<T>(&self, answer: Answer<'_, T>) -> Result<T, Diagnostic> {
        self.interruptible.or_stopped(answer).await
    }

    /// Whether the operation was stopped.
    pub(crate) fn is_stopped(&self) -> bool {
        self.interruptible.is_stopped()
    }

    async fn operate(&self, request: &Apdu) -> Result<Conclusion, &'static str> {
        Ok(match request {
            Apdu::SearchRequest(request) => {
                let conclusion = search::answer(self, request).await;
                self.open_persistent_sets();
                conclusion
            }
            Apdu::PresentRequest(request) => {
                let responses = present::answer(self, request).await;
                self.open_persistent_sets();
                responses.into()
            }
            Apdu::DeleteResultSetRequest(request) => delete::answer(self, request)
                .ok_or("with a deleteFunction neither list nor all")?
                .into(),
            Apdu::ScanRequest(request) => scan::answer(self, request).await.into(),
            Apdu::SortRequest(request) => sort::answer(self, request).await.into(),
            Apdu::ExtendedServicesRequest(request) => {
                // In a box, so that the other operations need not have its room.
                Box::pin(extended::answer(self, request)).await.into()
            }
            Apdu::DuplicateDetectionRequest(_) => {
                let missing = diagnostic(Condition::SERVICE_NOT_FOR_DATABASE, "");
                refuse::answer(request, missing).into()
            }
            Apdu::ResourceReportRequest(request) => resource::report(self, request).into(),
            _ => return Err("from a client"),
        })
    }
}

/// The option that has to be offered for a request to be served; `None` for one that begins no operation.
pub(super) fn option_of(request: &Apdu) -> Option<Options> {
    Some(match request {
        Apdu::SearchRequest(_) => Options::SEARCH,
        Apdu::PresentRequest(_) => Options::PRESENT,
        Apdu::DeleteResultSetRequest(_) => Options::DELETE,
        Apdu::ScanRequest(_) => Options::SCAN,
        Apdu::SortRequest(_) => Options::SORT,
        Apdu::ExtendedServicesRequest(_) => Options::EXTENDED_SERVICES,
        Apdu::ResourceReportRequest(_) => Options::RESOURCE_REPORT,
        Apdu::DuplicateDetectionRequest(_) => Options::DUPLICATE_DETECTION,
        _ => return None,
    })
}

//! Resource control and resource reports: the cost of an operation, the decision on whether to continue it, and its
//! cancellation (Z39.50-2003 §3.2.6).

use z3950_asn1::apdu::{ExternalValue, ResourceControlRequest};

use super::Handler;
use crate::error::Phase;

/// A ResourceControlRequest, in which the server reports on an operation in progress.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ResourceQuestion {
    /// The phase of the operation that the request concerns, or [`Phase::Idle`] if it concerns the session.
    pub phase: Phase,
    /// The request as sent by the server. If it requires no response, the [`Decision`] is not sent.
    pub request: ResourceControlRequest,
}

impl ResourceQuestion {
    /// Creates a question about an operation of the given `phase`.
    pub fn new(phase: Phase, request: ResourceControlRequest) -> Self {
        Self { phase, request }
    }

    /// Returns the report as a `T` (see `resource_report1` and `resource_report2` in [`z3950_asn1::format`]), or `None`
    /// if the report has a different format.
    pub fn value<T: ExternalValue>(&self) -> Option<T> {
        T::from_external(self.request.resource_report.as_ref()?).ok()
    }
}

/// The decision on whether an operation continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// Whether the operation continues. If not, the server ends it and answers with its partial results.
    pub is_to_go_on: bool,
    /// Whether the server should keep the records found so far as the result set, if the operation is a search and does
    /// not continue.
    pub result_set_wanted: Option<bool>,
}

impl Decision {
    /// The operation continues, whatever its cost.
    pub const GO_ON: Self = Self {
        is_to_go_on: true,
        result_set_wanted: None,
    };
    /// The operation ends without a result set.
    pub const STOP: Self = Self {
        is_to_go_on: false,
        result_set_wanted: Some(false),
    };
}

/// A handler that decides whether operations continue; see [`SessionOptions`](crate::session::SessionOptions). It is
/// called for every report, even if no answer is required. Without a handler, operations continue.
pub type ResourceControl = dyn Handler<ResourceQuestion, Decision>;

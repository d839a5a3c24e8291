//! Resource control and report: what an operation costs, whether it is to continue, and how to cancel it (Z39.50-2003 §3.2.6).

use z3950_asn1::apdu::{ExternalValue, ResourceControlRequest};

use super::Handler;
use crate::error::Phase;

/// A ResourceControlRequest, in which the server reports on an operation in progress.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ResourceQuestion {
    /// The operation that the request belongs to; [`Phase::Idle`] for the session as a whole.
    pub phase: Phase,
    /// The request that the server sent. If the server requires no response, the [`Decision`] is not sent.
    pub request: ResourceControlRequest,
}

impl ResourceQuestion {
    /// Creates a question about the operation `phase`.
    pub fn new(phase: Phase, request: ResourceControlRequest) -> Self {
        Self { phase, request }
    }

    /// Returns the report in its format, `resource_report1` or `resource_report2` of [`z3950_asn1::format`]; `None` if the report
    /// has another format.
    pub fn value<T: ExternalValue>(&self) -> Option<T> {
        T::from_external(self.request.resource_report.as_ref()?).ok()
    }
}

/// The decision whether an operation continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// Whether the operation continues. Otherwise the server ends it and answers with its partial results.
    pub is_to_go_on: bool,
    /// Whether the result set is wanted if the server ends a search.
    pub result_set_wanted: Option<bool>,
}

impl Decision {
    /// Continue, whatever the operation costs.
    pub const GO_ON: Self = Self {
        is_to_go_on: true,
        result_set_wanted: None,
    };
    /// Stop, without a result set.
    pub const STOP: Self = Self {
        is_to_go_on: false,
        result_set_wanted: Some(false),
    };
}

/// Decides whether operations continue: see [`SessionOptions`](crate::session::SessionOptions). It is called for every report,
/// even if no answer is required. Without a handler, operations continue.
pub type ResourceControl = dyn Handler<ResourceQuestion, Decision>;

//! Resource control and report: what an operation costs, whether it continues, and how to cancel it (Z39.50-2003 §3.2.6).

use z3950_asn1::apdu::{ExternalValue, ResourceControlRequest};

use super::Handler;
use crate::error::Phase;

/// A ResourceControlRequest: the server reports on an operation in progress.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ResourceQuestion {
    /// The operation it belongs to; [`Phase::Idle`] for the session as a whole.
    pub phase: Phase,
    /// What the server sent. If it requires no response, the [`Decision`] is not sent.
    pub request: ResourceControlRequest,
}

impl ResourceQuestion {
    /// A request during the operation `phase`.
    pub fn new(phase: Phase, request: ResourceControlRequest) -> Self {
        Self { phase, request }
    }

    /// The report in its format, `resource_report1` or `resource_report2` of [`z3950_asn1::format`]; `None` for another
    /// format.
    pub fn value<T: ExternalValue>(&self) -> Option<T> {
        T::from_external(self.request.resource_report.as_ref()?).ok()
    }
}

/// Whether an operation continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// Otherwise the server ends it and answers with its partial results.
    pub is_to_go_on: bool,
    /// Whether the result set of a search that ends is wanted.
    pub result_set_wanted: Option<bool>,
}

impl Decision {
    /// Continue, whatever it costs.
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

/// Decides whether operations continue: see [`SessionOptions`](crate::session::SessionOptions). Called for every report, even if no
/// answer is required. Without one, operations continue.
pub type ResourceControl = dyn Handler<ResourceQuestion, Decision>;

//! The options of a session.

use std::sync::Arc;
use std::time::Duration;

use z3950_asn1::apdu::InitializeRequest;

use crate::protocol::service::access::AccessControl;
use crate::protocol::service::init;
use crate::protocol::service::resource::ResourceControl;
use crate::target::profile::SruOptions;
use crate::transport::timeouts::Timeouts;

/// The options of a session: how to open it, which requests may overlap, and the time limits.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SessionOptions {
    /// The Init request.
    pub init: InitializeRequest,
    /// The time limits for connections and answers.
    pub timeouts: Timeouts,
    /// The maximum number of concurrent operations if the server grants concurrentOperations. The default is 8.
    /// Operations that change a result set do not overlap with other operations on it.
    pub max_operations: usize,
    /// The maximum number of requests in progress if the server does not grant concurrentOperations. The default is 1,
    /// as the standard requires. With a larger number, requests are sent before earlier ones are answered. Most servers
    /// continue to read requests and answer them in order.
    pub max_pipelined: usize,
    /// Whether dropping the future of an operation cancels the operation, if the server grants triggerResourceCtrl. If
    /// it is not cancelled, the operation continues and its answer is discarded.
    pub cancels_dropped: bool,
    /// How long a client's pool keeps an unused session. With `None`, the pool keeps it until the server ends it.
    pub idle_time: Option<Duration>,
    /// The maximum number of times that a client sends a request again in another session, if the server ended the
    /// session before the answer. The default is 1. A request is sent again only if the server had answered other
    /// requests in the lost session. With more than 1, it is also sent again if it was the first request in its session
    /// but the server has answered requests in earlier sessions, which suits batches. Only requests that change nothing
    /// are sent again.
    pub max_repeats: usize,
    /// The handler that answers challenges from the server. The option accessCtrl is offered only if there is one.
    pub access_control: Option<Arc<AccessControl>>,
    /// The handler that decides whether an operation continues, given the resources that it uses. The option resourceCtrl is
    /// offered only if there is a handler.
    pub resource_control: Option<Arc<ResourceControl>>,
    /// The options for requests to an SRU server.
    pub sru: SruOptions,
}

impl SessionOptions {
    /// Returns the maximum number of operations in progress. `is_concurrent` says whether the server has granted
    /// concurrentOperations.
    pub(crate) fn max_in_progress(&self, is_concurrent: bool) -> usize {
        if is_concurrent {
            self.max_operations.max(1)
        } else {
            self.max_pipelined.max(1)
        }
    }
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self {
            init: init::offer(),
            timeouts: Timeouts::default(),
            max_operations: 8,
            max_pipelined: 1,
            cancels_dropped: false,
            idle_time: None,
            max_repeats: 1,
            access_control: None,
            resource_control: None,
            sru: SruOptions::default(),
        }
    }
}

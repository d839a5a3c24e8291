//! The options of a session.

use std::sync::Arc;
use std::time::Duration;

use z3950_asn1::apdu::InitializeRequest;

use crate::protocol::service::access::AccessControl;
use crate::protocol::service::init;
use crate::protocol::service::resource::ResourceControl;
use crate::target::profile::SruOptions;
use crate::transport::timeouts::Timeouts;

/// How to open a session and work in it, and how long to wait.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SessionOptions {
    /// What Init offers.
    pub init: InitializeRequest,
    /// How long to wait.
    pub timeouts: Timeouts,
    /// The most concurrent operations where the server grants concurrentOperations; 8. Operations that change a result set
    /// do not overlap with others on it.
    pub max_operations: usize,
    /// The most requests sent ahead of their answers where the server does not grant it; 1, as the standard requires.
    /// Most servers read on and answer in order.
    pub max_pipelined: usize,
    /// Whether dropping the future of an operation cancels it at a server that grants triggerResourceCtrl. Otherwise the
    /// operation continues and its answer is dropped.
    pub cancels_dropped: bool,
    /// How long a session of a client's pool is kept that nobody uses; `None` until the server ends it.
    pub idle_time: Option<Duration>,
    /// Answers challenges of the server; accessCtrl is offered only if there is one.
    pub access_control: Option<Arc<AccessControl>>,
    /// Decides on the cost of operations; resourceCtrl is offered only if there is one.
    pub resource_control: Option<Arc<ResourceControl>>,
    /// How to ask a server of SRU.
    pub sru: SruOptions,
}

impl SessionOptions {
    /// The most operations in progress at once in a session, whose server may have granted concurrentOperations.
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
            access_control: None,
            resource_control: None,
            sru: SruOptions::default(),
        }
    }
}

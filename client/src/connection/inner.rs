//! What a connection and its result sets share: the target, the lent session, and the names of result sets.

use std::sync::Arc;

use tokio::sync::{Mutex, MutexGuard};

use super::names::Names;
use crate::error::Error;
use crate::plan::PlanOptions;
use crate::pool::Lease;
use crate::protocol::service::ResultRecord;
use crate::record::Record;
use crate::target::profile::Resolved;

/// The session goes back to the client's pool when the last reference is dropped.
pub(crate) struct Inner {
    pub(super) plan: PlanOptions,
    pub(crate) target: Resolved,
    pub(super) names: Arc<Names>,
    lease: Mutex<Lease>,
}

impl Inner {
    pub(super) fn new(plan: PlanOptions, target: Resolved, lease: Lease) -> Self {
        Self {
            plan,
            target,
            names: Arc::new(Names::new(lease.server_info())),
            lease: Mutex::new(lease),
        }
    }

    pub(super) async fn lease(&self) -> MutexGuard<'_, Lease> {
        self.lease.lock().await
    }

    /// The record at a position, in the character set of the profile, or the diagnostic in its place.
    pub(crate) fn record(&self, record: ResultRecord, position: u64) -> Result<Record, Error> {
        let record = Record::of(record, Some(position))?;
        Ok(record.with_charset(self.target.profile.record_charset))
    }
}

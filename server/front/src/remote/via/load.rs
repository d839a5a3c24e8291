//! Counts the operations in progress for each chain of servers, and limits the number of chains with operations in
//! progress.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use z3950_server::Diagnostic;
use z3950_server::lock;

use crate::remote::failure;

/// The number of operations in progress, by the number of the chain.
pub(super) type BusyChains = Mutex<HashMap<u64, usize>>;

/// The number of a chain, and the busy chains of the database.
#[derive(Clone)]
pub(in crate::remote) struct ChainLoad {
    number: u64,
    busy: Arc<BusyChains>,
}

/// An operation of a chain; it ends when the value is dropped.
pub(in crate::remote) struct ChainOperation(ChainLoad);

/// The maximum number of chains with operations in progress at the same time, and of chains whose sessions are kept open.
pub(super) const MAX_CHAINS: usize = 8;

impl ChainLoad {
    /// Creates the load of a new chain.
    pub(super) fn new(busy: &Arc<BusyChains>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            busy: Arc::clone(busy),
        }
    }

    /// Begins an operation.
    ///
    /// # Errors
    /// Fails with condition 109 if too many other chains have operations in progress.
    pub(in crate::remote) fn begin(&self) -> Result<ChainOperation, Diagnostic> {
        let mut busy = lock(&self.busy);
        if busy.len() >= MAX_CHAINS && !busy.contains_key(&self.number) {
            return Err(too_many());
        }
        *busy.entry(self.number).or_default() += 1;
        Ok(ChainOperation(self.clone()))
    }

    pub(super) fn is_busy(&self) -> bool {
        lock(&self.busy).contains_key(&self.number)
    }
}

impl Drop for ChainOperation {
    fn drop(&mut self) {
        let ChainLoad { number, busy } = &self.0;
        let mut busy = lock(busy);
        match busy.get_mut(number) {
            Some(operations) if *operations > 1 => *operations -= 1,
            _ => drop(busy.remove(number)),
        }
    }
}

/// Returns the diagnostic for a search that is refused because too many chains have operations in progress.
pub(super) fn too_many() -> Diagnostic {
    failure::unavailable("too many servers pass searches on to this one")
}

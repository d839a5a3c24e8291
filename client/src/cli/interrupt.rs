//! Ctrl-C: what is under way ends, and the program with it or back at its prompt.

use std::future::Future;

/// Watches for Ctrl-C.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Interrupt;

/// The work was given up because of Ctrl-C.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stopped;

impl Interrupt {
    /// The result of `work`, unless Ctrl-C comes first.
    pub(crate) async fn or<T>(self, work: impl Future<Output = T>) -> Result<T, Stopped> {
        tokio::select! {
            result = work => Ok(result),
            // Where the signal cannot be watched, work goes on.
            Ok(()) = tokio::signal::ctrl_c() => Err(Stopped),
        }
    }
}

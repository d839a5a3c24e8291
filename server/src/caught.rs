//! Catches panics in backends and in other code outside the server itself.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Mutex;
use std::task::Poll;

use tracing::error;

use crate::diagnostic::{Condition, Diagnostic, diagnostic};
use crate::lock::lock;

/// Awaits a future; if it panics, returns the message of the panic. State that a panic leaves unfinished is dropped with the
/// future. The server's own state is behind locks, and a panic cannot leave it partly changed.
pub(crate) async fn caught<T>(future: impl Future<Output = T>) -> Result<T, String> {
    let mut future = pin!(future);
    poll_fn(|context| {
        let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context)));
        match polled {
            Ok(polled) => polled.map(Ok),
            Err(panic) => Poll::Ready(Err(words(&*panic))),
        }
    })
    .await
}

/// Returns the message of a panic.
pub(crate) fn words(panic: &(dyn Any + Send)) -> String {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(words), _) => (*words).to_owned(),
        (_, Some(words)) => words.clone(),
        _ => "no words".to_owned(),
    }
}

/// The number of panics that were caught while requests were answered or logins were checked, and the message of the first panic.
#[derive(Debug, Default)]
pub(crate) struct Panics(Mutex<(u64, Option<String>)>);

impl Panics {
    /// Counts a panic, and returns the diagnostic for its request. The message of the panic is not shown to clients.
    pub(crate) fn diagnostic(&self, words: String) -> Diagnostic {
        error!(
            panic = words,
            "a request failed, because its backend panicked"
        );
        self.count(words);
        diagnostic(Condition::TEMPORARY_SYSTEM_ERROR, "the database failed")
    }

    /// Counts a panic with this message.
    pub(crate) fn count(&self, words: String) {
        let (count, first) = &mut *lock(&self.0);
        *count += 1;
        first.get_or_insert(words);
    }

    /// Returns the number of panics, and the message of the first.
    pub(crate) fn totals(&self) -> (u64, Option<String>) {
        lock(&self.0).clone()
    }
}

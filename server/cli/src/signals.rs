//! The signals that stop the program, and the signal that reloads the databases.

use std::io;

use tokio::sync::oneshot;

use crate::failure::Exit;

/// Returns a receiver that is closed at the first signal to stop, after `first` has been called. A second signal calls `last` and
/// ends the program.
pub(crate) fn stop(
    first: impl FnOnce() + Send + 'static,
    last: impl FnOnce() + Send + 'static,
) -> io::Result<oneshot::Receiver<()>> {
    let mut signals = StopSignal::new()?;
    let (stop, stopped) = oneshot::channel();
    tokio::spawn(async move {
        signals.next().await;
        first();
        drop(stop);
        signals.next().await;
        last();
        std::process::exit(Exit::Interrupted as i32);
    });
    Ok(stopped)
}

#[cfg(unix)]
struct StopSignal {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl StopSignal {
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

#[cfg(not(unix))]
struct StopSignal;

#[cfg(not(unix))]
impl StopSignal {
    fn new() -> io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending().await
        }
    }
}

/// Receives the signal to reload the databases.
pub(crate) struct Reload(#[cfg(unix)] tokio::signal::unix::Signal);

impl Reload {
    #[cfg(unix)]
    pub(crate) fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        signal(SignalKind::hangup()).map(Self)
    }

    #[cfg(not(unix))]
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self())
    }

    /// Waits for the signal; never resolves on systems that do not have this signal.
    #[cfg(unix)]
    pub(crate) async fn next(&mut self) {
        if self.0.recv().await.is_none() {
            std::future::pending().await
        }
    }

    #[cfg(not(unix))]
    pub(crate) async fn next(&mut self) {
        std::future::pending().await
    }
}

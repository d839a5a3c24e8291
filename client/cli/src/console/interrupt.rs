//! Handles signals. Ctrl-C, and on Unix SIGTERM and SIGHUP, end the current work and then the program. At the
//! interactive prompt, Ctrl-C only ends the current command. A second signal ends the program immediately.

use std::future::Future;
use std::sync::{LazyLock, Mutex, MutexGuard, OnceLock, PoisonError, mpsc};

use tokio::sync::watch;

use crate::console::exit::Exit;

/// A handle with which to check for, and wait for, the signals that end the program.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Interrupt;

/// A guard that turns off the terminal's echo of Ctrl-C until it is dropped. The echo would shift a line that is to be
/// erased.
pub(crate) struct Unechoed(());

#[cfg(unix)]
mod echo {
    use std::io;
    use std::sync::{Mutex, PoisonError};

    use rustix::process::getpgrp;
    use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};

    /// The modes of the terminal before they were changed.
    static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

    pub(super) fn stop() {
        let mut before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
        // The system would stop a background program that changes the terminal's modes, so nothing is changed in that
        // case.
        if tcgetpgrp(io::stdin()) != Ok(getpgrp()) {
            return;
        }
        let Ok(modes) = tcgetattr(io::stdin()) else {
            return;
        };
        if before.is_none() && modes.local_modes.contains(LocalModes::ECHOCTL) {
            let mut changed = modes.clone();
            changed.local_modes.remove(LocalModes::ECHOCTL);
            if tcsetattr(io::stdin(), OptionalActions::Now, &changed).is_ok() {
                *before = Some(modes);
            }
        }
    }

    pub(super) fn resume() {
        let mut before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(modes) = before.take() {
            // An error means that the terminal is gone, so there is nothing to restore.
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, &modes);
        }
    }
}

#[cfg(not(unix))]
mod echo {
    pub(super) fn stop() {}
    pub(super) fn resume() {}
}

impl Unechoed {
    pub(crate) fn begin() -> Self {
        echo::stop();
        Self(())
    }
}

impl Drop for Unechoed {
    fn drop(&mut self) {
        echo::resume();
    }
}

/// The error for work that a signal has ended, with the exit code of the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stopped(pub(crate) Exit);

impl Interrupt {
    /// Returns the result of `work`, unless a signal arrives first.
    pub(crate) async fn or<T>(self, work: impl Future<Output = T>) -> Result<T, Stopped> {
        let mut arrived = ARRIVED.subscribe();
        let signal = arrived.wait_for(Option::is_some);
        tokio::select! {
            biased;
            // The sender is never dropped, so waiting for a signal cannot fail.
            Ok(exit) = signal => Err(Stopped(exit.unwrap_or(Exit::Interrupted))),
            result = work => Ok(result),
        }
    }

    /// Returns the exit code of a command, or the exit code for a signal that arrives before the command ends.
    pub(crate) async fn exit<E>(
        self,
        command: impl Future<Output = Result<Exit, E>>,
    ) -> Result<Exit, E> {
        self.or(command)
            .await
            .unwrap_or_else(|Stopped(exit)| Ok(exit))
    }

    /// Runs the final work of a command. A signal that arrives during the work interrupts it. If a signal has already
    /// arrived before the work begins, the work is completed.
    pub(crate) async fn or_end(self, work: impl Future<Output = ()>) {
        match self.arrived() {
            Some(_) => work.await,
            None => {
                let _ = self.or(work).await;
            }
        }
    }

    /// Returns the signal that has arrived; `None` if no signal has arrived.
    pub(crate) fn arrived(self) -> Option<Stopped> {
        ARRIVED.borrow().map(Stopped)
    }

    /// Forgets Ctrl-C, after the prompt has handled it. Other signals are not forgotten.
    pub(crate) fn dealt_with(self) {
        ARRIVED.send_if_modified(|arrived| {
            let is_over = *arrived == Some(Exit::Interrupted);
            if is_over {
                *arrived = None;
            }
            is_over
        });
    }

    /// Changes the meaning of Ctrl-C for a prompt: it no longer ends the program. If another signal ends the program,
    /// `leave` is called first, to restore the terminal.
    pub(crate) fn at_prompt(self, leave: impl Fn() + Send + Sync + 'static) {
        // There is only one terminal, so this is set only once.
        let _ = LEAVE.set(Box::new(leave));
    }

    /// Runs `wait`, which waits for a line of input, in the current thread. If a signal arrives during this time, calls
    /// `farewell`, which must be quick, and ends the program.
    pub(crate) fn waiting<T>(
        self,
        farewell: impl FnOnce() + Send + 'static,
        wait: impl FnOnce() -> T,
    ) -> Result<T, Stopped> {
        self.dealt_with();
        let is_at_prompt = LEAVE.get().is_some();
        // At the prompt, a late Ctrl-C may have been meant for the previous command, so it does not end the wait.
        let ends = |exit| !is_at_prompt || exit != Exit::Interrupted;
        let result = self.wait(ends, farewell, wait);
        if is_at_prompt {
            self.dealt_with();
        }
        result
    }

    /// Waits like [`waiting`](Self::waiting), but for a line that an operation in progress needs. If a signal has
    /// already arrived, nothing is read, because Ctrl-C interrupts that operation.
    pub(crate) fn answering<T>(
        self,
        farewell: impl FnOnce() + Send + 'static,
        wait: impl FnOnce() -> T,
    ) -> Result<T, Stopped> {
        self.wait(|_| true, farewell, wait)
    }

    /// Runs `wait`, which waits for a line of input. A signal ends the program if `ends` returns true for it.
    fn wait<T>(
        self,
        ends: impl Fn(Exit) -> bool,
        farewell: impl FnOnce() + Send + 'static,
        wait: impl FnOnce() -> T,
    ) -> Result<T, Stopped> {
        *self::farewell() = Some(Box::new(farewell));
        let result = match self.arrived() {
            Some(Stopped(exit)) if ends(exit) => Err(Stopped(exit)),
            _ => Ok(wait()),
        };
        if self::farewell().take().is_none() {
            // Another thread is ending the program, so this thread only has to wait.
            loop {
                std::thread::park();
            }
        }
        result
    }
}

/// The signal that has arrived, if any. A thread that is started on first use watches for signals, and may end the
/// program while other threads are busy.
static ARRIVED: LazyLock<watch::Sender<Option<Exit>>> = LazyLock::new(|| {
    let (arrived, _) = watch::channel(None);
    let sender = arrived.clone();
    let (ready, is_ready) = mpsc::channel();
    // If signals cannot be watched, they keep their default effect.
    let thread = std::thread::Builder::new().name("signals".to_owned());
    if thread.spawn(move || watch_signals(&sender, ready)).is_ok() {
        let _ = is_ready.recv();
    }
    arrived
});

/// The function to call before a signal ends the program at a prompt.
static LEAVE: OnceLock<Box<dyn Fn() + Send + Sync>> = OnceLock::new();

/// The function to call before a signal ends the program while it waits for a line of input; `None` while it is not
/// waiting.
static FAREWELL: Mutex<Option<Box<dyn FnOnce() + Send>>> = Mutex::new(None);

fn farewell() -> MutexGuard<'static, Option<Box<dyn FnOnce() + Send>>> {
    FAREWELL.lock().unwrap_or_else(PoisonError::into_inner)
}

fn take(arrived: &watch::Sender<Option<Exit>>, exit: Exit) {
    let before = arrived.send_replace(Some(exit));
    if exit == Exit::Interrupted && LEAVE.get().is_some() {
        return;
    }
    let farewell = farewell().take();
    if before.is_none() && farewell.is_none() {
        return;
    }
    echo::resume();
    if let Some(leave) = LEAVE.get() {
        leave();
    }
    let Some(farewell) = farewell else {
        std::process::exit(exit as i32);
    };
    // The farewell runs in a separate thread, so that a second signal ends the program at once.
    let thread = std::thread::Builder::new().name("farewell".to_owned());
    let thread = thread.spawn(move || {
        farewell();
        std::process::exit(exit as i32);
    });
    if thread.is_err() {
        std::process::exit(exit as i32);
    }
}

fn watch_signals(arrived: &watch::Sender<Option<Exit>>, ready: mpsc::Sender<()>) {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let Ok(runtime) = builder.enable_io().build() else {
        return;
    };
    runtime.block_on(async {
        let Ok(mut signals) = Signals::new() else {
            return;
        };
        drop(ready);
        loop {
            take(arrived, signals.next().await);
        }
    });
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    /// The receiver of SIGHUP; `None` if SIGHUP is ignored, for example because of `nohup`.
    hangup: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl Signals {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let hangup = SignalKind::hangup();
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: match is_ignored(hangup.as_raw_value()) {
                Some(false) => Some(signal(hangup)?),
                // If it is unknown whether the signal is ignored, the signal keeps its default effect.
                Some(true) | None => None,
            },
        })
    }

    async fn next(&mut self) -> Exit {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => Exit::Interrupted,
            _ = self.terminate.recv() => Exit::Terminated,
            _ = hangup => Exit::HungUp,
        }
    }
}

/// Returns whether a signal was ignored when the program was started; `None` if the system does not say.
#[cfg(unix)]
fn is_ignored(signal: i32) -> Option<bool> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))?;
    let mask = u64::from_str_radix(mask.trim(), 16).ok()?;
    let bit = u32::try_from(signal).ok()?.checked_sub(1)?;
    Some(mask.checked_shr(bit)? & 1 == 1)
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) -> Exit {
        match tokio::signal::ctrl_c().await {
            Ok(()) => Exit::Interrupted,
            Err(_) => std::future::pending().await,
        }
    }
}

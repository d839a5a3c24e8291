//! The channels between the handles of a session and the task that owns its stream.

use std::future::{pending, ready};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::runtime;
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use z3950_asn1::apdu::{Apdu, InitializeRequest, Options, SortKeySpec};

use super::SessionOptions;
use crate::error::{Cause, Error, Phase, ProtocolFault};
use crate::protocol::driver::task::{CloseMode, Inbox};
use crate::protocol::driver::{Command, End, Reply, State, StateSender, Trigger};
use crate::protocol::service::init::ServerInfo;
#[cfg(feature = "sru")]
use crate::sru::task::DescriptionRequest;
use crate::transport::timeouts::Timeouts;

/// The number of requests that may be queued before callers have to wait.
const QUEUE: usize = 16;

/// The time within which a runtime begins to run a new task. If it takes longer, the runtime is assumed to have
/// stopped.
const RUNTIME_WAIT: Duration = Duration::from_secs(1);

/// The sending ends of the task's channels. Dropping this value closes the session.
#[derive(Debug)]
pub(super) struct Handle {
    pub(super) commands: mpsc::Sender<Command>,
    pub(super) triggers: mpsc::Sender<Trigger>,
    pub(super) closing: CancellationToken,
    /// The runtime that runs the task.
    pub(super) runtime: runtime::Handle,
    /// How to close the session, if not in the default way.
    pub(super) close_mode: Arc<OnceLock<CloseMode>>,
    pub(super) state: watch::Receiver<State>,
    /// The options for access control and resource control, which are offered if `SessionOptions` has handlers for
    /// them.
    pub(super) answered: Options,
    /// The number of requests that have not been answered: those in progress, dropped by their callers, or failed.
    pub(super) unanswered: AtomicUsize,
    /// Whether the server has answered any request after Init.
    pub(super) has_answered: AtomicBool,
    /// Whether the server has sent a count that is lower than the number of its records, and this has been logged.
    pub(super) has_logged_miscount: AtomicBool,
    /// The maximum number of operations in progress with concurrentOperations, and without it.
    pub(super) in_progress: (usize, usize),
    /// The channel for requests for an SRU server's description, or `None` for a Z39.50 server.
    #[cfg(feature = "sru")]
    pub(super) descriptions: Option<mpsc::Sender<DescriptionRequest>>,
}

impl Handle {
    /// Creates a handle, and the other ends of its channels for the task.
    pub(super) fn new(options: &SessionOptions) -> (Self, Inbox, StateSender) {
        let offered = |is_answered, option| {
            if is_answered {
                option
            } else {
                Options::default()
            }
        };
        let (commands, command_receiver) = mpsc::channel(QUEUE);
        let (triggers, trigger_receiver) = mpsc::channel(1);
        let (state, watched) = StateSender::new();
        let closing = CancellationToken::new();
        let close_mode = Arc::default();
        let inbox = Inbox {
            commands: command_receiver,
            triggers: trigger_receiver,
            closing: closing.clone(),
            close_mode: Arc::clone(&close_mode),
        };
        let handle = Self {
            commands,
            triggers,
            closing,
            runtime: runtime::Handle::current(),
            close_mode,
            state: watched,
            answered: offered(options.access_control.is_some(), Options::ACCESS_CONTROL)
                | offered(
                    options.resource_control.is_some(),
                    Options::RESOURCE_CONTROL,
                ),
            unanswered: AtomicUsize::new(0),
            has_answered: AtomicBool::new(false),
            has_logged_miscount: AtomicBool::new(false),
            in_progress: (
                options.max_in_progress(true),
                options.max_in_progress(false),
            ),
            #[cfg(feature = "sru")]
            descriptions: None,
        };
        (handle, inbox, state)
    }

    /// Sends Init and waits for its answer.
    pub(super) async fn init(
        &self,
        init: &InitializeRequest,
        timeouts: Timeouts,
    ) -> Result<Arc<ServerInfo>, Error> {
        let offered = InitializeRequest {
            options: init.options | self.answered,
            ..init.clone()
        };
        let response = self.ask(offered.clone().into(), Vec::new(), timeouts);
        let response = response.await?;
        Ok(Arc::new(ServerInfo::new(&offered, response)))
    }

    /// Sends a request and waits for its answer. Dropping the future does not disturb other requests: a request that
    /// has not been sent is dropped, and the answer to a request that has been sent is received and discarded.
    pub(super) async fn ask<T>(
        &self,
        request: Apdu,
        sort: Vec<SortKeySpec>,
        timeouts: Timeouts,
    ) -> Result<T, Error>
    where
        T: TryFrom<Apdu, Error = Apdu>,
    {
        let phase = Phase::of(&request);
        let (reply, answer) = Reply::new();
        let command = Command {
            request,
            sort,
            timeouts,
            reply,
        };
        let exchange = async {
            if self.commands.send(command).await.is_err() {
                return Err(self.too_late());
            }
            answer.await.unwrap_or_else(|_| Err(self.too_late()))
        };
        let answer = if self.is_in_runtime() {
            exchange.await
        } else {
            Box::pin(self.while_running(phase, exchange)).await
        };
        T::try_from(answer?)
            .map_err(|other| Error::fault(phase, ProtocolFault::Unexpected(other.name())))
    }

    /// Returns whether the caller runs in the tokio runtime that runs the session's task, or outside of any runtime.
    pub(super) fn is_in_runtime(&self) -> bool {
        let current = runtime::Handle::try_current().ok();
        current.is_none_or(|current| current.id() == self.runtime.id())
    }

    /// Makes a request from another runtime. It fails if the task's runtime stops running.
    async fn while_running(
        &self,
        phase: Phase,
        exchange: impl Future<Output = Result<Apdu, Error>>,
    ) -> Result<Apdu, Error> {
        if !self.is_running().await {
            return Err(self.too_late());
        }
        tokio::select! {
            biased;
            answer = exchange => answer,
            () = self.stopped() => {
                let cause = Cause::RuntimeEnded;
                Err(Error::Unavailable { phase, cause })
            }
        }
    }

    /// Returns whether the task's runtime runs tasks. If not, the session is closed.
    async fn is_running(&self) -> bool {
        let run = timeout(RUNTIME_WAIT, self.runtime.spawn(ready(()))).await;
        let is_running = matches!(run, Ok(Ok(())));
        if !is_running {
            self.closing.cancel();
        }
        is_running
    }

    /// Waits until the task's runtime no longer runs tasks, if it is not the caller's runtime.
    pub(super) async fn stopped(&self) {
        if self.is_in_runtime() {
            return pending().await;
        }
        while self.is_running().await {
            sleep(RUNTIME_WAIT).await;
        }
    }

    /// Returns the error for a request that the task did not accept. If the task has not published why it ended, it
    /// was dropped with its runtime, or its runtime is not running.
    pub(super) fn too_late(&self) -> Error {
        let end = self.state.borrow().end().cloned();
        end.unwrap_or_else(End::with_runtime).error()
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.closing.cancel();
    }
}

//! The way from a session's handles to its task, and what becomes of requests when the session ends.
//! The conversation itself is in `task`, the operations under way in `operations`, the stream in `wire`.

mod operations;
mod segments;
mod server_requests;
mod task;
mod wire;

use std::sync::{Arc, OnceLock};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, Span};
use z3950_asn1::apdu::{Apdu, Close, TriggerResourceControlRequest};

use crate::error::Error;
use crate::session::SessionOptions;
use crate::transport::Timeouts;
use task::Connection;

/// How many requests may wait for those in progress before callers wait to hand theirs over.
const QUEUE: usize = 16;

/// How a session ended.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum End {
    /// This side closed it.
    Closed,
    /// Something went wrong, or the server closed it.
    Failed(Arc<Error>),
}

impl End {
    /// What a request learns that comes too late.
    fn error(&self) -> Error {
        match self {
            Self::Closed => Error::Ended { cause: None },
            Self::Failed(error) => Error::Ended {
                cause: Some(error.clone()),
            },
        }
    }
}

/// How far a session has come.
#[derive(Debug, Clone)]
enum State {
    Open,
    /// No request is taken any more; farewells may still be on their way.
    Ended(End),
    /// The stream is closed.
    Gone(End),
}

impl State {
    fn end(&self) -> Option<&End> {
        match self {
            Self::Open => None,
            Self::Ended(end) | Self::Gone(end) => Some(end),
        }
    }
}

/// A request on its way to the task.
struct Command {
    request: Apdu,
    timeouts: Timeouts,
    reply: oneshot::Sender<Result<Apdu, Error>>,
}

/// A TriggerResourceControl on its way to the task, for every operation in progress; the reply is their number.
struct Trigger {
    request: TriggerResourceControlRequest,
    reply: oneshot::Sender<usize>,
}

/// The other end of the task. Dropping it closes the session.
#[derive(Debug)]
pub(crate) struct Handle {
    commands: mpsc::Sender<Command>,
    triggers: mpsc::Sender<Trigger>,
    closing: CancellationToken,
    /// The Close to send, where it is not the usual one.
    farewell: Arc<OnceLock<Close>>,
    state: watch::Receiver<State>,
}

/// Starts the task that owns `stream`, on the current tokio runtime.
pub(crate) fn spawn<S>(stream: S, options: &SessionOptions, span: Span) -> Handle
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (command_sender, commands) = mpsc::channel(QUEUE);
    let (trigger_sender, triggers) = mpsc::channel(1);
    let (state, watched) = watch::channel(State::Open);
    let closing = CancellationToken::new();
    let farewell = Arc::default();
    let connection = Connection::new(
        stream,
        options,
        task::Orders {
            commands,
            triggers,
            closing: closing.clone(),
            farewell: Arc::clone(&farewell),
        },
        state,
    );
    // In a box: what is moved into the runtime is then small.
    tokio::spawn(Box::pin(connection.run()).instrument(span));
    Handle {
        commands: command_sender,
        triggers: trigger_sender,
        closing,
        farewell,
        state: watched,
    }
}

impl Handle {
    /// Sends a request and waits for its answer, which [`service::examine`](crate::service::examine) has let through.
    ///
    /// Dropping the future leaves the session in step: a request not yet sent is not sent, and the answer to
    /// one that was is taken and dropped.
    pub(crate) async fn ask(&self, request: Apdu, timeouts: Timeouts) -> Result<Apdu, Error> {
        let (reply, answer) = oneshot::channel();
        let command = Command {
            request,
            timeouts,
            reply,
        };
        if self.commands.send(command).await.is_err() {
            return Err(self.too_late());
        }
        answer.await.unwrap_or_else(|_| Err(self.too_late()))
    }

    /// Sends a TriggerResourceControl for each operation in progress, ahead of requests that wait; answers for how many.
    pub(crate) async fn trigger(
        &self,
        request: TriggerResourceControlRequest,
    ) -> Result<usize, Error> {
        let (reply, count) = oneshot::channel();
        if self
            .triggers
            .send(Trigger { request, reply })
            .await
            .is_err()
        {
            return Err(self.too_late());
        }
        count.await.map_err(|_| self.too_late())
    }

    /// Closes the session, operations in progress or not; returns when the stream is closed.
    ///
    /// `farewell` is what is said instead of the usual word; only the first one counts.
    pub(crate) async fn close(&self, farewell: Option<Close>) -> Result<(), Error> {
        if let Some(close) = farewell {
            // Who closes first has the last word.
            let _ = self.farewell.set(close);
        }
        self.closing.cancel();
        let mut state = self.state.clone();
        let gone = state
            .wait_for(|state| matches!(state, State::Gone(_)))
            .await;
        match gone.as_deref() {
            Ok(State::Gone(end @ End::Failed(_))) => Err(end.error()),
            _ => Ok(()),
        }
    }

    /// Whether requests are taken.
    pub(crate) fn is_open(&self) -> bool {
        self.state.borrow().end().is_none() && !self.closing.is_cancelled()
    }

    /// Waits until no request is taken any more.
    pub(crate) async fn ended(&self) -> End {
        let mut state = self.state.clone();
        let ended = state.wait_for(|state| state.end().is_some()).await;
        ended
            .ok()
            .and_then(|state| state.end().cloned())
            .unwrap_or(End::Closed)
    }

    fn too_late(&self) -> Error {
        self.state
            .borrow()
            .end()
            .map_or(Error::Ended { cause: None }, End::error)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.closing.cancel();
    }
}

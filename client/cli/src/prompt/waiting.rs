//! Waits for the responses to requests, either immediately or, if `set_auto_wait` is off, when `wait_response` is
//! entered. Also contains the commands `cancel`, which asks the server to stop the current operation (Z39.50-2003
//! §3.2.6.2), `sleep` and `!`.

use std::future::{Future, poll_fn, ready};
use std::io::{self, IsTerminal};
use std::pin::Pin;
use std::process::{ExitStatus, Stdio};
use std::task::Poll;
use std::time::Duration;

use tokio::process::Command;
use tokio::task::yield_now;
use z3950::error::Error;
use z3950::session::Session;
use z3950_asn1::apdu::TriggerResourceControlRequest;

use super::command::{CommandResult, Refusal, number, number_or};
use super::state::{Finish, OpenedSession, PendingRequest, Prompt};
use crate::console::exit::Exit;
use crate::console::output::{Failure, Output};
use crate::console::report::explain;

/// The maximum number of pending requests.
const MAX_UNDER_WAY: usize = 100;

/// The maximum number of attempts to cancel a search that has not been sent yet.
const MAX_TRIES: usize = 1000;

/// The future of a request, which completes when the response has arrived.
pub(super) type Request = Pin<Box<dyn Future<Output = Result<Finish, Error>> + Send>>;

/// Creates a request for [`Prompt::send`], which waits for the response and passes it to `finish`.
pub(super) fn request<T: Send + 'static>(
    answer: impl Future<Output = Result<T, Error>> + Send + 'static,
    finish: impl FnOnce(&mut Prompt, T, &mut Output) -> CommandResult + Send + 'static,
) -> Request {
    Box::pin(async move {
        let answer = answer.await?;
        let finish: Finish = Box::new(move |state, output| finish(state, answer, output));
        Ok(finish)
    })
}

impl Prompt {
    /// Sends a request and handles its response. If `set_auto_wait` is off, the response is left to `wait_response`.
    pub(super) async fn send(
        &mut self,
        make: impl FnOnce(Session) -> Request,
        output: &mut Output,
    ) -> CommandResult {
        let session = self.session()?;
        let request = make(session.clone());
        if !self.settings.auto_wait {
            return self.leave_under_way(session, request).await;
        }
        request.await?(self, output)
    }

    /// Sends a request like [`send`](Self::send). The request must not depend on the state of the session, because it
    /// is sent in a new session if the server has closed the current one and `set_auto_reconnect` allows this.
    pub(super) async fn send_anywhere(
        &mut self,
        make: impl Fn(Session) -> Request,
        output: &mut Output,
    ) -> CommandResult {
        self.reopen_if_closed(output).await?;
        if !self.settings.auto_wait {
            return self.send(make, output).await;
        }
        let reconnects = self.settings.reconnects;
        let finish = match make(self.session()?).await {
            Err(error) if reconnects.allows(&error) => {
                self.reopen(output).await?;
                make(self.session()?).await?
            }
            result => result?,
        };
        finish(self, output)
    }

    /// Sends a request without waiting for the response.
    async fn leave_under_way(&mut self, session: Session, mut request: Request) -> CommandResult {
        let asked = &mut self.under_way;
        if asked.len() >= MAX_UNDER_WAY {
            return Err(Refusal::wrong(format!(
                "{MAX_UNDER_WAY} requests are pending; wait_response waits for their responses"
            )));
        }
        // The request is polled at once, so that requests are sent in order.
        let answer = match begun(&mut request).await {
            Some(result) => tokio::spawn(ready(result)),
            None => tokio::spawn(request),
        };
        asked.push_back(PendingRequest { session, answer });
        Ok(Exit::Delivered)
    }

    /// Waits for the responses to the oldest pending requests, and handles them. `count` is the number of responses,
    /// one by default.
    pub(super) async fn wait_response(
        &mut self,
        count: &str,
        output: &mut Output,
    ) -> CommandResult {
        let count: usize = number_or(count, 1)?;
        let mut exit = Exit::Delivered;
        for _ in 0..count.max(1) {
            let Some(asked) = self.under_way.front_mut() else {
                output.note("no request is pending");
                break;
            };
            let answer = (&mut asked.answer).await;
            let Some(PendingRequest { session, .. }) = self.under_way.pop_front() else {
                break;
            };
            let finished = match answer {
                Ok(Ok(finish)) => self.finish(&session, finish, output),
                Ok(Err(error)) => Err(error.into()),
                Err(_) => Err(Refusal::wrong("the request was abandoned")),
            };
            exit = exit.and(match finished {
                Err(Refusal::Because(exit, reason)) => {
                    output.error(&reason);
                    exit
                }
                finished => finished?,
            });
        }
        Ok(exit)
    }

    /// Waits for the responses to all pending requests. This is done before the sessions are closed.
    pub(super) async fn last_responses(&mut self, output: &mut Output) -> Result<Exit, Failure> {
        let count = self.under_way.len();
        if count == 0 {
            return Ok(Exit::Delivered);
        }
        let requests = if count == 1 { "request" } else { "requests" };
        output.note(&format!("waiting for {count} pending {requests}"));
        let answer = self.wait_response(&count.to_string(), output).await;
        self.report_refusal(answer, "wait_response [COUNT]", output)
    }

    /// Handles a response. While it is handled, the session that sent the request is the current session.
    fn finish(&mut self, session: &Session, finish: Finish, output: &mut Output) -> CommandResult {
        let of_session = |opened: &OpenedSession| opened.session.is_same(session);
        let Some(index) = self.sessions.iter().position(of_session) else {
            return Err(Refusal::wrong("the session of this request is closed"));
        };
        let current = std::mem::replace(&mut self.current, index);
        let answer = finish(self, output);
        self.current = current;
        answer
    }

    /// Asks the server to stop the current operation. With the argument `wait`, also waits for the response to the
    /// oldest pending request.
    pub(super) async fn cancel(&mut self, text: &str, output: &mut Output) -> CommandResult {
        if !matches!(text, "" | "wait") {
            return Err(Refusal::Usage);
        }
        let cancel = TriggerResourceControlRequest::cancel();
        let count = self.session()?.trigger_resource_control(cancel).await?;
        output.line(&format!("operations in progress: {count}"))?;
        match text {
            "wait" => self.wait_response("", output).await,
            _ => Ok(Exit::Delivered),
        }
    }

    /// Sends a search and cancels it immediately. If the server completes the search nevertheless, its result is used.
    pub(super) async fn cancel_find(&mut self, text: &str, output: &mut Output) -> CommandResult {
        let make = self.search(text, output)?;
        let session = self.session()?;
        let mut request = make(session.clone());
        let mut result = None;
        for _ in 0..MAX_TRIES {
            result = begun(&mut request).await;
            if result.is_some() {
                output.note("the search was over before it could be cancelled");
                break;
            }
            let cancel = TriggerResourceControlRequest::cancel();
            match session.trigger_resource_control(cancel).await {
                // The search has not been sent yet, so let it proceed before trying to cancel it again.
                Ok(0) => yield_now().await,
                Ok(_) => break,
                Err(error) => {
                    output.warning(&format!("the search continues: {}", explain(&error).1));
                    break;
                }
            }
        }
        match result {
            Some(result) => result?(self, output),
            None if self.settings.auto_wait => request.await?(self, output),
            None => self.leave_under_way(session, request).await,
        }
    }
}

/// Polls a request once, which starts it. Returns its result if it has already completed.
async fn begun(request: &mut Request) -> Option<Result<Finish, Error>> {
    poll_fn(|context| match request.as_mut().poll(context) {
        Poll::Ready(result) => Poll::Ready(Some(result)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

/// Runs a shell command, or an interactive shell. If the prompt reads from a pipe, the command cannot read from it,
/// because the lines in the pipe are commands for the prompt.
pub(super) async fn shell(command: &str, output: &mut Output) -> CommandResult {
    let variable = std::env::var_os("SHELL").filter(|shell| !shell.is_empty());
    let mut shell = Command::new(match command {
        "" => variable.unwrap_or_else(|| "sh".into()),
        _ => "sh".into(),
    });
    if !command.is_empty() {
        shell.args(["-c", command]);
    }
    if !io::stdin().is_terminal() {
        shell.stdin(Stdio::null());
    }
    let status = {
        let _held = output.waiting().hold();
        shell.kill_on_drop(true).status().await
    };
    let status =
        status.map_err(|error| Refusal::wrong(format!("cannot run {command}: {error}")))?;
    if is_interrupted(status) {
        // Ctrl-C was also sent to this program. Wait for the signal here, so that it does not end the next command.
        tokio::time::sleep(NOTICED).await;
    }
    if status.success() {
        return Ok(Exit::Delivered);
    }
    output.error(&format!("the command ended with {status}"));
    Ok(Exit::Unexpected)
}

/// The maximum time to wait until the program has received a signal that the terminal has already sent.
const NOTICED: Duration = Duration::from_secs(1);

/// Returns whether a shell command was ended by Ctrl-C.
#[cfg(unix)]
fn is_interrupted(status: ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt;

    let interrupt = rustix::process::Signal::INT.as_raw();
    status.signal() == Some(interrupt) || status.code() == Some(128 + interrupt)
}

#[cfg(not(unix))]
fn is_interrupted(_: ExitStatus) -> bool {
    false
}

pub(super) async fn sleep(text: &str, output: &Output) -> CommandResult {
    let seconds: f64 = number(text)?;
    let wait = Duration::try_from_secs_f64(seconds).map_err(|_| Refusal::Usage)?;
    let _held = output.waiting().hold();
    tokio::time::sleep(wait).await;
    Ok(Exit::Delivered)
}

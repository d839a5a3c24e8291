//! Requests and the wait for their answers: at once, or later by `wait_response` where `set_auto_wait` is off; and
//! `cancel`, which tells the server to stop what is under way (Z39.50-2003 §3.2.6.2).

use std::collections::VecDeque;
use std::future::{Future, poll_fn, ready};
use std::pin::Pin;
use std::task::Poll;

use tokio::task::{JoinHandle, yield_now};
use z3950::error::Error;
use z3950::service::resource::TriggerOptions;
use z3950::session::Session;

use super::command::{Answer, Stop};
use super::settings::Reconnects;
use super::state::State;
use crate::console::exit::Exit;
use crate::console::output::Output;

/// The most requests under way at once.
const MAX_UNDER_WAY: usize = 100;

/// How often a request is given time to be sent before it is cancelled.
const MAX_TRIES: usize = 1000;

/// What is to be done with an answer that has come.
pub(super) type Finish = Box<dyn FnOnce(&mut State, &mut Output) -> Answer + Send>;

/// A request and the wait for its answer.
pub(super) type Request = Pin<Box<dyn Future<Output = Result<Finish, Error>> + Send>>;

/// Requests whose answers are not waited for, oldest first.
#[derive(Default)]
pub(super) struct UnderWay(VecDeque<Asked>);

impl UnderWay {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

struct Asked {
    session: Session,
    answer: JoinHandle<Result<Finish, Error>>,
}

/// A request, as [`State::send`] takes it: made for a session, waited for, and its answer then handed to `finish`.
pub(super) fn request<T: Send + 'static>(
    answer: impl Future<Output = Result<T, Error>> + Send + 'static,
    finish: impl FnOnce(&mut State, T, &mut Output) -> Answer + Send + 'static,
) -> Request {
    Box::pin(async move {
        let answer = answer.await?;
        let finish: Finish = Box::new(move |state, output| finish(state, answer, output));
        Ok(finish)
    })
}

impl State {
    /// Makes a request. Where answers are not waited for, it is sent, and `wait_response` takes up the answer.
    pub(super) async fn send(
        &mut self,
        make: impl Fn(Session) -> Request,
        output: &mut Output,
    ) -> Answer {
        let session = self.session()?;
        let request = make(session.clone());
        if !self.settings.auto_wait {
            return self.leave_under_way(session, request).await;
        }
        request.await?(self, output)
    }

    /// The same for a request that depends on nothing that the session knows: it is made on another session, as the
    /// setting `set_auto_reconnect` says, where the server has dropped this one.
    pub(super) async fn send_anywhere(
        &mut self,
        make: impl Fn(Session) -> Request,
        output: &mut Output,
    ) -> Answer {
        let reconnects = self.settings.reconnects;
        if reconnects != Reconnects::Never && self.place().is_some() && !self.is_open() {
            self.reopen(output).await?;
        }
        let session = self.session()?;
        let request = make(session.clone());
        if !self.settings.auto_wait {
            return self.leave_under_way(session, request).await;
        }
        let finish = match request.await {
            Err(error) if reconnects.allows(&error) => {
                self.reopen(output).await?;
                make(self.session()?).await?
            }
            result => result?,
        };
        finish(self, output)
    }

    /// Sends a request now, whatever else goes on meanwhile.
    async fn leave_under_way(&mut self, session: Session, mut request: Request) -> Answer {
        let asked = &mut self.under_way.0;
        if asked.len() >= MAX_UNDER_WAY {
            return Err(Stop::wrong(format!(
                "{MAX_UNDER_WAY} requests are pending; wait_response waits for their responses"
            )));
        }
        // Requests go out in the order in which they were made.
        let answer = match begun(&mut request).await {
            Some(result) => tokio::spawn(ready(result)),
            None => tokio::spawn(request),
        };
        asked.push_back(Asked { session, answer });
        Ok(Exit::Delivered)
    }

    /// Takes up the answers of the oldest requests under way, one unless a number is given.
    pub(super) async fn wait_response(&mut self, count: &str, output: &mut Output) -> Answer {
        let count: usize = match count {
            "" => 1,
            number => number.parse().map_err(|_| Stop::Usage)?,
        };
        let mut exit = Exit::Delivered;
        for _ in 0..count.max(1) {
            let Some(asked) = self.under_way.0.front_mut() else {
                output.note("no request is pending");
                break;
            };
            let answer = (&mut asked.answer).await;
            let Some(Asked { session, .. }) = self.under_way.0.pop_front() else {
                break;
            };
            let finished = match answer {
                Ok(Ok(finish)) => self.finish(&session, finish, output),
                Ok(Err(error)) => Err(error.into()),
                Err(_) => Err(Stop::wrong("the request was abandoned")),
            };
            exit = exit.and(match finished {
                Err(Stop::Because(exit, reason)) => {
                    output.error(&reason);
                    exit
                }
                finished => finished?,
            });
        }
        Ok(exit)
    }

    /// Hands an answer to the session it is of, whichever one commands are for now.
    fn finish(&mut self, session: &Session, finish: Finish, output: &mut Output) -> Answer {
        let of_session = |place: &super::state::Place| place.session.is_same(session);
        let Some(index) = self.places.iter().position(of_session) else {
            return Err(Stop::wrong("the session of this request is closed"));
        };
        let current = std::mem::replace(&mut self.current, index);
        let answer = finish(self, output);
        self.current = current;
        answer
    }

    /// Tells the server to stop what is under way; with `wait`, takes up what it answers then.
    pub(super) async fn cancel(&mut self, text: &str, output: &mut Output) -> Answer {
        if !matches!(text, "" | "wait") {
            return Err(Stop::Usage);
        }
        let options = TriggerOptions::default();
        let count = self.session()?.trigger_resource_control(&options).await?;
        output.line(&format!("operations in progress: {count}"))?;
        match text {
            "wait" => self.wait_response("", output).await,
            _ => Ok(Exit::Delivered),
        }
    }

    /// Searches, and tells the server at once to stop. What it answers all the same counts.
    pub(super) async fn cancel_find(&mut self, text: &str, output: &mut Output) -> Answer {
        let make = self.search(text, output)?;
        let session = self.session()?;
        let mut request = make(session.clone());
        let options = TriggerOptions::default();
        let mut result = None;
        for _ in 0..MAX_TRIES {
            result = begun(&mut request).await;
            if result.is_some() {
                output.note("the search was over before it could be cancelled");
                break;
            }
            match session.trigger_resource_control(&options).await {
                // It has not been sent yet.
                Ok(0) => yield_now().await,
                Ok(_) => break,
                Err(error) => {
                    output.warning(&format!(
                        "the search continues: {}",
                        crate::console::report::explain(&error).1
                    ));
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

/// Lets a request go as far as it can now; its result, if that was all.
async fn begun(request: &mut Request) -> Option<Result<Finish, Error>> {
    poll_fn(|context| match request.as_mut().poll(context) {
        Poll::Ready(result) => Poll::Ready(Some(result)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

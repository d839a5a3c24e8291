//! Serves HTTP on the Z39.50 listeners (RFC 9110, RFC 9112). A connection whose first octet is a letter carries SRU requests, and
//! other requests if a handler for them is set. The limits, connection slots, totals and reasons for closing are the same as for
//! Z39.50 connections. hyper reads and writes the messages.

mod answer;
mod answerer;
mod fault;
mod observed;
mod outgoing;
mod request;
mod sessions;
mod wire;

use std::borrow::Cow;
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::Poll;

use bytes::Bytes;
use hyper::StatusCode;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tracing::{debug, info};

use self::answer::plain;
use self::answerer::Answerer;
use self::wire::{Exchange, Phase, Wire};
use crate::connection::stream::{self, Transport};
use crate::connection::tally::Tally;
use crate::connection::{Client, Context, far_away};
use crate::lock::lock;
use crate::metrics::SessionEnd;

/// The maximum length of the head of a request, in octets. Longer heads get status 431; URLs of more than 65,534 octets get 414.
const MAX_HEAD: usize = 128 << 10;
/// The maximum length of a URL in octets, which is hyper's limit. The maximum number of header fields is also hyper's
/// limit.
const MAX_URL: usize = 65_534;
const MAX_FIELDS: usize = 100;

/// The reason for the end of an HTTP connection.
#[derive(Debug)]
enum HttpEnd {
    /// The last answer was sent.
    Done(SessionEnd),
    /// The connection ends with this status instead of an answer.
    Status(SessionEnd, StatusCode, Cow<'static, str>),
    /// The stream failed, or the client sent something malformed.
    Failed(hyper::Error),
    /// A fault resets or closes the connection.
    Fault { reset: bool },
}

/// Serves a connection from which some octets have already been read, until the client or a limit ends it, or until `stopping`
/// turns true and the answer in progress is sent.
pub(crate) async fn serve<S: Transport>(
    stream: &mut S,
    octets: Bytes,
    client: &Client,
    context: &Arc<Context>,
    stopping: &watch::Receiver<bool>,
    tally: &mut Tally,
) {
    let session = answerer::session(client, context);
    let exchange = Exchange::new(client.begun, session.no_charge());
    let exchange = Arc::new(Mutex::new(exchange));
    let is_z3950_only = match (&context.replayed, &context.recorded) {
        (Some(_), _) => {
            Some("recorded conversations of Z39.50 are replayed here, and SRU is not answered\n")
        }
        (None, Some(_)) => {
            Some("conversations of Z39.50 are recorded here, and SRU is not passed on\n")
        }
        (None, None) => None,
    };
    let end = match is_z3950_only {
        Some(words) => HttpEnd::Status(
            SessionEnd::ProtocolError,
            StatusCode::NOT_IMPLEMENTED,
            words.into(),
        ),
        None => {
            let connection = HttpConnection {
                client,
                context,
                exchange: &exchange,
                stopping: stopping.clone(),
            };
            let secure = S::IS_ENCRYPTED;
            let answerer =
                Answerer::new(session, client, context, &exchange, stopping, tally, secure);
            let wire = Wire::new(stream, octets, &exchange);
            connection.run(wire, answerer).await
        }
    };
    let limits = &context.target.limits;
    let (has_ended, refused) = {
        let exchange = lock(&exchange);
        (exchange.has_ended(), exchange.refused)
    };
    let end = match end {
        HttpEnd::Failed(error) => failed(error, refused, tally),
        end => end,
    };
    let mut is_closed = true;
    match end {
        HttpEnd::Done(end) => {
            tally.ends(end, None);
            is_closed = end != SessionEnd::Lost;
        }
        HttpEnd::Status(end, status, words) => {
            tally.ends(end, Some(&words.trim_end()));
            let server = answerer::server_name(&context.target);
            let message = plain(status, words.into_owned()).last_octets(server.as_ref());
            tally.http_counted((0, message.len() as u64));
            is_closed = stream::write(stream, &message, limits.write_time)
                .await
                .is_ok();
        }
        HttpEnd::Fault { reset } => {
            tally.ends(SessionEnd::Fault, None);
            if reset {
                stream.reset();
                return;
            }
        }
        // `failed` has already recorded the reason in the tally.
        HttpEnd::Failed(_) => is_closed = false,
    }
    // Wait for the rest of what the client sends. A client that has closed its sending side has sent everything, or is gone.
    if is_closed && (!has_ended || S::ANNOUNCES_END) {
        stream::linger(stream, limits.linger_time, |_| {}).await;
    }
}

/// Converts an error from hyper to the reason for the end of the connection. `refused` is the status with which hyper has refused
/// the request, if it has refused it without sending anything.
fn failed(error: hyper::Error, refused: Option<StatusCode>, tally: &mut Tally) -> HttpEnd {
    let cause = std::error::Error::source(&error).and_then(|cause| cause.downcast_ref());
    let kind = cause.map(io::Error::kind);
    debug!(%error, "connection failed");
    if error.is_parse_version_h2() {
        let words = "HTTP/1.1 only\n".into();
        let status = StatusCode::HTTP_VERSION_NOT_SUPPORTED;
        return HttpEnd::Status(SessionEnd::ProtocolError, status, words);
    }
    if kind == Some(io::ErrorKind::QuotaExceeded) {
        let words = "the server keeps as many octets as it may\n".into();
        return HttpEnd::Status(SessionEnd::Lost, StatusCode::SERVICE_UNAVAILABLE, words);
    }
    if error.is_parse() {
        if let Some(status) = refused {
            let words = match status {
                StatusCode::URI_TOO_LONG => format!("the URL has more than {MAX_URL} octets\n"),
                StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => format!(
                    "the head of the request has more than {MAX_HEAD} octets, or {MAX_FIELDS} fields\n"
                ),
                _ => format!("the request cannot be read: {error}\n"),
            };
            return HttpEnd::Status(SessionEnd::ProtocolError, status, words.into());
        }
        // hyper has already written its own error response after the previous response, so nothing more is sent.
        tally.ends(SessionEnd::ProtocolError, Some(&error));
        return HttpEnd::Done(SessionEnd::ProtocolError);
    }
    tally.ends(SessionEnd::Lost, Some(&error));
    HttpEnd::Failed(error)
}

/// The state of a connection, without its stream, which hyper owns.
struct HttpConnection<'a> {
    client: &'a Client,
    context: &'a Context,
    exchange: &'a Mutex<Exchange>,
    stopping: watch::Receiver<bool>,
}

impl HttpConnection<'_> {
    async fn run<S: Transport>(&self, wire: Wire<'_, S>, answerer: Answerer<'_>) -> HttpEnd {
        let limits = &self.context.target.limits;
        let answerer = tokio::sync::Mutex::new(answerer);
        let service = service_fn(|request| {
            let octets = lock(self.exchange).take_head();
            // The box keeps the futures of idle connections small.
            Box::pin(async { answerer.lock().await.answer(request, octets).await })
        });
        let mut http = http1::Builder::new();
        http.max_buf_size(MAX_HEAD).writev(true);
        let mut http = http.serve_connection(wire, service);
        let mut stopping = self.stopping.clone();
        // An error means that the server was dropped, which also stops the connection.
        let mut stopped = pin!(async move { drop(stopping.wait_for(|stopping| *stopping).await) });
        let mut is_stopping = false;
        let mut alarm = pin!(sleep_until(far_away()));
        // The number of answered requests when the connection slot was last notified.
        let mut answered = None;
        poll_fn(|context| {
            loop {
                let polled = Pin::new(&mut http).poll(context);
                let exchange = lock(self.exchange);
                if let Some(reset) = exchange.cut() {
                    return Poll::Ready(HttpEnd::Fault { reset });
                }
                match polled {
                    Poll::Ready(Ok(())) => return Poll::Ready(HttpEnd::Done(exchange.end())),
                    Poll::Ready(Err(error)) => return Poll::Ready(HttpEnd::Failed(error)),
                    Poll::Pending => {}
                }
                let (phase, deadline) = (exchange.phase, exchange.deadline(limits));
                let (has_ended, now_answered) = (exchange.has_ended(), exchange.answered);
                drop(exchange);
                let is_idle = matches!(phase, Phase::Idle | Phase::Asking);
                if has_ended && is_idle {
                    return Poll::Ready(HttpEnd::Done(SessionEnd::Left));
                }
                if !is_stopping && stopped.as_mut().poll(context).is_ready() {
                    is_stopping = true;
                    if is_idle || phase == Phase::Withheld {
                        return Poll::Ready(stopped_in(phase));
                    }
                    Pin::new(&mut http).graceful_shutdown();
                    continue;
                }
                if let Some(slot) = &self.client.slot {
                    if is_idle {
                        if now_answered > 0 && answered != Some(now_answered) {
                            slot.open();
                            slot.idle(Instant::now());
                            answered = Some(now_answered);
                        }
                    } else if answered.is_none() {
                        slot.open();
                        answered = Some(0);
                    } else {
                        slot.busy();
                    }
                    if is_idle && slot.poll_called(context).is_ready() {
                        info!("gave way to a further connection");
                        return Poll::Ready(HttpEnd::Done(SessionEnd::GaveWay));
                    }
                }
                if let Some(deadline) = deadline.filter(|deadline| *deadline < alarm.deadline()) {
                    alarm.as_mut().reset(deadline);
                }
                if alarm.as_mut().poll(context).is_pending() {
                    return Poll::Pending;
                }
                // The alarm may have been set for the deadline of an earlier phase, so the deadline is checked again.
                let is_due = deadline.is_some_and(|deadline| deadline <= Instant::now());
                alarm.as_mut().reset(far_away());
                if is_due {
                    return Poll::Ready(time_over(phase, now_answered, has_ended));
                }
            }
        })
        .await
    }
}

/// Returns how to end a connection whose phase has exceeded its time limit.
fn time_over(phase: Phase, answered: u64, has_ended: bool) -> HttpEnd {
    match phase {
        Phase::Idle if answered == 0 => {
            info!("no request in time");
            HttpEnd::Done(SessionEnd::NoInit)
        }
        Phase::Asking => {
            info!("no complete request in time");
            let words = "the request took too long to arrive\n";
            let end = match answered {
                0 => SessionEnd::NoInit,
                _ => SessionEnd::Idle,
            };
            HttpEnd::Status(end, StatusCode::REQUEST_TIMEOUT, words.into())
        }
        // The client disconnected before its answer was ready.
        Phase::Answering | Phase::Withheld => HttpEnd::Done(SessionEnd::Left),
        Phase::Delayed if has_ended => HttpEnd::Done(SessionEnd::Left),
        Phase::Idle | Phase::Delayed => {
            info!("no activity");
            HttpEnd::Done(SessionEnd::Idle)
        }
        // The client has not read its answer in time.
        Phase::Sending => HttpEnd::Done(SessionEnd::Lost),
    }
}

/// Returns how to end a connection that has no answer in progress when the server stops.
fn stopped_in(phase: Phase) -> HttpEnd {
    match phase {
        Phase::Asking => {
            let words = "the server is stopping\n";
            let status = StatusCode::SERVICE_UNAVAILABLE;
            HttpEnd::Status(SessionEnd::Stopped, status, words.into())
        }
        _ => HttpEnd::Done(SessionEnd::Stopped),
    }
}

#[cfg(test)]
mod tests;

//! Makes one request and receives its reply over one connection, within limits of time and size (RFC 1436 §2). A
//! minimum number of octets must arrive within each wait, so that a server cannot prolong the reply by sending single
//! octets.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::header::Length;
use super::text::LoneDot;
use super::{GopherError, GopherOptions, GopherPlan};
use crate::error::{Cause, Error, Phase};
use crate::transport::Connect;

/// The number of octets that must arrive within each [`Timeouts::answer`](crate::Timeouts), unless the reply ends
/// earlier.
const LEAST: usize = 1024;
/// How long to wait for further octets or the end of the connection after a lone dot, to find out whether the dot is
/// part of a file.
const LINGER: Duration = Duration::from_secs(1);
/// The maximum number of octets to read at a time.
const CHUNK: usize = 16 * 1024;

/// Sends the request for a plan, and receives the reply until it is complete or the connection ends. Returns the reply,
/// and whether the server keeps the connection open.
pub(super) async fn exchange(
    plan: &GopherPlan,
    options: &GopherOptions,
    connector: &dyn Connect,
) -> Result<(Vec<u8>, bool), GopherError> {
    let timeouts = &options.timeouts;
    let mut stream = connector.connect(&plan.host, plan.port, timeouts).await?;
    let mut reply = Vec::new();
    let mut limit = timeouts.to_answer();
    limit
        .hold(Phase::Idle, async {
            stream.write_all(&plan.request).await?;
            stream.flush().await
        })
        .await
        .map_err(|error| timed_out(0, error))?
        .map_err(|error| lost(0, error))?;
    let mut chunk = vec![0; CHUNK];
    let mut within = 0;
    let mut dot = LoneDot::default();
    while !plan.is_complete(&reply, &mut dot) {
        // A file that is sent unchanged may contain a lone dot. In that case, more octets follow immediately.
        let has_ended = plan.may_go_on_after_dot(&reply) && dot.is_in(&reply);
        let read = limit.hold(Phase::Idle, stream.read(&mut chunk));
        let read = if has_ended {
            tokio::time::timeout(LINGER, read).await.ok()
        } else {
            Some(read.await)
        };
        let count = match read {
            Some(Ok(Ok(0))) => return Ok((reply, false)),
            Some(Ok(Ok(count))) => count,
            None | Some(Ok(Err(_)) | Err(_)) if has_ended => break,
            Some(Ok(Err(error))) => return Err(lost(reply.len(), error)),
            Some(Err(error)) => return Err(timed_out(reply.len(), error)),
            None => break,
        };
        if reply.len() + count > options.max_octets && has_ended {
            break;
        }
        reply.extend_from_slice(chunk.get(..count).unwrap_or_default());
        if reply.len() > options.max_octets || announces(plan, &reply) > options.max_octets {
            return Err(GopherError::TooLarge(options.max_octets));
        }
        within += count;
        if within >= LEAST {
            within = 0;
            limit = timeouts.to_answer();
        }
    }
    Ok((reply, true))
}

/// Returns the length of the body in octets, as announced in the header; 0 if none is announced.
fn announces(plan: &GopherPlan, reply: &[u8]) -> usize {
    match plan.header(reply).map(|header| header.length) {
        Some(Length::Octets(length)) => length,
        _ => 0,
    }
}

fn timed_out(received: usize, error: Error) -> GopherError {
    match error {
        Error::Unavailable { cause, .. } => GopherError::Interrupted { received, cause },
        error => GopherError::Connect(error),
    }
}

fn lost(received: usize, error: std::io::Error) -> GopherError {
    GopherError::Interrupted {
        received,
        cause: Cause::Other(Arc::new(error)),
    }
}

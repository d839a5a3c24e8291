//! One request and its reply over one connection, within the time and the size allowed (RFC 1436 §2).
//! A server that trickles is as bad as one that is silent: each wait has to bring something worth waiting for.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::header::Length;
use super::text::LoneDot;
use super::{GopherError, GopherOptions, GopherPlan};
use crate::error::{Cause, Error, Phase};
use crate::transport::Connect;

/// Octets that must come within each [`Timeouts::answer`](crate::Timeouts), unless the reply ends.
const LEAST: usize = 1024;
/// How long to wait for octets after the lone dot that ends a text: servers that send files as they are may send more.
const LINGER: Duration = Duration::from_millis(200);
/// Octets read at a time.
const CHUNK: usize = 16 * 1024;

/// Sends the request of a plan and collects the reply, up to its end or that of the connection.
pub(super) async fn exchange(
    plan: &GopherPlan,
    options: &GopherOptions,
    connector: &dyn Connect,
) -> Result<Vec<u8>, GopherError> {
    let timeouts = &options.timeouts;
    let mut stream = connector
        .connect(plan.host(), plan.port(), timeouts)
        .await?;
    let mut reply = Vec::new();
    let mut limit = timeouts.to_answer();
    limit
        .hold(Phase::Idle, async {
            stream.write_all(plan.request()).await?;
            stream.flush().await
        })
        .await
        .map_err(|error| timed_out(0, error))?
        .map_err(|error| lost(0, error))?;
    let mut chunk = vec![0; CHUNK];
    let mut within = 0;
    let mut dot = LoneDot::default();
    while !plan.is_complete(&reply, &mut dot) {
        let count = match limit.hold(Phase::Idle, stream.read(&mut chunk)).await {
            Ok(Ok(0)) => return Ok(reply),
            Ok(Ok(count)) => count,
            Ok(Err(error)) => return Err(lost(reply.len(), error)),
            Err(error) => return Err(timed_out(reply.len(), error)),
        };
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
    if plan.ends_with_dot(&reply) {
        let linger = tokio::time::sleep(LINGER);
        tokio::pin!(linger);
        // What follows the dot is no part of the text, and worth a remark only.
        while reply.len() < options.max_octets {
            let count = tokio::select! {
                read = stream.read(&mut chunk) => read.unwrap_or(0),
                () = &mut linger => 0,
            };
            if count == 0 {
                break;
            }
            let room = options.max_octets - reply.len();
            reply.extend_from_slice(chunk.get(..count.min(room)).unwrap_or_default());
        }
    }
    Ok(reply)
}

/// The length that the header gives, in octets; 0 if it gives none.
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

//! The body of a request, within a limit (RFC 9112 §6, §7).

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::StatusCode;
use hyper::body::Incoming;

use super::request::Problem;

/// Reads a body of at most `most` octets, with or without a Content-Length.
///
/// # Errors
/// Status 413 for a longer body, 400 for a body that is incomplete or malformed.
pub(super) async fn read(
    mut body: Incoming,
    length: Option<u64>,
    most: usize,
) -> Result<Bytes, Problem> {
    let too_long = || {
        let words = format!("the body may have {most} octets (apdu-size)");
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, words)
    };
    if length.is_some_and(|length| length > most as u64) {
        return Err(too_long());
    }
    let mut first = Bytes::new();
    let mut all = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            let words = format!("the body cannot be read: {error}");
            Problem::new(StatusCode::BAD_REQUEST, words)
        })?;
        let Ok(octets) = frame.into_data() else {
            continue;
        };
        if first.len() + all.len() + octets.len() > most {
            return Err(too_long());
        }
        // Most bodies come in one piece, which is not copied.
        if first.is_empty() && all.is_empty() {
            first = octets;
        } else {
            if !first.is_empty() {
                all.extend_from_slice(&std::mem::take(&mut first));
            }
            all.extend_from_slice(&octets);
        }
    }
    if all.is_empty() {
        Ok(first)
    } else {
        Ok(all.freeze())
    }
}

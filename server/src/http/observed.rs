//! Converts HTTP messages for observers: the head as text, and the body.

use std::fmt::Write;

use bytes::Bytes;
use hyper::header::HeaderMap;
use hyper::http::request::Parts;
use hyper::{Response, Version};

use crate::observer::HttpMessage;

/// Returns a request with its body.
pub(super) fn request(head: &Parts, body: Bytes) -> HttpMessage {
    let (method, target) = (&head.method, &head.uri);
    let start = format!("{method} {target} {}", version(head.version));
    message(start, &head.headers, body)
}

/// Returns an answer with its body. It has only the headers that the server sets; the length and date, which hyper adds, are
/// missing.
pub(super) fn answer<B>(answer: &Response<B>, body: Bytes) -> HttpMessage {
    let start = format!("{} {}", version(answer.version()), answer.status());
    message(start, answer.headers(), body)
}

fn version(version: Version) -> &'static str {
    match version {
        Version::HTTP_10 => "HTTP/1.0",
        _ => "HTTP/1.1",
    }
}

fn message(start: String, headers: &HeaderMap, body: Bytes) -> HttpMessage {
    let mut head = start + "\n";
    for (name, value) in headers {
        let value = String::from_utf8_lossy(value.as_bytes());
        // Writing to a String cannot fail.
        let _ = writeln!(head, "{name}: {value}");
    }
    HttpMessage { head, body }
}

//! Malformed responses from SRU servers, after which the session continues.

use z3950_asn1::sru::ResponseError;

use super::detail::Detail;

/// The fault in the response from an SRU server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SruFault {
    /// The HTTP status is an error, and the body is not an SRU response (RFC 9110 §15).
    #[error("HTTP status {status}{}", titled(title))]
    #[non_exhaustive]
    Status {
        /// The status code with its usual reason phrase.
        status: String,
        /// The title of the HTML page in the body; it may be empty.
        title: String,
    },
    /// The response is not XML, or is not an SRU response.
    #[error(transparent)]
    Response(#[from] ResponseError),
    /// The response exceeds this many octets.
    #[error("an answer of more than {0} octets")]
    TooLong(usize),
    /// The response has a content coding, although the client accepts none (RFC 9110 §8.4).
    #[error("the answer is encoded as {0}, which was not asked for")]
    Encoding(String),
    /// The server redirects the client to another server.
    #[error("redirected to {0}, which is another server")]
    Redirect(String),
    /// The server redirects the client, but the header Location is empty.
    #[error("redirected, but the server does not say where")]
    RedirectNowhere,
    /// The server redirects the client too many times in a row.
    #[error("redirected more than {0} times")]
    Redirects(usize),
    /// The response is not HTTP, or cannot be read.
    #[error("not an HTTP response: {0}")]
    Http(Detail),
    /// The response to an explain request contains no description of the server.
    #[error("the server has no description of the database")]
    Undescribed,
    /// The response belongs to a different SRU operation.
    #[error("an answer to an operation other than {0}")]
    Operation(&'static str),
    /// The server counted records, but did not send them.
    #[error("the server counts {hits} records and sends none from {start} on")]
    #[non_exhaustive]
    Missing {
        /// The number of records counted by the server.
        hits: u64,
        /// The position of the first requested record.
        start: u64,
    },
    /// The server sent the first record in place of the requested record at this position.
    #[error("the server sends record 1 again in place of record {0}")]
    FirstAgain(u64),
    /// The server sent earlier records again in place of later ones, perhaps because it ignores `startRecord`.
    #[error(
        "the server sends the records from {before} on again in place of those from {start} on"
    )]
    SamePage {
        /// The position of the first record in the previous response.
        before: u64,
        /// The position of the first requested record.
        start: u64,
    },
    /// The server sent records from positions other than the requested ones.
    #[error("the server sends record {sent} in place of record {asked}")]
    #[non_exhaustive]
    Misplaced {
        /// The position of the first requested record.
        asked: u64,
        /// The position that the server states for the first record in the response.
        sent: u64,
    },
    /// The requested records cannot be reached, because the responses do not advance past record `end`.
    #[error("the server counts {hits} records, but its answers do not advance after record {end}")]
    #[non_exhaustive]
    Stalled {
        /// The number of records counted by the server.
        hits: u64,
        /// The position of the last received record.
        end: u64,
    },
}

fn titled(title: &str) -> String {
    match title {
        "" => String::new(),
        title => format!(", {title:?}"),
    }
}

//! Malformed answers of SRU servers. The session continues after them.

use z3950_asn1::sru::ResponseError;

/// What is wrong with the answer of an SRU server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SruFault {
    /// The HTTP status says that there is no answer, and the body does not say more (RFC 9110 §15).
    #[error("HTTP status {status}{}", titled(title))]
    Status {
        /// The status, with the usual words for it.
        status: String,
        /// The title of the page that was sent with the status; may be empty.
        title: String,
    },
    /// The answer is not XML, or not an SRU answer.
    #[error(transparent)]
    Response(#[from] ResponseError),
    /// The answer exceeds this many octets.
    #[error("an answer of more than {0} octets")]
    TooLong(usize),
    /// The answer has a content coding, although none is accepted (RFC 9110 §8.4).
    #[error("the answer is encoded as {0}, which was not asked for")]
    Encoding(String),
    /// The server redirects this client to another server.
    #[error("redirected to {0}, which is another server")]
    Redirect(String),
    /// The server sends this client elsewhere, but its header Location is empty.
    #[error("redirected, but the server does not say where")]
    RedirectNowhere,
    /// The server sends this client from one address to the next.
    #[error("redirected more than {0} times")]
    Redirects(usize),
    /// The answer is not HTTP, or cannot be read.
    #[error("no answer of HTTP: {0}")]
    Http(String),
    /// The answer to an explain request contains no description.
    #[error("the server has no description of the database")]
    Undescribed,
    /// The answer belongs to another operation.
    #[error("the answer to another operation than {0}")]
    Operation(&'static str),
    /// The server counts records that it does not send.
    #[error("the server counts {hits} records and sends none from {start} on")]
    Missing {
        /// The number of records counted by the server.
        hits: u64,
        /// The position of the first record requested.
        start: u64,
    },
    /// The server sent the first record in place of a later one.
    #[error("the server sends record 1 again in place of record {0}")]
    FirstAgain(u64),
    /// The same records came in place of later ones, as from a server that ignores `startRecord`.
    #[error(
        "the server sends the records from {before} on again in place of those from {start} on"
    )]
    SamePage {
        /// The first record of the answer before.
        before: u64,
        /// The first record that was asked for.
        start: u64,
    },
    /// Other records came than were asked for.
    #[error("the server sends record {sent} in place of record {asked}")]
    Misplaced {
        /// The position of the first record requested.
        asked: u64,
        /// The position that the server gives for the first record it sent.
        sent: u64,
    },
    /// Earlier answers do not lead to the requested part of the records.
    #[error("the server counts {hits} records, but its answers do not advance after record {end}")]
    Stalled {
        /// The number of records counted by the server.
        hits: u64,
        /// The position of the last record received.
        end: u64,
    },
}

fn titled(title: &str) -> String {
    match title {
        "" => String::new(),
        title => format!(", {title:?}"),
    }
}

//! Malformed answers of SRU servers; the session continues after them.

use z3950_asn1::sru::ResponseError;

/// What is wrong with an answer of a server of SRU.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SruFault {
    /// The HTTP status says that there is no answer, and the contents do not say more (RFC 9110 §15).
    #[error("HTTP status {status}{}", titled(title))]
    Status {
        /// The status, with its usual words.
        status: String,
        /// The title of the page that came with it; may be empty.
        title: String,
    },
    /// The answer is no XML, or none of SRU.
    #[error(transparent)]
    Response(#[from] ResponseError),
    /// The answer exceeds this many octets.
    #[error("an answer of more than {0} octets")]
    TooLong(usize),
    /// The answer has a coding, although none is accepted (RFC 9110 §8.4).
    #[error("the answer is encoded as {0}, which was not asked for")]
    Encoding(String),
    /// The server sends this client elsewhere.
    #[error("redirected to {0}, which is another server")]
    Redirect(String),
    /// The server sends this client from one address to the next.
    #[error("redirected more than {0} times")]
    Redirects(usize),
    /// Not HTTP, or not in a form that can be read.
    #[error("no answer of HTTP: {0}")]
    Http(String),
    /// An answer to explain without a description.
    #[error("the server has no description of the database")]
    Undescribed,
    /// The answer to another operation.
    #[error("the answer to another operation than {0}")]
    Operation(&'static str),
    /// Records that the server counts do not come.
    #[error("the server counts {hits} records and sends none from {start} on")]
    Missing {
        /// The number of records that it counts.
        hits: u64,
        /// The first record that was asked for.
        start: u64,
    },
    /// The first record came in place of a later one.
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
        /// The first record that was asked for.
        asked: u64,
        /// The position that the server gives for the first one that came.
        sent: u64,
    },
    /// Earlier answers do not lead to this part of the records.
    #[error("the server counts {hits} records, but its answers do not advance after record {end}")]
    Stalled {
        /// The number of records that the server counts.
        hits: u64,
        /// The last record that came.
        end: u64,
    },
}

fn titled(title: &str) -> String {
    match title {
        "" => String::new(),
        title => format!(", {title:?}"),
    }
}

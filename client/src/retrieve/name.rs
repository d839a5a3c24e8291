//! The names of outcomes, as used in `--json` and reports.

use std::fmt;
use std::str::FromStr;

/// Declares [`OutcomeName`], with the name as text for each variant.
macro_rules! names {
    ($($(#[$meta:meta])* $name:ident = $word:literal,)*) => {
        /// The name of an outcome, as in the member `outcome` of `--json` and of reports.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
        #[non_exhaustive]
        pub enum OutcomeName {
            $($(#[$meta])* $name,)*
        }

        impl OutcomeName {
            /// The names of all outcomes.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Returns the name as text, such as `no match`.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $word,)*
                }
            }
        }
    };
}

names! {
    /// The requested record or records were returned.
    #[default]
    Delivered = "delivered",
    /// No record matched.
    NoMatch = "no match",
    /// More than one record matched, although exactly one was requested.
    Ambiguous = "ambiguous",
    /// Only the number of records or the facets were requested, and the server returned them.
    Found = "found",
    /// The server refused the search.
    SearchRefused = "search refused",
    /// The server found records, but refused to present them.
    PresentRefused = "present refused",
    /// The server found records, but refused to sort them.
    SortRefused = "sort refused",
    /// The server refused the scan.
    ScanRefused = "scan refused",
    /// A diagnostic was returned in place of a record or an index entry.
    RecordRefused = "record refused",
    /// The server rejected Init.
    InitRejected = "init rejected",
    /// The server requested credentials, but none were given.
    AccessRefused = "access refused",
    /// The credentials could not be obtained, so nothing was sent.
    NoCredentials = "no credentials",
    /// The port is reserved for another protocol, so nothing was sent.
    PortRefused = "port refused",
    /// The connection failed, or no answer arrived in time.
    Unavailable = "unavailable",
    /// The server violated the protocol.
    ProtocolError = "protocol error",
    /// The server closed the session.
    Closed = "closed by server",
    /// The server does not offer the service.
    NotGranted = "not granted",
    /// The input is not valid, so nothing was sent.
    NotSent = "not sent",
    /// The requested format cannot represent the record.
    NotWritten = "not written",
    /// A task (`update`, `order`) was done.
    Done = "done",
    /// A task was accepted, but is not done yet.
    Accepted = "accepted",
    /// A task failed or was refused.
    TaskFailed = "task failed",
    /// A check or probe (`probe`, `targets check`) succeeded.
    Ok = "ok",
    /// The number of records is less than the requested position (`search --start`, `order --item`).
    OutOfRange = "out of range",
    /// The record cannot be ordered, so nothing was sent.
    NoRequest = "no request",
    /// The server answered a probe with a diagnostic.
    Diagnostic = "diagnostic",
    /// The server dropped the connection during a probe.
    Dropped = "dropped",
    /// A probe was not made.
    NotTried = "not tried",
}

impl fmt::Display for OutcomeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The error for text that is not the name of an outcome.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an outcome")]
pub struct UnknownOutcome(pub String);

impl FromStr for OutcomeName {
    type Err = UnknownOutcome;

    fn from_str(word: &str) -> Result<Self, UnknownOutcome> {
        let mut all = Self::ALL.iter().copied();
        all.find(|name| name.as_str() == word)
            .ok_or_else(|| UnknownOutcome(word.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_outcome_name_is_plain_and_reads_back() {
        for name in OutcomeName::ALL {
            let word = name.as_str();
            assert!(
                word.chars().all(|c| c.is_ascii_lowercase() || c == ' '),
                "{word}"
            );
            assert_eq!(word.parse(), Ok(*name));
        }
        for word in ["", "Delivered", "NoMatch", "delivered "] {
            assert_eq!(
                word.parse::<OutcomeName>(),
                Err(UnknownOutcome(word.to_owned()))
            );
        }
    }
}

//! Which servers of an engine answer.

/// A server of an engine, and how often it did not answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerCounts {
    /// Its address: `HOST:PORT`.
    pub server: String,
    /// The requests that it did not answer.
    pub failures: u64,
    /// Whether it answered the last one; `true` before the first.
    pub is_up: bool,
}

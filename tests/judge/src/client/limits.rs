//! Limits on the data that a judge keeps.

/// Limits on the data that a judge keeps about sessions. Beyond them, sessions and findings are only counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JudgeLimits {
    /// The number of sessions that are reported individually: 500.
    pub sessions: usize,
    /// The number of octets that are kept of the message with which a session first breaks a rule: 1024.
    pub octets: usize,
    /// The number of faults and reactions that are kept for a session: 100.
    pub faults: usize,
    /// The number of result sets, of requests in progress, and of earlier requests that are remembered for a session: 256 each.
    pub remembered: usize,
}

impl Default for JudgeLimits {
    fn default() -> Self {
        Self {
            sessions: 500,
            octets: 1024,
            faults: 100,
            remembered: 256,
        }
    }
}

//! What a judge keeps.

/// What a judge keeps of sessions; beyond it, sessions and findings are only counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JudgeLimits {
    /// Sessions that are reported one by one: 500.
    pub sessions: usize,
    /// Octets kept of the message with which a session breaks a rule for the first time: 1024.
    pub octets: usize,
    /// Faults and reactions kept of a session: 100.
    pub faults: usize,
    /// Result sets, requests in progress, and earlier requests remembered of a session, each: 256.
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

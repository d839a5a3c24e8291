//! How binding a requirement is.

/// How binding a requirement is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The standard requires it: an implementation that does not meet the requirement does not conform.
    Shall,
    /// The standard, or a clarification or agreement of its maintenance agency, recommends it.
    Should,
    /// The standard leaves it open, but other programs depend on it, or it saves them work.
    Practice,
}

impl Level {
    /// Returns the name of the level in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Shall => "shall",
            Self::Should => "should",
            Self::Practice => "practice",
        }
    }
}

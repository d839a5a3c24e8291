//! How binding a requirement is.

/// How binding a requirement is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The standard demands it: who does not meet it does not conform.
    Shall,
    /// The standard, or a clarification or agreement of its maintenance agency, recommends it.
    Should,
    /// The standard leaves it open: others depend on it, or it spares them work.
    Practice,
}

impl Level {
    /// Its name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Shall => "shall",
            Self::Should => "should",
            Self::Practice => "practice",
        }
    }
}

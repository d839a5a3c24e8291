//! The levels of obligation of requirements.

/// The level of obligation of a requirement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Required by the standard: an implementation that does not meet the requirement does not conform.
    Shall,
    /// Recommended by the standard, or by a clarification or agreement of its maintenance agency.
    Should,
    /// Left open by the standard, but other programs depend on it, or it saves them work.
    Practice,
}

impl Level {
    /// Returns the name of the level used in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Shall => "shall",
            Self::Should => "should",
            Self::Practice => "practice",
        }
    }
}

//! The verdict of a check, which is an error unless the check passes, so that `?` ends the check.

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The server does what is required.
    Pass,
    /// The server does not do what is required.
    Fail {
        /// What was required of the answer.
        wanted: String,
        /// What the server returned instead.
        came: String,
    },
    /// The server does not have the optional feature to which the requirement refers.
    NotOffered {
        /// How this was determined.
        reason: String,
    },
    /// No statement about the server is possible.
    NotJudged {
        /// The reason.
        reason: String,
    },
}

impl Verdict {
    /// Returns the name of the verdict in reports: `pass`, `fail`, `not offered` or `not judged`.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail { .. } => "fail",
            Self::NotOffered { .. } => "not offered",
            Self::NotJudged { .. } => "not judged",
        }
    }

    /// Returns the details of the verdict without its name.
    pub(super) fn into_words(self) -> String {
        match self {
            Self::Pass => String::new(),
            Self::Fail { wanted, came } => format!("wanted {wanted}, but {came} came"),
            Self::NotOffered { reason } | Self::NotJudged { reason } => reason,
        }
    }

    pub(super) fn fail(wanted: impl Into<String>, came: impl Into<String>) -> Self {
        Self::Fail {
            wanted: wanted.into(),
            came: came.into(),
        }
    }

    pub(super) fn not_offered(reason: impl Into<String>) -> Self {
        Self::NotOffered {
            reason: reason.into(),
        }
    }

    pub(super) fn not_judged(reason: impl Into<String>) -> Self {
        Self::NotJudged {
            reason: reason.into(),
        }
    }
}

/// The result of a check or a part of it: the verdict is an error unless it is [`Verdict::Pass`], so that `?` ends the check.
pub(super) type Checked<T = ()> = Result<T, Verdict>;

/// A part of a check that only prepares the check.
pub(super) trait Preparation {
    /// If the part fails, the check cannot be judged, because another check tests that part.
    fn given(self) -> Self;
}

impl<T> Preparation for Checked<T> {
    fn given(self) -> Self {
        self.map_err(|verdict| match verdict {
            Verdict::Fail { wanted, came } => {
                Verdict::not_judged(format!("needs {wanted}, but {came} came"))
            }
            other => other,
        })
    }
}

/// The reason why the hits of a query are not judged if the server invents their number.
pub(super) const CHANGING: &str = "the number of hits changes from search to search";

/// Returns a number and what it counts: `1 record`, `2 records`.
pub(super) fn counted(number: impl TryInto<i128>, thing: &str) -> String {
    let number = number.try_into().unwrap_or(i128::MAX);
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{ending}")
}

/// Fails unless the condition holds.
pub(super) fn want(
    holds: bool,
    wanted: impl Into<String>,
    came: impl FnOnce() -> String,
) -> Checked {
    if holds {
        Ok(())
    } else {
        Err(Verdict::fail(wanted, came()))
    }
}

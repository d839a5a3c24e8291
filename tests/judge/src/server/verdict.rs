//! The verdict of a check. All verdicts other than a pass are errors, so that `?` ends the check.

/// The verdict on a requirement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The server does what the requirement says.
    Pass,
    /// The server does not do what the requirement says.
    Fail {
        /// A description of the expected answer.
        wanted: String,
        /// A description of the actual answer.
        came: String,
    },
    /// The server does not have the optional feature of the requirement.
    NotOffered {
        /// The answer that shows that the feature does not exist.
        reason: String,
    },
    /// The check does not allow a verdict on the server.
    NotJudged {
        /// The reason why there is no verdict.
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

    /// Returns the details of the verdict as text, without its name.
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

/// The result of a check or of a part of it. All verdicts other than [`Verdict::Pass`] are errors, so that `?` ends the check.
pub(super) type Checked<T = ()> = Result<T, Verdict>;

/// The result of a part of a check that only prepares the actual check.
pub(super) trait Preparation {
    /// Converts a failure to "not judged", because another check tests this part.
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

/// The reason for not judging a query whose number of hits changes from search to search.
pub(super) const CHANGING: &str = "the number of hits changes from search to search";

/// Formats a number with its noun, such as `1 record` or `2 records`.
pub(super) fn counted(number: impl TryInto<i128>, thing: &str) -> String {
    let number = number.try_into().unwrap_or(i128::MAX);
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{ending}")
}

/// Fails unless the condition is true.
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

//! What a check is: a requirement with its source, and a function from a session of its own to a verdict.

use std::fmt;

pub use z3950_asn1::judgement::Level;

use super::trial::Trial;
use crate::transport::BoxFuture;

/// A requirement, and how it is tried.
pub struct Check {
    /// Its name, `service.subject`; names do not change between versions.
    pub name: &'static str,
    /// How binding the requirement is.
    pub level: Level,
    /// Where it is written.
    pub section: &'static str,
    /// What is required, in one sentence.
    pub requirement: &'static str,
    pub(super) run: for<'a> fn(&'a mut Trial) -> BoxFuture<'a, Checked>,
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// How a check ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The server does what is required.
    Pass,
    /// It does not.
    Fail {
        /// What was required of the answer.
        wanted: String,
        /// What came instead.
        came: String,
    },
    /// The server does not have the optional feature that the requirement is about.
    NotOffered {
        /// How that was found out.
        reason: String,
    },
    /// Nothing can be said.
    NotJudged {
        /// Why.
        reason: String,
    },
}

impl Verdict {
    /// Its name in reports: `pass`, `fail`, `not offered` or `not judged`.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail { .. } => "fail",
            Self::NotOffered { .. } => "not offered",
            Self::NotJudged { .. } => "not judged",
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

/// A part of a check that only prepares it.
pub(super) trait Preparation {
    /// If the part fails, the check cannot be judged: another check is about that part.
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

/// Fails unless the condition holds.
pub(super) fn want(
    holds: bool,
    wanted: impl Into<String>,
    came: impl FnOnce() -> String,
) -> Checked {
    match holds {
        true => Ok(()),
        false => Err(Verdict::fail(wanted, came())),
    }
}

/// A table of checks: name, level, source, requirement and function, with its arguments after the trial.
macro_rules! checks {
    ($($name:literal $level:ident $section:tt: $requirement:literal => $run:ident $(($($argument:expr),*))?;)*) => {
        &[$($crate::conformance::check::Check {
            name: $name,
            level: $crate::conformance::check::Level::$level,
            section: $section,
            requirement: $requirement,
            run: |trial| Box::pin($run(trial $($(, $argument)*)?)),
        },)*]
    };
}
pub(super) use checks;

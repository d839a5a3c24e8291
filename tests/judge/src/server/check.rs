//! Defines checks: a requirement with its source, and a function that performs the check in a new session.

use std::fmt;

pub use crate::Level;

use super::sru::trial::SruTrial;
use super::trial::Trial;
use super::verdict::Checked;
use z3950::transport::BoxFuture;

/// A requirement, and the procedure that checks whether a server meets it.
pub struct Check {
    /// The name of the check, `service.subject`, which does not change between versions.
    pub name: &'static str,
    /// The level of obligation of the requirement.
    pub level: Level,
    /// The source of the requirement.
    pub section: &'static str,
    /// The requirement, in one sentence.
    pub requirement: &'static str,
    pub(super) run: Procedure,
}

/// The procedure of a check: in a Z39.50 session, or with SRU requests.
pub(super) enum Procedure {
    Z3950(for<'a> fn(&'a mut Trial) -> BoxFuture<'a, Checked>),
    Sru(for<'a> fn(&'a mut SruTrial) -> BoxFuture<'a, Checked>),
}

#[cfg(test)]
impl Check {
    /// Returns whether the requirement can be understood without the preceding ones, which reports may not show.
    pub(super) fn stands_alone(&self) -> bool {
        let leans = [
            "So ",
            "It ",
            "Its ",
            "That ",
            "Likewise",
            "Also ",
            "Afterwards",
            "The same ",
            "The diagnostic is",
            "The details are",
            "The rest ",
        ];
        let ends = [" as well.", " too.", " is not."];
        let text = self.requirement;
        !leans.iter().any(|words| text.starts_with(words))
            && !ends.iter().any(|words| text.ends_with(words))
    }
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Defines a table of checks: name, level, source, requirement and function, with the arguments that follow the trial.
macro_rules! checks {
    ($($name:literal $level:ident $section:tt: $requirement:literal => $run:ident $(($($argument:expr),*))?;)*) => {
        &[$($crate::server::check::Check {
            name: $name,
            level: $crate::Level::$level,
            section: $section,
            requirement: $requirement,
            run: $crate::server::check::Procedure::Z3950(
                |trial| Box::pin($run(trial $($(, $argument)*)?)),
            ),
        },)*]
    };
}
pub(super) use checks;

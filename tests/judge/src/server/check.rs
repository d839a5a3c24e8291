//! Defines checks. A check consists of a requirement with its source, and a function that performs the check in a new session.

use std::fmt;

use crate::Requirement;

use super::sru::trial::SruTrial;
use super::trial::Trial;
use super::verdict::Checked;
use z3950::transport::BoxFuture;

/// A requirement, and the procedure that checks whether a server meets it.
pub struct Check {
    /// The requirement.
    pub requirement: Requirement,
    pub(super) run: Procedure,
}

/// The procedure of a check, which uses either a Z39.50 session or SRU requests.
pub(super) enum Procedure {
    Z3950(for<'a> fn(&'a mut Trial) -> BoxFuture<'a, Checked>),
    Sru(for<'a> fn(&'a mut SruTrial) -> BoxFuture<'a, Checked>),
}

#[cfg(test)]
impl Check {
    /// Returns whether the text of the requirement can be understood on its own. A report may not contain the requirements that
    /// precede it in the list.
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
        let text = self.requirement.text;
        !leans.iter().any(|words| text.starts_with(words))
            && !ends.iter().any(|words| text.ends_with(words))
    }
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.requirement.name)
    }
}

/// Defines a table of checks. Each has a name, a level, a source, a requirement, and a function, with the arguments that follow
/// the trial.
macro_rules! checks {
    ($($name:literal $level:ident $section:tt: $requirement:literal => $run:ident $(($($argument:expr),*))?;)*) => {
        &[$($crate::server::check::Check {
            requirement: $crate::Requirement {
                name: $name,
                level: $crate::Level::$level,
                section: $section,
                text: $requirement,
            },
            run: $crate::server::check::Procedure::Z3950(
                |trial| Box::pin($run(trial $($(, $argument)*)?)),
            ),
        },)*]
    };
}
pub(super) use checks;

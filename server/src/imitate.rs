//! Other servers' habits, so that what was written to test clients against them runs here: `z3950d --imitate yaz-ztest`.

mod habits;
mod yaz_ztest;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use self::yaz_ztest::YazZtest;
use crate::fault::Faults;
use crate::limits::Limits;
use crate::target::Target;

/// A server whose habits are known.
///
/// `yaz-ztest`, the test server of YAZ, as seen of version 5.34.0:
///
/// - databases are all that begin with `Default`, `db` or `Slow`, one in a search; a database of the last kind answers after
///   3 seconds, or as many as stand behind the name, and with an estimate;
/// - behind a `?` in the name there may be parameters, with `&` between them: `search-delay`, `present-delay`, `fetch-delay`
///   (seconds, or `least:most`) and `seed`;
/// - a search finds as many records as the first term says that begins with a digit; without such a term some number up to 23,
///   always the same one for a term; attributes are not looked at;
/// - records are 24, over and over, in any MARC syntax (as USMARC), SUTRS, XML, OPAC and GRS-1;
/// - Scan has a list of words of its own in `Default` and `Slow`; Sort always succeeds and changes nothing; Delete succeeds
///   for one set that is called `1`;
/// - every task of the extended services is done, without effect: an update and an order are answered with a package, an update
///   of the first version with a diagnostic;
/// - of the character sets that a client proposes it selects ISO 8859-1, whichever they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Imitated {
    /// The test server of YAZ.
    YazZtest,
}

/// There is no imitation of that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} cannot be imitated; yaz-ztest can")]
pub struct NotImitated(String);

impl FromStr for Imitated {
    type Err = NotImitated;

    fn from_str(name: &str) -> Result<Self, NotImitated> {
        match name {
            "yaz-ztest" => Ok(Self::YazZtest),
            other => Err(NotImitated(other.to_owned())),
        }
    }
}

impl fmt::Display for Imitated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::YazZtest => "yaz-ztest",
        })
    }
}

impl Imitated {
    /// The databases, which are the server's own, with limits that its habits need.
    pub fn target(self, limits: Limits) -> Target {
        match self {
            Self::YazZtest => {
                let limits = Limits {
                    hits: usize::MAX,
                    // It grants concurrent operations, and answers in order all the same.
                    concurrent_operations: 1,
                    ..limits
                };
                Target::new(Arc::new(YazZtest::new()), limits)
            }
        }
    }

    /// What it answers otherwise than the standard has it.
    pub fn faults(self) -> Faults {
        match self {
            Self::YazZtest => habits::faults(),
        }
    }
}

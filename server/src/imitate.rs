//! Imitations of other servers, so that tests written for those servers also work with this one: `z3950d --imitate yaz-ztest`.

mod habits;
mod yaz_ztest;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use self::yaz_ztest::YazZtest;
use crate::fault::Faults;
use crate::limits::Limits;
use crate::target::Target;

/// A server that can be imitated.
///
/// `yaz-ztest`, the test server of YAZ, as observed with version 5.34.0:
///
/// - every name that begins with `Default`, `db` or `Slow` is a database, and a search may name a single database; a `Slow`
///   database answers after 3 seconds, or the number of seconds in its name, and returns an estimated number of hits;
/// - after a `?` the name may have parameters, separated by `&`: `search-delay`, `present-delay`, `fetch-delay` (seconds, or
///   `least:most`) and `seed`;
/// - the number of hits is the number in the first term that begins with a digit; if there is none, it is a number up to 23 that
///   depends on the first term; attributes are ignored;
/// - the same 24 records repeat, in any MARC syntax (the octets are always USMARC), SUTRS, XML, OPAC and GRS-1;
/// - Scan has its own list of words in `Default` and `Slow`; Sort always succeeds without changing the order; Delete succeeds
///   only for a single set named `1`;
/// - extended services always succeed without effect; the answer to an update or an order contains a package, and the answer to
///   an Update that uses version 1 of the service contains a diagnostic;
/// - negotiation selects ISO 8859-1, whatever the client proposes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Imitated {
    /// `yaz-ztest`, the test server of YAZ.
    YazZtest,
}

/// The error for the name of a server that cannot be imitated.
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
    /// Returns a target with the databases of the imitated server, and with the limits that it needs.
    pub fn target(self, limits: Limits) -> Target {
        match self {
            Self::YazZtest => {
                let limits = Limits {
                    hits: usize::MAX,
                    // yaz-ztest grants concurrent operations, but answers them in order.
                    concurrent_operations: 1,
                    ..limits
                };
                Target::new(Arc::new(YazZtest::new()), limits)
            }
        }
    }

    /// Returns the faults that reproduce the ways in which the imitated server deviates from the standard.
    pub fn faults(self) -> Faults {
        match self {
            Self::YazZtest => habits::faults(),
        }
    }
}

//! Known items by the numbers people have for them, written as they come (Z39.50-2003 Appendix ATR.3; RFC 2056 §4 for
//! docids): which searches to make, and which of them found what.
//!
//! | file | holds |
//! |---|---|
//! | `identifier` | `isbn:…`, `issn:…` and so on, or the shape of a number |
//! | `attempts` | the searches for one, most likely first |

mod attempts;
mod identifier;

pub use self::attempts::{Attempt, attempts};
pub use self::identifier::{Identifier, IdentifierError, Kind};

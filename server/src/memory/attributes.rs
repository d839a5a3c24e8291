//! From a term with its Bib-1 attributes to a look into the indexes, or to the diagnostic that says which attribute is in
//! the way (Z39.50-2003 Appendix ATR.1).
//!
//! | file | what it does |
//! |---|---|
//! | `support` | the values that the backend can do, for queries and for Explain |
//! | `read` | the attributes of a term, as the profile has them |
//! | `term` | the term as text |
//! | `look` | what the term looks for |
//! | `mask` | terms that are open at some place |
//! | `order` | what scans and sorts go by |

mod look;
mod mask;
mod order;
mod read;
mod support;
mod term;

pub(super) use self::look::{Look, LookTarget, WordLook, WordOrder, look};
pub(super) use self::mask::EntryMatch;
pub(super) use self::order::{scan_start, sort_index};
pub(super) use self::read::access_of;
pub(super) use self::support::infos;

#[cfg(test)]
mod tests;

//! Translates a term with its Bib-1 attributes into an index lookup, or into the diagnostic for the unsupported attribute
//! (Z39.50-2003 Appendix ATR.1).
//!
//! | file | contents |
//! |---|---|
//! | `support` | the attribute values that the backend supports, for queries and for Explain |
//! | `read` | the attributes of a term under the profile, the term as text, and the indexes for scans and sorts |
//! | `written` | a term with its attributes, as written by the client |
//! | `look` | the lookup of a term |
//! | `mask` | truncated and masked terms |
//! | `expression` | regular expressions, with the feature `regex` |

#[cfg(feature = "regex")]
mod expression;
#[cfg(not(feature = "regex"))]
mod expression {
    /// Rejects all regular expressions. This function is never called, because `support` does not include truncation 102 without
    /// the feature.
    pub(super) fn regular(_: &str) -> Option<crate::memory::index::Pattern> {
        None
    }
}
mod look;
mod mask;
mod read;
mod support;
mod written;

pub(super) use self::look::look;
pub use self::look::{Look, LookTarget};
pub(super) use self::read::{access_of, scan_start, sort_index};
pub(super) use self::support::infos;
pub use self::written::{TextRange, WordOrder, WrittenTerm};

#[cfg(test)]
mod tests;

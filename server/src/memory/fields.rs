//! What of a record can be searched: from each field of a MARC 21 or UNIMARC record to the indexes that it feeds
//! (Z39.50-2003 Appendix ATR.1; the Maintenance Agency's "Bib-1 attribute semantics").
//!
//! | file | what it holds |
//! |---|---|
//! | `rows` | the access points of Bib-1: Use values, kind, fields |
//! | `table` | [`AccessPoints`]: those rows, and what a configuration makes of them |
//! | `source` | the text form of a field, `245$^ch` |
//! | `key` | numbers, dates and codes in the one form in which they are compared |
//! | `format` | the rows turned round: rules by tag |
//! | `feed` | a record's entries, index by index |

mod feed;
mod format;
mod key;
mod rows;
mod source;
mod table;

use std::fmt;

pub(super) use self::feed::{
    EntryKind, FILED, Fields, NOT_FILED, SUBFIELD_MARK, effective_tag, marked, not_filed,
};
pub use self::key::Kind;
pub use self::source::{Source, SourceError, Sources};
pub use self::table::{AccessPoint, AccessPoints, AccessPointsError};

/// One index of a backend: the place of its row among the access points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct IndexId(pub(super) u8);

impl IndexId {
    /// The docid, which no field of the table feeds.
    pub(super) const DOCID: Self = Self(0);
    /// Everything in the record that people read.
    pub(super) const ANY: Self = Self(1);
}

/// The most indexes a backend has.
pub(super) const MAX_INDEXES: usize = 128;

/// Several indexes; a bit for each.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct IndexSet(u128);

impl IndexSet {
    /// That of one index.
    pub(super) const fn of(index: IndexId) -> Self {
        match 1u128.checked_shl(index.0 as u32) {
            Some(bit) => Self(bit),
            None => Self(0),
        }
    }

    /// Whether the index is one of them.
    pub(super) fn contains(self, index: IndexId) -> bool {
        !self.intersection(Self::of(index)).is_empty()
    }

    /// Whether there is none.
    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The indexes of either.
    pub(super) fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The lowest of them, as a set.
    fn first(self) -> Self {
        Self(self.0 & self.0.wrapping_neg())
    }

    /// The indexes, ascending.
    pub(super) fn iter(self) -> impl Iterator<Item = IndexId> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let index = u8::try_from(left.trailing_zeros())
                .ok()
                .filter(|_| left != 0)?;
            left &= left - 1;
            Some(IndexId(index))
        })
    }
}

impl fmt::Debug for IndexSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set()
            .entries(self.iter().map(|index| index.0))
            .finish()
    }
}

#[cfg(test)]
mod tests;

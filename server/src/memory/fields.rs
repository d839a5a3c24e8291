//! The access points of records: which fields of a MARC 21 or UNIMARC record feed which indexes (Z39.50-2003 Appendix ATR.1; the
//! Maintenance Agency's "Bib-1 attribute semantics").
//!
//! | file | contents |
//! |---|---|
//! | `rows` | the access points of Bib-1: Use values, kind, fields |
//! | `table` | [`AccessPoints`]: the rows with the changes made by the settings |
//! | `source` | the text form of a field, `245$^ch` |
//! | `key` | numbers, dates and codes in the form in which they are compared |
//! | `format` | the rows, inverted: for each tag, the indexes that its subfields feed |
//! | `feed` | the entries of a record, index by index |

mod feed;
mod format;
mod key;
mod rows;
mod source;
mod table;

use std::fmt;
use std::sync::LazyLock;

pub use self::feed::EntryKind;
pub(super) use self::feed::{
    FILED, Fields, NOT_FILED, SUBFIELD_MARK, effective_tag, marked, not_filed,
};
pub use self::key::Kind;
pub use self::source::{Source, SourceError, Sources};
pub use self::table::{AccessPoint, AccessPoints, AccessPointsError};

/// The identifier of an index: the number of its row in the access points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IndexId(pub(super) u8);

impl IndexId {
    /// Returns the number of the row, from 0.
    pub fn number(self) -> u8 {
        self.0
    }

    /// The index of docids. Its row names no fields, because each database has its own docid field.
    pub const DOCID: Self = Self(0);
    /// The index of all text in a record that is meant for human readers.
    pub const ANY: Self = Self(1);
}

/// The unmodified access points of Bib-1, for records and terms that do not belong to a database.
pub(super) static OF_BIB_1: LazyLock<Fields> = LazyLock::new(Fields::default);

/// The maximum number of indexes of a backend.
pub(super) const MAX_INDEXES: usize = 128;

/// A set of indexes, as a bit set.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct IndexSet(u128);

impl IndexSet {
    pub(super) const fn of(index: IndexId) -> Self {
        match 1u128.checked_shl(index.0 as u32) {
            Some(bit) => Self(bit),
            None => Self(0),
        }
    }

    pub(super) fn contains(self, index: IndexId) -> bool {
        !self.intersection(Self::of(index)).is_empty()
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(super) fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    fn first(self) -> Self {
        Self(self.0 & self.0.wrapping_neg())
    }

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

//! The records that a search finds: a list whose form is up to the backend.

use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::Backend;

/// A record of a result set, identified by a number that is valid as long as the result set.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordId(pub u32);

impl fmt::Debug for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// A backend's list of records, with whatever it needs to retrieve the records later as they were when they were found, such as a
/// snapshot of the database.
#[expect(clippy::len_without_is_empty, reason = "Hits has it")]
pub trait HitList: Any + Send + Sync {
    /// Returns the number of records, which must be known without waiting.
    fn len(&self) -> usize;

    /// Returns the records at these positions, counted from 0; positions past the end are ignored.
    fn ids(&self, positions: Range<usize>) -> Vec<RecordId>;

    /// Returns the octets of the list, which count towards the octets of the session. Data shared with other lists is left out.
    fn octets(&self) -> usize {
        self.len().saturating_mul(size_of::<RecordId>())
    }

    /// Returns whether its records can no longer be retrieved. Requests for the result set then give condition 27.
    fn is_gone(&self) -> bool {
        false
    }
}

/// The records found, in the order in which they are presented. Clones share the list.
#[derive(Clone)]
pub struct Hits(Arc<dyn HitList>);

impl Hits {
    /// Returns the records of a list.
    pub fn new(list: impl HitList) -> Self {
        Self(Arc::new(list))
    }

    /// Returns the number of records.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there are no records.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the records at these positions, counted from 0; positions past the end are ignored.
    pub fn ids(&self, positions: Range<usize>) -> Vec<RecordId> {
        self.0.ids(positions)
    }

    /// Returns the octets of the list.
    pub fn octets(&self) -> usize {
        self.0.octets()
    }

    /// Returns whether the records can no longer be retrieved.
    pub fn is_gone(&self) -> bool {
        self.0.is_gone()
    }

    /// Returns the list if it has this type; this is how a backend recognizes its own lists.
    pub fn downcast<L: HitList>(&self) -> Option<&L> {
        let list: &dyn Any = &*self.0;
        list.downcast_ref()
    }
}

impl fmt::Debug for Hits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} hits", self.len())
    }
}

/// Used by backends that identify records by number only.
impl FromIterator<RecordId> for Hits {
    fn from_iter<I: IntoIterator<Item = RecordId>>(records: I) -> Self {
        Self::new(RecordIds(records.into_iter().collect()))
    }
}

struct RecordIds(Box<[RecordId]>);

impl HitList for RecordIds {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn ids(&self, positions: Range<usize>) -> Vec<RecordId> {
        ids_of(&self.0, positions)
    }
}

/// Returns the records at positions of a list; positions past the end are ignored.
pub(crate) fn ids_of(records: &[RecordId], positions: Range<usize>) -> Vec<RecordId> {
    let end = positions.end.min(records.len());
    let ids = records.get(positions.start..end).unwrap_or_default();
    ids.to_vec()
}

/// The records of a result set, and their backend.
#[derive(Clone)]
pub(crate) struct ResultSet {
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) hits: Hits,
}

impl fmt::Debug for ResultSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.hits.fmt(f)
    }
}

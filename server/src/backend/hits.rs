//! The records found by a search, as a list whose representation is up to the backend.

use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::Backend;

/// The identifier of a record in a result set, such as the key of its row in a database. It remains valid as long as the result
/// set exists.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordId(pub i64);

impl fmt::Debug for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// A backend's list of records. It keeps everything needed to retrieve the records later in the state in which they were found,
/// such as a snapshot of the database.
#[expect(clippy::len_without_is_empty, reason = "Hits has it")]
pub trait HitList: Any + Send + Sync {
    /// Returns the number of records. This must not block.
    fn len(&self) -> usize;

    /// Returns the records at these positions, counted from 0; positions past the end are ignored.
    fn ids(&self, positions: Range<usize>) -> Vec<RecordId>;

    /// Returns the size of the list in octets, which count against the session's limit. Data shared with other lists is not
    /// included.
    fn octets(&self) -> usize {
        self.len().saturating_mul(size_of::<RecordId>())
    }

    /// Returns whether the records can no longer be retrieved. A request for the result set then fails with condition 27.
    fn is_gone(&self) -> bool {
        false
    }
}

/// The records found, in the order of presentation. Clones share the list.
#[derive(Clone)]
pub struct Hits(Arc<dyn HitList>);

impl Hits {
    /// Creates hits from a backend's list.
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

    /// Returns the size of the list in octets.
    pub fn octets(&self) -> usize {
        self.0.octets()
    }

    /// Returns whether the records can no longer be retrieved.
    pub fn is_gone(&self) -> bool {
        self.0.is_gone()
    }

    /// Returns the list as a value of the type `L`, so that a backend can recognize its own lists; `None` if the list has another
    /// type.
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

/// Creates hits that consist of record identifiers only, for backends that need nothing else.
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
        part_of(&self.0, positions)
    }
}

/// Returns the records at positions of a list; positions past the end are ignored.
pub(crate) fn part_of<T: Copy>(records: &[T], positions: Range<usize>) -> Vec<T> {
    let end = positions.end.min(records.len());
    let part = records.get(positions.start..end).unwrap_or_default();
    part.to_vec()
}

/// The hits of a result set, and the backend that retrieves its records.
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

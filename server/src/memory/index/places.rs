//! Positions of words: the record, and the word's number in its texts.

use super::postings::{place, record};
use crate::backend::RecordId;
use crate::memory::hits::join;

/// The position of a word.
///
/// Words of all texts of a record are counted from 1, a text repeatedly if indexes have different parts of its field. Positions
/// are only comparable within a text, where they are consecutive. Between two texts one position is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::memory) struct WordPlace {
    pub(in crate::memory) record: RecordId,
    /// The number of the word.
    pub(in crate::memory) position: u32,
}

/// Positions in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::memory) struct WordPlaces(Vec<WordPlace>);

impl FromIterator<WordPlace> for WordPlaces {
    /// The positions must be ascending.
    fn from_iter<I: IntoIterator<Item = WordPlace>>(places: I) -> Self {
        Self(places.into_iter().collect())
    }
}

impl WordPlaces {
    pub(in crate::memory) fn iter(&self) -> impl Iterator<Item = WordPlace> {
        self.0.iter().copied()
    }

    /// The positions of each record.
    pub(in crate::memory) fn by_record(&self) -> impl Iterator<Item = (RecordId, &[WordPlace])> {
        let records = self.0.chunk_by(|left, right| left.record == right.record);
        records.filter_map(|places| Some((places.first()?.record, places)))
    }

    /// Adds the positions of a segment after all previous ones.
    pub(super) fn extend(&mut self, segment: u16, places: &[u32]) {
        let places = places.iter().map(|at| WordPlace {
            record: join(segment, record(*at)),
            position: place(*at).into(),
        });
        self.0.extend(places);
    }
}

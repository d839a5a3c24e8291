//! Where words stand: in which records, and as the how manieth word of an index there.

use super::postings::{place, record};
use crate::backend::RecordId;
use crate::memory::hits::join;

/// The place of a word.
///
/// Positions count the words of all texts of a record from 1, each text as often as indexes have other parts of its field. They
/// are to be compared within a text, whose words are one apart. Between two texts lies one position that has no word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::memory) struct WordPlace {
    /// The record.
    pub(in crate::memory) record: RecordId,
    /// Which word it is there.
    pub(in crate::memory) position: u32,
}

/// Places in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::memory) struct WordPlaces(Vec<WordPlace>);

impl FromIterator<WordPlace> for WordPlaces {
    /// The places have to come in ascending order.
    fn from_iter<I: IntoIterator<Item = WordPlace>>(places: I) -> Self {
        Self(places.into_iter().collect())
    }
}

impl WordPlaces {
    /// The places.
    pub(in crate::memory) fn iter(&self) -> impl Iterator<Item = WordPlace> {
        self.0.iter().copied()
    }

    /// The places of each record.
    pub(in crate::memory) fn by_record(&self) -> impl Iterator<Item = (RecordId, &[WordPlace])> {
        let records = self.0.chunk_by(|left, right| left.record == right.record);
        records.filter_map(|places| Some((places.first()?.record, places)))
    }

    /// Adds the places of a segment that is behind those of all before.
    pub(super) fn extend(&mut self, segment: u16, places: &[u32]) {
        let places = places.iter().map(|at| WordPlace {
            record: join(segment, record(*at)),
            position: place(*at).into(),
        });
        self.0.extend(places);
    }
}

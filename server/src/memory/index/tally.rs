//! The number of given records that have each term of an index, for facets.

use super::{Exhausted, Index, RECORDS_A_UNIT, Terms, Work};
use crate::memory::hits::HitSet;

impl Index {
    /// Every term of the index that any of the records has, ascending, with the number of these records.
    ///
    /// # Errors
    /// If the work is exhausted.
    pub(in crate::memory) fn tally(
        &self,
        terms: Terms,
        within: &HitSet<'_>,
        work: &mut Work,
    ) -> Result<Vec<(String, usize)>, Exhausted> {
        let mut counted: Vec<(&[u8], usize)> = Vec::new();
        for (number, segment, _) in self.segments() {
            let (dictionary, Some(within)) = (segment.dictionary(terms), within.part(number))
            else {
                continue;
            };
            let strings = dictionary.strings();
            for term in dictionary.terms(terms.first(strings)..strings.len()) {
                let records: usize = dictionary.lists(term).map(|list| list.count()).sum();
                work.spend(1 + records / RECORDS_A_UNIT)?;
                let count = dictionary.count_in(term, within);
                if count > 0 {
                    counted.push((dictionary.string(term), count));
                }
            }
        }
        counted.sort_unstable();
        let mut tally: Vec<(String, usize)> = Vec::with_capacity(counted.len());
        for (string, count) in counted {
            match tally.last_mut() {
                Some((last, sum)) if last.as_bytes() == string => *sum += count,
                _ => tally.push((String::from_utf8_lossy(string).into_owned(), count)),
            }
        }
        Ok(tally)
    }
}

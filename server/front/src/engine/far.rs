//! Retrieves records from large sets at positions so high that engines do not count up to them. The records are found
//! either after a record that was presented before, or by their numbers if the set is ordered by numbers.

use z3950_server::Diagnostic;

use super::pages::{Pages, out_of_range};
use super::plan::{Page, PageStart};
use super::search::{EngineDatabase, HitOf};

/// The maximum number of guesses for the number of a record at a position. Each guess takes a request, and at least
/// every second guess halves the range of numbers.
const MOST_GUESSES: usize = 64;

/// The number of a record, and the count of records with lower numbers.
type Counted = (u64, usize);

impl<D: EngineDatabase> Pages<'_, D> {
    /// Returns the records in the set from a position that is beyond the window.
    ///
    /// # Errors
    /// Fails with condition 13 if no presented record is near, and the set is not ordered by numbers.
    pub(super) async fn far(&self, start: usize, rows: usize) -> Result<Vec<HitOf<D>>, Diagnostic> {
        let window = self.database.window();
        let near = self.hits.place_before(start);
        let near = near.filter(|(known, _)| start - known + rows <= window);
        if let Some((known, place)) = near {
            return self.after(place, start - known, rows).await;
        }
        if rows > window {
            return Err(out_of_range(start));
        }
        let last = D::last_number(self)
            .await?
            .ok_or_else(|| out_of_range(start))?;
        let (number, before) = self.number_before(last, start, rows).await?;
        let page = Page {
            start: PageStart::Number(number),
            skip: start - before,
            ..Page::first(rows)
        };
        Ok(self.part(page).await?.hits)
    }

    /// Returns the records after a place, without the first `skipped` ones.
    async fn after(
        &self,
        mut place: String,
        skipped: usize,
        rows: usize,
    ) -> Result<Vec<HitOf<D>>, Diagnostic> {
        if skipped > 0 {
            let page = Page {
                start: PageStart::After(&place),
                rows: skipped,
                ..Page::default()
            };
            let skipped = self.part(page).await?.hits;
            match skipped.into_iter().next_back() {
                Some(last) => place = last.place,
                None => return Ok(Vec::new()),
            }
        }
        let page = Page {
            start: PageStart::After(&place),
            ..Page::first(rows)
        };
        Ok(self.part(page).await?.hits)
    }

    /// Returns a number such that the page at position `start` is within the window if the engine counts from this
    /// number.
    ///
    /// # Errors
    /// Fails with condition 13 if there is no such number, because too many records have the same number.
    async fn number_before(
        &self,
        last: u64,
        start: usize,
        rows: usize,
    ) -> Result<Counted, Diagnostic> {
        let (mut below, mut above) = ((0, 0), (last.saturating_add(1), self.hits.count));
        let window = self.database.window();
        // Aim for the middle of the positions from which the page can be reached.
        let aim = start.saturating_sub((window - rows) / 2);
        for turn in 0..MOST_GUESSES {
            if start - below.1 + rows <= window {
                return Ok(below);
            }
            if above.0 - below.0 < 2 {
                break;
            }
            let number = if turn % 2 == 0 {
                between(below, above, aim)
            } else {
                below.0.midpoint(above.0)
            };
            let page = Page {
                start: PageStart::Number(number),
                ..Page::default()
            };
            let before = self.part(page).await?.total;
            if before <= start {
                below = (number, before);
            } else {
                above = (number, before);
            }
        }
        Err(out_of_range(start))
    }
}

/// Returns a number strictly between two others, estimated as if the numbers of records were equally spaced.
fn between(below: Counted, above: Counted, aim: usize) -> u64 {
    let numbers = u128::from(above.0 - below.0);
    let records = (above.1 - below.1).max(1) as u128;
    let share = aim.saturating_sub(below.1) as u128 * numbers / records;
    let offset = u64::try_from(share).unwrap_or(u64::MAX);
    below.0 + offset.clamp(1, (above.0 - below.0 - 1).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guesses_are_between() {
        for (below, above, aim, expected) in [
            ((0, 0), (1_000, 100), 50, 500),
            ((0, 0), (1_000, 100), 0, 1),
            ((0, 0), (1_000, 100), 100, 999),
            ((10, 5), (12, 5), 5, 11),
            ((0, 0), (u64::MAX, usize::MAX), usize::MAX / 2, u64::MAX / 2),
        ] {
            assert_eq!(between(below, above, aim), expected);
        }
    }
}

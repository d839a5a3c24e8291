//! Records of large sets far from the first, which engines do not count to: after a record that was presented before, or by the numbers that
//! records have in their order.

use z3950_server::Diagnostic;

use super::database::CatalogueDatabase;
use super::hits::CatalogueHits;
use super::plan::{CatalogueHit, OrderBy, Plan};
use crate::engine::plan::{MissingValue, Page, PageStart};
use crate::engine::retrieved::{out_of_range, presenting};

/// The most guesses at the number of a record at a position, each of which is a request: every second one halves the numbers in question.
const MOST_GUESSES: usize = 64;

/// A number, and how many records have smaller ones.
type Counted = (u64, usize);

impl CatalogueDatabase {
    /// Returns the most records from the first to the last one of a page.
    pub(super) fn window(&self) -> usize {
        let own = self.current().record.window;
        own.unwrap_or_else(|| self.dialect.window())
    }

    /// Returns the records of a set from a position on that is beyond the window.
    ///
    /// # Errors
    /// 13 if no record that was presented is near, and the order has no numbers.
    pub(super) async fn far(
        &self,
        hits: &CatalogueHits,
        start: usize,
        rows: usize,
    ) -> Result<Vec<CatalogueHit>, Diagnostic> {
        let window = self.window();
        let near = hits.place_before(start);
        let near = near.filter(|(known, _)| start - known + rows <= window);
        if let Some((known, place)) = near {
            return self.after(hits, place, start - known, rows).await;
        }
        let by_number = hits.order.is_empty() && self.current().record.number.is_some();
        if !by_number || rows > window {
            return Err(out_of_range(start));
        }
        let (number, before) = self.number_before(hits, start, rows).await?;
        let page = Page {
            start: PageStart::Number(number),
            skip: start - before,
            rows,
            with_records: true,
        };
        Ok(self.part(hits, page).await?.hits)
    }

    /// Returns the records that follow some others after a place.
    async fn after(
        &self,
        hits: &CatalogueHits,
        mut place: String,
        skipped: usize,
        rows: usize,
    ) -> Result<Vec<CatalogueHit>, Diagnostic> {
        if skipped > 0 {
            let page = Page {
                start: PageStart::After(&place),
                rows: skipped,
                ..Page::default()
            };
            let skipped = self.part(hits, page).await?.hits;
            match skipped.into_iter().next_back() {
                Some(last) => place = last.place,
                None => return Ok(Vec::new()),
            }
        }
        let page = Page {
            start: PageStart::After(&place),
            rows,
            with_records: true,
            ..Page::default()
        };
        Ok(self.part(hits, page).await?.hits)
    }

    /// Returns a number from which on a page that begins at a position is within the window.
    ///
    /// # Errors
    /// 13 if there is none: more records than that have the same number.
    async fn number_before(
        &self,
        hits: &CatalogueHits,
        start: usize,
        rows: usize,
    ) -> Result<Counted, Diagnostic> {
        let last = self.last_number(hits).await?;
        let (mut below, mut above) = ((0, 0), (last.saturating_add(1), hits.count));
        let window = self.window();
        // The middle of those from which the page can be had.
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
            let before = self.part(hits, page).await?.total;
            if before <= start {
                below = (number, before);
            } else {
                above = (number, before);
            }
        }
        Err(out_of_range(start))
    }

    /// Returns the greatest number of the records of a set.
    async fn last_number(&self, hits: &CatalogueHits) -> Result<u64, Diagnostic> {
        let offer = self.current();
        let order = offer.record.number.clone().map(|key| OrderBy {
            key,
            descending: true,
            missing: MissingValue::Last,
        });
        let order: Vec<OrderBy> = order.into_iter().collect();
        let plan = Plan {
            order: &order,
            page: Page {
                rows: 1,
                ..Page::default()
            },
            ..Plan::count(&hits.clause, self.deadline())
        };
        let answer = self.ask(&offer, &plan).await.map_err(presenting)?;
        let place = answer.hits.first().map(|hit| &*hit.place);
        Ok(place.and_then(first_number).unwrap_or_default())
    }
}

/// Returns the first value of a place, if it is a number.
fn first_number(place: &str) -> Option<u64> {
    let values: serde_json::Value = serde_json::from_str(place).ok()?;
    values.get(0)?.as_u64()
}

/// Returns a number between two others, neither of which it is, as if the numbers of records were at equal distances.
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

    #[test]
    fn places_begin_with_a_number_or_not() {
        for (place, expected) in [
            ("[17,\"x\"]", Some(17)),
            ("[\"17\"]", None),
            ("[]", None),
            ("", None),
        ] {
            assert_eq!(first_number(place), expected);
        }
    }
}

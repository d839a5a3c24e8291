//! Lists the terms around a start. They are read from the engine's dictionary of terms.

use super::ReadTerms;
use super::request::MOST_BUCKETS;
use crate::engine::answer::{AskError, TermsAnswer};

/// The terms in a field in order, each with its number of records.
pub(in crate::engine) trait TermList: Sync {
    /// Reads at most `most` terms after a start, which is excluded. If `from` is passed, reads terms before the start instead,
    /// the nearest first, from the records that have a term between `from` and the start.
    fn read(
        &self,
        start: &str,
        from: Option<&str>,
        most: usize,
    ) -> impl Future<Output = Result<ReadTerms, AskError>> + Send;

    /// Reads the start, if a record has it, and at least `most` terms after it, or all remaining terms if there are
    /// fewer.
    fn read_at(
        &self,
        start: &str,
        most: usize,
    ) -> impl Future<Output = Result<ReadTerms, AskError>> + Send;
}

/// Reads at most `before` terms before a start, and at most `after` terms from the start onwards.
pub(in crate::engine) async fn around(
    list: &impl TermList,
    start: &str,
    before: usize,
    after: usize,
) -> Result<TermsAnswer, AskError> {
    let (mut before, after) = tokio::try_join!(
        read_before(list, start, before),
        read_from(list, start, after)
    )?;
    before.terms.reverse();
    Ok(TermsAnswer {
        before: before.terms,
        is_exact: after.terms.first().is_some_and(|(term, _)| term == start),
        after: after.terms,
        missing: before.missing.or(after.missing),
    })
}

async fn read_from(
    list: &impl TermList,
    start: &str,
    wanted: usize,
) -> Result<ReadTerms, AskError> {
    let mut found = ReadTerms::default();
    while found.terms.len() < wanted {
        let most = (wanted - found.terms.len()).min(MOST_BUCKETS);
        let read = match found.terms.last() {
            Some((last, _)) => list.read(last, None, most).await?,
            None if start.is_empty() => list.read(start, None, most).await?,
            None => list.read_at(start, most).await?,
        };
        let is_last = read.terms.len() < most;
        found.add(read);
        if is_last {
            break;
        }
    }
    found.terms.truncate(wanted);
    Ok(found)
}

/// Returns the lengths of the prefixes of a start that are tried when reading backwards, in characters. The engine reads the
/// records that have a term between the prefix and the start, so short prefixes take long. Each prefix takes a request.
fn beginnings(characters: usize) -> &'static [usize] {
    match characters {
        0 | 1 => &[0],
        2 => &[1, 0],
        3 | 4 => &[2, 1, 0],
        _ => &[4, 2, 0],
    }
}

/// Reads terms before a start, the nearest first.
async fn read_before(
    list: &impl TermList,
    start: &str,
    wanted: usize,
) -> Result<ReadTerms, AskError> {
    let mut found = ReadTerms::default();
    if wanted == 0 || start.is_empty() {
        return Ok(found);
    }
    for beginning in beginnings(start.chars().count()) {
        let from: String = start.chars().take(*beginning).collect();
        found = read_between(list, &from, start, wanted).await?;
        if found.terms.len() >= wanted {
            break;
        }
    }
    Ok(found)
}

/// Reads terms that are before a start but not before `from`, the nearest to the start first.
async fn read_between(
    list: &impl TermList,
    from: &str,
    start: &str,
    wanted: usize,
) -> Result<ReadTerms, AskError> {
    let mut found = ReadTerms::default();
    while found.terms.len() < wanted {
        let most = (wanted - found.terms.len()).min(MOST_BUCKETS);
        let before = found.terms.last().map_or(start, |(last, _)| last);
        let mut read = list.read(before, Some(from), most).await?;
        let all = read.terms.len();
        read.terms.retain(|(term, _)| &**term >= from);
        let is_last = all < most || read.terms.len() < all;
        found.add(read);
        if is_last {
            break;
        }
    }
    Ok(found)
}

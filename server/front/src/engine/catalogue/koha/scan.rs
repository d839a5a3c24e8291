//! Values of a field around a start, from the engine's own dictionary of values.

use std::time::Duration;

use super::KohaDialect;
use super::analysis::Analysis;
use super::request::{self, ListedTerms, TERMS};
use crate::engine::catalogue::offer::Offer;
use crate::engine::catalogue::plan::{AskError, TermsAnswer, TermsPlan};
use crate::engine::elastic::{self, ANSWER_OCTETS, ReadTerms, TERM_OCTETS};

/// The lengths in characters of the beginnings of the start that are tried backwards: the engine reads the records that have a value from
/// the beginning to the start.
const BEGINNINGS: [usize; 4] = [4, 2, 1, 0];
/// The most values of a request.
const MOST_VALUES: usize = 10_000;

/// Lists values.
pub(super) async fn terms(
    koha: &KohaDialect,
    offer: &Offer,
    analysis: &Analysis,
    plan: &TermsPlan<'_>,
    deadline: Duration,
) -> Result<TermsAnswer, AskError> {
    let start = analysis.key(plan.field, plan.start);
    let list = List {
        koha,
        offer,
        analysis,
        plan,
        deadline,
        start: &start,
    };
    let (before, after) = tokio::try_join!(list.before(), list.after())?;
    let mut missing = before.missing;
    missing = missing.or(after.missing);
    let mut before = before.terms;
    before.reverse();
    Ok(TermsAnswer {
        is_exact: after.terms.first().is_some_and(|(term, _)| *term == start),
        before,
        after: after.terms,
        missing,
    })
}

struct List<'a> {
    koha: &'a KohaDialect,
    offer: &'a Offer,
    analysis: &'a Analysis,
    plan: &'a TermsPlan<'a>,
    deadline: Duration,
    /// The start, folded.
    start: &'a str,
}

impl List<'_> {
    /// Returns the values from the start on.
    async fn after(&self) -> Result<ReadTerms, AskError> {
        let wanted = self.plan.after;
        let mut found = ReadTerms::default();
        if wanted == 0 {
            return Ok(found);
        }
        // The values after a start do not include it, so it is counted first.
        if !self.start.is_empty() {
            let own = self.count().await?;
            found.missing = own.missing;
            found.terms.extend(own.terms);
        }
        let mut after = self.start.to_owned();
        while found.terms.len() < wanted {
            let most = (wanted - found.terms.len()).min(MOST_VALUES);
            let read = self.read(&after, None, most, false).await?;
            let is_last = read.terms.len() < most;
            found.missing = found.missing.or(read.missing);
            found.terms.extend(read.terms);
            match found.terms.last() {
                Some((last, _)) if !is_last => after.clone_from(last),
                _ => break,
            }
        }
        Ok(found)
    }

    /// Returns the values before the start, the nearest first.
    async fn before(&self) -> Result<ReadTerms, AskError> {
        let wanted = self.plan.before;
        let mut found = ReadTerms::default();
        if wanted == 0 || self.start.is_empty() {
            return Ok(found);
        }
        let characters = self.start.chars().count();
        for beginning in BEGINNINGS {
            if beginning > 0 && beginning >= characters {
                continue;
            }
            let from: String = self.start.chars().take(beginning).collect();
            found = self.before_from(&from, wanted).await?;
            if found.terms.len() >= wanted {
                break;
            }
        }
        Ok(found)
    }

    /// Returns the values before the start that are not before `from`.
    async fn before_from(&self, from: &str, wanted: usize) -> Result<ReadTerms, AskError> {
        let mut found = ReadTerms::default();
        let mut before = self.start.to_owned();
        while found.terms.len() < wanted {
            let most = (wanted - found.terms.len()).min(MOST_VALUES);
            let mut read = self.read(&before, Some(from), most, true).await?;
            let all = read.terms.len();
            read.terms.retain(|(term, _)| &**term >= from);
            let is_last = all < most || read.terms.len() < all;
            found.missing = found.missing.or(read.missing);
            found.terms.extend(read.terms);
            match found.terms.last() {
                Some((last, _)) if !is_last => before.clone_from(last),
                _ => break,
            }
        }
        Ok(found)
    }

    /// Returns the start, if any record has it.
    async fn count(&self) -> Result<ReadTerms, AskError> {
        let body = request::count(
            self.offer,
            self.analysis,
            self.plan,
            self.start,
            self.deadline,
        )?;
        let answer = self.koha.ask(&body, ANSWER_OCTETS).await?;
        let missing = elastic::missing(&answer)?;
        let (total, _) = elastic::total(&answer);
        let own = (total > 0).then(|| (self.start.to_owned(), total));
        Ok(ReadTerms {
            terms: own.into_iter().collect(),
            missing,
        })
    }

    async fn read(
        &self,
        start: &str,
        from: Option<&str>,
        most: usize,
        backwards: bool,
    ) -> Result<ReadTerms, AskError> {
        let listed = ListedTerms {
            start,
            from,
            most,
            backwards,
        };
        let body = request::terms(self.offer, self.analysis, self.plan, &listed, self.deadline)?;
        let limit = ANSWER_OCTETS + most * TERM_OCTETS;
        let answer = self.koha.ask(&body, limit).await?;
        elastic::terms(TERMS, &answer)
    }
}

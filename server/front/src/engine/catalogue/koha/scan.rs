//! Lists the values in a field around a start. They are read from the engine's dictionary of values.

use std::time::Duration;

use super::KohaDialect;
use super::request::KohaFields;
use crate::engine::catalogue::plan::{AskError, Clause};
use crate::engine::elastic::listing::TermList;
use crate::engine::elastic::request::{self, TermsAfter};
use crate::engine::elastic::{self, ANSWER_OCTETS, ReadTerms, TERM_OCTETS};

/// A field's dictionary of values.
pub(super) struct KohaList<'a> {
    pub(super) koha: &'a KohaDialect,
    pub(super) fields: KohaFields<'a>,
    pub(super) field: &'a str,
    /// The records whose values are listed.
    pub(super) within: &'a Clause,
    pub(super) deadline: Duration,
}

impl TermList for KohaList<'_> {
    async fn read(
        &self,
        start: &str,
        from: Option<&str>,
        most: usize,
    ) -> Result<ReadTerms, AskError> {
        let after = TermsAfter {
            field: self.field,
            start,
            from,
            most,
            within: self.within,
            deadline: self.deadline,
        };
        let body = request::terms(&self.fields, &after)?;
        let limit = ANSWER_OCTETS + most * TERM_OCTETS;
        elastic::terms(&self.koha.ask(&body, limit).await?)
    }

    async fn read_at(&self, start: &str, most: usize) -> Result<ReadTerms, AskError> {
        let (field, within) = (self.field, self.within);
        let body = request::count(&self.fields, field, start, within, self.deadline)?;
        let answer = self.koha.ask(&body, ANSWER_OCTETS).await?;
        let (total, _) = elastic::total(&answer);
        let own = (total > 0).then(|| (start.to_owned(), total));
        let mut found = ReadTerms {
            terms: own.into_iter().collect(),
            missing: elastic::missing(&answer)?,
        };
        if found.terms.len() < most {
            let others = most - found.terms.len();
            found.add(self.read(start, None, others).await?);
        }
        Ok(found)
    }
}

//! Answers a Scan with complete values in an index around a start, as the engine lists them, each with its number of
//! records (Z39.50-2003 §3.2.8.1).

use z3950_asn1::bib1::attributes::{RELATION, RELATION_EQUAL, STRUCTURE, TRUNCATION};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_server::backend::{Scan, Scanned};
use z3950_server::memory::Kind;
use z3950_server::{Diagnostic, diagnostic};

use super::database::CatalogueDatabase;
use super::map::Role;
use super::offer::Offer;
use super::plan::TermsPlan;
use super::search::point;
use crate::engine::scan;
use crate::engine::search::{EngineDatabase as _, changing};

/// The structures for words: word, word list, free-form text, document text.
const OF_WORDS: [i64; 4] = [2, 6, 105, 106];

impl CatalogueDatabase {
    pub(super) async fn scanned(&self, scan: Scan<'_>) -> Result<Scanned, Diagnostic> {
        let offer = self.offer().await?;
        if let Some(scanned) = self.scanned_by(&offer, &scan).await? {
            return Ok(scanned);
        }
        let scanned = self.scanned_by(&*self.reader().await?, &scan).await?;
        scanned.ok_or_else(changing)
    }

    /// Returns the values; `None` if the fields of the index have changed since the offer was made.
    async fn scanned_by(
        &self,
        offer: &Offer,
        scan: &Scan<'_>,
    ) -> Result<Option<Scanned>, Diagnostic> {
        let written = offer.indexes.written(&scan.attribute_set, scan.start)?;
        let refused = |condition, attribute_type| {
            let value = written.value(attribute_type).unwrap_or_default();
            Err(diagnostic(condition, value.to_string()))
        };
        let point = point(offer, written.index())?;
        if written.value(RELATION) != Some(RELATION_EQUAL) {
            return refused(Condition::RELATION, RELATION);
        }
        let is_masked = written.masked().is_some() || written.is_expression();
        if is_masked || written.open_ends().0 {
            return refused(Condition::TRUNCATION, TRUNCATION);
        }
        let structure = written.value(STRUCTURE);
        // The engine lists whole values, not words, so a scan for words is refused.
        if point.kind == Kind::Text && structure.is_some_and(|one| OF_WORDS.contains(&one)) {
            return refused(Condition::STRUCTURE, STRUCTURE);
        }
        let without = || diagnostic(Condition::MALFORMED_SCAN, &*point.name);
        let field = point.field(Role::Scan).ok_or_else(without)?;
        let needs = scan::needs(self, scan)?;
        let plan = TermsPlan {
            field,
            start: written.text.trim(),
            before: needs.before,
            after: needs.after,
            within: needs.within.as_ref(),
        };
        let answer = self
            .dialect
            .terms(offer, &plan, self.deadline())
            .await
            .map_err(|error| self.failure(&error))?;
        let is_empty = answer.before.is_empty() && answer.after.is_empty();
        if is_empty && answer.missing.is_none() && self.has_changed(offer, None).await? {
            return Ok(None);
        }
        scan::shown(self, scan, answer).map(Some)
    }
}

//! Searches, presents and sorts records in a catalogue with the code that all databases in engines share.

use std::sync::Arc;

use z3950_asn1::apdu::{AttributeList, SortKey};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_server::memory::index_map::IndexId;
use z3950_server::{Diagnostic, diagnostic};

use super::database::CatalogueDatabase;
use super::leaf::{CatalogueLeaf, Wanted};
use super::map::Role;
use super::offer::{Offer, Point};
use super::plan::{Answer, AskError, Clause, OrderBy, Plan};
use crate::engine::EngineOptions;
use crate::engine::health::DatabaseHealth;
use crate::engine::hits::ResultSets;
use crate::engine::link::Failure;
use crate::engine::pages::Pages;
use crate::engine::plan::{MissingValue, Page};
use crate::engine::search::{EngineDatabase, IndexReader};

impl EngineDatabase for CatalogueDatabase {
    type Leaf = CatalogueLeaf;
    type Reader = Offer;

    const AT_ONCE: usize = 50;

    fn options(&self) -> &EngineOptions {
        &self.options
    }

    fn sets(&self) -> &ResultSets {
        &self.sets
    }

    fn health(&self) -> &DatabaseHealth {
        &self.health
    }

    fn window(&self) -> usize {
        let own = self.current().record.window;
        own.unwrap_or_else(|| self.dialect.window())
    }

    async fn reader(&self) -> Result<Arc<Offer>, Diagnostic> {
        self.offer().await
    }

    async fn ask(&self, plan: &Plan<'_>, _: Option<&str>) -> Result<Answer, AskError> {
        let answer = self.dialect.search(&self.current(), plan).await;
        if matches!(
            answer,
            Err(AskError::Failed(Failure::Refused { status: 400, .. }))
        ) {
            self.doubt();
        }
        answer
    }

    fn identified(&self, ids: Arc<[String]>) -> Clause {
        let offer = self.current();
        let identified = |point| CatalogueLeaf {
            point: Arc::clone(point),
            wanted: Wanted::Identifiers(ids),
        };
        let leaf = offer.point(IndexId::DOCID).map(identified);
        leaf.map_or(Clause::Nothing, Clause::Leaf)
    }

    async fn last_number(pages: &Pages<'_, Self>) -> Result<Option<u64>, Diagnostic> {
        let number = pages.database.current().record.number.clone();
        let Some(key) = number.filter(|_| pages.hits.order.is_empty()) else {
            return Ok(None);
        };
        let order = [OrderBy {
            key,
            descending: true,
            missing: MissingValue::Last,
        }];
        let page = Page {
            rows: 1,
            ..Page::default()
        };
        let answer = pages.in_order(&order, page).await?;
        let place = answer.hits.first().map(|hit| &*hit.place);
        Ok(Some(place.and_then(first_number).unwrap_or_default()))
    }

    /// Compares the index with the map again if an answer may come from a different index than the one that was
    /// compared. Returns whether the fields have changed.
    async fn has_changed(&self, offer: &Offer, index: Option<&str>) -> Result<bool, Diagnostic> {
        if !self.dialect.is_in_doubt(index) {
            return Ok(false);
        }
        match self.check().await {
            Ok(_) => Ok(!self.current().has_fields_of(offer)),
            Err(error) if error.is_mismatch() => Err(self.unusable(&error)),
            Err(_) => Ok(false),
        }
    }
}

/// Returns the first value of a sort position, if it is a number.
fn first_number(place: &str) -> Option<u64> {
    let values: serde_json::Value = serde_json::from_str(place).ok()?;
    values.get(0)?.as_u64()
}

impl IndexReader for Offer {
    fn counted(&self, attributes: &AttributeList) -> Option<String> {
        let point = self.point(self.indexes.facet_index(attributes)?)?;
        point.field(Role::Facet).map(str::to_owned)
    }

    fn sort_key(&self, key: &SortKey, _: bool) -> Result<(String, CatalogueLeaf), Diagnostic> {
        let point = point(self, self.indexes.sort_index(key)?)?;
        let without = || diagnostic(Condition::SORT_SEQUENCE, &*point.name);
        let field = point.field(Role::Sort).ok_or_else(without)?;
        let sortable = CatalogueLeaf {
            point: Arc::clone(point),
            wanted: Wanted::Sortable,
        };
        Ok((field.to_owned(), sortable))
    }

    /// Returns the text unchanged, because the engine does not fold the values that it compares.
    fn sort_value(&self, _: &String, text: &str) -> String {
        text.to_owned()
    }
}

/// Returns an offered index, with its fields.
///
/// # Errors
/// Fails with condition 114 if the index is not offered.
pub(super) fn point(offer: &Offer, index: IndexId) -> Result<&Arc<Point>, Diagnostic> {
    let unknown = || diagnostic(Condition::USE, "");
    offer.point(index).ok_or_else(unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

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

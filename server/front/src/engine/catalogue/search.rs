//! A catalogue as a database that is found, presented and sorted as any other in an engine.

use std::sync::Arc;
use std::time::Duration;

use z3950_server::asn1::apdu::{AttributeList, SortKey};
use z3950_server::asn1::bib1::diagnostics::Condition;
use z3950_server::memory::index_map::IndexId;
use z3950_server::{Diagnostic, diagnostic};

use super::database::CatalogueDatabase;
use super::leaf::{CatalogueLeaf, Wanted};
use super::map::Role;
use super::offer::{Offer, Point};
use super::plan::{Answer, AskError, CatalogueHit, Clause, Plan};
use crate::engine::hits::ResultSets;
use crate::engine::pages::Pages;
use crate::engine::search::{EngineDatabase, IndexReader};

impl EngineDatabase for CatalogueDatabase {
    type Leaf = CatalogueLeaf;
    type Reader = Offer;

    const AT_ONCE: usize = 50;

    fn name(&self) -> &str {
        &self.options.name
    }

    fn is_strict(&self) -> bool {
        self.options.strict
    }

    fn answer_time(&self) -> Duration {
        self.options.answer_time
    }

    fn sets(&self) -> &ResultSets {
        &self.sets
    }

    fn window(&self) -> usize {
        self.dialect.window()
    }

    async fn reader(&self) -> Result<Arc<Offer>, Diagnostic> {
        self.offer().await
    }

    async fn ask(&self, plan: &Plan<'_>, _: Option<&str>) -> Result<Answer, AskError> {
        self.dialect.search(&self.current(), plan).await
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

    async fn far(
        pages: &Pages<'_, Self>,
        start: usize,
        rows: usize,
    ) -> Result<Vec<CatalogueHit>, Diagnostic> {
        pages.after_presented(start, rows).await
    }
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

    /// The engine compares values as it does.
    fn sort_value(&self, _: &String, text: &str) -> String {
        text.to_owned()
    }
}

/// Returns the point of an index.
///
/// # Errors
/// 114 if it is not offered.
pub(super) fn point(offer: &Offer, index: IndexId) -> Result<&Arc<Point>, Diagnostic> {
    let unknown = || diagnostic(Condition::USE, "");
    offer.point(index).ok_or_else(unknown)
}

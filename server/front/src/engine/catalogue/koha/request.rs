//! The fields of a Koha index, as needed for requests.

mod expression;
mod leaf;
mod term;

use serde_json::{Value, json};
use z3950_server::Diagnostic;

use self::leaf::leaf_query;
use super::analysis::Analysis;
use crate::engine::catalogue::leaf::CatalogueLeaf;
use crate::engine::catalogue::offer::Offer;
use crate::engine::elastic::request::Fields;

/// The fields of a Koha index, and the words as the engine folds them.
pub(super) struct KohaFields<'a> {
    pub(super) offer: &'a Offer,
    pub(super) analysis: &'a Analysis,
}

impl Fields for KohaFields<'_> {
    type Leaf = CatalogueLeaf;

    fn leaf(&self, leaf: &CatalogueLeaf) -> Result<Value, Diagnostic> {
        leaf_query(self.offer, self.analysis, leaf)
    }

    fn sorted(&self, key: &String) -> String {
        key.clone()
    }

    fn counted(&self, terms: &String) -> String {
        terms.clone()
    }

    fn last(&self) -> &str {
        &self.offer.record.order
    }

    fn number(&self) -> Option<&str> {
        self.offer.record.number.as_deref()
    }

    fn record(&self) -> Value {
        let place = &self.offer.record;
        let others = [&place.format, &place.object].into_iter().flatten();
        [&place.field].into_iter().chain(others).cloned().collect()
    }

    fn visible(&self, found: Value) -> Value {
        let Offer { hidden, only, .. } = self.offer;
        if hidden.is_empty() && only.is_empty() {
            return found;
        }
        let terms = |values: &[(String, String)]| {
            let terms = values.iter();
            terms
                .map(|(field, value)| json!({ "term": { field: value } }))
                .collect::<Vec<_>>()
        };
        let filter = [vec![found], terms(only)].concat();
        json!({ "bool": { "filter": filter, "must_not": terms(hidden) } })
    }
}

#[cfg(test)]
mod tests;

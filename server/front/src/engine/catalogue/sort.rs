//! Sorted result sets: another order of the same clause (Z39.50-2003 §3.2.7.1). Values are compared as the engine does.

use std::sync::Arc;

use z3950_server::asn1::apdu::{
    MissingValueAction, SortElement, SortKey, SortKeySpec, SortRelation,
};
use z3950_server::asn1::bib1::diagnostics::Condition;
use z3950_server::backend::{Hits, Sort};
use z3950_server::{Diagnostic, diagnostic};

use super::database::CatalogueDatabase;
use super::leaf::{CatalogueLeaf, Wanted};
use super::map::Role;
use super::offer::{Offer, Point};
use super::plan::{Clause, OrderBy, Plan};
use super::search::{FIRST_RECORDS, point};
use crate::engine::plan::{MissingValue, Page};

/// The most sort keys.
const MOST_KEYS: usize = 16;

impl CatalogueDatabase {
    pub(super) async fn sorted(&self, sort: Sort<'_>) -> Result<Hits, Diagnostic> {
        if sort.keys.len() > MOST_KEYS {
            let most = MOST_KEYS.to_string();
            return Err(diagnostic(Condition::TOO_MANY_SORT_KEYS, most));
        }
        let offer = self.offer().await?;
        let gone = || diagnostic(Condition::RESULT_SET_DOES_NOT_EXIST, "");
        let inputs = { sort.inputs.iter() }.map(|hits| self.own(hits).ok_or_else(gone));
        let inputs = inputs.collect::<Result<Vec<_>, _>>()?;
        let clauses = inputs.iter().map(|hits| hits.operand());
        let clause = clauses.reduce(Clause::or).unwrap_or(Clause::Nothing);
        let clause = clause.bounded()?;
        let known = inputs.iter().map(|hits| hits.count).max();
        let mut order = Vec::new();
        for key in sort.keys {
            order.push(self.order_of(&offer, key, &clause).await?);
        }
        let plan = Plan {
            order: &order,
            page: Page {
                rows: FIRST_RECORDS,
                with_records: true,
                ..Page::default()
            },
            ..Plan::count(&clause, self.deadline())
        };
        let answer = self.ask(&offer, &plan).await?;
        let failed = self.failed_source(answer.missing.as_deref())?;
        let gone = failed.as_ref().and_then(|source| source.failure.clone());
        if let Some(gone) = gone.filter(|_| Some(answer.total) < known) {
            return Err(gone);
        }
        let found = (answer.total, failed.is_none());
        self.hits(&offer, clause, order, found, answer.hits)
    }

    /// Reads a key.
    async fn order_of(
        &self,
        offer: &Offer,
        key: &SortKeySpec,
        found: &Clause,
    ) -> Result<OrderBy, Diagnostic> {
        let index = offer.indexes.sort_index(self.element(key)?)?;
        let point = point(offer, index)?;
        let without = || diagnostic(Condition::SORT_SEQUENCE, &*point.name);
        let field = point.field(Role::Sort).ok_or_else(without)?;
        let descending = match key.sort_relation {
            SortRelation::ASCENDING => false,
            SortRelation::DESCENDING => true,
            SortRelation(other) => {
                return Err(diagnostic(Condition::SORT_RELATION, other.to_string()));
            }
        };
        let missing = match &key.missing_value_action {
            None => MissingValue::Last,
            // As an empty value, which comes before all others.
            Some(MissingValueAction::Null) if descending => MissingValue::Last,
            Some(MissingValueAction::Null) => MissingValue::First,
            Some(MissingValueAction::MissingValueData(value)) => {
                MissingValue::As(String::from_utf8_lossy(value).into_owned())
            }
            Some(MissingValueAction::Abort) => {
                self.refuse_missing(offer, point, found).await?;
                MissingValue::Last
            }
        };
        Ok(OrderBy {
            key: field.to_owned(),
            descending,
            missing,
        })
    }

    /// # Errors
    /// 213 if a record has no value; 109 if that cannot be told.
    async fn refuse_missing(
        &self,
        offer: &Offer,
        point: &Arc<Point>,
        found: &Clause,
    ) -> Result<(), Diagnostic> {
        let sortable = Clause::Leaf(CatalogueLeaf {
            point: Arc::clone(point),
            wanted: Wanted::Sortable,
        });
        let without = found.clone().and_not(sortable).bounded()?;
        let plan = Plan::count(&without, self.deadline());
        let answer = self.ask(offer, &plan).await?;
        if answer.total > 0 {
            return Err(diagnostic(Condition::MISSING_VALUE_ACTION, "abort"));
        }
        match self.failed_source(answer.missing.as_deref())? {
            Some(source) => source.failure.map_or(Ok(()), Err),
            None => Ok(()),
        }
    }

    fn element<'k>(&self, key: &'k SortKeySpec) -> Result<&'k SortKey, Diagnostic> {
        match &key.sort_element {
            SortElement::Generic(key) => Ok(key),
            SortElement::DatabaseSpecific(keys) => {
                let mut keys = keys.iter();
                let own = keys.find(|key| {
                    let name = key.database_name.0.to_string_lossy();
                    name.eq_ignore_ascii_case(&self.options.name)
                });
                let missing = || diagnostic(Condition::SORT_SEQUENCE, "");
                Ok(&own.ok_or_else(missing)?.db_sort)
            }
        }
    }
}

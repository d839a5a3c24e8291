//! Sorted result sets: another order of the same clause (Z39.50-2003 §3.2.7.1). Orders end in the record's number.

use z3950_server::asn1::apdu::{
    CaseSensitivity, MissingValueAction, SortElement, SortKeySpec, SortRelation,
};
use z3950_server::asn1::bib1::diagnostics::Condition;
use z3950_server::backend::{Hits, Sort};
use z3950_server::memory::Kind;
use z3950_server::memory::index_map::{IndexId, each_word};
use z3950_server::{Diagnostic, diagnostic};

use super::database::ClusterDatabase;
use super::hits::ClusterHits;
use super::leaf::{Clause, IndexLeaf, OrderBy, Plan, SortKey};
use super::search::FIRST_RECORDS;
use crate::engine::plan::{MissingValue, Page};

/// The most sort keys.
const MOST_KEYS: usize = 16;

impl ClusterDatabase {
    pub(super) async fn sorted(&self, sort: Sort<'_>) -> Result<Hits, Diagnostic> {
        if sort.keys.len() > MOST_KEYS {
            let most = MOST_KEYS.to_string();
            return Err(diagnostic(Condition::TOO_MANY_SORT_KEYS, most));
        }
        let gone = || diagnostic(Condition::RESULT_SET_DOES_NOT_EXIST, "");
        let inputs = { sort.inputs.iter() }.map(|hits| self.own(hits).ok_or_else(gone));
        let inputs = inputs.collect::<Result<Vec<_>, _>>()?;
        let clauses = inputs.iter().map(|hits| hits.operand());
        let clause = clauses.reduce(Clause::or).unwrap_or(Clause::Nothing);
        let clause = clause.bounded()?;
        let known = inputs.iter().map(|hits| hits.count).max();
        let mut order = Vec::new();
        for key in sort.keys {
            order.push(self.order_of(key, &clause).await?);
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
        let answer = self.ask(&plan).await?;
        let failed = self.failed_source(answer.missing.as_deref())?;
        let gone = failed.as_ref().and_then(|source| source.failure.clone());
        if let Some(gone) = gone.filter(|_| Some(answer.total) < known) {
            return Err(gone);
        }
        let hits = ClusterHits::new(self.mark(), clause, &order, answer);
        Ok(Hits::new(hits))
    }

    /// Reads a key.
    async fn order_of(&self, key: &SortKeySpec, found: &Clause) -> Result<OrderBy, Diagnostic> {
        let index = self.sort_index(key)?;
        let descending = match key.sort_relation {
            SortRelation::ASCENDING => false,
            SortRelation::DESCENDING => true,
            SortRelation(other) => {
                return Err(diagnostic(Condition::SORT_RELATION, other.to_string()));
            }
        };
        let with_case = key.case_sensitivity == CaseSensitivity::CASE_SENSITIVE
            && self.layout.map().kind(index) == Kind::Text;
        let missing = match &key.missing_value_action {
            None => MissingValue::Last,
            // As an empty value, which comes before all others.
            Some(MissingValueAction::Null) if descending => MissingValue::Last,
            Some(MissingValueAction::Null) => MissingValue::First,
            Some(MissingValueAction::MissingValueData(value)) => {
                let text = String::from_utf8_lossy(value);
                MissingValue::As(if with_case {
                    text.into_owned()
                } else {
                    folded(&text)
                })
            }
            Some(MissingValueAction::Abort) => {
                self.refuse_missing(index, found).await?;
                MissingValue::Last
            }
        };
        Ok(OrderBy {
            key: SortKey { index, with_case },
            descending,
            missing,
        })
    }

    /// # Errors
    /// 213 if a record has no value; 109 if that cannot be told.
    async fn refuse_missing(&self, index: IndexId, found: &Clause) -> Result<(), Diagnostic> {
        let without = found
            .clone()
            .and_not(Clause::Leaf(IndexLeaf::Sortable(index)))
            .bounded()?;
        let answer = self.ask(&Plan::count(&without, self.deadline())).await?;
        if answer.total > 0 {
            return Err(diagnostic(Condition::MISSING_VALUE_ACTION, "abort"));
        }
        match self.failed_source(answer.missing.as_deref())? {
            Some(source) => source.failure.map_or(Ok(()), Err),
            None => Ok(()),
        }
    }

    fn sort_index(&self, key: &SortKeySpec) -> Result<IndexId, Diagnostic> {
        let element = match &key.sort_element {
            SortElement::Generic(key) => key,
            SortElement::DatabaseSpecific(keys) => {
                let mut keys = keys.iter();
                let own = keys.find(|key| {
                    let name = key.database_name.0.to_string_lossy();
                    name.eq_ignore_ascii_case(&self.options.name)
                });
                let missing = || diagnostic(Condition::SORT_SEQUENCE, "");
                &own.ok_or_else(missing)?.db_sort
            }
        };
        let index = self.layout.map().sort_index(element)?;
        if self.layout.is_sorted(index) {
            Ok(index)
        } else {
            let name = self.layout.name(index);
            Err(diagnostic(Condition::SORT_SEQUENCE, name))
        }
    }
}

/// Returns the words of a text as values to sort by have them.
fn folded(text: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    each_word(text, &mut String::new(), |word| words.push(word.to_owned()));
    words.join(" ")
}

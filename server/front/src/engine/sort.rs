//! Sorted result sets: another order of the same query (Z39.50-2003 §3.2.7.1). Orders end in the record's number.

use z3950_server::asn1::apdu::{
    CaseSensitivity, MissingValueAction, SortElement, SortKeySpec, SortRelation,
};
use z3950_server::asn1::bib1::diagnostics::Condition;
use z3950_server::backend::{Hits, Sort, SourceReport};
use z3950_server::memory::Kind;
use z3950_server::memory::index_map::IndexId;
use z3950_server::{Diagnostic, diagnostic};

use super::EngineDatabase;
use super::query::having;
use super::sphinx;

/// The columns that the engine sorts by, besides the number.
const MOST_COLUMNS: usize = 4;
/// The records that come with a sort.
const FIRST_RECORDS: usize = 10;

impl EngineDatabase {
    pub(super) async fn sorted(&self, sort: Sort<'_>) -> Result<Hits, Diagnostic> {
        let gone = || diagnostic(Condition::RESULT_SET_DOES_NOT_EXIST, "");
        let inputs = sort
            .inputs
            .iter()
            .map(|hits| self.own(hits).ok_or_else(gone));
        let inputs = inputs.collect::<Result<Vec<_>, _>>()?;
        let queries: Vec<String> = inputs.iter().map(|hits| hits.query.to_string()).collect();
        let query = sphinx::any(&queries);
        let known = inputs.iter().map(|hits| hits.count).max();
        let mut columns = Vec::new();
        for key in sort.keys {
            columns.extend(self.order_of(key, &query).await?);
        }
        if columns.len() > MOST_COLUMNS {
            let most = (MOST_COLUMNS / 2).to_string();
            return Err(diagnostic(Condition::TOO_MANY_SORT_KEYS, most));
        }
        columns.push("id ASC".to_owned());
        let order = format!("ORDER BY {}", columns.join(", "));
        let set = self.set(query, &order, FIRST_RECORDS).await?;
        let gone = first_failure(set.sources);
        if let Some(gone) = gone.filter(|_| Some(set.hits.count) < known) {
            return Err(gone);
        }
        Ok(Hits::new(set.hits))
    }

    /// The columns of a key.
    async fn order_of(&self, key: &SortKeySpec, query: &str) -> Result<Vec<String>, Diagnostic> {
        let index = self.sort_index(key)?;
        let direction = match key.sort_relation {
            SortRelation::ASCENDING => "ASC",
            SortRelation::DESCENDING => "DESC",
            SortRelation(other) => {
                return Err(diagnostic(Condition::SORT_RELATION, other.to_string()));
            }
        };
        let with_case = key.case_sensitivity == CaseSensitivity::CASE_SENSITIVE
            && self.layout.map().kind(index) == Kind::Text;
        let value = self
            .layout
            .column_of(if with_case { "c" } else { "s" }, index);
        let by_value = format!("{value} {direction}");
        // Without a value, the column is empty, which comes first of all values.
        let last = || format!("{} DESC", self.layout.column_of("h", index));
        Ok(match &key.missing_value_action {
            Some(MissingValueAction::Null) => vec![by_value],
            Some(MissingValueAction::MissingValueData(_)) => {
                return Err(diagnostic(
                    Condition::MISSING_VALUE_ACTION,
                    "missingValueData",
                ));
            }
            Some(MissingValueAction::Abort) => {
                let without = sphinx::without(query, &having(&self.layout, index));
                for counted in self.counts(&[without]).await? {
                    if counted.count > 0 {
                        return Err(diagnostic(Condition::MISSING_VALUE_ACTION, "abort"));
                    }
                    if let Some(gone) = first_failure(self.sources(&counted)?) {
                        return Err(gone);
                    }
                }
                vec![by_value]
            }
            None if direction == "ASC" => vec![last(), by_value],
            None => vec![by_value],
        })
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
            Err(diagnostic(
                Condition::SORT_SEQUENCE,
                self.layout.name(index),
            ))
        }
    }
}

/// Why a node does not answer: the sorted set may lack its records.
fn first_failure(sources: Vec<SourceReport>) -> Option<Diagnostic> {
    sources.into_iter().find_map(|source| source.failure)
}

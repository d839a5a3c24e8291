//! Result sets and queries that outlive the session (Z39.50-2003 Appendix EXT.1, EXT.2), identified by the name of their
//! package.

use z3950_asn1::apdu::{OtherInformation, Query};
use z3950_asn1::error::EncodeError;
use z3950_asn1::es::TaskParameters;
use z3950_asn1::es::persistent_query::{self, PersistentQuery};
use z3950_asn1::es::persistent_result_set::{self, PersistentResultSet, ReplaceOrAppend};
use z3950_asn1::types::InternationalString;

use super::Task;

/// A result set to store.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct KeptResultSet {
    /// Its name in the session; none to delete a package.
    pub result_set: Option<InternationalString>,
    /// What to do with the records of the package, when it is modified.
    pub replace_or_append: Option<ReplaceOrAppend>,
}

impl KeptResultSet {
    /// The task that stores it.
    ///
    /// # Errors
    /// Only for values that cannot be encoded.
    pub fn task(&self) -> Result<Task, EncodeError> {
        let not_to_keep = persistent_result_set::OriginPartNotToKeep {
            origin_supplied_result_set: self.result_set.clone(),
            replace_or_append: self.replace_or_append,
        };
        let is_empty = *self == Self::default();
        let request = PersistentResultSet::EsRequest(persistent_result_set::EsRequest {
            to_keep: (),
            not_to_keep: (!is_empty).then_some(not_to_keep),
        });
        Task::new(&TaskParameters::from(request))
    }
}

/// A query to store.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct KeptQuery {
    /// The query.
    pub query: Query,
    /// The databases to search.
    pub databases: Vec<InternationalString>,
    /// Additional information for the search.
    pub additional_search_info: Option<OtherInformation>,
}

impl KeptQuery {
    /// A query for these databases.
    pub fn new(query: Query, databases: Vec<InternationalString>) -> Self {
        Self {
            query,
            databases,
            additional_search_info: None,
        }
    }

    /// The task that stores it.
    ///
    /// # Errors
    /// Only for values that cannot be encoded.
    pub fn task(&self) -> Result<Task, EncodeError> {
        let databases = Some(&self.databases).filter(|databases| !databases.is_empty());
        let to_keep = persistent_query::OriginPartToKeep {
            db_names: databases.cloned(),
            additional_search_info: self.additional_search_info.clone(),
        };
        let is_empty = to_keep == persistent_query::OriginPartToKeep::default();
        let query = Box::new(self.query.clone());
        let request = PersistentQuery::EsRequest(persistent_query::EsRequest {
            to_keep: (!is_empty).then_some(to_keep),
            not_to_keep: persistent_query::OriginPartNotToKeep::Query(query),
        });
        Task::new(&TaskParameters::from(request))
    }
}

//! Sort: SortRequest `[43]`, SortResponse `[44]` (Z39.50-2003 §3.2.7.1).

use super::{AttributeList, DatabaseName, DiagRec, OtherInformation, ReferenceId, Specification};
use crate::describe::described;
use crate::oid::Oid;
use crate::production::productions;
use crate::types::{InternationalString, OctetString};

productions! {
    /// A request to sort, or merge and sort, result sets.
    #[derive(Default)]
    pub struct SortRequest {
        reference_id: Option<ReferenceId>,
        [3] input_result_set_names: Vec<InternationalString>,
        [4] sorted_result_set_name: InternationalString,
        [5] sort_sequence: Vec<SortKeySpec>,
        other_info: Option<OtherInformation>,
    }

    /// The result of a sort.
    #[derive(Default)]
    pub struct SortResponse {
        reference_id: Option<ReferenceId>,
        [3] sort_status: SortStatus,
        [4] result_set_status: Option<SortResultSetStatus>,
        [5] diagnostics: Option<Vec<DiagRec>>,
        [6] result_count: Option<i64>,
        other_info: Option<OtherInformation>,
    }

    /// Whether the sort succeeded.
    pub integer SortStatus { SUCCESS = 0 "success", PARTIAL_1 = 1 "partial-1", FAILURE = 2 "failure" }

    /// The state of the sorted result set after a sort that did not succeed.
    pub integer SortResultSetStatus { EMPTY = 1 "empty", INTERIM = 2 "interim", UNCHANGED = 3 "unchanged", NONE = 4 "none" }

    /// One key of a sort, with its order and options.
    pub struct SortKeySpec {
        sort_element: SortElement,
        [1] sort_relation: SortRelation,
        [2] case_sensitivity: CaseSensitivity,
        [3] missing_value_action: Option<MissingValueAction>,
    }

    /// The order in which a key sorts.
    pub integer SortRelation {
        ASCENDING = 0 "ascending", DESCENDING = 1 "descending",
        ASCENDING_BY_FREQUENCY = 3 "ascendingByFrequency", DESCENDING_BY_FREQUENCY = 4 "descendingByfrequency",
    }

    /// Whether case matters in a sort key.
    pub integer CaseSensitivity { CASE_SENSITIVE = 0 "caseSensitive", CASE_INSENSITIVE = 1 "caseInsensitive" }

    /// The treatment of records that lack the key.
    pub enum MissingValueAction {
        [1] Abort,
        [2] Null,
        [3] MissingValueData(OctetString),
    }
}

described! {
    /// A sort key for all databases, or one for each database.
    pub enum SortElement {
        [1] Generic(SortKey),
        [2] DatabaseSpecific(Vec<DatabaseSpecificSort>),
    }

    /// The sort key for one database.
    pub struct DatabaseSpecificSort {
        database_name: DatabaseName,
        db_sort: SortKey,
    }

    /// A sort key: the name of a field, elements, or attributes.
    pub enum SortKey {
        [0] SortField(InternationalString),
        [1] ElementSpec(Box<Specification>),
        [2] SortAttributes(SortAttributes),
    }

    /// A sort key that consists of attributes.
    pub struct SortAttributes {
        id: Oid,
        list: AttributeList,
    }
}

impl SortRequest {
    /// Creates a request to sort one result set by keys, with the most important key first.
    pub fn in_place(result_set: impl Into<InternationalString>, keys: Vec<SortKeySpec>) -> Self {
        let name = result_set.into();
        Self {
            input_result_set_names: vec![name.clone()],
            sorted_result_set_name: name,
            sort_sequence: keys,
            ..Self::default()
        }
    }
}

//! Sort: SortRequest `[43]`, SortResponse `[44]` (Z39.50-2003 §3.2.7.1).

use rasn::prelude::*;

use super::{AttributeList, DatabaseName, DiagRec, OtherInformation, ReferenceId, Specification};
use crate::oid::Oid;
use crate::types::{InternationalString, OctetString, named_integer};

/// A request to sort, or merge and sort, result sets.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
pub struct SortRequest {
    pub reference_id: Option<ReferenceId>,
    #[rasn(tag(3))]
    pub input_result_set_names: Vec<InternationalString>,
    #[rasn(tag(4))]
    pub sorted_result_set_name: InternationalString,
    #[rasn(tag(5))]
    pub sort_sequence: Vec<SortKeySpec>,
    pub other_info: Option<OtherInformation>,
}

/// What became of the sort.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
pub struct SortResponse {
    pub reference_id: Option<ReferenceId>,
    #[rasn(tag(3))]
    pub sort_status: SortStatus,
    #[rasn(tag(4))]
    pub result_set_status: Option<SortResultSetStatus>,
    #[rasn(tag(5))]
    pub diagnostics: Option<Vec<DiagRec>>,
    #[rasn(tag(6))]
    pub result_count: Option<i64>,
    pub other_info: Option<OtherInformation>,
}

named_integer!(
    /// Whether the sort succeeded.
    SortStatus { SUCCESS = 0 "success", PARTIAL_1 = 1 "partial-1", FAILURE = 2 "failure" }
);

named_integer!(
    /// What became of the sorted set when a sort did not succeed.
    SortResultSetStatus { EMPTY = 1 "empty", INTERIM = 2 "interim", UNCHANGED = 3 "unchanged", NONE = 4 "none" }
);

/// One key of a sort.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
pub struct SortKeySpec {
    pub sort_element: SortElement,
    #[rasn(tag(1))]
    pub sort_relation: SortRelation,
    #[rasn(tag(2))]
    pub case_sensitivity: CaseSensitivity,
    #[rasn(tag(3))]
    pub missing_value_action: Option<MissingValueAction>,
}

named_integer!(
    /// The order of a key.
    SortRelation {
        ASCENDING = 0 "ascending", DESCENDING = 1 "descending",
        ASCENDING_BY_FREQUENCY = 3 "ascendingByFrequency", DESCENDING_BY_FREQUENCY = 4 "descendingByfrequency",
    }
);

named_integer!(
    /// Whether case counts in a key.
    CaseSensitivity { CASE_SENSITIVE = 0 "caseSensitive", CASE_INSENSITIVE = 1 "caseInsensitive" }
);

/// What to do with a record that lacks the key.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
#[rasn(choice)]
pub enum MissingValueAction {
    #[rasn(tag(1))]
    Abort,
    #[rasn(tag(2))]
    Null,
    #[rasn(tag(3))]
    MissingValueData(OctetString),
}

/// Where a key is found, for all databases or for each.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
#[rasn(choice)]
pub enum SortElement {
    #[rasn(tag(1))]
    Generic(SortKey),
    #[rasn(tag(2))]
    DatabaseSpecific(Vec<DatabaseSpecificSort>),
}

/// The key for one database.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
pub struct DatabaseSpecificSort {
    pub database_name: DatabaseName,
    pub db_sort: SortKey,
}

/// A key: a field's name, elements, or attributes.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
#[rasn(choice)]
pub enum SortKey {
    #[rasn(tag(0))]
    SortField(InternationalString),
    #[rasn(tag(1))]
    ElementSpec(Box<Specification>),
    #[rasn(tag(2))]
    SortAttributes(SortAttributes),
}

/// A key by attributes.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
pub struct SortAttributes {
    pub id: Oid,
    pub list: AttributeList,
}

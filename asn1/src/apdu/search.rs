//! Search: SearchRequest `[22]`, SearchResponse `[23]` (Z39.50-2003 §3.2.2).

use rasn::prelude::*;

use super::{
    DatabaseName, ElementSetNames, OtherInformation, PresentStatus, Query, Records, ReferenceId,
};
use crate::oid::Oid;
use crate::optional::OptionalChoice;
use crate::types::{InternationalString, named_integer};

/// A search, with how many records its response may carry.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
pub struct SearchRequest {
    pub reference_id: Option<ReferenceId>,
    /// Up to this many hits, all records come with the response.
    #[rasn(tag(13))]
    pub small_set_upper_bound: i64,
    /// From this many hits on, none does.
    #[rasn(tag(14))]
    pub large_set_lower_bound: i64,
    /// Between the two bounds, so many records come.
    #[rasn(tag(15))]
    pub medium_set_present_number: i64,
    #[rasn(tag(16))]
    pub replace_indicator: bool,
    #[rasn(tag(17))]
    pub result_set_name: InternationalString,
    #[rasn(tag(18))]
    pub database_names: Vec<DatabaseName>,
    #[rasn(tag(100))]
    pub small_set_element_set_names: Option<ElementSetNames>,
    #[rasn(tag(101))]
    pub medium_set_element_set_names: Option<ElementSetNames>,
    #[rasn(tag(104))]
    pub preferred_record_syntax: Option<Oid>,
    #[rasn(tag(21))]
    pub query: Query,
    #[rasn(tag(203))]
    pub additional_search_info: Option<OtherInformation>,
    pub other_info: Option<OtherInformation>,
}

/// What a search found.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq, Default)]
pub struct SearchResponse {
    pub reference_id: Option<ReferenceId>,
    #[rasn(tag(23))]
    pub result_count: i64,
    #[rasn(tag(24))]
    pub number_of_records_returned: i64,
    /// 1-based; the first position not returned.
    #[rasn(tag(25))]
    pub next_result_set_position: i64,
    #[rasn(tag(22))]
    pub search_status: bool,
    #[rasn(tag(26))]
    pub result_set_status: Option<ResultSetStatus>,
    pub present_status: Option<PresentStatus>,
    pub records: OptionalChoice<Records>,
    #[rasn(tag(203))]
    pub additional_search_info: Option<OtherInformation>,
    pub other_info: Option<OtherInformation>,
}

named_integer!(
    /// How complete the result set is (Z39.50-2003 §3.2.2.1.9).
    ResultSetStatus {
        SUBSET = 1 "subset", INTERIM = 2 "interim", NONE = 3 "none", ESTIMATE = 4 "estimate",
    }
);

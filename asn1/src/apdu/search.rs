//! Search: SearchRequest `[22]`, SearchResponse `[23]` (Z39.50-2003 §3.2.2).

use rasn::prelude::*;

use super::{
    DatabaseName, ElementSetNames, OtherInformation, PresentStatus, Query, Records, ReferenceId,
};
use crate::oid::Oid;
use crate::optional::OptionalChoice;
use crate::types::{InternationalString, named_integer, production};

production! {
    /// A search, with the number of records that its response may carry.
    pub struct SearchRequest {
        reference_id: Option<ReferenceId>,
        /// With this many hits or fewer, the response carries all records.
        #[rasn(tag(13))] small_set_upper_bound: i64,
        /// With this many hits or more, the response carries no records.
        #[rasn(tag(14))] large_set_lower_bound: i64,
        /// Between the two bounds, the response carries this many records.
        #[rasn(tag(15))] medium_set_present_number: i64,
        #[rasn(tag(16))] replace_indicator: bool,
        #[rasn(tag(17))] result_set_name: InternationalString,
        #[rasn(tag(18))] database_names: Vec<DatabaseName>,
        #[rasn(tag(100))] small_set_element_set_names: Option<ElementSetNames>,
        #[rasn(tag(101))] medium_set_element_set_names: Option<ElementSetNames>,
        #[rasn(tag(104))] preferred_record_syntax: Option<Oid>,
        #[rasn(tag(21))] query: Query,
        #[rasn(tag(203))] additional_search_info: Option<OtherInformation>,
        other_info: Option<OtherInformation>,
    }
}

production! {
    /// What a search found.
    #[derive(Default)]
    pub struct SearchResponse {
        reference_id: Option<ReferenceId>,
        #[rasn(tag(23))] result_count: i64,
        #[rasn(tag(24))] number_of_records_returned: i64,
        /// 1-based; the first position not returned.
        #[rasn(tag(25))] next_result_set_position: i64,
        #[rasn(tag(22))] search_status: bool,
        #[rasn(tag(26))] result_set_status: Option<ResultSetStatus>,
        present_status: Option<PresentStatus>,
        records: OptionalChoice<Records>,
        #[rasn(tag(203))] additional_search_info: Option<OtherInformation>,
        other_info: Option<OtherInformation>,
    }
}

named_integer!(
    /// How complete the result set is (Z39.50-2003 §3.2.2.1.9).
    ResultSetStatus {
        SUBSET = 1 "subset", INTERIM = 2 "interim", NONE = 3 "none", ESTIMATE = 4 "estimate",
    }
);

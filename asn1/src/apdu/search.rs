//! Search: SearchRequest `[22]`, SearchResponse `[23]` (Z39.50-2003 §3.2.2).

use super::{
    DatabaseName, ElementSetNames, OtherInformation, PresentStatus, Query, Records, ReferenceId,
};
use crate::oid::Oid;
use crate::optional::OptionalChoice;
use crate::production::productions;
use crate::types::InternationalString;

productions! {
    /// A search, with the bounds for the number of records in its response.
    pub struct SearchRequest {
        reference_id: Option<ReferenceId>,
        /// With at most this many hits, the response contains all records.
        [13] small_set_upper_bound: i64,
        /// With at least this many hits, the response contains no records.
        [14] large_set_lower_bound: i64,
        /// With a number of hits between the two bounds, the response contains this many records.
        [15] medium_set_present_number: i64,
        [16] replace_indicator: bool,
        [17] result_set_name: InternationalString,
        [18] database_names: Vec<DatabaseName>,
        [100] small_set_element_set_names: Option<ElementSetNames>,
        [101] medium_set_element_set_names: Option<ElementSetNames>,
        [104] preferred_record_syntax: Option<Oid>,
        [21] query: Query,
        [203] additional_search_info: Option<OtherInformation>,
        other_info: Option<OtherInformation>,
    }

    /// The result of a search.
    #[derive(Default)]
    pub struct SearchResponse {
        reference_id: Option<ReferenceId>,
        [23] result_count: i64,
        [24] number_of_records_returned: i64,
        /// The 1-based position of the first record that was not returned.
        [25] next_result_set_position: i64,
        [22] search_status: bool,
        [26] result_set_status: Option<ResultSetStatus>,
        present_status: Option<PresentStatus>,
        records: OptionalChoice<Records>,
        [203] additional_search_info: Option<OtherInformation>,
        other_info: Option<OtherInformation>,
    }

    /// The completeness of the result set (Z39.50-2003 §3.2.2.1.9).
    pub integer ResultSetStatus {
        SUBSET = 1 "subset", INTERIM = 2 "interim", NONE = 3 "none", ESTIMATE = 4 "estimate",
    }
}

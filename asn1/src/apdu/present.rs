//! Present and Segment: PresentRequest `[24]`, PresentResponse `[25]`, Segment `[45]`, and the composition of
//! records (Z39.50-2003 §3.2.3, §3.6).

use super::{
    DatabaseName, ElementSetName, External, NamePlusRecord, OtherInformation, Records, ReferenceId,
    ResultSetId,
};
use crate::describe::{bare_choices, described};
use crate::oid::Oid;
use crate::optional::OptionalChoice;
use crate::production::productions;
use crate::types::InternationalString;

productions! {
    /// A request for records from a result set.
    #[derive(Default)]
    pub struct PresentRequest {
        reference_id: Option<ReferenceId>,
        result_set_id: ResultSetId,
        /// The 1-based position of the first requested record.
        [30] result_set_start_point: i64,
        [29] number_of_records_requested: i64,
        [212] additional_ranges: Option<Vec<Range>>,
        record_composition: OptionalChoice<RecordComposition>,
        [104] preferred_record_syntax: Option<Oid>,
        [204] max_segment_count: Option<i64>,
        /// The maximum size of a record in octets.
        [206] max_record_size: Option<i64>,
        /// The maximum size of a segment in octets.
        [207] max_segment_size: Option<i64>,
        other_info: Option<OtherInformation>,
    }

    /// The requested records, or the reason why they are missing.
    #[derive(Default)]
    pub struct PresentResponse {
        reference_id: Option<ReferenceId>,
        [24] number_of_records_returned: i64,
        /// The 1-based position of the first record that was not returned.
        [25] next_result_set_position: i64,
        present_status: PresentStatus,
        records: OptionalChoice<Records>,
        other_info: Option<OtherInformation>,
    }

    /// A part of the answer to a Present, sent before the PresentResponse.
    #[derive(Default)]
    pub struct Segment {
        reference_id: Option<ReferenceId>,
        [24] number_of_records_returned: i64,
        [0] segment_records: Vec<NamePlusRecord>,
        other_info: Option<OtherInformation>,
    }

    /// Whether all requested records were sent (Z39.50-2003 §3.2.2.1.8).
    [27] pub integer PresentStatus {
        SUCCESS = 0 "success", PARTIAL_1 = 1 "partial-1", PARTIAL_2 = 2 "partial-2",
        PARTIAL_3 = 3 "partial-3", PARTIAL_4 = 4 "partial-4", FAILURE = 5 "failure",
    }

    /// An additional range of positions in the result set.
    pub struct Range {
        /// The 1-based position of the first record in the range.
        [1] starting_position: i64,
        [2] number_of_records: i64,
    }

    /// The composition of the requested records: an element set name, or a full specification.
    pub enum RecordComposition {
        [19] Simple(ElementSetNames),
        [209] Complex(Box<CompSpec>),
    }

    /// An element set name for all databases, or one name for each database.
    pub enum ElementSetNames {
        [0] GenericElementSetName(InternationalString),
        [1] DatabaseSpecific(Vec<DatabaseSpecificElementSet>),
    }

    /// The element set name for one database.
    pub struct DatabaseSpecificElementSet {
        db_name: DatabaseName,
        esn: ElementSetName,
    }
}

described! {
    /// A composition by schema and element specification (Z39.50-2003 §3.6.3).
    pub struct CompSpec {
        [1] select_alternative_syntax: bool,
        [2] generic: Option<Specification>,
        [3] db_specific: Option<Vec<DatabaseSpecification>>,
        [4] record_syntax: Option<Vec<Oid>>,
    }

    /// A composition for one database.
    pub struct DatabaseSpecification {
        [explicit 1] db: DatabaseName,
        [2] spec: Specification,
    }

    /// A schema and the elements of a composition.
    #[derive(Default)]
    pub struct Specification {
        schema: OptionalChoice<Schema>,
        [2] element_spec: Option<ElementSpec>,
    }
}

bare_choices! {
    /// A schema, identified by its object identifier or URI.
    pub enum Schema {
        [1] Oid(Oid),
        [300] Uri(InternationalString),
    }

    /// The requested elements: a name, or a specification such as eSpec-1.
    pub enum ElementSpec {
        [1] ElementSetName(InternationalString),
        [2] ExternalEspec(External),
    }
}

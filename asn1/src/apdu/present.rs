//! Present and Segment: PresentRequest `[24]`, PresentResponse `[25]`, Segment `[45]`, and the composition of
//! records (Z39.50-2003 §3.2.3, §3.6).

use rasn::prelude::*;

use super::{
    DatabaseName, ElementSetName, External, NamePlusRecord, OtherInformation, Records, ReferenceId,
    ResultSetId,
};
use crate::oid::Oid;
use crate::optional::OptionalChoice;
use crate::types::{InternationalString, named_integer};

/// A request for records of a result set.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
pub struct PresentRequest {
    pub reference_id: Option<ReferenceId>,
    pub result_set_id: ResultSetId,
    /// 1-based.
    #[rasn(tag(30))]
    pub result_set_start_point: i64,
    #[rasn(tag(29))]
    pub number_of_records_requested: i64,
    #[rasn(tag(212))]
    pub additional_ranges: Option<Vec<Range>>,
    pub record_composition: OptionalChoice<RecordComposition>,
    #[rasn(tag(104))]
    pub preferred_record_syntax: Option<Oid>,
    #[rasn(tag(204))]
    pub max_segment_count: Option<i64>,
    /// Octets.
    #[rasn(tag(206))]
    pub max_record_size: Option<i64>,
    /// Octets.
    #[rasn(tag(207))]
    pub max_segment_size: Option<i64>,
    pub other_info: Option<OtherInformation>,
}

/// The records asked for, or why not.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
pub struct PresentResponse {
    pub reference_id: Option<ReferenceId>,
    #[rasn(tag(24))]
    pub number_of_records_returned: i64,
    /// 1-based; the first position not returned.
    #[rasn(tag(25))]
    pub next_result_set_position: i64,
    pub present_status: PresentStatus,
    pub records: OptionalChoice<Records>,
    pub other_info: Option<OtherInformation>,
}

/// A part of the answer to a Present, ahead of the PresentResponse.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
pub struct Segment {
    pub reference_id: Option<ReferenceId>,
    #[rasn(tag(24))]
    pub number_of_records_returned: i64,
    #[rasn(tag(0))]
    pub segment_records: Vec<NamePlusRecord>,
    pub other_info: Option<OtherInformation>,
}

named_integer!(
    /// Whether all records asked for came (Z39.50-2003 §3.2.2.1.8).
    PresentStatus[27] {
        SUCCESS = 0 "success", PARTIAL_1 = 1 "partial-1", PARTIAL_2 = 2 "partial-2",
        PARTIAL_3 = 3 "partial-3", PARTIAL_4 = 4 "partial-4", FAILURE = 5 "failure",
    }
);

/// Further positions of the result set.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
pub struct Range {
    /// 1-based.
    #[rasn(tag(1))]
    pub starting_position: i64,
    #[rasn(tag(2))]
    pub number_of_records: i64,
}

/// How records are to be composed: an element set name, or a full specification.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
#[rasn(choice)]
pub enum RecordComposition {
    #[rasn(tag(19))]
    Simple(ElementSetNames),
    #[rasn(tag(209))]
    Complex(Box<CompSpec>),
}

/// An element set name, for all databases or for each.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
#[rasn(choice)]
pub enum ElementSetNames {
    #[rasn(tag(0))]
    GenericElementSetName(InternationalString),
    #[rasn(tag(1))]
    DatabaseSpecific(Vec<DatabaseSpecificElementSet>),
}

/// The element set name for one database.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
pub struct DatabaseSpecificElementSet {
    pub db_name: DatabaseName,
    pub esn: ElementSetName,
}

/// Composition by schema and element specification (Z39.50-2003 §3.6.3).
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
pub struct CompSpec {
    #[rasn(tag(1))]
    pub select_alternative_syntax: bool,
    #[rasn(tag(2))]
    pub generic: Option<Specification>,
    #[rasn(tag(3))]
    pub db_specific: Option<Vec<DatabaseSpecification>>,
    #[rasn(tag(4))]
    pub record_syntax: Option<Vec<Oid>>,
}

/// A composition for one database.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
pub struct DatabaseSpecification {
    #[rasn(tag(explicit(1)))]
    pub db: DatabaseName,
    #[rasn(tag(2))]
    pub spec: Specification,
}

/// Schema and elements of a composition.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq, Default)]
pub struct Specification {
    pub schema: OptionalChoice<Schema>,
    #[rasn(tag(2))]
    pub element_spec: Option<ElementSpec>,
}

/// A schema by identifier or URI.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
#[rasn(choice)]
pub enum Schema {
    #[rasn(tag(1))]
    Oid(Oid),
    #[rasn(tag(300))]
    Uri(InternationalString),
}

/// The elements wanted: a name, or a specification such as eSpec-1.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
#[rasn(choice)]
pub enum ElementSpec {
    #[rasn(tag(1))]
    ElementSetName(InternationalString),
    #[rasn(tag(2))]
    ExternalEspec(External),
}

//! The Explain detail records, about the attributes, terms, elements, sort keys, variants and units in databases
//! (Z39.50-2003 Appendix REC.1).

use super::{AttributeCombinations, CommonInfo, HumanString, Path, PrimitiveDataType};
use crate::apdu::{
    DatabaseName, ElementSetName, External, IntUnit, Specification, StringOrNumeric, Term, Unit,
};
use crate::describe::described;
use crate::oid::Oid;
use crate::types::{InternationalString, OctetString};

described! {
    /// AttributeDetails: the attributes by which a database can be searched.
    #[derive(Default)]
    pub struct AttributeDetails {
        [0] common_info: Option<CommonInfo>,
        [1] database_name: DatabaseName,
        [2] attributes_by_set: Option<Vec<AttributeSetDetails>>,
        [3] attribute_combinations: Option<AttributeCombinations>,
    }

    /// AttributeSetDetails: the supported attributes of one attribute set.
    pub struct AttributeSetDetails {
        [0] attribute_set: Oid,
        [1] attributes_by_type: Vec<AttributeTypeDetails>,
    }

    /// AttributeTypeDetails: the supported values of one attribute type. If no values are listed, all are supported.
    pub struct AttributeTypeDetails {
        [0] attribute_type: i64,
        [1] default_if_omitted: Option<OmittedAttributeInterpretation>,
        [2] attribute_values: Option<Vec<AttributeValue>>,
    }

    /// OmittedAttributeInterpretation: the meaning of a query that lacks an attribute.
    pub struct OmittedAttributeInterpretation {
        [0] default_value: Option<StringOrNumeric>,
        [1] default_description: Option<HumanString>,
    }

    /// AttributeValue: a supported value, and its relation to other values.
    pub struct AttributeValue {
        [0] value: StringOrNumeric,
        [1] description: Option<HumanString>,
        [2] sub_attributes: Option<Vec<StringOrNumeric>>,
        [3] super_attributes: Option<Vec<StringOrNumeric>>,
        [4] partial_support: Option<()>,
    }

    /// TermListDetails: the details of one term list.
    #[derive(Default)]
    pub struct TermListDetails {
        [0] common_info: Option<CommonInfo>,
        [1] term_list_name: InternationalString,
        [2] description: Option<HumanString>,
        [3] attributes: Option<AttributeCombinations>,
        [4] scan_info: Option<ScanInfo>,
        [5] est_number_terms: Option<i64>,
        [6] sample_terms: Option<Vec<Term>>,
    }

    /// The scanning features of a term list.
    #[derive(Default)]
    pub struct ScanInfo {
        [0] max_step_size: Option<i64>,
        [1] collating_sequence: Option<HumanString>,
        [2] increasing: Option<bool>,
    }

    /// ElementSetDetails: the contents of an element set, for one database and syntax.
    pub struct ElementSetDetails {
        [0] common_info: Option<CommonInfo>,
        [1] database_name: DatabaseName,
        [2] element_set_name: ElementSetName,
        [3] record_syntax: Oid,
        [4] schema: Oid,
        [5] description: Option<HumanString>,
        [6] details_per_element: Option<Vec<PerElementDetails>>,
    }

    /// RetrievalRecordDetails: the mapping of a schema's elements to the elements of a syntax.
    pub struct RetrievalRecordDetails {
        [0] common_info: Option<CommonInfo>,
        [1] database_name: DatabaseName,
        [2] schema: Oid,
        [3] record_syntax: Oid,
        [4] description: Option<HumanString>,
        [5] details_per_element: Option<Vec<PerElementDetails>>,
    }

    /// PerElementDetails: one element of a record. Sizes are in octets.
    pub struct PerElementDetails {
        [0] name: Option<InternationalString>,
        [1] record_tag: Option<RecordTag>,
        [2] schema_tags: Option<Vec<Path>>,
        [3] max_size: Option<i64>,
        [4] min_size: Option<i64>,
        [5] avg_size: Option<i64>,
        [6] fixed_size: Option<i64>,
        [8] repeatable: bool,
        [9] required: bool,
        [12] description: Option<HumanString>,
        [13] contents: Option<HumanString>,
        [14] billing_info: Option<HumanString>,
        [15] restrictions: Option<HumanString>,
        [16] alternate_names: Option<Vec<InternationalString>>,
        [17] generic_names: Option<Vec<InternationalString>>,
        [18] search_access: Option<AttributeCombinations>,
    }

    /// RecordTag: the tag of an element in the record.
    pub struct RecordTag {
        [0] qualifier: Option<StringOrNumeric>,
        [1] tag_value: StringOrNumeric,
    }

    /// SortDetails: the keys by which the records of a database can be sorted.
    #[derive(Default)]
    pub struct SortDetails {
        [0] common_info: Option<CommonInfo>,
        [1] database_name: DatabaseName,
        [2] sort_keys: Option<Vec<SortKeyDetails>>,
    }

    /// SortKeyDetails: a sort key, and how a request specifies it.
    #[derive(Default)]
    pub struct SortKeyDetails {
        [0] description: Option<HumanString>,
        [1] element_specifications: Option<Vec<Specification>>,
        [2] attribute_specifications: Option<AttributeCombinations>,
        [3] sort_type: Option<SortType>,
        [4] case_sensitivity: Option<CaseSensitivity>,
    }

    /// The kind of comparison for a sort key.
    pub enum SortType {
        [0] Character,
        [1] Numeric,
        [2] Structured(HumanString),
    }

    /// Whether case matters in a sort key.
    pub integer CaseSensitivity { ALWAYS = 0 "always", NEVER = 1 "never", DEFAULT_YES = 2 "default-yes", DEFAULT_NO = 3 "default-no" }

    /// ProcessingInformation: instructions for a client, such as how to display records.
    pub struct ProcessingInformation {
        [0] common_info: Option<CommonInfo>,
        [1] database_name: DatabaseName,
        [2] processing_context: ProcessingContext,
        [3] name: InternationalString,
        [4] oid: Oid,
        [5] description: Option<HumanString>,
        [6] instructions: Option<External>,
    }

    /// The purpose of the processing instructions.
    pub integer ProcessingContext {
        ACCESS = 0 "access", SEARCH = 1 "search", RETRIEVAL = 2 "retrieval",
        RECORD_PRESENTATION = 3 "record-presentation", RECORD_HANDLING = 4 "record-handling",
    }

    /// VariantSetInfo: the classes of a variant set.
    pub struct VariantSetInfo {
        [0] common_info: Option<CommonInfo>,
        [1] variant_set: Oid,
        [2] name: InternationalString,
        [3] variants: Option<Vec<VariantClass>>,
    }

    /// VariantClass: a class of variants.
    pub struct VariantClass {
        [0] name: Option<InternationalString>,
        [1] description: Option<HumanString>,
        [2] variant_class: i64,
        [3] variant_types: Vec<VariantType>,
    }

    /// VariantType: a type within a variant class.
    pub struct VariantType {
        [0] name: Option<InternationalString>,
        [1] description: Option<HumanString>,
        [2] variant_type: i64,
        [3] variant_value: Option<VariantValue>,
    }

    /// VariantValue: the possible values of a variant type.
    pub struct VariantValue {
        [explicit 0] data_type: PrimitiveDataType,
        [1] values: Option<ValueSet>,
    }

    /// ValueSet: a range of values, or a list of values.
    pub enum ValueSet {
        [0] Range(Box<ValueRange>),
        [1] Enumerated(Vec<ValueDescription>),
    }

    /// ValueRange: a range in which at least one end is specified.
    pub struct ValueRange {
        [0] lower: Option<ValueDescription>,
        [1] upper: Option<ValueDescription>,
    }

    /// ValueDescription: one value of a variant.
    pub enum ValueDescription {
        Integer(i64),
        String(InternationalString),
        Octets(OctetString),
        Oid(Oid),
        [1] Unit(Unit),
        [2] ValueAndUnit(IntUnit),
    }

    /// UnitInfo: a system of units of measure.
    pub struct UnitInfo {
        [0] common_info: Option<CommonInfo>,
        [1] unit_system: InternationalString,
        [2] description: Option<HumanString>,
        [3] units: Option<Vec<UnitType>>,
    }

    /// UnitType: the quantity that is measured, such as mass.
    pub struct UnitType {
        [0] name: Option<InternationalString>,
        [1] description: Option<HumanString>,
        [2] unit_type: StringOrNumeric,
        [3] units: Vec<Units>,
    }

    /// Units: one unit of measure, such as kilograms.
    pub struct Units {
        [0] name: Option<InternationalString>,
        [1] description: Option<HumanString>,
        [2] unit: StringOrNumeric,
    }
}

//! The detail records of Explain: how databases relate to attributes, terms, elements, sort keys, variants and units
//! (Z39.50-2003 Appendix REC.1).

use rasn::prelude::*;

use super::{AttributeCombinations, CommonInfo, HumanString, Path, PrimitiveDataType};
use crate::apdu::{
    DatabaseName, ElementSetName, External, IntUnit, Specification, StringOrNumeric, Term, Unit,
};
use crate::describe::{choice, described_by_name, sequence};
use crate::oid::Oid;
use crate::types::{InternationalString, OctetString, named_integer};

sequence! {
    /// AttributeDetails: the attributes with which a database can be searched.
    #[derive(Default)]
    pub struct AttributeDetails {
        #[rasn(tag(0))] common_info: Option<CommonInfo>,
        #[rasn(tag(1))] database_name: DatabaseName,
        #[rasn(tag(2))] attributes_by_set: Option<Vec<AttributeSetDetails>>,
        #[rasn(tag(3))] attribute_combinations: Option<AttributeCombinations>,
    }
}

sequence! {
    /// AttributeSetDetails: the supported attributes of one set.
    pub struct AttributeSetDetails {
        #[rasn(tag(0))] attribute_set: Oid,
        #[rasn(tag(1))] attributes_by_type: Vec<AttributeTypeDetails>,
    }
}

sequence! {
    /// AttributeTypeDetails: the supported values of one type; none listed means all.
    pub struct AttributeTypeDetails {
        #[rasn(tag(0))] attribute_type: i64,
        #[rasn(tag(1))] default_if_omitted: Option<OmittedAttributeInterpretation>,
        #[rasn(tag(2))] attribute_values: Option<Vec<AttributeValue>>,
    }
}

sequence! {
    /// OmittedAttributeInterpretation: what a query without the attribute means.
    pub struct OmittedAttributeInterpretation {
        #[rasn(tag(0))] default_value: Option<StringOrNumeric>,
        #[rasn(tag(1))] default_description: Option<HumanString>,
    }
}

sequence! {
    /// AttributeValue: a supported value, and how it relates to others.
    pub struct AttributeValue {
        #[rasn(tag(0))] value: StringOrNumeric,
        #[rasn(tag(1))] description: Option<HumanString>,
        #[rasn(tag(2))] sub_attributes: Option<Vec<StringOrNumeric>>,
        #[rasn(tag(3))] super_attributes: Option<Vec<StringOrNumeric>>,
        #[rasn(tag(4))] partial_support: Option<()>,
    }
}

sequence! {
    /// TermListDetails: one term list.
    #[derive(Default)]
    pub struct TermListDetails {
        #[rasn(tag(0))] common_info: Option<CommonInfo>,
        #[rasn(tag(1))] term_list_name: InternationalString,
        #[rasn(tag(2))] description: Option<HumanString>,
        #[rasn(tag(3))] attributes: Option<AttributeCombinations>,
        #[rasn(tag(4))] scan_info: Option<ScanInfo>,
        #[rasn(tag(5))] est_number_terms: Option<i64>,
        #[rasn(tag(6))] sample_terms: Option<Vec<Term>>,
    }
}

sequence! {
    /// How a term list can be scanned.
    #[derive(Default)]
    pub struct ScanInfo {
        #[rasn(tag(0))] max_step_size: Option<i64>,
        #[rasn(tag(1))] collating_sequence: Option<HumanString>,
        #[rasn(tag(2))] increasing: Option<bool>,
    }
}

sequence! {
    /// ElementSetDetails: the contents of an element set of a database in a syntax.
    pub struct ElementSetDetails {
        #[rasn(tag(0))] common_info: Option<CommonInfo>,
        #[rasn(tag(1))] database_name: DatabaseName,
        #[rasn(tag(2))] element_set_name: ElementSetName,
        #[rasn(tag(3))] record_syntax: Oid,
        #[rasn(tag(4))] schema: Oid,
        #[rasn(tag(5))] description: Option<HumanString>,
        #[rasn(tag(6))] details_per_element: Option<Vec<PerElementDetails>>,
    }
}

sequence! {
    /// RetrievalRecordDetails: how a schema's elements map to elements of a syntax.
    pub struct RetrievalRecordDetails {
        #[rasn(tag(0))] common_info: Option<CommonInfo>,
        #[rasn(tag(1))] database_name: DatabaseName,
        #[rasn(tag(2))] schema: Oid,
        #[rasn(tag(3))] record_syntax: Oid,
        #[rasn(tag(4))] description: Option<HumanString>,
        #[rasn(tag(5))] details_per_element: Option<Vec<PerElementDetails>>,
    }
}

sequence! {
    /// PerElementDetails: one element of a record. Sizes are in octets.
    pub struct PerElementDetails {
        #[rasn(tag(0))] name: Option<InternationalString>,
        #[rasn(tag(1))] record_tag: Option<RecordTag>,
        #[rasn(tag(2))] schema_tags: Option<Vec<Path>>,
        #[rasn(tag(3))] max_size: Option<i64>,
        #[rasn(tag(4))] min_size: Option<i64>,
        #[rasn(tag(5))] avg_size: Option<i64>,
        #[rasn(tag(6))] fixed_size: Option<i64>,
        #[rasn(tag(8))] repeatable: bool,
        #[rasn(tag(9))] required: bool,
        #[rasn(tag(12))] description: Option<HumanString>,
        #[rasn(tag(13))] contents: Option<HumanString>,
        #[rasn(tag(14))] billing_info: Option<HumanString>,
        #[rasn(tag(15))] restrictions: Option<HumanString>,
        #[rasn(tag(16))] alternate_names: Option<Vec<InternationalString>>,
        #[rasn(tag(17))] generic_names: Option<Vec<InternationalString>>,
        #[rasn(tag(18))] search_access: Option<AttributeCombinations>,
    }
}

sequence! {
    /// RecordTag: the tag of an element in the record.
    pub struct RecordTag {
        #[rasn(tag(0))] qualifier: Option<StringOrNumeric>,
        #[rasn(tag(1))] tag_value: StringOrNumeric,
    }
}

sequence! {
    /// SortDetails: the keys by which a database's records can be sorted.
    #[derive(Default)]
    pub struct SortDetails {
        #[rasn(tag(0))] common_info: Option<CommonInfo>,
        #[rasn(tag(1))] database_name: DatabaseName,
        #[rasn(tag(2))] sort_keys: Option<Vec<SortKeyDetails>>,
    }
}

sequence! {
    /// SortKeyDetails: a sort key, and the ways to name it.
    #[derive(Default)]
    pub struct SortKeyDetails {
        #[rasn(tag(0))] description: Option<HumanString>,
        #[rasn(tag(1))] element_specifications: Option<Vec<Specification>>,
        #[rasn(tag(2))] attribute_specifications: Option<AttributeCombinations>,
        #[rasn(tag(3))] sort_type: Option<SortType>,
        #[rasn(tag(4))] case_sensitivity: Option<CaseSensitivity>,
    }
}

choice! {
    /// How the keys are compared.
    pub enum SortType {
        #[rasn(tag(0))] Character,
        #[rasn(tag(1))] Numeric,
        #[rasn(tag(2))] Structured(HumanString),
    }
}

named_integer!(
    /// Whether case matters in sorting.
    CaseSensitivity { ALWAYS = 0 "always", NEVER = 1 "never", DEFAULT_YES = 2 "default-yes", DEFAULT_NO = 3 "default-no" }
);
described_by_name!(CaseSensitivity);

sequence! {
    /// ProcessingInformation: instructions for a client.
    pub struct ProcessingInformation {
        #[rasn(tag(0))] common_info: Option<CommonInfo>,
        #[rasn(tag(1))] database_name: DatabaseName,
        #[rasn(tag(2))] processing_context: ProcessingContext,
        #[rasn(tag(3))] name: InternationalString,
        #[rasn(tag(4))] oid: Oid,
        #[rasn(tag(5))] description: Option<HumanString>,
        #[rasn(tag(6))] instructions: Option<External>,
    }
}

named_integer!(
    /// What instructions are for.
    ProcessingContext {
        ACCESS = 0 "access", SEARCH = 1 "search", RETRIEVAL = 2 "retrieval",
        RECORD_PRESENTATION = 3 "record-presentation", RECORD_HANDLING = 4 "record-handling",
    }
);
described_by_name!(ProcessingContext);

sequence! {
    /// VariantSetInfo: a variant set.
    pub struct VariantSetInfo {
        #[rasn(tag(0))] common_info: Option<CommonInfo>,
        #[rasn(tag(1))] variant_set: Oid,
        #[rasn(tag(2))] name: InternationalString,
        #[rasn(tag(3))] variants: Option<Vec<VariantClass>>,
    }
}

sequence! {
    /// VariantClass: a class of variants.
    pub struct VariantClass {
        #[rasn(tag(0))] name: Option<InternationalString>,
        #[rasn(tag(1))] description: Option<HumanString>,
        #[rasn(tag(2))] variant_class: i64,
        #[rasn(tag(3))] variant_types: Vec<VariantType>,
    }
}

sequence! {
    /// VariantType: a type within a class.
    pub struct VariantType {
        #[rasn(tag(0))] name: Option<InternationalString>,
        #[rasn(tag(1))] description: Option<HumanString>,
        #[rasn(tag(2))] variant_type: i64,
        #[rasn(tag(3))] variant_value: Option<VariantValue>,
    }
}

sequence! {
    /// VariantValue: the values of a variant type.
    pub struct VariantValue {
        #[rasn(tag(explicit(0)))] data_type: PrimitiveDataType,
        #[rasn(tag(1))] values: Option<ValueSet>,
    }
}

choice! {
    /// ValueSet: a range of values or a list.
    pub enum ValueSet {
        #[rasn(tag(0))] Range(Box<ValueRange>),
        #[rasn(tag(1))] Enumerated(Vec<ValueDescription>),
    }
}

sequence! {
    /// ValueRange: at least one of its ends.
    pub struct ValueRange {
        #[rasn(tag(0))] lower: Option<ValueDescription>,
        #[rasn(tag(1))] upper: Option<ValueDescription>,
    }
}

choice! {
    /// ValueDescription: a value of a variant.
    pub enum ValueDescription {
        Integer(i64),
        String(InternationalString),
        Octets(OctetString),
        Oid(Oid),
        #[rasn(tag(1))] Unit(Unit),
        #[rasn(tag(2))] ValueAndUnit(IntUnit),
    }
}

sequence! {
    /// UnitInfo: a system of units.
    pub struct UnitInfo {
        #[rasn(tag(0))] common_info: Option<CommonInfo>,
        #[rasn(tag(1))] unit_system: InternationalString,
        #[rasn(tag(2))] description: Option<HumanString>,
        #[rasn(tag(3))] units: Option<Vec<UnitType>>,
    }
}

sequence! {
    /// UnitType: what is measured, such as mass.
    pub struct UnitType {
        #[rasn(tag(0))] name: Option<InternationalString>,
        #[rasn(tag(1))] description: Option<HumanString>,
        #[rasn(tag(2))] unit_type: StringOrNumeric,
        #[rasn(tag(3))] units: Vec<Units>,
    }
}

sequence! {
    /// Units: one unit, such as kilograms.
    pub struct Units {
        #[rasn(tag(0))] name: Option<InternationalString>,
        #[rasn(tag(1))] description: Option<HumanString>,
        #[rasn(tag(2))] unit: StringOrNumeric,
    }
}

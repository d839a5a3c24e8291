//! The Explain info records, about the server and its databases, schemas, tag sets, syntaxes, attribute sets, term
//! lists and services (Z39.50-2003 Appendix REC.1).

use super::{
    AccessInfo, CommonInfo, ContactInfo, DatabaseList, HumanString, IconObject, NetworkAddress,
};
use crate::apdu::{DatabaseName, External, IntUnit, OtherInformation, StringOrNumeric};
use crate::describe::described;
use crate::oid::Oid;
use crate::types::{GeneralizedTime, InternationalString};

described! {
    /// TargetInfo: information about the server.
    #[derive(Default)]
    pub struct TargetInfo {
        [0] common_info: Option<CommonInfo>,
        [1] name: InternationalString,
        [2] recent_news: Option<HumanString>,
        [3] icon: Option<IconObject>,
        [4] named_result_sets: bool,
        [5] multiple_d_bsearch: bool,
        [6] max_result_sets: Option<i64>,
        [7] max_result_size: Option<i64>,
        [8] max_terms: Option<i64>,
        [9] timeout_interval: Option<IntUnit>,
        [10] welcome_message: Option<HumanString>,
        [11] contact_info: Option<ContactInfo>,
        [12] description: Option<HumanString>,
        [13] nicknames: Option<Vec<InternationalString>>,
        [14] usage_restrictions: Option<HumanString>,
        [15] payment_addr: Option<HumanString>,
        [16] hours: Option<HumanString>,
        [17] db_combinations: Option<Vec<DatabaseList>>,
        [18] addresses: Option<Vec<NetworkAddress>>,
        [101] languages: Option<Vec<InternationalString>>,
        [19] common_access_info: Option<AccessInfo>,
    }

    /// DatabaseInfo: information about one database.
    #[derive(Default)]
    pub struct DatabaseInfo {
        [0] common_info: Option<CommonInfo>,
        [1] name: DatabaseName,
        [2] explain_database: Option<()>,
        [3] nicknames: Option<Vec<DatabaseName>>,
        [4] icon: Option<IconObject>,
        [5] user_fee: bool,
        [6] available: bool,
        [7] title_string: Option<HumanString>,
        [8] keywords: Option<Vec<HumanString>>,
        [9] description: Option<HumanString>,
        [10] associated_dbs: Option<DatabaseList>,
        [11] sub_dbs: Option<DatabaseList>,
        [12] disclaimers: Option<HumanString>,
        [13] news: Option<HumanString>,
        [14] record_count: Option<RecordCount>,
        [15] default_order: Option<HumanString>,
        [16] av_record_size: Option<i64>,
        [17] max_record_size: Option<i64>,
        [18] hours: Option<HumanString>,
        [19] best_time: Option<HumanString>,
        [20] last_update: Option<GeneralizedTime>,
        [21] update_interval: Option<IntUnit>,
        [22] coverage: Option<HumanString>,
        [23] proprietary: Option<bool>,
        [24] copyright_text: Option<HumanString>,
        [25] copyright_notice: Option<HumanString>,
        [26] producer_contact_info: Option<ContactInfo>,
        [27] supplier_contact_info: Option<ContactInfo>,
        [28] submission_contact_info: Option<ContactInfo>,
        [29] access_info: Option<AccessInfo>,
    }

    /// The number of records in a database.
    pub enum RecordCount {
        [0] ActualNumber(i64),
        [1] ApproxNumber(i64),
    }

    /// SchemaInfo: a schema, its tag types and the structure of its records.
    pub struct SchemaInfo {
        [0] common_info: Option<CommonInfo>,
        [1] schema: Oid,
        [2] name: InternationalString,
        [3] description: Option<HumanString>,
        [4] tag_type_mapping: Option<Vec<TagTypeMapping>>,
        [5] record_structure: Option<Vec<ElementInfo>>,
    }

    /// The tag set of a tag type. If `tag_set` is absent, the tags are local to the schema.
    pub struct TagTypeMapping {
        [0] tag_type: i64,
        [1] tag_set: Option<Oid>,
        [2] default_tag_type: Option<()>,
    }

    /// ElementInfo: an element in a schema or in a record syntax.
    pub struct ElementInfo {
        [1] element_name: InternationalString,
        [2] element_tag_path: Path,
        [3] data_type: Option<ElementDataType>,
        [4] required: bool,
        [5] repeatable: bool,
        [6] description: Option<HumanString>,
    }

    /// One tag on the path to an element.
    pub struct PathStep {
        [1] tag_type: i64,
        [2] tag_value: StringOrNumeric,
    }

    /// ElementDataType: a primitive type, or the elements that an element contains.
    pub enum ElementDataType {
        [0] Primitive(PrimitiveDataType),
        [1] Structured(Vec<ElementInfo>),
    }

    /// PrimitiveDataType: the type of an element's data.
    pub integer PrimitiveDataType {
        OCTET_STRING = 0 "octetString", NUMERIC = 1 "numeric", DATE = 2 "date", EXTERNAL = 3 "external",
        STRING = 4 "string", TRUE_OR_FALSE = 5 "trueOrFalse", OID = 6 "oid", INT_UNIT = 7 "intUnit",
        EMPTY = 8 "empty", NONE_OF_THE_ABOVE = 100 "noneOfTheAbove",
    }

    /// TagSetInfo: a tag set and its elements.
    pub struct TagSetInfo {
        [0] common_info: Option<CommonInfo>,
        [1] tag_set: Oid,
        [2] name: InternationalString,
        [3] description: Option<HumanString>,
        [4] elements: Option<Vec<TagSetElement>>,
    }

    /// An element in a tag set.
    pub struct TagSetElement {
        [1] elementname: InternationalString,
        [2] nicknames: Option<Vec<InternationalString>>,
        [3] element_tag: StringOrNumeric,
        [4] description: Option<HumanString>,
        [explicit 5] data_type: Option<PrimitiveDataType>,
        other_tag_info: Option<OtherInformation>,
    }

    /// RecordSyntaxInfo: a record syntax.
    pub struct RecordSyntaxInfo {
        [0] common_info: Option<CommonInfo>,
        [1] record_syntax: Oid,
        [2] name: InternationalString,
        [3] transfer_syntaxes: Option<Vec<Oid>>,
        [4] description: Option<HumanString>,
        [5] asn1_module: Option<InternationalString>,
        [6] abstract_structure: Option<Vec<ElementInfo>>,
    }

    /// AttributeSetInfo: an attribute set.
    pub struct AttributeSetInfo {
        [0] common_info: Option<CommonInfo>,
        [1] attribute_set: Oid,
        [2] name: InternationalString,
        [3] attributes: Option<Vec<AttributeType>>,
        [4] description: Option<HumanString>,
    }

    /// AttributeType: an attribute type in an attribute set, and its values.
    #[derive(Default)]
    pub struct AttributeType {
        [0] name: Option<InternationalString>,
        [1] description: Option<HumanString>,
        [2] attribute_type: i64,
        [3] attribute_values: Vec<AttributeDescription>,
    }

    /// AttributeDescription: one value of an attribute type.
    pub struct AttributeDescription {
        [0] name: Option<InternationalString>,
        [1] description: Option<HumanString>,
        [2] attribute_value: StringOrNumeric,
        [3] equivalent_attributes: Option<Vec<StringOrNumeric>>,
    }

    /// TermListInfo: the term lists of a database.
    pub struct TermListInfo {
        [0] common_info: Option<CommonInfo>,
        [1] database_name: DatabaseName,
        [2] term_lists: Vec<TermList>,
    }

    /// One term list of a database.
    #[derive(Default)]
    pub struct TermList {
        [1] name: InternationalString,
        [2] title: Option<HumanString>,
        [3] search_cost: Option<SearchCost>,
        [4] scanable: bool,
        [5] broader: Option<Vec<InternationalString>>,
        [6] narrower: Option<Vec<InternationalString>>,
    }

    /// The server's cost of a search in a term list.
    pub integer SearchCost { OPTIMIZED = 0 "optimized", NORMAL = 1 "normal", EXPENSIVE = 2 "expensive", FILTER = 3 "filter" }

    /// ExtendedServicesInfo: an extended service.
    pub struct ExtendedServicesInfo {
        [0] common_info: Option<CommonInfo>,
        [1] r#type: Oid,
        [2] name: Option<InternationalString>,
        [3] private_type: bool,
        [5] restrictions_apply: bool,
        [6] fee_apply: bool,
        [7] available: bool,
        [8] retention_supported: bool,
        [9] wait_action: WaitSupport,
        [10] description: Option<HumanString>,
        [11] specific_explain: Option<External>,
        [12] es_asn: Option<InternationalString>,
    }

    /// Whether the server can wait until the task is complete before it responds.
    pub integer WaitSupport {
        WAIT_SUPPORTED = 1 "waitSupported", WAIT_ALWAYS = 2 "waitAlways", WAIT_NOT_SUPPORTED = 3 "waitNotSupported",
        DEPENDS = 4 "depends", NOT_SAYING = 5 "notSaying",
    }

    /// CategoryList: the categories of records in the Explain database.
    pub struct CategoryList {
        [0] common_info: Option<CommonInfo>,
        [1] categories: Vec<CategoryInfo>,
    }

    /// CategoryInfo: a category of records in the Explain database.
    #[derive(Default)]
    pub struct CategoryInfo {
        [1] category: InternationalString,
        [2] original_category: Option<InternationalString>,
        [3] description: Option<HumanString>,
        [4] asn1_module: Option<InternationalString>,
    }
}

/// Path: the tags from the root to an element.
pub type Path = Vec<PathStep>;

//! The info records of Explain: the server, its databases, schemas, tag sets, syntaxes, attribute sets, term lists and
//! services (Z39.50-2003 Appendix REC.1).

use rasn::prelude::*;

use super::{
    AccessInfo, CommonInfo, ContactInfo, DatabaseList, HumanString, IconObject, NetworkAddress,
};
use crate::apdu::{DatabaseName, External, IntUnit, OtherInformation, StringOrNumeric};
use crate::describe::{choice, described_by_name, sequence};
use crate::oid::Oid;
use crate::types::{GeneralizedTime, InternationalString, named_integer};

sequence! {
    /// TargetInfo: the server as a whole.
    #[derive(Default)]
    pub struct TargetInfo {
        #[rasn(tag(0))] common_info: Option<CommonInfo>,
        #[rasn(tag(1))] name: InternationalString,
        #[rasn(tag(2))] recent_news: Option<HumanString>,
        #[rasn(tag(3))] icon: Option<IconObject>,
        #[rasn(tag(4))] named_result_sets: bool,
        #[rasn(tag(5))] multiple_d_bsearch: bool,
        #[rasn(tag(6))] max_result_sets: Option<i64>,
        #[rasn(tag(7))] max_result_size: Option<i64>,
        #[rasn(tag(8))] max_terms: Option<i64>,
        #[rasn(tag(9))] timeout_interval: Option<IntUnit>,
        #[rasn(tag(10))] welcome_message: Option<HumanString>,
        #[rasn(tag(11))] contact_info: Option<ContactInfo>,
        #[rasn(tag(12))] description: Option<HumanString>,
        #[rasn(tag(13))] nicknames: Option<Vec<InternationalString>>,
        #[rasn(tag(14))] usage_restrictions: Option<HumanString>,
        #[rasn(tag(15))] payment_addr: Option<HumanString>,
        #[rasn(tag(16))] hours: Option<HumanString>,
        #[rasn(tag(17))] db_combinations: Option<Vec<DatabaseList>>,
        #[rasn(tag(18))] addresses: Option<Vec<NetworkAddress>>,
        #[rasn(tag(101))] languages: Option<Vec<InternationalString>>,
        #[rasn(tag(19))] common_access_info: Option<AccessInfo>,
    }
}

sequence! {
    /// DatabaseInfo: one database.
    #[derive(Default)]
    pub struct DatabaseInfo {
        #[rasn(tag(0))] common_info: Option<CommonInfo>,
        #[rasn(tag(1))] name: DatabaseName,
        #[rasn(tag(2))] explain_database: Option<()>,
        #[rasn(tag(3))] nicknames: Option<Vec<DatabaseName>>,
        #[rasn(tag(4))] icon: Option<IconObject>,
        #[rasn(tag(5))] user_fee: bool,
        #[rasn(tag(6))] available: bool,
        #[rasn(tag(7))] title_string: Option<HumanString>,
        #[rasn(tag(8))] keywords: Option<Vec<HumanString>>,
        #[rasn(tag(9))] description: Option<HumanString>,
        #[rasn(tag(10))] associated_dbs: Option<DatabaseList>,
        #[rasn(tag(11))] sub_dbs: Option<DatabaseList>,
        #[rasn(tag(12))] disclaimers: Option<HumanString>,
        #[rasn(tag(13))] news: Option<HumanString>,
        #[rasn(tag(14))] record_count: Option<RecordCount>,
        #[rasn(tag(15))] default_order: Option<HumanString>,
        #[rasn(tag(16))] av_record_size: Option<i64>,
        #[rasn(tag(17))] max_record_size: Option<i64>,
        #[rasn(tag(18))] hours: Option<HumanString>,
        #[rasn(tag(19))] best_time: Option<HumanString>,
        #[rasn(tag(20))] last_update: Option<GeneralizedTime>,
        #[rasn(tag(21))] update_interval: Option<IntUnit>,
        #[rasn(tag(22))] coverage: Option<HumanString>,
        #[rasn(tag(23))] proprietary: Option<bool>,
        #[rasn(tag(24))] copyright_text: Option<HumanString>,
        #[rasn(tag(25))] copyright_notice: Option<HumanString>,
        #[rasn(tag(26))] producer_contact_info: Option<ContactInfo>,
        #[rasn(tag(27))] supplier_contact_info: Option<ContactInfo>,
        #[rasn(tag(28))] submission_contact_info: Option<ContactInfo>,
        #[rasn(tag(29))] access_info: Option<AccessInfo>,
    }
}

choice! {
    /// How many records a database has.
    pub enum RecordCount {
        #[rasn(tag(0))] ActualNumber(i64),
        #[rasn(tag(1))] ApproxNumber(i64),
    }
}

sequence! {
    /// SchemaInfo: a schema, its tag types and the structure of its records.
    pub struct SchemaInfo {
        #[rasn(tag(0))] common_info: Option<CommonInfo>,
        #[rasn(tag(1))] schema: Oid,
        #[rasn(tag(2))] name: InternationalString,
        #[rasn(tag(3))] description: Option<HumanString>,
        #[rasn(tag(4))] tag_type_mapping: Option<Vec<TagTypeMapping>>,
        #[rasn(tag(5))] record_structure: Option<Vec<ElementInfo>>,
    }
}

sequence! {
    /// The tag set of a tag type; without one, it is local to the schema.
    pub struct TagTypeMapping {
        #[rasn(tag(0))] tag_type: i64,
        #[rasn(tag(1))] tag_set: Option<Oid>,
        #[rasn(tag(2))] default_tag_type: Option<()>,
    }
}

sequence! {
    /// ElementInfo: an element of a schema or of a record syntax.
    pub struct ElementInfo {
        #[rasn(tag(1))] element_name: InternationalString,
        #[rasn(tag(2))] element_tag_path: Path,
        #[rasn(tag(3))] data_type: Option<ElementDataType>,
        #[rasn(tag(4))] required: bool,
        #[rasn(tag(5))] repeatable: bool,
        #[rasn(tag(6))] description: Option<HumanString>,
    }
}

/// Path: the tags from the root to an element.
pub type Path = Vec<PathStep>;

sequence! {
    /// A tag on the path to an element.
    pub struct PathStep {
        #[rasn(tag(1))] tag_type: i64,
        #[rasn(tag(2))] tag_value: StringOrNumeric,
    }
}

choice! {
    /// ElementDataType: a type, or the elements that an element consists of.
    pub enum ElementDataType {
        #[rasn(tag(0))] Primitive(PrimitiveDataType),
        #[rasn(tag(1))] Structured(Vec<ElementInfo>),
    }
}

named_integer!(
    /// PrimitiveDataType: the type of an element's data.
    PrimitiveDataType {
        OCTET_STRING = 0 "octetString", NUMERIC = 1 "numeric", DATE = 2 "date", EXTERNAL = 3 "external",
        STRING = 4 "string", TRUE_OR_FALSE = 5 "trueOrFalse", OID = 6 "oid", INT_UNIT = 7 "intUnit",
        EMPTY = 8 "empty", NONE_OF_THE_ABOVE = 100 "noneOfTheAbove",
    }
);
described_by_name!(PrimitiveDataType);

sequence! {
    /// TagSetInfo: a tag set and its elements.
    pub struct TagSetInfo {
        #[rasn(tag(0))] common_info: Option<CommonInfo>,
        #[rasn(tag(1))] tag_set: Oid,
        #[rasn(tag(2))] name: InternationalString,
        #[rasn(tag(3))] description: Option<HumanString>,
        #[rasn(tag(4))] elements: Option<Vec<TagSetElement>>,
    }
}

sequence! {
    /// An element of a tag set.
    pub struct TagSetElement {
        #[rasn(tag(1))] elementname: InternationalString,
        #[rasn(tag(2))] nicknames: Option<Vec<InternationalString>>,
        #[rasn(tag(3))] element_tag: StringOrNumeric,
        #[rasn(tag(4))] description: Option<HumanString>,
        #[rasn(tag(explicit(5)))] data_type: Option<PrimitiveDataType>,
        other_tag_info: Option<OtherInformation>,
    }
}

sequence! {
    /// RecordSyntaxInfo: a record syntax.
    pub struct RecordSyntaxInfo {
        #[rasn(tag(0))] common_info: Option<CommonInfo>,
        #[rasn(tag(1))] record_syntax: Oid,
        #[rasn(tag(2))] name: InternationalString,
        #[rasn(tag(3))] transfer_syntaxes: Option<Vec<Oid>>,
        #[rasn(tag(4))] description: Option<HumanString>,
        #[rasn(tag(5))] asn1_module: Option<InternationalString>,
        #[rasn(tag(6))] abstract_structure: Option<Vec<ElementInfo>>,
    }
}

sequence! {
    /// AttributeSetInfo: an attribute set.
    pub struct AttributeSetInfo {
        #[rasn(tag(0))] common_info: Option<CommonInfo>,
        #[rasn(tag(1))] attribute_set: Oid,
        #[rasn(tag(2))] name: InternationalString,
        #[rasn(tag(3))] attributes: Option<Vec<AttributeType>>,
        #[rasn(tag(4))] description: Option<HumanString>,
    }
}

sequence! {
    /// AttributeType: a type of an attribute set, and its values.
    #[derive(Default)]
    pub struct AttributeType {
        #[rasn(tag(0))] name: Option<InternationalString>,
        #[rasn(tag(1))] description: Option<HumanString>,
        #[rasn(tag(2))] attribute_type: i64,
        #[rasn(tag(3))] attribute_values: Vec<AttributeDescription>,
    }
}

sequence! {
    /// AttributeDescription: a value of an attribute type.
    pub struct AttributeDescription {
        #[rasn(tag(0))] name: Option<InternationalString>,
        #[rasn(tag(1))] description: Option<HumanString>,
        #[rasn(tag(2))] attribute_value: StringOrNumeric,
        #[rasn(tag(3))] equivalent_attributes: Option<Vec<StringOrNumeric>>,
    }
}

sequence! {
    /// TermListInfo: the term lists of a database.
    pub struct TermListInfo {
        #[rasn(tag(0))] common_info: Option<CommonInfo>,
        #[rasn(tag(1))] database_name: DatabaseName,
        #[rasn(tag(2))] term_lists: Vec<TermList>,
    }
}

sequence! {
    /// A term list.
    #[derive(Default)]
    pub struct TermList {
        #[rasn(tag(1))] name: InternationalString,
        #[rasn(tag(2))] title: Option<HumanString>,
        #[rasn(tag(3))] search_cost: Option<SearchCost>,
        #[rasn(tag(4))] scanable: bool,
        #[rasn(tag(5))] broader: Option<Vec<InternationalString>>,
        #[rasn(tag(6))] narrower: Option<Vec<InternationalString>>,
    }
}

named_integer!(
    /// What a search in a term list costs the server.
    SearchCost { OPTIMIZED = 0 "optimized", NORMAL = 1 "normal", EXPENSIVE = 2 "expensive", FILTER = 3 "filter" }
);
described_by_name!(SearchCost);

sequence! {
    /// ExtendedServicesInfo: an extended service.
    pub struct ExtendedServicesInfo {
        #[rasn(tag(0))] common_info: Option<CommonInfo>,
        #[rasn(tag(1))] r#type: Oid,
        #[rasn(tag(2))] name: Option<InternationalString>,
        #[rasn(tag(3))] private_type: bool,
        #[rasn(tag(5))] restrictions_apply: bool,
        #[rasn(tag(6))] fee_apply: bool,
        #[rasn(tag(7))] available: bool,
        #[rasn(tag(8))] retention_supported: bool,
        #[rasn(tag(9))] wait_action: WaitSupport,
        #[rasn(tag(10))] description: Option<HumanString>,
        #[rasn(tag(11))] specific_explain: Option<External>,
        #[rasn(tag(12))] es_asn: Option<InternationalString>,
    }
}

named_integer!(
    /// Whether a service can be waited for.
    WaitSupport {
        WAIT_SUPPORTED = 1 "waitSupported", WAIT_ALWAYS = 2 "waitAlways", WAIT_NOT_SUPPORTED = 3 "waitNotSupported",
        DEPENDS = 4 "depends", NOT_SAYING = 5 "notSaying",
    }
);
described_by_name!(WaitSupport);

sequence! {
    /// CategoryList: the categories of records that the Explain database has.
    pub struct CategoryList {
        #[rasn(tag(0))] common_info: Option<CommonInfo>,
        #[rasn(tag(1))] categories: Vec<CategoryInfo>,
    }
}

sequence! {
    /// CategoryInfo: a category of records.
    #[derive(Default)]
    pub struct CategoryInfo {
        #[rasn(tag(1))] category: InternationalString,
        #[rasn(tag(2))] original_category: Option<InternationalString>,
        #[rasn(tag(3))] description: Option<HumanString>,
        #[rasn(tag(4))] asn1_module: Option<InternationalString>,
    }
}

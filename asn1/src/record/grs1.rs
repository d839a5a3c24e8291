//! The GRS-1 record syntax (Z39.50-2003 Appendix REC.5): a tree of tagged elements. Types and fields have the
//! standard's names.
#![allow(
    missing_docs,
    reason = "fields and variants are the standard's; a type's doc names its part"
)]

mod from_marc;
mod names;
mod show;

pub use self::names::{STRING_TAGS, TAG_SET_G, TAG_SET_M, tag_name};
use crate::apdu::{External, IntUnit, StringOrNumeric, Term, Unit};
use crate::describe::{bare_choices, described};
use crate::oid::Oid;
use crate::optional::OptionalChoice;
use crate::production::productions;
use crate::types::{GeneralizedTime, InternationalString, OctetString};

/// The maximum depth of nested elements. The elements at the top level are at depth 1. Decoding a record with deeper
/// elements fails.
///
/// rasn's decoder allows 128 nested values, and each level of elements takes five of them.
pub const MAX_DEPTH: usize = 25;

productions! {
    /// GenericRecord: the elements of the record, in order.
    #[derive(Default)]
    pub struct GenericRecord(pub Vec<TaggedElement>)

    /// TaggedElement: an element with its tag.
    pub struct TaggedElement {
        /// The tag set of the tag. By convention, 1 is tagSet-M, 2 is tagSet-G, and 3 is for strings defined by the
        /// server.
        [1] tag_type: Option<i64>,
        [2] tag_value: StringOrNumeric,
        [3] tag_occurrence: Option<i64>,
        [4] content: ElementData,
        [5] meta_data: Option<Box<ElementMetaData>>,
        [6] applied_variant: Option<Variant>,
    }

    /// Variant: the variant of an element, as a list of properties.
    #[derive(Default)]
    pub struct Variant {
        /// The variant set for triples that do not name a set. If absent, it is Variant-1.
        [1] global_variant_set_id: Option<Oid>,
        [2] triples: Vec<Triple>,
    }

    /// A property of a variant, with its class, type and value.
    pub struct Triple {
        [0] variant_set_id: Option<Oid>,
        [1] class: i64,
        [2] r#type: i64,
        [3] value: TripleValue,
    }
}

described! {
    /// ElementData: the content of an element.
    pub enum ElementData {
        Octets(OctetString),
        Numeric(i64),
        Date(GeneralizedTime),
        Ext(Box<External>),
        String(InternationalString),
        TrueOrFalse(bool),
        Oid(Oid),
        [1] IntUnit(Box<IntUnit>),
        /// The element was requested, but is absent.
        [2] ElementNotThere,
        /// The element is present, but empty.
        [3] ElementEmpty,
        /// The data is left out because it was not requested.
        [4] NoDataRequested,
        [5] Diagnostic(Box<External>),
        [explicit 6] Subtree(Vec<TaggedElement>),
    }

    /// ElementMetaData: information about an element, in addition to its content.
    #[derive(Default)]
    pub struct ElementMetaData {
        [1] series_order: Option<Order>,
        [2] usage_right: Option<Usage>,
        [3] hits: Option<Vec<HitVector>>,
        [4] display_name: Option<InternationalString>,
        [5] supported_variants: Option<Vec<Variant>>,
        [6] message: Option<InternationalString>,
        [7] element_descriptor: Option<OctetString>,
        [8] surrogate_for: Option<TagPath>,
        [9] surrogate_element: Option<TagPath>,
        [99] other: Option<External>,
    }

    /// One tag on the path to an element.
    pub struct TagStep {
        [1] tag_type: Option<i64>,
        [2] tag_value: StringOrNumeric,
        [3] tag_occurrence: Option<i64>,
    }

    /// Order: the order of an element's subelements.
    pub struct Order {
        [1] ascending: bool,
        /// The kind of order, which is a value of `elementOrdering` in tagSet-M.
        [2] order: i64,
    }

    /// Usage: the permitted uses of the element.
    pub struct Usage {
        [1] r#type: UsageType,
        [2] restriction: Option<InternationalString>,
    }

    /// Whether use of the element is restricted.
    pub integer UsageType { REDISTRIBUTABLE = 1 "redistributable", RESTRICTED = 2 "restricted", LICENSE_POINTER = 3 "licensePointer" }

    /// HitVector: a place within the element that matches the query.
    pub struct HitVector {
        satisfier: OptionalChoice<Term>,
        [1] offset_into_element: Option<IntUnit>,
        [2] length: Option<IntUnit>,
        [3] hit_rank: Option<i64>,
        [4] target_token: Option<OctetString>,
    }
}

bare_choices! {
    /// The value of a variant property.
    pub enum TripleValue {
        Integer(i64),
        InternationalString(InternationalString),
        OctetString(OctetString),
        ObjectIdentifier(Oid),
        Boolean(bool),
        Null,
        [1] Unit(Box<Unit>),
        [2] ValueAndUnit(Box<IntUnit>),
    }
}

/// TagPath: the tags from the root to an element.
pub type TagPath = Vec<TagStep>;

impl TaggedElement {
    /// Creates an element with a numeric tag from tagSet-M or another tag set.
    pub fn numbered(tag_type: i64, tag_value: i64, content: ElementData) -> Self {
        Self::of(tag_type, StringOrNumeric::Numeric(tag_value), content)
    }

    /// Creates an element whose tag is a string, with tag type 3.
    pub fn named(tag: impl Into<InternationalString>, content: ElementData) -> Self {
        Self::of(STRING_TAGS, StringOrNumeric::String(tag.into()), content)
    }

    fn of(tag_type: i64, tag_value: StringOrNumeric, content: ElementData) -> Self {
        Self {
            tag_type: Some(tag_type),
            tag_value,
            tag_occurrence: None,
            content,
            meta_data: None,
            applied_variant: None,
        }
    }
}

#[cfg(test)]
mod tests;

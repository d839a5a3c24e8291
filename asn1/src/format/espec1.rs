//! Element specification format eSpec-1: which elements of a record are wanted, by their tags
//! (Z39.50-2003 Appendix ESP.1).

use crate::apdu::StringOrNumeric;
use crate::describe::described;
use crate::oid::Oid;
use crate::record::grs1::Variant;
use crate::types::InternationalString;

described! {
    /// Espec-1: element sets and elements wanted.
    #[derive(Default)]
    pub struct Espec1 {
        [1] element_set_names: Option<Vec<InternationalString>>,
        [2] default_variant_set_id: Option<Oid>,
        /// For simple elements that do not request a variant.
        [3] default_variant_request: Option<Variant>,
        [4] default_tag_type: Option<i64>,
        [5] elements: Option<Vec<ElementRequest>>,
    }

    /// ElementRequest: one element, or several delivered as one.
    pub enum ElementRequest {
        [1] SimpleElement(SimpleElement),
        [2] CompositeElement(CompositeElement),
    }

    /// SimpleElement: the elements that a path leads to.
    pub struct SimpleElement {
        [1] path: TagPath,
        [2] variant_request: Option<Variant>,
    }

    /// Elements that are delivered together under one tag.
    pub struct CompositeElement {
        [1] element_list: ElementList,
        /// Without wildThing and wildPath.
        [2] delivery_tag: TagPath,
        [3] variant_request: Option<Variant>,
    }

    /// The elements of a composite one, by element sets or individually.
    pub enum ElementList {
        [1] Primitives(Vec<InternationalString>),
        [2] Specs(Vec<SimpleElement>),
    }

    /// One step of a path.
    pub enum TagStep {
        [1] SpecificTag(SpecificTag),
        /// The elements at these positions, whatever their tags.
        [2] WildThing(Occurrences),
        /// Any number of levels, up to the tag that follows.
        [3] WildPath,
    }

    /// Elements with a tag; without `occurrence`, the first of them.
    pub struct SpecificTag {
        [1] tag_type: Option<i64>,
        [2] tag_value: StringOrNumeric,
        [3] occurrence: Option<Occurrences>,
    }

    /// Occurrences: which of several elements.
    pub enum Occurrences {
        [1] All,
        [2] Last,
        [3] Values(OccurrenceRange),
    }

    /// Consecutive elements from the 1-based `start`; one without `how_many`.
    pub struct OccurrenceRange {
        [1] start: i64,
        [2] how_many: Option<i64>,
    }
}

/// TagPath: the path from the root to an element.
pub type TagPath = Vec<TagStep>;

//! Element specification format eSpec-1: selects elements of a record by their tags (Z39.50-2003 Appendix ESP.1).

use crate::apdu::StringOrNumeric;
use crate::describe::described;
use crate::oid::Oid;
use crate::record::grs1::Variant;
use crate::types::InternationalString;

described! {
    /// Espec-1: the requested element sets and elements.
    #[derive(Default)]
    pub struct Espec1 {
        [1] element_set_names: Option<Vec<InternationalString>>,
        [2] default_variant_set_id: Option<Oid>,
        /// The variant to use for simple elements that do not request a variant.
        [3] default_variant_request: Option<Variant>,
        [4] default_tag_type: Option<i64>,
        [5] elements: Option<Vec<ElementRequest>>,
    }

    /// ElementRequest: one element, or several elements that are delivered as one.
    pub enum ElementRequest {
        [1] SimpleElement(SimpleElement),
        [2] CompositeElement(CompositeElement),
    }

    /// SimpleElement: the elements to which a path leads.
    pub struct SimpleElement {
        [1] path: TagPath,
        [2] variant_request: Option<Variant>,
    }

    /// Elements that are delivered together under one tag.
    pub struct CompositeElement {
        [1] element_list: ElementList,
        /// The tag of the composite element, as a path without wildThing and wildPath.
        [2] delivery_tag: TagPath,
        [3] variant_request: Option<Variant>,
    }

    /// The parts of a composite element, given by element sets or individually.
    pub enum ElementList {
        [1] Primitives(Vec<InternationalString>),
        [2] Specs(Vec<SimpleElement>),
    }

    /// One step of a path to an element.
    pub enum TagStep {
        [1] SpecificTag(SpecificTag),
        /// The elements at these positions, with any tag.
        [2] WildThing(Occurrences),
        /// Any number of levels, down to the next tag in the path.
        [3] WildPath,
    }

    /// Elements with a tag. If `occurrence` is absent, only the first such element is meant.
    pub struct SpecificTag {
        [1] tag_type: Option<i64>,
        [2] tag_value: StringOrNumeric,
        [3] occurrence: Option<Occurrences>,
    }

    /// Occurrences: a selection among elements with the same tag.
    pub enum Occurrences {
        [1] All,
        [2] Last,
        [3] Values(OccurrenceRange),
    }

    /// Consecutive elements from the 1-based position `start`. If `how_many` is absent, only one element is meant.
    pub struct OccurrenceRange {
        [1] start: i64,
        [2] how_many: Option<i64>,
    }
}

/// TagPath: the path from the root to an element.
pub type TagPath = Vec<TagStep>;

//! Index Data's facets, 1.2.840.10003.10.1000.81.5: the terms that occur in the records of a result set, with their
//! counts. A client requests facets in `additionalSearchInfo` of a Search, as fields without terms; the response has
//! the terms.

use crate::apdu::{AttributeElement, AttributeList, AttributeValue, StringOrNumeric, Term};
use crate::describe::described;

described! {
    /// FacetList: the facets in a request or response.
    #[derive(Default)]
    pub struct FacetList(pub Vec<FacetField>)

    /// FacetField: the field of a facet and, in a response, its terms.
    pub struct FacetField {
        /// Attributes of the types 1 (field), 2 (order), 3 (maximum number of terms) and 4 (1-based position of the
        /// first term).
        [1] attributes: AttributeList,
        [2] terms: Option<Vec<FacetTerm>>,
    }

    /// FacetTerm: a term, and the number of records that contain it.
    pub struct FacetTerm {
        term: Term,
        count: i64,
    }
}

/// The attribute type for the field: a name, or a Bib-1 Use attribute.
const FIELD: i64 = 1;
/// The attribute type for the order of terms: 0 by count, 1 alphabetically.
const ORDER: i64 = 2;
/// The attribute type for the maximum number of terms.
const LIMIT: i64 = 3;
/// The attribute type for the 1-based position of the first requested term.
const START: i64 = 4;

impl FacetField {
    /// Creates a request for the `limit` most frequent terms of the field `name`.
    pub fn request(name: &str, limit: i64) -> Self {
        let field = AttributeElement {
            attribute_set: None,
            attribute_type: FIELD,
            attribute_value: AttributeValue::named(name),
        };
        Self {
            attributes: AttributeList(vec![field, AttributeElement::numeric(LIMIT, limit)]),
            terms: None,
        }
    }

    /// Creates a request for at most `limit` terms of the field with a Use attribute, starting at the 1-based position
    /// `start`. The terms are requested in alphabetical order if `by_term` is set, and otherwise by descending count.
    pub fn of_use(use_value: i64, limit: i64, start: i64, by_term: bool) -> Self {
        let attributes = [
            (FIELD, use_value),
            (ORDER, i64::from(by_term)),
            (LIMIT, limit),
            (START, start),
        ];
        let attributes = attributes.map(|(kind, value)| AttributeElement::numeric(kind, value));
        Self {
            attributes: AttributeList(attributes.into()),
            terms: None,
        }
    }

    /// Returns the field, as a name or as the number of a Use attribute.
    pub fn field(&self) -> Option<StringOrNumeric> {
        match self.attribute(FIELD)? {
            AttributeValue::Numeric(number) => Some(StringOrNumeric::Numeric(*number)),
            AttributeValue::Complex(complex) => complex.list.first().cloned(),
        }
    }

    /// Returns the maximum number of requested terms, if the request states one.
    pub fn limit(&self) -> Option<i64> {
        self.number(LIMIT)
    }

    /// Returns the 1-based position of the first requested term, if the request states one.
    pub fn start(&self) -> Option<i64> {
        self.number(START)
    }

    /// Returns whether terms are requested in alphabetical order instead of by count.
    pub fn by_term(&self) -> bool {
        self.number(ORDER) == Some(1)
    }

    fn attribute(&self, attribute_type: i64) -> Option<&AttributeValue> {
        let mut attributes = self.attributes.0.iter();
        let found = attributes.find(|attribute| attribute.attribute_type == attribute_type);
        found.map(|attribute| &attribute.attribute_value)
    }

    fn number(&self, attribute_type: i64) -> Option<i64> {
        match self.attribute(attribute_type)? {
            AttributeValue::Numeric(number) => Some(*number),
            AttributeValue::Complex(_) => None,
        }
    }
}

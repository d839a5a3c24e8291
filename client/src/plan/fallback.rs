//! What to try after a refusal, and the Bib-1 diagnostics that trigger it (Z39.50-2003 Appendix ERR). RFC 2056 §4 prescribes one
//! search and one record syntax, so all of it is off by default.

use z3950_asn1::apdu::DiagRec;
use z3950_asn1::bib1::diagnostics::Condition;

/// What to try after a refusal; by default nothing. [`Retrieval::steps`] lists what was tried. For other searches,
/// [`Client::find`](crate::Client::find) carries it out.
///
/// [`Retrieval::steps`]: crate::retrieve::Retrieval::steps
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Fallback {
    /// After diagnostic 118, search without the Structure attribute.
    pub structure: bool,
    /// After a refusal of the attributes (3, 113 to 126, 247, 1024, 1056), or when nothing is found, try other searches for the
    /// docid: those of the server's profile, that of RFC 2056, the same without the Structure attribute, local number,
    /// standard identifier, and the kind of number that the docid looks like. A query is searched for with fewer attributes, in
    /// broader indexes, and in any index.
    pub attributes: bool,
    /// After diagnostic 23 or 111, search the databases one by one until a record is found.
    pub databases: bool,
    /// After diagnostic 227, 238 or 239, request the next supported record syntax of the URL, then that of the server's
    /// profile, then leave the choice to the server.
    pub syntax: bool,
    /// After diagnostic 25 or 26, request the record without an element set name.
    pub element_set: bool,
}

impl Fallback {
    /// All of them.
    pub const ALL: Self = Self {
        structure: true,
        attributes: true,
        databases: true,
        syntax: true,
        element_set: true,
    };
}

/// The part of a request that a server refused, and that another request may avoid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Objection {
    Structure,
    Attributes,
    Databases,
    Syntax,
    ElementSet,
    Other,
}

impl Objection {
    /// The first objection that another request may avoid.
    pub(crate) fn of(diagnostics: &[DiagRec]) -> Self {
        let objections = diagnostics
            .iter()
            .filter_map(|diagnostic| match diagnostic {
                DiagRec::DefaultFormat(diagnostic) => {
                    Some(Self::to(Condition(diagnostic.condition)))
                }
                DiagRec::ExternallyDefined(_) => None,
            });
        let mut objections = objections.filter(|objection| *objection != Self::Other);
        objections.next().unwrap_or(Self::Other)
    }

    fn to(condition: Condition) -> Self {
        match condition {
            Condition::STRUCTURE => Self::Structure,
            Condition::UNSUPPORTED_SEARCH
            | Condition::ATTRIBUTE_TYPE
            | Condition::USE
            | Condition::USE_VALUE
            | Condition::USE_REQUIRED
            | Condition::RELATION
            | Condition::POSITION
            | Condition::TRUNCATION
            | Condition::ATTRIBUTE_SET
            | Condition::COMPLETENESS
            | Condition::ATTRIBUTE_COMBINATION
            | Condition::TERM_CODED_VALUE
            | Condition::MALFORMED_TERM
            | Condition::TERM_VALUE
            | Condition::ATTRIBUTE_SET_OF_ELEMENT
            | Condition::ATTRIBUTE
            | Condition::ATTRIBUTE_NOT_FOR_DATABASE => Self::Attributes,
            Condition::COMBINATION | Condition::TOO_MANY_DATABASES => Self::Databases,
            NO_DATA_IN_SYNTAX | Condition::NOT_AVAILABLE_IN_SYNTAX | Condition::RECORD_SYNTAX => {
                Self::Syntax
            }
            Condition::ELEMENT_SET_NAME | Condition::GENERIC_ELEMENT_SET_NAME_ONLY => {
                Self::ElementSet
            }
            _ => Self::Other,
        }
    }
}

/// 227: the record has no data in the syntax asked for.
const NO_DATA_IN_SYNTAX: Condition = Condition(227);

//! The fallbacks after a refusal, and the Bib-1 diagnostics that trigger them (Z39.50-2003 Appendix ERR). RFC 2056 §4
//! prescribes one search and one record syntax, so all fallbacks are off by default.

use z3950_asn1::apdu::DiagRec;
use z3950_asn1::bib1::diagnostics::Condition;

/// The fallbacks after a refusal, which are all off by default. [`Retrieval::steps`] lists the attempts. For searches
/// other than retrievals, [`Client::find`](crate::Client::find) applies the fallbacks.
///
/// [`Retrieval::steps`]: crate::retrieve::Retrieval::steps
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Fallback {
    /// Whether to search without the Structure attribute after diagnostic 118.
    pub structure: bool,
    /// Whether to try other searches after a refusal of the attributes (diagnostics 3, 113 to 126, 247, 1024, 1056) or
    /// an empty result. For a docid, these are the searches in the server's profile, the search prescribed by RFC 2056,
    /// the same search without the Structure attribute, and searches for a local number, a standard identifier, and the
    /// kind of number that the docid looks like. A query is repeated with fewer attributes, in broader indexes, and in
    /// any index.
    pub attributes: bool,
    /// Whether to search the databases one by one after diagnostic 23 or 111, until a record is found.
    pub databases: bool,
    /// Whether to try other record syntaxes after diagnostic 227, 238 or 239. These are the next supported syntax in
    /// the URL, then the one in the server's profile, and finally the server's choice.
    pub syntax: bool,
    /// Whether to request the record without an element set name after diagnostic 25 or 26.
    pub element_set: bool,
}

impl Fallback {
    /// All fallbacks switched on.
    pub const ALL: Self = Self {
        structure: true,
        attributes: true,
        databases: true,
        syntax: true,
        element_set: true,
    };
}

/// The maximum number of further requests for one query or URL, after refusals or empty results.
const MAX_REQUESTS: usize = 100;

/// The order in which searches and databases are tried, as far as a [`Fallback`] allows. The number of requests is
/// limited.
#[derive(Debug, Clone)]
pub(crate) struct SearchOrder {
    pub(crate) fallback: Fallback,
    searches: usize,
    databases: usize,
    /// The index of the current search.
    pub(crate) search: usize,
    /// The index of the current database, if the databases are searched one by one.
    pub(crate) database: Option<usize>,
    requests_left: usize,
}

impl SearchOrder {
    /// Creates an order that begins with the first of `searches` searches, in all databases.
    pub(crate) fn new(fallback: Fallback, searches: usize, databases: usize) -> Self {
        Self {
            fallback,
            searches,
            databases,
            search: 0,
            database: None,
            requests_left: MAX_REQUESTS,
        }
    }

    /// Returns to the first search.
    pub(crate) fn restart(&mut self) {
        *self = Self::new(self.fallback, self.searches, self.databases);
    }

    /// Moves to the next database or search after an empty result. Returns false if there is no further search.
    pub(crate) fn after_nothing(&mut self) -> bool {
        self.after_refusal(Objection::Attributes)
    }

    /// Counts a request. Returns false if the maximum number of requests has been reached.
    pub(crate) fn spend(&mut self) -> bool {
        let left = self.requests_left.checked_sub(1);
        self.requests_left = left.unwrap_or_default();
        left.is_some()
    }

    /// Moves on after a refusal: to the first database, the next database, or the next search. Returns false if there
    /// is no further search.
    pub(crate) fn after_refusal(&mut self, objection: Objection) -> bool {
        let may_split = self.fallback.databases && self.databases > 1;
        if objection == Objection::Databases && self.database.is_none() && may_split {
            self.database = Some(0);
            return true;
        }
        if let Some(one) = self.database.filter(|one| one + 1 < self.databases) {
            self.database = Some(one + 1);
            return true;
        }
        let may_go_on = match objection {
            Objection::Structure => self.fallback.structure || self.fallback.attributes,
            Objection::Attributes => self.fallback.attributes,
            // The refusal may concern a single database, so the next attributes may work in other databases.
            _ => self.fallback.attributes && self.database.is_some(),
        };
        if may_go_on && self.search + 1 < self.searches {
            self.search += 1;
            self.database = self.database.map(|_| 0);
            return true;
        }
        false
    }
}

/// The part of a request that the server refused, and that the next request may change.
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
    /// Returns the first objection in the diagnostics that another request may avoid, or [`Objection::Other`] if there
    /// is none.
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

/// Diagnostic 227: no data is available in the requested record syntax.
const NO_DATA_IN_SYNTAX: Condition = Condition(227);

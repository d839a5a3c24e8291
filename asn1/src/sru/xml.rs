//! XML as SRU needs it: read without a tree and within limits, and written.

mod check;
mod names;
mod read;
mod write;

pub(super) use self::check::{check_well_formed, root};
pub(super) use self::read::{
    ElementContent, XmlReader, attribute, declared_encoding, document, local_name,
};
pub(super) use self::write::{Writer, put_attribute, put_text};

/// Why a document cannot be read. Offsets count octets from its start, in UTF-8.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum XmlError {
    /// Longer than [`SruLimits::document`](super::SruLimits::document).
    #[error("the document is longer than {limit} octets")]
    TooLong {
        /// The limit.
        limit: usize,
    },
    /// Not well-formed XML.
    #[error("not well-formed XML: {fault} (octet {offset})")]
    Syntax {
        /// Where.
        offset: u64,
        /// What is wrong there.
        fault: String,
    },
    /// A document type, which might define entities.
    #[error("a document type is not accepted (octet {offset})")]
    DocumentType {
        /// Where.
        offset: usize,
    },
    /// Elements nested deeper than [`SruLimits::depth`](super::SruLimits::depth).
    #[error("elements nested more than {limit} levels deep (octet {offset})")]
    TooDeep {
        /// The limit.
        limit: usize,
        /// Where.
        offset: usize,
    },
    /// More elements or records than the limits allow.
    #[error("more than {limit} {what} (octet {offset})")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// The limit.
        limit: usize,
        /// Where.
        offset: usize,
    },
    /// An invalid number of records: below 0, too large, or not a number.
    #[error("{name} is {value:?}, which is not a number of records")]
    Count {
        /// The name of the element.
        name: &'static str,
        /// The beginning of its text.
        value: String,
    },
    /// The document ends too early.
    #[error("the document ends within an element")]
    Unfinished,
    /// No XML at all.
    #[error("the document has no element")]
    NoElement,
    /// A page for people, such as an error of a proxy.
    #[error("an HTML page instead of XML{}", titled(title))]
    Html {
        /// Its title; may be empty.
        title: String,
    },
    /// XML, but none of SRU.
    #[error("an element {name:?}, which SRU does not have there")]
    Element {
        /// The name of the element.
        name: String,
    },
}

impl XmlError {
    pub(super) fn element(name: &str) -> Self {
        Self::Element {
            name: name.chars().take(40).collect(),
        }
    }
}

fn titled(title: &str) -> String {
    match title {
        "" => String::new(),
        title => format!(", {title:?}"),
    }
}

/// Whether a namespace is one of 2.0.
pub(super) fn is_new(namespace: &str) -> bool {
    namespace.contains("docs.oasis-open.org/ns/search-ws")
}

/// The namespaces (SRU 1.1 and 1.2; OASIS searchRetrieve 1.0; SOAP 1.1).
pub(super) mod namespace {
    use crate::sru::Version;

    pub(in crate::sru) const SRU: &str = "http://www.loc.gov/zing/srw/";
    pub(in crate::sru) const DIAGNOSTIC: &str = "http://www.loc.gov/zing/srw/diagnostic/";
    pub(in crate::sru) const UPDATE: &str = "http://www.loc.gov/zing/srw/update/";
    pub(in crate::sru) const FACETS: &str =
        "http://docs.oasis-open.org/ns/search-ws/facetedResults";

    pub(in crate::sru) const SOAP: &str = "http://schemas.xmlsoap.org/soap/envelope/";

    pub(in crate::sru) const NEW_REQUEST: &str =
        "http://docs.oasis-open.org/ns/search-ws/sruRequest";
    const NEW_RESPONSE: &str = "http://docs.oasis-open.org/ns/search-ws/sruResponse";
    const NEW_SCAN: &str = "http://docs.oasis-open.org/ns/search-ws/scan";
    const NEW_DIAGNOSTIC: &str = "http://docs.oasis-open.org/ns/search-ws/diagnostic";

    /// Of answers to searches and of explain.
    pub(in crate::sru) fn response(version: Version) -> &'static str {
        match version {
            Version::V1_1 | Version::V1_2 => SRU,
            Version::V2_0 => NEW_RESPONSE,
        }
    }

    /// Of scan.
    pub(in crate::sru) fn scan(version: Version) -> &'static str {
        match version {
            Version::V1_1 | Version::V1_2 => SRU,
            Version::V2_0 => NEW_SCAN,
        }
    }

    /// Of diagnostics that concern a request as a whole.
    pub(in crate::sru) fn diagnostic(version: Version) -> &'static str {
        match version {
            Version::V1_1 | Version::V1_2 => DIAGNOSTIC,
            Version::V2_0 => NEW_DIAGNOSTIC,
        }
    }
}

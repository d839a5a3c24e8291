//! XML for SRU: a reader that does not build a tree and enforces limits, and a writer.

mod check;
mod mend;
mod names;
mod read;
mod write;

pub(super) use self::check::{check_well_formed, root};
pub(super) use self::mend::escape_ampersands;
pub(super) use self::read::{
    ElementContent, XmlReader, attribute, declared_encoding, document, local_name,
};
pub(super) use self::write::{Writer, put_attribute, put_text};

/// The reason why a document cannot be read. Offsets count octets from the start of the document, converted to UTF-8.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum XmlError {
    /// The document is longer than [`SruLimits::document`](super::SruLimits::document).
    #[error("the document is longer than {limit} octets")]
    TooLong {
        /// The limit in octets.
        limit: usize,
    },
    /// The document is not well-formed XML.
    #[error("not well-formed XML: {fault} (octet {offset})")]
    Syntax {
        /// The offset of the fault.
        offset: u64,
        /// The description of the fault.
        fault: String,
    },
    /// The document has a document type, which might define entities.
    #[error("a document type is not accepted (octet {offset})")]
    DocumentType {
        /// The offset of the document type.
        offset: usize,
    },
    /// Elements are nested deeper than [`SruLimits::depth`](super::SruLimits::depth).
    #[error("elements nested more than {limit} levels deep (octet {offset})")]
    TooDeep {
        /// The maximum depth of nested elements.
        limit: usize,
        /// The offset of the element beyond the maximum depth.
        offset: usize,
    },
    /// There are more elements or records than the limits allow.
    #[error("more than {limit} {what} (octet {offset})")]
    TooMany {
        /// The kind of items that exceed the limit.
        what: &'static str,
        /// The maximum number of items.
        limit: usize,
        /// The offset of the first item beyond the limit.
        offset: usize,
    },
    /// A number of records is invalid: below 0, too large, or not a number.
    #[error("{name} is {value:?}, which is not a number of records")]
    Count {
        /// The name of the element with the number.
        name: &'static str,
        /// The beginning of the element's text.
        value: String,
    },
    /// The document ends before its root element does.
    #[error("the document ends within an element")]
    Unfinished,
    /// The document does not contain an XML element.
    #[error("the document has no element")]
    NoElement,
    /// The document is an HTML page, such as the error page of a proxy.
    #[error("an HTML page instead of XML{}", titled(title))]
    Html {
        /// The title of the page. The text may be empty.
        title: String,
    },
    /// The document is XML, but contains an element where SRU does not allow it.
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

/// Returns whether a namespace belongs to SRU 2.0.
pub(super) fn is_new(namespace: &str) -> bool {
    namespace.contains("docs.oasis-open.org/ns/search-ws")
}

/// The SRU namespaces (SRU 1.1 and 1.2; OASIS searchRetrieve 1.0; SOAP 1.1).
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

    /// Returns the namespace for responses to searches and explain requests.
    pub(in crate::sru) fn response(version: Version) -> &'static str {
        match version {
            Version::V1_1 | Version::V1_2 => SRU,
            Version::V2_0 => NEW_RESPONSE,
        }
    }

    /// Returns the namespace for scan.
    pub(in crate::sru) fn scan(version: Version) -> &'static str {
        match version {
            Version::V1_1 | Version::V1_2 => SRU,
            Version::V2_0 => NEW_SCAN,
        }
    }

    /// Returns the namespace for diagnostics that concern a complete request.
    pub(in crate::sru) fn diagnostic(version: Version) -> &'static str {
        match version {
            Version::V1_1 | Version::V1_2 => DIAGNOSTIC,
            Version::V2_0 => NEW_DIAGNOSTIC,
        }
    }
}

//! XML as SRU needs it.

mod write;

pub(super) use self::write::{Writer, put_attribute, put_text};

/// The namespaces (SRU 1.1 and 1.2; OASIS searchRetrieve 1.0; SOAP 1.1).
pub(super) mod namespace {
    use crate::sru::Version;

    pub(in crate::sru) const SRU: &str = "http://www.loc.gov/zing/srw/";
    pub(in crate::sru) const DIAGNOSTIC: &str = "http://www.loc.gov/zing/srw/diagnostic/";
    pub(in crate::sru) const UPDATE: &str = "http://www.loc.gov/zing/srw/update/";
    pub(in crate::sru) const FACETS: &str =
        "http://docs.oasis-open.org/ns/search-ws/facetedResults";

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

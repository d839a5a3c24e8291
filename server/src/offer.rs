//! The protocol versions, options and services that the server offers at Init (Z39.50-2003 §3.2.1).

use z3950_asn1::apdu::{Options, ProtocolVersion};

/// The server's offer at Init. Services that are not offered are refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Offer {
    /// The protocol versions; by default, 1 to 3.
    pub versions: ProtocolVersion,
    /// The options; by default, all options that the server implements.
    pub options: Options,
    /// The implementationId; by default, `None`.
    pub implementation_id: Option<String>,
    /// The implementationName; by default, `z3950d`.
    pub implementation_name: Option<String>,
    /// The implementationVersion; by default, the crate's version.
    pub implementation_version: Option<String>,
    /// The message languages that a client may choose from, as ISO 639-2 codes; by default, `eng`.
    pub languages: Vec<String>,
    /// The number of records above which a Search asks the client whether to continue, if resource control (§3.2.6) is in effect;
    /// with `None`, it never asks.
    pub ask_above: Option<usize>,
    /// Whether the database IR-Explain-1 exists (§3.2.10); by default, `true`.
    pub explain: bool,
    /// Whether to refuse an element set that a database does not have, with condition 25; by default, `true`. Otherwise, full
    /// records are returned, for clients such as Evergreen that send the name of their own element set to every server. For XML,
    /// the element set name is the name of a schema, and an unknown name is refused in any case.
    pub strict_element_sets: bool,
}

impl Default for Offer {
    fn default() -> Self {
        Self {
            versions: ProtocolVersion::UP_TO_3,
            options: Options::SEARCH
                | Options::PRESENT
                | Options::DELETE
                | Options::RESOURCE_REPORT
                | Options::TRIGGER_RESOURCE_CONTROL
                | Options::RESOURCE_CONTROL
                | Options::ACCESS_CONTROL
                | Options::SCAN
                | Options::SORT
                | Options::EXTENDED_SERVICES
                | Options::SEGMENTATION_1
                | Options::SEGMENTATION_2
                | Options::CONCURRENT_OPERATIONS
                | Options::NAMED_RESULT_SETS
                | Options::RESULT_COUNT
                | Options::NEGOTIATION_MODEL
                | Options::QUERY_TYPE_104
                | Options::STRING_SCHEMA,
            implementation_id: None,
            implementation_name: Some("z3950d".to_owned()),
            implementation_version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            languages: vec!["eng".to_owned()],
            ask_above: None,
            explain: true,
            strict_element_sets: true,
        }
    }
}

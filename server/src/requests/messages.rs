//! APDUs as clients send them, for tests.

use z3950_asn1::apdu::{
    Apdu, AttributesPlusTerm, CaseSensitivity, DatabaseName, ElementSetNames, InitializeRequest,
    Options, PresentRequest, ProtocolVersion, Query, ResultSetId, ScanRequest, SearchRequest,
    SortElement, SortKey, SortKeySpec, SortRelation, SortRequest, Term,
};

/// Returns the Init of a client with these versions that requests all options.
pub(crate) fn init_of(protocol_version: ProtocolVersion) -> InitializeRequest {
    InitializeRequest {
        protocol_version,
        options: Options::SEARCH
            | Options::PRESENT
            | Options::DELETE
            | Options::RESOURCE_CONTROL
            | Options::ACCESS_CONTROL
            | Options::SCAN
            | Options::SORT
            | Options::NAMED_RESULT_SETS
            | Options::RESULT_COUNT
            | Options::NEGOTIATION_MODEL,
        preferred_message_size: 1 << 26,
        exceptional_record_size: 1 << 26,
        ..InitializeRequest::default()
    }
}

/// Returns a version 3 client's Init.
pub(crate) fn init() -> Apdu {
    init_of(ProtocolVersion::UP_TO_3).into()
}

/// Returns a Search in `cat` for a PQF query. It requests no records and creates the result set `default`.
pub(crate) fn search_request(pqf: &str) -> SearchRequest {
    SearchRequest {
        reference_id: None,
        small_set_upper_bound: 0,
        large_set_lower_bound: 1,
        medium_set_present_number: 0,
        replace_indicator: true,
        result_set_name: "default".into(),
        database_names: vec![DatabaseName::from("cat")],
        small_set_element_set_names: None,
        medium_set_element_set_names: None,
        preferred_record_syntax: None,
        query: Query::Type1(pqf.parse().unwrap_or_else(|error| panic!("{pqf}: {error}"))),
        additional_search_info: None,
        other_info: None,
    }
}

/// Returns [`search_request`] as an APDU.
pub(crate) fn search(pqf: &str) -> Apdu {
    search_request(pqf).into()
}

/// Returns a Present for the result set `default`.
pub(crate) fn present_request(start: i64, number: i64) -> PresentRequest {
    PresentRequest {
        result_set_id: ResultSetId::from("default"),
        result_set_start_point: start,
        number_of_records_requested: number,
        ..PresentRequest::default()
    }
}

/// Returns [`present_request`] as an APDU.
pub(crate) fn present(start: i64, number: i64) -> Apdu {
    present_request(start, number).into()
}

/// Returns a Scan for three terms, beginning with `start`.
pub(crate) fn scan_request(start: &str) -> ScanRequest {
    ScanRequest {
        reference_id: None,
        database_names: vec![DatabaseName::from("cat")],
        attribute_set: None,
        term_list_and_start_point: AttributesPlusTerm {
            attributes: Vec::new(),
            term: Term::General(start.into()),
        },
        step_size: None,
        number_of_terms_requested: 3,
        preferred_position_in_response: None,
        other_info: None,
    }
}

/// Returns a Sort by title of the input sets into the output set.
pub(crate) fn sort_request(inputs: &[&str], output: &str) -> SortRequest {
    SortRequest {
        input_result_set_names: inputs.iter().map(|name| (*name).into()).collect(),
        sorted_result_set_name: output.into(),
        sort_sequence: vec![SortKeySpec {
            sort_element: SortElement::Generic(SortKey::SortField("title".into())),
            sort_relation: SortRelation::ASCENDING,
            case_sensitivity: CaseSensitivity::CASE_INSENSITIVE,
            missing_value_action: None,
        }],
        ..SortRequest::default()
    }
}

/// Returns an element set name for all databases.
pub(crate) fn elements(name: &str) -> ElementSetNames {
    ElementSetNames::GenericElementSetName(name.into())
}

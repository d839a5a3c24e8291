//! APDUs as sent by servers, for tests of the client and of the conformance checks.

use bytes::Bytes;
use z3950_asn1::apdu::*;
use z3950_asn1::codec;
use z3950_asn1::oid::{self, Oid};

pub(crate) fn encode(apdu: &Apdu) -> Vec<u8> {
    codec::encode(apdu).expect("encodes")
}

pub(crate) fn init_response(result: bool, protocol_version: ProtocolVersion) -> InitializeResponse {
    InitializeResponse {
        reference_id: None,
        protocol_version,
        options: Options::SEARCH | Options::PRESENT | Options::DELETE | Options::NAMED_RESULT_SETS,
        preferred_message_size: 1_048_576,
        exceptional_record_size: 1_048_576,
        result,
        implementation_id: None,
        implementation_name: Some("script".into()),
        implementation_version: None,
        user_information_field: None,
        other_info: None,
        unknown: Default::default(),
    }
}

/// Builds the answer to a search, with `records` in the response.
pub(crate) fn found(hits: i64, records: Vec<NamePlusRecord>) -> SearchResponse {
    SearchResponse {
        result_count: hits,
        number_of_records_returned: i64::try_from(records.len()).expect("few"),
        next_result_set_position: 1,
        search_status: true,
        present_status: Some(PresentStatus::SUCCESS),
        records: if records.is_empty() {
            None.into()
        } else {
            Records::ResponseRecords(records).into()
        },
        ..SearchResponse::default()
    }
}

/// Builds the answer to a search that failed.
pub(crate) fn search_failed(records: Option<Records>) -> SearchResponse {
    SearchResponse {
        result_set_status: Some(ResultSetStatus::NONE),
        records: records.into(),
        ..SearchResponse::default()
    }
}

pub(crate) fn presented(status: PresentStatus, records: Option<Records>) -> PresentResponse {
    let count = match &records {
        Some(Records::ResponseRecords(records)) => records.len(),
        _ => 0,
    };
    PresentResponse {
        reference_id: None,
        number_of_records_returned: i64::try_from(count).expect("few"),
        next_result_set_position: 2,
        present_status: status,
        records: records.into(),
        other_info: None,
    }
}

pub(crate) fn record(syntax: Oid) -> NamePlusRecord {
    let external = External::octet_aligned(syntax, Bytes::from_static(b"a record"));
    NamePlusRecord {
        name: Some("cat".into()),
        record: Record::RetrievalRecord(external),
    }
}

pub(crate) fn marc() -> NamePlusRecord {
    record(oid::USMARC)
}

/// Builds a query that matches anything.
pub(crate) fn query() -> Query {
    Query::Type1(RpnQuery::bib1(RpnStructure::term(Vec::new(), "x")))
}

pub(crate) fn surrogate(condition: i64) -> NamePlusRecord {
    let diagnostic = DiagRec::DefaultFormat(DefaultDiagFormat::bib1(condition, ""));
    NamePlusRecord {
        name: None,
        record: Record::SurrogateDiagnostic(diagnostic),
    }
}

pub(crate) fn diagnostic(condition: i64, addinfo: &str) -> Option<Records> {
    Some(Records::NonSurrogateDiagnostic(DefaultDiagFormat::bib1(
        condition, addinfo,
    )))
}

pub(crate) fn challenge() -> Apdu {
    AccessControlRequest {
        reference_id: None,
        security_challenge: SecurityChallenge::SimpleForm("who are you?".into()),
        other_info: None,
    }
    .into()
}

pub(crate) fn resource_control(response_required: bool) -> Apdu {
    ResourceControlRequest {
        reference_id: None,
        suspended_flag: None,
        resource_report: None,
        partial_results_available: None,
        response_required,
        triggered_request_flag: None,
        other_info: None,
    }
    .into()
}

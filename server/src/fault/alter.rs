//! What faults change in requests, so that the session itself goes astray, and in answers.

use z3950_asn1::apdu::{
    Apdu, DeleteSetStatus, DiagRec, DuplicateDetectionStatus, External, Information,
    InitializeResponse, ListEntries, NamePlusRecord, OperationStatus, OtherInformation,
    OtherInformationUnit, PresentStatus, ProtocolVersion, Record, Records, ResultSetStatus,
    ScanStatus, SearchResponse, SortStatus,
};
use z3950_asn1::codec::encode_value;
use z3950_asn1::oid::{DIAG_1, USER_INFO_1};
use z3950_asn1::types::{Any, Bits};

use super::Fault;
use crate::diagnostic::Diagnostic;

/// Changes a request as far as the fault does that.
pub(super) fn request(fault: &Fault, request: &mut Apdu) {
    match (fault, request) {
        (Fault::Version2, Apdu::InitializeRequest(init)) => init.protocol_version = version_2(),
        (Fault::RejectInit(_), Apdu::InitializeRequest(init)) => {
            init.protocol_version = ProtocolVersion::default();
        }
        (Fault::NeverPiggyback, Apdu::SearchRequest(search)) => {
            search.small_set_upper_bound = 0;
            search.large_set_lower_bound = 1;
            search.medium_set_present_number = 0;
        }
        (Fault::PushRecords(count), Apdu::SearchRequest(search)) => {
            search.small_set_upper_bound = 0;
            search.large_set_lower_bound = i64::MAX;
            search.medium_set_present_number = i64::from(*count);
        }
        (Fault::Syntax(syntax), Apdu::SearchRequest(search)) => {
            search.preferred_record_syntax = Some(*syntax);
        }
        (Fault::Syntax(syntax), Apdu::PresentRequest(present)) => {
            present.preferred_record_syntax = Some(*syntax);
        }
        _ => {}
    }
}

/// Changes an answer as far as the fault does that.
pub(super) fn answer(fault: &Fault, answer: &mut Apdu) {
    match (fault, answer) {
        (Fault::Version2, Apdu::InitializeResponse(init)) => init.protocol_version = version_2(),
        (Fault::RejectInit(diagnostic), Apdu::InitializeResponse(init)) => {
            reject(init, diagnostic.as_ref());
        }
        (Fault::ResultCount(count), Apdu::SearchResponse(search)) => search.result_count = *count,
        (Fault::RecordsReturned(count), answer) => {
            if let Some((returned, _)) = records(answer) {
                *returned = *count;
            }
        }
        (Fault::ExtraRecords(more), answer) => {
            if let Some((returned, records)) = records(answer)
                && let Some(first) = records.first().cloned()
            {
                records.extend(std::iter::repeat_n(first, *more));
                *returned = i64::try_from(records.len()).unwrap_or(i64::MAX);
            }
        }
        (Fault::Surrogate(diagnostic), answer) => {
            for entry in records(answer).into_iter().flat_map(|(_, records)| records) {
                let surrogate = DiagRec::DefaultFormat(diagnostic.clone());
                entry.record = Record::SurrogateDiagnostic(surrogate);
            }
        }
        (Fault::PiggybackFails(diagnostic), Apdu::SearchResponse(search)) => {
            search.number_of_records_returned = 0;
            search.next_result_set_position = 1;
            search.present_status = Some(PresentStatus::FAILURE);
            search.records = Records::NonSurrogateDiagnostic(diagnostic.clone()).into();
        }
        (Fault::Fails(diagnostic), answer) => fail(answer, diagnostic),
        (Fault::ReferenceId(id), answer) => answer.set_reference_id(id.clone()),
        (Fault::Alter(alteration), answer) => (alteration.0)(answer),
        _ => {}
    }
}

/// Makes the answer that of a service that failed for this reason.
pub(super) fn fail(answer: &mut Apdu, diagnostic: &Diagnostic) {
    let diagnostics = || vec![DiagRec::DefaultFormat(diagnostic.clone())];
    match answer {
        Apdu::InitializeResponse(init) => reject(init, Some(diagnostic)),
        Apdu::SearchResponse(search) => {
            **search = SearchResponse {
                reference_id: search.reference_id.take(),
                search_status: false,
                result_set_status: Some(ResultSetStatus::NONE),
                records: Records::NonSurrogateDiagnostic(diagnostic.clone()).into(),
                ..SearchResponse::default()
            };
        }
        Apdu::PresentResponse(present) => {
            present.number_of_records_returned = 0;
            present.next_result_set_position = 0;
            present.present_status = PresentStatus::FAILURE;
            present.records = Records::NonSurrogateDiagnostic(diagnostic.clone()).into();
        }
        Apdu::DeleteResultSetResponse(delete) => {
            delete.delete_operation_status = DeleteSetStatus::SYSTEM_PROBLEM_AT_TARGET;
            delete.delete_message = Some(diagnostic.to_string().into());
        }
        Apdu::ScanResponse(scan) => {
            scan.scan_status = ScanStatus::FAILURE;
            scan.number_of_entries_returned = 0;
            scan.entries = Some(ListEntries {
                entries: None,
                nonsurrogate_diagnostics: Some(diagnostics()),
            });
        }
        Apdu::SortResponse(sort) => {
            sort.sort_status = SortStatus::FAILURE;
            sort.diagnostics = Some(diagnostics());
        }
        Apdu::ExtendedServicesResponse(extended) => {
            extended.operation_status = OperationStatus::FAILURE;
            extended.diagnostics = Some(diagnostics());
        }
        Apdu::DuplicateDetectionResponse(duplicates) => {
            duplicates.status = DuplicateDetectionStatus::FAILURE;
            duplicates.diagnostics = Some(diagnostics());
        }
        _ => {}
    }
}

/// The count of records in an answer, and the records.
fn records(answer: &mut Apdu) -> Option<(&mut i64, &mut Vec<NamePlusRecord>)> {
    let (count, records) = match answer {
        Apdu::SearchResponse(search) => {
            (&mut search.number_of_records_returned, &mut search.records)
        }
        Apdu::PresentResponse(present) => (
            &mut present.number_of_records_returned,
            &mut present.records,
        ),
        _ => return None,
    };
    match &mut **records {
        Some(Records::ResponseRecords(records)) => Some((count, records)),
        _ => None,
    }
}

/// Versions 1 and 2 in a whole octet of bits, as the servers of the field send them.
fn version_2() -> ProtocolVersion {
    ProtocolVersion(Bits::of(&[0, 1, 7]).intersection(Bits::of(&[0, 1, 8])))
}

fn reject(init: &mut InitializeResponse, diagnostic: Option<&Diagnostic>) {
    init.protocol_version = ProtocolVersion::UP_TO_3;
    init.result = false;
    init.user_information_field = diagnostic.and_then(user_information);
}

/// A diagnostic where clients look for it in a refused Init: userInfo-1 with a unit of format diag-1.
fn user_information(diagnostic: &Diagnostic) -> Option<External> {
    // DiagnosticFormat is a list of choices; defaultDiagRec [1] is the diagnostic under a tag of its own.
    const SEQUENCE: u8 = 0x30;
    const FIRST: u8 = 0xa1;
    let encoded = encode_value(diagnostic).ok()?;
    let implicit = [&[FIRST][..], encoded.get(1..)?].concat();
    let format = tagged(SEQUENCE, tagged(SEQUENCE, tagged(FIRST, implicit)?)?)?;
    let external = External::single_asn1_type(DIAG_1, Any::new(format)?);
    let information = Information::ExternallyDefinedInfo(external);
    let unit = OtherInformationUnit {
        category: None,
        information,
    };
    let value = encode_value(&OtherInformation(vec![unit])).ok()?;
    Some(External::single_asn1_type(USER_INFO_1, Any::new(value)?))
}

/// A BER value of fewer than 65,536 octets.
fn tagged(tag: u8, contents: Vec<u8>) -> Option<Vec<u8>> {
    let [high, low] = u16::try_from(contents.len()).ok()?.to_be_bytes();
    Some([&[tag, 0x82, high, low][..], &contents].concat())
}

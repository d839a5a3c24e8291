//! The changes that faults make to requests, before the session sees them, and to answers.

use z3950_asn1::apdu::{
    AddInfo, Apdu, DeleteSetStatus, DiagRec, DuplicateDetectionStatus, External,
    InitializeResponse, NamePlusRecord, OperationStatus, PresentStatus, ProtocolVersion, Record,
    Records, ScanStatus, SearchResponse, SortStatus,
};
use z3950_asn1::format::user_info1::UserInfo1;
use z3950_asn1::types::{Bits, InternationalString};

use super::{Fault, marc};
use crate::diagnostic::Diagnostic;
use crate::service;

/// Applies the fault to a request.
pub(super) fn request(fault: &Fault, request: &mut Apdu) {
    match (fault, request) {
        (Fault::Version2, Apdu::InitializeRequest(init)) => init.protocol_version = version_2(),
        (Fault::Version1, Apdu::InitializeRequest(init)) => {
            init.protocol_version = ProtocolVersion::ONLY_1;
        }
        (Fault::Options(options), Apdu::InitializeRequest(init)) => {
            init.options = init.options.intersection(*options);
        }
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

/// Applies the fault to an answer.
pub(super) fn answer(fault: &Fault, request: &Apdu, answer: &mut Apdu) {
    match (fault, answer) {
        (Fault::Version2, Apdu::InitializeResponse(init)) => init.protocol_version = version_2(),
        (Fault::Version1, Apdu::InitializeResponse(init)) => {
            init.protocol_version = ProtocolVersion::ONLY_1;
        }
        (Fault::Options(options), Apdu::InitializeResponse(init)) => {
            init.options = init.options.intersection(*options);
        }
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
        (Fault::FewerRecords(count), answer) => {
            if let Some((returned, records)) = records(answer) {
                records.truncate(*count);
                *returned = i64::try_from(records.len()).unwrap_or(i64::MAX);
            }
        }
        (Fault::CharsetLabel(label), answer) => {
            retrieved(answer, |record| marc::label(record, *label));
        }
        (Fault::DamagedMarc(damage), answer) => {
            retrieved(answer, |record| marc::damage(record, *damage));
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
        (Fault::FailsWithSeveral(diagnostics), answer) => fail_with(answer, diagnostics),
        (Fault::FailsAsSuccess(diagnostic), answer) => {
            fail(answer, diagnostic);
            say_success(answer);
        }
        (Fault::FailsSilently, Apdu::SearchResponse(search)) => {
            **search = SearchResponse {
                reference_id: search.reference_id.take(),
                ..SearchResponse::default()
            };
        }
        (Fault::AddinfoV3, answer) => diagnostics(answer, |diagnostic| {
            let text = InternationalString::from(diagnostic.addinfo.as_bytes());
            diagnostic.addinfo = AddInfo::V3Addinfo(text);
        }),
        (Fault::PresentStatus(status), Apdu::SearchResponse(search)) => {
            search.present_status = Some(*status);
        }
        (Fault::PresentStatus(status), Apdu::PresentResponse(present)) => {
            present.present_status = *status;
        }
        (Fault::ReferenceId(id), answer) => answer.set_reference_id(id.clone()),
        (Fault::Alter(alteration), answer) => (alteration.0)(request, answer),
        _ => {}
    }
}

/// Turns the answer into a failure with these diagnostics.
fn fail_with(answer: &mut Apdu, reasons: &[Diagnostic]) {
    let Some(first) = reasons.first() else {
        return;
    };
    fail(answer, first);
    let several = reasons
        .iter()
        .cloned()
        .map(DiagRec::DefaultFormat)
        .collect();
    match answer {
        Apdu::SearchResponse(search) => {
            search.records = Records::MultipleNonSurDiagnostics(several).into();
        }
        Apdu::PresentResponse(present) => {
            present.records = Records::MultipleNonSurDiagnostics(several).into();
        }
        answer => {
            if let Some(place) = diagnostic_list(answer) {
                *place = several;
            }
        }
    }
}

/// Turns the answer into a failure with this diagnostic.
pub(super) fn fail(answer: &mut Apdu, diagnostic: &Diagnostic) {
    match answer {
        Apdu::InitializeResponse(init) => reject(init, Some(diagnostic)),
        answer => service::fail(answer, diagnostic),
    }
}

/// Sets the status of an answer to success, whatever its other contents.
fn say_success(answer: &mut Apdu) {
    match answer {
        Apdu::SearchResponse(search) => {
            search.search_status = true;
            search.result_set_status = None;
            search.present_status = None;
        }
        Apdu::PresentResponse(present) => present.present_status = PresentStatus::SUCCESS,
        Apdu::DeleteResultSetResponse(delete) => {
            let failed = delete.delete_operation_status;
            for set in delete.delete_list_statuses.iter_mut().flatten() {
                set.status = failed;
            }
            delete.delete_operation_status = DeleteSetStatus::SUCCESS;
        }
        Apdu::ScanResponse(scan) => scan.scan_status = ScanStatus::SUCCESS,
        Apdu::SortResponse(sort) => sort.sort_status = SortStatus::SUCCESS,
        Apdu::ExtendedServicesResponse(extended) => {
            extended.operation_status = OperationStatus::DONE;
        }
        Apdu::DuplicateDetectionResponse(duplicates) => {
            duplicates.status = DuplicateDetectionStatus::SUCCESS;
        }
        _ => {}
    }
}

/// Returns the list of diagnostics in an answer, if it has one.
fn diagnostic_list(answer: &mut Apdu) -> Option<&mut Vec<DiagRec>> {
    match answer {
        Apdu::ScanResponse(scan) => scan.entries.as_mut()?.nonsurrogate_diagnostics.as_mut(),
        Apdu::SortResponse(sort) => sort.diagnostics.as_mut(),
        Apdu::ExtendedServicesResponse(extended) => extended.diagnostics.as_mut(),
        Apdu::DuplicateDetectionResponse(duplicates) => duplicates.diagnostics.as_mut(),
        _ => None,
    }
}

/// Changes each diagnostic in the default format in an answer.
fn diagnostics(answer: &mut Apdu, change: impl Fn(&mut Diagnostic)) {
    let change_any = |diagnostic: &mut DiagRec| {
        if let DiagRec::DefaultFormat(diagnostic) = diagnostic {
            change(diagnostic);
        }
    };
    let records = match answer {
        Apdu::SearchResponse(search) => &mut search.records,
        Apdu::PresentResponse(present) => &mut present.records,
        answer => {
            let list = diagnostic_list(answer).into_iter().flatten();
            return list.for_each(change_any);
        }
    };
    match &mut **records {
        Some(Records::NonSurrogateDiagnostic(diagnostic)) => change(diagnostic),
        Some(Records::MultipleNonSurDiagnostics(several)) => {
            several.iter_mut().for_each(change_any);
        }
        Some(Records::ResponseRecords(records)) => {
            for entry in records {
                if let Record::SurrogateDiagnostic(diagnostic) = &mut entry.record {
                    change_any(diagnostic);
                }
            }
        }
        None => {}
    }
}

/// Changes each record in an answer.
fn retrieved(answer: &mut Apdu, change: impl Fn(&mut External)) {
    for entry in records(answer).into_iter().flat_map(|(_, records)| records) {
        if let Record::RetrievalRecord(record) = &mut entry.record {
            change(record);
        }
    }
}

/// Returns the number of records stated in an answer, and the records, so that both can be changed; `None` if the answer has no
/// records.
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

/// Returns versions 1 and 2 as a bit string that fills a whole octet, as other servers send it.
fn version_2() -> ProtocolVersion {
    ProtocolVersion(Bits::of(&[0, 1, 7]).intersection(Bits::of(&[0, 1, 8])))
}

fn reject(init: &mut InitializeResponse, diagnostic: Option<&Diagnostic>) {
    init.protocol_version = ProtocolVersion::UP_TO_3;
    init.result = false;
    init.user_information_field =
        diagnostic.and_then(|diagnostic| UserInfo1::diagnostic(diagnostic.clone()).ok());
}

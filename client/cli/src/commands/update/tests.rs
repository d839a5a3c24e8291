//! Tests that the result for each record in an update is found in the various forms in which servers report it.

use z3950_asn1::apdu::{DefaultDiagFormat, ExtendedServicesResponse, ExternalValue};
use z3950_asn1::es::update::{
    self as es, Action, CorrelationInfo, OriginPartToKeep, TargetPart, TaskPackage as UpdatePackage,
};
use z3950_asn1::es::{TaskPackage, TaskStatus};
use z3950_asn1::oid::{DATABASE_UPDATE, SUTRS};

use super::*;

fn diagnostic(condition: i64) -> DiagRec {
    DiagRec::DefaultFormat(DefaultDiagFormat::bib1(condition, ""))
}

fn of_record(id: Option<i64>, status: RecordStatus, condition: i64) -> TaskPackageRecordStructure {
    let diagnostics = vec![diagnostic(condition)];
    TaskPackageRecordStructure {
        record_or_sur_diag: (condition > 0)
            .then_some(RecordOrSurDiag::SurrogateDiagnostics(diagnostics)),
        correlation_info: id.map(|id| CorrelationInfo {
            note: None,
            id: Some(id),
        }),
        record_status: status,
        supplemental_diagnostics: None,
    }
}

/// Builds the result of a task whose package contains these results for its records.
fn result(status: OperationStatus, records: Option<Vec<TaskPackageRecordStructure>>) -> TaskResult {
    let package = es::Update::TaskPackage(Box::new(UpdatePackage {
        origin_part: OriginPartToKeep {
            action: Action::RECORD_INSERT,
            database_name: "cat".into(),
            schema: None,
            element_set_name: None,
            action_qualifier: None,
        },
        target_part: TargetPart {
            update_status: UpdateStatus::PARTIAL,
            global_diagnostics: None,
            task_package_records: records,
        },
    }));
    let package = TaskPackage {
        package_type: DATABASE_UPDATE,
        package_name: None,
        user_id: None,
        retention_time: None,
        permissions: None,
        description: None,
        target_reference: None,
        creation_date_time: None,
        task_status: TaskStatus::COMPLETE,
        package_diagnostics: None,
        task_specific_parameters: package.to_external().expect("encodes"),
    };
    let response = ExtendedServicesResponse {
        reference_id: None,
        operation_status: status,
        diagnostics: Some(vec![diagnostic(224)]),
        task_package: Some(package.to_external().expect("encodes")),
        other_info: None,
    };
    response.into()
}

#[test]
fn each_record_has_its_own_result() {
    use OperationStatus as Op;
    use RecordStatus as Of;
    for (status, records, expected) in [
        // The package lists the records in a different order, so each result is assigned to its record by the record's
        // number.
        (
            Op::DONE,
            Some(vec![
                of_record(Some(1), Of::FAILURE, 13),
                of_record(Some(0), Of::SUCCESS, 0),
            ]),
            [(Of::SUCCESS, 224), (Of::FAILURE, 13)],
        ),
        (
            Op::ACCEPTED,
            Some(vec![
                of_record(None, Of::QUEUED, 0),
                of_record(None, Of::IN_PROCESS, 7),
            ]),
            [(Of::QUEUED, 224), (Of::IN_PROCESS, 7)],
        ),
        // The package contains no records, or fewer than were sent, so the status of the task applies to every record.
        (Op::FAILURE, None, [(Of::FAILURE, 224), (Of::FAILURE, 224)]),
        (
            Op::DONE,
            Some(vec![of_record(None, Of::SUCCESS, 0)]),
            [(Of::SUCCESS, 224), (Of::SUCCESS, 224)],
        ),
    ] {
        let outcomes = record_outcomes(&result(status, records), 2);
        let found: Vec<_> = outcomes
            .iter()
            .map(|outcome| (outcome.status, outcome.diagnostics.condition().unwrap_or(0)))
            .collect();
        assert_eq!(found, expected);
    }
    let mut plain = result(Op::ACCEPTED, None);
    plain.task_package = Some(External::octet_aligned(SUTRS, "?"));
    assert_eq!(
        record_outcomes(&plain, 1)
            .first()
            .map(|outcome| outcome.status),
        Some(Of::QUEUED)
    );
}

#[test]
fn tallies_name_only_what_occurred() {
    let tally = UpdateCounts {
        done: 3,
        refused: 1,
        ..UpdateCounts::default()
    };
    assert_eq!(tally.to_string(), "3 done, 1 refused");
    assert_eq!(UpdateCounts::default().to_string(), "0 done");
}

//! Tests that a diagnostic in an answer is never dropped: either it is the reason for a refusal, or it is part of the
//! result.

use z3950_asn1::apdu::*;
use z3950_asn1::es::{TaskPackage, TaskStatus};
use z3950_asn1::format::diag1::DiagnosticFormat;
use z3950_asn1::oid;

use super::*;
use crate::error::Diagnostics;
use crate::protocol::service::init;
use crate::testing::*;

fn one(condition: i64) -> DiagRec {
    DiagRec::DefaultFormat(DefaultDiagFormat::bib1(condition, ""))
}

fn several(conditions: &[i64]) -> Option<Records> {
    let all = conditions.iter().map(|condition| one(*condition));
    Some(Records::MultipleNonSurDiagnostics(all.collect()))
}

/// Builds additional information with a diagnostic in format diag-1.
fn information(condition: i64) -> Option<OtherInformation> {
    let mut information = OtherInformation::default();
    let format = DiagnosticFormat::of(DefaultDiagFormat::bib1(condition, ""));
    information.put_value(&format).expect("encodes");
    Some(information)
}

/// Returns text such as `refused: 1 2` for an error, or `told: 1 2` for the diagnostics in a result.
fn words(result: Result<Diagnostics, Error>) -> String {
    let (word, diagnostics) = match result {
        Ok(told) => ("told:", told),
        Err(Error::Refused { diagnostics, .. }) => ("refused:", diagnostics),
        Err(other) => panic!("{other:?}"),
    };
    let conditions = diagnostics.0.iter().map(|diagnostic| match diagnostic {
        DiagRec::DefaultFormat(diagnostic) => diagnostic.condition.to_string(),
        DiagRec::ExternallyDefined(_) => "external".to_owned(),
    });
    let conditions: Vec<String> = conditions.collect();
    [word.to_owned()]
        .into_iter()
        .chain(conditions)
        .collect::<Vec<_>>()
        .join(" ")
}

/// Sends the request to which these answers belong, and checks the diagnostics in its result.
async fn check(name: &str, answer: Vec<Apdu>, expected: &str) {
    let options = init::offer().options;
    let (session, mut peer) = Peer::granting(SessionOptions::default(), options).await;
    let last = answer.last().cloned().expect("an answer");
    let sent = tokio::spawn(async move {
        peer.request().await;
        for apdu in answer {
            peer.send(apdu).await;
        }
        peer
    });
    let start = AttributesPlusTerm {
        attributes: vec![],
        term: Term::General("x".into()),
    };
    let list = |diagnostics: Option<Vec<DiagRec>>| Diagnostics(diagnostics.unwrap_or_default());
    let result = match last {
        Apdu::SearchResponse(_) => {
            let found = session.search(query(), &SearchOptions::default()).await;
            found.map(|found| found.diagnostics)
        }
        Apdu::PresentResponse(_) => {
            let presented = session.present(1, 2, &PresentOptions::default()).await;
            presented.map(|presented| presented.diagnostics)
        }
        Apdu::ScanResponse(_) => {
            let scanned = session.scan(start, &ScanOptions::default()).await;
            scanned.map(|scanned| scanned.diagnostics)
        }
        Apdu::SortResponse(_) => {
            let sorted = session.sort(SortRequest::in_place("default", vec![])).await;
            sorted.map(|sorted| list(sorted.diagnostics))
        }
        Apdu::DuplicateDetectionResponse(_) => {
            let request = DuplicateDetectionRequest::in_place("default");
            let done = session.detect_duplicates(request).await;
            done.map(|done| list(done.diagnostics))
        }
        Apdu::DeleteResultSetResponse(_) => {
            let deleted = session.delete(Delete::All).await.expect("a status");
            assert!(!deleted.is_success(), "{name}: {deleted:?}");
            Ok(deleted.diagnostics)
        }
        Apdu::ExtendedServicesResponse(_) => session.task(xml()).await.map(|done| done.diagnostics),
        other => panic!("{other:?}"),
    };
    assert_eq!(words(result), expected, "{name}");
    drop(sent.await);
}

#[tokio::test(start_paused = true)]
async fn audit_r_d3_diagnostics_of_searches_are_kept() {
    let failed = |records: Option<Records>| {
        SearchResponse {
            search_status: false,
            ..found(0, vec![])
        }
        .with(records)
    };
    let none = |records| found(0, vec![]).with(records);
    let hits = |records| found(3, vec![]).with(records);
    for (name, answer, expected) in [
        (
            "as Metaproxy refuses",
            none(diagnostic(236, "no")),
            "refused: 236",
        ),
        ("several", none(several(&[236, 3])), "refused: 236 3"),
        ("failed", failed(diagnostic(109, "x")), "refused: 109"),
        ("failed, several", failed(several(&[1, 2])), "refused: 1 2"),
        (
            "failed, in the place of a record",
            failed(Some(Records::ResponseRecords(vec![surrogate(14)]))),
            "refused: 14",
        ),
        (
            "failed, in additional information",
            SearchResponse {
                search_status: false,
                other_info: information(31),
                ..found(0, vec![])
            },
            "refused: 31",
        ),
        // Diagnostic 13 alone is not a refusal: nothing was found, so there are no records to send.
        ("out of range", none(diagnostic(13, "1")), "told: 13"),
        (
            "out of range and another",
            none(several(&[13, 31])),
            "refused: 13 31",
        ),
        ("with hits", hits(diagnostic(14, "")), "told: 14"),
        (
            "with hits, several",
            hits(several(&[14, 31])),
            "told: 14 31",
        ),
    ] {
        check(name, vec![answer.into()], expected).await;
    }
    let told = found(3, vec![]).with(several(&[14, 239]));
    let result = SearchResult {
        diagnostics: match told.records.0 {
            Some(Records::MultipleNonSurDiagnostics(all)) => Diagnostics(all),
            _ => Diagnostics::default(),
        },
        ..SearchResult::default()
    };
    let remarks = result.sources().remarks;
    assert_eq!(remarks.len(), 1, "{remarks:?}");
    assert!(remarks[0].starts_with("diagnostic 14"), "{remarks:?}");
}

trait With {
    fn with(self, records: Option<Records>) -> Self;
}

impl With for SearchResponse {
    fn with(self, records: Option<Records>) -> Self {
        let returned = match &records {
            Some(Records::ResponseRecords(records)) => records.len(),
            _ => 0,
        };
        Self {
            number_of_records_returned: i64::try_from(returned).expect("few"),
            records: records.into(),
            ..self
        }
    }
}

#[tokio::test(start_paused = true)]
async fn audit_r_d3_diagnostics_of_records_are_kept() {
    let success = PresentStatus::SUCCESS;
    let records = || Some(Records::ResponseRecords(vec![marc()]));
    let segment = || Segment {
        reference_id: None,
        number_of_records_returned: 1,
        segment_records: vec![marc()],
        other_info: None,
    };
    let informed = PresentResponse {
        other_info: information(31),
        ..presented(success, records())
    };
    for (name, answer, expected) in [
        (
            "success",
            vec![presented(success, diagnostic(13, "")).into()],
            "refused: 13",
        ),
        (
            "success, several",
            vec![presented(success, several(&[14, 15])).into()],
            "refused: 14 15",
        ),
        (
            "failure",
            vec![presented(PresentStatus::FAILURE, diagnostic(13, "")).into()],
            "refused: 13",
        ),
        (
            "records and additional information",
            vec![informed.into()],
            "told: 31",
        ),
        (
            "segments",
            vec![
                segment().into(),
                presented(success, diagnostic(31, "")).into(),
            ],
            "told: 31",
        ),
        (
            "segments, several",
            vec![
                segment().into(),
                presented(success, several(&[31, 32])).into(),
            ],
            "told: 31 32",
        ),
    ] {
        check(name, answer, expected).await;
    }
}

#[tokio::test(start_paused = true)]
async fn audit_r_d3_diagnostics_of_scans_are_kept() {
    let term = Entry::TermInfo(Box::new(TermInfo {
        term: Term::General("war".into()),
        display_term: None,
        suggested_attributes: None,
        alternative_term: None,
        global_occurrences: Some(1),
        by_attributes: None,
        other_term_info: None,
    }));
    let in_place = Entry::SurrogateDiagnostic(one(233));
    let scanned = |scan_status, entries: &[&Entry], diagnostics: Option<i64>| ScanResponse {
        scan_status,
        number_of_entries_returned: i64::try_from(entries.len()).expect("few"),
        entries: Some(ListEntries {
            entries: Some(entries.iter().map(|entry| (*entry).clone()).collect()),
            nonsurrogate_diagnostics: diagnostics.map(|condition| vec![one(condition)]),
        }),
        ..ScanResponse::default()
    };
    let (success, failure) = (ScanStatus::SUCCESS, ScanStatus::FAILURE);
    for (name, answer, expected) in [
        (
            "success without terms",
            scanned(success, &[], Some(109)),
            "refused: 109",
        ),
        ("failure", scanned(failure, &[], Some(109)), "refused: 109"),
        (
            "failure, in the place of a term",
            scanned(failure, &[&in_place], None),
            "refused: 233",
        ),
        ("terms", scanned(success, &[&term], Some(31)), "told: 31"),
        (
            "additional information",
            ScanResponse {
                other_info: information(32),
                ..scanned(success, &[&term], Some(31))
            },
            "told: 31 32",
        ),
    ] {
        check(name, vec![answer.into()], expected).await;
    }
}

#[tokio::test(start_paused = true)]
async fn audit_r_d3_diagnostics_of_other_services_are_kept() {
    let sorted = |sort_status, other_info| SortResponse {
        sort_status,
        diagnostics: Some(vec![one(207)]),
        other_info,
        ..SortResponse::default()
    };
    let duplicates = |status, condition: Option<i64>, other_info| DuplicateDetectionResponse {
        reference_id: None,
        status,
        result_set_count: Some(3),
        diagnostics: condition.map(|condition| vec![one(condition)]),
        other_info,
    };
    let done = DuplicateDetectionStatus::SUCCESS;
    let listed = |status| DeleteResultSetResponse {
        delete_list_statuses: Some(vec![ListStatus {
            id: ResultSetId("1".into()),
            status,
        }]),
        ..DeleteResultSetResponse::default()
    };
    let told = DeleteResultSetResponse {
        other_info: information(2),
        ..listed(DeleteSetStatus::SUCCESS)
    };
    let package = TaskPackage {
        package_type: oid::DATABASE_UPDATE,
        package_name: None,
        user_id: None,
        retention_time: None,
        permissions: None,
        description: None,
        target_reference: None,
        creation_date_time: None,
        task_status: TaskStatus::ABORTED,
        package_diagnostics: Some(vec![one(224), one(1008)]),
        task_specific_parameters: External::octet_aligned(oid::DATABASE_UPDATE, "x"),
    };
    let task = |operation_status| ExtendedServicesResponse {
        operation_status,
        diagnostics: Some(vec![one(224)]),
        task_package: Some(package.to_external().expect("encodes")),
        ..ExtendedServicesResponse::default()
    };
    for (name, answer, expected) in [
        (
            "sorted",
            Apdu::from(sorted(SortStatus::SUCCESS, None)),
            "refused: 207",
        ),
        (
            "not sorted",
            sorted(SortStatus::FAILURE, None).into(),
            "refused: 207",
        ),
        (
            "sorted in part",
            sorted(SortStatus::PARTIAL_1, information(1)).into(),
            "told: 207 1",
        ),
        (
            "duplicates",
            duplicates(done, Some(1), None).into(),
            "refused: 1",
        ),
        (
            "duplicates, additional information",
            duplicates(done, None, information(2)).into(),
            "refused: 2",
        ),
        (
            "status of a set",
            listed(DeleteSetStatus::ACCESS_NOT_ALLOWED).into(),
            "told:",
        ),
        ("deleted, additional information", told.into(), "told: 2"),
        (
            "task",
            task(OperationStatus::FAILURE).into(),
            "refused: 224 1008",
        ),
        (
            "task done",
            task(OperationStatus::DONE).into(),
            "told: 224 1008",
        ),
    ] {
        check(name, vec![answer], expected).await;
    }
}

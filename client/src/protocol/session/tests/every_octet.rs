//! Tests with servers that disconnect or stop sending after any octet of any answer: the request must end in time, and
//! the session must be either usable or closed.

use z3950_asn1::oid;

use super::*;
use crate::protocol::service::explain::ExplainOptions;
use crate::protocol::service::init;
use crate::protocol::service::scan::ScanOptions;
use crate::protocol::service::sort::key_by_field;
use crate::transport::BoxFuture;

/// The maximum time for an operation: the longest wait for an answer, and the wait for the end of the connection.
const DEADLINE: Duration = Duration::from_secs(35);

/// The requests for a service, and the server's answer to each of them.
struct Service {
    name: &'static str,
    answers: Vec<Apdu>,
    perform: fn(&Session) -> BoxFuture<'_, Result<(), Error>>,
}

fn services() -> Vec<Service> {
    let records = || Some(Records::ResponseRecords(vec![marc()]));
    let explained = External::octet_aligned(oid::EXPLAIN, "no category");
    let explained = NamePlusRecord {
        name: None,
        record: Record::RetrievalRecord(explained),
    };
    let explained = Some(Records::ResponseRecords(vec![explained]));
    let segment = Segment {
        reference_id: None,
        number_of_records_returned: 1,
        segment_records: vec![marc()],
        other_info: None,
    };
    vec![
        Service {
            name: "search with records",
            answers: vec![found(1, vec![marc()]).into()],
            perform: |session| {
                Box::pin(async {
                    let options = SearchOptions::default().with_records(1);
                    session.search(query(), &options).await.map(drop)
                })
            },
        },
        Service {
            name: "present",
            answers: vec![presented(PresentStatus::SUCCESS, records()).into()],
            perform: |session| {
                Box::pin(async {
                    let options = PresentOptions::default();
                    session.present(1, 1, &options).await.map(drop)
                })
            },
        },
        Service {
            name: "present in segments",
            answers: vec![
                segment.into(),
                presented(PresentStatus::SUCCESS, records()).into(),
            ],
            perform: |session| {
                Box::pin(async {
                    let options = PresentOptions::default();
                    session.present(1, 2, &options).await.map(drop)
                })
            },
        },
        Service {
            name: "scan",
            answers: vec![scanned().into()],
            perform: |session| {
                Box::pin(async {
                    let start = AttributesPlusTerm {
                        attributes: vec![],
                        term: Term::General("x".into()),
                    };
                    session.scan(start, &ScanOptions::default()).await.map(drop)
                })
            },
        },
        Service {
            name: "sort",
            answers: vec![sorted().into()],
            perform: |session| {
                Box::pin(async {
                    let keys = vec![key_by_field("title", SortRelation::ASCENDING)];
                    let sort = SortRequest::in_place("default", keys);
                    session.sort(sort).await.map(drop)
                })
            },
        },
        Service {
            name: "delete",
            answers: vec![deleted().into()],
            perform: |session| Box::pin(async { session.delete(Delete::All).await.map(drop) }),
        },
        Service {
            name: "extended services",
            answers: vec![done().into()],
            perform: |session| Box::pin(async { session.task(xml()).await.map(drop) }),
        },
        Service {
            name: "resource report",
            answers: vec![reported().into()],
            perform: |session| {
                Box::pin(async {
                    let request = ResourceReportRequest::default();
                    session.resource_report(request).await.map(drop)
                })
            },
        },
        Service {
            name: "duplicate detection",
            answers: vec![unduplicated().into()],
            perform: |session| {
                Box::pin(async {
                    let request = DuplicateDetectionRequest::in_place("default");
                    session.detect_duplicates(request).await.map(drop)
                })
            },
        },
        Service {
            name: "explain",
            answers: vec![
                found(1, vec![]).into(),
                presented(PresentStatus::SUCCESS, explained).into(),
            ],
            perform: |session| {
                Box::pin(async { session.explain(&ExplainOptions::default()).await.map(drop) })
            },
        },
        Service {
            name: "a second Init",
            answers: vec![everything_granted().into()],
            perform: |session| Box::pin(async { session.init(&init::offer()).await.map(drop) }),
        },
    ]
}

/// Builds an answer to Init that grants every service, but only one operation at a time.
fn everything_granted() -> InitializeResponse {
    let accepted = init_response(true, ProtocolVersion::UP_TO_3);
    let options = [
        Options::SCAN,
        Options::SORT,
        Options::EXTENDED_SERVICES,
        Options::RESOURCE_REPORT,
        Options::DUPLICATE_DETECTION,
        Options::SEGMENTATION_1,
        Options::SEGMENTATION_2,
    ];
    InitializeResponse {
        options: options
            .into_iter()
            .fold(accepted.options, |all, option| all | option),
        ..accepted
    }
}

fn scanned() -> ScanResponse {
    let entry = DiagRec::DefaultFormat(DefaultDiagFormat::bib1(233, ""));
    ScanResponse {
        reference_id: None,
        step_size: None,
        scan_status: ScanStatus::SUCCESS,
        number_of_entries_returned: 1,
        position_of_term: Some(1),
        entries: Some(ListEntries {
            entries: Some(vec![Entry::SurrogateDiagnostic(entry)]),
            nonsurrogate_diagnostics: None,
        }),
        attribute_set: None,
        other_info: None,
    }
}

fn sorted() -> SortResponse {
    SortResponse {
        reference_id: None,
        sort_status: SortStatus::SUCCESS,
        result_set_status: None,
        diagnostics: None,
        result_count: Some(1),
        other_info: None,
    }
}

fn deleted() -> DeleteResultSetResponse {
    DeleteResultSetResponse {
        reference_id: None,
        delete_operation_status: DeleteSetStatus::SUCCESS,
        delete_list_statuses: None,
        number_not_deleted: None,
        bulk_statuses: None,
        delete_message: Some("done".into()),
        other_info: None,
    }
}

fn done() -> ExtendedServicesResponse {
    ExtendedServicesResponse {
        reference_id: None,
        operation_status: OperationStatus::DONE,
        diagnostics: None,
        task_package: Some(External::octet_aligned(oid::SUTRS, "a package")),
        other_info: None,
    }
}

fn reported() -> ResourceReportResponse {
    ResourceReportResponse {
        reference_id: None,
        resource_report_status: ResourceReportStatus::SUCCESS,
        resource_report: Some(External::octet_aligned(oid::SUTRS, "dear")),
        other_info: None,
    }
}

fn unduplicated() -> DuplicateDetectionResponse {
    DuplicateDetectionResponse {
        reference_id: None,
        status: DuplicateDetectionStatus::SUCCESS,
        result_set_count: Some(1),
        diagnostics: None,
        other_info: None,
    }
}

/// What a server does after it has sent a certain number of octets.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Ending {
    HangsUp,
    IsSilent,
}

/// Opens a session whose server answers requests with `answers`, up to `budget` octets in total, and then does what
/// `ending` says. After all `answers`, it answers every request with a search response.
async fn session(answers: &[Apdu], budget: usize, ending: Ending) -> Session {
    let (ours, mut theirs) = tokio::io::duplex(65_536);
    let answers: Vec<Vec<u8>> = answers.iter().map(encode).collect();
    tokio::spawn(async move {
        read_request(&mut theirs).await;
        answer(&mut theirs, everything_granted()).await;
        let mut left = budget;
        let mut answers = answers.into_iter().peekable();
        while answers.peek().is_some() {
            read_request(&mut theirs).await;
            // A Segment and the response after it answer one request.
            for octets in answers.by_ref() {
                let is_segment =
                    codec::decode(&octets).is_ok_and(|apdu| matches!(apdu, Apdu::Segment(_)));
                let sent = octets.get(..left).unwrap_or(&octets);
                theirs.write_all(sent).await.expect("the client reads");
                left -= sent.len();
                if sent.len() < octets.len() {
                    return end(theirs, ending).await;
                }
                if !is_segment {
                    break;
                }
            }
        }
        // All answers were sent in full, so the session continues and later searches are answered.
        let mut octets = vec![0; 65_536];
        while let Ok(1..) = theirs.read(&mut octets).await {
            answer(&mut theirs, found(7, vec![])).await;
        }
    });
    Session::over(ours, &SessionOptions::default())
        .await
        .expect("a session")
}

async fn end(mut stream: DuplexStream, ending: Ending) {
    if ending == Ending::IsSilent {
        let mut ignored = vec![0; 65_536];
        while let Ok(1..) = stream.read(&mut ignored).await {}
    }
}

#[tokio::test(start_paused = true)]
async fn every_service_has_an_outcome_after_every_octet() {
    for service in services() {
        let whole: usize = service.answers.iter().map(|apdu| encode(apdu).len()).sum();
        for ending in [Ending::HangsUp, Ending::IsSilent] {
            for budget in 0..=whole {
                let case = format!("{}, {budget} of {whole} octets, {ending:?}", service.name);
                let session = session(&service.answers, budget, ending).await;
                let outcome = tokio::time::timeout(DEADLINE, (service.perform)(&session)).await;
                let outcome = outcome.unwrap_or_else(|_| panic!("{case}: no outcome"));
                assert_eq!(outcome.is_ok(), budget == whole, "{case}: {outcome:?}");
                if let Err(error) = outcome {
                    assert!(
                        matches!(error, Error::Unavailable { .. }),
                        "{case}: {error:?}"
                    );
                    assert!(!session.is_open(), "{case}");
                    assert!(
                        matches!(hits(&session).await, Err(Error::Ended { .. })),
                        "{case}"
                    );
                } else {
                    assert_eq!(hits(&session).await.expect(&case), 7, "{case}");
                }
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn opening_has_an_outcome_after_every_octet() {
    let octets = encode(&everything_granted().into());
    for ending in [Ending::HangsUp, Ending::IsSilent] {
        for budget in 0..octets.len() {
            let (ours, mut theirs) = tokio::io::duplex(65_536);
            let sent = octets.get(..budget).unwrap_or_default().to_vec();
            tokio::spawn(async move {
                read_request(&mut theirs).await;
                theirs.write_all(&sent).await.expect("the client reads");
                end(theirs, ending).await;
            });
            let options = SessionOptions::default();
            let opened = tokio::time::timeout(DEADLINE, Session::over(ours, &options)).await;
            let error = opened.expect("in time").expect_err("half an answer");
            assert!(
                matches!(
                    error,
                    Error::Unavailable {
                        phase: Phase::Init,
                        ..
                    }
                ),
                "{budget} {ending:?}: {error:?}"
            );
        }
    }
}

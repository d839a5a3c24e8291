//! Tests of each service with a scripted server: that its options become the expected request, that an answer becomes
//! the expected result, and that nothing is sent to a server that does not offer the service.

use z3950_asn1::apdu::*;
use z3950_asn1::es::item_order::{Contact, ItemOrder};
use z3950_asn1::es::persistent_query::{self, PersistentQuery};
use z3950_asn1::es::persistent_result_set::{self, PersistentResultSet};
use z3950_asn1::es::update::{Action, EsRequest, RecordId, SuppliedRecord, Update};
use z3950_asn1::format::charset_negotiation::{
    CharSetandLanguageNegotiation, OriginProposal, SelectedCharSet, TargetResponse,
};
use z3950_asn1::format::facets::{FacetField, FacetList};
use z3950_asn1::format::prompt1::{
    Answer, Prompt, PromptId, PromptObject, PromptResponse, PromptType,
};
use z3950_asn1::format::resource_report1;
use z3950_asn1::format::search_result1::{SearchInfoReport, SubqueryReport};
use z3950_asn1::oid;

use super::*;
use crate::protocol::service::access::{Challenge, answer_prompts};
use crate::protocol::service::extended::{Order, update_task};
use crate::protocol::service::init;
use crate::protocol::service::resource::ResourceQuestion;
use crate::protocol::service::sort::key_by_field;
use crate::testing::*;

/// Returns all options that this client offers.
fn everything() -> Options {
    init::offer().options
}

/// Opens a session whose next request is answered with `response`. The returned task returns that request.
async fn asked(response: impl Into<Apdu>) -> (Session, tokio::task::JoinHandle<Apdu>) {
    let (session, mut peer) = Peer::granting(SessionOptions::default(), everything()).await;
    let response = response.into();
    let request = tokio::spawn(async move {
        let request = peer.request().await;
        peer.send(response).await;
        request
    });
    (session, request)
}

fn diagnostics(condition: i64) -> Option<Vec<DiagRec>> {
    let diagnostic = DefaultDiagFormat::bib1(condition, "");
    Some(vec![DiagRec::DefaultFormat(diagnostic)])
}

/// Returns the phase and the condition of the refusal in a result.
fn refusal<T: std::fmt::Debug>(result: Result<T, Error>) -> (Phase, Option<i64>) {
    match result.expect_err("a refusal") {
        Error::Refused { phase, diagnostics } => (phase, diagnostics.condition()),
        other => panic!("{other:?}"),
    }
}

fn start() -> AttributesPlusTerm {
    AttributesPlusTerm {
        attributes: vec![AttributeElement::numeric(1, 4)],
        term: Term::General("war".into()),
    }
}

fn scanned(status: ScanStatus, terms: &[&str], condition: Option<i64>) -> ScanResponse {
    let entry = |term: &&str| {
        Entry::TermInfo(Box::new(TermInfo {
            term: Term::General((*term).into()),
            display_term: None,
            suggested_attributes: None,
            alternative_term: None,
            global_occurrences: Some(1),
            by_attributes: None,
            other_term_info: None,
        }))
    };
    ScanResponse {
        reference_id: None,
        step_size: Some(0),
        scan_status: status,
        number_of_entries_returned: i64::try_from(terms.len()).expect("few"),
        position_of_term: Some(1),
        entries: Some(ListEntries {
            entries: Some(terms.iter().map(entry).collect()),
            nonsurrogate_diagnostics: condition.and_then(diagnostics),
        }),
        attribute_set: None,
        other_info: None,
    }
}

#[tokio::test(start_paused = true)]
async fn scan_gives_terms() {
    let options = ScanOptions {
        databases: vec!["cat".into()],
        number_of_terms: 2,
        ..ScanOptions::default()
    };
    let (session, request) = asked(scanned(ScanStatus::PARTIAL_5, &["war", "water"], None)).await;
    let result = session.scan(start(), &options).await.expect("terms");
    assert_eq!(
        (result.entries.len(), result.status, result.position_of_term),
        (2, ScanStatus::PARTIAL_5, Some(1))
    );
    let Apdu::ScanRequest(request) = request.await.expect("no panic") else {
        panic!("a Scan")
    };
    assert_eq!(*request, options.request(start()));
    let (session, _request) = asked(scanned(ScanStatus::FAILURE, &[], Some(228))).await;
    let result = session.scan(start(), &options).await;
    assert_eq!(refusal(result), (Phase::Scan, Some(228)));
    for (response, fault) in [
        (
            ScanResponse {
                number_of_entries_returned: 2,
                ..scanned(ScanStatus::SUCCESS, &["war"], None)
            },
            "numberOfEntriesReturned is 2, but 1 entries came",
        ),
        (
            ScanResponse {
                number_of_entries_returned: -1,
                ..scanned(ScanStatus::SUCCESS, &["war"], None)
            },
            "numberOfEntriesReturned is -1",
        ),
        (
            scanned(ScanStatus::SUCCESS, &["a", "b", "c"], None),
            "more entries than requested: 3 for 2",
        ),
    ] {
        let (session, _request) = asked(response).await;
        let error = session.scan(start(), &options).await.expect_err("a fault");
        assert!(
            matches!(&error, Error::ProtocolError { phase: Phase::Scan, fault: found } if found.to_string() == fault),
            "{error:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn sort_puts_result_sets_in_order() {
    let response = |sort_status, diagnostics| SortResponse {
        reference_id: None,
        sort_status,
        result_set_status: None,
        diagnostics,
        result_count: Some(7),
        other_info: None,
    };
    let keys = || vec![key_by_field("title", SortRelation::DESCENDING)];
    let sort = || SortRequest {
        input_result_set_names: vec!["a".into(), "b".into()],
        ..SortRequest::in_place("c", keys())
    };
    let (session, request) = asked(response(SortStatus::SUCCESS, None)).await;
    let result = session.sort(sort()).await.expect("sorted");
    assert_eq!(result, response(SortStatus::SUCCESS, None));
    assert_eq!(request.await.expect("no panic"), sort().into());
    let (session, _request) = asked(response(SortStatus::FAILURE, diagnostics(207))).await;
    let result = session.sort(sort()).await;
    assert_eq!(refusal(result), (Phase::Sort, Some(207)));
}

#[tokio::test(start_paused = true)]
async fn duplicates_are_removed() {
    let response = |status, diagnostics| DuplicateDetectionResponse {
        reference_id: None,
        status,
        result_set_count: Some(3),
        diagnostics,
        other_info: None,
    };
    let wanted = || DuplicateDetectionRequest {
        duplicate_detection_criteria: Some(vec![DuplicateDetectionCriterion::LevelOfMatch(80)]),
        sort_criteria: Some(vec![SortCriterion::MostRecent]),
        ..DuplicateDetectionRequest::in_place("default")
    };
    let (session, request) = asked(response(DuplicateDetectionStatus::SUCCESS, None)).await;
    let result = session.detect_duplicates(wanted()).await.expect("done");
    assert_eq!(result.result_set_count, Some(3));
    assert_eq!(request.await.expect("no panic"), wanted().into());
    let failed = response(DuplicateDetectionStatus::FAILURE, diagnostics(1));
    let (session, _request) = asked(failed).await;
    let result = session.detect_duplicates(wanted()).await;
    assert_eq!(refusal(result), (Phase::DuplicateDetection, Some(1)));
}

#[tokio::test(start_paused = true)]
async fn tasks_are_done_or_refused() {
    let response = |operation_status, diagnostics| ExtendedServicesResponse {
        reference_id: None,
        operation_status,
        diagnostics,
        task_package: None,
        other_info: None,
    };
    let task = ExtendedServicesRequest {
        package_name: Some("mine".into()),
        wait_action: WaitAction::WAIT,
        ..xml()
    };
    let (session, request) = asked(response(OperationStatus::ACCEPTED, None)).await;
    let result = session.task(task.clone()).await.expect("taken on");
    assert_eq!(result.status, OperationStatus::ACCEPTED);
    assert_eq!((result.package(), result.parameters()), (None, None));
    let request = request.await.expect("no panic");
    assert_eq!(request, task.into());
    let (session, _request) = asked(response(OperationStatus::FAILURE, diagnostics(223))).await;
    let named = ExtendedServicesRequest::create(oid::ITEM_ORDER, None);
    let result = session.task(named).await;
    assert_eq!(refusal(result), (Phase::ExtendedServices, Some(223)));
}

#[test]
fn tasks_have_the_parameters_of_their_service() {
    let marc = || External::octet_aligned(oid::USMARC, "x");
    let update = |version| {
        let record = SuppliedRecord::new(marc(), Some(RecordId::String("r1".into())), Some(7));
        let mut update = EsRequest::new(Action::RECORD_REPLACE, "cat", vec![record]);
        update.to_keep.action_qualifier = Some(marc());
        update_task(version, update)
    };
    let kept = PersistentResultSet::EsRequest(persistent_result_set::EsRequest::default());
    let query = PersistentQuery::EsRequest(persistent_query::EsRequest {
        to_keep: None,
        not_to_keep: persistent_query::OriginPartNotToKeep::Query(Box::new(query())),
    });
    let order = Order {
        item: Some(("a".into(), 2)),
        contact: Some(Contact::default()),
        ..Order::default()
    };
    for (task, package_type) in [
        (update(oid::DATABASE_UPDATE_1), oid::DATABASE_UPDATE_1),
        (update(oid::DATABASE_UPDATE), oid::DATABASE_UPDATE),
        (task(kept), oid::PERSISTENT_RESULT_SET),
        (task(query), oid::PERSISTENT_QUERY),
        (order.task(), oid::ITEM_ORDER),
        (Ok(xml()), oid::XML_ES),
    ] {
        let task = task.expect("encodes");
        assert_eq!(task.package_type, package_type);
        let parameters = task.task_specific_parameters.expect("some exist");
        assert_eq!(parameters.direct_reference, Some(package_type));
        match TaskParameters::from_external(&parameters).expect("reads back") {
            TaskParameters::Update(update) => {
                let Update::EsRequest(request) = *update else {
                    panic!("a request")
                };
                let is_third = package_type == oid::DATABASE_UPDATE;
                assert_eq!(request.to_keep.action_qualifier.is_some(), is_third);
                assert_eq!(request.not_to_keep.len(), 1);
            }
            TaskParameters::ItemOrder(order) => {
                let ItemOrder::EsRequest(request) = *order else {
                    panic!("a request")
                };
                let item = request.not_to_keep.result_set_item.map(|item| item.item);
                assert_eq!((request.to_keep.is_some(), item), (true, Some(2)));
            }
            _ => {}
        }
    }
}

#[tokio::test(start_paused = true)]
async fn resource_reports_are_returned() {
    let wanted = ResourceReportRequest {
        op_id: Some(ReferenceId("x".into())),
        ..ResourceReportRequest::default()
    };
    let (session, request) = asked(ResourceReportResponse {
        reference_id: None,
        resource_report_status: ResourceReportStatus::PARTIAL,
        resource_report: Some(External::octet_aligned(oid::SUTRS, "dear")),
        other_info: None,
    })
    .await;
    let report = session.resource_report(wanted.clone()).await;
    let report = report.expect("a report");
    assert_eq!(report.resource_report_status, ResourceReportStatus::PARTIAL);
    assert!(report.resource_report.is_some());
    assert_eq!(request.await.expect("no panic"), wanted.into());
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_to_a_server_that_does_not_offer_the_service() {
    let (session, mut peer) = Peer::granting(SessionOptions::default(), Options::default()).await;
    let not_granted = |error: Error| match error {
        Error::ProtocolError {
            fault: ProtocolFault::NotGranted(name),
            ..
        } => name,
        other => panic!("{other:?}"),
    };
    let scan = session.scan(start(), &ScanOptions::default()).await;
    assert_eq!(not_granted(scan.expect_err("scan")), "scan");
    let sort = session.sort(SortRequest::in_place("default", vec![])).await;
    assert_eq!(not_granted(sort.expect_err("sort")), "sort");
    let task = session.task(xml()).await;
    assert_eq!(not_granted(task.expect_err("task")), "extendedServices");
    let report = session
        .resource_report(ResourceReportRequest::default())
        .await;
    assert_eq!(not_granted(report.expect_err("report")), "resourceReport");
    let duplicates = DuplicateDetectionRequest::in_place("default");
    let duplicates = session.detect_duplicates(duplicates).await;
    assert_eq!(
        not_granted(duplicates.expect_err("duplicates")),
        "duplicateDetection"
    );
    assert!(peer.hears_nothing().await && session.is_open());
}

#[tokio::test(start_paused = true)]
async fn a_session_can_be_closed_with_another_close() {
    let (session, peer) = Peer::granting(SessionOptions::default(), Options::default()).await;
    let close = Close::new(CloseReason::COST_LIMIT, Some("too dear"));
    let rest = tokio::spawn(peer.rest());
    session.close_with(close).await.expect("was open");
    assert_eq!(rest.await.expect("no panic"), "close(costLimit)");
}

#[tokio::test(start_paused = true)]
async fn charset_negotiation_is_sent_and_decoded() {
    let proposal = OriginProposal::named(&["utf-8", "iso-8859-1"], &["eng"], true);
    let init = init::negotiating(init::offer(), proposal.clone());
    let init = init.expect("encodes");
    assert!(init.options.contains(Options::NEGOTIATION_MODEL));
    let sent = init.other_info.expect("the proposal");
    let sent = sent.value::<CharSetandLanguageNegotiation>();
    assert_eq!(
        sent,
        Some(CharSetandLanguageNegotiation::Proposal(proposal))
    );
    let response = TargetResponse {
        selected_char_sets: Some(SelectedCharSet::named("iso-8859-1")),
        selected_language: None,
        records_in_selected_char_sets: Some(false),
    };
    for selected in [Some(response), None] {
        let mut other_info = OtherInformation::default();
        if let Some(response) = &selected {
            let response = CharSetandLanguageNegotiation::Response(response.clone());
            other_info.put_value(&response).expect("encodes");
        }
        let accepted = InitializeResponse {
            other_info: Some(other_info),
            ..init_response(true, ProtocolVersion::UP_TO_3)
        };
        let (session, _peer) = Peer::accept(SessionOptions::default(), accepted).await;
        assert_eq!(session.server_info().negotiated(), selected);
    }
}

#[tokio::test(start_paused = true)]
async fn search_reports_and_facets_are_decoded() {
    let facets = FacetList(vec![FacetField::request("author", 5)]);
    let options = SearchOptions::default().with_facets(&facets);
    let options = options.expect("encodes");
    let report = SearchInfoReport(vec![SubqueryReport::of_term(Term::General("x".into()), 9)]);
    let mut info = OtherInformation::default();
    info.put_value(&report).expect("encodes");
    info.put_value(&facets).expect("encodes");
    let response = SearchResponse {
        additional_search_info: Some(info),
        result_set_status: Some(ResultSetStatus::ESTIMATE),
        ..found(9, vec![])
    };
    let (session, request) = asked(response).await;
    let found = session.search(query(), &options).await.expect("found");
    assert_eq!(found.report(), Some(report));
    assert_eq!(found.facets(), Some(facets.clone()));
    assert!(found.is_estimate());
    let Apdu::SearchRequest(request) = request.await.expect("no panic") else {
        panic!("a Search")
    };
    let sent = request.additional_search_info.expect("the facets wanted");
    assert_eq!(sent.value::<FacetList>(), Some(facets));
}

#[test]
fn prompts_and_reports_are_decoded() {
    let prompt = Prompt::enumerated(PromptType::PASSWORD);
    let object = PromptObject::Challenge(vec![prompt.clone()]);
    let challenge = |security_challenge| Challenge {
        phase: Phase::Search,
        challenge: security_challenge,
    };
    let prompts = challenge(SecurityChallenge::ExternallyDefined(
        object.to_external().expect("encodes"),
    ));
    assert_eq!(prompts.prompts(), Some(vec![prompt]));
    let plain = challenge(SecurityChallenge::SimpleForm("who?".into()));
    assert_eq!(plain.prompts(), None);
    let answers = vec![Answer {
        prompt_id: PromptId::enumerated(PromptType::PASSWORD),
        prompt_response: PromptResponse::String("secret".into()),
    }];
    let response = answer_prompts(answers.clone()).expect("encodes");
    let SecurityChallengeResponse::ExternallyDefined(external) = response else {
        panic!("prompt-1")
    };
    let object = PromptObject::from_external(&external).expect("reads back");
    assert_eq!(object, PromptObject::Response(answers));

    let cost = resource_report1::ResourceReport {
        estimates: vec![],
        message: "dear".into(),
    };
    let Apdu::ResourceControlRequest(mut request) = resource_control(true) else {
        panic!("a ResourceControlRequest")
    };
    request.resource_report = Some(cost.to_external().expect("encodes"));
    let question = ResourceQuestion::new(Phase::Search, *request);
    assert_eq!(question.value(), Some(cost));
}

#[tokio::test(start_paused = true)]
async fn explain_is_searched_for_and_decoded() {
    use crate::protocol::service::explain::ExplainUse;

    let options = ExplainOptions {
        category: "DatabaseInfo".into(),
        terms: vec![(ExplainUse::DatabaseName, "cat".into())],
        ..ExplainOptions::default()
    };
    let (session, mut peer) = Peer::granting(SessionOptions::default(), everything()).await;
    let server = tokio::spawn(async move {
        let search = peer.request().await;
        peer.send(found(1, vec![])).await;
        let present = peer.request().await;
        peer.send(presented(
            PresentStatus::SUCCESS,
            Some(Records::ResponseRecords(vec![marc()])),
        ))
        .await;
        (search, present)
    });
    let result = session.explain(&options).await.expect("an answer");
    assert_eq!(
        (result.hits, result.records.len(), result.others.len()),
        (1, 0, 1)
    );
    let (Apdu::SearchRequest(search), Apdu::PresentRequest(present)) =
        server.await.expect("no panic")
    else {
        panic!("a Search and a Present")
    };
    let Query::Type1(query) = &search.query else {
        panic!("a query of type 1")
    };
    let text = query.to_string();
    assert!(
        text.contains("@attr 1=1 DatabaseInfo") && text.contains("@attr 1=3 cat"),
        "{text}"
    );
    assert_eq!(search.database_names, ["IR-Explain-1".into()]);
    assert_eq!(present.preferred_record_syntax, Some(oid::EXPLAIN));
}

/// Checks that records are returned even if the server's count is too small.
#[tokio::test(start_paused = true)]
async fn records_that_are_not_counted_are_delivered() {
    for (count, hits) in [(0, 2), (1, 2), (2, 2), (3, 3)] {
        let response = SearchResponse {
            result_count: count,
            ..found(0, vec![marc(), marc()])
        };
        let (session, _) = asked(response).await;
        let result = session.search(query(), &SearchOptions::default()).await;
        let result = result.expect("found");
        assert_eq!((result.hits, result.records.len()), (hits, 2), "{count}");
    }
}

//! Tests each service of our client with YAZ's and Zebra's servers, if they support the service.
//!
//! | service | yaz-ztest | zebrasrv |
//! |---|---|---|
//! | Init in versions 1 to 3, open, idPass, anonymous | yes | yes |
//! | negotiation of the character set | always ISO 8859-1 | as requested |
//! | Search: piggyback, named sets, several operations at once | yes | yes |
//! | facets / SearchResult-1 | facets | SearchResult-1 |
//! | Present, result set as a stream | yes | yes |
//! | Scan, in a result set too; Sort; Delete | yes | yes |
//! | Item Order, Update 1 and 3, XML update, task packages | answers without storing anything | Update 3 |
//! | persistent result sets and queries | answers without a package | refuses with 221 |
//! | TriggerResourceControl | accepts it without an answer | |
//! | Explain | | in XML |
//! | Close from our side | yes | yes |
//!
//! Neither server supports access control, resource control and report, segmentation or duplicate detection.

use std::time::Duration;

use bytes::Bytes;
use z3950::error::ProtocolFault;
use z3950::pager::PagerOptions;
use z3950::service::ResultRecord;
use z3950::service::delete::Delete;
use z3950::service::explain::ExplainOptions;
use z3950::service::extended::{Order, task, update_task};
use z3950::service::init;
use z3950::service::present::PresentOptions;
use z3950::service::scan::ScanOptions;
use z3950::service::search::SearchOptions;
use z3950::service::sort::key_by_attributes;
use z3950::transport::Tcp;
use z3950::url::{Host, Mode};
use z3950::{Error, Session, SessionOptions};
use z3950_asn1::apdu::*;
use z3950_asn1::es::TaskParameters;
use z3950_asn1::es::item_order::Contact;
use z3950_asn1::es::persistent_query::{self, PersistentQuery};
use z3950_asn1::es::persistent_result_set::{self, PersistentResultSet};
use z3950_asn1::es::update::{Action, EsRequest, RecordId, SuppliedRecord, UpdateStatus};
use z3950_asn1::format::charset_negotiation::OriginProposal;
use z3950_asn1::format::facets::{FacetField, FacetList};
use z3950_asn1::oid::{self, Oid};
use z3950_asn1::record::RetrievedRecord;
use z3950_marc::MarcRecord;
use z3950_marc::iso2709;
use z3950_marc::mrk;
use z3950_tests::peer::{self, Server};

/// Returns the books in the demo catalogue in ISO 2709.
fn books() -> Vec<Bytes> {
    let text = include_str!("../../../server/src/memory/demo/books.mrk");
    marc(text)
}

fn marc(text: &str) -> Vec<Bytes> {
    let records: Vec<MarcRecord> = mrk::parse_all(text).expect("mrk");
    let encoded = |record| iso2709::encode(record).expect("fits").into();
    records.iter().map(encoded).collect()
}

fn zebra() -> Option<Server> {
    peer::zebrasrv(&books())
}

async fn open_with(server: &Server, init: InitializeRequest) -> Session {
    let host = Host::parse("127.0.0.1", Mode::Strict).expect("a host");
    let mut options = SessionOptions::default();
    options.init = init;
    let session = Session::connect(&host, server.port, &Tcp::default(), &options).await;
    session.expect("a session")
}

async fn open(server: &Server) -> Session {
    open_with(server, init::offer()).await
}

fn pqf(text: &str) -> Query {
    Query::Type1(text.parse().expect("a query"))
}

fn into(set: &str) -> SearchOptions {
    let mut options = SearchOptions::default();
    options.databases = vec!["Default".into()];
    options.result_set = set.into();
    options
}

async fn hits(session: &Session, query: &str, set: &str) -> u64 {
    let found = session.search(pqf(query), &into(set)).await;
    found.expect("found").hits
}

fn usmarc() -> PresentOptions {
    let mut options = PresentOptions::default();
    options.record_syntax = Some(oid::USMARC);
    options
}

/// Returns the control number of a record.
fn docid(record: &ResultRecord) -> String {
    let ResultRecord::Record { external, .. } = record else {
        panic!("{record:?}")
    };
    docid_of(&RetrievedRecord::octets_of(external))
}

fn docid_of(octets: &Bytes) -> String {
    let record = iso2709::parse(octets).expect("a record").record;
    let docid = record.control_number().expect("a 001");
    String::from_utf8_lossy(docid).into_owned()
}

#[tokio::test]
async fn sessions_open_in_every_version_and_for_everyone() {
    for server in [peer::yaz_ztest(), zebra()].into_iter().flatten() {
        for (versions, version) in [
            (ProtocolVersion::ONLY_1, 1),
            (ProtocolVersion::UP_TO_2, 2),
            (ProtocolVersion::UP_TO_3, 3),
        ] {
            let mut init = init::offer();
            init.protocol_version = versions;
            let session = open_with(&server, init).await;
            assert_eq!(session.server_info().version, version);
            session.close().await.expect("was open");
        }
        for authentication in [
            IdAuthentication::Anonymous,
            IdAuthentication::Open("me/secret".into()),
            init::id_pass(Some("me"), Some("us"), Some("secret")),
        ] {
            let mut init = init::offer();
            init.id_authentication = Some(authentication);
            assert!(open_with(&server, init).await.is_open());
        }
    }
}

#[tokio::test]
async fn character_sets_are_negotiated() {
    for (server, proposed, selected, records_too) in [
        (peer::yaz_ztest(), "utf-8", "ISO-8859-1", false),
        (zebra(), "utf-8", "utf-8", true),
        (zebra(), "iso-8859-1", "iso-8859-1", true),
    ] {
        let Some(server) = server else { continue };
        let proposal = OriginProposal::named(&[proposed], &["eng"], true);
        let init = init::negotiating(init::offer(), proposal);
        let session = open_with(&server, init.expect("encodes")).await;
        let response = session.server_info().negotiated().expect("a response");
        let set = response.selected_char_sets.expect("a set");
        assert_eq!(set.name().as_deref(), Some(selected));
        assert_eq!(response.records_in_selected_char_sets, Some(records_too));
    }
}

#[tokio::test]
async fn a_search_brings_records_facets_and_reports() {
    if let Some(server) = peer::yaz_ztest() {
        let session = open(&server).await;
        let facets = FacetList(vec![FacetField::request("author", 2)]);
        let options = into("a").with_records(3).with_facets(&facets);
        let options = options.expect("encodes");
        let found = session.search(pqf("10"), &options).await.expect("found");
        assert_eq!((found.hits, found.records.len()), (10, 3));
        let facets = found.facets().expect("facets");
        let terms = facets.0.first().and_then(|field| field.terms.as_ref());
        assert_eq!(terms.map(Vec::len), Some(2));
    }
    if let Some(server) = zebra() {
        let session = open(&server).await;
        let options = into("a").with_records(3);
        let found = session.search(pqf("@attr 1=4 the"), &options).await;
        let found = found.expect("found");
        assert_eq!(found.records.len(), 3);
        let report = found.report().expect("SearchResult-1");
        let count = report.0.first().and_then(|part| part.subquery_count);
        assert_eq!(count, i64::try_from(found.hits).ok());
    }
}

#[tokio::test]
async fn result_sets_page_by_themselves() {
    let options = || {
        let mut options = PagerOptions::default();
        options.present = usmarc();
        options.chunk_size = 7;
        options
    };
    if let Some(server) = peer::yaz_ztest() {
        let session = open(&server).await;
        let search = into("a").with_records(2);
        let set = session.pager(pqf("45"), &search, options()).await;
        let mut set = set.expect("found");
        let records = set.range(1, u64::MAX).await.expect("records");
        assert_eq!((set.count(), records.len()), (45, 45));
    }
    if let Some(server) = zebra() {
        let session = open(&server).await;
        let all = pqf("@attr 1=_ALLRECORDS @attr 2=103 x");
        let set = session.pager(all, &into("a"), options()).await;
        let records = set.expect("found").range(1, u64::MAX).await;
        let mut came: Vec<_> = records.expect("records").iter().map(docid).collect();
        let mut expected: Vec<_> = books().iter().map(docid_of).collect();
        came.sort();
        expected.sort();
        assert_eq!(came, expected);
    }
}

fn start(term: &str) -> AttributesPlusTerm {
    AttributesPlusTerm {
        attributes: vec![AttributeElement::numeric(1, 4)],
        term: Term::General(term.into()),
    }
}

#[tokio::test]
async fn indexes_are_browsed() {
    for (server, query, count) in [
        (peer::yaz_ztest(), "5", 2),
        (zebra(), "@attr 1=4 prejudice", 3),
    ] {
        let Some(server) = server else { continue };
        let session = open(&server).await;
        hits(&session, query, "a").await;
        let mut options = ScanOptions::default();
        options.databases = vec!["Default".into()];
        options.number_of_terms = 3;
        for options in [options.clone(), options.in_result_set("a")] {
            let result = session.scan(start("p"), &options).await.expect("terms");
            assert_eq!(
                (result.entries.len(), result.position_of_term),
                (count, Some(1))
            );
        }
        let mut step = ScanOptions::default();
        step.databases = vec!["Default".into()];
        step.step_size = Some(5);
        let refused = session.scan(start("p"), &step).await.expect_err("a step");
        let condition = refused.diagnostics().first().map(ToString::to_string);
        assert!(
            condition.is_some_and(|text| text.contains("205")),
            "{refused}"
        );
    }
}

#[tokio::test]
async fn result_sets_are_sorted_and_deleted() {
    let by_docid = |relation| {
        vec![key_by_attributes(
            vec![AttributeElement::numeric(1, 12)],
            relation,
        )]
    };
    if let Some(server) = peer::yaz_ztest() {
        let session = open(&server).await;
        hits(&session, "5", "a").await;
        let in_place = SortRequest::in_place("a", by_docid(SortRelation::ASCENDING));
        let sorted = session.sort(in_place).await.expect("sorted");
        assert_eq!(sorted.sort_status, SortStatus::SUCCESS);
        let deleted = session.delete(Delete::Sets(vec!["a".into()])).await;
        // yaz-ztest reports status 1 for the operation and 0 for the result set, so only the status of the set is checked.
        let sets = deleted.expect("an answer").sets;
        assert!(
            sets.iter()
                .all(|set| set.status == DeleteSetStatus::SUCCESS)
        );
    }
    if let Some(server) = zebra() {
        let session = open(&server).await;
        let mut options = PagerOptions::default();
        options.present = usmarc();
        let all = pqf("@attr 1=_ALLRECORDS @attr 2=103 x");
        let set = session.pager(all, &into("a"), options).await;
        let mut set = set.expect("found");
        set.sort(by_docid(SortRelation::DESCENDING))
            .await
            .expect("sorted");
        let records = set.range(1, 50).await.expect("records");
        let docids: Vec<_> = records.iter().map(docid).collect();
        assert!(docids.is_sorted_by(|a, b| a >= b), "{docids:?}");
        let deleted = set.delete().await.expect("an answer");
        assert_eq!(deleted.status, DeleteSetStatus::SUCCESS);
        let gone = session
            .present(1, 1, &usmarc_of("a"))
            .await
            .expect_err("gone");
        assert!(matches!(gone, Error::Refused { .. }), "{gone}");
    }
}

fn usmarc_of(set: &str) -> PresentOptions {
    let mut options = usmarc();
    options.result_set = set.into();
    options
}

fn update(version: Oid, action: Action, record: &Bytes) -> ExtendedServicesRequest {
    let id = RecordId::Opaque("interop-1".into());
    let record = External::octet_aligned(oid::USMARC, record.clone());
    let record = SuppliedRecord::new(record, Some(id), Some(7));
    let update = EsRequest::new(action, "Default", vec![record]);
    update_task(version, update).expect("encodes")
}

fn xml() -> ExtendedServicesRequest {
    task(TaskParameters::Xml(b"<x/>"[..].into())).expect("encodes")
}

fn waited_for(task: ExtendedServicesRequest) -> ExtendedServicesRequest {
    ExtendedServicesRequest {
        wait_action: WaitAction::WAIT,
        ..task
    }
}

#[tokio::test]
async fn tasks_of_every_kind_are_accepted() {
    let Some(server) = peer::yaz_ztest() else {
        return;
    };
    let session = open(&server).await;
    hits(&session, "5", "1").await;
    let mut order = Order::default();
    order.item = Some(("1".into(), 2));
    order.contact = Some(Contact {
        name: Some("A Reader".into()),
        ..Contact::default()
    });
    let not_to_keep = persistent_result_set::OriginPartNotToKeep {
        origin_supplied_result_set: Some("1".into()),
        replace_or_append: None,
    };
    let kept = PersistentResultSet::EsRequest(persistent_result_set::EsRequest {
        to_keep: (),
        not_to_keep: Some(not_to_keep),
    });
    let query = PersistentQuery::EsRequest(persistent_query::EsRequest {
        to_keep: None,
        not_to_keep: persistent_query::OriginPartNotToKeep::Query(Box::new(pqf("war"))),
    });
    let record = books().swap_remove(0);
    for (task, package) in [
        (order.task().expect("encodes"), Some("item order")),
        (
            update(oid::DATABASE_UPDATE_1, Action::RECORD_INSERT, &record),
            None,
        ),
        (
            update(oid::DATABASE_UPDATE, Action::RECORD_REPLACE, &record),
            Some("update"),
        ),
        (xml(), None),
        (task(kept).expect("encodes"), None),
        (task(query).expect("encodes"), None),
    ] {
        let result = session.task(waited_for(task)).await.expect("done");
        assert_eq!(result.status, OperationStatus::DONE);
        let told = match result.parameters() {
            Some(TaskParameters::ItemOrder(_)) => Some("item order"),
            Some(TaskParameters::Update(_)) => Some("update"),
            Some(other) => panic!("{other:?}"),
            None => None,
        };
        assert_eq!(told, package);
        let reference = result
            .package()
            .and_then(|package| package.target_reference);
        assert_eq!(reference.is_some(), package.is_some());
    }
}

#[tokio::test]
async fn a_record_is_inserted_and_deleted() {
    let Some(server) = zebra() else { return };
    let text = "=LDR  00000nam a2200000 a 4500\n=001  interop1\n=245  10$aUpdating catalogues\n";
    let record = marc(text).swap_remove(0);
    let session = open(&server).await;
    let by_docid = "@attr 1=1032 interop1";
    assert_eq!(hits(&session, by_docid, "a").await, 0);
    for (action, expected) in [(Action::RECORD_INSERT, 1), (Action::RECORD_DELETE, 0)] {
        let task = update(oid::DATABASE_UPDATE, action, &record);
        let result = session.task(waited_for(task)).await.expect("done");
        assert_eq!(result.status, OperationStatus::DONE);
        if let Some(TaskParameters::Update(update)) = result.parameters() {
            let z3950_asn1::es::update::Update::TaskPackage(package) = *update else {
                panic!("a package")
            };
            assert_eq!(package.target_part.update_status, UpdateStatus::SUCCESS);
        }
        assert_eq!(hits(&session, by_docid, "a").await, expected);
    }
    let refused = session.task(waited_for(xml())).await;
    let refused = refused.expect_err("it has no such service").to_string();
    assert!(refused.contains("221"), "{refused}");
    assert!(session.is_open());
}

#[tokio::test]
async fn a_server_explains_itself() {
    let Some(server) = zebra() else { return };
    let session = open(&server).await;
    let mut options = ExplainOptions::default();
    options.category = "TargetInfo".into();
    options.record_syntax = Some(oid::XML);
    let result = session.explain(&options).await.expect("an answer");
    let Some(ResultRecord::Record { external, .. }) = result.others.first() else {
        panic!("{result:?}")
    };
    let octets = RetrievedRecord::octets_of(external);
    let text = String::from_utf8_lossy(&octets);
    assert!(text.to_lowercase().contains("zebra"), "{text}");
}

#[tokio::test]
async fn operations_run_concurrently_and_can_be_cancelled() {
    let Some(server) = peer::yaz_ztest() else {
        return;
    };
    let session = open(&server).await;
    let mut slow = into("slow");
    slow.databases = vec!["Slow1".into()];
    let quick = into("quick");
    let (found_slow, found_quick) = tokio::join!(
        session.search(pqf("7"), &slow),
        session.search(pqf("8"), &quick)
    );
    assert_eq!(found_slow.expect("found").hits, 7);
    assert_eq!(found_quick.expect("found").hits, 8);
    // yaz-ztest does not answer a TriggerResourceControl. After two of them in a row, it waits until two further requests have
    // arrived.
    let trigger = TriggerResourceControlRequest::cancel();
    let (found_slow, triggered) = tokio::join!(session.search(pqf("7"), &slow), async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        session.trigger_resource_control(trigger).await
    });
    assert_eq!(found_slow.expect("found").hits, 7);
    assert_eq!(triggered.expect("granted"), 1);
    assert_eq!(hits(&session, "9", "a").await, 9, "still in step");
}

#[tokio::test]
async fn services_that_were_not_granted_are_not_requested() {
    for server in [peer::yaz_ztest(), zebra()].into_iter().flatten() {
        let session = open(&server).await;
        let duplicates = DuplicateDetectionRequest::in_place("default");
        let refused = session.detect_duplicates(duplicates).await;
        assert!(matches!(
            refused,
            Err(Error::ProtocolError {
                fault: ProtocolFault::NotGranted("duplicateDetection"),
                ..
            })
        ));
        assert!(session.is_open());
    }
}

//! Tests of the effects, packages and diagnostics of extended services, request by request.

mod packages;
mod refusals;
mod updates;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use z3950_asn1::apdu::*;
use z3950_asn1::es::persistent_query::{self, PersistentQuery};
use z3950_asn1::es::persistent_result_set::{self, PersistentResultSet, ReplaceOrAppend};
use z3950_asn1::es::update::{self, Action, Update};
use z3950_asn1::es::{TaskPackage, TaskParameters, item_order};
use z3950_asn1::oid::{self, Oid};
use z3950_asn1::query::parse_pqf;

use crate::access::Access;
use crate::backend::{self, *};
use crate::diagnostic::{Diagnostic, diagnostic};
use crate::limits::Limits;
use crate::requests::{init, now, only, present_request, search_request, shown};
use crate::session::Session;
use crate::target::Target;

/// A database `books` of texts with identifiers, which can be updated. A query finds the record whose identifier is the term;
/// `all` finds all records.
#[derive(Default)]
pub(crate) struct Shelf(Mutex<BTreeMap<Bytes, Bytes>>);

impl Shelf {
    fn change(
        &self,
        action: UpdateAction,
        record: &UpdateRecord,
    ) -> Result<(Bytes, Option<Bytes>), i64> {
        let text = match record.record.as_ref().map(|record| &record.encoding) {
            Some(ExternalEncoding::OctetAligned(octets)) => octets.to_bytes(),
            _ => Bytes::new(),
        };
        let id = record.id.clone().unwrap_or_else(|| text.clone());
        let is_there = self.0.lock().expect("a lock").contains_key(&id);
        match (action, is_there) {
            (UpdateAction::Insert, true) => Err(2_001),
            (UpdateAction::Replace | UpdateAction::Delete, false) => Err(2_002),
            (UpdateAction::Delete, true) => Ok((id, None)),
            _ => Ok((id, Some(text))),
        }
    }
}

impl Backend for Shelf {
    fn databases(&self) -> Vec<DatabaseInfo> {
        vec![DatabaseInfo {
            name: "books".to_owned(),
            ..DatabaseInfo::default()
        }]
    }

    fn has_syntax(&self, syntax: &Oid) -> bool {
        *syntax == oid::SUTRS
    }

    fn search<'a>(&'a self, search: backend::Search<'a>) -> Answer<'a, Found> {
        let RpnStructure::Op(Operand::AttributesPlusTerm(operand)) = &search.query.rpn else {
            panic!("one term")
        };
        let Term::General(term) = &operand.term else {
            panic!("a text")
        };
        let records = self.0.lock().expect("a lock");
        let numbered = (0..).map(RecordId).zip(records.keys());
        let found = numbered.filter(|(_, id)| term.as_bytes() == b"all" || id[..] == term[..]);
        ready(Ok(found.map(|(number, _)| number).collect::<Hits>().into()))
    }

    fn record<'a>(&'a self, wanted: Retrieve<'a>) -> Answer<'a, Retrieved> {
        let records = self.0.lock().expect("a lock");
        let text = records
            .values()
            .nth(wanted.record.0 as usize)
            .expect("a record")
            .clone();
        ready(Ok(Retrieved::new(
            DatabaseName::from("books"),
            Ok(External::octet_aligned(oid::SUTRS, text)),
        )))
    }

    fn update<'a>(
        &'a self,
        update: backend::Update<'a>,
    ) -> Answer<'a, Vec<Result<Bytes, Diagnostic>>> {
        if update.database.0.as_bytes() != b"books" {
            let name = update.database.0.as_bytes();
            return ready(Err(diagnostic(
                z3950_asn1::bib1::diagnostics::Condition::DATABASE_DOES_NOT_EXIST,
                name,
            )));
        }
        let changes: Vec<_> = update
            .records
            .iter()
            .map(|record| self.change(update.action, record))
            .collect();
        if changes.iter().all(Result::is_ok) {
            let mut records = self.0.lock().expect("a lock");
            for (id, text) in changes.iter().flatten() {
                match text {
                    Some(text) => drop(records.insert(id.clone(), text.clone())),
                    None => drop(records.remove(id)),
                }
            }
        }
        let outcomes = changes.into_iter().map(|change| {
            let refused = |code| diagnostic(z3950_asn1::bib1::diagnostics::Condition(code), "");
            change.map(|(id, _)| id).map_err(refused)
        });
        ready(Ok(outcomes.collect()))
    }
}

pub(crate) fn shelf(ids: &[&str]) -> Arc<Shelf> {
    let records = ids
        .iter()
        .map(|id| (Bytes::from(id.to_string()), Bytes::from(format!("<{id}>"))));
    Arc::new(Shelf(Mutex::new(records.collect())))
}

pub(crate) fn target(shelf: &Arc<Shelf>) -> Target {
    Target::new(Arc::clone(shelf) as Arc<dyn Backend>, Limits::default())
}

fn open(target: &Arc<Target>) -> Session {
    let mut session = Session::new(Arc::clone(target));
    only(now(session.answer(&init())));
    assert!(session.is_open());
    session
}

pub(crate) fn request(
    package_type: Oid,
    parameters: impl Into<Option<TaskParameters>>,
) -> ExtendedServicesRequest {
    let parameters = parameters.into();
    let external = parameters.map(|parameters| match (&parameters, package_type) {
        (TaskParameters::Update(update), version) => update.to_external_as(version),
        _ => parameters.to_external(),
    });
    ExtendedServicesRequest {
        reference_id: None,
        function: ExtendedServicesFunction::CREATE,
        package_type,
        package_name: None,
        user_id: None,
        retention_time: None,
        permissions: None,
        description: None,
        task_specific_parameters: external.map(|external| external.expect("encodes")),
        wait_action: WaitAction::WAIT_IF_POSSIBLE,
        elements: None,
        other_info: None,
    }
}

pub(crate) fn update(action: Action, ids: &[&str]) -> ExtendedServicesRequest {
    changed(action, ids, |_| {})
}

pub(crate) fn changed(
    action: Action,
    ids: &[&str],
    change: impl Fn(&mut update::EsRequest),
) -> ExtendedServicesRequest {
    let supplied = ids.iter().map(|id| update::SuppliedRecord {
        record_id: Some(update::RecordId::Opaque((*id).into())),
        supplemental_id: None,
        correlation_info: Some(update::CorrelationInfo {
            note: Some((*id).into()),
            id: None,
        }),
        record: External::octet_aligned(oid::SUTRS, format!("new {id}").into_bytes()),
    });
    let mut request_ = update::EsRequest {
        to_keep: update::OriginPartToKeep {
            action,
            database_name: "books".into(),
            schema: None,
            element_set_name: None,
            action_qualifier: None,
        },
        not_to_keep: supplied.collect(),
    };
    change(&mut request_);
    let parameters = TaskParameters::from(Update::EsRequest(Box::new(request_)));
    request(oid::DATABASE_UPDATE, parameters)
}

pub(crate) fn keep_set(
    name: Option<&str>,
    how: Option<ReplaceOrAppend>,
) -> ExtendedServicesRequest {
    let parameters = PersistentResultSet::EsRequest(persistent_result_set::EsRequest {
        to_keep: (),
        not_to_keep: Some(persistent_result_set::OriginPartNotToKeep {
            origin_supplied_result_set: name.map(Into::into),
            replace_or_append: how,
        }),
    });
    request(oid::PERSISTENT_RESULT_SET, TaskParameters::from(parameters))
}

pub(crate) fn keep_query(query: persistent_query::OriginPartNotToKeep) -> ExtendedServicesRequest {
    let parameters = PersistentQuery::EsRequest(persistent_query::EsRequest {
        to_keep: None,
        not_to_keep: query,
    });
    request(oid::PERSISTENT_QUERY, TaskParameters::from(parameters))
}

pub(crate) fn order(
    set: Option<(&str, i64)>,
    item_request: Option<External>,
) -> ExtendedServicesRequest {
    let parameters = item_order::ItemOrder::EsRequest(Box::new(item_order::EsRequest {
        to_keep: None,
        not_to_keep: item_order::OriginPartNotToKeep {
            result_set_item: set.map(|(set, item)| item_order::ResultSetItem {
                result_set_id: set.into(),
                item,
            }),
            item_request,
        },
    }));
    request(oid::ITEM_ORDER, TaskParameters::from(parameters))
}

fn send(session: &mut Session, request: ExtendedServicesRequest) -> ExtendedServicesResponse {
    match only(now(session.answer(&request.into()))) {
        Apdu::ExtendedServicesResponse(response) => *response,
        other => panic!("{other:?}"),
    }
}

/// Returns the status of a response and its diagnostics, with their additional information.
fn told(response: &ExtendedServicesResponse) -> String {
    let diagnostics = response
        .diagnostics
        .iter()
        .flatten()
        .map(|diagnostic| match diagnostic {
            DiagRec::DefaultFormat(one) => {
                format!(" {} {}", one.condition, one.addinfo.to_string_lossy())
            }
            DiagRec::ExternallyDefined(_) => " ?".to_owned(),
        });
    let diagnostics: String = diagnostics.collect();
    format!("{}{diagnostics}", response.operation_status)
        .trim_end()
        .to_owned()
}

fn package(response: &ExtendedServicesResponse) -> TaskPackage {
    let external = response.task_package.as_ref().expect("a package");
    TaskPackage::from_external(external).expect("a package")
}

/// Searches a database, and keeps the result set under this name; returns the number of hits.
fn search_in(session: &mut Session, database: &str, set: &str, pqf: &str) -> i64 {
    let request = SearchRequest {
        database_names: vec![DatabaseName::from(database)],
        result_set_name: set.into(),
        query: Query::Type1(parse_pqf(pqf).expect("a query")),
        ..search_request("x")
    };
    match only(now(session.answer(&request.into()))) {
        Apdu::SearchResponse(response) if response.search_status => response.result_count,
        Apdu::SearchResponse(response) => panic!("{}", shown(&response.records)),
        other => panic!("{other:?}"),
    }
}

fn present_from(session: &mut Session, set: &str, syntax: Oid) -> External {
    let request = PresentRequest {
        result_set_id: ResultSetId::from(set),
        preferred_record_syntax: Some(syntax),
        ..present_request(1, 1)
    };
    let Apdu::PresentResponse(response) = only(now(session.answer(&request.into()))) else {
        panic!("a PresentResponse")
    };
    let Some(Records::ResponseRecords(records)) = response.records.0 else {
        panic!("{:?}", response.records)
    };
    match records.into_iter().next().map(|record| record.record) {
        Some(Record::RetrievalRecord(external)) => external,
        other => panic!("{other:?}"),
    }
}

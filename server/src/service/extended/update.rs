//! Database Update in its three versions (Z39.50-2003 Appendix EXT.5): a task updates either all its records or none. If a record
//! cannot be updated, the package contains its diagnostic, and condition 224 for each of the other records.

use bytes::Bytes;
use z3950_asn1::apdu::{
    AttributeElement, DatabaseName, DiagRec, External, RpnQuery, RpnStructure, Schema,
};
use z3950_asn1::bib1::attributes as bib1;
use z3950_asn1::es::update::{
    Action, EsRequest, RecordId, RecordOrSurDiag, RecordStatus, SuppliedRecord, TargetPart,
    TaskPackage, TaskPackageRecordStructure, Update, UpdateStatus,
};
use z3950_asn1::oid::{self, Oid};

use super::{Outcome, failure_of, missing, unsupported};
use crate::association::Operation;
use crate::backend::{self, Backend, Composition, Retrieve, Search, UpdateAction, UpdateRecord};
use crate::diagnostic::{Condition, Diagnostic, diagnostic};

/// The maximum number of records in one task.
const MAX_RECORDS: usize = 1_000;

/// Updates the database.
///
/// # Errors
/// Condition 1044 for an action that does not exist in the version, 1045 for an unknown schema, 25 for an unknown element set,
/// 1008 for a request without records, 1046 for too many records, 1057 for an unsupported parameter, or the backend's diagnostic
/// if the database cannot be updated at all.
pub(super) async fn answer(
    operation: &Operation,
    version: Oid,
    parameters: &Update,
) -> Result<Outcome, Diagnostic> {
    let Update::EsRequest(request) = parameters else {
        return Err(unsupported("taskPackage"));
    };
    let database = DatabaseName(request.to_keep.database_name.clone());
    let backend = operation.backend_of(std::slice::from_ref(&database))?;
    let action = action(version, request.to_keep.action)?;
    check(&*backend, request)?;
    let records = request
        .not_to_keep
        .iter()
        .map(|record| wanted(action, record))
        .collect::<Result<Vec<_>, _>>()?;
    let outcomes = backend.update(backend::Update {
        caller: operation.caller(),
        database: &database,
        action,
        records: &records,
    });
    // The update is not cancelled, because the client could not know whether it was done.
    let outcomes = outcomes.await?;
    let failure = failure_of(&outcomes);
    let (record_status, update_status) = match failure {
        None => (RecordStatus::SUCCESS, UpdateStatus::SUCCESS),
        Some(_) => (RecordStatus::FAILURE, UpdateStatus::FAILURE),
    };
    let mut structures = Vec::with_capacity(outcomes.len());
    for (supplied, outcome) in request.not_to_keep.iter().zip(&outcomes) {
        let record_or_sur_diag = match (outcome, &failure) {
            (Err(why), _) => Some(surrogate(why.clone())),
            (Ok(id), Some(failure)) => Some(surrogate(unchanged(id, failure))),
            (Ok(id), None) => match &request.to_keep.element_set_name {
                Some(name) if action != UpdateAction::Delete => {
                    let name = name.to_string_lossy();
                    let record = record(operation, &*backend, &database, id, &name).await;
                    record.map(|record| RecordOrSurDiag::Record(Box::new(record)))
                }
                _ => nothing_to_say(version),
            },
        };
        structures.push(TaskPackageRecordStructure {
            record_or_sur_diag,
            correlation_info: supplied.correlation_info.clone(),
            record_status,
            supplemental_diagnostics: None,
        });
    }
    let package = Update::TaskPackage(Box::new(TaskPackage {
        origin_part: request.to_keep.clone(),
        target_part: TargetPart {
            update_status,
            global_diagnostics: None,
            task_package_records: Some(structures),
        },
    }));
    Ok(Outcome::of_update(failure, package))
}

/// Returns the value of the record element if the client does not request the record. The first version of the service does not
/// have this element. In later versions, it is an empty list of diagnostics, because yaz-client 5.34 reads the element even if it
/// is absent.
fn nothing_to_say(version: Oid) -> Option<RecordOrSurDiag> {
    let is_first = version == oid::DATABASE_UPDATE_1;
    (!is_first).then(|| RecordOrSurDiag::SurrogateDiagnostics(Vec::new()))
}

/// Returns the diagnostic for a record that was not changed because another record of its task failed.
fn unchanged(id: &[u8], failure: &Diagnostic) -> Diagnostic {
    let id = String::from_utf8_lossy(id);
    let words = format!(
        "{id} is unchanged, because another record was refused: {}",
        failure.addinfo.to_string_lossy()
    );
    diagnostic(Condition::EXECUTION_FAILED, words)
}

fn surrogate(why: Diagnostic) -> RecordOrSurDiag {
    RecordOrSurDiag::SurrogateDiagnostics(vec![DiagRec::DefaultFormat(why)])
}

fn action(version: Oid, action: Action) -> Result<UpdateAction, Diagnostic> {
    Ok(match action {
        Action::RECORD_INSERT => UpdateAction::Insert,
        Action::RECORD_REPLACE => UpdateAction::Replace,
        Action::RECORD_DELETE => UpdateAction::Delete,
        Action::ELEMENT_UPDATE => UpdateAction::Elements,
        Action::SPECIAL_UPDATE if version != oid::DATABASE_UPDATE_1 => UpdateAction::Special,
        other => return Err(diagnostic(Condition::TASK_ACTION, other.to_string())),
    })
}

/// Checks the parameters of the request, and the number of records.
fn check(backend: &dyn Backend, request: &EsRequest) -> Result<(), Diagnostic> {
    if let Some(schema) = request.to_keep.schema
        && backend
            .element_set_of_schema(&Schema::Oid(schema), None)
            .is_none()
    {
        return Err(diagnostic(Condition::UPDATE_SCHEMA, schema.to_string()));
    }
    if let Some(name) = &request.to_keep.element_set_name
        && !backend.has_element_set(&name.to_string_lossy(), None)
    {
        return Err(diagnostic(Condition::ELEMENT_SET_NAME, name.as_bytes()));
    }
    if request.to_keep.action_qualifier.is_some() {
        return Err(unsupported("actionQualifier"));
    }
    match request.not_to_keep.len() {
        0 => Err(missing("suppliedRecords")),
        1..=MAX_RECORDS => Ok(()),
        _ => {
            let most = MAX_RECORDS.to_string();
            Err(diagnostic(Condition::TOO_MANY_TASK_RECORDS, most))
        }
    }
}

/// Converts a record of the request for the backend. If a record is deleted by its identifier, the contents are ignored, because
/// clients send arbitrary contents.
fn wanted(action: UpdateAction, supplied: &SuppliedRecord) -> Result<UpdateRecord, Diagnostic> {
    if supplied.supplemental_id.is_some() {
        // Records do not have versions, so the server cannot use versions to detect concurrent changes.
        return Err(unsupported("supplementalId"));
    }
    let id = supplied.record_id.as_ref().map(|id| match id {
        RecordId::Number(number) => Bytes::from(number.to_string()),
        RecordId::String(string) => Bytes::copy_from_slice(string.as_bytes()),
        RecordId::Opaque(octets) => octets.to_bytes(),
    });
    let is_named = action == UpdateAction::Delete && id.is_some();
    Ok(UpdateRecord {
        id,
        record: (!is_named).then(|| supplied.record.clone()),
    })
}

/// Returns the current record with this identifier; `None` if it cannot be retrieved, which is not a failure of the update.
async fn record(
    operation: &Operation,
    backend: &dyn Backend,
    database: &DatabaseName,
    id: &Bytes,
    element_set: &str,
) -> Option<External> {
    let attributes = vec![
        AttributeElement::numeric(bib1::USE, bib1::USE_DOC_ID),
        AttributeElement::numeric(bib1::STRUCTURE, bib1::STRUCTURE_URX),
    ];
    let query = RpnQuery::bib1(RpnStructure::term(attributes, id.clone()));
    let found = backend.search(Search {
        caller: operation.caller(),
        ..Search::new(std::slice::from_ref(database), &query)
    });
    let hits = operation.or_stopped(found).await.ok()?.hits;
    let composition = Composition {
        element_set: element_set.to_owned(),
        ..Composition::full(None)
    };
    let retrieved = backend.record(Retrieve {
        caller: operation.caller(),
        hits: &hits,
        record: *hits.ids(0..1).first()?,
        composition: &composition,
    });
    operation.or_stopped(retrieved).await.ok()?.record.ok()
}

//! Record Update 1.0: updates one record by the same rules as the extended service Update (Z39.50-2003 Appendix EXT.1.4).

use bytes::Bytes;
use z3950_asn1::apdu::{
    Apdu, AttributeElement, DatabaseName, ExtendedServicesRequest, External, RpnQuery, RpnStructure,
};
use z3950_asn1::bib1::attributes as bib1;
use z3950_asn1::oid::{DATABASE_UPDATE, XML};
use z3950_asn1::sru::{SruDiagnostic, SruRecord, UpdateAction, UpdateRequest, UpdateResponse};
use z3950_marc::marcxml;

use super::failure::{SruFailure, default_form};
use super::schema::KnownSchema;
use super::{Context, SruSession};
use crate::association::Operation;
use crate::backend::{self, Backend, Search, Update, UpdateRecord};
use crate::diagnostic::{Condition, Diagnostic, diagnostic};
use crate::logins::Proof;

impl SruSession {
    /// Answers an update. The update is never stopped, because the client could not know whether it had been made.
    ///
    /// # Errors
    /// The reason why nothing was changed: Record Update diagnostics for errors in the record, and general diagnostics for other
    /// errors.
    pub(super) async fn update(
        &mut self,
        context: &Context,
        update: &UpdateRequest,
    ) -> Result<UpdateResponse, SruFailure> {
        let (changed, own) = wanted(update)?;
        let operation = self.begin_update()?;
        operation.check_update()?;
        let database = DatabaseName::from(context.database.as_str());
        let backend = operation.backend_of(std::slice::from_ref(&database))?;
        let outcomes = backend.update(Update {
            caller: operation.caller(),
            database: &database,
            action: action(update.action),
            records: std::slice::from_ref(&changed),
        });
        let outcome = outcomes.await?.pop();
        let missing = || diagnostic(Condition::PERMANENT_SYSTEM_ERROR, "");
        match outcome.unwrap_or_else(|| Err(missing())) {
            Ok(id) => {
                let mut response = UpdateResponse::new(context.version, true);
                response.record_identifier = Some(String::from_utf8_lossy(&id).into_owned());
                Ok(response)
            }
            Err(why) => {
                let is_other = changed.id.is_some() && own.is_some() && changed.id != own;
                let exists = match changed.id.as_ref().or(own.as_ref()) {
                    Some(id) if !is_other => exists(&operation, &*backend, &database, id).await,
                    _ => None,
                };
                Err(refused(update.action, is_other, exists, &why).into())
            }
        }
    }

    /// Begins an operation of the extended service Update.
    fn begin_update(&mut self) -> Result<Operation, SruFailure> {
        let request = ExtendedServicesRequest::create(DATABASE_UPDATE, None);
        self.session
            .begin(&request.into(), Proof::default())
            .map_err(|reply| {
                let Some(Apdu::ExtendedServicesResponse(failed)) = reply.apdus.into_iter().next()
                else {
                    return SruFailure::unanswered();
                };
                let why = failed.diagnostics.into_iter().flatten().next();
                why.map_or_else(SruFailure::unanswered, |why| default_form(why).into())
            })
    }
}

fn action(action: UpdateAction) -> backend::UpdateAction {
    match action {
        UpdateAction::Create => backend::UpdateAction::Insert,
        UpdateAction::Replace => backend::UpdateAction::Replace,
        UpdateAction::Delete => backend::UpdateAction::Delete,
    }
}

/// Returns the change to the record, and the identifier in the record's own field 001.
///
/// # Errors
/// Diagnostic 55 if the request names a version, because records do not have versions; 22 for a deletion without an identifier;
/// 30 for a record in an unsupported schema, 9 for a record without data, and 12 for a record in an unsupported form.
fn wanted(update: &UpdateRequest) -> Result<(UpdateRecord, Option<Bytes>), SruDiagnostic> {
    if !update.record_versions.is_empty() {
        let refused = SruDiagnostic::update(55, "");
        return Err(refused.with_message("records have no versions here"));
    }
    let id = update.record_identifier.as_deref();
    let id = id.map(|id| Bytes::copy_from_slice(id.as_bytes()));
    if update.action == UpdateAction::Delete {
        return match id {
            Some(_) => Ok((UpdateRecord { id, record: None }, None)),
            None => Err(SruDiagnostic::update(22, "recordIdentifier")),
        };
    }
    let missing = || SruDiagnostic::update(9, "record");
    let record = update.record.as_ref().ok_or_else(missing)?;
    let own = identifier(record)?;
    let record = Some(External::octet_aligned(XML, record.data.clone()));
    Ok((UpdateRecord { id, record }, own))
}

/// Returns the identifier of a record in MARCXML, from its field 001. The schema may be absent, because yaz-client does not name
/// one.
///
/// # Errors
/// Diagnostic 30 for an unsupported schema; 12 for a record in an unsupported form, for more than one record, and for a record
/// that would need repairs.
fn identifier(record: &SruRecord) -> Result<Option<Bytes>, SruDiagnostic> {
    let schema = record.schema.trim();
    if !schema.is_empty() && !KnownSchema::MARCXML.is_called(schema) {
        return Err(SruDiagnostic::update(30, schema));
    }
    let malformed = |why: String| SruDiagnostic::update(12, why);
    let text = std::str::from_utf8(&record.data).map_err(|why| malformed(why.to_string()))?;
    let record = marcxml::only_from_xml(text).map_err(|why| malformed(why.to_string()))?;
    if !record.remarks.notes.is_empty() {
        return Err(malformed(record.remarks.notes.join("; ")));
    }
    let fields = record.record.fields.iter();
    let numbers = fields.filter(|field| field.tag.0 == *b"001");
    // Spaces around the number are ignored, as in the catalogue.
    let mut numbers = numbers.map(|field| field.body.trim_ascii());
    let own = numbers.find(|number| !number.is_empty());
    Ok(own.map(Bytes::copy_from_slice))
}

/// Returns whether a record with this identifier exists; `None` if this cannot be determined.
async fn exists(
    operation: &Operation,
    backend: &dyn Backend,
    database: &DatabaseName,
    id: &Bytes,
) -> Option<bool> {
    let attributes = vec![
        AttributeElement::numeric(bib1::USE, bib1::USE_DOC_ID),
        AttributeElement::numeric(bib1::STRUCTURE, bib1::STRUCTURE_URX),
    ];
    let query = RpnQuery::bib1(RpnStructure::term(attributes, id.clone()));
    let found = backend.search(Search::new(std::slice::from_ref(database), &query));
    let found = operation.or_stopped(found).await.ok()?;
    Some(!found.hits.is_empty())
}

/// Returns the Record Update diagnostic for a record that cannot be changed. Bib-1 does not have a corresponding condition, so
/// the diagnostic depends on whether the record exists (`exists`), and on whether its own identifier differs from the identifier
/// in the request (`is_other`).
fn refused(
    action: UpdateAction,
    is_other: bool,
    exists: Option<bool>,
    why: &Diagnostic,
) -> SruDiagnostic {
    let details = match why.addinfo.as_bytes() {
        b"" => why.to_string(),
        _ => why.addinfo.to_string_lossy().into_owned(),
    };
    let number = match (Condition(why.condition), action, exists) {
        (Condition::TASK_QUOTA, ..) => 62,
        (Condition::RECORD_SYNTAX, ..) => 30,
        (Condition::UNSPECIFIED, ..) if is_other => 22,
        (Condition::UNSPECIFIED, UpdateAction::Create, Some(true)) => 58,
        (Condition::UNSPECIFIED, UpdateAction::Replace | UpdateAction::Delete, Some(false)) => 50,
        (Condition::UNSPECIFIED, ..) => 12,
        _ => 61,
    };
    SruDiagnostic::update(number, details)
}

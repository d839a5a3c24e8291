//! Translates updates (Z39.50-2003 Appendix EXT.5) to Record Update 1.0 over SOAP, in which each request changes one
//! record.

use z3950_asn1::apdu::{
    DiagRec, ExtendedServicesFunction, ExtendedServicesRequest, ExtendedServicesResponse, External,
    OperationStatus,
};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::es::TaskParameters;
use z3950_asn1::es::update::{Action, EsRequest, RecordId, SuppliedRecord, Update};
use z3950_asn1::record::RetrievedRecord;
use z3950_asn1::sru::{Response, SruRecord, UpdateAction, UpdateRequest};
use z3950_marc::{iso2709, marcxml};

use super::Refused;
use super::records::to_diag_recs;
use super::sets::SruExchange;
use crate::error::{Error, Phase, SruFault};
use crate::transport::timeouts::Timeouts;

/// The schema of the records in updates.
const MARCXML: &str = "info:srw/schema/1/marcxml-v1.1";

impl SruExchange {
    pub(super) async fn task(
        &mut self,
        request: &ExtendedServicesRequest,
        timeouts: &Timeouts,
    ) -> Result<ExtendedServicesResponse, Error> {
        let (status, diagnostics) = match self.update(request, timeouts).await {
            Ok(beside) => (
                OperationStatus::DONE,
                Some(beside).filter(|some| !some.is_empty()),
            ),
            Err(Refused::Error(error)) => return Err(error),
            Err(Refused::For(diagnostics)) => (OperationStatus::FAILURE, Some(diagnostics)),
        };
        Ok(ExtendedServicesResponse {
            operation_status: status,
            diagnostics,
            ..ExtendedServicesResponse::default()
        })
    }

    /// Sends one request for each record until a request is refused. The result combines the answers to the requests
    /// that were performed.
    async fn update(
        &mut self,
        request: &ExtendedServicesRequest,
        timeouts: &Timeouts,
    ) -> Result<Vec<DiagRec>, Refused> {
        let mut beside = Vec::new();
        let update = update_of(request)?;
        let action = match update.to_keep.action {
            Action::RECORD_INSERT => UpdateAction::Create,
            Action::RECORD_REPLACE => UpdateAction::Replace,
            Action::RECORD_DELETE => UpdateAction::Delete,
            other => {
                let words = format!("{other}: SRU inserts, replaces and deletes");
                return Err(Refused::because(Condition::TASK_ACTION, words));
            }
        };
        let database = update.to_keep.database_name.to_string_lossy().into_owned();
        for supplied in &update.not_to_keep {
            let change = change(action, supplied)?;
            let answer = self
                .server
                .ask(Phase::ExtendedServices, &database, change, timeouts)
                .await?;
            let diagnostics = to_diag_recs(answer.diagnostics());
            match answer {
                Response::Update(answer) if answer.success => beside.extend(diagnostics),
                Response::Update(_) => return Err(refusal(diagnostics)),
                _ if !diagnostics.is_empty() => return Err(refusal(diagnostics)),
                _ => {
                    let fault = SruFault::Operation("update");
                    return Err(Error::fault(Phase::ExtendedServices, fault).into());
                }
            }
        }
        Ok(beside)
    }
}

fn refusal(diagnostics: Vec<DiagRec>) -> Refused {
    if diagnostics.is_empty() {
        Refused::because(Condition::EXECUTION_FAILED, "the server gives no reason")
    } else {
        Refused::For(diagnostics)
    }
}

/// Returns the update in a task.
fn update_of(request: &ExtendedServicesRequest) -> Result<EsRequest, Refused> {
    let other = || {
        let words = format!("{}: SRU has updates only", request.package_type);
        Refused::because(Condition::EXTENDED_SERVICE_TYPE, words)
    };
    if request.function != ExtendedServicesFunction::CREATE {
        let words = "SRU keeps no tasks to change or delete";
        return Err(Refused::because(Condition::TASK_FUNCTION, words));
    }
    let parameters = request
        .task_specific_parameters
        .as_ref()
        .ok_or_else(other)?;
    match TaskParameters::from_external(parameters) {
        Ok(TaskParameters::Update(update)) => match *update {
            Update::EsRequest(update) => Ok(*update),
            Update::TaskPackage(_) => Err(other()),
        },
        _ => Err(other()),
    }
}

/// Returns the request to change one record. If no identifier is given for an existing record, its field 001 identifies
/// it.
fn change(action: UpdateAction, supplied: &SuppliedRecord) -> Result<UpdateRequest, Refused> {
    let mut change = UpdateRequest::new(action);
    let (xml, number) = to_xml(&supplied.record);
    change.record_identifier = match &supplied.record_id {
        Some(RecordId::Number(number)) => Some(number.to_string()),
        Some(RecordId::String(text)) => Some(text.to_string_lossy().into_owned()),
        Some(RecordId::Opaque(octets)) => {
            Some(String::from_utf8_lossy(octets.as_bytes()).into_owned())
        }
        // The server assigns an identifier to a new record, so the number in the record is not sent.
        None => number.filter(|_| action != UpdateAction::Create),
    };
    if action == UpdateAction::Delete {
        return Ok(change);
    }
    let Some(xml) = xml else {
        let words = "the record is not MARC or XML";
        return Err(Refused::because(Condition::RECORD_SYNTAX, words));
    };
    change.record = Some(SruRecord::new(MARCXML, xml));
    Ok(change)
}

/// Returns the record as XML, and its control number.
fn to_xml(record: &External) -> (Option<String>, Option<String>) {
    match RetrievedRecord::of(record) {
        RetrievedRecord::Marc(octets) => match iso2709::parse(&octets) {
            Ok(parsed) => {
                let number = parsed
                    .record
                    .control_number()
                    .map(|octets| String::from_utf8_lossy(octets).trim().to_owned());
                (Some(marcxml::to_xml(&parsed.record).text), number)
            }
            Err(_) => (None, None),
        },
        RetrievedRecord::Xml(octets) => (String::from_utf8(octets.to_vec()).ok(), None),
        _ => (None, None),
    }
}

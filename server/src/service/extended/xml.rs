//! XML ES, 1.2.840.10003.9.1000.105.4: a task that consists of an XML document, whose meaning the server defines. This server
//! accepts a MARCXML document, which updates the first database: its records are added, or replace records with the same
//! identifiers.
//!
//! The package reports the result: `<update status="success"><record id="1"/></update>`.

use bytes::Bytes;
use z3950_asn1::apdu::{DatabaseName, External};
use z3950_asn1::es::TaskParameters;
use z3950_asn1::oid;
use z3950_asn1::types::OctetString;
use z3950_marc::marcxml;
use z3950_marc::stream::{InputForm, RecordReader};
use z3950_marc::xmltext::put_attribute;

use super::{Outcome, failure_of, unsupported};
use crate::association::Association;
use crate::backend::{Update, UpdateAction, UpdateRecord};
use crate::diagnostic::Diagnostic;

/// Updates the first database with the records of the document.
///
/// # Errors
/// Condition 1057 for a document that is not MARCXML or does not contain records, or the backend's diagnostic if the database
/// cannot be updated.
pub(super) async fn answer(
    association: &Association,
    document: &OctetString,
) -> Result<Outcome, Diagnostic> {
    let records = records(document)?;
    let mut databases = association.target.backend.databases().into_iter();
    let database = databases
        .next()
        .ok_or_else(|| unsupported("no database can be updated"))?;
    let database = DatabaseName::from(database.name.as_str());
    let backend = association.backend_of(std::slice::from_ref(&database))?;
    let outcomes = backend.update(Update {
        caller: association.caller(),
        database: &database,
        action: UpdateAction::Special,
        records: &records,
    });
    let outcomes = outcomes.await?;
    let failure = failure_of(&outcomes);
    let report = report(failure.is_none(), &outcomes).into_bytes();
    Ok(Outcome::of_update(
        failure,
        TaskParameters::Xml(report.into()),
    ))
}

/// Returns the records of a MARCXML document, each as a separate document.
fn records(document: &OctetString) -> Result<Vec<UpdateRecord>, Diagnostic> {
    let mut records = Vec::new();
    for found in RecordReader::new(document.as_bytes(), InputForm::MarcXml) {
        let record = found.map_err(|error| unsupported(&error.to_string()))?;
        let record = record.record.map_err(|error| unsupported(&error))?;
        let xml = marcxml::to_xml(&record).text.into_bytes();
        records.push(UpdateRecord {
            id: None,
            record: Some(External::octet_aligned(oid::XML, xml)),
        });
    }
    if records.is_empty() {
        Err(unsupported("the document has no MARCXML record"))
    } else {
        Ok(records)
    }
}

fn report(is_done: bool, outcomes: &[Result<Bytes, Diagnostic>]) -> String {
    let status = if is_done { "success" } else { "failure" };
    let mut report = format!("<update status=\"{status}\">");
    for outcome in outcomes {
        let (name, value) = match outcome {
            Ok(id) => ("id", id.clone()),
            Err(why) => ("diagnostic", why.to_string().into()),
        };
        report.push_str(&format!("<record {name}=\""));
        put_attribute(&mut report, &value);
        report.push_str("\"/>");
    }
    report + "</update>"
}

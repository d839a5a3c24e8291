//! Converts Z39.50 records to SRU records.

use bytes::Bytes;
use z3950_asn1::apdu::{
    DatabaseName, External, ExternalEncoding, ExternalValue, NamePlusRecord, Record,
};
use z3950_asn1::oid::{OPAC, XML};
use z3950_asn1::record::opac::OpacRecord;
use z3950_asn1::sru::{
    Packing, RecordSources, SOURCE_NAMESPACE, SruCondition, SruDiagnostic, SruRecord,
};

use z3950_marc::xmltext::put_content;

use super::failure::default_form;
use super::schema::{RecordForm, SRW_DC, is_of_schema};

/// Converts a record or its surrogate diagnostic. If the record is from a database other than the one searched, or was merged
/// from several records, its extra data names its database and sources.
pub(super) fn record(
    one: NamePlusRecord,
    sources: Option<RecordSources>,
    database: &str,
    form: &RecordForm,
    packing: Packing,
) -> SruRecord {
    let name = one.name.as_ref();
    let name = name.and_then(|name| of_database(name, database));
    let sources = sources.map(|sources| RecordSources::new(None, sources.sources).to_xml());
    let extra = [name, sources].into_iter().flatten();
    let extra: Vec<Bytes> = extra.collect();
    let data = match one.record {
        Record::RetrievalRecord(external) => xml(external, form),
        Record::SurrogateDiagnostic(why) => Err(SruDiagnostic::from_bib1(&default_form(why))),
        // Fragments are never negotiated for SRU, so only records and diagnostics occur.
        _ => Err(SruDiagnostic::new(SruCondition::RETRIEVAL, "")),
    };
    let mut record = match data {
        Ok(data) => SruRecord::new(form.identifier.as_str(), data),
        Err(why) => SruRecord::surrogate(why),
    };
    record.packing = packing;
    record.extra = extra.concat().into();
    record
}

/// Returns the extra data that names the database of a record; `None` if it is the database searched.
fn of_database(name: &DatabaseName, searched: &str) -> Option<Bytes> {
    let name = name.0.to_string_lossy();
    if searched.is_empty() || name.eq_ignore_ascii_case(searched) {
        return None;
    }
    let mut element = format!("<database xmlns=\"{SOURCE_NAMESPACE}\">");
    put_content(&mut element, name.as_bytes());
    element.push_str("</database>");
    Some(element.into())
}

/// Returns the record as XML, and fails if it is not in the XML schema that was requested.
fn xml(external: External, form: &RecordForm) -> Result<Bytes, SruDiagnostic> {
    let not_available = || SruDiagnostic::new(SruCondition::NOT_IN_SCHEMA, &*form.identifier);
    let syntax = external.direct_reference.filter(|it| *it == form.syntax);
    match (syntax, &external.encoding) {
        (Some(XML), ExternalEncoding::OctetAligned(octets)) => {
            let data = match &*form.identifier {
                SRW_DC => in_srw_dc(octets).unwrap_or_else(|| octets.to_bytes()),
                _ => octets.to_bytes(),
            };
            if is_of_schema(&data, &form.identifier) {
                Ok(data)
            } else {
                Err(not_available())
            }
        }
        (Some(OPAC), _) => {
            let record = OpacRecord::from_external(&external)
                .map_err(|_| SruDiagnostic::new(SruCondition::RETRIEVAL, ""))?;
            Ok(record.to_xml().into())
        }
        _ => Err(not_available()),
    }
}

const OAI_BEGIN: &[u8] = b"<oai_dc:dc xmlns:oai_dc=\"http://www.openarchives.org/OAI/2.0/oai_dc/\"";
const OAI_END: &[u8] = b"</oai_dc:dc>";
const SRW_BEGIN: &[u8] = b"<srw_dc:dc xmlns:srw_dc=\"info:srw/schema/1/dc-schema\"";
const SRW_END: &[u8] = b"</srw_dc:dc>";

/// Converts Dublin Core from the form of OAI-PMH to that of SRU, which has a different root element; returns `None` for other
/// XML.
fn in_srw_dc(octets: &[u8]) -> Option<Bytes> {
    let rest = octets.strip_prefix(OAI_BEGIN)?;
    let inside = rest.trim_ascii_end().strip_suffix(OAI_END)?;
    Some([SRW_BEGIN, inside, SRW_END].concat().into())
}

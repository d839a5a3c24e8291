//! Reads responses in the XML that servers send. Any prefixes and namespaces, any order of elements, and missing or
//! additional elements are accepted.

use bytes::Bytes;

use super::{
    ExplainResponse, Response, ScanResponse, SearchRetrieveResponse, SruFacet, SruFacetTerm,
    SruRecord, SruTerm, UpdateResponse, WhereInList,
};
use crate::sru::request::Fields;
use crate::sru::xml::{
    ElementContent, XmlError, XmlReader, document, escape_ampersands, is_new, local_name,
};
use crate::sru::{Packing, Request, SoapFault, SruDiagnostic, SruLimits, Version};

/// The reason why a response cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResponseError {
    /// The document is not a valid response, or exceeds a limit.
    #[error(transparent)]
    Xml(#[from] XmlError),
    /// The server could not read the request in SOAP, and sent a fault.
    #[error("the server refused the request: {0}")]
    Fault(SoapFault),
}

impl Response {
    /// Parses a response, with or without a SOAP envelope.
    ///
    /// Missing elements are `None` or empty, and unknown elements are skipped. An `explain` or `diagnostics` element
    /// alone is also accepted. A response may contain both diagnostics and records. An `&` that does not begin a
    /// reference is treated as text. In a record, it is escaped and counted in [`SruRecord::escaped`].
    ///
    /// # Errors
    /// [`ResponseError`] if the document is not a response, is cut off, or exceeds `limits`.
    pub fn from_xml(octets: impl Into<Bytes>, limits: &SruLimits) -> Result<Self, ResponseError> {
        let octets = document(octets.into(), limits)?;
        let mut xml = XmlReader::tolerant(&octets, limits);
        let mut start = xml.root()?;
        if local_name(&start) == "Envelope" {
            start = body(&mut xml)?;
        }
        let version = if is_new(xml.namespace(&start)) {
            Version::V2_0
        } else {
            Version::V1_1
        };
        let response = match local_name(&start) {
            "searchRetrieveResponse" => search_retrieve(&mut xml, version)?.into(),
            "scanResponse" => scan(&mut xml, version)?.into(),
            "explainResponse" => explain(&mut xml, version)?.into(),
            "updateResponse" => update(&mut xml, version)?.into(),
            "Fault" => return Err(ResponseError::Fault(fault(&mut xml)?)),
            "explain" => {
                let begin = xml.element_start();
                xml.skip()?;
                let description = octets.slice(begin..xml.position());
                ExplainResponse::new(version, description).into()
            }
            "diagnostics" => {
                let diagnostics = diagnostics(&mut xml)?;
                SearchRetrieveResponse::failed(version, diagnostics).into()
            }
            other => return Err(XmlError::element(other).into()),
        };
        xml.finish()?;
        Ok(response)
    }
}

/// Returns the first element in the body of an envelope. The envelope is the current element.
pub(in crate::sru) fn body<'a>(
    xml: &mut XmlReader<'a>,
) -> Result<quick_xml::events::BytesStart<'a>, XmlError> {
    while let Some(start) = xml.child()? {
        match local_name(&start) {
            "Body" => return xml.child()?.ok_or(XmlError::NoElement),
            _ => xml.skip()?,
        }
    }
    Err(XmlError::NoElement)
}

/// Reads a fault (SOAP 1.1 §4.4, SOAP 1.2 §5.4).
fn fault(xml: &mut XmlReader<'_>) -> Result<SoapFault, XmlError> {
    let mut fault = SoapFault::default();
    while let Some(start) = xml.child()? {
        match local_name(&start) {
            "faultcode" | "Code" => fault.code = xml.text()?,
            "faultstring" | "Reason" => fault.reason = xml.text()?,
            "detail" | "Detail" => fault.detail = xml.text()?,
            _ => xml.skip()?,
        }
    }
    Ok(fault)
}

/// Returns the version in a `version` element, or the version of the namespace if the text is not a known version.
fn version_of(text: &str, of_namespace: Version) -> Version {
    let named = Some(text).filter(|text| !text.is_empty());
    named
        .and_then(|named| Version::for_client(Some(named)))
        .unwrap_or(of_namespace)
}

fn search_retrieve(
    xml: &mut XmlReader<'_>,
    version: Version,
) -> Result<SearchRetrieveResponse, XmlError> {
    let mut response = SearchRetrieveResponse {
        version,
        ..SearchRetrieveResponse::default()
    };
    while let Some(start) = xml.child()? {
        match local_name(&start) {
            "version" => response.version = version_of(&xml.text()?, version),
            "numberOfRecords" => response.number_of_records = xml.count("numberOfRecords")?,
            "resultSetId" => response.result_set_id = non_empty(xml.text()?),
            "resultSetIdleTime" | "resultSetTTL" => response.result_set_ttl = xml.number()?,
            "records" => records(xml, &mut response.records)?,
            "nextRecordPosition" => response.next_record_position = xml.number()?,
            "echoedSearchRetrieveRequest" => {
                response.echo = Some(echo(xml, "searchRetrieveRequest", response.version)?);
            }
            "diagnostics" => response.diagnostics.extend(diagnostics(xml)?),
            "extraResponseData" => response.extra = markup(xml)?,
            "resultCountPrecision" => response.result_count_precision = non_empty(xml.text()?),
            "facetedResults" => facets(xml, &mut response.facets)?,
            _ => xml.skip()?,
        }
    }
    Ok(response)
}

fn scan(xml: &mut XmlReader<'_>, version: Version) -> Result<ScanResponse, XmlError> {
    let mut response = ScanResponse {
        version,
        ..ScanResponse::default()
    };
    while let Some(start) = xml.child()? {
        match local_name(&start) {
            "version" => response.version = version_of(&xml.text()?, version),
            "terms" => {
                while let Some(start) = xml.child()? {
                    match local_name(&start) {
                        "term" => response.terms.push(term(xml)?),
                        _ => xml.skip()?,
                    }
                }
            }
            "echoedScanRequest" => {
                response.echo = Some(echo(xml, "scanRequest", response.version)?);
            }
            "diagnostics" => response.diagnostics.extend(diagnostics(xml)?),
            "extraResponseData" => response.extra = markup(xml)?,
            _ => xml.skip()?,
        }
    }
    Ok(response)
}

fn term(xml: &mut XmlReader<'_>) -> Result<SruTerm, XmlError> {
    let mut term = SruTerm::default();
    while let Some(start) = xml.child()? {
        match local_name(&start) {
            "value" => term.value = xml.text()?,
            "numberOfRecords" => term.number_of_records = xml.number()?,
            "displayTerm" => term.display_term = non_empty(xml.text()?),
            "whereInList" => term.where_in_list = WhereInList::by_name(&xml.text()?),
            "extraTermData" => term.extra = markup(xml)?,
            _ => xml.skip()?,
        }
    }
    Ok(term)
}

fn explain(xml: &mut XmlReader<'_>, version: Version) -> Result<ExplainResponse, XmlError> {
    let mut response = ExplainResponse {
        version,
        ..ExplainResponse::default()
    };
    while let Some(start) = xml.child()? {
        match local_name(&start) {
            "version" => response.version = version_of(&xml.text()?, version),
            "record" => response.record = Some(record(xml)?),
            "echoedExplainRequest" => {
                response.echo = Some(echo(xml, "explainRequest", response.version)?);
            }
            "diagnostics" => response.diagnostics.extend(diagnostics(xml)?),
            "extraResponseData" => response.extra = markup(xml)?,
            _ => xml.skip()?,
        }
    }
    Ok(response)
}

fn update(xml: &mut XmlReader<'_>, version: Version) -> Result<UpdateResponse, XmlError> {
    let mut response = UpdateResponse::new(version, false);
    while let Some(start) = xml.child()? {
        match local_name(&start) {
            "version" => response.version = version_of(&xml.text()?, version),
            "operationStatus" => response.success = xml.text()?.eq_ignore_ascii_case("success"),
            "recordIdentifier" => response.record_identifier = non_empty(xml.text()?),
            "recordVersions" => response.record_versions = record_versions(xml)?,
            "record" => response.record = Some(record(xml)?),
            "diagnostics" => response.diagnostics.extend(diagnostics(xml)?),
            "extraResponseData" => response.extra = markup(xml)?,
            _ => xml.skip()?,
        }
    }
    Ok(response)
}

/// Reads the versions of an updated record, each with its type and value.
pub(in crate::sru) fn record_versions(
    xml: &mut XmlReader<'_>,
) -> Result<Vec<(String, String)>, XmlError> {
    let mut versions = Vec::new();
    while xml.child()?.is_some() {
        let mut version = (String::new(), String::new());
        while let Some(start) = xml.child()? {
            match local_name(&start) {
                "versionType" => version.0 = xml.text()?,
                "versionValue" => version.1 = xml.text()?,
                _ => xml.skip()?,
            }
        }
        versions.push(version);
    }
    Ok(versions)
}

fn records(xml: &mut XmlReader<'_>, records: &mut Vec<SruRecord>) -> Result<(), XmlError> {
    while let Some(start) = xml.child()? {
        match local_name(&start) {
            "record" => {
                let limit = xml.limits().records;
                if records.len() >= limit {
                    return Err(XmlError::TooMany {
                        what: "records",
                        limit,
                        offset: xml.position(),
                    });
                }
                records.push(record(xml)?);
            }
            _ => xml.skip()?,
        }
    }
    Ok(())
}

/// Reads a record. The packing is inferred from the record's data, because the stated packing may be wrong.
fn record(xml: &mut XmlReader<'_>) -> Result<SruRecord, XmlError> {
    let (mut record, _) = record_and_count(xml)?;
    if record.data.starts_with(b"<") {
        (record.data, record.escaped) = escape_ampersands(record.data);
    }
    Ok(record)
}

/// Reads a record, and counts the elements with its data. If there are several, the last one applies.
pub(in crate::sru) fn record_and_count(
    xml: &mut XmlReader<'_>,
) -> Result<(SruRecord, usize), XmlError> {
    let mut record = SruRecord::new("", Bytes::new());
    let mut count = 0;
    while let Some(start) = xml.child()? {
        match local_name(&start) {
            "recordSchema" => record.schema = xml.text()?,
            "recordData" => {
                count += 1;
                (record.packing, record.data) = match xml.content()? {
                    ElementContent::Markup(data) => (Packing::Xml, data),
                    ElementContent::Text(text) => (Packing::String, text.into()),
                };
            }
            "recordPosition" => record.position = xml.number()?,
            "recordIdentifier" => record.identifier = non_empty(xml.text()?),
            "extraRecordData" => record.extra = markup(xml)?,
            _ => xml.skip()?,
        }
    }
    record.diagnostic = surrogate(&record, xml.limits());
    if record.diagnostic.is_some() {
        record.data = Bytes::new();
    }
    Ok((record, count))
}

/// Returns the diagnostic in place of a record, which is recognised by its schema or by the name of its element.
fn surrogate(record: &SruRecord, limits: &SruLimits) -> Option<SruDiagnostic> {
    let begin = record.data.get(..MAX_TAG).unwrap_or(&record.data);
    let begin = String::from_utf8_lossy(begin);
    if !(record.schema.contains("diagnostic") || begin.contains("diagnostic")) {
        return None;
    }
    let mut xml = XmlReader::tolerant(&record.data, limits);
    let mut start = xml.root().ok()?;
    if local_name(&start) == "diagnostics" {
        start = xml.child().ok()??;
    }
    match local_name(&start) {
        "diagnostic" => diagnostic(&mut xml).ok(),
        _ => None,
    }
}

/// The maximum offset of the element that identifies a surrogate diagnostic, in octets.
const MAX_TAG: usize = 64;

/// Reads diagnostics. Diagnostics without an enclosing `diagnostic` element are also accepted, because Perl's
/// SRU::Response sends them.
fn diagnostics(xml: &mut XmlReader<'_>) -> Result<Vec<SruDiagnostic>, XmlError> {
    let mut diagnostics: Vec<SruDiagnostic> = Vec::new();
    while let Some(start) = xml.child()? {
        match (local_name(&start), diagnostics.last_mut()) {
            ("diagnostic", _) => diagnostics.push(diagnostic(xml)?),
            ("uri", _) => diagnostics.push(SruDiagnostic::with_uri(xml.text()?, "")),
            ("details", Some(last)) => last.details = xml.text()?,
            ("message", Some(last)) => last.message = non_empty(xml.text()?),
            _ => xml.skip()?,
        }
    }
    Ok(diagnostics)
}

fn diagnostic(xml: &mut XmlReader<'_>) -> Result<SruDiagnostic, XmlError> {
    let mut diagnostic = SruDiagnostic::with_uri("", "");
    while let Some(start) = xml.child()? {
        match local_name(&start) {
            "uri" => diagnostic.uri = xml.text()?,
            "details" => diagnostic.details = xml.text()?,
            "message" => diagnostic.message = non_empty(xml.text()?),
            _ => xml.skip()?,
        }
    }
    Ok(diagnostic)
}

/// Reads facets, which may be grouped by their source.
fn facets(xml: &mut XmlReader<'_>, found: &mut Vec<SruFacet>) -> Result<(), XmlError> {
    while let Some(start) = xml.child()? {
        match local_name(&start) {
            "facet" => found.push(facet(xml)?),
            "datasource" | "facets" => facets(xml, found)?,
            _ => xml.skip()?,
        }
    }
    Ok(())
}

fn facet(xml: &mut XmlReader<'_>) -> Result<SruFacet, XmlError> {
    let mut facet = SruFacet::default();
    while let Some(start) = xml.child()? {
        match local_name(&start) {
            "index" => facet.index = xml.text()?,
            "terms" => {
                while let Some(start) = xml.child()? {
                    match local_name(&start) {
                        "term" => facet.terms.push(facet_term(xml)?),
                        _ => xml.skip()?,
                    }
                }
            }
            _ => xml.skip()?,
        }
    }
    Ok(facet)
}

fn facet_term(xml: &mut XmlReader<'_>) -> Result<SruFacetTerm, XmlError> {
    let mut term = SruFacetTerm::default();
    while let Some(start) = xml.child()? {
        match local_name(&start) {
            "actualTerm" => term.term = xml.text()?,
            "query" => term.query = non_empty(xml.text()?),
            "count" => term.count = xml.number()?.unwrap_or_default(),
            _ => xml.skip()?,
        }
    }
    Ok(term)
}

/// Reads the request in an echo. Parts that are not valid are left out.
fn echo(xml: &mut XmlReader<'_>, name: &str, version: Version) -> Result<Box<Request>, XmlError> {
    let limits = xml.limits();
    let mut fields = Fields::new(limits);
    fields.read_elements(xml)?;
    match fields.of_element(name, Some(version)) {
        Ok(request) => Ok(Box::new(request)),
        Err(refusal) => Ok(refusal.request),
    }
}

/// Returns the additional XML from the server, or its text if it has no elements.
pub(in crate::sru) fn markup(xml: &mut XmlReader<'_>) -> Result<Bytes, XmlError> {
    match xml.content()? {
        ElementContent::Markup(markup) => Ok(markup),
        ElementContent::Text(text) => {
            let mut escaped = Vec::new();
            crate::sru::xml::put_text(&mut escaped, &text);
            Ok(escaped.into())
        }
    }
}

fn non_empty(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests;

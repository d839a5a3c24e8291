//! Reads and writes requests as elements in the body of a SOAP envelope (SRU 1.1 and 1.2, "SRU via SOAP"; Record Update
//! 1.0).

use bytes::Bytes;

use super::read::Fields;
use super::{Refusal, Request, SruOperation, UpdateAction, UpdateRequest};
use crate::sru::response::{
    put_identity, put_record, read_body, read_record_and_count, read_record_versions,
};
use crate::sru::soap::envelope;
use crate::sru::xml::{
    Writer, XmlError, XmlReader, check_well_formed, document, is_new, local_name, namespace,
};
use crate::sru::{SruCondition, SruDiagnostic, SruLimits, UPDATE_VERSION, Version};

/// The reason why a request in SOAP cannot be performed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SoapRequestError {
    /// The document is not a request, so the response is a SOAP fault.
    Xml(XmlError),
    /// The request has faults, so the response contains diagnostics.
    Refused(Refusal),
}

impl From<XmlError> for SoapRequestError {
    fn from(error: XmlError) -> Self {
        Self::Xml(error)
    }
}

impl Request {
    /// Parses a request in SOAP. A request without an envelope is also accepted.
    ///
    /// # Errors
    /// [`SoapRequestError`] for text that is not well-formed XML, for XML that is not exactly one request, and for
    /// requests that [`Request::from_parameters`] would refuse.
    pub fn from_soap(
        octets: impl Into<Bytes>,
        limits: &SruLimits,
    ) -> Result<Self, SoapRequestError> {
        let octets = document(octets.into(), limits)?;
        let mut xml = XmlReader::new(&octets, limits);
        let mut start = xml.root()?;
        check_well_formed(&octets, limits)?;
        let is_wrapped = local_name(&start) == "Envelope";
        if is_wrapped {
            start = read_body(&mut xml)?;
        }
        let name = local_name(&start);
        let version = if is_new(xml.namespace(&start)) {
            Version::V2_0
        } else {
            Version::V1_1
        };
        let read = match name {
            "searchRetrieveRequest" | "scanRequest" | "explainRequest" => {
                let mut fields = Fields::new(limits);
                fields.read_elements(&mut xml)?;
                fields.of_element(name, Some(version))
            }
            "updateRequest" => update(&mut xml, version)?,
            other => return Err(XmlError::element(other).into()),
        };
        if is_wrapped {
            check_rest(&mut xml)?;
        }
        read.map_err(SoapRequestError::Refused)
    }

    /// Returns the request as a SOAP document.
    pub fn to_soap(&self) -> Vec<u8> {
        let mut out = Vec::new();
        envelope(&mut out, |to| match &self.operation {
            SruOperation::Update(update) => self.put_update(update, to.out),
            operation => {
                let (name, namespace) = element(operation, self.version);
                let mut to = to.with("zs:");
                to.begin_with(name, &[("zs", namespace)]);
                if self.version != Version::V2_0 {
                    to.text("version", self.version.as_str());
                }
                self.put_elements(&mut to);
                to.end(name);
            }
        });
        out
    }

    fn put_update(&self, update: &UpdateRequest, out: &mut Vec<u8>) {
        let namespaces = [("zu", namespace::UPDATE), ("zs", namespace::SRU)];
        let mut to = Writer { out, prefix: "zu:" };
        to.begin_with("updateRequest", &namespaces);
        to.with("zs:").text("version", UPDATE_VERSION);
        to.text("action", update.action.uri());
        put_identity(
            &mut to,
            update.record_identifier.as_deref(),
            &update.record_versions,
        );
        let mut inner = to.with("zs:");
        if let Some(record) = &update.record {
            put_record(&mut inner, record, Version::V1_1);
        }
        self.put_elements(&mut inner);
        to.end("updateRequest");
    }
}

/// Returns an error if elements that would be ignored follow a request in its envelope: another request in the body, or
/// another body.
fn check_rest(xml: &mut XmlReader<'_>) -> Result<(), XmlError> {
    if let Some(start) = xml.child()? {
        return Err(XmlError::element(local_name(&start)));
    }
    while let Some(start) = xml.child()? {
        match local_name(&start) {
            "Body" => return Err(XmlError::element("Body")),
            _ => xml.skip()?,
        }
    }
    Ok(())
}

/// Returns the name of a request's element, and its namespace.
fn element(operation: &SruOperation, version: Version) -> (&'static str, &'static str) {
    let of_request = match version {
        Version::V1_1 | Version::V1_2 => namespace::SRU,
        Version::V2_0 => namespace::NEW_REQUEST,
    };
    match operation {
        SruOperation::SearchRetrieve(_) => ("searchRetrieveRequest", of_request),
        SruOperation::Scan(_) => ("scanRequest", namespace::scan(version)),
        SruOperation::Explain(_) => ("explainRequest", of_request),
        SruOperation::Update(_) => ("updateRequest", namespace::UPDATE),
    }
}

impl Fields<'_> {
    /// Adds the children of the current element as parameters with the same names.
    pub(in crate::sru) fn read_elements(
        &mut self,
        xml: &mut XmlReader<'_>,
    ) -> Result<(), XmlError> {
        while let Some(start) = xml.child()? {
            self.check_count(xml)?;
            self.read_element(local_name(&start), xml)?;
        }
        Ok(())
    }

    /// Returns an error if a request has more elements than the limit on parameters allows.
    fn check_count(&self, xml: &XmlReader<'_>) -> Result<(), XmlError> {
        if self.is_full() {
            Err(XmlError::TooMany {
                what: "elements in a request",
                limit: xml.limits().parameters,
                offset: xml.position(),
            })
        } else {
            Ok(())
        }
    }

    fn read_element(&mut self, name: &str, xml: &mut XmlReader<'_>) -> Result<(), XmlError> {
        match name {
            "pQuery" => self.push("x-pquery".into(), xml.text()?),
            "pScanClause" => self.push("x-pScanClause".into(), xml.text()?),
            // In an echo, this element holds all facet parameters.
            "facetParameters" => {
                for pair in xml.text()?.split('&') {
                    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                    self.push(name.into(), value.into());
                }
            }
            "extraRequestParameter" => {
                let text = xml.text()?;
                let (name, value) = text.split_once('=').unwrap_or((&text, ""));
                self.push(name.into(), value.into());
            }
            "extraRequestData" => {
                while let Some(start) = xml.child()? {
                    self.check_count(xml)?;
                    let name = format!("x-{}", local_name(&start));
                    self.push(name, xml.text()?);
                }
            }
            // These elements only repeat the query, which is also present as text.
            "xQuery" | "xScanClause" => xml.skip()?,
            name => self.push(name.into(), xml.text()?),
        }
        Ok(())
    }
}

/// Reads an update. The outer result is an error if the XML is malformed; the inner one is an error if the request is
/// not valid.
fn update(xml: &mut XmlReader<'_>, version: Version) -> Result<Result<Request, Refusal>, XmlError> {
    let mut fields = Fields::new(xml.limits());
    let mut update = UpdateRequest::new(UpdateAction::Create);
    while let Some(start) = xml.child()? {
        fields.check_count(xml)?;
        match local_name(&start) {
            "recordVersions" => update.record_versions.extend(read_record_versions(xml)?),
            "record" => {
                let (record, count) = read_record_and_count(xml)?;
                if update.record.replace(record).is_some() {
                    fields.add(repeated("record"));
                } else if count > 1 {
                    fields.add(repeated("recordData"));
                }
            }
            name => fields.read_element(name, xml)?,
        }
    }
    update.record_identifier = fields.take("recordIdentifier");
    match fields.take("action") {
        None => fields.fail(SruCondition::PARAMETER_MISSING, "action".into(), ""),
        Some(uri) => match UpdateAction::by_uri(&uri) {
            Some(action) => update.action = action,
            None => fields.add(SruDiagnostic::update(100, uri)),
        },
    }
    fields.version(Some(version));
    Ok(fields.finish_element(update.into()))
}

/// Returns diagnostic 6 about a repeated component, because an update has only one record.
fn repeated(component: &str) -> SruDiagnostic {
    SruDiagnostic::update(6, component)
}

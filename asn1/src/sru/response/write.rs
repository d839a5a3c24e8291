//! Writes responses as XML, in the order of the schemas (`srw-types.xsd` for 1.1 and 1.2, `sruResponse.xsd` and
//! `scan.xsd` from OASIS), with the prefixes that YAZ writes and clients look for.

use std::borrow::Cow;

use super::{
    ExplainResponse, Response, ScanResponse, SearchRetrieveResponse, SruFacet, SruRecord,
    UpdateResponse,
};
use crate::sru::xml::{Writer, namespace, put_attribute, put_text};
use crate::sru::{DECLARATION, Packing, Request, SruDiagnostic, UPDATE_VERSION, Version};

impl Response {
    /// Returns the response as a document. `stylesheet` is the URL of a stylesheet that the client applies.
    pub fn to_xml(&self, stylesheet: Option<&str>) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.capacity());
        out.extend_from_slice(DECLARATION.as_bytes());
        if let Some(stylesheet) = stylesheet {
            out.extend_from_slice(b"<?xml-stylesheet type=\"text/xsl\" href=\"");
            put_attribute(&mut out, &stylesheet.replace("?>", "?%3E"));
            out.extend_from_slice(b"\"?>\n");
        }
        self.write(&mut out);
        out.push(b'\n');
        out
    }

    /// Appends the response as an element.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut writer = Writer { out, prefix: "zs:" };
        match self {
            Self::SearchRetrieve(response) => response.write(&mut writer),
            Self::Scan(response) => response.write(&mut writer),
            Self::Explain(response) => response.write(&mut writer),
            Self::Update(response) => response.write(&mut writer),
        }
    }

    /// Estimates the number of octets in the response.
    pub(in crate::sru) fn capacity(&self) -> usize {
        let records: &[SruRecord] = match self {
            Self::SearchRetrieve(response) => &response.records,
            Self::Scan(response) => return 2048 + response.terms.len() * 200,
            Self::Explain(response) => response.record.as_slice(),
            Self::Update(response) => response.record.as_slice(),
        };
        let records = records.iter().map(|record| {
            // Escaping, mostly of `<` and `>`, makes the data about half as long again.
            let data = match record.packing {
                Packing::Xml => record.data.len(),
                Packing::String => record.data.len() * 3 / 2,
            };
            data + 400
        });
        2048 + records.sum::<usize>()
    }
}

impl SearchRetrieveResponse {
    fn write(&self, to: &mut Writer<'_>) {
        const NAME: &str = "searchRetrieveResponse";
        let is_new = self.version == Version::V2_0;
        to.begin_with(NAME, &[("zs", namespace::response(self.version))]);
        put_version(to, self.version);
        let total = self.number_of_records;
        to.number("numberOfRecords", total.or((!is_new).then_some(0)));
        to.optional("resultSetId", self.result_set_id.as_deref());
        if !is_new {
            to.number("resultSetIdleTime", self.result_set_ttl);
        }
        if !self.records.is_empty() {
            to.begin("records");
            for record in &self.records {
                put_record(to, record, self.version);
            }
            to.end("records");
        }
        to.number("nextRecordPosition", self.next_record_position);
        put_echo(to, "echoedSearchRetrieveRequest", self.echo.as_deref());
        put_diagnostics(to, &self.diagnostics, self.version);
        if is_new {
            to.markup("extraResponseData", &self.extra);
            to.number("resultSetTTL", self.result_set_ttl);
            let precision = self.result_count_precision.as_deref();
            to.optional("resultCountPrecision", precision);
            put_facets(to, &self.facets);
        } else if self.facets.is_empty() {
            to.markup("extraResponseData", &self.extra);
        } else {
            // Older versions do not define an element for facets, so they are sent as extra data.
            to.begin("extraResponseData");
            to.raw(&self.extra);
            put_facets(&mut to.with("fr:"), &self.facets);
            to.end("extraResponseData");
        }
        to.end(NAME);
    }
}

impl ScanResponse {
    fn write(&self, to: &mut Writer<'_>) {
        to.begin_with("scanResponse", &[("zs", namespace::scan(self.version))]);
        put_version(to, self.version);
        if !self.terms.is_empty() {
            to.begin("terms");
            for term in &self.terms {
                to.begin("term");
                to.text("value", &term.value);
                to.number("numberOfRecords", term.number_of_records);
                to.optional("displayTerm", term.display_term.as_deref());
                let place = term.where_in_list.map(super::WhereInList::as_str);
                to.optional("whereInList", place);
                to.markup("extraTermData", &term.extra);
                to.end("term");
            }
            to.end("terms");
        }
        put_echo(to, "echoedScanRequest", self.echo.as_deref());
        put_diagnostics(to, &self.diagnostics, self.version);
        to.markup("extraResponseData", &self.extra);
        to.end("scanResponse");
    }
}

impl ExplainResponse {
    fn write(&self, to: &mut Writer<'_>) {
        let namespace = namespace::response(self.version);
        to.begin_with("explainResponse", &[("zs", namespace)]);
        put_version(to, self.version);
        if let Some(record) = &self.record {
            put_record(to, record, self.version);
        }
        put_echo(to, "echoedExplainRequest", self.echo.as_deref());
        put_diagnostics(to, &self.diagnostics, self.version);
        to.markup("extraResponseData", &self.extra);
        to.end("explainResponse");
    }
}

impl UpdateResponse {
    /// Writes the response with the 1.1 namespaces, because updates have no others.
    fn write(&self, to: &mut Writer<'_>) {
        let namespaces = [("zu", namespace::UPDATE), ("zs", namespace::SRU)];
        to.with("zu:").begin_with("updateResponse", &namespaces);
        to.text("version", UPDATE_VERSION);
        let mut update = to.with("zu:");
        let status = if self.success { "success" } else { "fail" };
        update.text("operationStatus", status);
        put_identity(
            &mut update,
            self.record_identifier.as_deref(),
            &self.record_versions,
        );
        if let Some(record) = &self.record {
            put_record(to, record, Version::V1_1);
        }
        put_diagnostics(to, &self.diagnostics, Version::V1_1);
        to.markup("extraResponseData", &self.extra);
        to.with("zu:").end("updateResponse");
    }
}

/// Writes the identifier and the versions of an updated record.
pub(in crate::sru) fn put_identity(
    to: &mut Writer<'_>,
    identifier: Option<&str>,
    versions: &[(String, String)],
) {
    to.optional("recordIdentifier", identifier);
    if !versions.is_empty() {
        to.begin("recordVersions");
        for (kind, value) in versions {
            to.begin("recordVersion");
            to.text("versionType", kind);
            to.text("versionValue", value);
            to.end("recordVersion");
        }
        to.end("recordVersions");
    }
}

/// Writes the version, except in 2.0, which has no such element.
fn put_version(to: &mut Writer<'_>, version: Version) {
    if version != Version::V2_0 {
        to.text("version", version.as_str());
    }
}

pub(in crate::sru) fn put_record(to: &mut Writer<'_>, record: &SruRecord, version: Version) {
    to.begin("record");
    to.text("recordSchema", &record.schema);
    let packing = match version {
        Version::V1_1 | Version::V1_2 => "recordPacking",
        Version::V2_0 => "recordXMLEscaping",
    };
    to.text(packing, record.packing.as_str());
    to.begin("recordData");
    match (&record.diagnostic, record.packing) {
        (Some(diagnostic), Packing::Xml) => put_surrogate(to, diagnostic),
        (Some(diagnostic), Packing::String) => {
            let mut markup = Vec::new();
            let mut inner = Writer {
                out: &mut markup,
                prefix: "",
            };
            put_surrogate(&mut inner, diagnostic);
            put_text(to.out, &String::from_utf8_lossy(&markup));
        }
        (None, Packing::Xml) => to.raw(without_declaration(&record.data)),
        (None, Packing::String) => {
            let data = without_declaration(&record.data);
            match std::str::from_utf8(data) {
                Ok(text) => put_text(to.out, text),
                Err(_) => put_text(to.out, &String::from_utf8_lossy(data)),
            }
        }
    }
    to.end("recordData");
    to.optional("recordIdentifier", record.identifier.as_deref());
    to.number("recordPosition", record.position);
    to.markup("extraRecordData", &record.extra);
    to.end("record");
}

/// Returns a record without its XML declaration, which is allowed only at the beginning of a document.
fn without_declaration(data: &[u8]) -> &[u8] {
    let data = data.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(data);
    if !data.starts_with(b"<?xml ") {
        return data;
    }
    let end = data.windows(2).position(|octets| octets == b"?>");
    let rest = end.and_then(|end| data.get(end + 2..)).unwrap_or(data);
    rest.trim_ascii_start()
}

/// Writes a diagnostic in place of a record. In every version, it has the namespace of 1.1, which clients look for.
fn put_surrogate(to: &mut Writer<'_>, diagnostic: &SruDiagnostic) {
    to.raw(b"<diagnostic xmlns=\"");
    to.raw(namespace::DIAGNOSTIC.as_bytes());
    to.raw(b"\">");
    put_diagnostic(&mut to.with(""), diagnostic);
    to.raw(b"</diagnostic>");
}

pub(in crate::sru) fn put_diagnostics(
    to: &mut Writer<'_>,
    diagnostics: &[SruDiagnostic],
    version: Version,
) {
    if diagnostics.is_empty() {
        return;
    }
    let namespace = namespace::diagnostic(version);
    to.begin_with("diagnostics", &[("diag", namespace)]);
    for diagnostic in diagnostics {
        let mut to = to.with("diag:");
        to.begin("diagnostic");
        put_diagnostic(&mut to, diagnostic);
        to.end("diagnostic");
    }
    to.end("diagnostics");
}

fn put_diagnostic(to: &mut Writer<'_>, diagnostic: &SruDiagnostic) {
    to.text("uri", &diagnostic.uri);
    for (name, text) in [
        ("details", &*diagnostic.details),
        ("message", diagnostic.words()),
    ] {
        if !text.is_empty() {
            to.text(name, &shown(text));
        }
    }
}

/// Returns text in which characters that control a terminal or the direction of text are replaced, because the text
/// often repeats what a client sent.
fn shown(text: &str) -> Cow<'_, str> {
    let controls = |character: char| match character {
        '\n' | '\t' => false,
        '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        character => character.is_control(),
    };
    if text.contains(controls) {
        text.replace(controls, "\u{fffd}").into()
    } else {
        text.into()
    }
}

fn put_facets(to: &mut Writer<'_>, facets: &[SruFacet]) {
    if facets.is_empty() {
        return;
    }
    to.begin_with("facetedResults", &[("fr", namespace::FACETS)]);
    for facet in facets {
        let mut to = to.with("fr:");
        to.begin("facet");
        to.text("index", &facet.index);
        to.begin("terms");
        for term in &facet.terms {
            to.begin("term");
            to.text("actualTerm", &term.term);
            to.optional("query", term.query.as_deref());
            to.number("count", Some(term.count));
            to.end("term");
        }
        to.end("terms");
        to.end("facet");
    }
    to.end("facetedResults");
}

/// Writes the request as the server understood it, without the login.
fn put_echo(to: &mut Writer<'_>, name: &str, request: Option<&Request>) {
    let Some(request) = request else { return };
    to.begin(name);
    request.put_echo(to);
    to.end(name);
}

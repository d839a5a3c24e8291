//! The origin of the records found by a search, as sent in the `extraResponseData` of a response, and the origin of a
//! single record, as sent in its `extraRecordData`. This project defines the elements, because SRU has no elements for
//! this purpose.
//!
//! ```xml
//! <searched xmlns="urn:x-z3950d:source">
//!   <source database="union@town" records="4"/>
//!   <source database="union@closed" condition="109">cannot connect: connection refused</source>
//!   <remark>the first 100 records of each target are merged</remark>
//! </searched>
//! ```
//!
//! `condition` is a Bib-1 condition.

use bytes::Bytes;

use super::record_sources::SOURCE_NAMESPACE;
use super::xml::{Writer, XmlError, XmlReader, attribute, local_name};
use super::{SearchRetrieveResponse, SruLimits, SruRecord};
use crate::apdu::DefaultDiagFormat;
use crate::format::sources::{MAX_SOURCES, SearchSource, SearchSources};

impl SearchRetrieveResponse {
    /// Returns the response with the sources of its records added as extra data.
    #[must_use]
    pub fn with_sources(mut self, sources: &SearchSources) -> Self {
        if *sources != SearchSources::default() {
            self.extra = [&*self.extra, &*to_xml(sources)].concat().into();
        }
        self
    }

    /// Returns the sources named in the extra data. Malformed sources are left out.
    pub fn sources(&self, limits: &SruLimits) -> SearchSources {
        let mut found = SearchSources::default();
        // An error means that the rest of the extra data is not about sources, so the sources read so far are kept.
        let _ = read(&self.extra, limits, &mut found);
        found
    }
}

impl SruRecord {
    /// Returns the name of the database from which the record comes, if the extra data contains it.
    pub fn database(&self, limits: &SruLimits) -> Option<String> {
        if self.extra.is_empty() {
            return None;
        }
        let mut xml = XmlReader::new(&self.extra, limits);
        while let Ok(Some(start)) = xml.child() {
            if local_name(&start) == "database" && xml.namespace(&start) == SOURCE_NAMESPACE {
                return xml.text().ok().filter(|name| !name.is_empty());
            }
            xml.skip().ok()?;
        }
        None
    }
}

fn to_xml(sources: &SearchSources) -> Vec<u8> {
    let mut out = Vec::new();
    let mut to = Writer {
        out: &mut out,
        prefix: "",
    };
    to.open("searched", &[("xmlns", SOURCE_NAMESPACE)]);
    for source in &sources.sources {
        let mut attributes = vec![("database", source.name.as_str())];
        let records = source.records.map(|records| records.to_string());
        attributes.extend(records.as_deref().map(|records| ("records", records)));
        let failure = source.failure.as_ref();
        let condition = failure.map(|failure| failure.condition.to_string());
        attributes.extend(condition.as_deref().map(|number| ("condition", number)));
        to.open("source", &attributes);
        if let Some(failure) = failure {
            to.content(&failure.addinfo.to_string_lossy());
        }
        to.end("source");
    }
    for remark in &sources.remarks {
        to.text("remark", remark);
    }
    to.end("searched");
    out
}

fn read(extra: &Bytes, limits: &SruLimits, found: &mut SearchSources) -> Result<(), XmlError> {
    let mut xml = XmlReader::new(extra, limits);
    while let Some(start) = xml.child()? {
        if local_name(&start) == "searched" && xml.namespace(&start) == SOURCE_NAMESPACE {
            read_sources(&mut xml, found)?
        } else {
            xml.skip()?
        }
    }
    Ok(())
}

fn read_sources(xml: &mut XmlReader<'_>, found: &mut SearchSources) -> Result<(), XmlError> {
    while let Some(start) = xml.child()? {
        let value = |name| attribute(&start, name);
        match local_name(&start) {
            "source" if found.sources.len() < MAX_SOURCES => {
                let (name, records) = (value("database"), value("records"));
                let condition = value("condition").and_then(|number| number.parse().ok());
                let words = xml.text()?;
                found.sources.push(SearchSource {
                    name: name.unwrap_or_default(),
                    records: records.and_then(|number| number.parse().ok()),
                    failure: condition.map(|condition| DefaultDiagFormat::bib1(condition, &*words)),
                });
            }
            "remark" if found.remarks.len() < MAX_SOURCES => found.remarks.push(xml.text()?),
            _ => xml.skip()?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sru::{Response, Version};

    #[test]
    fn sources_are_read_as_they_are_written() {
        let sources = SearchSources {
            sources: vec![
                SearchSource {
                    name: "u@\"a\"&b".into(),
                    records: Some(4),
                    failure: None,
                },
                SearchSource {
                    name: "u@c".into(),
                    records: None,
                    failure: Some(DefaultDiagFormat::bib1(109, "<none>")),
                },
            ],
            remarks: vec!["later ones may repeat".into()],
        };
        let limits = SruLimits::default();
        for version in [Version::V1_1, Version::V2_0] {
            let mut record = SruRecord::new("s", "<a/>");
            let named = "<x/><database xmlns=\"urn:x-z3950d:source\">u@a/&lt;b>&amp;</database>";
            record.extra = named.into();
            let response = SearchRetrieveResponse::new(version, 4, 1, vec![record]);
            let mut response = response.with_sources(&sources);
            response.extra = [b"<other>x</other>", &*response.extra].concat().into();
            let xml = Response::from(response).to_xml(None);
            let read = Response::from_xml(xml, &limits).expect("an answer");
            let Response::SearchRetrieve(read) = read else {
                panic!("{read:?}");
            };
            assert_eq!(read.sources(&limits), sources);
            let record = read.records.first().expect("a record");
            assert_eq!(record.database(&limits).as_deref(), Some("u@a/<b>&"));
        }
    }

    #[test]
    fn messages_of_other_servers_are_not_sources() {
        for extra in [
            "",
            "text",
            "<searched><source database=\"a\" records=\"1\"/></searched>",
            "<searched xmlns=\"urn:other\"><source database=\"a\"/></searched>",
            "<searched xmlns=\"urn:x-z3950d:source\"><remark>",
        ] {
            let response = SearchRetrieveResponse {
                extra: extra.into(),
                ..SearchRetrieveResponse::default()
            };
            assert_eq!(
                response.sources(&SruLimits::default()),
                SearchSources::default(),
                "{extra}"
            );
        }
    }
}

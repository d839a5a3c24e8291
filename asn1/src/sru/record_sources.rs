//! The databases that contain a record that was merged from several records. They are sent in the `extraRecordData` of
//! SRU and in the otherInfo of Z39.50 responses. This project defines the elements, because neither standard has
//! elements for this purpose.
//!
//! ```xml
//! <sources xmlns="urn:x-z3950d:source" record="3">
//!   <source database="union@lib.example/cat" position="1" id="pg158"/>
//!   <source database="union@other.example/cat" position="4" id="x17"/>
//! </sources>
//! ```

use bytes::Bytes;

use super::SruLimits;
use super::xml::{Writer, XmlError, XmlReader, attribute, document, local_name};
use crate::apdu::{External, Information, OtherInformation, OtherInformationUnit};
use crate::oid::XML;

/// The XML namespace of the elements defined here.
pub const SOURCE_NAMESPACE: &str = "urn:x-z3950d:source";

/// The maximum number of sources accepted for a record.
pub const MAX_SOURCES: usize = 256;

/// The databases that contain a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordSources {
    /// The number of the record in a response, counted from 1; `None` if the sources are sent with the record itself.
    pub record: Option<u64>,
    /// The databases that contain the record.
    pub sources: Vec<RecordSource>,
}

/// A database that contains a record, and the record's position and number there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordSource {
    /// The name of the database, by which it can be searched.
    pub database: String,
    /// The position of the record in the database's own result for the same query, counted from 1.
    pub position: Option<u64>,
    /// The control number of the record in the database.
    pub id: Option<String>,
}

impl RecordSource {
    /// Creates a source with the name of a database only.
    pub fn new(database: impl Into<String>) -> Self {
        Self {
            database: database.into(),
            ..Self::default()
        }
    }
}

impl RecordSources {
    /// Creates the sources of a record.
    pub fn new(record: Option<u64>, sources: Vec<RecordSource>) -> Self {
        Self { record, sources }
    }

    /// Returns the sources as an XML element.
    pub fn to_xml(&self) -> Bytes {
        let mut out = Vec::new();
        let mut xml = Writer {
            out: &mut out,
            prefix: "",
        };
        let record = self.record.map(|record| record.to_string());
        let mut attributes = vec![("xmlns", SOURCE_NAMESPACE)];
        attributes.extend(record.as_deref().map(|record| ("record", record)));
        xml.open("sources", &attributes);
        for source in &self.sources {
            let position = source.position.map(|position| position.to_string());
            let mut attributes = vec![("database", &*source.database)];
            attributes.extend(position.as_deref().map(|position| ("position", position)));
            attributes.extend(source.id.as_deref().map(|id| ("id", id)));
            xml.open("source", &attributes);
            xml.end("source");
        }
        xml.end("sources");
        out.into()
    }

    /// Parses the sources from an XML element. At most [`MAX_SOURCES`] sources are kept.
    ///
    /// # Errors
    /// [`XmlError`] for any other element, and for XML that exceeds `limits`.
    pub fn from_xml(octets: impl Into<Bytes>, limits: &SruLimits) -> Result<Self, XmlError> {
        let octets = document(octets.into(), limits)?;
        let mut xml = XmlReader::new(&octets, limits);
        let root = xml.root()?;
        if local_name(&root) != "sources" || xml.namespace(&root) != SOURCE_NAMESPACE {
            return Err(XmlError::element(local_name(&root)));
        }
        let number = |text: Option<String>| text?.parse().ok();
        let mut read = Self::new(number(attribute(&root, "record")), Vec::new());
        while let Some(start) = xml.child()? {
            if local_name(&start) == "source"
                && read.sources.len() < MAX_SOURCES
                && let Some(database) = attribute(&start, "database")
            {
                read.sources.push(RecordSource {
                    database,
                    position: number(attribute(&start, "position")),
                    id: attribute(&start, "id"),
                });
            }
            xml.skip()?;
        }
        xml.finish()?;
        Ok(read)
    }

    /// Returns the sources as a unit for a response's otherInfo.
    pub fn to_unit(&self) -> OtherInformationUnit {
        let external = External::octet_aligned(XML, self.to_xml());
        OtherInformationUnit {
            category: None,
            information: Information::ExternallyDefinedInfo(external),
        }
    }

    /// Returns the sources of each record in a response, from its otherInfo.
    pub fn all(information: &OtherInformation) -> impl Iterator<Item = Self> {
        let limits = SruLimits::default();
        information.0.iter().filter_map(move |unit| {
            let Information::ExternallyDefinedInfo(external) = &unit.information else {
                return None;
            };
            let is_xml = external.direct_reference == Some(XML);
            let octets = || Bytes::copy_from_slice(external.octets());
            is_xml.then(|| Self::from_xml(octets(), &limits).ok())?
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(database: &str, position: Option<u64>, id: Option<&str>) -> RecordSource {
        RecordSource {
            database: database.to_owned(),
            position,
            id: id.map(str::to_owned),
        }
    }

    #[test]
    fn sources_are_read_as_they_are_written() {
        let sources = vec![
            source("u@a:210/b", Some(1), Some("x\"<17>&")),
            source("u@\u{202e}é", None, None),
        ];
        let written = RecordSources::new(Some(3), sources);
        let xml = written.to_xml();
        assert_eq!(
            String::from_utf8_lossy(&xml),
            "<sources xmlns=\"urn:x-z3950d:source\" record=\"3\">\
             <source database=\"u@a:210/b\" position=\"1\" id=\"x&quot;&lt;17&gt;&amp;\"></source>\
             <source database=\"u@\u{202e}é\"></source></sources>"
        );
        let limits = SruLimits::default();
        assert_eq!(RecordSources::from_xml(xml, &limits), Ok(written.clone()));
        let unit = written.to_unit();
        let information = OtherInformation(vec![unit.clone(), unit]);
        assert_eq!(RecordSources::all(&information).count(), 2);
    }

    #[test]
    fn other_elements_are_refused_and_sources_limited() {
        let limits = SruLimits::default();
        for xml in [
            "",
            "<sources/>",
            "<source xmlns=\"urn:x-z3950d:source\"/>",
            "<sources xmlns=\"urn:x-z3950d:source\">",
            "<!DOCTYPE x><sources xmlns=\"urn:x-z3950d:source\"/>",
        ] {
            assert!(RecordSources::from_xml(xml, &limits).is_err(), "{xml}");
        }
        for number in [MAX_SOURCES, MAX_SOURCES + 1] {
            let one = source("a", Some(1), None);
            let xml = RecordSources::new(None, vec![one; number]).to_xml();
            let read = RecordSources::from_xml(xml, &limits).expect("valid");
            assert_eq!((read.record, read.sources.len()), (None, MAX_SOURCES));
        }
    }
}

//! A record from a result set, as title, text, MARC, JSON and holdings (Z39.50-2003 Appendix REC).

use bytes::Bytes;
use serde_json::Value;
use z3950_asn1::apdu::External;
use z3950_asn1::codec::dump;
use z3950_asn1::describe::Describe;
use z3950_asn1::oid::{GRS_1, OPAC, Oid, SUMMARY};
pub use z3950_asn1::record::holdings::Holding;
use z3950_asn1::record::{RetrievedRecord, holdings};
pub use z3950_asn1::sru::RecordSource;
use z3950_asn1::types::InternationalString;
use z3950_marc::charset::{self, Charset, utf8_or_latin1};
use z3950_marc::crosswalk::{Citation, described_in_xml, dublin_core};
use z3950_marc::stream::marcxml_record;
use z3950_marc::{MarcRecord, iso2709, marcjson, marcline, marcxml, text_lossless};

use crate::error::{Error, Phase};
use crate::protocol::service::ResultRecord;

/// A record from a result set.
///
/// Its octets are kept as received, and its text is returned in UTF-8. The character set is the one that the record
/// declares or that is detected, unless the target's profile overrides it.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    external: External,
    database: Option<String>,
    position: Option<u64>,
    charset: Option<Charset>,
    sources: Vec<RecordSource>,
}

impl Record {
    /// Creates a record from an EXTERNAL, with its 1-based position in a result set, if any.
    pub fn new(external: External, position: Option<u64>) -> Self {
        Self {
            external,
            position,
            database: None,
            charset: None,
            sources: Vec::new(),
        }
    }

    /// Creates a record from a `ResultRecord` and its 1-based position in a result set. A diagnostic in place of the
    /// record is an error.
    ///
    /// # Errors
    /// [`Error::Refused`] with the diagnostic.
    pub fn of(record: ResultRecord, position: Option<u64>) -> Result<Self, Error> {
        match record {
            ResultRecord::Record {
                database,
                external,
                sources,
                ..
            } => {
                let record = Self::new(external, position).in_database(database);
                Ok(record.with_sources(sources))
            }
            ResultRecord::Diagnostic { diagnostic, .. } => Err(Error::Refused {
                phase: Phase::Present,
                diagnostics: diagnostic.into(),
            }),
        }
    }

    /// Sets the character set, which overrides the one that the record declares.
    #[must_use]
    pub fn with_charset(self, charset: Option<Charset>) -> Self {
        Self { charset, ..self }
    }

    /// Returns the character set that overrides the one that the record declares, or `None` if none was set.
    pub fn charset(&self) -> Option<Charset> {
        self.charset
    }

    /// Sets the name of the record's database.
    #[must_use]
    pub fn with_database(self, database: Option<String>) -> Self {
        Self { database, ..self }
    }

    /// Sets the databases that contain the record.
    #[must_use]
    pub fn with_sources(self, sources: Vec<RecordSource>) -> Self {
        Self { sources, ..self }
    }

    /// Sets the name of the record's database.
    #[must_use]
    pub(crate) fn in_database(self, name: Option<InternationalString>) -> Self {
        let database = name.map(|name| name.to_string_lossy().into_owned());
        Self { database, ..self }
    }

    /// Returns the 1-based position of the record in its result set, if it has one.
    pub fn position(&self) -> Option<u64> {
        self.position
    }

    /// Returns the name of the record's database, if the server names it.
    pub fn database(&self) -> Option<&str> {
        self.database.as_deref()
    }

    /// Returns the databases that contain the record, if it was merged from several records. This is known only if the
    /// server reports it over Z39.50, as `z3950d` does for databases that merge the databases of other servers.
    pub fn sources(&self) -> &[RecordSource] {
        &self.sources
    }

    /// Returns the record syntax, if the server names it.
    pub fn syntax(&self) -> Option<Oid> {
        self.external.direct_reference
    }

    /// Returns the octets of the record as received.
    pub fn octets(&self) -> Bytes {
        RetrievedRecord::octets_of(&self.external)
    }

    /// Returns the EXTERNAL as received.
    pub fn external(&self) -> &External {
        &self.external
    }

    /// Returns the record decoded according to its syntax. Use this for data that no method here returns.
    pub fn retrieved(&self) -> RetrievedRecord {
        RetrievedRecord::of(&self.external)
    }

    /// Returns the MARC record in UTF-8, from ISO 2709, MARCXML, or an OPAC record. Returns `None` for other and for
    /// malformed records.
    pub fn marc(&self) -> Option<MarcRecord> {
        match self.retrieved() {
            RetrievedRecord::Marc(octets) => self.marc_of(&octets),
            RetrievedRecord::Xml(octets) => marc_in_xml(&octets),
            RetrievedRecord::Opac(record) => {
                match RetrievedRecord::of(record.bibliographic_record.as_ref()?) {
                    RetrievedRecord::Marc(octets) => self.marc_of(&octets),
                    RetrievedRecord::Xml(octets) => marc_in_xml(&octets),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Returns the bibliographic record in an OPAC record, or `None` if it contains none, or if the record has a
    /// different syntax.
    pub fn bibliographic(&self) -> Option<Self> {
        let RetrievedRecord::Opac(record) = self.retrieved() else {
            return None;
        };
        Some(Self {
            external: record.bibliographic_record?,
            ..self.clone()
        })
    }

    /// Returns the title on one line. It is taken from MARC 21 (245), UNIMARC (200), MODS, Dublin Core, Summary or
    /// GRS-1. In other XML, it is taken from the first element `title`.
    pub fn title(&self) -> Option<String> {
        self.citation().title
    }

    /// Returns the title, author, year and identifiers of a MARC, MODS or Dublin Core record. For other records,
    /// returns only the [`title`](Self::title).
    pub fn citation(&self) -> Citation {
        if let Some(record) = self.marc().or_else(|| self.described()) {
            return Citation::of(&record);
        }
        let mut citation = Citation::default();
        citation.title = match self.retrieved() {
            RetrievedRecord::Summary(record) => text(Some(&record.title)),
            RetrievedRecord::Grs1(record) => titled(&record.to_json()),
            RetrievedRecord::Xml(octets) => dublin_core::title_in_xml(&octets),
            _ => None,
        };
        citation
    }

    /// Returns the contents of a MODS or Dublin Core record in XML as MARC 21, for citations and tables; see
    /// [`described_in_xml`].
    pub(crate) fn described(&self) -> Option<MarcRecord> {
        match self.retrieved() {
            RetrievedRecord::Xml(octets) => described_in_xml(&octets),
            _ => None,
        }
    }

    /// Returns the record as readable text, which is not escaped for terminals: MARC as lines, SUTRS and XML unchanged,
    /// ASN.1 syntaxes as indented lines, and anything else as a listing of its BER values. Octets that are not text are
    /// shown as `\xNN`.
    pub fn text(&self) -> String {
        let octets = match self.retrieved() {
            RetrievedRecord::Marc(octets) => match self.marc_of(&octets) {
                Some(record) => marcline::to_lines(&record),
                None => octets.to_vec(),
            },
            RetrievedRecord::Opac(record) => return record.to_text(),
            RetrievedRecord::Grs1(record) => return record.to_text(),
            RetrievedRecord::Summary(record) => return record.describe().to_text(),
            RetrievedRecord::Explain(record) => return record.describe().to_text(),
            RetrievedRecord::Sutrs(text) => match self.charset {
                Some(charset) => return charset.decode(text.as_bytes()).text.into_owned(),
                None => return utf8_or_latin1(text.as_bytes()).into_owned(),
            },
            RetrievedRecord::Xml(octets) => octets.to_vec(),
            record @ RetrievedRecord::Other(_) => return dump::dump(&record.octets()),
        };
        text_lossless(&octets).into_owned()
    }

    /// Returns the record as JSON: MARC-in-JSON for MARC and MARCXML, the elements of an ASN.1 syntax, or a string for
    /// other text. Returns `None` for any other record.
    pub fn json(&self) -> Option<Value> {
        match self.retrieved() {
            RetrievedRecord::Opac(record) => Some(record.to_json()),
            RetrievedRecord::Grs1(record) => Some(record.to_json()),
            RetrievedRecord::Summary(record) => Some(record.describe().to_json()),
            RetrievedRecord::Explain(record) => Some(record.describe().to_json()),
            RetrievedRecord::Sutrs(_) => Some(self.text().into()),
            RetrievedRecord::Marc(_) => self.marc().as_ref().map(marcjson::to_value),
            RetrievedRecord::Xml(octets) => match self.marc() {
                Some(record) => Some(marcjson::to_value(&record)),
                None => std::str::from_utf8(&octets).ok().map(Value::from),
            },
            RetrievedRecord::Other(_) => None,
        }
    }

    /// Returns the record as a MARCXML document, or `None` if [`marc`](Self::marc) returns `None`.
    pub fn marcxml(&self) -> Option<String> {
        self.marc().map(|record| marcxml::to_xml(&record).text)
    }

    /// Returns the copies that an OPAC record or the fields 852 to 878 of a MARC 21 record describe, with their
    /// availability. The list is empty if the record describes no copies.
    pub fn holdings(&self) -> Vec<Holding> {
        match self.retrieved() {
            RetrievedRecord::Opac(record) => holdings::of_opac(&record, self.charset),
            _ => self
                .marc()
                .map_or_else(Vec::new, |record| holdings::of_marc(&record)),
        }
    }

    /// If the record is damaged, returns the reason: octets are missing, octets belong to no field, or the octets are
    /// not a record in its syntax. Faults without loss of data, such as a wrong length, are not damage.
    pub fn damage(&self) -> Option<String> {
        if self.octets().is_empty() {
            return Some("it is empty".to_owned());
        }
        damage_of(&self.external)
    }

    fn marc_of(&self, octets: &Bytes) -> Option<MarcRecord> {
        let parsed = iso2709::parse(octets).ok()?;
        let mut options = charset::Options::default();
        options.charset = self.charset;
        Some(charset::to_utf8(&parsed.record, &options).record)
    }
}

fn damage_of(external: &External) -> Option<String> {
    match RetrievedRecord::of(external) {
        RetrievedRecord::Marc(octets) => damage_of_marc(&octets),
        RetrievedRecord::Opac(record) => damage_of(record.bibliographic_record.as_ref()?),
        RetrievedRecord::Xml(octets) => {
            let found = marcxml_record(&octets).filter(|found| found.incomplete)?;
            match found.record {
                Ok(_) => Some(found.notes.join("; ")),
                // XML in a different schema is not damaged MARCXML, so the error is reported only if the record claims to be MARCXML.
                Err(error) => says_marcxml(&octets).then_some(error),
            }
        }
        RetrievedRecord::Other(other) => {
            let syntax = other.direct_reference?;
            let is_known = [OPAC, GRS_1, SUMMARY].contains(&syntax);
            is_known.then(|| format!("its octets are not a record of syntax {syntax:?}"))
        }
        _ => None,
    }
}

/// Returns whether a document contains the MARCXML namespace.
fn says_marcxml(document: &[u8]) -> bool {
    const NAMESPACE: &[u8] = marcxml::NAMESPACE.as_bytes();
    let mut places = document.windows(NAMESPACE.len());
    places.any(|place| place == NAMESPACE)
}

fn damage_of_marc(octets: &Bytes) -> Option<String> {
    if iso2709::is_whole(octets) {
        return None;
    }
    let parsed = match iso2709::parse(octets) {
        Ok(parsed) => parsed,
        Err(error) => return Some(error.to_string()),
    };
    if parsed.record.fields.is_empty() {
        return Some("it has no fields".to_owned());
    }
    let mut repairs = parsed.repairs.iter();
    let loss = repairs.find(|repair| repair.kind.is_loss());
    loss.map(ToString::to_string)
}

/// Returns the first MARCXML record in an XML document.
fn marc_in_xml(octets: &[u8]) -> Option<MarcRecord> {
    let record = marcxml_record(octets)?.record.ok()?;
    (!record.fields.is_empty()).then_some(record)
}

/// Returns the first element `title` of a GRS-1 record (tagSet-G 1), given as JSON.
fn titled(elements: &Value) -> Option<String> {
    let mut elements = elements.as_array()?.iter();
    let title = elements.find(|element| element.get("name") == Some(&"title".into()))?;
    let title = title.get("content")?.get("string")?.as_str()?.trim();
    (!title.is_empty()).then(|| title.to_owned())
}

fn text(value: Option<&InternationalString>) -> Option<String> {
    let text = utf8_or_latin1(value?.as_bytes());
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use z3950_asn1::oid::{USMARC, XML};
    use z3950_marc::Field;

    use super::*;

    #[test]
    fn missing_data_is_damage_and_wrong_numbers_are_not() {
        let marc = MarcRecord {
            fields: vec![
                Field::control(b"001", "id7"),
                Field::data(b"245", "10", [("a", "Emma")]),
            ],
            ..MarcRecord::default()
        };
        let whole = iso2709::encode(&marc).expect("a record");
        let half = whole[..whole.len() / 2].to_vec();
        let mut wrong_length = whole.clone();
        wrong_length[..5].copy_from_slice(b"00099");
        let xml = marcxml::to_xml(&marc).text.into_bytes();
        let cut = xml[..xml.len() - 40].to_vec();
        let two = marcxml::to_xml_in_collection(&marc).text.repeat(2);
        let two = format!("<collection>{two}</collection>").into_bytes();
        for (syntax, octets, expected) in [
            (USMARC, whole, None),
            (USMARC, wrong_length, None),
            (USMARC, half, Some("")),
            (USMARC, Vec::new(), Some("it is empty")),
            (USMARC, b"garbage".to_vec(), Some("24")),
            (XML, xml, None),
            (XML, cut, Some("")),
            (
                XML,
                two,
                Some("another MARC record in the same XML is left out"),
            ),
            (XML, b"<dc><title>Emma</title></dc>".to_vec(), None),
            (
                OPAC,
                b"x".to_vec(),
                Some("not a record of syntax 1.2.840.10003.5.102 (opac)"),
            ),
        ] {
            let octets_as_text = octets.escape_ascii().to_string();
            let record = Record::new(External::octet_aligned(syntax, octets), None);
            let damage = record.damage();
            assert_eq!(
                damage.is_some(),
                expected.is_some(),
                "{octets_as_text}: {damage:?}"
            );
            let words = damage.unwrap_or_default();
            assert!(words.contains(expected.unwrap_or_default()), "{words}");
        }
    }
}

//! Converts SRU records to Z39.50 records. MARCXML and MarcXchange become ISO 2709, OPAC XML becomes the OPAC record
//! syntax, and records in other schemas get the record syntax XML (Z39.50-2003 Appendix REC).

use bytes::Bytes;

use super::{SruLimits, SruRecord};
use crate::apdu::External;
use crate::oid;
use crate::record::marc_syntax;
use crate::record::opac::OpacRecord;
use z3950_marc::{iso2709, marcxml};

impl SruRecord {
    /// Returns the record as it would be sent in Z39.50: MARC as ISO 2709, and an `opacRecord` as an OPAC record. Any
    /// other record is sent as XML, as is MARC that is too long for ISO 2709 or would lose a field or a part of a
    /// field. Returns `None` for a diagnostic.
    pub fn to_external(&self, limits: &SruLimits) -> Option<External> {
        if self.diagnostic.is_some() {
            return None;
        }
        let external = if has(&self.data, b"opacRecord") {
            OpacRecord::from_xml(self.data.clone(), limits)
                .ok()
                .and_then(|record| External::of_value(oid::OPAC, &record).ok())
        } else {
            marc_external(&self.data)
        };
        external.or_else(|| self.to_xml_external())
    }

    /// Returns the record in the record syntax XML, for every schema; `None` for a diagnostic.
    pub fn to_xml_external(&self) -> Option<External> {
        let is_record = self.diagnostic.is_none();
        is_record.then(|| External::octet_aligned(oid::XML, self.data.clone()))
    }
}

/// Converts a MARCXML or MarcXchange record to ISO 2709. Returns `None` for other records, and if the record cannot be
/// converted.
pub(super) fn marc_external(data: &Bytes) -> Option<External> {
    if ![&b"datafield"[..], b"controlfield", b"leader"]
        .into_iter()
        .any(|name| has(data, name))
    {
        return None;
    }
    let read = marcxml::from_xml(std::str::from_utf8(data).ok()?).ok()?;
    // A MARC record would not show that a field is missing, so the record stays XML.
    if read.is_field_lost {
        return None;
    }
    let octets = iso2709::encode(&read.record).ok()?;
    Some(External::octet_aligned(marc_syntax(&read.record), octets))
}

/// Returns whether the name of an element, with or without a prefix, may occur in the first [`BEGIN`] octets.
fn has(data: &[u8], name: &[u8]) -> bool {
    let begin = data.get(..BEGIN).unwrap_or(data);
    memchr::memmem::find(begin, name).is_some()
}

/// The number of octets at the start of a record within which the element that identifies its schema must occur.
const BEGIN: usize = 2048;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::RetrievedRecord;
    use crate::sru::{SruCondition, SruDiagnostic};

    #[test]
    fn records_have_the_syntax_of_their_contents() {
        let fields =
            "<leader>00000nam a2200000   4500</leader><controlfield tag=\"001\">id7</controlfield>";
        let long = "x".repeat(10_000);
        let field = |text: &str| {
            format!(
                "<record><datafield tag=\"500\" ind1=\" \" ind2=\" \"><subfield code=\"a\">{text}</subfield></datafield></record>"
            )
        };
        for (xml, syntax) in [
            (format!("<record xmlns=\"http://www.loc.gov/MARC21/slim\">{fields}</record>"), oid::USMARC),
            (
                format!("<mxc:record xmlns:mxc=\"info:lc/xmlns/marcxchange-v2\">{}</mxc:record>", fields.replace("<", "<mxc:").replace("<mxc:/", "</mxc:")),
                oid::USMARC,
            ),
            (format!("<collection><record>{fields}</record></collection>"), oid::USMARC),
            ("<record><leader>00000nam  2200000   450 </leader><datafield tag=\"200\" ind1=\"1\" ind2=\" \"><subfield code=\"a\">Emma</subfield></datafield></record>".into(), oid::UNIMARC),
            (field("short"), oid::USMARC),
            (field(&long), oid::XML),
            (field("short").replace("500", "5000"), oid::XML),
            (field("short").replace("code", "cod"), oid::XML),
            ("<opacRecord><holdings/></opacRecord>".into(), oid::OPAC),
            ("<opacRecord><holdings/>".into(), oid::XML),
            ("<dc:dc xmlns:dc=\"info:srw/schema/1/dc-v1.1\"/>".into(), oid::XML),
            ("<record><title>no MARC</title></record>".into(), oid::XML),
            ("<record><leader>".into(), oid::XML),
            ("".into(), oid::XML),
        ] {
            let record = SruRecord::new("", xml.clone());
            let external = record.to_external(&SruLimits::default()).expect("a record");
            assert_eq!(external.direct_reference, Some(syntax), "{xml}");
            let as_xml = record.to_xml_external().expect("a record");
            assert_eq!(RetrievedRecord::of(&as_xml), RetrievedRecord::Xml(xml.into()));
        }
        let diagnostic = SruDiagnostic::new(SruCondition::RECORD_DOES_NOT_EXIST, "");
        let surrogate = SruRecord::surrogate(diagnostic);
        assert_eq!(surrogate.to_external(&SruLimits::default()), None);
        assert_eq!(surrogate.to_xml_external(), None);
    }
}

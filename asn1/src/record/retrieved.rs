//! Decodes retrieved records: the contents of an EXTERNAL, according to its record syntax (Z39.50-2003 Appendix REC).

use bytes::Bytes;
use z3950_marc::crosswalk::is_unimarc;
use z3950_marc::record::MarcRecord;

use super::explain::ExplainRecord;
use super::grs1::GenericRecord;
use super::opac::OpacRecord;
use super::summary::BriefBib;
use crate::apdu::{External, ExternalEncoding};
use crate::codec::{BerValue, decode_value, encode_value};
use crate::oid::{self, Oid};
use crate::types::InternationalString;

/// A record, decoded according to its syntax. A malformed record, or a record in an unknown syntax, is kept unchanged.
///
/// This enum is exhaustive on purpose: the syntaxes are those of Z39.50-2003 Appendix REC and XML, and code that shows records
/// has to handle each of them.
#[derive(Debug, Clone, PartialEq)]
pub enum RetrievedRecord {
    /// The octets of an ISO 2709 record, in USMARC or another MARC format.
    Marc(Bytes),
    /// Simple unstructured text, in the server's character set.
    Sutrs(InternationalString),
    /// An XML document.
    Xml(Bytes),
    /// A bibliographic record with its holdings.
    Opac(Box<OpacRecord>),
    /// A tree of tagged elements.
    Grs1(GenericRecord),
    /// A brief bibliographic record.
    Summary(Box<BriefBib>),
    /// A record from the Explain database.
    Explain(ExplainRecord),
    /// A record in any other syntax.
    Other(Box<External>),
}

impl RetrievedRecord {
    /// Decodes a record according to the syntax named in its EXTERNAL.
    pub fn of(external: &External) -> Self {
        let other = || Self::Other(Box::new(external.clone()));
        let Some(syntax) = external.direct_reference else {
            return other();
        };
        match &external.encoding {
            ExternalEncoding::OctetAligned(octets) if is_marc(&syntax) => {
                Self::Marc(octets.to_bytes())
            }
            ExternalEncoding::OctetAligned(octets)
                if matches!(syntax, oid::XML | oid::APPLICATION_XML) =>
            {
                Self::Xml(octets.to_bytes())
            }
            ExternalEncoding::OctetAligned(octets) if syntax == oid::SUTRS => {
                Self::Sutrs(octets.as_bytes().into())
            }
            ExternalEncoding::SingleAsn1Type(value) => {
                Self::of_value(&syntax, value.as_bytes()).unwrap_or_else(other)
            }
            _ => other(),
        }
    }

    /// Decodes a record that is a BER value; `None` if the syntax is unknown or the value is malformed.
    fn of_value(syntax: &Oid, value: &[u8]) -> Option<Self> {
        match *syntax {
            oid::SUTRS => decode_value(value).ok().map(Self::Sutrs),
            oid::OPAC => decode_value(value).ok().map(Self::Opac),
            oid::GRS_1 => decode_value(value).ok().map(Self::Grs1),
            oid::SUMMARY => decode_value(value).ok().map(Self::Summary),
            oid::EXPLAIN => decode_value(value).ok().map(Self::Explain),
            _ => None,
        }
    }

    /// Returns the octets of a record as sent by the server. For a single ASN.1 value, these are the text of a SUTRS
    /// record, or the BER encoding of any other record.
    pub fn octets_of(external: &External) -> Bytes {
        match &external.encoding {
            ExternalEncoding::OctetAligned(octets) => octets.to_bytes(),
            ExternalEncoding::SingleAsn1Type(value) => {
                let is_text = external.direct_reference == Some(oid::SUTRS);
                let text = is_text.then(|| decode_value::<InternationalString>(value.as_bytes()));
                match text {
                    Some(Ok(text)) => Bytes::copy_from_slice(text.as_bytes()),
                    _ => value.to_bytes(),
                }
            }
            ExternalEncoding::Arbitrary(bits) => Bytes::copy_from_slice(bits.as_bytes()),
        }
    }

    /// Returns the octets of the record. A decoded value is encoded again in BER, except that for SUTRS, the octets of
    /// the text are returned.
    pub fn octets(&self) -> Bytes {
        match self {
            Self::Marc(octets) | Self::Xml(octets) => octets.clone(),
            Self::Sutrs(text) => Bytes::copy_from_slice(text.as_bytes()),
            Self::Opac(record) => encoded(record),
            Self::Grs1(record) => encoded(record),
            Self::Summary(record) => encoded(record),
            Self::Explain(record) => encoded(record),
            Self::Other(external) => Self::octets_of(external),
        }
    }
}

/// Encodes a decoded value again. This always succeeds, although the lengths may be encoded differently from the
/// original.
fn encoded(value: &impl BerValue) -> Bytes {
    encode_value(value).unwrap_or_default().into()
}

/// Returns whether the syntax is a MARC format, whose records are in ISO 2709: 1.2.840.10003.5.1 to .29 (UNIMARC to
/// HUNMARC).
pub fn is_marc(syntax: &Oid) -> bool {
    let family = Oid::z3950(&[5]);
    match syntax.as_bytes().strip_prefix(family.as_bytes()) {
        Some([format]) => (1..=29).contains(format),
        _ => false,
    }
}

/// Returns the syntax of a MARC record: UNIMARC if its leader and fields show this, and USMARC for all other records.
pub fn marc_syntax(record: &MarcRecord) -> Oid {
    if is_unimarc(record) {
        oid::UNIMARC
    } else {
        oid::USMARC
    }
}

/// Makes a SUTRS record from text, as one InternationalString.
pub fn sutrs_external(text: &str) -> Option<External> {
    External::of_value(oid::SUTRS, &InternationalString::from(text)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_distinguished_by_syntax() {
        let marc = External::octet_aligned(oid::USMARC, &b"00026"[..]);
        assert_eq!(
            RetrievedRecord::of(&marc),
            RetrievedRecord::Marc(Bytes::from_static(b"00026"))
        );
        let xml = External::octet_aligned(oid::XML, &b"<a/>"[..]);
        assert_eq!(
            RetrievedRecord::of(&xml),
            RetrievedRecord::Xml(Bytes::from_static(b"<a/>"))
        );
        let sutrs = sutrs_external("Title: War").expect("encodes");
        assert_eq!(
            RetrievedRecord::of(&sutrs),
            RetrievedRecord::Sutrs("Title: War".into())
        );
        assert_eq!(RetrievedRecord::of(&sutrs).octets(), "Title: War");
        let opac = External::octet_aligned(oid::OPAC, &b"x"[..]);
        assert_eq!(
            RetrievedRecord::of(&opac),
            RetrievedRecord::Other(Box::new(opac))
        );
        assert!(is_marc(&oid::HUNMARC) && !is_marc(&oid::SUTRS) && !is_marc(&oid::BIB_1));
    }
}

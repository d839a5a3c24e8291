//! A retrieved record by its record syntax (Z39.50-2003 Appendix REC): what the EXTERNAL around it holds.

use bytes::Bytes;

use crate::apdu::{External, ExternalEncoding};
use crate::codec::{decode_value, encode_value};
use crate::oid::{self, Oid};
use crate::types::{Any, InternationalString};

/// A record as it came, sorted by the form of its syntax; a malformed or unknown one is kept as it is.
#[derive(Debug, Clone, PartialEq)]
pub enum RetrievedRecord {
    /// ISO 2709 octets: USMARC and the other MARC formats.
    Marc(Bytes),
    /// Simple unstructured text, in whatever character set the server uses.
    Sutrs(InternationalString),
    /// An XML document.
    Xml(Bytes),
    /// Anything else.
    Other(Box<External>),
}

impl RetrievedRecord {
    /// Sorts a record by the syntax its EXTERNAL names.
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
            ExternalEncoding::SingleAsn1Type(value) if syntax == oid::SUTRS => {
                decode_value(value.as_bytes()).map_or_else(|_| other(), Self::Sutrs)
            }
            _ => other(),
        }
    }

    /// The octets of the record itself: of a text its text, of any other single value its encoding.
    pub fn octets(&self) -> Bytes {
        match self {
            Self::Marc(octets) | Self::Xml(octets) => octets.clone(),
            Self::Sutrs(text) => Bytes::copy_from_slice(text.as_bytes()),
            Self::Other(external) => match &external.encoding {
                ExternalEncoding::OctetAligned(octets) => octets.to_bytes(),
                ExternalEncoding::SingleAsn1Type(value) => value.to_bytes(),
                ExternalEncoding::Arbitrary(bits) => Bytes::copy_from_slice(bits.as_raw_slice()),
            },
        }
    }
}

/// Whether records of the syntax are ISO 2709: 1.2.840.10003.5.1 to .29, UNIMARC to HUNMARC.
pub fn is_marc(syntax: &Oid) -> bool {
    let family = Oid::z3950(&[5]);
    match syntax.as_bytes().strip_prefix(family.as_bytes()) {
        Some([format]) => (1..=29).contains(format),
        _ => false,
    }
}

/// A SUTRS record of the given text, as it travels: one InternationalString.
pub fn sutrs_external(text: &str) -> Option<External> {
    let value = encode_value(&InternationalString::from(text))
        .ok()
        .and_then(Any::new)?;
    Some(External::single_asn1_type(oid::SUTRS, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_told_apart_by_their_syntax() {
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

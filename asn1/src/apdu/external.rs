//! EXTERNAL (X.690 §8.18) and OtherInformation: values whose syntax an object identifier names
//! (Z39.50-2003 §4.1, `OtherInformation`).

use rasn::prelude::*;

use crate::oid::Oid;
use crate::types::{Any, InternationalString, ObjectDescriptor, OctetString};

/// EXTERNAL: a value with the identifier of its syntax.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
#[rasn(tag(universal, 8))]
pub struct External {
    pub direct_reference: Option<Oid>,
    pub indirect_reference: Option<i64>,
    pub descriptor: Option<ObjectDescriptor>,
    pub encoding: ExternalEncoding,
}

/// The three ways an EXTERNAL carries its value.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
#[rasn(choice)]
pub enum ExternalEncoding {
    /// One BER value: SUTRS, OPAC, GRS-1 and every format written in ASN.1.
    #[rasn(tag(0))]
    SingleAsn1Type(Any),
    /// Octets: MARC, XML.
    #[rasn(tag(1))]
    OctetAligned(OctetString),
    #[rasn(tag(2))]
    Arbitrary(BitString),
}

impl External {
    /// Octets of the syntax `syntax`, as MARC and XML travel.
    pub fn octet_aligned(syntax: Oid, octets: impl Into<OctetString>) -> Self {
        Self::of(syntax, ExternalEncoding::OctetAligned(octets.into()))
    }

    /// One BER value of the syntax `syntax`, as SUTRS, OPAC and diagnostics travel.
    pub fn single_asn1_type(syntax: Oid, value: Any) -> Self {
        Self::of(syntax, ExternalEncoding::SingleAsn1Type(value))
    }

    fn of(syntax: Oid, encoding: ExternalEncoding) -> Self {
        Self {
            direct_reference: Some(syntax),
            indirect_reference: None,
            descriptor: None,
            encoding,
        }
    }
}

/// OtherInformation `[201]`: what an APDU carries beside its own elements.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq, Default)]
#[rasn(delegate, tag(context, 201))]
pub struct OtherInformation(pub Vec<OtherInformationUnit>);

/// One unit of OtherInformation.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
pub struct OtherInformationUnit {
    #[rasn(tag(1))]
    pub category: Option<InfoCategory>,
    pub information: Information,
}

/// The value of a unit of OtherInformation.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
#[rasn(choice)]
pub enum Information {
    #[rasn(tag(2))]
    CharacterInfo(InternationalString),
    #[rasn(tag(3))]
    BinaryInfo(OctetString),
    #[rasn(tag(4))]
    ExternallyDefinedInfo(External),
    #[rasn(tag(5))]
    Oid(Oid),
}

/// What a unit of OtherInformation is about.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
pub struct InfoCategory {
    #[rasn(tag(1))]
    pub category_type_id: Option<Oid>,
    #[rasn(tag(2))]
    pub category_value: i64,
}

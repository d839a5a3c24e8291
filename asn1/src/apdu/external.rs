//! EXTERNAL (X.690 §8.18) and OtherInformation: values whose syntax an object identifier names
//! (Z39.50-2003 §4.1, `OtherInformation`).

use rasn::prelude::*;

use crate::codec::value::{BerValue, decode_value, encode_value};
use crate::error::{DecodeError, EncodeError};
use crate::oid::Oid;
use crate::types::{Any, BitString, InternationalString, ObjectDescriptor, OctetString};

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

    /// The BER value `value` of the syntax `syntax`.
    ///
    /// # Errors
    /// Only for values that no BER can carry.
    pub fn of_value(syntax: Oid, value: &impl BerValue) -> Result<Self, EncodeError> {
        let value = Any::new(encode_value(value)?).ok_or_else(|| EncodeError {
            apdu: "value",
            reason: "nothing to encode".into(),
        })?;
        Ok(Self::single_asn1_type(syntax, value))
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

/// A type of ASN.1 that travels in an EXTERNAL under an object identifier of its own: the formats of
/// [`format`](crate::format), the services of [`es`](crate::es).
pub trait ExternalValue: BerValue {
    /// The identifier under which a value is sent.
    const SYNTAX: Oid;

    /// Whether values under this identifier are of the type; those of older versions may be.
    fn is_syntax(syntax: &Oid) -> bool {
        *syntax == Self::SYNTAX
    }

    /// The value in an EXTERNAL. It may stand there as octets too, as some peers send it.
    ///
    /// # Errors
    /// If the EXTERNAL is of another syntax or none, or what it holds is no such value.
    fn from_external(external: &External) -> Result<Self, ExternalError> {
        let found = external.direct_reference;
        if !found.as_ref().is_some_and(Self::is_syntax) {
            let expected = Self::SYNTAX;
            return Err(ExternalError::Syntax { expected, found });
        }
        let octets = match &external.encoding {
            ExternalEncoding::SingleAsn1Type(value) => value.as_bytes(),
            ExternalEncoding::OctetAligned(octets) => octets.as_bytes(),
            ExternalEncoding::Arbitrary(_) => return Err(ExternalError::Bits(Self::SYNTAX)),
        };
        Ok(decode_value(octets)?)
    }

    /// The value as it travels.
    ///
    /// # Errors
    /// Only for values that no BER can carry.
    fn to_external(&self) -> Result<External, EncodeError> {
        External::of_value(Self::SYNTAX, self)
    }
}

/// Why an EXTERNAL does not give the value looked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExternalError {
    /// It names another syntax, or none.
    #[error("no value of syntax {expected:?}")]
    Syntax {
        /// The syntax looked for.
        expected: Oid,
        /// The syntax named.
        found: Option<Oid>,
    },
    /// It holds a string of bits, which no BER value is.
    #[error("bits in the place of a value of syntax {0:?}")]
    Bits(Oid),
    /// What it holds does not decode.
    #[error("a malformed value in an EXTERNAL")]
    Value(#[from] DecodeError),
}

/// OtherInformation `[201]`: what an APDU carries beside its own elements.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq, Default)]
#[rasn(delegate, tag(context, 201))]
pub struct OtherInformation(pub Vec<OtherInformationUnit>);

impl OtherInformation {
    /// The first value of the type `T`; `None` if there is none, or it is malformed.
    pub fn value<T: ExternalValue>(&self) -> Option<T> {
        self.0.iter().find_map(|unit| match &unit.information {
            Information::ExternallyDefinedInfo(external) => T::from_external(external).ok(),
            _ => None,
        })
    }

    /// Adds a value, under its own identifier and no category.
    ///
    /// # Errors
    /// Only for values that no BER can carry.
    pub fn put_value(&mut self, value: &impl ExternalValue) -> Result<(), EncodeError> {
        let information = Information::ExternallyDefinedInfo(value.to_external()?);
        self.0.push(OtherInformationUnit {
            category: None,
            information,
        });
        Ok(())
    }
}

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

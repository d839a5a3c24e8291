//! EXTERNAL (X.690 §8.18): a value whose syntax is named by an object identifier.

use crate::codec::value::{BerValue, decode_value, encode_value};
use crate::error::{DecodeError, EncodeError};
use crate::oid::Oid;
use crate::production::productions;
use crate::types::{Any, BitString, ObjectDescriptor, OctetString};

productions! {
    /// EXTERNAL: a value with the object identifier of its syntax.
    [universal 8]
    pub struct External {
        direct_reference: Option<Oid>,
        indirect_reference: Option<i64>,
        descriptor: Option<ObjectDescriptor>,
        encoding: ExternalEncoding,
    }

    /// The three encodings of the value in an EXTERNAL.
    pub enum ExternalEncoding {
        /// One BER value, for SUTRS, OPAC, GRS-1 and every other format written in ASN.1.
        [0] SingleAsn1Type(Any),
        /// Octets, for MARC and XML.
        [1] OctetAligned(OctetString),
        [2] Arbitrary(BitString),
    }
}

impl External {
    /// Creates an EXTERNAL with octets in the given syntax, which is the encoding for MARC and XML.
    pub fn octet_aligned(syntax: Oid, octets: impl Into<OctetString>) -> Self {
        Self::of(syntax, ExternalEncoding::OctetAligned(octets.into()))
    }

    /// Creates an EXTERNAL with one BER value in the given syntax, which is the encoding for SUTRS, OPAC and
    /// diagnostics.
    pub fn single_asn1_type(syntax: Oid, value: Any) -> Self {
        Self::of(syntax, ExternalEncoding::SingleAsn1Type(value))
    }

    /// Encodes `value` as a BER value, and puts it into an EXTERNAL with the given syntax.
    ///
    /// # Errors
    /// Fails if BER cannot encode the value.
    pub fn of_value(syntax: Oid, value: &impl BerValue) -> Result<Self, EncodeError> {
        let value = Any::new(encode_value(value)?).ok_or_else(|| EncodeError {
            apdu: "value",
            reason: "nothing to encode".into(),
        })?;
        Ok(Self::single_asn1_type(syntax, value))
    }

    /// Returns the octets of the value in any of the three encodings.
    pub fn octets(&self) -> &[u8] {
        match &self.encoding {
            ExternalEncoding::SingleAsn1Type(value) => value.as_bytes(),
            ExternalEncoding::OctetAligned(octets) => octets,
            ExternalEncoding::Arbitrary(bits) => bits.as_bytes(),
        }
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

/// An ASN.1 type that travels in an EXTERNAL with its own object identifier: a format from [`format`](crate::format), a
/// service from [`es`](crate::es), or a record.
pub trait ExternalValue: BerValue {
    /// The object identifier with which values are sent.
    const SYNTAX: Oid;

    /// Returns whether values with this identifier are of the type. The identifiers of older versions may be accepted
    /// too.
    fn is_syntax(syntax: &Oid) -> bool;

    /// Decodes the value in an EXTERNAL. Some peers send the BER value as octets, which is accepted too.
    ///
    /// # Errors
    /// Fails if the EXTERNAL has a different syntax or no syntax, or does not contain a value of this type.
    fn from_external(external: &External) -> Result<Self, ExternalError> {
        let found = external.direct_reference;
        if !found.as_ref().is_some_and(Self::is_syntax) {
            let expected = Self::SYNTAX;
            return Err(ExternalError::Syntax { expected, found });
        }
        match external.encoding {
            ExternalEncoding::Arbitrary(_) => Err(ExternalError::Bits(Self::SYNTAX)),
            _ => Ok(decode_value(external.octets())?),
        }
    }

    /// Encodes the value and returns it in an EXTERNAL.
    ///
    /// # Errors
    /// Fails if BER cannot encode the value.
    fn to_external(&self) -> Result<External, EncodeError> {
        External::of_value(Self::SYNTAX, self)
    }
}

/// Implements [`ExternalValue`] for types, each with the identifier of its values and the identifiers of older
/// versions.
macro_rules! external_values {
    ($($type:ty: $syntax:ident $(, $older:ident)*;)*) => {$(
        impl $crate::apdu::external::ExternalValue for $type {
            const SYNTAX: $crate::oid::Oid = $crate::oid::$syntax;

            fn is_syntax(syntax: &$crate::oid::Oid) -> bool {
                matches!(*syntax, $crate::oid::$syntax $(| $crate::oid::$older)*)
            }
        }
    )*};
}
pub(crate) use external_values;

/// The reason why an EXTERNAL does not hold the expected value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExternalError {
    /// The EXTERNAL has a different syntax, or does not name its syntax.
    #[error("no value of syntax {expected:?}")]
    Syntax {
        /// The expected syntax.
        expected: Oid,
        /// The syntax found, if the EXTERNAL names one.
        found: Option<Oid>,
    },
    /// The EXTERNAL holds a bit string, which is not a BER value.
    #[error("a bit string instead of a value of syntax {0:?}")]
    Bits(Oid),
    /// The contents of the EXTERNAL cannot be decoded.
    #[error("a malformed value in an EXTERNAL")]
    Value(#[from] DecodeError),
}

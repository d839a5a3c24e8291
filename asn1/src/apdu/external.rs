//! EXTERNAL (X.690 §8.18): a value whose syntax an object identifier names.

use crate::codec::value::{BerValue, decode_value, encode_value};
use crate::error::{DecodeError, EncodeError};
use crate::oid::Oid;
use crate::production::productions;
use crate::types::{Any, BitString, ObjectDescriptor, OctetString};

productions! {
    /// EXTERNAL: a value with the identifier of its syntax.
    [universal 8]
    pub struct External {
        direct_reference: Option<Oid>,
        indirect_reference: Option<i64>,
        descriptor: Option<ObjectDescriptor>,
        encoding: ExternalEncoding,
    }

    /// The three ways an EXTERNAL carries its value.
    pub enum ExternalEncoding {
        /// One BER value: SUTRS, OPAC, GRS-1 and every format written in ASN.1.
        [0] SingleAsn1Type(Any),
        /// Octets: MARC, XML.
        [1] OctetAligned(OctetString),
        [2] Arbitrary(BitString),
    }
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

    /// Encodes `value` as a BER value of the syntax `syntax`.
    ///
    /// # Errors
    /// If BER cannot encode the value.
    pub fn of_value(syntax: Oid, value: &impl BerValue) -> Result<Self, EncodeError> {
        let value = Any::new(encode_value(value)?).ok_or_else(|| EncodeError {
            apdu: "value",
            reason: "nothing to encode".into(),
        })?;
        Ok(Self::single_asn1_type(syntax, value))
    }

    /// The octets of the value, whichever way it is carried.
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

/// A type of ASN.1 that travels in an EXTERNAL under its own object identifier: the formats of
/// [`format`](crate::format), the services of [`es`](crate::es), records.
pub trait ExternalValue: BerValue {
    /// The identifier under which a value is sent.
    const SYNTAX: Oid;

    /// Whether values under this identifier are of the type; those of older versions may be.
    fn is_syntax(syntax: &Oid) -> bool;

    /// The value in an EXTERNAL. Some peers send it as octets, which is accepted.
    ///
    /// # Errors
    /// If the EXTERNAL has another syntax or none, or does not hold such a value.
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

    /// The value as it travels.
    ///
    /// # Errors
    /// If BER cannot encode the value.
    fn to_external(&self) -> Result<External, EncodeError> {
        External::of_value(Self::SYNTAX, self)
    }
}

/// Gives types the identifiers of their values: the one they are sent under, and those of older versions.
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

/// Why an EXTERNAL does not hold the expected value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExternalError {
    /// It names another syntax, or none.
    #[error("no value of syntax {expected:?}")]
    Syntax {
        /// The expected syntax.
        expected: Oid,
        /// The syntax found.
        found: Option<Oid>,
    },
    /// It holds a bit string, which is not a BER value.
    #[error("a bit string instead of a value of syntax {0:?}")]
    Bits(Oid),
    /// Its contents do not decode.
    #[error("a malformed value in an EXTERNAL")]
    Value(#[from] DecodeError),
}

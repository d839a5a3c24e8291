//! Types for those ASN.1 types of Z39.50-2003 §4.1 that rasn's own types do not represent faithfully: strings and OCTET
//! STRINGs keep every octet as sent, ANY keeps the encoding, and named INTEGERs may have other values.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use bytes::Bytes;
use rasn::types::{Constraints, Identifier, Tag};
use z3950_marc::charset::utf8_or_latin1;

use crate::production::{ber, productions};

/// OCTET STRING: any octets. Clones share the same octets.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct OctetString(Bytes);

impl OctetString {
    /// Returns the octets of the string.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the octets as a shared buffer, without a copy.
    pub fn to_bytes(&self) -> Bytes {
        self.0.clone()
    }
}

impl Deref for OctetString {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl From<&[u8]> for OctetString {
    fn from(octets: &[u8]) -> Self {
        Self(Bytes::copy_from_slice(octets))
    }
}

impl From<Vec<u8>> for OctetString {
    fn from(octets: Vec<u8>) -> Self {
        Self(octets.into())
    }
}

impl From<Bytes> for OctetString {
    fn from(octets: Bytes) -> Self {
        Self(octets)
    }
}

impl From<&str> for OctetString {
    fn from(text: &str) -> Self {
        Self::from(text.as_bytes())
    }
}

impl fmt::Debug for OctetString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b\"{}\"", self.0.escape_ascii())
    }
}

ber! {
    OctetString: [] Tag::OCTET_STRING,
    decode(decoder, tag) { decoder.decode_octet_string(tag, &Constraints::NONE) }
    encode(octets, encoder, tag) {
        let encoded = encoder.encode_octet_string(tag, &Constraints::NONE, &octets.0, Identifier::EMPTY);
        encoded.map(drop)
    }
}

/// Declares an ASN.1 string type that keeps every octet, because peers send UTF-8, Latin-1 and MARC-8 with the same
/// tag.
macro_rules! character_string {
    ($(#[$meta:meta])* $name:ident, $tag:literal) => {
        $crate::production::production! {
            $(#[$meta])*
            #[derive(Clone, PartialEq, Eq, Hash, Default)]
            [universal $tag] pub struct $name(OctetString)
        }

        impl $name {
            /// Returns the octets as sent.
            pub fn as_bytes(&self) -> &[u8] {
                &self.0
            }

            /// Returns the text, if the octets are UTF-8.
            ///
            /// # Errors
            /// The error contains the position of the first octet that is not UTF-8.
            pub fn to_str(&self) -> Result<&str, std::str::Utf8Error> {
                std::str::from_utf8(&self.0)
            }

            /// Returns the text. If it is not UTF-8, it is read as ISO 8859-1.
            pub fn to_string_lossy(&self) -> Cow<'_, str> {
                utf8_or_latin1(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(OctetString::from(text))
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(OctetString::from(text.into_bytes()))
            }
        }

        impl From<&[u8]> for $name {
            fn from(octets: &[u8]) -> Self {
                Self(OctetString::from(octets))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", self.to_string_lossy())
            }
        }

        impl fmt::Display for $name {
            /// Writes the text, which is read as ISO 8859-1 if it is not UTF-8. Control characters are not escaped.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.to_string_lossy())
            }
        }
    };
}

character_string!(
    /// InternationalString: a GeneralString whose character set may be negotiated (Z39.50-2003 §4.1).
    InternationalString, 27
);
character_string!(
    /// VisibleString. In practice, servers send UTF-8 in it, for example in `v2Addinfo`.
    VisibleString, 26
);
character_string!(
    /// GeneralizedTime, exactly as it was sent.
    GeneralizedTime, 24
);
character_string!(
    /// ObjectDescriptor in an EXTERNAL.
    ObjectDescriptor, 7
);

/// ANY: the encoding of one BER value (or its contents, after an explicit tag), which is not decoded.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Any(OctetString);

impl Any {
    /// Makes an ANY from the encoding of one or more BER values; `None` if it is empty.
    pub fn new(encoding: impl Into<OctetString>) -> Option<Self> {
        let encoding = encoding.into();
        (!encoding.is_empty()).then_some(Self(encoding))
    }

    /// Returns the BER encoding.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the BER encoding as a shared buffer.
    pub fn to_bytes(&self) -> Bytes {
        self.0.to_bytes()
    }
}

ber! {
    Any: [] Tag::EOC,
    decode(decoder, tag) {
        let codec = decoder.codec();
        let any = decoder.decode_any(tag)?;
        Self::new(any.as_bytes()).ok_or_else(|| rasn::de::Error::custom("an ANY without a value", codec))
    }
    encode(any, encoder, tag) {
        encoder.encode_any(tag, &rasn::types::Any::new(any.0.to_vec()), Identifier::EMPTY).map(drop)
    }
}

/// BIT STRING of up to 64 named bits, with the number of bits that were sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Bits {
    word: u64,
    len: u8,
}

impl Bits {
    /// The maximum number of bits; bits beyond it are dropped.
    pub const MAX: u8 = 64;

    /// Returns the shortest value with these bits set (0 is the first bit sent).
    pub const fn of(mut positions: &[u8]) -> Self {
        let mut bits = Self { word: 0, len: 0 };
        while let [position, rest @ ..] = positions {
            bits = bits.with(*position);
            positions = rest;
        }
        bits
    }

    /// Returns the same bits with bit `position` set; a position of [`Bits::MAX`] or more is ignored.
    pub const fn with(self, position: u8) -> Self {
        if position >= Self::MAX {
            return self;
        }
        let len = if self.len > position {
            self.len
        } else {
            position + 1
        };
        Self {
            word: self.word | 1 << (63 - position),
            len,
        }
    }

    /// Returns whether bit `position` is set.
    pub const fn contains(self, position: u8) -> bool {
        position < self.len && self.word & 1 << (63 - position) != 0
    }

    /// Returns the bits that are set in both values, with the length of the shorter value.
    pub fn intersection(self, other: Self) -> Self {
        Self {
            word: self.word & other.word,
            len: self.len.min(other.len),
        }
    }

    /// Returns the positions of the set bits, in ascending order.
    pub fn positions(self) -> impl Iterator<Item = u8> {
        (0..self.len).filter(move |&position| self.contains(position))
    }
}

ber! {
    Bits: [] Tag::BIT_STRING,
    decode(decoder, tag) {
        let mut bits = Self::default();
        let sent = match decoder.decode_bit_string(tag, &Constraints::NONE) {
            Ok(sent) => sent,
            // X.690 §8.6.2.3 requires an octet with the number of unused bits even if there are no bits. Clients that omit the
            // octet mean an empty bit string. The failed decoding has not consumed the value, so it can be decoded again.
            Err(error) => match decoder.decode_octet_string::<OctetString>(tag, &Constraints::NONE) {
                Ok(contents) if contents.is_empty() => return Ok(bits),
                _ => return Err(error),
            },
        };
        for (position, bit) in (0..Self::MAX).zip(sent.iter().by_vals()) {
            bits.len = position + 1;
            if bit {
                bits = bits.with(position);
            }
        }
        Ok(bits)
    }
    encode(bits, encoder, tag) {
        let octets = bits.word.to_be_bytes();
        let all = rasn::types::BitStr::from_slice(&octets);
        let sent = all.get(..usize::from(bits.len)).unwrap_or(all);
        encoder.encode_bit_string(tag, &Constraints::NONE, sent, Identifier::EMPTY).map(drop)
    }
}

productions! {
    /// BIT STRING of any length.
    #[derive(Eq, Default)]
    pub struct BitString(rasn::types::BitString)
}

impl BitString {
    /// Returns the bits as octets. The first bit is the highest bit of the first octet.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_raw_slice()
    }

    /// Returns the number of bits in the string.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there are no bits.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bit_strings_keep_their_length() {
        for hex in [
            &[3, 2, 5, 0xe0][..],
            &[3, 1, 0],
            &[3, 3, 5, 0xe0, 0],
            &[3, 2, 0, 0xc0],
        ] {
            let bits: Bits = rasn::ber::decode(hex).expect("a bit string");
            assert_eq!(rasn::ber::encode(&bits).expect("encodes"), hex);
            let long: BitString = rasn::ber::decode(hex).expect("a bit string");
            assert_eq!(long.len(), usize::from(bits.len));
            assert_eq!(long.as_bytes(), &hex[3..]);
            assert_eq!(rasn::ber::encode(&long).expect("encodes"), hex);
        }
        let bits = Bits::of(&[0, 2]);
        assert!(bits.contains(0) && !bits.contains(1) && bits.contains(2) && !bits.contains(200));
        assert_eq!(bits.with(250), bits);
        assert_eq!(
            bits.intersection(Bits::of(&[2, 9])),
            Bits {
                word: 1 << 61,
                len: 3
            }
        );
    }

    #[test]
    fn audit_c5_a_bit_string_of_no_octets_has_no_bits() {
        for (octets, expected) in [
            (&[3, 0][..], Some(Bits::default())),
            (&[3, 1, 0], Some(Bits::default())),
            (&[0x23, 0], Some(Bits::default())),
            // These values have more unused bits than bits, or are of a different type.
            (&[3, 1, 7], None),
            (&[3, 2, 9, 0], None),
            (&[4, 0], None),
        ] {
            let bits: Result<Bits, _> = rasn::ber::decode(octets);
            assert_eq!(bits.ok(), expected, "{octets:x?}");
        }
    }

    #[test]
    fn strings_are_kept_octet_for_octet() {
        for octets in [&b"caf\xc3\xa9"[..], b"caf\xe9", b"", b"\0"] {
            let string = InternationalString::from(octets);
            let encoded = rasn::ber::encode(&string).expect("encodes");
            assert_eq!(encoded.first(), Some(&0x1b));
            assert_eq!(
                rasn::ber::decode::<InternationalString>(&encoded).expect("decodes"),
                string
            );
        }
        let constructed = [0x3b, 0x80, 4, 1, b'a', 4, 1, b'b', 0, 0];
        let string: InternationalString =
            rasn::ber::decode(&constructed).expect("constructed form");
        assert_eq!(string, "ab".into());
    }

    #[test]
    fn an_any_is_never_empty() {
        assert_eq!(Any::new(&b""[..]), None);
        let any: Any = rasn::ber::decode(&[4, 1, 65]).expect("any value");
        assert_eq!(any.as_bytes(), [4, 1, 65]);
    }
}

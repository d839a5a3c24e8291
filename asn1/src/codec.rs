//! Encodes and decodes APDUs in BER, as Z39.50-2003 §4.1 requires. Only this module calls `rasn::ber`.

pub mod dump;
mod encoder;
pub mod frame;
pub(crate) mod value;

use rasn::ber::de::{Decoder, DecoderOptions};
use rasn::types::{Class, Tag, TagTree};

use self::frame::{CONTEXT_CONSTRUCTED, Header, Length, Scanner};
pub use self::value::{BerValue, decode_value, encode_value};
use self::value::{Fault, TOO_DEEP, bare, standard_path, write};
use crate::apdu::{Apdu, ReferenceId};
use crate::error::{DecodeError, EncodeError};

/// Returns the encoded octets of an APDU, with every length in the definite form.
///
/// # Errors
/// Fails if BER cannot encode the value; this crate never builds such a value.
pub fn encode(apdu: &Apdu) -> Result<Vec<u8>, EncodeError> {
    let mut octets = Vec::new();
    encode_into(apdu, &mut octets)?;
    Ok(octets)
}

/// Appends an APDU as encoded by [`encode`]. The octets of its records are copied only once.
///
/// # Errors
/// As for [`encode`]. After an error, nothing is appended.
pub fn encode_into(apdu: &Apdu, output: &mut Vec<u8>) -> Result<(), EncodeError> {
    write(apdu, apdu.record_octets(), output).map_err(|reason| EncodeError {
        apdu: apdu.name(),
        reason,
    })
}

/// Decodes an APDU, which must extend over all of `octets`.
///
/// # Errors
/// The error names the APDU, the element at fault and its offset.
pub fn decode(octets: &[u8]) -> Result<Apdu, DecodeError> {
    let mut decoder = Decoder::new(octets, DecoderOptions::ber());
    match rasn::Decode::decode(&mut decoder) {
        Ok(apdu) if decoder.remaining().is_empty() => Ok(apdu),
        Ok(_) => Err(locate(octets, Fault::trailing(decoder.decoded_len()))),
        Err(error) => Err(locate(octets, Fault::of(&error))),
    }
}

/// Completes a fault with the name of the APDU, and with the offset of the element that is named by the fault's
/// outermost field.
fn locate(octets: &[u8], fault: Fault) -> DecodeError {
    let header = Header::read(octets).ok().flatten();
    let tag = header
        .filter(|header| header.class == CONTEXT_CONSTRUCTED)
        .map(|header| header.tag);
    let offset = fault.offset.or_else(|| {
        Apdu::name_of_tag(tag?)?;
        let start = header?.octets;
        let elements = Apdu::elements_of_tag(tag?);
        let named = elements
            .iter()
            .find(|(name, _)| Some(&bare(name)) == fault.path.first());
        Some(element(octets, start, |tag| match (fault.found, named) {
            (Some(found), _) => tag == found,
            (None, Some((_, tags))) => TagTree::tag_contains(&tag, &[*tags]),
            // The error does not name a field, so the fault is the first element that does not belong to the APDU.
            (None, None) => !elements
                .iter()
                .any(|(_, tags)| TagTree::tag_contains(&tag, &[*tags])),
        }))
    });
    DecodeError {
        apdu: tag.and_then(Apdu::name_of_tag),
        path: standard_path(fault.path),
        offset: offset.unwrap_or(0),
        is_too_deep: fault.reason.starts_with(TOO_DEEP),
        reason: fault.reason,
    }
}

/// Returns the referenceId of an APDU, whose other elements need not be well formed.
pub fn reference_id(octets: &[u8]) -> Option<ReferenceId> {
    const PRIMITIVE: u8 = 0x80;
    let start = Header::read(octets).ok()??.octets;
    let wanted = Tag::new(Class::Context, 2);
    let rest = octets.get(element(octets, start, |tag| tag == wanted)..)?;
    let header = Header::read(rest).ok()??;
    match header.length {
        Length::Definite(length) if (header.class, header.tag) == (PRIMITIVE, 2) => {
            let value = rest.get(header.octets..)?.get(..length)?;
            Some(ReferenceId(value.into()))
        }
        _ => None,
    }
}

/// Returns the offset of the first element whose tag is `wanted`, or the offset at which the readable elements end.
fn element(octets: &[u8], start: usize, wanted: impl Fn(Tag) -> bool) -> usize {
    let mut at = start;
    loop {
        let rest = octets.get(at..).unwrap_or_default();
        let Ok(Some(header)) = Header::read(rest) else {
            return at;
        };
        let class = match header.class >> 6 {
            0 => Class::Universal,
            1 => Class::Application,
            2 => Class::Context,
            _ => Class::Private,
        };
        if header.is_end_of_contents() || wanted(Tag::new(class, header.tag)) {
            return at;
        }
        match Scanner::new(usize::MAX).end(rest) {
            Ok(Some(length)) => at += length,
            _ => return at,
        }
    }
}

/// Parses hexadecimal digits that may have white space between them, for tests.
#[cfg(test)]
pub(crate) fn octets_of_hex(digits: &str) -> Vec<u8> {
    let digits: Vec<char> = digits.chars().filter(|c| !c.is_whitespace()).collect();
    let pairs = digits.chunks(2).map(String::from_iter);
    let octets = pairs.map(|pair| u8::from_str_radix(&pair, 16).expect("two digits"));
    octets.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apdu::{
        Close, CloseReason, DatabaseName, MAX_RPN_DEPTH, Operator, Query, ResultSetId, RpnQuery,
        RpnStructure, SearchRequest,
    };
    use crate::oid;

    /// Checks that the octets decode to a value, and that the value encodes to the same octets.
    fn round_trip(octets: &[u8]) -> Apdu {
        let apdu = decode(octets).expect("decodes");
        assert_eq!(encode(&apdu).expect("encodes"), octets);
        apdu
    }

    #[test]
    fn a_close_comes_back() {
        let Apdu::Close(close) =
            round_trip(&[0xbf, 0x30, 8, 0x9f, 0x81, 0x53, 1, 6, 0x83, 1, b'x'])
        else {
            panic!("a close");
        };
        assert_eq!(*close, Close::new(CloseReason::PROTOCOL_ERROR, Some("x")));
    }

    #[test]
    fn a_present_without_composition_comes_back() {
        let octets = [
            0xb8, 0x14, 0x9f, 0x1f, 1, b'1', 0x9e, 1, 9, 0x9d, 1, 1, 0x9f, 0x68, 7, 0x2a, 0x86,
            0x48, 0xce, 0x13, 5, 10,
        ];
        let Apdu::PresentRequest(present) = round_trip(&octets) else {
            panic!("a present")
        };
        assert_eq!(present.result_set_id, ResultSetId::from("1"));
        assert_eq!(present.preferred_record_syntax, Some(oid::USMARC));
        assert_eq!(*present.record_composition, None);
    }

    #[test]
    fn a_search_comes_back() {
        let octets = [
            &[
                0xb6, 0x3e, 0x8d, 1, 0, 0x8e, 1, 1, 0x8f, 1, 0, 0x90, 1, 0xff, 0x91, 1, b'1', 0xb2,
                10, 0x9f, 0x69, 7,
            ][..],
            b"Default",
            &[
                0xb5, 0x21, 0xa1, 0x1f, 6, 7, 0x2a, 0x86, 0x48, 0xce, 0x13, 3, 1, 0xa0, 0x14, 0xbf,
                0x66, 0x11,
            ],
            &[
                0xbf, 0x2c, 10, 0x30, 8, 0x9f, 0x78, 1, 1, 0x9f, 0x79, 1, 4, 0x9f, 0x2d, 1, b'5',
            ],
        ]
        .concat();
        let Apdu::SearchRequest(search) = round_trip(&octets) else {
            panic!("a search")
        };
        assert_eq!(search.database_names, [DatabaseName::from("Default")]);
        assert!(matches!(
            &search.query,
            Query::Type1(RpnQuery {
                attribute_set: oid::BIB_1,
                ..
            })
        ));
    }

    #[test]
    fn audit_a_query_that_is_too_deep_is_distinguished_from_a_malformed_one() {
        let operand = RpnStructure::term(Vec::new(), "a");
        let query = |depth: usize| {
            let tree = (0..depth).fold(operand.clone(), |tree, _| {
                RpnStructure::combined(tree, Operator::And, operand.clone())
            });
            let mut request = SearchRequest::new(
                ["books"],
                Query::Type1(RpnQuery {
                    attribute_set: oid::BIB_1,
                    rpn: tree,
                }),
            );
            request.reference_id = Some(ReferenceId(b"seven"[..].into()));
            encode(&request.into()).expect("encodes")
        };
        let deepest = query(MAX_RPN_DEPTH);
        assert!(decode(&deepest).is_ok());
        let too_deep = query(MAX_RPN_DEPTH + 1);
        let error = decode(&too_deep).expect_err("too deep");
        assert!(error.is_too_deep, "{error}");
        assert_eq!(error.apdu, Some("searchRequest"));
        let seven = Some(ReferenceId(b"seven"[..].into()));
        assert_eq!(reference_id(&too_deep), seven);
        let error = decode(&[0xb6, 0]).expect_err("malformed");
        assert!(!error.is_too_deep, "{error}");
        for octets in [
            &[][..],
            &[0xb6, 0],
            &[0xb6, 2, 0x82, 5],
            &[0xb6, 2, 0xa2, 0],
        ] {
            assert_eq!(reference_id(octets), None, "{octets:x?}");
        }
    }

    #[test]
    fn faults_are_named_and_located() {
        for (octets, message) in [
            (
                &[0xb8, 3, 0x9e, 1, 9][..],
                "presentRequest, resultSetId: element [31] expected, [30] found at octet 2",
            ),
            (
                &[0xbf, 0x30, 8, 0x9f, 0x81, 0x53, 1, 6, 0x99, 1, b'x'],
                "close: an element that does not belong here at octet 8",
            ),
            (
                &[0xbf, 0x30, 7, 0x9f, 0x81, 0x53, 1, 6, 0x84, 0],
                "close, resourceReportFormat: a malformed object identifier at octet 8",
            ),
            (
                &[0xbf, 0x30, 5, 0x9f, 0x81, 0x53, 1, 6, 0],
                "close: octets after the APDU at octet 8",
            ),
            (
                &[0xbf, 0x28, 0],
                "unknown APDU: a value of none of the types allowed here at octet 0",
            ),
        ] {
            assert_eq!(
                decode(octets).expect_err("a fault").to_string(),
                message,
                "{octets:x?}"
            );
        }
    }
}

//! Errors that are only visible in the octets of an APDU (X.690 §8): bit strings without their first octet, and unknown tags.

use z3950_asn1::apdu::Apdu;
use z3950_asn1::codec::frame::{Header, Length};

/// The tags of the bit strings in Init: protocolVersion and options.
const BIT_STRINGS: [u32; 2] = [3, 4];

/// Returns the bit strings in an initRequest whose first octet is not a valid number of unused bits.
pub(super) fn bad_bit_strings(octets: &[u8]) -> Vec<&[u8]> {
    let mut bad = Vec::new();
    let mut rest = contents(octets);
    while let Ok(Some(header)) = Header::read(rest) {
        let Length::Definite(length) = header.length else {
            break;
        };
        let end = header.octets.saturating_add(length);
        let Some(value) = rest.get(header.octets..end) else {
            break;
        };
        let is_primitive = header.class & z3950_asn1::codec::frame::CONSTRUCTED == 0;
        if is_primitive
            && BIT_STRINGS.contains(&header.tag)
            && value.first().is_none_or(|unused| *unused > 7)
        {
            bad.push(value);
        }
        rest = rest.get(end..).unwrap_or_default();
    }
    bad
}

/// Returns the tag of octets that begin like an APDU, if the standard does not define an APDU with this tag.
pub(super) fn unknown_tag(octets: &[u8]) -> Option<u32> {
    let header = Header::read(octets).ok()??;
    Apdu::name_of_tag(header.tag)
        .is_none()
        .then_some(header.tag)
}

/// Returns whether a request may be sent while another one is in progress: a Close, or a request about the one in progress.
pub(super) fn may_overtake(octets: &[u8]) -> bool {
    let header = Header::read(octets).ok().flatten();
    header.is_some_and(|header| [29, 31, 32, 48].contains(&header.tag))
}

fn contents(octets: &[u8]) -> &[u8] {
    let header = Header::read(octets).ok().flatten();
    header.map_or(&[], |header| {
        octets.get(header.octets..).unwrap_or_default()
    })
}

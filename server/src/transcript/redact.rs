//! Removes secrets from the octets of APDUs (Z39.50-2003 §3.2.1.1.2, §3.2.5). Octets from a client are kept only if their meaning
//! is certain.

use z3950_asn1::apdu::Apdu;
use z3950_asn1::codec;
use z3950_asn1::codec::frame::{CONSTRUCTED, CONTEXT_CONSTRUCTED, Header, Length};

/// Returns the octets from a client without its credentials. In an APDU of a kind that clients send, each octet of a name or
/// password is replaced by `*`. Any other octets may be a damaged Init, so all of them are replaced, apart from the header of an
/// APDU at the beginning.
pub fn redacted_request(octets: &[u8]) -> Vec<u8> {
    match codec::decode(octets) {
        Ok(apdu) if is_plain(&apdu) => redacted_answer(octets),
        _ => veiled(octets),
    }
}

/// Returns whether an APDU is certainly what the client sent. It may be a damaged Init instead, if only servers send this kind of
/// APDU, or if it is an Init with a message size so large that its encoding may include the octets after it.
pub(super) fn is_plain(apdu: &Apdu) -> bool {
    let sizes = -i64::from(u32::MAX)..=i64::from(u32::MAX);
    match apdu {
        Apdu::InitializeRequest(init) => {
            sizes.contains(&init.preferred_message_size)
                && sizes.contains(&init.exceptional_record_size)
        }
        apdu => apdu.is_of_client(),
    }
}

/// Replaces all octets by `*`, apart from the header of a standard APDU at the beginning.
fn veiled(octets: &[u8]) -> Vec<u8> {
    let header = Header::read(octets).ok().flatten().filter(|header| {
        header.class == CONTEXT_CONSTRUCTED && Apdu::name_of_tag(header.tag).is_some()
    });
    let kept = header.map_or(0, |header| header.octets);
    let mut octets = octets.to_vec();
    octets.get_mut(kept..).unwrap_or_default().fill(b'*');
    octets
}

/// Replaces secret contents by `*`, but keeps tags and lengths. Secret contents are idAuthentication in Init; the
/// userInformationField of Init, unless it negotiates character sets; unknown elements of Init; the answer to a challenge; and
/// everything after damage in these APDUs.
pub(crate) fn redacted_answer(octets: &[u8]) -> Vec<u8> {
    let mut octets = octets.to_vec();
    let Ok(Some(apdu)) = Header::read(&octets) else {
        return octets;
    };
    let mut expected: &[(u8, u32, Kept)] = match apdu.tag {
        20 => &OF_INIT,
        29 => &OF_ACCESS_CONTROL_RESPONSE,
        _ => return octets,
    };
    let mut at = apdu.octets;
    while let Some((header, end)) = value(&octets, at) {
        let is = |(class, tag, _): &(u8, u32, Kept)| (*class, *tag) == (header.class, header.tag);
        let known = expected.iter().position(is);
        let kept = known.and_then(|place| expected.get(place).copied());
        // After an unexpected element, the meaning of all further elements is unknown, so they are redacted.
        expected = known.map_or(&[], |place| expected.get(place + 1..).unwrap_or_default());
        if let Some(element) = octets.get_mut(at..end) {
            match kept.map(|(.., kept)| kept) {
                Some(Kept::Always) => {}
                Some(Kept::IfNegotiation) if negotiates(element) => {}
                Some(_) => blot(element),
                None if header.length == Length::Indefinite => break,
                None => element
                    .get_mut(header.octets..)
                    .unwrap_or_default()
                    .fill(b'*'),
            }
        }
        at = end;
    }
    if let Some(rest) = octets.get_mut(at..).filter(|rest| *rest != END_OF_CONTENTS) {
        rest.fill(b'*');
    }
    octets
}

/// The octets that end a value of indefinite length (X.690 §8.1.5).
const END_OF_CONTENTS: [u8; 2] = [0, 0];

/// Whether the contents of an element are kept.
#[derive(Clone, Copy)]
enum Kept {
    Always,
    IfNegotiation,
    Never,
}

/// The elements of Init in order: their class and form, tag, and whether they are kept.
const OF_INIT: [(u8, u32, Kept); 11] = [
    (0x80, 2, Kept::Always),
    (0x80, 3, Kept::Always),
    (0x80, 4, Kept::Always),
    (0x80, 5, Kept::Always),
    (0x80, 6, Kept::Always),
    (CONTEXT_CONSTRUCTED, 7, Kept::Never),
    (0x80, 110, Kept::Always),
    (0x80, 111, Kept::Always),
    (0x80, 112, Kept::Always),
    (CONTEXT_CONSTRUCTED, 11, Kept::IfNegotiation),
    (CONTEXT_CONSTRUCTED, 201, Kept::Always),
];

/// The elements of accessControlResponse in order: their class and form, tag, and whether they are kept.
const OF_ACCESS_CONTROL_RESPONSE: [(u8, u32, Kept); 5] = [
    (0x80, 2, Kept::Always),
    (0x80, 38, Kept::Never),
    (CONTEXT_CONSTRUCTED, 0, Kept::Never),
    (CONTEXT_CONSTRUCTED, 223, Kept::Always),
    (CONTEXT_CONSTRUCTED, 201, Kept::Always),
];

/// The prefix of the object identifiers for negotiation: 1.2.840.10003.15.
const NEGOTIATION: &[u8] = b"\x2a\x86\x48\xce\x13\x0f";

/// Returns whether the first primitive value in an element is an object identifier for negotiation.
fn negotiates(element: &[u8]) -> bool {
    let mut rest = element;
    while let Ok(Some(header)) = Header::read(rest) {
        rest = rest.get(header.octets..).unwrap_or_default();
        if header.class & CONSTRUCTED == 0 {
            return header.class == 0 && header.tag == 6 && rest.starts_with(NEGOTIATION);
        }
    }
    false
}

/// Returns the header and the end of the value at `at`; `None` if the value is incomplete.
fn value(octets: &[u8], at: usize) -> Option<(Header, usize)> {
    let first = Header::read(octets.get(at..)?).ok()??;
    let mut at = at;
    let mut open = 0_usize;
    loop {
        let header = Header::read(octets.get(at..)?).ok()??;
        at += header.octets;
        match header.length {
            _ if header.is_end_of_contents() => open = open.checked_sub(1)?,
            Length::Indefinite => open += 1,
            Length::Definite(length) => {
                at = at.checked_add(length).filter(|end| *end <= octets.len())?;
            }
        }
        if open == 0 {
            return Some((first, at));
        }
    }
}

/// Overwrites the contents of every primitive value with `*`.
fn blot(octets: &mut [u8]) {
    let mut at = 0;
    while let Some(Ok(Some(header))) = octets.get(at..).map(Header::read) {
        at += header.octets;
        if let Length::Definite(length) = header.length
            && header.class & CONSTRUCTED == 0
        {
            let end = at.saturating_add(length).min(octets.len());
            if let Some(contents) = octets.get_mut(at..end) {
                contents.fill(b'*');
            }
            at = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use z3950_asn1::apdu::{IdAuthentication, IdPass, InitializeRequest};

    use super::*;

    #[test]
    fn undecodable_octets_of_clients_are_not_kept() {
        let init = |tag: u8| [&[tag, 9, 0x84, 1, 0, 0xa7, 4, 0x1a, 2][..], b"pw"].concat();
        for (octets, expected) in [
            // The Init lacks mandatory elements, or has the tag of another APDU.
            (init(0xb4), [&b"\xb4\x09"[..], &[b'*'; 9]].concat()),
            (init(0xb5), [&b"\xb5\x09"[..], &[b'*'; 9]].concat()),
            (init(0xb6), [&b"\xb6\x09"[..], &[b'*'; 9]].concat()),
            // The tag does not belong to any APDU, or has another class.
            (init(0xaf), vec![b'*'; 11]),
            (init(0x94), vec![b'*'; 11]),
            // The Init follows a stray octet, or is cut short.
            ([&b"\x00"[..], &init(0xb4)].concat(), vec![b'*'; 12]),
            (
                init(0xb4)[..10].to_vec(),
                [&b"\xb4\x09"[..], &[b'*'; 8]].concat(),
            ),
            // The answer to a challenge is damaged in the middle or at its end, or other octets follow it.
            (
                b"\xbd\x05\x9f\x27\x02pw".to_vec(),
                b"\xbd\x05*****".to_vec(),
            ),
            (
                b"\xbd\x05\x9f\x26\x03pw".to_vec(),
                b"\xbd\x05*****".to_vec(),
            ),
            (
                b"\xbd\x05\x9f\x26\x02pwpw".to_vec(),
                b"\xbd\x05*******".to_vec(),
            ),
            // The client sends text, or no octets.
            (b"login me pw".to_vec(), vec![b'*'; 11]),
            (Vec::new(), Vec::new()),
            // Only servers send this APDU, so its meaning is unknown if a client sends it.
            (b"\xbc\x04\x9f\x25\x01p".to_vec(), b"\xbc\x04****".to_vec()),
            // A request without secrets is kept.
            (
                b"\xbf\x30\x08\x9f\x81\x53\x01\x00\x83\x01x".to_vec(),
                b"\xbf\x30\x08\x9f\x81\x53\x01\x00\x83\x01x".to_vec(),
            ),
        ] {
            let redacted = redacted_request(&octets);
            assert_eq!(redacted, expected, "{octets:x?}");
            assert_eq!(redacted_request(&redacted), redacted, "again");
        }
    }

    #[test]
    fn no_damage_to_an_init_shows_its_password() {
        let open = |text: &str| IdAuthentication::Open(text.into());
        let password = IdPass {
            password: Some("sesame".into()),
            ..IdPass::default()
        };
        for (credentials, secret) in [
            (IdAuthentication::IdPass(password), &b"sesame"[..]),
            (open("pw"), b"pw"),
        ] {
            check_damage(credentials, secret);
        }
    }

    /// Damages an Init systematically: flips each bit, inserts an octet at each position, and changes each octet to every
    /// length that may include the secret. No part of the secret may be visible in the redacted octets.
    fn check_damage(credentials: IdAuthentication, secret: &[u8]) {
        let init = InitializeRequest {
            id_authentication: Some(credentials),
            implementation_name: Some("X".into()),
            ..InitializeRequest::default()
        };
        let init = codec::encode(&init.into()).expect("encodes");
        let is_shown = |octets: &[u8]| {
            let redacted = redacted_request(octets);
            redacted
                .windows(2)
                .any(|part| secret.windows(2).any(|word| word == part))
        };
        assert!(!is_shown(&init));
        for at in 0..init.len() {
            for bit in 0..8 {
                let mut damaged = init.clone();
                damaged[at] ^= 1 << bit;
                assert!(
                    !is_shown(&damaged),
                    "bit {bit} of octet {at}: {:x?}",
                    redacted_request(&damaged)
                );
            }
            for length in 0..=30 {
                let mut damaged = init.clone();
                damaged[at] = length;
                assert!(!is_shown(&damaged), "length {length} at octet {at}");
            }
            let mut longer = init.clone();
            longer.insert(at, 0);
            assert!(!is_shown(&longer), "a zero before octet {at}");
            assert!(
                !is_shown(&init[at..]) && !is_shown(&init[..at]),
                "cut at {at}"
            );
        }
    }

    #[test]
    fn only_secrets_are_redacted() {
        for (octets, expected) in [
            // The credentials are in `open`, in `idPass`, or in encodings of indefinite length.
            (
                &b"\xb4\x09\x84\x01\x00\xa7\x04\x1a\x02me"[..],
                &b"\xb4\x09\x84\x01\x00\xa7\x04\x1a\x02**"[..],
            ),
            (
                b"\xb4\x0a\xa7\x06\x30\x04\x82\x02pw\x84\x00",
                b"\xb4\x0a\xa7\x06\x30\x04\x82\x02**\x84\x00",
            ),
            (
                b"\xb4\x80\x84\x01\x07\xa7\x80\x30\x80\x82\x02pw\0\0\0\0\x9f\x6e\x01x\0\0",
                b"\xb4\x80\x84\x01\x07\xa7\x80\x30\x80\x82\x02**\0\0\0\0\x9f\x6e\x01x\0\0",
            ),
            (b"\xbd\x05\x9f\x26\x02pw", b"\xbd\x05\x9f\x26\x02**"),
            // The field `userInformationField` is redacted, unless it negotiates character sets.
            (
                b"\xb4\x0a\xab\x08\x28\x06\x81\x02pw\x84\x00",
                b"\xb4\x0a\xab\x08\x28\x06\x81\x02**\x84\x00",
            ),
            (
                b"\xb4\x0f\xab\x0d\x28\x0b\x06\x07\x2a\x86\x48\xce\x13\x0f\x03\x81\x00",
                b"\xb4\x0f\xab\x0d\x28\x0b\x06\x07\x2a\x86\x48\xce\x13\x0f\x03\x81\x00",
            ),
            // Elements that Init does not have, or that are out of place, are redacted.
            (
                b"\xb4\x0c\x84\x01\x00\xa3\x04\x3a\x02me\x81\x01x",
                b"\xb4\x0c\x84\x01\x00\xa3\x04****\x81\x01*",
            ),
            (
                b"\xb4\x09\x84\x01\x00\x83\x01x\x84\x01x",
                b"\xb4\x09\x84\x01\x00\x83\x01*\x84\x01*",
            ),
            // All octets after the damage are redacted.
            (b"\xb4\x80\xa7\x80\x30\x80\x82\x04pw", b"\xb4\x80********"),
            (
                b"\xb4\x09\x84\x01\x07\x9f\x7f\x20pw",
                b"\xb4\x09\x84\x01\x07*****",
            ),
            (
                b"\xb4\x09\x84\x01\x07\x87\xffpw",
                b"\xb4\x09\x84\x01\x07****",
            ),
            // The APDU is cut short, or does not have a secret.
            (b"\xb4\x09\xa7\x04\x1a\x02m", b"\xb4\x09*****"),
            (b"\xb6\x04\xa7\x02\x80\x00", b"\xb6\x04\xa7\x02\x80\x00"),
            (b"\xff", b"\xff"),
        ] {
            assert_eq!(redacted_answer(octets), expected);
        }
        // Values may be nested to any depth.
        let nest = [&b"\xb4\x80\xa7\x80"[..], &b"\xa1\x80".repeat(50_000)].concat();
        let stars = vec![b'*'; nest.len() - 2];
        assert_eq!(redacted_answer(&nest), [&nest[..2], &stars].concat());
    }
}

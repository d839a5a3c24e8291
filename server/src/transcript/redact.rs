//! Removes secrets from the octets of an APDU (Z39.50-2003 §3.2.1.1.3, §3.2.5): tags and lengths stay, contents become `*`.

use z3950_asn1::codec::frame::{CONSTRUCTED, Header, Length};

/// Replaces by `*`: idAuthentication of Init, its userInformationField unless that negotiates character sets, the answer to a
/// challenge, and whatever follows damage in these APDUs.
pub(crate) fn redacted(octets: &[u8]) -> Vec<u8> {
    let mut octets = octets.to_vec();
    let Ok(Some(apdu)) = Header::read(&octets) else {
        return octets;
    };
    let secrets: &[u32] = match apdu.tag {
        20 => &[7, USER_INFORMATION],
        29 => &[0, 38],
        _ => return octets,
    };
    let mut at = apdu.octets;
    while let Some((tag, end)) = value(&octets, at) {
        if secrets.contains(&tag)
            && let Some(secret) = octets.get_mut(at..end)
            && (tag != USER_INFORMATION || !negotiates(secret))
        {
            blot(secret);
        }
        at = end;
    }
    // The end of an indefinite length has no contents, and stays.
    if let Some(rest) = octets.get_mut(at..) {
        let end = blot(rest);
        rest.get_mut(end..).unwrap_or_default().fill(b'*');
    }
    octets
}

/// The tag of userInformationField.
const USER_INFORMATION: u32 = 11;
/// Object identifiers of negotiation: 1.2.840.10003.15.
const NEGOTIATION: &[u8] = b"\x2a\x86\x48\xce\x13\x0f";

/// Whether the first primitive value in an element is the object identifier of a negotiation.
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

/// The tag of the value that begins at `at`, and its end; `None` if there is no whole value.
fn value(octets: &[u8], at: usize) -> Option<(u32, usize)> {
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
            return Some((first.tag, at));
        }
    }
}

/// Overwrites the contents of every primitive value; returns where the values end.
fn blot(octets: &mut [u8]) -> usize {
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
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_secrets_are_redacted() {
        for (octets, expected) in [
            // open, idPass, and both within indefinite lengths.
            (
                &b"\xb4\x09\x84\x01\x00\xa7\x04\x1a\x02me"[..],
                &b"\xb4\x09\x84\x01\x00\xa7\x04\x1a\x02**"[..],
            ),
            (
                b"\xb4\x0a\xa7\x06\x30\x04\x82\x02pw\x84\x00",
                b"\xb4\x0a\xa7\x06\x30\x04\x82\x02**\x84\x00",
            ),
            (
                b"\xb4\x80\x9f\x6e\x01x\xa7\x80\x30\x80\x82\x02pw\0\0\0\0\x84\x01\x07\0\0",
                b"\xb4\x80\x9f\x6e\x01x\xa7\x80\x30\x80\x82\x02**\0\0\0\0\x84\x01\x07\0\0",
            ),
            (b"\xbd\x05\x9f\x26\x02pw", b"\xbd\x05\x9f\x26\x02**"),
            // userInformationField, unless it negotiates character sets.
            (
                b"\xb4\x0a\xab\x08\x28\x06\x81\x02pw\x84\x00",
                b"\xb4\x0a\xab\x08\x28\x06\x81\x02**\x84\x00",
            ),
            (
                b"\xb4\x0f\xab\x0d\x28\x0b\x06\x07\x2a\x86\x48\xce\x13\x0f\x03\x81\x00",
                b"\xb4\x0f\xab\x0d\x28\x0b\x06\x07\x2a\x86\x48\xce\x13\x0f\x03\x81\x00",
            ),
            // Damaged: everything after it.
            (
                b"\xb4\x80\xa7\x80\x30\x80\x82\x04pw",
                b"\xb4\x80\xa7\x80\x30\x80\x82\x04**",
            ),
            (
                b"\xb4\x09\x84\x01\x07\x9f\x7f\x20pw",
                b"\xb4\x09\x84\x01\x07\x9f\x7f\x20**",
            ),
            (
                b"\xb4\x09\x84\x01\x07\x87\xffpw",
                b"\xb4\x09\x84\x01\x07****",
            ),
            // Cut short, or no secret at all.
            (b"\xb4\x09\xa7\x04\x1a\x02m", b"\xb4\x09\xa7\x04\x1a\x02*"),
            (b"\xb6\x04\xa7\x02\x80\x00", b"\xb6\x04\xa7\x02\x80\x00"),
            (b"\xff", b"\xff"),
        ] {
            assert_eq!(redacted(octets), expected);
        }
        // Any nesting depth.
        let nest = [&b"\xb4\x80\xa7\x80"[..], &b"\xa1\x80".repeat(50_000)].concat();
        assert_eq!(redacted(&nest), nest);
    }
}

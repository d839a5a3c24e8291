//! Removes secrets from the octets of an APDU (Z39.50-2003 §3.2.1.1.3, §3.2.5): tags and lengths stay, contents become `*`.

use z3950_asn1::codec::frame::{CONSTRUCTED, Header, Length};

/// Replaces idAuthentication of Init and the answer to a challenge by `*`.
pub(super) fn redacted(octets: &[u8]) -> Vec<u8> {
    let mut octets = octets.to_vec();
    let Ok(Some(apdu)) = Header::read(&octets) else {
        return octets;
    };
    let secrets: &[u32] = match apdu.tag {
        20 => &[7],
        29 => &[0, 38],
        _ => return octets,
    };
    let mut at = apdu.octets;
    while let Some((tag, end)) = value(&octets, at) {
        if secrets.contains(&tag)
            && let Some(secret) = octets.get_mut(at..end)
        {
            blot(secret);
        }
        at = end;
    }
    octets
}

/// The tag of the value that begins at `at`, and its end; `None` if there is no value.
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
            Length::Definite(length) => at = at.saturating_add(length).min(octets.len()),
        }
        if open == 0 {
            return Some((first.tag, at));
        }
    }
}

/// Overwrites the contents of every primitive value.
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

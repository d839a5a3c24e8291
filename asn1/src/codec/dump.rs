//! Lists BER values for people, with one line for each value: its offset, tag, length and contents. Any octets can be
//! listed (X.690 §8.1). The secrets in Z39.50-2003 §3.2.1 and §3.2.5 are redacted.

use std::fmt::Write;

use super::frame::{CONSTRUCTED, Header, Length};
use crate::apdu::Apdu;

/// The maximum number of octets shown from the contents of a primitive value.
const MAX_SHOWN: usize = 64;
/// The maximum nesting depth; values at deeper levels are shown as octets.
const MAX_DEPTH: usize = 64;

/// Lists the values in `octets`. Octets that are not a BER value are marked as such and end the listing.
///
/// The contents of idAuthentication and of the response to a security challenge are shown as `<redacted>`.
pub fn dump(octets: &[u8]) -> String {
    let mut listing = String::new();
    let mut open: Vec<Option<usize>> = Vec::new();
    let mut at = 0;
    let mut apdu = 0;
    while at < octets.len() {
        while open
            .pop_if(|end| end.is_some_and(|end| at >= end))
            .is_some()
        {}
        let rest = octets.get(at..).unwrap_or_default();
        let indent = "  ".repeat(open.len());
        let Ok(Some(header)) = Header::read(rest) else {
            // Writing to a String cannot fail.
            let _ = writeln!(listing, "{at:6} {indent}not a BER value: {}", hex(rest));
            return listing;
        };
        let contents = at + header.octets;
        if header.is_end_of_contents() {
            open.pop();
            at = contents;
            continue;
        }
        if open.is_empty() {
            apdu = header.tag;
        }
        let _ = write!(listing, "{at:6} {indent}{}", tag_name(&header));
        if open.is_empty()
            && let Some(name) = Apdu::name_of_tag(header.tag)
        {
            let _ = write!(listing, " {name}");
        }
        let end = match header.length {
            Length::Definite(length) => {
                let _ = write!(listing, " {length}");
                contents.saturating_add(length)
            }
            Length::Indefinite => {
                listing.push_str(" indefinite");
                octets.len()
            }
        };
        if open.len() == 1 && is_secret(apdu, header.tag) {
            listing.push_str(": <redacted>\n");
            if header.length == Length::Indefinite {
                return listing;
            }
            at = end;
        } else if header.class & CONSTRUCTED != 0 && open.len() < MAX_DEPTH {
            listing.push('\n');
            open.push(matches!(header.length, Length::Definite(_)).then_some(end));
            at = contents;
        } else {
            let value = octets
                .get(contents..end.min(octets.len()))
                .unwrap_or_default();
            let _ = writeln!(listing, ": {}", shown(value));
            at = end;
        }
    }
    listing
}

/// Returns whether the element is secret: idAuthentication `[7]` of Init, or the response to a challenge (`[38]` or
/// `[0]` of access control).
fn is_secret(apdu: u32, tag: u32) -> bool {
    matches!((apdu, tag), (20, 7) | (29, 0 | 38))
}

fn tag_name(header: &Header) -> String {
    let class = match header.class >> 6 {
        0 => "UNIVERSAL ",
        1 => "APPLICATION ",
        2 => "",
        _ => "PRIVATE ",
    };
    format!("[{class}{}]", header.tag)
}

fn shown(value: &[u8]) -> String {
    let (kept, more) = match value.split_at_checked(MAX_SHOWN) {
        Some((kept, rest)) if !rest.is_empty() => (kept, "…"),
        _ => (value, ""),
    };
    if !kept.is_empty() && kept.iter().all(|octet| (0x20..0x7f).contains(octet)) {
        format!("\"{}\"{more}", kept.escape_ascii())
    } else {
        format!("{}{more}", hex(kept))
    }
}

fn hex(octets: &[u8]) -> String {
    let octets: Vec<String> = octets
        .iter()
        .take(MAX_SHOWN)
        .map(|octet| format!("{octet:02x}"))
        .collect();
    octets.join(" ")
}

#[cfg(test)]
mod tests {
    use super::dump;

    #[test]
    fn values_are_listed_with_their_offsets() {
        let close = [0xbf, 0x30, 8, 0x9f, 0x81, 0x53, 1, 6, 0x83, 1, b'x'];
        assert_eq!(
            dump(&close),
            "     0 [48] close 8\n     3   [211] 1: 06\n     8   [3] 1: \"x\"\n"
        );
    }

    #[test]
    fn secrets_are_left_out() {
        let init = [0xb4, 9, 0x84, 1, 0, 0xa7, 4, 0x1a, 2, b'm', b'e'];
        assert_eq!(
            dump(&init),
            "     0 [20] initRequest 9\n     2   [4] 1: 00\n     5   [7] 4: <redacted>\n"
        );
        let response = [0xbd, 0x80, 0x9f, 0x26, 2, b'p', b'w', 0, 0];
        assert!(dump(&response).contains("[38] 2: <redacted>"));
    }

    #[test]
    fn anything_is_listed() {
        assert_eq!(dump(b""), "");
        assert_eq!(dump(&[0xff]), "     0 not a BER value: ff\n");
        assert!(
            dump(&[0xb4, 0x84, 0xff, 0xff, 0xff, 0xff, 4])
                .starts_with("     0 [20] initRequest 4294967295\n")
        );
        assert!(dump(&[0xa1, 0x80].repeat(1000)).lines().count() <= 1000);
    }
}

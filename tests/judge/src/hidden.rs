//! Octets in reports. Octets that may contain a password are replaced by asterisks; if all octets are hidden, a
//! message says so.

use z3950_asn1::hex;

/// The text in place of octets that are hidden completely, such as those of an APDU that cannot be decoded.
pub const HIDDEN: &str = "not shown, since they may hold a password";

/// Returns the octets in hexadecimal; `None` if all of them are hidden.
pub fn digits(octets: &[u8]) -> Option<String> {
    let is_hidden = !octets.is_empty() && octets.iter().all(|octet| *octet == b'*');
    (!is_hidden).then(|| hex::digits(octets))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn audit_r_y7_hidden_octets_are_not_shown_as_asterisks() {
        for (octets, shown) in [
            (&b"****"[..], None),
            (b"*", None),
            (b"", Some("")),
            (b"\xb4\x02**", Some("b4022a2a")),
        ] {
            assert_eq!(digits(octets).as_deref(), shown, "{octets:?}");
        }
    }
}

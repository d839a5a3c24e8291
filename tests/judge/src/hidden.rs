//! Octets in reports. What may hold a password is replaced by asterisks: if that is all, it is said in words.

use z3950_files::hex;

/// Said in place of octets that are hidden altogether, such as those of an APDU that cannot be read.
pub const HIDDEN: &str = "not shown, since they may hold a password";

/// The octets in hexadecimal; `None` if all of them are hidden.
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

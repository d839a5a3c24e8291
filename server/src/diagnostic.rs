//! Creates the Bib-1 diagnostics that the server sends (Z39.50-2003 Appendix DIAG). The additional information is sent as
//! `v2Addinfo`, which clients of every version understand, in printable text of limited length.

use std::fmt::Write;

use z3950_asn1::apdu::DefaultDiagFormat;
pub use z3950_asn1::bib1::diagnostics::Condition;
use z3950_marc::text::is_unprintable;

/// A Bib-1 diagnostic.
pub type Diagnostic = DefaultDiagFormat;

/// The maximum number of octets of additional information sent.
const MAX_ADDINFO: usize = 255;

/// Returns a Bib-1 diagnostic with `addinfo` as text. Octets that are not printable UTF-8 are written as `\xNN`, and text is cut
/// off after 255 octets.
pub fn diagnostic(condition: Condition, addinfo: impl AsRef<[u8]>) -> Diagnostic {
    DefaultDiagFormat::bib1(condition.0, printable(addinfo.as_ref()))
}

fn printable(octets: &[u8]) -> String {
    let mut text = String::new();
    let start = octets.get(..MAX_ADDINFO).unwrap_or(octets);
    for chunk in start.utf8_chunks() {
        for character in chunk.valid().chars() {
            if is_unprintable(character) {
                character
                    .to_string()
                    .bytes()
                    .for_each(|octet| escape(octet, &mut text));
            } else {
                text.push(character);
            }
        }
        chunk
            .invalid()
            .iter()
            .for_each(|octet| escape(*octet, &mut text));
    }
    while text.len() > MAX_ADDINFO {
        text.pop();
    }
    text
}

fn escape(octet: u8, text: &mut String) {
    // Writing to a String cannot fail.
    let _ = write!(text, "\\x{octet:02x}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn additional_information_is_printable_and_short() {
        for (addinfo, shown) in [
            (&b"nosuchdb"[..], "nosuchdb"),
            (b"", ""),
            ("Книги".as_bytes(), "Книги"),
            (b"\x1b[2J", "\\x1b[2J"),
            ("\u{85}".as_bytes(), "\\xc2\\x85"),
            (b"caf\xe9", "caf\\xe9"),
        ] {
            let sent = diagnostic(Condition(235), addinfo);
            assert_eq!(
                (sent.condition, &*sent.addinfo.to_string_lossy()),
                (235, shown)
            );
        }
        for long in ["é".repeat(300), "\0".repeat(300), "x".repeat(256)] {
            let sent = diagnostic(Condition(235), &long);
            assert!(
                (250..=255).contains(&sent.addinfo.as_bytes().len()),
                "{long}"
            );
        }
    }
}

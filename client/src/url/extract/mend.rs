//! URLs of running text and of fields as they are written: octets that no URL holds are escaped.

use z3950_marc::text_lossless;

use super::super::common;

/// The octets with `%` and two hexadecimal digits for each one that no URL holds.
pub(super) fn escape(octets: &[u8]) -> String {
    let mut url = String::with_capacity(octets.len());
    // Writing to a string cannot fail.
    let _ = common::write_escaped(&mut url, octets, is_url_octet);
    url
}

/// Graphic ASCII but the marks that end a URL wherever one is found.
pub(super) fn is_url_octet(octet: u8) -> bool {
    octet.is_ascii_graphic() && !b"\"<>".contains(&octet)
}

/// What was written, if the URL is another text.
pub(super) fn written(octets: &[u8], url: &str) -> Option<String> {
    (octets != url.as_bytes()).then(|| text_lossless(octets).into_owned())
}

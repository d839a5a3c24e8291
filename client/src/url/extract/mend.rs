//! Escapes octets that are not allowed in URLs of running text and fields.

use z3950_marc::text_lossless;

use super::super::common;

/// Escapes octets that are not allowed in a URL.
pub(super) fn escape(octets: &[u8]) -> String {
    let mut url = String::with_capacity(octets.len());
    // Errors: writing to a string cannot fail.
    let _ = common::write_escaped(&mut url, octets, is_url_octet);
    url
}

/// Graphic ASCII except the characters that always end a URL.
pub(super) fn is_url_octet(octet: u8) -> bool {
    octet.is_ascii_graphic() && !b"\"<>".contains(&octet)
}

/// The text as written, if it differs from the URL.
pub(super) fn written(octets: &[u8], url: &str) -> Option<String> {
    (octets != url.as_bytes()).then(|| text_lossless(octets).into_owned())
}

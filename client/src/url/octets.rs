//! Decoded data from a URL, as octets that need not be text. RFC 2056 §4 calls a docid opaque, so its octets are
//! interpreted only for display.

use std::fmt::{self, Write as _};

/// A string of octets: a database name, a docid, a parameter value.
///
/// `Display` shows UTF-8. Control characters and octets that are not valid UTF-8 are shown as `\xNN`, so the result is
/// safe on a terminal. It may be ambiguous, because a backslash is not escaped. [`to_hex`](Self::to_hex) is never
/// ambiguous.
#[derive(Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Octets(Vec<u8>);

impl Octets {
    /// Returns the octets in the form that is sent in an APDU.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the octets as text, or `None` if they are not UTF-8.
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }

    /// Returns two lower-case hexadecimal digits for each octet.
    pub fn to_hex(&self) -> String {
        z3950_files::hex::digits(&self.0)
    }

    /// Returns the number of octets.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there are no octets.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Converts to a vector, without copying the octets.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

impl fmt::Display for Octets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            for character in chunk.valid().chars() {
                if character.is_control() {
                    show_hex(f, character.encode_utf8(&mut [0; 4]).as_bytes())?;
                } else {
                    f.write_char(character)?;
                }
            }
            show_hex(f, chunk.invalid())?;
        }
        Ok(())
    }
}

fn show_hex(f: &mut fmt::Formatter<'_>, octets: &[u8]) -> fmt::Result {
    octets
        .iter()
        .try_for_each(|octet| write!(f, "\\x{octet:02X}"))
}

impl fmt::Debug for Octets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}

impl AsRef<[u8]> for Octets {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl From<Vec<u8>> for Octets {
    fn from(octets: Vec<u8>) -> Self {
        Octets(octets)
    }
}

impl<T: AsRef<[u8]> + ?Sized> From<&T> for Octets {
    fn from(octets: &T) -> Self {
        Octets(octets.as_ref().to_vec())
    }
}

impl From<String> for Octets {
    fn from(text: String) -> Self {
        Octets(text.into_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::Octets;

    #[test]
    fn display_escapes_octets_that_are_not_text() {
        let check = |octets: &[u8], shown: &str, hex: &str| {
            let octets = Octets::from(octets);
            assert_eq!(octets.to_string(), shown, "{octets:?}");
            assert_eq!(octets.to_hex(), hex, "{octets:?}");
        };
        check(b"", "", "");
        check(b"id7", "id7", "696437");
        check("Müller".as_bytes(), "Müller", "4dc3bc6c6c6572");
        check(b"M\xFCller", r"M\xFCller", "4dfc6c6c6572");
        check(b"a\0b\x1B[2J\x7F", r"a\x00b\x1B[2J\x7F", "6100621b5b324a7f");
        check("\u{9b}2J".as_bytes(), r"\xC2\x9B2J", "c29b324a");
        check(b"\xE2\x82", r"\xE2\x82", "e282");
        check(br"a\x41", r"a\x41", "615c783431");
    }
}

//! Converts octets to hexadecimal digits, and back.

use std::fmt::Write;

/// Returns two lower-case hexadecimal digits for each octet.
pub fn digits(octets: &[u8]) -> String {
    let mut digits = String::with_capacity(2 * octets.len());
    for octet in octets {
        // Writing to a String cannot fail.
        let _ = write!(digits, "{octet:02x}");
    }
    digits
}

/// Parses hexadecimal digits, two for each octet; returns `None` for any other text.
pub fn octets(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2);
    let octets = pairs.map(|pair| match *pair {
        [high, low] => u8::try_from(16 * digit(high)? + digit(low)?).ok(),
        _ => None,
    });
    octets.collect()
}

fn digit(digit: u8) -> Option<u32> {
    char::from(digit).to_digit(16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octets_become_digits_and_back() {
        for (text, expected) in [
            ("", Some(&[][..])),
            ("00ffB4", Some(&[0, 0xff, 0xb4])),
            ("0", None),
            ("0g", None),
            ("é", None),
        ] {
            assert_eq!(octets(text).as_deref(), expected, "{text}");
        }
        assert_eq!(digits(&[0, 0xff, 0xb4]), "00ffb4");
    }
}

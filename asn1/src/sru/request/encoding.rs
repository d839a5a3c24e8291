//! Encodes and decodes names and values in a URL or a form (`application/x-www-form-urlencoded`; RFC 3986 §2.1).

use std::borrow::Cow;

/// Returns the names and values in a query string or a form, still encoded. Empty pairs are left out.
pub(super) fn pairs(text: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let pairs = text.split(|octet| *octet == b'&');
    pairs.filter(|pair| !pair.is_empty()).map(|pair| {
        let end = pair.iter().position(|octet| *octet == b'=');
        match end.and_then(|end| pair.split_at_checked(end)) {
            Some((name, value)) => (name, value.get(1..).unwrap_or_default()),
            None => (pair, &[][..]),
        }
    })
}

/// The reason why a name or value cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Undecodable {
    #[error("% is not followed by two hexadecimal digits")]
    Escape,
    #[error("the text is not UTF-8")]
    NotUtf8,
    #[error("the text has a control character")]
    Control,
}

/// Replaces `%` escapes with the octets that they encode, and `+` with a space.
pub(super) fn decode(text: &[u8]) -> Result<String, Undecodable> {
    let mut octets = Vec::with_capacity(text.len());
    let mut rest = text.iter();
    while let Some(octet) = rest.next() {
        octets.push(match octet {
            b'+' => b' ',
            b'%' => {
                let mut digit = || char::from(*rest.next()?).to_digit(16);
                let (high, low) = (digit(), digit());
                let (Some(high), Some(low)) = (high, low) else {
                    return Err(Undecodable::Escape);
                };
                u8::try_from(high << 4 | low).map_err(|_| Undecodable::Escape)?
            }
            other => *other,
        });
    }
    let text = String::from_utf8(octets).map_err(|_| Undecodable::NotUtf8)?;
    let is_bad = |character: char| character.is_control() && !"\t\n\r".contains(character);
    if text.contains(is_bad) {
        Err(Undecodable::Control)
    } else {
        Ok(text)
    }
}

/// Appends text in which all characters except the unreserved ones (RFC 3986 §2.3) are escaped.
pub(super) fn encode(out: &mut String, text: &str) {
    for octet in text.bytes() {
        match octet {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(octet));
            }
            _ => {
                const DIGITS: [char; 16] = [
                    '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F',
                ];
                let digit = |value: u8| DIGITS.get(usize::from(value)).copied().unwrap_or('0');
                out.extend(['%', digit(octet >> 4), digit(octet & 15)]);
            }
        }
    }
}

/// Encodes names and values and joins them into a query string.
pub(super) fn join<'a>(fields: impl IntoIterator<Item = (Cow<'a, str>, Cow<'a, str>)>) -> String {
    let mut text = String::new();
    for (name, value) in fields {
        if !text.is_empty() {
            text.push('&');
        }
        encode(&mut text, &name);
        text.push('=');
        encode(&mut text, &value);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_decoded() {
        for (text, expected) in [
            ("", Ok("")),
            ("a+b%20c", Ok("a b c")),
            ("dc.title%3D%22w%C3%A4r%22", Ok("dc.title=\"wär\"")),
            ("%c3%a4", Ok("ä")),
            ("ä", Ok("ä")),
            ("%0A", Ok("\n")),
            ("100%", Err(Undecodable::Escape)),
            ("%1", Err(Undecodable::Escape)),
            ("%zz", Err(Undecodable::Escape)),
            ("%+1", Err(Undecodable::Escape)),
            ("%E4", Err(Undecodable::NotUtf8)),
            ("a%00", Err(Undecodable::Control)),
            ("%1B", Err(Undecodable::Control)),
        ] {
            assert_eq!(
                decode(text.as_bytes()),
                expected.map(str::to_owned),
                "{text}"
            );
        }
    }

    #[test]
    fn encoded_text_is_decoded() {
        for text in [
            "",
            "a b+c&d=e%",
            "dc.title=\"wär\" sortby x/sort.descending",
            "~-._",
        ] {
            let mut encoded = String::new();
            encode(&mut encoded, text);
            assert!(encoded.bytes().all(|octet| octet.is_ascii_graphic()));
            assert!(!encoded.contains(['&', '=', '+', ' ']), "{encoded}");
            assert_eq!(decode(encoded.as_bytes()), Ok(text.to_owned()));
        }
    }

    #[test]
    fn pairs_are_split_at_the_first_sign() {
        let found: Vec<_> = pairs(b"&a=1=2&&b&=c&").collect();
        let expected: [(&[u8], &[u8]); 3] = [(b"a", b"1=2"), (b"b", b""), (b"", b"c")];
        assert_eq!(found, expected);
    }
}

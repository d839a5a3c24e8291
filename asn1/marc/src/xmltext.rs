//! Writes text into an XML 1.0 document (Extensible Markup Language 1.0, §2.2, §2.4, §2.11). Markup is escaped; characters that
//! XML 1.0 cannot hold at all become U+FFFD.

use std::borrow::Cow;

/// Appends octets as element content. Returns `true` if characters that XML 1.0 cannot hold, or octets that are not UTF-8, were replaced by
/// U+FFFD.
///
/// A carriage return is written as a reference, because readers convert it to a line feed.
pub fn put_content(out: &mut String, octets: &[u8]) -> bool {
    put(out, octets, |character| match character {
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        '&' => Some("&amp;"),
        '\r' => Some("&#13;"),
        _ => None,
    })
}

/// Appends octets to an attribute value in double quotes. Returns `true` if anything was replaced, as [`put_content`]
/// does.
pub fn put_attribute(out: &mut String, octets: &[u8]) -> bool {
    put(out, octets, |character| match character {
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        '&' => Some("&amp;"),
        '"' => Some("&quot;"),
        '\t' => Some("&#9;"),
        '\n' => Some("&#10;"),
        '\r' => Some("&#13;"),
        _ => None,
    })
}

fn put(out: &mut String, octets: &[u8], escape: fn(char) -> Option<&'static str>) -> bool {
    // Tags, indicators and codes usually need no escapes.
    let is_usual = |octet: &u8| octet.is_ascii_alphanumeric() || *octet == b' ';
    if octets.len() <= 3 && octets.iter().all(is_usual) {
        out.extend(octets.iter().copied().map(char::from));
        return false;
    }
    let text = String::from_utf8_lossy(octets);
    // The text was copied only if octets that are not UTF-8 had to be replaced.
    let mut replaced = matches!(text, Cow::Owned(_));
    let mut rest = &*text;
    while let Some(place) = rest.bytes().position(is_telling) {
        let (before, from) = rest.split_at_checked(place).unwrap_or((rest, ""));
        out.push_str(before);
        let Some(character) = from.chars().next() else {
            return replaced;
        };
        match escape(character) {
            Some(reference) => out.push_str(reference),
            None if is_character(character) => out.push(character),
            None => {
                replaced = true;
                out.push(char::REPLACEMENT_CHARACTER);
            }
        }
        rest = from.get(character.len_utf8()..).unwrap_or_default();
    }
    out.push_str(rest);
    replaced
}

/// Returns whether the octet may begin a character that needs an escape or that XML 1.0 does not allow. 0xEF begins
/// U+FFFE and U+FFFF, for example.
fn is_telling(octet: u8) -> bool {
    octet < b' ' || matches!(octet, b'<' | b'>' | b'&' | b'"' | 0xEF)
}

/// Returns whether XML 1.0 allows the character (§2.2, production 2).
pub(super) fn is_character(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r' | ' '..='\u{FFFD}' | '\u{10000}'..)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(octets: &[u8], content: &str, attribute: &str, replaced: bool) {
        let (mut one, mut other) = (String::new(), String::new());
        assert_eq!(put_content(&mut one, octets), replaced, "{octets:?}");
        assert_eq!(put_attribute(&mut other, octets), replaced, "{octets:?}");
        assert_eq!((&*one, &*other), (content, attribute));
    }

    #[test]
    fn characters_are_escaped() {
        check(b"", "", "", false);
        check(b"a 7", "a 7", "a 7", false);
        check(b"a\"<", "a\"&lt;", "a&quot;&lt;", false);
        check(
            "紅 <a>&\"'".as_bytes(),
            "紅 &lt;a&gt;&amp;\"'",
            "紅 &lt;a&gt;&amp;&quot;'",
            false,
        );
        check(b"\t\n\r", "\t\n&#13;", "&#9;&#10;&#13;", false);
        check(
            b"a\x1Bb\x00",
            "a\u{FFFD}b\u{FFFD}",
            "a\u{FFFD}b\u{FFFD}",
            true,
        );
        check(
            "\u{FFFE}\u{10000}".as_bytes(),
            "\u{FFFD}\u{10000}",
            "\u{FFFD}\u{10000}",
            true,
        );
        check(b"caf\xE9", "caf\u{FFFD}", "caf\u{FFFD}", true);
        check(b"caf\\xC3\\xA9", "caf\\xC3\\xA9", "caf\\xC3\\xA9", false);
        check("\u{F000}".as_bytes(), "\u{F000}", "\u{F000}", false);
        check("\u{FFFF}".as_bytes(), "\u{FFFD}", "\u{FFFD}", true);
    }
}

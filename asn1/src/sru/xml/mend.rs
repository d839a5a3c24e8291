//! Repairs a fault that many servers make and no XML parser accepts: an `&` that does not begin a reference, as in
//! `AT&T` (XML 1.0 §2.4, §4.1).

use bytes::{Bytes, BytesMut};
use memchr::memchr2_iter;
use memchr::memmem::find;

/// The beginnings and ends of the parts that are not changed, because an `&` in them is literal (§2.5, §2.6, §2.7).
const AS_WRITTEN: [(&[u8], &[u8]); 3] = [(b"<!--", b"-->"), (b"<![CDATA[", b"]]>"), (b"<?", b"?>")];

/// Escapes each `&` that does not begin a reference; returns the XML and the number of changes.
pub(in crate::sru) fn escape_ampersands(xml: Bytes) -> (Bytes, usize) {
    let mut mended = BytesMut::new();
    let mut count = 0;
    // `copied` is the end of the octets copied so far, and `next` is the end of the text or tag found so far.
    let (mut copied, mut next) = (0, 0);
    for place in memchr2_iter(b'<', b'&', &xml) {
        let rest = xml.get(place..).unwrap_or_default();
        if place < next {
            continue;
        }
        let skipped = AS_WRITTEN.iter().find(|(begin, _)| rest.starts_with(begin));
        if let Some((begin, end)) = skipped {
            let inside = rest.get(begin.len()..).unwrap_or_default();
            let length = find(inside, end).unwrap_or(inside.len());
            next = place + begin.len() + length;
        } else if rest.starts_with(b"&") && !begins_reference(rest) {
            mended.extend_from_slice(xml.get(copied..place).unwrap_or_default());
            mended.extend_from_slice(b"&amp;");
            copied = place + 1;
            count += 1;
        }
    }
    if count == 0 {
        return (xml, 0);
    }
    mended.extend_from_slice(xml.get(copied..).unwrap_or_default());
    (mended.freeze(), count)
}

/// Returns whether octets begin with `&name;`, `&#digits;` or `&#xdigits;`. Only ASCII names are recognized, because
/// servers do not send others.
fn begins_reference(octets: &[u8]) -> bool {
    let inside = octets.get(1..).unwrap_or_default();
    let is_part = |octet: &u8| octet.is_ascii_alphanumeric() || b"#_:.-".contains(octet);
    let length = inside.iter().take_while(|octet| is_part(octet)).count();
    let (name, rest) = inside.split_at(length);
    let is_number = |digits: &[u8], is_digit: fn(&u8) -> bool| {
        !digits.is_empty() && digits.iter().all(is_digit)
    };
    let is_right = match name {
        [b'#', b'x', digits @ ..] => is_number(digits, u8::is_ascii_hexdigit),
        [b'#', digits @ ..] => is_number(digits, u8::is_ascii_digit),
        [first, ..] => {
            (first.is_ascii_alphabetic() || b"_:".contains(first)) && !name.contains(&b'#')
        }
        [] => false,
    };
    is_right && rest.starts_with(b";")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn audit_r_a7_ampersands_that_begin_no_reference_are_escaped() {
        for (xml, expected, count) in [
            ("<a/>", "<a/>", 0),
            ("<a>AT&T</a>", "<a>AT&amp;T</a>", 1),
            ("<a>AT&T & co &</a>", "<a>AT&amp;T &amp; co &amp;</a>", 3),
            ("<a b='?c=1&d=2'/>&", "<a b='?c=1&amp;d=2'/>&amp;", 2),
            (
                "<a>&amp;&#65;&#x1F;&nbsp;&a:b-c.d_1;</a>",
                "<a>&amp;&#65;&#x1F;&nbsp;&a:b-c.d_1;</a>",
                0,
            ),
            (
                "<a>&#;&#x;&#xg;&#a;&a#;&1;&;&&amp;</a>",
                "<a>&amp;#;&amp;#x;&amp;#xg;&amp;#a;&amp;a#;&amp;1;&amp;;&amp;&amp;</a>",
                8,
            ),
            (
                "<!-- &a --><?b &c?><![CDATA[&d]]>&e",
                "<!-- &a --><?b &c?><![CDATA[&d]]>&amp;e",
                1,
            ),
            (
                "<![CDATA[&d <!-- ]]>&e<!--&",
                "<![CDATA[&d <!-- ]]>&amp;e<!--&",
                1,
            ),
            ("<!--<![CDATA[-->&e", "<!--<![CDATA[-->&amp;e", 1),
        ] {
            let mended = escape_ampersands(Bytes::from(xml));
            assert_eq!(mended, (Bytes::from(expected), count), "{xml}");
            assert_eq!(escape_ampersands(mended.0.clone()), (mended.0, 0), "{xml}");
        }
    }
}

//! Text in the form of RFC 1436 §3.4 and Appendix: leading dots are doubled, and a lone dot follows the last line. Many
//! servers simply send a file, so text without a lone dot is left unchanged.

use std::ops::Range;

use bytes::Bytes;

/// Returns the text without its final lone dot, and with single leading dots. Text without a lone dot is returned
/// unchanged.
pub(super) fn unstuffed(text: &Bytes) -> Bytes {
    let without_dot = || {
        let line = text.strip_suffix(b"\n")?;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let lines = line.strip_suffix(b".")?;
        (lines.is_empty() || lines.ends_with(b"\n")).then_some(lines.len())
    };
    match without_dot() {
        Some(length) => without_doubles(text.slice(..length)),
        None => text.clone(),
    }
}

/// Replaces doubled leading dots with single dots.
fn without_doubles(lines: Bytes) -> Bytes {
    let mut plain = Vec::with_capacity(lines.len());
    for line in lines.split_inclusive(|&octet| octet == b'\n') {
        let doubled = line.starts_with(b"..");
        plain.extend_from_slice(line.get(usize::from(doubled)..).unwrap_or_default());
    }
    if plain.len() == lines.len() {
        lines
    } else {
        plain.into()
    }
}

/// Returns the text before the first lone dot, with single leading dots, and the number of octets after the line of the
/// lone dot. Returns `None` if there is no lone dot, because leading dots are then not doubled either.
pub(super) fn ended(octets: &Bytes) -> Option<(Bytes, usize)> {
    let dot = LoneDot::default().find(octets)?;
    let text = without_doubles(octets.slice(..dot.start));
    Some((text, octets.len() - dot.end))
}

/// A search for the lone dot while octets arrive, which examines each octet only once.
#[derive(Debug, Default)]
pub(super) struct LoneDot {
    /// The offset of the start of the current line.
    line: usize,
    /// The offset up to which the octets have been searched for the end of the current line.
    seen: usize,
}

impl LoneDot {
    /// Returns whether the octets contain a lone dot. They must begin with the octets of the previous call.
    pub(super) fn is_in(&mut self, octets: &[u8]) -> bool {
        self.find(octets).is_some()
    }

    /// Returns the range of the first lone dot, including its line end.
    fn find(&mut self, octets: &[u8]) -> Option<Range<usize>> {
        while let Some(rest) = octets.get(self.line..) {
            let rest = match rest {
                [b'.', b'\n', ..] => return Some(self.line..self.line + 2),
                [b'.', b'\r', b'\n', ..] => return Some(self.line..self.line + 3),
                rest => rest,
            };
            let unseen = rest.get(self.seen - self.line..).unwrap_or_default();
            let Some(end) = unseen.iter().position(|&octet| octet == b'\n') else {
                self.seen += unseen.len();
                return None;
            };
            self.seen += end + 1;
            self.line = self.seen;
        }
        None
    }
}

/// Returns the lines of a menu or of attributes up to a lone dot, without their line ends.
pub(super) fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    let all = text.split(|&octet| octet == b'\n');
    all.map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .take_while(|line| line != b".")
        .filter(move |_| !text.is_empty())
}

/// Decodes octets as UTF-8, or as ISO 8859-1, the charset of RFC 1436 §3, if they are not UTF-8.
pub(super) fn decoded(octets: &[u8]) -> String {
    match std::str::from_utf8(octets) {
        Ok(text) => text.to_owned(),
        Err(_) => octets.iter().map(|&octet| char::from(octet)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_are_unstuffed_if_the_header_announces_them() {
        let check = |sent: &'static str, expected: Option<(&str, usize)>| {
            let found = ended(&Bytes::from_static(sent.as_bytes()))
                .map(|(text, excess)| (decoded(&text), excess));
            let expected = expected.map(|(text, excess)| (text.to_owned(), excess));
            assert_eq!(found, expected, "{sent:?}");
            // If the octets arrive one by one, the dot is found when its last octet arrives.
            let mut dot = LoneDot::default();
            let first = (0..=sent.len()).find(|&length| dot.is_in(&sent.as_bytes()[..length]));
            let end = expected.map(|(_, excess)| sent.len() - excess);
            assert_eq!(first, end, "{sent:?}");
        };
        check("a\r\nb\r\n.\r\n", Some(("a\r\nb\r\n", 0)));
        check(
            "..a\r\n...b\r\nc..d\r\n.e\r\n.\r\n",
            Some((".a\r\n..b\r\nc..d\r\n.e\r\n", 0)),
        );
        check("a\r\n.\r\n..b\r\n.\r\n", Some(("a\r\n", 8)));
        check(".\r\n", Some(("", 0)));
        check("a\n.\n", Some(("a\n", 0)));
        check("a\r\n.\r\nb\r\n", Some(("a\r\n", 3)));
        check("", None);
        check("..a\r\nb", None);
        check("..a\r\n.b\r\n", None);
        check("a.\r\n", None);
        check("a\r\n..\r\n", None);
        check("a\r\n.\r", None);
        check("a\r\n.", None);
    }

    #[test]
    fn dots_are_unstuffed_before_a_final_lone_dot() {
        let check = |sent: &'static str, text: &str| {
            let plain = unstuffed(&Bytes::from_static(sent.as_bytes()));
            assert_eq!(plain, text.as_bytes(), "{sent:?}");
        };
        check("a\r\n..b\r\n.\r\n", "a\r\n.b\r\n");
        check("a\r\n.\r\n..b\r\n.\r\n", "a\r\n.\r\n.b\r\n");
        check(".\r\n", "");
        check("a\n.\n", "a\n");
        check("", "");
        check("..a\r\nb", "..a\r\nb");
        check("a\r\n.\r\n..b\r\n", "a\r\n.\r\n..b\r\n");
        check("a\r\n..\r\n", "a\r\n..\r\n");
    }

    #[test]
    fn lines_end_at_the_lone_dot() {
        let check = |text: &str, expected: &[&str]| {
            let found: Vec<String> = lines(text.as_bytes()).map(decoded).collect();
            assert_eq!(found, expected, "{text:?}");
        };
        check("", &[]);
        check("a\r\nb\n\nc\r\n.\r\nd\r\n", &["a", "b", "", "c"]);
        check("a", &["a"]);
        check(".\r\n", &[]);
        assert_eq!(decoded(b"M\xFCller"), "Müller");
        assert_eq!(decoded("Müller".as_bytes()), "Müller");
    }
}

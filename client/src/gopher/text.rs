//! Text as RFC 1436 §3.4 and Appendix send it: lines, dots in front of them doubled, a lone dot behind the last.
//! Many servers just send a file; what has no lone dot at the end is therefore left as it is.

use bytes::Bytes;

/// Whether the last line is a lone dot.
pub(super) fn ends_with_dot(text: &[u8]) -> bool {
    without_dot(text).is_some()
}

/// The text without the lone dot behind it and with doubled dots undone; as it is if there is no lone dot.
pub(super) fn unstuffed(text: &Bytes) -> Bytes {
    let Some(lines) = without_dot(text) else {
        return text.clone();
    };
    let mut plain = Vec::with_capacity(lines.len());
    for line in lines.split_inclusive(|&octet| octet == b'\n') {
        let doubled = line.starts_with(b"..");
        plain.extend_from_slice(line.get(usize::from(doubled)..).unwrap_or_default());
    }
    match plain.len() == lines.len() {
        true => text.slice(..lines.len()),
        false => plain.into(),
    }
}

/// The lines before a lone dot at the end; `None` if there is none.
fn without_dot(text: &[u8]) -> Option<&[u8]> {
    let line = text.strip_suffix(b"\n")?;
    let lines = line
        .strip_suffix(b"\r")
        .unwrap_or(line)
        .strip_suffix(b".")?;
    (lines.is_empty() || lines.ends_with(b"\n")).then_some(lines)
}

/// The lines of a menu or of attributes, without their ends, up to a lone dot.
pub(super) fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    let all = text.split(|&octet| octet == b'\n');
    all.map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .take_while(|line| line != b".")
        .filter(move |_| !text.is_empty())
}

/// Octets as text: UTF-8 if they are, else each octet a character of ISO 8859-1, the charset of RFC 1436 §3.
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
    fn dots_are_undone_where_the_server_speaks_of_them() {
        let check = |sent: &'static str, text: &str, dotted: bool| {
            let plain = unstuffed(&Bytes::from_static(sent.as_bytes()));
            assert_eq!(plain, text.as_bytes(), "{sent:?}");
            assert_eq!(ends_with_dot(sent.as_bytes()), dotted, "{sent:?}");
        };
        check("a\r\nb\r\n.\r\n", "a\r\nb\r\n", true);
        check(
            "..a\r\n...b\r\nc..d\r\n.e\r\n.\r\n",
            ".a\r\n..b\r\nc..d\r\n.e\r\n",
            true,
        );
        check("a\r\n.\r\n..b\r\n.\r\n", "a\r\n.\r\n.b\r\n", true);
        check(".\r\n", "", true);
        check("a\n.\n", "a\n", true);
        check("", "", false);
        check("..a\r\nb", "..a\r\nb", false);
        check("..a\r\n.b\r\n", "..a\r\n.b\r\n", false);
        check("a.\r\n", "a.\r\n", false);
        check("a\r\n..\r\n", "a\r\n..\r\n", false);
        check("a\r\n.\r\nb\r\n", "a\r\n.\r\nb\r\n", false);
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

//! Writes XML elements.

/// Appends text as element content.
pub(in crate::sru) fn put_text(out: &mut Vec<u8>, text: &str) {
    put_escaped(out, text, false);
}

/// Appends text as the value of an attribute in double quotes.
pub(in crate::sru) fn put_attribute(out: &mut Vec<u8>, text: &str) {
    put_escaped(out, text, true);
}

/// Appends text with its markup escaped. Characters that XML 1.0 does not allow (§2.2) become U+FFFD.
fn put_escaped(out: &mut Vec<u8>, text: &str, is_attribute: bool) {
    let mut rest = text;
    while let Some(place) = rest.bytes().position(|octet| !is_plain(octet)) {
        let (before, from) = rest.split_at_checked(place).unwrap_or((rest, ""));
        out.extend_from_slice(before.as_bytes());
        let Some(character) = from.chars().next() else {
            return;
        };
        let reference = match character {
            '<' => "&lt;",
            '>' => "&gt;",
            '&' => "&amp;",
            '\r' => "&#13;",
            '"' if is_attribute => "&quot;",
            '\t' if is_attribute => "&#9;",
            '\n' if is_attribute => "&#10;",
            '\t' | '\n' | ' '..='\u{FFFD}' | '\u{10000}'.. => {
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                ""
            }
            _ => "\u{FFFD}",
        };
        out.extend_from_slice(reference.as_bytes());
        rest = from.get(character.len_utf8()..).unwrap_or_default();
    }
    out.extend_from_slice(rest.as_bytes());
}

/// Returns whether characters that begin with this octet never need an escape. 0xEF is not among these octets, because
/// it begins U+FFFE and U+FFFF.
fn is_plain(octet: u8) -> bool {
    octet >= b' ' && !matches!(octet, b'<' | b'>' | b'&' | b'"' | 0xEF)
}

/// A writer of elements whose names have the same prefix.
pub(in crate::sru) struct Writer<'a> {
    pub(in crate::sru) out: &'a mut Vec<u8>,
    /// The prefix of the elements, including the colon, such as `zs:`.
    pub(in crate::sru) prefix: &'static str,
}

impl Writer<'_> {
    /// Returns a writer to the same document with a different prefix.
    pub(in crate::sru) fn with(&mut self, prefix: &'static str) -> Writer<'_> {
        Writer {
            out: self.out,
            prefix,
        }
    }

    /// Appends markup unchanged.
    pub(in crate::sru) fn raw(&mut self, markup: &[u8]) {
        self.out.extend_from_slice(markup);
    }

    /// Appends a start tag.
    pub(in crate::sru) fn begin(&mut self, name: &str) {
        self.tag("<", name);
    }

    /// Appends a start tag that declares namespaces with their prefixes.
    pub(in crate::sru) fn begin_with(&mut self, name: &str, namespaces: &[(&str, &str)]) {
        self.raw(b"<");
        self.raw(self.prefix.as_bytes());
        self.raw(name.as_bytes());
        for (prefix, namespace) in namespaces {
            self.raw(b" xmlns:");
            self.raw(prefix.as_bytes());
            self.raw(b"=\"");
            self.raw(namespace.as_bytes());
            self.raw(b"\"");
        }
        self.raw(b">");
    }

    /// Appends a start tag with attributes.
    pub(in crate::sru) fn open(&mut self, name: &str, attributes: &[(&str, &str)]) {
        self.raw(b"<");
        self.raw(self.prefix.as_bytes());
        self.raw(name.as_bytes());
        for (name, value) in attributes {
            self.raw(b" ");
            self.raw(name.as_bytes());
            self.raw(b"=\"");
            put_attribute(self.out, value);
            self.raw(b"\"");
        }
        self.raw(b">");
    }

    /// Appends text.
    pub(in crate::sru) fn content(&mut self, text: &str) {
        put_text(self.out, text);
    }

    /// Appends an end tag.
    pub(in crate::sru) fn end(&mut self, name: &str) {
        self.tag("</", name);
    }

    fn tag(&mut self, open: &str, name: &str) {
        self.raw(open.as_bytes());
        self.raw(self.prefix.as_bytes());
        self.raw(name.as_bytes());
        self.raw(b">");
    }

    /// Appends an element with text.
    pub(in crate::sru) fn text(&mut self, name: &str, text: &str) {
        self.begin(name);
        put_text(self.out, text);
        self.end(name);
    }

    /// Appends an element with text, if there is any text.
    pub(in crate::sru) fn optional(&mut self, name: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.text(name, text);
        }
    }

    /// Appends an element with a number, if there is a number.
    pub(in crate::sru) fn number(&mut self, name: &str, number: Option<u64>) {
        if let Some(number) = number {
            self.text(name, &number.to_string());
        }
    }

    /// Appends an element with markup, if there is any markup.
    pub(in crate::sru) fn markup(&mut self, name: &str, markup: &[u8]) {
        if !markup.is_empty() {
            self.begin(name);
            self.raw(markup);
            self.end(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_and_nothing_else_changes() {
        for (text, content, attribute) in [
            ("a \\xE9 \\x5C ä", "a \\xE9 \\x5C ä", "a \\xE9 \\x5C ä"),
            (
                "<\\xE9>&\"'",
                "&lt;\\xE9&gt;&amp;\"'",
                "&lt;\\xE9&gt;&amp;&quot;'",
            ),
            ("\t\n\r", "\t\n&#13;", "&#9;&#10;&#13;"),
            (
                "\u{1B}\u{FFFF}\u{F000}\u{10000}",
                "\u{FFFD}\u{FFFD}\u{F000}\u{10000}",
                "\u{FFFD}\u{FFFD}\u{F000}\u{10000}",
            ),
        ] {
            let (mut one, mut other) = (Vec::new(), Vec::new());
            put_text(&mut one, text);
            put_attribute(&mut other, text);
            assert_eq!(String::from_utf8(one).as_deref(), Ok(content));
            assert_eq!(String::from_utf8(other).as_deref(), Ok(attribute));
        }
    }
}

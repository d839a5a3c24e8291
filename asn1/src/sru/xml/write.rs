//! Writes elements.

use crate::marc::xmltext::{put_attribute as escape_attribute, put_content};

/// Appends text as element content.
pub(in crate::sru) fn put_text(out: &mut Vec<u8>, text: &str) {
    // Most text needs no escape.
    if text.bytes().all(is_plain) {
        out.extend_from_slice(text.as_bytes());
    } else {
        let mut escaped = String::with_capacity(text.len() + text.len() / 4);
        put_content(&mut escaped, text.as_bytes());
        out.extend_from_slice(escaped.as_bytes());
    }
}

/// Appends text as the inside of an attribute's value in double quotes.
pub(in crate::sru) fn put_attribute(out: &mut Vec<u8>, text: &str) {
    let mut escaped = String::with_capacity(text.len());
    escape_attribute(&mut escaped, text.as_bytes());
    out.extend_from_slice(escaped.as_bytes());
}

/// Whether an octet is content as it is. 0xEF begins characters that XML does not have, among others.
fn is_plain(octet: u8) -> bool {
    match octet {
        b'<' | b'>' | b'&' | 0xEF => false,
        b'\t' | b'\n' => true,
        other => other >= b' ',
    }
}

/// Writes elements with a prefix.
pub(in crate::sru) struct Writer<'a> {
    pub(in crate::sru) out: &'a mut Vec<u8>,
    /// The prefix of the elements, such as `zs:`.
    pub(in crate::sru) prefix: &'static str,
}

impl Writer<'_> {
    /// The same with another prefix.
    pub(in crate::sru) fn with(&mut self, prefix: &'static str) -> Writer<'_> {
        Writer {
            out: self.out,
            prefix,
        }
    }

    /// Appends markup as it is.
    pub(in crate::sru) fn raw(&mut self, markup: &[u8]) {
        self.out.extend_from_slice(markup);
    }

    /// A start tag.
    pub(in crate::sru) fn begin(&mut self, name: &str) {
        self.tag("<", name);
    }

    /// A start tag that declares namespaces, with their prefixes.
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

    /// A start tag with attributes.
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

    /// Text.
    pub(in crate::sru) fn content(&mut self, text: &str) {
        put_text(self.out, text);
    }

    /// An end tag.
    pub(in crate::sru) fn end(&mut self, name: &str) {
        self.tag("</", name);
    }

    fn tag(&mut self, open: &str, name: &str) {
        self.raw(open.as_bytes());
        self.raw(self.prefix.as_bytes());
        self.raw(name.as_bytes());
        self.raw(b">");
    }

    /// An element with text.
    pub(in crate::sru) fn text(&mut self, name: &str, text: &str) {
        self.begin(name);
        put_text(self.out, text);
        self.end(name);
    }

    /// An element with text, if there is any.
    pub(in crate::sru) fn optional(&mut self, name: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.text(name, text);
        }
    }

    /// An element with a number, if there is one.
    pub(in crate::sru) fn number(&mut self, name: &str, number: Option<u64>) {
        if let Some(number) = number {
            self.text(name, &number.to_string());
        }
    }

    /// An element with markup, if there is any.
    pub(in crate::sru) fn markup(&mut self, name: &str, markup: &[u8]) {
        if !markup.is_empty() {
            self.begin(name);
            self.raw(markup);
            self.end(name);
        }
    }
}

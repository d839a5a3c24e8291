//! Menus: each line is an item, and its fields, separated by tabs, give the URL of the item (RFC 1436 §3.2, Appendix).
//! Informational lines (`i`) and links to other schemes (`URL:`) are common, but not standardised.

use std::num::NonZeroU16;

use super::text::{decoded, lines};
use crate::url::{GopherPlus, GopherType, GopherUrl, Host, Mode, Octets};

/// A line in a menu, which describes an item or contains text for people to read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MenuItem {
    /// The type of the item, which is the first character of the line.
    pub item_type: char,
    /// The text to display. It is decoded from UTF-8, or from ISO 8859-1 if it is not UTF-8.
    pub display: String,
    /// The selector, by which the item is requested.
    pub selector: Octets,
    /// The host, as written in the line.
    pub host: String,
    /// The port; `None` unless it is a number from 1 to 65535.
    pub port: Option<u16>,
    /// The Gopher+ mark: `+`, or `?` for an item with a form; `None` for an item without Gopher+.
    pub plus: Option<char>,
    /// The URL of the item; `None` for informational lines, errors, and incomplete lines.
    pub url: Option<String>,
    /// Whether the line has a host and a port.
    pub is_complete: bool,
}

impl MenuItem {
    /// Returns whether the line contains only text for people to read, or has no fields.
    pub fn is_information(&self) -> bool {
        self.item_type == GopherType::INFO.as_char()
    }

    /// Parses a line without its line end. `primary` is the type of the last item that was not of type `+`; an item of
    /// type `+` (a redundant server) has that type.
    pub(super) fn read(line: &[u8], primary: Option<GopherType>) -> Self {
        let mut fields = line.split(|&octet| octet == b'\t');
        let head = fields.next().unwrap_or_default();
        let (&item_type, display) = head.split_first().unwrap_or((&b'i', head));
        let Some(selector) = fields.next() else {
            return Self::words(line);
        };
        let host = fields.next();
        let port = fields.next();
        let plus = fields.next().and_then(|mark| mark.first());
        let mut item = Self {
            item_type: char::from(item_type),
            display: decoded(display),
            selector: selector.into(),
            host: decoded(host.unwrap_or_default()),
            port: port.and_then(number),
            plus: plus
                .filter(|mark| b"+?".contains(mark))
                .map(|&mark| char::from(mark)),
            url: None,
            is_complete: port.is_some(),
        };
        let item_type = match item_type {
            b'+' => primary,
            other => GopherType::new(other),
        };
        item.url = item_type.and_then(|item_type| item.locate(item_type));
        item
    }

    /// Creates an item that has only text to display, from a line without tabs.
    fn words(line: &[u8]) -> Self {
        Self {
            item_type: GopherType::INFO.as_char(),
            display: decoded(line),
            selector: Octets::default(),
            host: String::new(),
            port: None,
            plus: None,
            url: None,
            is_complete: false,
        }
    }

    fn locate(&self, item_type: GopherType) -> Option<String> {
        if [GopherType::INFO, GopherType::ERROR].contains(&item_type) {
            return None;
        }
        if let Some(url) = link(self.selector.as_bytes()) {
            return Some(url);
        }
        let mut builder = GopherUrl::builder(Host::parse(&self.host, Mode::Lenient).ok()?)
            .port(NonZeroU16::new(self.port?)?)
            .item_type(item_type)
            .selector(self.selector.clone());
        if self.plus == Some('?') {
            builder = builder.plus(GopherPlus::form());
        }
        Some(builder.build().ok()?.canonical())
    }
}

/// Parses a menu up to its lone dot or the end of the text, ignoring empty lines.
pub(super) fn read(text: &[u8]) -> Vec<MenuItem> {
    let mut primary = None;
    let lines = lines(text).filter(|line| !line.is_empty());
    lines
        .map(|line| {
            let item = MenuItem::read(line, primary);
            if item.item_type != '+' {
                primary = line.first().and_then(|&first| GopherType::new(first));
            }
            item
        })
        .collect()
}

/// Returns the URL in a selector such as `URL:http://www.example/`, with escapes for octets that are not allowed.
fn link(selector: &[u8]) -> Option<String> {
    let selector = selector.strip_prefix(b"/").unwrap_or(selector);
    let (prefix, url) = selector.split_at_checked(b"URL:".len())?;
    let has_scheme = url
        .iter()
        .position(|octet| b":/".contains(octet))
        .is_some_and(|end| end > 0 && url.get(end) == Some(&b':'));
    if !prefix.eq_ignore_ascii_case(b"URL:") || !has_scheme {
        return None;
    }
    let mut text = String::with_capacity(url.len());
    for &octet in url {
        if octet.is_ascii_graphic() && !b"<>\"".contains(&octet) {
            text.push(char::from(octet))
        } else {
            text.push_str(&format!("%{octet:02X}"))
        }
    }
    Some(text)
}

fn number(digits: &[u8]) -> Option<u16> {
    let port: NonZeroU16 = std::str::from_utf8(digits).ok()?.trim().parse().ok()?;
    Some(port.get())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_give_items_and_urls() {
        let check = |line: &[u8], shown: &str, url: Option<&str>| {
            let items = read(line);
            let [item] = items.as_slice() else {
                panic!("one item in {}", line.escape_ascii());
            };
            assert_eq!(format!("{}{}", item.item_type, item.display), shown);
            assert_eq!(item.url.as_deref(), url, "{shown}");
        };
        check(
            b"0About\t/about\tgopher.example\t70\r\n",
            "0About",
            Some("gopher://gopher.example/0/about"),
        );
        check(
            b"1Top\t\tGOPHER.example.\t7070\r\n",
            "1Top",
            Some("gopher://gopher.example:7070/"),
        );
        check(
            b"7Find\t/find\tgopher.example\t70\t+\r\n",
            "7Find",
            Some("gopher://gopher.example/7/find"),
        );
        check(
            b"0Form\tf\tgopher.example\t70\t?\r\n",
            "0Form",
            Some("gopher://gopher.example/0f%09%09?"),
        );
        check(
            b"0B\xFCcher\ta b#\xE9\tgopher.example\t70\n",
            "0Bücher",
            Some("gopher://gopher.example/0a%20b%23%E9"),
        );
        check(
            "0Bücher\tx\tgopher.example\t70\n".as_bytes(),
            "0Bücher",
            Some("gopher://gopher.example/0x"),
        );
        check(
            b"hSite\tURL:http://www.example/a b\tgopher.example\t70\r\n",
            "hSite",
            Some("http://www.example/a%20b"),
        );
        check(
            b"hSite\t/URL:z39.50s://lib.example/\tgopher.example\t70",
            "hSite",
            Some("z39.50s://lib.example/"),
        );
        check(
            b"hPage\t/page.html\tgopher.example\t70\r\n",
            "hPage",
            Some("gopher://gopher.example/h/page.html"),
        );
        check(
            b"8Login\tguest\tgopher.example\t23\r\n",
            "8Login",
            Some("gopher://gopher.example:23/8guest"),
        );
        check(b"iWelcome\tfake\t(NULL)\t0\r\n", "iWelcome", None);
        check(b"3Not there\t\terror.host\t1\r\n", "3Not there", None);
        check(b"0About\t/about\r\n", "0About", None);
        check(b"0About\t/about\tgopher.example\r\n", "0About", None);
        check(b"0About\t/about\tgopher.example\t70000\r\n", "0About", None);
        check(b"0About\t/about\t-bad-\t70\r\n", "0About", None);
        check(b"just words\r\n", "ijust words", None);
        check(b"\t\t\t\r\n", "i", None);
        check(b"\xFFx\ty\tgopher.example\t70", "ÿx", None);
    }

    #[test]
    fn another_server_has_the_type_of_the_item_before_it() {
        let items = read(b"0A\t/a\th.example\t70\r\n+A\t/b\ti.example\t70\r\n+A\t/c\tj.example\t70\r\n\r\n.\r\n0B\t");
        let urls: Vec<_> = items
            .iter()
            .filter_map(|item| item.url.as_deref())
            .collect();
        assert_eq!(
            urls,
            [
                "gopher://h.example/0/a",
                "gopher://i.example/0/b",
                "gopher://j.example/0/c"
            ]
        );
        assert_eq!(items.len(), 3);
    }
}

//! Repairs links as browsers do (WHATWG URL Standard, §4.4): surrounding spaces, line ends and tabs are removed, other
//! octets that are not allowed are escaped, and relative links are resolved.
//!
//! Valid URLs are not changed: dots, ports and letter case are not normalized. A host name that is not ASCII is escaped
//! (RFC 3986 §3.2.2).

use z3950_marc::charset::Charset;

use super::super::generic;
use super::super::resolve::{ResolveMode, resolve};
#[cfg(feature = "html")]
use super::ascii;
use super::escape;

/// Cleans and escapes the value of an attribute. If the value is not UTF-8, its path and fragment are converted from
/// the charset `fallback` to UTF-8, while the octets of its query are kept, as in browsers.
pub(super) fn cleaned(value: &[u8], fallback: Charset) -> String {
    let octets: Vec<u8> = trimmed(value)
        .iter()
        .copied()
        .filter(|octet| !b"\t\r\n".contains(octet))
        .collect();
    if std::str::from_utf8(&octets).is_ok() {
        return escape(&octets);
    }
    let query = octets.iter().position(|&octet| octet == b'?');
    let (path, rest) = octets.split_at(query.unwrap_or(octets.len()));
    let fragment = rest.iter().position(|&octet| octet == b'#');
    let (query, fragment) = rest.split_at(fragment.unwrap_or(rest.len()));
    let decoded = |part: &[u8]| escape(fallback.decode(part).text.as_bytes());
    decoded(path) + &escape(query) + &decoded(fragment)
}

/// Removes surrounding spaces and control characters.
pub(super) fn trimmed(mut value: &[u8]) -> &[u8] {
    while let [b'\0'..=b' ', rest @ ..] | [rest @ .., b'\0'..=b' '] = value {
        value = rest;
    }
    value
}

/// Returns whether browsers treat a backslash in this scheme like a slash, and any number of slashes before a host like
/// two slashes.
fn is_special(scheme: &str) -> bool {
    ["http", "https", "ftp", "file"]
        .into_iter()
        .any(|special| special.eq_ignore_ascii_case(scheme))
}

/// Resolves a cleaned link relative to `base`. Returns `None` for a relative link without a base.
pub(super) fn resolved(link: &str, base: Option<&str>) -> Option<String> {
    let base =
        base.filter(|base| generic::split(base).is_some_and(|(_, rest)| rest.starts_with("//")));
    let base_scheme = base.and_then(generic::split).map(|(scheme, _)| scheme);
    let Some((scheme, rest)) = generic::split(link) else {
        let link = if base_scheme.is_some_and(is_special) {
            with_slashes(link)
        } else {
            link.to_owned()
        };
        return resolve(base?, &link, ResolveMode::Rfc1630Examples).ok();
    };
    if !is_special(scheme) {
        return Some(link.to_owned());
    }
    let rest = with_slashes(rest);
    if rest.starts_with("//") || scheme.eq_ignore_ascii_case("file") {
        return Some(format!("{scheme}:{rest}"));
    }
    match base.filter(|_| base_scheme.is_some_and(|base| base.eq_ignore_ascii_case(scheme))) {
        Some(base) => resolve(base, &rest, ResolveMode::Rfc1630Examples).ok(),
        None => Some(format!("{scheme}://{}", rest.trim_start_matches('/'))),
    }
}

/// Converts backslashes before the query to slashes, more than two leading slashes to two slashes, and segments that
/// consist of escaped dots to dots.
fn with_slashes(link: &str) -> String {
    let (path, tail) = link.split_at(link.find(['?', '#']).unwrap_or(link.len()));
    let path = path.replace('\\', "/");
    let names = path.trim_start_matches('/');
    let slashes = path.len() - names.len();
    let segments = names
        .split('/')
        .map(|segment| match segment.to_ascii_lowercase().as_str() {
            "%2e" => ".",
            "%2e%2e" | ".%2e" | "%2e." => "..",
            _ => segment,
        });
    let segments: Vec<&str> = segments.collect();
    format!("{}{}{tail}", "/".repeat(slashes.min(2)), segments.join("/"))
}

/// Returns the charset that a page declares, which is used for values that are not UTF-8. The default is windows-1252,
/// as in browsers.
#[cfg(feature = "html")]
pub(super) fn declared_charset(page: &[u8]) -> Charset {
    /// The number of octets that browsers examine for a declaration (HTML Standard, "prescan a byte stream").
    const HEAD: usize = 1024;
    let head = page.get(..HEAD).unwrap_or(page).to_ascii_lowercase();
    let named = head
        .windows(b"charset=".len())
        .position(|window| window == b"charset=");
    let label = named
        .and_then(|at| head.get(at + b"charset=".len()..))
        .unwrap_or_default();
    let label: Vec<u8> = label
        .iter()
        .copied()
        .skip_while(|octet| b"\"'".contains(octet))
        .take_while(|octet| octet.is_ascii_alphanumeric() || b"-_:".contains(octet))
        .collect();
    let is_legacy = |charset: &Charset| *charset != Charset::Utf8;
    Charset::by_name(&ascii(&label))
        .filter(is_legacy)
        .or_else(|| Charset::by_name("windows-1252"))
        .unwrap_or(Charset::Utf8)
}

#[cfg(all(test, feature = "html"))]
mod tests {
    use super::*;

    /// Tests with cases from the tests of the URL Standard that agree with RFC 1630.
    #[test]
    fn audit_b11_links_are_resolved_as_browsers_do() {
        let check = |base: &str, link: &str, expected: Option<&str>| {
            let latin = Charset::by_name("windows-1252").expect("a charset");
            let base = (!base.is_empty()).then_some(base);
            let found = resolved(&cleaned(link.as_bytes(), latin), base);
            assert_eq!(found.as_deref(), expected, "{base:?} {link:?}");
        };
        let base = "http://a.example/b/c?d#e";
        check(base, "g", Some("http://a.example/b/g"));
        check(base, "../g h", Some("http://a.example/g%20h"));
        check(base, "/g/%2e%2E/h", Some("http://a.example/h"));
        check(base, "?q=é", Some("http://a.example/b/c?q=%C3%A9"));
        check(base, "#s", Some("http://a.example/b/c?d#s"));
        check(base, "//g", Some("http://g"));
        check(base, "///g", Some("http://g"));
        check(base, "\\\\g\\h?\\", Some("http://g/h?\\"));
        check(base, "http:g", Some("http://a.example/b/g"));
        check(base, "https:g", Some("https://g"));
        check(base, "http:\\\\g\\", Some("http://g/"));
        check(base, " \u{1}g\n/\th ", Some("http://a.example/b/g/h"));
        check(base, "mailto:a@b.example", Some("mailto:a@b.example"));
        check(base, "http://u/bücher", Some("http://u/b%C3%BCcher"));
        check(
            base,
            "http://bücher.example/",
            Some("http://b%C3%BCcher.example/"),
        );
        check(base, "a\"<b>", Some("http://a.example/b/a%22%3Cb%3E"));
        check("", "g", None);
        check("mailto:a@b.example", "g", None);
        check(
            "gopher://h.example/1/a",
            "b",
            Some("gopher://h.example/1/b"),
        );
    }

    #[test]
    fn audit_b11_pages_in_other_charsets() {
        let check = |page: &[u8], value: &[u8], expected: &str| {
            assert_eq!(cleaned(value, declared_charset(page)), expected);
        };
        check(
            b"<p>",
            b"caf\xE9?caf\xE9#caf\xE9",
            "caf%C3%A9?caf%E9#caf%C3%A9",
        );
        check(b"<p>", "café?café".as_bytes(), "caf%C3%A9?caf%C3%A9");
        check(b"<meta charset=\"ISO-8859-5\">", b"\xD0", "%D0%B0");
        check(b"<meta charset=utf-8>", b"\xE9", "%C3%A9");
    }
}

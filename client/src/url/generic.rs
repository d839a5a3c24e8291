//! What holds for URIs of every scheme: RFC 1630. They are texts here, taken apart no further than any program may.
//!
//! `/`, `?`, `#` and `%` have the same meaning everywhere, and escaping one of them changes it; so does escaping
//! one of `;:@&=`, which schemes may reserve (RFC 1738 §2.2), and `+`, which parts the words of a query. Every
//! other character means the same escaped and literal.

use std::ops::Range;

use super::common::{self, Class};
use super::error::{UrlError, UrlErrorKind};
use super::span::Span;

/// The scheme and what follows its colon, or `None` for a partial form.
///
/// A scheme begins with a letter, so that `12:30` has none, and its colon comes before any slash.
pub fn split(uri: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = uri.split_once(':')?;
    common::is_scheme(scheme).then_some((scheme, rest))
}

/// Whether the text is a whole URI rather than a partial form.
pub fn is_absolute(uri: &str) -> bool {
    split(uri).is_some()
}

/// The URI without its fragment, and the fragment as written; an empty one is none.
pub fn split_fragment(uri: &str) -> (&str, Option<&str>) {
    match uri.split_once('#') {
        Some((uri, fragment)) => (uri, Some(fragment).filter(|fragment| !fragment.is_empty())),
        None => (uri, None),
    }
}

/// The text without one leading `URL:` of any letter case (RFC 1738 Appendix, `prefixedurl` of RFC 1630).
pub fn strip_prefix(text: &str) -> &str {
    match text.split_at_checked("URL:".len()) {
        Some((prefix, rest)) if prefix.eq_ignore_ascii_case("URL:") => rest,
        _ => text,
    }
}

/// The URI at one encoding level: the scheme in lower case, escapes that mean nothing resolved, and escaped what
/// may not stand in a URI: blanks, controls, octets from 80 hex on, unsafe and national characters.
///
/// Nothing is known of the scheme: letter case of the host, default ports and `..` stay.
///
/// Errors: `BadPercentEscape` at the `%`; `InvalidScheme` where something else stands before the first colon, since
/// resolving escapes there could make a scheme of it; `TooLong`.
pub fn canonical(uri: impl AsRef<[u8]>) -> Result<String, UrlError> {
    let whole = Span::new(uri.as_ref());
    if whole.octets().len() > super::MAX_URL_LENGTH {
        return Err(whole.fail_at(super::MAX_URL_LENGTH, UrlErrorKind::TooLong));
    }
    let mut text = String::with_capacity(whole.octets().len());
    let rest = match common::scheme(whole) {
        Ok((scheme, rest)) => {
            let scheme = scheme.octets().iter();
            text.extend(scheme.map(|octet| char::from(octet.to_ascii_lowercase())));
            text.push(':');
            rest
        }
        Err(refusal) if refusal.kind() == UrlErrorKind::MissingScheme => whole,
        Err(refusal) => return Err(refusal),
    };
    let (uri, fragment) = rest.cut(b"#");
    canonical_part(uri, &mut text)?;
    if let Some(fragment) = fragment.strip_prefix(b"#").filter(|text| !text.is_empty()) {
        text.push('#');
        canonical_part(fragment, &mut text)?;
    }
    Ok(text)
}

/// A part of a URI at one encoding level, as [`canonical`] has it; where an escape is malformed, as it is.
pub(crate) fn at_one_level(part: &str) -> String {
    let mut text = String::with_capacity(part.len());
    match canonical_part(Span::new(part.as_bytes()), &mut text) {
        Ok(()) => text,
        Err(_) => part.to_owned(),
    }
}

fn canonical_part(part: Span<'_>, text: &mut String) -> Result<(), UrlError> {
    let mut rest = part;
    while let Some((octet, tail)) = rest.split_first() {
        let (octet, literal) = if octet == b'%' {
            let octet = common::escaped_octet(rest)
                .ok_or_else(|| rest.fail(UrlErrorKind::BadPercentEscape))?;
            rest = rest.split_at(3).1;
            (octet, is_free(octet))
        } else {
            rest = tail;
            (octet, common::is_xchar(octet))
        };
        // Writing to a string cannot fail.
        let _ = common::write_escaped(text, &[octet], |_| literal);
    }
    Ok(())
}

/// Whether two URIs are the same once they are brought to the same encoding level; malformed ones never are.
pub fn same_uri(left: impl AsRef<[u8]>, right: impl AsRef<[u8]>) -> bool {
    match (canonical(left), canonical(right)) {
        (Ok(left), Ok(right)) => left == right,
        _ => false,
    }
}

/// The URI with these characters escaped wherever they are literal and that does not change what it means: not in
/// the scheme and the authority, and nothing reserved. [`soften`] takes it back.
pub fn harden(uri: &str, escape: &[u8]) -> String {
    let (head, path) = uri.split_at(path_start(uri));
    let mut hardened = String::from(head);
    let mut skip = 0;
    for character in path.chars() {
        let octet = u8::try_from(character).unwrap_or(0);
        match octet {
            b'%' => skip = 2,
            _ if skip > 0 => skip -= 1,
            _ if escape.contains(&octet) && is_free(octet) => {
                hardened.push_str(&format!("%{octet:02X}"));
                continue;
            }
            _ => {}
        }
        hardened.push(character);
    }
    hardened
}

/// The URI with every escape resolved that does not change what it means, where [`harden`] makes them.
pub fn soften(uri: &str) -> String {
    let (head, mut rest) = uri.split_at(path_start(uri));
    let mut softened = String::from(head);
    while let Some(index) = rest.find('%') {
        let (head, escape) = rest.split_at(index);
        softened.push_str(head);
        match common::escaped_octet(Span::new(escape.as_bytes())) {
            Some(octet) if is_free(octet) => {
                softened.push(char::from(octet));
                rest = escape.get(3..).unwrap_or_default();
            }
            _ => {
                softened.push('%');
                rest = escape.get(1..).unwrap_or_default();
            }
        }
    }
    softened + rest
}

/// The URI for showing to others: the password of `//user:password@` as `***`, whatever the scheme (RFC 1738 §6).
pub fn redact(uri: &str) -> String {
    match password(uri).and_then(|range| Some((uri.get(..range.start)?, uri.get(range.end..)?))) {
        Some((before, after)) => format!("{before}***{after}"),
        None => uri.to_owned(),
    }
}

/// Whether an `@` behind this scheme is part of an address or a name, and no password can come before it.
pub(crate) fn names_addresses(scheme: &str) -> bool {
    [
        "acct", "cid", "im", "mailto", "mid", "news", "pres", "sip", "sips", "tag", "urn", "xmpp",
    ]
    .into_iter()
    .any(|name| scheme.eq_ignore_ascii_case(name))
}

/// Where the password stands in a URI, be it an empty one: after the first colon and before the last `@` of the authority.
pub(crate) fn password(uri: &str) -> Option<Range<usize>> {
    let (scheme, rest) = uri.split_once("//")?;
    let is_web = ["http:", "https:", ""]
        .into_iter()
        .any(|name| scheme.eq_ignore_ascii_case(name));
    // A user name may hold `?` (RFC 1738 §5), but not where the path may be left out before a query.
    let ends: &[char] = if is_web { &['/', '?', '#'] } else { &['/'] };
    let authority = rest.split(ends).next()?;
    let (userinfo, _) = authority.rsplit_once('@')?;
    let colon = userinfo.find(':')?;
    let start = scheme.len() + "//".len();
    let is_scheme = scheme.is_empty() || scheme.ends_with(':') && split(uri).is_some();
    is_scheme.then_some(start + colon + 1..start + userinfo.len())
}

/// Whether a character means the same escaped and literal.
fn is_free(octet: u8) -> bool {
    Class::of(octet) == Class::Unreserved && octet != b'+'
}

/// Where the path begins: behind the first colon if no slash comes before it, and behind the authority if two
/// slashes say that there is one.
pub(crate) fn path_start(uri: &str) -> usize {
    let delimiter = uri.find([':', '/', '?', '#']).unwrap_or(uri.len());
    let (head, rest) = uri.split_at(delimiter);
    let (scheme, rest) = match rest.strip_prefix(':') {
        Some(rest) => (head.len() + 1, rest),
        None => (0, uri),
    };
    match rest.strip_prefix("//") {
        Some(authority) => {
            let length = authority.find(['/', '?', '#']).unwrap_or(authority.len());
            scheme + "//".len() + length
        }
        None => scheme,
    }
}

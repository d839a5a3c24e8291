//! URIs of any scheme as text (RFC 1630), processed without knowledge of their scheme.
//!
//! `/`, `?`, `#` and `%` have the same meaning in every scheme, and escaping one of them changes the meaning of the
//! URI. The same is true of `;:@&=`, which schemes may reserve (RFC 1738 §2.2), and of `+`, which separates the words
//! of a query. Every other character has the same meaning with and without an escape.

use std::ops::Range;

use super::common::{self, Class};
use super::error::{UrlError, UrlErrorKind};
use super::span::Span;

/// Splits a URI into its scheme and the text after the colon. Returns `None` for a partial form.
///
/// A scheme begins with a letter, so `12:30` has no scheme. Its colon comes before any slash.
pub fn split(uri: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = uri.split_once(':')?;
    common::is_scheme(scheme).then_some((scheme, rest))
}

/// Returns whether the text is an absolute URI, and not a partial form.
pub fn is_absolute(uri: &str) -> bool {
    split(uri).is_some()
}

/// Splits a URI into the part before the fragment, and the fragment as written. An empty fragment is returned as
/// `None`.
pub fn split_fragment(uri: &str) -> (&str, Option<&str>) {
    match uri.split_once('#') {
        Some((uri, fragment)) => (uri, Some(fragment).filter(|fragment| !fragment.is_empty())),
        None => (uri, None),
    }
}

/// Removes one leading `URL:`, whose letter case is ignored (RFC 1738 Appendix, `prefixedurl` of RFC 1630).
pub fn strip_prefix(text: &str) -> &str {
    match text.split_at_checked("URL:".len()) {
        Some((prefix, rest)) if prefix.eq_ignore_ascii_case("URL:") => rest,
        _ => text,
    }
}

/// Normalizes a URI: the scheme is converted to lower case, redundant escapes are decoded, and characters that are not
/// allowed are escaped (spaces, control characters, octets from 80 hex, unsafe and national characters).
///
/// The letter case of the host, default ports and `..` are not changed, because they depend on the scheme.
///
/// # Errors
/// `BadPercentEscape` at the `%`, `InvalidScheme` if the text before the first colon is not a scheme, because decoding
/// escapes could turn it into one, or `TooLong`.
pub fn canonical(uri: impl AsRef<[u8]>) -> Result<String, UrlError> {
    let whole = Span::new(uri.as_ref());
    if whole.octets().len() > super::MAX_URL_LENGTH {
        return Err(whole.fail_at(super::MAX_URL_LENGTH, UrlErrorKind::TooLong));
    }
    let mut text = String::with_capacity(whole.octets().len());
    let rest = match common::scheme(whole) {
        Ok((scheme, rest)) => {
            text.push_str(&scheme.to_text().to_ascii_lowercase());
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

/// Normalizes a part of a URI like [`canonical`]. If an escape is malformed, the part is returned unchanged.
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

/// Returns whether two URIs are equal after normalization. A malformed URI is not equal to any URI.
pub fn same_uri(left: impl AsRef<[u8]>, right: impl AsRef<[u8]>) -> bool {
    match (canonical(left), canonical(right)) {
        (Ok(left), Ok(right)) => left == right,
        _ => false,
    }
}

/// Escapes the characters in `escape`, except characters whose meaning an escape would change, and except in the scheme
/// and the authority. [`soften`] is the inverse.
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

/// Undoes the escapes made by [`harden`].
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

/// Returns the URI with `***` in place of the password in `//user:password@`, for every scheme (RFC 1738 §6).
pub fn redact(uri: &str) -> String {
    match password(uri).and_then(|range| Some((uri.get(..range.start)?, uri.get(range.end..)?))) {
        Some((before, after)) => format!("{before}***{after}"),
        None => uri.to_owned(),
    }
}

/// Returns whether URIs of this scheme contain `@` in addresses or names, so that the text before it is not a password.
pub(crate) fn names_addresses(scheme: &str) -> bool {
    [
        "acct", "cid", "im", "mailto", "mid", "news", "pres", "sip", "sips", "tag", "urn", "xmpp",
    ]
    .into_iter()
    .any(|name| scheme.eq_ignore_ascii_case(name))
}

/// Returns the range of the password, between the first colon and the last `@` of the authority. The range may be
/// empty.
pub(crate) fn password(uri: &str) -> Option<Range<usize>> {
    let (scheme, rest) = uri.split_once("//")?;
    let is_web = ["http:", "https:", ""]
        .into_iter()
        .any(|name| scheme.eq_ignore_ascii_case(name));
    // A user name may contain `?` (RFC 1738 §5), except in schemes that allow a query without a path.
    let ends: &[char] = if is_web { &['/', '?', '#'] } else { &['/'] };
    let authority = rest.split(ends).next()?;
    let (userinfo, _) = authority.rsplit_once('@')?;
    let colon = userinfo.find(':')?;
    let start = scheme.len() + "//".len();
    let is_scheme = scheme.is_empty() || scheme.ends_with(':') && split(uri).is_some();
    is_scheme.then_some(start + colon + 1..start + userinfo.len())
}

/// Returns whether a character has the same meaning with and without an escape.
fn is_free(octet: u8) -> bool {
    Class::of(octet) == Class::Unreserved && octet != b'+'
}

/// Returns the offset of the path, which follows the scheme or, if there are two slashes, the authority.
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

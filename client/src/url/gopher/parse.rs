//! The parser for the Gopher URL draft §2.1, which works from left to right and reports the offset of every error.
//!
//! ```text
//! "gopher://" host [ ":" port ] [ "/" [ type selector [ "%09" search [ "%09" gopher+string ] ] ] ]
//! ```

use super::super::authority::HostPort;
use super::super::common::{self, Content, Mode};
use super::super::error::{UrlError, UrlErrorKind};
use super::super::octets::Octets;
use super::super::span::Span;
use super::{GopherPlus, GopherType, GopherUrl, SCHEME};

/// Characters that are delimiters in other schemes, but data in this scheme (draft §2.1).
const RESERVED: &[u8] = b";/?:@&=";

/// The separator between the fields of the path.
const TAB: &[u8] = b"%09";

/// Parses a complete URL for [`GopherUrl::parse`].
pub(super) fn parse(text: &[u8], mode: Mode) -> Result<GopherUrl, UrlError> {
    let (url, fragment) = common::envelope(text, mode)?.cut(b"#");
    let (scheme, rest) = common::scheme(url)?;
    if !scheme.octets().eq_ignore_ascii_case(SCHEME.as_bytes()) {
        return Err(scheme.fail(UrlErrorKind::UnsupportedScheme));
    }
    let (hostport, path) = common::double_slash(rest)?.cut(b"/");
    let mut read = GopherUrl {
        hostport: HostPort::parse(hostport, mode)?,
        item_type: GopherType::MENU,
        selector: Octets::default(),
        search: None,
        plus: None,
    };
    if let Some((_, path)) = path.split_first()
        && !path.is_empty()
    {
        let (item_type, fields) = item_type(path, mode)?;
        read.item_type = item_type;
        let (selector, search) = split(fields);
        read.selector = line(selector, mode)?;
        if let Some((search, plus)) = search.map(split) {
            read.search = Some(line(search, mode)?);
            read.plus = plus.map(|plus| self::plus(plus, mode)).transpose()?;
        }
    }
    if !fragment.is_empty() {
        return Err(fragment.fail(UrlErrorKind::FragmentNotAllowed));
    }
    common::bounded(text, || read.to_string())?;
    Ok(read)
}

/// Parses the character before the selector, and returns the text after it. The character may be escaped, like every
/// `xchar` (RFC 1738 §5).
fn item_type(path: Span<'_>, mode: Mode) -> Result<(GopherType, Span<'_>), UrlError> {
    let (character, rest) = match path.first() {
        Some(b'%') => {
            let octet = common::escaped_octet(path)
                .ok_or_else(|| path.fail(UrlErrorKind::BadPercentEscape))?;
            (Some(octet), path.split_at(3).1)
        }
        first => (first, path.split_at(1).1),
    };
    let item_type = character
        .and_then(GopherType::new)
        .filter(|item_type| mode == Mode::Lenient || item_type.is_listed());
    let item_type = item_type.ok_or_else(|| path.fail(UrlErrorKind::InvalidGopherType))?;
    Ok((item_type, rest))
}

/// Splits text at the first escaped tab. The second part is `None` without a tab.
fn split(fields: Span<'_>) -> (Span<'_>, Option<Span<'_>>) {
    let (head, tail) = fields.split_at(position(fields, |escape| escape == TAB));
    (head, tail.strip_prefix(TAB))
}

/// Decodes a field of the request, which may contain any octets except CR and LF.
fn line(field: Span<'_>, mode: Mode) -> Result<Octets, UrlError> {
    let (data, broken) = field.split_at(position(field, breaks_line));
    let data = self::data(data, mode)?;
    if broken.is_empty() {
        Ok(data)
    } else {
        Err(broken.fail(UrlErrorKind::ForbiddenControl))
    }
}

/// Decodes the Gopher+ string, in which line ends and tabs are allowed only in a filled form.
fn plus(field: Span<'_>, mode: Mode) -> Result<GopherPlus, UrlError> {
    let control = position(field, |escape| escape == TAB || breaks_line(escape));
    GopherPlus::new(data(field, mode)?)
        .ok_or_else(|| field.fail_at(control, UrlErrorKind::ForbiddenControl))
}

fn data(field: Span<'_>, mode: Mode) -> Result<Octets, UrlError> {
    Content::any(mode).decode_with(field, RESERVED)
}

/// Returns the offset of the first sequence of three octets that `wanted` accepts, or the length of the field.
fn position(field: Span<'_>, wanted: impl Fn(&[u8]) -> bool) -> usize {
    let octets = field.octets();
    octets.windows(3).position(wanted).unwrap_or(octets.len())
}

fn breaks_line(escape: &[u8]) -> bool {
    escape.eq_ignore_ascii_case(b"%0D") || escape.eq_ignore_ascii_case(b"%0A")
}

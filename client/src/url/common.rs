//! The common parts of URLs: modes, character classes, percent escapes and the scheme. Source: RFC 1738 §2.1, §2.2 and
//! §5; RFC 2056 §5 uses the same classes.

use std::fmt;

use super::error::{MAX_URL_LENGTH, UrlError, UrlErrorKind};
use super::octets::Octets;
use super::span::Span;

/// How strictly a URL is parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Accepts exactly what RFC 2056 and RFC 1738 allow.
    Strict,
    /// Also accepts what people and programs actually write: surrounding spaces, one leading `URL:`, IP literals, `_`
    /// and a trailing dot in host names, userinfo, a fragment, an empty port, an empty docid, reserved and national
    /// characters as data, and parameters in any order. Spaces within the URL, malformed escapes and literal `"`, `<`,
    /// `>` are still refused.
    Lenient,
}

/// The character classes of RFC 1738 §5, which determine where an octet may occur without an escape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Letters, digits and `$-_.+!*'(),`, which never need an escape.
    Unreserved,
    /// `;/?:@&=`, which may be delimiters, and are escaped in data.
    Reserved,
    /// `{}|\^~[]` and the backtick, which old gateways may change.
    National,
    /// All other octets, including `<>"#%`, which always have to be escaped.
    Unsafe,
}

impl Class {
    pub(crate) fn of(octet: u8) -> Self {
        match octet {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' => Class::Unreserved,
            b'$' | b'-' | b'_' | b'.' | b'+' => Class::Unreserved,
            b'!' | b'*' | b'\'' | b'(' | b')' | b',' => Class::Unreserved,
            b';' | b'/' | b'?' | b':' | b'@' | b'&' | b'=' => Class::Reserved,
            b'{' | b'}' | b'|' | b'\\' | b'^' | b'~' | b'[' | b']' | b'`' => Class::National,
            _ => Class::Unsafe,
        }
    }
}

/// Returns the URL in text without the spaces, brackets and prefix around it that [`Mode::Lenient`] accepts. Checks
/// that all octets of the URL are in 21–7E hex.
///
/// # Errors
/// `TooLong`, `EmptyInput`, and `InvalidCharacter` at the first octet that is not allowed in any URL.
pub(crate) fn envelope(text: &[u8], mode: Mode) -> Result<Span<'_>, UrlError> {
    let whole = Span::new(text);
    if text.len() > MAX_URL_LENGTH {
        return Err(whole.fail_at(MAX_URL_LENGTH, UrlErrorKind::TooLong));
    }
    let url = match mode {
        Mode::Strict => whole,
        Mode::Lenient => unwrapped(whole),
    };
    if url.is_empty() {
        return Err(url.fail(UrlErrorKind::EmptyInput));
    }
    graphic(url)?;
    Ok(url)
}

/// Removes surrounding spaces and line ends, then one pair of angle brackets and one leading `URL:`, whose case is
/// ignored (RFC 1738 Appendix).
pub(crate) fn unwrapped(text: Span<'_>) -> Span<'_> {
    let text = trimmed(text);
    let text = match text.octets() {
        [b'<', inner @ .., b'>'] => trimmed(text.split_at(1).1.split_at(inner.len()).0),
        _ => text,
    };
    let (prefix, rest) = text.split_at(b"URL:".len());
    if prefix.octets().eq_ignore_ascii_case(b"URL:") {
        rest
    } else {
        text
    }
}

/// Removes surrounding spaces and line ends.
fn trimmed(text: Span<'_>) -> Span<'_> {
    let is_blank = |octet: &u8| matches!(octet, b' ' | b'\t' | b'\r' | b'\n');
    let octets = text.octets();
    let start = octets
        .iter()
        .position(|octet| !is_blank(octet))
        .unwrap_or(octets.len());
    let last = octets.iter().rposition(|octet| !is_blank(octet));
    let (text, _) = text.split_at(last.map_or(start, |last| last + 1));
    text.split_at(start).1
}

/// Returns an error at the first octet that is not graphic US-ASCII (RFC 1738 §2.2).
pub(crate) fn graphic(text: Span<'_>) -> Result<(), UrlError> {
    text.allow_only(
        |octet| octet.is_ascii_graphic(),
        UrlErrorKind::InvalidCharacter,
    )
}

/// Splits a URL into its scheme and the text after the colon. A URL has a scheme if a colon comes before any slash (RFC
/// 1630).
///
/// # Errors
/// `MissingScheme`, and `InvalidScheme` at the first octet other than letters, digits and `+.-` (RFC 1738 §2.1).
pub(crate) fn scheme(url: Span<'_>) -> Result<(Span<'_>, Span<'_>), UrlError> {
    let (scheme, rest) = url.cut(b":/");
    let rest = match rest.strip_prefix(b":") {
        Some(rest) if !scheme.is_empty() => rest,
        _ => return Err(url.fail(UrlErrorKind::MissingScheme)),
    };
    let is_wrapped = scheme.first() == Some(b'<');
    scheme
        .allow_only(is_scheme_octet, UrlErrorKind::InvalidScheme)
        .map_err(|refusal| {
            if is_wrapped {
                refusal.advising(
                    "`<` and `>` surround a URL in text; only lenient reading takes it out of them",
                )
            } else {
                refusal
            }
        })?;
    Ok((scheme, rest))
}

/// Returns whether an octet is allowed in a scheme name (RFC 1738 §2.1).
pub(crate) fn is_scheme_octet(octet: u8) -> bool {
    octet.is_ascii_alphanumeric() || b"+.-".contains(&octet)
}

/// Returns whether text is a letter followed by letters, digits and `+.-`, which both RFC 1630 and RFC 1738 require
/// of a scheme.
pub(crate) fn is_scheme(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic()) && text.bytes().all(is_scheme_octet)
}

/// Returns the text after the two slashes (RFC 1738 §3.1).
pub(crate) fn double_slash(rest: Span<'_>) -> Result<Span<'_>, UrlError> {
    rest.strip_prefix(b"//")
        .ok_or_else(|| rest.fail(UrlErrorKind::MissingDoubleSlash))
}

/// Decodes the fragment after `#`, which is not part of the URL (RFC 1738 §2.2). Only [`Mode::Lenient`] accepts it.
pub(crate) fn fragment(fragment: Span<'_>, mode: Mode) -> Result<Option<Octets>, UrlError> {
    match (fragment.strip_prefix(b"#"), mode) {
        (None, _) => Ok(None),
        (Some(_), Mode::Strict) => Err(fragment.fail(UrlErrorKind::FragmentNotAllowed)),
        (Some(text), Mode::Lenient) => Content::any(mode).decode(text).map(Some),
    }
}

/// Returns an error if the canonical form of text is too long. Because of escapes, it can be longer than the text.
pub(crate) fn bounded(text: &[u8], canonical: impl FnOnce() -> String) -> Result<(), UrlError> {
    /// The maximum number of octets that one octet can become in canonical form: `%XX`, or `::ffff:1:1` as
    /// `::ffff:0.1.0.1`.
    const LARGEST_GROWTH: usize = 4;
    if text.len() <= MAX_URL_LENGTH / LARGEST_GROWTH || canonical().len() <= MAX_URL_LENGTH {
        return Ok(());
    }
    Err(Span::new(text).fail_at(MAX_URL_LENGTH, UrlErrorKind::TooLong))
}

/// The rules for the contents of a part of a URL between its delimiters. `uchar` is always allowed, and the fields
/// determine which other characters are allowed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Content {
    /// The parsing mode. [`Mode::Lenient`] also accepts reserved and national characters.
    pub(crate) mode: Mode,
    /// The reserved characters that both modes refuse.
    pub(crate) never: &'static [u8],
    /// Whether the part may contain escaped control characters (00–1F and 7F hex).
    pub(crate) controls: bool,
}

impl Content {
    /// Creates rules that allow any octets.
    pub(crate) fn any(mode: Mode) -> Self {
        Content {
            mode,
            never: b"",
            controls: true,
        }
    }

    /// Creates rules that allow any octets except control characters.
    pub(crate) fn string(mode: Mode) -> Self {
        Content {
            controls: false,
            ..Content::any(mode)
        }
    }

    /// Adds reserved characters that both modes refuse.
    pub(crate) fn never(self, reserved: &'static [u8]) -> Self {
        Content {
            never: reserved,
            ..self
        }
    }

    /// Decodes the escapes of a part.
    ///
    /// # Errors
    /// `BadPercentEscape` or `ForbiddenControl` at the `%`, or `ReservedCharacter` or `InvalidCharacter` at the
    /// character.
    pub(crate) fn decode(self, part: Span<'_>) -> Result<Octets, UrlError> {
        self.decode_with(part, b"")
    }

    /// Decodes the escapes of a part. Both modes accept the characters in `reserved` without an escape.
    pub(crate) fn decode_with(self, part: Span<'_>, reserved: &[u8]) -> Result<Octets, UrlError> {
        let mut decoded = Vec::with_capacity(part.octets().len());
        self.each(part, reserved, |octet, _| decoded.push(octet))?;
        Ok(decoded.into())
    }

    /// Calls `take` with each octet of the decoded part, and a `bool` that is true if the octet was escaped.
    pub(crate) fn each(
        self,
        part: Span<'_>,
        reserved: &[u8],
        mut take: impl FnMut(u8, bool),
    ) -> Result<(), UrlError> {
        let mut rest = part;
        while let Some((octet, tail)) = rest.split_first() {
            rest = if octet == b'%' {
                let (octet, tail) = self.unescape(rest)?;
                take(octet, true);
                tail
            } else {
                if !reserved.contains(&octet) {
                    self.admit(octet).map_err(|kind| rest.fail(kind))?;
                }
                take(octet, false);
                tail
            };
        }
        Ok(())
    }

    fn unescape(self, escape: Span<'_>) -> Result<(u8, Span<'_>), UrlError> {
        let (Some(octet), tail) = (escaped_octet(escape), escape.split_at(3).1) else {
            return Err(escape.fail(UrlErrorKind::BadPercentEscape));
        };
        if octet.is_ascii_control() && !self.controls {
            return Err(escape.fail(UrlErrorKind::ForbiddenControl));
        }
        Ok((octet, tail))
    }

    fn admit(self, octet: u8) -> Result<(), UrlErrorKind> {
        let lenient = self.mode == Mode::Lenient;
        match Class::of(octet) {
            Class::Unreserved => Ok(()),
            Class::Reserved if lenient && !self.never.contains(&octet) => Ok(()),
            Class::Reserved => Err(UrlErrorKind::ReservedCharacter),
            Class::National if lenient => Ok(()),
            Class::National | Class::Unsafe => Err(UrlErrorKind::InvalidCharacter),
        }
    }
}

/// Returns the octet of a `%XX` at the start of `escape`.
pub(crate) fn escaped_octet(escape: Span<'_>) -> Option<u8> {
    match escape.octets() {
        [b'%', high, low, ..] => Some(hex_digit(*high)? << 4 | hex_digit(*low)?),
        _ => None,
    }
}

fn hex_digit(octet: u8) -> Option<u8> {
    match octet {
        b'0'..=b'9' => Some(octet - b'0'),
        b'A'..=b'F' => Some(octet - b'A' + 10),
        b'a'..=b'f' => Some(octet - b'a' + 10),
        _ => None,
    }
}

/// Writes `octets`. Octets for which `literal` returns false are escaped as `%` and two upper-case hexadecimal digits.
pub(crate) fn write_escaped(
    out: &mut impl fmt::Write,
    octets: &[u8],
    literal: impl Fn(u8) -> bool,
) -> fmt::Result {
    octets.iter().try_for_each(|&octet| {
        if literal(octet) {
            out.write_char(char::from(octet))
        } else {
            write!(out, "%{octet:02X}")
        }
    })
}

/// Returns whether an octet is an `xchar` of RFC 1738 §5, which needs no escape in a part without delimiters.
pub(crate) fn is_xchar(octet: u8) -> bool {
    matches!(Class::of(octet), Class::Unreserved | Class::Reserved)
}

/// Returns an error if `octets` contain a control character, which is not allowed in any string that a line-based
/// protocol sends (RFC 1738 §6).
pub(crate) fn no_controls(octets: &[u8]) -> Result<(), UrlError> {
    match octets.iter().position(u8::is_ascii_control) {
        Some(index) => Err(Span::new(octets).fail_at(index, UrlErrorKind::ForbiddenControl)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests the class of each character in RFC 1738 §5.
    #[test]
    fn classes_cover_every_octet() {
        let check = |class, members: &str, extra: usize| {
            for octet in members.bytes() {
                assert_eq!(Class::of(octet), class, "{}", octet.escape_ascii());
            }
            let count = (0..=255).filter(|&octet| Class::of(octet) == class).count();
            assert_eq!(count, members.len() + extra, "{class:?}");
        };
        check(Class::Unreserved, "$-_.+!*'(),", 62);
        check(Class::Reserved, ";/?:@&=", 0);
        check(Class::National, "{}|\\^~[]`", 0);
        check(Class::Unsafe, "<>\"#%", 33 + 1 + 128);
    }

    #[test]
    fn escapes_resolve_to_the_octet_they_were_written_for() {
        let content = Content {
            mode: Mode::Strict,
            never: b"",
            controls: true,
        };
        for octet in 0..=255 {
            let mut upper = String::new();
            write_escaped(&mut upper, &[octet], |_| false).unwrap();
            for text in [upper.to_lowercase(), upper] {
                let decoded = content.decode(Span::new(text.as_bytes())).unwrap();
                assert_eq!(decoded.as_bytes(), [octet], "{text}");
            }
        }
    }

    #[test]
    fn schemes_end_at_a_colon_before_any_slash() {
        let check = |text: &str, expected: Result<(&str, &str), &str>| {
            let found = match scheme(Span::new(text.as_bytes())) {
                Ok((scheme, rest)) => Ok((scheme.octets(), rest.octets())),
                Err(refusal) => Err(format!("{}@{}", refusal.kind().name(), refusal.offset())),
            };
            let expected = expected.map(|(scheme, rest)| (scheme.as_bytes(), rest.as_bytes()));
            assert_eq!(found, expected.map_err(str::to_owned), "{text}");
        };
        check("x-a.b+c:foo", Ok(("x-a.b+c", "foo")));
        check("magic:a:b/c", Ok(("magic", "a:b/c")));
        check("abc/def:ghi", Err("MissingScheme@0"));
        check("foo", Err("MissingScheme@0"));
        check(":x", Err("MissingScheme@0"));
        check("a_b:foo", Err("InvalidScheme@1"));
    }
}

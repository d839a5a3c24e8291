//! URIs of unknown schemes, stored as a scheme and the text after it (RFC 1736 §4.7, §4.8). The text is kept unchanged,
//! so that the URI can be passed on.

use std::fmt;
use std::hash::{Hash, Hasher};

use super::super::common::{self, Class, Content, Mode};
use super::super::error::UrlError;
use super::super::generic;
use super::super::span::Span;

/// The names of schemes that RFC 1738 §4 reserves without defining a syntax.
const RESERVED: [&str; 7] = ["afs", "cid", "mailserver", "mid", "nfs", "tn3270", "z39.50"];

/// A scheme and the text after its colon, as written.
///
/// Two URIs are equal if their normalized forms are equal (RFC 1630): `%2f` equals `%2F` and `%2D` equals `-`, but an
/// escaped reserved character differs from a literal one. `Display` and `Debug` show `***` in place of a password in
/// the common Internet scheme syntax. If the text after the colon does not begin with a slash, they also hide
/// everything before its last `@`, as in `ann:password@host`, except in schemes whose URIs contain addresses.
#[derive(Clone)]
pub struct OpaqueUri {
    scheme: String,
    part: String,
}

impl OpaqueUri {
    /// Creates a URI of any scheme with any text after the colon, such as `news` and `comp.lang.c`.
    ///
    /// # Errors
    /// `MissingScheme`, `InvalidScheme`, and errors in the part after the colon, with offsets in `scheme:part`.
    pub fn new(scheme: impl AsRef<str>, part: impl AsRef<str>) -> Result<Self, UrlError> {
        let text = format!("{}:{}", scheme.as_ref(), part.as_ref());
        let (scheme, part) = common::scheme(common::envelope(text.as_bytes(), Mode::Strict)?)?;
        Self::parse(scheme, part, Mode::Strict)
    }

    /// Returns the scheme in lower case, without a colon.
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// Returns the text after the colon, which may contain secrets.
    pub fn part(&self) -> &str {
        &self.part
    }

    /// Returns the normalized URI. Redundant escapes are decoded, and the remaining escapes are written in upper case.
    #[must_use]
    pub fn normalized(&self) -> Self {
        OpaqueUri {
            scheme: self.scheme.clone(),
            part: generic::at_one_level(&self.part),
        }
    }

    /// Returns whether the URI has a password in the common Internet scheme syntax.
    pub fn has_password(&self) -> bool {
        generic::password(&self.to_string_with_secrets()).is_some()
    }

    /// Returns whether the scheme is experimental, that is, whether it begins with `x-` (RFC 1738 §4, RFC 1630).
    pub fn is_experimental(&self) -> bool {
        self.scheme.starts_with("x-")
    }

    /// Returns whether RFC 1738 §4 reserves the scheme without defining a syntax, as it does for `z39.50`.
    pub fn is_reserved_name(&self) -> bool {
        self.reserved_name().is_some()
    }

    /// Returns the name of the scheme, if RFC 1738 §4 reserves it.
    pub(crate) fn reserved_name(&self) -> Option<&'static str> {
        RESERVED.into_iter().find(|name| *name == self.scheme)
    }

    /// Returns the URI as written, including the password.
    pub fn to_string_with_secrets(&self) -> String {
        format!("{}:{}", self.scheme, self.part)
    }

    /// Parses a scheme and the text after it. The lenient mode accepts national characters and escapes them.
    pub(crate) fn parse(scheme: Span<'_>, rest: Span<'_>, mode: Mode) -> Result<Self, UrlError> {
        Content::any(mode)
            .each(rest, b";/?:@&=", |_, _| ())
            .map_err(UrlError::without_octet)?;
        let mut part = String::with_capacity(rest.octets().len());
        // Writing to a string cannot fail.
        let _ = common::write_escaped(&mut part, rest.octets(), |octet| {
            octet == b'%' || Class::of(octet) != Class::National
        });
        let scheme = scheme.to_text().to_ascii_lowercase();
        Ok(OpaqueUri { scheme, part })
    }
}

impl PartialEq for OpaqueUri {
    fn eq(&self, other: &Self) -> bool {
        self.scheme == other.scheme
            && (self.part == other.part || self.normalized().part == other.normalized().part)
    }
}

impl Eq for OpaqueUri {}

impl Hash for OpaqueUri {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.scheme.hash(state);
        self.normalized().part.hash(state);
    }
}

impl fmt::Display for OpaqueUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.part.rsplit_once('@') {
            // The text is probably `ann:password@host` and not a URL of the scheme `ann`, so the part before the `@` is hidden.
            Some((_, place))
                if !self.part.starts_with('/') && !generic::names_addresses(&self.scheme) =>
            {
                write!(f, "{}:***@{place}", self.scheme)
            }
            _ => f.write_str(&generic::redact(&self.to_string_with_secrets())),
        }
    }
}

/// Writes the same text as [`Display`](fmt::Display).
impl fmt::Debug for OpaqueUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

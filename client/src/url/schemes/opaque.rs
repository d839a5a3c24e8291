//! What is known of a URI whose scheme nobody here interprets: the scheme and the rest (RFC 1736 §4.7, §4.8).
//! The rest is kept octet for octet, so that it can be handed to somebody who does.

use std::fmt;
use std::hash::{Hash, Hasher};

use super::super::common::{self, Class, Content, Mode};
use super::super::error::UrlError;
use super::super::generic;
use super::super::span::Span;

/// Scheme names that RFC 1738 §4 reserves without saying what follows them.
const RESERVED: [&str; 7] = ["afs", "cid", "mailserver", "mid", "nfs", "tn3270", "z39.50"];

/// A service and a package of parameters for it, kept as written.
///
/// Two are equal when they are the same at one encoding level (RFC 1630): `%2f` is `%2F` and `%2D` is `-`, but no escape
/// of a reserved character is that character. `Display` and `Debug` show a password as `***` where one stands as in the
/// common Internet scheme syntax, and all before an `@` where no slash comes first, as in `ann:password@host`, unless the
/// scheme is one of addresses.
#[derive(Clone)]
pub struct OpaqueUri {
    scheme: String,
    part: String,
}

impl OpaqueUri {
    /// Any scheme with anything behind its colon, such as `news` and `comp.lang.c`.
    ///
    /// Errors: `MissingScheme`, `InvalidScheme`, and what is no part of a URL, with offsets in `scheme:part`.
    pub fn new(scheme: impl AsRef<str>, part: impl AsRef<str>) -> Result<Self, UrlError> {
        let text = format!("{}:{}", scheme.as_ref(), part.as_ref());
        let (scheme, part) = common::scheme(common::envelope(text.as_bytes(), Mode::Strict)?)?;
        Self::parse(scheme, part, Mode::Strict)
    }

    /// The scheme in lower case, without a colon.
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// What follows the colon, a secret if it holds one.
    pub fn part(&self) -> &str {
        &self.part
    }

    /// The one spelling that all equal URIs share: escapes that mean nothing resolved, the others in upper case.
    #[must_use]
    pub fn normalized(&self) -> Self {
        OpaqueUri {
            scheme: self.scheme.clone(),
            part: generic::at_one_level(&self.part),
        }
    }

    /// Whether a password stands in it as in the common Internet scheme syntax.
    pub fn has_password(&self) -> bool {
        generic::password(&self.to_string_with_secrets()).is_some()
    }

    /// Whether the scheme is one for experiments: `x-` in front (RFC 1738 §4, RFC 1630).
    pub fn is_experimental(&self) -> bool {
        self.scheme.starts_with("x-")
    }

    /// Whether RFC 1738 §4 reserves the scheme's name without giving it a syntax, as it does for `z39.50`.
    pub fn is_reserved_name(&self) -> bool {
        self.reserved_name().is_some()
    }

    /// The name of the scheme, if RFC 1738 §4 reserves it.
    pub(crate) fn reserved_name(&self) -> Option<&'static str> {
        RESERVED.into_iter().find(|name| *name == self.scheme)
    }

    /// The URI as written, password included.
    pub fn to_string_with_secrets(&self) -> String {
        format!("{}:{}", self.scheme, self.part)
    }

    /// Reads the two sides of the colon. The lenient mode takes national characters and escapes them.
    pub(crate) fn parse(scheme: Span<'_>, rest: Span<'_>, mode: Mode) -> Result<Self, UrlError> {
        let content = Content {
            mode,
            never: b"",
            controls: true,
        };
        content
            .each(rest, b";/?:@&=", |_, _| ())
            .map_err(UrlError::without_octet)?;
        let mut part = String::with_capacity(rest.octets().len());
        // Errors: writing to a string cannot fail.
        let _ = common::write_escaped(&mut part, rest.octets(), |octet| {
            octet == b'%' || Class::of(octet) != Class::National
        });
        let scheme = scheme.octets().iter();
        Ok(OpaqueUri {
            scheme: scheme
                .map(|octet| char::from(octet.to_ascii_lowercase()))
                .collect(),
            part,
        })
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
            // Not a URL of the scheme `ann` but `ann:password@host`, most likely.
            Some((_, place))
                if !self.part.starts_with('/') && !generic::names_addresses(&self.scheme) =>
            {
                write!(f, "{}:***@{place}", self.scheme)
            }
            _ => f.write_str(&generic::redact(&self.to_string_with_secrets())),
        }
    }
}

/// As [`Display`](fmt::Display).
impl fmt::Debug for OpaqueUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

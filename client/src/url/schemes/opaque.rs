//! What is known of a URI whose scheme nobody here interprets: the scheme and the rest (RFC 1736 §4.7, §4.8).
//! The rest is kept octet for octet, so that it can be handed to somebody who does.

use std::fmt;

use super::super::common::{self, Class, Content, Mode};
use super::super::error::UrlError;
use super::super::span::Span;
use super::super::userinfo::Secrets;

/// Scheme names that RFC 1738 §4 reserves without saying what follows them.
const RESERVED: [&str; 7] = ["afs", "cid", "mailserver", "mid", "nfs", "tn3270", "z39.50"];

/// A service and a package of parameters for it. Two are equal when both are, octet for octet.
///
/// `Display` and `Debug` show a password as `***` where one stands as in the common Internet scheme syntax.
#[derive(Clone, PartialEq, Eq, Hash)]
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

    /// Whether the scheme is one for experiments: `x-` in front (RFC 1738 §4, RFC 1630).
    pub fn is_experimental(&self) -> bool {
        self.scheme.starts_with("x-")
    }

    /// Whether RFC 1738 §4 reserves the scheme's name without giving it a syntax, as it does for `z39.50`.
    pub fn is_reserved_name(&self) -> bool {
        RESERVED.contains(&self.scheme.as_str())
    }

    /// The canonical form, password included.
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
        // Writing to a string cannot fail.
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

    pub(crate) fn write(&self, out: &mut impl fmt::Write, secrets: Secrets) -> fmt::Result {
        write!(out, "{}:", self.scheme)?;
        match (secrets, password(&self.part)) {
            (Secrets::Redacted, Some((before, behind))) => write!(out, "{before}***{behind}"),
            _ => out.write_str(&self.part),
        }
    }
}

/// What stands around the password of `//user:password@`.
fn password(part: &str) -> Option<(&str, &str)> {
    let authority = part.strip_prefix("//")?.split('/').next()?;
    let (userinfo, _) = authority.rsplit_once('@')?;
    let user = userinfo.find(':')?;
    let before = "//".len() + user + ":".len();
    Some((
        part.get(..before)?,
        part.get("//".len() + userinfo.len()..)?,
    ))
}

impl fmt::Display for OpaqueUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, Secrets::Redacted)
    }
}

/// As [`Display`](fmt::Display).
impl fmt::Debug for OpaqueUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

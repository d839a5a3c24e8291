//! The parser for RFC 2056 §5, which works from left to right and reports the offset of every error.
//!
//! ```text
//! scheme "://" [ userinfo "@" ] host [ ":" port ]
//!     [ "/" [ database *( "+" database ) [ "?" docid ] ] *( ";" keyword "=" value ) ] [ "#" fragment ]
//! ```

use super::super::caution::Caution;
use super::super::common::{self, Content, Mode};
use super::super::encoded::{Characters, Encoded};
use super::super::error::{UrlError, UrlErrorKind};
use super::super::host;
use super::super::octets::Octets;
use super::super::span::Span;
use super::super::userinfo::Userinfo;
use super::{DEFAULT_PORT, Extension, Kind, Parts, Z3950Url};

impl Z3950Url {
    /// Parses a URL. The text need not be valid UTF-8, but octets outside 21–7E hex are refused.
    ///
    /// Source: RFC 2056 §5. Where the grammar is not explicit, this parser requires at least one character in each
    /// part. Parameters require the slash, but not a database. `+` separates the items of lists and is data elsewhere.
    ///
    /// # Errors
    /// The first error in the order of [`UrlErrorKind`], with its 0-based offset in `text`.
    pub fn parse(text: impl AsRef<[u8]>, mode: Mode) -> Result<Self, UrlError> {
        parse(text.as_ref(), mode)
    }
}

fn parse(text: &[u8], mode: Mode) -> Result<Z3950Url, UrlError> {
    let mut warnings = Vec::new();
    let (url, fragment) = common::envelope(text, mode)?.cut(b"#");
    let (kind, rest) = scheme(url)?;
    let (authority, rest) = rest.cut(b"/?;");
    let (userinfo, hostport) = login(authority, mode)?;
    warnings.extend(userinfo.as_ref().map(|_| Caution::CredentialsInUrl));
    let (host, port) = host::hostport(hostport, mode)?;
    let path = path(rest)?;
    let (names, rest) = path.cut(b"?;");
    let mut parts = Parts::new(kind, host);
    parts.port = port.unwrap_or(DEFAULT_PORT);
    parts.databases = databases(names, rest, mode)?;
    let rest = parts.read_docid(rest, mode, &mut warnings)?;
    parts.read_parameters(rest, mode, &mut warnings)?;
    let fragment = common::fragment(fragment, mode)?;
    if kind == Kind::Retrieval && parts.databases.is_empty() {
        return Err(path.fail(UrlErrorKind::MissingDatabase));
    }
    let url = Z3950Url {
        parts,
        userinfo,
        fragment,
        warnings,
    };
    common::bounded(text, || url.to_string_with_secrets())?;
    Ok(url)
}

/// Returns the kind of the URL, and the text after the two slashes.
fn scheme(url: Span<'_>) -> Result<(Kind, Span<'_>), UrlError> {
    let (scheme, rest) = common::scheme(url)?;
    let kind = Kind::of_scheme(scheme.octets())
        .ok_or_else(|| scheme.fail(UrlErrorKind::UnsupportedScheme))?;
    Ok((kind, common::double_slash(rest)?))
}

/// Splits the userinfo from the host and port. RFC 2056 §5 defines no userinfo, but refers to RFC 1738 §3.1, which
/// defines it.
///
/// The authority ends at the first `/`, `?` or `;`, so an `@` after these cannot change the host.
fn login(authority: Span<'_>, mode: Mode) -> Result<(Option<Userinfo>, Span<'_>), UrlError> {
    match (authority.rsplit_once(b'@'), mode) {
        (None, _) => Ok((None, authority)),
        (Some(_), Mode::Strict) => Err(authority.fail(UrlErrorKind::UserinfoNotAllowed)),
        (Some((userinfo, hostport)), Mode::Lenient) => {
            Ok((Some(Userinfo::parse(userinfo, mode)?), hostport))
        }
    }
}

/// Returns the text after the slash; it is empty if the URL ends without a slash.
fn path(rest: Span<'_>) -> Result<Span<'_>, UrlError> {
    match rest.strip_prefix(b"/") {
        Some(path) => Ok(path),
        None if rest.is_empty() => Ok(rest),
        None => Err(rest.fail(UrlErrorKind::UnexpectedCharacter)),
    }
}

fn databases(names: Span<'_>, rest: Span<'_>, mode: Mode) -> Result<Vec<Octets>, UrlError> {
    match rest.first() {
        Some(b'?') if names.is_empty() => Err(rest.fail(UrlErrorKind::DocidWithoutDatabase)),
        _ if names.is_empty() => Ok(Vec::new()),
        _ => list(names, Content::string(mode), UrlErrorKind::EmptyDatabase),
    }
}

impl Parts {
    /// Parses the docid if there is a `?`, and returns the text after the docid.
    fn read_docid<'a>(
        &mut self,
        rest: Span<'a>,
        mode: Mode,
        warnings: &mut Vec<Caution>,
    ) -> Result<Span<'a>, UrlError> {
        let Some(rest) = rest.strip_prefix(b"?") else {
            return Ok(rest);
        };
        let (docid, rest) = rest.cut(b";");
        match (docid.is_empty(), mode) {
            (false, _) => self.docid = Some(Content::any(mode).decode(docid)?),
            (true, Mode::Strict) => return Err(docid.fail(UrlErrorKind::EmptyDocid)),
            (true, Mode::Lenient) => warnings.push(Caution::EmptyDocidIgnored),
        }
        Ok(rest)
    }

    /// Parses the parameters, beginning at the first `;`.
    fn read_parameters(
        &mut self,
        mut rest: Span<'_>,
        mode: Mode,
        warnings: &mut Vec<Caution>,
    ) -> Result<(), UrlError> {
        let content = Content::string(mode).never(b"?");
        while let Some(parameter) = rest.strip_prefix(b";") {
            let semicolon = rest;
            let (parameter, tail) = parameter.cut(b";");
            let (keyword, value) = split_parameter(parameter)
                .ok_or_else(|| semicolon.fail(UrlErrorKind::MalformedParameter))?;
            self.admits(&keyword, mode)
                .map_err(|kind| semicolon.fail(kind))?;
            match keyword.as_str() {
                "esn" if value.is_empty() => return Err(value.fail(UrlErrorKind::EmptyElementSet)),
                "esn" => self.element_set = Some(content.decode(value)?),
                "rs" => {
                    self.record_syntaxes = list(value, content, UrlErrorKind::EmptyRecordSyntax)?;
                }
                _ => {
                    warnings.push(Caution::UnknownParameter(keyword.clone()));
                    let value = Encoded::parse(value, content, EXTENSION)?;
                    self.extensions.push(Extension { keyword, value });
                }
            }
            rest = tail;
        }
        Ok(())
    }

    /// Checks that `esn` and `rs` occur at most once and in this order. Extensions may occur at any place and any
    /// number of times.
    fn admits(&self, keyword: &str, mode: Mode) -> Result<(), UrlErrorKind> {
        let has_record_syntaxes = !self.record_syntaxes.is_empty();
        match keyword {
            "esn" if self.element_set.is_some() => Err(UrlErrorKind::DuplicateParameter),
            "rs" if has_record_syntaxes => Err(UrlErrorKind::DuplicateParameter),
            "esn" if has_record_syntaxes && mode == Mode::Strict => {
                Err(UrlErrorKind::ParameterOrder)
            }
            _ => Ok(()),
        }
    }
}

/// The rules for the value of a parameter that RFC 2056 does not define. An unescaped plus may be a separator, so an
/// escaped plus remains escaped.
const EXTENSION: Characters = Characters {
    reserved: b"",
    free: b"",
    kept: b"+",
};

/// Returns the keyword in lower case and the value.
fn split_parameter(parameter: Span<'_>) -> Option<(String, Span<'_>)> {
    let (keyword, value) = parameter.split_once(b'=')?;
    let keyword = std::str::from_utf8(keyword.octets()).ok()?;
    is_keyword(keyword).then(|| (keyword.to_ascii_lowercase(), value))
}

/// Returns whether text is a letter followed by letters, digits, `.`, `_` and `-`.
pub(super) fn is_keyword(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text
            .chars()
            .all(|each| each.is_ascii_alphanumeric() || "._-".contains(each))
}

/// Parses items separated by `+`, each of which has at least one character. `empty` is the error for an empty item.
fn list(text: Span<'_>, content: Content, empty: UrlErrorKind) -> Result<Vec<Octets>, UrlError> {
    text.split(b'+')
        .map(|item| {
            if item.is_empty() {
                Err(item.fail(empty))
            } else {
                content.decode(item)
            }
        })
        .collect()
}

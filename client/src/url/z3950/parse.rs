//! The parser for RFC 2056 §5, from left to right, with the offset of every error.
//!
//! ```text
//! scheme "://" [ userinfo "@" ] host [ ":" port ]
//!     [ "/" [ database *( "+" database ) [ "?" docid ] ] *( ";" keyword "=" value ) ] [ "#" fragment ]
//! ```

use super::super::common::{self, Content, Mode};
use super::super::error::{MAX_URL_LENGTH, UrlError, UrlErrorKind};
use super::super::host;
use super::super::octets::Octets;
use super::super::span::Span;
use super::super::userinfo::Userinfo;
use super::{DEFAULT_PORT, Extension, Kind, Parts, Warning, Z3950Url};

impl Z3950Url {
    /// Parses a URL. The text may contain any octets; those outside 21–7E hex are refused.
    ///
    /// Errors: the first in the order of [`UrlErrorKind`], with its 0-based offset in `text`. Source: RFC
    /// 2056 §5, interpreted as follows where it is silent: each part is one or more characters; parameters need the slash but no
    /// database; `+` separates in lists and is data elsewhere.
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
    warnings.extend(userinfo.as_ref().map(|_| Warning::CredentialsInUrl));
    let (host, port) = host::hostport(hostport, mode)?;
    let path = path(rest)?;
    let (names, rest) = path.cut(b"?;");
    let databases = databases(names, rest, mode)?;
    let (docid, rest) = docid(rest, mode, &mut warnings)?;
    let parameters = Parameters::parse(rest, mode, &mut warnings)?;
    let fragment = self::fragment(fragment, mode)?;
    if kind == Kind::Retrieval && databases.is_empty() {
        return Err(path.fail(UrlErrorKind::MissingDatabase));
    }
    let parts = Parts {
        kind,
        host,
        port: port.unwrap_or(DEFAULT_PORT),
        databases,
        docid,
        element_set: parameters.element_set,
        record_syntaxes: parameters.record_syntaxes,
        extensions: parameters.extensions,
    };
    let url = Z3950Url {
        parts,
        userinfo,
        fragment,
        warnings,
    };
    bounded(text, &url)?;
    Ok(url)
}

/// The kind, and the text after the two slashes.
fn scheme(url: Span<'_>) -> Result<(Kind, Span<'_>), UrlError> {
    let (scheme, rest) = common::scheme(url)?;
    let kind = Kind::of_scheme(scheme.octets())
        .ok_or_else(|| scheme.fail(UrlErrorKind::UnsupportedScheme))?;
    let rest = rest
        .strip_prefix(b"//")
        .ok_or_else(|| rest.fail(UrlErrorKind::MissingDoubleSlash))?;
    Ok((kind, rest))
}

/// Separates userinfo from host and port. RFC 2056 §5 has no userinfo, but RFC 1738 §3.1, which it refers to.
///
/// The authority ends at the first `/`, `?` or `;`, so a later `@` cannot change the host.
fn login(authority: Span<'_>, mode: Mode) -> Result<(Option<Userinfo>, Span<'_>), UrlError> {
    match (authority.rsplit_once(b'@'), mode) {
        (None, _) => Ok((None, authority)),
        (Some(_), Mode::Strict) => Err(authority.fail(UrlErrorKind::UserinfoNotAllowed)),
        (Some((userinfo, hostport)), Mode::Lenient) => {
            Ok((Some(Userinfo::parse(userinfo, mode)?), hostport))
        }
    }
}

/// The text after the slash, or nothing.
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
        _ => list(
            names,
            Content {
                mode,
                never: b"",
                controls: false,
            },
            UrlErrorKind::EmptyDatabase,
        ),
    }
}

/// The docid, if there is a `?`, and the parameters.
fn docid<'a>(
    rest: Span<'a>,
    mode: Mode,
    warnings: &mut Vec<Warning>,
) -> Result<(Option<Octets>, Span<'a>), UrlError> {
    let Some(rest) = rest.strip_prefix(b"?") else {
        return Ok((None, rest));
    };
    let (docid, rest) = rest.cut(b";");
    if !docid.is_empty() {
        return Ok((
            Some(
                Content {
                    mode,
                    never: b"",
                    controls: true,
                }
                .decode(docid)?,
            ),
            rest,
        ));
    }
    match mode {
        Mode::Strict => Err(docid.fail(UrlErrorKind::EmptyDocid)),
        Mode::Lenient => {
            warnings.push(Warning::EmptyDocidIgnored);
            Ok((None, rest))
        }
    }
}

/// The parameters from the first `;`.
#[derive(Default)]
struct Parameters {
    element_set: Option<Octets>,
    record_syntaxes: Vec<Octets>,
    extensions: Vec<Extension>,
}

impl Parameters {
    fn parse(
        mut rest: Span<'_>,
        mode: Mode,
        warnings: &mut Vec<Warning>,
    ) -> Result<Self, UrlError> {
        let mut parameters = Parameters::default();
        while let Some(parameter) = rest.strip_prefix(b";") {
            let semicolon = rest;
            let (parameter, tail) = parameter.cut(b";");
            let (keyword, value) = split_parameter(parameter)
                .ok_or_else(|| semicolon.fail(UrlErrorKind::MalformedParameter))?;
            parameters
                .admits(&keyword, mode)
                .map_err(|kind| semicolon.fail(kind))?;
            if let Some(warning) = parameters.add(keyword, value, mode)? {
                warnings.push(warning);
            }
            rest = tail;
        }
        Ok(parameters)
    }

    /// `esn` and `rs` are allowed once each and in this order; extensions anywhere and any number of times.
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

    fn add(
        &mut self,
        keyword: String,
        value: Span<'_>,
        mode: Mode,
    ) -> Result<Option<Warning>, UrlError> {
        let content = Content {
            mode,
            never: b"?",
            controls: false,
        };
        match keyword.as_str() {
            "esn" if value.is_empty() => return Err(value.fail(UrlErrorKind::EmptyElementSet)),
            "esn" => self.element_set = Some(content.decode(value)?),
            "rs" => {
                self.record_syntaxes = list(value, content, UrlErrorKind::EmptyRecordSyntax)?;
            }
            _ => {
                let warning = Warning::UnknownParameter(keyword.clone());
                self.extensions.push(Extension {
                    keyword,
                    value: content.decode(value)?,
                });
                return Ok(Some(warning));
            }
        }
        Ok(None)
    }
}

/// The keyword in lower case and the value.
fn split_parameter(parameter: Span<'_>) -> Option<(String, Span<'_>)> {
    let (keyword, value) = parameter.split_once(b'=')?;
    let keyword = std::str::from_utf8(keyword.octets()).ok()?;
    is_keyword(keyword).then(|| (keyword.to_ascii_lowercase(), value))
}

/// A letter, then letters, digits, `.`, `_` and `-`.
pub(super) fn is_keyword(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text
            .chars()
            .all(|each| each.is_ascii_alphanumeric() || "._-".contains(each))
}

/// Items separated by `+`, each of one or more characters; `empty` is the error for an empty one.
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

/// The fragment after `#`, which is no part of the URL (RFC 1738 §2.2).
fn fragment(fragment: Span<'_>, mode: Mode) -> Result<Option<Octets>, UrlError> {
    match (fragment.strip_prefix(b"#"), mode) {
        (None, _) => Ok(None),
        (Some(_), Mode::Strict) => Err(fragment.fail(UrlErrorKind::FragmentNotAllowed)),
        (Some(text), Mode::Lenient) => Content {
            mode,
            never: b"",
            controls: true,
        }
        .decode(text)
        .map(Some),
    }
}

/// Escaping can make the canonical form longer than the text, and too long.
fn bounded(text: &[u8], url: &Z3950Url) -> Result<(), UrlError> {
    /// The most octets that an octet becomes: `%XX`, or `::ffff:1:1` as `::ffff:0.1.0.1`.
    const LARGEST_GROWTH: usize = 4;
    if text.len() <= MAX_URL_LENGTH / LARGEST_GROWTH
        || url.to_string_with_secrets().len() <= MAX_URL_LENGTH
    {
        return Ok(());
    }
    Err(Span::new(text).fail_at(MAX_URL_LENGTH, UrlErrorKind::TooLong))
}

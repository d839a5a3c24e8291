//! Resolves partial forms (RFC 1630, "Partial (relative) form"): references without a scheme, which are relative to
//! another URI.
//!
//! In RFC 1630, the rule for leading slashes contradicts the examples. The rule says to search the base, from right to
//! left, for a sequence of the same number of slashes. In the examples, one slash means the root. The examples agree
//! with later standards, so they are the default.

use super::common;
use super::error::MAX_URL_LENGTH;
use super::error::{UrlError, UrlErrorKind};
use super::generic::{self, path_start};
use super::span::Span;

/// How to interpret leading slashes in a partial form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum ResolveMode {
    /// Follows the examples of RFC 1630: one slash means the root, two slashes begin a host, and for more slashes, the
    /// base is searched for a run of the same length.
    #[default]
    Rfc1630Examples,
    /// Follows the rule in the text of RFC 1630: however many slashes the partial form begins with, the base is
    /// searched for a run of that many slashes. A partial form that is only a query replaces the last segment.
    Rfc1630Prose,
}

/// The reason why a partial form cannot be resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// The base is not an absolute URI. The offset is an offset in the base.
    #[error("base: {0}")]
    Base(UrlError),
    /// The partial form is malformed, or begins with more slashes than the longest run of slashes in the base
    /// (`NoMatchingSlashRun`). The offset is an offset in the partial form.
    #[error("reference: {0}")]
    Reference(UrlError),
}

impl ResolveError {
    /// Returns the error in the base or the partial form.
    pub fn refusal(&self) -> UrlError {
        match self {
            ResolveError::Base(refusal) | ResolveError::Reference(refusal) => *refusal,
        }
    }
}

/// Resolves `reference` relative to `base`. The result is an absolute URI, which is not checked by the rules of its
/// scheme.
///
/// If `reference` is absolute, it is returned unchanged. Segments `.` are removed. A segment `..` also removes the
/// segment before it, even if that is empty, but never the host. If `reference` is empty or only a fragment, it refers
/// to the base without the base's fragment. Escaped slashes and dots are data. Surrounding spaces, `<` and `>`, and one
/// `URL:` are removed from both texts, as in [`Mode::Lenient`](super::Mode::Lenient).
///
/// # Errors
/// See [`ResolveError`]. The most common error is `MissingScheme` for the base.
pub fn resolve(base: &str, reference: &str, profile: ResolveMode) -> Result<String, ResolveError> {
    let (base, at_base) = bare(base).map_err(ResolveError::Base)?;
    let (reference, at_reference) = bare(reference).map_err(ResolveError::Reference)?;
    if generic::is_absolute(reference) {
        return Ok(reference.to_owned());
    }
    if !generic::is_absolute(base) {
        let refusal = UrlError::at(UrlErrorKind::MissingScheme, at_base);
        return Err(ResolveError::Base(refusal));
    }
    let (base, _) = generic::split_fragment(base);
    let (path, tail) = cut(reference, 0);
    let (place, _) = cut(base, path_start(base));
    let slashes = path.bytes().take_while(|&octet| octet == b'/').count();
    let joined = match (slashes, profile) {
        (0, _) if path.is_empty() && !tail.starts_with('?') => {
            return bounded(format!("{base}{tail}"));
        }
        (0, ResolveMode::Rfc1630Examples) if path.is_empty() => place.to_owned(),
        // A reference to a newsgroup or an article replaces the whole name in the base, whose slashes are not separators.
        (0, _) if let Some(scheme) = flat_scheme(place) => format!("{scheme}:{path}"),
        (0, _) => format!("{}{path}", directory(place)),
        (1, ResolveMode::Rfc1630Examples) => {
            format!("{}{path}", place.split_at(path_start(place)).0)
        }
        (2, ResolveMode::Rfc1630Examples) => {
            let scheme = generic::split(place).map_or("", |(scheme, _)| scheme);
            format!("{scheme}:{path}")
        }
        _ => match matching_run(place, slashes) {
            Some(before) => format!("{before}{path}"),
            None => {
                let refusal = UrlError::at(UrlErrorKind::NoMatchingSlashRun, at_reference);
                return Err(ResolveError::Reference(refusal));
            }
        },
    };
    let (head, path) = joined.split_at(path_start(&joined));
    let path = without_dots(path);
    // RFC 1738 §5 requires a slash between host and query, so a missing slash is added.
    let slash = if head.contains('/') && path.is_empty() && tail.starts_with('?') {
        "/"
    } else {
        ""
    };
    bounded(format!("{head}{slash}{path}{tail}"))
}

/// Removes the spaces, brackets and prefix that the lenient mode allows around a URI. Returns the URI, and its offset
/// in the text.
fn bare(text: &str) -> Result<(&str, usize), UrlError> {
    let whole = Span::new(text.as_bytes());
    if text.len() > MAX_URL_LENGTH {
        return Err(whole.fail_at(MAX_URL_LENGTH, UrlErrorKind::TooLong));
    }
    let uri = common::unwrapped(whole);
    common::graphic(uri)?;
    let start = uri.start();
    let end = start + uri.octets().len();
    Ok((text.get(start..end).unwrap_or_default(), start))
}

fn bounded(uri: String) -> Result<String, ResolveError> {
    if uri.len() > MAX_URL_LENGTH {
        let refusal = UrlError::at(UrlErrorKind::TooLong, MAX_URL_LENGTH);
        return Err(ResolveError::Reference(refusal));
    }
    Ok(uri)
}

/// Splits text at the first `?` or `#` at or after `start`.
fn cut(text: &str, start: usize) -> (&str, &str) {
    let path = text.get(start..).unwrap_or_default();
    let length = path.find(['?', '#']).unwrap_or(path.len());
    text.split_at(start + length)
}

/// Returns the scheme if URIs of the base's scheme have no hierarchy, because they name a newsgroup, an article or a
/// part of one (RFC 1630, "News").
fn flat_scheme(base: &str) -> Option<&str> {
    let (scheme, _) = generic::split(base)?;
    let is_flat = ["news", "mid", "cid"]
        .into_iter()
        .any(|flat| flat.eq_ignore_ascii_case(scheme));
    is_flat.then_some(scheme)
}

/// Returns the base up to its last slash. If it is an authority without a path, a slash is added.
fn directory(base: &str) -> String {
    let (head, path) = base.split_at(path_start(base));
    match path.rsplit_once('/') {
        Some((directory, _)) => format!("{head}{directory}/"),
        None if head.contains('/') => format!("{head}/"),
        None => head.to_owned(),
    }
}

/// Finds the first sequence of exactly `count` slashes that has no longer sequence to its right, and returns the part
/// of the base before it.
fn matching_run(base: &str, count: usize) -> Option<&str> {
    let mut found = None;
    let mut rest = base;
    while let Some(index) = rest.find('/') {
        let (_, run) = rest.split_at(index);
        let after = run.trim_start_matches('/');
        let length = run.len() - after.len();
        let start = base.len() - run.len();
        match length.cmp(&count) {
            std::cmp::Ordering::Greater => found = None,
            std::cmp::Ordering::Equal => found = found.or(base.get(..start)),
            std::cmp::Ordering::Less => {}
        }
        rest = after;
    }
    found
}

/// Removes the segments `.` and `..` from a path.
fn without_dots(path: &str) -> String {
    let (root, names) = match path.strip_prefix('/') {
        Some(names) => ("/", names),
        None => ("", path),
    };
    let mut kept: Vec<&str> = Vec::new();
    let mut names = names.split('/').peekable();
    while let Some(name) = names.next() {
        match name {
            "." => {}
            ".." => {
                kept.pop();
            }
            name => {
                kept.push(name);
                continue;
            }
        }
        if names.peek().is_none() {
            kept.push("");
        }
    }
    format!("{root}{}", kept.join("/"))
}

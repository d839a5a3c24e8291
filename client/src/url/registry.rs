//! The registry of schemes, to which programs can add schemes at run time (RFC 1736 §4.8, RFC 1738 §4).

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::common::{Mode, is_scheme};
use super::error::UrlError;
use super::host::Host;
use super::octets::Octets;
use super::span::Span;
use super::userinfo::Userinfo;

type ParseScheme = dyn Fn(&str, Mode) -> Result<Arc<dyn SchemeUrl>, UrlError> + Send + Sync;

/// A URL of a registered scheme, as returned by the parser of the scheme.
pub trait SchemeUrl: fmt::Debug + Send + Sync {
    /// Returns the part of the canonical form after the colon of the scheme, including secrets.
    fn part(&self) -> String;

    /// Returns the part of the canonical form after the colon of the scheme, with `***` in place of a password.
    fn redacted_part(&self) -> String {
        self.part()
    }

    /// Returns the host to connect to, if any.
    fn host(&self) -> Option<&Host> {
        None
    }

    /// Returns the port to connect to, and the default port of the scheme.
    fn port(&self) -> Option<(u16, u16)> {
        None
    }

    /// Returns the user name and password, if any.
    fn userinfo(&self) -> Option<&Userinfo> {
        None
    }

    /// Returns the requests that a client sends to follow the URL. The list may be empty.
    fn plan(&self) -> Vec<Octets> {
        Vec::new()
    }
}

/// A URL of a registered scheme. Two URLs are equal if their canonical forms are equal.
#[derive(Clone, Debug)]
pub struct RegisteredUrl {
    scheme: String,
    url: Arc<dyn SchemeUrl>,
}

impl RegisteredUrl {
    /// Returns the scheme in lower case, without a colon.
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// Returns the URL as returned by the parser of the scheme.
    pub fn url(&self) -> &dyn SchemeUrl {
        self.url.as_ref()
    }

    /// Returns the canonical form, including secrets.
    pub fn to_string_with_secrets(&self) -> String {
        format!("{}:{}", self.scheme, self.url.part())
    }
}

impl fmt::Display for RegisteredUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.scheme, self.url.redacted_part())
    }
}

impl PartialEq for RegisteredUrl {
    fn eq(&self, other: &Self) -> bool {
        self.scheme == other.scheme && self.url.part() == other.url.part()
    }
}

impl Eq for RegisteredUrl {}

impl Hash for RegisteredUrl {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.to_string_with_secrets().hash(state);
    }
}

/// The scheme of names, which are not locators (`urn`).
pub(super) const NAME_SCHEME: &str = "urn";
/// A prefix of URLs that is not a scheme (RFC 1738 Appendix).
pub(super) const PREFIX: &str = "url";

/// The schemes that cannot be registered because they are built in. More common schemes come first.
pub(super) const KNOWN: [&str; 20] = [
    "http",
    "https",
    "z39.50s",
    "z39.50r",
    "gopher",
    "ftp",
    "mailto",
    "news",
    "nntp",
    "telnet",
    "rlogin",
    "tn3270",
    "wais",
    "file",
    "prospero",
    "mid",
    "cid",
    "z39.50",
    NAME_SCHEME,
    PREFIX,
];

/// The built-in schemes, and schemes registered by the program.
///
/// ```
/// use std::sync::Arc;
/// use z3950::url::{Mode, Octets, Registry, SchemeUrl, UrlError, UrlErrorKind};
///
/// #[derive(Debug)]
/// struct Shelf(String);
///
/// impl SchemeUrl for Shelf {
///     fn part(&self) -> String {
///         self.0.clone()
///     }
/// }
///
/// let mut registry = Registry::new();
/// registry.register("x-shelf", |part: &str, _: Mode| -> Result<Arc<dyn SchemeUrl>, UrlError> {
///     match part.bytes().position(|octet| !octet.is_ascii_alphanumeric()) {
///         Some(index) => Err(UrlError::at(UrlErrorKind::InvalidCharacter, index)),
///         None => Ok(Arc::new(Shelf(part.to_lowercase()))),
///     }
/// })?;
/// assert_eq!(registry.parse("X-Shelf:QA76", Mode::Strict)?.canonical(), "x-shelf:qa76");
/// assert_eq!(registry.parse("x-shelf:QA/76", Mode::Strict).unwrap_err().offset(), 10);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct Registry {
    schemes: BTreeMap<String, Arc<ParseScheme>>,
}

/// The reason why a scheme was not registered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// The name of the scheme is not a letter followed by letters, digits and `+.-`.
    #[error("{:?} is not a valid scheme name: use a letter, then letters, digits, `+`, `.`, `-`", .0)]
    InvalidScheme(String),
    /// The scheme is built in, or has already been registered.
    #[error("the scheme {0} is already registered")]
    Taken(String),
}

impl Registry {
    /// Creates a registry with only the built-in schemes.
    pub fn new() -> Self {
        Registry::default()
    }

    /// Registers a scheme, ignoring its letter case. `parse` parses the text after the colon, which is graphic US-ASCII
    /// without `#`. It reports an error with [`UrlError::at`] and an offset in that text.
    ///
    /// # Errors
    /// See [`RegisterError`].
    pub fn register(
        &mut self,
        name: &str,
        parse: impl Fn(&str, Mode) -> Result<Arc<dyn SchemeUrl>, UrlError> + Send + Sync + 'static,
    ) -> Result<(), RegisterError> {
        let name = name.to_ascii_lowercase();
        if !is_scheme(&name) {
            return Err(RegisterError::InvalidScheme(name));
        }
        if KNOWN.contains(&name.as_str()) || self.schemes.contains_key(&name) {
            return Err(RegisterError::Taken(name));
        }
        self.schemes.insert(name, Arc::new(parse));
        Ok(())
    }

    /// Parses a URL of a registered scheme. Returns `None` if the scheme is not registered.
    pub(crate) fn read(
        &self,
        scheme: &str,
        rest: Span<'_>,
        mode: Mode,
    ) -> Option<Result<RegisteredUrl, UrlError>> {
        let parse = self.schemes.get(scheme)?;
        // The text has already been checked to be graphic US-ASCII.
        let part = std::str::from_utf8(rest.octets()).unwrap_or_default();
        let url = parse(part, mode).map_err(|refusal| refusal.shifted(rest.start()));
        Some(url.map(|url| RegisteredUrl {
            scheme: scheme.to_owned(),
            url,
        }))
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.schemes.keys()).finish()
    }
}

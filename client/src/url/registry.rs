//! The set of schemes, which anybody can extend while the program runs: RFC 1736 §4.8, RFC 1738 §4.

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

/// Reads the URLs of a scheme that this crate does not know. A closure can be one.
pub trait Scheme: Send + Sync {
    /// Reads what follows the scheme's colon: graphic US-ASCII without `#`.
    ///
    /// Errors: [`UrlError::at`] an offset in `part`.
    fn parse(&self, part: &str, mode: Mode) -> Result<Arc<dyn SchemeUrl>, UrlError>;
}

impl<F> Scheme for F
where
    F: Fn(&str, Mode) -> Result<Arc<dyn SchemeUrl>, UrlError> + Send + Sync,
{
    fn parse(&self, part: &str, mode: Mode) -> Result<Arc<dyn SchemeUrl>, UrlError> {
        self(part, mode)
    }
}

/// A URL of a registered scheme, as its [`Scheme`] read it.
pub trait SchemeUrl: fmt::Debug + Send + Sync {
    /// What follows the scheme's colon in the canonical form, secrets included.
    fn part(&self) -> String;

    /// The same for showing, with `***` for a password.
    fn redacted_part(&self) -> String {
        self.part()
    }

    /// The machine to connect to, if there is one.
    fn host(&self) -> Option<&Host> {
        None
    }

    /// The port to connect to, and the one of a URL that names none.
    fn port(&self) -> Option<(u16, u16)> {
        None
    }

    /// User and password.
    fn userinfo(&self) -> Option<&Userinfo> {
        None
    }

    /// The parts that only this scheme has, by name.
    fn fields(&self) -> Vec<(String, Octets)> {
        Vec::new()
    }

    /// What a client sends in order to follow the URL, request by request; nothing where it sends nothing.
    fn plan(&self) -> Vec<Octets> {
        Vec::new()
    }
}

/// A URL of a registered scheme together with the scheme. Two are equal when their canonical forms are.
#[derive(Clone, Debug)]
pub struct RegisteredUrl {
    scheme: String,
    url: Arc<dyn SchemeUrl>,
}

impl RegisteredUrl {
    /// The scheme in lower case, without a colon.
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// What the parser of the scheme made of the URL.
    pub fn url(&self) -> &dyn SchemeUrl {
        self.url.as_ref()
    }

    /// The canonical form, secrets included.
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

/// The scheme of names.
pub(super) const NAME_SCHEME: &str = "urn";
/// A prefix of URLs, and no scheme (RFC 1738 Appendix).
pub(super) const PREFIX: &str = "url";

/// The schemes that cannot be registered, the more common ones first.
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

/// The schemes of this crate, and those that were added.
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
    schemes: BTreeMap<String, Arc<dyn Scheme>>,
}

/// Why a scheme was not added.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// Not a letter followed by letters, digits and `+.-`.
    #[error("{:?} is not a valid scheme name: use a letter, then letters, digits, `+`, `.`, `-`", .0)]
    InvalidScheme(String),
    /// The crate or an earlier registration reads this scheme.
    #[error("the scheme {0} is already registered")]
    Taken(String),
}

impl Registry {
    /// The schemes of this crate alone.
    pub fn new() -> Self {
        Registry::default()
    }

    /// Adds a scheme, whose name has no letter case.
    ///
    /// # Errors
    /// See [`RegisterError`].
    pub fn register(
        &mut self,
        name: &str,
        scheme: impl Scheme + 'static,
    ) -> Result<(), RegisterError> {
        let name = name.to_ascii_lowercase();
        if !is_scheme(&name) {
            return Err(RegisterError::InvalidScheme(name));
        }
        if KNOWN.contains(&name.as_str()) || self.schemes.contains_key(&name) {
            return Err(RegisterError::Taken(name));
        }
        self.schemes.insert(name, Arc::new(scheme));
        Ok(())
    }

    /// The URL of a scheme that was added, or `None`.
    pub(crate) fn read(
        &self,
        scheme: &str,
        rest: Span<'_>,
        mode: Mode,
    ) -> Option<Result<RegisteredUrl, UrlError>> {
        let parser = self.schemes.get(scheme)?;
        // Graphic US-ASCII by now.
        let part = std::str::from_utf8(rest.octets()).unwrap_or_default();
        let url = parser
            .parse(part, mode)
            .map_err(|refusal| refusal.shifted(rest.start()));
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

//! A URL of any scheme (RFC 1738 §3, §4), with the properties that RFC 1736 requires of a locator. Each scheme has its
//! own type, and this file contains the operations that are common to all schemes.

use std::fmt;
use std::str::FromStr;

use super::caution::{self, Caution, Scope, Site};
use super::common::{self, Mode};
use super::error::{UrlError, UrlErrorKind};
use super::gopher::GopherUrl;
use super::host::Host;
use super::octets::Octets;
use super::registry::{KNOWN, NAME_SCHEME, PREFIX, RegisteredUrl, Registry};
use super::schemes::{
    FileUrl, FtpUrl, HttpUrl, HttpsUrl, MailtoUrl, MessageId, NewsUrl, NntpUrl, OpaqueUri,
    ProsperoUrl, RloginUrl, TelnetUrl, Tn3270Url, WaisUrl,
};
use super::span::Span;
use super::userinfo::Userinfo;
use super::z3950::Z3950Url;

/// Whether text is a locator, a name, or neither (RFC 1736 §4.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UriKind {
    /// A locator, whose scheme defines how to access a resource.
    Locator,
    /// A name (`urn`), which cannot be followed.
    Name,
    /// Text without a scheme, such as a description, a number, or a partial form.
    Neither,
}

impl fmt::Display for UriKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            UriKind::Locator => "locator",
            UriKind::Name => "name",
            UriKind::Neither => "neither",
        })
    }
}

/// Returns whether text is a locator, a name or neither, judging only by its scheme.
///
/// The text after the scheme is not examined. Surrounding spaces, angle brackets and one leading `URL:` are skipped.
pub fn uri_kind(text: impl AsRef<[u8]>) -> UriKind {
    let Ok((scheme, _)) = common::scheme(common::unwrapped(Span::new(text.as_ref()))) else {
        return UriKind::Neither;
    };
    match scheme.to_text().to_ascii_lowercase().as_str() {
        NAME_SCHEME => UriKind::Name,
        scheme if common::is_scheme(scheme) && scheme != PREFIX => UriKind::Locator,
        _ => UriKind::Neither,
    }
}

/// A URL, with a variant for each scheme.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Url {
    /// `z39.50s` and `z39.50r`: RFC 2056.
    Z3950(Z3950Url),
    /// `gopher`: RFC 1738 §3.4, RFC 4266.
    Gopher(GopherUrl),
    /// `ftp`: RFC 1738 §3.2.
    Ftp(FtpUrl),
    /// `http`: RFC 1738 §3.3.
    Http(HttpUrl),
    /// `https`: RFC 2818.
    Https(HttpsUrl),
    /// `mailto`: RFC 1738 §3.5.
    Mailto(MailtoUrl),
    /// `news`: RFC 1738 §3.6.
    News(NewsUrl),
    /// `nntp`: RFC 1738 §3.7.
    Nntp(NntpUrl),
    /// `telnet`: RFC 1738 §3.8.
    Telnet(TelnetUrl),
    /// `rlogin`: RFC 1630.
    Rlogin(RloginUrl),
    /// `tn3270`: RFC 1630, RFC 6270.
    Tn3270(Tn3270Url),
    /// `wais`: RFC 1738 §3.9.
    Wais(WaisUrl),
    /// `file`: RFC 1738 §3.10.
    File(FileUrl),
    /// `prospero`: RFC 1738 §3.11.
    Prospero(ProsperoUrl),
    /// `mid`, a mail message: RFC 1630.
    MessageId(MessageId),
    /// `cid`, a part of a mail message: RFC 1630.
    ContentId(MessageId),
    /// `urn`: a name, which is not a locator.
    Name(OpaqueUri),
    /// A scheme added to a [`Registry`].
    Registered(RegisteredUrl),
    /// Any other scheme, for which the URL is kept unchanged.
    Other(OpaqueUri),
}

/// Schemes that exist elsewhere and differ from a known scheme by only one letter. They do not count as misspelt.
const NOT_MISSPELT: [&str; 7] = [
    "did", "ftps", "gophers", "nntps", "sftp", "snews", "telnets",
];

/// Returns the known scheme that differs from this scheme by one letter that was omitted, added, changed or transposed.
fn similar(scheme: &str) -> Option<&'static str> {
    let is_typo = |known: &&str| differs_by_one_letter(scheme, known);
    let known = KNOWN.into_iter().filter(|known| *known != PREFIX);
    if NOT_MISSPELT.contains(&scheme) {
        None
    } else {
        // If several schemes match, the first is used, because the list begins with the most common schemes.
        known.into_iter().find(is_typo)
    }
}

#[cfg(feature = "suggest")]
fn differs_by_one_letter(scheme: &str, known: &str) -> bool {
    strsim::osa_distance(scheme, known) == 1
}

/// Returns false, because no scheme counts as misspelt without the feature `suggest`.
#[cfg(not(feature = "suggest"))]
fn differs_by_one_letter(_: &str, _: &str) -> bool {
    false
}

/// A URL with its fragment.
///
/// Two locators are equal if their URLs are equal. The fragment does not matter, because it is not part of the URL (RFC
/// 1738 §2.2). `Display` and `Debug` show [the locator](Self::to_string_with_secrets) with the password redacted.
#[derive(Clone, Debug)]
pub struct Locator {
    scheme: String,
    url: Url,
    fragment: Option<Octets>,
}

impl Locator {
    /// Parses a URL of any scheme. A URL of an unknown scheme is kept as opaque text.
    ///
    /// # Errors
    /// The errors of [`Registry::parse`], which also supports registered schemes.
    pub fn parse(text: impl AsRef<[u8]>, mode: Mode) -> Result<Self, UrlError> {
        Registry::new().parse(text, mode)
    }

    /// Returns the URL without the fragment.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Converts the locator to its URL, without the fragment.
    pub fn into_url(self) -> Url {
        self.url
    }

    /// Returns the decoded fragment, which is never sent and is accepted only in [`Mode::Lenient`]. An empty fragment
    /// is returned as `None`, because it refers to the complete resource (RFC 1630), except in Z39.50 URLs.
    pub fn fragment(&self) -> Option<&Octets> {
        self.fragment.as_ref()
    }

    /// Returns whether the URL is a locator or a name.
    pub fn kind(&self) -> UriKind {
        match self.url {
            Url::Name(_) => UriKind::Name,
            _ => UriKind::Locator,
        }
    }

    /// Returns the scheme in lower case, without a colon.
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// Returns the host, if the URL has one.
    pub fn host(&self) -> Option<&Host> {
        self.site().map(|site| site.host)
    }

    /// Returns the port to connect to, from 1 to 65535. By default, it is the scheme's port.
    pub fn port(&self) -> Option<u16> {
        self.site()?.port
    }

    /// Returns the user name and password, if any.
    pub fn userinfo(&self) -> Option<&Userinfo> {
        self.site()?.userinfo
    }

    /// Returns cautions about following the URL.
    pub fn cautions(&self) -> Vec<Caution> {
        let site = self.site().map(|site| site.cautions()).unwrap_or_default();
        let opaque = match &self.url {
            Url::Name(uri) | Url::Other(uri) if uri.has_password() => {
                Some(Caution::CredentialsInUrl)
            }
            _ => None,
        };
        let scheme = match &self.url {
            Url::Other(uri) if uri.is_experimental() => None,
            Url::Other(uri) => match uri.reserved_name() {
                Some(name) => Some(Caution::ReservedScheme(name)),
                None => similar(uri.scheme()).map(Caution::SimilarScheme),
            },
            _ => None,
        };
        let control = self
            .has_escaped_control()
            .then_some(Caution::EscapedControl);
        let local = (self.scope() == Scope::Local).then_some(Caution::LocalHost);
        let others = [local, opaque, scheme, control].into_iter().flatten();
        site.into_iter().chain(others).collect()
    }

    /// Returns whether an escaped control character could become part of a protocol command. This cannot happen with a
    /// docid, which is sent with its length, a file name, which is not sent, or the remaining schemes, whose parsers
    /// refuse these escapes.
    fn has_escaped_control(&self) -> bool {
        match &self.url {
            Url::Gopher(url) => url.has_control(),
            Url::Ftp(_)
            | Url::Http(_)
            | Url::Https(_)
            | Url::Wais(_)
            | Url::Registered(_)
            | Url::Other(_) => caution::has_escaped_control(&self.to_string_with_secrets()),
            _ => false,
        }
    }

    /// Returns whether the URL has a password, which may be empty.
    pub fn has_password(&self) -> bool {
        match &self.url {
            Url::Name(uri) | Url::Other(uri) => uri.has_password(),
            Url::Registered(url) => url.to_string() != url.to_string_with_secrets(),
            _ => self.userinfo().and_then(Userinfo::password).is_some(),
        }
    }

    /// Returns the scope in which the URL has the same meaning.
    pub fn scope(&self) -> Scope {
        match &self.url {
            Url::File(file) if file.host().is_none() => Scope::Local,
            Url::News(_) => Scope::ServerRelative,
            Url::Nntp(nntp) if nntp.hostport.is_none() => Scope::ServerRelative,
            _ if self.site().is_some_and(|site| site.host.is_local()) => Scope::Local,
            _ => Scope::Global,
        }
    }

    /// Returns the canonical form for display. A password is shown as `***`, but a Z39.50 URL is shown without user
    /// name and password.
    pub fn canonical(&self) -> String {
        match &self.url {
            Url::Name(uri) | Url::Other(uri) => uri.normalized().to_string(),
            _ => self.to_string(),
        }
    }

    /// Returns the canonical form with user name and password.
    pub fn canonical_with_secrets(&self) -> String {
        match &self.url {
            Url::Name(uri) | Url::Other(uri) => uri.normalized().to_string_with_secrets(),
            _ => self.to_string_with_secrets(),
        }
    }

    /// Returns the locator with user name and password. It is in canonical form, or as written if the scheme is
    /// unknown.
    pub fn to_string_with_secrets(&self) -> String {
        match &self.url {
            Url::Z3950(url) => url.to_string_with_secrets(),
            Url::Ftp(url) => url.to_string_with_secrets(),
            Url::Telnet(url) => url.to_string_with_secrets(),
            Url::Rlogin(url) => url.to_string_with_secrets(),
            Url::Tn3270(url) => url.to_string_with_secrets(),
            Url::Registered(url) => url.to_string_with_secrets(),
            Url::Name(url) | Url::Other(url) => url.to_string_with_secrets(),
            _ => self.to_string(),
        }
    }

    /// Returns whether two locators are equal. Different locators may still lead to the same resource, and one locator
    /// may lead to different resources over time (RFC 1736 §2.3).
    pub fn same_locator(&self, other: &Locator) -> bool {
        self.url == other.url
    }

    fn site(&self) -> Option<Site<'_>> {
        match &self.url {
            Url::Z3950(url) => Some(Site {
                port: Some(url.port()),
                default_port: Some(super::DEFAULT_PORT),
                userinfo: url.userinfo(),
                ..Site::of(url.host())
            }),
            Url::Gopher(url) => Some(url.hostport().site()),
            Url::Ftp(url) => Some(url.login.site()),
            Url::Http(url) => Some(url.hostport().site()),
            Url::Https(url) => Some(url.hostport().site()),
            Url::Nntp(url) => Some(url.hostport.as_ref()?.site()),
            Url::Telnet(url) => Some(url.login.site()),
            Url::Rlogin(url) => Some(url.login.site()),
            Url::Tn3270(url) => Some(url.login.site()),
            Url::Wais(url) => Some(url.hostport().site()),
            Url::File(url) => url.host().map(Site::of),
            Url::Prospero(url) => Some(url.hostport().site()),
            Url::Registered(url) => Some(Site {
                port: url.url().port().map(|(port, _)| port),
                default_port: url.url().port().map(|(_, default)| default),
                userinfo: url.url().userinfo(),
                ..Site::of(url.url().host()?)
            }),
            Url::Mailto(_) | Url::News(_) | Url::MessageId(_) | Url::ContentId(_) => None,
            Url::Name(_) | Url::Other(_) => None,
        }
    }
}

impl fmt::Display for Locator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.url.fmt(f)
    }
}

/// Writes the canonical form with the password redacted.
impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Url::Z3950(url) => url.fmt(f),
            Url::Gopher(url) => url.fmt(f),
            Url::Ftp(url) => url.fmt(f),
            Url::Http(url) => url.fmt(f),
            Url::Https(url) => url.fmt(f),
            Url::Mailto(url) => url.fmt(f),
            Url::News(url) => url.fmt(f),
            Url::Nntp(url) => url.fmt(f),
            Url::Telnet(url) => url.fmt(f),
            Url::Rlogin(url) => url.fmt(f),
            Url::Tn3270(url) => url.fmt(f),
            Url::Wais(url) => url.fmt(f),
            Url::File(url) => url.fmt(f),
            Url::Prospero(url) => url.fmt(f),
            Url::MessageId(identifier) => write!(f, "mid:{identifier}"),
            Url::ContentId(identifier) => write!(f, "cid:{identifier}"),
            Url::Registered(url) => url.fmt(f),
            Url::Name(url) | Url::Other(url) => url.fmt(f),
        }
    }
}

/// Parses a locator in [`Mode::Strict`].
impl FromStr for Locator {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        Locator::parse(text, Mode::Strict)
    }
}

impl PartialEq for Locator {
    fn eq(&self, other: &Self) -> bool {
        self.same_locator(other)
    }
}

impl Eq for Locator {}

impl std::hash::Hash for Locator {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.url.hash(state);
    }
}

impl From<Url> for Locator {
    fn from(url: Url) -> Self {
        let text = url.to_string();
        let (scheme, _) = text.split_once(':').unwrap_or_default();
        Locator {
            scheme: scheme.to_owned(),
            url,
            fragment: None,
        }
    }
}

/// The error for a URL of a different scheme where a Z39.50 URL was expected. It cannot be converted to a Z39.50 URL.
/// This is also true of a `wais` URL, although `wais` has the same default port (RFC 1738 §3.9).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a URL of scheme {scheme} does not lead to a Z39.50 server")]
pub struct Unsupported {
    /// The scheme in lower case, without a colon.
    pub scheme: String,
}

impl TryFrom<Locator> for Z3950Url {
    type Error = Unsupported;

    fn try_from(locator: Locator) -> Result<Self, Unsupported> {
        match locator.url {
            Url::Z3950(url) => Ok(url),
            _ => Err(Unsupported {
                scheme: locator.scheme().to_owned(),
            }),
        }
    }
}

impl Registry {
    /// Parses a URL of any scheme. A URL of an unknown scheme is kept as opaque text.
    ///
    /// # Errors
    /// The first error in the order of [`UrlErrorKind`](super::UrlErrorKind), with its 0-based offset in `text`. `URL`
    /// is an `UnsupportedScheme`, because it is a prefix and not a scheme.
    pub fn parse(&self, text: impl AsRef<[u8]>, mode: Mode) -> Result<Locator, UrlError> {
        let text = text.as_ref();
        let (url, fragment) = common::envelope(text, mode)?.cut(b"#");
        let (scheme, rest) = common::scheme(url)?;
        let name = scheme.to_text().to_ascii_lowercase();
        let url = match name.as_str() {
            "z39.50s" | "z39.50r" => {
                let url = Z3950Url::parse(text, mode)?;
                return Ok(Locator {
                    fragment: url.fragment().cloned(),
                    ..Url::Z3950(url).into()
                });
            }
            "gopher" => return Ok(Url::Gopher(GopherUrl::parse(text, mode)?).into()),
            "ftp" => Url::Ftp(FtpUrl::parse(rest, mode)?),
            "http" => Url::Http(HttpUrl::parse(rest, mode)?),
            "https" => Url::Https(HttpUrl::parse(rest, mode)?),
            "mailto" => Url::Mailto(MailtoUrl::parse(rest, mode)?),
            "news" => Url::News(NewsUrl::parse(rest, mode)?),
            "nntp" => Url::Nntp(NntpUrl::parse(rest, mode)?),
            "telnet" => Url::Telnet(TelnetUrl::parse(rest, mode)?),
            "rlogin" => Url::Rlogin(RloginUrl::parse(rest, mode)?),
            "tn3270" => Url::Tn3270(Tn3270Url::parse(rest, mode)?),
            "wais" => Url::Wais(WaisUrl::parse(rest, mode)?),
            "file" => Url::File(FileUrl::parse(rest, mode)?),
            "prospero" => Url::Prospero(ProsperoUrl::parse(rest, mode)?),
            "mid" => Url::MessageId(MessageId::parse(rest, mode)?),
            "cid" => Url::ContentId(MessageId::parse(rest, mode)?),
            NAME_SCHEME => Url::Name(OpaqueUri::parse(scheme, rest, mode)?),
            PREFIX => {
                let refusal = scheme.fail(UrlErrorKind::UnsupportedScheme);
                return Err(refusal
                    .advising("`URL:` is not a scheme; only lenient reading takes one of it"));
            }
            other => match self.read(other, rest, mode) {
                Some(url) => Url::Registered(url?),
                None => Url::Other(OpaqueUri::parse(scheme, rest, mode)?),
            },
        };
        let fragment = common::fragment(fragment, mode)?;
        let locator = Locator {
            scheme: name,
            url,
            fragment: fragment.filter(|fragment| !fragment.is_empty()),
        };
        common::bounded(text, || locator.to_string_with_secrets())?;
        Ok(locator)
    }
}

//! `http` URLs (RFC 1738 §3.3), and `https` URLs (RFC 2818), which differ only in scheme and port.
//!
//! ```text
//! "http://" hostport [ "/" segment *( "/" segment ) [ "?" search ] ]
//! ```

use std::fmt;

use super::super::authority::HostPort;
use super::super::common::{self, Content, Mode};
use super::super::encoded::{Characters, Encoded};
use super::super::error::{UrlError, UrlErrorKind};
use super::super::octets::Octets;
use super::super::span::Span;

/// The rules for a path: `/` and `;` are reserved, and `?` ends the path. Other reserved characters have the same
/// meaning with and without an escape (RFC 1738 §3.3).
const PATH: Characters = Characters {
    reserved: b"/;:@&=",
    free: b":@&=",
    kept: b"",
};

/// The rules for a search: the server may give every reserved character a meaning, and `+` separates words (RFC 1630).
const SEARCH: Characters = Characters {
    reserved: b";:@&=",
    free: b"",
    kept: b"+",
};

/// A resource on a Web server. Its default port distinguishes `http` from [`https`](HttpsUrl).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HttpUrl<const DEFAULT_PORT: u16 = 80> {
    hostport: HostPort<DEFAULT_PORT>,
    path: Encoded,
    search: Option<Encoded>,
}

/// A resource on a Web server with TLS.
pub type HttpsUrl = HttpUrl<443>;

impl<const DEFAULT_PORT: u16> HttpUrl<DEFAULT_PORT> {
    /// Creates the URL of a resource from its path segments. Without segments, the URL names the root.
    pub fn new<T: AsRef<[u8]>>(
        hostport: HostPort<DEFAULT_PORT>,
        segments: impl IntoIterator<Item = T>,
    ) -> Self {
        HttpUrl {
            hostport,
            path: Encoded::joined(
                segments
                    .into_iter()
                    .map(|segment| Encoded::of_data_with(segment, PATH.free)),
                "/",
            ),
            search: None,
        }
    }

    /// Sets a search for these words, joined by `+` (RFC 1630).
    #[must_use]
    pub fn with_words<T: AsRef<[u8]>>(self, words: impl IntoIterator<Item = T>) -> Self {
        HttpUrl {
            search: Some(Encoded::of_words(words)),
            ..self
        }
    }

    /// Returns `http` or `https`.
    pub fn scheme(&self) -> &'static str {
        match DEFAULT_PORT {
            443 => "https",
            _ => "http",
        }
    }

    /// Returns the host and the port to connect to.
    pub fn hostport(&self) -> &HostPort<DEFAULT_PORT> {
        &self.hostport
    }

    /// Returns the path after the first slash and before the `?`.
    pub fn path(&self) -> &Encoded {
        &self.path
    }

    /// Returns the decoded path segments. There is at least one segment. An escaped slash does not separate segments.
    pub fn segments(&self) -> impl Iterator<Item = Octets> {
        self.path.split('/')
    }

    /// Returns the search, which follows the `?`; `None` without a `?`.
    pub fn search(&self) -> Option<&Encoded> {
        self.search.as_ref()
    }

    /// Returns the decoded words of the search, which are separated by `+` (RFC 1630); `None` without a `?`.
    pub fn words(&self) -> Option<Vec<Octets>> {
        Some(self.search.as_ref()?.split('+').collect())
    }

    /// Returns the HTTP request target: a slash, the path and the search, without a fragment.
    pub fn request_path(&self) -> String {
        match &self.search {
            Some(search) => format!("/{}?{search}", self.path),
            None => format!("/{}", self.path),
        }
    }

    /// Parses the text after the colon of the scheme. Strict mode requires a slash before a `?`, and allows at most one
    /// `?` and no slash after the `?`. Both modes refuse a user name or password.
    pub(crate) fn parse(rest: Span<'_>, mode: Mode) -> Result<Self, UrlError> {
        let (hostport, rest) = common::double_slash(rest)?.cut(b"/?");
        let hostport = HostPort::parse(hostport, mode)?;
        let path = match rest.strip_prefix(b"/") {
            Some(path) => path,
            None if mode == Mode::Strict && !rest.is_empty() => {
                return Err(rest.fail(UrlErrorKind::UnexpectedCharacter));
            }
            None => rest,
        };
        let content = Content::any(mode);
        let (path, search) = path.cut(b"?");
        let path = Encoded::parse(path, content, PATH)?;
        let search = search
            .strip_prefix(b"?")
            .map(|search| Encoded::parse(search, content, SEARCH));
        Ok(HttpUrl {
            hostport,
            path,
            search: search.transpose()?,
        })
    }
}

impl<const DEFAULT_PORT: u16> fmt::Display for HttpUrl<DEFAULT_PORT> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme(), self.hostport)?;
        f.write_str(&self.request_path())
    }
}

//! `news` URLs (RFC 1738 §3.6), which do not name a server, and `nntp` URLs (RFC 1738 §3.7). The lenient mode also
//! accepts `nntp` without a host, as in RFC 1630.
//!
//! ```text
//! "nntp://" hostport "/" group [ "/" digits ]
//! ```

use std::fmt;

use super::super::authority::HostPort;
use super::super::common::Mode;
use super::super::error::{UrlError, UrlErrorKind};
use super::super::span::Span;
use super::mail::MessageId;

/// Newsgroups or an article on the news server that the user's client is configured to use.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum NewsUrl {
    /// `*`: all newsgroups.
    All,
    /// A newsgroup.
    Group(Newsgroup),
    /// An article, whose identifier contains an `@`.
    Article(MessageId),
}

impl NewsUrl {
    /// Parses the text after `news:`.
    pub(crate) fn parse(rest: Span<'_>, mode: Mode) -> Result<Self, UrlError> {
        match rest.octets() {
            b"*" => Ok(NewsUrl::All),
            octets if octets.contains(&b'@') => Ok(NewsUrl::Article(MessageId::parse(rest, mode)?)),
            _ => Ok(NewsUrl::Group(Newsgroup::parse(rest)?)),
        }
    }
}

impl fmt::Display for NewsUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NewsUrl::All => f.write_str("news:*"),
            NewsUrl::Group(group) => write!(f, "news:{group}"),
            NewsUrl::Article(identifier) => write!(f, "news:{identifier}"),
        }
    }
}

/// The name of a newsgroup, which is a letter followed by letters, digits and `-.+_` (RFC 1738 §5). Its letter case is
/// preserved.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Newsgroup(String);

impl Newsgroup {
    /// Checks the name of a newsgroup.
    ///
    /// # Errors
    /// `EmptyPart` if the name is empty; `InvalidCharacter` at the first character that is not allowed.
    pub fn new(name: impl AsRef<str>) -> Result<Self, UrlError> {
        Self::parse(Span::new(name.as_ref().as_bytes()))
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn parse(text: Span<'_>) -> Result<Self, UrlError> {
        if text.is_empty() {
            return Err(text
                .fail(UrlErrorKind::EmptyPart)
                .advising("name a newsgroup"));
        }
        let mut octets = text.octets().iter().enumerate();
        let fault = octets.position(|(index, octet)| match index {
            0 => !octet.is_ascii_alphabetic(),
            _ => !octet.is_ascii_alphanumeric() && !b"-.+_".contains(octet),
        });
        match fault {
            Some(index) => Err(text
                .fail_at(index, UrlErrorKind::InvalidCharacter)
                .advising("a newsgroup has a letter first, then letters, digits and `-.+_`")),
            None => Ok(Newsgroup(text.to_text())),
        }
    }
}

impl fmt::Display for Newsgroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A newsgroup, or an article in it, identified by its number on the server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NntpUrl {
    /// The server; `None` for a URL in the RFC 1630 form, which refers to the news server that the user's client is
    /// configured to use.
    pub hostport: Option<HostPort<{ NntpUrl::DEFAULT_PORT }>>,
    /// The newsgroup.
    pub group: Newsgroup,
    /// The number of the article on the server; `None` if the URL refers to the newsgroup itself.
    pub number: Option<u64>,
}

impl NntpUrl {
    /// The default port of NNTP.
    pub const DEFAULT_PORT: u16 = 119;

    /// Parses the text after `nntp:`.
    pub(crate) fn parse(rest: Span<'_>, mode: Mode) -> Result<Self, UrlError> {
        let (hostport, path) = match rest.strip_prefix(b"//") {
            Some(rest) => {
                let (hostport, path) = rest.cut(b"/");
                let hostport = HostPort::parse(hostport, mode)?;
                (Some(hostport), path.strip_prefix(b"/").unwrap_or(path))
            }
            None if mode == Mode::Lenient => (None, rest),
            None => return Err(rest.fail(UrlErrorKind::MissingDoubleSlash)),
        };
        let (group, number) = path.cut(b"/");
        let group = Newsgroup::parse(group)?;
        let number = number.strip_prefix(b"/").map(self::number);
        Ok(NntpUrl {
            hostport,
            group,
            number: number.transpose()?,
        })
    }
}

impl fmt::Display for NntpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.hostport {
            Some(hostport) => write!(f, "nntp://{hostport}/{}", self.group),
            None => write!(f, "nntp:{}", self.group),
        }?;
        match self.number {
            Some(number) => write!(f, "/{number}"),
            None => Ok(()),
        }
    }
}

fn number(digits: Span<'_>) -> Result<u64, UrlError> {
    digits.allow_only(|octet| octet.is_ascii_digit(), UrlErrorKind::InvalidNumber)?;
    let number = digits.to_text().parse();
    number.map_err(|_| digits.fail(UrlErrorKind::InvalidNumber))
}

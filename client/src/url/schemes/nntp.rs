//! `nntp` URLs: RFC 1738 §3.7; the lenient mode also accepts the form of RFC 1630 without a host.
//!
//! ```text
//! "nntp://" hostport "/" group [ "/" digits ]
//! ```

use std::fmt;

use super::super::authority::HostPort;
use super::super::common::Mode;
use super::super::error::{UrlError, UrlErrorKind};
use super::super::span::Span;
use super::news::Newsgroup;

/// An article of a newsgroup by its number at a server, or the newsgroup.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NntpUrl {
    hostport: Option<HostPort<{ NntpUrl::DEFAULT_PORT }>>,
    group: Newsgroup,
    number: Option<u64>,
}

impl NntpUrl {
    /// The default port.
    pub const DEFAULT_PORT: u16 = 119;

    /// A newsgroup at a server, or its article with a number.
    pub fn new(
        hostport: HostPort<{ NntpUrl::DEFAULT_PORT }>,
        group: Newsgroup,
        number: Option<u64>,
    ) -> Self {
        NntpUrl {
            hostport: Some(hostport),
            group,
            number,
        }
    }

    /// The server; `None` in the form of RFC 1630, which means the reader's own.
    pub fn hostport(&self) -> Option<&HostPort<{ NntpUrl::DEFAULT_PORT }>> {
        self.hostport.as_ref()
    }

    /// The newsgroup.
    pub fn group(&self) -> &Newsgroup {
        &self.group
    }

    /// The number of the article at this server.
    pub fn number(&self) -> Option<u64> {
        self.number
    }

    /// Reads what follows `nntp:`.
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
    let octets = digits.octets();
    if let Some(index) = octets.iter().position(|octet| !octet.is_ascii_digit()) {
        return Err(digits.fail_at(index, UrlErrorKind::InvalidNumber));
    }
    let text = std::str::from_utf8(octets).unwrap_or_default();
    text.parse()
        .map_err(|_| digits.fail(UrlErrorKind::InvalidNumber))
}

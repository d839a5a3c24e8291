//! `wais` URLs (RFC 1738 §3.9). URLs of Z39.50 servers have a different form (RFC 2056). Neither kind of URL can be
//! converted into the other.
//!
//! ```text
//! "wais://" hostport "/" database [ "?" search | "/" wtype "/" wpath ]
//! ```

use std::fmt;

use super::super::authority::HostPort;
use super::super::common::{self, Content, Mode};
use super::super::encoded::{Characters, Encoded};
use super::super::error::UrlError;
use super::super::octets::Octets;
use super::super::span::Span;
use super::write_data;

/// A database of a WAIS server, a search in it, or a document in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WaisUrl {
    hostport: HostPort<{ WaisUrl::DEFAULT_PORT }>,
    database: Octets,
    target: WaisTarget,
}

/// What a [`WaisUrl`] refers to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum WaisTarget {
    /// The database itself.
    Database,
    /// The result of a search in the database. Its words are separated by `+` (RFC 1630) and can be encoded with
    /// [`Encoded::of_words`].
    Search(Encoded),
    /// A document in the database.
    Document {
        /// The type of the document, such as `TEXT`. It contains no control characters.
        wtype: Octets,
        /// The identifier of the document, as opaque octets.
        wpath: Octets,
    },
}

impl WaisUrl {
    /// The default port of WAIS.
    pub const DEFAULT_PORT: u16 = 210;

    /// Creates a URL from its parts.
    ///
    /// # Errors
    /// `ForbiddenControl` at the first control character in the database or the type.
    pub fn new(
        hostport: HostPort<{ WaisUrl::DEFAULT_PORT }>,
        database: impl Into<Octets>,
        target: WaisTarget,
    ) -> Result<Self, UrlError> {
        let database = database.into();
        common::no_controls(database.as_bytes())?;
        if let WaisTarget::Document { wtype, .. } = &target {
            common::no_controls(wtype.as_bytes())?;
        }
        Ok(WaisUrl {
            hostport,
            database,
            target,
        })
    }

    /// Returns the host and the port to connect to.
    pub fn hostport(&self) -> &HostPort<{ WaisUrl::DEFAULT_PORT }> {
        &self.hostport
    }

    /// Returns the database, which may be empty.
    pub fn database(&self) -> &Octets {
        &self.database
    }

    /// Returns the target of the URL: the database, a search or a document.
    pub fn target(&self) -> &WaisTarget {
        &self.target
    }

    /// Returns the decoded words of a search, which are separated by `+` (RFC 1630); `None` if there is no search.
    pub fn words(&self) -> Option<Vec<Octets>> {
        match &self.target {
            WaisTarget::Search(search) => Some(search.split('+').collect()),
            _ => None,
        }
    }

    /// Returns the fields of a document's identifier, if it has the form `digits=value;…` (RFC 1630).
    pub fn fields(&self) -> Option<Vec<(u64, Octets)>> {
        let WaisTarget::Document { wpath, .. } = &self.target else {
            return None;
        };
        let fields = wpath.as_bytes().strip_suffix(b";")?;
        fields.split(|&octet| octet == b';').map(field).collect()
    }

    /// Parses the text after `wais:`. The lenient mode accepts `;`, `=` and `/` in an identifier.
    pub(crate) fn parse(rest: Span<'_>, mode: Mode) -> Result<Self, UrlError> {
        let (hostport, rest) = common::double_slash(rest)?.cut(b"/");
        let hostport = HostPort::parse(hostport, mode)?;
        let path = rest.after(b"/", "add `/` and a database")?;
        let (string, opaque) = (Content::string(mode), Content::any(mode));
        let (database, rest) = path.cut(b"/?");
        let database = string.decode(database)?;
        let target = if let Some(search) = rest.strip_prefix(b"?") {
            WaisTarget::Search(Encoded::parse(search, opaque, SEARCH)?)
        } else if let Some(document) = rest.strip_prefix(b"/") {
            let (wtype, rest) = document.cut(b"/");
            let wtype = string.decode(wtype)?;
            let wpath = rest.after(b"/", "add `/` and the document's path")?;
            let wpath = opaque.decode(wpath)?;
            WaisTarget::Document { wtype, wpath }
        } else {
            WaisTarget::Database
        };
        Ok(WaisUrl {
            hostport,
            database,
            target,
        })
    }
}

/// The rules for a search, which are the same as for `http` URLs: the server may give every reserved character a
/// meaning, and `+` separates words (RFC 1738 §5, RFC 1630).
const SEARCH: Characters = Characters {
    reserved: b";:@&=",
    free: b"",
    kept: b"+",
};

impl fmt::Display for WaisUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "wais://{}/", self.hostport)?;
        write_data(f, &self.database, b"")?;
        match &self.target {
            WaisTarget::Database => Ok(()),
            WaisTarget::Search(search) => write!(f, "?{search}"),
            WaisTarget::Document { wtype, wpath } => {
                f.write_str("/")?;
                write_data(f, wtype, b"")?;
                f.write_str("/")?;
                write_data(f, wpath, b"")
            }
        }
    }
}

fn field(text: &[u8]) -> Option<(u64, Octets)> {
    let (digits, value) = Span::new(text).split_once(b'=')?;
    let digits = digits.octets();
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number = std::str::from_utf8(digits).ok()?.parse().ok()?;
    Some((number, value.octets().into()))
}

//! Cautions about following a locator (RFC 1738 §6), and the scope in which it has the same meaning (RFC 1736 §4.2).

use std::fmt;

use super::host::Host;
use super::userinfo::Userinfo;

/// The first port that does not belong to a well-known protocol (RFC 1738 §6).
const FIRST_FREE_PORT: u16 = 1024;

/// A reason for caution about a URL, or a warning about a URL that was accepted. `Display` is for people,
/// [`code`](Self::code) for programs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Caution {
    /// The URL contains a user name or password in clear text. The credentials in a Z39.50 URL are used only if the
    /// user allows it.
    CredentialsInUrl,
    /// The host name has no dot, so its meaning depends on the network in which it is resolved.
    RelativeHostName,
    /// The host is this machine or in a private network, so elsewhere the locator has no meaning or a different one
    /// (RFC 1736 §2.2).
    LocalHost,
    /// The port is below 1024 and is not the default port of the scheme, so the URL may be an attack on a server for
    /// another protocol.
    ReservedPort(u16),
    /// The port is not the default port of the scheme, although this may be intended.
    NonDefaultPort(u16),
    /// The URL contains an escaped control character such as CR or LF, which could end a protocol command if it were
    /// sent.
    EscapedControl,
    /// RFC 1738 §4 reserves this scheme, but does not define its syntax.
    ReservedScheme(&'static str),
    /// The scheme is unknown, and differs by one letter from this known scheme.
    SimilarScheme(&'static str),
    /// The URL has a `?` without a docid, which was ignored.
    EmptyDocidIgnored,
    /// The URL has an unknown parameter with this lower-case keyword, which was kept as an
    /// [`Extension`](super::Extension).
    UnknownParameter(String),
}

impl Caution {
    /// Returns a stable name for the caution, for use by programs: `Name` or `Name:detail`, such as `ReservedPort:25`.
    pub fn code(&self) -> String {
        self.words().0
    }

    /// Returns the code and the message.
    fn words(&self) -> (String, String) {
        let plain = |code: &str, message: &str| (code.to_owned(), message.to_owned());
        match self {
            Caution::CredentialsInUrl => plain(
                "CredentialsInUrl",
                "the URL contains a user name or a password",
            ),
            Caution::RelativeHostName => plain(
                "RelativeHostName",
                "the host name has no dot, so which machine it means depends on where it is looked up",
            ),
            Caution::LocalHost => plain(
                "LocalHost",
                "the host is this machine or in a private network, so the URL leads nowhere, or to another machine, from elsewhere",
            ),
            Caution::ReservedPort(port) => (
                format!("ReservedPort:{port}"),
                format!("port {port} is reserved for another protocol than that of the scheme"),
            ),
            Caution::NonDefaultPort(port) => (
                format!("NonDefaultPort:{port}"),
                format!("port {port} is not the default port of the scheme"),
            ),
            Caution::EscapedControl => plain(
                "EscapedControl",
                "an escaped control character could end a command of the protocol",
            ),
            Caution::ReservedScheme("z39.50") => plain(
                "ReservedScheme:z39.50",
                "the scheme z39.50 is reserved but not in use: z39.50s opens a session, z39.50r retrieves a record",
            ),
            Caution::ReservedScheme(scheme) => (
                format!("ReservedScheme:{scheme}"),
                format!("the scheme {scheme} is reserved but has no syntax"),
            ),
            Caution::SimilarScheme(scheme) => (
                format!("SimilarScheme:{scheme}"),
                format!("the scheme is not known; did you mean {scheme}?"),
            ),
            Caution::EmptyDocidIgnored => plain(
                "EmptyDocidIgnored",
                "nothing follows the `?`, so the URL names no record",
            ),
            Caution::UnknownParameter(keyword) => (
                format!("UnknownParameter:{keyword}"),
                format!("the parameter {keyword} is not known and has no effect"),
            ),
        }
    }
}

impl fmt::Display for Caution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words().1)
    }
}

/// Returns whether text contains an escaped control character (RFC 1738 §6).
pub(crate) fn has_escaped_control(text: &str) -> bool {
    let mut escapes = text.split('%').skip(1);
    escapes.any(|escape| match escape.as_bytes() {
        [b'0' | b'1', low, ..] => low.is_ascii_hexdigit(),
        [b'7', b'f' | b'F', ..] => true,
        _ => false,
    })
}

/// The scope in which a locator has the same meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// The locator has the same meaning everywhere.
    Global,
    /// The locator has the same meaning for all users of the same server, as with `news`.
    ServerRelative,
    /// The locator has a meaning only on this machine or in its private network, as in the case of a `file` without a
    /// host, `localhost` and `192.168.0.1`.
    Local,
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Scope::Global => "global",
            Scope::ServerRelative => "server-relative",
            Scope::Local => "local",
        })
    }
}

/// The host and port to which a client connects for a locator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site<'a> {
    pub(crate) host: &'a Host,
    /// The port, or `None` if the scheme has no port.
    pub(crate) port: Option<u16>,
    pub(crate) default_port: Option<u16>,
    pub(crate) userinfo: Option<&'a Userinfo>,
}

impl<'a> Site<'a> {
    /// Creates a site with a host and without a port.
    pub(crate) fn of(host: &'a Host) -> Self {
        Site {
            host,
            port: None,
            default_port: None,
            userinfo: None,
        }
    }

    pub(crate) fn cautions(&self) -> Vec<Caution> {
        let credentials = self.userinfo.map(|_| Caution::CredentialsInUrl);
        let relative = match self.host {
            Host::Name(name) if !name.as_str().contains('.') && !self.host.is_local() => {
                Some(Caution::RelativeHostName)
            }
            _ => None,
        };
        let port = match self.port {
            port if port == self.default_port => None,
            Some(port) if port < FIRST_FREE_PORT => Some(Caution::ReservedPort(port)),
            port => port.map(Caution::NonDefaultPort),
        };
        let cautions = [credentials, relative, port].into_iter();
        cautions.flatten().collect()
    }
}

//! What a person should know before a locator is followed: RFC 1738 §6, and how far its meaning reaches, RFC 1736 §4.2.

use std::fmt;

use super::host::Host;
use super::userinfo::Userinfo;

/// Ports below this one are the business of well-known protocols (RFC 1738 §6).
const FIRST_FREE_PORT: u16 = 1024;

/// A reason to look twice at a locator. `Display` is for people, [`code`](Self::code) for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Caution {
    /// A user name or password is written in it, for everybody to see.
    CredentialsInUrl,
    /// The host name has no dot: which machine it means depends on where it is read.
    RelativeHostName,
    /// The port is below 1024 and not that of the scheme: another protocol may be spoken there, and be abused.
    ReservedPort(u16),
    /// The port is not that of the scheme; nothing is wrong with that.
    NonDefaultPort(u16),
    /// An escape stands for a control character, such as CR or LF, which could end a command of the protocol if it
    /// were sent decoded.
    EscapedControl,
    /// RFC 1738 §4 reserves this scheme and gives it no syntax.
    ReservedScheme(&'static str),
    /// Nobody here knows the scheme, and its name is one letter off that of this known one.
    SimilarScheme(&'static str),
}

impl Caution {
    /// The name by which programs know the caution: `Name` or `Name:detail`, such as `ReservedPort:25`.
    pub fn code(&self) -> String {
        match self {
            Caution::CredentialsInUrl => "CredentialsInUrl".to_owned(),
            Caution::RelativeHostName => "RelativeHostName".to_owned(),
            Caution::ReservedPort(port) => format!("ReservedPort:{port}"),
            Caution::NonDefaultPort(port) => format!("NonDefaultPort:{port}"),
            Caution::EscapedControl => "EscapedControl".to_owned(),
            Caution::ReservedScheme(scheme) => format!("ReservedScheme:{scheme}"),
            Caution::SimilarScheme(scheme) => format!("SimilarScheme:{scheme}"),
        }
    }
}

impl fmt::Display for Caution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Caution::CredentialsInUrl => f.write_str(CREDENTIALS),
            Caution::RelativeHostName => f.write_str(
                "the host name has no dot, so which machine it means depends on where it is looked up",
            ),
            Caution::ReservedPort(port) => write!(
                f,
                "port {port} is reserved for another protocol than that of the scheme"
            ),
            Caution::NonDefaultPort(port) => {
                write!(f, "port {port} is not the default port of the scheme")
            }
            Caution::EscapedControl => f.write_str(
                "an escaped control character could end a command of the protocol",
            ),
            Caution::ReservedScheme("z39.50") => f.write_str(
                "the scheme z39.50 is reserved but not in use: z39.50s opens a session, z39.50r retrieves a record",
            ),
            Caution::ReservedScheme(scheme) => {
                write!(f, "the scheme {scheme} is reserved but has no syntax")
            }
            Caution::SimilarScheme(scheme) => {
                write!(f, "the scheme is not known; did you mean {scheme}?")
            }
        }
    }
}

/// What people are told of a URL with credentials in it, whatever its scheme.
pub(crate) const CREDENTIALS: &str = "the URL contains a user name or a password";

/// Whether an escape in a text stands for a control character (RFC 1738 §6).
pub(crate) fn has_escaped_control(text: &str) -> bool {
    let mut escapes = text.split('%').skip(1);
    escapes.any(|escape| match escape.as_bytes() {
        [b'0' | b'1', low, ..] => low.is_ascii_hexdigit(),
        [b'7', b'f' | b'F', ..] => true,
        _ => false,
    })
}

/// Where a locator means the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Everywhere.
    Global,
    /// Wherever the same server of the reader's is asked, as for `news`.
    ServerRelative,
    /// On this machine alone, as for a `file` without a host.
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

/// Whom a locator makes a client connect to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site<'a> {
    pub(crate) host: &'a Host,
    /// `None` where the scheme has no port.
    pub(crate) port: Option<u16>,
    pub(crate) default_port: Option<u16>,
    pub(crate) userinfo: Option<&'a Userinfo>,
}

impl Site<'_> {
    pub(crate) fn cautions(&self) -> Vec<Caution> {
        let credentials = self.userinfo.map(|_| Caution::CredentialsInUrl);
        let relative = match self.host {
            Host::Name(name) if !name.as_str().contains('.') => Some(Caution::RelativeHostName),
            _ => None,
        };
        let port = match self.port {
            port if port == self.default_port => None,
            Some(port) if port < FIRST_FREE_PORT => Some(Caution::ReservedPort(port)),
            port => port.map(Caution::NonDefaultPort),
        };
        [credentials, relative, port]
            .into_iter()
            .flatten()
            .collect()
    }
}

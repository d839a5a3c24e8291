//! What a person should know before a locator is followed: RFC 1738 §6, and how far its meaning reaches, RFC 1736 §4.2.

use std::fmt;

use super::host::Host;
use super::userinfo::Userinfo;

/// Ports below this one are the business of well-known protocols (RFC 1738 §6).
const FIRST_FREE_PORT: u16 = 1024;

/// A reason to look twice at a locator. `Display` is `Name` or `Name:detail`.
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
}

impl fmt::Display for Caution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Caution::CredentialsInUrl => f.write_str("CredentialsInUrl"),
            Caution::RelativeHostName => f.write_str("RelativeHostName"),
            Caution::ReservedPort(port) => write!(f, "ReservedPort:{port}"),
            Caution::NonDefaultPort(port) => write!(f, "NonDefaultPort:{port}"),
        }
    }
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

//! The authority between `//` and the next slash: `hostport` and `login` of RFC 1738 §3.1 and §5. The types contain the
//! default port of the scheme, so that an explicit and an implied default port are equal.

use std::fmt;
use std::num::NonZeroU16;

use super::caution::Site;
use super::common::Mode;
use super::error::{UrlError, UrlErrorKind};
use super::host::{self, Host};
use super::span::Span;
use super::userinfo::{Secrets, Userinfo};

/// A host and a port. The default port is `DEFAULT`, which `Display` omits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HostPort<const DEFAULT: u16> {
    host: Host,
    port: u16,
}

impl<const DEFAULT: u16> HostPort<DEFAULT> {
    /// Combines a host with the default port of the scheme.
    pub fn new(host: Host) -> Self {
        HostPort {
            host,
            port: DEFAULT,
        }
    }

    /// Returns the same host with a different port.
    #[must_use]
    pub fn with_port(self, port: NonZeroU16) -> Self {
        HostPort {
            port: port.get(),
            ..self
        }
    }

    /// Returns the host to connect to.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Returns the port to connect to, from 1 to 65535.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Parses a complete `host [ ":" port ]`.
    ///
    /// # Errors
    /// The errors of [`Host::parse`], and `UserinfoNotAllowed` at the start if there is an `@`, because schemes with a
    /// `hostport` do not allow a user name or password in either mode.
    pub(crate) fn parse(text: Span<'_>, mode: Mode) -> Result<Self, UrlError> {
        if text.octets().contains(&b'@') {
            return Err(text.fail(UrlErrorKind::UserinfoNotAllowed).without_octet());
        }
        Self::of(text, mode)
    }

    pub(crate) fn site(&self) -> Site<'_> {
        Site {
            port: Some(self.port),
            default_port: Some(DEFAULT),
            ..Site::of(&self.host)
        }
    }

    fn of(text: Span<'_>, mode: Mode) -> Result<Self, UrlError> {
        let (host, port) = host::hostport(text, mode)?;
        Ok(HostPort {
            host,
            port: port.unwrap_or(DEFAULT),
        })
    }
}

impl<const DEFAULT: u16> fmt::Display for HostPort<DEFAULT> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.host.fmt(f)?;
        if self.port == DEFAULT {
            Ok(())
        } else {
            write!(f, ":{}", self.port)
        }
    }
}

/// The login `[ user [ ":" password ] "@" ] hostport`. `Display` and `Debug` never show the password.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Login<const DEFAULT: u16> {
    /// The user name and password, if any.
    pub userinfo: Option<Userinfo>,
    /// The host and the port to connect to.
    pub hostport: HostPort<DEFAULT>,
}

impl<const DEFAULT: u16> Login<DEFAULT> {
    /// Parses a complete login.
    ///
    /// # Errors
    /// The errors of [`Host::parse`], the errors for malformed escapes, and `ReservedCharacter` at an `@` that is not
    /// the last one.
    pub(crate) fn parse(text: Span<'_>, mode: Mode) -> Result<Self, UrlError> {
        let (userinfo, hostport) = match text.rsplit_once(b'@') {
            Some((userinfo, hostport)) => (Some(Userinfo::parse(userinfo, mode)?), hostport),
            None => (None, text),
        };
        Ok(Login {
            userinfo,
            hostport: HostPort::of(hostport, mode)?,
        })
    }

    pub(crate) fn site(&self) -> Site<'_> {
        Site {
            userinfo: self.userinfo.as_ref(),
            ..self.hostport.site()
        }
    }

    pub(crate) fn write(&self, out: &mut impl fmt::Write, secrets: Secrets) -> fmt::Result {
        if let Some(userinfo) = &self.userinfo {
            userinfo.write(out, secrets)?;
            out.write_char('@')?;
        }
        write!(out, "{}", self.hostport)
    }
}

impl<const DEFAULT: u16> fmt::Display for Login<DEFAULT> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, Secrets::Redacted)
    }
}

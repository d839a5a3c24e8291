//! `telnet` URLs: RFC 1738 §3.8, which RFC 4248 repeats.
//!
//! ```text
//! "telnet://" login [ "/" ]
//! ```

use std::fmt;

use super::super::authority::Login;
use super::super::common::{self, Mode};
use super::super::error::{UrlError, UrlErrorKind};
use super::super::host::Host;
use super::super::octets::Octets;
use super::super::span::Span;
use super::super::userinfo::Secrets;

/// An interactive service. `Display` and `Debug` never show the password.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TelnetUrl {
    /// Host and port, and what a person may be advised to log in with.
    pub login: Login<{ TelnetUrl::DEFAULT_PORT }>,
}

/// What to do for a [`TelnetUrl`]: connect, and leave the rest to the person in front of the terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TelnetPlan {
    /// The machine to connect to.
    pub host: Host,
    /// The port to connect to, 1–65535.
    pub port: u16,
    /// The user name to show, if the URL has one. Nothing is ever logged in with.
    pub advised_user: Option<Octets>,
    /// Whether the URL has a password, which [`Userinfo::password`](crate::url::Userinfo::password) tells.
    pub has_password: bool,
}

impl TelnetUrl {
    /// The port of a URL that names none.
    pub const DEFAULT_PORT: u16 = 23;

    /// What to do for the URL. User and password are advice for a person and are not sent.
    pub fn plan(&self) -> TelnetPlan {
        let userinfo = self.login.userinfo();
        TelnetPlan {
            host: self.login.hostport().host().clone(),
            port: self.login.hostport().port(),
            advised_user: userinfo.map(|userinfo| userinfo.user().clone()),
            has_password: userinfo.is_some_and(|userinfo| userinfo.password().is_some()),
        }
    }

    /// The canonical form, password included.
    pub fn to_string_with_secrets(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = self.write(&mut text, Secrets::Shown);
        text
    }

    /// Reads what follows `telnet:`.
    pub(crate) fn parse(rest: Span<'_>, mode: Mode) -> Result<Self, UrlError> {
        let (login, rest) = common::double_slash(rest)?.cut(b"/");
        let login = Login::parse(login, mode)?;
        let rest = rest.strip_prefix(b"/").unwrap_or(rest);
        match rest.is_empty() {
            true => Ok(TelnetUrl { login }),
            false => Err(rest.fail(UrlErrorKind::UnexpectedCharacter)),
        }
    }

    pub(crate) fn write(&self, out: &mut impl fmt::Write, secrets: Secrets) -> fmt::Result {
        out.write_str("telnet://")?;
        self.login.write(out, secrets)?;
        out.write_char('/')
    }
}

impl fmt::Display for TelnetUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, Secrets::Redacted)
    }
}

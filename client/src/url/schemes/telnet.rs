//! URLs of the interactive services `telnet` (RFC 1738 §3.8, repeated in RFC 4248), `rlogin` and `tn3270` (RFC 1630),
//! which have the same syntax.
//!
//! ```text
//! ( "telnet" | "rlogin" | "tn3270" ) "://" login [ "/" ]
//! ```

use std::fmt;

use super::super::authority::Login;
use super::super::common::{self, Mode};
use super::super::error::{UrlError, UrlErrorKind};
use super::super::host::Host;
use super::super::octets::Octets;
use super::super::span::Span;
use super::super::userinfo::{self, Secrets, Userinfo};

/// The plan for the URL of an interactive service: the client connects, and the user logs in.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TelnetPlan {
    /// The host to connect to.
    pub host: Host,
    /// The port to connect to, from 1 to 65535.
    pub port: u16,
    /// The user name to show to the user, if any. It is never used to log in.
    pub advised_user: Option<Octets>,
    /// Whether the URL has a password; see [`Userinfo::password`](crate::url::Userinfo::password).
    pub has_password: bool,
}

/// Defines the URL type of an interactive service.
macro_rules! interactive {
    ($(#[$meta:meta])* $name:ident, $scheme:literal, $port:literal) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub struct $name {
            /// The host and port, and the user name and password, which are only suggestions for logging in.
            pub login: Login<{ $name::DEFAULT_PORT }>,
        }

        impl $name {
            /// The default port of the service.
            pub const DEFAULT_PORT: u16 = $port;

            /// Returns the plan for the URL. The user name and password are only advice for the user, and are not sent.
            pub fn plan(&self) -> TelnetPlan {
                let userinfo = self.login.userinfo.as_ref();
                TelnetPlan {
                    host: self.login.hostport.host().clone(),
                    port: self.login.hostport.port(),
                    advised_user: userinfo.map(|userinfo| userinfo.user().clone()),
                    has_password: userinfo.and_then(Userinfo::password).is_some(),
                }
            }

            /// Returns the canonical form, including the password.
            pub fn to_string_with_secrets(&self) -> String {
                userinfo::with_secrets(|text| self.write(text, Secrets::Shown))
            }

            /// Parses the text after the colon of the scheme.
            pub(crate) fn parse(rest: Span<'_>, mode: Mode) -> Result<Self, UrlError> {
                let login = login(rest, mode)?;
                Ok($name { login })
            }

            fn write(&self, out: &mut impl fmt::Write, secrets: Secrets) -> fmt::Result {
                out.write_str(concat!($scheme, "://"))?;
                self.login.write(out, secrets)?;
                out.write_char('/')
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.write(f, Secrets::Redacted)
            }
        }
    };
}

interactive! {
    /// An interactive service that is used with Telnet. `Display` and `Debug` never show the password.
    TelnetUrl, "telnet", 23
}

interactive! {
    /// An interactive service that is used with rlogin (RFC 1282). `Display` and `Debug` never show the password.
    RloginUrl, "rlogin", 513
}

interactive! {
    /// An interactive service for 3270 terminals (RFC 1630, RFC 6270). `Display` and `Debug` never show the password.
    Tn3270Url, "tn3270", 23
}

/// Parses `//` and a login, optionally followed by a slash.
fn login<const PORT: u16>(rest: Span<'_>, mode: Mode) -> Result<Login<PORT>, UrlError> {
    let (login, rest) = common::double_slash(rest)?.cut(b"/");
    let login = Login::parse(login, mode)?;
    let rest = rest.strip_prefix(b"/").unwrap_or(rest);
    if rest.is_empty() {
        Ok(login)
    } else {
        Err(rest.fail(UrlErrorKind::UnexpectedCharacter))
    }
}

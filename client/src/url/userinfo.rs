//! User name and password before the host: RFC 1738 §3.1, with the warning of its §6.
//! Both are secrets here: `Debug` and `Display` never show them.

use std::fmt;

use super::common::{Content, Mode};
use super::error::UrlError;
use super::octets::Octets;
use super::span::Span;

/// What stood before the `@` of a URL. An empty user or password differs from none (RFC 1738 §3.1).
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Userinfo {
    user: Octets,
    password: Option<Octets>,
}

impl Userinfo {
    /// The user name, a secret: decoded, possibly empty.
    pub fn user(&self) -> &Octets {
        &self.user
    }

    /// The password, a secret: decoded, possibly empty; `None` without a colon.
    pub fn password(&self) -> Option<&Octets> {
        self.password.as_ref()
    }

    /// Reads `user [ ":" password ]`, all of it.
    ///
    /// An `@` is refused in both modes, because readers disagree about which of two ends the userinfo; so
    /// are escaped controls, because these become protocol strings. Errors name no octet.
    pub(crate) fn parse(text: Span<'_>, mode: Mode) -> Result<Self, UrlError> {
        let content = Content {
            mode,
            never: b"@",
            controls: false,
        };
        let decode = |part| content.decode(part).map_err(UrlError::without_octet);
        match text.split_once(b':') {
            Some((user, password)) => Ok(Userinfo {
                user: decode(user)?,
                password: Some(decode(password)?),
            }),
            None => Ok(Userinfo {
                user: decode(text)?,
                password: None,
            }),
        }
    }
}

impl fmt::Display for Userinfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<redacted>")
    }
}

impl fmt::Debug for Userinfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<redacted>")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_differs_from_empty_and_nothing_shows() {
        let check = |text: &str, user: &str, password: Option<&str>| {
            let userinfo = Userinfo::parse(Span::new(text.as_bytes()), Mode::Strict).unwrap();
            assert_eq!(userinfo.user().as_str(), Some(user), "{text}");
            assert_eq!(
                userinfo.password().map(|password| password.as_str()),
                password.map(Some)
            );
            assert_eq!(format!("{userinfo} {userinfo:?}"), "<redacted> <redacted>");
        };
        check("", "", None);
        check("foo", "foo", None);
        check("foo:", "foo", Some(""));
        check(":p", "", Some("p"));
        check("a%40b:c%3Ad", "a@b", Some("c:d"));
    }
}

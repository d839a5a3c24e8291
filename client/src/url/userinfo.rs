//! The user name and password before the host (RFC 1738 §3.1, §6). Both are secrets, which `Debug` and `Display` never
//! show.

use std::fmt;

use super::common::{self, Class, Content, Mode};
use super::error::UrlError;
use super::octets::Octets;
use super::span::Span;

/// The userinfo of a URL. An empty user name or password is different from an absent one (RFC 1738 §3.1).
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Userinfo {
    user: Octets,
    password: Option<Octets>,
}

impl Userinfo {
    /// Combines a user name and an optional password. Both may be empty.
    ///
    /// # Errors
    /// `ForbiddenControl` at the first control character. The message does not show any octets of the user name or password.
    pub fn new(user: impl Into<Octets>, password: Option<Octets>) -> Result<Self, UrlError> {
        let user = user.into();
        for part in [Some(&user), password.as_ref()].into_iter().flatten() {
            common::no_controls(part.as_bytes())?;
        }
        Ok(Userinfo { user, password })
    }

    /// Returns the decoded user name. It is a secret, and may be empty.
    pub fn user(&self) -> &Octets {
        &self.user
    }

    /// Returns the decoded password; `None` if there is no colon. It is a secret, and may be empty.
    pub fn password(&self) -> Option<&Octets> {
        self.password.as_ref()
    }

    /// Parses a complete `user [ ":" password ]`.
    ///
    /// Both modes accept `;?&=` without an escape, as in the grammar of RFC 1738 §5, although its prose allows more
    /// characters. Both modes refuse an `@` without an escape, because implementations disagree about which `@` ends
    /// the userinfo if there are two. They also refuse escaped control characters, because the user name and password
    /// become protocol strings. Errors do not show any octets of the userinfo.
    pub(crate) fn parse(text: Span<'_>, mode: Mode) -> Result<Self, UrlError> {
        let content = Content::string(mode).never(b"@");
        let decode = |part| {
            content
                .decode_with(part, LITERAL)
                .map_err(UrlError::without_octet)
        };
        let (user, password) = match text.split_once(b':') {
            Some((user, password)) => (user, Some(password)),
            None => (text, None),
        };
        Ok(Userinfo {
            user: decode(user)?,
            password: password.map(decode).transpose()?,
        })
    }

    /// Writes `user [ ":" password ]`. A redacted password is written as `***`, even if the password is empty.
    pub(crate) fn write(&self, out: &mut impl fmt::Write, secrets: Secrets) -> fmt::Result {
        let literal = |octet| LITERAL.contains(&octet) || Class::of(octet) == Class::Unreserved;
        common::write_escaped(out, self.user.as_bytes(), literal)?;
        match (&self.password, secrets) {
            (None, _) => Ok(()),
            (Some(_), Secrets::Redacted) => out.write_str(":***"),
            (Some(password), Secrets::Shown) => {
                out.write_str(":")?;
                common::write_escaped(out, password.as_bytes(), literal)
            }
        }
    }
}

/// Reserved characters that need no escape in the user name and the password (RFC 1738 §5).
const LITERAL: &[u8] = b";?&=";

/// Returns the text that `write` produces when passwords are shown.
pub(crate) fn with_secrets(write: impl FnOnce(&mut String) -> fmt::Result) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write(&mut text);
    text
}

/// Whether passwords are shown in the text of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Secrets {
    /// The password is shown.
    Shown,
    /// The password is shown as `***`.
    Redacted,
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
    fn absent_differs_from_empty_and_secrets_are_hidden() {
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
        check("a;b?c&d=e", "a;b?c&d=e", None);
    }
}

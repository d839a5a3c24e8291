//! The FTP commands for an `ftp` URL (RFC 1738 §3.2.2). Escaped control characters never become part of a command (RFC 1738 §6).

use std::fmt;

use super::super::common::no_controls;
use super::super::error::{UrlError, UrlErrorKind};
use super::super::octets::Octets;
use super::ftp::{FtpUrl, TypeCode};

/// A step of retrieving an [`FtpUrl`]. `Display` and `Debug` never show a password.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FtpStep {
    /// `USER` and this name.
    User(Octets),
    /// `PASS` and this password, of the URL or, for `anonymous`, the mail address.
    Password(Octets),
    /// Ask for a password if the server requires one: the URL has none.
    AskPassword,
    /// Ask for the mail address for anonymous FTP; it is never invented.
    AskMailAddress,
    /// `CWD` and this name, possibly empty.
    ChangeDirectory(Octets),
    /// `TYPE A` or `TYPE I`.
    Type(TypeCode),
    /// Choose a type by the name or the server's reply: the URL has none.
    GuessType,
    /// `RETR` and this name.
    Retrieve(Octets),
    /// `NLST` and this name, possibly empty.
    NameList(Octets),
}

impl FtpStep {
    /// The line to send, with CR LF and secrets; `None` for a step that sends nothing.
    pub fn line(&self) -> Option<Vec<u8>> {
        let (verb, argument) = self.command()?;
        let argument = argument.as_bytes();
        let blank: &[u8] = match self {
            FtpStep::NameList(name) if name.is_empty() => b"",
            _ => b" ",
        };
        Some([verb.as_bytes(), blank, argument, b"\r\n"].concat())
    }

    fn command(&self) -> Option<(&'static str, Octets)> {
        match self {
            FtpStep::User(name) => Some(("USER", name.clone())),
            FtpStep::Password(password) => Some(("PASS", password.clone())),
            FtpStep::ChangeDirectory(name) => Some(("CWD", name.clone())),
            FtpStep::Type(TypeCode::Ascii) => Some(("TYPE", "A".into())),
            FtpStep::Type(_) => Some(("TYPE", "I".into())),
            FtpStep::Retrieve(name) => Some(("RETR", name.clone())),
            FtpStep::NameList(name) => Some(("NLST", name.clone())),
            FtpStep::AskPassword | FtpStep::AskMailAddress | FtpStep::GuessType => None,
        }
    }
}

impl fmt::Display for FtpStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, self.command()) {
            (FtpStep::Password(_), _) => f.write_str("PASS ***"),
            (_, Some((verb, argument))) if argument.is_empty() => f.write_str(verb),
            (_, Some((verb, argument))) => write!(f, "{verb} {argument}"),
            (FtpStep::AskPassword, None) => f.write_str("(ask for the password)"),
            (FtpStep::AskMailAddress, None) => f.write_str("(ask for the mail address)"),
            (_, None) => f.write_str("(guess the type)"),
        }
    }
}

/// As [`Display`](fmt::Display).
impl fmt::Debug for FtpStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FtpUrl {
    /// The commands in order. `mail` is the address for anonymous FTP.
    ///
    /// Where RFC 1738 is silent: an empty name without a type is a listing, since no file has that name; a URL
    /// without a path ends with the login.
    ///
    /// Errors: `ForbiddenControl` at the escape of the first control character, in octets from the start of
    /// [`to_string_with_secrets`](Self::to_string_with_secrets); in `mail`, from the start of that.
    pub fn plan(&self, mail: Option<&str>) -> Result<Vec<FtpStep>, UrlError> {
        let mut steps = self.login_steps(mail)?;
        let Some(path) = &self.path else {
            return Ok(steps);
        };
        for name in path.directories.iter().chain([&path.name]) {
            if no_controls(name.as_bytes()).is_err() {
                return Err(UrlError::at(UrlErrorKind::ForbiddenControl, self.control()));
            }
        }
        let directories = path.directories.iter().cloned();
        steps.extend(directories.map(FtpStep::ChangeDirectory));
        let name = path.name.clone();
        match path.type_code {
            Some(TypeCode::Directory) => steps.push(FtpStep::NameList(name)),
            Some(code) => steps.extend([FtpStep::Type(code), FtpStep::Retrieve(name)]),
            None if name.is_empty() => steps.push(FtpStep::NameList(name)),
            None => steps.extend([FtpStep::GuessType, FtpStep::Retrieve(name)]),
        }
        Ok(steps)
    }

    fn login_steps(&self, mail: Option<&str>) -> Result<Vec<FtpStep>, UrlError> {
        let Some(userinfo) = self.login.userinfo() else {
            let password = match mail {
                Some(mail) => {
                    no_controls(mail.as_bytes())?;
                    FtpStep::Password(mail.into())
                }
                None => FtpStep::AskMailAddress,
            };
            return Ok(vec![FtpStep::User("anonymous".into()), password]);
        };
        let password = match userinfo.password() {
            Some(password) => FtpStep::Password(password.clone()),
            None => FtpStep::AskPassword,
        };
        Ok(vec![FtpStep::User(userinfo.user().clone()), password])
    }

    /// The offset of the first escaped control character.
    fn control(&self) -> usize {
        let text = self.to_string_with_secrets();
        let escape = |window: &[u8]| matches!(window, [b'%', b'0' | b'1', _] | [b'%', b'7', b'F']);
        let found = text.as_bytes().windows(3).position(escape);
        found.unwrap_or(text.len())
    }
}

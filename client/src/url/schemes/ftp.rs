//! `ftp` URLs (RFC 1738 §3.2), and the FTP commands that retrieve the file or directory. A decoded name must never be
//! able to inject another command (RFC 1738 §6).
//!
//! ```text
//! "ftp://" login [ "/" segment *( "/" segment ) [ ";type=" ( "a" | "i" | "d" ) ] ]
//! ```

use std::fmt;

use super::super::authority::Login;
use super::super::common::{self, Content, Mode, no_controls};
use super::super::error::{UrlError, UrlErrorKind};
use super::super::octets::Octets;
use super::super::span::Span;
use super::super::userinfo::{self, Secrets};
use super::{segments, write_segments};

/// A file or a directory on an FTP server. `Display` and `Debug` never show the password.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FtpUrl {
    /// The user name, password, host and port.
    pub login: Login<{ FtpUrl::DEFAULT_PORT }>,
    /// The path; `None` if no slash follows the host.
    pub path: Option<FtpPath>,
}

/// The path of an FTP URL, which may contain any octets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FtpPath {
    /// The arguments of the CWD commands, in order. Each of them may be empty.
    pub directories: Vec<Octets>,
    /// The argument of RETR or NLST, which may be empty.
    pub name: Octets,
    /// The transfer type, if the URL names one.
    pub type_code: Option<TypeCode>,
}

/// The transfer type of an FTP URL, `;type=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TypeCode {
    /// `a`: transfer as text.
    Ascii,
    /// `i`: transfer as octets.
    Image,
    /// `d`: list the names in a directory.
    Directory,
}

impl TypeCode {
    /// Returns the letter used in the URL, in lower case.
    pub fn letter(self) -> char {
        match self {
            TypeCode::Ascii => 'a',
            TypeCode::Image => 'i',
            TypeCode::Directory => 'd',
        }
    }
}

impl FtpUrl {
    /// The default port of FTP.
    pub const DEFAULT_PORT: u16 = 21;

    /// Returns the canonical form, including the password.
    pub fn to_string_with_secrets(&self) -> String {
        userinfo::with_secrets(|text| self.write(text, Secrets::Shown))
    }

    /// Parses the text after `ftp:`.
    pub(crate) fn parse(rest: Span<'_>, mode: Mode) -> Result<Self, UrlError> {
        let (login, rest) = common::double_slash(rest)?.cut(b"/");
        let login = Login::parse(login, mode)?;
        let path = rest.strip_prefix(b"/").map(|path| self::path(path, mode));
        Ok(FtpUrl {
            login,
            path: path.transpose()?,
        })
    }

    pub(crate) fn write(&self, out: &mut impl fmt::Write, secrets: Secrets) -> fmt::Result {
        out.write_str("ftp://")?;
        self.login.write(out, secrets)?;
        let Some(path) = &self.path else {
            return Ok(());
        };
        let names = path.directories.iter().chain([&path.name]);
        write_segments(out, names)?;
        match path.type_code {
            Some(code) => write!(out, ";type={}", code.letter()),
            None => Ok(()),
        }
    }
}

impl fmt::Display for FtpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, Secrets::Redacted)
    }
}

/// A step in retrieving an [`FtpUrl`]. `Display` and `Debug` never show a password.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FtpStep {
    /// Send `USER` with this name.
    User(Octets),
    /// Send `PASS` with this password, which is the password in the URL or, for `anonymous`, the mail address.
    Password(Octets),
    /// Ask the user for a password if the server requires one, because the URL does not contain one.
    AskPassword,
    /// Ask the user for the mail address that anonymous FTP requires as the password. The client never makes one up.
    AskMailAddress,
    /// Send `CWD` with this name, which may be empty.
    ChangeDirectory(Octets),
    /// Send `TYPE A` or `TYPE I`.
    Type(TypeCode),
    /// Choose a transfer type based on the file name or the server's reply, because the URL does not contain one.
    GuessType,
    /// Send `RETR` with this name.
    Retrieve(Octets),
    /// Send `NLST` with this name, which may be empty.
    NameList(Octets),
}

impl FtpStep {
    /// Returns the line to send, including CR LF and secrets; `None` for a step that sends nothing.
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

/// Writes the same text as [`Display`](fmt::Display).
impl fmt::Debug for FtpStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FtpUrl {
    /// Returns the steps in order. `mail` is the mail address for anonymous FTP.
    ///
    /// RFC 1738 leaves two cases undefined. If the name is empty and there is no type, the steps request a listing,
    /// because no file has an empty name. If the URL has no path, the steps end with the login.
    ///
    /// # Errors
    /// `ForbiddenControl` at the escape of the first control character. The offset counts octets from the start of
    /// [`to_string_with_secrets`](Self::to_string_with_secrets), or from the start of `mail` if it contains the
    /// character.
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
        let Some(userinfo) = &self.login.userinfo else {
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

    /// Returns the offset of the first escaped control character.
    fn control(&self) -> usize {
        let text = self.to_string_with_secrets();
        let escape = |window: &[u8]| matches!(window, [b'%', b'0' | b'1', _] | [b'%', b'7', b'F']);
        let found = text.as_bytes().windows(3).position(escape);
        found.unwrap_or(text.len())
    }
}

fn path(path: Span<'_>, mode: Mode) -> Result<FtpPath, UrlError> {
    let content = Content::any(mode);
    let (names, parameter) = path.cut(b";");
    let mut directories = segments(names, content)?;
    Ok(FtpPath {
        name: directories.pop().unwrap_or_default(),
        directories,
        type_code: type_code(parameter)?,
    })
}

/// Parses `;type=` followed by a letter in any case. The parameter may be missing.
fn type_code(parameter: Span<'_>) -> Result<Option<TypeCode>, UrlError> {
    if parameter.is_empty() {
        return Ok(None);
    }
    let (keyword, code) = parameter.split_at(b";type=".len());
    if !keyword.octets().eq_ignore_ascii_case(b";type=") {
        return Err(parameter.fail(UrlErrorKind::ReservedCharacter));
    }
    match code.octets() {
        b"a" | b"A" => Ok(Some(TypeCode::Ascii)),
        b"i" | b"I" => Ok(Some(TypeCode::Image)),
        b"d" | b"D" => Ok(Some(TypeCode::Directory)),
        _ => Err(code.fail(UrlErrorKind::BadTypeCode)),
    }
}

//! `ftp` URLs: RFC 1738 §3.2. `ftp_plan` has the commands.
//!
//! ```text
//! "ftp://" login [ "/" segment *( "/" segment ) [ ";type=" ( "a" | "i" | "d" ) ] ]
//! ```

use std::fmt;

use super::super::authority::Login;
use super::super::common::{self, Content, Mode};
use super::super::error::{UrlError, UrlErrorKind};
use super::super::octets::Octets;
use super::super::span::Span;
use super::super::userinfo::Secrets;
use super::{segments, write_segments};

/// A file or a directory on an FTP server. `Display` and `Debug` never show the password.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FtpUrl {
    /// User, password, host and port.
    pub login: Login<{ FtpUrl::DEFAULT_PORT }>,
    /// The path; `None` without a slash after the host.
    pub path: Option<FtpPath>,
}

/// The path of an FTP URL, of any octets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FtpPath {
    /// The arguments of CWD commands in order; may be empty strings.
    pub directories: Vec<Octets>,
    /// The argument of RETR or NLST, possibly empty.
    pub name: Octets,
    /// The transfer type, if any.
    pub type_code: Option<TypeCode>,
}

/// The `;type=` of an FTP URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TypeCode {
    /// `a`: text.
    Ascii,
    /// `i`: octets.
    Image,
    /// `d`: the names in a directory.
    Directory,
}

impl TypeCode {
    /// The letter of the URL, in lower case.
    pub fn letter(self) -> char {
        match self {
            TypeCode::Ascii => 'a',
            TypeCode::Image => 'i',
            TypeCode::Directory => 'd',
        }
    }
}

impl FtpUrl {
    /// The default port.
    pub const DEFAULT_PORT: u16 = 21;

    /// The canonical form, password included.
    pub fn to_string_with_secrets(&self) -> String {
        let mut text = String::new();
        // Errors: writing to a string cannot fail.
        let _ = self.write(&mut text, Secrets::Shown);
        text
    }

    /// Reads what follows `ftp:`.
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

fn path(path: Span<'_>, mode: Mode) -> Result<FtpPath, UrlError> {
    let content = Content {
        mode,
        never: b"",
        controls: true,
    };
    let (names, parameter) = path.cut(b";");
    let mut directories = segments(names, content)?;
    Ok(FtpPath {
        name: directories.pop().unwrap_or_default(),
        directories,
        type_code: type_code(parameter)?,
    })
}

/// `;type=` and a letter, any case, or nothing.
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

//! `file` URLs (RFC 1738 §3.10), which state the host of a file, but not how to fetch the file.
//!
//! ```text
//! "file://" [ host | "localhost" ] "/" segment *( "/" segment )
//! ```

use std::fmt;
use std::path::PathBuf;

use super::super::common::{Content, Mode};
use super::super::error::{UrlError, UrlErrorKind};
use super::super::host::{self, Host};
use super::super::octets::Octets;
use super::super::span::Span;
use super::{segments, write_segments};

/// A file on the local machine or another host.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FileUrl {
    host: Option<Host>,
    segments: Vec<Octets>,
}

/// The reason why a file URL cannot be converted to a local path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LocalPathError {
    /// The file is on a remote host.
    #[error("the file is on another machine")]
    RemoteHost,
    /// A segment contains a slash.
    #[error("an escaped slash in a file name")]
    SlashInSegment,
    /// A segment is `..`.
    #[error("a segment `..` in the path")]
    ParentSegment,
    /// A segment contains a NUL octet.
    #[error("a zero octet in a file name")]
    ZeroOctet,
    /// A segment is not UTF-8, which this crate requires of local file names.
    #[error("a file name that is not text")]
    NotText,
}

impl FileUrl {
    /// Creates the URL of a file from its path segments. Without segments, the URL names the root. Without a host, or
    /// with `localhost`, the file is on the local machine.
    pub fn new<T: Into<Octets>>(host: Option<Host>, segments: impl IntoIterator<Item = T>) -> Self {
        let mut segments: Vec<Octets> = segments.into_iter().map(T::into).collect();
        if segments.is_empty() {
            segments.push(Octets::default());
        }
        let host = host.filter(|host| host.to_string() != "localhost");
        FileUrl { host, segments }
    }

    /// Returns the host on which the file is, or `None` for the local machine.
    pub fn host(&self) -> Option<&Host> {
        self.host.as_ref()
    }

    /// Returns the decoded path segments. There is at least one segment. `.` and `..` are ordinary names.
    pub fn segments(&self) -> &[Octets] {
        &self.segments
    }

    /// Converts the URL to a path on the local machine.
    ///
    /// # Errors
    /// See [`LocalPathError`].
    pub fn to_local_path(&self) -> Result<PathBuf, LocalPathError> {
        if self.host.is_some() {
            return Err(LocalPathError::RemoteHost);
        }
        let mut path = Vec::new();
        for segment in &self.segments {
            let octets = segment.as_bytes();
            if octets == b".." {
                return Err(LocalPathError::ParentSegment);
            } else if octets.contains(&b'/') {
                return Err(LocalPathError::SlashInSegment);
            } else if octets.contains(&0) {
                return Err(LocalPathError::ZeroOctet);
            }
            path.push(b'/');
            path.extend_from_slice(octets);
        }
        to_path(path)
    }

    /// Parses the text after `file:`. The lenient mode also accepts one slash instead of three for a local file.
    pub(crate) fn parse(rest: Span<'_>, mode: Mode) -> Result<Self, UrlError> {
        let (host, path) = match rest.strip_prefix(b"//") {
            Some(rest) => rest.cut(b"/"),
            None if mode == Mode::Lenient && rest.first() == Some(b'/') => rest.split_at(0),
            None => return Err(rest.fail(UrlErrorKind::MissingDoubleSlash)),
        };
        if host.octets().contains(&b'@') {
            return Err(host.fail(UrlErrorKind::UserinfoNotAllowed).without_octet());
        }
        let host = if host.is_empty() {
            None
        } else {
            Some(host::host(host, mode)?)
        };
        let path = path.after(b"/", "add `/` and a path")?;
        let content = Content::any(mode).never(b";");
        Ok(FileUrl::new(host, segments(path, content)?))
    }
}

impl fmt::Display for FileUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("file://")?;
        if let Some(host) = &self.host {
            host.fmt(f)?;
        }
        write_segments(f, &self.segments)
    }
}

#[cfg(unix)]
fn to_path(octets: Vec<u8>) -> Result<PathBuf, LocalPathError> {
    use std::os::unix::ffi::OsStringExt;
    Ok(std::ffi::OsString::from_vec(octets).into())
}

#[cfg(not(unix))]
fn to_path(octets: Vec<u8>) -> Result<PathBuf, LocalPathError> {
    let text = String::from_utf8(octets).map_err(|_| LocalPathError::NotText)?;
    Ok(text.into())
}

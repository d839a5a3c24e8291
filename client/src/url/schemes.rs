//! The schemes of RFC 1738 §3 other than gopher and Z39.50, and the message schemes of RFC 1630, each in its own file,
//! and the code that they share.

mod file;
mod ftp;
mod http;
mod mail;
mod news;
mod opaque;
mod prospero;
mod telnet;
mod wais;

use std::fmt;

use super::common::{self, Class, Content};
use super::error::UrlError;
use super::octets::Octets;
use super::span::Span;
pub use file::{FileUrl, LocalPathError};
pub use ftp::{FtpPath, FtpStep, FtpUrl, TypeCode};
pub use http::{HttpUrl, HttpsUrl};
pub use mail::{MailtoUrl, MessageId};
pub use news::{NewsUrl, Newsgroup, NntpUrl};
pub use opaque::OpaqueUri;
pub use prospero::{ProsperoField, ProsperoUrl};
pub use telnet::{RloginUrl, TelnetPlan, TelnetUrl, Tn3270Url};
pub use wais::{WaisTarget, WaisUrl};

/// The reserved characters that are data in the path segments of ftp, file and prospero (`fsegment`, `psegment`).
const SEGMENT: &[u8] = b"?:@&=";

/// Decodes the segments between slashes. There is at least one segment.
fn segments(path: Span<'_>, content: Content) -> Result<Vec<Octets>, UrlError> {
    path.split(b'/')
        .map(|segment| content.decode_with(segment, SEGMENT))
        .collect()
}

/// Writes a slash before each segment.
fn write_segments<'a>(
    out: &mut impl fmt::Write,
    segments: impl IntoIterator<Item = &'a Octets>,
) -> fmt::Result {
    for segment in segments {
        out.write_char('/')?;
        write_data(out, segment, SEGMENT)?;
    }
    Ok(())
}

/// Writes data. Unreserved characters and those in `literal` are not escaped.
fn write_data(out: &mut impl fmt::Write, data: &Octets, literal: &[u8]) -> fmt::Result {
    common::write_escaped(out, data.as_bytes(), |octet| {
        literal.contains(&octet) || Class::of(octet) == Class::Unreserved
    })
}

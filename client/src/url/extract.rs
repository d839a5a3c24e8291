//! Finds URLs in running text: in wrappers (`<URL:…>`), and heuristically without wrappers. Source: RFC 1738 Appendix,
//! including line breaks and hyphens; RFC 1736 §4.4, §4.5.
//!
//! | file | finds URLs in |
//! |---|---|
//! | `wrapper` | `<URL:…>`, over several lines |
//! | `bare` | running text without wrappers |
//! | `marc` | fields 856, 024 and 035 of MARC records |
//! | `html` | attributes and text of HTML |
//! | `link` | links, which are converted to URLs as in browsers |
//!
//! [`wrap`] writes the wrappers that `wrapper` reads.

mod bare;
#[cfg(feature = "html")]
mod html;
mod link;
mod marc;
mod wrapper;

use std::ops::Range;

use z3950_marc::text_lossless;

use super::common::{self, Mode};
use super::error::UrlError;
use super::locator::Locator;
#[cfg(feature = "html")]
pub use html::{HtmlUrl, HtmlUrls, in_html};
pub use marc::{RecordUrl, RecordUrls, SkipReason, SkippedLink, in_record};

/// The maximum number of alternative readings of a found URL.
pub const MAX_ALTERNATES: usize = 8;

/// A URL that was found in text. Spaces and line breaks in it have been removed. Parsing it may still fail.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FoundUrl {
    /// The URL with its fragment, as graphic ASCII without `<`, `>` and `"`.
    pub url: String,
    /// The range of the URL in the text, without the wrapper.
    pub range: Range<usize>,
    /// Whether the URL had no wrapper, so that its start and end were determined by heuristics.
    pub heuristic: bool,
    /// Alternative readings of the URL. If it has hyphens at line ends, these are the URL without some of the hyphens,
    /// in all combinations up to [`MAX_ALTERNATES`] (RFC 1738 Appendix). If it comes from a field of a record and
    /// contains spaces, this is the text before the first space.
    pub alternates: Vec<String>,
    /// The original text, if the URL had to be repaired because of a relative link, spaces, non-ASCII characters, or
    /// mail quote marks.
    pub written: Option<String>,
    /// Whether the heuristics ended the URL at a punctuation mark that is immediately followed by a letter, so that the
    /// URL may be longer.
    pub may_continue: bool,
}

/// A fault in a wrapper `<URL:…>`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WrapperFault {
    /// The kind of fault.
    pub kind: FaultKind,
    /// The offset of the `<`, or of the octet that is not allowed.
    pub offset: usize,
}

/// The kind of fault in a wrapper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum FaultKind {
    /// No `>` follows before the next `<`, the end of the text, or [`MAX_URL_LENGTH`](super::MAX_URL_LENGTH) octets.
    #[error("the wrapper has no end")]
    UnterminatedWrapper,
    /// The text in the wrapper has no scheme.
    #[error("the wrapper does not contain a URL")]
    NotAUrl,
    /// The text in the wrapper contains an octet that is not allowed in a URL.
    #[error("the wrapper holds an octet that no URL may hold")]
    InvalidCharacter,
}

impl FoundUrl {
    /// Returns the reason why the URL is malformed, such as an escape without two hexadecimal digits, or `None` if it
    /// is well formed.
    pub fn fault(&self) -> Option<UrlError> {
        Locator::parse(&self.url, Mode::Lenient).err()
    }

    /// Creates a found URL that needs no repair, with its range in the text.
    fn at(range: Range<usize>, url: String) -> Self {
        FoundUrl {
            url,
            range,
            heuristic: false,
            alternates: Vec::new(),
            written: None,
            may_continue: false,
        }
    }
}

impl FaultKind {
    /// Returns a stable name for the fault, for use by programs, such as `UnterminatedWrapper`.
    pub fn name(self) -> &'static str {
        match self {
            FaultKind::UnterminatedWrapper => "UnterminatedWrapper",
            FaultKind::NotAUrl => "NotAUrl",
            FaultKind::InvalidCharacter => "InvalidCharacter",
        }
    }
}

/// The URLs found in text, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Extraction {
    /// The URLs that were found.
    pub urls: Vec<FoundUrl>,
    /// The faults in wrappers.
    pub faults: Vec<WrapperFault>,
}

/// Finds the wrapped URLs in text, written as `<URL:…>` in any letter case. The text may contain any octets.
pub fn extract(text: &[u8]) -> Extraction {
    find(text, false)
}

/// Finds wrapped URLs and, [heuristically](FoundUrl::heuristic), URLs without a wrapper. The latter are URLs of known
/// schemes, and any text with `//` after a scheme. Punctuation at their end is not included.
pub fn scan(text: &[u8]) -> Extraction {
    find(text, true)
}

fn find(text: &[u8], with_bare: bool) -> Extraction {
    let mut extraction = Extraction::default();
    let mut at = 0;
    // Everything before this offset has been processed.
    let mut done = 0;
    while let Some(step) = text
        .get(at..)
        .and_then(|rest| rest.iter().position(|octet| b"<:".contains(octet)))
    {
        at += step;
        let rest = text.get(at..).unwrap_or_default();
        if rest.starts_with(b"<") {
            match wrapper::at(text, at, quote_marks(text, at)) {
                Some(Ok((url, end))) => {
                    extraction.urls.push(url);
                    done = end;
                    at = end;
                    continue;
                }
                Some(Err(fault)) => extraction.faults.push(fault),
                None => {}
            }
        } else if with_bare && let Some(bare) = bare::around(text, done, at) {
            let octets = text.get(bare.range.clone()).unwrap_or_default();
            let url = escape(octets);
            done = bare.range.end;
            at = bare.range.end;
            extraction.urls.push(FoundUrl {
                written: written(octets, &url),
                heuristic: true,
                may_continue: bare.may_continue,
                ..FoundUrl::at(bare.range, url)
            });
            continue;
        }
        at += 1;
    }
    extraction
}

/// Returns the number of mail quote marks, `> `, at the start of the line that contains the offset `at`.
fn quote_marks(text: &[u8], at: usize) -> usize {
    /// The maximum number of octets to examine before `at`. It ensures that a line with many wrappers takes only linear
    /// time.
    const LONGEST: usize = 256;
    let start = at.saturating_sub(LONGEST);
    let before = text.get(start..at).unwrap_or_default();
    let line = match before.iter().rposition(|octet| b"\r\n".contains(octet)) {
        Some(end) => before.get(end + 1..).unwrap_or_default(),
        None if start == 0 => before,
        None => return 0,
    };
    line.iter()
        .take_while(|octet| b"> \t".contains(octet))
        .filter(|octet| **octet == b'>')
        .count()
}

/// Converts octets of graphic ASCII to text.
fn ascii(octets: &[u8]) -> String {
    octets.iter().map(|&octet| char::from(octet)).collect()
}

/// Escapes octets that are not allowed in a URL.
fn escape(octets: &[u8]) -> String {
    let mut url = String::with_capacity(octets.len());
    // Writing to a string cannot fail.
    let _ = common::write_escaped(&mut url, octets, is_url_octet);
    url
}

/// Returns whether an octet is graphic ASCII, and not a character that always ends a URL.
fn is_url_octet(octet: u8) -> bool {
    octet.is_ascii_graphic() && !b"\"<>".contains(&octet)
}

/// Returns the text as written, or `None` if it is the same as the URL.
fn written(octets: &[u8], url: &str) -> Option<String> {
    (octets != url.as_bytes()).then(|| text_lossless(octets).into_owned())
}

/// The minimum width of the lines that [`wrap`] writes, in characters.
pub const MIN_WRAP_WIDTH: usize = 20;
/// The maximum width of the lines that [`wrap`] writes, in characters. It is suitable for RFC 822 mail.
pub const MAX_WRAP_WIDTH: usize = 76;

/// Writes a URL between `<URL:` and `>`, in lines of at most `width` characters (RFC 1738 Appendix, RFC 1736 §4.5). So
/// that the URL can be extracted unambiguously, no line ends with a hyphen that belongs to the URL, unless the URL has
/// more consecutive hyphens than fit on a line. `width` is clamped to the range from [`MIN_WRAP_WIDTH`] to
/// [`MAX_WRAP_WIDTH`].
///
/// `url` must be a canonical form, or other graphic ASCII text without `<`, `>` and `"`. [`extract`](extract()) finds
/// the same URL in the result.
pub fn wrap(url: &str, width: usize) -> String {
    let width = width.clamp(MIN_WRAP_WIDTH, MAX_WRAP_WIDTH);
    let mut wrapped = String::from("<URL:");
    let mut room = width - wrapped.len();
    let characters: Vec<char> = url.chars().collect();
    let mut rest = characters.as_slice();
    // The last line holds at least one character of the URL, so that `>` does not begin a line.
    while rest.len() >= room {
        let most = rest.get(..room.min(rest.len() - 1)).unwrap_or(rest);
        let hyphens = most.iter().rev().take_while(|&&each| each == '-').count();
        let length = match most.len() - hyphens {
            0 => most.len(),
            length => length,
        };
        let (line, tail) = rest.split_at(length);
        wrapped.extend(line);
        wrapped.push('\n');
        rest = tail;
        room = width;
    }
    wrapped.extend(rest);
    wrapped.push('>');
    wrapped
}

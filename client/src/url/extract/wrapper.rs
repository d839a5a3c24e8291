//! Reads the text between `<URL:` and `>`. Spaces and line breaks (RFC 1738 Appendix), and mail quote marks at the
//! start of lines, are removed. A hyphen at the end of a line may or may not belong to the URL, so both readings are
//! returned.

use z3950_marc::text_lossless;

use super::super::MAX_URL_LENGTH;
use super::super::common;
use super::super::span::Span;
use super::{FaultKind, FoundUrl, MAX_ALTERNATES, WrapperFault, is_url_octet};

/// The start of a wrapper, whose letter case is ignored.
const OPENING: &[u8] = b"<URL:";
/// The maximum number of hyphens at line ends that are left out in alternative readings. At most [`MAX_ALTERNATES`] of
/// their combinations are returned.
const HYPHENS: usize = 4;

/// Parses the wrapper that begins at an offset in the text, if there is one. `quotes` is the number of mail quote marks
/// at the start of its line. Returns the URL, and the offset after the `>`.
pub(super) fn at(
    text: &[u8],
    at: usize,
    quotes: usize,
) -> Option<Result<(FoundUrl, usize), WrapperFault>> {
    let start = at + OPENING.len();
    if !text.get(at..start)?.eq_ignore_ascii_case(OPENING) {
        return None;
    }
    let inner = text.get(start..)?;
    let end = unquoted(inner.get(..MAX_URL_LENGTH).unwrap_or(inner), quotes)
        .find(|(_, octet)| b"<>".contains(octet))
        .filter(|(_, octet)| *octet == b'>');
    let Some((length, _)) = end else {
        let kind = FaultKind::UnterminatedWrapper;
        return Some(Err(WrapperFault { kind, offset: at }));
    };
    let url = content(inner.get(..length)?, start, quotes);
    Some(url.map(|url| (url, start + length + 1)))
}

/// Returns the octets with their offsets. On each line after the first, up to `quotes` mail quote marks are skipped.
fn unquoted(text: &[u8], quotes: usize) -> impl Iterator<Item = (usize, u8)> {
    let mut marks = 0;
    text.iter().copied().enumerate().filter(move |(_, octet)| {
        match octet {
            b'\r' | b'\n' => marks = quotes,
            b'>' if marks > 0 => {
                marks -= 1;
                return false;
            }
            b' ' | b'\t' => {}
            _ => marks = 0,
        }
        true
    })
}

/// Returns the URL in the contents of a wrapper, which begin at offset `start` in the text.
fn content(inner: &[u8], start: usize, quotes: usize) -> Result<FoundUrl, WrapperFault> {
    let mut url = Vec::with_capacity(inner.len());
    // The positions in `url` of the hyphens at line ends.
    let mut hyphens = Vec::new();
    let mut range = 0..0;
    for (index, octet) in unquoted(inner, quotes) {
        if octet == b'\n' || octet == b'\r' {
            if url.last() == Some(&b'-') && hyphens.last() != Some(&(url.len() - 1)) {
                hyphens.push(url.len() - 1);
            }
        } else if is_url_octet(octet) {
            let place = start + index;
            if url.is_empty() {
                range.start = place;
            }
            range.end = place + 1;
            url.push(octet);
        } else if octet != b' ' && octet != b'\t' {
            return Err(WrapperFault {
                kind: FaultKind::InvalidCharacter,
                offset: start + index,
            });
        }
    }
    let is_quoted = unquoted(inner, quotes).count() < inner.len();
    // A line break after the last octet does not divide the URL, so the hyphen before it is not ambiguous.
    if hyphens.last().is_some_and(|&last| last + 1 == url.len()) {
        hyphens.pop();
    }
    match common::scheme(Span::new(&url)) {
        Ok(_) => Ok(FoundUrl {
            alternates: alternates(&url, &hyphens),
            written: is_quoted.then(|| text_lossless(inner).into_owned()),
            ..FoundUrl::at(range, super::ascii(&url))
        }),
        Err(_) => Err(WrapperFault {
            kind: FaultKind::NotAUrl,
            offset: start - OPENING.len(),
        }),
    }
}

/// Returns the alternative readings of a URL, each without one or more of these hyphens.
fn alternates(url: &[u8], hyphens: &[usize]) -> Vec<String> {
    // Each bit of a combination selects a hyphen to leave out. Only the first few hyphens are varied.
    let hyphens = hyphens.get(..HYPHENS).unwrap_or(hyphens);
    (1..1_usize << hyphens.len())
        .take(MAX_ALTERNATES)
        .map(|combination| {
            let left_out = |place: usize| {
                let bit = hyphens.iter().position(|&hyphen| hyphen == place);
                bit.is_some_and(|bit| combination >> bit & 1 == 1)
            };
            url.iter()
                .enumerate()
                .filter(|(place, _)| !left_out(*place))
                .map(|(_, &octet)| char::from(octet))
                .collect()
        })
        .collect()
}

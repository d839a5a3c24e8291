//! Finds URLs in MARC records: in field 856 $u, and in fields 024 and 035 if they contain a URL. Relative links in 856
//! $u are resolved like links in a page. Source: MARC 21 Format for Bibliographic Data, 856, 024, 035.

use std::borrow::Cow;

use z3950_marc::MarcRecord;
use z3950_marc::charset::{self, Charset};
use z3950_marc::text_lossless;

use super::super::common;
use super::super::generic;
use super::super::span::Span;
use super::{FaultKind, FoundUrl, escape, link, scan, written};

/// Fields and subfields that may contain a URL, and whether the subfield is intended for URLs.
const PLACES: [(&str, u8, bool); 3] = [
    ("856", b'u', true),
    ("024", b'a', false),
    ("035", b'a', false),
];

/// A URL found in a MARC record, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordUrl {
    /// The tag of the field.
    pub tag: &'static str,
    /// The code of the subfield.
    pub code: char,
    /// The 1-based number of the field among those with the same tag.
    pub occurrence: usize,
    /// The URL. Its range is relative to the subfield's value. If the value is not UTF-8, the range is the complete
    /// value.
    pub found: FoundUrl,
}

/// The URLs found in a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordUrls {
    /// The URLs, field by field.
    pub urls: Vec<RecordUrl>,
    /// The values that were left out, although they are intended for URLs.
    pub skipped: Vec<SkippedLink>,
}

/// A value that is intended for a URL but was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkippedLink {
    /// The tag of the field.
    pub tag: &'static str,
    /// The code of the subfield.
    pub code: char,
    /// The 1-based number of the field among those with the same tag.
    pub occurrence: usize,
    /// The value as written.
    pub written: String,
    /// The reason why the value was left out.
    pub reason: SkipReason,
}

/// The reason why a value was left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum SkipReason {
    /// The value has no scheme, and there is no base to which it could be relative.
    #[error("a URL without a scheme needs a base")]
    NoBase,
    /// The value has a colon, but what precedes it is not the scheme of a URL.
    #[error("not a URL")]
    NotAUrl,
    /// The value has a wrapper with a fault.
    #[error(transparent)]
    Wrapper(FaultKind),
}

/// Finds the URLs in a record, field by field. An 856 $u is treated as one URL whose spaces are escaped. If it does not
/// begin with a URL, or contains several URLs, it is searched as text, like the other fields. If it contains none, it is
/// a link relative to `base`.
pub fn in_record(record: &MarcRecord, base: Option<&str>) -> RecordUrls {
    let mut urls = RecordUrls::default();
    for (tag, code, is_url) in PLACES {
        for (index, field) in record.fields_by_tag(tag).enumerate() {
            let values = field.subfields().filter(|subfield| subfield.code == [code]);
            for value in values {
                let text = decoded(value.data, record);
                let (found, skipped) = read(&text, is_url, base);
                let is_same = matches!(text, Cow::Borrowed(_));
                let (code, occurrence) = (char::from(code), index + 1);
                urls.urls.extend(found.into_iter().map(|found| RecordUrl {
                    tag,
                    code,
                    occurrence,
                    found: FoundUrl {
                        range: if is_same {
                            found.range
                        } else {
                            0..value.data.len()
                        },
                        ..found
                    },
                }));
                urls.skipped
                    .extend(skipped.into_iter().map(|reason| SkippedLink {
                        tag,
                        code,
                        occurrence,
                        written: text_lossless(&text).into_owned(),
                        reason,
                    }));
            }
        }
    }
    urls
}

/// Returns the URLs in a value, and the reasons why parts of it were left out. `is_url` says whether the value is
/// intended for a URL.
fn read(text: &[u8], is_url: bool, base: Option<&str>) -> (Vec<FoundUrl>, Vec<SkipReason>) {
    if let Some(found) = whole(text).filter(|_| is_url) {
        return (vec![found], Vec::new());
    }
    let scanned = scan(text);
    let faults: Vec<SkipReason> = scanned
        .faults
        .iter()
        .map(|fault| SkipReason::Wrapper(fault.kind))
        .collect();
    let link = text.trim_ascii();
    if !scanned.urls.is_empty() || !faults.is_empty() || !is_url || link.is_empty() {
        return (scanned.urls, faults);
    }
    match relative(link, base) {
        Ok(url) => {
            let start = text.len() - text.trim_ascii_start().len();
            let found = FoundUrl {
                written: written(link, &url),
                ..FoundUrl::at(start..start + link.len(), url)
            };
            (vec![found], Vec::new())
        }
        Err(reason) => (Vec::new(), vec![reason]),
    }
}

/// Resolves a value that is not a URL as a relative link, like a link in a page.
fn relative(value: &[u8], base: Option<&str>) -> Result<String, SkipReason> {
    let link = link::cleaned(value, Charset::Utf8);
    if generic::split(&link).is_some() {
        return Err(SkipReason::NotAUrl);
    }
    link::resolved(&link, base).ok_or(SkipReason::NoBase)
}

/// Returns the value of a subfield in UTF-8.
fn decoded<'a>(value: &'a [u8], record: &MarcRecord) -> Cow<'a, [u8]> {
    if std::str::from_utf8(value).is_ok() && !value.contains(&ESCAPE) {
        return Cow::Borrowed(value);
    }
    let charset = charset::choose(record, None).charset;
    Cow::Owned(charset.decode(value).text.into_owned().into_bytes())
}

/// The escape character that switches character sets in MARC-8 (ISO 2022).
const ESCAPE: u8 = 0x1B;

/// Returns the URL if the value is a single URL with optional surrounding spaces.
fn whole(value: &[u8]) -> Option<FoundUrl> {
    let url = value.trim_ascii();
    let start = value.len() - value.trim_ascii_start().len();
    let (_, rest) = common::scheme(Span::new(url)).ok()?;
    let rest = rest.octets();
    let blank = url.iter().position(u8::is_ascii_whitespace);
    let has_other = rest.windows(3).any(|window| window == b"://") || url.contains(&b'<');
    let is_url = match blank {
        // A value with inner spaces is a URL only if `//` follows the scheme: `note: see below` is not a URL. A value with two
        // URLs is not a URL either.
        Some(_) => rest.starts_with(b"//") && !has_other,
        None => !rest.is_empty() && !url.contains(&b'<'),
    };
    let escaped = escape(url);
    let before = blank.and_then(|blank| url.get(..blank)).map(escape);
    is_url.then(|| FoundUrl {
        written: written(url, &escaped),
        alternates: before.into_iter().collect(),
        ..FoundUrl::at(start..start + url.len(), escaped)
    })
}

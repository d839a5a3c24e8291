//! Finds URLs in MARC records: in field 856 $u, and in fields 024 and 035 if they contain a URL. Source: MARC 21 Format
//! for Bibliographic Data, 856, 024, 035.

use std::borrow::Cow;

use z3950_marc::MarcRecord;
use z3950_marc::charset;

use super::super::common;
use super::super::span::Span;
use super::{FoundUrl, escape, scan, written};

/// Fields and subfields that may contain a URL, and whether they are intended for URLs.
const PLACES: [(&str, u8, bool); 3] = [
    ("856", b'u', true),
    ("024", b'a', false),
    ("035", b'a', false),
];

/// A URL found in a record.
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

/// Finds the URLs in a record, field by field. An 856 $u is treated as one URL whose spaces are escaped. If it does not
/// begin with a URL, or contains several URLs, it is searched as text, like the other fields.
pub fn in_record(record: &MarcRecord) -> Vec<RecordUrl> {
    let mut urls = Vec::new();
    for (tag, code, is_url) in PLACES {
        for (index, field) in record.fields_by_tag(tag).enumerate() {
            let values = field.subfields().filter(|subfield| subfield.code == [code]);
            for value in values {
                let text = decoded(value.data, record);
                let found = match whole(&text).filter(|_| is_url) {
                    Some(found) => vec![found],
                    None => scan(&text).urls,
                };
                let is_same = matches!(text, Cow::Borrowed(_));
                urls.extend(found.into_iter().map(|found| RecordUrl {
                    tag,
                    code: char::from(code),
                    occurrence: index + 1,
                    found: FoundUrl {
                        range: if is_same {
                            found.range
                        } else {
                            0..value.data.len()
                        },
                        ..found
                    },
                }));
            }
        }
    }
    urls
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
        // A value with inner blanks is a URL only if `//` follows the scheme: `note: see below` is not a URL. A value with two
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

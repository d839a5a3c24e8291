//! URLs of MARC records: field 856 $u, and 024 and 035 where what they hold is a URL.
//! Source: MARC 21 Format for Bibliographic Data, 856, 024, 035.

use z3950_asn1::record::{MarcRecord, text_lossless};

use super::super::common;
use super::super::span::Span;
use super::{Found, scan};

/// Fields and subfields that hold URLs, and whether that is what they are for.
const PLACES: [(&str, u8, bool); 3] = [
    ("856", b'u', true),
    ("024", b'a', false),
    ("035", b'a', false),
];

/// A URL of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordUrl {
    /// The tag of the field.
    pub tag: &'static str,
    /// The code of the subfield.
    pub code: char,
    /// Which field of this tag, from 1.
    pub occurrence: usize,
    /// The URL; its range counts from the first octet of the subfield's value.
    pub found: Found,
}

/// The URLs of a record, field by field. All of an 856 $u is one URL, unless blanks or words are in it, which
/// are then read like text; the other fields are read like text.
pub fn in_record(record: &MarcRecord) -> Vec<RecordUrl> {
    let mut urls = Vec::new();
    for (tag, code, is_url) in PLACES {
        for (index, field) in record.fields_by_tag(tag).enumerate() {
            let values = field.subfields().filter(|subfield| subfield.code == [code]);
            for value in values {
                let found = match whole(value.data).filter(|_| is_url) {
                    Some(found) => vec![found],
                    None => scan(value.data).urls,
                };
                urls.extend(found.into_iter().map(|found| RecordUrl {
                    tag,
                    code: char::from(code),
                    occurrence: index + 1,
                    found,
                }));
            }
        }
    }
    urls
}

/// A value that is a URL from its first to its last octet, but for blanks around it.
fn whole(value: &[u8]) -> Option<Found> {
    let url = value.trim_ascii();
    let start = value.len() - value.trim_ascii_start().len();
    let (_, rest) = common::scheme(Span::new(url)).ok()?;
    let is_url =
        !rest.is_empty() && common::graphic(Span::new(url)).is_ok() && !url.contains(&b'<');
    is_url.then(|| Found {
        url: text_lossless(url).into_owned(),
        range: start..start + url.len(),
        heuristic: false,
        alternates: Vec::new(),
    })
}

//! Chooses the form of an answer according to the parameter `format` or the Accept header (RFC 9110 §12.5.1).

use z3950_asn1::oid::{self, Oid};

use crate::files::FileFormat;

/// A form of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Representation {
    /// A file format, by its name.
    File(&'static str),
    /// XML as received from the server.
    Xml,
    /// Plain text for human readers.
    Text,
    /// An HTML page for human readers.
    Html,
    /// The octets as received from the server.
    Raw,
}

/// ISO 2709 (RFC 2220). A record that was received in this format is passed on unchanged.
const MARC: Representation = Representation::File("marc");
/// MARCXML (RFC 6207).
const MARCXML: Representation = Representation::File("marcxml");
/// MARC-in-JSON or, for a record that is not MARC, its elements in JSON.
const JSON: Representation = Representation::File("json");

impl Representation {
    /// Returns the form with this name in the parameter `format`.
    pub(super) fn by_name(name: &str) -> Option<Self> {
        match name {
            "text" => Some(Self::Text),
            "html" => Some(Self::Html),
            "raw" => Some(Self::Raw),
            name => FileFormat::named(name).map(|format| Self::File(format.name)),
        }
    }

    /// The valid names in the parameter `format`.
    pub(super) const NAMES: &str =
        "marc, marcxml, json, json-lines, csv, spreadsheet, mrk, dc, text, html or raw";

    /// Returns the types and subtypes of the media types for this form.
    fn media_types(self) -> &'static [(&'static str, &'static str)] {
        match self {
            MARC => &[("application", "marc")],
            MARCXML => &[("application", "marcxml+xml")],
            JSON => &[("application", "json")],
            Self::Xml => &[("text", "xml"), ("application", "xml")],
            Self::Text => &[("text", "plain")],
            Self::Html => &[("text", "html")],
            Self::File(_) | Self::Raw => &[],
        }
    }
}

/// The Accept header, as ranges with their weights.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Accept(Vec<MediaRange>);

#[derive(Clone, Debug, PartialEq)]
struct MediaRange {
    kind: String,
    subtype: String,
    /// The weight of the range, in thousandths.
    weight: u16,
}

/// The maximum number of ranges that are parsed.
const MAX_RANGES: usize = 64;

impl Accept {
    /// Parses the values of the Accept headers. Malformed ranges are ignored; if there are no valid ranges, everything is
    /// acceptable.
    pub(crate) fn read<'a>(values: impl Iterator<Item = &'a str>) -> Self {
        let ranges = values.flat_map(|value| value.split(','));
        Self(ranges.filter_map(range).take(MAX_RANGES).collect())
    }

    /// Returns the acceptable forms of a record, best first. Among forms of equal weight, the record syntax in the URL determines
    /// the order.
    pub(super) fn ranked(&self, requested: Option<Oid>) -> Vec<Representation> {
        use Representation::{Html, Text, Xml};
        let mut forms = match requested {
            Some(oid::XML) => vec![MARCXML, Xml, MARC, JSON, Text, Html],
            Some(oid::SUTRS) => vec![Text, MARC, MARCXML, Xml, JSON, Html],
            _ => vec![MARC, MARCXML, Xml, JSON, Text, Html],
        };
        forms.retain(|form| self.weight(*form) > 0);
        forms.sort_by_key(|form| std::cmp::Reverse(self.weight(*form)));
        forms
    }

    /// Returns whether failures are reported as JSON: the header must name a JSON media type explicitly.
    pub(super) fn names_json(&self) -> bool {
        self.0.iter().any(|range| {
            range.weight > 0
                && range.kind == "application"
                && (range.subtype == "json" || range.subtype == "problem+json")
        })
    }

    /// Returns whether failures are reported as a page: the header must name HTML explicitly.
    pub(crate) fn names_html(&self) -> bool {
        let mut ranges = self.0.iter();
        ranges.any(|range| range.weight > 0 && range.kind == "text" && range.subtype == "html")
    }

    /// Returns the weight of a form: the weight of the most specific range that covers one of its media types.
    fn weight(&self, form: Representation) -> u16 {
        if self.0.is_empty() {
            return 1000;
        }
        let types = form.media_types().iter();
        let weights = types.map(|(kind, subtype)| {
            let matching = self.0.iter().filter_map(|range| {
                let specific = match (&*range.kind, &*range.subtype) {
                    ("*", "*") => 1,
                    (known, "*") if known == *kind => 2,
                    (known, sub) if known == *kind && sub == *subtype => 3,
                    _ => return None,
                };
                Some((specific, range.weight))
            });
            matching.max().map_or(0, |(_, weight)| weight)
        });
        weights.max().unwrap_or(0)
    }
}

fn range(text: &str) -> Option<MediaRange> {
    let mut parts = text.split(';').map(str::trim);
    let (kind, subtype) = parts.next()?.split_once('/')?;
    let mut weight = 1000;
    for part in parts {
        if let Some(("q" | "Q", value)) = part.split_once('=') {
            weight = thousandths(value)?;
        }
    }
    Some(MediaRange {
        kind: kind.to_ascii_lowercase(),
        subtype: subtype.to_ascii_lowercase(),
        weight,
    })
}

/// Parses a weight: a number from 0 to 1 with at most three decimals (RFC 9110 §12.4.2).
fn thousandths(text: &str) -> Option<u16> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let is_number = part.len() <= 3 && part.bytes().all(|octet| octet.is_ascii_digit());
    let whole: u16 = match whole {
        "0" => 0,
        "1" => 1000,
        _ => return None,
    };
    if !is_number {
        return None;
    }
    let part: u16 = format!("{part:0<3}").parse().ok()?;
    (whole + part <= 1000).then_some(whole + part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_acceptable_form_comes_first() {
        use Representation::*;
        const ALL: &[Representation] = &[MARC, MARCXML, Xml, JSON, Text, Html];
        for (accept, expected) in [
            ("", ALL),
            ("*/*", ALL),
            ("application/json", &[JSON]),
            ("text/*", &[Xml, Text, Html]),
            (
                "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
                &[Html, Xml, MARC, MARCXML, JSON, Text],
            ),
            (
                "application/marc;q=0.5, application/marcxml+xml",
                &[MARCXML, MARC],
            ),
            (
                "*/*, application/marc;q=0",
                &[MARCXML, Xml, JSON, Text, Html],
            ),
            ("TEXT/PLAIN ; Q=0.001", &[Text]),
            ("image/png", &[]),
            ("application/marc;q=2", ALL),
            ("application/marc;q=0.0001, text/html", &[Html]),
        ] {
            let accept = Accept::read([accept].into_iter());
            assert_eq!(accept.ranked(None), expected, "{accept:?}");
        }
        let any = Accept::read(["*/*"].into_iter());
        assert_eq!(any.ranked(Some(oid::XML)).first(), Some(&MARCXML));
        assert_eq!(any.ranked(Some(oid::SUTRS)).first(), Some(&Text));
    }

    #[test]
    fn failures_are_reported_in_the_named_type() {
        for (accept, json, html) in [
            ("*/*", false, false),
            ("application/json", true, false),
            (
                "application/marc, application/problem+json;q=0.1",
                true,
                false,
            ),
            ("application/json;q=0, text/html", false, true),
        ] {
            let accept = Accept::read([accept].into_iter());
            assert_eq!((accept.names_json(), accept.names_html()), (json, html));
        }
    }
}

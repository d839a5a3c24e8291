//! Converts records and Gopher items to the contents of HTTP answers.

use bytes::Bytes;
use z3950::Record;
use z3950::gopher::{Body, MenuItem, Reply};
use z3950_asn1::record::RetrievedRecord;
use z3950_asn1::sru::XmlElement;

use super::negotiate::Representation;
use crate::files::FileFormat;
use crate::text::printable;

/// The contents of an answer.
#[derive(Clone, Debug)]
pub(super) struct GatewayContent {
    pub(super) media_type: &'static str,
    /// The file name extension of a download; `None` for contents that browsers display.
    pub(super) extension: Option<&'static str>,
    pub(super) octets: Bytes,
}

const TEXT: &str = "text/plain; charset=utf-8";
const OCTETS: &str = "application/octet-stream";

impl GatewayContent {
    /// Creates plain text in which control characters are replaced, because the client may be a terminal.
    pub(super) fn text(text: &str) -> Self {
        let lines = text.replace("\r\n", "\n");
        Self::shown(TEXT, lines.chars().map(printable).collect())
    }

    pub(super) fn html(page: String) -> Self {
        Self::shown("text/html; charset=utf-8", page)
    }

    fn shown(media_type: &'static str, text: String) -> Self {
        Self {
            media_type,
            extension: None,
            octets: text.into(),
        }
    }

    fn file(
        media_type: &'static str,
        extension: &'static str,
        octets: impl Into<Bytes>,
    ) -> Option<Self> {
        Some(Self {
            media_type,
            extension: Some(extension),
            octets: octets.into(),
        })
    }
}

/// Converts a record from this source to a form. Returns `None` for the HTML form, and if the record cannot be converted to the
/// form.
pub(super) fn of_record(
    record: &Record,
    source: &str,
    form: Representation,
) -> Option<GatewayContent> {
    match form {
        Representation::File(name) => {
            let format = FileFormat::named(name)?;
            let octets = format.alone(record, source).ok()?;
            GatewayContent::file(format.media_type, format.extension, octets)
        }
        Representation::Xml => match record.retrieved() {
            RetrievedRecord::Xml(octets) => {
                let element = XmlElement::read(octets).ok()?;
                GatewayContent::file("application/xml", "xml", element.octets().clone())
            }
            _ => None,
        },
        Representation::Text => {
            let mut text = record.text();
            if !text.ends_with('\n') {
                text.push('\n');
            }
            Some(GatewayContent::text(&text))
        }
        Representation::Raw => {
            let (media_type, extension) = match record.retrieved() {
                RetrievedRecord::Marc(_) => ("application/marc", "mrc"),
                // Browsers can show well-formed XML, so it is sent with its own media type.
                RetrievedRecord::Xml(octets) if XmlElement::read(octets.clone()).is_ok() => {
                    ("application/xml", "xml")
                }
                _ => (OCTETS, "bin"),
            };
            GatewayContent::file(media_type, extension, record.octets())
        }
        Representation::Html => None,
    }
}

/// Converts a Gopher item. An item that is not text always gets a media type that browsers download instead of displaying it.
pub(super) fn of_gopher(reply: &Reply, is_raw: bool) -> Option<GatewayContent> {
    Some(match &reply.body {
        _ if is_raw => return GatewayContent::file(OCTETS, "bin", reply.octets.clone()),
        Body::Text(octets) => GatewayContent::text(&z3950_marc::text_lossless(octets)),
        Body::Binary(octets) => return GatewayContent::file(OCTETS, "bin", octets.clone()),
        Body::Menu(items) => {
            let lines: String = items.iter().map(menu_line).collect();
            GatewayContent::text(&lines)
        }
        Body::Attributes(items) => {
            let blocks = items.iter().flat_map(|item| &item.blocks);
            let lines: String = blocks
                .map(|block| format!("{}:\n {}\n", block.name, block.lines.join("\n ")))
                .collect();
            GatewayContent::text(&lines)
        }
    })
}

fn menu_line(item: &MenuItem) -> String {
    let display = &item.display;
    match &item.url {
        _ if item.is_information() => format!("  {display}\n"),
        Some(url) => format!("{} {display}  {url}\n", item.item_type),
        None => format!("{} {display}\n", item.item_type),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_change_neither_terminals_nor_directions() {
        let text = GatewayContent::text("a\u{1b}[31m\u{202e}b\r\n\tc\u{200f}");
        let shown = "a\u{fffd}[31m\u{fffd}b\n\tc\u{fffd}";
        assert_eq!(text.octets, shown.as_bytes());
    }
}

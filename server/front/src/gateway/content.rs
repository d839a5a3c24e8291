//! Records and Gopher items as the contents of answers.

use bytes::Bytes;
use z3950::Record;
use z3950::asn1::record::RetrievedRecord;
use z3950::gopher::{Body, MenuItem, Reply};
use z3950::marc::{Form, iso2709};

use super::negotiate::Representation;

/// The contents of an answer.
#[derive(Clone, Debug)]
pub(super) struct GatewayContent {
    pub(super) media_type: &'static str,
    /// The extension of a file with it; `None` for what browsers show.
    pub(super) extension: Option<&'static str>,
    pub(super) octets: Bytes,
}

const TEXT: &str = "text/plain; charset=utf-8";
const OCTETS: &str = "application/octet-stream";

impl GatewayContent {
    pub(super) fn text(text: String) -> Self {
        Self::shown(TEXT, text)
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

/// A record in a form; `None` if it cannot be in this form, or for a page.
pub(super) fn of_record(record: &Record, form: Representation) -> Option<GatewayContent> {
    let retrieved = || record.retrieved();
    let written = |form: Form| {
        let mut octets = form.begin().as_bytes().to_vec();
        // Losses are those of the form.
        drop(form.write(&record.marc()?, &mut octets).ok()?);
        octets.extend_from_slice(form.end().as_bytes());
        Some(octets)
    };
    match form {
        Representation::Marc => match retrieved() {
            RetrievedRecord::Marc(octets) => {
                GatewayContent::file("application/marc", "mrc", octets)
            }
            _ => {
                let octets = iso2709::encode(&record.marc()?).ok()?;
                GatewayContent::file("application/marc", "mrc", octets)
            }
        },
        Representation::MarcXml => {
            GatewayContent::file("application/marcxml+xml", "xml", record.marcxml()?)
        }
        Representation::Xml => match retrieved() {
            RetrievedRecord::Xml(octets) => GatewayContent::file("application/xml", "xml", octets),
            _ => None,
        },
        Representation::Json => {
            let text = format!("{}\n", record.json()?);
            GatewayContent::file("application/json", "json", text)
        }
        Representation::Mrk => GatewayContent::file(TEXT, "mrk", written(Form::Mrk)?),
        Representation::DublinCore => {
            GatewayContent::file("application/xml", "xml", written(Form::DublinCore)?)
        }
        Representation::Text => {
            let mut text = record.text();
            if !text.ends_with('\n') {
                text.push('\n');
            }
            Some(GatewayContent::text(text))
        }
        Representation::Raw => {
            let (media_type, extension) = match retrieved() {
                RetrievedRecord::Marc(_) => ("application/marc", "mrc"),
                RetrievedRecord::Xml(_) => ("application/xml", "xml"),
                _ => (OCTETS, "bin"),
            };
            GatewayContent::file(media_type, extension, record.octets())
        }
        Representation::Html => None,
    }
}

/// A Gopher item. What is no text is never shown by a browser, whatever its type.
pub(super) fn of_gopher(reply: &Reply, is_raw: bool) -> Option<GatewayContent> {
    Some(match &reply.body {
        _ if is_raw => return GatewayContent::file(OCTETS, "bin", reply.octets.clone()),
        Body::Text(octets) => GatewayContent {
            media_type: TEXT,
            extension: None,
            octets: z3950::marc::text_lossless(octets).into_owned().into(),
        },
        Body::Binary(octets) => return GatewayContent::file(OCTETS, "bin", octets.clone()),
        Body::Menu(items) => GatewayContent::text(items.iter().map(menu_line).collect()),
        Body::Attributes(items) => {
            let blocks = items.iter().flat_map(|item| &item.blocks);
            let lines =
                blocks.map(|block| format!("{}:\n {}\n", block.name, block.lines.join("\n ")));
            GatewayContent::text(lines.collect())
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

/// The name of a file for a docid: letters, digits, dots, hyphens and underscores, which no program takes for anything else.
pub(super) fn file_name(docid: &[u8], extension: &str) -> String {
    let plain = |octet: &u8| match octet {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' => char::from(*octet),
        _ => '_',
    };
    let name: String = docid.iter().take(64).map(plain).collect();
    let name = name.trim_matches(['.', '-', '_']);
    match name {
        "" => format!("record.{extension}"),
        name => format!("{name}.{extension}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_plain() {
        for (docid, expected) in [
            (&b"id7"[..], "id7.mrc"),
            (b"../../etc/passwd", "etc_passwd.mrc"),
            (b"a\"; filename=\"b.exe", "a___filename__b.exe.mrc"),
            (b"\xff\r\nSet-Cookie: a=b", "Set-Cookie__a_b.mrc"),
            (b"-rf", "rf.mrc"),
            (b"...", "record.mrc"),
            (&[b'x'; 200], &format!("{}.mrc", "x".repeat(64))),
        ] {
            assert_eq!(file_name(docid, "mrc"), expected);
        }
    }
}

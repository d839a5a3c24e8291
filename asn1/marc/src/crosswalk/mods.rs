//! Converts a MARC record to MODS 3, limited to the elements that MODS has in common with Dublin Core (MODS User
//! Guidelines, version 3). Fields are mapped in the same way as in [`dublin_core`](super::dublin_core).

use super::described::kind_of_number;
use super::dublin_core::{coded_date, elements};
use super::labels::{clean, is_unimarc};
use crate::record::MarcRecord;
use crate::xmltext::{put_attribute, put_content};

const BEGIN: &str = "<mods xmlns=\"http://www.loc.gov/mods/v3\" version=\"3.7\">\n";
const END: &str = "</mods>\n";

/// Returns the record as a `mods` element of MODS 3.7, followed by a newline.
///
/// Fields in another script (880) become separate elements. Octets that are not UTF-8 become U+FFFD, and control
/// characters become spaces.
pub fn to_mods(record: &MarcRecord) -> String {
    let elements = elements(record);
    let mut text = BEGIN.to_owned();
    for (name, value) in &elements {
        element(&mut text, name, value);
    }
    if let Some(kind) = kind_of_resource(record.leader.octet(6)) {
        put(&mut text, &["typeOfResource"], kind);
    }
    // The publisher and the date share one `originInfo` element, because they describe the same publication.
    let parts = [("publisher", "publisher"), ("date", "dateIssued")];
    let mut origin = String::new();
    for (name, tag) in parts {
        for (_, value) in elements.iter().filter(|(known, _)| *known == name) {
            put(&mut origin, &[tag], value);
        }
    }
    let year = coded_date(record, is_unimarc(record));
    if year.len() == 4 && year.bytes().all(|octet| octet.is_ascii_digit()) {
        origin.push_str(&format!(
            "<dateIssued encoding=\"marc\">{year}</dateIssued>\n"
        ));
    }
    if !origin.is_empty() {
        text.push_str(&format!("<originInfo>\n{origin}</originInfo>\n"));
    }
    if let Some(number) = record.control_number().map(clean) {
        let agency = record
            .fields_by_tag("003")
            .next()
            .map(|field| clean(&field.body))
            .unwrap_or_default();
        text.push_str("<recordInfo><recordIdentifier");
        if !agency.is_empty() {
            put_attribute_of(&mut text, "source", &agency);
        }
        text.push('>');
        put_content(&mut text, number.as_bytes());
        text.push_str("</recordIdentifier></recordInfo>\n");
    }
    if text.len() == BEGIN.len() {
        // The schema requires a `titleInfo` element, so an empty title is written.
        put(&mut text, &["titleInfo", "title"], "");
    }
    text.push_str(END);
    text
}

/// Writes a Dublin Core element as MODS elements.
fn element(text: &mut String, name: &str, value: &str) {
    match name {
        "title" => put(text, &["titleInfo", "title"], value),
        "creator" | "contributor" => {
            text.push_str("<name><namePart>");
            put_content(text, value.as_bytes());
            text.push_str("</namePart><role><roleTerm type=\"text\">");
            text.push_str(name);
            text.push_str("</roleTerm></role></name>\n");
        }
        "subject" => {
            text.push_str("<subject>");
            for topic in value.split(" -- ") {
                put(text, &["topic"], topic);
            }
            text.push_str("</subject>\n");
        }
        "description" => put(text, &["note"], value),
        // A DCMI type is a type of resource and not a genre, so it is not written as a `genre`.
        "type" if !is_dcmi_type(value) => put(text, &["genre"], value),
        "format" => put(text, &["physicalDescription", "extent"], value),
        "identifier" => identifier(text, value),
        "language" => {
            for code in value.split(", ") {
                let is_code = code.len() == 3;
                let kind = if is_code {
                    " type=\"code\" authority=\"iso639-2b\""
                } else {
                    " type=\"text\""
                };
                text.push_str(&format!("<language><languageTerm{kind}>"));
                put_content(text, code.as_bytes());
                text.push_str("</languageTerm></language>\n");
            }
        }
        "source" | "relation" => put(text, &["relatedItem", "titleInfo", "title"], value),
        "coverage" => put(text, &["subject", "geographic"], value),
        "rights" => put(text, &["accessCondition"], value),
        _ => {}
    }
}

/// Writes a number with its type. The control number is not written here, because `recordInfo` contains it.
fn identifier(text: &mut String, value: &str) {
    if !(value.starts_with("urn:") || value.contains("://")) {
        return;
    }
    let (kind, number) = match kind_of_number(value) {
        ("", number) if number.contains("://") => ("uri", number),
        ("", _) => return,
        found => found,
    };
    text.push_str("<identifier");
    put_attribute_of(text, "type", kind);
    text.push('>');
    put_content(text, number.as_bytes());
    text.push_str("</identifier>\n");
}

/// Writes a value within nested elements. `names` lists them from the outermost to the innermost.
fn put(text: &mut String, names: &[&str], value: &str) {
    for name in names {
        text.push_str(&format!("<{name}>"));
    }
    put_content(text, value.as_bytes());
    for name in names.iter().rev() {
        text.push_str(&format!("</{name}>"));
    }
    text.push('\n');
}

fn put_attribute_of(text: &mut String, name: &str, value: &str) {
    text.push_str(&format!(" {name}=\""));
    put_attribute(text, value.as_bytes());
    text.push('"');
}

/// Returns the `typeOfResource` for leader/06.
fn kind_of_resource(kind: u8) -> Option<&'static str> {
    Some(match kind {
        b'a' | b't' => "text",
        b'c' | b'd' => "notated music",
        b'e' | b'f' => "cartographic",
        b'g' => "moving image",
        b'i' => "sound recording-nonmusical",
        b'j' => "sound recording-musical",
        b'k' => "still image",
        b'm' => "software, multimedia",
        b'o' | b'p' => "mixed material",
        b'r' => "three dimensional object",
        _ => return None,
    })
}

fn is_dcmi_type(value: &str) -> bool {
    matches!(
        value,
        "Text"
            | "StillImage"
            | "MovingImage"
            | "Sound"
            | "Software"
            | "Collection"
            | "PhysicalObject"
    )
}

//! Converts MARC records to GRS-1: the control number with a tag from tagSet-M, Dublin Core with tags from tagSet-G,
//! and every field with its own tag as a string.

use z3950_marc::crosswalk::dublin_core;
use z3950_marc::record::{Field, MarcRecord};

use super::names::{TAG_SET_G, TAG_SET_M, number_in_tag_set_g};
use super::{ElementData, GenericRecord, TaggedElement};

/// The tag of localControlNumber in tagSet-M.
const LOCAL_CONTROL_NUMBER: i64 = 14;

impl GenericRecord {
    /// Returns the record as a tree. The elements with registered tags, which every client knows, come before the
    /// fields with string tags. The indicators are a level between a field and its subfields: `245`, `10`, `a`.
    pub fn of_marc(record: &MarcRecord) -> Self {
        let control_number = record.control_number().map(|number| {
            TaggedElement::numbered(TAG_SET_M, LOCAL_CONTROL_NUMBER, string(number.trim_ascii()))
        });
        let known = dublin_core::elements(record)
            .into_iter()
            .filter_map(|(name, value)| {
                let number = number_in_tag_set_g(tag_set_g_name(name))?;
                let value = string(value.as_bytes());
                Some(TaggedElement::numbered(TAG_SET_G, number, value))
            });
        let fields = record.fields.iter().map(field);
        Self(
            control_number
                .into_iter()
                .chain(known)
                .chain(fields)
                .collect(),
        )
    }
}

/// Returns the tagSet-G name for a Dublin Core element.
fn tag_set_g_name(element: &str) -> &str {
    match element {
        "creator" => "author",
        "date" => "publicationDate",
        "type" => "resourceType",
        same => same,
    }
}

fn field(field: &Field) -> TaggedElement {
    let content = match field.value() {
        Some(value) => string(value),
        None => {
            let subfields = field
                .subfields()
                .map(|subfield| named(subfield.code, string(subfield.data)));
            let below = named(
                field.indicators(),
                ElementData::Subtree(subfields.collect()),
            );
            ElementData::Subtree(vec![below])
        }
    };
    named(field.tag.as_ref(), content)
}

fn named(tag: &[u8], content: ElementData) -> TaggedElement {
    TaggedElement::named(tag, content)
}

fn string(octets: &[u8]) -> ElementData {
    ElementData::String(octets.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_book_becomes_a_tree() {
        let record = MarcRecord {
            fields: vec![
                Field::control(b"001", "id7 "),
                Field::data(b"100", "1 ", [("a", "Tolstoy, Leo.")]),
                Field::data(
                    b"245",
                    "10",
                    [("a", &b"War and peace"[..]), ("b", b"caf\xE9")],
                ),
            ],
            ..MarcRecord::default()
        };
        let text = GenericRecord::of_marc(&record).to_text();
        let lines: Vec<&str> = text.lines().collect();
        for line in ["localControlNumber: id7", "author: Tolstoy, Leo"] {
            assert!(
                lines.iter().any(|known| known.starts_with(line)),
                "{line:?} in\n{text}"
            );
        }
        assert!(
            text.contains("title: War and peace caf\u{FFFD}\n"),
            "{text}"
        );
        assert!(
            text.ends_with(
                "001: id7 \n100:\n  1 :\n    a: Tolstoy, Leo.\n245:\n  10:\n    a: War and peace\n    b: caf\u{FFFD}\n"
            ),
            "{text}"
        );
    }
}

//! The cells of a record: its fields, parts of its citation, Dublin Core elements, and data about its copies.

use super::{Content, CopyCells, NO_VALUE, RowOrigin, SEPARATOR};
use crate::crosswalk::dublin_core::elements;
use crate::crosswalk::labels::{clean, has_controls};
use crate::crosswalk::{Citation, Identifiers};
use crate::record::{Field, Leader, MarcRecord, Tag};
use crate::text::composed;

/// A record that is written as a row. Data that several columns need is computed only once.
pub(crate) struct TableRow<'a> {
    record: &'a MarcRecord,
    origin: RowOrigin<'a>,
    pub(super) copies: &'a [CopyCells],
    citation: Option<Citation>,
    elements: Option<Vec<(&'static str, String)>>,
    pub(super) notes: Vec<String>,
}

impl<'a> TableRow<'a> {
    pub(crate) fn new(record: &'a MarcRecord, origin: RowOrigin<'a>) -> Self {
        Self {
            record,
            origin,
            copies: &[],
            citation: None,
            elements: None,
            notes: Vec::new(),
        }
    }
}

impl TableRow<'_> {
    pub(super) fn cell(&mut self, content: &Content) -> String {
        composed(self.values(content).join(SEPARATOR))
    }

    /// Returns the non-empty values of a column.
    pub(crate) fn values(&mut self, content: &Content) -> Vec<String> {
        let mut values = match content {
            Content::Named(name) => self.named(name),
            Content::OfCopies(name) => self.of_copies(name),
            Content::Leader => self.positions(None, 0, Leader::LENGTH),
            Content::Field(tag, codes) => self.field(*tag, codes),
            Content::Positions(tag, first, last) => self.positions(*tag, *first, *last),
        };
        values.retain(|value| !value.is_empty());
        values
    }

    fn named(&mut self, name: &str) -> Vec<String> {
        let of_origin = match name {
            "source" => Some(self.origin.source),
            "input" => Some(self.origin.input),
            "input_record" => Some(self.origin.input_record),
            _ => None,
        };
        if let Some(value) = of_origin {
            return value.map(str::to_owned).into_iter().collect();
        }
        let record = self.record;
        if matches!(name, "title" | "author" | "year") || Identifiers::KINDS.contains(&name) {
            let citation = self.citation.get_or_insert_with(|| Citation::of(record));
            return match name {
                "title" => citation.title.clone().into_iter().collect(),
                "author" => citation.author.clone().into_iter().collect(),
                "year" => citation
                    .year
                    .map(|year| year.to_string())
                    .into_iter()
                    .collect(),
                kind => citation.identifiers.of_kind(kind).to_vec(),
            };
        }
        let elements = self.elements.get_or_insert_with(|| elements(record)).iter();
        let of_name = elements
            .filter(|(element, _)| *element == name)
            .map(|(_, value)| value.as_str());
        match name {
            // One element holds all language codes of a field, separated by commas.
            "language" => of_name
                .flat_map(|value| value.split(", "))
                .map(str::to_owned)
                .collect(),
            _ => of_name.map(str::to_owned).collect(),
        }
    }

    /// Returns a value for each copy, or no values if no copy has one.
    fn of_copies(&self, name: &str) -> Vec<String> {
        let values = self.copies.iter().map(|copy| {
            let value = copy.iter().find(|(known, _)| *known == name);
            value.map_or_else(
                || NO_VALUE.to_owned(),
                |(_, value)| clean(value.as_bytes()).trim_end().to_owned(),
            )
        });
        let values: Vec<String> = values.collect();
        if values.iter().all(|value| value == NO_VALUE) {
            Vec::new()
        } else {
            values
        }
    }

    fn field(&mut self, tag: Tag, codes: &str) -> Vec<String> {
        let record = self.record;
        let fields = record.fields_by_tag(tag);
        fields
            .flat_map(|field| match field.value() {
                Some(value) => vec![self.text(value, field)],
                None => self.subfields(field, codes),
            })
            .collect()
    }

    fn subfields(&mut self, field: &Field, codes: &str) -> Vec<String> {
        let is_shown = |code: &[u8]| match codes {
            "" => code.iter().all(u8::is_ascii_alphabetic),
            codes => matches!(code, [code] if codes.as_bytes().contains(code)),
        };
        let shown = field
            .subfields_with(self.record.leader.code_length())
            .filter(|subfield| is_shown(subfield.code));
        let texts: Vec<String> = shown
            .map(|subfield| self.text(subfield.data, field))
            .filter(|text| !text.is_empty())
            .collect();
        match codes.len() {
            1 => texts,
            _ => vec![texts.join(" ")],
        }
    }

    fn positions(&mut self, tag: Option<Tag>, first: usize, last: usize) -> Vec<String> {
        let visible = |character: char| {
            if character.is_control() {
                ' '
            } else {
                character
            }
        };
        let part = |octets: &[u8]| -> String {
            let text = String::from_utf8_lossy(octets);
            let part = text.chars().skip(first).take(last - first + 1);
            part.map(visible).collect()
        };
        match tag {
            None => vec![part(&self.record.leader.0)],
            Some(tag) => {
                let fields = self.record.fields_by_tag(tag);
                fields.filter_map(Field::value).map(part).collect()
            }
        }
    }

    /// Returns octets of a field as the text of a cell.
    fn text(&mut self, octets: &[u8], field: &Field) -> String {
        if has_controls(octets) {
            let note = format!("control characters in {} replaced by blanks", field.tag);
            if self.notes.last() != Some(&note) {
                self.notes.push(note);
            }
        }
        clean(octets).trim_end().to_owned()
    }
}

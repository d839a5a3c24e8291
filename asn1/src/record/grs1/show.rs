//! Writes GRS-1 records for people and programs: as an indented tree, as JSON and as XML, with the names of tagSet-M
//! and tagSet-G.

use std::borrow::Cow;

use serde_json::Value as Json;
use z3950_marc::xmltext::put_attribute;

use super::names::{tag_name, variant_class};
use super::{ElementData, GenericRecord, TaggedElement, Triple, Variant};
use crate::apdu::StringOrNumeric;
use crate::describe::{Describe, Value};
use crate::oid;
use crate::record::write::{INDENT, put_line};

impl GenericRecord {
    /// Returns a line for each element, such as `title: War and peace`. Subelements are indented; metadata and variants
    /// are in brackets.
    ///
    /// An element without a registered name is shown with its tag, as in `(4,17)`.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        put_elements(&self.0, 0, &mut out);
        out
    }

    /// Returns a JSON array of elements: `{"tagType": 2, "tagValue": 1, "name": "title", "content": {"string": "War and
    /// peace"}}`.
    pub fn to_json(&self) -> Json {
        self.0.describe().to_json()
    }

    /// Returns an XML document `grs1`, followed by a newline. An element is written as in
    /// `<element type="2" value="1" name="title">War and peace</element>`.
    pub fn to_xml(&self) -> String {
        let mut out = String::from("<grs1>\n");
        put_elements_xml(&self.0, INDENT, &mut out);
        out.push_str("</grs1>\n");
        out
    }
}

fn put_elements(elements: &[TaggedElement], indent: usize, out: &mut String) {
    for element in elements {
        let mut heading = heading(element);
        if let Some(occurrence) = element.tag_occurrence {
            heading.push_str(&format!("[{occurrence}]"));
        }
        if let ElementData::Subtree(below) = &element.content {
            put_line(&format!("{heading}:"), indent, out);
            put_notes(element, indent + INDENT, out);
            put_elements(below, indent + INDENT, out);
        } else {
            let value = content_text(&element.content);
            let mut lines = value.lines();
            let first = lines.next().unwrap_or_default();
            put_line(&format!("{heading}: {first}"), indent, out);
            for line in lines {
                put_line(line, indent + INDENT, out);
            }
            put_notes(element, indent + INDENT, out);
        }
    }
}

/// Returns the name of the element, or its tag if it has no name.
fn heading(element: &TaggedElement) -> String {
    match tag_name(element.tag_type, &element.tag_value) {
        Some(name) => name.to_owned(),
        None => {
            let value = scalar(&element.tag_value);
            match element.tag_type {
                Some(tag_type) => format!("({tag_type},{value})"),
                None => format!("({value})"),
            }
        }
    }
}

fn put_notes(element: &TaggedElement, indent: usize, out: &mut String) {
    if let Some(variant) = &element.applied_variant {
        for triple in &variant.triples {
            put_line(
                &format!("[variant] {}", triple_text(variant, triple)),
                indent,
                out,
            );
        }
    }
    if let Some(meta_data) = &element.meta_data {
        for line in meta_data.describe().to_text().lines() {
            put_line(&format!("[meta-data] {line}"), indent, out);
        }
    }
}

/// Returns a property of a variant as text, such as `bodyPartType 1: text/html`. Classes from sets other than Variant-1
/// are shown by number.
fn triple_text(variant: &Variant, triple: &Triple) -> String {
    let class = class_name(variant, triple)
        .map_or_else(|| format!("class {}", triple.class), str::to_owned);
    let value = triple.value.describe().to_text();
    format!("{class} {}: {}", triple.r#type, value.trim_end())
}

fn class_name(variant: &Variant, triple: &Triple) -> Option<&'static str> {
    let set = triple.variant_set_id.or(variant.global_variant_set_id);
    (set.unwrap_or(oid::VARIANT_1) == oid::VARIANT_1)
        .then(|| variant_class(triple.class))
        .flatten()
}

fn content_text(content: &ElementData) -> String {
    match content {
        ElementData::ElementNotThere => "(not there)".into(),
        ElementData::ElementEmpty => "(empty)".into(),
        ElementData::NoDataRequested => "(no data requested)".into(),
        ElementData::IntUnit(one) => {
            let unit = [&one.unit_used.unit, &one.unit_used.unit_type];
            let name = unit.into_iter().flatten().next().map(scalar);
            match name {
                Some(name) => format!("{} {name}", one.value),
                None => one.value.to_string(),
            }
        }
        ElementData::Subtree(_) => String::new(),
        other => named_content(other).1.to_text(),
    }
}

fn scalar(value: &StringOrNumeric) -> String {
    value.describe().to_text().trim_end().to_owned()
}

/// Returns the content of an element, with the standard's name for the type of the content.
fn named_content(data: &ElementData) -> (Cow<'static, str>, Value) {
    match data.describe() {
        Value::Group(mut one) => one.pop(),
        _ => None,
    }
    .unwrap_or(("".into(), Value::Nothing))
}

/// Returns the name of an element whose tag is a number.
fn name_of_number(element: &TaggedElement) -> Option<&str> {
    match element.tag_value {
        StringOrNumeric::Numeric(_) => tag_name(element.tag_type, &element.tag_value),
        StringOrNumeric::String(_) => None,
    }
}

impl Describe for TaggedElement {
    fn describe(&self) -> Value {
        let name = name_of_number(self).map(|name| Value::Text(name.to_owned()));
        Value::group(vec![
            ("tag_type", self.tag_type.describe()),
            ("tag_value", self.tag_value.describe()),
            ("name", name.unwrap_or(Value::Nothing)),
            ("tag_occurrence", self.tag_occurrence.describe()),
            ("content", self.content.describe()),
            ("meta_data", self.meta_data.describe()),
            ("applied_variant", self.applied_variant.describe()),
        ])
    }
}

fn put_elements_xml(elements: &[TaggedElement], indent: usize, out: &mut String) {
    let margin = " ".repeat(indent);
    for element in elements {
        out.push_str(&format!("{margin}<element"));
        if let Some(tag_type) = element.tag_type {
            put_pair("type", &tag_type.to_string(), out);
        }
        put_pair("value", &scalar(&element.tag_value), out);
        if let Some(name) = name_of_number(element) {
            put_pair("name", name, out);
        }
        if let Some(occurrence) = element.tag_occurrence {
            put_pair("occurrence", &occurrence.to_string(), out);
        }
        match &element.content {
            ElementData::String(_) | ElementData::Subtree(_) => {}
            other => put_pair("content", &named_content(other).0, out),
        }
        out.push('>');
        let notes = put_notes_xml(element, indent + INDENT, out);
        match &element.content {
            ElementData::Subtree(below) => {
                if !notes {
                    out.push('\n');
                }
                put_elements_xml(below, indent + INDENT, out);
                out.push_str(&margin);
            }
            ElementData::ElementNotThere
            | ElementData::ElementEmpty
            | ElementData::NoDataRequested => {}
            ElementData::IntUnit(one) => {
                out.push('\n');
                out.push_str(&one.describe().to_xml("intUnit"));
            }
            leaf => named_content(leaf).1.put_xml_content(out),
        }
        out.push_str("</element>\n");
    }
}

/// Adds variants and metadata as elements before the content. Returns whether any were added.
fn put_notes_xml(element: &TaggedElement, indent: usize, out: &mut String) -> bool {
    let notes = [
        ("appliedVariant", element.applied_variant.describe()),
        ("metaData", element.meta_data.describe()),
    ];
    let mut any = false;
    for (name, note) in notes
        .into_iter()
        .filter(|(_, note)| *note != Value::Nothing)
    {
        if !any {
            out.push('\n');
        }
        any = true;
        out.extend(std::iter::repeat_n(' ', indent));
        out.push_str(&note.to_xml(name));
    }
    any
}

fn put_pair(name: &str, value: &str, out: &mut String) {
    out.push_str(&format!(" {name}=\""));
    put_attribute(out, value.as_bytes());
    out.push('"');
}

impl Describe for Variant {
    fn describe(&self) -> Value {
        let triples = self.triples.iter().map(|triple| {
            Value::group(vec![
                ("variant_set_id", triple.variant_set_id.describe()),
                ("class", triple.class.describe()),
                (
                    "class_name",
                    class_name(self, triple)
                        .map_or(Value::Nothing, |name| Value::Text(name.into())),
                ),
                ("r#type", triple.r#type.describe()),
                ("value", triple.value.describe()),
            ])
        });
        Value::group(vec![
            (
                "global_variant_set_id",
                self.global_variant_set_id.describe(),
            ),
            ("triples", Value::List(triples.collect())),
        ])
    }
}

//! Records that are written in ASN.1, shown for people and programs: each type tells its elements by the standard's names
//! (Z39.50-2003 Appendix REC), and one writer for each form does the rest.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::{Map, json};
use z3950_marc::text::text_lossless;
use z3950_marc::xmltext::put_content;

use super::embedded;
use crate::apdu::{
    DatabaseName, ElementSetName, ElementSpec, External, InfoCategory, Information, IntUnit,
    OtherInformation, OtherInformationUnit, Schema, Specification, StringOrNumeric, Term, Unit,
};
use crate::oid::Oid;
use crate::optional::OptionalChoice;
use crate::spelling::standard_name;
use crate::types::{GeneralizedTime, InternationalString, OctetString};

/// What a value consists of, ready to be written in any form.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// An element that is absent.
    Nothing,
    /// BOOLEAN; also NULL, which is true by being there.
    Flag(bool),
    /// INTEGER.
    Number(i64),
    /// A string; octets that are not UTF-8 as `\xNN`.
    Text(String),
    /// OCTET STRING.
    Octets(Bytes),
    /// EXTERNAL: a record or a part of one, in a syntax of its own.
    Record(Box<External>),
    /// SEQUENCE OF.
    List(Vec<Value>),
    /// SEQUENCE, or the alternative of a CHOICE: elements by the standard's names, in its order.
    Group(Vec<(Cow<'static, str>, Value)>),
}

/// A type that can tell what it consists of.
pub trait Describe {
    /// The value's elements, without those that are absent.
    fn describe(&self) -> Value;
}

impl Value {
    /// A group of elements by their Rust names, which become the standard's (`call_number`: `callNumber`).
    pub(crate) fn group<const N: usize>(elements: [(&'static str, Value); N]) -> Self {
        let present = elements
            .into_iter()
            .filter(|(_, value)| *value != Self::Nothing)
            .map(|(name, value)| (standard_name(name), value));
        Self::Group(present.collect())
    }

    /// Indented lines, `Call number: QA76`, each with its newline; records inside come as lines of their own.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        self.put_text("", 0, &mut out);
        out
    }

    /// A JSON value: groups are objects, OCTET STRINGs base64, records inside as [`embedded`](super) ones are.
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Nothing => serde_json::Value::Null,
            Self::Flag(flag) => json!(flag),
            Self::Number(number) => json!(number),
            Self::Text(text) => json!(text),
            Self::Octets(octets) => json!(base64(octets)),
            Self::Record(record) => embedded::json(record),
            Self::List(values) => values.iter().map(Self::to_json).collect(),
            Self::Group(elements) => {
                let members = elements
                    .iter()
                    .map(|(name, value)| (name.to_string(), value.to_json()));
                serde_json::Value::Object(members.collect::<Map<_, _>>())
            }
        }
    }

    /// An XML element of the given name, with a newline: elements of a list repeat, flags are `true` and `false`.
    pub fn to_xml(&self, name: &str) -> String {
        let mut out = String::new();
        self.put_xml(name, 0, &mut out);
        out
    }

    /// Adds the value under its label; a value without a name is a part of the list or record around it.
    fn put_text(&self, name: &str, indent: usize, out: &mut String) {
        match self {
            Self::Nothing => {}
            Self::List(values) => {
                for value in values {
                    value.put_text(name, indent, out);
                }
            }
            Self::Group(elements) if name.is_empty() => {
                for (name, value) in elements {
                    value.put_text(name, indent, out);
                }
            }
            Self::Group(elements) => {
                put_line(&format!("{}:", label(name)), indent, out);
                for (name, value) in elements {
                    value.put_text(name, indent + INDENT, out);
                }
            }
            scalar => {
                let text = scalar.line();
                let line = match (name, text.contains('\n')) {
                    ("", _) => text,
                    (name, false) => format!("{}: {text}", label(name)),
                    (name, true) => format!("{}:\n{text}", label(name)),
                };
                let mut lines = line.lines();
                put_line(lines.next().unwrap_or_default(), indent, out);
                for line in lines {
                    put_line(line, indent + INDENT, out);
                }
            }
        }
    }

    fn line(&self) -> String {
        match self {
            Self::Flag(true) => "yes".into(),
            Self::Flag(false) => "no".into(),
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text.clone(),
            Self::Octets(octets) => octets_line(octets),
            Self::Record(record) => embedded::text(record),
            Self::Nothing | Self::List(_) | Self::Group(_) => String::new(),
        }
    }

    fn put_xml(&self, name: &str, indent: usize, out: &mut String) {
        let margin = " ".repeat(indent);
        match self {
            Self::Nothing => {}
            Self::List(values) => {
                for value in values {
                    value.put_xml(name, indent, out);
                }
            }
            Self::Group(elements) => {
                out.push_str(&format!("{margin}<{name}>\n"));
                for (name, value) in elements {
                    value.put_xml(name, indent + INDENT, out);
                }
                out.push_str(&format!("{margin}</{name}>\n"));
            }
            scalar => {
                out.push_str(&format!("{margin}<{name}>"));
                scalar.put_xml_content(out);
                out.push_str(&format!("</{name}>\n"));
            }
        }
    }

    /// Appends a scalar as the content of an element.
    pub(super) fn put_xml_content(&self, out: &mut String) {
        match self {
            Self::Flag(flag) => out.push_str(&flag.to_string()),
            Self::Record(record) => embedded::put_xml(record, out),
            Self::Octets(octets) => out.push_str(&base64(octets)),
            other => drop(put_content(out, other.line().as_bytes())),
        }
    }
}

/// Blanks by which a level stands further in.
pub(super) const INDENT: usize = 2;

/// Adds a line and its newline.
pub(super) fn put_line(text: &str, indent: usize, out: &mut String) {
    out.extend(std::iter::repeat_n(' ', indent));
    out.push_str(text);
    out.push('\n');
}

/// Octets for a line of text: as text if they are, else base64 with a word before it.
pub(super) fn octets_line(octets: &[u8]) -> String {
    match std::str::from_utf8(octets) {
        Ok(text) => text.to_owned(),
        Err(_) => format!("(base64) {}", base64(octets)),
    }
}

/// Base64 with padding (RFC 4648 §4).
pub(super) fn base64(octets: &[u8]) -> String {
    STANDARD.encode(octets)
}

/// `callNumber` for people, `Call number`; capitals in a row stay.
fn label(name: &str) -> String {
    let mut label = String::with_capacity(name.len() + 4);
    let mut before = ' ';
    let mut characters = name.chars().peekable();
    while let Some(character) = characters.next() {
        let in_a_row = characters.peek().is_none_or(char::is_ascii_uppercase);
        if label.is_empty() {
            label.push(character.to_ascii_uppercase());
        } else if character.is_ascii_uppercase() && before.is_ascii_lowercase() {
            label.push(' ');
            label.push(if in_a_row {
                character
            } else {
                character.to_ascii_lowercase()
            });
        } else {
            label.push(character);
        }
        before = character;
    }
    label
}

/// A SEQUENCE: the type with its derives, and its elements by name.
///
/// A type is taken apart because rasn's derive has to see the word `Option`, without which an explicit tag is not optional.
macro_rules! sequence {
    ($(#[$meta:meta])* pub struct $name:ident {
        $($(#[$field_meta:meta])* $field:ident: $type:ident $(<$of:ty>)?,)*
    }) => {
        $(#[$meta])*
        #[derive(rasn::AsnType, rasn::Decode, rasn::Encode, Clone, Debug, PartialEq)]
        pub struct $name {
            $($(#[$field_meta])* pub $field: $type $(<$of>)?,)*
        }

        impl $crate::record::tree::Describe for $name {
            fn describe(&self) -> $crate::record::tree::Value {
                $crate::record::tree::Value::group([
                    $((stringify!($field), $crate::record::tree::Describe::describe(&self.$field)),)*
                ])
            }
        }
    };
}
pub(crate) use sequence;

/// A CHOICE: the type with its derives, and the alternative chosen by name.
macro_rules! choice {
    (@describe $value:ident $variant:ident) => {
        if matches!($value, Self::$variant) {
            return $crate::record::tree::Value::group([
                (stringify!($variant), $crate::record::tree::Value::Flag(true)),
            ]);
        }
    };
    (@describe $value:ident $variant:ident $type:ty) => {
        if let Self::$variant(value) = $value {
            let value = $crate::record::tree::Describe::describe(value);
            return $crate::record::tree::Value::group([(stringify!($variant), value)]);
        }
    };
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$variant_meta:meta])* $variant:ident $(($type:ty))?,)* }) => {
        $(#[$meta])*
        #[derive(rasn::AsnType, rasn::Decode, rasn::Encode, Clone, Debug, PartialEq)]
        #[rasn(choice)]
        pub enum $name {
            $($(#[$variant_meta])* $variant $(($type))?,)*
        }

        impl $crate::record::tree::Describe for $name {
            fn describe(&self) -> $crate::record::tree::Value {
                let value = self;
                $($crate::record::tree::choice!(@describe value $variant $($type)?);)*
                $crate::record::tree::Value::Nothing
            }
        }
    };
}
pub(crate) use choice;

/// A named INTEGER: the name, or the number where it has none.
macro_rules! described_by_name {
    ($name:ident) => {
        impl $crate::record::tree::Describe for $name {
            fn describe(&self) -> $crate::record::tree::Value {
                match self.name() {
                    Some(name) => $crate::record::tree::Value::Text(name.to_owned()),
                    None => $crate::record::tree::Value::Number(self.0),
                }
            }
        }
    };
}
pub(crate) use described_by_name;

macro_rules! describe {
    ($($type:ty: $value:ident => $description:expr;)*) => {$(
        impl Describe for $type {
            fn describe(&self) -> Value {
                let $value = self;
                $description
            }
        }
    )*};
}

fn text(octets: &[u8]) -> Value {
    Value::Text(text_lossless(octets).into_owned())
}

describe! {
    (): _value => Value::Flag(true);
    bool: flag => Value::Flag(*flag);
    i64: number => Value::Number(*number);
    InternationalString: string => text(string.as_bytes());
    GeneralizedTime: time => text(time.as_bytes());
    DatabaseName: name => text(name.0.as_bytes());
    ElementSetName: name => text(name.0.as_bytes());
    OctetString: octets => Value::Octets(octets.to_bytes());
    Oid: oid => Value::Text(oid.to_string());
    External: external => Value::Record(Box::new(external.clone()));
    StringOrNumeric: either => match either {
        StringOrNumeric::String(string) => string.describe(),
        StringOrNumeric::Numeric(number) => number.describe(),
    };
    IntUnit: one => Value::group([("value", one.value.describe()), ("unit_used", one.unit_used.describe())]);
    Unit: unit => Value::group([
        ("unit_system", unit.unit_system.describe()),
        ("unit_type", unit.unit_type.describe()),
        ("unit", unit.unit.describe()),
        ("scale_factor", unit.scale_factor.describe()),
    ]);
    Term: term => match term {
        Term::General(octets) => text(octets),
        Term::Numeric(number) => number.describe(),
        Term::CharacterString(string) => string.describe(),
        Term::Oid(oid) => oid.describe(),
        Term::DateTime(time) => time.describe(),
        Term::External(external) => external.describe(),
        Term::IntegerAndUnit(one) => one.describe(),
        Term::Null => Value::Flag(true),
    };
    Specification: one => Value::group([
        ("schema", one.schema.describe()),
        ("element_spec", one.element_spec.describe()),
    ]);
    Schema: schema => match schema {
        Schema::Oid(oid) => oid.describe(),
        Schema::Uri(uri) => uri.describe(),
    };
    ElementSpec: one => match one {
        ElementSpec::ElementSetName(name) => name.describe(),
        ElementSpec::ExternalEspec(external) => external.describe(),
    };
    OtherInformation: units => units.0.describe();
    OtherInformationUnit: unit => Value::group([
        ("category", unit.category.describe()),
        ("information", unit.information.describe()),
    ]);
    InfoCategory: category => Value::group([
        ("category_type_id", category.category_type_id.describe()),
        ("category_value", category.category_value.describe()),
    ]);
    Information: one => match one {
        Information::CharacterInfo(string) => string.describe(),
        Information::BinaryInfo(octets) => octets.describe(),
        Information::ExternallyDefinedInfo(external) => external.describe(),
        Information::Oid(oid) => oid.describe(),
    };
}

impl<T: Describe> Describe for Option<T> {
    fn describe(&self) -> Value {
        self.as_ref().map_or(Value::Nothing, T::describe)
    }
}

impl<T: Describe> Describe for OptionalChoice<T> {
    fn describe(&self) -> Value {
        self.0.describe()
    }
}

impl<T: Describe> Describe for Vec<T> {
    fn describe(&self) -> Value {
        Value::List(self.iter().map(T::describe).collect())
    }
}

impl<T: Describe> Describe for Box<T> {
    fn describe(&self) -> Value {
        T::describe(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_labels() {
        for (name, standard, shown) in [
            ("call_number", "callNumber", "Call number"),
            ("CallNumber", "callNumber", "Call number"),
            (
                "multiple_d_bsearch",
                "multipleDBsearch",
                "Multiple DBsearch",
            ),
            ("r#type", "type", "Type"),
            ("enum_and_chron", "enumAndChron", "Enum and chron"),
            ("asn1_module", "asn1Module", "Asn1Module"),
            ("es_asn", "esAsn", "Es asn"),
        ] {
            assert_eq!(standard_name(name), standard);
            assert_eq!(label(standard), shown);
        }
    }

    #[test]
    fn octets_in_base64() {
        for (octets, text) in [
            (&b""[..], ""),
            (b"f", "Zg=="),
            (b"fo", "Zm8="),
            (b"foo", "Zm9v"),
            (b"foob", "Zm9vYg=="),
            (b"\xff\xfe\xfd", "//79"),
        ] {
            assert_eq!(base64(octets), text);
        }
    }

    #[test]
    fn the_three_forms() {
        let value = Value::group([
            ("a_name", Value::Text("A & B\nC".into())),
            ("absent", Value::Nothing),
            ("flag", Value::Flag(false)),
            (
                "parts",
                Value::List(vec![
                    Value::Number(1),
                    Value::group([("octets", Value::Octets(Bytes::from_static(b"\xff")))]),
                ]),
            ),
        ]);
        assert_eq!(
            value.to_text(),
            "A name:\n  A & B\n  C\nFlag: no\nParts: 1\nParts:\n  Octets: (base64) /w==\n"
        );
        assert_eq!(
            value.to_json(),
            json!({"aName": "A & B\nC", "flag": false, "parts": [1, {"octets": "/w=="}]})
        );
        assert_eq!(
            value.to_xml("x"),
            "<x>\n  <aName>A &amp; B\nC</aName>\n  <flag>false</flag>\n  <parts>1</parts>\n  <parts>\n    \
             <octets>/w==</octets>\n  </parts>\n</x>\n"
        );
    }
}

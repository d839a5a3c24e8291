//! Default attributes of query operands, written as in PQF (`[set] type=value`). They are needed because many servers
//! refuse or misinterpret operands without structure or truncation (Z39.50-2003 §3.7.1).

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;
use z3950_asn1::apdu::{AttributeElement, AttributeValue, RpnQuery, StringOrNumeric};
use z3950_asn1::query::{attribute_set, attribute_set_name};

/// A list of attributes, each with its type and value.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(try_from = "Written")]
pub struct Attributes(pub Vec<AttributeElement>);

/// The two forms of attributes in a targets file: a list, or a string with commas.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    One(String),
    List(Vec<String>),
}

/// The error for a malformed attribute.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text} is not an attribute: {reason}")]
pub struct HabitError {
    text: String,
    reason: &'static str,
}

/// The message for a number that exceeds the range of its type.
const TOO_LARGE: &str = "the number is too large";

fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|octet| octet.is_ascii_digit())
}

/// Parses `type=value`, or `set type=value` with the name or object identifier of an attribute set.
fn read(text: &str) -> Result<AttributeElement, HabitError> {
    let because = |reason| HabitError {
        text: text.to_owned(),
        reason,
    };
    let error = || because("write type=value, such as 4=2");
    let (set, attribute) = match text.trim().rsplit_once(' ') {
        Some((set, attribute)) => (Some(set.trim()), attribute),
        None => (None, text.trim()),
    };
    let attribute_set = match set {
        Some(name) => Some(attribute_set(name).ok_or_else(error)?),
        None => None,
    };
    let (attribute_type, value) = attribute.split_once('=').ok_or_else(error)?;
    let attribute_value = match value.parse() {
        Ok(number) => AttributeValue::Numeric(number),
        Err(_) if value.is_empty() => return Err(error()),
        Err(_) if is_number(value) => return Err(because(TOO_LARGE)),
        Err(_) => AttributeValue::named(value),
    };
    Ok(AttributeElement {
        attribute_set,
        attribute_type: attribute_type.parse().map_err(|_| {
            if is_number(attribute_type) {
                because(TOO_LARGE)
            } else {
                error()
            }
        })?,
        attribute_value,
    })
}

/// Writes an attribute in the notation of PQF, without `@attr`.
pub(crate) struct InPqf<'a>(pub(crate) &'a AttributeElement);

impl fmt::Display for InPqf<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let attribute = self.0;
        if let Some(set) = attribute.attribute_set {
            match attribute_set_name(&set) {
                Some(name) => write!(f, "{name} ")?,
                None => write!(f, "{set} ")?,
            }
        }
        write!(f, "{}=", attribute.attribute_type)?;
        match &attribute.attribute_value {
            AttributeValue::Numeric(value) => write!(f, "{value}"),
            AttributeValue::Complex(complex) => match complex.list.first() {
                Some(StringOrNumeric::String(name)) => f.write_str(&name.to_string_lossy()),
                Some(StringOrNumeric::Numeric(value)) => write!(f, "{value}"),
                None => Ok(()),
            },
        }
    }
}

impl FromStr for Attributes {
    type Err = HabitError;

    /// Parses attributes separated by commas.
    fn from_str(text: &str) -> Result<Self, HabitError> {
        text.split(',')
            .map(read)
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

impl fmt::Display for Attributes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, attribute) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "," };
            write!(f, "{separator}{}", InPqf(attribute))?;
        }
        Ok(())
    }
}

impl TryFrom<Written> for Attributes {
    type Error = HabitError;

    fn try_from(written: Written) -> Result<Self, HabitError> {
        match written {
            Written::One(text) => text.parse(),
            Written::List(texts) => {
                let attributes = texts.iter().map(|text| read(text));
                attributes.collect::<Result<_, _>>().map(Self)
            }
        }
    }
}

impl Attributes {
    /// Creates a list of Bib-1 attributes, each given by a type and a value.
    pub(crate) fn numeric(pairs: &[(i64, i64)]) -> Self {
        let pairs = pairs.iter();
        Self(
            pairs
                .map(|(kind, value)| AttributeElement::numeric(*kind, *value))
                .collect(),
        )
    }

    /// Returns the attributes as strings, each in the notation of PQF.
    pub fn to_strings(&self) -> Vec<String> {
        self.0
            .iter()
            .map(|attribute| InPqf(attribute).to_string())
            .collect()
    }

    /// Adds each of these attributes to every operand that has no attribute of the same type.
    pub fn add_missing(&self, query: &mut RpnQuery) {
        query.rpn.terms_mut().for_each(|operand| {
            self.complete(&mut operand.attributes);
        });
    }

    /// Adds each of these attributes to a list, unless the list has an attribute of the same type.
    pub(crate) fn complete(&self, attributes: &mut Vec<AttributeElement>) {
        for habit in &self.0 {
            let mut own = attributes.iter();
            if own.all(|attribute| attribute.attribute_type != habit.attribute_type) {
                attributes.push(habit.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_read_and_written() {
        for (text, written) in [
            ("4=2", "4=2"),
            (" gils 1=2000 ", "GILS 1=2000"),
            ("1=dc.title", "1=dc.title"),
            ("1=1032,4=104", "1=1032,4=104"),
            ("1.2.3 4=5", "1.2.3 4=5"),
            ("", " is not an attribute: write type=value, such as 4=2"),
            (
                "title",
                "title is not an attribute: write type=value, such as 4=2",
            ),
            (
                "4=",
                "4= is not an attribute: write type=value, such as 4=2",
            ),
            (
                "nosuch 4=2",
                "nosuch 4=2 is not an attribute: write type=value, such as 4=2",
            ),
        ] {
            let found = text.parse::<Attributes>().map_or_else(
                |error| error.to_string(),
                |attributes| attributes.to_string(),
            );
            assert_eq!(found, written, "{text}");
        }
    }

    #[test]
    fn operands_are_completed() {
        let habits: Attributes = "2=3,5=100".parse().expect("attributes");
        for (query, completed) in [
            ("war", "@attr 2=3 @attr 5=100 war"),
            (
                "@attr 1=4 @attr 5=1 war",
                "@attr 2=3 @attr 1=4 @attr 5=1 war",
            ),
            (
                "@and @set a @attr 2=1 b",
                "@and @set a @attr 5=100 @attr 2=1 b",
            ),
        ] {
            let mut parsed: RpnQuery = query.parse().expect("a query");
            habits.add_missing(&mut parsed);
            let expected: RpnQuery = completed.parse().expect("a query");
            let sorted = |query: &RpnQuery| {
                let mut query = query.clone();
                for operand in query.rpn.terms_mut() {
                    let attributes = &mut operand.attributes;
                    attributes.sort_by_key(|attribute| attribute.attribute_type);
                }
                query
            };
            assert_eq!(sorted(&parsed), sorted(&expected), "{query}");
        }
    }
}

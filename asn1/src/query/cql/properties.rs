//! `pqf.properties`: a file in YAZ's format that maps CQL's indexes, relations, modifiers, masks and anchors to
//! attributes. Each line is `name = [SET] type=value …`; `#` begins a comment.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::apdu::{AttributeElement, AttributeValue};
use crate::oid::Oid;
use crate::query::number;
use crate::query::sets::attribute_set;

/// The default properties.
const DEFAULT: &str = include_str!("default.properties");

/// The translation of CQL to attributes.
///
/// A property is `index.SET.NAME`, `relation.NAME`, `relationModifier.NAME`, `structure.RELATION`,
/// `position.first|last|firstAndLast|any`, `truncation.left|right|both|none|z3958|cql`, `always`, or `set.PREFIX =
/// URI` and `set = URI` for the context sets. `*` as the last part matches any name, and `*` in a value is replaced
/// by that name. Case does not matter in names. If several properties have the same name, the first one applies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Properties {
    entries: Vec<Property>,
    /// The index of each property, by its name in lower case.
    by_name: HashMap<String, usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Property {
    name: String,
    attributes: Vec<PropertyAttribute>,
    /// The value of a `set` property, which is a single word.
    text: String,
}

/// An attribute of a property.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PropertyAttribute {
    /// The attribute set, if the property names one.
    pub attribute_set: Option<Oid>,
    /// The type of the attribute.
    pub attribute_type: i64,
    /// The value of the attribute; a `*` in it is replaced by the name that is looked up.
    pub value: String,
}

impl PropertyAttribute {
    /// Returns the attribute, with `*` in its value replaced by `name`. The value is numeric if it then consists of
    /// digits only.
    pub(super) fn element(&self, name: &str) -> AttributeElement {
        let value = self.value.replace('*', name);
        let attribute_value = match number(&value) {
            Some(number) => AttributeValue::Numeric(number),
            None => AttributeValue::named(value.as_str()),
        };
        AttributeElement {
            attribute_set: self.attribute_set,
            attribute_type: self.attribute_type,
            attribute_value,
        }
    }
}

/// The error for an invalid line in a properties file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason} in line {line} of the properties")]
#[non_exhaustive]
pub struct PropertiesError {
    /// A description of the fault.
    pub reason: String,
    /// The number of the line, counted from 1.
    pub line: usize,
}

impl Properties {
    /// Parses the text of a `pqf.properties` file.
    ///
    /// A word after the last attribute is ignored if it is not an attribute, as in YAZ.
    ///
    /// # Errors
    /// [`PropertiesError`] with the fault and the line.
    pub fn parse(text: &str) -> Result<Self, PropertiesError> {
        let mut properties = Self::empty();
        for (number, line) in text.split('\n').enumerate() {
            let entry = entry(line).map_err(|reason| PropertiesError {
                reason,
                line: number + 1,
            })?;
            if let Some(entry) = entry {
                properties.push(entry);
            }
        }
        Ok(properties)
    }

    /// Returns these properties with an additional property, whose name must be new.
    pub(super) fn with(&self, name: &str, attribute: PropertyAttribute) -> Self {
        let mut more = self.clone();
        more.push(Property {
            name: name.to_owned(),
            attributes: vec![attribute],
            text: String::new(),
        });
        more
    }

    fn empty() -> Self {
        Self {
            entries: Vec::new(),
            by_name: HashMap::new(),
        }
    }

    /// Adds a property, unless there already is one with the same name.
    fn push(&mut self, entry: Property) {
        let name = entry.name.to_ascii_lowercase();
        if let Entry::Vacant(place) = self.by_name.entry(name) {
            place.insert(self.entries.len());
            self.entries.push(entry);
        }
    }

    /// Returns the attributes of the property with the given name, in the order of the file. The result is empty for a
    /// property without attributes, and `None` for an unknown name.
    pub fn attributes(&self, name: &str) -> Option<&[PropertyAttribute]> {
        let at = *self.by_name.get(&name.to_ascii_lowercase())?;
        Some(&self.entries.get(at)?.attributes)
    }

    /// Returns the attributes of `category.name`, or of `category.*` if the name is unknown.
    pub(super) fn find(&self, category: &str, name: &str) -> Option<&[PropertyAttribute]> {
        self.attributes(&format!("{category}.{name}"))
            .or_else(|| self.attributes(&format!("{category}.*")))
    }

    /// Returns the URI of the context set with the given prefix.
    pub fn set(&self, prefix: &str) -> Option<&str> {
        self.uri(Some(prefix))
    }

    /// Returns the URI of the context set with the given prefix, or of the default context set if `prefix` is `None`.
    pub(super) fn uri(&self, prefix: Option<&str>) -> Option<&str> {
        let name = prefix.map_or("set".to_owned(), |prefix| {
            format!("set.{}", prefix.to_ascii_lowercase())
        });
        let entry = self.entries.get(*self.by_name.get(&name)?)?;
        Some(&entry.text)
    }

    /// Returns the prefix of the context set with a given URI.
    pub(super) fn prefix(&self, uri: &str) -> Option<&str> {
        self.in_category("set")
            .find(|(_, entry)| entry.text == uri)
            .map(|(prefix, _)| prefix)
    }

    /// Returns the names in a category, in the order of the file and without the category: for `index`, a name such as
    /// `dc.title`.
    pub fn names<'a>(&'a self, category: &'a str) -> impl Iterator<Item = &'a str> {
        self.in_category(category).map(|(name, _)| name)
    }

    fn in_category<'a>(
        &'a self,
        category: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a Property)> {
        self.entries.iter().filter_map(move |entry| {
            let (first, rest) = entry.name.split_once('.')?;
            first
                .eq_ignore_ascii_case(category)
                .then_some((rest, entry))
        })
    }
}

/// The properties for Dublin Core, Bath, `rec` and `cql`, with the names from [`names`](crate::query::names) as the
/// default set.
impl Default for Properties {
    fn default() -> Self {
        // The tests ensure that the properties are valid, so the fallback is never used.
        Self::parse(DEFAULT).unwrap_or_else(|_| Self::empty())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PropertyToken<'a> {
    Word(&'a str),
    Equals,
    Quote,
}

/// Returns the words, equals signs and quotes on a line, without its comment.
fn tokens(line: &str) -> impl Iterator<Item = PropertyToken<'_>> {
    let mut rest = line.split('#').next().unwrap_or_default();
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches([' ', '\t', '\r', '\n']);
        if let Some(after) = rest.strip_prefix('=') {
            rest = after;
            return Some(PropertyToken::Equals);
        }
        if let Some(after) = rest.strip_prefix('"') {
            rest = after;
            return Some(PropertyToken::Quote);
        }
        let end = rest
            .find([' ', '\t', '\r', '\n', '='])
            .unwrap_or(rest.len());
        let (word, after) = rest.split_at_checked(end)?;
        rest = after;
        (!word.is_empty()).then_some(PropertyToken::Word(word))
    })
}

/// Returns the property defined on a line, if the line has one.
fn entry(line: &str) -> Result<Option<Property>, String> {
    use PropertyToken::{Equals, Quote, Word};
    let no_name = || Err("a name is missing".to_owned());
    let no_equals = |name: &str| Err(format!("an equals sign is missing after {name:?}"));
    let misplaced_quote = || Err("a quote is not allowed here".to_owned());
    let tokens: Vec<PropertyToken<'_>> = tokens(line).collect();
    let (name, mut rest) = match tokens.as_slice() {
        [] => return Ok(None),
        [Word(name), Equals, rest @ ..] => (name, rest),
        [Word(name), ..] => return no_equals(name),
        [Equals, ..] => return no_name(),
        [Quote, ..] => return misplaced_quote(),
    };
    let mut attributes = Vec::new();
    let mut text = "";
    loop {
        let (set, attribute_type, value) = match rest {
            [] => break,
            [Word(word)] => {
                text = if attributes.is_empty() { word } else { "" };
                break;
            }
            [Word(attribute_type), Equals, value @ ..] => (None, attribute_type, value),
            [Word(set), Word(attribute_type), Equals, value @ ..] => {
                (Some(set), attribute_type, value)
            }
            [Word(_), Word(word), ..] => return no_equals(word),
            [Equals, ..] => return no_name(),
            [Quote, ..] | [Word(_), Quote, ..] => return misplaced_quote(),
        };
        let attribute_type = number(attribute_type)
            .ok_or_else(|| format!("{attribute_type:?} is not the number of an attribute type"))?;
        let unknown = |name| format!("attribute set {name:?} is not known");
        let attribute_set = set
            .map(|name| attribute_set(name).ok_or_else(|| unknown(name)))
            .transpose()?;
        let value = match value {
            [Word(value), after @ ..] => {
                rest = after;
                (*value).to_owned()
            }
            [Quote, ..] => return misplaced_quote(),
            _ => return Err(format!("attribute {attribute_type} has no value")),
        };
        attributes.push(PropertyAttribute {
            attribute_set,
            attribute_type,
            value,
        });
    }
    Ok(Some(Property {
        name: (*name).to_owned(),
        attributes,
        text: text.to_owned(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oid::GILS;
    use crate::query::names;

    #[test]
    fn lines() {
        let text = "# a comment\n\nset.dc = info:x\r\nset=info:y # the default\n\
            index.dc.Title\t= 1=4\n\t# indented\nindex.gils.* = gils 1=* 2=3 stray\n\
            relationModifier.masked =\nrelation.< = 2=1\nindex.dc.title = 1=5\n\
            index.dc.all = 1=_ALL\n";
        let properties = Properties::parse(text).expect("properties");
        let find = |category: &str, name: &str| {
            properties.find(category, name).map(|attributes| {
                let attributes = attributes.iter().map(|attribute| {
                    let gils = attribute.attribute_set == Some(GILS);
                    let set = if gils { "gils " } else { "" };
                    format!("{set}{}={}", attribute.attribute_type, attribute.value)
                });
                attributes.collect::<Vec<_>>().join(" ")
            })
        };
        // The second entry with the same name is ignored.
        let names: Vec<_> = properties.names("index").collect();
        assert_eq!(names, ["dc.Title", "gils.*", "dc.all"]);
        for (category, name, expected) in [
            ("index", "DC.TITLE", Some("1=4")),
            ("index", "dc.nothing", None),
            ("index.gils", "title", Some("gils 1=* 2=3")),
            ("relationModifier", "masked", Some("")),
            ("relation", "<", Some("2=1")),
            ("index", "dc.all", Some("1=_ALL")),
        ] {
            assert_eq!(
                find(category, name).as_deref(),
                expected,
                "{category}.{name}"
            );
        }
        assert_eq!(properties.uri(Some("DC")), Some("info:x"));
        assert_eq!(properties.uri(None), Some("info:y"));
        assert_eq!(properties.prefix("info:x"), Some("dc"));
    }

    #[test]
    fn faults_name_their_line() {
        for (text, message) in [
            (
                "x",
                "an equals sign is missing after \"x\" in line 1 of the properties",
            ),
            ("\n= 1=4", "a name is missing in line 2 of the properties"),
            (
                "x = a=4",
                "\"a\" is not the number of an attribute type in line 1 of the properties",
            ),
            (
                "x = 1=",
                "attribute 1 has no value in line 1 of the properties",
            ),
            (
                "x = nothing 1=4",
                "attribute set \"nothing\" is not known in line 1 of the properties",
            ),
            ("x = 1=4 =", "a name is missing in line 1 of the properties"),
            (
                "x = \"1=4\"",
                "a quote is not allowed here in line 1 of the properties",
            ),
            (
                "x = a b",
                "an equals sign is missing after \"b\" in line 1 of the properties",
            ),
        ] {
            let error = Properties::parse(text).expect_err(text);
            assert_eq!(error.to_string(), message, "{text}");
        }
    }

    #[test]
    fn the_default_properties_have_every_name() {
        let properties = Properties::parse(DEFAULT).expect("the default properties");
        let prefix = properties
            .uri(None)
            .and_then(|uri| properties.prefix(uri))
            .expect("a prefix for the default set");
        for index in names::TABLE {
            for name in std::iter::once(&index.name).chain(index.aliases) {
                let property = format!("index.{prefix}.{name}");
                let attributes = properties.attributes(&property).expect(name);
                let uses = attributes
                    .iter()
                    .find(|attribute| attribute.attribute_type == 1);
                let value = uses.map(|attribute| attribute.value.clone());
                assert_eq!(value, Some(index.use_value.to_string()), "{property}");
            }
        }
    }
}

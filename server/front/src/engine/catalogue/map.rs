//! The map of a catalogue: a TOML file that says which fields of another program's index answer which attributes. Maps
//! for well-known programs are built in; a site can change a copy of one.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use toml::Spanned;
use z3950_server::memory::Kind;

use crate::engine::hits::MOST_KEPT;

/// The built-in maps, each with its name in settings.
const SHIPPED: [(&str, &str); 3] = [
    ("koha", include_str!("maps/koha.toml")),
    ("vufind", include_str!("maps/vufind.toml")),
    ("blacklight", include_str!("maps/blacklight.toml")),
];

/// The engine of a catalogue, which determines the language of the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CatalogueEngine {
    /// OpenSearch or Elasticsearch, with an index that Koha created.
    Koha,
    /// Solr, with a core or collection that any program created.
    Solr,
}

impl CatalogueEngine {
    /// Returns the origin of the index, as a phrase for error messages.
    pub(super) fn index(self) -> &'static str {
        match self {
            Self::Koha => "Koha's",
            Self::Solr => "a catalogue's in Solr",
        }
    }
}

/// A map: the fields of a catalogue's index, and their uses.
#[derive(Clone, Debug, PartialEq)]
pub struct CatalogueMap {
    pub(super) engine: CatalogueEngine,
    pub(super) record: RecordFields,
    /// The values that hide records: a record with any of these values can never be found.
    pub(super) hidden: Vec<FieldValue>,
    /// The values that select records: only records with all of these values can be found.
    pub(super) only: Vec<FieldValue>,
    pub(super) indexes: Vec<IndexFields>,
}

/// The fields with the record and its identifier.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RecordFields {
    /// The field that contains the identifier. The name `_id` means the identifier of the document itself.
    pub(super) identifier: Field,
    /// The last sort field, which makes the order of records unique: no two records have the same value in it.
    pub(super) order: Field,
    /// The field of whole numbers, if there is one, that sorts the records in the same order as `order`. It is used to
    /// request records at high positions.
    pub(super) number: Option<Field>,
    /// The maximum position of a record that a page can contain, if the index's limit differs from the engine's
    /// default.
    pub(super) window: Option<usize>,
    /// The field that stores the record.
    pub(super) field: Field,
    /// The field with the format of the record, if there is one.
    pub(super) format: Option<Field>,
    /// The field for a record that is a JSON object and not a string, if there is one.
    pub(super) object: Option<Field>,
}

/// A field, with its name and the names that other versions of the index use for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    /// The names, at least one; the first name that the index has is used.
    pub(super) names: Vec<String>,
    /// The number of the line in the map, counted from 1.
    pub(super) line: usize,
}

/// A field, and a value that it may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FieldValue {
    pub(super) field: Field,
    pub(super) value: String,
}

/// An index in the map: the attributes that select it, and the fields that answer them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct IndexFields {
    /// The name of the index, which is also its name in CQL.
    pub(super) name: String,
    /// The number of the line in the map, counted from 1.
    pub(super) line: usize,
    /// The Use values (Bib-1 type 1).
    pub(super) uses: Vec<i64>,
    pub(super) kind: Kind,
    /// The fields for each role.
    pub(super) fields: BTreeMap<Role, Vec<Field>>,
    /// The codes that users enter, with the corresponding values in the engine.
    pub(super) table: Option<Arc<BTreeMap<String, String>>>,
}

/// The way in which a field is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Role {
    /// Words, analysed by the engine.
    Words,
    /// Words that are not stemmed, for truncation, masks and distances.
    Masks,
    /// Complete values without punctuation, as normalized by the engine.
    Whole,
    /// Beginnings of values.
    First,
    /// Values that match only when complete.
    Keys,
    /// Values in the order of their octets.
    Ranges,
    /// Years of four digits.
    Years,
    /// Days, `YYYY-MM-DD`.
    Days,
    /// Dates and times that begin with `YYYYMMDD`.
    Stamps,
    /// Values that can be listed.
    Scan,
    /// Values that can be counted.
    Facet,
    /// Values that records can be sorted by.
    Sort,
}

impl Role {
    pub(super) const ALL: [Self; 12] = [
        Self::Words,
        Self::Masks,
        Self::Whole,
        Self::First,
        Self::Keys,
        Self::Ranges,
        Self::Years,
        Self::Days,
        Self::Stamps,
        Self::Scan,
        Self::Facet,
        Self::Sort,
    ];

    /// Returns the key in the map.
    pub(super) fn key(self) -> &'static str {
        match self {
            Self::Words => "words",
            Self::Masks => "masks",
            Self::Whole => "whole",
            Self::First => "first",
            Self::Keys => "keys",
            Self::Ranges => "ranges",
            Self::Years => "years",
            Self::Days => "days",
            Self::Stamps => "stamps",
            Self::Scan => "scan",
            Self::Facet => "facet",
            Self::Sort => "sort",
        }
    }

    /// Returns whether searches can use the field, and not only lists or sorting.
    pub(super) fn is_searched(self) -> bool {
        !matches!(self, Self::Scan | Self::Facet | Self::Sort)
    }
}

/// The reason why a map cannot be used: a line, and the fault in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {words}")]
pub struct CatalogueMapError {
    /// The number of the line, counted from 1.
    pub line: usize,
    /// A description of the fault.
    pub words: String,
}

impl CatalogueMap {
    /// Returns the text of a built-in map: `koha`, `vufind` or `blacklight`.
    pub fn shipped(name: &str) -> Option<&'static str> {
        let found = SHIPPED.iter().find(|(known, _)| *known == name);
        found.map(|(_, text)| *text)
    }

    /// Returns the names of the built-in maps.
    pub fn names() -> impl Iterator<Item = &'static str> {
        SHIPPED.iter().map(|(name, _)| *name)
    }

    /// Parses a map.
    ///
    /// # Errors
    /// See [`CatalogueMapError`].
    pub fn parse(text: &str) -> Result<Self, CatalogueMapError> {
        let line = |at: usize| line_of(text, at);
        let read: MapText = toml::from_str(text).map_err(|error| CatalogueMapError {
            line: line(error.span().map_or(0, |span| span.start)),
            words: error.message().to_owned(),
        })?;
        Reader {
            text,
            suffixes: &read.suffixes,
            tables: &read.table,
        }
        .map(&read)
    }

    /// Returns the names of all fields.
    pub(super) fn field_names(&self) -> impl Iterator<Item = &str> {
        let RecordFields {
            identifier,
            order,
            number,
            window: _,
            field,
            format,
            object,
        } = &self.record;
        let of_record = [identifier, order, field].into_iter();
        let of_record = of_record.chain(number).chain(format).chain(object);
        let values = self.hidden.iter().chain(&self.only);
        let of_indexes = self.indexes.iter().flat_map(|index| index.fields.values());
        let fields = of_record
            .chain(values.map(|value| &value.field))
            .chain(of_indexes.flatten());
        fields.flat_map(|field| field.names.iter().map(String::as_str))
    }

    /// Returns the engine for whose language the map is written.
    pub fn engine(&self) -> CatalogueEngine {
        self.engine
    }
}

/// Returns the number of the line that contains an offset, counted from 1.
fn line_of(text: &str, at: usize) -> usize {
    let before = text.as_bytes().iter().take(at);
    before.filter(|octet| **octet == b'\n').count() + 1
}

type Name = Spanned<String>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MapText {
    engine: CatalogueEngine,
    record: RecordText,
    #[serde(default)]
    hidden: Vec<ValueText>,
    #[serde(default)]
    only: Vec<ValueText>,
    #[serde(default)]
    suffixes: Suffixes,
    index: Vec<Spanned<IndexText>>,
    #[serde(default)]
    table: BTreeMap<String, BTreeMap<String, String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordText {
    identifier: Name,
    order: Name,
    number: Option<Name>,
    window: Option<Spanned<usize>>,
    field: Name,
    format: Option<Name>,
    object: Option<Name>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ValueText {
    field: Name,
    value: String,
}

/// The suffixes, by role, that the program which created the index appends to the names of fields.
#[derive(Default, Deserialize)]
#[serde(transparent)]
struct Suffixes(BTreeMap<String, Name>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct IndexText {
    name: Name,
    #[serde(default, rename = "use")]
    uses: Vec<i64>,
    kind: Option<Name>,
    table: Option<Name>,
    /// The fields to which the suffixes are appended.
    #[serde(default)]
    fields: Vec<Name>,
    words: Option<Vec<Name>>,
    masks: Option<Vec<Name>>,
    whole: Option<Vec<Name>>,
    first: Option<Vec<Name>>,
    keys: Option<Vec<Name>>,
    ranges: Option<Vec<Name>>,
    years: Option<Vec<Name>>,
    days: Option<Vec<Name>>,
    stamps: Option<Vec<Name>>,
    scan: Option<Vec<Name>>,
    facet: Option<Vec<Name>>,
    sort: Option<Vec<Name>>,
}

impl IndexText {
    fn role(&self, role: Role) -> Option<&[Name]> {
        let given = match role {
            Role::Words => &self.words,
            Role::Masks => &self.masks,
            Role::Whole => &self.whole,
            Role::First => &self.first,
            Role::Keys => &self.keys,
            Role::Ranges => &self.ranges,
            Role::Years => &self.years,
            Role::Days => &self.days,
            Role::Stamps => &self.stamps,
            Role::Scan => &self.scan,
            Role::Facet => &self.facet,
            Role::Sort => &self.sort,
        };
        given.as_deref()
    }
}

/// The separator between the names of a field in different versions of an index.
const OR: char = '|';
/// The maximum number of characters in a field's name.
const MOST_NAME: usize = 200;
/// The maximum number of indexes, which is the limit for a backend minus the two indexes `docid` and `any`.
const MOST_INDEXES: usize = 126;

struct Reader<'t> {
    text: &'t str,
    suffixes: &'t Suffixes,
    tables: &'t BTreeMap<String, BTreeMap<String, String>>,
}

impl Reader<'_> {
    fn map(&self, read: &MapText) -> Result<CatalogueMap, CatalogueMapError> {
        for (key, suffix) in &self.suffixes.0 {
            if !Role::ALL.iter().any(|role| role.key() == key) {
                return Err(self.error(suffix.span().start, format!("{key} is no use of a field")));
            }
        }
        let RecordText {
            identifier,
            order,
            number,
            window,
            field,
            format,
            object,
        } = &read.record;
        let optional = |name: &Option<Name>| name.as_ref().map(|name| self.field(name)).transpose();
        let record = RecordFields {
            identifier: self.field(identifier)?,
            order: self.field(order)?,
            number: optional(number)?,
            window: window.as_ref().map(|most| self.window(most)).transpose()?,
            field: self.field(field)?,
            format: optional(format)?,
            object: optional(object)?,
        };
        let values = |values: &[ValueText]| {
            let values = values.iter().map(|ValueText { field, value }| {
                Ok(FieldValue {
                    field: self.field(field)?,
                    value: value.clone(),
                })
            });
            values.collect::<Result<Vec<_>, CatalogueMapError>>()
        };
        let mut indexes: Vec<IndexFields> = Vec::new();
        for index in &read.index {
            let added = self.index(index)?;
            for known in &indexes {
                let twice = if known.name == added.name {
                    format!("the index {} is there twice", known.name)
                } else if let Some(value) =
                    { known.uses.iter() }.find(|own| added.uses.contains(own))
                {
                    format!("the index {} has the Use value {value} too", known.name)
                } else {
                    continue;
                };
                return Err(self.error(index.span().start, twice));
            }
            indexes.push(added);
        }
        if indexes.len() > MOST_INDEXES {
            let words = format!("there are more than {MOST_INDEXES} indexes");
            return Err(self.error(0, words));
        }
        Ok(CatalogueMap {
            engine: read.engine,
            record,
            hidden: values(&read.hidden)?,
            only: values(&read.only)?,
            indexes,
        })
    }

    fn index(&self, read: &Spanned<IndexText>) -> Result<IndexFields, CatalogueMapError> {
        let index = read.get_ref();
        let name = index.name.get_ref();
        let at = index.name.span().start;
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c);
        if name.is_empty() || !name.chars().all(is_name) {
            let words = "an index has a name of small letters, digits, points, - and _";
            return Err(self.error(at, words.to_owned()));
        }
        let kind = match &index.kind {
            None if name == IDENTIFIER => Kind::Octets,
            None => Kind::Text,
            Some(kind) => {
                let known = Kind::by_name(kind.get_ref()).filter(|kind| *kind != Kind::Octets);
                let unknown = || format!("{} is not a kind of index", kind.get_ref());
                known.ok_or_else(|| self.error(kind.span().start, unknown()))?
            }
        };
        let table = match &index.table {
            None => None,
            Some(table) => {
                let found = self.tables.get(table.get_ref());
                let unknown = || format!("there is no [table.{}]", table.get_ref());
                let found = found.ok_or_else(|| self.error(table.span().start, unknown()))?;
                Some(Arc::new(found.clone()))
            }
        };
        let mut fields = BTreeMap::new();
        for role in Role::ALL {
            let named = match index.role(role) {
                Some(names) => { names.iter() }
                    .map(|name| self.field(name))
                    .collect::<Result<Vec<_>, _>>()?,
                None => self.with_suffix(role, &index.fields)?,
            };
            if !named.is_empty() {
                fields.insert(role, named);
            }
        }
        if fields.is_empty() && kind != Kind::Octets {
            return Err(self.error(at, format!("the index {name} has no field")));
        }
        Ok(IndexFields {
            name: name.clone(),
            line: line_of(self.text, at),
            uses: index.uses.clone(),
            kind,
            fields,
            table,
        })
    }

    /// Returns fields with the suffix of a role appended. Returns no fields if the role does not have a suffix.
    fn with_suffix(&self, role: Role, fields: &[Name]) -> Result<Vec<Field>, CatalogueMapError> {
        let Some(suffix) = self.suffixes.0.get(role.key()) else {
            return Ok(Vec::new());
        };
        // Only the first field is used for listing and sorting.
        let most = if role.is_searched() { fields.len() } else { 1 };
        let fields = fields.iter().take(most).map(|name| {
            let names: Vec<String> = suffix
                .get_ref()
                .split(OR)
                .map(str::trim)
                .map(|suffix| format!("{}{suffix}", name.get_ref()))
                .collect();
            self.checked(names, name.span().start)
        });
        fields.collect()
    }

    /// Checks the size of a window. A result set that keeps the identifiers of its records requests all of them at
    /// once, so they must fit in the window.
    fn window(&self, most: &Spanned<usize>) -> Result<usize, CatalogueMapError> {
        if *most.get_ref() < MOST_KEPT {
            let words = format!("a window has at least {MOST_KEPT} records");
            return Err(self.error(most.span().start, words));
        }
        Ok(*most.get_ref())
    }

    fn field(&self, name: &Name) -> Result<Field, CatalogueMapError> {
        let names = name.get_ref().split(OR).map(|name| name.trim().to_owned());
        self.checked(names.collect(), name.span().start)
    }

    /// Checks the names of a field. Names become a part of requests, so they only have characters to which no engine
    /// gives a special meaning.
    fn checked(&self, names: Vec<String>, at: usize) -> Result<Field, CatalogueMapError> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let wrong = { names.iter() }
            .find(|name| name.is_empty() || name.len() > MOST_NAME || !name.chars().all(is_part));
        match wrong {
            Some(name) => Err(self.error(at, format!("{name:?} is not the name of a field"))),
            None => Ok(Field {
                names,
                line: line_of(self.text, at),
            }),
        }
    }

    fn error(&self, at: usize, words: String) -> CatalogueMapError {
        CatalogueMapError {
            line: line_of(self.text, at),
            words,
        }
    }
}

/// The name of the index of identifiers.
pub(super) const IDENTIFIER: &str = "docid";

impl fmt::Display for Field {
    /// Writes the names, separated as in the map.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.names.join(" or "))
    }
}

#[cfg(test)]
mod tests;

//! What a backend says about a database.

use z3950_asn1::oid::Oid;

/// A database, as shown to people and in Explain.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct DatabaseInfo {
    /// The name under which it is searched.
    pub name: String,
    /// The title.
    pub title: Option<String>,
    /// The description.
    pub description: Option<String>,
    /// The number of records, if known.
    pub records: Option<usize>,
    /// The available record syntaxes.
    pub syntaxes: Vec<Oid>,
    /// The element sets, besides `F` and `B`.
    pub element_sets: Vec<String>,
    /// The attributes that queries may use.
    pub attributes: Vec<AttributeInfo>,
    /// Whether indexes can be scanned.
    pub scan: bool,
    /// Whether result sets can be sorted.
    pub sort: bool,
    /// Whether records can be changed.
    pub update: bool,
    /// The databases that this one consists of; empty if it is a single database.
    pub parts: Vec<DatabasePart>,
    /// The place of the records, if it is one other server: a target, as clients name it.
    pub address: Option<String>,
    /// Whether records of several parts are merged into one, so that people want to search the database as a whole.
    pub is_merged: bool,
}

impl DatabaseInfo {
    /// Returns the description for Explain, with the databases that this one consists of.
    pub(crate) fn full_description(&self) -> Option<String> {
        let own = self.description.as_deref().map(str::trim);
        let own = own.filter(|own| !own.is_empty());
        if self.parts.is_empty() {
            return own.map(str::to_owned);
        }
        let parts: Vec<&str> = self.parts.iter().map(|part| &*part.name).collect();
        let parts = format!("Consists of: {}", parts.join(", "));
        Some(match own {
            Some(own) => format!("{own}\n{parts}"),
            None => parts,
        })
    }
}

/// A database that is part of another one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DatabasePart {
    /// The name under which this part alone is searched.
    pub name: String,
    /// The title.
    pub title: Option<String>,
    /// The place of the records, if it is another server: a target, as clients name it.
    pub address: Option<String>,
}

impl DatabasePart {
    /// Creates a part with this name.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }
}

/// An attribute that a query may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttributeInfo {
    /// The attribute set.
    pub attribute_set: Oid,
    /// The attribute type: 1 is Use.
    pub attribute_type: i64,
    /// The attribute value.
    pub value: i64,
    /// The name, or what the attribute means to this database.
    pub name: String,
}

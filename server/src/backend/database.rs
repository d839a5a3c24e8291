//! What a backend says of a database.

use z3950_asn1::oid::Oid;

/// A database, as shown to people and in Explain.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct DatabaseInfo {
    /// The name to search it by.
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
    /// The databases that it consists of; empty if it is one database.
    pub parts: Vec<DatabasePart>,
    /// Where its records are, if they are at one other server: a target, as clients name it.
    pub address: Option<String>,
    /// Whether records of several parts are made one record, so that people want to search it as a whole.
    pub is_merged: bool,
}

impl DatabaseInfo {
    /// The description for Explain, with the databases that this one consists of.
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

/// A database that another one consists of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DatabasePart {
    /// The name to search it alone by.
    pub name: String,
    /// The title.
    pub title: Option<String>,
    /// Where its records are, if at another server: a target, as clients name it.
    pub address: Option<String>,
}

impl DatabasePart {
    /// A part of this name.
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
    /// Its attribute set.
    pub attribute_set: Oid,
    /// Its type: 1 is Use.
    pub attribute_type: i64,
    /// Its value.
    pub value: i64,
    /// What it is called, or what it means to this database.
    pub name: String,
}

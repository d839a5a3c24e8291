//! The names and descriptions of a backend's databases.

use z3950_asn1::apdu::DatabaseName;
use z3950_asn1::oid::Oid;

use crate::diagnostic::{Condition, Diagnostic, diagnostic};

/// A database, as shown to people and in Explain.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct DatabaseInfo {
    /// The name used in searches.
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
    /// Whether the database can be scanned. This is limited to the indexes whose [attribute](AttributeInfo::scan) permits it.
    pub scan: bool,
    /// Whether result sets can be sorted. This is limited to the indexes whose [attribute](AttributeInfo::sort) permits it.
    pub sort: bool,
    /// Whether clients may change records.
    pub update: bool,
    /// The databases that this one consists of; empty if it is a single database.
    pub parts: Vec<DatabasePart>,
    /// The target that holds the records, in the notation that clients use; `None` unless all records are at a single other
    /// server.
    pub address: Option<String>,
    /// Whether records from several parts are merged into one record, so that users should search the complete database.
    pub is_merged: bool,
}

impl DatabaseInfo {
    /// Returns whether a Use attribute selects an index that can be scanned.
    pub fn scans(&self, attribute: &AttributeInfo) -> bool {
        self.scan && attribute.scan
    }

    /// Returns whether a Use attribute selects an index by which result sets can be sorted.
    pub fn sorts(&self, attribute: &AttributeInfo) -> bool {
        self.sort && attribute.sort
    }

    /// Returns the description for Explain, which also lists the parts of the database; `None` if there is neither a description
    /// nor a part.
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

/// A database that is part of another database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DatabasePart {
    /// The name used to search this part alone.
    pub name: String,
    /// The title.
    pub title: Option<String>,
    /// The target that holds the records, in the notation that clients use; `None` if they are at this server.
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
#[non_exhaustive]
pub struct AttributeInfo {
    /// The attribute set that defines the attribute.
    pub attribute_set: Oid,
    /// The attribute type: 1 is Use.
    pub attribute_type: i64,
    /// The attribute value.
    pub value: i64,
    /// The name of the attribute, or its meaning in this database.
    pub name: String,
    /// For a Use attribute, whether its index can be scanned if the [database](DatabaseInfo::scan) can be scanned.
    pub scan: bool,
    /// For a Use attribute, whether result sets can be sorted by its index if the [database](DatabaseInfo::sort) can
    /// be sorted.
    pub sort: bool,
}

impl AttributeInfo {
    /// Creates an attribute. If it is a Use attribute, its index can be scanned, and result sets can be sorted by it.
    pub fn new(
        attribute_set: Oid,
        attribute_type: i64,
        value: i64,
        name: impl Into<String>,
    ) -> Self {
        Self {
            attribute_set,
            attribute_type,
            value,
            name: name.into(),
            scan: true,
            sort: true,
        }
    }
}

/// Checks that a backend has all databases named in a request. The case of names is ignored (Z39.50-2003 §3.2.2.1.3).
///
/// # Errors
/// Fails with condition 235 and the first unknown name.
pub fn check_databases(named: &[DatabaseName], known: &[&str]) -> Result<(), Diagnostic> {
    let is_known = |name: &DatabaseName| {
        let name = name.0.to_string_lossy();
        known.iter().any(|known| known.eq_ignore_ascii_case(&name))
    };
    match named.iter().find(|name| !is_known(name)) {
        Some(unknown) => Err(diagnostic(
            Condition::DATABASE_DOES_NOT_EXIST,
            unknown.0.as_bytes(),
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn databases_that_a_backend_does_not_have_are_refused() {
        let known = ["books", "serials"];
        for (named, unknown) in [
            (vec!["books"], None),
            (vec!["BOOKS", "Serials"], None),
            (vec!["books", "maps", "more"], Some("maps")),
            (vec!["book"], Some("book")),
            (vec![""], Some("")),
        ] {
            let databases: Vec<DatabaseName> = named.iter().copied().map(Into::into).collect();
            let expected = unknown.map_or(Ok(()), |name| {
                Err(diagnostic(Condition::DATABASE_DOES_NOT_EXIST, name))
            });
            assert_eq!(check_databases(&databases, &known), expected, "{named:?}");
        }
    }
}

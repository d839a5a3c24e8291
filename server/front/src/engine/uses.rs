//! The indexes that support more than searches, as named in settings.

use std::collections::BTreeSet;

use z3950_server::memory::index_map::IndexId;
use z3950_server::memory::{AccessPoints, Kind};

/// The default indexes with sort values.
const SORTED: [&str; 5] = ["title", "author", "date", "publicationdate", "publisher"];
/// The default indexes with facets.
const COUNTED: [&str; 6] = [
    "author",
    "subject",
    "date",
    "language",
    "publisher",
    "recordtype",
];

/// The default indexes that can be scanned.
const SCANNED: [&str; 9] = [
    "any",
    "title",
    "author",
    "subject",
    "isbn",
    "issn",
    "date",
    "publisher",
    "language",
];

/// The indexes that support more than searches, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexUses {
    /// The indexes by which records can be sorted.
    pub sort: Vec<String>,
    /// The indexes with facets.
    pub facets: Vec<String>,
    /// The indexes that can be scanned.
    pub scan: Vec<String>,
}

impl Default for IndexUses {
    fn default() -> Self {
        Self {
            sort: SORTED.map(str::to_owned).into(),
            facets: COUNTED.map(str::to_owned).into(),
            scan: SCANNED.map(str::to_owned).into(),
        }
    }
}

/// The reason why an index with this name cannot be used for sorting, counting or scanning.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IndexNameError {
    /// No index has this name.
    #[error("there is no index {0}")]
    Unknown(String),
    /// The index does not contain text, but octets.
    #[error("the index {0} is for searches only")]
    Octets(String),
    /// The name occurs twice.
    #[error("the index {0} is listed twice")]
    Twice(String),
}

/// Returns the index for each name in a list, or the reason why the name cannot be used.
pub fn named_indexes(
    points: &AccessPoints,
    names: &[String],
) -> Vec<Result<IndexId, IndexNameError>> {
    let mut before = BTreeSet::new();
    let names = names.iter();
    let found = names.map(|name| {
        let found = points.by_name(name);
        let (index, row) = found.ok_or_else(|| IndexNameError::Unknown(name.clone()))?;
        if row.kind == Kind::Octets {
            return Err(IndexNameError::Octets(name.clone()));
        }
        if before.insert(index) {
            Ok(index)
        } else {
            Err(IndexNameError::Twice(name.clone()))
        }
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use z3950_server::memory::{DocidField, Profile};

    use super::*;
    use crate::engine::EngineLayout;

    #[test]
    fn unusable_names_are_distinguished() {
        for (names, expected) in [
            (&["title", "au"][..], None),
            (
                &["titel"],
                Some(IndexNameError::Unknown("titel".to_owned())),
            ),
            (&["docid"], Some(IndexNameError::Octets("docid".to_owned()))),
            (
                &["author", "date", "au"],
                Some(IndexNameError::Twice("au".to_owned())),
            ),
        ] {
            let uses = IndexUses {
                scan: names.iter().map(|&name| name.to_owned()).collect(),
                ..IndexUses::default()
            };
            let docid = DocidField::default();
            let made = EngineLayout::new(AccessPoints::default(), Profile::default(), docid, &uses);
            assert_eq!(made.err(), expected, "{names:?}");
        }
    }
}

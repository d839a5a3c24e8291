//! The indexes that serve more than searches, as settings name them.

use std::collections::BTreeSet;

use z3950_server::memory::index_map::IndexId;
use z3950_server::memory::{AccessPoints, Kind};

/// The indexes with sort values, unless others are named.
const SORTED: [&str; 5] = ["title", "author", "date", "publicationdate", "publisher"];
/// The indexes with facets, unless others are named.
const COUNTED: [&str; 6] = [
    "author",
    "subject",
    "date",
    "language",
    "publisher",
    "recordtype",
];

/// The indexes that can be scanned, unless others are named.
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

/// The indexes that serve more than searches, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexUses {
    /// Those that records can be sorted by.
    pub sort: Vec<String>,
    /// Those with facets.
    pub facets: Vec<String>,
    /// Those that can be scanned.
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

/// Why records cannot be sorted, counted or scanned by a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IndexNameError {
    /// No index has it.
    #[error("there is no index {0}")]
    Unknown(String),
    /// The index holds octets.
    #[error("the index {0} is for searches only")]
    Octets(String),
    /// The index has been named before.
    #[error("the index {0} is listed twice")]
    Twice(String),
}

/// The indexes of names that stand in one list, each with what is wrong with its name.
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
    fn names_of_no_use_are_told_apart() {
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

//! The layout of a database in an engine, which consists of its index map and the indexes that support more than searches.

use std::collections::BTreeSet;

use twox_hash::XxHash3_64;
use z3950_server::backend::AttributeInfo;
use z3950_server::memory::index_map::{IndexId, IndexMap};
use z3950_server::memory::{AccessPoint, AccessPoints, DocidField, Profile};

use super::uses::{IndexNameError, IndexUses, named_indexes};

/// The layout of a database.
#[derive(Debug, PartialEq)]
pub struct EngineLayout {
    map: IndexMap,
    /// The indexes that records can be sorted by.
    sorted: Vec<IndexId>,
    /// The indexes with facets.
    counted: Vec<IndexId>,
    /// The indexes that can be scanned.
    scanned: Vec<IndexId>,
    fingerprint: u64,
}

impl EngineLayout {
    /// Creates the layout for these access points.
    ///
    /// # Errors
    /// See [`IndexNameError`].
    pub fn new(
        points: AccessPoints,
        profile: Profile,
        docid: DocidField,
        uses: &IndexUses,
    ) -> Result<Self, IndexNameError> {
        let named = |names: &[String]| {
            let indexes = named_indexes(&points, names).into_iter();
            indexes.collect::<Result<Vec<_>, _>>()
        };
        let [sorted, counted, scanned] =
            [named(&uses.sort)?, named(&uses.facets)?, named(&uses.scan)?];
        let fingerprint = fingerprint(&points, docid, [&sorted, &counted, &scanned]);
        let map = IndexMap::new(points, profile, docid);
        Ok(Self {
            map,
            sorted,
            counted,
            scanned,
            fingerprint,
        })
    }

    /// Returns a number that changes if the layout of documents changes: the indexes, the fields and uses of each
    /// index, or the docid field.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// Returns the fingerprint as text.
    pub(super) fn term(&self) -> String {
        format!("{:016x}", self.fingerprint)
    }

    pub(super) fn map(&self) -> &IndexMap {
        &self.map
    }

    /// Returns the attributes that queries may use, and the indexes that support more than searches.
    pub(super) fn attributes(&self) -> Vec<AttributeInfo> {
        let scans = |index| self.is_scanned(index);
        self.map.attributes(scans, |index| self.is_sorted(index))
    }

    /// Returns whether there is an index to sort by.
    pub(super) fn has_sorted(&self) -> bool {
        !self.sorted.is_empty()
    }

    /// Returns whether there is an index to scan.
    pub(super) fn has_scanned(&self) -> bool {
        !self.scanned.is_empty()
    }

    pub(super) fn is_sorted(&self, index: IndexId) -> bool {
        self.sorted.contains(&index)
    }

    pub(super) fn is_scanned(&self, index: IndexId) -> bool {
        self.scanned.contains(&index)
    }

    pub(super) fn is_counted(&self, index: IndexId) -> bool {
        self.counted.contains(&index)
    }

    pub(super) fn name(&self, index: IndexId) -> &str {
        let rows = self.map.points().rows();
        let row = rows.get(usize::from(index.number()));
        row.map_or("", |row| &*row.name)
    }
}

/// Computes [`EngineLayout::fingerprint`]. Documents contain the names of indexes, so the order of the indexes does not
/// matter.
fn fingerprint(points: &AccessPoints, docid: DocidField, uses: [&[IndexId]; 3]) -> u64 {
    let name = |index: &IndexId| {
        let row = points.rows().get(usize::from(index.number()));
        row.map_or("", |row| &*row.name)
    };
    let mut text = docid.to_string();
    for indexes in uses {
        let names: BTreeSet<&str> = indexes.iter().map(name).collect();
        text.push_str(&format!("\n{names:?}"));
    }
    let rows = points.rows().iter().map(|row| {
        let AccessPoint {
            name,
            kind,
            marc21,
            unimarc,
            ..
        } = row;
        let kind = kind.name();
        format!("\n{name} {kind} {marc21}; {unimarc}")
    });
    text.extend(rows.collect::<BTreeSet<String>>());
    XxHash3_64::oneshot(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use z3950_server::memory::Kind;

    use super::*;

    fn layout(points: AccessPoints, docid: &str, uses: &IndexUses) -> EngineLayout {
        let docid = docid.parse().expect("a field");
        EngineLayout::new(points, Profile::default(), docid, uses).expect("indexes")
    }

    #[test]
    fn audit_attributes_say_which_indexes_are_scanned_and_sorted_by() {
        let uses = IndexUses {
            sort: vec!["title".to_owned()],
            facets: Vec::new(),
            scan: vec!["title".to_owned(), "isbn".to_owned()],
        };
        let layout = layout(AccessPoints::default(), "001", &uses);
        let attributes = layout.attributes();
        for (value, expected) in [
            (4, (true, true)),
            (1097, (true, true)),
            (7, (true, false)),
            (1003, (false, false)),
            (1032, (false, false)),
        ] {
            let mut uses = attributes.iter().filter(|one| one.attribute_type == 1);
            let found = uses.find(|one| one.value == value).expect("an index");
            assert_eq!((found.scan, found.sort), expected, "{}", found.name);
        }
        assert!(layout.has_scanned() && layout.has_sorted());
    }

    #[test]
    fn the_fingerprint_changes_with_the_documents() {
        let shelf = |marc21: &str, uses: &[i64]| {
            let mut points = AccessPoints::default();
            let mut row = AccessPoint::new("shelf", Kind::Text);
            row.marc21 = marc21.parse().expect("a field");
            row.uses = uses.to_vec();
            points.set(row).expect("added");
            points
        };
        let fewer = |change: fn(&mut IndexUses)| {
            let mut uses = IndexUses::default();
            change(&mut uses);
            uses
        };
        let uses = IndexUses::default();
        let first = layout(shelf("900$a", &[]), "001", &uses).fingerprint();
        // The Use attributes do not affect the fingerprint.
        let same = layout(shelf("900$a", &[9000]), "001", &uses);
        assert_eq!(same.fingerprint(), first);
        let in_another_order = fewer(|uses| uses.scan.reverse());
        let same = layout(shelf("900$a", &[]), "001", &in_another_order);
        assert_eq!(same.fingerprint(), first);
        let others = [
            layout(AccessPoints::default(), "001", &uses),
            layout(shelf("900$b", &[]), "001", &uses),
            layout(shelf("900$a", &[]), "035$a", &uses),
            layout(
                shelf("900$a", &[]),
                "001",
                &fewer(|uses| drop(uses.sort.pop())),
            ),
            layout(
                shelf("900$a", &[]),
                "001",
                &fewer(|uses| drop(uses.facets.pop())),
            ),
            layout(
                shelf("900$a", &[]),
                "001",
                &fewer(|uses| drop(uses.scan.pop())),
            ),
        ];
        let known: BTreeSet<u64> = others.iter().map(EngineLayout::fingerprint).collect();
        assert!(known.len() == others.len() && !known.contains(&first));
    }
}

//! The access points of a backend: the rows of Bib-1, extended and changed by the settings.

use std::borrow::Cow;

use z3950_asn1::query::names;

use super::key::Kind;
use super::rows::ROWS;
use super::source::Sources;
use super::{IndexId, MAX_INDEXES};

/// An index: its name, Use values, kind and source fields.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AccessPoint {
    /// The name in lower case, which can be used as a Use value, a facet and a sort key.
    pub name: Cow<'static, str>,
    /// The values of Bib-1 type 1 (Use) that select this index. A value belongs to only one index.
    pub uses: Vec<i64>,
    /// The kind of the index's entries.
    pub kind: Kind,
    /// The sources of the index in MARC 21 records.
    pub marc21: Sources,
    /// The sources of the index in UNIMARC records.
    pub unimarc: Sources,
}

impl AccessPoint {
    /// Creates an index without Use values and sources.
    pub fn new(name: impl Into<Cow<'static, str>>, kind: Kind) -> Self {
        Self {
            name: name.into(),
            uses: Vec::new(),
            kind,
            marc21: Sources::default(),
            unimarc: Sources::default(),
        }
    }
}

/// The indexes of a backend. By default, there is a row for each access point of Bib-1 that exists in MARC.
///
/// `docid` and `any` are always present. `docid` has no sources here; see [`crate::memory::DocidField`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessPoints(Vec<AccessPoint>);

/// The reason why a row cannot be added.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AccessPointsError {
    /// The backend already has the maximum number of rows.
    #[error("{0} would be the 129th index; a backend has at most 128")]
    TooMany(String),
    /// The row `docid` does not have the kind [`Kind::Octets`], or a row other than `docid` has this kind.
    #[error("the index docid holds octets, and no other index does")]
    Docid,
}

impl Default for AccessPoints {
    fn default() -> Self {
        let sources = |text: &str| text.parse().unwrap_or_default();
        let rows = ROWS
            .iter()
            .map(|(name, uses, kind, marc21, unimarc)| AccessPoint {
                name: Cow::Borrowed(*name),
                uses: uses.to_vec(),
                kind: *kind,
                marc21: sources(marc21),
                unimarc: sources(unimarc),
            });
        Self(rows.collect())
    }
}

impl AccessPoints {
    /// Creates the access points for an index that another program maintains: only `docid` and `any`, without Use values and
    /// sources.
    pub fn bare() -> Self {
        let mut points = Self::default();
        points.0.truncate(2);
        for row in &mut points.0 {
            row.uses.clear();
            (row.marc21, row.unimarc) = Default::default();
        }
        points
    }

    /// Returns the rows in order.
    pub fn rows(&self) -> &[AccessPoint] {
        &self.0
    }

    /// Adds a row, or replaces the row with the same name. The Use values of the new row are removed from all other rows.
    ///
    /// # Errors
    /// See [`AccessPointsError`].
    pub fn set(&mut self, row: AccessPoint) -> Result<(), AccessPointsError> {
        let place = self.0.iter().position(|known| known.name == row.name);
        if (place == Some(0)) != (row.kind == Kind::Octets) {
            return Err(AccessPointsError::Docid);
        }
        if place.is_none() && self.0.len() == MAX_INDEXES {
            return Err(AccessPointsError::TooMany(row.name.into_owned()));
        }
        for known in &mut self.0 {
            known.uses.retain(|value| !row.uses.contains(value));
        }
        match place.and_then(|place| self.0.get_mut(place)) {
            Some(known) => *known = row,
            None => self.0.push(row),
        }
        Ok(())
    }

    /// Returns the index that a Use value selects, and its row; `None` if there is none.
    pub(in crate::memory) fn by_use(&self, value: i64) -> Option<(IndexId, &AccessPoint)> {
        self.find(|row| row.uses.contains(&value))
    }

    /// Returns the row with this name, or the row that corresponds to this index name in a query language; `None` if there is
    /// none. Case is ignored.
    pub fn by_name(&self, name: &str) -> Option<(IndexId, &AccessPoint)> {
        let name = name.to_lowercase();
        self.find(|row| row.name == name).or_else(|| {
            let known = names::TABLE
                .iter()
                .find(|index| index.name == name || index.aliases.contains(&&*name))?;
            self.by_use(known.use_value)
        })
    }

    /// Returns the row of an index; `None` if the index does not exist.
    pub(in crate::memory) fn row(&self, index: IndexId) -> Option<&AccessPoint> {
        self.0.get(usize::from(index.0))
    }

    /// Returns the kind of an index; [`Kind::Text`] if the index does not exist.
    pub(in crate::memory) fn kind(&self, index: IndexId) -> Kind {
        self.row(index).map_or(Kind::Text, |row| row.kind)
    }

    /// Iterates over every index and its row.
    pub(in crate::memory) fn iter(&self) -> impl Iterator<Item = (IndexId, &AccessPoint)> {
        (0..=u8::MAX).map(IndexId).zip(&self.0)
    }

    fn find(&self, is: impl Fn(&AccessPoint) -> bool) -> Option<(IndexId, &AccessPoint)> {
        self.iter().find(|(_, row)| is(row))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use z3950_asn1::bib1::attributes::use_name;

    use super::*;

    #[test]
    fn every_row_is_valid() {
        let points = AccessPoints::default();
        let mut values = BTreeSet::new();
        let mut names = BTreeSet::new();
        for ((name, uses, _, marc21, unimarc), (_, row)) in ROWS.iter().zip(points.iter()) {
            assert!(names.insert(*name), "{name} twice");
            assert_eq!(
                row.marc21.to_string(),
                marc21.split_whitespace().collect::<Vec<_>>().join(" ")
            );
            assert_eq!(
                row.unimarc.to_string(),
                unimarc.split_whitespace().collect::<Vec<_>>().join(" ")
            );
            for value in *uses {
                assert!(values.insert(*value), "{value} twice");
                assert!(use_name(*value).is_some(), "{value} is no Use value");
            }
        }
        assert!(values.len() >= 80);
        assert_eq!(
            points.by_name("docid").map(|(index, _)| index),
            Some(IndexId::DOCID)
        );
        assert_eq!(
            points.by_use(1016).map(|(index, _)| index),
            Some(IndexId::ANY)
        );
    }

    #[test]
    fn rows_are_found_by_value_and_name() {
        let points = AccessPoints::default();
        for (value, name) in [
            (4, "title"),
            (1097, "TITLE"),
            (7, "isbn"),
            (1003, "au"),
            (31, "Publicationdate"),
            (1044, "holder"),
        ] {
            let by_use = points.by_use(value).map(|(index, _)| index);
            assert_eq!(
                by_use,
                points.by_name(name).map(|(index, _)| index),
                "{name}"
            );
            assert!(by_use.is_some(), "{name}");
        }
        for index in names::TABLE {
            assert!(points.by_name(index.name).is_some(), "{}", index.name);
            assert!(points.by_use(index.use_value).is_some(), "{}", index.name);
        }
        assert_eq!(points.by_use(9999), None);
        assert_eq!(points.by_name("nosuch"), None);
    }

    #[test]
    fn rows_are_added_and_replaced() {
        let row = |name: &'static str, uses: &[i64], kind| AccessPoint {
            name: name.into(),
            uses: uses.to_vec(),
            kind,
            marc21: "900$a".parse().expect("a field"),
            unimarc: Sources::default(),
        };
        let mut points = AccessPoints::default();
        let rows = points.rows().len();
        points
            .set(row("shelf", &[4, 9000], Kind::Text))
            .expect("added");
        assert_eq!(points.rows().len(), rows + 1);
        for (value, name) in [(4, "shelf"), (9000, "shelf"), (1097, "title")] {
            assert_eq!(points.by_use(value).map(|(_, row)| &*row.name), Some(name));
        }
        points
            .set(row("shelf", &[9001], Kind::Number))
            .expect("replaced");
        assert_eq!(points.rows().len(), rows + 1);
        assert_eq!(points.by_use(9000), None);
        assert_eq!(
            points.set(row("docid", &[], Kind::Text)),
            Err(AccessPointsError::Docid)
        );
        assert_eq!(
            points.set(row("other", &[], Kind::Octets)),
            Err(AccessPointsError::Docid)
        );
        for number in rows + 1..MAX_INDEXES {
            let name = AccessPoint {
                name: number.to_string().into(),
                ..row("", &[], Kind::Text)
            };
            points.set(name).expect("room");
        }
        let error = points.set(row("last", &[], Kind::Text));
        assert_eq!(error, Err(AccessPointsError::TooMany("last".to_owned())));
    }
}

//! What a catalogue can be asked: the map, compared with the fields that the engine says its index has. What is missing is not offered.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use z3950_server::asn1::bib1::attributes::{
    COMPLETENESS, POSITION, RELATION, STRUCTURE, TRUNCATION,
};
use z3950_server::backend::AttributeInfo;
use z3950_server::memory::index_map::{IndexId, IndexMap};
use z3950_server::memory::{AccessPoint, AccessPoints, DocidField, Kind, Profile};

use super::map::{CatalogueEngine, CatalogueMap, Field, IDENTIFIER, IndexFields, Role};

/// What a field of an engine's index can be used for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Abilities {
    /// Its text is analysed into words.
    pub(super) words: bool,
    /// Its values are searched as they are.
    pub(super) keys: bool,
    /// Its values are stored, and can be returned.
    pub(super) stored: bool,
    /// Its values can be listed and counted.
    pub(super) lists: bool,
    /// Records can be sorted by it.
    pub(super) sorts: bool,
}

impl Abilities {
    fn has(self, role: Role) -> bool {
        match role {
            Role::Words | Role::Masks => self.words || self.keys,
            Role::Whole | Role::First => self.words || self.keys,
            Role::Keys | Role::Ranges | Role::Years | Role::Days | Role::Stamps => {
                self.keys || self.words
            }
            Role::Scan | Role::Facet => self.lists,
            Role::Sort => self.sorts,
        }
    }
}

/// The fields of an engine's index, by name.
pub(super) type FieldsFound = HashMap<String, Abilities>;

/// A use of a field that an index does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingField {
    /// The line of the map.
    pub line: usize,
    /// The index of the map; empty for the record and for what is hidden.
    pub index: String,
    /// The use of the field: the key of the map.
    pub role: String,
    /// The field, with its other names.
    pub field: String,
    /// Whether the index is not offered at all now.
    pub is_lost: bool,
}

impl fmt::Display for MissingField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            line,
            index,
            role,
            field,
            is_lost,
        } = self;
        write!(f, "line {line}: there is no field {field} for {role}")?;
        if !index.is_empty() {
            write!(f, " of {index}")?;
        }
        if *is_lost {
            write!(f, ", so {index} is not offered")?;
        }
        Ok(())
    }
}

/// What a catalogue can be asked.
#[derive(Debug)]
pub(super) struct Offer {
    pub(super) engine: CatalogueEngine,
    pub(super) indexes: IndexMap,
    points: Vec<Arc<Point>>,
    pub(super) record: RecordPlace,
    /// Field and value of the records that are never found.
    pub(super) hidden: Vec<(String, String)>,
    /// Field and value of the records that can be found.
    pub(super) only: Vec<(String, String)>,
}

/// Where a record is, and what identifies it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RecordPlace {
    pub(super) identifier: String,
    pub(super) order: String,
    pub(super) field: String,
    pub(super) format: Option<String>,
    pub(super) object: Option<String>,
}

/// An index that is offered, with its fields by role.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) name: String,
    pub(super) kind: Kind,
    fields: BTreeMap<Role, Vec<String>>,
    /// The codes that users know, with the values that the engine has.
    pub(super) table: Option<Arc<BTreeMap<String, String>>>,
}

impl Point {
    /// Returns the fields of a role; none if the index cannot be used so.
    pub(super) fn fields(&self, role: Role) -> &[String] {
        self.fields.get(&role).map_or(&[], Vec::as_slice)
    }

    /// Returns the first field of a role.
    pub(super) fn field(&self, role: Role) -> Option<&str> {
        self.fields(role).first().map(String::as_str)
    }

    pub(super) fn has(&self, role: Role) -> bool {
        !self.fields(role).is_empty()
    }
}

impl Offer {
    /// Compares a map with the fields of an index; `None` offers all of the map, before anything is known of the index. Also returns what
    /// is missing.
    pub(super) fn new(
        map: &CatalogueMap,
        found: Option<&FieldsFound>,
    ) -> (Self, Vec<MissingField>) {
        let mut missing = Vec::new();
        let mut chosen =
            |index: &str, role: &str, field: &Field, is: &dyn Fn(Abilities) -> bool| {
                let known = |name: &&String| {
                    found.is_none_or(|found| found.get(*name).copied().is_some_and(is))
                };
                let chosen = field.names.iter().find(known).cloned();
                if chosen.is_none() {
                    missing.push(MissingField {
                        line: field.line,
                        index: index.to_owned(),
                        role: role.to_owned(),
                        field: field.to_string(),
                        is_lost: false,
                    });
                }
                chosen
            };
        let record = &map.record;
        let mut place = |role: &str, field: &Field, is: &dyn Fn(Abilities) -> bool| {
            chosen("", role, field, is).unwrap_or_default()
        };
        let record = RecordPlace {
            identifier: place("identifier", &record.identifier, &|_| true),
            order: place("order", &record.order, &|has| has.sorts),
            field: place("record", &record.field, &|has| has.stored),
            format: { record.format.as_ref() }
                .map(|field| place("format", field, &|has| has.stored)),
            object: { record.object.as_ref() }.map(|field| place("object", field, &|_| true)),
        };
        // A form of records that an older version does not know does not occur in its index.
        let some = |name: Option<String>| name.filter(|name| !name.is_empty());
        let record = RecordPlace {
            format: some(record.format),
            object: some(record.object),
            ..record
        };
        let mut values = |role: &str, values: &[super::map::FieldValue]| {
            let values = values.iter().filter_map(|value| {
                let field = chosen("", role, &value.field, &|has| has.keys || has.words)?;
                Some((field, value.value.clone()))
            });
            values.collect::<Vec<_>>()
        };
        let (hidden, only) = (values("hidden", &map.hidden), values("only", &map.only));
        let mut points = AccessPoints::bare();
        let mut offered: Vec<Arc<Point>> = Vec::new();
        let mut fields_of = |index: &IndexFields| {
            let mut fields = BTreeMap::new();
            for (role, named) in &index.fields {
                let named = named.iter().filter_map(|field| {
                    chosen(&index.name, role.key(), field, &|has| has.has(*role))
                });
                let named: Vec<String> = named.collect();
                if !named.is_empty() {
                    fields.insert(*role, named);
                }
            }
            Arc::new(Point {
                name: index.name.clone(),
                kind: index.kind,
                fields,
                table: index.table.clone(),
            })
        };
        // The first two rows of access points are always these.
        let of_name = |name: &str| map.indexes.iter().find(|index| index.name == name);
        for (name, kind) in [(IDENTIFIER, Kind::Octets), (ANY, Kind::Text)] {
            let index = of_name(name);
            let point = match index {
                Some(index) => fields_of(index),
                None => Arc::new(Point {
                    name: name.to_owned(),
                    kind,
                    fields: BTreeMap::new(),
                    table: None,
                }),
            };
            let mut row = AccessPoint::new(name.to_owned(), kind);
            let is_offered = name == IDENTIFIER || point.has(Role::Words);
            row.uses = index
                .filter(|_| is_offered)
                .map_or_else(Vec::new, |index| index.uses.clone());
            // The row is there, so it is replaced.
            let _ = points.set(row);
            offered.push(point);
        }
        let mut lost = Vec::new();
        for index in &map.indexes {
            if [IDENTIFIER, ANY].contains(&&*index.name) {
                continue;
            }
            let point = fields_of(index);
            if !point.fields.keys().any(|role| role.is_searched()) {
                lost.push(index.name.clone());
                continue;
            }
            let mut row = AccessPoint::new(index.name.clone(), index.kind);
            row.uses.clone_from(&index.uses);
            if points.set(row).is_ok() {
                offered.push(point);
            }
        }
        for field in &mut missing {
            field.is_lost = lost.contains(&field.index);
        }
        let offer = Self {
            engine: map.engine,
            indexes: IndexMap::new(points, Profile::default(), DocidField::default()),
            points: offered,
            record,
            hidden,
            only,
        };
        (offer, missing)
    }

    /// Returns the point of an index of the access points.
    pub(super) fn point(&self, index: IndexId) -> Option<&Arc<Point>> {
        self.points.get(usize::from(index.number()))
    }

    /// Returns the points that searches can use.
    pub(super) fn points(&self) -> impl Iterator<Item = &Arc<Point>> {
        self.points.iter()
    }

    /// Returns the attributes that a query may have, for Explain: those that at least one index honours.
    pub(super) fn attributes(&self) -> Vec<AttributeInfo> {
        let has = |roles: &[Role]| {
            let mut points = self.points.iter();
            points.any(|point| roles.iter().any(|role| point.has(*role)))
        };
        let ranges = has(&[Role::Ranges, Role::Years, Role::Days, Role::Stamps]);
        let edges = has(&[Role::Whole, Role::First, Role::Keys]);
        let masks = has(&[Role::Masks, Role::Keys]);
        let mut all = self.indexes.attributes();
        all.retain(|info| match (info.attribute_type, info.value) {
            (RELATION, 1 | 2 | 4 | 5) => ranges,
            (POSITION, 1 | 2) | (COMPLETENESS, 2 | 3) | (STRUCTURE, 3 | 108) => edges,
            (TRUNCATION, 1..=3 | 101 | 104) => masks,
            (TRUNCATION, 102) => false,
            _ => true,
        });
        all
    }

    /// Returns whether records can be found and given.
    ///
    /// # Errors
    /// What is missing.
    pub(super) fn usable(&self) -> Result<(), String> {
        let place = &self.record;
        if place.field.is_empty() {
            return Err("it has no records".to_owned());
        }
        if place.identifier.is_empty() {
            return Err("there is no field for the identifiers of records".to_owned());
        }
        if place.order.is_empty() {
            return Err("there is no field for the order of records".to_owned());
        }
        let mut searched = Role::ALL.iter().filter(|role| role.is_searched());
        if !searched.any(|role| self.points.iter().any(|point| point.has(*role))) {
            return Err("it has no field of the map".to_owned());
        }
        Ok(())
    }
}

/// The index of everything.
pub(super) const ANY: &str = "any";

#[cfg(test)]
mod tests;

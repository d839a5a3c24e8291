//! The searches that a catalogue supports: the map, compared with the fields that the engine reports for its index.
//! Attributes whose fields are missing are not offered.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use z3950_asn1::bib1::attributes::{COMPLETENESS, POSITION, RELATION, STRUCTURE, TRUNCATION};
use z3950_server::backend::AttributeInfo;
use z3950_server::memory::index_map::{IndexId, IndexMap};
use z3950_server::memory::{AccessPoint, AccessPoints, DocidField, Kind, Profile};

use super::map::{
    CatalogueEngine, CatalogueMap, Field, FieldValue, IDENTIFIER, IndexFields, RecordFields, Role,
};
use crate::engine::link::Failure;

/// The possible uses of a field in an engine's index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Abilities {
    /// Whether the text of the field is analysed into words.
    pub(super) words: bool,
    /// Whether values of the field can be searched without analysis.
    pub(super) keys: bool,
    /// Whether values of the field are compared in the order of their octets.
    pub(super) compares: bool,
    /// Whether values of the field are stored, so that they can be returned.
    pub(super) stored: bool,
    /// Whether values of the field can be listed and counted.
    pub(super) lists: bool,
    /// Whether records can be sorted by the field.
    pub(super) sorts: bool,
    /// Whether values of the field are whole numbers.
    pub(super) counts: bool,
}

impl Abilities {
    fn has(self, role: Role) -> bool {
        match role {
            Role::Words | Role::Masks => self.words || self.keys,
            Role::Whole | Role::First => self.words || self.keys,
            Role::Keys => self.keys || self.words,
            Role::Ranges | Role::Years | Role::Days | Role::Stamps => self.compares,
            Role::Scan | Role::Facet => self.lists,
            Role::Sort => self.sorts,
        }
    }
}

/// The fields of an engine's index, by name.
pub(super) type FieldsFound = HashMap<String, Abilities>;

/// The reason why the fields of an index are not known.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub(super) enum FieldsError {
    /// The request failed.
    #[error("{0}")]
    Failed(#[from] Failure),
    /// The name is an alias of this number of indexes.
    #[error("an alias of {0} indexes")]
    Several(usize),
}

/// A use of a field that does not exist in an index, or whose type does not allow this use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingField {
    /// The number of the line in the map, counted from 1.
    pub line: usize,
    /// The name of the index in the map; empty for the fields of the record and for hidden records.
    pub index: String,
    /// The use of the field, as the key in the map.
    pub role: String,
    /// The name of the field, with its alternative names.
    pub field: String,
    /// Whether the index has the field under one of its names, but with a type that does not allow this use.
    pub is_unfit: bool,
    /// Whether the index is no longer offered at all.
    pub is_lost: bool,
}

impl fmt::Display for MissingField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            line,
            index,
            role,
            field,
            is_unfit,
            is_lost,
        } = self;
        if *is_unfit {
            write!(
                f,
                "line {line}: the type of the field {field} does not allow {role}"
            )?;
        } else {
            write!(f, "line {line}: there is no field {field} for {role}")?;
        }
        if !index.is_empty() {
            write!(f, " of {index}")?;
        }
        if *is_lost {
            write!(f, ", so {index} is not offered")?;
        }
        Ok(())
    }
}

/// The searches that a catalogue supports.
#[derive(Debug)]
pub(in crate::engine) struct Offer {
    pub(super) engine: CatalogueEngine,
    pub(super) indexes: IndexMap,
    points: Vec<Arc<Point>>,
    pub(super) record: RecordPlace,
    /// The fields and values that hide records: a record with any of these values can never be found.
    pub(super) hidden: Vec<(String, String)>,
    /// The fields and values that select records: only records with all of these values can be found.
    pub(super) only: Vec<(String, String)>,
    /// A missing field that is needed to hide records. Solr only knows some fields if a record has them.
    unhidden: Option<MissingField>,
}

/// The fields with the record and its identifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RecordPlace {
    pub(super) identifier: String,
    pub(super) order: String,
    pub(super) number: Option<String>,
    pub(super) window: Option<usize>,
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
    /// The codes that users enter, with the corresponding values in the engine.
    pub(super) table: Option<Arc<BTreeMap<String, String>>>,
}

impl Point {
    /// Returns an index without fields, which stands for an index that is not in the map.
    fn bare(name: &str, kind: Kind) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            fields: BTreeMap::new(),
            table: None,
        }
    }

    /// Returns the fields for a role; empty if the index cannot be used for it.
    pub(super) fn fields(&self, role: Role) -> &[String] {
        self.fields.get(&role).map_or(&[], Vec::as_slice)
    }

    /// Returns the first field for a role.
    pub(super) fn field(&self, role: Role) -> Option<&str> {
        self.fields(role).first().map(String::as_str)
    }

    pub(super) fn has(&self, role: Role) -> bool {
        !self.fields(role).is_empty()
    }
}

/// The comparison of a map with an index.
struct Comparison<'a> {
    /// The fields of the index; `None` if they are not known yet.
    found: Option<&'a FieldsFound>,
    missing: Vec<MissingField>,
}

impl Comparison<'_> {
    /// Returns the first name of a field that exists in the index and supports the use. If there is none, records the field as
    /// missing.
    fn choose(
        &mut self,
        index: &str,
        role: &str,
        field: &Field,
        is: impl Fn(Abilities) -> bool,
    ) -> Option<String> {
        let found = self.found;
        let of = |name: &String| found.and_then(|found| found.get(name)).copied();
        let has = |name: &&String| found.is_none() || of(name).is_some_and(&is);
        let chosen = field.names.iter().find(has).cloned();
        if chosen.is_none() {
            self.missing.push(MissingField {
                line: field.line,
                index: index.to_owned(),
                role: role.to_owned(),
                field: field.to_string(),
                is_unfit: field.names.iter().any(|name| of(name).is_some()),
                is_lost: false,
            });
        }
        chosen
    }

    /// Returns the fields that records are read from; the names of missing fields are empty.
    fn record(&mut self, record: &RecordFields) -> RecordPlace {
        let mut place = |role: &str, field: &Field, is: fn(Abilities) -> bool| {
            self.choose("", role, field, is).unwrap_or_default()
        };
        let identifier = place("identifier", &record.identifier, |_| true);
        let order = place("order", &record.order, |has| has.sorts);
        let field = place("record", &record.field, |has| has.stored);
        // The index of an older catalogue version may not have this field. Without it, records far from the first cannot be read.
        let number = record.number.as_ref();
        let number = number.and_then(|number| self.choose("", "number", number, |has| has.counts));
        // These fields may be missing: a catalogue version too old to support a record form has no records in that form.
        let mut optional = |role: &str, field: &Option<Field>| {
            self.choose("", role, field.as_ref()?, |has| has.stored)
        };
        RecordPlace {
            identifier,
            order,
            number,
            window: record.window,
            field,
            format: optional("format", &record.format),
            object: optional("object", &record.object),
        }
    }

    /// Returns the fields and values by which records are excluded or selected. A missing field is kept, so that no record is
    /// found by mistake: Solr only knows some fields if a record has them, and refuses searches in others.
    fn values(&mut self, role: &str, values: &[FieldValue]) -> Vec<(String, String)> {
        let values = values.iter().map(|value| {
            let chosen = self.choose("", role, &value.field, |has| has.keys || has.words);
            let first = || value.field.names.first().cloned().unwrap_or_default();
            (chosen.unwrap_or_else(first), value.value.clone())
        });
        values.collect()
    }

    fn point(&mut self, index: &IndexFields) -> Point {
        let mut fields = BTreeMap::new();
        for (role, named) in &index.fields {
            let named = named.iter().filter_map(|field| {
                self.choose(&index.name, role.key(), field, |has| has.has(*role))
            });
            let named: Vec<String> = named.collect();
            if !named.is_empty() {
                fields.insert(*role, named);
            }
        }
        Point {
            name: index.name.clone(),
            kind: index.kind,
            fields,
            table: index.table.clone(),
        }
    }

    /// Marks an index as having lost all of its fields.
    fn lose(&mut self, index: &str) {
        let fields = self.missing.iter_mut();
        for field in fields.filter(|field| field.index == index) {
            field.is_lost = true;
        }
    }
}

impl Offer {
    /// Compares a map with the fields of an index; with `None`, everything in the map is offered, because the fields are not
    /// known yet. Also returns the missing fields.
    pub(super) fn new(
        map: &CatalogueMap,
        found: Option<&FieldsFound>,
    ) -> (Self, Vec<MissingField>) {
        let mut comparison = Comparison {
            found,
            missing: Vec::new(),
        };
        let record = comparison.record(&map.record);
        let hidden = comparison.values("hidden", &map.hidden);
        let mut missing = comparison.missing.iter();
        let unhidden = missing
            .find(|field| field.role == "hidden")
            .cloned()
            .filter(|_| map.engine == CatalogueEngine::Koha);
        let only = comparison.values("only", &map.only);
        let mut rows = AccessPoints::bare();
        let mut points: Vec<Arc<Point>> = Vec::new();
        let mut offer = |row: AccessPoint, point: Point| {
            if rows.set(row).is_ok() {
                points.push(Arc::new(point));
            }
        };
        // These two access points always come first.
        for (name, kind) in FIXED {
            let index = map.indexes.iter().find(|index| index.name == name);
            let point =
                index.map_or_else(|| Point::bare(name, kind), |index| comparison.point(index));
            let is_offered = kind == Kind::Octets || point.has(Role::Words);
            let mut row = AccessPoint::new(name, kind);
            row.uses = index
                .filter(|_| is_offered)
                .map_or_else(Vec::new, |index| index.uses.clone());
            offer(row, point);
        }
        let is_fixed = |index: &&IndexFields| FIXED.iter().any(|(name, _)| index.name == *name);
        for index in map.indexes.iter().filter(|index| !is_fixed(index)) {
            let point = comparison.point(index);
            if point.fields.keys().any(|role| role.is_searched()) {
                let mut row = AccessPoint::new(index.name.clone(), index.kind);
                row.uses.clone_from(&index.uses);
                offer(row, point);
            } else {
                comparison.lose(&index.name);
            }
        }
        let offer = Self {
            engine: map.engine,
            indexes: IndexMap::new(rows, Profile::default(), DocidField::default()),
            points,
            record,
            hidden,
            only,
            unhidden,
        };
        (offer, comparison.missing)
    }

    /// Returns the offered index with this identifier, with its fields; `None` if there is none.
    pub(super) fn point(&self, index: IndexId) -> Option<&Arc<Point>> {
        self.points.get(usize::from(index.number()))
    }

    /// Returns whether both offers have the same fields for the same indexes.
    pub(super) fn has_fields_of(&self, other: &Self) -> bool {
        let own = (&self.points, &self.record, &self.hidden, &self.only);
        own == (&other.points, &other.record, &other.hidden, &other.only)
    }

    /// Returns the indexes that searches can use.
    pub(super) fn points(&self) -> impl Iterator<Item = &Arc<Point>> {
        self.points.iter()
    }

    /// Returns the attributes that a query may have, for Explain: the attributes that at least one index supports.
    pub(super) fn attributes(&self) -> Vec<AttributeInfo> {
        let has = |roles: &[Role]| {
            let mut points = self.points.iter();
            points.any(|point| roles.iter().any(|role| point.has(*role)))
        };
        let ranges = has(&[Role::Ranges, Role::Years, Role::Days, Role::Stamps]);
        let edges = has(&[Role::Whole, Role::First, Role::Keys]);
        let masks = has(&[Role::Masks, Role::Keys]);
        let serves = |index, role| self.point(index).is_some_and(|point| point.has(role));
        let scans = |index| serves(index, Role::Scan);
        let mut all = self
            .indexes
            .attributes(scans, |index| serves(index, Role::Sort));
        all.retain(|info| match (info.attribute_type, info.value) {
            (RELATION, 1 | 2 | 4 | 5) => ranges,
            (POSITION, 1 | 2) | (COMPLETENESS, 2 | 3) | (STRUCTURE, 3 | 108) => edges,
            (TRUNCATION, 1..=3 | 101 | 104) => masks,
            (TRUNCATION, 102) => false,
            _ => true,
        });
        all
    }

    /// Checks that records can be found and returned.
    ///
    /// # Errors
    /// A description of what is missing.
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
        if let Some(missing) = &self.unhidden {
            return Err(format!("{missing}, so hidden records would be found"));
        }
        Ok(())
    }
}

/// The indexes that every catalogue has: `docid` for identifiers, and `any` for all words.
const FIXED: [(&str, Kind); 2] = [(IDENTIFIER, Kind::Octets), ("any", Kind::Text)];

#[cfg(test)]
mod tests;

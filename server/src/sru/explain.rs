//! Answers explain requests with the description of a database (ZeeRex 2.0), which is derived from its backend's description.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use z3950_asn1::apdu::{DatabaseName, Options};
use z3950_asn1::bib1::attributes::{
    POSITION, POSITION_FIRST_IN_FIELD as FIRST, TRUNCATION, TRUNCATION_RIGHT as RIGHT, USE,
};
use z3950_asn1::oid::BIB_1;
use z3950_asn1::query::cql::Properties;
use z3950_asn1::sru::zeerex::{
    ContextSet, ZeeRex, ZeeRexConfig, ZeeRexImplementation, ZeeRexIndex, ZeeRexMap, ZeeRexSchema,
};
use z3950_asn1::sru::{ExplainRequest, ExplainResponse};

use super::failure::SruFailure;
use super::query::PROPERTIES;
use super::schema::SCHEMAS;
use super::{Context, SruSession};
use crate::backend::{AttributeInfo, Backend, DatabaseInfo};
use crate::diagnostic::{Condition, diagnostic};
use crate::target::Target;

impl SruSession {
    /// Answers an explain.
    ///
    /// # Errors
    /// Condition 235 if the database does not exist, 236 if the user may not search it.
    pub(super) fn explain(
        &self,
        context: &Context,
        explain: &ExplainRequest,
    ) -> Result<ExplainResponse, SruFailure> {
        let association = self
            .session
            .association()
            .ok_or_else(SruFailure::unanswered)?;
        if association.is_unproved() {
            return Err(diagnostic(Condition::ACCESS_CONTROL_FAILURE, "").into());
        }
        let backend = association.backend_of(&context.databases())?;
        let database = described(&*backend, &context.database);
        let unknown = || diagnostic(Condition::DATABASE_DOES_NOT_EXIST, &context.database);
        let database = database.ok_or_else(unknown)?;
        let mut description = zeerex(&database, &*backend, &self.target);
        let (host, port) = &context.authority;
        let server = &mut description.server;
        server.host = host.clone();
        server.port = Some(port.unwrap_or(if context.secure { 443 } else { 80 }));
        if context.secure {
            server.transport = "https".to_owned();
        }
        let scheme = &server.transport;
        let authority = match port {
            Some(port) => format!("{host}:{port}"),
            None => host.clone(),
        };
        let sru = |name: &str| {
            let path = encoded(name);
            ("sru".to_owned(), format!("{scheme}://{authority}/{path}"))
        };
        let mut links = vec![sru(&database.name)];
        if port.is_some() && !context.secure {
            let path = encoded(&database.name);
            links.push(("z39.50".to_owned(), format!("z39.50s://{authority}/{path}")));
        }
        // The description also links to the other databases that the user may search.
        let others = self
            .target
            .databases()
            .into_iter()
            .map(|one| one.name)
            .filter(|name| name.to_lowercase() != database.name.to_lowercase());
        let may_have = |name: &String| {
            let name = DatabaseName::from(name.as_str());
            association.backend_of(&[name]).is_ok()
        };
        links.extend(others.filter(may_have).map(|name| sru(&name)));
        description.database.links = links;
        let mut response = ExplainResponse::new(context.version, description.to_xml());
        if let Some(record) = &mut response.record {
            record.packing = explain.packing.unwrap_or_default();
        }
        Ok(response)
    }
}

/// Returns the description of the database with this name, or of the part of a database with this name; `None` if there is none.
/// Case is ignored.
fn described(backend: &dyn Backend, name: &str) -> Option<DatabaseInfo> {
    let is = |one: &String| one.to_lowercase() == name.to_lowercase();
    backend.databases().into_iter().find_map(|database| {
        if is(&database.name) {
            return Some(database);
        }
        let part = database.parts.iter().find(|part| is(&part.name))?.clone();
        Some(DatabaseInfo {
            title: part.title.or_else(|| Some(part.name.clone())),
            name: part.name,
            address: part.address,
            parts: Vec::new(),
            is_merged: false,
            ..database
        })
    })
}

/// Returns the description of a database, without host and port.
fn zeerex(database: &DatabaseInfo, backend: &dyn Backend, target: &Target) -> ZeeRex {
    let mut description = ZeeRex::default();
    description.server.database = database.name.clone();
    description.server.records = database.records.and_then(|records| records.try_into().ok());
    let about = &mut description.database;
    about.title = database
        .title
        .clone()
        .unwrap_or_else(|| database.name.clone());
    about.description = database.full_description().unwrap_or_default();
    let offer = &target.offer;
    about.implementation = offer
        .implementation_name
        .as_ref()
        .map(|name| ZeeRexImplementation {
            identifier: String::new(),
            version: offer.implementation_version.clone().unwrap_or_default(),
            title: name.clone(),
        });
    let uses = database
        .attributes
        .iter()
        .filter(|attribute| attribute.attribute_set == BIB_1 && attribute.attribute_type == USE);
    description.indexes = uses.map(|one| index(one, database)).collect();
    description.sets = INDEXES.sets.clone();
    let available = SCHEMAS
        .iter()
        .filter(|schema| schema.form(backend).is_some());
    description.schemas = available
        .map(|schema| ZeeRexSchema::new(schema.name, schema.identifier, schema.title))
        .collect();
    description.config = config(database, &description.schemas, target);
    description
}

fn index(of: &AttributeInfo, database: &DatabaseInfo) -> ZeeRexIndex {
    let names = INDEXES
        .names
        .get(&of.value)
        .map(Vec::as_slice)
        .unwrap_or_default();
    // The attributes must belong to a map with a name, because clients such as sru-queryer fail on a map without one.
    let in_bib1 = ZeeRexMap::Name {
        set: BIB1.to_owned(),
        name: of.value.to_string(),
    };
    let maps = names.iter().cloned().chain([in_bib1]);
    let mut index = ZeeRexIndex::new(of.name.as_str(), maps.collect());
    index.scan = Some(database.scans(of));
    index.sort = Some(database.sorts(of));
    index
}

fn config(database: &DatabaseInfo, schemas: &[ZeeRexSchema], target: &Target) -> ZeeRexConfig {
    let limits = &target.limits;
    let pair = |name: &str, value: String| (name.to_owned(), value);
    let mut config = ZeeRexConfig::default();
    config.defaults = vec![pair("numberOfRecords", limits.sru_records.to_string())];
    let default_schema = schemas
        .first()
        .map(|schema| pair("retrieveSchema", schema.name.clone()));
    config.defaults.extend(default_schema);
    config.settings = vec![
        pair("maximumRecords", limits.records_per_response.to_string()),
        pair("resultSetTTL", limits.sru_set_time.as_secs().to_string()),
    ];
    let can = |attributes: &[(i64, i64)]| attributes.iter().all(|one| has(database, *one));
    let named = |kind: &'static str, list: &'static [(String, Vec<(i64, i64)>)]| {
        let known = list.iter().filter(move |(_, attributes)| can(attributes));
        known.map(move |(name, _)| pair(kind, name.clone()))
    };
    let is_updated = database.update && target.offer.options.contains(Options::EXTENDED_SERVICES);
    let services = [
        (database.scan, "scan"),
        (database.sort, "sort"),
        (true, "resultSets"),
        (true, "facets"),
        (is_updated, "update"),
    ];
    let services = services
        .into_iter()
        .filter(|(has, _)| *has)
        .map(|(_, name)| pair(name, String::new()));
    let languages = ["cql", "pqf"].map(|name| pair("queryType", name.to_owned()));
    let masks = ["*", "?"].map(|mask| pair("maskingCharacter", mask.to_owned()));
    let masks = masks
        .into_iter()
        .filter(|_| can(&[(TRUNCATION, RIGHT), (TRUNCATION, Z39_58)]));
    let anchor = can(&[(POSITION, FIRST)]).then(|| pair("anchoring", "^".to_owned()));
    let relations = named("relation", &INDEXES.relations);
    let modifiers = named("relationModifier", &INDEXES.modifiers);
    let all = services
        .chain(languages)
        .chain(relations)
        .chain(modifiers)
        .chain(masks)
        .chain(anchor);
    config.supports = all.collect();
    config
}

/// Returns whether queries may use a Bib-1 attribute.
fn has(database: &DatabaseInfo, (attribute_type, value): (i64, i64)) -> bool {
    database.attributes.iter().any(|one| {
        one.attribute_set == BIB_1 && one.attribute_type == attribute_type && one.value == value
    })
}

/// The names in the CQL properties, arranged for descriptions.
struct CqlIndexes {
    sets: Vec<ContextSet>,
    /// The names for each Use value, as indexes in context sets.
    names: BTreeMap<i64, Vec<ZeeRexMap>>,
    /// The relations and relation modifiers, with the attributes to which they correspond.
    relations: Vec<(String, Vec<(i64, i64)>)>,
    modifiers: Vec<(String, Vec<(i64, i64)>)>,
}

/// Truncation 104, which has mask characters within terms (ANSI Z39.58).
const Z39_58: i64 = 104;

/// The context set for indexes that are named by their Use values.
const BIB1: &str = "bib1";

static INDEXES: LazyLock<CqlIndexes> = LazyLock::new(|| CqlIndexes::of(&PROPERTIES));

impl CqlIndexes {
    fn of(properties: &Properties) -> Self {
        let sets = properties.names("set").filter_map(|prefix| {
            Some(ContextSet {
                name: prefix.to_owned(),
                identifier: properties.set(prefix)?.to_owned(),
                title: String::new(),
            })
        });
        let mut names: BTreeMap<i64, Vec<ZeeRexMap>> = BTreeMap::new();
        for index in properties.names("index") {
            let Some((set, name)) = index.split_once('.') else {
                continue;
            };
            let mut attributes = properties
                .attributes(&format!("index.{index}"))
                .unwrap_or_default()
                .iter();
            let value = attributes.find(|attribute| attribute.attribute_type == USE);
            let Some(value) = value.and_then(|attribute| attribute.value.parse().ok()) else {
                continue;
            };
            names.entry(value).or_default().push(ZeeRexMap::Name {
                set: set.to_owned(),
                name: name.to_owned(),
            });
        }
        Self {
            sets: sets.collect(),
            names,
            relations: with_attributes(properties, "relation"),
            modifiers: with_attributes(properties, "relationModifier"),
        }
    }
}

/// Returns the names in a category of the properties, with the attributes to which they correspond.
fn with_attributes(properties: &Properties, category: &str) -> Vec<(String, Vec<(i64, i64)>)> {
    let named = properties.names(category).map(|name| {
        let attributes = properties
            .attributes(&format!("{category}.{name}"))
            .unwrap_or_default()
            .iter()
            .filter_map(|attribute| {
                let value = attribute.value.parse().ok()?;
                Some((attribute.attribute_type, value))
            });
        // The properties file uses names for the relations that CQL writes as symbols.
        let name = match name {
            "eq" => "=",
            "le" => "<=",
            "ge" => ">=",
            other => other,
        };
        (name.to_owned(), attributes.collect())
    });
    named.collect()
}

/// Percent-encodes a name as a path segment (RFC 3986 §3.3).
fn encoded(name: &str) -> String {
    let mut path = String::with_capacity(name.len());
    for octet in name.bytes() {
        if octet.is_ascii_alphanumeric() || b"-._~".contains(&octet) {
            path.push(char::from(octet))
        } else {
            path.push_str(&format!("%{octet:02X}"))
        }
    }
    path
}

//! What a server tells about itself and a database: the record of an explain (ZeeRex 2.0, `http://explain.z3950.org/dtd/2.0/`).

mod read;
mod write;

/// A description.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ZeeRex {
    /// Where the database is.
    pub server: ZeeRexServer,
    /// What the database is.
    pub database: ZeeRexDatabase,
    /// When the description was made, and where it comes from.
    pub meta: ZeeRexMeta,
    /// The context sets of the indexes.
    pub sets: Vec<ContextSet>,
    /// The indexes.
    pub indexes: Vec<ZeeRexIndex>,
    /// The schemas of records.
    pub schemas: Vec<ZeeRexSchema>,
    /// What the server does and supports.
    pub config: ZeeRexConfig,
}

/// `serverInfo`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ZeeRexServer {
    /// `SRU`, `SRW/U`, `Z39.50`.
    pub protocol: String,
    /// The highest version.
    pub version: String,
    /// `http` or `https`.
    pub transport: String,
    /// `GET POST SOAP`.
    pub method: String,
    /// The host.
    pub host: String,
    /// The port.
    pub port: Option<u16>,
    /// The name of the database: the path of its URL.
    pub database: String,
    /// How many records it has.
    pub records: Option<u64>,
}

impl Default for ZeeRexServer {
    fn default() -> Self {
        Self {
            protocol: "SRU".into(),
            version: "2.0".into(),
            transport: "http".into(),
            method: "GET POST SOAP".into(),
            host: String::new(),
            port: None,
            database: String::new(),
            records: None,
        }
    }
}

/// `databaseInfo`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ZeeRexDatabase {
    /// The title.
    pub title: String,
    /// The description; may be empty.
    pub description: String,
    /// Who answers for it; may be empty.
    pub contact: String,
    /// The program: identifier, version and title.
    pub implementation: Option<ZeeRexImplementation>,
    /// The same database elsewhere, and others of the server: type and URL, such as `z39.50` and
    /// `z39.50s://lib.example:210/books`.
    pub links: Vec<(String, String)>,
}

/// `implementation`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ZeeRexImplementation {
    /// The identifier of the program; may be empty.
    pub identifier: String,
    /// Its version; may be empty.
    pub version: String,
    /// Its name.
    pub title: String,
}

/// `metaInfo`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ZeeRexMeta {
    /// When it was changed, such as `2026-11-22 02:00:00`.
    pub date_modified: Option<String>,
    /// Where it was copied from: the `z39.50r` URL of a record.
    pub aggregated_from: Option<String>,
    /// When it was copied.
    pub date_aggregated: Option<String>,
}

/// `set`: a context set of CQL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContextSet {
    /// The prefix.
    pub name: String,
    /// The identifier.
    pub identifier: String,
    /// The title; may be empty.
    pub title: String,
}

/// `index`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ZeeRexIndex {
    /// The title; may be empty.
    pub title: String,
    /// Whether it can be searched, if the description says so.
    pub search: Option<bool>,
    /// Whether it can be scanned.
    pub scan: Option<bool>,
    /// Whether results can be sorted by it.
    pub sort: Option<bool>,
    /// What it is called in queries.
    pub maps: Vec<ZeeRexMap>,
    /// What it supports: type and value, such as `relation` and `=`.
    pub supports: Vec<(String, String)>,
}

impl ZeeRexIndex {
    /// An index that can be searched.
    pub fn new(title: impl Into<String>, maps: Vec<ZeeRexMap>) -> Self {
        Self {
            title: title.into(),
            search: Some(true),
            maps,
            ..Self::default()
        }
    }
}

/// `map`: a name of an index in one language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ZeeRexMap {
    /// In CQL: the prefix of the context set, which may be empty, and the name.
    Name {
        /// The prefix.
        set: String,
        /// The name.
        name: String,
    },
    /// In type-1 queries: attributes.
    Attributes(Vec<ZeeRexAttribute>),
}

/// `attr`: an attribute of a type-1 query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZeeRexAttribute {
    /// The attribute set, such as `bib-1`; may be empty.
    pub set: String,
    /// The type: 1 is Use.
    pub attribute_type: i64,
    /// The value: a number, or a name.
    pub value: String,
}

/// `schema`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ZeeRexSchema {
    /// The short name.
    pub name: String,
    /// The identifier.
    pub identifier: String,
    /// The title; may be empty.
    pub title: String,
    /// Whether records can be retrieved in it, if the description says so.
    pub retrieve: Option<bool>,
    /// Whether results can be sorted by it.
    pub sort: Option<bool>,
}

impl ZeeRexSchema {
    /// A schema for retrieval.
    pub fn new(name: &str, identifier: &str, title: &str) -> Self {
        Self {
            name: name.into(),
            identifier: identifier.into(),
            title: title.into(),
            retrieve: Some(true),
            sort: Some(false),
        }
    }
}

/// `configInfo`: types and values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ZeeRexConfig {
    /// What holds if a request does not say otherwise, such as `numberOfRecords` and `10`.
    pub defaults: Vec<(String, String)>,
    /// What always holds, such as `maximumRecords` and `50`.
    pub settings: Vec<(String, String)>,
    /// What the server supports, such as `scan`; values may be empty.
    pub supports: Vec<(String, String)>,
}

impl ZeeRexConfig {
    /// The value of a default.
    pub fn default_of(&self, name: &str) -> Option<&str> {
        find(&self.defaults, name)
    }

    /// The value of a setting.
    pub fn setting(&self, name: &str) -> Option<&str> {
        find(&self.settings, name)
    }

    /// Whether something is supported, whatever its value.
    pub fn supports(&self, name: &str) -> bool {
        find(&self.supports, name).is_some()
    }
}

fn find<'a>(pairs: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let mut pairs = pairs.iter();
    pairs
        .find(|(known, _)| known == name)
        .map(|(_, value)| &**value)
}

#[cfg(test)]
mod tests;

//! A server's description of itself and a database: the record of an explain (ZeeRex 2.0, `http://explain.z3950.org/dtd/2.0/`).

mod read;
mod write;

/// A description.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ZeeRex {
    /// The address of the database.
    pub server: ZeeRexServer,
    /// The title and description of the database.
    pub database: ZeeRexDatabase,
    /// The date of the description, and its origin.
    pub meta: ZeeRexMeta,
    /// The context sets of the indexes.
    pub sets: Vec<ContextSet>,
    /// The indexes.
    pub indexes: Vec<ZeeRexIndex>,
    /// The schemas of records.
    pub schemas: Vec<ZeeRexSchema>,
    /// The defaults, settings and supported features of the server.
    pub config: ZeeRexConfig,
}

/// `serverInfo`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ZeeRexServer {
    /// The protocol: `SRU`, `SRW/U`, `Z39.50`.
    pub protocol: String,
    /// The highest version of the protocol.
    pub version: String,
    /// The transport: `http` or `https`.
    pub transport: String,
    /// The methods: `GET POST SOAP`.
    pub method: String,
    /// The host.
    pub host: String,
    /// The port.
    pub port: Option<u16>,
    /// The name of the database: the path of its URL.
    pub database: String,
    /// The number of records in the database.
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
    /// The contact for the database; may be empty.
    pub contact: String,
    /// The program: identifier, version and title.
    pub implementation: Option<ZeeRexImplementation>,
    /// Links to the same database elsewhere, and to other databases of the server: type and URL, such as `z39.50` and
    /// `z39.50s://lib.example:210/books`.
    pub links: Vec<(String, String)>,
}

/// `implementation`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ZeeRexImplementation {
    /// The identifier of the program; may be empty.
    pub identifier: String,
    /// The version of the program; may be empty.
    pub version: String,
    /// The name of the program.
    pub title: String,
}

/// `metaInfo`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ZeeRexMeta {
    /// When the description was changed, such as `2026-11-22 02:00:00`.
    pub date_modified: Option<String>,
    /// The source from which the description was copied: the `z39.50r` URL of a record.
    pub aggregated_from: Option<String>,
    /// When the description was copied.
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
    /// Whether the index can be searched, if the description says so.
    pub search: Option<bool>,
    /// Whether the index can be scanned.
    pub scan: Option<bool>,
    /// Whether results can be sorted by the index.
    pub sort: Option<bool>,
    /// The names of the index in queries.
    pub maps: Vec<ZeeRexMap>,
    /// The features that the index supports: type and value, such as `relation` and `=`.
    pub supports: Vec<(String, String)>,
}

impl ZeeRexIndex {
    /// Creates an index that can be searched.
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
    /// A name in CQL: the prefix of the context set, which may be empty, and the name.
    Name {
        /// The prefix.
        set: String,
        /// The name.
        name: String,
    },
    /// Attributes in type-1 queries.
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
    /// Whether records can be retrieved in this schema, if the description says so.
    pub retrieve: Option<bool>,
    /// Whether results can be sorted by the schema.
    pub sort: Option<bool>,
}

impl ZeeRexSchema {
    /// Creates a schema for retrieval.
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
    /// The values that apply if a request does not specify them, such as `numberOfRecords` and `10`.
    pub defaults: Vec<(String, String)>,
    /// The values that always apply, such as `maximumRecords` and `50`.
    pub settings: Vec<(String, String)>,
    /// The features that the server supports, such as `scan`; values may be empty.
    pub supports: Vec<(String, String)>,
}

impl ZeeRexConfig {
    /// Returns the value of a default.
    pub fn default_of(&self, name: &str) -> Option<&str> {
        find(&self.defaults, name)
    }

    /// Returns the value of a setting.
    pub fn setting(&self, name: &str) -> Option<&str> {
        find(&self.settings, name)
    }

    /// Returns whether a feature is supported, whatever its value.
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

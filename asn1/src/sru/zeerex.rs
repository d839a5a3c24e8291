//! A server's description of itself and of a database, which is the record in an explain response (ZeeRex 2.0,
//! `http://explain.z3950.org/dtd/2.0/`).

mod read;
mod write;

/// A server's description of itself and of a database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ZeeRex {
    /// The address of the server and the database.
    pub server: ZeeRexServer,
    /// The title and description of the database.
    pub database: ZeeRexDatabase,
    /// The date and origin of the description.
    pub meta: ZeeRexMeta,
    /// The CQL context sets of the indexes.
    pub sets: Vec<ContextSet>,
    /// The indexes of the database.
    pub indexes: Vec<ZeeRexIndex>,
    /// The schemas in which records can be retrieved or sorted.
    pub schemas: Vec<ZeeRexSchema>,
    /// The defaults, settings and supported features of the server.
    pub config: ZeeRexConfig,
}

/// `serverInfo`: the address of the server and the database.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ZeeRexServer {
    /// The protocol: `SRU`, `SRW/U` or `Z39.50`.
    pub protocol: String,
    /// The highest version of the protocol.
    pub version: String,
    /// The transport: `http` or `https`.
    pub transport: String,
    /// The HTTP methods, such as `GET POST SOAP`.
    pub method: String,
    /// The host name or address.
    pub host: String,
    /// The port, if the description states it.
    pub port: Option<u16>,
    /// The name of the database, which is the path of its URL.
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

/// `databaseInfo`: the title and description of the database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ZeeRexDatabase {
    /// The title of the database.
    pub title: String,
    /// The description of the database. The text may be empty.
    pub description: String,
    /// The contact for the database. The text may be empty.
    pub contact: String,
    /// The server's program.
    pub implementation: Option<ZeeRexImplementation>,
    /// Links to the same database over other protocols, and to other databases on the server. Each link has a type and
    /// a URL, such as `z39.50` and `z39.50s://lib.example:210/books`.
    pub links: Vec<(String, String)>,
}

/// `implementation`: the server's program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ZeeRexImplementation {
    /// The identifier of the program. The text may be empty.
    pub identifier: String,
    /// The version of the program. The text may be empty.
    pub version: String,
    /// The name of the program.
    pub title: String,
}

/// `metaInfo`: the dates and the origin of the description.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ZeeRexMeta {
    /// The date and time of the last change to the description, such as `2026-11-22 02:00:00`.
    pub date_modified: Option<String>,
    /// The source from which the description was copied, as the `z39.50r` URL of a record.
    pub aggregated_from: Option<String>,
    /// The date and time at which the description was copied.
    pub date_aggregated: Option<String>,
}

/// `set`: a CQL context set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContextSet {
    /// The prefix of the context set.
    pub name: String,
    /// The identifier of the context set.
    pub identifier: String,
    /// The title of the context set. The text may be empty.
    pub title: String,
}

/// `index`: an index of the database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ZeeRexIndex {
    /// The title of the index. The text may be empty.
    pub title: String,
    /// Whether the index can be searched; `None` if the description does not say so.
    pub search: Option<bool>,
    /// Whether the index can be scanned.
    pub scan: Option<bool>,
    /// Whether results can be sorted by the index.
    pub sort: Option<bool>,
    /// The names of the index in queries.
    pub maps: Vec<ZeeRexMap>,
    /// The supported features of the index, each with a type and value, such as `relation` and `=`.
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

/// `map`: a name for an index, in CQL or as attributes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ZeeRexMap {
    /// A name in CQL, with the prefix of its context set, which may be empty.
    Name {
        /// The prefix of the context set.
        set: String,
        /// The name within the context set.
        name: String,
    },
    /// Attributes for type-1 queries.
    Attributes(Vec<ZeeRexAttribute>),
}

/// `attr`: an attribute of a type-1 query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZeeRexAttribute {
    /// The attribute set, such as `bib-1`. The text may be empty.
    pub set: String,
    /// The type of the attribute, such as 1 for Use.
    pub attribute_type: i64,
    /// The value of the attribute, which is a number or a name.
    pub value: String,
}

/// `schema`: a schema for records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ZeeRexSchema {
    /// The short name of the schema.
    pub name: String,
    /// The identifier of the schema.
    pub identifier: String,
    /// The title of the schema. The text may be empty.
    pub title: String,
    /// Whether records can be retrieved in this schema; `None` if the description does not say so.
    pub retrieve: Option<bool>,
    /// Whether results can be sorted by the schema.
    pub sort: Option<bool>,
}

impl ZeeRexSchema {
    /// Creates a schema in which records can be retrieved.
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

/// `configInfo`: the configuration of the server, as pairs of types and values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ZeeRexConfig {
    /// The values that apply unless a request specifies them, such as `numberOfRecords` and `10`.
    pub defaults: Vec<(String, String)>,
    /// The values that always apply, such as `maximumRecords` and `50`.
    pub settings: Vec<(String, String)>,
    /// The supported features, such as `scan`. The values may be empty.
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

    /// Returns whether a feature is supported; its value does not matter.
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

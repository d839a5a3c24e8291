//! The values of a `[[database]]` table of any kind, as collected while the table is read.

use std::fmt;
use std::path::PathBuf;

use z3950_front::engine::IndexUses;
use z3950_front::engine::opensearch::{ClusterAddress, ClusterOptions};
use z3950_front::remote::RemoteOptions;
use z3950_server::memory::{AccessPoints, DatabaseFiles, DocidField};

use crate::config::section::{Section, Value};
use crate::config::setting::Table;

/// The settings of a `[[database]]` table. It collects the settings of every kind of database, because the kind is only known
/// when the whole table has been read.
pub(in crate::config) struct DatabaseTable {
    pub(in crate::config) files: DatabaseFiles,
    pub(in crate::config) remote: RemoteOptions,
    pub(in crate::config) cluster: ClusterSettings,
    /// The map of an index that belongs to another program.
    pub(in crate::config) map: Option<MapSource>,
    /// The indexes of all databases.
    pub(in crate::config) points: AccessPoints,
}

impl Default for DatabaseTable {
    fn default() -> Self {
        Self {
            files: DatabaseFiles::default(),
            remote: RemoteOptions::new("", [""; 0]),
            cluster: ClusterSettings::new(ClusterOptions::new("", Vec::new())),
            map: None,
            points: AccessPoints::default(),
        }
    }
}

/// A database in an index of OpenSearch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClusterSettings {
    /// The options, without the contents of files.
    pub(crate) options: ClusterOptions,
    /// The file with the certificates to trust, in PEM.
    pub(crate) ca: Option<PathBuf>,
    /// The file with a name and password, or an API key.
    pub(crate) credentials: Option<PathBuf>,
    /// The docid field of the records; `None` to use the default for all databases.
    pub(crate) docid: Option<DocidField>,
    /// The indexes that are used for sorting, facets or scans.
    pub(crate) uses: IndexUses,
    /// The line of the settings file that contains the engine's address, counted from 1, for errors about an index that does not
    /// match the settings.
    pub(crate) line: usize,
}

impl ClusterSettings {
    /// Creates a database with these options, and with default settings otherwise.
    pub(crate) fn new(options: ClusterOptions) -> Self {
        Self {
            options,
            ca: None,
            credentials: None,
            docid: None,
            uses: IndexUses::default(),
            line: 0,
        }
    }
}

/// The origin of a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MapSource {
    /// A built-in map, by its name.
    Shipped(String),
    /// A file.
    File(PathBuf),
}

impl fmt::Display for MapSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shipped(name) => write!(f, "the map {name}"),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

/// Reads the addresses of an engine's servers. Until the complete settings file has been read, the field `line` holds a position
/// in the text instead of a line number.
pub(in crate::config) fn addresses(value: &Value<'_>, table: &mut DatabaseTable) {
    let items = value.items();
    if items.is_empty() {
        value.note_key("there is no address");
    }
    for item in items {
        table.cluster.line = item.at();
        let known = &mut table.cluster.options.addresses;
        let read = if value.section.has("catalogue") {
            ClusterAddress::of_catalogue
        } else {
            str::parse
        };
        if let Some(address) = item.parse(read) {
            if known.iter().any(|known| known.is_same_server(&address)) {
                item.note_key(format_args!("{address} is listed twice"));
            }
            known.push(address);
        }
    }
}

/// Notes an error for each key of `table` that is present. The error says that such keys are only valid for databases with
/// `what`.
pub(in crate::config) fn note_keys_of(
    section: &Section<'_>,
    table: &Table<DatabaseTable>,
    what: &str,
) {
    let keys = table.settings.iter().map(|setting| setting.key);
    for key in keys.filter(|key| !["name", "targets"].contains(key) && section.has(key)) {
        section.note(format!("{key} is for databases with {what}"));
    }
}

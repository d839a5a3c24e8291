//! Databases in indexes that belong to other programs, which are described by `[[database]]` tables with `engine` and `catalogue`.

use std::path::PathBuf;

use z3950_front::engine::catalogue::{CatalogueMap, CatalogueOptions};

use super::databases::table::{DatabaseTable, MapSource, addresses};
use super::section::{Section, Value};
use super::setting::settings;

/// A database in an index that belongs to another program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CatalogueSettings {
    /// The options, without the contents of files.
    pub(crate) options: CatalogueOptions,
    /// The map of the index.
    pub(crate) map: MapSource,
    /// The file with the certificates to trust, in PEM.
    pub(crate) ca: Option<PathBuf>,
    /// The file with a name and password, or an API key.
    pub(crate) credentials: Option<PathBuf>,
    /// The line of the settings file that contains the engine's address, counted from 1, for errors about an index that does not
    /// fit the map.
    pub(crate) line: usize,
}

settings! {
    /// A database in an index that belongs to another program: Koha, VuFind or Blacklight. The index is only read. `z3950d
    /// try-catalogue` examines an index; ca, credentials, answer-time, connections and strict are as above.
    CATALOGUE "[[database]]": DatabaseTable = DatabaseTable::default() => {
        ///name = "library"
        "name": Other(|_, _| ());
        /// Addresses of nodes of one cluster, each with the index, or with the core or collection, such as
        /// http://127.0.0.1:8983/solr/biblio. The nodes take turns in answering requests.
        ///engine = "http://127.0.0.1:9200/koha_library_biblios"
        "engine": Other(|table, value| addresses(value, table));
        /// The map of the index: koha, vufind, blacklight, or a file that contains a map. `z3950d --print-map koha` prints a map
        /// that can be changed.
        ///catalogue = "koha"
        "catalogue": Other(|table, value| map(value, table));
    }
}

/// The keys of a `[[database]]` table that are only valid for indexes that this program creates.
const OWN: [&str; 6] = ["docid", "shards", "replicas", "sort", "facets", "scan"];

/// Reads the setting that names the map of a catalogue: a built-in map or a file.
fn map(value: &Value<'_>, table: &mut DatabaseTable) {
    let names: Vec<&str> = CatalogueMap::names().collect();
    table.map = value.parse(|text| {
        if names.contains(&text) {
            Ok(MapSource::Shipped(text.to_owned()))
        } else if text.ends_with(".toml") {
            Ok(MapSource::File(value.section.folder.join(text)))
        } else {
            let names = names.join(", ");
            Err(format!(
                "expected {names}, or a file with a map such as map.toml"
            ))
        }
    });
}

/// Returns the settings of a database with a map. Notes an error for each key that is only valid for other databases.
pub(super) fn read(
    section: &Section<'_>,
    table: &DatabaseTable,
    map: MapSource,
) -> CatalogueSettings {
    for key in OWN.into_iter().filter(|key| section.has(key)) {
        section.note(format!(
            "{key} is not for a database with catalogue: its map says so"
        ));
    }
    let (cluster, files) = (&table.cluster, &table.files);
    let own = &cluster.options;
    let mut options = CatalogueOptions::new(&*files.name, own.addresses.clone());
    options.title.clone_from(&files.title);
    options.description.clone_from(&files.description);
    options.answer_time = own.answer_time;
    options.connections = own.connections;
    options.strict = own.strict;
    CatalogueSettings {
        options,
        map,
        ca: cluster.ca.clone(),
        credentials: cluster.credentials.clone(),
        line: cluster.line,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use super::MapSource;
    use crate::config::Config;

    #[test]
    fn settings_are_read() {
        let text = "\n[[database]]\nname = \"town\"\ntitle = \"All\"\ncatalogue = \"koha\"\n\
            engine = [\"https://a:1/koha_biblios\", \"https://b:1/koha_biblios\"]\nca = \"ca.pem\"\ncredentials = \"secret\"\n\
            answer-time = \"2s\"\nconnections = 3\nstrict = true\n\
            [[database]]\nname = \"other\"\nengine = \"http://a:1/solr/biblio\"\ncatalogue = \"maps/own.toml\"";
        let config = Config::parse(text, Path::new("/etc")).expect(text);
        assert!(config.databases.is_empty() && config.clusters.is_empty());
        let [town, other] = &*config.catalogues else {
            panic!("{:?}", config.catalogues);
        };
        let options = &town.options;
        assert_eq!(
            (&*options.name, options.title.as_deref()),
            ("town", Some("All"))
        );
        let places: Vec<String> = options.addresses.iter().map(ToString::to_string).collect();
        assert_eq!(places, ["a:1", "b:1"]);
        assert_eq!(options.answer_time, Duration::from_secs(2));
        assert_eq!((options.connections, options.strict), (3, true));
        assert_eq!(town.map, MapSource::Shipped("koha".to_owned()));
        assert_eq!(town.ca.as_deref(), Some(Path::new("/etc/ca.pem")));
        assert_eq!(town.credentials.as_deref(), Some(Path::new("/etc/secret")));
        assert_eq!((town.line, other.line), (6, 14));
        assert_eq!(other.map, MapSource::File("/etc/maps/own.toml".into()));
        assert_eq!(other.options.addresses[0].index, "solr/biblio");
    }

    #[test]
    fn errors_are_named() {
        let engine = "name = \"a\"\nengine = \"http://a:1/b\"";
        for (table, expected) in [
            (
                "name = \"a\"\nfiles = [\"b\"]\ncatalogue = \"koha\"".to_owned(),
                "catalogue is for databases with an engine",
            ),
            (
                format!("{engine}\ncatalogue = \"kooha\""),
                "or a file with a map such as map.toml",
            ),
            (
                format!("{engine}\ncatalogue = 1"),
                "catalogue is not a text",
            ),
            (
                format!("{engine}\ncatalogue = \"koha\"\nshards = 2"),
                "shards is not for a database with catalogue",
            ),
            (
                format!("{engine}\ncatalogue = \"koha\"\ndocid = \"001\""),
                "docid is not for a database with catalogue",
            ),
            (
                format!("{engine}\ncatalogue = \"koha\"\nfiles = [\"x\"]"),
                "either an engine, or targets, or files",
            ),
            (
                "name = \"a\"\nengine = [\"http://a:1/b\", \"http://c:1/d\"]\ncatalogue = \"koha\""
                    .to_owned(),
                "must have the same index",
            ),
            // Without a map, the path of an address is only the name of an index, which cannot have several parts.
            (
                "name = \"a\"\nengine = \"http://a:1/solr/biblio\"".to_owned(),
                "an index has a name of up to 200",
            ),
        ] {
            let text = format!("[[database]]\n{table}");
            let errors = Config::parse(&text, Path::new("")).expect_err(&text);
            let is_named = errors.iter().any(|(_, reason)| reason.contains(expected));
            assert!(is_named, "{text}: {errors:?}");
        }
    }
}

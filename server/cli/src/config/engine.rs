//! Databases in a search engine, which are described by `[[database]]` tables with `engine`.

use std::fmt::Display;
use std::time::Duration;

use z3950_front::engine::named_indexes;
use z3950_front::engine::opensearch::ClusterOptions;

use super::databases::table::{DatabaseTable, addresses, note_keys_of};
use super::section::{Section, Value, text};
use super::setting::settings;

settings! {
    /// A database in a search engine: an index of OpenSearch 2 or later, or of Elasticsearch 7.10 to 9, which `z3950d engine-create` creates
    /// and `z3950d load` fills.
    ENGINE "[[database]]": DatabaseTable = DatabaseTable::default() => {
        ///name = "million"
        "name": Other(|_, _| ());
        /// Addresses of nodes of one cluster, each with the index. The nodes take turns in answering requests. https:// encrypts
        /// the connection.
        ///engine = ["https://node-1.example.org:9200/books", "https://node-2.example.org:9200/books"]
        "engine": Other(|table, value| addresses(value, table));
        /// Trust these certificates for https:// in addition to the system's, in PEM.
        ///ca = "ca.pem"
        "ca": Path(|table| &mut table.cluster.ca);
        /// A file with one line, NAME:PASSWORD or ApiKey KEY, for a cluster that requires credentials.
        ///credentials = "engine.password"
        "credentials": Path(|table| &mut table.cluster.credentials);
        /// The number of shards of an index that is created, each on one node, and the number of copies of each shard on other
        /// nodes.
        "shards": Number(Count, 1, |table| &mut table.cluster.options.shards);
        "replicas": Number(Count, 0, |table| &mut table.cluster.options.replicas);
        /// The indexes that can be used for sorting, for facets and for scans.
        ///sort = ["title", "author", "date", "publicationdate", "publisher"]
        "sort": Other(|table, value| table.cluster.uses.sort = texts(value, |names| named_indexes(&table.points, names)));
        ///facets = ["author", "subject", "date", "language", "publisher", "recordtype"]
        "facets": Other(|table, value| table.cluster.uses.facets = texts(value, |names| named_indexes(&table.points, names)));
        ///scan = ["any", "title", "author", "subject", "isbn", "issn", "date", "publisher", "language"]
        "scan": Other(|table, value| table.cluster.uses.scan = texts(value, |names| named_indexes(&table.points, names)));
        /// The longest wait for an answer, and the maximum number of connections to each server.
        "answer-time": Number(Time, MILLISECOND, |table| &mut table.cluster.options.answer_time);
        "connections": Number(Count, 1, |table| &mut table.cluster.options.connections);
        /// Whether a search fails if a node does not answer. Otherwise, the search finds only the records on the other nodes, and
        /// the answer says so. --strict sets this for all databases.
        "strict": Flag(|table| &mut table.cluster.options.strict);
    }
}

/// The maximum value of the setting `answer-time`.
const LONGEST: Duration = Duration::from_secs(3600);

/// Notes an error for each number that is too large. An engine refuses to create an index with more shards than the limit used
/// here.
fn note_large(section: &Section<'_>, options: &ClusterOptions) {
    for (key, is_large, most) in [
        ("shards", options.shards > 1024, "1024"),
        ("replicas", options.replicas > 100, "100"),
        ("connections", options.connections > 1000, "1000"),
        ("answer-time", options.answer_time > LONGEST, "60m"),
    ] {
        if let Some(value) = section.value(key).filter(|_| is_large) {
            value.note(format_args!("{key} must be at most {most}"));
        }
    }
}

/// Returns whether the database is in a search engine. Notes an error for each key that contradicts this.
pub(super) fn is_chosen(section: &Section<'_>, table: &DatabaseTable) -> bool {
    if !section.has("engine") {
        note_keys_of(section, &ENGINE, "an engine");
        return false;
    }
    if ["files", "save", "targets"]
        .iter()
        .any(|key| section.has(key))
    {
        section.note("a database has either an engine, or targets, or files and save");
    }
    note_large(section, &table.cluster.options);
    let addresses = &table.cluster.options.addresses;
    let mut indexes = addresses.iter().map(|address| &address.index);
    let first = indexes.next();
    if indexes.any(|index| Some(index) != first) {
        section.note("the addresses of an engine must have the same index");
    }
    if table.cluster.ca.is_some() && !addresses.iter().any(|address| address.is_secure) {
        section.note("ca is for https://");
    }
    true
}

/// Parses each string of a list. Errors are noted.
fn texts<T, E: Display>(
    value: &Value<'_>,
    read: impl FnOnce(&[String]) -> Vec<Result<T, E>>,
) -> Vec<String> {
    let (items, texts): (Vec<_>, Vec<_>) = value.listed("a text", text).into_iter().unzip();
    for (item, read) in items.into_iter().zip(read(&texts)) {
        if let Err(error) = read {
            item.note_key(error);
        }
    }
    texts
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use z3950_front::engine::IndexUses;

    use crate::config::Config;

    #[test]
    fn settings_are_read() {
        let text = "\n[[database]]\nname = \"books\"\ntitle = \"All\"\ndocid = \"035$a\"\n\
            engine = [\"https://a:1/b\", \"https://[::1]:2/b\"]\nca = \"ca.pem\"\ncredentials = \"secret\"\nshards = 5\n\
            replicas = 0\nsort = [\"title\"]\nscan = []\nanswer-time = \"2s\"\nconnections = 3\nstrict = true";
        let config = Config::parse(text, Path::new("/etc")).expect(text);
        assert!(config.databases.is_empty() && config.remotes.is_empty());
        let [books] = &*config.clusters else {
            panic!("{:?}", config.clusters);
        };
        let options = &books.options;
        let places: Vec<String> = options.addresses.iter().map(ToString::to_string).collect();
        assert_eq!(places, ["a:1", "[::1]:2"]);
        assert_eq!(
            (&*options.name, options.title.as_deref()),
            ("books", Some("All"))
        );
        assert_eq!((options.shards, options.replicas), (5, 0));
        assert_eq!(options.answer_time, Duration::from_secs(2));
        assert_eq!((options.connections, options.strict), (3, true));
        assert_eq!(books.ca.as_deref(), Some(Path::new("/etc/ca.pem")));
        assert_eq!(books.credentials.as_deref(), Some(Path::new("/etc/secret")));
        let uses = IndexUses {
            sort: vec!["title".to_owned()],
            scan: Vec::new(),
            ..IndexUses::default()
        };
        assert_eq!((books.line, &books.uses), (6, &uses));
        assert!(books.docid.is_some());
    }

    #[test]
    fn errors_are_named() {
        let engine = "name = \"a\"\nengine = \"http://a:1/b\"";
        for (table, expected) in [
            (
                "name = \"a\"\nengine = \"a:1\"".to_owned(),
                "expected an address such as",
            ),
            (
                "name = \"a\"\nengine = 1".to_owned(),
                "engine is not a text",
            ),
            (
                "name = \"a\"\nengine = []".to_owned(),
                "engine: there is no address",
            ),
            (
                "name = \"a\"\nengine = [\"http://a:1/b\", \"http://b:1/c\"]".to_owned(),
                "must have the same index",
            ),
            (
                "name = \"a\"\nengine = [\"http://a:1/b\", \"http://A:1/b\"]".to_owned(),
                "engine: A:1 is listed twice",
            ),
            (
                "name = \"a\"\nengine = \"http://name:password@a:1/b\"".to_owned(),
                "belong in the file of credentials",
            ),
            (
                "name = \"a\"\nengine = \"http://a:1/b\"\nca = \"c\"".to_owned(),
                "ca is for https://",
            ),
            (
                "name = \"a\"\nengine = [\"http://localhost:1/b\", \"https://127.0.0.1:1/b\"]"
                    .to_owned(),
                "engine: 127.0.0.1:1 is listed twice",
            ),
            (
                format!("{engine}\nfiles = [\"x\"]"),
                "either an engine, or targets, or files",
            ),
            (
                format!("{engine}\nconnections = 0"),
                "connections must be at least 1",
            ),
            (
                format!("{engine}\nanswer-time = 0"),
                "answer-time must be at least 1ms",
            ),
            (
                "name = \"a\"\nfiles = [\"b\"]\nstrict = true".to_owned(),
                "strict is for databases with an engine",
            ),
            (
                format!("{engine}\nscan = [1]"),
                "scan holds a value that is not a text",
            ),
        ] {
            let text = format!("[[database]]\n{table}");
            let errors = Config::parse(&text, Path::new("")).expect_err(&text);
            let is_named = errors.iter().any(|(_, reason)| reason.contains(expected));
            assert!(is_named, "{text}: {errors:?}");
        }
    }

    #[test]
    fn audit_r_l1_numbers_that_are_too_large_are_named_each_with_its_line() {
        let text = |shards: u64, replicas: u64, connections: u64, time: &str| {
            format!(
                "[[database]]\nname = \"a\"\nengine = \"http://a:1/b\"\nshards = {shards}\nreplicas = {replicas}\n\
                 connections = {connections}\nanswer-time = {time}"
            )
        };
        let parse = |text: &str| Config::parse(text, Path::new(""));
        let most = text(1024, 100, 1000, "\"60m\"");
        assert!(parse(&most).is_ok(), "{most}");
        for too_large in [
            text(1025, 101, 1001, "3601"),
            text(5_000_000_000_u64, 5_000_000_000, 5_000_000_000, "1000000"),
        ] {
            let errors = parse(&too_large).expect_err(&too_large);
            let expected = [
                (4, "[[database]] shards must be at most 1024".to_owned()),
                (5, "[[database]] replicas must be at most 100".to_owned()),
                (
                    6,
                    "[[database]] connections must be at most 1000".to_owned(),
                ),
                (7, "[[database]] answer-time must be at most 60m".to_owned()),
            ];
            assert_eq!(errors, expected);
        }
    }

    /// If the address of a database is invalid, no further errors are reported for this database.
    #[test]
    fn audit_r_l1_a_database_without_an_address_is_left_out() {
        for map in ["", "catalogue = \"koha\"\n"] {
            let text = format!("[[database]]\nname = \"a\"\nengine = \"x\"\n{map}");
            let (config, errors) = Config::parse_in_part(&text, Path::new(""));
            let config = config.expect("the rest");
            assert_eq!(errors.len(), 1, "{errors:?}");
            assert!(config.clusters.is_empty() && config.catalogues.is_empty());
            assert!(config.databases.is_empty());
        }
    }

    #[test]
    fn databases_in_sphinx_search_are_refused_with_advice() {
        let text = "[[database]]\nname = \"a\"\nengine = \"sphinxql://a:1/b\"";
        let errors = Config::parse(text, Path::new("")).expect_err(text);
        let [(3, reason)] = &*errors else {
            panic!("{errors:?}");
        };
        let words = "create an index in OpenSearch with z3950d engine-create";
        assert!(reason.contains(words), "{reason}");
    }

    #[test]
    fn names_of_indexes_are_checked_each_with_its_line() {
        let text = "[[database]]\nname = \"a\"\nengine = \"http://a:1/b\"\nsort = [\"title\",\n\"titel\"]\nfacets = [\"docid\"]\nscan = [\"shelf\", \"author\",\n\"au\"]\n\
            [[index]]\nname = \"shelf\"\nmarc21 = \"900$a\"";
        let errors = Config::parse(text, Path::new("")).expect_err(text);
        let expected = [
            (5, "sort: there is no index titel"),
            (6, "facets: the index docid is for searches only"),
            (8, "scan: the index au is listed twice"),
        ];
        assert_eq!(errors.len(), expected.len(), "{errors:?}");
        for ((line, reason), (expected_line, words)) in errors.iter().zip(expected) {
            let expected = format!("[[database]] {words}");
            assert!(reason.starts_with(&expected), "{reason}");
            assert_eq!(*line, expected_line, "{reason}");
        }
    }
}

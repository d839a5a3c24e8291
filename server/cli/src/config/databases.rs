//! The `[[database]]` tables, which describe databases backed by files, by targets on other servers, or by search engines.

pub(super) mod table;

use std::collections::BTreeSet;
use std::mem;

use z3950_server::memory::DatabaseFiles;

use self::table::{DatabaseTable, note_keys_of};
use super::catalogue::{self, CATALOGUE};
use super::engine::{self, ENGINE};
use super::remote::REMOTE;
use super::section::{Section, text};
use super::setting::{parse, settings};
use super::{Config, remote};
use crate::files::NamedFile;

settings! {
    /// A database. Repeat the table for further databases.
    DATABASE "[[database]]": DatabaseTable = DatabaseTable::default() => {
        ///name = "books"
        "name": Required(|table, value| value.set("a text", text, &mut table.files.name));
        ///title = "Books of the town library"
        "title": Text(|table| &mut table.files.title);
        ///description = "Everything on the shelves since 1950"
        "description": Text(|table| &mut table.files.description);
        /// Files, or folders of files: ISO 2709, MARCXML, MARC-in-JSON, MARCMaker text, or the lines that YAZ prints.
        ///files = ["books.mrc", "more"]
        "files": Paths(|table| &mut table.files.paths);
        ///docid = "035$a"
        "docid": Parsed(|table, text| parse(text).map(|docid| table.files.docid = Some(docid)));
        /// Updates by clients are written to saved.mrc.journal first, and then to this file. Once the file exists, it and the
        /// journal are read instead of `files`.
        ///save = "saved.mrc"
        "save": Path(|table| &mut table.files.save);
    }
}

/// Reads all databases. The indexes must be read first.
pub(super) fn read(top: &Section<'_>, config: &mut Config) {
    let Some(value) = top.value("database") else {
        return;
    };
    let mut names = BTreeSet::new();
    value.tables(|section| {
        let mut table = DatabaseTable {
            points: config.access_points.clone(),
            ..DatabaseTable::default()
        };
        section.fill(&[&DATABASE, &REMOTE, &ENGINE, &CATALOGUE], &mut table);
        let is_in_engine = engine::is_chosen(section, &table);
        if !is_in_engine {
            note_keys_of(section, &CATALOGUE, "an engine");
        }
        if !names.insert(table.files.name.to_lowercase()) {
            section.note("a database of this name already exists");
        }
        if is_in_engine && table.cluster.options.addresses.is_empty() {
            // The missing address has already been reported.
            return;
        }
        if is_in_engine && section.has("catalogue") {
            if let Some(map) = table.map.take() {
                let settings = catalogue::read(section, &table, map);
                config.catalogues.push(settings);
            }
            return;
        }
        let files = table.files;
        if is_in_engine {
            let mut cluster = table.cluster;
            let options = &mut cluster.options;
            options.name = files.name;
            (options.title, options.description) = (files.title, files.description);
            cluster.docid = files.docid;
            config.clusters.push(cluster);
        } else if remote::is_chosen(section, &files.name, &table.remote) {
            let mut remote = table.remote;
            remote.name = files.name;
            (remote.title, remote.description) = (files.title, files.description);
            config.remotes.push(remote);
        } else {
            if files.paths.is_empty() && files.save.is_none() {
                section.note("without files, save, targets and engine, it has no records");
            }
            config.databases.push(files);
        }
    });
}

/// The command-line options for databases, except the files, which are stored elsewhere because they need not have a name on the
/// command line.
#[derive(Debug, Default)]
pub(crate) struct GivenDatabases {
    pub(super) saves: Vec<NamedFile>,
    pub(super) is_strict: bool,
}

impl Config {
    /// Replaces each database that has the same name as one in `files`, which are from the command line, and applies the other
    /// command-line options for databases.
    pub(crate) fn replace_databases(&mut self, files: Vec<NamedFile>) {
        let given = mem::take(&mut self.given_databases);
        let names: BTreeSet<_> = files
            .iter()
            .map(|named| named.name.to_lowercase())
            .collect();
        let databases = &mut self.databases;
        databases.retain(|database| !names.contains(&database.name.to_lowercase()));
        for NamedFile { name, path } in files {
            change(databases, &name, |database| database.paths.push(path));
        }
        for NamedFile { name, path } in given.saves {
            change(databases, &name, |database| database.save = Some(path));
        }
        for cluster in &mut self.clusters {
            cluster.options.strict |= given.is_strict;
        }
        for catalogue in &mut self.catalogues {
            catalogue.options.strict |= given.is_strict;
        }
    }
}

/// Changes the database that has this name. If it does not exist, it is added first.
fn change(databases: &mut Vec<DatabaseFiles>, name: &str, change: impl FnOnce(&mut DatabaseFiles)) {
    let mut known = databases.iter_mut();
    if let Some(database) = known.find(|known| known.name.to_lowercase() == name.to_lowercase()) {
        return change(database);
    }
    let mut database = DatabaseFiles::default();
    database.name = name.to_owned();
    change(&mut database);
    databases.push(database);
}

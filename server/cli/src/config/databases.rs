//! The databases: `[[database]]`.

use std::collections::BTreeSet;
use std::path::Path;
use std::str::FromStr;

use z3950_server::memory::{DatabaseFiles, DocidField};

use super::section::{Section, word};

pub(super) fn read(top: &Section<'_>, folder: &Path) -> Vec<DatabaseFiles> {
    let mut names = BTreeSet::new();
    top.sections("database", |section| {
        let name = section.need("name", "a text", word).map(str::to_owned);
        let mut database = DatabaseFiles::default();
        database.name = name.unwrap_or_default();
        database.title = section.text("title");
        database.description = section.text("description");
        database.paths = section.list("files", "a path", |value| {
            word(value).map(|text| folder.join(text))
        });
        database.docid = section.parse("docid", DocidField::from_str);
        database.save = section.path("save", folder);
        if database.paths.is_empty() && database.save.is_none() {
            section.note_whole("a database without files and without save has no records");
        }
        if !names.insert(database.name.to_lowercase()) {
            section.note_whole("a database of this name is there already");
        }
        database
    })
}

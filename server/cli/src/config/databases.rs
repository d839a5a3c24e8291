//! The databases: `[[database]]`.

use std::collections::BTreeSet;
use std::path::Path;
use std::str::FromStr;

use z3950_server::memory::{DatabaseFiles, DocidField};

use super::section::{Section, word};

pub(super) fn read(top: &Section<'_>, folder: &Path) -> Vec<DatabaseFiles> {
    let mut names = BTreeSet::new();
    top.sections("database", |section| {
        let text = |key| section.read(key, "a text", word).map(str::to_owned);
        let name = section.need("name", "a text", word).map(str::to_owned);
        let path = |text: &str| folder.join(text);
        let mut database = DatabaseFiles::default();
        database.name = name.unwrap_or_default();
        database.title = text("title");
        database.description = text("description");
        database.paths = section.list("files", "a path", |value| word(value).map(path));
        database.docid = section.parse("docid", DocidField::from_str);
        database.save = section.read("save", "a path", word).map(path);
        if database.paths.is_empty() && database.save.is_none() {
            section.note_whole("a database without files and without save has no records");
        }
        if !names.insert(database.name.to_lowercase()) {
            section.note_whole("a database of this name is there already");
        }
        database
    })
}

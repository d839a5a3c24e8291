//! Reads tables of a settings file. Every wrong value and unknown key is noted with its position, and reading continues.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use z3950_server::units;

use super::setting::Table;

/// The errors so far: the position in the text, in octets, and the message.
#[derive(Debug, Default)]
pub(super) struct Notes(RefCell<Vec<(usize, String)>>);

impl Notes {
    pub(super) fn add(&self, at: usize, reason: impl Into<String>) {
        self.0.borrow_mut().push((at, reason.into()));
    }

    /// All of them, in the order of the text.
    pub(super) fn into_sorted(self) -> Vec<(usize, String)> {
        let mut notes = self.0.into_inner();
        notes.sort();
        notes
    }
}

/// A table being read.
pub(super) struct Section<'a> {
    notes: &'a Notes,
    /// The folder that paths are relative to.
    folder: &'a Path,
    /// Its header, such as `[limits]` or `[[database]]`; empty for the top-level table.
    header: String,
    table: &'a DeTable<'a>,
    at: usize,
}

impl<'a> Section<'a> {
    /// The top-level table.
    pub(super) fn top(notes: &'a Notes, folder: &'a Path, table: &'a DeTable<'a>) -> Self {
        Self {
            notes,
            folder,
            header: String::new(),
            table,
            at: 0,
        }
    }

    /// Sets the fields of the settings that are given, in the order of their description. A key that is described in several of the
    /// tables is read once. Unknown keys are noted, and required ones that are missing.
    pub(super) fn fill<T>(&self, tables: &[&Table<T>], into: &mut T) {
        let mut known = BTreeSet::new();
        for setting in tables.iter().flat_map(|table| table.settings) {
            let is_first = known.insert(setting.key);
            match self.value(setting.key) {
                Some(value) if is_first => setting.read(&value, into),
                None if is_first && setting.is_required => {
                    self.note(format!("{} is missing", setting.key));
                }
                _ => {}
            }
        }
        let known: Vec<_> = known.into_iter().collect();
        for key in self.table.keys() {
            let name: &str = key.get_ref();
            if !known.contains(&name) {
                let known = known.join(", ");
                let reason = format!("unknown key {name:?}; known keys: {known}");
                self.note_at(key.span().start, reason);
            }
        }
    }

    /// Whether the key is present.
    pub(super) fn has(&self, key: &'static str) -> bool {
        self.value(key).is_some()
    }

    /// The folder that paths are relative to.
    pub(super) fn folder(&self) -> &'a Path {
        self.folder
    }

    /// The value of a key.
    pub(super) fn value(&self, key: &'static str) -> Option<Value<'_>> {
        let mut entries = self.table.iter();
        let (_, value) = entries.find(|(known, _)| known.get_ref() == key)?;
        Some(Value {
            section: self,
            key,
            is_listed: false,
            value,
        })
    }

    /// Notes an error about the table.
    pub(super) fn note(&self, reason: impl Into<String>) {
        self.note_at(self.at, reason);
    }

    fn note_at(&self, at: usize, reason: impl Into<String>) {
        let reason = reason.into();
        self.notes.add(
            at,
            match &*self.header {
                "" => reason,
                header => format!("{header} {reason}"),
            },
        );
    }
}

/// The value of a key, or one of the values in its list.
#[derive(Clone, Copy)]
pub(super) struct Value<'a> {
    section: &'a Section<'a>,
    pub(super) key: &'static str,
    is_listed: bool,
    value: &'a Spanned<DeValue<'a>>,
}

impl<'a> Value<'a> {
    /// The value. `None`, and a note of what was expected, if it is wrong.
    pub(super) fn read<V>(
        &self,
        what: &str,
        convert: impl FnOnce(&'a DeValue<'a>) -> Option<V>,
    ) -> Option<V> {
        self.convert("is not", what, convert)
    }

    fn convert<V>(
        &self,
        fault: &str,
        what: &str,
        convert: impl FnOnce(&'a DeValue<'a>) -> Option<V>,
    ) -> Option<V> {
        let converted = convert(self.value.get_ref());
        if converted.is_none() {
            self.note(format!("{} {fault} {what}", self.key));
        }
        converted
    }

    /// Sets a field to the value, unless it is wrong.
    pub(super) fn set<V, F: From<V>>(
        &self,
        what: &str,
        convert: impl FnOnce(&'a DeValue<'a>) -> Option<V>,
        field: &mut F,
    ) {
        if let Some(value) = self.read(what, convert) {
            *field = value.into();
        }
    }

    /// The value, if it is a text.
    pub(super) fn text(&self) -> Option<&'a str> {
        string(self.value.get_ref())
    }

    /// A path, relative to the folder of the file.
    pub(super) fn path(&self) -> Option<PathBuf> {
        Some(self.folder().join(self.read("a path", word)?))
    }

    /// What a text says. An error of the parser is noted.
    pub(super) fn parse<V, E: Display>(
        &self,
        parse: impl FnOnce(&'a str) -> Result<V, E>,
    ) -> Option<V> {
        let parsed = parse(self.read("a text", string)?);
        parsed
            .map_err(|reason| self.note(format!("{}: {reason}", self.key)))
            .ok()
    }

    /// The values of a list, or the single value.
    pub(super) fn items(&self) -> Vec<Value<'a>> {
        match self.value.get_ref() {
            DeValue::Array(values) => values
                .iter()
                .map(|value| Value {
                    is_listed: true,
                    value,
                    ..*self
                })
                .collect(),
            _ => vec![*self],
        }
    }

    /// The values of a list, each converted; wrong ones are noted and left out.
    pub(super) fn list<V>(
        &self,
        what: &str,
        convert: impl Fn(&'a DeValue<'a>) -> Option<V>,
    ) -> Vec<V> {
        let items = self.items().into_iter();
        items
            .filter_map(|item| item.listed(what, &convert))
            .collect()
    }

    /// One of the values of a list. `None`, and a note of what was expected, if it is wrong.
    pub(super) fn listed<V>(
        &self,
        what: &str,
        convert: impl FnOnce(&'a DeValue<'a>) -> Option<V>,
    ) -> Option<V> {
        self.convert("holds a value that is not", what, convert)
    }

    /// The paths of a list, relative to the folder of the file.
    pub(super) fn paths(&self) -> Vec<PathBuf> {
        let paths = self.list("a path", word).into_iter();
        paths.map(|path| self.folder().join(path)).collect()
    }

    /// Takes in each text of a list. Errors are noted.
    pub(super) fn each<E: Display>(&self, mut take: impl FnMut(&'a str) -> Result<(), E>) {
        for item in self.items() {
            if let Some(Err(reason)) = item.listed("a text", string).map(&mut take) {
                item.note(format!("{}: {reason}", self.key));
            }
        }
    }

    /// Reads a table.
    pub(super) fn table<R>(&self, read: impl FnOnce(&Section<'_>) -> R) -> Option<R> {
        let DeValue::Table(table) = self.value.get_ref() else {
            self.note(format!("{} is not a table", self.key));
            return None;
        };
        let above = self.section.header.trim_matches(['[', ']']);
        let between = if above.is_empty() { "" } else { "." };
        let name = format!("{above}{between}{}", self.key);
        let header = if self.is_listed {
            format!("[[{name}]]")
        } else {
            format!("[{name}]")
        };
        Some(read(&Section {
            notes: self.section.notes,
            folder: self.section.folder,
            header,
            table,
            at: self.at(),
        }))
    }

    /// Sets the fields of a table.
    pub(super) fn fill<T>(&self, described: &Table<T>, into: &mut T) {
        self.table(|section| section.fill(&[described], into));
    }

    /// Reads each table of `[[key]]`, or a single `[key]`.
    pub(super) fn tables<R>(&self, mut read: impl FnMut(&Section<'_>) -> R) -> Vec<R> {
        let items = self.items().into_iter();
        items.filter_map(|item| item.table(&mut read)).collect()
    }

    /// The folder that paths are relative to.
    pub(super) fn folder(&self) -> &'a Path {
        self.section.folder
    }

    /// The position in the text, in octets.
    pub(super) fn at(&self) -> usize {
        self.value.span().start
    }

    /// Notes an error about the value.
    pub(super) fn note(&self, reason: impl Into<String>) {
        self.section.note_at(self.at(), reason);
    }

    /// Notes an error about the table that holds the value.
    pub(super) fn note_table(&self, reason: impl Into<String>) {
        self.section.note(reason);
    }

    /// The value that was read, unless it is less than the key takes, which is noted.
    pub(super) fn at_least<V: PartialOrd>(
        &self,
        least: V,
        shown: impl Display,
        read: Option<V>,
    ) -> Option<V> {
        let value = read?;
        if value < least {
            self.note(format!("{} must be at least {shown}", self.key));
            return None;
        }
        Some(value)
    }
}

/// A text.
pub(super) fn string<'a>(value: &'a DeValue<'a>) -> Option<&'a str> {
    match value {
        DeValue::String(text) => Some(text),
        _ => None,
    }
}

/// A text that is not empty.
pub(super) fn word<'a>(value: &'a DeValue<'a>) -> Option<&'a str> {
    string(value).filter(|text| !text.is_empty())
}

/// [`word`] of its own.
pub(super) fn text(value: &DeValue<'_>) -> Option<String> {
    word(value).map(str::to_owned)
}

/// An integer in the range of the type.
pub(super) fn number<T: TryFrom<i64>>(value: &DeValue<'_>) -> Option<T> {
    let DeValue::Integer(number) = value else {
        return None;
    };
    let number = i64::from_str_radix(number.as_str(), number.radix()).ok()?;
    T::try_from(number).ok()
}

/// A time with its unit, or a number of seconds.
pub(super) fn duration(value: &DeValue<'_>) -> Option<Duration> {
    match string(value) {
        Some(text) => units::duration(text),
        None => number(value).map(Duration::from_secs),
    }
}

/// A number of octets, with or without a unit.
pub(super) fn octets(value: &DeValue<'_>) -> Option<u64> {
    match string(value) {
        Some(text) => units::octets(text)?.try_into().ok(),
        None => number(value),
    }
}

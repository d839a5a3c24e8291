//! Reads the tables of a settings file. Each wrong value and unknown key is noted with its position, and reading continues, so
//! that all errors are reported at once.

use std::cell::RefCell;
use std::fmt::Display;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The errors found so far, each with its position in the text, in octets, and its message.
#[derive(Debug, Default)]
pub(super) struct Notes(RefCell<Vec<(usize, String)>>);

impl Notes {
    pub(super) fn add(&self, at: usize, reason: impl Into<String>) {
        self.0.borrow_mut().push((at, reason.into()));
    }

    /// Returns all errors, sorted by position.
    pub(super) fn into_sorted(self) -> Vec<(usize, String)> {
        let mut notes = self.0.into_inner();
        notes.sort();
        notes
    }
}

/// A table of the settings file that is being read.
pub(super) struct Section<'a> {
    notes: &'a Notes,
    /// The folder from which relative paths start.
    pub(super) folder: &'a Path,
    /// The header of the table, such as `[limits]` or `[[database]]`; empty for the top-level table.
    header: String,
    pub(super) table: &'a DeTable<'a>,
    at: usize,
}

impl<'a> Section<'a> {
    /// Returns the top-level table.
    pub(super) fn top(notes: &'a Notes, folder: &'a Path, table: &'a DeTable<'a>) -> Self {
        Self {
            notes,
            folder,
            header: String::new(),
            table,
            at: 0,
        }
    }

    /// Returns whether the key is present.
    pub(super) fn has(&self, key: &'static str) -> bool {
        self.value(key).is_some()
    }

    /// Returns the value of a key, which may be written with one of its other names; `None` if the key is absent. If more than
    /// one of its names is present, notes an error.
    pub(super) fn value_of(
        &self,
        key: &'static str,
        aliases: &[&'static str],
    ) -> Option<Value<'_>> {
        let names = std::iter::once(&key).chain(aliases);
        let mut given = names.filter_map(|name| self.value(name));
        let value = given.next()?;
        for again in given {
            again.note(format!(
                "{} is another name of {key}, which is given too",
                again.key
            ));
        }
        Some(value)
    }

    /// Returns the value of a key; `None` if the key is absent.
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

    /// Notes an error in the table.
    pub(super) fn note(&self, reason: impl Display) {
        self.note_at(self.at, reason);
    }

    pub(super) fn note_at(&self, at: usize, reason: impl Display) {
        let blank = if self.header.is_empty() { "" } else { " " };
        self.notes
            .add(at, format!("{}{blank}{reason}", self.header));
    }
}

/// The value of a key, or one of the values in its list.
#[derive(Clone, Copy)]
pub(super) struct Value<'a> {
    /// The table that contains the value.
    pub(super) section: &'a Section<'a>,
    pub(super) key: &'static str,
    is_listed: bool,
    value: &'a Spanned<DeValue<'a>>,
}

impl<'a> Value<'a> {
    /// Converts the value with `convert`. If this fails, notes that the value is not `what`, and returns `None`.
    pub(super) fn read<V>(
        &self,
        what: &str,
        convert: impl Fn(&DeValue<'_>) -> Option<V>,
    ) -> Option<V> {
        let converted = convert(self.value.get_ref());
        if converted.is_none() {
            self.note(format!("{} is not {what}", self.key));
        }
        converted
    }

    /// Sets a field to the converted value. If the value cannot be converted, notes an error and leaves the field unchanged.
    pub(super) fn set<V, F: From<V>>(
        &self,
        what: &str,
        convert: impl Fn(&DeValue<'_>) -> Option<V>,
        field: &mut F,
    ) {
        if let Some(value) = self.read(what, convert) {
            *field = value.into();
        }
    }

    /// Returns the value as a path; a relative path starts from the folder of the file. If the value is not a path, notes an
    /// error, and returns `None`.
    pub(super) fn path(&self) -> Option<PathBuf> {
        Some(self.section.folder.join(self.read("a path", text)?))
    }

    /// Parses a string value. An error from the parser is noted.
    pub(super) fn parse<V, E: Display>(
        &self,
        parse: impl FnOnce(&str) -> Result<V, E>,
    ) -> Option<V> {
        let parsed = parse(self.text().or_else(|| self.read("a text", |_| None))?);
        parsed.map_err(|reason| self.note_key(reason)).ok()
    }

    /// Returns the value if it is a string.
    pub(super) fn text(&self) -> Option<&'a str> {
        string(self.value.get_ref())
    }

    /// Returns the items of a list; a value that is not a list counts as a list of one item.
    pub(super) fn items(&self) -> Vec<Value<'a>> {
        let DeValue::Array(values) = self.value.get_ref() else {
            return vec![*self];
        };
        let item = |value| Value {
            is_listed: true,
            value,
            ..*self
        };
        values.iter().map(item).collect()
    }

    /// Converts the items of a list, and returns each item with its converted value. Wrong items are noted and left out.
    pub(super) fn listed<V>(
        &self,
        what: &str,
        convert: impl Fn(&DeValue<'_>) -> Option<V>,
    ) -> Vec<(Value<'a>, V)> {
        let mut listed = Vec::new();
        for item in self.items() {
            match convert(item.value.get_ref()) {
                Some(converted) => listed.push((item, converted)),
                None => item.note(format!("{} holds a value that is not {what}", self.key)),
            }
        }
        listed
    }

    /// Converts the items of a list; wrong items are noted and left out.
    pub(super) fn list<V>(
        &self,
        what: &str,
        convert: impl Fn(&DeValue<'_>) -> Option<V>,
    ) -> Vec<V> {
        let listed = self.listed(what, convert).into_iter();
        listed.map(|(_, converted)| converted).collect()
    }

    /// Returns the items of a list as paths; relative paths start from the folder of the file.
    pub(super) fn paths(&self) -> Vec<PathBuf> {
        let paths = self.list("a path", text).into_iter();
        paths.map(|path| self.section.folder.join(path)).collect()
    }

    /// Passes each string of a list to `take`, and notes the errors that it returns.
    pub(super) fn each<E: Display>(&self, mut take: impl FnMut(&str) -> Result<(), E>) {
        for (item, text) in self.listed("a text", any_text) {
            if let Err(reason) = take(&text) {
                item.note_key(reason);
            }
        }
    }

    /// Reads the value as a table.
    pub(super) fn table<R>(&self, read: impl FnOnce(&Section<'_>) -> R) -> Option<R> {
        let DeValue::Table(table) = self.value.get_ref() else {
            self.note(format!("{} is not a table", self.key));
            return None;
        };
        let above = self.section.header.trim_matches(['[', ']']);
        let between = if above.is_empty() { "" } else { "." };
        let name = format!("[{above}{between}{}]", self.key);
        let header = if self.is_listed {
            format!("[{name}]")
        } else {
            name
        };
        let at = self.at();
        Some(read(&Section {
            header,
            table,
            at,
            ..*self.section
        }))
    }

    /// Reads each `[[key]]` table, or a single `[key]` table.
    pub(super) fn tables<R>(&self, mut read: impl FnMut(&Section<'_>) -> R) -> Vec<R> {
        let items = self.items().into_iter();
        items.filter_map(|item| item.table(&mut read)).collect()
    }

    /// Returns the position of the value in the text, in octets.
    pub(super) fn at(&self) -> usize {
        self.value.span().start
    }

    /// Notes an error in the value.
    pub(super) fn note(&self, reason: impl Display) {
        self.section.note_at(self.at(), reason);
    }

    /// Notes that the value is below the minimum for its key.
    pub(super) fn note_less(&self, least: impl Display) {
        self.note(format_args!("{} must be at least {least}", self.key));
    }

    /// Notes an error in the value, together with the name of its key.
    pub(super) fn note_key(&self, reason: impl Display) {
        self.note(format_args!("{}: {reason}", self.key));
    }
}

/// Returns the value if it is a boolean.
pub(super) fn flag(value: &DeValue<'_>) -> Option<bool> {
    value.as_bool()
}

/// Returns the value if it is a string.
pub(super) fn string<'a>(value: &'a DeValue<'_>) -> Option<&'a str> {
    match value {
        DeValue::String(text) => Some(text),
        _ => None,
    }
}

/// Returns the value if it is a string, even an empty one.
pub(super) fn any_text(value: &DeValue<'_>) -> Option<String> {
    string(value).map(str::to_owned)
}

/// Returns the value if it is a string that is not empty.
pub(super) fn text(value: &DeValue<'_>) -> Option<String> {
    any_text(value).filter(|text| !text.is_empty())
}

/// Returns the value if it is an integer in the range of `T`.
pub(super) fn number<T: TryFrom<i64>>(value: &DeValue<'_>) -> Option<T> {
    let DeValue::Integer(number) = value else {
        return None;
    };
    let number = i64::from_str_radix(number.as_str(), number.radix()).ok()?;
    T::try_from(number).ok()
}

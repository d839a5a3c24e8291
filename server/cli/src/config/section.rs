//! Reads tables of a settings file key by key. Every wrong value and unknown key is noted with its position, and reading
//! continues.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Display;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use z3950_server::units;

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
    /// Its header, such as `[limits]` or `[[database]]`; empty for the top-level table.
    header: String,
    table: &'a DeTable<'a>,
    span: Range<usize>,
    asked: RefCell<BTreeSet<&'static str>>,
}

/// A value with its position.
pub(super) type SpannedValue<'a> = Spanned<DeValue<'a>>;

impl<'a> Section<'a> {
    /// The top-level table.
    pub(super) fn top(notes: &'a Notes, table: &'a DeTable<'a>) -> Self {
        Self {
            notes,
            header: String::new(),
            table,
            span: 0..0,
            asked: RefCell::default(),
        }
    }

    /// The value of a key; `None` if it is absent or wrong. A wrong value is noted with `what` was expected.
    pub(super) fn read<T>(
        &self,
        key: &'static str,
        what: &str,
        convert: impl FnOnce(&'a DeValue<'a>) -> Option<T>,
    ) -> Option<T> {
        let value = self.value(key)?;
        let converted = convert(value.get_ref());
        if converted.is_none() {
            self.note(value, format!("{key} is not {what}"));
        }
        converted
    }

    /// Sets a field to the value of a key, if it is present and right.
    pub(super) fn set<T>(
        &self,
        key: &'static str,
        what: &str,
        convert: impl FnOnce(&'a DeValue<'a>) -> Option<T>,
        field: &mut T,
    ) {
        if let Some(value) = self.read(key, what, convert) {
            *field = value;
        }
    }

    /// The value of a key that is true or false.
    pub(super) fn flag(&self, key: &'static str) -> Option<bool> {
        self.read(key, "true or false", DeValue::as_bool)
    }

    /// A text that is not empty.
    pub(super) fn text(&self, key: &'static str) -> Option<String> {
        self.read(key, "a text", word).map(str::to_owned)
    }

    /// A path, relative to `folder`.
    pub(super) fn path(&self, key: &'static str, folder: &Path) -> Option<PathBuf> {
        Some(folder.join(self.read(key, "a path", word)?))
    }

    /// The value of a key with a text to parse. A parse error is noted.
    pub(super) fn parse<T, E: std::fmt::Display>(
        &self,
        key: &'static str,
        parse: impl FnOnce(&'a str) -> Result<T, E>,
    ) -> Option<T> {
        let value = self.value(key)?;
        let parsed = match string(value.get_ref()) {
            Some(text) => parse(text).map_err(|reason| format!("{key}: {reason}")),
            None => Err(format!("{key} is not a text")),
        };
        parsed.map_err(|reason| self.note(value, reason)).ok()
    }

    /// [`Section::read`] for a required key.
    pub(super) fn need<T>(
        &self,
        key: &'static str,
        what: &str,
        convert: impl FnOnce(&'a DeValue<'a>) -> Option<T>,
    ) -> Option<T> {
        if !self.has(key) {
            self.note_whole(format!("{key} is missing"));
        }
        self.read(key, what, convert)
    }

    /// The values of a list, or a single value; none if the key is absent.
    pub(super) fn values(&self, key: &'static str) -> Vec<&'a SpannedValue<'a>> {
        match self.value(key) {
            None => Vec::new(),
            Some(value) => match value.get_ref() {
                DeValue::Array(values) => values.iter().collect(),
                _ => vec![value],
            },
        }
    }

    /// The values of a list, each converted; wrong ones are noted and left out.
    pub(super) fn list<T>(
        &self,
        key: &'static str,
        what: &str,
        convert: impl Fn(&'a DeValue<'a>) -> Option<T>,
    ) -> Vec<T> {
        let spanned = self.spanned_list(key, what, convert).into_iter();
        spanned.map(|(_, converted)| converted).collect()
    }

    /// [`Section::list`] with the positions of the values, for further errors about them.
    pub(super) fn spanned_list<T>(
        &self,
        key: &'static str,
        what: &str,
        convert: impl Fn(&'a DeValue<'a>) -> Option<T>,
    ) -> Vec<(&'a SpannedValue<'a>, T)> {
        let values = self.values(key).into_iter();
        values
            .filter_map(|value| {
                let converted = convert(value.get_ref());
                if converted.is_none() {
                    self.note(value, format!("{key} holds a value that is not {what}"));
                }
                Some((value, converted?))
            })
            .collect()
    }

    /// Whether the key is present.
    pub(super) fn has(&self, key: &'static str) -> bool {
        self.value(key).is_some()
    }

    /// Reads the table of a key, if present.
    pub(super) fn section<T>(
        &self,
        key: &'static str,
        read: impl FnOnce(&Section<'a>) -> T,
    ) -> Option<T> {
        let value = self.value(key)?;
        self.enter(key, value, read)
    }

    /// The header of a table below this one: with two brackets for a table in a list.
    fn header_of(&self, key: &str, is_listed: bool) -> String {
        let above = self.header.trim_matches(['[', ']']);
        let between = if above.is_empty() { "" } else { "." };
        match is_listed {
            true => format!("[[{above}{between}{key}]]"),
            false => format!("[{above}{between}{key}]"),
        }
    }

    /// Reads each table of a key: of `[[key]]`, or of a single `[key]`.
    pub(super) fn sections<T>(
        &self,
        key: &'static str,
        mut read: impl FnMut(&Section<'a>) -> T,
    ) -> Vec<T> {
        let is_listed = matches!(
            self.value(key).map(Spanned::get_ref),
            Some(DeValue::Array(_))
        );
        let values = self.values(key).into_iter();
        values
            .filter_map(|value| self.enter_as(key, is_listed, value, &mut read))
            .collect()
    }

    /// Reads a value that must be a table.
    pub(super) fn enter<T>(
        &self,
        name: &str,
        value: &'a SpannedValue<'a>,
        read: impl FnOnce(&Section<'a>) -> T,
    ) -> Option<T> {
        self.enter_as(name, false, value, read)
    }

    fn enter_as<T>(
        &self,
        name: &str,
        is_listed: bool,
        value: &'a SpannedValue<'a>,
        read: impl FnOnce(&Section<'a>) -> T,
    ) -> Option<T> {
        let DeValue::Table(table) = value.get_ref() else {
            self.note(value, format!("{name} is not a table"));
            return None;
        };
        let section = Section {
            notes: self.notes,
            header: self.header_of(name, is_listed),
            table,
            span: value.span(),
            asked: RefCell::default(),
        };
        let result = read(&section);
        section.finish();
        Some(result)
    }

    /// Notes an error about a value.
    pub(super) fn note(&self, value: &SpannedValue<'_>, reason: impl Into<String>) {
        self.note_at(value.span().start, reason);
    }

    /// Notes an error about the table.
    pub(super) fn note_whole(&self, reason: impl Into<String>) {
        self.note_at(self.span.start, reason);
    }

    /// Notes a value that is less than a key takes.
    pub(super) fn note_less(&self, key: &'static str, least: impl Display) {
        let at = self
            .value(key)
            .map_or(self.span.start, |value| value.span().start);
        self.note_at(at, format!("{key} must be at least {least}"));
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

    /// Notes unknown keys.
    pub(super) fn finish(self) {
        let asked = self.asked.borrow();
        for key in self.table.keys() {
            if !asked.contains(key.get_ref().as_ref()) {
                let known: Vec<_> = asked.iter().copied().collect();
                let reason = format!(
                    "unknown key {:?}; known keys: {}",
                    key.get_ref(),
                    known.join(", ")
                );
                self.note_at(key.span().start, reason);
            }
        }
    }

    fn value(&self, key: &'static str) -> Option<&'a SpannedValue<'a>> {
        self.asked.borrow_mut().insert(key);
        let mut entries = self.table.iter();
        let found = entries.find(|(known, _)| known.get_ref() == key);
        found.map(|(_, value)| value)
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
pub(super) fn octets(value: &DeValue<'_>) -> Option<usize> {
    match string(value) {
        Some(text) => units::octets(text),
        None => number(value),
    }
}

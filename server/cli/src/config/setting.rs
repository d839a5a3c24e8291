//! The descriptions of settings. A description consists of the setting's key in the settings file, its explanation, the field for
//! its value, and its command-line option, if it has one. Each setting is described once, with [`settings!`]. The descriptions
//! are used to read the file ([`Section::fill`]), to print the template ([`Printed`]), and to create the command-line options
//! ([`GivenSettings`]).
//!
//! [`Section::fill`]: section::Section::fill
//! [`GivenSettings`]: super::GivenSettings

use std::collections::BTreeSet;
use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;

use z3950_help::{Block, Section};

use super::section::{self, Value, flag, text};
use super::unit::{Number, Unit};

/// A table of the settings file.
pub(super) struct Table<T: 'static> {
    /// The explanation of the table, as lines.
    pub(super) lines: &'static [&'static str],
    /// The header of the table, such as `[limits]` or `[[database]]`; empty for the top-level table.
    pub(super) header: &'static str,
    pub(super) settings: &'static [Setting<T>],
    pub(super) default: fn() -> T,
}

/// A setting, whose value is stored in a field of `T`.
pub(super) struct Setting<T: 'static> {
    pub(super) key: &'static str,
    /// Other names of the key, and of its option, which are accepted but not shown.
    pub(super) aliases: &'static [&'static str],
    /// The explanation of the setting, as lines.
    pub(super) lines: &'static [&'static str],
    pub(super) field: SettingField<T>,
    /// The command-line options of the setting. An option that takes the value of the key has the name of the key. A flag that
    /// sets the value to false has the name of the key with the prefix `no-`.
    pub(super) options: &'static [SettingOption<T>],
}

/// A command-line option.
pub(super) struct SettingOption<T: 'static> {
    pub(super) name: &'static str,
    /// The placeholder for the value.
    pub(super) value: &'static str,
    /// The heading in the help.
    pub(super) heading: &'static str,
    /// Whether `-h` shows the option.
    pub(super) is_usual: bool,
    /// Other names of the option, in addition to the other names of the key.
    pub(super) aliases: &'static [&'static str],
    /// Another option that must be used together with this one.
    pub(super) requires: Option<&'static str>,
    /// The help text; empty to use the explanation of the setting.
    pub(super) help: &'static str,
    /// The possible values that shell completion offers.
    pub(super) values: &'static [&'static str],
    /// The field that the option sets; `None` for the field of the setting.
    pub(super) own: Option<SettingField<T>>,
}

impl<T> SettingOption<T> {
    /// An option that takes the value of its key.
    pub(super) const PLAIN: Self = Self {
        name: "",
        value: "",
        heading: "",
        is_usual: false,
        aliases: &[],
        requires: None,
        help: "",
        values: &[],
        own: None,
    };
}

/// The kind of value, and the field that stores it.
pub(super) enum SettingField<T: 'static> {
    /// A boolean.
    Flag(fn(&mut T) -> &mut bool),
    /// A number, with its unit and minimum.
    Number(Unit, u64, fn(&mut T) -> &mut dyn Number),
    /// A string that is not empty.
    Text(fn(&mut T) -> &mut Option<String>),
    /// A path. A relative path starts from the folder of the settings file or, on the command line, from the current folder.
    Path(fn(&mut T) -> &mut Option<PathBuf>),
    /// A path, or a list of them.
    Paths(fn(&mut T) -> &mut Vec<PathBuf>),
    /// A string that is parsed.
    Parsed(fn(&mut T, &str) -> Result<(), String>),
    /// A list of strings that are parsed, each of which is added. Its option may be repeated.
    Each(fn(&mut T, &str) -> Result<(), String>),
    /// A value of any other kind.
    Other(fn(&mut T, &Value<'_>)),
    /// A value of any other kind whose key must be present in the table.
    Required(fn(&mut T, &Value<'_>)),
    /// A table, or a list of tables, and the descriptions of the tables that the template shows for it.
    Tables(&'static [&'static dyn Printed], fn(&mut T, &Value<'_>)),
}

/// Declares tables of settings and, optionally, the struct that holds their values.
///
/// The documentation of a setting is its explanation, in the template and in the help. A line of the documentation without a
/// space after `///` is an example in TOML, for a setting without a default that the template could show. Other names of a key
/// are in parentheses. An option lists those fields of [`SettingOption`] that differ from [`SettingOption::PLAIN`]:
///
/// ```ignore
/// settings! {
///     /// What Init grants.
///     OFFER "[offer]": Offer = Offer::default() => {
///         /// Whether there is a database IR-Explain-1.
///         "explain": Flag(|offer| &mut offer.explain);
///         /// Ask the client whether to go on before a search with more hits is answered.
///         ///ask-above = 10000
///         "ask-above" ("ask"): Number(Count, 0, |offer| &mut offer.ask_above), option("ask-above", "NUMBER", "Limits");
///     }
/// }
/// ```
macro_rules! settings {
    (
        $(#[$about:meta])* struct $name:ident {$($(#[$plain_about:meta])* $plain:ident: $plain_type:ty,)*}
        $($(#[doc = $table_line:literal])* $table:ident $header:literal {$(
            $(#[doc = $line:literal])*
            $($own:ident: $own_type:ty = $own_default:expr,)?
            $key:literal $(($($alias:literal),+))?: $kind:ident($($field:tt)*)
                $(, option($option:literal, $value:literal, $heading:expr $(, $extra:ident = $set:expr)*))*;
        )*})*
    ) => {
        $(#[$about])*
        pub(crate) struct $name {
            $($(#[$plain_about])* pub(crate) $plain: $plain_type,)*
            $($($(pub(crate) $own: $own_type,)?)*)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($plain: Default::default(),)* $($($($own: $own_default,)?)*)* }
            }
        }

        settings! {$(
            $(#[doc = $table_line])* $table $header: $name = $name::default() => {$(
                $(#[doc = $line])* $key $(($($alias),+))?: $kind($($field)*)
                    $(, option($option, $value, $heading $(, $extra = $set)*))*;
            )*}
        )*}
    };
    ($(
        $(#[doc = $table_line:literal])* $table:ident $header:literal: $type:ty = $default:expr => {$(
            $(#[doc = $line:literal])*
            $key:literal $(($($alias:literal),+))?: $kind:ident($($field:tt)*)
                $(, option($option:literal, $value:literal, $heading:expr $(, $extra:ident = $set:expr)*))*;
        )*}
    )*) => {$(
        pub(in crate::config) static $table: $crate::config::setting::Table<$type> = $crate::config::setting::Table {
            lines: &[$($table_line),*],
            header: $header,
            settings: &[$($crate::config::setting::Setting {
                key: $key,
                aliases: &[$($($alias),+)?],
                lines: &[$($line),*],
                field: {
                    #[allow(unused_imports)]
                    use $crate::config::unit::{MILLISECOND, Unit::*};
                    $crate::config::setting::SettingField::$kind($($field)*)
                },
                options: &[$({
                    #[allow(unused_imports)]
                    use $crate::config::setting::SettingField::*;
                    $crate::config::setting::SettingOption {
                        name: $option,
                        value: $value,
                        heading: $heading,
                        $($extra: $set,)*
                        ..$crate::config::setting::SettingOption::PLAIN
                    }
                }),*],
            }),*],
            default: || $default,
        };
    )*};
}
pub(super) use settings;

impl<T> SettingField<T> {
    /// Sets the field to the value of an option that is neither a flag nor a path.
    ///
    /// # Errors
    /// Returns the reason why the value is invalid.
    pub(super) fn set(&self, text: &str, into: &mut T) -> Result<(), String> {
        match self {
            Self::Number(unit, least, field) => field(into).put(unit.parse(text, *least)?),
            Self::Text(_) if text.is_empty() => return Err("the text is empty".to_owned()),
            Self::Text(field) => *field(into) = Some(text.to_owned()),
            Self::Parsed(set) | Self::Each(set) => set(into, text)?,
            _ => return Err("it is set in the settings file only".to_owned()),
        }
        Ok(())
    }
}

impl<T> Setting<T> {
    /// Sets the field to a value from the file. Notes errors in the value.
    pub(super) fn read(&self, value: &Value<'_>, into: &mut T) {
        match self.field {
            SettingField::Flag(field) => value.set("true or false", flag, field(into)),
            SettingField::Number(unit, least, field) => {
                if let Some(number) = value.read(unit.expected(), |value| unit.read(value)) {
                    if number < least {
                        value.note_less(unit.least(least));
                    }
                    field(into).put(number);
                }
            }
            SettingField::Text(field) => value.set("a non-empty text", text, field(into)),
            SettingField::Path(field) => *field(into) = value.path().or(field(into).take()),
            SettingField::Paths(field) => *field(into) = value.paths(),
            SettingField::Parsed(set) => drop(value.parse(|text| set(into, text))),
            SettingField::Each(add) => value.each(|text| add(into, text)),
            SettingField::Other(read)
            | SettingField::Required(read)
            | SettingField::Tables(_, read) => read(into, value),
        }
    }

    /// Returns the field's value as it is written in the settings file; `None` if the value is neither a boolean nor a number.
    fn shown(&self, of: &mut T) -> Option<String> {
        match self.field {
            SettingField::Flag(field) => Some(field(of).to_string()),
            SettingField::Number(unit, _, field) => Some(unit.shown(field(of).shown()?)),
            _ => None,
        }
    }

    /// Returns the help of the setting's command-line option: the explanation and the default value.
    pub(super) fn help(&self, option: &SettingOption<T>, defaults: &mut T) -> String {
        if !option.help.is_empty() {
            return option.help.to_owned();
        }
        let lines = self.lines.iter().filter(|line| line.starts_with(' '));
        let text: String = lines.copied().collect();
        let text = text.trim().trim_end_matches('.');
        match self.field {
            SettingField::Flag(_) if option.name.starts_with("no-") => {
                let (first, rest) = text.split_at(1);
                format!("Do not {}{rest}", first.to_lowercase())
            }
            SettingField::Number(unit, _, field) => {
                format!("{text}{}", unit.help(field(defaults).shown()))
            }
            _ => text.to_owned(),
        }
    }
}

impl section::Section<'_> {
    /// Sets the fields of `into` in the order of their descriptions in `tables`. A key that several tables describe is read once.
    /// Unknown keys and missing required keys are noted.
    pub(super) fn fill<T>(&self, tables: &[&Table<T>], into: &mut T) {
        let (mut known, mut aliases) = (BTreeSet::new(), BTreeSet::<&str>::new());
        for setting in tables.iter().flat_map(|table| table.settings) {
            let is_first = known.insert(setting.key);
            aliases.extend(setting.aliases);
            match (self.value_of(setting.key, setting.aliases), &setting.field) {
                (Some(value), _) if is_first => setting.read(&value, into),
                (None, SettingField::Required(_)) => {
                    self.note(format!("{} is missing", setting.key))
                }
                _ => {}
            }
        }
        let known: Vec<_> = known.into_iter().collect();
        let keys = self.table.keys();
        let is_known = |key: &str| known.contains(&key) || aliases.contains(key);
        for key in keys.filter(|key| !is_known(key.get_ref())) {
            let (name, known) = (key.get_ref(), known.join(", "));
            self.note_at(
                key.span().start,
                format!("unknown key {name:?}; known keys: {known}"),
            );
        }
    }
}

impl Value<'_> {
    /// Sets the fields described by a table.
    pub(super) fn fill<T>(&self, described: &Table<T>, into: &mut T) {
        self.table(|section| section.fill(&[described], into));
    }
}

/// A table or setting that is part of the template.
pub(super) trait Printed: Sync {
    /// Adds the table to the template: explanations as comments, and each setting commented out, with its default or an example.
    fn print(&self, template: &mut String);

    /// Adds the table to the sections of a manual page, each setting with its explanation.
    fn describe(&self, sections: &mut Vec<Section>);
}

impl<T> Printed for Table<T> {
    fn print(&self, template: &mut String) {
        let is_top = self.header.is_empty();
        if !is_top {
            template.push('\n');
        }
        print_lines(self.lines, template);
        if !is_top {
            print_lines(&[self.header], template);
        }
        let mut defaults = (self.default)();
        for setting in self.settings {
            if is_top && !matches!(setting.field, SettingField::Tables(..)) {
                template.push('\n');
            }
            print_lines(setting.lines, template);
            let has_example = setting
                .lines
                .iter()
                .any(|line| line.starts_with(char::is_alphabetic));
            if let Some(value) = setting.shown(&mut defaults).filter(|_| !has_example) {
                print_lines(&[&format!("{} = {value}", setting.key)], template);
            }
        }
        for setting in self.settings {
            if let SettingField::Tables(tables, _) = setting.field {
                tables.iter().for_each(|table| table.print(template));
            }
        }
    }

    fn describe(&self, sections: &mut Vec<Section>) {
        let title = match self.header {
            "" => "Description",
            header => header,
        };
        let mut blocks = described(self.lines);
        let mut defaults = (self.default)();
        for setting in self.settings {
            if matches!(setting.field, SettingField::Tables(..)) {
                continue;
            }
            let example = setting
                .lines
                .iter()
                .find(|line| line.starts_with(char::is_alphabetic));
            let shown = setting.shown(&mut defaults);
            let term = match (example, shown) {
                (Some(example), _) => (*example).to_owned(),
                (None, Some(value)) => format!("{} = {value}", setting.key),
                (None, None) => setting.key.to_owned(),
            };
            let text: String = setting
                .lines
                .iter()
                .copied()
                .filter(|line| line.starts_with(' '))
                .collect();
            // A setting without its own explanation is covered by the explanation of the setting before it.
            match blocks.last_mut() {
                Some(Block::Row { term: above, .. }) if text.is_empty() => {
                    above.push_str(", ");
                    above.push_str(&term);
                }
                _ => blocks.push(Block::row(term, text.trim_start())),
            }
        }
        sections.push(Section::new(title, blocks));
        for setting in self.settings {
            if let SettingField::Tables(tables, _) = setting.field {
                tables.iter().for_each(|table| table.describe(sections));
            }
        }
    }
}

/// Returns the explanation of a table as paragraphs; indented lines are not changed.
fn described(lines: &[&str]) -> Vec<Block> {
    let mut blocks = Vec::new();
    for line in lines {
        match (blocks.last_mut(), line.strip_prefix("   ")) {
            (Some(Block::Lines(lines)), Some(line)) => lines.push(line.to_owned()),
            (_, Some(line)) => blocks.push(Block::Lines(vec![line.to_owned()])),
            (Some(Block::Paragraph(words)), None) if !words.is_empty() && !line.is_empty() => {
                words.push_str(line);
            }
            (_, None) if line.is_empty() => {}
            (_, None) => blocks.push(Block::paragraph(line.trim_start())),
        }
    }
    blocks
}

/// Appends lines to the template as comments; an empty line stays empty.
fn print_lines(lines: &[&str], template: &mut String) {
    for line in lines {
        let hash = if line.is_empty() { "" } else { "#" };
        template.push_str(&format!("{hash}{line}\n"));
    }
}

/// Parses a string.
///
/// # Errors
/// Returns the parser's message.
pub(super) fn parse<V: FromStr<Err: Display>>(text: &str) -> Result<V, String> {
    text.parse().map_err(|reason: V::Err| reason.to_string())
}

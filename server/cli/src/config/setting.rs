//! What a setting is: its key in the settings file, its explanation, the field that takes its value, and its option on the command line
//! if it has one. Each is described once, with [`settings!`]; from the description, the file is read ([`Section::fill`]), the
//! template is printed ([`Printed`]), and the options are made (`given`).
//!
//! [`Section::fill`]: super::section::Section::fill

use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use toml::de::DeValue;

use super::section::{Value, duration, number, octets, string, text};

/// A table of the settings file.
pub(super) struct Table<T: 'static> {
    /// Its explanation, line by line.
    pub(super) lines: &'static [&'static str],
    /// Its header, such as `[limits]` or `[[database]]`; empty for the top-level table.
    pub(super) header: &'static str,
    pub(super) settings: &'static [Setting<T>],
    pub(super) default: fn() -> T,
}

/// A setting, whose value goes to a field of `T`.
pub(super) struct Setting<T: 'static> {
    pub(super) key: &'static str,
    /// Its explanation, line by line.
    pub(super) lines: &'static [&'static str],
    pub(super) field: Field<T>,
    /// Its option on the command line.
    pub(super) option: Option<SettingOption>,
    /// Whether a table without it is wrong.
    pub(super) is_required: bool,
}

/// An option of the command line: `--max-sessions <N>`.
#[derive(Clone, Copy)]
pub(super) struct SettingOption {
    /// Without the hyphens. `no-…` makes a flag false.
    pub(super) name: &'static str,
    /// What stands for its value in the help; empty for a flag.
    pub(super) value: &'static str,
    pub(super) heading: &'static str,
}

/// The kind of a value, and the field that takes it.
pub(super) enum Field<T: 'static> {
    /// True or false.
    Flag(fn(&mut T) -> &mut bool),
    /// A number from this one on.
    Count(u64, fn(&mut T) -> &mut dyn Number),
    /// A number of octets from this one on.
    Octets(u64, fn(&mut T) -> &mut dyn Number),
    /// A time from this number of milliseconds on.
    Time(u64, fn(&mut T) -> &mut Duration),
    /// A time from this number of milliseconds on, or "never".
    TimeOrNever(u64, fn(&mut T) -> &mut Option<Duration>),
    /// A text that is not empty.
    Text(fn(&mut T) -> &mut Option<String>),
    /// A path, relative to the folder of the file or to that of the process.
    Path(fn(&mut T) -> &mut Option<PathBuf>),
    /// A path, or a list of them.
    Paths(fn(&mut T) -> &mut Vec<PathBuf>),
    /// A text that is parsed.
    Parsed(fn(&mut T, &str) -> Result<(), String>),
    /// Anything else.
    Other(fn(&mut T, &Value<'_>)),
    /// A table, or a list of them; the template shows these.
    Tables(&'static [&'static dyn Printed], fn(&mut T, &Value<'_>)),
}

/// Declares tables of settings, and optionally the struct that has their values.
///
/// The documentation of a setting is its explanation, in the template and in the help. A line of it without a blank at the start is an
/// example in TOML, for a setting whose default says too little:
///
/// ```ignore
/// settings! {
///     /// What Init grants.
///     OFFER "[offer]": Offer = Offer::default() => {
///         /// Whether there is a database IR-Explain-1.
///         "explain": Flag(|offer| &mut offer.explain);
///         /// Ask the client whether to go on before a search with more hits is answered.
///         ///ask-above = 10000
///         "ask-above": Count(0, |offer| &mut offer.ask_above), option("ask-above", "N", LIMITS);
///     }
/// }
/// ```
macro_rules! settings {
    (
        $(#[$about:meta])* struct $name:ident {$($(#[$plain_about:meta])* $plain:ident: $plain_type:ty,)*}
        $($(#[doc = $table_line:literal])* $table:ident $header:literal {$(
            $(#[doc = $line:literal])*
            $($own:ident: $own_type:ty = $own_default:expr,)?
            $key:literal: $kind:ident($($field:tt)*) $(, $more:ident($($argument:expr),*))*;
        )*})*
    ) => {
        $(#[$about])*
        pub(crate) struct $name {
            $($(#[$plain_about])* pub(crate) $plain: $plain_type,)*
            $($($(pub(crate) $own: $own_type,)?)*)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self {
                    $($plain: Default::default(),)*
                    $($($($own: $own_default,)?)*)*
                }
            }
        }

        settings! {$(
            $(#[doc = $table_line])* $table $header: $name = $name::default() => {$(
                $(#[doc = $line])* $key: $kind($($field)*) $(, $more($($argument),*))*;
            )*}
        )*}
    };
    ($(
        $(#[doc = $table_line:literal])* $table:ident $header:literal: $type:ty = $default:expr => {$(
            $(#[doc = $line:literal])*
            $key:literal: $kind:ident($($field:tt)*) $(, $more:ident($($argument:expr),*))*;
        )*}
    )*) => {$(
        pub(in crate::config) static $table: $crate::config::setting::Table<$type> = $crate::config::setting::Table {
            lines: &[$($table_line),*],
            header: $header,
            settings: &[$(
                $crate::config::setting::Setting::<$type>::new(
                    $key,
                    &[$($line),*],
                    $crate::config::setting::Field::$kind($($field)*),
                )$(.$more($($argument),*))*
            ),*],
            default: || $default,
        };
    )*};
}
pub(super) use settings;

impl<T> Setting<T> {
    pub(super) const fn new(
        key: &'static str,
        lines: &'static [&'static str],
        field: Field<T>,
    ) -> Self {
        Self {
            key,
            lines,
            field,
            option: None,
            is_required: false,
        }
    }

    /// Gives it an option.
    pub(super) const fn option(
        mut self,
        name: &'static str,
        value: &'static str,
        heading: &'static str,
    ) -> Self {
        self.option = Some(SettingOption {
            name,
            value,
            heading,
        });
        self
    }

    /// Makes it required.
    pub(super) const fn required(mut self) -> Self {
        self.is_required = true;
        self
    }

    /// Sets the field to a value of the file. What is wrong with the value is noted.
    pub(super) fn read(&self, value: &Value<'_>, into: &mut T) {
        let shown = self.shown(into);
        let example = |otherwise| shown.as_deref().unwrap_or(otherwise);
        match self.field {
            Field::Flag(field) => value.set("true or false", DeValue::as_bool, field(into)),
            Field::Count(least, field) => {
                let read = value.read("a number", number);
                if let Some(number) = value.at_least(least, least, read) {
                    field(into).put(number);
                }
            }
            Field::Octets(least, field) => {
                let what = format!("a number of octets such as {}", example("\"64KiB\""));
                let read = value.read(&what, octets);
                if let Some(number) = value.at_least(least, least, read) {
                    field(into).put(number);
                }
            }
            Field::Time(least, field) => {
                let what = format!("a time such as {}", example("\"30s\""));
                let read = value.read(&what, duration);
                let shortest = Duration::from_millis(least);
                if let Some(time) = value.at_least(shortest, format_args!("{least}ms"), read) {
                    *field(into) = time;
                }
            }
            Field::TimeOrNever(least, field) => {
                let what = format!("a time such as {}, or never", example("\"15m\""));
                let read = value.read(&what, |value| match string(value) {
                    Some("never") => Some(Duration::MAX),
                    _ => duration(value),
                });
                let shortest = Duration::from_millis(least);
                if let Some(time) = value.at_least(shortest, format_args!("{least}ms"), read) {
                    *field(into) = Some(time).filter(|time| *time < Duration::MAX);
                }
            }
            Field::Text(field) => value.set("a text", text, field(into)),
            Field::Path(field) => *field(into) = value.path().or(field(into).take()),
            Field::Paths(field) => *field(into) = value.paths(),
            Field::Parsed(set) => drop(value.parse(|text| set(into, text))),
            Field::Other(read) | Field::Tables(_, read) => read(into, value),
        }
    }

    /// Sets the field to the value of an option that is a text: to a number of seconds, if it is a time.
    ///
    /// # Errors
    /// Why it has no such value.
    pub(super) fn set(&self, text: &str, into: &mut T) -> Result<(), String> {
        match self.field {
            Field::Count(least, field) => {
                let number = text.parse().map_err(|_| "expected a number")?;
                if number < least {
                    return Err(format!("must be at least {least}"));
                }
                field(into).put(number);
            }
            Field::Time(_, field) => *field(into) = seconds(text)?,
            Field::TimeOrNever(_, field) => {
                *field(into) = Some(seconds(text)?).filter(|time| !time.is_zero());
            }
            Field::Text(field) => *field(into) = Some(text.to_owned()),
            Field::Parsed(set) => set(into, text)?,
            _ => return Err(format!("{} is set in the settings file only", self.key)),
        }
        Ok(())
    }

    /// The value in the field, as the file has it.
    fn shown(&self, of: &mut T) -> Option<String> {
        match self.field {
            Field::Flag(field) => Some(field(of).to_string()),
            Field::Count(_, field) => Some(field(of).shown()?.to_string()),
            Field::Octets(_, field) => {
                let number = field(of).shown()?;
                Some(with_unit(number, &[(1 << 20, "MiB"), (1 << 10, "KiB")]))
            }
            Field::Time(_, field) => Some(shown_time(*field(of))),
            Field::TimeOrNever(_, field) => {
                Some(field(of).map_or_else(|| "\"never\"".to_owned(), shown_time))
            }
            Field::Text(field) => Some(format!("\"{}\"", field(of).as_deref()?)),
            _ => None,
        }
    }

    /// The explanation as help of the option, with the default.
    pub(super) fn help(&self, defaults: &mut T) -> String {
        let lines = self.lines.iter().filter(|line| line.starts_with(' '));
        let text: String = lines.copied().collect();
        let text = text.trim().trim_end_matches('.');
        let is_negative = self
            .option
            .is_some_and(|option| option.name.starts_with("no-"));
        match self.field {
            Field::Flag(_) if is_negative => {
                let (first, rest) = text.split_at(1);
                format!("Do not {}{rest}", first.to_lowercase())
            }
            Field::Count(_, field) => match field(defaults).shown() {
                Some(number) => format!("{text} [default: {number}]"),
                None => text.to_owned(),
            },
            Field::Time(_, field) => {
                format!("{text} [default: {}]", field(defaults).as_secs_f64())
            }
            Field::TimeOrNever(_, field) => {
                let seconds = field(defaults).unwrap_or_default().as_secs_f64();
                format!("{text}; 0 for never [default: {seconds}]")
            }
            _ => text.to_owned(),
        }
    }
}

/// What the template shows.
pub(super) trait Printed: Sync {
    /// Adds the table to the template: explanations as comments, and each setting commented out, with its default or an example.
    fn print(&self, template: &mut String);
}

impl<T> Printed for Table<T> {
    fn print(&self, template: &mut String) {
        let is_top = self.header.is_empty();
        let mut defaults = (self.default)();
        if !is_top {
            template.push('\n');
        }
        print_lines(self.lines, template);
        if !is_top {
            print_lines(&[self.header], template);
        }
        for setting in self.settings {
            if is_top && !matches!(setting.field, Field::Tables(..)) {
                template.push('\n');
            }
            print_lines(setting.lines, template);
            let mut lines = setting.lines.iter();
            let has_example = lines.any(|line| !line.is_empty() && !line.starts_with(' '));
            if let Some(value) = setting.shown(&mut defaults).filter(|_| !has_example) {
                print_lines(&[&format!("{} = {value}", setting.key)], template);
            }
        }
        for setting in self.settings {
            if let Field::Tables(tables, _) = setting.field {
                tables.iter().for_each(|table| table.print(template));
            }
        }
    }
}

/// Adds comments: an empty line for an empty one.
fn print_lines(lines: &[&str], template: &mut String) {
    for line in lines {
        if !line.is_empty() {
            template.push('#');
        }
        template.push_str(line);
        template.push('\n');
    }
}

/// A number in a field.
pub(super) trait Number {
    fn put(&mut self, number: u64);
    fn shown(&self) -> Option<u64>;
}

impl Number for u64 {
    fn put(&mut self, number: u64) {
        *self = number;
    }

    fn shown(&self) -> Option<u64> {
        Some(*self)
    }
}

impl Number for usize {
    fn put(&mut self, number: u64) {
        *self = Self::try_from(number).unwrap_or(Self::MAX);
    }

    fn shown(&self) -> Option<u64> {
        u64::try_from(*self).ok()
    }
}

impl<N: Number + Default> Number for Option<N> {
    fn put(&mut self, number: u64) {
        self.insert(N::default()).put(number);
    }

    fn shown(&self) -> Option<u64> {
        self.as_ref()?.shown()
    }
}

/// What a text says.
///
/// # Errors
/// Why it says nothing.
pub(super) fn parse<V>(text: &str) -> Result<V, String>
where
    V: FromStr,
    V::Err: Display,
{
    text.parse().map_err(|reason: V::Err| reason.to_string())
}

/// A time in seconds, with decimals.
fn seconds(text: &str) -> Result<Duration, &'static str> {
    let seconds = text.parse().ok();
    let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.ok_or("expected a number of seconds, such as 0.5")
}

/// A time in quotation marks, with the largest unit of which it is a whole number.
fn shown_time(time: Duration) -> String {
    let milliseconds = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    with_unit(
        milliseconds,
        &[(3_600_000, "h"), (60_000, "m"), (1000, "s"), (1, "ms")],
    )
}

/// A number in quotation marks, with the largest unit of which it is a multiple; without either if there is none.
fn with_unit(number: u64, units: &[(u64, &str)]) -> String {
    let mut units = units.iter();
    match units.find(|(size, _)| number >= *size && number.is_multiple_of(*size)) {
        Some((size, unit)) => format!("\"{}{unit}\"", number / size),
        None => number.to_string(),
    }
}

//! The settings given on the command line. Each setting that declares an option has one there.

use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, value_parser};

use super::access::ACCESS;
use super::limits::LIMITS;
use super::setting::{Setting, SettingField};
use super::{Config, LOG, TOP};

/// The options that were given, with their values.
#[derive(Clone, Debug)]
pub(crate) struct GivenSettings(ArgMatches);

/// Iterates over the settings that have a command-line option.
pub(super) fn settings() -> impl Iterator<Item = &'static Setting<Config>> {
    let tables = [&TOP, &LIMITS, &ACCESS, &LOG];
    tables.into_iter().flat_map(|table| table.settings)
}

impl Args for GivenSettings {
    fn augment_args(command: Command) -> Command {
        let mut defaults = Config::default();
        command.args(settings().filter_map(|setting| argument(setting, &mut defaults)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// The options that `-h` shows.
const USUAL: [&str; 3] = ["demo", "imitate", "access-log"];

/// Returns the command-line option of a setting.
fn argument<T: Default>(setting: &'static Setting<T>, defaults: &mut T) -> Option<Arg> {
    let (name, value, heading) = *setting.option.first()?;
    let help = setting.help(name, defaults);
    let is_rare = !USUAL.contains(&name);
    let argument = Arg::new(name).long(name).help(help).help_heading(heading);
    let argument = argument.hide_short_help(is_rare);
    let argument = argument.aliases(setting.aliases.iter().copied());
    if let SettingField::Flag(_) = setting.field {
        return Some(argument.action(ArgAction::SetTrue));
    }
    let argument = argument.value_name(value);
    Some(match setting.field {
        SettingField::Path(_) => argument.value_parser(value_parser!(PathBuf)),
        SettingField::Paths(_) => argument
            .value_parser(value_parser!(PathBuf))
            .action(ArgAction::Append),
        _ => argument.value_parser(|text: &str| {
            let set = setting.set(text, &mut T::default());
            set.map(|()| text.to_owned())
        }),
    })
}

impl FromArgMatches for GivenSettings {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self(matches.clone()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0 = matches.clone();
        Ok(())
    }
}

impl GivenSettings {
    /// Returns whether an option is given.
    pub(crate) fn has(&self, option: &str) -> bool {
        self.0.value_source(option) == Some(ValueSource::CommandLine)
    }

    /// Sets the fields of the settings that are given on the command line.
    pub(crate) fn apply(&self, config: &mut Config) {
        for setting in settings() {
            self.apply_one(setting, config);
        }
    }

    fn apply_one<T>(&self, setting: &Setting<T>, into: &mut T) {
        let names = setting.option.iter().map(|(name, ..)| *name);
        for name in names.filter(|name| self.has(name)) {
            let paths = || self.0.get_many(name).into_iter().flatten().cloned();
            match setting.field {
                SettingField::Flag(field) => *field(into) = !name.starts_with("no-"),
                SettingField::Path(field) => *field(into) = paths().next(),
                SettingField::Paths(field) => *field(into) = paths().collect(),
                _ => {
                    let text = self.0.get_one::<String>(name);
                    // The option's parser has already refused invalid text, so this cannot fail.
                    let _ = text.map(|text| setting.set(text, into));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use toml::de::DeTable;

    use super::super::section::{Notes, Section};
    use super::super::setting::{Printed, settings};
    use super::*;

    settings! {
        #[derive(Debug)]
        struct Garden {}

        /// A table with one setting.
        GARDEN "" {
            /// Water this many trees a day.
            trees: u64 = 7,
            "trees": Number(Count, 1, |garden| &mut garden.trees), option("trees", "NUMBER", "Work");
        }
    }

    fn read(text: &str) -> Result<u64, Vec<(usize, String)>> {
        let (notes, mut garden) = (Notes::default(), Garden::default());
        let table = DeTable::parse(text).expect("TOML");
        Section::top(&notes, Path::new(""), table.get_ref()).fill(&[&GARDEN], &mut garden);
        let errors = notes.into_sorted();
        if errors.is_empty() {
            Ok(garden.trees)
        } else {
            Err(errors)
        }
    }

    fn given(arguments: &[&str]) -> Result<u64, clap::Error> {
        let matches = command().try_get_matches_from([&["garden"][..], arguments].concat())?;
        let (given, mut garden) = (GivenSettings(matches), Garden::default());
        for setting in GARDEN.settings {
            given.apply_one(setting, &mut garden);
        }
        Ok(garden.trees)
    }

    fn command() -> Command {
        let mut defaults = Garden::default();
        let settings = GARDEN.settings.iter();
        Command::new("garden")
            .term_width(80)
            .args(settings.filter_map(|setting| argument(setting, &mut defaults)))
    }

    #[test]
    fn a_setting_that_is_described_once_has_its_option_key_default_help_and_template() {
        assert_eq!(given(&[]).expect("no options"), 7);
        assert_eq!(given(&["--trees", "9"]).expect("an option"), 9);
        let error = given(&["--trees", "0"]).expect_err("too few").to_string();
        assert!(error.contains("must be at least 1"), "{error}");
        let help = command().render_long_help().to_string();
        assert!(help.contains("Work:\n      --trees <NUMBER>"), "{help}");
        assert!(
            help.contains("Water this many trees a day [default: 7]"),
            "{help}"
        );

        assert_eq!(read(""), Ok(7));
        assert_eq!(read("trees = 9"), Ok(9));
        for (text, words) in [
            ("trees = 0", "trees must be at least 1"),
            ("trees = \"few\"", "trees is not a number"),
            ("bees = 9", "unknown key \"bees\"; known keys: trees"),
        ] {
            let errors = read(text).expect_err(text);
            assert!(errors.len() == 1 && errors[0].1 == words, "{errors:?}");
        }

        let mut template = String::new();
        GARDEN.print(&mut template);
        let lines = "# A table with one setting.\n\n# Water this many trees a day.\n#trees = 7\n";
        assert_eq!(template, lines);
    }
}

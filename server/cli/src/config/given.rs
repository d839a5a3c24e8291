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
fn argument(setting: &'static Setting<Config>, defaults: &mut Config) -> Option<Arg> {
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
            let set = setting.set(text, &mut Config::default());
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
            let names = setting.option.iter().map(|(name, ..)| *name);
            for name in names.filter(|name| self.has(name)) {
                let paths = || self.0.get_many(name).into_iter().flatten().cloned();
                match setting.field {
                    SettingField::Flag(field) => *field(config) = !name.starts_with("no-"),
                    SettingField::Path(field) => *field(config) = paths().next(),
                    SettingField::Paths(field) => *field(config) = paths().collect(),
                    _ => {
                        let text = self.0.get_one::<String>(name);
                        // The option's parser has already refused invalid text, so this cannot fail.
                        let _ = text.map(|text| setting.set(text, config));
                    }
                }
            }
        }
    }
}

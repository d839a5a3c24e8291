//! The settings on the command line. Every setting whose description declares an option can be set there.

use std::mem;
use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, value_parser};
use z3950_help::{ArgValueCandidates, CompletionCandidate};

use super::access::ACCESS;
use super::limits::LIMITS;
use super::setting::{Setting, SettingField, SettingOption};
use super::{Config, LOG, SERVED, TOP};
use crate::files::NamedFile;

/// The options that were passed, with their values.
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
        let options = settings().flat_map(|setting| arguments(setting, &mut defaults));
        // The options for what is served come first, so the help begins with them.
        let (served, others): (Vec<_>, Vec<_>) =
            options.partition(|option| option.get_help_heading() == Some(SERVED));
        command.args(served).args(others)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// Returns the command-line options of a setting.
fn arguments<T: Default>(setting: &'static Setting<T>, defaults: &mut T) -> Vec<Arg> {
    let options = setting.options.iter();
    options
        .map(|option| argument(setting, option, defaults))
        .collect()
}

fn argument<T: Default>(
    setting: &'static Setting<T>,
    option: &'static SettingOption<T>,
    defaults: &mut T,
) -> Arg {
    let field = option.own.as_ref().unwrap_or(&setting.field);
    let aliases = setting.aliases.iter().chain(option.aliases);
    let argument = Arg::new(option.name)
        .long(option.name)
        .help(setting.help(option, defaults))
        .help_heading(option.heading)
        .hide_short_help(!option.is_usual)
        .aliases(aliases.copied());
    let argument = option.requires.into_iter().fold(argument, Arg::requires);
    if let SettingField::Flag(_) = field {
        return argument.action(ArgAction::SetTrue);
    }
    let argument = argument.value_name(option.value);
    let argument = if option.values.is_empty() {
        argument
    } else {
        let values = || option.values.iter().map(CompletionCandidate::new);
        argument.add(ArgValueCandidates::new(move || values().collect()))
    };
    let text = |text: &str| {
        let set = field.set(text, &mut T::default());
        set.map(|()| text.to_owned())
    };
    match field {
        SettingField::Path(_) => argument.value_parser(value_parser!(PathBuf)),
        SettingField::Paths(_) => argument
            .value_parser(value_parser!(PathBuf))
            .action(ArgAction::Append),
        SettingField::Each(_) => argument.value_parser(text).action(ArgAction::Append),
        _ => argument.value_parser(text),
    }
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
    /// Returns whether an option was passed.
    pub(crate) fn has(&self, option: &str) -> bool {
        self.0.value_source(option) == Some(ValueSource::CommandLine)
    }

    /// Returns the databases named by options, with their files.
    pub(crate) fn databases(&self) -> Vec<NamedFile> {
        // The option's parser has already refused invalid text.
        let texts = self.texts("database");
        texts.filter_map(|text| text.parse().ok()).collect()
    }

    /// Returns the values of an option that takes text.
    pub(crate) fn texts(&self, option: &str) -> impl Iterator<Item = &str> {
        let texts = self.0.get_many::<String>(option).into_iter();
        texts.flatten().map(String::as_str)
    }

    /// Sets the fields of `config` for the settings on the command line.
    pub(crate) fn apply(&self, config: &mut Config) {
        for setting in settings() {
            self.apply_one(setting, config);
        }
        mem::take(&mut config.given_listeners).apply(&mut config.listeners);
    }

    fn apply_one<T>(&self, setting: &Setting<T>, into: &mut T) {
        let options = setting.options.iter();
        for option in options.filter(|option| self.has(option.name)) {
            let name = option.name;
            let paths = || self.0.get_many(name).into_iter().flatten().cloned();
            match option.own.as_ref().unwrap_or(&setting.field) {
                SettingField::Flag(field) => {
                    *field(into) = option.own.is_some() || !name.starts_with("no-")
                }
                SettingField::Path(field) => *field(into) = paths().next(),
                SettingField::Paths(field) => *field(into) = paths().collect(),
                field => {
                    for text in self.texts(name) {
                        // The option's parser has already refused invalid text, so this cannot fail.
                        let _ = field.set(text, into);
                    }
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
        #[derive(Debug, PartialEq, Eq)]
        struct Garden {}

        /// A table with three settings.
        GARDEN "" {
            /// Water this many trees a day.
            trees: u64 = 7,
            "trees": Number(Count, 1, |garden| &mut garden.trees), option("trees", "NUMBER", "Work");

            /// The name over the gate [default: none].
            ///name = "Eden"
            name: Option<String> = None,
            "name": Text(|garden| &mut garden.name), option("name", "TEXT", "Work");

            /// Keep these bees.
            ///bees = ["mason"]
            bees: Vec<String> = Vec::new(),
            "bees": Each(keep), option("bee", "NAME", "Work", is_usual = true, help = "Keep a bee; may be repeated", own = Some(Each(keep)));
        }
    }

    fn keep(garden: &mut Garden, bee: &str) -> Result<(), String> {
        let is_known = ["mason", "honey"].contains(&bee);
        garden.bees.push(bee.to_owned());
        is_known.then_some(()).ok_or(format!("no bee {bee}"))
    }

    fn read(text: &str) -> Result<Garden, Vec<(usize, String)>> {
        let (notes, mut garden) = (Notes::default(), Garden::default());
        let table = DeTable::parse(text).expect("TOML");
        Section::top(&notes, Path::new(""), table.get_ref()).fill(&[&GARDEN], &mut garden);
        let errors = notes.into_sorted();
        if errors.is_empty() {
            Ok(garden)
        } else {
            Err(errors)
        }
    }

    fn given(arguments: &[&str], mut garden: Garden) -> Result<Garden, clap::Error> {
        let matches = command().try_get_matches_from([&["garden"][..], arguments].concat())?;
        let given = GivenSettings(matches);
        for setting in GARDEN.settings {
            given.apply_one(setting, &mut garden);
        }
        Ok(garden)
    }

    fn command() -> Command {
        let mut defaults = Garden::default();
        let settings = GARDEN.settings.iter();
        Command::new("garden")
            .term_width(80)
            .args(settings.flat_map(|setting| arguments(setting, &mut defaults)))
    }

    #[test]
    fn a_setting_that_is_described_once_has_its_option_key_default_help_and_template() {
        let trees =
            |arguments: &[&str]| given(arguments, Garden::default()).map(|garden| garden.trees);
        assert_eq!(trees(&[]).expect("no options"), 7);
        assert_eq!(trees(&["--trees", "9"]).expect("an option"), 9);
        let error = trees(&["--trees", "0"]).expect_err("too few").to_string();
        assert!(error.contains("must be at least 1"), "{error}");
        let named = given(&["--name", "Eden"], Garden::default());
        assert_eq!(named.expect("a name").name.as_deref(), Some("Eden"));
        let error = given(&["--name", ""], Garden::default()).expect_err("no name");
        assert!(error.to_string().contains("the text is empty"), "{error}");
        let help = command().render_long_help().to_string();
        assert!(help.contains("Work:\n      --trees <NUMBER>"), "{help}");
        assert!(
            help.contains("Water this many trees a day [default: 7]"),
            "{help}"
        );

        let trees = |text| read(text).map(|garden| garden.trees);
        assert_eq!(trees(""), Ok(7));
        assert_eq!(trees("trees = 9"), Ok(9));
        for (text, words) in [
            ("trees = 0", "trees must be at least 1"),
            ("trees = \"few\"", "trees is not a number"),
            ("name = \"\"", "name is not a non-empty text"),
            (
                "goats = 9",
                "unknown key \"goats\"; known keys: bees, name, trees",
            ),
        ] {
            let errors = trees(text).expect_err(text);
            assert!(errors.len() == 1 && errors[0].1 == words, "{errors:?}");
        }

        let mut template = String::new();
        GARDEN.print(&mut template);
        let lines = "# A table with three settings.\n\n# Water this many trees a day.\n#trees = 7\n\n\
                     # The name over the gate [default: none].\n#name = \"Eden\"\n\n\
                     # Keep these bees.\n#bees = [\"mason\"]\n";
        assert_eq!(template, lines);
    }

    #[test]
    fn a_list_that_is_described_once_has_its_repeated_option_key_and_every_error() {
        let garden = read("bees = \"mason\"").expect("one text");
        let garden = given(&["--bee", "honey", "--bee", "mason"], garden).expect("two options");
        assert_eq!(garden.bees, ["mason", "honey", "mason"]);
        let error = given(&["--bee", "wasp"], garden)
            .expect_err("no bee")
            .to_string();
        assert!(error.contains("'--bee <NAME>': no bee wasp"), "{error}");
        let help = command().render_help().to_string();
        assert!(help.contains("Keep a bee; may be repeated"), "{help}");
        assert!(!help.contains("--trees"), "{help}");

        let text = "bees = [\"wasp\", \"mason\", 3]\ntrees = 0";
        let errors = read(text).expect_err(text);
        let expected = [
            (8, "bees: no bee wasp"),
            (25, "bees holds a value that is not a text"),
            (36, "trees must be at least 1"),
        ];
        assert_eq!(errors, expected.map(|(at, words)| (at, words.to_owned())));
    }
}

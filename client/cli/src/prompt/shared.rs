//! Runs the program's subcommands at the prompt, in the open session. They take the same arguments as on the command
//! line, and share the implementation.

use std::path::PathBuf;
use std::sync::Arc;

use clap::error::ErrorKind;
use clap::{Arg, Command};
use z3950::service::DEFAULT_RESULT_SET;
use z3950::target::redacted;
use z3950_asn1::apdu::{DatabaseName, Options};
use z3950_asn1::query::nearest;

use super::command::{CommandResult, PromptWord, Refusal, parsed, unquoted};
use super::settings::shown_as;
use super::state::{CommandSession, Prompt, written};
use crate::commands::scan;
use crate::commands::target::{NamedTarget, NewResultSet, OpenSession, Service, TargetClient};
use crate::console::exit::Exit;
use crate::console::output::{Failure, Output};

/// How to interpret the words that do not belong to an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Positionals {
    /// The words form one text, such as a query. Its quotation marks are kept.
    Text,
    /// Each word is an argument. Spaces within quotation marks or after a backslash do not separate words.
    Each,
}

/// Returns whether a line contains an option, in which case it is not in the syntax of yaz-client.
pub(super) fn has_option(line: &str) -> bool {
    line.trim() == "-h" || parsed(line).iter().any(PromptWord::is_option)
}

impl Prompt {
    /// Runs a subcommand of the program in the open session. The settings are the defaults for its options.
    pub(super) async fn shared<A: Service>(
        &mut self,
        positionals: Positionals,
        line: &str,
        output: &mut Output,
    ) -> CommandResult {
        let Some(service) = self.parse_service::<A>(positionals, line, output)? else {
            return Ok(Exit::Delivered);
        };
        self.reopen_if_closed(output).await?;
        if !self.under_way.is_empty() {
            let words = "requests are pending; use wait_response first";
            return Err(Refusal::wrong(words));
        }
        let (reach, target) = self.lend::<A>(service.databases())?;
        let performed = service.perform(&reach, &target, output).await;
        self.reclaim_session();
        performed.map_err(|failure| match failure {
            Failure::Usage(words) => Refusal::wrong(words),
            failure @ Failure::Input { .. } => Refusal::wrong(failure),
            failure => failure.into(),
        })
    }

    /// Parses the arguments of a command. If the line asks for help on the command, shows the help and returns `None`.
    fn parse_service<A: Service>(
        &self,
        positionals: Positionals,
        line: &str,
        output: &mut Output,
    ) -> Result<Option<A>, Refusal> {
        let mut command = self.command::<A>();
        let mut given = arguments(&command, positionals, line).map_err(Refusal::wrong)?;
        complete(&command, &mut given, self.defaults(A::NAME));
        let matches = match command.try_get_matches_from_mut(given) {
            Ok(matches) => matches,
            Err(error) if error.kind() == ErrorKind::DisplayHelp => {
                output.line(error.to_string().trim_end())?;
                return Ok(None);
            }
            Err(error) if error.kind() == ErrorKind::MissingRequiredArgument => {
                return Err(Refusal::Usage);
            }
            Err(error) => {
                // Only the first paragraph is shown, since `help` shows the usage.
                let words = error.to_string();
                let words = words.split("\n\n").next().unwrap_or_default();
                return Err(Refusal::wrong(words.trim_start_matches("error: ")));
            }
        };
        let is_standard = |word: &PromptWord<'_>| word.meant == "-" || word.meant.ends_with("=-");
        let is_dash = |name| {
            let path = matches.try_get_one::<PathBuf>(name).ok().flatten();
            path.is_some_and(|path| path.as_os_str() == "-")
        };
        if positionals == Positionals::Each && parsed(line).iter().any(is_standard)
            || is_dash("request")
            || is_dash("description")
        {
            let words = "standard input is for commands here; name a file";
            return Err(Refusal::wrong(words));
        }
        let mut service = A::from_arg_matches(&matches).map_err(Refusal::wrong)?;
        if output.is_gathered() && matches!(matches.try_get_one("json"), Ok(Some(true))) {
            let words = "--json cannot be used with z3950 open --format, which writes one document";
            return Err(Refusal::wrong(words));
        }
        let Some(records) = service.records() else {
            return Ok(Some(service));
        };
        if output.is_gathered() && records.format() != self.settings.output {
            let words = "--format must be that of z3950 open --format, which writes one document";
            return Err(Refusal::wrong(words));
        }
        // A table has the columns and rows chosen in the settings, unless the command specifies its own.
        if records.format().is_table() {
            let columns = &self.settings.columns;
            records.fields = records.fields.take().or_else(|| columns.clone());
            records.row_per_copy |= self.settings.has_row_per_copy;
        }
        Ok(Some(service))
    }

    /// Makes the current session available to a subcommand until [`reclaim_session`](Self::reclaim_session) is called. If
    /// `databases` are given, the command uses them instead of the session's databases.
    fn lend<A: Service>(
        &mut self,
        databases: &[String],
    ) -> Result<(TargetClient, NamedTarget), Refusal> {
        let session = self.session()?;
        let mut target = self.current_target()?;
        if !databases.is_empty() {
            let names = databases
                .iter()
                .map(|name| DatabaseName::from(name.as_str()));
            let resolved = Arc::make_mut(&mut target.resolved);
            resolved.databases = names.collect();
            target.text = redacted(&written(resolved).to_string());
        }
        let is_named = session.server_info().options;
        let is_named = is_named.contains(Options::NAMED_RESULT_SETS);
        let set = if A::MAKES_SET && is_named {
            self.next_name()
        } else {
            DEFAULT_RESULT_SET.to_owned()
        };
        let reader = self.reader_of_pages();
        let session = OpenSession::new(session, set, self.seen.clone(), reader);
        if let Some(opened) = self.opened_mut() {
            opened.command_session = Some(CommandSession {
                session: session.clone(),
                makes_set: A::MAKES_SET,
                interrupted: A::INTERRUPTED,
            });
        }
        let client = self.context.client.clone();
        let reach = TargetClient::open(client, session, self.dialects.clone());
        Ok((reach, target))
    }

    /// Ends a subcommand's use of the session, and updates the prompt's state with what the subcommand changed in the
    /// session, even if it was interrupted. Returns the message to print after an interruption.
    pub(super) fn reclaim_session(&mut self) -> Option<&'static str> {
        let opened = self.opened_mut()?;
        let command_session = opened.command_session.take()?;
        let (left, set) = (command_session.session.left(), command_session.session.set);
        if left.has_searched {
            // Even a failed search replaces the result set of the same name, so the old set is forgotten.
            opened.hits.remove(&set);
            opened
                .result_set
                .take_if(|current| command_session.makes_set || current.name == set);
        }
        if let Some(NewResultSet { hits, next }) = left.new_set {
            self.found(set, hits);
            self.passed(next - 1);
        }
        command_session.interrupted
    }

    fn command<A: Service>(&self) -> Command {
        let command = A::augment_args(Command::new(A::NAME))
            .about(A::SUMMARY)
            .long_about(None)
            .no_binary_name(true)
            .color(clap::ColorChoice::Never);
        let format = self.settings.output.name();
        // The format is set as the default value and is not added to the arguments, because `--json` conflicts with
        // `--format`.
        let has_format = command.get_arguments().any(|arg| arg.get_id() == "format");
        if has_format {
            command.mut_arg("format", |arg| arg.default_value(format))
        } else {
            command
        }
    }

    /// Returns the settings that apply to a command, as the names and values of options.
    fn defaults(&self, command: &str) -> Vec<(&'static str, String)> {
        let settings = &self.settings;
        let language = settings.query_type.language();
        let of_scan = |name, number: Option<u64>| {
            let number = number.filter(|_| command == scan::Arguments::NAME);
            number.map(|number| (name, number.to_string()))
        };
        let facets = settings.facets.iter().flat_map(|list| &list.0);
        [
            language.map(|language| ("lang", language.name().to_owned())),
            of_scan("count", Some(settings.scan_size)),
            of_scan("position", settings.scan_position),
            of_scan("step", settings.scan_step),
        ]
        .into_iter()
        .flatten()
        .chain(facets.map(|field| ("facets", shown_as(field))))
        .collect()
    }
}

/// Adds the defaults for those options that were not given on the line.
fn complete(command: &Command, given: &mut Vec<String>, defaults: Vec<(&str, String)>) {
    let options = given.iter().take_while(|word| *word != "--");
    let options = options.filter(|word| word.starts_with('-')).map(|word| {
        let word = word.trim_start_matches('-');
        word.split('=').next().unwrap_or(word).to_owned()
    });
    let options: Vec<String> = options.collect();
    for (name, value) in defaults {
        let mut known = command.get_arguments();
        let is_open = |arg: &Arg| !names(arg).iter().any(|name| options.contains(name));
        if known.any(|arg| arg.get_long() == Some(name) && is_open(arg)) {
            given.insert(0, format!("--{name}={value}"));
        }
    }
}

/// Returns the names of an option, without their hyphens.
fn names(arg: &Arg) -> Vec<String> {
    let aliases = arg.get_all_aliases().unwrap_or_default();
    let names = arg.get_long().into_iter().chain(aliases);
    let short = arg.get_short().map(String::from);
    names.map(str::to_owned).chain(short).collect()
}

/// Returns the words on a line in the order that clap expects: options first, then other words.
///
/// # Errors
/// Fails if the line has an unknown option.
fn arguments(
    command: &Command,
    positionals: Positionals,
    line: &str,
) -> Result<Vec<String>, String> {
    let (mut options, mut others) = (Vec::new(), Vec::new());
    let mut words = parsed(line).into_iter();
    while let Some(word) = words.next() {
        match word.written {
            "--" => others.extend(words.by_ref()),
            "-h" | "--help" => options.push(word.meant),
            _ if word.is_option() => {
                let option = word.written.trim_start_matches('-');
                let name = option.split('=').next().unwrap_or(option);
                let mut known = command.get_arguments();
                let Some(arg) = known.find(|arg| names(arg).iter().any(|known| known == name))
                else {
                    let all = command.get_arguments().filter_map(Arg::get_long);
                    let hint = match nearest(name, all) {
                        Some(nearest) => format!("did you mean --{nearest}?"),
                        None => format!("{} --help lists the options", command.get_name()),
                    };
                    let written = word.written.split('=').next().unwrap_or(word.written);
                    return Err(format!("there is no option {written}; {hint}"));
                };
                // An optional value, such as the one for --fallback, must follow an equals sign.
                let needs_value = arg
                    .get_num_args()
                    .is_none_or(|count| count.min_values() > 0);
                let takes_next = arg.get_action().takes_values() && needs_value && name == option;
                options.push(word.meant);
                if takes_next {
                    options.extend(words.next().map(|value| value.meant));
                }
            }
            _ => others.push(word),
        }
    }
    options.push("--".to_owned());
    match positionals {
        Positionals::Each => options.extend(others.into_iter().map(|word| word.meant)),
        Positionals::Text if others.is_empty() => {}
        Positionals::Text => {
            let written: Vec<&str> = others.iter().map(|word| word.written).collect();
            options.push(unquoted(&written.join(" ")).to_owned());
        }
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use clap::Args;

    use super::*;

    #[test]
    fn options_may_be_anywhere_and_the_rest_is_one_text_or_words() {
        let command = scan::Arguments::augment_args(Command::new("scan"));
        for (words, line, expected) in [
            (Positionals::Text, "ti:war", &["--", "ti:war"][..]),
            (
                Positionals::Text,
                "--count 5 \"war  and\" peace --json",
                &["--count", "5", "--json", "--", "\"war  and\" peace"],
            ),
            (
                Positionals::Text,
                "war --size=5 peace",
                &["--size=5", "--", "war peace"],
            ),
            (
                Positionals::Text,
                "--set \"a b\" -- --count 5",
                &["--set", "a b", "--", "--count 5"],
            ),
            (Positionals::Text, "--count", &["--count", "--"]),
            (
                Positionals::Text,
                "war -n 5 -novel",
                &["-n", "5", "--", "war -novel"],
            ),
            (Positionals::Text, "-h", &["-h", "--"]),
            (Positionals::Text, "", &["--"]),
            (
                Positionals::Each,
                "\"a b\" c\\ d --json",
                &["--json", "--", "a b", "c d"],
            ),
        ] {
            let found = arguments(&command, words, line).expect(line);
            assert_eq!(found, expected, "{line}");
        }
        let defaults = vec![
            ("count", "3".to_owned()),
            ("lang", "ccl".to_owned()),
            ("no", String::new()),
        ];
        let mut given = arguments(&command, Positionals::Text, "--language pqf x").expect("words");
        complete(&command, &mut given, defaults);
        assert_eq!(given, ["--count=3", "--language", "pqf", "--", "x"]);
        for own in ["-n 7 x", "--count 7 x", "--size=7 x"] {
            let mut given = arguments(&command, Positionals::Text, own).expect(own);
            let before = given.clone();
            complete(&command, &mut given, vec![("count", "3".to_owned())]);
            assert_eq!(given, before, "the option of the line replaces the setting");
        }
        for (line, hint) in [
            ("--cuont 3 x", "--cuont; did you mean --count?"),
            ("-f brief x", "no option -f; "),
            ("--nonsense x", "--nonsense; scan --help lists"),
        ] {
            let refused = arguments(&command, Positionals::Text, line).expect_err(line);
            assert!(refused.contains(hint), "{refused}");
        }
        assert!(has_option("insert a.mrc --id 7"));
        for line in ["insert id7 <record.xml", "\"--id\" x", "-- x", "a--b", ""] {
            assert!(!has_option(line), "{line}");
        }
    }
}

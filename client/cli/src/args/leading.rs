//! Moves options that precede the name of a command, as in `z3950 --demo search …`, after the name. Clap then rejects
//! options that the command does not have.

use std::ffi::{OsStr, OsString};

use clap::{Arg, Args, Command as Definition, Subcommand};

use super::{Command, Messages};
use crate::commands::connection::ConnectionOptions;
use crate::commands::query::QueryCommand;
use crate::commands::targets::Targets;
use crate::commands::url::Url;

/// Replaces `--man` and `--completions SHELL` with the commands of the same names. The options are accepted because
/// `z3950d` has them.
pub(super) fn rename(arguments: &mut Vec<OsString>) {
    let Some(first) = arguments.get(1).and_then(|first| first.to_str()) else {
        return;
    };
    let (name, value) = match first.split_once('=') {
        Some((name, value)) => (name, Some(OsString::from(value))),
        None => (first, None),
    };
    let command = match name {
        "--man" => "man",
        "--completions" => "completions",
        _ => return,
    };
    arguments.splice(1..2, std::iter::once(command.into()).chain(value));
}

/// Moves options that precede the name of a command after the name. If there is a different word in place of the name,
/// that word is moved to the front, so that the error is about this word and not about the options.
pub(super) fn settle(arguments: &mut Vec<OsString>) {
    let Some(path) = path(arguments) else {
        if let Some(place) = command(arguments, 1) {
            let word = arguments.remove(place);
            arguments.insert(1, word);
        }
        return;
    };
    let is_settled = path.iter().zip(1..).all(|(index, place)| *index == place);
    let Some(end) = path.last().filter(|_| !is_settled) else {
        return;
    };
    let rest = arguments.split_off(end + 1);
    let (mut names, mut options) = (Vec::new(), Vec::new());
    for (index, argument) in arguments.drain(..).enumerate() {
        if index == 0 || path.contains(&index) {
            names.push(argument)
        } else {
            options.push(argument)
        }
    }
    arguments.extend(names.into_iter().chain(options).chain(rest));
}

/// Returns the indexes of the names of the command and its subcommand, if it has one; `None` if the arguments do not
/// begin with options and a command.
fn path(arguments: &[OsString]) -> Option<Vec<usize>> {
    let first = command(arguments, 1)?;
    let has_subcommand = match arguments.get(first)?.to_str()? {
        "targets" => Targets::has_subcommand,
        "url" => Url::has_subcommand,
        "query" => QueryCommand::has_subcommand,
        name => return Command::has_subcommand(name).then(|| vec![first]),
    };
    let second = command(arguments, first + 1)?;
    let name = arguments.get(second)?.to_str()?;
    has_subcommand(name).then(|| vec![first, second])
}

/// Returns the index of the first argument that is neither an option nor the value of an option.
fn command(arguments: &[OsString], from: usize) -> Option<usize> {
    let mut index = from;
    loop {
        let argument = arguments.get(index)?.to_str()?;
        if !argument.starts_with('-') {
            return Some(index);
        }
        index += 1 + usize::from(takes_value(argument)?);
    }
}

/// Returns whether this option takes the next argument as its value; `None` if none of the commands that connect has
/// this option.
fn takes_value(argument: &str) -> Option<bool> {
    let Some(long) = argument.strip_prefix("--") else {
        let mut letters = argument.chars().skip(1).peekable();
        let are_flags = letters.peek().is_some() && letters.all(|letter| "qv".contains(letter));
        return are_flags.then_some(false);
    };
    let (name, has_value) = match long.split_once('=') {
        Some((name, _)) => (name, true),
        None => (long, false),
    };
    let known = ConnectionOptions::augment_args(Messages::augment_args(Definition::new("z3950")));
    let is_named = |option: &&Arg| {
        let aliases = option.get_all_aliases().unwrap_or_default();
        option.get_long() == Some(name) || aliases.contains(&name)
    };
    let option = known.get_arguments().find(is_named)?;
    Some(!has_value && option.get_action().takes_values())
}

/// Returns whether an argument is the name of a command.
pub(super) fn is_command(argument: &OsStr) -> bool {
    argument
        .to_str()
        .is_some_and(|text| text == "help" || Command::has_subcommand(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_before_a_command_become_its_options() {
        for (line, settled) in [
            ("--demo search t q", "search --demo t q"),
            ("--timeout 5 -vv get u", "get --timeout 5 -vv u"),
            ("--timeout=5 get u --json", "get --timeout=5 u --json"),
            ("--user get search t q", "search --user get t q"),
            ("-q --cert c get u", "get -q --cert c u"),
            ("--quiet -v get u", "get --quiet -v u"),
            ("--demo targets check t", "targets check --demo t"),
            ("targets --demo check t", "targets check --demo t"),
            ("--demo convert f", "convert --demo f"),
            ("search --demo t q", "search --demo t q"),
            ("--nonsense 5 search t", "--nonsense 5 search t"),
            ("--help search", "--help search"),
            ("--demo", "--demo"),
            ("--user", "--user"),
            ("targets nothing", "targets nothing"),
            ("--demo targets nothing", "targets --demo nothing"),
            ("--demo serch t q", "serch --demo t q"),
            ("--timeout 5 -v h/d", "h/d --timeout 5 -v"),
            ("-- search", "-- search"),
            ("", ""),
        ] {
            let words = |line: &str| -> Vec<OsString> {
                let words = std::iter::once("z3950").chain(line.split_whitespace());
                words.map(OsString::from).collect()
            };
            let mut arguments = words(line);
            settle(&mut arguments);
            assert_eq!(arguments, words(settled), "{line}");
        }
    }
}

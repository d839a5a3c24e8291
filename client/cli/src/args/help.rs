//! The help of each command: its purpose and examples first, then arguments and options in two columns. `-h` omits options that
//! are rarely needed; `--help` and `help` show all options.

use std::ffi::OsString;
use std::fmt::Write as _;

use clap::builder::{PossibleValue, StyledStr};
use clap::{Arg, Command, CommandFactory};

use crate::args::{Cli, examples};

/// The maximum width of help in columns, which is also used if the width of the terminal is unknown.
pub(super) const WIDTH: usize = 100;
/// The minimum width of descriptions. A narrower terminal wraps the lines itself.
const NARROWEST: usize = 20;
/// The column in which the descriptions of options begin.
const COLUMN: usize = 30;
/// The column in which the descriptions of commands begin.
const NAMES: usize = 15;
/// The heading of options that have no heading of their own.
const OPTIONS: &str = "Options";

/// Returns the page or error that clap wants to print for arguments that ask for help or lack a command. The pages are
/// those of this module, wrapped at `width` columns.
pub(super) fn answer(
    arguments: &[OsString],
    is_missing: bool,
    width: usize,
) -> Option<clap::Error> {
    let is_brief = is_missing || arguments.iter().any(|argument| argument == "-h");
    let mut command = Cli::command();
    command.build();
    let command = with_pages(command, "", is_brief, width);
    command.try_get_matches_from(arguments).err()
}

/// Returns the command and its subcommands with the help pages of this module.
fn with_pages(command: Command, path: &str, is_brief: bool, width: usize) -> Command {
    let page = page(&mut command.clone(), path, is_brief, width);
    let with_page = |subcommand: Command| {
        let path = format!("{path} {}", subcommand.get_name());
        with_pages(subcommand, path.trim_start(), is_brief, width)
    };
    command
        .mut_subcommands(with_page)
        .override_help(StyledStr::from(page))
}

/// Returns the help page of a command that clap has built.
fn page(command: &mut Command, path: &str, is_brief: bool, width: usize) -> String {
    let mut page = Page {
        text: String::new(),
        is_brief,
        header: *command.get_styles().get_header(),
        literal: *command.get_styles().get_literal(),
        width,
    };
    let about = if is_brief {
        command.get_about()
    } else {
        command.get_long_about().or(command.get_about())
    };
    if let Some(about) = about {
        let about = about.to_string();
        page.paragraphs(&about);
    }
    let _ = writeln!(page.text, "\n{}", command.render_usage().ansi());
    let lines = examples::lines(path);
    if !lines.is_empty() {
        page.heading("Examples");
        for line in lines {
            let _ = writeln!(page.text, "  {line}");
        }
    }
    page.arguments(command);
    let is_whole = command.get_arguments().all(|arg| !is_left_out(arg, true));
    let after = command.get_after_help().map(ToString::to_string);
    match after.filter(|_| !is_brief || is_whole) {
        Some(after) => {
            page.text.push('\n');
            for line in after.lines() {
                match line.strip_suffix(':').filter(|_| !line.starts_with(' ')) {
                    Some(title) => page.title(title),
                    None => {
                        let _ = writeln!(page.text, "{line}");
                    }
                }
            }
        }
        None if is_brief && !is_whole => {
            let name = format!("z3950 {path}");
            let _ = writeln!(page.text, "\nAll options: {} --help", name.trim_end());
        }
        None => {}
    }
    page.text
}

struct Page {
    text: String,
    is_brief: bool,
    header: clap::builder::styling::Style,
    literal: clap::builder::styling::Style,
    width: usize,
}

impl Page {
    fn arguments(&mut self, command: &Command) {
        let is_brief = self.is_brief;
        let shown = |arg: &&Arg| !is_left_out(arg, is_brief);
        let mut positionals = command.get_positionals().filter(shown).peekable();
        if positionals.peek().is_some() {
            self.heading("Arguments");
            positionals.for_each(|arg| self.argument(arg, &arg.to_string(), &arg.to_string()));
        }
        let mut subcommands = command.get_subcommands().peekable();
        if subcommands.peek().is_some() {
            self.heading("Commands");
            for subcommand in subcommands {
                let about = subcommand.get_about().map(ToString::to_string);
                let name = subcommand.get_name();
                let Self { literal, .. } = *self;
                let styled = format!("{literal}{name}{literal:#}");
                self.row(name.len(), &styled, &about.unwrap_or_default(), NAMES);
            }
        }
        let options = command.get_arguments().filter(|arg| !arg.is_positional());
        let options: Vec<&Arg> = options.filter(shown).collect();
        let mut headings = vec![OPTIONS];
        for option in &options {
            let heading = option.get_help_heading().unwrap_or(OPTIONS);
            if !headings.contains(&heading) {
                headings.push(heading);
            }
        }
        for heading in headings {
            let of_heading =
                |option: &&&Arg| option.get_help_heading().unwrap_or(OPTIONS) == heading;
            let mut options = options.iter().filter(of_heading).peekable();
            if options.peek().is_some() {
                self.heading(heading);
                options.for_each(|option| self.option(option));
            }
        }
    }

    fn option(&mut self, option: &Arg) {
        let Self { literal, .. } = *self;
        let spec = option.to_string();
        let name = spec.split([' ', '[', '.']).next().unwrap_or_default();
        let rest = spec.get(name.len()..).unwrap_or_default();
        let (short, plain) = match (option.get_short(), option.get_long()) {
            (Some(short), Some(_)) => (format!("{literal}-{short}{literal:#}, "), "-s, "),
            (Some(_), None) => (String::new(), ""),
            _ => ("    ".to_owned(), "    "),
        };
        let styled = format!("{short}{literal}{name}{literal:#}{rest}");
        self.argument(option, &styled, &format!("{plain}{spec}"));
    }

    /// Adds the row for an argument, which is given as styled and as plain text.
    fn argument(&mut self, arg: &Arg, styled: &str, plain: &str) {
        let mut help = match arg.get_id().as_str() {
            "help" => "Print help; -h shows only common options".to_owned(),
            _ => arg.get_help().map(ToString::to_string).unwrap_or_default(),
        };
        let values = arg.get_possible_values();
        let values: Vec<&PossibleValue> = if arg.is_hide_possible_values_set() {
            Vec::new()
        } else {
            values.iter().filter(|value| !value.is_hide_set()).collect()
        };
        let takes_values = arg.get_action().takes_values();
        let are_explained = !self.is_brief && values.iter().any(|value| value.get_help().is_some());
        let defaults = arg.get_default_values().iter();
        let defaults: Vec<_> = defaults.map(|value| value.to_string_lossy()).collect();
        if takes_values && !arg.is_hide_default_value_set() && !defaults.is_empty() {
            let _ = write!(help, " [default: {}]", defaults.join(" "));
        }
        if takes_values && !are_explained && !values.is_empty() {
            let names: Vec<&str> = values.iter().map(|value| value.get_name()).collect();
            let _ = write!(help, " [{}]", names.join(", "));
        }
        if let Some(aliases) = arg
            .get_visible_aliases()
            .filter(|aliases| !aliases.is_empty())
        {
            let _ = write!(help, " [also: --{}]", aliases.join(", --"));
        }
        self.row(plain.chars().count(), styled, help.trim_start(), COLUMN);
        if takes_values && are_explained {
            for value in values {
                let help = value
                    .get_help()
                    .map(ToString::to_string)
                    .unwrap_or_default();
                let help = format!("{}: {help}", value.get_name());
                let indented = " ".repeat(COLUMN + 2);
                for line in wrapped(&help, self.width.saturating_sub(COLUMN + 4)) {
                    let _ = writeln!(self.text, "{indented}{line}");
                }
            }
        }
    }

    /// Adds a row: the left column, which is `length` columns wide, and the description from `column` on.
    fn row(&mut self, length: usize, left: &str, words: &str, column: usize) {
        let _ = write!(self.text, "  {left}");
        let mut at = 2 + length;
        for line in wrapped(words, self.width.saturating_sub(column)) {
            if at + 2 > column {
                self.text.push('\n');
                at = 0;
            }
            let _ = write!(self.text, "{}{line}", " ".repeat(column - at));
            at = column;
        }
        self.text.push('\n');
    }

    fn paragraphs(&mut self, words: &str) {
        for line in words.lines() {
            let lines = wrapped(line, self.width);
            if lines.is_empty() {
                self.text.push('\n');
            }
            for line in lines {
                let _ = writeln!(self.text, "{line}");
            }
        }
    }

    fn heading(&mut self, title: &str) {
        self.text.push('\n');
        self.title(title);
    }

    fn title(&mut self, title: &str) {
        let Self { header, .. } = *self;
        let _ = writeln!(self.text, "{header}{title}:{header:#}");
    }
}

fn is_left_out(arg: &Arg, is_brief: bool) -> bool {
    arg.is_hide_set() || (is_brief && arg.is_hide_short_help_set())
}

/// Returns the width of help: the width of the terminal, but at most [`WIDTH`].
pub(super) fn width() -> usize {
    match terminal_size::terminal_size() {
        Some((terminal_size::Width(columns), _)) => usize::from(columns).min(WIDTH),
        None => WIDTH,
    }
}

/// Wraps words at `width` columns. A word that is longer gets its own line.
fn wrapped(words: &str, width: usize) -> Vec<String> {
    let width = width.max(NARROWEST);
    let mut lines: Vec<String> = Vec::new();
    let mut columns = 0;
    for word in words.split_whitespace() {
        let length = word.chars().count();
        match lines.last_mut() {
            Some(line) if columns + 1 + length <= width => {
                line.push(' ');
                line.push_str(word);
                columns += 1 + length;
            }
            _ => {
                lines.push(word.to_owned());
                columns = length;
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_wrapped_between_words() {
        let words = "one two three four five six seven eight";
        assert_eq!(
            wrapped(words, 20),
            ["one two three four", "five six seven eight"]
        );
        let word = "a".repeat(30);
        assert_eq!(wrapped(&format!("{word} b"), 20), [word.as_str(), "b"]);
        assert!(wrapped(" ", 20).is_empty());
    }
}

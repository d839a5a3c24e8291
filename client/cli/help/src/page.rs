//! Help pages for commands: the purpose and examples, followed by arguments and options in two columns. `-h` fits on
//! one screen and shows the usual options in one or two lines each. `--help` and `help` show everything.

use std::ffi::OsString;
use std::fmt::Write as _;

use clap::builder::styling::Style;
use clap::builder::{PossibleValue, StyledStr};
use clap::{Arg, Command};

use crate::text::{self, beginning, sentence, wrapped};
use crate::{Program, ordered_arguments, sections};

/// The maximum width of help in columns, which is also used if the width of the terminal is unknown.
pub const WIDTH: usize = 100;
/// The maximum number of lines of `-h` at [`WIDTH`] columns.
pub const BRIEF_LINES: usize = 25;
/// The maximum number of examples in `-h`.
const BRIEF_EXAMPLES: usize = 5;
/// The column in which the descriptions of options begin.
const COLUMN: usize = 30;
/// The rightmost column in which the descriptions of options may begin in `-h`.
const BRIEF_COLUMN: usize = 33;
/// The leftmost column in which the descriptions of commands may begin.
const NAMES: usize = 15;
/// The heading for options that do not define one.
const OPTIONS: &str = "Options";
/// The options that all commands have. `-h` does not show them.
const COMMON: [&str; 5] = ["help", "version", "verbose", "quiet", "color"];

/// Returns the width of help: the width of the terminal, but at most [`WIDTH`].
pub fn width() -> usize {
    match terminal_size::terminal_size() {
        Some((terminal_size::Width(columns), _)) => usize::from(columns).min(WIDTH),
        None => WIDTH,
    }
}

impl Program {
    /// Returns the help page or the error that clap prints for these arguments; `None` if they are valid. If
    /// `is_missing` is set, because a command is missing, the help page is the short one. Pages are wrapped at `width`
    /// columns.
    pub fn answer(
        &self,
        arguments: &[OsString],
        is_missing: bool,
        width: usize,
    ) -> Option<clap::Error> {
        let is_brief = is_missing || arguments.iter().any(|argument| argument == "-h");
        let command = self.with_pages(self.built(), "", is_brief, width);
        command.try_get_matches_from(arguments).err()
    }

    /// Replaces the help pages for a command and its subcommands with the pages of this module.
    fn with_pages(&self, command: Command, path: &str, is_brief: bool, width: usize) -> Command {
        let page = self.page(&mut command.clone(), path, is_brief, width);
        let with_page = |subcommand: Command| {
            let path = format!("{path} {}", subcommand.get_name());
            self.with_pages(subcommand, path.trim_start(), is_brief, width)
        };
        command
            .mut_subcommands(with_page)
            .override_help(StyledStr::from(page))
    }

    /// Returns the help page for a command that clap has built.
    fn page(&self, command: &mut Command, path: &str, is_brief: bool, width: usize) -> String {
        let usage = command.render_usage();
        let page = Page {
            text: String::new(),
            is_brief,
            header: *command.get_styles().get_header(),
            literal: *command.get_styles().get_literal(),
            width,
            column: COLUMN,
        };
        let usage = usage.ansi().to_string();
        if is_brief {
            self.brief(page, command, path, usage.trim_end())
        } else {
            self.whole(page, command, path, usage.trim_end())
        }
    }

    /// Returns the complete help page, which `--help` prints.
    fn whole(&self, mut page: Page, command: &Command, path: &str, usage: &str) -> String {
        if let Some(about) = command.get_long_about().or(command.get_about()) {
            page.paragraphs(&about.to_string());
        }
        let _ = writeln!(page.text, "\n{usage}");
        let examples = self.examples_below(path);
        if !examples.is_empty() {
            page.heading("Examples");
        }
        for (purpose, line) in examples {
            if !purpose.is_empty() {
                let _ = writeln!(page.text, "  # {purpose}");
            }
            let _ = writeln!(page.text, "  {line}");
        }
        let mut positionals = command.get_positionals().filter(shown).peekable();
        if positionals.peek().is_some() {
            page.heading("Arguments");
            positionals.for_each(|arg| page.argument(arg, &arg.to_string(), &arg.to_string()));
        }
        page.commands(command, &[]);
        let options = ordered_arguments(command)
            .into_iter()
            .filter(|arg| !arg.is_positional());
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
                page.heading(heading);
                options.for_each(|option| page.option(option));
            }
        }
        let after = command.get_after_help().map(ToString::to_string);
        for section in sections(&after.unwrap_or_default()) {
            if section.title.is_empty() {
                page.text.push('\n');
            } else {
                page.heading(&section.title);
            }
            text::write(&section, page.width, &mut page.text);
        }
        page.text
    }

    /// Returns the short help page, which `-h` prints. Arguments and examples are included if the usual options leave
    /// enough lines for them.
    fn brief(&self, mut page: Page, command: &Command, path: &str, usage: &str) -> String {
        let mut head = page.empty();
        if let Some(about) = command.get_about() {
            head.paragraphs(&about.to_string());
        }
        let _ = writeln!(head.text, "\n{usage}");
        let usual: Vec<&Arg> = ordered_arguments(command)
            .into_iter()
            .filter(is_usual)
            .collect();
        let longest = usual
            .iter()
            .map(|option| option.to_string().chars().count());
        page.column = BRIEF_COLUMN.min(longest.max().unwrap_or(0) + 8);
        let mut options = page.empty();
        options.commands(command, self.rare);
        if !usual.is_empty() {
            options.heading(OPTIONS);
            usual.iter().for_each(|option| options.option(option));
        }
        let mut positionals = page.empty();
        let mut known = command.get_positionals().filter(shown).peekable();
        if known.peek().is_some() {
            positionals.heading("Arguments");
            known.for_each(|arg| positionals.argument(arg, &arg.to_string(), &arg.to_string()));
        }
        let name = format!("{} {path}", self.name);
        let name = name.trim_end();
        let footer = if command.has_subcommands() {
            format!(
                "\nMore commands and all options: {name} --help; one command: {name} COMMAND -h\n"
            )
        } else {
            format!("\nAll options: {name} --help\n")
        };
        let room = BRIEF_LINES.saturating_sub(count(&head.text) + count(&options.text) + 2);
        let mut examples = page.examples(&self.examples_below(path), room);
        if count(&examples) + count(&positionals.text) > room {
            let room = room.saturating_sub(count(&positionals.text));
            // An example explains more than the list of arguments, so the list is left out if there is no room for
            // both.
            if room > 2 {
                examples = page.examples(&self.examples_below(path), room);
            } else {
                positionals.text.clear();
            }
        }
        [head.text, examples, positionals.text, options.text, footer].concat()
    }
}

fn count(text: &str) -> usize {
    text.lines().count()
}

/// Returns whether `-h` shows an option.
fn is_usual(arg: &&Arg) -> bool {
    let is_option = !arg.is_positional() && shown(arg);
    is_option && !arg.is_hide_short_help_set() && !COMMON.contains(&arg.get_id().as_str())
}

fn shown(arg: &&Arg) -> bool {
    !arg.is_hide_set()
}

struct Page {
    text: String,
    is_brief: bool,
    header: Style,
    literal: Style,
    width: usize,
    /// The column in which descriptions begin.
    column: usize,
}

impl Page {
    /// Returns an empty copy of the page, with the same settings.
    fn empty(&self) -> Self {
        Self {
            text: String::new(),
            ..*self
        }
    }

    /// Returns as many examples as fit on `room` lines, with their heading.
    fn examples(&self, examples: &[(&str, &str)], room: usize) -> String {
        let mut page = self.empty();
        let lines = examples.iter().map(|(_, line)| *line);
        let fitting = lines.filter(|line| line.chars().count() + 2 <= self.width);
        let most = room.saturating_sub(2).min(BRIEF_EXAMPLES);
        for (index, line) in fitting.take(most).enumerate() {
            if index == 0 {
                page.heading("Examples");
            }
            let _ = writeln!(page.text, "  {line}");
        }
        page.text
    }

    /// Adds a row for each subcommand, except those named in `rare`.
    fn commands(&mut self, command: &Command, rare: &[&str]) {
        let below = command.get_subcommands();
        let is_shown = |below: &&Command| {
            let name = below.get_name();
            let is_left_out = rare.contains(&name) || (self.is_brief && name == "help");
            !below.is_hide_set() && !is_left_out
        };
        let below: Vec<&Command> = below.filter(is_shown).collect();
        if !below.is_empty() {
            self.heading("Commands");
        }
        let longest = below.iter().map(|below| below.get_name().len()).max();
        let column = NAMES.max(longest.unwrap_or(0) + 4);
        for subcommand in below {
            let name = subcommand.get_name();
            let about = subcommand.get_about().map(ToString::to_string);
            let about = about.unwrap_or_default();
            let about = if self.is_brief {
                sentence(&about)
            } else {
                &about
            };
            let Self { literal, .. } = *self;
            let styled = format!("{literal}{name}{literal:#}");
            self.row(name.len(), &styled, about, column);
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

    /// Adds the row for an argument. `styled` and `plain` are its left column with and without styles.
    fn argument(&mut self, arg: &Arg, styled: &str, plain: &str) {
        let help = arg.get_long_help().filter(|_| !self.is_brief);
        let help = help.or(arg.get_help()).map(ToString::to_string);
        let help = match (arg.get_id().as_str(), help.unwrap_or_default()) {
            ("help", _) => "Print help; -h shows only common options".to_owned(),
            (_, help) if self.is_brief => beginning(&help).to_owned(),
            (_, help) => help,
        };
        let explained = explained(arg).filter(|_| !self.is_brief);
        let mut paragraphs = help.split("\n\n");
        let first = paragraphs.next().unwrap_or_default();
        let mut first = first.to_owned();
        let mut rest: Vec<String> = paragraphs.map(str::to_owned).collect();
        rest.last_mut()
            .unwrap_or(&mut first)
            .push_str(&values(arg, explained.is_some()));
        self.row(
            plain.chars().count(),
            styled,
            first.trim_start(),
            self.column,
        );
        for paragraph in rest {
            self.row(0, "", &paragraph, self.column);
        }
        for value in explained.unwrap_or_default() {
            let help = value
                .get_help()
                .map(ToString::to_string)
                .unwrap_or_default();
            let help = format!("{}: {help}", value.get_name());
            let indented = " ".repeat(self.column + 2);
            for line in wrapped(&help, self.width.saturating_sub(self.column + 4)) {
                let _ = writeln!(self.text, "{indented}{line}");
            }
        }
    }

    /// Adds a row: the text `left`, which is `length` columns wide, and the description, which begins in `column`.
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
        let Self { header, .. } = *self;
        let _ = writeln!(self.text, "\n{header}{title}:{header:#}");
    }
}

/// Returns the possible values of an argument if at least one of them has help text; otherwise `None`.
pub(crate) fn explained(arg: &Arg) -> Option<Vec<PossibleValue>> {
    let values = possible_values(arg);
    let is_any = values.iter().any(|value| value.get_help().is_some());
    is_any.then_some(values)
}

/// Returns the possible values of an argument; empty if they cannot be listed.
pub(crate) fn possible_values(arg: &Arg) -> Vec<PossibleValue> {
    if arg.is_hide_possible_values_set() || !arg.get_action().takes_values() {
        return Vec::new();
    }
    let values = arg.get_possible_values().into_iter();
    values.filter(|value| !value.is_hide_set()).collect()
}

/// Returns the default value of an argument, and its possible values unless `are_explained` is set, each in square
/// brackets.
pub(crate) fn values(arg: &Arg, are_explained: bool) -> String {
    let mut words = String::new();
    if !arg.get_action().takes_values() {
        return words;
    }
    let defaults = arg.get_default_values().iter();
    let defaults: Vec<_> = defaults.map(|value| value.to_string_lossy()).collect();
    if !arg.is_hide_default_value_set() && !defaults.is_empty() {
        let _ = write!(words, " [default: {}]", defaults.join(" "));
    }
    let values = possible_values(arg);
    if !are_explained && !values.is_empty() {
        let names: Vec<&str> = values.iter().map(PossibleValue::get_name).collect();
        let _ = write!(words, " [{}]", names.join(", "));
    }
    words
}

//! Manual pages for the program, for each command, and for topics. A command and its subcommands share a page.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::builder::StyledStr;
use clap::{Arg, Args, Command};

use crate::page::{explained, values};
use crate::roff::{Inline, Roff};
use crate::text::{sentence, stopped};
use crate::{Entry, Program, Topic, ordered_arguments, sections};

/// The date printed on the pages. It is updated for each release.
const DATE: &str = "2026-11-29";

/// The text for the option `--help`.
const HELP: &str = "Print help; -h shows only common options.";

/// The title of the help page section that becomes EXIT STATUS in the manual.
const EXIT: &str = "Exit codes";

/// The arguments for the command `man`.
#[derive(Debug, Clone, Default, Args)]
pub struct ManualArguments {
    /// The command or topic whose page to print; by default, the page of the program.
    #[arg(value_name = "COMMAND")]
    pub command: Vec<String>,

    /// Write all pages to this folder instead, each to its own file.
    #[arg(
        short,
        long,
        alias = "all",
        value_name = "FOLDER",
        conflicts_with = "command"
    )]
    pub output: Option<PathBuf>,

    /// Overwrite existing files.
    #[arg(long, alias = "force", requires = "output")]
    pub overwrite: bool,
}

/// The reason why a manual page cannot be printed or written.
#[derive(Debug, thiserror::Error)]
pub enum ManualError {
    /// There is no page with this name.
    #[error("there is no manual page for {name}; the pages are {known}")]
    Unknown {
        /// The requested name.
        name: String,
        /// The names of all pages.
        known: String,
    },
    /// A file or folder cannot be written.
    #[error("cannot write {}: {error}", path.display())]
    Unwritten {
        /// The path of the file or folder.
        path: PathBuf,
        /// The error from the file system.
        error: io::Error,
    },
    /// The file to write exists already.
    #[error("{} exists; --overwrite replaces it", path.display())]
    Exists {
        /// The path of the file.
        path: PathBuf,
    },
}

impl Program {
    /// Runs the command `man`: returns the requested page, or writes all pages to files and returns an empty string.
    ///
    /// # Errors
    /// Fails if there is no such page, or if the files cannot be written.
    pub fn manual(&self, arguments: &ManualArguments) -> Result<String, ManualError> {
        let Some(folder) = &arguments.output else {
            return self.manual_page(&arguments.command);
        };
        let unwritten = |path: &Path, error| ManualError::Unwritten {
            path: path.to_owned(),
            error,
        };
        fs::create_dir_all(folder).map_err(|error| unwritten(folder, error))?;
        for (name, text) in self.manual_pages() {
            let path = folder.join(name);
            if path.exists() && !arguments.overwrite {
                return Err(ManualError::Exists { path });
            }
            fs::write(&path, text).map_err(|error| unwritten(&path, error))?;
        }
        Ok(String::new())
    }

    /// Returns the names of the pages that `man` prints: the names of the commands, and the names of the topics without
    /// the program's name.
    pub fn manual_names(&self) -> Vec<String> {
        let command = self.built();
        let commands = documented(&command).map(|below| below.get_name().to_owned());
        let topics = self
            .manual
            .topics
            .iter()
            .map(|topic| self.short_name(topic).to_owned());
        commands.chain(topics).collect()
    }

    /// Returns all pages, each with its file name, such as `z3950-search.1`.
    pub fn manual_pages(&self) -> Vec<(String, String)> {
        let command = self.built();
        let mut pages = vec![(format!("{}.1", self.name), self.program_page(&command))];
        for below in documented(&command) {
            let name = below.get_name();
            pages.push((
                format!("{}-{name}.1", self.name),
                self.command_page(name, below),
            ));
        }
        for topic in self.manual.topics {
            let file = format!("{}.{}", topic.name, topic.section);
            pages.push((file, self.topic_page(topic)));
        }
        pages
    }

    /// Returns the page that the first word names, which is a command or a topic, or the page of the program if there
    /// are no words.
    fn manual_page(&self, words: &[String]) -> Result<String, ManualError> {
        let command = self.built();
        let Some(first) = words.first() else {
            return Ok(self.program_page(&command));
        };
        let prefix = format!("{}-", self.name);
        let name = first.strip_prefix(&prefix).unwrap_or(first);
        let mut commands = documented(&command);
        let mut topics = self.manual.topics.iter();
        if name == self.name {
            Ok(self.program_page(&command))
        } else if let Some(below) = commands.find(|below| below.get_name() == name) {
            Ok(self.command_page(name, below))
        } else if let Some(topic) =
            topics.find(|topic| [topic.name, self.short_name(topic)].contains(&name))
        {
            Ok(self.topic_page(topic))
        } else {
            Err(ManualError::Unknown {
                name: first.clone(),
                known: self.manual_names().join(", "),
            })
        }
    }

    /// Returns the name of a topic without the program's name.
    fn short_name<'t>(&self, topic: &'t Topic) -> &'t str {
        let short = topic.name.strip_prefix(self.name);
        short.map_or(topic.name, |short| short.trim_start_matches(['-', '.']))
    }

    fn begin(&self, name: &str, section: u8, summary: &str) -> Roff {
        let version = (self.definition)()
            .get_version()
            .unwrap_or_default()
            .to_owned();
        let manual = match section {
            1 => "User Commands",
            5 => "File Formats",
            _ => "Conventions",
        };
        let source = format!("{} {version}", self.name);
        let mut page = Roff::new(name, section, DATE, &source, manual);
        page.section("Name");
        page.words(&format!("{name} - {}", uncapitalized(summary)));
        page
    }

    /// Returns the page of the program, which lists its commands.
    fn program_page(&self, command: &Command) -> String {
        let about = plain(command.get_about());
        let mut page = self.begin(self.name, 1, sentence(&about));
        page.section("Synopsis");
        synopsis(command, self.name, &mut page);
        page.section("Description");
        description(command, &mut page);
        if documented(command).next().is_some() {
            page.section("Commands");
        }
        for below in documented(command) {
            let name = format!("{}-{}", self.name, below.get_name());
            page.term(&[Inline::Bold(name), Inline::Roman("(1)".to_owned())]);
            page.words(&stopped(&plain(below.get_about())));
        }
        page.section("Options");
        self.arguments(command, false, &|_| true, &mut page);
        self.ending("", command, &mut page);
        page.into_text()
    }

    /// Returns the page of a command. Each subcommand has its own subsection in the section on commands.
    fn command_page(&self, name: &str, command: &Command) -> String {
        let title = format!("{}-{name}", self.name);
        let about = plain(command.get_about());
        let mut page = self.begin(&title, 1, sentence(&about));
        let path = format!("{} {name}", self.name);
        let below: Vec<&Command> = documented(command).collect();
        page.section("Synopsis");
        if below.is_empty() {
            synopsis(command, &path, &mut page);
        }
        for (index, subcommand) in below.iter().enumerate() {
            if index > 0 {
                page.line_break();
            }
            let path = format!("{path} {}", subcommand.get_name());
            synopsis(subcommand, &path, &mut page);
        }
        page.section("Description");
        description(command, &mut page);
        if below.is_empty() {
            page.section("Options");
            self.arguments(command, false, &|_| true, &mut page);
        } else {
            page.section("Commands");
            for subcommand in &below {
                page.subsection(&format!("{path} {}", subcommand.get_name()));
                description(subcommand, &mut page);
                self.arguments(subcommand, true, &|arg| !is_common(arg), &mut page);
            }
            page.section("Options");
            page.words("Of all these commands:");
            if let Some(first) = below.first() {
                self.arguments(first, true, &is_common, &mut page);
            }
        }
        self.ending(name, command, &mut page);
        page.into_text()
    }

    fn topic_page(&self, topic: &Topic) -> String {
        let mut page = self.begin(topic.name, topic.section, topic.summary);
        for section in (topic.sections)() {
            page.section(&section.title);
            page.blocks(&section);
        }
        page.section("See also");
        let others = self
            .manual
            .topics
            .iter()
            .filter(|other| other.name != topic.name)
            .map(|topic| (topic.name.to_owned(), topic.section));
        references(
            std::iter::once((self.name.to_owned(), 1)).chain(others),
            &mut page,
        );
        page.into_text()
    }

    /// Adds the arguments and options of a command that the filter selects. Headings become subsections, unless the
    /// section already has subsections.
    fn arguments(
        &self,
        command: &Command,
        has_parts: bool,
        is_wanted: &dyn Fn(&Arg) -> bool,
        page: &mut Roff,
    ) {
        let all: Vec<&Arg> = ordered_arguments(command)
            .into_iter()
            .filter(|arg| !arg.is_hide_set() && is_wanted(arg))
            .collect();
        let mut headings = vec![None];
        for arg in &all {
            let heading = arg.get_help_heading().filter(|_| !arg.is_positional());
            if !headings.contains(&heading) {
                headings.push(heading);
            }
        }
        let positionals = all.iter().filter(|arg| arg.is_positional());
        positionals.for_each(|arg| self.argument(arg, page));
        for heading in headings {
            let mut options = all
                .iter()
                .filter(|arg| !arg.is_positional())
                .filter(|arg| arg.get_help_heading() == heading)
                .peekable();
            if let (Some(heading), Some(_)) = (heading.filter(|_| !has_parts), options.peek()) {
                page.subsection(heading);
            }
            options.for_each(|arg| self.argument(arg, page));
        }
    }

    fn argument(&self, arg: &Arg, page: &mut Roff) {
        page.term(&term(arg));
        let id = arg.get_id().as_str();
        let mut elsewhere = self
            .manual
            .elsewhere
            .iter()
            .filter(|(known, _)| *known == id && !arg.is_positional());
        if let Some((_, text)) = elsewhere.next_back() {
            page.words(&format!("{text}{}", values(arg, true)));
            return;
        }
        let help = match id {
            "help" => HELP.to_owned(),
            _ => stopped(&plain(arg.get_long_help().or(arg.get_help()))),
        };
        let explained = explained(arg);
        let help = format!("{help}{}", values(arg, explained.is_some()));
        page.paragraphs(help.trim_start(), ".IP");
        let Some(explained) = explained else {
            return;
        };
        page.indent();
        for value in explained {
            page.term(&[Inline::Bold(value.get_name().to_owned())]);
            page.words(&stopped(&plain(value.get_help())));
        }
        page.end_indent();
    }

    /// Adds the sections that follow the options.
    fn ending(&self, name: &str, command: &Command, page: &mut Roff) {
        let after = |command: &Command| sections(&plain(command.get_after_help()));
        let mut texts = after(command);
        let below = command.get_subcommands().filter(|_| !name.is_empty());
        for section in below.flat_map(after) {
            if !texts.contains(&section) {
                texts.push(section);
            }
        }
        for section in texts
            .iter()
            .filter(|section| !section.title.is_empty() && section.title != EXIT)
        {
            page.section(&section.title);
            page.blocks(section);
        }
        self.examples_section(name, command, page);
        page.section("Exit status");
        let untitled = texts.iter().filter(|section| section.title.is_empty());
        untitled.for_each(|section| {
            page.blocks(section);
        });
        let program = after(&(self.definition)());
        for section in program.iter().filter(|section| section.title == EXIT) {
            page.blocks(section);
        }
        entries("Environment", self.manual.environment, name, command, page);
        entries("Files", self.manual.files, name, command, page);
        page.section("See also");
        let program = (!name.is_empty()).then(|| (self.name.to_owned(), 1));
        let commands = documented(command)
            .filter(|_| name.is_empty())
            .map(|below| (format!("{}-{}", self.name, below.get_name()), 1));
        let others = self
            .manual
            .see_also
            .iter()
            .filter(|entry| entry.commands.covers(name, command))
            .filter_map(|entry| {
                let (page, section) = entry.term.trim_end_matches(')').split_once('(')?;
                Some((page.to_owned(), section.parse().ok()?))
            });
        let mut pages: Vec<_> = program.into_iter().chain(commands).collect();
        for other in others {
            if !pages.contains(&other) {
                pages.push(other);
            }
        }
        references(pages.into_iter(), page);
    }

    fn examples_section(&self, name: &str, command: &Command, page: &mut Roff) {
        let below = documented(command).filter(|_| !name.is_empty());
        let paths = below.map(|below| format!("{name} {}", below.get_name()));
        let paths: Vec<String> = std::iter::once(name.to_owned()).chain(paths).collect();
        let mut examples = paths.iter().flat_map(|path| self.examples(path)).peekable();
        if examples.peek().is_none() {
            return;
        }
        page.section("Examples");
        for (index, (purpose, line)) in examples.enumerate() {
            if !purpose.is_empty() {
                if index > 0 {
                    page.paragraph();
                }
                page.words(&format!("{purpose}:"));
            }
            page.lines([*line]);
        }
    }
}

/// Returns the subcommands that have their own page or subsection.
fn documented(command: &Command) -> impl Iterator<Item = &Command> {
    let below = command.get_subcommands();
    below.filter(|below| !below.is_hide_set() && below.get_name() != "help")
}

/// Returns whether an option is common to all commands.
fn is_common(arg: &Arg) -> bool {
    arg.is_global_set() || arg.get_id() == "help"
}

/// Adds the usage of a command, with its name in bold.
fn synopsis(command: &Command, path: &str, page: &mut Roff) {
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").to_owned();
    for (index, line) in usage.lines().map(str::trim).enumerate() {
        if index > 0 {
            page.line_break();
        }
        let mut inlines = Vec::new();
        let rest = match line.strip_prefix(path) {
            Some(rest) => {
                inlines.push(Inline::Bold(path.to_owned()));
                rest
            }
            None => line,
        };
        inlines.extend(placeholders(rest));
        page.inlines(&inlines);
    }
}

/// Converts placeholders such as `<FILE>` to italics without the angle brackets.
fn placeholders(text: &str) -> Vec<Inline> {
    let mut inlines = Vec::new();
    let mut rest = text;
    while let Some((before, inside)) = rest.split_once('<') {
        let (name, after) = inside.split_once('>').unwrap_or((inside, ""));
        inlines.push(Inline::Roman(before.to_owned()));
        inlines.push(Inline::Italic(name.to_owned()));
        rest = after;
    }
    inlines.push(Inline::Roman(rest.to_owned()));
    inlines
}

/// Returns an argument as the term of its description, such as `-f, --format FORMAT`.
fn term(arg: &Arg) -> Vec<Inline> {
    let mut inlines = Vec::new();
    if let Some(short) = arg.get_short() {
        inlines.push(Inline::Bold(format!("-{short}")));
        if arg.get_long().is_some() {
            inlines.push(Inline::Roman(", ".to_owned()));
        }
    }
    let spec = arg.to_string();
    let name = arg.get_long().map(|long| format!("--{long}"));
    let rest = match &name {
        Some(name) => spec.strip_prefix(name.as_str()).unwrap_or_default(),
        None => spec
            .get(2..)
            .filter(|_| arg.get_short().is_some())
            .unwrap_or(&spec),
    };
    inlines.extend(name.map(Inline::Bold));
    inlines.extend(placeholders(rest));
    inlines
}

/// Adds the description of a command.
fn description(command: &Command, page: &mut Roff) {
    let about = plain(command.get_long_about().or(command.get_about()));
    page.paragraphs(&stopped(&about), ".PP");
}

fn plain(text: Option<&StyledStr>) -> String {
    text.map(ToString::to_string).unwrap_or_default()
}

/// Adds a section with the entries that apply to a command, if there are any.
fn entries(title: &str, all: &[Entry], name: &str, command: &Command, page: &mut Roff) {
    let mut known = all
        .iter()
        .filter(|entry| entry.commands.covers(name, command))
        .peekable();
    if known.peek().is_some() {
        page.section(title);
    }
    for entry in known {
        page.term(&[Inline::Bold(entry.term.to_owned())]);
        page.words(entry.text);
    }
}

/// Adds references to other pages.
fn references(pages: impl Iterator<Item = (String, u8)>, page: &mut Roff) {
    let pages: Vec<(String, u8)> = pages.collect();
    for (index, (name, section)) in pages.iter().enumerate() {
        let comma = if index + 1 < pages.len() { "," } else { "" };
        page.inlines(&[
            Inline::Bold(name.clone()),
            Inline::Roman(format!("({section}){comma}")),
        ]);
    }
}

/// Returns a summary that begins with a lower-case letter, unless it begins with a name or an abbreviation.
fn uncapitalized(text: &str) -> String {
    let mut characters = text.chars();
    match (characters.next(), characters.clone().next()) {
        (Some(first), Some(second)) if !second.is_uppercase() => {
            first.to_lowercase().chain(characters).collect()
        }
        _ => text.to_owned(),
    }
}

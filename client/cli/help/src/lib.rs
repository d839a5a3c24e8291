//! Help pages, manual pages and completions for a program, all generated from the definition of its command line.
//!
//! [`Program`] contains what is not part of that definition: examples, and the sections of manual pages about the
//! environment and files.

#![forbid(unsafe_code)]
#![deny(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

mod completion;
mod manual;
mod page;
mod roff;
mod text;

use clap::{Arg, ArgAction, Command};

pub use clap_complete::Shell;
pub use clap_complete::engine::{ArgValueCandidates, ArgValueCompleter, CompletionCandidate};

pub use self::completion::CompletionArguments;
pub use self::manual::{ManualArguments, ManualError};
pub use self::page::{BRIEF_LINES, WIDTH, width};
pub use self::text::{Block, Section, sections};

/// A program, as described in its help, manual pages and completions.
pub struct Program {
    /// The name of the program.
    pub name: &'static str,
    /// The definition of its command line.
    pub definition: fn() -> Command,
    /// The examples for each command, shown in help and manual pages.
    pub examples: &'static [Examples],
    /// The rarely used commands, which the program's `-h` does not list.
    pub rare: &'static [&'static str],
    /// The additional text of the manual pages.
    pub manual: Manual,
}

/// The name of a command, such as `targets add`, and its examples. Each example consists of its purpose, which may be
/// empty, and the line to type. An empty name means the program itself.
pub type Examples = (&'static str, &'static [(&'static str, &'static str)]);

/// The text of the manual pages that is not in the definition of the command line.
pub struct Manual {
    /// The environment variables that commands read.
    pub environment: &'static [Entry],
    /// The files that commands read or write.
    pub files: &'static [Entry],
    /// Related pages, such as `yaz-client(1)`. The text of each entry is ignored.
    pub see_also: &'static [Entry],
    /// The text that replaces the help for options that a topic page describes, by the option's identifier.
    pub elsewhere: &'static [(&'static str, &'static str)],
    /// The manual pages about topics.
    pub topics: &'static [Topic],
}

/// A line in a manual page that applies to some commands.
pub struct Entry {
    /// The subject of the line, such as the name of a file.
    pub term: &'static str,
    /// The text that explains the term.
    pub text: &'static str,
    /// The commands whose pages contain the line. The page of the program contains all lines.
    pub commands: CommandGroup,
}

/// A group of commands.
pub enum CommandGroup {
    /// All commands.
    All,
    /// Only the program itself.
    Program,
    /// The commands with these names.
    Commands(&'static [&'static str]),
    /// The commands that have an option or argument with this identifier, or whose subcommands have it.
    Argument(&'static str),
}

/// A manual page about a topic.
pub struct Topic {
    /// The name of the page, such as `z3950-formats`.
    pub name: &'static str,
    /// The section of the manual: 5 for files, 7 for conventions.
    pub section: u8,
    /// The subject of the page, on one line.
    pub summary: &'static str,
    /// A function that returns the sections of the page.
    pub sections: fn() -> Vec<Section>,
}

impl Program {
    /// Returns the examples for a command. `command` is its name, without the program's name.
    pub fn examples(&self, command: &str) -> &'static [(&'static str, &'static str)] {
        let mut all = self.examples.iter();
        all.find(|(name, _)| *name == command)
            .map_or(&[], |(_, examples)| examples)
    }

    /// Returns the examples for a command and, if it has subcommands, the first example of each subcommand.
    fn examples_below(&self, command: &str) -> Vec<(&'static str, &'static str)> {
        let below = |(name, examples): &Examples| {
            let is_below = name.strip_prefix(command)?.starts_with(' ');
            examples.first().filter(|_| is_below).copied()
        };
        let own = self.examples(command).iter().copied();
        let all = self.examples.iter();
        own.chain(all.filter_map(below).filter(|_| !command.is_empty()))
            .collect()
    }

    /// Returns the definition of the command line, after clap has built it.
    fn built(&self) -> Command {
        let mut command = (self.definition)();
        command.build();
        command
    }
}

impl CommandGroup {
    /// Returns whether the page of a command contains lines for this group. The page of the program, whose name is
    /// empty, contains all of them.
    fn covers(&self, name: &str, command: &Command) -> bool {
        name.is_empty()
            || match self {
                Self::All => true,
                Self::Program => false,
                Self::Commands(names) => names.contains(&name),
                Self::Argument(id) => has_argument(command, id),
            }
    }
}

/// Returns a command's own arguments, followed by those that all commands have. Clap's order depends on when the
/// command was defined.
fn ordered_arguments(command: &Command) -> Vec<&Arg> {
    let mut arguments: Vec<&Arg> = command.get_arguments().collect();
    arguments.sort_by_key(|argument| {
        let is_claps = matches!(argument.get_action(), ArgAction::Help | ArgAction::Version);
        argument.is_global_set() || is_claps
    });
    arguments
}

fn has_argument(command: &Command, id: &str) -> bool {
    command
        .get_arguments()
        .any(|argument| argument.get_id() == id)
        || command
            .get_subcommands()
            .any(|below| has_argument(below, id))
}

/// Includes the README, so that its code blocks are tested.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

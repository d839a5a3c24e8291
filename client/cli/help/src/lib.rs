//! Help pages, manual pages and completions of a program, all made from the definition of its command line.
//!
//! [`Program`] holds what the definition lacks: examples, and the sections of manual pages about the environment and
//! files.

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

use clap::Command;

pub use clap_complete::Shell;
pub use clap_complete::engine::{ArgValueCandidates, ArgValueCompleter, CompletionCandidate};

pub use self::completion::CompletionArguments;
pub use self::manual::{ManualArguments, ManualError};
pub use self::page::{BRIEF_LINES, WIDTH, width};
pub use self::text::{Block, Section, sections};

/// A program, as its help, its manual pages and its completions describe it.
pub struct Program {
    /// The name of the program.
    pub name: &'static str,
    /// The definition of its command line.
    pub definition: fn() -> Command,
    /// The examples of each command.
    pub examples: &'static [Examples],
    /// The commands that `-h` of the program leaves out.
    pub rare: &'static [&'static str],
    /// The additional text of the manual pages.
    pub manual: Manual,
}

/// A command, such as `targets add`, and its examples: the purpose of each, which may be empty, and the line to type. The command
/// without a name is the program itself.
pub type Examples = (&'static str, &'static [(&'static str, &'static str)]);

/// The text of the manual pages that is not in the definition of the command line.
pub struct Manual {
    /// The environment variables that commands read.
    pub environment: &'static [Entry],
    /// The files that commands read or write.
    pub files: &'static [Entry],
    /// Other pages, such as `yaz-client(1)`; the text of an entry is not used.
    pub see_also: &'static [Entry],
    /// The texts of options, by identifier, that replace the texts of the help on a topic page.
    pub elsewhere: &'static [(&'static str, &'static str)],
    /// The pages on topics.
    pub topics: &'static [Topic],
}

/// A line of a manual page about some commands.
pub struct Entry {
    /// What the line is about, such as the name of a file.
    pub term: &'static str,
    /// The explanation of the term.
    pub text: &'static str,
    /// The commands whose pages have the line. The page of the program has all lines.
    pub commands: CommandGroup,
}

/// Commands whose manual pages have something in common.
pub enum CommandGroup {
    /// All commands.
    All,
    /// Only the program itself.
    Program,
    /// The commands of these names.
    Commands(&'static [&'static str]),
    /// The commands that have an option or argument of this identifier, or whose subcommands have it.
    Argument(&'static str),
}

/// A manual page about a topic.
pub struct Topic {
    /// The name of the page, such as `z3950-formats`.
    pub name: &'static str,
    /// The section of the manual: 5 for files, 7 for conventions.
    pub section: u8,
    /// What the page is about, in a line.
    pub summary: &'static str,
    /// The sections of the page.
    pub sections: fn() -> Vec<Section>,
}

impl Program {
    /// Returns the examples of a command, which is given without the name of the program.
    pub fn examples(&self, command: &str) -> &'static [(&'static str, &'static str)] {
        let mut all = self.examples.iter();
        all.find(|(name, _)| *name == command)
            .map_or(&[], |(_, examples)| examples)
    }

    /// Returns the examples of a command and, if it has subcommands, the first example of each subcommand.
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

    /// Returns the built definition.
    fn built(&self) -> Command {
        let mut command = (self.definition)();
        command.build();
        command
    }
}

impl CommandGroup {
    /// Returns whether the page of a command is meant.
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

fn has_argument(command: &Command, id: &str) -> bool {
    command
        .get_arguments()
        .any(|argument| argument.get_id() == id)
        || command
            .get_subcommands()
            .any(|below| has_argument(below, id))
}

/// The code blocks of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

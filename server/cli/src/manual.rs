//! The text that the program prints on request: help, manual pages, completion scripts, the list of faults, and the settings
//! file.

mod examples;

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use z3950_help::{CommandGroup, Entry, Manual, Program, Section, Topic, width};
use z3950_server::fault::kinds;

use self::examples::EXAMPLES;
use crate::args::{self, Arguments};
use crate::catalogue;
use crate::config;
use crate::failure::Failure;

/// The description of the program.
pub(crate) const PROGRAM: Program = Program {
    name: "z3950d",
    definition: Arguments::command,
    examples: EXAMPLES,
    rare: &[
        "engine-create",
        "load",
        "try-catalogue",
        "hash-password",
        "completions",
        "man",
    ],
    manual: Manual {
        environment: ENVIRONMENT,
        files: FILES,
        see_also: SEE_ALSO,
        elsewhere: &[],
        topics: &[Topic {
            name: "z3950d.toml",
            section: 5,
            summary: "settings of z3950d",
            sections: settings,
        }],
    },
};

const ENVIRONMENT: &[Entry] = &[
    Entry {
        term: "NO_COLOR",
        text: "If it is set and not empty, the log is not coloured, unless --color is given.",
        commands: CommandGroup::All,
    },
    Entry {
        term: "NOTIFY_SOCKET",
        text: "The socket of a service manager such as systemd, which is told when the server is ready, reloads and stops.",
        commands: CommandGroup::Program,
    },
    Entry {
        term: "MALLOC_TRIM_THRESHOLD_, MALLOC_ARENA_MAX",
        text: "Settings of the memory allocator of glibc, mallopt(3), which the server chooses itself unless they are set.",
        commands: CommandGroup::Program,
    },
];

const FILES: &[Entry] = &[
    Entry {
        term: "z3950d.toml",
        text: "The settings, read if --config names the file; see z3950d.toml(5).",
        commands: CommandGroup::Argument("config"),
    },
    Entry {
        term: "/etc/z3950d/z3950d.toml",
        text: "The settings of the systemd service of the Debian package.",
        commands: CommandGroup::Program,
    },
    Entry {
        term: "FILE.journal",
        text: "The changes of the saved file FILE that are not in it yet. z3950d --fold FILE writes them into the file.",
        commands: CommandGroup::Program,
    },
];

const SEE_ALSO: &[Entry] = &[
    Entry {
        term: "z3950d.toml(5)",
        text: "",
        commands: CommandGroup::Argument("config"),
    },
    Entry {
        term: "z3950(1)",
        text: "",
        commands: CommandGroup::Program,
    },
    Entry {
        term: "yaz-client(1)",
        text: "",
        commands: CommandGroup::Program,
    },
];

/// Parses the arguments of the process.
///
/// # Errors
/// An error that clap reports, or a request for the help or the version, which clap prints.
pub(crate) fn read(
    arguments: impl IntoIterator<Item = OsString>,
) -> Result<Arguments, clap::Error> {
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    args::settle(&mut arguments);
    Arguments::try_parse_from(&arguments).map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp => {
            let page = PROGRAM.answer(&arguments, false, width());
            page.unwrap_or(error)
        }
        _ => error,
    })
}

/// Returns the sections of z3950d.toml(5).
fn settings() -> Vec<Section> {
    config::described()
}

/// Returns the text requested by the arguments.
///
/// # Errors
/// There is no manual page with this name, or files cannot be written.
pub(crate) fn text(arguments: &Arguments) -> Result<Vec<u8>, Failure> {
    if let Some(shell) = arguments.completions() {
        return PROGRAM.registration(shell).map_err(Failure::unexpected);
    }
    if let Some(asked) = arguments.manual() {
        let page = PROGRAM.manual(&asked);
        return page.map(String::into_bytes).map_err(Failure::usage);
    }
    if arguments.print_config {
        return Ok(config::template().into_bytes());
    }
    if let Some(name) = &arguments.print_map {
        return catalogue::shipped(name).map(|text| text.as_bytes().to_vec());
    }
    Ok(faults().into_bytes())
}

/// Returns the list of faults.
fn faults() -> String {
    let mut text = RULES.to_owned();
    for kind in kinds() {
        let arguments = format!("{} {}", kind.name, kind.arguments);
        text.push_str(&format!(
            "  {}\n      {}\n",
            arguments.trim_end(),
            kind.meaning
        ));
    }
    text
}

const RULES: &str = "\
A rule is `on REQUEST CONDITION…: FAULT ARGUMENT…`, such as `on search db=books nth=2: delay 500ms`.
Requests:
  any, init, search, present, delete, scan, sort, access, resource, trigger, report, extended, duplicate, close,
  http, sru, sru search, sru scan, sru explain, sru update
Conditions, all of which have to hold:
  session=N      in session N, counted from 1
  nth=N          the Nth such request of each session
  nth-of-all=N   the Nth such request of all sessions together
  db=NAME        a search of this database, or a request on its result set
  docid=TERM     a search for this term, or a request on its result set; SRU: a query that contains it
  syntax=NAME    a request for records in this syntax
Words with blanks or colons stand in quotation marks.
Faults:
";

//! The parts of the help and manual pages of `z3950` that are not in the definition of the command line, and the
//! commands `man` and `completions`.

mod topics;

use clap::CommandFactory;
use z3950_help::{
    CommandGroup, CompletionArguments, Entry, Manual, ManualArguments, Program, Topic,
};

use super::Cli;
use super::examples::EXAMPLES;
use crate::console::exit::Exit;
use crate::console::output::{Failure, Output};

/// The program `z3950`, for help, manual pages and completions.
pub(crate) const PROGRAM: Program = Program {
    name: "z3950",
    definition: Cli::command,
    examples: EXAMPLES,
    rare: &["register", "unregister", "completions", "man"],
    manual: Manual {
        environment: ENVIRONMENT,
        files: FILES,
        see_also: SEE_ALSO,
        elsewhere: ELSEWHERE,
        topics: TOPICS,
    },
};

const TOPICS: &[Topic] = &[
    Topic {
        name: "z3950-formats",
        section: 7,
        summary: "formats of records, and the columns of tables",
        sections: topics::formats,
    },
    Topic {
        name: "z3950-queries",
        section: 7,
        summary: "languages of queries, and names of indexes",
        sections: topics::queries,
    },
];

/// The text for options that are described on topic pages.
const ELSEWHERE: &[(&str, &str)] = &[
    (
        "format",
        "The format of the records. Without it, the extension of the file of --output decides. z3950-formats(7) describes \
         the formats.",
    ),
    (
        "fields",
        "The columns of a table, separated by commas; z3950-formats(7) lists them.",
    ),
    (
        "lang",
        "The language of the query: pqf, ccl, cql or names. By default it is guessed from the query; see z3950-queries(7).",
    ),
];

const ENVIRONMENT: &[Entry] = &[
    Entry {
        term: "ALL_PROXY, HTTPS_PROXY",
        text: "The proxy for all connections, unless --proxy is given. The names in lower case count first.",
        commands: CommandGroup::Argument("proxy"),
    },
    Entry {
        term: "NO_PROXY",
        text: "The hosts to connect to without a proxy, separated by commas.",
        commands: CommandGroup::Argument("proxy"),
    },
    Entry {
        term: "SSL_CERT_FILE, SSL_CERT_DIR",
        text: "Certificates of authorities that are trusted in place of those of the system.",
        commands: CommandGroup::Argument("ca_file"),
    },
    Entry {
        term: "XDG_CONFIG_HOME",
        text: "The folder of the folder z3950, which has the file of targets; ~/.config by default.",
        commands: CommandGroup::Argument("targets_file"),
    },
    Entry {
        term: "Z3950_GATEWAY",
        text: "The gateway that carries out URLs, unless --gateway is given.",
        commands: CommandGroup::Argument("gateway"),
    },
    Entry {
        term: "Z3950_HISTORY",
        text: "The file for lines entered at the prompt; empty to keep none.",
        commands: CommandGroup::Commands(&["open"]),
    },
    Entry {
        term: "SHELL",
        text: "The shell that carries out the prompt's command !.",
        commands: CommandGroup::Commands(&["open"]),
    },
    Entry {
        term: "XDG_DATA_HOME",
        text: "The folder of the folder applications, which gets the desktop entry; ~/.local/share by default.",
        commands: CommandGroup::Commands(&["register", "unregister"]),
    },
    Entry {
        term: "NO_COLOR",
        text: "If it is set and not empty, messages are not coloured, unless --color is given.",
        commands: CommandGroup::All,
    },
    Entry {
        term: "TERM",
        text: "If it is dumb, no line moves while a server is awaited.",
        commands: CommandGroup::Argument("timeout"),
    },
];

const FILES: &[Entry] = &[
    Entry {
        term: "~/.config/z3950/targets.toml",
        text: "Your profiles of targets. z3950 targets path prints the path, and z3950 targets add writes it.",
        commands: CommandGroup::Argument("targets_file"),
    },
    Entry {
        term: "~/.z3950_history",
        text: "The lines entered at the prompt.",
        commands: CommandGroup::Commands(&["open"]),
    },
    Entry {
        term: "~/.local/share/applications/z3950.desktop",
        text: "The desktop entry, by which links of z39.50r and z39.50s open the program.",
        commands: CommandGroup::Commands(&["register", "unregister"]),
    },
];

const SEE_ALSO: &[Entry] = &[
    Entry {
        term: "z3950-formats(7)",
        text: "",
        commands: CommandGroup::Argument("format"),
    },
    Entry {
        term: "z3950-queries(7)",
        text: "",
        commands: CommandGroup::Argument("lang"),
    },
    Entry {
        term: "z3950-targets(1)",
        text: "",
        commands: CommandGroup::Commands(&[
            "get", "open", "search", "scan", "lookup", "update", "order", "explain", "probe",
        ]),
    },
    Entry {
        term: "z3950d(1)",
        text: "",
        commands: CommandGroup::Program,
    },
    Entry {
        term: "yaz-client(1)",
        text: "",
        commands: CommandGroup::Commands(&["open"]),
    },
];

/// Prints the completion script for a shell.
pub(crate) fn completions(
    arguments: &CompletionArguments,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let script = PROGRAM.registration(arguments.shell)?;
    output.octets(&script, true)?;
    Ok(Exit::Delivered)
}

/// Prints a manual page, or writes all of them.
pub(crate) fn page(arguments: &ManualArguments, output: &mut Output) -> Result<Exit, Failure> {
    let page = PROGRAM
        .manual(arguments)
        .map_err(|error| Failure::Usage(error.to_string()))?;
    output.octets(page.as_bytes(), true)?;
    Ok(Exit::Delivered)
}

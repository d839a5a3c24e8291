//! `z3950 completions` and `z3950 man`, which are generated from the definition of the command line.

use std::io::Write as _;

use clap::{Args, Command, CommandFactory};
use clap_complete::generate;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use super::{Cli, examples};
use crate::commands::target::TARGET;
use crate::console::exit::{self, Exit};
use crate::console::output::{Failure, Output};

#[derive(Debug, Args)]
pub(crate) struct Shell {
    /// The shell to complete commands in.
    #[arg(value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
}

/// The name of the program.
const NAME: &str = "z3950";

/// Prints a completion script.
pub(crate) fn completions(arguments: &Shell, output: &mut Output) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    generate(arguments.shell, &mut Cli::command(), NAME, &mut script);
    output.octets(&script, true)?;
    Ok(Exit::Delivered)
}

/// Prints the manual page in roff: the program, each command, and the parts that several commands have in common.
pub(crate) fn page(output: &mut Output) -> Result<Exit, Failure> {
    let mut command = Cli::command();
    command.build();
    let man = Man::new(command.clone());
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    show_examples("SH", "", &mut page)?;
    man.render_options_section(&mut page)?;
    for subcommand in command.get_subcommands() {
        describe(subcommand.get_name(), subcommand, &mut page)?;
    }
    explain(TARGET, &mut page)?;
    explain(exit::HELP, &mut page)?;
    output.octets(ascii(&page).as_bytes(), true)?;
    Ok(Exit::Delivered)
}

/// Returns the page with roff escapes in place of non-ASCII characters, which not every roff can read.
fn ascii(page: &[u8]) -> String {
    let mut ascii = String::with_capacity(page.len());
    for character in String::from_utf8_lossy(page).chars() {
        if character.is_ascii() {
            ascii.push(character)
        } else {
            ascii.push_str(&format!("\\[u{:04X}]", u32::from(character)))
        }
    }
    ascii
}

/// Adds a section for a command and each of its subcommands. `path` is the name of the command without that of the
/// program.
fn describe(path: &str, command: &Command, page: &mut Vec<u8>) -> Result<(), Failure> {
    // clap adds a `help` command to every command with subcommands; the manual omits it.
    if command.get_name() == "help" {
        return Ok(());
    }
    let name = format!("{NAME} {path}");
    let man = Man::new(
        command
            .clone()
            .bin_name(&name)
            .disable_help_subcommand(true),
    );
    writeln!(page, ".SH {}", name.to_uppercase())?;
    let mut text = Vec::new();
    man.render_description_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    // The sections made by clap become subsections, and the description needs no heading.
    let part = |text: &[u8]| {
        let text = String::from_utf8_lossy(text).replace("\n.SH ", "\n.SS ");
        let text = text.replacen(".SH DESCRIPTION\n", "", 1);
        text.replacen(".SS DESCRIPTION\n", "", 1)
            .replacen(".SH OPTIONS\n", ".SS OPTIONS\n", 1)
    };
    page.extend(part(&text).bytes());
    show_examples("SS", path, page)?;
    if !command.has_subcommands() {
        let mut text = Vec::new();
        man.render_options_section(&mut text)?;
        page.extend(part(&text).bytes());
    }
    for subcommand in command.get_subcommands() {
        let path = format!("{path} {}", subcommand.get_name());
        describe(&path, subcommand, page)?;
    }
    Ok(())
}

/// Adds the examples of a command.
fn show_examples(heading: &str, command: &str, page: &mut Vec<u8>) -> Result<(), Failure> {
    let examples = examples::of(command);
    if examples.is_empty() {
        return Ok(());
    }
    let mut roff = Roff::new();
    roff.control(heading, ["EXAMPLES"]);
    for (purpose, line) in examples {
        if !purpose.is_empty() {
            roff.control("PP", []);
            roff.text([roman(format!("{purpose}:"))]);
        }
        verbatim(&[*line], &mut roff);
    }
    roff.to_writer(page)?;
    Ok(())
}

/// Adds the text at the end of `--help`, which consists of paragraphs under headings that end in a colon.
fn explain(words: &str, page: &mut Vec<u8>) -> Result<(), Failure> {
    let mut roff = Roff::new();
    for block in words.split("\n\n") {
        let (title, text) = block.split_once(":\n").unwrap_or(("", block));
        roff.control("SH", [title.to_uppercase().as_str()]);
        verbatim(&text.lines().collect::<Vec<_>>(), &mut roff);
    }
    roff.to_writer(page)?;
    Ok(())
}

/// Adds lines that roff must not fill.
fn verbatim(lines: &[&str], roff: &mut Roff) {
    roff.control("PP", []);
    roff.control("RS", ["4"]);
    roff.control("nf", []);
    for line in lines {
        roff.text([roman(*line)]);
    }
    roff.control("fi", []);
    roff.control("RE", []);
}

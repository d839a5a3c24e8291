//! `z3950 completions` and `z3950 man`: what the definition of the command line is good for beside reading it.

use clap::{Command, CommandFactory};
use clap_complete::generate;
use clap_mangen::Man;

use super::args::{Cli, Shell};
use super::exit::Exit;
use super::output::{Failure, Output};

/// What the program is called.
const NAME: &str = "z3950";

/// Prints a script for the shell.
pub(super) fn completions(arguments: &Shell, output: &mut Output) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    generate(arguments.shell, &mut Cli::command(), NAME, &mut script);
    output.octets(&script, true)?;
    Ok(Exit::Delivered)
}

/// Prints the manual page in roff: the program, then each of its commands.
pub(super) fn page(output: &mut Output) -> Result<Exit, Failure> {
    let command = Cli::command();
    let mut page = Vec::new();
    Man::new(command.clone()).render(&mut page)?;
    let mut commands = String::new();
    for subcommand in command.get_subcommands() {
        describe(
            &format!("{NAME} {}", subcommand.get_name()),
            subcommand,
            &mut commands,
        )?;
    }
    page.extend(commands.bytes());
    output.octets(&page, true)?;
    Ok(Exit::Delivered)
}

/// A command and those below it, each a section.
fn describe(name: &str, command: &Command, page: &mut String) -> Result<(), Failure> {
    let man = Man::new(command.clone().bin_name(name).disable_help_subcommand(true));
    let mut text = Vec::new();
    man.render_description_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    man.render_options_section(&mut text)?;
    // Its sections are parts of this one.
    let text = String::from_utf8_lossy(&text).replace("\n.SH ", "\n.SS ");
    let text = text.replacen(".SH DESCRIPTION\n", "", 1);
    let text = text.replacen(".SS DESCRIPTION\n", "", 1);
    page.push_str(&format!(".SH {}\n", name.to_uppercase()));
    page.push_str(&text);
    for subcommand in command.get_subcommands() {
        describe(
            &format!("{name} {}", subcommand.get_name()),
            subcommand,
            page,
        )?;
    }
    Ok(())
}

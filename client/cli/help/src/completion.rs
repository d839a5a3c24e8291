//! Completions that the program itself computes. A shell's completion script runs the program with the words of the
//! line, and the program prints the words that are possible at the cursor. To compute them, the program reads the
//! user's files, but does not use the network.

mod bash;

use std::env;
use std::ffi::OsString;
use std::io::{self, Write};

use clap::{Args, Command};
use clap_complete::Shell;
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate, complete};
use clap_complete::env::Shells;

use crate::Program;

/// The arguments for the command `completions`.
#[derive(Debug, Clone, Args)]
pub struct CompletionArguments {
    /// The shell to complete commands in.
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

/// The environment variable in which the script for bash passes the index of the word at the cursor.
const INDEX: &str = "_CLAP_COMPLETE_INDEX";
/// The environment variable in which the script for bash passes the separator between completions.
const SEPARATOR: &str = "_CLAP_IFS";

impl Program {
    /// Returns the script with which a shell requests completions from this program.
    ///
    /// # Errors
    /// Fails if the shell is unknown.
    pub fn registration(&self, shell: Shell) -> io::Result<Vec<u8>> {
        let (name, mut script) = (shell.to_string(), Vec::new());
        let shells = Shells::builtins();
        let shell = shells
            .completer(&name)
            .ok_or_else(|| io::Error::other(format!("unknown shell {name}")))?;
        let variable = self.variable();
        shell.write_registration(&variable, self.name, self.name, self.name, &mut script)?;
        Ok(script)
    }

    /// Returns whether a shell's completion script has started the program.
    pub fn is_asked_for_completions(&self) -> bool {
        env::var_os(self.variable()).is_some()
    }

    /// Writes the completions for the words of a line, which follow `--` among the arguments of the process. If an
    /// error occurs, nothing is written, because a message would disturb the line that the user is typing.
    pub fn complete(&self, arguments: impl IntoIterator<Item = OsString>) {
        let words: Vec<OsString> = arguments
            .into_iter()
            .skip_while(|word| word != "--")
            .skip(1)
            .collect();
        if !words.is_empty() {
            let mut text = Vec::new();
            if self.completions(words, &mut text).is_ok() {
                // The shell may have stopped reading, which is not an error.
                let _ = io::stdout().write_all(&text);
            }
        }
    }

    fn completions(&self, words: Vec<OsString>, text: &mut Vec<u8>) -> io::Result<()> {
        let name = env::var(self.variable()).unwrap_or_default();
        let shells = Shells::builtins();
        let shell = shells
            .completer(&name)
            .ok_or_else(|| io::Error::other("unknown shell"))?;
        let folder = env::current_dir().ok();
        let mut command = self.completed();
        if name != "bash" {
            return shell.write_complete(&mut command, words, folder.as_deref(), text);
        }
        let index = env::var(INDEX).ok().and_then(|index| index.parse().ok());
        let line = bash::Line::new(words, index.unwrap_or_default());
        let separator = env::var(SEPARATOR).unwrap_or_else(|_| "\n".to_owned());
        let words = line.words.clone();
        let found = complete(&mut command, words, line.index, folder.as_deref())?;
        let values = found.iter().filter_map(|candidate| {
            let value = candidate.get_value().to_str()?;
            line.inserted(value)
        });
        let values: Vec<String> = values.collect();
        text.extend(values.join(&separator).bytes());
        Ok(())
    }

    /// Returns the definition of the command line, including the names of pages that `man` can complete.
    fn completed(&self) -> Command {
        let names = self.manual_names();
        let pages = ArgValueCandidates::new(move || {
            let names = names.iter();
            names.map(CompletionCandidate::new).collect()
        });
        (self.definition)().mut_subcommand("man", |man| {
            man.mut_arg("command", |argument| argument.add(pages))
        })
    }

    /// Returns the name of the environment variable that contains the name of the shell.
    fn variable(&self) -> String {
        format!("_{}_COMPLETE", self.name.to_uppercase())
    }
}

//! `source`, the user's own `.z3950rc`, `!`, Ctrl-C (Z39.50-2003 §3.2.6.2), and reading small files.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use z3950::service::resource::TriggerOptions;
use z3950_asn1::input;

use super::command::{self, Answer, Stop};
use super::state::State;
use crate::console::exit::Exit;
use crate::console::input::Lines;
use crate::console::output::{Failure, Output};

/// How many files may be read within each other.
const MAX_DEPTH: usize = 8;

/// How long it may take to tell the server to stop.
const LONGEST_TRIGGER: Duration = Duration::from_secs(1);

/// The largest file of properties or qualifiers, in octets.
const MAX_FILE: u64 = 1 << 20;

impl State {
    /// Carries out the commands of the user's own file, if there is one.
    pub(crate) async fn own_file(&mut self, output: &mut Output) -> Result<Exit, Failure> {
        let Some(path) = at_home(".z3950rc").filter(|path| path.is_file()) else {
            return Ok(Exit::Delivered);
        };
        let line = format!("source {}", path.display());
        self.line(&line, output).await
    }

    /// After Ctrl-C: the server is told to stop what is under way, if it takes that. Otherwise it goes on, and its answer
    /// is passed over.
    /// Gives what is to be said.
    pub(super) async fn interrupted(&mut self) -> &'static str {
        self.depth = 0;
        let words = self.take_back();
        if let Some(place) = self.place().filter(|place| place.session.is_open()) {
            let options = TriggerOptions::default();
            let trigger = place.session.trigger_resource_control(&options);
            let _ = tokio::time::timeout(LONGEST_TRIGGER, trigger).await;
        }
        words.unwrap_or("interrupted")
    }

    pub(super) async fn source(&mut self, path: &str, output: &mut Output) -> Answer {
        if path.is_empty() {
            return Err(Stop::Usage);
        }
        if self.depth >= MAX_DEPTH {
            return Err(Stop::wrong(format!(
                "{path}: source is nested more than {MAX_DEPTH} deep"
            )));
        }
        let unread = |failure: Failure| Stop::wrong(failure.to_string());
        let mut lines = Lines::open(Path::new(path)).map_err(unread)?;
        let mut exit = Exit::Delivered;
        self.depth += 1;
        while let Some(line) = lines.next().map_err(unread)? {
            let line = String::from_utf8_lossy(&line);
            if let Some((name, arguments)) = command::split(&line) {
                let is_secret = command::is_secret(&line);
                let arguments = if is_secret { "…" } else { arguments };
                output.note(&format!("{path}: {name} {arguments}"));
            }
            exit = exit.and(Box::pin(self.line(&line, output)).await?);
            if self.is_leaving || self.stops_after(exit) {
                break;
            }
        }
        self.depth = self.depth.saturating_sub(1);
        Ok(exit)
    }
}

/// Runs a command of the shell, or the shell itself, which has the terminal meanwhile. Lines that come from a pipe are for
/// the prompt alone.
pub(super) async fn shell(command: &str, output: &mut Output) -> Answer {
    let variable = std::env::var_os("SHELL").filter(|shell| !shell.is_empty());
    let mut shell = Command::new(match command {
        "" => variable.unwrap_or_else(|| "sh".into()),
        _ => "sh".into(),
    });
    if !command.is_empty() {
        shell.args(["-c", command]);
    }
    if !io::stdin().is_terminal() {
        shell.stdin(Stdio::null());
    }
    let status = shell.kill_on_drop(true).status().await;
    let status = status.map_err(|error| Stop::wrong(format!("cannot run {command}: {error}")))?;
    if status.success() {
        return Ok(Exit::Delivered);
    }
    output.error(&format!("the command ended with {status}"));
    Ok(Exit::Unexpected)
}

pub(super) async fn sleep(text: &str) -> Answer {
    let seconds: f64 = text.parse().map_err(|_| Stop::Usage)?;
    let wait = Duration::try_from_secs_f64(seconds).map_err(|_| Stop::Usage)?;
    tokio::time::sleep(wait).await;
    Ok(Exit::Delivered)
}

/// A small file of text.
pub(super) fn text_of(path: &str) -> Result<String, Stop> {
    if path.is_empty() {
        return Err(Stop::Usage);
    }
    input::read_text(Path::new(path), MAX_FILE).map_err(|error| Stop::file(path, &error))
}

/// A file of the user.
pub(super) fn at_home(name: &str) -> Option<PathBuf> {
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty())?;
    Some(PathBuf::from(home).join(name))
}

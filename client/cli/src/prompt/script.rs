//! Running lines: `source`, the user's `.z3950rc`, and Ctrl-C (Z39.50-2003 §3.2.6.2).

use std::path::{Path, PathBuf};
use std::time::Duration;

use z3950_asn1::apdu::TriggerResourceControlRequest;

use super::command::{self, CommandResult, Refusal};
use super::state::Prompt;
use super::table::{self, Handler};
use crate::console::exit::Exit;
use crate::console::input::Lines;
use crate::console::output::{Failure, Output};

/// The largest depth of nested files.
const MAX_DEPTH: usize = 8;

/// How long to wait when asking the server to stop.
const LONGEST_TRIGGER: Duration = Duration::from_secs(1);

impl Prompt {
    /// Runs a line.
    pub(crate) async fn line(&mut self, line: &str, output: &mut Output) -> Result<Exit, Failure> {
        let Some((name, arguments)) = command::split(line) else {
            return Ok(Exit::Delivered);
        };
        let Some(entry) = table::entry(name) else {
            output.error(&table::unknown(name, std::iter::empty()));
            return Ok(Exit::Usage);
        };
        let answer = match entry.run {
            Handler::There(run) => run(self, arguments, output).await,
            _ => self.run_here(entry, arguments, output),
        };
        self.said(answer, &entry.usage(), output)
    }

    /// Runs the commands of the user's `.z3950rc`, if there is one.
    pub(crate) async fn own_file(&mut self, output: &mut Output) -> Result<Exit, Failure> {
        let Some(path) = at_home(".z3950rc").filter(|path| path.is_file()) else {
            return Ok(Exit::Delivered);
        };
        let line = format!("source {}", path.display());
        self.line(&line, output).await
    }

    /// After Ctrl-C, asks the server to stop the current operation; if it does not, its answer is ignored. Returns the message.
    pub(super) async fn interrupted(&mut self) -> &'static str {
        self.depth = 0;
        let words = self.take_back();
        if let Some(place) = self.place().filter(|place| place.session.is_open()) {
            let cancel = TriggerResourceControlRequest::cancel();
            let trigger = place.session.trigger_resource_control(cancel);
            let _ = tokio::time::timeout(LONGEST_TRIGGER, trigger).await;
        }
        words.unwrap_or("interrupted")
    }

    pub(super) async fn source(&mut self, path: &str, output: &mut Output) -> CommandResult {
        if path.is_empty() {
            return Err(Refusal::Usage);
        }
        if self.depth >= MAX_DEPTH {
            return Err(Refusal::wrong(format!(
                "{path}: source is nested more than {MAX_DEPTH} deep"
            )));
        }
        let mut lines = Lines::open(Path::new(path)).map_err(Refusal::wrong)?;
        let mut exit = Exit::Delivered;
        self.depth += 1;
        while let Some(line) = lines.next().map_err(Refusal::wrong)? {
            let line = String::from_utf8_lossy(&line);
            if let Some((name, arguments)) = command::split(&line) {
                let is_secret = table::is_secret(&line);
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

/// A file in the home directory.
pub(super) fn at_home(name: &str) -> Option<PathBuf> {
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty())?;
    Some(PathBuf::from(home).join(name))
}

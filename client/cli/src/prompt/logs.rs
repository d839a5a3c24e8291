//! The command `last`, and the commands that name files: logs of APDUs and records, and tables for parsing queries.

use std::path::{Path, PathBuf};

use z3950_asn1::codec::dump;
use z3950_asn1::{codec, decoded};
use z3950_files::Growing;

use super::command::{CommandResult, Refusal, number_or};
use super::state::Prompt;
use crate::commands::query::{Tables, read_tables};
use crate::console::exit::Exit;
use crate::console::output::{Failure, Output};
use crate::tape::{Recorded, head};

impl Prompt {
    /// Lists the most recent APDUs, oldest first. With the argument `full`, also shows their contents.
    pub(super) fn last(&mut self, text: &str, output: &mut Output) -> CommandResult {
        let (text, is_full) = match text.strip_suffix("full") {
            Some(rest) => (rest.trim(), true),
            None => (text, false),
        };
        let count: usize = number_or(text, 2)?;
        let apdus = self.context.tape.noted();
        let first = apdus.len().saturating_sub(count);
        for noted in apdus.iter().skip(first) {
            let length = noted.length;
            let head = if noted.octets.is_empty() {
                "an APDU too long to be kept".to_owned()
            } else {
                head(noted.direction, &noted.octets)
            };
            output.line(&format!("{head} ({length} octets)"))?;
            if is_full {
                let contents = match codec::decode(&noted.octets) {
                    Ok(apdu) => decoded::to_text(&apdu),
                    Err(_) => dump::dump(&noted.octets),
                };
                let mut lines = contents.lines();
                lines.try_for_each(|line| output.line(&format!("  {line}")))?;
            }
        }
        Ok(Exit::Delivered)
    }

    /// Changes the file to which a log is written. An empty path ends the log.
    pub(super) fn log_to(
        &mut self,
        path: &str,
        log: fn(&mut Recorded) -> &mut Option<Growing>,
    ) -> Result<(), Refusal> {
        // The old file is closed first, because the new path may name the same file, which stays locked while it is open.
        *log(&mut self.context.tape.recorded()) = None;
        let file = log_file(path)?;
        *log(&mut self.context.tape.recorded()) = file;
        Ok(())
    }

    pub(super) fn set_marcdump(&mut self, path: &str) -> Result<(), Refusal> {
        self.seen.dump_to(None);
        if !path.is_empty() {
            self.seen.dump_to(Some((path.to_owned(), appended(path)?)));
        }
        Ok(())
    }

    /// Replaces a table for parsing queries with the table in a file.
    pub(super) fn read_tables(
        &mut self,
        path: &str,
        tables: fn(Option<PathBuf>) -> Tables,
    ) -> Result<(), Refusal> {
        if path.is_empty() {
            return Err(Refusal::Usage);
        }
        let read = read_tables(self.dialects.clone(), &tables(Some(path.into())));
        self.dialects = read.map_err(Refusal::wrong)?;
        Ok(())
    }
}

/// Opens a file for appending. `-` means standard error, and an empty path means no file.
fn log_file(path: &str) -> Result<Option<Growing>, Refusal> {
    let path = match path {
        "" => return Ok(None),
        "-" => "/dev/stderr",
        path => path,
    };
    appended(path).map(Some)
}

/// Opens a file for appending.
fn appended(path: &str) -> Result<Growing, Refusal> {
    let file = Growing::resume(Path::new(path));
    file.map_err(|error| Refusal::wrong(Failure::unopened(&error, "")))
}

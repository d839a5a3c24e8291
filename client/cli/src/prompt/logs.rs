//! `last`, and the commands that name files: logs of APDUs and records, and tables for queries.

use std::path::Path;

use z3950_asn1::codec::dump;
use z3950_asn1::file::Growing;
use z3950_asn1::query::ccl::Bib;
use z3950_asn1::query::cql::Properties;
use z3950_asn1::{codec, decoded, input};

use super::command::{CommandResult, Refusal};
use super::state::Prompt;
use super::tape::{Noted, head};
use crate::console::exit::Exit;
use crate::console::output::{Failure, Output};

/// The largest file of properties or qualifiers, in octets.
const MAX_FILE: u64 = 1 << 20;

impl Prompt {
    /// Lists the last APDUs, oldest first; with `full`, their contents too.
    pub(super) fn last(&mut self, text: &str, output: &mut Output) -> CommandResult {
        let (text, is_full) = match text.strip_suffix("full") {
            Some(rest) => (rest.trim(), true),
            None => (text, false),
        };
        let count: usize = match text {
            "" => 2,
            number => number.parse().map_err(|_| Refusal::Usage)?,
        };
        let apdus: Vec<Noted> = self.context.tape.recorded().apdus.iter().cloned().collect();
        let first = apdus.len().saturating_sub(count);
        for noted in apdus.iter().skip(first) {
            let length = noted.length;
            let head = match noted.octets.is_empty() {
                true => "an APDU too long to be kept".to_owned(),
                false => head(noted.direction, &noted.octets),
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

    pub(super) fn set_apdufile(&mut self, path: &str, _: &mut Output) -> CommandResult {
        // The previous file is closed first: it may be the same.
        self.context.tape.recorded().apdu_file = None;
        let file = log_file(path)?;
        self.context.tape.recorded().apdu_file = file;
        Ok(Exit::Delivered)
    }

    pub(super) fn set_berfile(&mut self, path: &str, _: &mut Output) -> CommandResult {
        self.context.tape.recorded().ber_file = None;
        let file = log_file(path)?;
        self.context.tape.recorded().ber_file = file;
        Ok(Exit::Delivered)
    }

    pub(super) fn set_marcdump(&mut self, path: &str, _: &mut Output) -> CommandResult {
        // The previous file is closed first: it may be the same.
        self.seen.dump_to(None);
        if !path.is_empty() {
            self.seen.dump_to(Some((path.to_owned(), appended(path)?)));
        }
        Ok(Exit::Delivered)
    }

    pub(super) fn set_cclfile(&mut self, path: &str, _: &mut Output) -> CommandResult {
        let text = text_of(path)?;
        let bib = Bib::parse(&text).map_err(|error| Refusal::file(path, &error))?;
        self.dialects.bib = Some(bib);
        Ok(Exit::Delivered)
    }

    pub(super) fn set_cqlfile(&mut self, path: &str, _: &mut Output) -> CommandResult {
        let text = text_of(path)?;
        let properties = Properties::parse(&text).map_err(|error| Refusal::file(path, &error))?;
        self.dialects.properties = Some(properties);
        Ok(Exit::Delivered)
    }
}

/// A file to append to; `-` is standard error, an empty path is no file.
fn log_file(path: &str) -> Result<Option<Growing>, Refusal> {
    let path = match path {
        "" => return Ok(None),
        "-" => "/dev/stderr",
        path => path,
    };
    appended(path).map(Some)
}

/// A file to append to.
fn appended(path: &str) -> Result<Growing, Refusal> {
    let file = Growing::resume(Path::new(path));
    file.map_err(|error| Refusal::wrong(Failure::unopened(&error, "").to_string()))
}

/// Reads a small text file.
fn text_of(path: &str) -> Result<String, Refusal> {
    if path.is_empty() {
        return Err(Refusal::Usage);
    }
    input::read_text(Path::new(path), MAX_FILE).map_err(|error| Refusal::file(path, &error))
}

//! `save`: writes the records of a result set to a file, which appears when it is complete.

use std::io::Write;
use std::path::Path;

use z3950::error::Diagnostics;
use z3950::service::ResultRecord;
use z3950_asn1::file::{Existing, Whole};

use super::command::{CommandResult, Refusal};
use super::state::Prompt;
use crate::console::exit::Exit;
use crate::console::output::{Failure, Output, Words};
use crate::render::{Document, Format, counted};

/// A file in progress.
struct Saving<'a> {
    path: &'a Path,
    file: Whole,
    document: Document,
    records: u64,
}

impl Prompt {
    pub(super) async fn save(&mut self, text: &str, output: &mut Output) -> CommandResult {
        let (existing, text) = match text.strip_prefix("--force") {
            Some(rest) if rest.starts_with(char::is_whitespace) => {
                (Existing::Replace, rest.trim_start())
            }
            _ => (Existing::Refuse, text),
        };
        let (path, rest) = match text.split_once(char::is_whitespace) {
            Some((path, rest)) => (path, rest.trim()),
            None if text.is_empty() => return Err(Refusal::Usage),
            None => (text, "all"),
        };
        self.session()?;
        let span = self.span(rest)?;
        let path = Path::new(path);
        let format = Format::by_extension(path, self.settings.output).map_err(Refusal::wrong)?;
        let file = Whole::create(path, existing).map_err(|error| {
            refused(&Failure::unopened(&error, "save --force FILE replaces it"))
        })?;
        let mut saving = Saving {
            path,
            file,
            document: Document::new(format, self.record_charset()),
            records: 0,
        };
        let save = |_: &mut Self, start, records| saving.save(start, records, output);
        let saved = self.present(&span, save).await;
        let ended = saving.document.end().as_bytes();
        let ended = saving.put(ended);
        let exit = match saved.and_then(|exit| ended.map(|()| exit)) {
            Ok(exit) => exit,
            Err(stop) => {
                if saving.records > 0
                    && let Ok(Some(part)) = saving.file.keep()
                {
                    output.note(&format!(
                        "incomplete; what was written is in {}",
                        part.display()
                    ));
                }
                return Err(stop);
            }
        };
        if saving.records == 0 {
            // An existing file is unchanged.
            output.note(&format!("no records; {} was not written", path.display()));
            return Ok(exit.and(Exit::NoMatch));
        }
        let finished = saving.file.finish().map_err(Failure::from);
        finished.map_err(|failure| refused(&failure))?;
        let records = counted(saving.records, "record");
        output.note(&format!("{records} in {}", path.display()));
        Ok(exit)
    }
}

impl Saving<'_> {
    /// Saves records from a position on, and prints the diagnostics in place of others.
    fn save(&mut self, start: u64, records: Vec<ResultRecord>, output: &Output) -> CommandResult {
        let mut exit = Exit::Delivered;
        for (position, record) in (start..).zip(records) {
            exit = exit.and(match record {
                ResultRecord::Record { external, .. } => {
                    let rendered = self.document.record(&external);
                    self.put(&rendered.octets)?;
                    output.say(&Words::about(&rendered, &format!("record {position}")));
                    self.records += u64::from(rendered.failure.is_none());
                    match Exit::of_record(&rendered) {
                        Exit::Usage => Exit::Refused,
                        exit => exit,
                    }
                }
                ResultRecord::Diagnostic { diagnostic, .. } => {
                    let diagnostics = Diagnostics(vec![diagnostic]);
                    output.error(&format!("record {position}: {diagnostics}"));
                    Exit::Refused
                }
            });
        }
        Ok(exit)
    }

    fn put(&mut self, octets: &[u8]) -> Result<(), Refusal> {
        let written = self.file.write_all(octets);
        written.map_err(|error| refused(&Failure::unwritten(self.path, &error)))
    }
}

/// A failure that ends the command but not the program.
fn refused(failure: &Failure) -> Refusal {
    let exit = match failure {
        Failure::Usage(_) => Exit::Usage,
        _ => Exit::Unexpected,
    };
    Refusal::Because(exit, failure.to_string())
}

//! `save`: the records of a result set to a file, which is there when it is complete.

use std::io::Write;
use std::path::Path;

use z3950::error::Diagnostics;
use z3950::service::ResultRecord;
use z3950_asn1::file::{Existing, Whole};

use super::command::{Answer, Stop};
use super::state::State;
use crate::console::exit::Exit;
use crate::console::output::{Failure, Output};
use crate::render::{Document, Format};

/// A file in the making.
struct Saving<'a> {
    path: &'a Path,
    file: Whole,
    document: Document,
    /// How many records it has.
    records: u64,
}

impl State {
    pub(super) async fn save(&mut self, text: &str, output: &mut Output) -> Answer {
        let (existing, text) = match text.strip_prefix("--force") {
            Some(rest) if rest.starts_with(char::is_whitespace) => {
                (Existing::Replace, rest.trim_start())
            }
            _ => (Existing::Refuse, text),
        };
        let (path, rest) = match text.split_once(char::is_whitespace) {
            Some((path, rest)) => (path, rest.trim()),
            None if text.is_empty() => return Err(Stop::Usage),
            None => (text, "all"),
        };
        self.session()?;
        let span = self.span(rest)?;
        let path = Path::new(path);
        let format = Format::by_extension(path, self.settings.output).map_err(Stop::wrong)?;
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
            // The file in the making goes, and one that is there stays as it was.
            output.note(&format!("no records; {} was not written", path.display()));
            return Ok(exit.and(Exit::NoMatch));
        }
        let finished = saving.file.finish().map_err(Failure::from);
        finished.map_err(|failure| refused(&failure))?;
        let word = if saving.records == 1 {
            "record"
        } else {
            "records"
        };
        let (records, path) = (saving.records, path.display());
        output.note(&format!("{records} {word} in {path}"));
        Ok(exit)
    }
}

impl Saving<'_> {
    /// Saves records from a position on; says what stands in the place of others.
    fn save(&mut self, start: u64, records: Vec<ResultRecord>, output: &Output) -> Answer {
        let mut exit = Exit::Delivered;
        for (position, record) in (start..).zip(records) {
            exit = exit.and(match record {
                ResultRecord::Record { external, .. } => {
                    let rendered = self.document.record(&external);
                    self.put(&rendered.octets)?;
                    output.words_of(&rendered, &format!("record {position}"));
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

    fn put(&mut self, octets: &[u8]) -> Result<(), Stop> {
        let written = self.file.write_all(octets);
        written.map_err(|error| refused(&Failure::unwritten(self.path, &error)))
    }
}

/// A failure that ends the command, but not the program.
fn refused(failure: &Failure) -> Stop {
    let exit = match failure {
        Failure::Usage(_) => Exit::Usage,
        _ => Exit::Unexpected,
    };
    Stop::Because(exit, failure.to_string())
}

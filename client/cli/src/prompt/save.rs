//! `save`: the records of a result set in a file, which appears when it is complete.

use std::path::Path;

use z3950_asn1::apdu::External;
use z3950_asn1::file::{Existing, Whole};

use super::command::{CommandResult, Refusal};
use super::show::each;
use super::state::Prompt;
use crate::batch::FileSink;
use crate::console::exit::Exit;
use crate::console::output::{Failure, Output, Words};
use crate::render::{Format, counted, render};

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
        let style = self.settings.style_in(format);
        let mut sink = FileSink::new(file, style.clone());
        let (charset, source) = (self.record_charset(), self.record_source());
        let mut count = 0_u64;
        let mut save = |external: External, subject: &str, output: &mut Output| {
            let rendered = render(&external, &style, charset, source.as_deref().into());
            if rendered.failure.is_none() {
                let added = sink.record(&rendered.octets);
                added.map_err(|error| refused(&Failure::unwritten(path, &error)))?;
                count += 1;
            }
            output.say(&Words::about(&rendered, subject));
            Ok::<_, Refusal>(match Exit::of_record(&rendered) {
                Exit::Usage => Exit::Refused,
                exit => exit,
            })
        };
        let saved = async {
            let mut reader = self.reader(&span)?;
            let mut exit = Exit::Delivered;
            while let Some((start, records)) = reader.next().await? {
                exit = exit.and(each(start, records, output, &mut save)?);
            }
            Ok(exit)
        };
        let exit = match saved.await {
            Ok(exit) => exit,
            Err(stop) => {
                if let Ok(Some((part, _))) = sink.keep() {
                    output.note(&format!(
                        "incomplete; what was written is in {}",
                        part.display()
                    ));
                }
                return Err(stop);
            }
        };
        if !sink.end(path).map_err(|failure| refused(&failure))? {
            output.note(&format!("no records; {} was not written", path.display()));
            return Ok(exit.and(Exit::NoMatch));
        }
        output.note(&format!(
            "{} in {}",
            counted(count, "record"),
            path.display()
        ));
        Ok(exit)
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

//! `show` and `save`: the records of a result set (Z39.50-2003 §3.2.3), a few per request. A file that `save` writes appears
//! when it is complete.

use std::path::Path;

use z3950::error::Error;
use z3950::profile::Profile;
use z3950::service::ResultRecord;
use z3950::service::present::PresentOptions;
use z3950::session::Session;
use z3950_asn1::apdu::{CompSpec, External, Specification};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::file::{Existing, Whole};
use z3950_asn1::oid::Oid;
use z3950_asn1::types::InternationalString;

use super::command::{CommandResult, Refusal};
use super::search::say_diagnostics;
use super::state::Prompt;
use super::waiting::request;
use crate::batch::FileSink;
use crate::console::exit::Exit;
use crate::console::output::{Failure, Output, Words};
use crate::render::{Document, Format, counted, render};

/// How many records to request at once by default.
const CHUNK: u64 = 20;

/// More records than any server has: larger counts mean all records of a set of unknown size.
const ENDLESS: u64 = u64::MAX / 2;

/// A range of a result set; positions are from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RecordRange {
    pub(super) start: u64,
    pub(super) count: u64,
    /// The set, if not the current one.
    pub(super) set: Option<String>,
}

impl Prompt {
    pub(super) async fn show(&mut self, text: &str, output: &mut Output) -> CommandResult {
        if text == "settings" {
            return self.list_all("", output);
        }
        self.session()?;
        let (text, is_indented) = match text.strip_prefix("format") {
            Some(rest) if rest.is_empty() || rest.starts_with(char::is_whitespace) => {
                (rest.trim_start(), true)
            }
            _ => (text, false),
        };
        let span = self.span(text)?;
        if !self.settings.auto_wait {
            return self.show_later(span, is_indented, output).await;
        }
        let mut document = self.document().indented(is_indented);
        let write = |state: &mut Self, start, records| {
            Ok(state.write_all(start, records, &mut document, output)?)
        };
        let exit = self.present(&span, write).await;
        output.end(&mut document)?;
        exit
    }

    /// Requests records by one Present without waiting for the answer.
    async fn show_later(
        &mut self,
        span: RecordRange,
        is_indented: bool,
        output: &mut Output,
    ) -> CommandResult {
        let options = self.present_options(&span)?;
        let present = move |session: Session| {
            let answer = async move { session.present(span.start, span.count, &options).await };
            request(answer, move |state, result, output| {
                let mut document = state.document().indented(is_indented);
                let exit = state.write_all(span.start, result.records, &mut document, output);
                output.end(&mut document)?;
                say_diagnostics(&result.diagnostics, output);
                Ok(exit?)
            })
        };
        self.send(present, output).await
    }

    /// `all`, `N[+M[+SET]]`, or nothing for the next record.
    pub(super) fn span(&self, text: &str) -> Result<RecordRange, Refusal> {
        match text {
            "" => {
                let set = self.result_set()?;
                if let Some(hits) = set.hits.filter(|hits| set.next > *hits) {
                    let reason = format!("all {hits} records have been shown");
                    return Err(Refusal::wrong(reason));
                }
                Ok(RecordRange {
                    start: set.next,
                    count: 1,
                    set: None,
                })
            }
            "all" => Ok(RecordRange {
                start: 1,
                count: self.result_set()?.hits.unwrap_or(u64::MAX),
                set: None,
            }),
            text => {
                let span = span(text).ok_or(Refusal::Usage)?;
                if span.set.is_none() {
                    self.result_set()?;
                }
                Ok(span)
            }
        }
    }

    /// Presents until all records of the range have come, as a server may send fewer than requested. Passes them to `take` with
    /// the position of the first.
    pub(super) async fn present(
        &mut self,
        span: &RecordRange,
        mut take: impl FnMut(&mut Self, u64, Vec<ResultRecord>) -> CommandResult,
    ) -> CommandResult {
        let options = self.present_options(span)?;
        let session = self.session()?;
        let mut exit = Exit::Delivered;
        let mut position = span.start;
        let end = span.start.saturating_add(span.count);
        let mut chunk = self.chunk();
        while position < end {
            let records = fetch(&session, position, end - position, &mut chunk, &options).await?;
            if records.is_empty() {
                break;
            }
            let came = u64::try_from(records.len()).unwrap_or(u64::MAX);
            exit = exit.and(take(self, position, records)?);
            position = position.saturating_add(came);
        }
        Ok(exit)
    }

    pub(super) fn present_options(&self, span: &RecordRange) -> Result<PresentOptions, Refusal> {
        let settings = &self.settings;
        let result_set = match &span.set {
            Some(name) => name.clone(),
            None => self.result_set()?.name,
        };
        let (syntaxes, element_set) = (self.record_syntaxes(), self.element_set());
        let is_complex = settings.schema.is_some() || syntaxes.len() > 1;
        let composition = is_complex.then(|| CompSpec {
            select_alternative_syntax: syntaxes.len() > 1,
            generic: Some(Specification {
                schema: settings.schema.clone().into(),
                element_spec: element_set
                    .clone()
                    .map(z3950_asn1::apdu::ElementSpec::ElementSetName),
            }),
            db_specific: None,
            record_syntax: (syntaxes.len() > 1).then(|| syntaxes.clone()),
        });
        let mut options = PresentOptions::default();
        options.result_set = result_set.as_str().into();
        options.element_set = element_set;
        options.composition = composition;
        options.record_syntax = match syntaxes.as_slice() {
            [syntax] => Some(*syntax),
            _ => None,
        };
        options.other_info = settings.other_info();
        Ok(options)
    }

    /// The record syntaxes to request, best first: those of the settings, else that of the profile.
    pub(super) fn record_syntaxes(&self) -> Vec<Oid> {
        match self.settings.record_syntaxes.as_slice() {
            [] => self
                .profile()
                .and_then(|profile| profile.record_syntax)
                .into_iter()
                .collect(),
            named => named.to_vec(),
        }
    }

    /// The element set to request: that of the settings, else that of the profile.
    pub(super) fn element_set(&self) -> Option<InternationalString> {
        let known = |profile: &Profile| profile.element_set.as_deref().map(Into::into);
        let named = self.settings.element_set.clone();
        named.or_else(|| self.profile().and_then(known))
    }

    /// How many records to request at once.
    pub(super) fn chunk(&self) -> u64 {
        let known = self.profile().and_then(|profile| profile.chunk);
        known.map_or(CHUNK, u64::from).max(1)
    }

    /// Writes records from a position on, and prints the diagnostics in place of others.
    pub(super) fn write_all(
        &mut self,
        start: u64,
        records: Vec<ResultRecord>,
        document: &mut Document,
        output: &mut Output,
    ) -> Result<Exit, Failure> {
        let count = u64::try_from(records.len()).unwrap_or(u64::MAX);
        let exit = each(start, records, output, |external, subject, output| {
            self.write(external, document, subject, output)
        })?;
        if count > 0 {
            self.passed(start.saturating_add(count - 1));
        }
        Ok(exit)
    }

    /// Writes a record, and keeps it as the last one shown.
    pub(super) fn write(
        &mut self,
        record: External,
        document: &mut Document,
        subject: &str,
        output: &mut Output,
    ) -> Result<Exit, Failure> {
        let mut exit = output.record(&record, document, subject)?;
        if let Err(words) = self.seen.take(&record) {
            output.error(&words);
            exit = exit.and(Exit::Unexpected);
        }
        Ok(exit)
    }

    /// Notes that the record at a position has been shown.
    pub(super) fn passed(&mut self, position: u64) {
        if let Some(set) = self.place_mut().and_then(|place| place.result_set.as_mut()) {
            set.next = position.saturating_add(1);
        }
    }
}

/// Presents up to `chunk` records from a position on; at least one, unless the size of the set is unknown and it ends here. If
/// the server lacks resources, `chunk` is reduced.
pub(super) async fn fetch(
    session: &Session,
    position: u64,
    count: u64,
    chunk: &mut u64,
    options: &PresentOptions,
) -> Result<Vec<ResultRecord>, Refusal> {
    let is_endless = count > ENDLESS;
    let result = loop {
        let asked = count.min(*chunk);
        match session.present(position, asked, options).await {
            Err(Error::Refused { diagnostics, .. })
                if asked > 1
                    && diagnostics.condition() == Some(Condition::RESOURCES_EXHAUSTED.0) =>
            {
                *chunk = asked / 2;
            }
            Err(Error::Refused { diagnostics, .. })
                if is_endless && diagnostics.has(Condition::OUT_OF_RANGE.0) =>
            {
                match asked {
                    0 | 1 => return Ok(Vec::new()),
                    _ => *chunk = asked / 2,
                }
            }
            result => break result?,
        }
    };
    if result.records.is_empty() && !is_endless {
        return Err(Refusal::Because(
            Exit::Transport,
            format!("the server sent no record at position {position}"),
        ));
    }
    Ok(result.records)
}

/// `N`, `N+M` or `N+M+SET`, numbers from 1.
pub(super) fn span(text: &str) -> Option<RecordRange> {
    let mut parts = text.splitn(3, '+').map(str::trim);
    let number = |text: &str| text.parse().ok().filter(|&number: &u64| number > 0);
    Some(RecordRange {
        start: number(parts.next()?)?,
        count: parts.next().map_or(Some(1), number)?,
        set: parts.next().map(str::to_owned),
    })
}

/// Handles records from a position on, each with its name for messages, and prints the diagnostics in place of others.
fn each<E>(
    start: u64,
    records: Vec<ResultRecord>,
    output: &mut Output,
    mut take: impl FnMut(External, &str, &mut Output) -> Result<Exit, E>,
) -> Result<Exit, E> {
    let mut exit = Exit::Delivered;
    for (position, record) in (start..).zip(records) {
        let subject = format!("record {position}");
        exit = exit.and(match record {
            ResultRecord::Record { external, .. } => take(external, &subject, output)?,
            ResultRecord::Diagnostic { diagnostic, .. } => {
                output.error(&format!("{subject}: {diagnostic}"));
                Exit::Refused
            }
        });
    }
    Ok(exit)
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
        let style = self.settings.style_in(format);
        let mut sink = FileSink::new(file, style.clone());
        let (charset, source) = (self.record_charset(), self.record_source());
        let mut count = 0_u64;
        let save = |_: &mut Self, start, records| {
            each(start, records, output, |external, subject, output| {
                let rendered = render(&external, &style, charset, source.as_deref());
                if rendered.failure.is_none() {
                    let added = sink.record(&rendered.octets);
                    added.map_err(|error| refused(&Failure::unwritten(path, &error)))?;
                    count += 1;
                }
                output.say(&Words::about(&rendered, subject));
                Ok(match Exit::of_record(&rendered) {
                    Exit::Usage => Exit::Refused,
                    exit => exit,
                })
            })
        };
        let exit = match self.present(&span, save).await {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_count_from_1() {
        let of = |start, count, set: Option<&str>| {
            Some(RecordRange {
                start,
                count,
                set: set.map(str::to_owned),
            })
        };
        for (text, expected) in [
            ("3", of(3, 1, None)),
            ("3+10", of(3, 10, None)),
            ("3 + 10", of(3, 10, None)),
            ("1+1+2", of(1, 1, Some("2"))),
            ("0", None),
            ("1+0", None),
            ("-1", None),
            ("x", None),
            ("99999999999999999999", None),
        ] {
            assert_eq!(span(text), expected, "{text}");
        }
    }
}

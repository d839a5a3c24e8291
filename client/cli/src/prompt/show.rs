//! `show`: the records of a result set (Z39.50-2003 §3.2.3), a few per request.

use z3950::error::Error;
use z3950::profile::Profile;
use z3950::service::ResultRecord;
use z3950::service::present::PresentOptions;
use z3950::session::Session;
use z3950_asn1::apdu::{CompSpec, External, Specification};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::oid::Oid;
use z3950_asn1::types::InternationalString;

use super::command::{CommandResult, Refusal};
use super::search::say_diagnostics;
use super::state::Prompt;
use super::waiting::request;
use crate::console::exit::Exit;
use crate::console::output::{Failure, Output, Words};
use crate::render::{Document, counted, numbered};

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

impl RecordRange {
    /// A record of the current set.
    pub(super) fn of(position: u64) -> Self {
        Self {
            start: position,
            count: 1,
            set: None,
        }
    }
}

impl Prompt {
    pub(super) async fn next_record(&mut self, text: &str, output: &mut Output) -> CommandResult {
        match text {
            "" => self.show("", output).await,
            _ => Err(Refusal::Usage),
        }
    }

    /// Goes on with the last command, by default with the next record.
    pub(super) async fn more(&mut self, text: &str, output: &mut Output) -> CommandResult {
        match (text, self.goes_on) {
            ("", Some("titles")) => self.titles("", output).await,
            ("", Some("scan")) => self.scan("", output).await,
            ("", _) => self.show("", output).await,
            _ => Err(Refusal::Usage),
        }
    }

    /// The position of one record: as written, else that of the record last shown, or the first.
    pub(super) fn position(&self, text: &str) -> Result<u64, Refusal> {
        let set = self.result_set()?;
        let range = match text {
            "" => return Ok(set.next.saturating_sub(1).max(1)),
            text => span(text).filter(|range| range.count == 1 && range.set.is_none()),
        };
        let range = range.ok_or(Refusal::Usage)?;
        self.check(&range)?;
        Ok(range.start)
    }

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
        let exit = self.show_pages(&span, &mut document, output).await;
        output.end(&mut document)?;
        exit
    }

    /// Shows records, a screen at a time.
    async fn show_pages(
        &mut self,
        span: &RecordRange,
        document: &mut Document,
        output: &mut Output,
    ) -> CommandResult {
        let hits = self.hits(span);
        let mut pages = self.pages(output);
        let mut reader = self.reader(span)?;
        let mut exit = Exit::Delivered;
        while let Some((start, records)) = reader.next().await? {
            for (position, record) in (start..).zip(records) {
                let subject = format!("record {position}");
                self.passed(position);
                let external = match record {
                    ResultRecord::Record { external, .. } => external,
                    ResultRecord::Diagnostic { diagnostic, .. } => {
                        output.error(&format!("{subject}: {diagnostic}"));
                        exit = exit.and(Exit::Refused);
                        continue;
                    }
                };
                let which = numbered(position, hits);
                if output.is_terminal() {
                    document.head(which.clone());
                }
                let rendered = output.rendered(&external, document);
                let format = document.format();
                let goes_on = pages.write(&rendered.octets, format, &which, output);
                let goes_on = goes_on.await?;
                output.say(&Words::about(&rendered, &subject));
                exit = exit.and(self.keep(&external, Exit::of_record(&rendered), output));
                if !goes_on {
                    return Ok(exit);
                }
            }
        }
        Ok(exit)
    }

    /// The number of records in the set of a range, if known.
    pub(super) fn hits(&self, span: &RecordRange) -> Option<u64> {
        let place = self.place()?;
        match &span.set {
            Some(name) => place.hits.get(name).copied().flatten(),
            None => place.result_set.as_ref()?.hits,
        }
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

    /// `all`, `N`, `N-LAST`, `N+M[+SET]`, or nothing for the next record.
    pub(super) fn span(&self, text: &str) -> Result<RecordRange, Refusal> {
        match text {
            "" => {
                let set = self.result_set()?;
                if let Some(hits) = set.hits.filter(|hits| set.next > *hits) {
                    return Err(Refusal::wrong(match hits {
                        0 => "the result set is empty".to_owned(),
                        1 => "the only record has been shown".to_owned(),
                        hits => format!("all {hits} records have been shown"),
                    }));
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
                self.check(&span)?;
                let left = self.hits(&span).map(|hits| hits - span.start + 1);
                let count = left.map_or(span.count, |left| span.count.min(left));
                Ok(RecordRange { count, ..span })
            }
        }
    }

    /// Refuses a range that begins after the last record.
    fn check(&self, range: &RecordRange) -> Result<(), Refusal> {
        match self.hits(range) {
            Some(0) => Err(Refusal::wrong("the result set is empty")),
            Some(hits) if range.start > hits => Err(Refusal::wrong(format!(
                "there is no record {}: the result set has {}",
                range.start,
                counted(hits, "record")
            ))),
            _ => Ok(()),
        }
    }

    /// Reads the records of a range.
    pub(super) fn reader(&self, span: &RecordRange) -> Result<RangeReader, Refusal> {
        Ok(RangeReader {
            options: self.present_options(span)?,
            session: self.session()?,
            position: span.start,
            end: span.start.saturating_add(span.count),
            chunk: self.chunk(),
        })
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
        let exit = output.record(&record, document, subject)?;
        Ok(self.keep(&record, exit, output))
    }

    /// Keeps a record as the last one shown; `exit` is the exit code so far.
    fn keep(&self, record: &External, exit: Exit, output: &Output) -> Exit {
        match self.seen.take(record) {
            Ok(()) => exit,
            Err(words) => {
                output.error(&words);
                exit.and(Exit::Unexpected)
            }
        }
    }

    /// Notes that the record at a position has been shown.
    pub(super) fn passed(&mut self, position: u64) {
        if let Some(set) = self.place_mut().and_then(|place| place.result_set.as_mut()) {
            set.next = position.saturating_add(1);
        }
    }
}

/// Presents records until all of a range have come, as a server may send fewer than requested.
pub(super) struct RangeReader {
    session: Session,
    options: PresentOptions,
    position: u64,
    /// The position after the last record.
    end: u64,
    chunk: u64,
}

impl RangeReader {
    /// The next records, after the position of the first; `None` after the last.
    pub(super) async fn next(&mut self) -> Result<Option<(u64, Vec<ResultRecord>)>, Refusal> {
        let (position, count) = (self.position, self.end.saturating_sub(self.position));
        if count == 0 {
            return Ok(None);
        }
        let chunk = &mut self.chunk;
        let records = fetch(&self.session, position, count, chunk, &self.options).await?;
        let came = u64::try_from(records.len()).unwrap_or(u64::MAX);
        self.position = position.saturating_add(came);
        Ok((came > 0).then_some((position, records)))
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

/// `N`, `N-LAST`, `N+M` or `N+M+SET`, numbers from 1.
pub(super) fn span(text: &str) -> Option<RecordRange> {
    let number = |text: &str| text.trim().parse().ok().filter(|&number: &u64| number > 0);
    if let Some((first, last)) = text.split_once('-')
        && let (Some(start), Some(last)) = (number(first), number(last))
    {
        let count = last.checked_sub(start)?.saturating_add(1);
        let set = None;
        return Some(RecordRange { start, count, set });
    }
    let mut parts = text.splitn(3, '+').map(str::trim);
    Some(RecordRange {
        start: number(parts.next()?)?,
        count: parts.next().map_or(Some(1), number)?,
        set: parts.next().map(str::to_owned),
    })
}

/// Handles records from a position on, each with its name for messages, and prints the diagnostics in place of others.
pub(super) fn each<E>(
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
            ("1-3", of(1, 3, None)),
            ("2 - 2", of(2, 1, None)),
            ("3-1", None),
            ("0-3", None),
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

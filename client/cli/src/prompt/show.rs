//! The commands `show`, `save`, `holdings` and `makeurl`, which show records of a result set, write them to a file, and
//! show the copies and the URL of a record (Z39.50-2003 §3.2.3, Appendix REC.3; RFC 2056 §4).

use std::path::Path;

use bytes::Bytes;
use z3950::Record;
use z3950::retrieve::OutcomeName;
use z3950::service::ResultRecord;
use z3950::session::Session;
use z3950::target::Endpoint;
use z3950::url::{Kind, Octets, Z3950Url};
use z3950_asn1::apdu::DatabaseName;
use z3950_asn1::oid::{OPAC, Oid, XML};
use z3950_asn1::record::RetrievedRecord;
use z3950_asn1::record::holdings::table;
use z3950_files::{Existing, Whole};
use z3950_marc::iso2709;

use super::command::{CommandResult, Refusal};
use super::records::RecordRange;
use super::search::say_diagnostics;
use super::state::{DEFAULT_DATABASE, Prompt};
use super::waiting::request;
use crate::answer::{Answer, Envelope, Piece, Printed, Writing};
use crate::batch::FileSink;
use crate::commands::target::Seen;
use crate::console::exit::Exit;
use crate::console::output::{Failure, Output};
use crate::render::{Format, counted, indent, numbered};

impl Prompt {
    pub(super) async fn next_record(&mut self, text: &str, output: &mut Output) -> CommandResult {
        match text {
            "" => self.show("", output).await,
            _ => Err(Refusal::Usage),
        }
    }

    /// Continues the last command that can be continued. If there is none, shows the next record.
    pub(super) async fn more(&mut self, text: &str, output: &mut Output) -> CommandResult {
        match (text, self.goes_on) {
            ("", Some("titles")) => self.titles("", output).await,
            ("", Some("scan")) => self.scan("", output).await,
            (text, _) => self.next_record(text, output).await,
        }
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
        let range = self.range(text)?;
        if !self.settings.auto_wait {
            return self.show_later(range, is_indented, output).await;
        }
        let mut writer = self.writer(self.settings.output)?;
        writer.is_indented = is_indented;
        let (hits, mut pages) = (self.hits(&range), self.pages(output));
        let take = async |state: &mut Self, position, record: ResultRecord| {
            state.passed(position);
            let (mut piece, answer) = writer.piece(&record, &format!("record {position}"));
            piece.heading = Some(numbered(position, hits));
            let goes_on =
                piece.octets.is_empty() || writer.printed.fill(&piece, &mut pages, output).await?;
            output.say(&piece.words);
            Ok((answer.exit, goes_on))
        };
        let exit = self.each_record(&range, take).await;
        writer.printed.end(false, output)?;
        exit
    }

    /// Sends a Present request for the records in a range, without waiting for the response.
    async fn show_later(
        &mut self,
        range: RecordRange,
        is_indented: bool,
        output: &mut Output,
    ) -> CommandResult {
        let options = self.pager_options(range.set.as_deref())?.present;
        let present = move |session: Session| {
            let answer = async move { session.present(range.start, range.count, &options).await };
            request(answer, move |state, result, output| {
                let exit = state.write_all(range.start, &result.records, is_indented, output)?;
                say_diagnostics(&result.diagnostics, output);
                Ok(exit)
            })
        };
        self.send(present, output).await
    }

    /// Writes consecutive records, the first of which has the position `start`. For a record that the server replaced
    /// with a diagnostic, prints the diagnostic.
    pub(super) fn write_all(
        &mut self,
        start: u64,
        records: &[ResultRecord],
        is_indented: bool,
        output: &mut Output,
    ) -> CommandResult {
        let mut writer = self.writer(self.settings.output)?;
        writer.is_indented = is_indented;
        let mut exit = Exit::Delivered;
        for (position, record) in (start..).zip(records) {
            exit = exit.and(writer.write(record, &format!("record {position}"), output)?);
            self.passed(position);
        }
        writer.printed.end(false, output)?;
        Ok(exit)
    }

    /// Records that the record at a position has been shown.
    pub(super) fn passed(&mut self, position: u64) {
        if let Some(set) = self
            .opened_mut()
            .and_then(|opened| opened.result_set.as_mut())
        {
            set.next = position.saturating_add(1);
        }
    }

    /// Returns a writer for the records that a command shows, in this format and with the settings of the prompt.
    pub(super) fn writer(&self, format: Format) -> Result<RecordWriter, Refusal> {
        let place = self.current_target()?;
        let style = self.settings.style_in(format);
        Ok(RecordWriter {
            printed: Printed::new(style.clone()),
            envelope: Envelope::of(&place, &[]),
            writing: Writing {
                json: false,
                style,
                charset: self.record_charset(),
            },
            seen: Some(self.seen.clone()),
            is_indented: false,
        })
    }

    /// Writes records to a file, which appears under its name only when it is complete.
    pub(super) async fn save(&mut self, text: &str, output: &mut Output) -> CommandResult {
        let option = text.strip_prefix("--overwrite");
        let (existing, text) = match option.or_else(|| text.strip_prefix("--force")) {
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
        let range = self.range(rest)?;
        let path = Path::new(path);
        let format = Format::by_extension(path, self.settings.output).map_err(Refusal::wrong)?;
        let file = Whole::create(path, existing).map_err(|error| {
            refused(&Failure::unopened(
                &error,
                "save --overwrite FILE replaces it",
            ))
        })?;
        let mut sink = FileSink::new(file, self.settings.style_in(format));
        let writer = RecordWriter {
            seen: None,
            ..self.writer(format)?
        };
        let mut count = 0;
        let take = async |_: &mut Self, position, record: ResultRecord| {
            let (piece, answer) = writer.piece(&record, &format!("record {position}"));
            if answer.ending.outcome == OutcomeName::Delivered {
                let added = sink.record(&piece.octets);
                added.map_err(|error| refused(&Failure::unwritten(path, &error)))?;
                count += 1;
            }
            output.say(&piece.words);
            let exit = match answer.exit {
                Exit::Usage => Exit::Refused,
                exit => exit,
            };
            Ok((exit, true))
        };
        let exit = match self.each_record(&range, take).await {
            Ok(exit) => exit,
            Err(stop) => {
                if let Ok(Some((part, _))) = sink.keep() {
                    let part = part.display();
                    output.note(&format!("incomplete; what was written is in {part}"));
                }
                return Err(stop);
            }
        };
        let has_records = sink.end(path).map_err(|failure| refused(&failure))?;
        let path = path.display();
        if !has_records {
            output.note(&format!("no records; {path} was not written"));
            return Ok(exit.and(Exit::NoMatch));
        }
        output.note(&format!("{} in {path}", counted(count, "record")));
        Ok(exit)
    }

    /// Shows the copies of a record and their availability.
    pub(super) async fn holdings(&mut self, text: &str, output: &mut Output) -> CommandResult {
        let position = self.position(text)?;
        // Many servers do not support OPAC, the record syntax for holdings, so the usual syntax is tried next.
        let usual = self.pager_options(None)?;
        let mut options = usual.clone();
        options.present.record_syntax = Some(OPAC);
        options.present.composition = None;
        options.alternatives.clear();
        let (_, record) = match self.record_by(options, position).await {
            Ok(found) => found,
            Err(_) => self.record_by(usual, position).await?,
        };
        let record = Record::new(record, Some(position)).with_charset(self.record_charset());
        let copies = table(&record.holdings());
        if copies.is_empty() {
            output.note(&format!("record {position} lists no copies"));
            return Ok(Exit::NoMatch);
        }
        let mut pages = self.pages(output);
        pages.lines(&copies, "copies", output).await?;
        Ok(Exit::Delivered)
    }

    /// Prints a record's retrieval URL, which contains the record's control number.
    pub(super) async fn make_url(&mut self, text: &str, output: &mut Output) -> CommandResult {
        let position = self.position(text)?;
        let (host, port) = match self.opened().map(|opened| &opened.way.target.endpoint) {
            Some(Endpoint::Tcp(host, port) | Endpoint::Tls(host, port)) => (host.clone(), *port),
            Some(Endpoint::Unix(_)) => return Err(Refusal::wrong("a Unix socket has no URL")),
            _ => {
                let words = "a z39.50r URL names a server of Z39.50, not one of SRU";
                return Err(Refusal::wrong(words));
            }
        };
        let (database, octets) = self.marc_record(position).await?;
        let number = iso2709::parse(&octets).ok().and_then(|parsed| {
            let number = parsed.record.control_number()?.trim_ascii().to_vec();
            (!number.is_empty()).then_some(number)
        });
        let number =
            number.ok_or_else(|| Refusal::wrong("the record has no control number (field 001)"))?;
        let database = database
            .or_else(|| self.searched().into_iter().next())
            .unwrap_or_else(|| DEFAULT_DATABASE.into());
        let url = Z3950Url::builder(Kind::Retrieval, host)
            .port(port)
            .database(Octets::from(database.0.as_bytes()))
            .docid(number);
        let url = match self.element_set() {
            Some(name) => url.element_set(name.as_bytes()),
            None => url,
        };
        let url = url.build().map_err(Refusal::wrong)?;
        output.line(&url.to_string())?;
        Ok(Exit::Delivered)
    }

    /// Returns the MARC record at a position in the result set, and the name of its database if the server sends it.
    pub(super) async fn marc_record(
        &self,
        position: u64,
    ) -> Result<(Option<DatabaseName>, Bytes), Refusal> {
        let mut options = self.pager_options(None)?;
        options.present.record_syntax = self.record_syntaxes().first().copied();
        options.present.composition = None;
        let may_be_marc = |syntax: &Option<Oid>| syntax.is_some_and(|syntax| syntax != XML);
        options.alternatives.retain(may_be_marc);
        let (database, external) = self.record_by(options, position).await?;
        match RetrievedRecord::of(&external) {
            RetrievedRecord::Marc(octets) => Ok((database, octets)),
            _ => Err(Refusal::wrong("the record is not a MARC record")),
        }
    }
}

/// A writer for the records that a command shows.
pub(super) struct RecordWriter {
    writing: Writing,
    /// The JSON object with the origin of the records.
    envelope: Envelope,
    /// The state of standard output.
    pub(super) printed: Printed,
    /// Collects the records that are shown, for use by `update` and `set_marcdump`; `None` to collect none.
    seen: Option<Seen>,
    /// Whether XML records are indented, with one element per line.
    is_indented: bool,
}

impl RecordWriter {
    /// Writes a record. Messages begin with `subject`.
    pub(super) fn write(
        &mut self,
        record: &ResultRecord,
        subject: &str,
        output: &mut Output,
    ) -> Result<Exit, Failure> {
        let (piece, answer) = self.piece(record, subject);
        self.printed.write(&piece, output)?;
        output.say(&piece.words);
        Ok(answer.exit)
    }

    /// Renders a record. Also returns the [`Answer`] for it. A diagnostic in place of the record counts as an error.
    fn piece(&self, record: &ResultRecord, subject: &str) -> (Piece, Answer) {
        let envelope = || self.envelope.clone();
        let written = self
            .writing
            .slot(Answer::default(), envelope, record, subject, subject);
        let written = match &self.seen {
            Some(seen) => seen.note(record, written),
            None => written,
        };
        let (mut piece, answer) = written;
        if self.is_indented && piece.octets.trim_ascii_start().starts_with(b"<") {
            let indented = str::from_utf8(&piece.octets).map(indent);
            piece.octets = indented.map_or(piece.octets, String::into_bytes);
        }
        (piece, answer)
    }
}

/// Converts a failure to a refusal, which ends the command but not the program.
fn refused(failure: &Failure) -> Refusal {
    let exit = match failure {
        Failure::Usage(_) => Exit::Usage,
        _ => Exit::Unexpected,
    };
    Refusal::Because(exit, failure.to_string())
}

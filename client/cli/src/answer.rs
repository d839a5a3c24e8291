//! The answer to one input of `get`, `lookup` or `search`: its pieces, which are passed on as they arrive, and the
//! outcome at the end.
//!
//! A command creates its answer in [`Job::work`]. [`Job::print`] writes the pieces to standard output, and a batch
//! writes them to the destination that its options name.

mod envelope;
mod print;
mod runner;
mod sources;

use std::fmt;
use std::io::{self, IsTerminal};
use std::sync::Arc;

use z3950::error::Diagnostics;
use z3950::find::Ending;
use z3950::retrieve::OutcomeName;
use z3950::service::ResultRecord;
use z3950_asn1::apdu::{DiagRec, External};
use z3950_marc::MarcRecord;
use z3950_marc::charset::Charset;

pub(crate) use self::envelope::{Envelope, diagnostic, is_part};
pub(crate) use self::print::{Job, Printed};
pub(crate) use self::runner::{AskEvent, Recipient, run};
pub(crate) use self::sources::SourceNotes;
use crate::console::exit::Exit;
use crate::console::output::{Failure, Output, Words};
use crate::render::{Style, render, shown};

/// The maximum length of an input in octets; a longer input is an error.
pub(crate) const MAX_INPUT: usize = 65_536;

/// The maximum number of control numbers that an answer lists.
const MAX_NUMBERS: usize = 20;

/// The separator between the names of several targets that are searched one after the other.
pub(crate) const OR: &str = " or ";

/// An input, and the target from which to get the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ask {
    /// The 1-based number of the input. Inputs with the same text have different numbers.
    pub(crate) position: u64,
    /// The index of the target in the list of targets.
    pub(crate) target: usize,
    /// The input, shared by all targets.
    pub(crate) input: Arc<[u8]>,
    /// Whether the input is longer than [`MAX_INPUT`]. If the input comes from a file, `input` then contains only its
    /// beginning.
    pub(crate) is_cut: bool,
    /// The line or record from which the input was read; `None` if it comes from the command line.
    pub(crate) origin: Option<Origin>,
    /// The record from which `input` was made, if the file contains records.
    pub(crate) record: Option<Arc<MarcRecord>>,
    /// The number of an earlier input of the batch with the same request; if it is set, this input is not processed.
    pub(crate) repeats: Option<u64>,
}

/// The position of a line or record in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) name: Arc<str>,
    /// The 1-based number of the line or record.
    pub(crate) number: u64,
    /// Whether the position belongs to a record, and not to a line.
    pub(crate) is_record: bool,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = if self.is_record { "record" } else { "line" };
        write!(f, "{}, {unit} {}", self.name, self.number)
    }
}

/// A function that returns the input for a record in a file, for commands that accept records as inputs.
pub(crate) type NameRecord = fn(&MarcRecord) -> String;

/// A function that returns a key for an input. Inputs with the same key have the same answer; an input without a key is
/// always processed.
pub(crate) type KeyOf = Box<dyn Fn(&Ask) -> Option<String> + Send>;

impl Ask {
    /// Returns the control number of the input record, on one line; `None` if the input is not a record.
    pub(crate) fn control_number(&self) -> Option<String> {
        let number = self.record.as_ref()?.control_number()?;
        (!number.is_empty()).then(|| shown(number))
    }
}

impl fmt::Display for Ask {
    /// Writes the input on one line; octets that are not text become `\xNN`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown(&self.input))
    }
}

/// A part of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Piece {
    /// The messages for standard error.
    pub(crate) words: Vec<Words>,
    /// The heading to write before the octets on a terminal, if the octets are a record in a human-readable format.
    pub(crate) heading: Option<String>,
    /// Data for the output. It may be empty.
    pub(crate) octets: Vec<u8>,
    /// Whether `octets` are a record, and not a line of text or JSON.
    pub(crate) is_record: bool,
    /// Whether the record had to be repaired.
    pub(crate) is_repaired: bool,
}

impl Piece {
    /// Creates a piece with data that is not a record.
    pub(crate) fn line(octets: Vec<u8>) -> Self {
        Self {
            octets,
            ..Self::default()
        }
    }
}

impl From<Words> for Piece {
    fn from(words: Words) -> Self {
        Self {
            words: vec![words],
            ..Self::default()
        }
    }
}

/// The result for one input: the outcome of its search, and the messages about it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Answer {
    pub(crate) ending: Ending,
    /// The exit code that a run with only this input would have.
    pub(crate) exit: Exit,
    /// The control numbers (001) of the first records delivered.
    pub(crate) records: Vec<String>,
    /// The targets and sources that did not answer, each with the reason. Other targets may have answered.
    pub(crate) failed: Vec<(String, String)>,
    /// The message about the outcome.
    pub(crate) message: Option<String>,
}

impl Answer {
    /// Returns the answer with the given outcome and its exit code.
    pub(crate) fn ended(mut self, outcome: OutcomeName) -> Self {
        self.ending.outcome = outcome;
        self.exit = outcome.into();
        self
    }

    /// Returns the answer with the number of matching records.
    pub(crate) fn with_hits(mut self, hits: Option<u64>) -> Self {
        self.ending.hits = hits;
        self
    }

    /// Returns the answer with the given message.
    pub(crate) fn saying(self, message: impl Into<String>) -> Self {
        Self {
            message: Some(message.into()),
            ..self
        }
    }

    /// Returns the answer with text added to its message.
    pub(crate) fn adding(self, more: &str) -> Self {
        let message = match &self.message {
            Some(message) => format!("{message}; {more}"),
            None => more.to_owned(),
        };
        self.saying(message)
    }

    /// Returns the answer with the server's diagnostics.
    pub(crate) fn diagnosed(mut self, diagnostics: &[DiagRec]) -> Self {
        self.ending.diagnostics = Diagnostics(diagnostics.to_vec());
        self
    }

    /// Reports the reason why there is no record: as a message after `subject`, or as a JSON object with `--json`.
    pub(crate) fn report(
        self,
        json: bool,
        envelope: Envelope,
        subject: &impl fmt::Display,
        output: &mut Output,
    ) -> Result<Exit, Failure> {
        let words = format!("{subject}: {}", self.message.as_deref().unwrap_or_default());
        envelope.answered(&self).or_error(json, &words, output)?;
        Ok(self.exit)
    }

    /// Returns the more serious of two answers: the answer to an input, and the answer for one of its records.
    ///
    /// The control numbers of both answers are kept, up to [`MAX_NUMBERS`].
    pub(crate) fn graver(mut self, mut of_record: Self) -> Self {
        let mut records = std::mem::take(&mut self.records);
        records.append(&mut of_record.records);
        records.truncate(MAX_NUMBERS);
        let is_own = self.exit.and(of_record.exit) == self.exit;
        let graver = if is_own {
            Self {
                message: self.message.or(of_record.message),
                ..self
            }
        } else {
            of_record
        };
        Self { records, ..graver }
    }
}

/// Answers an invalid input with a message on standard error, without a JSON object. The first line of the message is
/// written to the report.
pub(crate) async fn refuse(ask: &Ask, words: String, recipient: &mut Recipient) -> Answer {
    let mut answer = Answer::default().ended(OutcomeName::NotSent);
    answer.message = words.lines().next().map(str::to_owned);
    let words = match &ask.origin {
        Some(origin) => format!("{origin}: {words}"),
        None => words,
    };
    recipient.send(Words::Error(words)).await;
    answer
}

/// Answers an `Ask` with `work`. An input that is too long or empty is answered with an error.
async fn answer(
    work: &impl AsyncFn(&Ask, &mut Recipient) -> Answer,
    ask: &Ask,
    recipient: &mut Recipient,
) -> Answer {
    if ask.is_cut {
        let words = format!("input {} has more than {MAX_INPUT} octets", ask.position);
        return refuse(ask, words, recipient).await;
    }
    if ask.repeats.is_some() {
        // By the time this answer is delivered, the batch has the answer to the earlier input, and uses that instead.
        return Answer::default();
    }
    if ask.input.is_empty() && ask.origin.is_some() {
        let mut answer = refuse(ask, "the cell is empty".to_owned(), recipient).await;
        // An empty identifier or query cannot match a record.
        answer.exit = Exit::NoMatch;
        return answer;
    }
    work(ask, recipient).await
}

/// The options for writing the answers from `get`, `lookup` and `search`.
#[derive(Debug, Clone)]
pub(crate) struct Writing {
    /// Whether answers are written as JSON objects.
    pub(crate) json: bool,
    /// The format of records and related options, which apply if `json` is false.
    pub(crate) style: Style,
    /// The character set of the records, if the command line or the profile names one.
    pub(crate) charset: Option<Charset>,
}

impl Writing {
    /// Formats a record, or reports why the format cannot represent it. `answer` is the answer so far, and `envelope`
    /// creates its JSON object. Messages begin with `subject`.
    pub(crate) fn record(
        &self,
        answer: Answer,
        envelope: impl FnOnce() -> Envelope,
        record: &External,
        subject: &str,
    ) -> (Piece, Answer) {
        let json = self.json.then(|| self.style.as_json());
        let style = json.as_ref().unwrap_or(&self.style);
        let envelope = style.has_source().then(envelope);
        let origin = envelope.as_ref().map(Envelope::origin);
        let rendered = render(record, style, self.charset, origin.unwrap_or_default());
        let words = Words::about(&rendered, subject);
        let mut answer = answer.ended(OutcomeName::Delivered);
        answer.exit = Exit::of_record(&rendered);
        answer.records.extend(rendered.control_number.clone());
        if let Some(failure) = &rendered.failure {
            answer.ending.outcome = OutcomeName::NotWritten;
            answer = answer.adding(failure);
        } else if rendered.is_loss {
            answer = answer.adding(&rendered.notes.join("; "));
        }
        let mut piece = match envelope.filter(|_| self.json) {
            Some(envelope) => envelope
                .answered(&answer)
                .record(record, &rendered.octets)
                .piece(),
            None => Piece {
                octets: rendered.octets,
                is_record: true,
                is_repaired: rendered.is_repaired,
                ..Piece::default()
            },
        };
        piece.words = words;
        (piece, answer)
    }

    /// Formats a record sent by a server, or the diagnostic in its place. The record syntax may differ from the
    /// requested one. Messages in the answer refer to the record as `which`.
    pub(crate) fn slot(
        &self,
        answer: Answer,
        envelope: impl FnOnce() -> Envelope,
        slot: &ResultRecord,
        subject: &str,
        which: &str,
    ) -> (Piece, Answer) {
        let (external, form, database) = match slot {
            ResultRecord::Record {
                external,
                substitute,
                database,
                ..
            } => (external, substitute, database),
            ResultRecord::Diagnostic { diagnostic, .. } => {
                let refused = answer
                    .ended(OutcomeName::RecordRefused)
                    .saying(format!("{which}: {diagnostic}"))
                    .diagnosed(std::slice::from_ref(diagnostic));
                return self.end_with(refused, envelope, format!("{subject}: {diagnostic}"));
            }
        };
        let envelope = || match database {
            Some(name) => envelope().in_database(&shown(name.as_bytes())),
            None => envelope(),
        };
        let Some(form) = form else {
            return self.record(answer, envelope, external, subject);
        };
        let element_set = form
            .element_set()
            .map(|name| name.to_string_lossy().into_owned());
        let envelope = || envelope().with("element_set", element_set);
        let answer = answer.adding(&format!("{which} came only in {form}"));
        let (mut piece, mut answer) = self.record(answer, envelope, external, subject);
        let words = format!("{subject} came only in {form}");
        let words = if form.is_reduced() {
            Words::Warning(words)
        } else {
            Words::Note(words)
        };
        piece.words.insert(0, words);
        if form.is_reduced() {
            answer.exit = answer.exit.and(Exit::FaultsFound);
        }
        (piece, answer)
    }

    /// Adds a line with the target before a record in a human-readable format, if the record is written to a file or a
    /// pipe. Programs that read such records skip this line.
    pub(crate) fn head(&self, piece: &mut Piece, is_written: bool) {
        let is_read = piece.is_record && !self.json && self.style.format().is_to_read();
        let is_seen = !is_written && io::stdout().is_terminal();
        if let Some(heading) = &piece.heading
            && is_read
            && !is_seen
            && !piece.octets.is_empty()
        {
            let line = format!("({heading})\n");
            piece.octets.splice(..0, line.into_bytes());
        }
    }

    /// Formats an answer without a record, as a message after `subject` or as a JSON object.
    pub(crate) fn end(
        &self,
        answer: Answer,
        envelope: impl FnOnce() -> Envelope,
        subject: &str,
    ) -> (Piece, Answer) {
        let message = answer.message.as_deref().unwrap_or_default();
        let words = format!("{subject}: {message}");
        self.end_with(answer, envelope, words)
    }

    /// Formats an answer like [`end`](Self::end), but with the message `words`.
    pub(crate) fn end_with(
        &self,
        answer: Answer,
        envelope: impl FnOnce() -> Envelope,
        words: String,
    ) -> (Piece, Answer) {
        let piece = if self.json {
            envelope().answered(&answer).piece()
        } else {
            Words::Error(words).into()
        };
        (piece, answer)
    }
}

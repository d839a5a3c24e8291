//! Where the program writes: data on standard output, words on standard error; a reader that has gone away
//! ends the program quietly.

use std::io::{self, IsTerminal, StdoutLock, Write};
use std::path::Path;

use clap::ColorChoice;
use z3950_asn1::apdu::External;
use z3950_asn1::file;
use z3950_marc::charset::{Charset, Unencodable};

use crate::console::exit::Exit;
use crate::console::report::chain;
use crate::render::{Document, Format, Rendered, as_message, escape_controls};

/// The two streams of the program.
pub(crate) struct Output {
    data: StdoutLock<'static>,
    data_is_terminal: bool,
    /// The character set of data; `None` for UTF-8, in which it is made.
    charset: Option<Charset>,
    colored: bool,
    /// For data only: the one document that all answers are in.
    gathered: Option<Gathered>,
}

/// A document that several answers add to.
#[derive(Debug, Clone, Copy, Default)]
struct Gathered {
    /// The form of its records, and how many there are.
    begun: Option<(Format, u64)>,
}

/// A fault of the machine rather than of the server; ends the command.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// Nobody reads standard output any more, which is no fault.
    #[error("standard output was closed")]
    BrokenPipe,
    /// Standard output cannot be written.
    #[error("cannot write to standard output: {0}")]
    Write(io::Error),
    /// A file named by the user cannot be read.
    #[error("cannot read {path}: {error}")]
    Input { path: String, error: String },
    /// Options that do not go together, or cannot be followed.
    #[error("{0}")]
    Usage(String),
    /// A file cannot be written to its end.
    #[error("{0}")]
    Unwritten(String),
    /// The program's own machinery, such as its threads.
    #[error("cannot {what}: {error}")]
    Machine { what: &'static str, error: String },
}

impl Failure {
    pub(crate) fn input(path: &str, error: &io::Error) -> Self {
        Self::Input {
            path: path.to_owned(),
            error: error.to_string(),
        }
    }

    /// A file that cannot be written; found out before anything was done for it. `hint` says what to do about one that is
    /// there already.
    pub(crate) fn unopened(error: &file::Error, hint: &str) -> Self {
        Self::Usage(match error {
            file::Error::Exists { .. } => format!("{error}: {hint}"),
            error => chain(error),
        })
    }

    /// A file that cannot be written any further.
    pub(crate) fn unwritten(path: &Path, error: &io::Error) -> Self {
        Self::Unwritten(format!("cannot write {}: {error}", path.display()))
    }

    pub(crate) fn machine(what: &'static str, error: &impl ToString) -> Self {
        Self::Machine {
            what,
            error: error.to_string(),
        }
    }
}

impl From<file::Error> for Failure {
    /// One that came up while a file was written.
    fn from(error: file::Error) -> Self {
        Self::Unwritten(chain(&error))
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::BrokenPipe,
            _ => Self::Write(error),
        }
    }
}

impl Output {
    pub(crate) fn new(color: ColorChoice) -> Self {
        Self {
            data: io::stdout().lock(),
            data_is_terminal: io::stdout().is_terminal(),
            charset: None,
            colored: is_colored(color),
            gathered: None,
        }
    }

    /// Writes only records to standard output from now on, all of them in one document; lines become remarks.
    pub(crate) fn gather(&mut self) {
        self.gathered = Some(Gathered::default());
    }

    /// Ends what [`Output::gather`] has begun.
    pub(crate) fn finish(&mut self) -> Result<(), Failure> {
        let gathered = self.gathered.take();
        match gathered.and_then(|gathered| gathered.begun?.0.form()) {
            Some(form) => self.octets(form.end().as_bytes(), false),
            None => Ok(()),
        }
    }

    /// Writes data in a character set from now on; what the set does not have becomes a question mark. Raw octets stay
    /// as they are.
    pub(crate) fn write_in(&mut self, charset: Option<Charset>) {
        self.charset = charset;
    }

    /// A line of data; on a terminal, controls in it are escaped.
    pub(crate) fn line(&mut self, line: &str) -> Result<(), Failure> {
        if self.gathered.is_some() {
            self.note(line);
            return Ok(());
        }
        self.octets(line.as_bytes(), false)?;
        self.octets(b"\n", false)
    }

    /// The next record of a document; raw octets are never changed. Notes go to standard error.
    ///
    /// A record that the format cannot hold is wrong usage, and said to be; `subject` is which one it is.
    pub(crate) fn record(
        &mut self,
        record: &External,
        document: &mut Document,
        subject: &str,
    ) -> Result<Exit, Failure> {
        self.join(document)?;
        let rendered = document.record(record);
        let is_kept = match document.format() {
            Format::Raw => true,
            // Its lengths count octets.
            Format::Marc => !self.data_is_terminal,
            _ => false,
        };
        self.octets(&rendered.octets, is_kept)?;
        self.words_of(&rendered, subject);
        Ok(Exit::of_record(&rendered))
    }

    /// Whether all records go into one document; see [`Output::gather`].
    pub(crate) fn is_gathered(&self) -> bool {
        self.gathered.is_some()
    }

    /// Lets a document that begins go on where the gathered one is.
    pub(crate) fn join(&mut self, document: &mut Document) -> Result<(), Failure> {
        match self.gathered.and_then(|gathered| gathered.begun) {
            Some((format, records)) if format == document.format() => document.go_on(records),
            // The format was changed.
            Some(_) => {
                self.finish()?;
                self.gather();
            }
            None => {}
        }
        Ok(())
    }

    /// What a person should know of a record that was rendered; `subject` is which one it is.
    pub(crate) fn words_of(&self, rendered: &Rendered, subject: &str) {
        for note in &rendered.notes {
            let words = format!("{subject}: {note}");
            match rendered.is_loss {
                true => self.warning(&words),
                false => self.note(&words),
            }
        }
        if let Some(failure) = &rendered.failure {
            self.error(&format!("{subject}: {failure}"));
        }
    }

    /// The end of a document, unless others are to follow in it.
    pub(crate) fn end(&mut self, document: &mut Document) -> Result<(), Failure> {
        if let Some(gathered) = &mut self.gathered {
            if document.records() > 0 {
                gathered.begun = Some((document.format(), document.records()));
            }
            return Ok(());
        }
        match document.end() {
            "" => Ok(()),
            end => self.octets(end.as_bytes(), false),
        }
    }

    /// Octets of data; on a terminal, controls in them are escaped unless they are wanted raw.
    pub(crate) fn octets(&mut self, octets: &[u8], raw: bool) -> Result<(), Failure> {
        if raw || !(self.data_is_terminal || self.charset.is_some()) {
            self.data.write_all(octets)?;
        } else {
            let text = z3950_marc::text_lossless(octets);
            let text = match self.data_is_terminal {
                true => escape_controls(&text).into_owned().into(),
                false => text,
            };
            match self.charset {
                Some(charset) => {
                    let encoded = charset.encode_with(&text, Unencodable::QuestionMark);
                    self.data.write_all(&encoded.octets)?;
                }
                None => self.data.write_all(text.as_bytes())?,
            }
        }
        self.data.flush()?;
        Ok(())
    }

    /// What went wrong, in words.
    pub(crate) fn error(&self, message: &str) {
        self.words("error", "31", message);
    }

    /// What a person should know although it worked.
    pub(crate) fn warning(&self, message: &str) {
        self.words("warning", "33", message);
    }

    /// A remark.
    pub(crate) fn note(&self, message: &str) {
        self.words("note", "36", message);
    }

    fn words(&self, label: &str, color: &str, message: &str) {
        let message = as_message(message);
        let mut words = io::stderr().lock();
        // Where standard error is gone too, there is nobody left to tell.
        let _ = match self.colored {
            true => writeln!(words, "\x1b[1;{color}m{label}:\x1b[0m {message}"),
            false => writeln!(words, "{label}: {message}"),
        };
    }
}

/// Whether messages are coloured: as the option says, else on a terminal unless NO_COLOR is set.
pub(crate) fn is_colored(color: ColorChoice) -> bool {
    match color {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => {
            let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
            io::stderr().is_terminal() && !no_color
        }
    }
}

//! The program's output: data on standard output, messages on standard error. If the reader closes standard output, the
//! program ends without a message.

use std::fs::File;
use std::io::{self, IsTerminal, StdoutLock, Write};
use std::path::Path;

use clap::ColorChoice;
use terminal_size::{Height, Width};
use z3950::error::chain;
use z3950_marc::charset::{Charset, Unencodable};

use crate::console::waiting::WaitingLine;
use crate::render::{
    Document, Format, Rendered, Style, as_message, counted, escape_controls, with_short_words,
    wrapped,
};

/// The two output streams of the program.
pub(crate) struct Output {
    data: StdoutLock<'static>,
    data_is_terminal: bool,
    /// The character set of data; `None` for UTF-8.
    charset: Option<Charset>,
    colored: bool,
    /// Whether notes and progress are suppressed.
    quiet: bool,
    /// The waiting line, which is erased before anything else is written.
    waiting: WaitingLine,
    /// The document that contains the records from all commands; `None` unless [`Output::gather`] was called.
    gathered: Option<Document>,
}

/// An error that ends the command and occurred on this machine, not on the server.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The reader closed standard output, which is not an error.
    #[error("standard output was closed")]
    BrokenPipe,
    /// Standard output cannot be written.
    #[error("cannot write to standard output: {0}")]
    Write(io::Error),
    /// An input file cannot be read.
    #[error("cannot read {path}: {error}")]
    Input { path: String, error: String },
    /// Options conflict with each other, or cannot be applied.
    #[error("{0}")]
    Usage(String),
    /// An output file cannot be written completely.
    #[error("{0}")]
    Unwritten(String),
    /// The machine lacks resources for the program, such as threads.
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

    /// Returns the failure for an output file that cannot be opened at the start. `hint` is advice that is added if the
    /// file already exists.
    pub(crate) fn unopened(error: &z3950_files::Error, hint: &str) -> Self {
        Self::Usage(match error {
            z3950_files::Error::Exists { .. } => format!("{error}: {hint}"),
            error => chain(error),
        })
    }

    /// Returns the failure for an output file that cannot be written completely.
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

impl From<z3950_files::Error> for Failure {
    /// Converts an error that occurred while a file was being written.
    fn from(error: z3950_files::Error) -> Self {
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

/// A message for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Words {
    Note(String),
    /// A warning about a command that succeeded.
    Warning(String),
    Error(String),
}

impl Words {
    /// Returns the messages about a record; each message begins with `subject`.
    pub(crate) fn about(rendered: &Rendered, subject: &str) -> Vec<Self> {
        // A loss is reported as a warning, because a batch run shows warnings but not notes.
        let kind = if rendered.is_loss {
            Self::Warning
        } else {
            Self::Note
        };
        let notes = rendered
            .notes
            .iter()
            .map(|note| kind(format!("{subject}: {note}")));
        let failure = rendered.failure.iter();
        let failure = failure.map(|failure| Self::Error(format!("{subject}: {failure}")));
        notes.chain(failure).collect()
    }
}

impl Output {
    /// Creates the output. If there is a log (`has_log`), the waiting line is not shown, because the log shows what
    /// happens while the program waits for a server. If `quiet` is set, neither notes nor the waiting line are shown.
    pub(crate) fn new(color: ColorChoice, has_log: bool, quiet: bool) -> Self {
        Self {
            data: io::stdout().lock(),
            data_is_terminal: io::stdout().is_terminal(),
            charset: None,
            colored: is_colored(color),
            quiet,
            waiting: WaitingLine::new(!has_log && !quiet),
            gathered: None,
        }
    }

    /// Returns the line that is animated while the program waits for a server.
    pub(crate) fn waiting(&self) -> WaitingLine {
        self.waiting.clone()
    }

    /// Returns whether notes and progress are suppressed by `--quiet`.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Returns whether data is written to a terminal.
    pub(crate) fn is_terminal(&self) -> bool {
        self.data_is_terminal
    }

    /// Returns whether data is written to a file, as after `>` in a shell.
    pub(crate) fn is_file(&self) -> bool {
        is_file(io::stdout())
    }

    /// Returns the size of the terminal in columns and rows; `None` if data is not written to a terminal.
    pub(crate) fn screen(&self) -> Option<(usize, usize)> {
        let (Width(columns), Height(rows)) = terminal_size::terminal_size_of(io::stdout())?;
        (self.data_is_terminal && columns > 0 && rows > 0).then_some((columns.into(), rows.into()))
    }

    /// Makes standard output a single document that contains the records from all commands. From now on, other lines of
    /// data are printed as notes.
    pub(crate) fn gather(&mut self, style: Style) {
        self.gathered = Some(Document::new(style));
    }

    /// Ends the document begun by [`Output::gather`], if any.
    pub(crate) fn finish(&mut self) -> Result<(), Failure> {
        match self.gathered.take() {
            Some(mut document) => self.end(&mut document),
            None => Ok(()),
        }
    }

    /// Sets the character set of data. Characters that the character set lacks are replaced by question marks. Raw
    /// octets are not converted.
    pub(crate) fn write_in(&mut self, charset: Option<Charset>) {
        self.charset = charset;
    }

    /// Returns whether data is written in a character set other than UTF-8.
    pub(crate) fn is_converted(&self) -> bool {
        self.charset.is_some()
    }

    /// Writes a line of data. On a terminal, its control characters are escaped.
    pub(crate) fn line(&mut self, line: &str) -> Result<(), Failure> {
        if self.gathered.is_some() {
            self.note(line);
            return Ok(());
        }
        self.octets(line.as_bytes(), false)?;
        self.octets(b"\n", false)
    }

    /// Writes the octets of a record in a format.
    pub(crate) fn of_record(&mut self, octets: &[u8], format: Format) -> Result<(), Failure> {
        let is_kept = match format {
            Format::Raw => true,
            // A MARC record states its lengths in octets, so escapes would damage it.
            Format::Marc => !self.data_is_terminal,
            _ => false,
        };
        self.octets(octets, is_kept)
    }

    /// Returns whether all records are written to a single document; see [`Output::gather`].
    pub(crate) fn is_gathered(&self) -> bool {
        self.gathered.is_some()
    }

    /// If all records are gathered in one document, makes `document` a continuation of it. A table whose columns differ
    /// still begins with its own header.
    pub(crate) fn join(&self, document: &mut Document) {
        if let Some(gathered) = &self.gathered
            && gathered.begins_like(document)
        {
            document.go_on(gathered.records());
        }
    }

    /// Ends a document, unless it is part of the gathered document.
    pub(crate) fn end(&mut self, document: &mut Document) -> Result<(), Failure> {
        if let Some(gathered) = &mut self.gathered {
            if document.records() > 0 {
                gathered.clone_from(document);
            }
            return Ok(());
        }
        match document.end() {
            "" => Ok(()),
            end => self.octets(end.as_bytes(), false),
        }
    }

    /// Writes octets of data. On a terminal, control characters are escaped unless `raw` is set.
    pub(crate) fn octets(&mut self, octets: &[u8], raw: bool) -> Result<(), Failure> {
        self.waiting.clear();
        if raw || !(self.data_is_terminal || self.charset.is_some()) {
            self.data.write_all(octets)?;
        } else {
            let text = z3950_marc::text_lossless(octets);
            let text = if self.data_is_terminal {
                escape_controls(&text).into_owned().into()
            } else {
                text
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
        if self.data_is_terminal {
            self.waiting.follows(octets);
        }
        Ok(())
    }

    /// Prints messages.
    pub(crate) fn say(&self, words: &[Words]) {
        for words in words {
            match words {
                Words::Note(words) => self.note(words),
                Words::Warning(words) => self.warning(words),
                Words::Error(words) => self.error(words),
            }
        }
    }

    /// Prints an error. Very long words in it are shortened.
    pub(crate) fn error(&self, message: &str) {
        self.words("error", "31", &with_short_words(message));
    }

    /// Prints a warning. A warning means that the command succeeded but may not have had the intended effect.
    pub(crate) fn warning(&self, message: &str) {
        self.words("warning", "33", message);
    }

    /// Prints a note, unless notes are suppressed.
    pub(crate) fn note(&self, message: &str) {
        if self.quiet {
            return;
        }
        self.words("note", "36", message);
    }

    fn words(&self, label: &str, color: &str, message: &str) {
        self.waiting.clear();
        let message = as_message(message);
        let message = match terminal_size::terminal_size_of(io::stderr()) {
            Some((Width(columns), _)) if columns > 0 => {
                // The label is taken into account when the message is wrapped, but is printed separately, because it
                // may be coloured.
                let label = format!("{label}: ");
                let whole = wrapped(&format!("{label}{message}"), columns.into(), 2);
                whole.strip_prefix(&label).unwrap_or(&whole).to_owned()
            }
            _ => message,
        };
        let mut words = io::stderr().lock();
        // If standard error is closed too, the message is lost.
        let _ = if self.colored {
            writeln!(words, "\x1b[1;{color}m{label}:\x1b[0m {message}")
        } else {
            writeln!(words, "{label}: {message}")
        };
    }
}

/// The maximum number of messages of one kind that are printed. A damaged file may have a fault in every octet.
const MOST_MESSAGES: u64 = 20;

/// A counter of messages that may occur any number of times for one input. The first messages of each kind are printed;
/// further ones are counted, and are logged with `-v`.
#[derive(Debug, Default)]
pub(crate) struct FewMessages {
    notes: u64,
    warnings: u64,
    errors: u64,
}

impl FewMessages {
    /// Prints a message. If [`MOST_MESSAGES`] of its kind have been printed, only counts and logs it.
    pub(crate) fn say(&mut self, words: Words, output: &Output) {
        let (count, message) = match &words {
            Words::Note(message) => (&mut self.notes, message),
            Words::Warning(message) => (&mut self.warnings, message),
            Words::Error(message) => (&mut self.errors, message),
        };
        *count += 1;
        if *count <= MOST_MESSAGES {
            output.say(&[words]);
        } else {
            tracing::info!("{message}");
        }
    }

    /// Prints, for each kind, the number of messages that were not printed.
    pub(crate) fn end(&self, output: &Output) {
        let counts = [
            (self.notes, "note"),
            (self.warnings, "warning"),
            (self.errors, "error"),
        ];
        for (count, kind) in counts {
            let more = count.saturating_sub(MOST_MESSAGES);
            if more > 0 {
                let words = counted(more, &format!("more {kind}"));
                output.note(&format!("{words}; -v shows all"));
            }
        }
    }
}

#[cfg(unix)]
fn is_file(stream: impl std::os::fd::AsFd) -> bool {
    let own = stream.as_fd().try_clone_to_owned().map(File::from);
    own.and_then(|file| file.metadata())
        .is_ok_and(|data| data.is_file())
}

#[cfg(windows)]
fn is_file(stream: impl std::os::windows::io::AsHandle) -> bool {
    let own = stream.as_handle().try_clone_to_owned().map(File::from);
    own.and_then(|file| file.metadata())
        .is_ok_and(|data| data.is_file())
}

/// Returns whether messages are coloured, as chosen by `--color`. By default, they are coloured on a terminal unless
/// NO_COLOR is set.
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

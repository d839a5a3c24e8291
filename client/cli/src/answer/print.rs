//! Answers the inputs of a command one after the other, and writes the pieces to standard output.

use std::ffi::OsString;
use std::sync::Arc;

use futures_util::stream;

use super::{Answer, Ask, AskEvent, KeyOf, MAX_INPUT, NameRecord, Piece, Recipient, run};
use crate::console::exit::Exit;
use crate::console::interrupt::{Interrupt, Stopped};
use crate::console::output::{Failure, Output};
use crate::console::pages::Pages;
use crate::render::{Document, Format, Style, shown};

/// The inputs of a command, and the function that answers them.
pub(crate) struct Job<W> {
    /// The function that answers an `Ask`. Before it sends more records than [`Recipient::room`] allows, it waits for
    /// [`Recipient::ready_for`]; while it waits, it must not hold resources that another `Ask` may need. It returns
    /// errors as answers.
    pub(crate) work: W,
    /// The inputs given on the command line.
    pub(crate) given: Vec<Vec<u8>>,
    /// The names of the targets; each input is sent to all of them.
    pub(crate) targets: Vec<String>,
    /// The format of records and related options.
    pub(crate) style: Style,
    /// The maximum number of `Ask`s in progress.
    pub(crate) jobs: usize,
    /// The function that makes inputs from the records in files; `None` if the command does not accept records as
    /// inputs.
    pub(crate) names_records: Option<NameRecord>,
    /// The function that returns the keys by which a batch detects inputs that repeat an earlier one; `None` if every
    /// input is processed.
    pub(crate) key_of: Option<KeyOf>,
    /// Whether inputs are URLs, whose user names and passwords must not appear in a report.
    pub(crate) takes_urls: bool,
}

impl<W: AsyncFn(&Ask, &mut Recipient) -> Answer> Job<W> {
    /// Creates a job with the inputs from a command line.
    pub(crate) fn new(work: W, given: &[OsString], targets: Vec<String>, style: Style) -> Self {
        let given = given.iter().map(|text| text.as_encoded_bytes().to_vec());
        Self {
            work,
            given: given.collect(),
            targets,
            style,
            jobs: 1,
            names_records: None,
            key_of: None,
            takes_urls: false,
        }
    }

    /// Answers each input given on the command line at each target, in order, and prints the answers.
    ///
    /// # Errors
    /// Fails if standard output is closed or cannot be written.
    pub(crate) async fn print(self, output: &mut Output) -> Result<Exit, Failure> {
        let waiting = output.waiting();
        let mut printer = Printer::new(self.style.clone(), output);
        let answers = Interrupt.or(self.answer(&mut printer));
        match waiting.during(answers).await {
            Ok(answered) => {
                answered?;
                printer.end()
            }
            // The run was stopped, so end the document after the records written so far.
            Err(Stopped(exit)) => {
                printer.printed.end(false, printer.output)?;
                Ok(exit)
            }
        }
    }

    /// Answers the inputs like [`print`](Self::print), for a caller that handles signals itself.
    ///
    /// The records are shown in `pages`. Returns the exit code, and the number of records shown if the user stopped.
    pub(crate) async fn write(
        self,
        pages: Pages,
        output: &mut Output,
    ) -> Result<(Exit, Option<u64>), Failure> {
        let mut printer = Printer {
            pages: Some(pages),
            ..Printer::new(self.style.clone(), output)
        };
        self.answer(&mut printer).await?;
        let shown = printer.is_stopped.then_some(printer.records);
        Ok((printer.end()?, shown))
    }

    async fn answer(&self, printer: &mut Printer<'_>) -> Result<(), Failure> {
        let asks = stream::iter(self.asks().into_iter().map(Ok));
        let take = async |_: &Ask, event| match event {
            AskEvent::Piece(piece) => printer.piece(&piece).await,
            AskEvent::Answer(answer, _) => {
                printer.answered(&answer);
                Ok(())
            }
        };
        match run(asks, self.jobs, &self.work, take).await {
            Err(_) if printer.is_stopped => Ok(()),
            result => result,
        }
    }

    fn asks(&self) -> Vec<Ask> {
        let inputs = (1..).zip(&self.given);
        let asks = inputs.flat_map(|(position, text)| {
            let input: Arc<[u8]> = text.as_slice().into();
            (0..self.targets.len()).map(move |target| Ask {
                position,
                target,
                input: Arc::clone(&input),
                is_cut: text.len() > MAX_INPUT,
                origin: None,
                record: None,
                repeats: None,
            })
        });
        asks.collect()
    }
}

/// Prints answers as they arrive.
struct Printer<'a> {
    printed: Printed,
    output: &'a mut Output,
    /// The exit code for all answers so far.
    exit: Exit,
    /// Whether at least one input had no match.
    has_no_match: bool,
    /// The pages in which records are shown to a user; `None` if they are not shown page by page.
    pages: Option<Pages>,
    records: u64,
    /// Whether the user has stopped the output of records.
    is_stopped: bool,
}

impl<'a> Printer<'a> {
    fn new(style: Style, output: &'a mut Output) -> Self {
        Self {
            printed: Printed::new(style),
            output,
            exit: Exit::Delivered,
            has_no_match: false,
            pages: None,
            records: 0,
            is_stopped: false,
        }
    }

    async fn piece(&mut self, piece: &Piece) -> Result<(), Failure> {
        self.output.say(&piece.words);
        let Some(pages) = self.pages.as_mut().filter(|_| piece.is_record) else {
            return self.printed.write(piece, self.output);
        };
        self.records += 1;
        if self.printed.fill(piece, pages, self.output).await? {
            Ok(())
        } else {
            self.is_stopped = true;
            // The user has stopped the output, and this failure ends the run.
            Err(Failure::BrokenPipe)
        }
    }

    fn answered(&mut self, answer: &Answer) {
        self.exit = self.exit.and(answer.exit);
        self.has_no_match |= answer.exit == Exit::NoMatch;
    }

    fn end(self) -> Result<Exit, Failure> {
        self.printed.end(self.has_no_match, self.output)?;
        Ok(self.exit)
    }
}

/// The state of standard output, to which a document of records and other lines are written.
pub(crate) struct Printed {
    document: Document,
    /// The number of octets written so far.
    pub(crate) length: u64,
}

impl Printed {
    pub(crate) fn new(style: Style) -> Self {
        Self {
            document: Document::new(style),
            length: 0,
        }
    }

    /// Writes a record to the pages. Returns false if the user stopped the output.
    pub(crate) async fn fill(
        &mut self,
        piece: &Piece,
        pages: &mut Pages,
        output: &mut Output,
    ) -> Result<bool, Failure> {
        let octets = self.record(piece, output);
        let what = piece.heading.as_deref().unwrap_or_default();
        let format = self.document.format();
        pages.write(&octets, format, what, output).await
    }

    /// Writes the octets of a piece.
    pub(crate) fn write(&mut self, piece: &Piece, output: &mut Output) -> Result<(), Failure> {
        if piece.octets.is_empty() {
            return Ok(());
        }
        if piece.is_record {
            let octets = self.record(piece, output);
            return output.of_record(&octets, self.document.format());
        }
        self.count(&piece.octets);
        if output.is_gathered() {
            output.note(&shown(piece.octets.trim_ascii_end()));
            return Ok(());
        }
        output.octets(&piece.octets, self.document.format() == Format::Raw)
    }

    /// Returns the octets to write for a record: the text that precedes it in the document, its heading if the output
    /// is a terminal, and the record.
    fn record(&mut self, piece: &Piece, output: &Output) -> Vec<u8> {
        output.join(&mut self.document);
        let mut octets = self.document.next().into_bytes();
        self.count(&octets);
        self.count(&piece.octets);
        if let Some(heading) = &piece.heading
            && output.is_terminal()
            && self.document.format().is_to_read()
        {
            octets.extend_from_slice(format!("{heading}\n").as_bytes());
        }
        octets.extend_from_slice(&piece.octets);
        octets
    }

    /// Ends the document. If `is_empty` is true (nothing matched) and nothing has been written, writes an empty
    /// document.
    pub(crate) fn end(mut self, is_empty: bool, output: &mut Output) -> Result<(), Failure> {
        if is_empty && self.length == 0 && !output.is_gathered() {
            let begin = self.document.next();
            output.octets(begin.as_bytes(), false)?;
        }
        output.end(&mut self.document)
    }

    fn count(&mut self, octets: &[u8]) {
        self.length += u64::try_from(octets.len()).unwrap_or(u64::MAX);
    }
}

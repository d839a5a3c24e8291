//! The inputs of a command line, answered on standard output.

use futures_util::stream;

use super::runner::{Event, run};
use super::{Answer, Ask, MAX_INPUT, Piece, Recipient, Work, answer};
use crate::console::exit::Exit;
use crate::console::interrupt::{Interrupt, Stopped};
use crate::console::output::{Failure, Output};
use crate::render::{Document, Format, shown};

/// What a command does with its inputs.
pub(crate) struct Job<W> {
    /// What is done with each.
    pub(crate) work: W,
    /// Those of the command line itself.
    pub(crate) given: Vec<Vec<u8>>,
    /// What each is asked of, by name.
    pub(crate) targets: Vec<String>,
    /// How records are written.
    pub(crate) format: Format,
    /// How many are asked for at once.
    pub(crate) jobs: usize,
}

impl<W: Work> Job<W> {
    /// Answers every input of the command line at every target, in this order.
    ///
    /// # Errors
    /// Standard output is closed or cannot be written.
    pub(crate) async fn print(self, output: &mut Output) -> Result<Exit, Failure> {
        let mut printer = Printer::new(self.format, output);
        match Interrupt.or(self.answer(&mut printer)).await {
            Ok(answered) => {
                answered?;
                printer.end()
            }
            // What was written stays a document.
            Err(Stopped(exit)) => {
                printer.printed.end(false, printer.output)?;
                Ok(exit)
            }
        }
    }

    /// The same for a caller that sees to signals itself.
    ///
    /// # Errors
    /// Those of [`print`](Self::print).
    pub(crate) async fn write(self, output: &mut Output) -> Result<Exit, Failure> {
        let mut printer = Printer::new(self.format, output);
        self.answer(&mut printer).await?;
        printer.end()
    }

    async fn answer(&self, printer: &mut Printer<'_>) -> Result<(), Failure> {
        let asks = self.asks();
        if asks.len() > 1 && self.jobs > 1 {
            let asks = stream::iter(asks.into_iter().map(Ok));
            return run(asks, self.jobs, &self.work, |_, event| match event {
                Event::Piece(piece) => printer.piece(&piece),
                Event::Answer(answer, _) => {
                    printer.answered(&answer);
                    Ok(())
                }
            })
            .await;
        }
        for ask in &asks {
            let answer = answer(&self.work, ask, printer).await?;
            printer.answered(&answer);
        }
        Ok(())
    }

    fn asks(&self) -> Vec<Ask> {
        let inputs = (1..).zip(&self.given);
        let asks = inputs.flat_map(|(position, text)| {
            let ask = Ask {
                position,
                target: 0,
                input: text.as_slice().into(),
                is_cut: text.len() > MAX_INPUT,
                origin: None,
            };
            (0..self.targets.len()).map(move |target| Ask {
                target,
                ..ask.clone()
            })
        });
        asks.collect()
    }
}

/// Prints answers as they come.
struct Printer<'a> {
    printed: Printed,
    output: &'a mut Output,
    /// That of all answers so far.
    exit: Exit,
    /// Whether an answer is that nothing matches.
    has_no_match: bool,
}

impl<'a> Printer<'a> {
    fn new(format: Format, output: &'a mut Output) -> Self {
        Self {
            printed: Printed::new(format),
            output,
            exit: Exit::Delivered,
            has_no_match: false,
        }
    }

    fn piece(&mut self, piece: &Piece) -> Result<(), Failure> {
        for words in &piece.words {
            words.say(self.output);
        }
        self.printed.write(piece, self.output)
    }

    fn answered(&mut self, answer: &Answer) {
        let exit = Exit::of(answer.exit);
        self.exit = self.exit.and(exit);
        self.has_no_match |= exit == Exit::NoMatch;
    }

    fn end(self) -> Result<Exit, Failure> {
        self.printed.end(self.has_no_match, self.output)?;
        Ok(self.exit)
    }
}

impl Recipient for Printer<'_> {
    async fn send(&mut self, piece: impl Into<Piece>) -> Result<(), Failure> {
        self.piece(&piece.into())
    }
}

/// What a command has written to standard output: a document of records, and lines that are none.
pub(crate) struct Printed {
    document: Document,
    /// Octets written.
    length: u64,
}

impl Printed {
    /// Nothing yet.
    pub(crate) fn new(format: Format) -> Self {
        Self {
            document: Document::new(format, None),
            length: 0,
        }
    }

    /// Octets written.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Writes the octets of a piece.
    pub(crate) fn write(&mut self, piece: &Piece, output: &mut Output) -> Result<(), Failure> {
        if piece.octets.is_empty() {
            return Ok(());
        }
        if piece.is_record {
            output.join(&mut self.document)?;
            let before = self.document.next().as_bytes();
            self.count(before);
            output.octets(before, false)?;
        }
        self.count(&piece.octets);
        if !piece.is_record && output.is_gathered() {
            output.note(&shown(piece.octets.trim_ascii_end()));
            return Ok(());
        }
        output.octets(&piece.octets, self.document.format() == Format::Raw)
    }

    /// Ends the document. Where nothing was found and nothing written, it is one without records.
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

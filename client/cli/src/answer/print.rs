//! Answers on standard output.

use super::Piece;
use crate::console::output::{Failure, Output};
use crate::render::{Document, Format};

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
            let before = self.document.next().as_bytes();
            self.count(before);
            output.octets(before, false)?;
        }
        self.count(&piece.octets);
        output.octets(&piece.octets, self.document.format() == Format::Raw)
    }

    /// Ends the document. Where nothing was found and nothing written, it is one without records.
    pub(crate) fn end(mut self, is_empty: bool, output: &mut Output) -> Result<(), Failure> {
        if is_empty && self.length == 0 {
            let begin = self.document.next();
            output.octets(begin.as_bytes(), false)?;
        }
        output.end(&mut self.document)
    }

    fn count(&mut self, octets: &[u8]) {
        self.length += u64::try_from(octets.len()).unwrap_or(u64::MAX);
    }
}

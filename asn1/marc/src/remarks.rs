//! Remarks on a record: what a lenient reader repaired or skipped, or what the form that was written does not hold, and whether data
//! was lost.

use super::record::RECORD_TERMINATOR;

/// The maximum number of remarks kept per record; one additional remark says that there were others.
pub const MAX_NOTES: usize = 100;

/// Remarks on one record, in the order in which they were made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Remarks {
    /// The messages; at most [`MAX_NOTES`], plus one if there were others.
    pub notes: Vec<String>,
    /// Whether data was lost: either it is missing from the input, or it was left out because nothing says what it is. Data
    /// that was read despite a fault is not lost.
    pub is_loss: bool,
    /// Whether fields were guessed; see [`RepairKind::is_guess`](super::iso2709::RepairKind::is_guess).
    pub(super) is_guess: bool,
}

impl Remarks {
    /// Adds a remark on a fault that loses no data.
    pub(super) fn note(&mut self, note: impl FnOnce() -> String) {
        match self.notes.len() {
            count if count < MAX_NOTES => self.notes.push(note()),
            MAX_NOTES => self.notes.push("and more".to_owned()),
            _ => {}
        }
    }

    /// Adds a remark on a record terminator (ISO 2709 §4.6) in a line of text: a file in ISO 2709 was appended to a file in
    /// lines that had no last line end, and its first record became part of the line.
    pub(super) fn terminators(&mut self, line: &[u8], number: usize) {
        if line.contains(&RECORD_TERMINATOR) {
            self.loss(|| format!("line {number}: a record in ISO 2709 ends within it"));
        }
    }

    /// Adds remarks on losses.
    pub(super) fn losses(&mut self, notes: Vec<String>) {
        self.is_loss |= !notes.is_empty();
        self.notes.extend(notes);
    }

    /// Adds a remark on a loss.
    pub(super) fn loss(&mut self, note: impl FnOnce() -> String) {
        self.is_loss = true;
        self.note(note);
    }
}

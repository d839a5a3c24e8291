//! What a lenient reader says of a record: what it repaired or passed over, and whether something of the record is lost by that.

use super::record::RECORD_TERMINATOR;

/// The most remarks that are kept of one record; a last one says that there were more.
pub const MAX_NOTES: usize = 100;

/// Remarks on one record, in the order in which they were made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Remarks {
    /// Each in words; at most [`MAX_NOTES`], and one more if there were more.
    pub notes: Vec<String>,
    /// Whether something of the record is lost: it is not in the input any more, or was left out because nothing says
    /// what it is. What was read in spite of a fault is not lost.
    pub is_loss: bool,
}

impl Remarks {
    /// Remarks on something by which nothing is lost.
    pub(super) fn note(&mut self, note: impl FnOnce() -> String) {
        match self.notes.len() {
            count if count < MAX_NOTES => self.notes.push(note()),
            MAX_NOTES => self.notes.push("and more".to_owned()),
            _ => {}
        }
    }

    /// Remarks on a record terminator (ISO 2709 §4.6) in a line of text, which is what joining a file in lines without a last
    /// line end with one in ISO 2709 leaves: another record has become a part of the line.
    pub(super) fn terminators(&mut self, line: &[u8], number: usize) {
        if line.contains(&RECORD_TERMINATOR) {
            self.loss(|| format!("line {number}: a record in ISO 2709 ends within it"));
        }
    }

    /// Remarks on a loss.
    pub(super) fn loss(&mut self, note: impl FnOnce() -> String) {
        self.is_loss = true;
        self.note(note);
    }
}

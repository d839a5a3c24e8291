//! Lays out two conversations in two columns if the terminal is wide enough, and otherwise one below the other.

use super::words;
use crate::render::{columns_of, folded, padded};
use crate::tape::{Direction, Tape};

/// The minimum width of the output for two columns.
const TWO_COLUMNS: usize = 80;
/// The separator between the columns.
const BETWEEN: &str = " │ ";

/// A conversation with a server.
pub(super) struct Conversation {
    title: &'static str,
    entries: Vec<Entry>,
}

/// An APDU in a conversation, or the state at its end.
pub(super) struct Entry {
    /// The direction and name of the APDU, such as `→ Init request`.
    head: String,
    /// The section of the standard that describes the APDU; empty for a state.
    section: &'static str,
    /// One sentence about the contents of the APDU, or about the state.
    words: String,
}

impl Conversation {
    /// Creates a conversation from the APDUs on a tape, followed by an entry for the final state.
    pub(super) fn new(title: &'static str, tape: &Tape, end: Entry) -> Self {
        let noted = tape.noted();
        let entries = noted.iter().map(|noted| {
            let said = words::of(&noted.octets);
            let arrow = match noted.direction {
                Direction::Sent => "→",
                Direction::Received => "←",
            };
            Entry {
                head: format!("{arrow} {}", said.name),
                section: said.section,
                words: said.words,
            }
        });
        Self {
            title,
            entries: entries.chain([end]).collect(),
        }
    }
}

impl Entry {
    /// Creates an entry that describes a state instead of an APDU.
    pub(super) fn state(head: &str, words: &str) -> Self {
        Self {
            head: head.to_owned(),
            section: "",
            words: words.to_owned(),
        }
    }

    /// Returns the lines of the entry: the head, with the section at the right margin, and below it the sentence.
    fn lines(&self, width: usize) -> Vec<String> {
        let left = width.saturating_sub(columns_of(self.section) + 1);
        let head = format!("{} {}", padded(&self.head, left), self.section);
        let mut lines = vec![head.trim_end().to_owned()];
        lines.extend(folded(&format!("  {}", self.words), width, 2));
        lines
    }
}

/// Returns the lines of two conversations on a terminal of this width.
pub(super) fn conversations(
    left: &Conversation,
    right: &Conversation,
    width: usize,
) -> Vec<String> {
    if width < TWO_COLUMNS {
        let mut lines = below(left, width);
        lines.push(String::new());
        lines.extend(below(right, width));
        return lines;
    }
    let column = (width - columns_of(BETWEEN)) / 2;
    let mut lines = beside(&[left.title.to_owned()], &[right.title.to_owned()], column);
    for index in 0..left.entries.len().max(right.entries.len()) {
        let lines_of = |all: &Conversation| match all.entries.get(index) {
            Some(entry) => entry.lines(column),
            None => Vec::new(),
        };
        lines.extend(beside(&lines_of(left), &lines_of(right), column));
    }
    lines
}

/// Returns the lines of one conversation.
fn below(conversation: &Conversation, width: usize) -> Vec<String> {
    let entries = conversation.entries.iter();
    let title = conversation.title.to_owned();
    let lines = entries.flat_map(|entry| entry.lines(width));
    std::iter::once(title).chain(lines).collect()
}

/// Joins each line of the left column with the corresponding line of the right column.
fn beside(left: &[String], right: &[String], column: usize) -> Vec<String> {
    let line = |lines: &[String], row| lines.get(row).cloned().unwrap_or_default();
    let rows = 0..left.len().max(right.len());
    let joined = rows.map(|row| {
        let left = padded(&line(left, row), column);
        let joined = format!("{left}{BETWEEN}{}", line(right, row));
        joined.trim_end().to_owned()
    });
    joined.collect()
}

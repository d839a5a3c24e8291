//! Text at the end of help pages, which is also part of manual pages: sections of paragraphs, rows and lines.

use std::fmt::Write as _;

/// A section of a page, with its title.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Section {
    /// The title; empty for text without a title.
    pub title: String,
    /// The contents of the section, in order.
    pub blocks: Vec<Block>,
}

/// A part of a section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    /// A paragraph, whose lines are wrapped.
    Paragraph(String),
    /// A term and its description, which is wrapped in a separate column.
    Row {
        /// The term, in the left column.
        term: String,
        /// The description of the term, in the right column.
        text: String,
    },
    /// Lines that are not wrapped.
    Lines(Vec<String>),
}

impl Section {
    /// Creates a section.
    pub fn new(title: impl Into<String>, blocks: Vec<Block>) -> Self {
        Self {
            title: title.into(),
            blocks,
        }
    }
}

impl Block {
    /// Creates a paragraph.
    pub fn paragraph(words: impl Into<String>) -> Self {
        Self::Paragraph(words.into())
    }

    /// Creates a row from a term and its description.
    pub fn row(term: impl Into<String>, text: impl Into<String>) -> Self {
        Self::Row {
            term: term.into(),
            text: text.into(),
        }
    }
}

/// Parses text into sections. A line without indentation that ends in a colon is a title. A line indented by two
/// columns is a row if it contains two consecutive spaces, which end the term; otherwise it belongs to a paragraph. A
/// line that is indented further continues a row; without a row, it is kept unchanged.
pub fn sections(text: &str) -> Vec<Section> {
    let mut all: Vec<Section> = Vec::new();
    let mut is_new = true;
    for line in text.lines() {
        let words = line.trim();
        let indent = line.len() - line.trim_start().len();
        if let (0, Some(title)) = (indent, words.strip_suffix(':')) {
            all.push(Section::new(title, Vec::new()));
            is_new = true;
            continue;
        }
        if words.is_empty() {
            is_new = true;
            continue;
        }
        if all.is_empty() {
            all.push(Section::default());
        }
        let Some(section) = all.last_mut() else {
            continue;
        };
        let row = words.split_once("  ").filter(|_| indent == 2);
        match (section.blocks.last_mut(), row) {
            (_, Some((term, text))) => section.blocks.push(Block::row(term, text.trim_start())),
            (Some(Block::Row { text, .. }), None) if indent > 3 && !is_new => add(text, words),
            (Some(Block::Lines(lines)), None) if indent > 3 => {
                lines.push(line.get(4..).unwrap_or(words).to_owned());
            }
            (_, None) if indent > 3 => {
                let line = line.get(4..).unwrap_or(words);
                section.blocks.push(Block::Lines(vec![line.to_owned()]));
            }
            (Some(Block::Paragraph(text)), None) if !is_new => add(text, words),
            (_, None) => section.blocks.push(Block::paragraph(words)),
        }
        is_new = false;
    }
    all
}

fn add(text: &mut String, words: &str) {
    text.push(' ');
    text.push_str(words);
}

/// The minimum width of descriptions. On a narrower terminal, the terminal wraps the lines.
const NARROWEST: usize = 20;

/// Wraps words at `width` columns. A longer word is put on a separate line.
pub(crate) fn wrapped(words: &str, width: usize) -> Vec<String> {
    let width = width.max(NARROWEST);
    let mut lines: Vec<String> = Vec::new();
    let mut columns = 0;
    for word in words.split_whitespace() {
        let length = word.chars().count();
        match lines.last_mut() {
            Some(line) if columns + 1 + length <= width => {
                line.push(' ');
                line.push_str(word);
                columns += 1 + length;
            }
            _ => {
                lines.push(word.to_owned());
                columns = length;
            }
        }
    }
    lines
}

/// Returns text with a final full stop, which help pages omit.
pub(crate) fn stopped(text: &str) -> String {
    if text.is_empty() || text.ends_with(['.', ':', '!', '?']) {
        text.to_owned()
    } else {
        format!("{text}.")
    }
}

/// Returns the beginning of the text: its first sentence, or the part before its first semicolon.
pub(crate) fn beginning(text: &str) -> &str {
    let first = sentence(text);
    first.split("; ").next().unwrap_or(first)
}

/// Returns the first sentence of the text, without its full stop.
pub(crate) fn sentence(text: &str) -> &str {
    let end = text.match_indices(". ").map(|(at, _)| at).find(|at| {
        // A full stop ends a sentence only if an upper-case letter follows, because otherwise it may belong to an
        // abbreviation or a file extension.
        let next = text.get(at + 2..).and_then(|rest| rest.chars().next());
        next.is_some_and(char::is_uppercase)
    });
    let first = end.and_then(|end| text.get(..end)).unwrap_or(text);
    first.trim_end().trim_end_matches('.')
}

/// Appends the contents of a section, each line indented and wrapped at `width` columns.
pub(crate) fn write(section: &Section, width: usize, page: &mut String) {
    let indent = if section.title.is_empty() { 0 } else { 2 };
    let margin = " ".repeat(indent);
    let terms = section.blocks.iter().filter_map(|block| match block {
        Block::Row { term, .. } => Some(term.chars().count()),
        _ => None,
    });
    let column = indent + 2 + terms.max().unwrap_or(0);
    let mut is_first = true;
    for block in &section.blocks {
        match block {
            Block::Paragraph(words) => {
                for paragraph in wrapped(words, width.saturating_sub(indent)) {
                    let _ = writeln!(page, "{margin}{paragraph}");
                }
            }
            Block::Row { term, text } => {
                let mut left = format!("{margin}{term}");
                for line in wrapped(text, width.saturating_sub(column)) {
                    let _ = writeln!(page, "{left:column$}{line}");
                    left.clear();
                }
            }
            Block::Lines(lines) => {
                if !is_first {
                    page.push('\n');
                }
                for line in lines {
                    let _ = writeln!(page, "{}", format!("{margin}{line}").trim_end());
                }
            }
        }
        is_first = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_wrapped_between_words() {
        let words = "one two three four five six seven eight";
        assert_eq!(
            wrapped(words, 20),
            ["one two three four", "five six seven eight"]
        );
        let word = "a".repeat(30);
        assert_eq!(wrapped(&format!("{word} b"), 20), [word.as_str(), "b"]);
        assert!(wrapped(" ", 20).is_empty());
    }

    #[test]
    fn texts_are_read_and_wrapped_at_any_width() {
        let text = "\
Words without a title.

Codes:
  0    success
  13   something that takes more words than a line of the text
       has room for
With several: the first.

Lines:
    a  b
    c  d
  Then words.";
        let read = sections(text);
        let titles: Vec<&str> = read.iter().map(|section| section.title.as_str()).collect();
        assert_eq!(titles, ["", "Codes", "Lines"]);
        let mut page = String::new();
        read.iter()
            .for_each(|section| write(section, 32, &mut page));
        assert_eq!(
            page,
            "\
Words without a title.
  0   success
  13  something that takes more
      words than a line of the
      text has room for
  With several: the first.
  a  b
  c  d
  Then words.
"
        );
    }

    #[test]
    fn the_first_sentence_ends_before_the_next_one() {
        for (text, first) in [
            ("One. Two.", "One"),
            (
                "Reads .mrc, e. g. from here. Then",
                "Reads .mrc, e. g. from here",
            ),
            ("One sentence.", "One sentence"),
        ] {
            assert_eq!(sentence(text), first);
        }
    }
}

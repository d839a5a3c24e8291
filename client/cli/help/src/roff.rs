//! A manual page in roff, with the man(7) macros that groff and mandoc support.

use std::fmt::Write as _;

use crate::text::{Block, Section, wrapped};

/// The width of lines in the roff source. Formatters reflow them.
const WIDTH: usize = 78;

/// The source of a manual page.
pub(crate) struct Roff(String);

/// A part of a line, in one font.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Inline {
    Roman(String),
    Bold(String),
    Italic(String),
}

impl Roff {
    /// Begins a page with its title line.
    pub(crate) fn new(name: &str, section: u8, date: &str, source: &str, manual: &str) -> Self {
        let mut page = Self(String::new());
        let title = escaped(&name.to_uppercase());
        let _ = writeln!(
            page.0,
            ".TH {title} {section} {date} \"{}\" \"{}\"",
            escaped(source),
            escaped(manual)
        );
        page
    }

    /// Returns the text of the page, in ASCII.
    pub(crate) fn into_text(self) -> String {
        self.0
    }

    /// Begins a section.
    pub(crate) fn section(&mut self, title: &str) {
        let _ = writeln!(self.0, ".SH \"{}\"", escaped(&title.to_uppercase()));
    }

    /// Begins a subsection.
    pub(crate) fn subsection(&mut self, title: &str) {
        let _ = writeln!(self.0, ".SS \"{}\"", escaped(title));
    }

    /// Adds words, which the formatter wraps at the width of the page.
    pub(crate) fn words(&mut self, words: &str) {
        for line in wrapped(&escaped(words), WIDTH) {
            self.line(&line);
        }
    }

    /// Adds paragraphs. They are separated by empty lines in `text`, and by the request `between` on the page. The
    /// first one continues the current paragraph.
    pub(crate) fn paragraphs(&mut self, text: &str, between: &str) {
        for (index, paragraph) in text.split("\n\n").enumerate() {
            if index > 0 {
                let _ = writeln!(self.0, "{between}");
            }
            self.words(paragraph);
        }
    }

    /// Begins a paragraph.
    pub(crate) fn paragraph(&mut self) {
        self.0.push_str(".PP\n");
    }

    /// Breaks the line.
    pub(crate) fn line_break(&mut self) {
        self.0.push_str(".br\n");
    }

    /// Begins the description of a term.
    pub(crate) fn term(&mut self, term: &[Inline]) {
        self.0.push_str(".TP\n");
        self.inlines(term);
    }

    /// Indents the following text, until [`end_indent`](Self::end_indent).
    pub(crate) fn indent(&mut self) {
        self.0.push_str(".RS\n");
    }

    pub(crate) fn end_indent(&mut self) {
        self.0.push_str(".RE\n");
    }

    /// Adds a line that consists of several parts.
    pub(crate) fn inlines(&mut self, inlines: &[Inline]) {
        let parts = inlines.iter().map(|inline| match inline {
            Inline::Roman(text) => escaped(text),
            Inline::Bold(text) => format!("\\fB{}\\fR", breakable(&escaped(text))),
            Inline::Italic(text) => format!("\\fI{}\\fR", escaped(text)),
        });
        let line: String = parts.collect();
        self.line(&line);
    }

    /// Adds lines that the formatter does not reflow.
    pub(crate) fn lines<'a>(&mut self, lines: impl IntoIterator<Item = &'a str>) {
        self.0.push_str(".RS 4\n.nf\n");
        for line in lines {
            self.line(&escaped(line));
        }
        self.0.push_str(".fi\n.RE\n");
    }

    /// Adds the contents of a section, whose title has already been added.
    pub(crate) fn blocks(&mut self, section: &Section) {
        for (index, block) in section.blocks.iter().enumerate() {
            match block {
                Block::Paragraph(words) => {
                    if index > 0 {
                        self.paragraph();
                    }
                    self.words(words);
                }
                Block::Row { term, text } => {
                    self.term(&[Inline::Bold(term.clone())]);
                    self.words(text);
                }
                Block::Lines(lines) => {
                    if index > 0 {
                        self.paragraph();
                    }
                    self.lines(lines.iter().map(String::as_str));
                }
            }
        }
    }

    /// Adds a line that has already been escaped. If it begins with a full stop or an apostrophe, it is protected,
    /// because roff would read it as a request.
    fn line(&mut self, line: &str) {
        if line.starts_with(['.', '\'']) {
            self.0.push_str("\\&");
        }
        self.0.push_str(line.trim_end());
        self.0.push('\n');
    }
}

/// Escapes text, so that it is shown unchanged, and can be copied into a shell.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\\' => escaped.push_str("\\e"),
            '-' => escaped.push_str("\\-"),
            '\'' => escaped.push_str("\\(aq"),
            '"' => escaped.push_str("\\(dq"),
            '`' => escaped.push_str("\\(ga"),
            '^' => escaped.push_str("\\(ha"),
            '~' => escaped.push_str("\\(ti"),
            other if other.is_ascii() => escaped.push(other),
            other => {
                let _ = write!(escaped, "\\[u{:04X}]", u32::from(other));
            }
        }
    }
    escaped
}

/// The minimum length of words in which line breaks are allowed, because they may not fit on a line.
const LONG_WORD: usize = 50;

/// Allows line breaks in long words, such as hashes: after commas, and before dollar signs.
fn breakable(text: &str) -> String {
    let words = text.split(' ').map(|word| {
        if word.len() > LONG_WORD {
            word.replace(',', ",\\:").replace('$', "\\:$")
        } else {
            word.to_owned()
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_words_may_break() {
        let word = "x".repeat(LONG_WORD);
        let mut page = Roff(String::new());
        page.term(&[Inline::Bold(format!("a$b,c $m=8,t=2${word}"))]);
        let expected = format!(".TP\n\\fBa$b,c \\:$m=8,\\:t=2\\:${word}\\fR\n");
        assert_eq!(page.into_text(), expected);
    }

    #[test]
    fn text_is_not_a_request_and_can_be_copied() {
        let mut page = Roff::new("a-b", 1, "2026-01-31", "a 1", "Commands");
        page.words(".x 'a' \\n --y `z` \u{2026} \u{1F600}");
        page.lines(["'quoted'", ""]);
        assert_eq!(
            page.into_text(),
            "\
.TH A\\-B 1 2026-01-31 \"a 1\" \"Commands\"
\\&.x \\(aqa\\(aq \\en \\-\\-y \\(gaz\\(ga \\[u2026] \\[u1F600]
.RS 4
.nf
\\(aqquoted\\(aq

.fi
.RE
"
        );
    }
}

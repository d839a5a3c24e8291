//! Attributes of items in Gopher+. Each attribute is a block, which consists of a line `+NAME:` and indented lines.
//! Blocks, views and questions are defined by the Gopher+ protocol (1993), and the names of attributes by the Gopher
//! URL draft §2.6–§3.1.

use super::is_wanted;
use super::menu::MenuItem;
use super::text::{decoded, lines};
use crate::url::{GopherType, Octets, same_attribute};

/// The attributes of a Gopher+ item.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Attributes {
    /// The blocks, one for each attribute, in order.
    pub blocks: Vec<Block>,
}

/// One attribute of an item, with its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Block {
    /// The name of the attribute with its `+`, in upper case, such as `+ABSTRACT`.
    pub name: String,
    /// The text after the colon, and the lines that follow, without their indentation.
    pub lines: Vec<String>,
}

/// A view of an item, as listed in `+VIEWS`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct View {
    /// The media type, such as `text/plain`.
    pub format: String,
    /// The language, such as `Es_ES`.
    pub language: Option<String>,
    /// The size as written by the server, such as `10k`.
    pub size: Option<String>,
}

/// A question in a form, from `+ASK`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Question {
    /// The expected kind of answer.
    pub kind: QuestionKind,
    /// The text of the question to show to the user.
    pub prompt: String,
    /// The default answer or the choices. On the line, they are separated by tabs.
    pub options: Vec<String>,
}

/// The kind of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum QuestionKind {
    /// `Ask`: a line of text.
    Line,
    /// `AskP`: a line of text that is not echoed.
    Password,
    /// `AskL`: several lines of text.
    Lines,
    /// `AskF`, `ChooseF`: the name of a file.
    File,
    /// `Select`: yes or no, sent as 1 or 0.
    Select,
    /// `Choose`: one of the given options.
    Choose,
    /// `Note`: text for people to read, which needs no answer.
    Note,
}

impl Attributes {
    /// Returns the lines of the block with this name, which includes the `+`; empty if there is no such block.
    pub fn lines(&self, name: &str) -> &[String] {
        let block = self
            .blocks
            .iter()
            .find(|block| same_attribute(block.name.as_bytes(), name.as_bytes()));
        block.map_or(&[], |block| &block.lines)
    }

    /// Returns the item's line in a menu, from `+INFO`.
    pub fn item(&self) -> Option<MenuItem> {
        let line = self.lines("+INFO").first()?;
        Some(MenuItem::read(line.as_bytes(), None))
    }

    /// Returns the views of the item, from `+VIEWS`.
    pub fn views(&self) -> Vec<View> {
        let lines = self.lines("+VIEWS").iter();
        lines.filter_map(|line| View::read(line)).collect()
    }

    /// Returns the abstract of the item, with newlines between its lines.
    pub fn abstract_text(&self) -> Option<String> {
        let lines = self.lines("+ABSTRACT");
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    /// Returns the questions in the form, from `+ASK`.
    pub fn questions(&self) -> Vec<Question> {
        let lines = self.lines("+ASK").iter();
        lines.filter_map(|line| Question::read(line)).collect()
    }

    /// Removes all blocks except those with the given names and `+INFO`, which identifies the item.
    pub(super) fn keep(&mut self, names: &[Octets]) {
        self.blocks
            .retain(|block| block.name == "+INFO" || is_wanted(&block.name, names));
    }
}

impl View {
    fn read(line: &str) -> Option<Self> {
        let (view, size) = line.rsplit_once(':').unwrap_or((line, ""));
        let mut words = view.split_whitespace();
        let size = size.trim().trim_start_matches('<').trim_end_matches('>');
        Some(Self {
            format: words.next()?.to_owned(),
            language: words.next().map(str::to_owned),
            size: (!size.is_empty()).then(|| size.to_owned()),
        })
    }
}

impl Question {
    /// Returns whether the question needs an answer. A note does not.
    pub fn wants_answer(&self) -> bool {
        self.kind != QuestionKind::Note
    }

    fn read(line: &str) -> Option<Self> {
        let (kind, question) = line.split_once(':')?;
        let kind = match kind.trim().to_ascii_lowercase().as_str() {
            "ask" => QuestionKind::Line,
            "askp" => QuestionKind::Password,
            "askl" => QuestionKind::Lines,
            "askf" | "choosef" => QuestionKind::File,
            "select" => QuestionKind::Select,
            "choose" => QuestionKind::Choose,
            "note" => QuestionKind::Note,
            _ => return None,
        };
        let mut fields = question
            .trim_start_matches(' ')
            .split('\t')
            .map(str::to_owned);
        Some(Self {
            kind,
            prompt: fields.next().unwrap_or_default(),
            options: fields.collect(),
        })
    }
}

/// Parses the attributes of one or more items. Those of each item begin with `+INFO`. Lines before the first block are
/// ignored.
pub(super) fn read(text: &[u8]) -> Vec<Attributes> {
    let mut items: Vec<Attributes> = Vec::new();
    for line in lines(text) {
        let line = decoded(line);
        match begin(&line) {
            Some(block) => match items.last_mut() {
                Some(item) if block.name != "+INFO" || item.blocks.is_empty() => {
                    item.blocks.push(block);
                }
                _ => items.push(Attributes {
                    blocks: vec![block],
                }),
            },
            None => {
                let block = items.last_mut().and_then(|item| item.blocks.last_mut());
                if let Some(block) = block {
                    block
                        .lines
                        .push(line.strip_prefix(' ').unwrap_or(&line).to_owned());
                }
            }
        }
    }
    items
}

/// Creates the block that begins with this line, such as `+INFO: 0About…`.
fn begin(line: &str) -> Option<Block> {
    let (name, rest) = line.strip_prefix('+')?.split_once(':')?;
    let is_name = |each: char| GopherType::new(u8::try_from(each).unwrap_or(0)).is_some();
    if name.is_empty() || !name.chars().all(is_name) {
        return None;
    }
    let rest = rest.strip_prefix(' ').unwrap_or(rest);
    Some(Block {
        name: format!("+{}", name.to_ascii_uppercase()),
        lines: (!rest.is_empty())
            .then(|| rest.to_owned())
            .into_iter()
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// pygopherd 3.0.0's reply to `$`, with one item shortened.
    const DIRECTORY: &[u8] = b"+INFO: 0about\t/about.txt\tlocalhost\t7072\t+\r\n+ADMIN:\r\n \
        Admin: Me <me@gopher.example>\r\n Mod-Date: Sat Nov 21 05:39:23 2026 <20261121053923>\r\n\
        +VIEWS:\r\n text/plain: <0k>\r\n application/postscript De_DE:<10k>\r\n+ABSTRACT:\r\n An abstract\r\n  of two\r\n\
        +ASK:\r\n Ask: Your name\tnobody\r\n Choose: Size\tS\tL\r\n Note: bye\r\n Dance: now\r\n\
        +INFO: 1docs\t/docs\tlocalhost\t7072\t+\r\n+View:\r\n application/gopher+-menu:\r\n";

    #[test]
    fn blocks_of_several_items() {
        let items = read(DIRECTORY);
        let [about, docs] = items.as_slice() else {
            panic!("two items: {items:?}");
        };
        let url = |item: &Attributes| item.item().and_then(|item| item.url);
        assert_eq!(
            url(about).as_deref(),
            Some("gopher://localhost:7072/0/about.txt")
        );
        assert_eq!(url(docs).as_deref(), Some("gopher://localhost:7072/1/docs"));
        let view = |format: &str, language: Option<&str>, size: Option<&str>| View {
            format: format.into(),
            language: language.map(str::to_owned),
            size: size.map(str::to_owned),
        };
        assert_eq!(
            about.views(),
            [
                view("text/plain", None, Some("0k")),
                view("application/postscript", Some("De_DE"), Some("10k"))
            ]
        );
        assert_eq!(docs.views(), [view("application/gopher+-menu", None, None)]);
        assert_eq!(
            about.abstract_text().as_deref(),
            Some("An abstract\n of two")
        );
        assert_eq!(docs.abstract_text(), None);
        assert_eq!(about.lines("+admin").len(), 2);
        let questions: Vec<_> = about
            .questions()
            .into_iter()
            .map(|question| (question.kind, question.prompt, question.options.join("|")))
            .collect();
        assert_eq!(
            questions,
            [
                (QuestionKind::Line, "Your name".into(), "nobody".into()),
                (QuestionKind::Choose, "Size".into(), "S|L".into()),
                (QuestionKind::Note, "bye".into(), String::new()),
            ]
        );
    }

    #[test]
    fn lines_outside_blocks_are_ignored() {
        assert_eq!(read(b"words\r\n+\r\n+ a:\r\n"), []);
        assert_eq!(read(b""), []);
        let mut items = read(b"x\r\n+ADMIN: me\r\n more\r\n+ASK:\r\n");
        assert_eq!(
            items
                .first()
                .map(|item| item.lines("+ADMIN").join("|"))
                .as_deref(),
            Some("me|more")
        );
        if let Some(item) = items.first_mut() {
            item.keep(&["+ASK".into()]);
        }
        assert_eq!(items.first().map(|item| item.blocks.len()), Some(1));
    }
}

//! Splits a rule into words: sequences of characters other than spaces, or anything in quotation marks.

use z3950_asn1::oid::Oid;

/// The rest of a rule, which is read word by word.
pub(super) struct Words<'a> {
    text: &'a str,
    /// The number of octets read so far.
    at: usize,
}

impl<'a> Words<'a> {
    /// Creates a reader of `text`, starting at octet `at`.
    pub(super) fn new(text: &'a str, at: usize) -> Self {
        Self { text, at }
    }

    /// Returns the number of octets read so far, including the spaces before the next word.
    pub(super) fn position(&mut self) -> usize {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
        self.at
    }

    /// Returns the next word; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<String>, RuleError> {
        self.next_up_to(|_| false)
    }

    /// Returns the next word. Outside of quotation marks, it also ends before a character for which `ends` is true.
    pub(super) fn next_up_to(
        &mut self,
        ends: impl Fn(char) -> bool,
    ) -> Result<Option<String>, RuleError> {
        let begin = self.position();
        let mut word = String::new();
        let mut quoted = false;
        let mut escaped = false;
        let mut end = self.text.len();
        for (index, character) in self.rest().char_indices() {
            match character {
                _ if escaped => {
                    word.push(character);
                    escaped = false;
                }
                '\\' if quoted => escaped = true,
                '"' => quoted = !quoted,
                _ if !quoted && (character.is_whitespace() || ends(character)) => {
                    end = begin + index;
                    break;
                }
                _ => word.push(character),
            }
        }
        if quoted {
            return Err(RuleError::new(begin, "an unclosed quotation mark"));
        }
        self.at = end;
        Ok((end > begin).then_some(word))
    }

    /// Returns the next word. If there is none, the error message says that `what` is missing.
    pub(super) fn need(&mut self, what: &str) -> Result<String, RuleError> {
        let at = self.position();
        self.next()?
            .ok_or_else(|| RuleError::new(at, format!("{what} is missing")))
    }

    /// Parses the next word; an error message names `what` as the expected value.
    pub(super) fn parse<T>(
        &mut self,
        what: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, RuleError> {
        let at = self.position();
        let word = self.need(what)?;
        read(&word).ok_or_else(|| RuleError::new(at, format!("{word:?} where {what} is expected")))
    }

    /// Parses a value like [`Words::parse`], or returns `None` at the end.
    pub(super) fn parse_if_any<T>(
        &mut self,
        what: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, RuleError> {
        if self.is_at_end() {
            Ok(None)
        } else {
            self.parse(what, read).map(Some)
        }
    }

    /// Skips `character` if it is next; returns whether it was.
    pub(super) fn take(&mut self, character: char) -> bool {
        self.position();
        let found = self.rest().starts_with(character);
        if found {
            self.at += character.len_utf8();
        }
        found
    }

    /// Returns whether the rest consists of spaces only.
    pub(super) fn is_at_end(&self) -> bool {
        self.rest().trim_start().is_empty()
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }
}

/// Parses a record syntax: a name, or a dotted object identifier; `None` for other text.
pub(super) fn syntax(text: &str) -> Option<Oid> {
    Oid::by_name(text).or_else(|| text.parse().ok())
}

/// The reason why a string is not a valid rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", located(.reason, *.offset))]
pub struct RuleError {
    /// The number of octets before the error.
    pub offset: usize,
    /// The reason; it may end with a list of [`choices`].
    reason: String,
}

impl RuleError {
    pub(super) fn new(offset: usize, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self { offset, reason }
    }
}

/// Returns the reason with the position of the error, inserted before the list of choices.
fn located(reason: &str, offset: usize) -> String {
    let end = reason.find(CHOICES).unwrap_or(reason.len());
    let (reason, choices) = reason.split_at(end);
    format!("{reason} at character {}{choices}", offset + 1)
}

const CHOICES: &str = "; known are ";

/// Returns the end of a message: the list of valid names.
pub(super) fn choices(names: &str) -> String {
    format!("{CHOICES}{names}")
}

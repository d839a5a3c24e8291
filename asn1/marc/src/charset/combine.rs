//! Combining marks. Library character sets put them before the base character (MARC 21 Specifications, Character Sets; ISO 5426 §5);
//! Unicode puts them after it. The two halves of a ligature or double tilde become one Unicode double mark.

use std::borrow::Cow;

use unicode_normalization::char::compose;
use unicode_normalization::{UnicodeNormalization, is_nfc};

/// The left half of a ligature, as a separate mark.
pub(super) const LIGATURE_LEFT: char = '\u{FE20}';
const LIGATURE_RIGHT: char = '\u{FE21}';
const TILDE_LEFT: char = '\u{FE22}';
const TILDE_RIGHT: char = '\u{FE23}';
/// Unicode's double mark for a ligature: a tie over two characters.
pub(super) const LIGATURE: char = '\u{361}';
/// Unicode's double mark for a tilde over two characters.
pub(super) const DOUBLE_TILDE: char = '\u{360}';

/// The base character for marks at the end of the text, where no character follows them (Unicode §7.9).
pub(super) const BLANK_BASE: char = '\u{A0}';

/// Builds text from characters whose combining marks come before them.
#[derive(Debug)]
pub(super) struct Composer {
    text: String,
    /// The marks for the next character, in the order in which they were added.
    waiting: Vec<char>,
    /// The left half of a double mark over the last character, and its offset in the text.
    open: Option<(char, usize)>,
    /// Whether the ligature and the double tilde have the same left half (ISO 5426, 5/13).
    shared_left: bool,
    /// Whether NFC might change the text.
    unnormalised: bool,
}

impl Composer {
    /// Creates a composer without text, with the given capacity in octets.
    pub(super) fn with_capacity(octets: usize, shared_left: bool) -> Self {
        Composer {
            text: String::with_capacity(octets),
            waiting: Vec::new(),
            open: None,
            shared_left,
            unnormalised: false,
        }
    }

    /// Adds a character, and puts the pending marks after it.
    pub(super) fn base(&mut self, character: char) {
        // NFC leaves base characters below U+0340 unchanged, so only later characters may need normalisation.
        self.unnormalised |= character >= '\u{340}';
        let open = self.open.take();
        // Most characters have no mark, or one mark that composes with them. Halves of double marks do not compose with any
        // character.
        let composed = match self.waiting[..] {
            [] => Some(character),
            [mark] => compose(character, mark),
            _ => None,
        };
        match composed {
            Some(whole) => {
                self.text.push(whole);
                self.waiting.clear();
            }
            None => self.marked(character, open),
        }
    }

    /// Adds a character with several marks, or with one mark that does not compose with it.
    fn marked(&mut self, character: char, mut open: Option<(char, usize)>) {
        self.text.push(character);
        let mut waiting = std::mem::take(&mut self.waiting);
        self.unnormalised |= waiting.len() > 1;
        for mark in waiting.drain(..) {
            if let Some((left, place)) = open
                && let Some(double) = self.double(left, mark)
            {
                let (old, new) = (left.len_utf8(), double.len());
                self.text.replace_range(place..place + old, double);
                if let Some((_, later)) = &mut self.open {
                    *later -= old - new;
                }
                open = None;
            } else {
                if matches!(mark, LIGATURE_LEFT | TILDE_LEFT) {
                    self.open = Some((mark, self.text.len()));
                }
                self.text.push(mark);
            }
        }
        self.waiting = waiting;
    }

    /// Adds ASCII text. The pending marks belong to its first character.
    pub(super) fn plain(&mut self, text: &str) {
        let mut characters = text.chars();
        if !self.waiting.is_empty()
            && let Some(first) = characters.next()
        {
            self.base(first);
        }
        let rest = characters.as_str();
        if !rest.is_empty() {
            self.open = None;
            self.text.push_str(rest);
        }
    }

    /// Adds a mark for the next character.
    pub(super) fn mark(&mut self, mark: char) {
        self.waiting.push(mark);
    }

    /// Returns the text and whether it may need normalisation. Marks without a character get a no-break space as their
    /// base.
    pub(super) fn finish(mut self) -> (String, bool) {
        if self.is_waiting() {
            self.base(BLANK_BASE);
        }
        (self.text, self.unnormalised)
    }

    /// Returns whether there are pending marks, whose character has not been added yet.
    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Returns the double mark that two halves form, or `None` if they do not belong together.
    fn double(&self, left: char, right: char) -> Option<&'static str> {
        match (left, right) {
            (LIGATURE_LEFT, LIGATURE_RIGHT) => Some("\u{361}"),
            (TILDE_LEFT, TILDE_RIGHT) => Some("\u{360}"),
            (LIGATURE_LEFT, TILDE_RIGHT) if self.shared_left => Some("\u{360}"),
            _ => None,
        }
    }
}

pub(super) fn composed(text: &str) -> Cow<'_, str> {
    if is_nfc(text) {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.nfc().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Composes `input` and checks the resulting text. In `input`, capital letters represent bases and all other characters represent
    /// marks.
    fn check(input: &str, shared_left: bool, text: &str) {
        let mut composer = Composer::with_capacity(8, shared_left);
        for character in input.chars() {
            match character {
                'A'..='Z' => composer.base(character),
                _ => composer.mark(character),
            }
        }
        assert_eq!(composer.finish().0, text, "{input:?}");
    }

    #[test]
    fn marks_and_halves() {
        check("A\u{301}E", false, "AÉ");
        check("\u{323}\u{301}E", false, "E\u{323}\u{301}");
        check("\u{FE20}T\u{FE21}SA", false, "T\u{361}SA");
        check("\u{FE22}N\u{FE23}G", false, "N\u{360}G");
        check("\u{FE20}N\u{FE23}G", false, "N\u{FE20}G\u{FE23}");
        check("\u{FE20}N\u{FE23}G", true, "N\u{360}G");
        check("\u{FE20}I\u{301}\u{FE21}U", false, "I\u{361}U\u{301}");
        check("\u{FE20}OAA\u{FE21}O", false, "O\u{FE20}AAO\u{FE21}");
        check(
            "\u{FE20}I\u{FE21}\u{FE20}U\u{FE21}A",
            false,
            "I\u{361}U\u{361}A",
        );
        check(
            "\u{FE20}I\u{FE20}\u{FE21}U\u{FE21}A",
            false,
            "I\u{361}U\u{361}A",
        );
        check("E\u{301}", false, "E\u{A0}\u{301}");
    }
}

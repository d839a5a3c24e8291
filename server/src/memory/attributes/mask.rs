//! Truncated and masked terms and regular expressions (Z39.50-2003 Appendix ATR.1, type 5; ANSI Z39.58 for value 104).

use regex::{Regex, RegexBuilder};

use crate::memory::index::Pattern;
use crate::memory::words::words;

impl Pattern {
    /// A word or key with optional truncation.
    pub(super) fn open(text: String, left: bool, right: bool) -> Self {
        match (left, right) {
            (false, false) => Self::Exact(text),
            (false, true) => Self::Starts(text),
            (true, false) => Self::Ends(text),
            (true, true) => Self::Contains(text),
        }
    }

    /// The number of characters given besides the truncated part; `None` if nothing is truncated.
    pub(super) fn given(&self) -> Option<usize> {
        match self {
            Self::Exact(_) | Self::Range { .. } | Self::Any => None,
            Self::Starts(text) | Self::Ends(text) | Self::Contains(text) => {
                Some(text.chars().count())
            }
            Self::Matches { prefix, .. } => Some(prefix.chars().count()),
        }
    }
}

/// Placeholders for mask characters: letters that no catalogue uses and that folding keeps.
const ANY_NUMBER: char = '\u{16a0}';
const EXACTLY_ONE: char = '\u{16a1}';
const AT_MOST_ONE: char = '\u{16a2}';

/// The mask characters of a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mask {
    /// `#` is any number of characters (truncation 101).
    NumberSign,
    /// `#` is one character, `?` any number, `?3` at most three (truncation 104).
    Z39_58,
}

/// The words of a masked term; `None` without a word, or for a word of masks only.
pub(super) fn masked(text: &str, mask: Mask) -> Option<Vec<Pattern>> {
    let words = words(&stand_ins(text, mask));
    let wanted: Option<Vec<_>> = words.iter().map(|word| wanted(word)).collect();
    wanted.filter(|words| !words.is_empty())
}

/// Like [`masked`] for a key other than text: letters and digits, without punctuation.
pub(super) fn masked_key(text: &str, mask: Mask) -> Option<Pattern> {
    wanted(&words(&stand_ins(text, mask)).concat())
}

fn stand_ins(text: &str, mask: Mask) -> String {
    let mut replaced = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match (mask, character) {
            (Mask::NumberSign, '#') => replaced.push(ANY_NUMBER),
            (Mask::Z39_58, '#') => replaced.push(EXACTLY_ONE),
            (Mask::Z39_58, '?') => match characters
                .next_if(char::is_ascii_digit)
                .and_then(|digit| digit.to_digit(10))
            {
                Some(most) => (0..most).for_each(|_| replaced.push(AT_MOST_ONE)),
                None => replaced.push(ANY_NUMBER),
            },
            (_, other) => replaced.push(other),
        }
    }
    replaced
}

fn wanted(word: &str) -> Option<Pattern> {
    let is_open = |character| matches!(character, ANY_NUMBER | EXACTLY_ONE | AT_MOST_ONE);
    let trimmed = word.trim_matches(ANY_NUMBER);
    if word.chars().all(is_open) {
        return None;
    }
    if !trimmed.contains(is_open) {
        let (left, right) = (word.starts_with(ANY_NUMBER), word.ends_with(ANY_NUMBER));
        return Some(Pattern::open(trimmed.to_owned(), left, right));
    }
    let mut expression = String::new();
    for character in word.chars() {
        match character {
            ANY_NUMBER => expression.push_str(".*"),
            EXACTLY_ONE => expression.push('.'),
            AT_MOST_ONE => expression.push_str(".?"),
            other => expression.push_str(&regex::escape(other.encode_utf8(&mut [0; 4]))),
        }
    }
    let prefix = word.split(is_open).next().unwrap_or_default().to_owned();
    Some(Pattern::Matches {
        prefix,
        regex: compiled(&expression)?,
    })
}

/// A regular expression that must match entire entries, without case; `None` if it is invalid or too large.
///
/// Letters beyond ASCII are folded like those of the entries.
pub(super) fn regular(expression: &str) -> Option<Pattern> {
    let mut folded = String::with_capacity(expression.len());
    for character in expression.chars() {
        match character.is_ascii() {
            true => folded.push(character),
            false => words(character.encode_utf8(&mut [0; 4]))
                .iter()
                .for_each(|letters| folded.push_str(letters)),
        }
    }
    let regex = compiled(&folded)?;
    Some(Pattern::Matches {
        prefix: literal_prefix(&folded),
        regex,
    })
}

/// The size limit of a compiled expression, and of its tables while it runs.
const MOST_REGEX_OCTETS: usize = 256 * 1024;
/// The nesting limit of groups.
const MOST_REGEX_NESTING: u32 = 50;

fn compiled(expression: &str) -> Option<Regex> {
    // An expression that is only valid inside parentheses, such as `a)|(b`, is refused.
    let is_sound = |text: &str| {
        RegexBuilder::new(text)
            .case_insensitive(true)
            .dot_matches_new_line(true)
            .size_limit(MOST_REGEX_OCTETS)
            .dfa_size_limit(MOST_REGEX_OCTETS)
            .nest_limit(MOST_REGEX_NESTING)
            .build()
            .ok()
    };
    is_sound(expression)?;
    is_sound(&format!("^(?:{expression})$"))
}

/// The letters and digits that every match begins with, as far as they are easy to find.
fn literal_prefix(expression: &str) -> String {
    if expression.contains('|') || expression.contains("(?") {
        return String::new();
    }
    let plain = expression
        .chars()
        .take_while(char::is_ascii_alphanumeric)
        .count();
    let repeated = expression
        .chars()
        .nth(plain)
        .is_some_and(|next| matches!(next, '*' | '?' | '{'));
    let kept = plain.saturating_sub(usize::from(repeated));
    expression
        .chars()
        .take(kept)
        .collect::<String>()
        .to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(wanted: &Pattern) -> String {
        match wanted {
            Pattern::Exact(text) => text.clone(),
            Pattern::Starts(text) => format!("{text}…"),
            Pattern::Ends(text) => format!("…{text}"),
            Pattern::Contains(text) => format!("…{text}…"),
            Pattern::Matches { prefix, regex } => format!("{prefix}|{regex}"),
            Pattern::Range { .. } | Pattern::Any => "range".to_owned(),
        }
    }

    #[test]
    fn masks_are_read() {
        for (mask, text, expected) in [
            (Mask::NumberSign, "war", Some(&["war"][..])),
            (Mask::NumberSign, "wom#n", Some(&["wom|^(?:wom.*n)$"])),
            (
                Mask::NumberSign,
                "War# and #ACE",
                Some(&["war…", "and", "…ace"]),
            ),
            (Mask::NumberSign, "#orl#", Some(&["…orl…"])),
            (Mask::NumberSign, "col?r", Some(&["col", "r"])),
            (Mask::NumberSign, "#", None),
            (Mask::NumberSign, "war #", None),
            (Mask::NumberSign, " / ", None),
            (Mask::Z39_58, "wom#n", Some(&["wom|^(?:wom.n)$"])),
            (Mask::Z39_58, "col?1r", Some(&["col|^(?:col.?r)$"])),
            (Mask::Z39_58, "col?r", Some(&["col|^(?:col.*r)$"])),
            (Mask::Z39_58, "mis?", Some(&["mis…"])),
            (Mask::Z39_58, "?3#", None),
        ] {
            let found = masked(text, mask).map(|words| words.iter().map(shown).collect::<Vec<_>>());
            assert_eq!(
                found.as_deref(),
                expected
                    .map(|words| words
                        .iter()
                        .map(|word| (*word).to_owned())
                        .collect::<Vec<_>>())
                    .as_deref(),
                "{text}"
            );
        }
        assert_eq!(
            masked_key("0-306-#", Mask::NumberSign)
                .as_ref()
                .map(shown)
                .as_deref(),
            Some("0306…")
        );
    }

    #[test]
    fn expressions_are_bounded() {
        for (expression, expected) in [
            ("war", Some("war|^(?:war)$")),
            ("War(s|fare)?", Some("|^(?:War(s|fare)?)$")),
            ("wars?", Some("war|^(?:wars?)$")),
            ("wa{2}r", Some("w|^(?:wa{2}r)$")),
            ("Mis[éE].*", Some("mis|^(?:Mis[eE].*)$")),
            ("mise\u{301}r", Some("miser|^(?:miser)$")),
            ("[wW]ar", Some("|^(?:[wW]ar)$")),
            ("(", None),
            ("a)|(b", None),
            ("(a{1000}){1000}", None),
        ] {
            assert_eq!(
                regular(expression).as_ref().map(shown).as_deref(),
                expected,
                "{expression}"
            );
        }
        assert!(regular(&"(".repeat(100_000)).is_none());
        assert!(regular(&format!("{}a{}", "(".repeat(60), ")".repeat(60))).is_none());
    }
}

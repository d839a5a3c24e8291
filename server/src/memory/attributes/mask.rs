//! Patterns for truncated terms, masked terms and regular expressions (Z39.50-2003 Appendix ATR.1, type 5; ANSI Z39.58 for value
//! 104).

use crate::memory::index::Pattern;
use crate::memory::index::find::{ANY_NUMBER, AT_MOST_ONE, EXACTLY_ONE, MOST_MASK_CHARACTERS};
use crate::memory::words::words;

impl Pattern {
    /// Returns the pattern for a word or key; `left` and `right` tell on which sides it is truncated.
    pub(super) fn open(text: String, left: bool, right: bool) -> Self {
        match (left, right) {
            (false, false) => Self::Exact(text),
            (false, true) => Self::Starts(text),
            (true, false) => Self::Ends(text),
            (true, true) => Self::Contains(text),
        }
    }

    /// Returns the number of characters in a truncated term. For a masked term or a regular expression, only the literal
    /// characters at its beginning count. Returns `None` for a term that is not truncated.
    pub(super) fn given(&self) -> Option<usize> {
        match self {
            Self::Exact(_) | Self::Range { .. } | Self::Any => None,
            Self::Starts(text) | Self::Ends(text) | Self::Contains(text) => {
                Some(text.chars().count())
            }
            Self::Masked { prefix, .. } => Some(prefix.chars().count()),
            #[cfg(feature = "regex")]
            Self::Matches { prefix, .. } => Some(prefix.chars().count()),
        }
    }
}

/// The mask characters that a term may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mask {
    /// `#` matches any number of characters (truncation 101).
    NumberSign,
    /// `#` matches one character, `?` any number of characters, and `?3` at most three (truncation 104).
    Z39_58,
}

/// Returns the patterns for the words of a masked term; `None` if there are no words, or if a word consists only of mask
/// characters.
pub(super) fn masked(text: &str, mask: Mask) -> Option<Vec<Pattern>> {
    let words = words(&stand_ins(text, mask));
    let wanted: Option<Vec<_>> = words.iter().map(|word| wanted(word)).collect();
    wanted.filter(|words| !words.is_empty())
}

/// Returns the pattern for a masked term in an index of keys: its letters and digits, without punctuation.
pub(super) fn masked_key(text: &str, mask: Mask) -> Option<Pattern> {
    wanted(&words(&stand_ins(text, mask)).concat())
}

/// Returns text in which the mask characters are replaced with placeholders.
pub(super) fn stand_ins(text: &str, mask: Mask) -> String {
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
    let prefix = word.split(is_open).next().unwrap_or_default().to_owned();
    (word.chars().count() <= MOST_MASK_CHARACTERS).then(|| Pattern::Masked {
        prefix,
        mask: word.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::index::find::fits;

    fn shown(wanted: &Pattern) -> String {
        match wanted {
            Pattern::Exact(text) => text.clone(),
            Pattern::Starts(text) => format!("{text}…"),
            Pattern::Ends(text) => format!("…{text}"),
            Pattern::Contains(text) => format!("…{text}…"),
            Pattern::Masked { prefix, mask } => {
                let mask = mask.replace(ANY_NUMBER, ".*").replace(AT_MOST_ONE, ".?");
                format!("{prefix}|{}", mask.replace(EXACTLY_ONE, "."))
            }
            _ => "another".to_owned(),
        }
    }

    #[test]
    fn masks_are_read() {
        for (mask, text, expected) in [
            (Mask::NumberSign, "war", Some(&["war"][..])),
            (Mask::NumberSign, "wom#n", Some(&["wom|wom.*n"])),
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
            (Mask::Z39_58, "wom#n", Some(&["wom|wom.n"])),
            (Mask::Z39_58, "col?1r", Some(&["col|col.?r"])),
            (Mask::Z39_58, "col?r", Some(&["col|col.*r"])),
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
    fn masks_match_entire_entries() {
        let long = |count| "#".repeat(count) + "a";
        for (text, fitting, others) in [
            (
                "wom#n",
                &["woman", "women"][..],
                &["womn", "womaan", "womans", "a woman"][..],
            ),
            ("col?1r", &["color", "colr"], &["colour", "col", "colorr"]),
            ("c?l#r", &["color", "caller", "clxr"], &["clr", "colors"]),
            ("?3a?b", &["ab", "xxxab", "xxxaxxb"], &["xxxxab", "xxx"]),
            (
                "?t#?1e",
                &["the", "title", "tute"],
                &["te", "late", "titles"],
            ),
            ("ñ#o", &["nno"], &["no"]),
        ] {
            let wanted = masked(text, Mask::Z39_58).expect("a mask");
            let [Pattern::Masked { mask, .. }] = &*wanted else {
                panic!("{text}: {wanted:?}");
            };
            for entry in fitting {
                assert!(fits(mask, entry), "{text} {entry}");
            }
            for entry in others {
                assert!(!fits(mask, entry), "{text} {entry}");
            }
        }
        assert!(masked(&long(MOST_MASK_CHARACTERS - 1), Mask::Z39_58).is_some());
        assert!(masked(&long(MOST_MASK_CHARACTERS), Mask::Z39_58).is_none());
    }
}

//! Translates a CQL term to an RPN term: anchors and masks at the ends become attributes, and masks within the term
//! become ANSI Z39.58 masks.

use crate::query::cql::unescaped;

/// A term, and the properties that express its anchors and masks.
pub(super) struct Pattern {
    pub(super) position: Option<&'static str>,
    pub(super) truncation: Option<&'static str>,
    pub(super) term: String,
}

impl Pattern {
    /// Makes a term without masks. Backslashes are removed.
    pub(super) fn raw(text: &str) -> Self {
        Self {
            position: None,
            truncation: None,
            term: unescaped(text),
        }
    }

    /// Makes a term whose masks are sent unchanged, for the server to interpret.
    pub(super) fn cql(text: &str) -> Self {
        Self {
            truncation: Some("cql"),
            ..Self::raw(text)
        }
    }

    /// Makes a term with its anchors and masks. `has` returns whether the properties define the truncation `left`,
    /// `right` or `both`.
    pub(super) fn masked(text: &str, has: impl Fn(&str) -> bool) -> Self {
        let mut signs = signs(text);
        let first = |signs: &[Sign], sign| signs.first() == Some(&sign);
        let last = |signs: &[Sign], sign| signs.len() > 1 && signs.last() == Some(&sign);
        let anchors = (first(&signs, Sign::Anchor), last(&signs, Sign::Anchor));
        let masks = (first(&signs, Sign::Any), last(&signs, Sign::Any));
        let inner = signs.iter().enumerate().any(|(at, sign)| match sign {
            Sign::One => true,
            Sign::Any => at > 0 && at + 1 < signs.len(),
            _ => false,
        });
        let position = match anchors {
            (true, true) => "firstAndLast",
            (true, false) => "first",
            (false, true) => "last",
            (false, false) => "any",
        };
        let outer = match masks {
            (true, true) => Some("both"),
            (true, false) => Some("left"),
            (false, true) => Some("right"),
            (false, false) => None,
        };
        let truncation = match outer {
            _ if inner => "z3958",
            None => "none",
            Some(side) if has(side) => side,
            Some(_) => "z3958",
        };
        let apart = !matches!(truncation, "z3958" | "none");
        if anchors.0 || (apart && masks.0) {
            signs.remove(0);
        }
        if anchors.1 || (apart && masks.1) {
            signs.pop();
        }
        Self {
            position: Some(position),
            truncation: Some(truncation),
            term: written(&signs, truncation == "z3958"),
        }
    }
}

/// Returns the words of a term, which is split at spaces that do not follow a backslash.
pub(super) fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut start = 0;
    let mut escaped = false;
    for (position, character) in text.char_indices() {
        if character.is_ascii_whitespace() && !escaped {
            words.extend(text.get(start..position));
            start = position + character.len_utf8();
        }
        escaped = character == '\\' && !escaped;
    }
    words.extend(text.get(start..));
    words.retain(|word| !word.is_empty());
    words
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    /// `^`
    Anchor,
    /// `*`, for any characters
    Any,
    /// `?`, for one character
    One,
    /// A literal character, and whether it follows a backslash.
    Character(char, bool),
}

fn signs(text: &str) -> Vec<Sign> {
    let mut signs = Vec::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        signs.push(match character {
            '\\' => Sign::Character(characters.next().unwrap_or('\\'), true),
            '^' => Sign::Anchor,
            '*' => Sign::Any,
            '?' => Sign::One,
            other => Sign::Character(other, false),
        });
    }
    signs
}

fn written(signs: &[Sign], masked: bool) -> String {
    let mut term = String::new();
    for (at, sign) in signs.iter().enumerate() {
        match *sign {
            Sign::Anchor => term.push('^'),
            Sign::Any if masked => {
                term.push('?');
                // A digit after the mask would be read as the maximum number of characters, so the digit is escaped.
                if let Some(Sign::Character('0'..='9', false)) = signs.get(at + 1) {
                    term.push('\\');
                }
            }
            Sign::Any => term.push('*'),
            Sign::One if masked => term.push('#'),
            Sign::One => term.push('?'),
            Sign::Character(character, _) => {
                if masked && matches!(character, '#' | '?') {
                    term.push('\\');
                }
                term.push(character);
            }
        }
    }
    term
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms() {
        for (text, position, truncation, term) in [
            ("war", "any", "none", "war"),
            ("war*", "any", "right", "war"),
            ("*war", "any", "left", "war"),
            ("*war*", "any", "both", "war"),
            ("w*r", "any", "z3958", "w?r"),
            ("w?r", "any", "z3958", "w#r"),
            ("w*1", "any", "z3958", "w?\\1"),
            ("w?r#\\?", "any", "z3958", "w#r\\#\\?"),
            ("^war", "first", "none", "war"),
            ("war^", "last", "none", "war"),
            ("^war^", "firstAndLast", "none", "war"),
            ("^war*", "first", "right", "war"),
            ("war*^", "last", "z3958", "war?"),
            ("w^r", "any", "none", "w^r"),
            ("\\*war\\*", "any", "none", "*war*"),
            ("*", "any", "left", ""),
            ("**", "any", "both", ""),
            ("^", "first", "none", ""),
            ("^^", "firstAndLast", "none", ""),
            ("*^", "last", "left", ""),
            ("", "any", "none", ""),
            ("w\\\\r", "any", "none", "w\\r"),
            ("w\\\"r", "any", "none", "w\"r"),
        ] {
            let pattern = Pattern::masked(text, |_| true);
            assert_eq!(pattern.position, Some(position), "{text}");
            assert_eq!(pattern.truncation, Some(truncation), "{text}");
            assert_eq!(pattern.term, term, "{text}");
        }
        assert_eq!(Pattern::masked("war*", |_| false).term, "war?");
        assert_eq!(Pattern::raw("w.*\\\"?").term, "w.*\"?");
        assert_eq!(words(" a  b\\ c d "), ["a", "b\\ c", "d"]);
    }
}

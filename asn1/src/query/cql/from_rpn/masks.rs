//! Writes RPN terms and patterns with CQL's special characters: `*` for any characters, `?` for one character, and a
//! backslash before literal characters.

use std::iter::Peekable;
use std::str::Chars;

/// Returns the term with a backslash before each character that has a special meaning.
pub(super) fn escaped(term: &str) -> String {
    let mut text = String::with_capacity(term.len());
    let last = term.char_indices().last().map(|(at, _)| at);
    for (at, character) in term.char_indices() {
        let special = match character {
            '*' | '?' | '\\' | '"' => true,
            '^' => at == 0 || Some(at) == last,
            _ => false,
        };
        if special {
            text.push('\\');
        }
        text.push(character);
    }
    text
}

/// Rewrites a regular expression with CQL masks; `None` if it uses any operator other than `.` and `.*`.
pub(super) fn from_regexp(term: &str) -> Option<String> {
    let mut text = String::with_capacity(term.len());
    let mut characters = term.chars().peekable();
    while let Some(character) = characters.next() {
        let repeated = is_repeated(&mut characters);
        match character {
            '.' if characters.next_if_eq(&'*').is_some() => text.push('*'),
            '.' if !repeated => text.push('?'),
            '\\' => {
                text.push_str(&escaped(&characters.next()?.to_string()));
                if is_repeated(&mut characters) {
                    return None;
                }
            }
            '.' | '*' | '+' | '?' | '^' | '$' | '|' | '(' | ')' | '[' | ']' | '{' | '}' => {
                return None;
            }
            _ if repeated => return None,
            other => text.push_str(&escaped(&other.to_string())),
        }
    }
    Some(text)
}

fn is_repeated(rest: &mut Peekable<Chars<'_>>) -> bool {
    matches!(rest.peek(), Some('*' | '+' | '?' | '{'))
}

/// Rewrites a term that has ANSI Z39.58 masks to one that has CQL masks; `None` if a mask specifies a number of
/// characters.
pub(super) fn from_z3958(term: &str) -> Option<String> {
    let mut text = String::with_capacity(term.len());
    let mut characters = term.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '?' if characters.peek().is_some_and(char::is_ascii_digit) => return None,
            '?' => text.push('*'),
            '#' => text.push('?'),
            '\\' => match characters.next() {
                Some(meant @ ('*' | '?' | '\\' | '"' | '^')) => text.extend(['\\', meant]),
                Some(meant) => text.push(meant),
                None => text.push_str("\\\\"),
            },
            meant @ ('*' | '"' | '^') => text.extend(['\\', meant]),
            other => text.push(other),
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn audit_c7_patterns_become_masks() {
        for (term, regexp, z3958) in [
            ("water", Some("water"), Some("water")),
            ("wat.*er", Some("wat*er"), Some("wat.\\*er")),
            ("wat.er", Some("wat?er"), Some("wat.er")),
            ("wat?er", None, Some("wat*er")),
            ("wat#er", Some("wat#er"), Some("wat?er")),
            ("wat?5er", None, None),
            ("wat\\?er", Some("wat\\?er"), Some("wat\\?er")),
            ("wat\\.er", Some("wat.er"), Some("wat.er")),
            ("wat\\.*er", None, Some("wat.\\*er")),
            ("wat.+er", None, Some("wat.+er")),
            ("wat.*?er", None, Some("wat.\\**er")),
            ("wat[ae]r", None, Some("wat[ae]r")),
            ("wat\\", None, Some("wat\\\\")),
            ("", Some(""), Some("")),
        ] {
            assert_eq!(from_regexp(term).as_deref(), regexp, "{term}");
            assert_eq!(from_z3958(term).as_deref(), z3958, "{term}");
        }
    }
}

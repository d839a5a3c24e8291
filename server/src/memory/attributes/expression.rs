//! Regular expressions (Z39.50-2003 Appendix ATR.1, truncation 102).

use std::time::Instant;

use regex::{Regex, RegexBuilder};

use crate::memory::index::Pattern;
use crate::memory::words::words;

/// Compiles a regular expression that must match complete entries, ignoring case; returns `None` if it is invalid or too large.
///
/// Letters beyond ASCII are folded in the same way as in the entries.
pub(super) fn regular(expression: &str) -> Option<Pattern> {
    let mut folded = String::with_capacity(expression.len());
    for character in expression.chars() {
        if character.is_ascii() {
            folded.push(character)
        } else {
            words(character.encode_utf8(&mut [0; 4]))
                .iter()
                .for_each(|letters| folded.push_str(letters))
        }
    }
    let begun = Instant::now();
    let regex = compiled(&folded)?;
    Some(Pattern::Matches {
        prefix: literal_prefix(&folded),
        regex,
        compiled_in: begun.elapsed(),
    })
}

/// The size limit for a compiled expression, and for its tables during matching, in octets.
const MOST_REGEX_OCTETS: usize = 256 * 1024;
/// The maximum nesting depth of groups.
const MOST_REGEX_NESTING: u32 = 50;

fn compiled(expression: &str) -> Option<Regex> {
    // An expression that is valid only inside parentheses, such as `a)|(b`, is refused.
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

/// Returns a literal prefix of all matches, as far as it is easy to determine; it may be empty.
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

    fn shown(wanted: Pattern) -> String {
        match wanted {
            Pattern::Matches { prefix, regex, .. } => format!("{prefix}|{regex}"),
            _ => "another".to_owned(),
        }
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
                regular(expression).map(shown).as_deref(),
                expected,
                "{expression}"
            );
        }
        assert!(regular(&"(".repeat(100_000)).is_none());
        assert!(regular(&format!("{}a{}", "(".repeat(60), ")".repeat(60))).is_none());
    }
}

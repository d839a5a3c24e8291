//! Converts masks to Lucene regular expressions, which match complete terms. Everything except placeholders is escaped.

use z3950_asn1::bib1::diagnostics::Condition;
use z3950_server::{Diagnostic, diagnostic};

use crate::engine::catalogue::leaf::{Word, WordPart};

/// The maximum number of characters in an expression (`index.max_regex_length`).
const MOST_CHARACTERS: usize = 1_000;

/// Returns the expression for a word. `folded` folds its text, and `any` is the expression for one masked character.
/// Returns `None` if nothing remains of the word's text after folding.
pub(super) fn of_word<'w>(
    word: &'w Word,
    any: &str,
    folded: impl Fn(&'w str) -> String,
) -> Option<String> {
    let mut expression = String::new();
    let mut has_text = false;
    for part in &word.0 {
        match part {
            WordPart::Text(text) => {
                let text = folded(text);
                has_text |= !text.is_empty();
                push(&mut expression, &text);
            }
            WordPart::Any => expression.extend([any, "*"]),
            WordPart::One => expression.push_str(any),
            WordPart::AtMostOne => expression.extend([any, "?"]),
        }
    }
    has_text.then_some(expression)
}

/// Adds literal text.
pub(super) fn push(expression: &mut String, text: &str) {
    for character in text.chars() {
        // The regular expression would read an escaped letter as a character class, so only punctuation is escaped.
        if character.is_ascii() && !character.is_ascii_alphanumeric() && !character.is_control() {
            expression.push('\\');
        }
        expression.push(character);
    }
}

/// Returns the expression unless it is too long.
///
/// # Errors
/// Fails with condition 11 for an expression that is too long.
pub(super) fn bounded(expression: String) -> Result<String, Diagnostic> {
    if expression.chars().count() > MOST_CHARACTERS {
        let most = MOST_CHARACTERS.to_string();
        return Err(diagnostic(Condition::TOO_MANY_CHARACTERS, most));
    }
    Ok(expression)
}

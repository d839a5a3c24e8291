//! The dialect of Sphinx Search 2.2: expressions of its extended query syntax, and statements of SphinxQL.
//!
//! Or binds more tightly than and there, and a field limit holds until the end of its parentheses; therefore every expression is in
//! parentheses.

use std::borrow::Cow;

use z3950_server::asn1::bib1::diagnostics::Condition;
use z3950_server::memory::index_map::{
    ANY_NUMBER, AT_MOST_ONE, EXACTLY_ONE, Edge, Edges, IndexId, Pattern,
};
use z3950_server::{Diagnostic, diagnostic};

use super::layout::{KEYS, REGULAR_EXPRESSION};
use super::token;

/// A place of a phrase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    /// A word.
    Word(String),
    /// Any word.
    AnyWord,
}

/// Records that all expressions find.
pub(super) fn all(texts: &[String]) -> String {
    joined(texts, " ")
}

/// Records that one of the expressions finds.
pub(super) fn any(texts: &[String]) -> String {
    joined(texts, " | ")
}

fn joined(texts: &[String], between: &str) -> String {
    match texts {
        [one] => one.clone(),
        _ => format!("({})", texts.join(between)),
    }
}

/// Records that the first expression finds and the second does not.
pub(super) fn without(one: &str, other: &str) -> String {
    format!("({one} !({other}))")
}

/// An expression of words in a field.
pub(super) fn in_field(field: &str, words: &str) -> String {
    format!("(@{field} {words})")
}

/// A key, or an expression of keys.
pub(super) fn key(keys: &str) -> String {
    in_field(KEYS, keys)
}

/// Words in their order; a single one stays a word.
pub(super) fn phrase(slots: &[Slot]) -> String {
    if let [Slot::Word(word)] = slots {
        return word.clone();
    }
    let words: Vec<Cow<'_, str>> = slots
        .iter()
        .map(|slot| match slot {
            // In a phrase, the engine takes a star before a word for another word.
            Slot::Word(word) if word.starts_with('*') => format!("%{word}").into(),
            Slot::Word(word) => word.into(),
            Slot::AnyWord => "*".into(),
        })
        .collect();
    format!("\"{}\"", words.join(" "))
}

/// Two phrases at most this far from each other, in any order.
pub(super) fn near(one: &[Slot], other: &[Slot], distance: i64) -> String {
    format!("({} NEAR/{distance} {})", phrase(one), phrase(other))
}

/// Whether the engine's NEAR finds all pairs of two phrases and no others: it misses some if a word can be part of both, and takes
/// phrases that overlap for a pair.
pub(super) fn are_apart(one: &[Slot], other: &[Slot]) -> bool {
    let is_one_word = |slot: &Slot| match slot {
        Slot::Word(word) => !word.contains(is_wildcard) && !word.contains(token::is_subfield_edge),
        Slot::AnyWord => false,
    };
    one.iter().chain(other).all(is_one_word) && !one.iter().any(|slot| other.contains(slot))
}

/// A word of a text, at these edges of a subfield. Edges of the field are words of their own.
///
/// # Errors
/// 9, 11 and 120 for patterns that the engine cannot look up.
pub(super) fn word(pattern: &Pattern, edges: Edges) -> Result<String, Diagnostic> {
    let mut text = wildcards(pattern, &|part| token::of_word(part).into_owned(), true)?;
    if edges.first == Edge::Subfield {
        text.insert_str(0, token::SUBFIELD_BEGIN);
    }
    if edges.last == Edge::Subfield {
        text.push_str(token::SUBFIELD_END);
    }
    if can_be_expanded(&text) {
        Ok(text)
    } else {
        let least = LEAST.to_string();
        Err(diagnostic(Condition::TRUNCATED_TOO_SHORT, least))
    }
}

/// The least that the engine looks up, its `min_infix_len`: octets of a beginning, characters of another part.
const LEAST: usize = 2;

/// Whether the engine finds the words of a pattern: by its beginning, or by its longest part if a wildcard begins it. It would take another
/// one for a word, or find nothing.
fn can_be_expanded(text: &str) -> bool {
    let mut parts = text.split(is_wildcard);
    let looked_up = if text.starts_with(is_wildcard) {
        parts.map(|part| part.chars().count()).max()
    } else {
        parts.next().map(str::len)
    };
    !text.contains(is_wildcard) || looked_up.is_some_and(|length| length >= LEAST)
}

fn is_wildcard(character: char) -> bool {
    matches!(character, '*' | '?' | '%')
}

/// A key of an index, or keys that match a pattern.
///
/// # Errors
/// As [`word`].
pub(super) fn key_pattern(index: IndexId, pattern: &Pattern) -> Result<String, Diagnostic> {
    if let Pattern::Exact(key) = pattern {
        return Ok(token::of_key(index, key.as_bytes()));
    }
    let mark = token::key_mark(index);
    let text = wildcards(pattern, &token::of_key_part, false)?;
    Ok(format!("{mark}{text}"))
}

/// A pattern in the engine's wildcards: `*` any number of characters, `?` one, `%` one or none.
fn wildcards(
    pattern: &Pattern,
    token: &dyn Fn(&str) -> String,
    is_word: bool,
) -> Result<String, Diagnostic> {
    let open = |text: &str, left: &str, right: &str| {
        let token = short_enough(token(text), text)?;
        Ok(format!("{left}{token}{right}"))
    };
    match pattern {
        Pattern::Exact(text) => Ok(token(text)),
        Pattern::Starts(text) => open(text, "", "*"),
        Pattern::Ends(text) => open(text, "*", ""),
        Pattern::Contains(text) => open(text, "*", "*"),
        Pattern::Masked { mask, .. } => masked(mask, token, is_word),
        _ => Err(diagnostic(
            Condition::TRUNCATION,
            REGULAR_EXPRESSION.to_string(),
        )),
    }
}

/// A part of a token that may be looked up: of a long token, the engine has the beginning.
///
/// # Errors
/// 11 with the text of the part.
pub(super) fn short_enough(token: String, text: &str) -> Result<String, Diagnostic> {
    if token.chars().count() <= token::MOST_OPEN_CHARACTERS {
        Ok(token)
    } else {
        Err(diagnostic(Condition::TOO_MANY_CHARACTERS, text))
    }
}

fn masked(mask: &str, token: &dyn Fn(&str) -> String, is_word: bool) -> Result<String, Diagnostic> {
    let is_open = |c| matches!(c, ANY_NUMBER | EXACTLY_ONE | AT_MOST_ONE);
    // The edges of subfields are characters of words too, and these would match them.
    let at_edge = |run: &str| {
        let single = run.chars().filter(|c| *c != ANY_NUMBER).count();
        let counted = run.contains(EXACTLY_ONE) && single < run.chars().count();
        counted || single >= token::EDGE_CHARACTERS
    };
    let end = mask.trim_end_matches(is_open).len();
    let start = mask.len() - mask.trim_start_matches(is_open).len();
    let runs = [mask.get(..start), mask.get(end..)];
    if is_word && runs.into_iter().flatten().any(at_edge) {
        let words = "a mask for a number of characters at the edge of a word";
        return Err(diagnostic(Condition::TRUNCATION, words));
    }
    let mut text = String::new();
    let mut literal = String::new();
    for character in mask.chars() {
        let wildcard = match character {
            ANY_NUMBER => '*',
            EXACTLY_ONE => '?',
            AT_MOST_ONE => '%',
            other => {
                literal.push(other);
                continue;
            }
        };
        if !literal.is_empty() {
            text.push_str(&token(&std::mem::take(&mut literal)));
        }
        text.push(wildcard);
    }
    if !literal.is_empty() {
        text.push_str(&token(&literal));
    }
    short_enough(text, "")
}

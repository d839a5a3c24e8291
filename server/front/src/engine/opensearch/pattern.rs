//! Converts patterns to Lucene regular expressions, which match complete terms. Everything except placeholders is escaped.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, ClassUnicode, Hir, HirKind, Repetition};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_server::memory::index_map::{ANY_NUMBER, AT_MOST_ONE, EXACTLY_ONE, Pattern, each_word};
use z3950_server::{Diagnostic, diagnostic};

/// The maximum number of characters in an expression (`index.max_regex_length`).
const MOST_CHARACTERS: usize = 1_000;
/// The Truncation value for a regular expression.
const REGULAR_EXPRESSION: &str = "102";
/// The maximum number of ranges in a class that is written out; classes such as `\w` have more ranges, and would be
/// too long.
const MOST_RANGES: usize = 100;
/// The maximum number of characters in a class from which capitals are omitted.
const MOST_OF_CASES: usize = 8;

/// The characters that the terms of a field consist of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alphabet {
    /// Words, with the edges of subfields, which do not match any placeholder.
    WordsWithEdges,
    /// The characters of words.
    Words,
    /// The characters of words, and the spaces between them.
    Entries,
    /// All characters.
    Keys,
}

impl Alphabet {
    /// Returns the expression for any one character.
    fn any(self) -> &'static str {
        match self {
            Self::WordsWithEdges => "[^\u{f800}\u{f801}]",
            _ => ".",
        }
    }

    /// Returns the expression for a class of all letters and digits, without the characters between words.
    fn word_character(self) -> Option<&'static str> {
        match self {
            Self::WordsWithEdges | Self::Words => Some(self.any()),
            Self::Entries => Some("[^ ]"),
            Self::Keys => None,
        }
    }
}

/// Returns the expression for a pattern between two literal strings.
///
/// # Errors
/// Fails with condition 120 for a regular expression that the engine does not support, or with condition 11 for an
/// expression that is too long.
pub(super) fn expression(
    before: &str,
    pattern: &Pattern,
    after: &str,
    alphabet: Alphabet,
) -> Result<String, Diagnostic> {
    let any = alphabet.any();
    let mut text = escaped(before);
    match pattern {
        Pattern::Exact(literal) => text.push_str(&escaped(literal)),
        Pattern::Starts(start) => text.push_str(&format!("{}{any}*", escaped(start))),
        Pattern::Ends(end) => text.push_str(&format!("{any}*{}", escaped(end))),
        Pattern::Contains(inner) => text.push_str(&format!("{any}*{}{any}*", escaped(inner))),
        Pattern::Masked { mask, .. } => {
            for character in mask.chars() {
                match character {
                    ANY_NUMBER => text.push_str(&format!("{any}*")),
                    EXACTLY_ONE => text.push_str(any),
                    AT_MOST_ONE => text.push_str(&format!("{any}?")),
                    other => push_escaped(&mut text, other),
                }
            }
        }
        Pattern::Matches { regex, .. } => {
            let read = push_regex(&mut text, regex.as_str(), alphabet);
            read.ok_or_else(|| diagnostic(Condition::TRUNCATION, REGULAR_EXPRESSION))?;
        }
        Pattern::Range { .. } | Pattern::Any => text.push_str(&format!("{any}*")),
    }
    text.push_str(&escaped(after));
    if text.chars().count() > MOST_CHARACTERS {
        let most = MOST_CHARACTERS.to_string();
        return Err(diagnostic(Condition::TOO_MANY_CHARACTERS, most));
    }
    Ok(text)
}

fn escaped(literal: &str) -> String {
    let mut text = String::with_capacity(literal.len());
    literal.chars().for_each(|c| push_escaped(&mut text, c));
    text
}

fn push_escaped(text: &mut String, character: char) {
    // The regular expression would read an escaped letter as a character class, so only punctuation is escaped.
    if character.is_ascii() && !character.is_ascii_alphanumeric() && !character.is_control() {
        text.push('\\');
    }
    text.push(character);
}

/// Adds a regular expression. Returns `None` if it contains anchors, word boundaries, or classes that are too long. Anchors at
/// the ends are not needed, because Lucene always matches complete terms.
fn push_regex(text: &mut String, regex: &str, alphabet: Alphabet) -> Option<()> {
    let inner = regex.strip_prefix("^(?:")?.strip_suffix(")$")?;
    let mut parser = ParserBuilder::new()
        .case_insensitive(true)
        .dot_matches_new_line(true)
        .build();
    push_hir(text, &parser.parse(inner).ok()?, alphabet)
}

fn push_hir(text: &mut String, hir: &Hir, alphabet: Alphabet) -> Option<()> {
    match hir.kind() {
        HirKind::Empty => text.push_str("()"),
        HirKind::Literal(literal) => {
            text.push_str(&escaped(std::str::from_utf8(&literal.0).ok()?));
        }
        HirKind::Class(Class::Unicode(class)) => push_class(text, class, alphabet)?,
        HirKind::Class(Class::Bytes(_)) | HirKind::Look(_) => return None,
        HirKind::Repetition(Repetition { min, max, sub, .. }) => {
            push_single(text, sub, alphabet)?;
            match (min, max) {
                (0, None) => text.push('*'),
                (1, None) => text.push('+'),
                (0, Some(1)) => text.push('?'),
                (min, None) => text.push_str(&format!("{{{min},}}")),
                (min, Some(max)) => text.push_str(&format!("{{{min},{max}}}")),
            }
        }
        HirKind::Capture(capture) => push_single(text, &capture.sub, alphabet)?,
        HirKind::Concat(parts) => parts
            .iter()
            .try_for_each(|part| push_hir(text, part, alphabet))?,
        HirKind::Alternation(parts) => {
            text.push('(');
            for (place, part) in parts.iter().enumerate() {
                if place > 0 {
                    text.push('|');
                }
                push_hir(text, part, alphabet)?;
            }
            text.push(')');
        }
    }
    Some(())
}

/// Adds an expression to which the next operator applies as a whole.
fn push_single(text: &mut String, hir: &Hir, alphabet: Alphabet) -> Option<()> {
    let is_single = match hir.kind() {
        HirKind::Class(_) | HirKind::Capture(_) | HirKind::Alternation(_) | HirKind::Empty => true,
        HirKind::Literal(literal) => literal.0.len() == 1,
        HirKind::Concat(_) | HirKind::Repetition(_) | HirKind::Look(_) => false,
    };
    if is_single {
        return push_hir(text, hir, alphabet);
    }
    text.push('(');
    push_hir(text, hir, alphabet)?;
    text.push(')');
    Some(())
}

fn push_class(text: &mut String, class: &ClassUnicode, alphabet: Alphabet) -> Option<()> {
    let ranges = class.ranges();
    let has = |c: char| { ranges.iter() }.any(|range| (range.start()..=range.end()).contains(&c));
    if has('\0') && has('\u{d7ff}') && has('\u{10ffff}') && ranges.len() == 1 {
        text.push_str(alphabet.any());
        return Some(());
    }
    if ranges.len() > MOST_RANGES {
        if !('a'..='z').chain('0'..='9').all(has) || has(' ') {
            return None;
        }
        text.push_str(alphabet.word_character()?);
        return Some(());
    }
    let few = ranges.iter().flat_map(|range| range.start()..=range.end());
    let few: Vec<char> = few.take(MOST_OF_CASES + 1).collect();
    if alphabet != Alphabet::Keys && few.len() <= MOST_OF_CASES {
        let folded: Vec<char> = few.iter().copied().filter(|c| is_folded(*c)).collect();
        if let [only] = &*folded {
            push_escaped(text, *only);
            return Some(());
        }
    }
    if ranges.is_empty() {
        return None;
    }
    text.push('[');
    for range in ranges {
        push_escaped(text, range.start());
        if range.start() < range.end() {
            text.push('-');
            push_escaped(text, range.end());
        }
    }
    text.push(']');
    Some(())
}

/// Returns whether a character can be a part of a word, which is the case if it equals its folded form.
fn is_folded(character: char) -> bool {
    let mut is_own = false;
    each_word(
        character.encode_utf8(&mut [0; 4]),
        &mut String::new(),
        |word| is_own = word.chars().eq([character]),
    );
    is_own
}

//! Splits text into characters with their combining marks, so that it can be encoded in the library sets. A precomposed character that a
//! set has (ơ, й) is written unchanged. Any other character is decomposed canonically (Unicode §3.7), or replaced if the set lacks its
//! parts.

use unicode_normalization::char::{canonical_combining_class, compose, decompose_canonical};

use super::Unencodable;
use super::combine::{BLANK_BASE, composed};
use super::problem::{Problem, ProblemKind};

/// One character and the marks that follow it in Unicode.
#[derive(Debug)]
pub(super) struct Cluster<'a> {
    pub(super) base: char,
    /// The marks in canonical order; the repertoire has every one of them.
    pub(super) marks: &'a [char],
    /// Whether this character or the next one belongs to a Greek word.
    pub(super) beside_greek: bool,
}

/// The characters of a library set, with functions to write them.
pub(super) trait Repertoire {
    /// Returns whether the set has the character or mark on its own.
    fn has(&self, character: char) -> bool;
    /// Returns whether the set has the mark as a combining mark.
    fn has_mark(&self, mark: char) -> bool;
    /// Writes a cluster whose characters the set has.
    fn write(&mut self, cluster: &Cluster<'_>);
    /// Writes ASCII text.
    fn write_plain(&mut self, text: &str);
}

/// Writes text in a repertoire, and returns a problem for each character that the repertoire lacks. `set` is the name
/// of the repertoire.
pub(super) fn write(
    text: &str,
    to: &mut impl Repertoire,
    unencodable: Unencodable,
    set: &'static str,
) -> Vec<Problem> {
    let text = composed(text);
    let mut problems = Vec::new();
    let mut lacking = |character: char, offset: usize, to: &mut dyn Repertoire| {
        to.write_plain(&unencodable.replacement(character));
        problems.push(ProblemKind::Unencodable { character, set }.at(offset));
    };
    let mut rest = text.char_indices().peekable();
    let mut marks = Vec::new();
    while let Some((offset, base)) = rest.next() {
        marks.clear();
        while let Some((_, mark)) = rest.next_if(|(_, next)| is_mark(*next, to)) {
            marks.push(mark);
        }
        let next = rest.peek().map(|(_, next)| *next);
        let beside_greek = next.is_some_and(is_greek);
        let last = next.is_none();
        let Some((base, known)) = arrange(base, &mut marks, last, to) else {
            lacking(base, offset, to);
            marks.iter().for_each(|mark| lacking(*mark, offset, to));
            continue;
        };
        to.write(&Cluster {
            base,
            marks: &known,
            beside_greek,
        });
        marks.iter().for_each(|mark| lacking(*mark, offset, to));
    }
    problems
}

/// Returns whether the character is a combining character that the set does not treat as a letter, so it belongs to the
/// preceding character.
fn is_mark(character: char, to: &impl Repertoire) -> bool {
    character >= '\u{300}'
        && canonical_combining_class(character) != 0
        && (to.has_mark(character) || !to.has(character))
}

fn is_greek(character: char) -> bool {
    matches!(character, '\u{370}'..='\u{3FF}' | '\u{1F00}'..='\u{1FFF}')
}

/// Converts a base and its marks to a base and marks that the repertoire has. Marks that the repertoire lacks stay in `marks`.
///
/// Returns `None` and leaves `marks` unchanged if the repertoire lacks the base too. A no-break space at the end of the
/// text may carry marks, even if the repertoire lacks it.
fn arrange(
    base: char,
    marks: &mut Vec<char>,
    last: bool,
    to: &impl Repertoire,
) -> Option<(char, Vec<char>)> {
    let carrier = last && base == BLANK_BASE && marks.iter().any(|mark| to.has_mark(*mark));
    if to.has(base) || carrier {
        let known = marks.extract_if(.., |mark| to.has_mark(*mark)).collect();
        return Some((base, known));
    }
    let mut parts = Vec::with_capacity(marks.len() + 3);
    for piece in [base].iter().chain(&*marks) {
        decompose_canonical(*piece, |part| parts.push(part));
    }
    let (&base, parts) = parts.split_first()?;
    let (base, parts) = join(base, parts, to);
    if !to.has(base) {
        return None;
    }
    let (known, unknown) = parts.iter().partition(|mark| to.has_mark(**mark));
    *marks = unknown;
    Some((base, known))
}

/// Composes the base with marks if the repertoire has the composed character, but lacks the base or the mark. Returns
/// the base and the remaining marks.
fn join(mut base: char, marks: &[char], to: &impl Repertoire) -> (char, Vec<char>) {
    let mut apart = Vec::with_capacity(marks.len());
    for mark in marks {
        match compose(base, *mark).filter(|whole| to.has(*whole)) {
            Some(whole) if !to.has_mark(*mark) || !to.has(base) => base = whole,
            _ => apart.push(*mark),
        }
    }
    (base, apart)
}

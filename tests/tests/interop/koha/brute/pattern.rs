//! Words that may contain masks, and phrases of such words.

/// A word that may be truncated or contain masks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Pattern {
    Exact(String),
    Starts(String),
    Ends(String),
    Contains(String),
    /// A sequence of literal characters and masks.
    Masked(Vec<Part>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Literal(char),
    One,
    AtMostOne,
    Any,
}

impl Pattern {
    pub(super) fn new(word: &str, left: bool, right: bool) -> Self {
        let word = word.to_owned();
        match (left, right) {
            (false, false) => Self::Exact(word),
            (false, true) => Self::Starts(word),
            (true, false) => Self::Ends(word),
            (true, true) => Self::Contains(word),
        }
    }

    /// Parses a word whose masks are those of truncation 101 or 104.
    pub(super) fn masked(word: &str, truncation: i64, fold: impl Fn(&str) -> String) -> Self {
        let (mut parts, mut literal) = (Vec::new(), String::new());
        let mut characters = word.chars().peekable();
        let end = |literal: &mut String, parts: &mut Vec<Part>| {
            if !literal.is_empty() {
                parts.extend(fold(&std::mem::take(literal)).chars().map(Part::Literal));
            }
        };
        while let Some(c) = characters.next() {
            let masks = match (truncation, c) {
                (101, '#') => vec![Part::Any],
                (104, '#') => vec![Part::One],
                (104, '?') => match characters.next_if(char::is_ascii_digit) {
                    Some(digit) => {
                        vec![Part::AtMostOne; digit.to_digit(10).map_or(0, |digit| digit as usize)]
                    }
                    None => vec![Part::Any],
                },
                _ => {
                    literal.push(c);
                    continue;
                }
            };
            end(&mut literal, &mut parts);
            parts.extend(masks);
        }
        end(&mut literal, &mut parts);
        Self::Masked(parts)
    }

    pub(super) fn fits(&self, word: &str) -> bool {
        match self {
            Self::Exact(text) => word == text,
            Self::Starts(text) => word.starts_with(&**text),
            Self::Ends(text) => word.ends_with(&**text),
            Self::Contains(text) => word.contains(&**text),
            Self::Masked(parts) => fits(parts, &word.chars().collect::<Vec<_>>()),
        }
    }
}

fn fits(parts: &[Part], word: &[char]) -> bool {
    let Some((part, rest)) = parts.split_first() else {
        return word.is_empty();
    };
    let next = word.split_first();
    match part {
        Part::Literal(c) => next.is_some_and(|(first, word)| first == c && fits(rest, word)),
        Part::One => next.is_some_and(|(_, word)| fits(rest, word)),
        Part::AtMostOne => fits(rest, word) || next.is_some_and(|(_, word)| fits(rest, word)),
        Part::Any => fits(rest, word) || next.is_some_and(|(_, word)| fits(parts, word)),
    }
}

/// Returns whether the words found in a text contain other words as a phrase. `is_first` and `is_last` require the phrase to be
/// at the beginning or the end of the text.
pub(super) fn has_phrase(
    found: &[String],
    words: &[Pattern],
    is_first: bool,
    is_last: bool,
) -> bool {
    if words.is_empty() || words.len() > found.len() {
        return false;
    }
    let latest = found.len() - words.len();
    (0..=latest).any(|start| {
        let fits = words
            .iter()
            .zip(&found[start..])
            .all(|(word, found)| word.fits(found));
        fits && (!is_first || start == 0) && (!is_last || start == latest)
    })
}
